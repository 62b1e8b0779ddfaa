//! The methods of FastVariantCodec that scripts call once per value: `encode`, `decode`, `encoded_size`.

use godot::builtin::{PackedByteArray, Variant};
use variant_codec::{ErrorKind, Strictness};
use variant_engine::{self as engine, StaticMethod};

use super::arguments::{engine_limits, held};
use super::codec_class::FastVariantCodec;
use super::report;
use variant_live::decode::decoding::Decoding;
use variant_live::decode::input::Input;
use variant_live::encode::walker::{Objects, encoded_size};
use variant_live::panics::catch_panic;
use variant_live::value;

/// Registers the methods. Returns their help.
pub fn register() -> String {
    variant_engine::register::<FastVariantCodec, Encode>();
    variant_engine::register::<FastVariantCodec, Decode>();
    variant_engine::register::<FastVariantCodec, EncodedSize>();
    [
        method::<Encode>("Variant", "PackedByteArray", Encode::HELP),
        method::<Decode>("PackedByteArray", "Variant", Decode::HELP),
        method::<EncodedSize>("Variant", "int", EncodedSize::HELP),
    ]
    .concat()
}

fn method<M: StaticMethod>(argument: &str, result: &str, help: &str) -> String {
    let (name, [first, flag]) = (M::NAME, M::ARGUMENTS);
    format!(
        r#"<method name="{name}"><return type="{result}" /><param index="0" name="{first}" type="{argument}" />
        <param index="1" name="{flag}" type="bool" /><description>{help}</description></method>"#
    )
}

struct Encode;

impl Encode {
    const HELP: &str = "\
        Encodes a value to the same bytes as [method @GlobalScope.var_to_bytes].[br][br]\
        With [param full_objects], objects are written with class and stored properties, as \
        [method @GlobalScope.var_to_bytes_with_objects] does; otherwise by instance id, which has no meaning in another run of the game \
        ([method try_encode] refuses such values).[br][br]\
        If the value cannot be encoded, the result is empty and one error is printed.";
}

impl StaticMethod for Encode {
    const NAME: &'static str = "encode";
    const ARGUMENTS: [&'static str; 2] = ["value", "full_objects"];
    type Argument = Variant;
    type Return = PackedByteArray;

    #[inline(always)]
    fn call(value: &Variant, full_objects: bool, bytes: &mut PackedByteArray) {
        const METHOD: &str = "FastVariantCodec.encode";
        let encoded = catch_panic(METHOD, || {
            held(value, full_objects, Objects::AsIds { warns: true }, |value, objects| {
                value::encode_to(bytes, value, objects, false)
            })
        });
        if let Err(error) = encoded {
            *bytes = PackedByteArray::new();
            report::failure(METHOD, &error);
        }
        report::lost_objects(METHOD);
    }
}

struct Decode;

impl Decode {
    const HELP: &str = "\
        Decodes a value as [method @GlobalScope.bytes_to_var] does.[br][br]\
        With [param allow_objects], objects are created, their scripts attached and their setters run, as \
        [method @GlobalScope.bytes_to_var_with_objects] does. Pass it only for data that you trust. Embedded scripts, engine singletons and \
        script paths outside the project are refused even then.[br][br]\
        If the bytes cannot be decoded, the result is [code]null[/code] and one error is printed. Use \
        [method try_decode] to tell an error from an encoded [code]null[/code], and to set limits.";
}

impl StaticMethod for Decode {
    const NAME: &'static str = "decode";
    const ARGUMENTS: [&'static str; 2] = ["bytes", "allow_objects"];
    type Argument = PackedByteArray;
    type Return = Variant;

    #[inline(always)]
    fn call(bytes: &PackedByteArray, allow_objects: bool, value: &mut Variant) {
        const METHOD: &str = "FastVariantCodec.decode";
        let decoded = catch_panic(METHOD, || {
            if let Some(leaf) = value::decode_leaf(engine::bytes(bytes)) {
                *value = leaf;
                return Ok(());
            }
            // Setters may change the caller's variable.
            let input = if allow_objects { Input::Owned(bytes.clone()) } else { Input::Shared(bytes) };
            let mut decoding = Decoding::new(engine_limits(allow_objects), Strictness::Lenient);
            let built = decoding.decode_input(&input)?;
            let dropped = built.dropped;
            *value = built.into_value();
            if dropped > 0 {
                report::dropped(METHOD, dropped);
            }
            Ok(())
        });
        if let Err(error) = decoded {
            *value = Variant::nil();
            report::failure(METHOD, &error);
        }
    }
}

struct EncodedSize;

impl EncodedSize {
    const HELP: &str = "\
        The number of bytes that [method encode] returns for [param value], without encoding it; -1 if it would fail.[br][br]\
        With [param full_objects], getters run as they do when encoding.";
}

impl StaticMethod for EncodedSize {
    const NAME: &'static str = "encoded_size";
    const ARGUMENTS: [&'static str; 2] = ["value", "full_objects"];
    type Argument = Variant;
    type Return = i64;

    #[inline(always)]
    fn call(value: &Variant, full_objects: bool, size: &mut i64) {
        const METHOD: &str = "FastVariantCodec.encoded_size";
        let measured =
            catch_panic(METHOD, || held(value, full_objects, Objects::AsIds { warns: false }, encoded_size));
        *size = measured.map_or_else(
            |error| {
                // Print only internal errors here; `encode` prints the others.
                if matches!(error.kind(), ErrorKind::Internal(_)) {
                    report::failure(METHOD, &error);
                }
                -1
            },
            |size| size as i64,
        );
    }
}
