//! FastVariantCodec: the face that scripts see. Arguments are checked here; the work is done elsewhere. The methods that
//! are called once for each value are in `call_class.rs`.

use std::time::Duration;

use godot::builtin::{AnyArray, Array, GString, PackedByteArray, Variant, vdict};
use godot::global::Error as Code;
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::{GodotClass, VarArray, VarDictionary, godot_api};
use variant_codec::godot3::{Change, Loss};
use variant_codec::limits::Spent;
use variant_codec::outline::Outline;
use variant_codec::{Error, Strictness};
use variant_engine as engine;

use super::arguments::{OptionalLimits, engine_limits, objects, strict_limits};
use super::guard::guard;
use super::job_class::{self, FastVariantJob};
use super::result_class::FastVariantResult;
use super::{inspection, report};
use crate::batch::failed::Reasons;
use crate::batch::{self, records};
use crate::files::{self, FileError, Target};
use crate::godot3::{self, Conversion, Direction, NotConverted};
use crate::jobs::Job;
use crate::turns::Turn;
use crate::value;
use crate::variant::input::{Input, Reading};
use crate::variant::keys::KeyCache;

/// Encodes and decodes Variants exactly as the engine does, faster, in parallel batches, and with reasons when it fails.
///
/// All methods are static and may be called from any thread. The bytes are those of [method @GlobalScope.var_to_bytes],
/// so each side can read what the other writes.
///
/// ```gdscript
/// var buffers := FastVariantCodec.encode_batch([{"hp": 7}, [1, 2, 3], "text"])
/// var values := FastVariantCodec.decode_batch(buffers)
/// ```
///
/// As with the engine's functions, data that several threads share need a lock of their own, held until the call returns.
/// Background jobs own what they read.
///
/// [b]Project settings[/b], read at start-up: [code]fast_variant_codec/threads[/code] is how many threads work on batches and
/// on large values, the calling one among them, 0 for one for each core;
/// [code]fast_variant_codec/parallel_threshold_bytes[/code] is from how many bytes on they do;
/// [code]fast_variant_codec/access_path[/code] is [code]automatic[/code], or [code]portable[/code] to reach engine memory only
/// through the engine's documented functions.
#[derive(GodotClass)]
#[class(no_init, base=Object)]
pub struct FastVariantCodec {}

#[godot_api]
impl FastVariantCodec {
    /// Encodes each element of an Array, typed or not, in parallel. Buffers keep the order of the values.
    ///
    /// Where a value cannot be encoded, its buffer is empty; one error names the first ten such indexes. With
    /// [param full_objects], the work stays on the calling thread, because getters run.
    #[func]
    fn encode_batch(values: AnyArray, #[opt(default = false)] full_objects: bool) -> Array<PackedByteArray> {
        guard("FastVariantCodec.encode_batch", || {
            let batch = batch::encode(&values, objects(full_objects), Reasons::First);
            report::batch("FastVariantCodec.encode_batch", &batch.failed);
            batch.give()
        })
    }

    /// Decodes each buffer of an Array or [code]Array[PackedByteArray][/code], in parallel. Values keep the order of the
    /// buffers.
    ///
    /// Where a buffer cannot be decoded, its value is [code]null[/code]; one error names the first ten such indexes. With
    /// [param allow_objects], the work stays on the calling thread, because setters run; see [method decode].
    #[func]
    fn decode_batch(buffers: AnyArray, #[opt(default = false)] allow_objects: bool) -> VarArray {
        guard("FastVariantCodec.decode_batch", || {
            let batch =
                batch::decode(&buffers, Strictness::Lenient, &engine_limits(allow_objects), Reasons::First);
            report::batch("FastVariantCodec.decode_batch", &batch.failed);
            if batch.failed.indexes.is_empty() && batch.dropped > 0 {
                report::dropped("FastVariantCodec.decode_batch", batch.dropped);
            }
            batch.give()
        })
    }

    /// Encodes each element of an Array, typed or not, in parallel, into one buffer. Each stands behind its length, a
    /// little-endian 32-bit number, as [method FileAccess.store_var] and [method StreamPeer.put_var] write it: plain Godot
    /// reads the values one by one with [code]get_var[/code].
    ///
    /// If any value cannot be encoded, the result is empty, and one error names the first ten such indexes. With
    /// [param full_objects], the work stays on the calling thread, because getters run.
    #[func]
    fn pack_batch(values: AnyArray, #[opt(default = false)] full_objects: bool) -> PackedByteArray {
        guard("FastVariantCodec.pack_batch", || {
            records::pack(&values, objects(full_objects)).unwrap_or_else(|failed| {
                report::batch("FastVariantCodec.pack_batch", &failed);
                PackedByteArray::new()
            })
        })
    }

    /// Decodes every value in [param bytes], a buffer as [method pack_batch], [method FileAccess.store_var] and
    /// [method StreamPeer.put_var] write it, strictly, in parallel. Prints nothing.
    ///
    /// The result's [member FastVariantResult.value] is an Array of the values. At a bad or truncated record it holds the
    /// values before it, and the result says which record is bad, at which byte, and why; no objects are made after it.
    /// [param limits] hold for the buffer as a whole; without limits, those of [method FastVariantLimits.for_save_files]
    /// apply.
    #[func]
    fn unpack_batch(
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.unpack_batch", || {
            FastVariantResult::unpacked(records::unpack(bytes, &strict_limits(limits)), None)
        })
    }

    /// Encodes each element of [param values], an Array, typed or not, in parallel, and makes them the content of a file.
    /// Each stands behind its length, as [method FileAccess.store_var] writes it: [method load_batch] reads them all, and
    /// plain Godot one by one with [method FileAccess.get_var].
    ///
    /// Whatever happens meanwhile, the file has the old content or the new, whole: it is written beside the old one,
    /// brought to the disk, and then takes its place. Its folder must exist. [param path] begins with [code]user://[/code]
    /// or [code]res://[/code], or is absolute. Links are followed; only regular files are accepted.
    ///
    /// If a value cannot be encoded or the file cannot be written, one error is printed, the file is unchanged, and no
    /// temporary file is left. If another process is writing to the file with these methods, the call waits at most 5
    /// seconds; then the result is [constant @GlobalScope.ERR_FILE_ALREADY_IN_USE]. With [param full_objects], objects are
    /// written with class and properties.
    #[func]
    fn save_batch(path: GString, values: AnyArray, #[opt(default = false)] full_objects: bool) -> Code {
        guard("FastVariantCodec.save_batch", || {
            write("FastVariantCodec.save_batch", &path, &values, full_objects, files::replace)
        })
    }

    /// Encodes each element of an Array, typed or not, in parallel, and adds them to the end of the file at [param path],
    /// as [method save_batch] writes it; with [param full_objects], objects with class and properties. The file is made if
    /// there is none.
    ///
    /// The values are on the disk when the call returns. If the game is killed meanwhile, the last record may be cut off;
    /// [method load_batch] then says so and gives those before it. Nothing is added to such a file: it stays unchanged and
    /// one error is printed, as when a value cannot be encoded or the file cannot be written. Several processes may append
    /// to one file; they wait for one another as with [method save_batch].
    #[func]
    fn append_batch(path: GString, values: AnyArray, #[opt(default = false)] full_objects: bool) -> Code {
        guard("FastVariantCodec.append_batch", || {
            write("FastVariantCodec.append_batch", &path, &values, full_objects, files::append)
        })
    }

    /// Decodes every value of a file as [method save_batch], [method append_batch] and [method FileAccess.store_var] write
    /// it, strictly, in parallel. Prints nothing.
    ///
    /// The result's [member FastVariantResult.value] is an Array of the values, as with [method unpack_batch]: at a bad or
    /// truncated record, of those before it. A record that another process is appending at that moment is read completely
    /// or not at all. If the file cannot be read, the error is [constant FILE_ERROR]. [param path] can be any path that
    /// [method FileAccess.open] accepts. Without limits, those of [method FastVariantLimits.for_save_files] apply.
    #[func]
    fn load_batch(
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.load_batch", || {
            let limits = strict_limits(limits);
            let target = Target::of(&path).ok();
            match files::read_records(&path, target.as_ref().map(|target| (target, target.turn())), &limits) {
                Ok(bytes) => {
                    let unpacked = records::unpack(bytes, &limits);
                    FastVariantResult::unpacked(unpacked, Some(&path.to_string()))
                }
                Err(error) => FastVariantResult::of_file(&error),
            }
        })
    }

    /// Encodes [param values] as [method encode_batch] does with the same [param full_objects], in slices: in each frame,
    /// on the main thread and those that help it, for at most [param budget_ms] milliseconds, but at least one value.
    /// Prints nothing.
    ///
    /// The call copies the Array and the packed arrays in it, but not the Arrays, Dictionaries and objects in it. The main
    /// thread may change those between frames: each is written as it is when its turn comes. Other threads must not touch
    /// them until the job is done. If items fail, the result has their indexes and the reason for each. Outside the main
    /// thread, the call itself does all the work.
    #[func]
    fn encode_batch_async(
        values: AnyArray,
        #[opt(default = false)] full_objects: bool,
        #[opt(default = 2.0)] budget_ms: f64,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantCodec.encode_batch_async", || {
            let budget = Duration::try_from_secs_f64(budget_ms / 1000.0).unwrap_or_default();
            job_class::start(Job::encode(&values, objects(full_objects), budget))
        })
    }

    /// Decodes each of the [param buffers], an Array, as [method try_decode] does, in the background. Any thread may change
    /// the buffers as soon as the call returns. Prints nothing.
    ///
    /// The result's [member FastVariantResult.value] is an Array with one value for each buffer, [code]null[/code] where it
    /// failed; the result has the indexes of those, and the reason of each. [param limits] hold for each buffer. With
    /// [member FastVariantLimits.allow_objects], setters run, so the work is done on the main thread, in slices of 2
    /// milliseconds in each frame. Nodes in the result are yours once you get it from
    /// [method FastVariantJob.wait] or [signal FastVariantJob.completed]; if nobody gets it, they are freed with the job.
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
    /// background. What [method save_batch_async] was asked to write to it before is there by then.
    ///
    /// With [member FastVariantLimits.allow_objects], setters run, so decoding is done on the main thread, in slices of 2
    /// milliseconds in each frame; as with [method decode_batch_async], Nodes that nobody receives are freed.
    #[func]
    fn load_batch_async(
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantCodec.load_batch_async", || {
            job_class::start(Job::load(&path, strict_limits(limits)))
        })
    }

    /// Encodes each element of an Array at once, and makes them the content of the file at [param path], in the
    /// background, as [method save_batch] does with the same [param full_objects]. The values may be changed as soon as
    /// the call returns. Prints nothing.
    ///
    /// The file is written whether or not the job is held, and also if the game quits meanwhile.
    #[func]
    fn save_batch_async(
        path: GString,
        values: AnyArray,
        #[opt(default = false)] full_objects: bool,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantCodec.save_batch_async", || {
            job_class::start(Job::save(&path, &values, objects(full_objects)))
        })
    }

    /// Encodes a value and gives the bytes or the reason why there are none. Prints nothing. With [param full_objects],
    /// objects are written with class and properties, as [method encode] does.
    ///
    /// What would not come back as it is, is an error here: lone surrogates, a byte-order mark at the start of a text, keys
    /// of a Dictionary that [method decode] takes for one, and values of another type than their Dictionary declares.
    #[func]
    fn try_encode(value: Variant, #[opt(default = false)] full_objects: bool) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.try_encode", || match value::encode(&value, objects(full_objects), true) {
            Ok(bytes) => FastVariantResult::encoded(bytes.to_variant(), bytes.len()),
            Err(error) => FastVariantResult::failed(&error),
        })
    }

    /// Decodes a value strictly and gives it, or the reason why there is none. Prints nothing.
    ///
    /// What no encoder writes is an error that says what is odd, and so is what exceeds [param limits]; without limits,
    /// those of [method FastVariantLimits.for_save_files] apply. Decoding starts at the byte [param offset] of [param
    /// bytes].
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
            let mut keys = KeyCache::default();
            let reading =
                Reading { input: &input, strictness: Strictness::Strict, limits: &limits, keys: &mut keys };
            match value::decode(reading, start..end, &mut Spent::default()) {
                Ok((built, end)) => FastVariantResult::decoded(built.give(), start, end),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Checks [param bytes] as [method try_decode] does, with the same [param limits], and says what is wrong with them,
    /// without building the value. Prints nothing.
    ///
    /// No script runs, and nothing is loaded: with [member FastVariantLimits.allow_objects], whether the objects can be
    /// made is left open. The result's [member FastVariantResult.value] is [code]null[/code].
    #[func]
    fn validate(
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.validate", || {
            match value::validate(&Input::Owned(bytes), Strictness::Strict, &strict_limits(limits)) {
                Ok(end) => FastVariantResult::decoded(Variant::nil(), 0, end),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Encodes a value to bytes that Godot 3's [code]bytes2var[/code] reads.
    ///
    /// What Godot 3 has no type for becomes what holds the same numbers and characters, such as a [Vector2] for a
    /// [Vector2i] and a [String] for a [StringName]; typed containers lose their types, and objects are written by instance
    /// id. Where something would be lost, such as a large number of a [Vector2i], the result is empty and one error is
    /// printed; with [param lossy], it is lost. [code]docs/migrating-from-godot-3.md[/code] has the whole table.
    #[func]
    fn encode_godot3(value: Variant, #[opt(default = false)] lossy: bool) -> PackedByteArray {
        guard("FastVariantCodec.encode_godot3", || {
            let mut bytes = PackedByteArray::new();
            if let Err(error) = godot3::encode_to(&mut bytes, &value, Loss::accepted_if(lossy)) {
                report::failure("FastVariantCodec.encode_godot3", &error);
                return PackedByteArray::new();
            }
            bytes
        })
    }

    /// Decodes a value from bytes that Godot 3's [code]var2bytes[/code], [code]store_var[/code] or [code]put_var[/code]
    /// wrote.
    ///
    /// If the bytes cannot be decoded, the result is [code]null[/code] and one error is printed: also for text with code
    /// units that are no characters, and for objects with properties. With [param lossy], the units become U+FFFD, and
    /// such objects become Dictionaries of their properties, with the class under [code]"class"[/code]. Nothing is ever
    /// made from them.
    #[func]
    fn decode_godot3(bytes: PackedByteArray, #[opt(default = false)] lossy: bool) -> Variant {
        guard("FastVariantCodec.decode_godot3", || {
            let limits = engine_limits(false);
            match godot3::decode(
                engine::bytes(&bytes),
                Strictness::Lenient,
                &limits,
                Loss::accepted_if(lossy),
                &mut KeyCache::default(),
            ) {
                Ok((built, _)) => built.give(),
                Err(error) => {
                    report::failure("FastVariantCodec.decode_godot3", &error);
                    Variant::nil()
                }
            }
        })
    }

    /// Encodes each element of an Array as [method encode_godot3] does with the same [param lossy], in parallel. Buffers
    /// keep the order of the values.
    ///
    /// Where a value cannot be encoded, its buffer is empty; one error names the first ten such indexes.
    #[func]
    fn encode_godot3_batch(values: AnyArray, #[opt(default = false)] lossy: bool) -> Array<PackedByteArray> {
        guard("FastVariantCodec.encode_godot3_batch", || {
            let batch = batch::encode_each(&values, true, Reasons::First, |value, bytes, &mut ()| {
                godot3::encode_to(bytes, value, Loss::accepted_if(lossy))
            });
            report::batch("FastVariantCodec.encode_godot3_batch", &batch.failed);
            batch.give()
        })
    }

    /// Decodes each of the [param buffers], an Array, as [method decode_godot3] does with the same [param lossy], in
    /// parallel. Values keep the order of the buffers.
    ///
    /// Where a buffer cannot be decoded, its value is [code]null[/code]; one error names the first ten such indexes.
    #[func]
    fn decode_godot3_batch(buffers: AnyArray, #[opt(default = false)] lossy: bool) -> VarArray {
        guard("FastVariantCodec.decode_godot3_batch", || {
            let limits = engine_limits(false);
            let batch = batch::decode_each(&buffers, Reasons::First, |input, keys| {
                godot3::decode(input.bytes(), Strictness::Lenient, &limits, Loss::accepted_if(lossy), keys)
                    .map(|(built, _)| built)
            });
            report::batch("FastVariantCodec.decode_godot3_batch", &batch.failed);
            batch.give()
        })
    }

    /// Encodes a value as [method encode_godot3] does with the same [param lossy], and gives the bytes or the reason why
    /// there are none. Prints nothing.
    #[func]
    fn try_encode_godot3(value: Variant, #[opt(default = false)] lossy: bool) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.try_encode_godot3", || {
            let mut bytes = PackedByteArray::new();
            match godot3::encode_to(&mut bytes, &value, Loss::accepted_if(lossy)) {
                Ok(()) => FastVariantResult::encoded(bytes.to_variant(), bytes.len()),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Decodes a value from [param bytes] as [method decode_godot3] does with the same [param lossy], but strictly, and
    /// gives it or the reason why there is none. Prints nothing.
    ///
    /// What no Godot 3 writes is an error that says what is odd, and so is what exceeds [param limits]; without limits,
    /// those of [method FastVariantLimits.for_save_files] apply. Objects are never made, whatever the limits allow.
    #[func]
    fn try_decode_godot3(
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
        #[opt(default = false)] lossy: bool,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.try_decode_godot3", || {
            let limits = strict_limits(limits);
            let mut keys = KeyCache::default();
            match godot3::decode(
                engine::bytes(&bytes),
                Strictness::Strict,
                &limits,
                Loss::accepted_if(lossy),
                &mut keys,
            ) {
                Ok((built, end)) => FastVariantResult::decoded(built.give(), 0, end),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Converts a file that Godot 3 wrote with [code]store_var[/code], called once or repeatedly, to one that
    /// [method load_batch] and [method FileAccess.get_var] read, in parallel. Prints nothing. With [param lossy], as
    /// [method decode_godot3] has it.
    ///
    /// The result's [member FastVariantResult.value] is a report, a Dictionary: how many [code]records[/code] there were,
    /// [code]bytes_read[/code] and [code]bytes_written[/code], and [code]changes[/code], from what was replaced, in words,
    /// to how many times. If any record cannot be converted, nothing is written, and the result has the index and the
    /// reason of each. [param from] and [param to] may be the same file, which is replaced only when all is well.
    #[func]
    fn convert_godot3_file(
        from: GString,
        to: GString,
        #[opt(default = false)] lossy: bool,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.convert_godot3_file", || {
            converted(godot3::convert_file(&from, &to, Direction::From3, Loss::accepted_if(lossy)))
        })
    }

    /// Converts the file [param from], of values as [method save_batch] and [method FileAccess.store_var] write it, to
    /// [param to], which Godot 3's [code]get_var[/code] reads, called once for each value; otherwise as
    /// [method convert_godot3_file]. With [param lossy], as [method encode_godot3] has it.
    #[func]
    fn convert_file_to_godot3(
        from: GString,
        to: GString,
        #[opt(default = false)] lossy: bool,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantCodec.convert_file_to_godot3", || {
            converted(godot3::convert_file(&from, &to, Direction::To3, Loss::accepted_if(lossy)))
        })
    }

    /// Shows what bytes hold and where it lies, to the end or to where they stop being good. Nothing is made from
    /// objects, nothing is printed.
    ///
    /// The Dictionary has these keys:
    /// [br]- [code]nodes[/code]: an [code]Array[Dictionary][/code] of the values, each before those that it holds; the
    /// first is the outermost. The first [param max_nodes] are there, at least 1 and at most 100,000;
    /// [br]- [code]end[/code]: the byte where the value ended, or where reading stopped;
    /// [br]- [code]error[/code]: a [enum CodecError], [constant OK] where the value is whole;
    /// [code]message[/code]: the reason as a sentence; [code]offset[/code]: the bad byte, −1 where there is none;
    /// [br]- [code]notes[/code]: what [method decode] reads and no encoder writes, the first 100 places, each with
    /// [code]offset[/code] and [code]message[/code], in the order of the bytes; also bytes behind the value. Keys that a
    /// Dictionary holds twice are not looked for; [code]notes_left_out[/code]: how many more there are;
    /// [br]- [code]piece_offsets[/code], a [PackedInt64Array], and [code]piece_kinds[/code], a [PackedByteArray]: what the
    /// bytes are there for, from each offset to the next one or to [code]end[/code]: 0 is content, 1 a header, 2 the
    /// type that a container declares, 3 a count or length, 4 padding. There are at most eight for each of
    /// [param max_nodes]; the rest counts as content.
    ///
    /// Each node has these:
    /// [br]- [code]type[/code]: an [enum Variant.Type]; [code]type_name[/code]: its name;
    /// [br]- [code]parent[/code]: the index of the node that holds it, −1 for the outermost; [code]children[/code]: the
    /// indexes of those that it holds, in order;
    /// [br]- [code]role[/code]: what it is there: [code]"root"[/code], [code]"element"[/code], [code]"key"[/code],
    /// [code]"value"[/code] (these with [code]index[/code], of the element or entry) or [code]"property"[/code] (with
    /// [code]name[/code]; the name's own bytes stand before the node);
    /// [br]- [code]offset[/code] and [code]size[/code]: where it lies, as [method PackedByteArray.decode_var_size] counts:
    /// from its header, which takes 4 bytes, to the end of its padding. The missing padding of a last
    /// [PackedByteArray] is counted, too;
    /// [br]- [code]is_complete[/code]: whether it was read to its end; if not, [code]size[/code] is what was read;
    /// [br]- [code]header[/code]: the header's number; [code]flags[/code]: what its bits mean, in words;
    /// [br]- [code]preview[/code]: the value in short, in at most 121 characters;
    /// [br]- [code]count[/code]: only where elements, entries or properties are announced: how many;
    /// [br]- [code]element_types[/code]: only of typed containers: what they declare for elements, or for keys and values;
    /// [br]- [code]left_out[/code], [code]left_out_offset[/code], [code]left_out_size[/code]: only where it holds values
    /// that are no nodes: how many, and where they lie.
    #[func]
    fn inspect(bytes: PackedByteArray, #[opt(default = 10_000)] max_nodes: i64) -> VarDictionary {
        guard("FastVariantCodec.inspect", || {
            inspection::to_dictionary(&Outline::of(
                engine::bytes(&bytes),
                inspection::within_limit(max_nodes),
            ))
        })
    }

    /// Shows what bytes hold as a text, one line for each value: its offset, its size, its first bytes in hexadecimal, and
    /// what it is, moved to the right as deep as it lies. Where bytes are bad or odd, a line marks the first such byte and
    /// says why. Nothing is made from objects, nothing is printed.
    ///
    /// At most 10,000 values and 100 notes are shown, each in fewer than 600 bytes; a line counts what is left out.
    #[func]
    fn describe(bytes: PackedByteArray) -> GString {
        guard("FastVariantCodec.describe", || {
            GString::from(&Outline::of(engine::bytes(&bytes), inspection::DESCRIBED).to_string())
        })
    }
}

/// Encodes values and writes them to a file.
fn write(
    method: &str,
    path: &GString,
    values: &AnyArray,
    full_objects: bool,
    write: impl FnOnce(&Target, Turn, &[Vec<u8>]) -> Result<(), FileError>,
) -> Code {
    let written = Target::of(path).and_then(|target| {
        let parts = match records::frame(values, objects(full_objects)) {
            Ok(parts) => parts,
            Err(failed) => {
                report::batch(method, &failed);
                return Ok(Code::ERR_INVALID_DATA);
            }
        };
        write(&target, target.turn(), &parts).map(|()| Code::OK)
    });
    written.unwrap_or_else(|error| {
        report::file(method, &error);
        error.code
    })
}

/// The report on the conversion of a file.
fn converted(conversion: Result<Conversion, NotConverted>) -> Gd<FastVariantResult> {
    let Conversion { records, bytes_read, bytes_written, changes } = match conversion {
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
