//! FastProtobufCodec: where scripts get schemas from.

use godot::builtin::{GString, PackedStringArray};
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::{GodotClass, godot_api};

use super::guard::guard;
use super::report;
use super::result_class::FastVariantResult;
use super::schema_class::FastProtobufSchema;
use crate::protobuf;

/// Reads the schemas of protobuf messages.
///
/// A [FastProtobufSchema] writes and reads the messages that a [code].proto[/code] file describes, as servers in other
/// languages do. [code]docs/protobuf.md[/code] says what becomes of each type.
///
/// Games contain the [code].proto[/code] files of their project if the plugin is enabled when they are exported.
#[derive(GodotClass)]
#[class(no_init, base=Object)]
pub struct FastProtobufCodec {}

#[godot_api]
impl FastProtobufCodec {
    /// Compiles the schema in the file at [param path]: a [code].proto[/code] file in proto2 or proto3, or, by any other
    /// extension, what [code]protoc --include_imports --descriptor_set_out[/code] writes.
    ///
    /// Imports are looked for in each of the [param import_folders], beside the file, and in [code]res://[/code], in this
    /// order; [code]google/protobuf/timestamp.proto[/code] and its like are always there. If there is no schema, the
    /// result is [code]null[/code], and one error is printed, with file, line and column.
    #[func]
    fn load_schema(
        path: GString,
        #[opt(default = &PackedStringArray::new())] import_folders: PackedStringArray,
    ) -> Option<Gd<FastProtobufSchema>> {
        guard("FastProtobufCodec.load_schema", || match protobuf::load(&path, &import_folders) {
            Ok(schema) => Some(FastProtobufSchema::of(schema)),
            Err(error) => {
                report::failure("FastProtobufCodec.load_schema", &error.into());
                None
            }
        })
    }

    /// Compiles the schema in the file at [param path] as [method load_schema] does with the same [param import_folders],
    /// and gives it or the reason why there is none. Prints nothing.
    #[func]
    fn try_load_schema(
        path: GString,
        #[opt(default = &PackedStringArray::new())] import_folders: PackedStringArray,
    ) -> Gd<FastVariantResult> {
        guard("FastProtobufCodec.try_load_schema", || match protobuf::load(&path, &import_folders) {
            Ok(schema) => FastVariantResult::decoded(FastProtobufSchema::of(schema).to_variant(), 0, 0),
            Err(error) => FastVariantResult::failed(&error.into()),
        })
    }
}
