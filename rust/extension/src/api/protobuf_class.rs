//! The class FastProtobufCodec: loads schemas.

use godot::builtin::{GString, PackedStringArray};
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::{GodotClass, godot_api};

use super::guard::guard;
use super::report;
use super::result_class::FastVariantResult;
use super::schema_class::FastProtobufSchema;
use crate::protobuf;

/// Loads schemas of protobuf messages.
///
/// A [FastProtobufSchema] encodes and decodes the messages of a [code].proto[/code] file in the format that servers
/// in other languages use. [code]docs/protobuf.md[/code] has the mapping of types.
///
/// Exported games contain the [code].proto[/code] files of the project if the plugin is enabled.
#[derive(GodotClass)]
#[class(no_init, base=Object)]
pub struct FastProtobufCodec {}

#[godot_api]
impl FastProtobufCodec {
    /// Loads the schema from the file at [param path]. A [code].proto[/code] file is compiled; it may use
    /// proto2, proto3 or an edition. A file with any other extension must be a descriptor set from
    /// [code]protoc --include_imports --descriptor_set_out[/code].
    ///
    /// Searches for imports in each of [param import_folders], in the folder of the file, and in
    /// [code]res://[/code], in this order. [code]google/protobuf/timestamp.proto[/code] and the other
    /// standard files are built in. If the schema cannot be loaded, prints one error with file, line and
    /// column, and returns [code]null[/code].
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

    /// Loads the schema from the file at [param path] as [method load_schema] does with the same
    /// [param import_folders], and returns it or an error. Prints nothing.
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
