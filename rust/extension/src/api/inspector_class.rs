//! The class FastVariantInspector: what bytes hold, and what the library has found, for tools.

use godot::builtin::{GString, PackedByteArray, PackedInt64Array, Variant};
use godot::obj::Gd;
use godot::prelude::{GodotClass, VarDictionary, godot_api};
use variant_codec::Error;
use variant_engine as engine;

use super::guard::guard;
use super::view_class::FastVariantView;
use super::{engine_report, inspection, report};

/// Shows the structure of encoded bytes, also of damaged ones, for tools and bug reports.
///
/// All methods are static, create no objects, and may be called from any thread.
#[derive(GodotClass)]
#[class(no_init, base=Object)]
pub struct FastVariantInspector {}

#[godot_api]
impl FastVariantInspector {
    /// Returns the structure of encoded bytes: each value with its offset and size, up to the end or the first error.
    /// Creates no objects and prints nothing.
    ///
    /// The Dictionary has these keys:
    /// [br]- [code]contents[/code]: what the bytes hold, perhaps damaged: [code]"value"[/code], [code]"records"[/code],
    /// [code]"value of Godot 3"[/code] or [code]"records of Godot 3"[/code]; empty for the file of another program, which
    /// [code]message[/code] names. [code]other_contents[/code]: what else all of the bytes can be read as; usually
    /// empty. The other keys describe the bytes as one value of Godot 4, whatever they hold;
    /// [br]- [code]nodes[/code]: an [code]Array[Dictionary][/code] of at most [param max_nodes] values, each
    /// before its children; the first is the outermost value. [param max_nodes] is clamped to the range 1 to
    /// 100,000;
    /// [br]- [code]end[/code]: the byte where the value ended, or where decoding stopped;
    /// [br]- [code]error[/code]: a [enum CodecError], [constant OK] if the value is complete;
    /// [code]message[/code]: the reason; [code]offset[/code]: the byte of the error, or −1;
    /// [br]- [code]notes[/code]: the first 100 non-canonical encodings, which [method FastVariantCodec.decode] accepts and no
    /// encoder writes, each with [code]offset[/code] and [code]message[/code], in order. Trailing bytes are
    /// noted, too; duplicate Dictionary keys are not detected. [code]notes_left_out[/code]: the number of
    /// further notes;
    /// [br]- [code]piece_offsets[/code], a [PackedInt64Array], and [code]piece_kinds[/code], a
    /// [PackedByteArray]: the pieces of the bytes. A piece reaches from its offset to the next one, or to
    /// [code]end[/code]. Its kind is 0 for content, 1 for a header, 2 for the declared type of a container, 3
    /// for a count or length, and 4 for padding. There are at most 8 × [param max_nodes] pieces
    /// in total; the remaining bytes count as content.
    ///
    /// Each node has these keys:
    /// [br]- [code]type[/code]: one of [enum Variant.Type]; [code]type_name[/code]: its name;
    /// [br]- [code]parent[/code]: the index of the parent node, −1 for the outermost; [code]children[/code]: the
    /// indexes of its children, in order;
    /// [br]- [code]role[/code]: its role in its parent: [code]"root"[/code], [code]"element"[/code],
    /// [code]"key"[/code], [code]"value"[/code] (with [code]index[/code], the index of the element or entry)
    /// or [code]"property"[/code] (with [code]name[/code], whose bytes precede the node);
    /// [br]- [code]offset[/code] and [code]size[/code]: its bytes, from its 4-byte header to the end of its padding.
    /// If the data ends before the padding of a [PackedByteArray], [code]size[/code] counts it nevertheless, as
    /// [method PackedByteArray.decode_var_size] does;
    /// [br]- [code]is_complete[/code]: whether it was decoded completely; if not, [code]size[/code] is the
    /// size of the decoded part;
    /// [br]- [code]header[/code]: the header's number; [code]flags[/code]: its flag bits by name;
    /// [br]- [code]preview[/code]: a short form of the value, at most 121 characters;
    /// [br]- [code]count[/code]: the number of elements, entries or properties, for values that have them;
    /// [br]- [code]element_types[/code]: the declared types of a typed container, for elements or for keys and values;
    /// [br]- [code]left_out[/code], [code]left_out_offset[/code], [code]left_out_size[/code]: for children beyond
    /// [param max_nodes]: their number, offset and size.
    #[func]
    fn inspect(bytes: PackedByteArray, #[opt(default = 10_000)] max_nodes: i64) -> VarDictionary {
        guard("FastVariantInspector.inspect", || {
            inspection::to_dictionary(engine::bytes(&bytes), max_nodes).unwrap_or_else(|error| {
                report::failure("FastVariantInspector.inspect", &error);
                VarDictionary::new()
            })
        })
    }

    /// Returns the byte range of the value at [param path] in the buffer or file of [param view]: the offset of its first
    /// byte, then the offset after its last. For a reference, that is the range of the object. Elements of packed arrays
    /// have no header. If the path leads nowhere, the result is empty and one error is printed.
    #[func]
    fn byte_range(view: Option<Gd<FastVariantView>>, path: Variant) -> PackedInt64Array {
        guard("FastVariantInspector.byte_range", || {
            let view = view.ok_or_else(|| Error::argument("view: expected a FastVariantView, found null"));
            view.and_then(|view| FastVariantView::byte_range(&view, &path)).map_or_else(
                |error| {
                    report::failure("FastVariantInspector.byte_range", &error);
                    PackedInt64Array::new()
                },
                |range| PackedInt64Array::from(range.map(|at| i64::try_from(at).unwrap_or(i64::MAX))),
            )
        })
    }

    /// Returns versions, settings and the access path to engine memory, for bug reports.
    ///
    /// The Dictionary has these keys:
    /// [br]- [code]addon_version[/code], [code]engine_version[/code], [code]engine_build[/code] ([code]"debug"[/code]
    /// or [code]"release"[/code]), [code]platform[/code], [code]precision[/code] ([code]"single"[/code] or
    /// [code]"double"[/code]);
    /// [br]- [code]threads[/code]: the number of threads for one call, including the calling thread;
    /// [code]parallel_threshold_bytes[/code]: the size from which several threads are used;
    /// [br]- [code]access_path[/code]: the access path in use: [code]"direct"[/code], or
    /// [code]"portable"[/code] if engine memory is accessed only through the engine's documented functions;
    /// [code]access_reason[/code]: the reason;
    /// [br]- [code]offsets[/code]: the offsets in engine memory found at start-up, in bytes, by name; empty if portable
    /// access was requested or an offset was not found;
    /// [br]- [code]failed_facts[/code]: the first fact about engine memory that does not hold, if any;
    /// verification stops there.
    #[func]
    fn get_engine_report() -> VarDictionary {
        guard("FastVariantInspector.get_engine_report", engine_report::report)
    }

    /// Returns the structure of encoded bytes as text, one line per value: its offset, size, first bytes in
    /// hexadecimal, and the value, indented by its level. An error or a non-canonical encoding adds a line that marks
    /// its first byte and gives the reason. Records follow each other, and the offsets in a record count from its start.
    /// Creates no objects and prints nothing.
    ///
    /// Shows at most 10,000 values and 100 notes (non-canonical encodings and trailing bytes), each in fewer than
    /// 600 bytes, and counts the others.
    #[func]
    fn describe(bytes: PackedByteArray) -> GString {
        guard("FastVariantInspector.describe", || GString::from(&inspection::describe(engine::bytes(&bytes))))
    }
}
