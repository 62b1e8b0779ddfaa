//! The class FastProtobufSchema: encodes and decodes messages.

use std::sync::Mutex;

use godot::builtin::{AnyArray, AnyDictionary, Array, GString, PackedByteArray, PackedStringArray, Variant};
use godot::classes::IRefCounted;
use godot::global::Error as Code;
use godot::meta::ToGodot;
use godot::obj::{Gd, NewGd};
use godot::prelude::{GodotClass, PhantomVar, VarArray, VarDictionary, godot_api};
use variant_codec::sync::lock;
use variant_codec::{Error, Limits, Result, Strictness};
use variant_engine as engine;
use variant_protobuf::{DecodeOptions, Defaults, EncodeOptions, Message, MessageEncoder, Schema, Wire};

use super::arguments::{OptionalLimits, engine_limits, strict_limits, type_of};
use super::guard::guard;
use super::properties::properties;
use super::result_class::FastVariantResult;
use super::{report, summary};
use crate::protobuf;
use variant_live::batch;
use variant_live::batch::failed::Reasons;
use variant_live::decode::built::Built;
use variant_live::decode::decoding::Decoding;

/// The maximum number of messages that `print()` names.
const NAMED: usize = 3;

/// The messages of a [code].proto[/code] file, in the format that servers in other languages use.
/// [code]docs/protobuf.md[/code] has the mapping of types.
///
/// A message is a [Dictionary] with its field names as keys. Repeated numbers are packed arrays, [code]bytes[/code] is
/// a [PackedByteArray], maps and nested messages are Dictionaries.
///
/// ```gdscript
/// var schema := FastProtobufSchema.from_text("""
///     syntax = "proto3";
///     message Player { string name = 1; int32 hp = 2; repeated float at = 3; }
/// """)
/// var bytes := schema.encode("Player", {"name": "Ren", "hp": 87, "at": [1.5, 2.0]})
/// print(schema.decode("Player", bytes))
/// ```
///
/// ```text output
/// { "name": "Ren", "hp": 87, "at": [1.5, 2.0] }
/// ```
///
/// Any thread may call the methods and set the properties at any time; a call uses the properties as they were when it
/// began.
#[derive(GodotClass)]
#[class(tool, init, base=RefCounted)]
pub struct FastProtobufSchema {
    /// If [code]true[/code], uses the wire types of [code]docs/protobuf.md[/code] instead of protobuf's. Bools and negative numbers
    /// are then shorter, but only [FastProtobufSchema] reads the messages.
    #[var(get, set)]
    own_wire: PhantomVar<bool>,
    /// If [code]true[/code], decodes enums as names. Encoding accepts names and numbers.
    #[var(get, set)]
    enum_names: PhantomVar<bool>,
    /// If [code]true[/code], decodes field names as [StringName].
    #[var(get, set)]
    string_name_keys: PhantomVar<bool>,
    /// If [code]true[/code], decoding keeps unknown fields, as bytes under [code]"@unknown"[/code], which encoding
    /// writes back.
    #[var(get, set)]
    keep_unknown: PhantomVar<bool>,
    /// If [code]true[/code], decoding refuses unknown fields and non-canonical encodings, such as fields out of order.
    #[var(get, set)]
    strict: PhantomVar<bool>,
    /// If [code]true[/code], and the message lacks a field without presence, decoding adds the field with its
    /// default: zero, empty text, an empty list or an empty map.
    #[var(get, set)]
    defaults: PhantomVar<bool>,
    values: Mutex<Options>,
    /// The schema; `None` if a script made the object with `new()`, or the editor recreated it.
    schema: Mutex<Option<Schema>>,
}

#[derive(Clone, Copy)]
struct Options {
    own_wire: bool,
    enum_names: bool,
    string_name_keys: bool,
    keep_unknown: bool,
    strict: bool,
    defaults: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            own_wire: false,
            enum_names: false,
            string_name_keys: false,
            keep_unknown: false,
            strict: false,
            defaults: true,
        }
    }
}

properties! { FastProtobufSchema {
    own_wire: bool, get_own_wire, set_own_wire;
    enum_names: bool, get_enum_names, set_enum_names;
    string_name_keys: bool, get_string_name_keys, set_string_name_keys;
    keep_unknown: bool, get_keep_unknown, set_keep_unknown;
    strict: bool, get_strict, set_strict;
    defaults: bool, get_defaults, set_defaults;
} }

#[godot_api]
impl IRefCounted for FastProtobufSchema {
    #[func(gd_self)]
    fn to_string(this: Gd<Self>) -> GString {
        guard("FastProtobufSchema.to_string", || {
            let holds = this.bind().summary();
            summary::of(&this, holds)
        })
    }
}

#[godot_api(secondary)]
impl FastProtobufSchema {
    /// Loads the schema from the file at [param path]. A [code].proto[/code] file is compiled; it may use
    /// proto2, proto3 or an edition. A file with any other extension must be a descriptor set from
    /// [code]protoc --include_imports --descriptor_set_out[/code].
    ///
    /// Searches for imports in each of [param import_folders], in the folder of the file, and in
    /// [code]res://[/code], in this order. [code]google/protobuf/timestamp.proto[/code] and the other
    /// standard files are built in. If the schema cannot be loaded, prints one error with file, line and
    /// column, and returns [code]null[/code].
    ///
    /// Exported games contain the [code].proto[/code] files of the project if the plugin is enabled.
    #[func]
    fn load_file(
        path: GString,
        #[opt(default = &PackedStringArray::new())] import_folders: PackedStringArray,
    ) -> Option<Gd<Self>> {
        guard("FastProtobufSchema.load_file", || {
            or_report("FastProtobufSchema.load_file", protobuf::load(&path, &import_folders))
        })
    }

    /// Loads the schema from the file at [param path] as [method load_file] does with the same
    /// [param import_folders], and returns it or an error. Prints nothing.
    #[func]
    fn try_load_file(
        path: GString,
        #[opt(default = &PackedStringArray::new())] import_folders: PackedStringArray,
    ) -> Gd<FastVariantResult> {
        guard("FastProtobufSchema.try_load_file", || match protobuf::load(&path, &import_folders) {
            Ok(schema) => FastVariantResult::decoded(Self::of(schema).to_variant(), 0, 0),
            Err(error) => FastVariantResult::failed(&error.into()),
        })
    }

    /// Compiles the schema in [param text], the contents of a [code].proto[/code] file that imports at most
    /// standard files. If that fails, prints one error with line and column, and returns [code]null[/code].
    ///
    /// ```gdscript
    /// var schema := FastProtobufSchema.from_text("syntax = 'proto3'; message Ping { int64 sent = 1; }")
    /// print(schema.encode("Ping", {"sent": 7}))
    /// ```
    ///
    /// ```text output
    /// [8, 7]
    /// ```
    #[func]
    fn from_text(text: GString) -> Option<Gd<Self>> {
        guard("FastProtobufSchema.from_text", || {
            or_report("FastProtobufSchema.from_text", protobuf::compile(&text))
        })
    }

    /// Makes a value of [param value_type] stand for the messages of type [param message_name], both when encoding and when
    /// decoding. [param value_type] is [constant TYPE_VECTOR2], [constant TYPE_VECTOR3], [constant TYPE_VECTOR4], one of these
    /// with ints, [constant TYPE_QUATERNION] or [constant TYPE_COLOR]. The message must have exactly the fields of its
    /// components: [code]x[/code], [code]y[/code], [code]z[/code], [code]w[/code], or [code]r[/code], [code]g[/code],
    /// [code]b[/code], [code]a[/code]. A repeated field is a packed array if there is one for the type, otherwise a typed
    /// [Array]. If the message cannot stand for the type, prints one error and returns an error code.
    ///
    /// ```gdscript
    /// var schema := FastProtobufSchema.from_text("""
    ///     syntax = "proto3";
    ///     message Vec3 { float x = 1; float y = 2; float z = 3; }
    ///     message Unit { Vec3 at = 1; repeated Vec3 path = 2; }
    /// """)
    /// schema.map_message("Vec3", TYPE_VECTOR3)
    /// var bytes := schema.encode("Unit", {"at": Vector3(1, 2, 3), "path": PackedVector3Array([Vector3.UP])})
    /// print(schema.decode("Unit", bytes))
    /// ```
    ///
    /// ```text output
    /// { "at": (1.0, 2.0, 3.0), "path": [(0.0, 1.0, 0.0)] }
    /// ```
    #[func(gd_self)]
    fn map_message(this: Gd<Self>, message_name: GString, value_type: i64) -> Code {
        guard("FastProtobufSchema.map_message", || {
            let mapped = type_of(value_type).and_then(|ty| {
                let this = this.bind();
                let mut schema = lock(&this.schema);
                let schema = schema.as_mut().ok_or_else(not_loaded)?;
                Ok(schema.map_message(&engine::text_of(&message_name), ty)?)
            });
            report::code("FastProtobufSchema.map_message", mapped)
        })
    }

    /// Encodes [param message] as a message of type [param message_name], a name with or without its package.
    ///
    /// Fields are written in the order of their numbers, as in the official implementation's deterministic output. If
    /// the Dictionary does not fit the message, prints one error with the path to the field and the expected type, and
    /// returns an empty array.
    // `this` keeps the object alive, here and in all methods: printing an error runs Loggers, which are
    // scripts and may drop the last other reference.
    #[func(gd_self)]
    fn encode(this: Gd<Self>, message_name: GString, message: AnyDictionary) -> PackedByteArray {
        guard("FastProtobufSchema.encode", || {
            let this = this.bind();
            this.encoded(&message_name, &message).unwrap_or_else(|error| {
                report::failure("FastProtobufSchema.encode", &error);
                PackedByteArray::new()
            })
        })
    }

    /// Decodes [param bytes] as a message of type [param message_name].
    ///
    /// Returns a [Dictionary]. Accepts what official implementations accept: unknown fields are skipped, and
    /// the last value of a field wins. If the bytes cannot be decoded, prints one error and returns
    /// [code]null[/code].
    #[func(gd_self)]
    fn decode(this: Gd<Self>, message_name: GString, bytes: PackedByteArray) -> Variant {
        guard("FastProtobufSchema.decode", || {
            let this = this.bind();
            let limits = engine_limits(false).clone();
            this.decoded(&message_name, &bytes, limits).unwrap_or_else(|error| {
                report::failure("FastProtobufSchema.decode", &error);
                Variant::nil()
            })
        })
    }

    /// Encodes the elements of the Array [param messages] in parallel, each as [method encode] does with this
    /// [param message_name]. Returns one buffer per message, in the same order.
    ///
    /// If a message cannot be encoded, its buffer is empty; one error names the indexes of the first ten
    /// failures.
    #[func(gd_self)]
    fn encode_batch(this: Gd<Self>, message_name: GString, messages: AnyArray) -> Array<PackedByteArray> {
        guard("FastProtobufSchema.encode_batch", || {
            let this = this.bind();
            const METHOD: &str = "FastProtobufSchema.encode_batch";
            let options = this.encode_options();
            let message = match this.message(&message_name) {
                Ok(message) => message,
                Err(error) => {
                    report::failure(METHOD, &error);
                    return Array::new();
                }
            };
            let batch = batch::encode_each(&messages, true, Reasons::First, |value, bytes, kept| {
                let encoder: &mut Option<MessageEncoder<'_>> = kept;
                let encoder = encoder.get_or_insert_with(|| MessageEncoder::new(&message, &options));
                protobuf::encode_to(bytes, value, encoder)
            });
            report::batch(METHOD, &batch.failed);
            batch.into_array()
        })
    }

    /// Decodes each of the [param buffers], an Array, as [method decode] does with the same [param message_name], in
    /// parallel. Returns one message per buffer, in the same order.
    ///
    /// If a buffer cannot be decoded, its message is [code]null[/code]; one error names the indexes of the
    /// first ten failures.
    #[func(gd_self)]
    fn decode_batch(this: Gd<Self>, message_name: GString, buffers: AnyArray) -> VarArray {
        guard("FastProtobufSchema.decode_batch", || {
            let this = this.bind();
            const METHOD: &str = "FastProtobufSchema.decode_batch";
            let options = this.decode_options(engine_limits(false).clone());
            match this.message(&message_name) {
                Ok(message) => {
                    let make = || Decoding::new(&options.limits, Strictness::Lenient);
                    let batch = batch::decode_each(&buffers, Reasons::First, make, |input, decoding| {
                        protobuf::decode(input.bytes(), &message, &options, decoding)
                    });
                    report::batch(METHOD, &batch.failed);
                    batch.into_array()
                }
                Err(error) => {
                    report::failure(METHOD, &error);
                    VarArray::new()
                }
            }
        })
    }

    /// Encodes a message as [method encode] does with the same [param message_name], and returns the bytes, or an error
    /// with the path of the field. Prints nothing.
    #[func(gd_self)]
    fn try_encode(this: Gd<Self>, message_name: GString, message: AnyDictionary) -> Gd<FastVariantResult> {
        guard("FastProtobufSchema.try_encode", || match this.bind().encoded(&message_name, &message) {
            Ok(bytes) => FastVariantResult::encoded(bytes.to_variant(), bytes.len()),
            Err(error) => FastVariantResult::failed(&error),
        })
    }

    /// Decodes [param bytes] as [method decode] does with the same [param message_name], within [param limits], and
    /// returns the message, or an error with the path of the field. Prints nothing.
    ///
    /// The default limits are [method FastVariantLimits.for_save_files]. Messages nested deeper than 100 levels are
    /// always refused, as in official implementations.
    #[func(gd_self)]
    fn try_decode(
        this: Gd<Self>,
        message_name: GString,
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastProtobufSchema.try_decode", || {
            match this.bind().decoded(&message_name, &bytes, strict_limits(limits)) {
                Ok(value) => FastVariantResult::decoded(value, 0, bytes.len()),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Returns the names of all messages, with their packages, in the order of the files.
    #[func(gd_self)]
    fn get_message_names(this: Gd<Self>) -> PackedStringArray {
        guard("FastProtobufSchema.get_message_names", || {
            let this = this.bind();
            let schema = lock(&this.schema).clone();
            let messages = schema.iter().flat_map(Schema::messages);
            messages.map(|message| GString::from(message.name())).collect()
        })
    }

    /// Returns the fields of message [param message_name], in the order of their numbers. Each is a
    /// Dictionary with [code]name[/code], [code]number[/code], [code]type[/code] as in the schema, and the
    /// flags [code]repeated[/code], [code]map[/code], [code]required[/code] and [code]presence[/code]. A
    /// field has presence if an absent field differs from one with the default value. If there is no such
    /// message, prints one error and returns an empty Array.
    #[func(gd_self)]
    fn get_fields(this: Gd<Self>, message_name: GString) -> Array<VarDictionary> {
        guard("FastProtobufSchema.get_fields", || {
            let this = this.bind();
            let message = match this.message(&message_name) {
                Ok(message) => message,
                Err(error) => {
                    report::failure("FastProtobufSchema.get_fields", &error);
                    return Array::new();
                }
            };
            let mut fields = Array::new();
            for field in message.fields() {
                let mut described = VarDictionary::new();
                described.set("name", field.name());
                described.set("number", i64::from(field.number()));
                described.set("type", field.type_name());
                described.set("repeated", field.is_repeated());
                described.set("map", field.is_map());
                described.set("required", field.is_required());
                described.set("presence", field.has_presence());
                fields.push(&described);
            }
            fields
        })
    }
}

impl FastProtobufSchema {
    fn summary(&self) -> String {
        let Some(schema) = lock(&self.schema).clone() else { return "not loaded".to_owned() };
        let total = schema.messages().count();
        let names: Vec<String> =
            schema.messages().take(NAMED).map(|message| message.name().to_owned()).collect();
        let more = if total > NAMED { ", …" } else { "" };
        let first = names.join(", ");
        let Options { own_wire, enum_names, string_name_keys, keep_unknown, strict, defaults } =
            self.options();
        let options = [
            ("own_wire", own_wire),
            ("enum_names", enum_names),
            ("string_name_keys", string_name_keys),
            ("keep_unknown", keep_unknown),
            ("strict", strict),
            ("no defaults", !defaults),
        ];
        let options: String =
            options.iter().filter(|(_, on)| *on).map(|(name, _)| format!(", {name}")).collect();
        format!("{}: {}{options}", summary::count(total, "message", "messages"), summary::short(first + more))
    }

    /// A schema for scripts, with default options.
    fn of(schema: Schema) -> Gd<Self> {
        let made = Self::new_gd();
        *lock(&made.bind().schema) = Some(schema);
        made
    }

    fn message(&self, name: &GString) -> Result<Message> {
        Ok(lock(&self.schema).as_ref().ok_or_else(not_loaded)?.message(&engine::text_of(name))?)
    }

    fn encoded(&self, name: &GString, message: &AnyDictionary) -> Result<PackedByteArray> {
        protobuf::encode_one(&message.to_variant(), &self.message(name)?, &self.encode_options())
    }

    fn decoded(&self, name: &GString, bytes: &PackedByteArray, limits: Limits) -> Result<Variant> {
        let options = self.decode_options(limits);
        let mut decoding = Decoding::new(&options.limits, Strictness::Lenient);
        protobuf::decode(engine::bytes(bytes), &self.message(name)?, &options, &mut decoding)
            .map(Built::into_value)
    }

    /// The values of all properties at one moment.
    fn options(&self) -> Options {
        *lock(&self.values)
    }

    fn encode_options(&self) -> EncodeOptions {
        EncodeOptions { wire: self.options().wire() }
    }

    fn decode_options(&self, limits: Limits) -> DecodeOptions {
        let options = self.options();
        DecodeOptions {
            wire: options.wire(),
            strictness: if options.strict { Strictness::Strict } else { Strictness::Lenient },
            limits,
            defaults: if options.defaults { Defaults::Implicit } else { Defaults::Omit },
            enum_names: options.enum_names,
            string_name_keys: options.string_name_keys,
            keep_unknown: options.keep_unknown,
        }
    }
}

impl Options {
    fn wire(self) -> Wire {
        if self.own_wire { Wire::Own } else { Wire::Protobuf }
    }
}

#[cold]
fn not_loaded() -> Error {
    Error::argument("schema was made with `new()`; use `load_file` or `from_text`")
}

/// The schema for scripts. After an error, prints it and returns `None`.
fn or_report(
    method: &str,
    schema: std::result::Result<Schema, variant_protobuf::Error>,
) -> Option<Gd<FastProtobufSchema>> {
    schema
        .map(FastProtobufSchema::of)
        .inspect_err(|error| report::failure(method, &error.clone().into()))
        .ok()
}
