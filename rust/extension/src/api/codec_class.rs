//! The class FastVariantCodec. It checks arguments; other modules do the work. `call_class.rs` has the methods called
//! once per value.

use std::time::Duration;

use godot::builtin::{AnyArray, Array, GString, PackedByteArray, Variant};
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::{GodotClass, VarArray, godot_api};
use variant_codec::{Error, Result};
use variant_engine::DictionaryOrEmpty;

use super::arguments::{OptionalLimits, engine_limits, held, strict_limits};
use super::file_calls::{load, load_summary, load_value, write, write_later};
use super::guard::guard;
use super::job_class::{self, FastVariantJob};
use super::report;
use super::result_class::FastVariantResult;
use crate::files::{self, Holds};
use crate::jobs::Job;
use crate::saves::{self, Chunk};
use variant_live::batch::failed::Reasons;
use variant_live::batch::{self, records};
use variant_live::decode::decoding::Decoding;
use variant_live::decode::input::Input;
use variant_live::encode::walker::Objects;
use variant_live::value;

/// Encodes and decodes Variants exactly as the engine does: faster, in parallel batches, and with error messages.
///
/// All methods are static and may be called from any thread. The bytes are the same as those of
/// [method @GlobalScope.var_to_bytes], so the engine and this class can read each other's data.
///
/// ```gdscript
/// var buffers := FastVariantCodec.encode_batch([{"hp": 7}, [1, 2, 3], "text"])
/// var values := FastVariantCodec.decode_batch(buffers)
/// ```
///
/// Documents named here, such as [code]docs/guide.md[/code], are in [code]addons/fast_variant_codec/docs[/code], which
/// the FileSystem dock does not show.
///
/// As with the engine's functions, data shared between threads needs a lock, held until the call returns. Background
/// jobs own their data, except for the containers in the values of [method encode_batch_async].
///
/// [b]Project settings[/b], read at start-up: [code]fast_variant_codec/threads[/code] is the number of threads for
/// batches and large values, including the calling thread; 0 is one per core, or one on the web.
/// [code]fast_variant_codec/parallel_threshold_bytes[/code] is the size from which several threads are used.
/// [code]fast_variant_codec/access_path[/code] is [code]automatic[/code], or [code]portable[/code] to access engine
/// memory only through the engine's documented functions.
#[derive(GodotClass)]
#[class(no_init, base=Object)]
pub struct FastVariantCodec {}

#[godot_api]
impl FastVariantCodec {
    /// Encodes each element of [param values], a typed or untyped Array, in parallel. Returns one buffer per value, in
    /// the same order.
    ///
    /// If a value cannot be encoded, its buffer is empty; one error names the indexes of the first ten
    /// failures. With [param full_objects], only the calling thread works, because getters run.
    #[func]
    fn encode_batch(values: AnyArray, #[opt(default = false)] full_objects: bool) -> Array<PackedByteArray> {
        guard("FastVariantCodec.encode_batch", || {
            let batch = batch::encode(&values, full_objects, Reasons::First);
            report::batch("FastVariantCodec.encode_batch", &batch.failed);
            report::lost_objects("FastVariantCodec.encode_batch");
            batch.into_array()
        })
    }

    /// Decodes each of the [param buffers], an Array or [code]Array[PackedByteArray][/code], in parallel. Returns one
    /// value per buffer, in the same order.
    ///
    /// If a buffer cannot be decoded, its value is [code]null[/code]; one error names the indexes of the
    /// first ten failures. With [param allow_objects], only the calling thread works, because setters run;
    /// see [method decode].
    #[func]
    fn decode_batch(buffers: AnyArray, #[opt(default = false)] allow_objects: bool) -> VarArray {
        guard("FastVariantCodec.decode_batch", || {
            let batch = batch::decode(&buffers, engine_limits(allow_objects), Reasons::First);
            report::batch("FastVariantCodec.decode_batch", &batch.failed);
            if batch.failed.indexes.is_empty() && batch.dropped > 0 {
                report::dropped("FastVariantCodec.decode_batch", batch.dropped);
            }
            batch.into_array()
        })
    }

    /// Encodes each element of a typed or untyped Array, in parallel, into one buffer of records. Each record
    /// is prefixed with its length, a little-endian 32-bit number, as [method FileAccess.store_var] and
    /// [method StreamPeer.put_var] do; [code]get_var[/code] reads the values one by one.
    ///
    /// If any value cannot be encoded, the result is empty; one error names the indexes of the first ten
    /// failures. With [param full_objects], only the calling thread works, because getters run.
    #[func]
    fn pack_batch(values: AnyArray, #[opt(default = false)] full_objects: bool) -> PackedByteArray {
        guard("FastVariantCodec.pack_batch", || {
            let packed = records::pack(&values, full_objects).unwrap_or_else(|failed| {
                report::batch("FastVariantCodec.pack_batch", &failed);
                PackedByteArray::new()
            });
            report::lost_objects("FastVariantCodec.pack_batch");
            packed
        })
    }

    /// Decodes, strictly and in parallel, all records in [param bytes], as written by [method pack_batch],
    /// [method FileAccess.store_var] or [method StreamPeer.put_var]. Prints nothing.
    ///
    /// The result's [member FastVariantResult.value] is an Array of the values. If a record is damaged or
    /// truncated, the Array ends before that record, and the result has the record's index, the byte and the
    /// reason; later records create no objects. [param limits] apply to the whole buffer; the default is
    /// [method FastVariantLimits.for_save_files].
    #[func]
    fn unpack_batch(
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.unpack_batch", || {
            FastVariantResult::unpacked(records::unpack(bytes, &strict_limits(limits)), None)
        })
    }

    /// Encodes [param value], and replaces the file at [param path] with it. Only [FastVariantClasses] can save objects.
    ///
    /// [param summary] is for menus: [method load_summary] reads it without the value. With [param compress], the value
    /// is compressed with zstd. A sum in the file finds accidents, such as a truncated file or a flipped bit, but not
    /// cheaters. [code]docs/saves.md[/code] describes the file.
    ///
    /// The save is atomic: even after a crash, the file has either the old or the new content. [param path] is as for
    /// [method save_batch]. If the value cannot be encoded or the file cannot be written, the result has the reason, for a
    /// message to the player; one error is printed, too, and the file is unchanged.
    #[func]
    fn save(
        path: GString,
        value: Variant,
        #[opt(default = DictionaryOrEmpty::empty())] summary: DictionaryOrEmpty,
        #[opt(default = false)] compress: bool,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.save", || {
            let chunks = || saved(&value, summary, compress);
            write("FastVariantCodec.save", &path, Holds::Value, chunks, files::replace)
        })
    }

    /// Loads the value that [method save] wrote to the file at [param path]. Prints nothing.
    ///
    /// The result's [member FastVariantResult.value] is the value. If the file is cut off or has changed, the error is
    /// [constant BAD_SAVE], and the value is what can still be read, or [code]null[/code]: do not trust it. Also loads a
    /// file with one record of [method save_batch] or [method FileAccess.store_var], or one value of [method encode].
    /// The default [param limits] are [method FastVariantLimits.for_save_files]; they apply to the value.
    #[func]
    fn load(
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.load", || {
            let limits = strict_limits(limits);
            let loaded = load_value(&path, &limits, |input, part| {
                Decoding::strict(&limits).decode(input, part).map(|(built, _)| built)
            });
            FastVariantResult::of(loaded)
        })
    }

    /// Reads the summary in the file at [param path], which [method save] wrote, without reading the value. Prints
    /// nothing. [param limits] are as for [method load], and apply to the summary.
    ///
    /// The result's [member FastVariantResult.value] is the Dictionary. If the file is cut off, the error is
    /// [constant BAD_SAVE]; a change inside the value is found only by [method load].
    #[func]
    fn load_summary(
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.load_summary", || load_summary(&path, &strict_limits(limits)))
    }

    /// Encodes [param value] immediately, and replaces the file at [param path] in the background, as [method save] does
    /// with the same [param summary] and [param compress]. You may change the value as soon as the call returns. Otherwise
    /// works like [method save_batch_async].
    #[func]
    fn save_async(
        path: GString,
        value: Variant,
        #[opt(default = DictionaryOrEmpty::empty())] summary: DictionaryOrEmpty,
        #[opt(default = false)] compress: bool,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantCodec.save_async", || {
            let chunks = || saved(&value, summary, compress);
            write_later("FastVariantCodec.save_async", &path, Holds::Value, chunks, files::replace)
        })
    }

    /// Loads the file at [param path] as [method load] does with the same [param limits], in the background, after saves
    /// started earlier. With [member FastVariantLimits.allow_objects], setters run, so the main thread decodes the value
    /// in one frame.
    #[func]
    fn load_async(
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantCodec.load_async", || {
            job_class::start(Job::load_value(&path, strict_limits(limits)))
        })
    }

    /// Encodes each element of [param values], a typed or untyped Array, in parallel, and replaces the file at
    /// [param path] with the records. They are length-prefixed, as with [method FileAccess.store_var]:
    /// [method load_batch] reads all of them, [method FileAccess.get_var] one by one.
    ///
    /// The save is atomic: even after a crash, the file has either the old or the new content. The new content goes to
    /// a temporary file in the same folder, is flushed to disk, and is then renamed. The folder must exist.
    /// [param path] starts with [code]user://[/code] or [code]res://[/code], or is absolute. Links are followed; only
    /// regular files are accepted.
    ///
    /// If a value cannot be encoded or the file cannot be written, the result has the reason, for a message to the
    /// player; one error is printed, too. The file is unchanged then, and no temporary file is left. If another process
    /// is writing to the file with these methods, the call waits at most 5 seconds.
    ///
    /// A value that [method load_batch] would read as a different value, or not at all, is an error, as in
    /// [method try_encode]: an instance id, a Callable or a Signal means nothing to a later reader. With
    /// [param full_objects], objects are written with their class and stored properties. Of script variables,
    /// only those marked with [code]@export[/code] or [code]@export_storage[/code] are stored.
    ///
    /// With [param compress], the records are compressed with zstd, in blocks of up to 1 MiB. [method load_batch] and
    /// [FastVariantView] read them like other records; [code]docs/saves.md[/code] describes the blocks.
    #[func]
    fn save_batch(
        path: GString,
        values: AnyArray,
        #[opt(default = false)] full_objects: bool,
        #[opt(default = false)] compress: bool,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.save_batch", || {
            let frame = || records::frame(&values, full_objects, compress);
            write("FastVariantCodec.save_batch", &path, Holds::Records(values.len()), frame, files::replace)
        })
    }

    /// Encodes each element of [param values], a typed or untyped Array, in parallel, and appends the records
    /// to the file at [param path], in the format of [method save_batch]. With [param full_objects], objects
    /// are written with class and properties. With [param compress], the records of this call are compressed in blocks of
    /// their own, so pass many values at once. Creates the file if it does not exist.
    ///
    /// When the call returns, the records have been flushed to disk. If the game is killed during the call,
    /// the last record may be truncated; [method load_batch] then reports it and returns the records before
    /// it. If a value cannot be encoded, or if the file is truncated, has another format, starts with a record that is
    /// not a value of Godot 4, or cannot be written, the file stays unchanged, the result has the reason, and one error
    /// is printed.
    /// Several processes may append to one file; they wait for each other as with [method save_batch].
    #[func]
    fn append_batch(
        path: GString,
        values: AnyArray,
        #[opt(default = false)] full_objects: bool,
        #[opt(default = false)] compress: bool,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.append_batch", || {
            let frame = || records::frame(&values, full_objects, compress);
            write("FastVariantCodec.append_batch", &path, Holds::Records(values.len()), frame, files::append)
        })
    }

    /// Decodes all records of a file, as written by [method save_batch], [method append_batch] or
    /// [method FileAccess.store_var], strictly and in parallel. Prints nothing.
    ///
    /// The result's [member FastVariantResult.value] is an Array of the values, as with
    /// [method unpack_batch]: if a record is damaged or truncated, the Array ends before it. If another process is
    /// appending, the call waits at most 5 seconds for it, so that all or none of its records are read. If the file is
    /// still locked then, or cannot be read, the error is [constant FILE_ERROR]. If the file is in
    /// another format, such as one encoded value, JSON, or an encrypted or compressed file of [FileAccess],
    /// the message names the format. [param path] can be any path that [method FileAccess.open] accepts. The
    /// default limits are [method FastVariantLimits.for_save_files]; they apply to all records together, decompressed.
    ///
    /// If a compressed block is damaged, the error is [constant BAD_SAVE]. The [member FastVariantResult.offset] of an error
    /// in a block is that of the block.
    #[func]
    fn load_batch(
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.load_batch", || {
            let limits = strict_limits(limits);
            FastVariantResult::of(load(&path, &limits, |bytes| records::unpack(bytes, &limits)))
        })
    }

    /// Encodes [param values] as [method encode_batch] does with the same [param full_objects], in slices: in each
    /// frame, the main thread and its worker threads encode for at most [param budget_ms] milliseconds, but at least
    /// one value. Prints nothing.
    ///
    /// The call copies the Array and the packed arrays in it, but not the Arrays, Dictionaries and objects in
    /// it. The main thread may change those between frames: each value is encoded as it is when its turn
    /// comes. Other threads must not use them until the job is done. If items fail, the result has their
    /// indexes and the reason for each. If you do not call this on the main thread, the call does all the
    /// work before it returns.
    #[func]
    fn encode_batch_async(
        values: AnyArray,
        #[opt(default = false)] full_objects: bool,
        #[opt(default = 2.0)] budget_ms: f64,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantCodec.encode_batch_async", || {
            let too_long = if budget_ms > 0.0 { Duration::MAX } else { Duration::ZERO };
            let budget = Duration::try_from_secs_f64(budget_ms / 1000.0).unwrap_or(too_long);
            job_class::start(Job::encode(&values, full_objects, budget))
        })
    }

    /// Decodes the elements of the Array [param buffers] in the background, each as [method try_decode] does. Any
    /// thread may change the buffers as soon as the call returns. Prints nothing.
    ///
    /// The result's [member FastVariantResult.value] is an Array with one value per buffer: [code]null[/code]
    /// if its decoding failed. The result has the index of each failed buffer and the reason. [param limits]
    /// apply to each buffer. With [member FastVariantLimits.allow_objects], setters run, so the main thread
    /// does the work, in slices of 2 milliseconds per frame. Nodes in the result are yours once you get it
    /// from [method FastVariantJob.wait_to_finish] or [signal FastVariantJob.completed]; otherwise they are freed with
    /// the job.
    #[func]
    fn decode_batch_async(
        buffers: AnyArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantCodec.decode_batch_async", || {
            job_class::start(Job::decode(&buffers, strict_limits(limits)))
        })
    }

    /// Reads and decodes the file at [param path] as [method load_batch] does with the same [param limits], in the
    /// background, after saves started earlier by [method save_batch_async]. Records that are saved or appended while
    /// the load waits for earlier jobs are loaded as well.
    ///
    /// With [member FastVariantLimits.allow_objects], setters run, so the main thread decodes, in slices of 2
    /// milliseconds per frame; as with [method decode_batch_async], Nodes that you do not receive are freed.
    #[func]
    fn load_batch_async(
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantCodec.load_batch_async", || {
            job_class::start(Job::load(&path, strict_limits(limits)))
        })
    }

    /// Encodes each element of an Array immediately, and replaces the file at [param path] in the background, as
    /// [method save_batch] does with the same [param full_objects] and [param compress]. You may change the values as soon
    /// as the call returns.
    ///
    /// The calling thread and the worker threads encode during the call. If that takes too long for one frame, encode
    /// first with [method encode_batch_async], and pass its buffers to [method append_encoded_async].
    ///
    /// The file is written even if you do not keep the job, or if the game quits meanwhile. One thread writes all files
    /// in turn. While it waits for a file that another process has locked, at most 5 seconds, later saves wait too.
    #[func]
    fn save_batch_async(
        path: GString,
        values: AnyArray,
        #[opt(default = false)] full_objects: bool,
        #[opt(default = false)] compress: bool,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantCodec.save_batch_async", || {
            let frame = || records::frame(&values, full_objects, compress);
            write_later(
                "FastVariantCodec.save_batch_async",
                &path,
                Holds::Records(values.len()),
                frame,
                files::replace,
            )
        })
    }

    /// Encodes each element of [param values] immediately, and appends the records to the file at [param path] in the
    /// background, as [method append_batch] does with the same [param full_objects] and [param compress]. Otherwise works
    /// like [method save_batch_async].
    #[func]
    fn append_batch_async(
        path: GString,
        values: AnyArray,
        #[opt(default = false)] full_objects: bool,
        #[opt(default = false)] compress: bool,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantCodec.append_batch_async", || {
            let (holds, frame) =
                (Holds::Records(values.len()), || records::frame(&values, full_objects, compress));
            write_later("FastVariantCodec.append_batch_async", &path, holds, frame, files::append)
        })
    }

    /// Appends values that are encoded already, one in each of the [param buffers], to the file at [param path] in the
    /// background, as records. A replay and a packet then share one call of [method encode]:
    /// [code]append_encoded_async("user://replay.dat", [packet])[/code]. The buffers are checked strictly. [param compress] is as in
    /// [method append_batch]: collect the packets of some seconds for each call. Otherwise works like
    /// [method append_batch_async].
    #[func]
    fn append_encoded_async(
        path: GString,
        buffers: AnyArray,
        #[opt(default = false)] compress: bool,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantCodec.append_encoded_async", || {
            let (holds, frame) =
                (Holds::Records(buffers.len()), || records::frame_encoded(&buffers, compress));
            write_later("FastVariantCodec.append_encoded_async", &path, holds, frame, files::append)
        })
    }

    /// Encodes a value and returns the bytes or an error. Prints nothing. With [param full_objects], objects are
    /// written with class and properties, as [method encode] does.
    ///
    /// Values that would decode to different values are errors here: without [param full_objects], objects
    /// and containers typed with a class; Callables and Signals; lone surrogates, and text that starts with a
    /// byte-order mark; Dictionary keys that [method decode] would merge; and values that do not have the
    /// type that their Dictionary declares.
    #[func]
    fn try_encode(value: Variant, #[opt(default = false)] full_objects: bool) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.try_encode", || {
            match held(&value, full_objects, Objects::Refused, |value, objects| {
                value::encode(value, objects, true)
            }) {
                Ok(bytes) => FastVariantResult::encoded(bytes.to_variant(), bytes.len()),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Decodes a value strictly and returns it or an error. Prints nothing.
    ///
    /// Non-canonical encodings are errors, and so is data that exceeds [param limits]; the default is
    /// [method FastVariantLimits.for_save_files]. Decoding starts at byte [param offset] of [param bytes].
    #[func]
    fn try_decode(
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
        #[opt(default = 0)] offset: i64,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.try_decode", || {
            let limits = strict_limits(limits);
            let Some(start) = usize::try_from(offset).ok().filter(|start| *start <= bytes.len()) else {
                return FastVariantResult::failed(&Error::argument(format!(
                    "offset {offset} is outside the data of {} bytes",
                    bytes.len()
                )));
            };
            let (end, input) = (bytes.len(), Input::Owned(bytes));
            match Decoding::strict(&limits).decode(&input, start..end) {
                Ok((built, end)) => FastVariantResult::decoded(built.into_value(), start, end),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Checks [param bytes] as [method try_decode] does, with the same [param limits], and returns the same error,
    /// without building the value. Prints nothing.
    ///
    /// No script runs and nothing is loaded: with [member FastVariantLimits.allow_objects], the call does not
    /// check whether the objects can be created and fit the declared classes of containers. The result's
    /// [member FastVariantResult.value] is [code]null[/code].
    #[func]
    fn validate(
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.validate", || {
            match variant_codec::validate(bytes.as_slice(), &strict_limits(limits)) {
                Ok(end) => FastVariantResult::decoded(Variant::nil(), 0, end),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }
}

/// The file for a plain value.
fn saved(value: &Variant, summary: DictionaryOrEmpty, compress: bool) -> Result<Vec<Chunk>> {
    saves::chunks(&summary.get().to_variant(), value::encode(value, Objects::Refused, true)?, compress)
}
