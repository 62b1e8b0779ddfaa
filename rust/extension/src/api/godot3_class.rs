//! The class FastGodot3Codec: Godot 3's format.

use godot::builtin::{AnyArray, Array, GString, PackedByteArray, Variant, vdict};
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::{GodotClass, VarArray, VarDictionary, godot_api};
use variant_codec::godot3::{Change, Loss};
use variant_codec::{Limits, Strictness};
use variant_engine as engine;
use variant_live::batch;
use variant_live::batch::failed::Reasons;
use variant_live::decode::decoding::Decoding;

use super::arguments::{OptionalLimits, engine_limits, strict_limits};
use super::guard::guard;
use super::report;
use super::result_class::FastVariantResult;
use crate::godot3::{self, Conversion, Direction, NotConverted};

/// Reads and writes the format of Godot 3's [code]var2bytes[/code] and [code]store_var[/code], in bytes and files.
///
/// All methods are static and may be called from any thread. [code]docs/migrating-from-godot-3.md[/code] has recipes and
/// the table of types.
#[derive(GodotClass)]
#[class(no_init, base=Object)]
pub struct FastGodot3Codec {}

#[godot_api]
impl FastGodot3Codec {
    /// Encodes a value to bytes that Godot 3's [code]bytes2var[/code] reads.
    ///
    /// Types that Godot 3 does not have are converted to types with the same content, such as a [Vector2i] to a
    /// [Vector2] and a [StringName] to a [String]; typed containers lose their types, and objects are written by
    /// instance id. If that would lose something, such as digits of a large [Vector2i], the result is empty and one
    /// error is printed; with [param lossy], the loss is accepted. [code]docs/migrating-from-godot-3.md[/code] has the
    /// whole table.
    #[func]
    fn encode(value: Variant, #[opt(default = false)] lossy: bool) -> PackedByteArray {
        guard("FastGodot3Codec.encode", || {
            let mut bytes = PackedByteArray::new();
            if let Err(error) = godot3::encode_to(&mut bytes, &value, Loss::accepted_if(lossy)) {
                report::failure("FastGodot3Codec.encode", &error);
                return PackedByteArray::new();
            }
            bytes
        })
    }

    /// Decodes a value from bytes that Godot 3's [code]var2bytes[/code], [code]store_var[/code] or [code]put_var[/code]
    /// wrote.
    ///
    /// If the bytes cannot be decoded, the result is [code]null[/code] and one error is printed; this
    /// includes text with invalid code units, and objects with properties. With [param lossy], invalid units
    /// become U+FFFD, and these objects become Dictionaries of their properties, with the class under
    /// [code]"class"[/code]. Objects are never created.
    #[func]
    fn decode(bytes: PackedByteArray, #[opt(default = false)] lossy: bool) -> Variant {
        guard("FastGodot3Codec.decode", || {
            let limits = engine_limits(false);
            let mut decoding = Decoding::new(limits, Strictness::Lenient);
            match godot3::decode(engine::bytes(&bytes), Loss::accepted_if(lossy), &mut decoding) {
                Ok((built, _)) => built.into_value(),
                Err(error) => {
                    report::failure("FastGodot3Codec.decode", &error);
                    Variant::nil()
                }
            }
        })
    }

    /// Encodes each element of the Array [param values] as [method encode] does with the same [param lossy], in
    /// parallel. Returns one buffer per value, in the same order.
    ///
    /// If a value cannot be encoded, its buffer is empty; one error names the indexes of the first ten
    /// failures.
    #[func]
    fn encode_batch(values: AnyArray, #[opt(default = false)] lossy: bool) -> Array<PackedByteArray> {
        guard("FastGodot3Codec.encode_batch", || {
            let batch = batch::encode_each(&values, true, Reasons::First, |value, bytes, &mut ()| {
                godot3::encode_to(bytes, value, Loss::accepted_if(lossy))
            });
            report::batch("FastGodot3Codec.encode_batch", &batch.failed);
            batch.into_array()
        })
    }

    /// Decodes each element of the Array [param buffers] as [method decode] does with the same [param lossy], in
    /// parallel. Returns one value per buffer, in the same order.
    ///
    /// If a buffer cannot be decoded, its value is [code]null[/code]; one error names the indexes of the
    /// first ten failures.
    #[func]
    fn decode_batch(buffers: AnyArray, #[opt(default = false)] lossy: bool) -> VarArray {
        guard("FastGodot3Codec.decode_batch", || {
            let limits = engine_limits(false);
            let make = || Decoding::new(limits, Strictness::Lenient);
            let batch = batch::decode_each(&buffers, Reasons::First, make, |input, decoding| {
                godot3::decode(input.bytes(), Loss::accepted_if(lossy), decoding).map(|(built, _)| built)
            });
            report::batch("FastGodot3Codec.decode_batch", &batch.failed);
            batch.into_array()
        })
    }

    /// Encodes a value as [method encode] does with the same [param lossy], and returns the bytes or an error.
    /// Prints nothing.
    #[func]
    fn try_encode(value: Variant, #[opt(default = false)] lossy: bool) -> Gd<FastVariantResult> {
        guard("FastGodot3Codec.try_encode", || {
            let mut bytes = PackedByteArray::new();
            match godot3::encode_to(&mut bytes, &value, Loss::accepted_if(lossy)) {
                Ok(()) => FastVariantResult::encoded(bytes.to_variant(), bytes.len()),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Decodes a value of Godot 3 from [param bytes] strictly, and returns the value or an error. [param lossy] works
    /// as in [method decode]. Prints nothing.
    ///
    /// Encodings that no Godot 3 writes are errors, and so is data that exceeds [param limits]; the default is
    /// [method FastVariantLimits.for_save_files]. Objects are never created, whatever the limits allow.
    #[func]
    fn try_decode(
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
        #[opt(default = false)] lossy: bool,
    ) -> Gd<FastVariantResult> {
        guard("FastGodot3Codec.try_decode", || {
            let limits = strict_limits(limits);
            let mut decoding = Decoding::strict(&limits);
            match godot3::decode(engine::bytes(&bytes), Loss::accepted_if(lossy), &mut decoding) {
                Ok((built, end)) => FastVariantResult::decoded(built.into_value(), 0, end),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Converts a file that Godot 3 wrote with one or more calls of [code]store_var[/code] to a file that
    /// [method FastVariantCodec.load_batch] and [method FileAccess.get_var] read. Works in parallel and prints nothing.
    /// [param lossy] is as in [method decode].
    ///
    /// By default, everything that Godot 3 reads is converted, also encodings that no Godot 3 writes; the new file
    /// is canonical. [param limits] restrict what is read.
    ///
    /// The result's [member FastVariantResult.value] is a Dictionary with the number of [code]records[/code],
    /// the sizes [code]bytes_read[/code] and [code]bytes_written[/code], and [code]changes[/code], a
    /// Dictionary with a description of each replacement and its count. If any record cannot be converted,
    /// nothing is written, and the result has the index and the reason of each failure. [param from] and
    /// [param to] may be the same file, which is replaced only on success and only if it has not changed
    /// meanwhile.
    #[func]
    fn convert_file(
        from: GString,
        to: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
        #[opt(default = false)] lossy: bool,
    ) -> Gd<FastVariantResult> {
        guard("FastGodot3Codec.convert_file", || convert((from, to), Direction::From3, limits, lossy))
    }

    /// Converts the file [param from], written by [method save_batch] or [method FileAccess.store_var], to
    /// Godot 3's format. Godot 3's [code]get_var[/code] reads the file [param to] value by value. Otherwise,
    /// the call works like [method convert_file]. [param limits] are as there, and [param lossy] is as in
    /// [method encode].
    #[func]
    fn convert_file_back(
        from: GString,
        to: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
        #[opt(default = false)] lossy: bool,
    ) -> Gd<FastVariantResult> {
        guard("FastGodot3Codec.convert_file_back", || convert((from, to), Direction::To3, limits, lossy))
    }
}

fn convert(
    (from, to): (GString, GString),
    direction: Direction,
    limits: OptionalLimits,
    lossy: bool,
) -> Gd<FastVariantResult> {
    let limits = match limits.get() {
        Some(limits) => limits.bind().to_limits(),
        None => Limits { allow_non_canonical: true, ..Limits::for_save_files() },
    };
    let converted = godot3::convert_file(&from, &to, direction, &limits, Loss::accepted_if(lossy));
    let Conversion { records, bytes_read, bytes_written, changes } = match converted {
        Ok(conversion) => conversion,
        Err(NotConverted::File(error)) => return FastVariantResult::of_file(&error),
        Err(NotConverted::Records(failed)) => return FastVariantResult::batch(Variant::nil(), failed),
    };
    let mut changed = VarDictionary::new();
    for Change { from, to, count } in changes {
        changed.set(&GString::from(&format!("{from} to {to}")), count as i64);
    }
    let report = vdict! {
        "records" => records as i64,
        "bytes_read" => bytes_read as i64,
        "bytes_written" => bytes_written as i64,
        "changes" => &changed,
    };
    FastVariantResult::decoded(report.to_variant(), 0, bytes_read)
}
