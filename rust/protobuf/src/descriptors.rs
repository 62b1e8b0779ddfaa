//! Builds tables from descriptors. prost-reflect resolves names, options and defaults; it knows the features of
//! editions, but not their syntax.

use std::collections::HashMap;
use std::sync::Arc;

use prost::Message;
use prost_reflect::{
    Cardinality, DescriptorPool, EnumDescriptor, FieldDescriptor, Kind as FieldKind, MessageDescriptor, Value,
};
use prost_types::SourceCodeInfo;

use variant_codec::error::quoted;

use crate::error::{Error, Result};
use crate::features::Features;
use crate::kind::Kind;
use crate::schema::{Default, EnumTable, Field, Label, MessageTable, Schema, Tables};

/// Field numbers of `features` in options.
mod tag {
    pub const FILE_FEATURES: u32 = 50;
    pub const FIELD_FEATURES: u32 = 21;
    pub const ENUM_FEATURES: u32 = 7;
}

/// The maximum length of a message's full name in bytes, because prost-reflect repeats it in the name of each field.
const MAX_NAME: usize = 1024;

/// The supported first statements of a file, for error messages.
pub const SYNTAXES: &str = "syntax = \"proto2\" or \"proto3\", or edition = \"2023\" or \"2024\"";

/// A file of a descriptor set, without services.
#[derive(Clone, PartialEq, Message)]
pub struct File {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    package: String,
    #[prost(string, repeated, tag = "3")]
    pub dependency: Vec<String>,
    #[prost(bytes = "vec", repeated, tag = "4")]
    message_type: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "5")]
    enum_type: Vec<Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "7")]
    extension: Vec<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "8")]
    options: Option<Vec<u8>>,
    #[prost(int32, repeated, packed = "false", tag = "10")]
    public_dependency: Vec<i32>,
    #[prost(string, tag = "12")]
    pub syntax: String,
    /// The number of the edition: 1000 for 2023, 1001 for 2024.
    #[prost(int32, tag = "14")]
    pub edition: i32,
}

/// A descriptor set.
#[derive(Clone, PartialEq, Message)]
pub struct FileSet {
    #[prost(message, repeated, tag = "1")]
    pub file: Vec<File>,
}

/// The names in a message's descriptor.
#[derive(Clone, PartialEq, Message)]
struct Names {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    nested_type: Vec<Names>,
}

impl Names {
    /// Whether the full names of this message and its nested messages are short enough. `outer` is the length of the
    /// enclosing name.
    fn are_short(&self, outer: usize) -> bool {
        let len = outer + 1 + self.name.len();
        len <= MAX_NAME && self.nested_type.iter().all(|nested| nested.are_short(len))
    }
}

/// The files of a schema.
#[derive(std::default::Default)]
pub struct Files {
    pool: DescriptorPool,
    /// The features of each file.
    features: HashMap<String, Features>,
    /// The names of the files that an import of a file makes visible: the file itself and its public imports.
    visible: HashMap<String, Vec<String>>,
    /// The locations in files, for errors. prost-reflect does not get them: it searches all of them for each error and
    /// each option.
    pub locations: HashMap<String, SourceCodeInfo>,
}

impl Files {
    /// An error at a path of a file's descriptor; without line and column if the locations lack the path.
    pub fn error(&self, file: &str, path: &[i32], reason: impl Into<String>) -> Error {
        let locations = self.locations.get(file).into_iter().flat_map(|info| &info.location);
        let found = locations.filter(|location| location.path == path).find_map(|location| {
            let number = |index| usize::try_from(*location.span.get(index)?).ok()?.checked_add(1);
            Some((number(0)?, number(1)?))
        });
        let (line, column) = found.unwrap_or_default();
        Error::Schema { file: file.to_owned(), line, column, reason: reason.into() }
    }

    fn message_error(&self, message: &MessageDescriptor, reason: &str) -> Error {
        let reason = format!("{} {reason}", message.full_name());
        self.error(message.parent_file().name(), message.path(), reason)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.visible.contains_key(name)
    }

    /// Adds a file after the files that it imports.
    pub fn add(&mut self, file: File) -> Result<()> {
        let name = file.name.clone();
        let refuse = |reason: String| Err(self.error(&name, &[], reason));
        if name.is_empty() || self.contains(&name) {
            return refuse("missing or duplicate file name".to_owned());
        }
        let Some(features) = Features::of(&file.syntax, file.edition) else {
            return refuse(format!("unknown syntax; use {SYNTAXES}"));
        };
        let too_long = format!("full name longer than {MAX_NAME} bytes");
        // prost-reflect keeps the name of each enclosing package.
        if file.package.len() > MAX_NAME {
            return refuse(too_long);
        }
        for message in &file.message_type {
            match Names::decode(&**message) {
                Ok(names) if names.are_short(file.package.len()) => {}
                Ok(_) => return refuse(too_long),
                Err(error) => return refuse(error.to_string()),
            }
        }
        let (mut imports, mut visible) = (Vec::new(), vec![name.clone()]);
        for (import, index) in file.dependency.iter().zip(0..) {
            let Some(files) = self.visible.get(import) else {
                let import = quoted(import);
                return refuse(format!("import {import} is missing; run protoc with --include_imports"));
            };
            imports.extend_from_slice(files);
            if file.public_dependency.contains(&index) {
                visible.extend_from_slice(files);
            }
        }
        for files in [&mut imports, &mut visible] {
            files.sort();
            files.dedup();
        }
        // prost-reflect follows only some public imports of public imports, so each file imports all visible files.
        let syntax = if file.syntax == "editions" { String::new() } else { file.syntax };
        let file = File { dependency: imports, public_dependency: Vec::new(), syntax, ..file };
        let added = self.pool.decode_file_descriptor_proto(&*file.encode_to_vec());
        added.map_err(|error| self.error(&name, error.path().unwrap_or_default(), error.to_string()))?;
        let added = self.pool.get_file_by_name(&name);
        let options = added.map(|added| added.options());
        let features = options.map_or(features, |options| features.with(&options, tag::FILE_FEATURES));
        self.features.insert(name.clone(), features);
        self.visible.insert(name, visible);
        Ok(())
    }

    /// Builds the tables.
    pub fn schema(&self) -> Result<Schema> {
        let indexes = Indexes {
            messages: (self.pool.all_messages().map(|message| message.full_name().to_owned()).zip(0..))
                .collect(),
            enums: (self.pool.all_enums().map(|item| item.full_name().to_owned()).zip(0..)).collect(),
        };
        let mut tables = Tables::default();
        tables.enums.extend(self.pool.all_enums().map(|item| self.enum_table(&item)));
        for message in self.pool.all_messages().filter(MessageDescriptor::is_map_entry) {
            if !is_entry(&message) {
                return Err(
                    self.message_error(&message, "is not a valid map entry: it needs a key and a value")
                );
            }
        }
        for (message, index) in self.pool.all_messages().zip(0..) {
            tables.by_name.insert(message.full_name().into(), index);
            if !message.is_map_entry() {
                tables.by_short_name.entry(message.name().into()).or_default().push(index);
            }
            tables.push(self.message_table(&message, &indexes)?);
        }
        Ok(Schema(Arc::new(tables)))
    }

    fn enum_table(&self, item: &EnumDescriptor) -> EnumTable {
        let features = self.features[item.parent_file().name()].with(&item.options(), tag::ENUM_FEATURES);
        // prost-reflect sorts the values by number.
        let values = &item.enum_descriptor_proto().value;
        let values = values.iter().map(|value| (value.name().into(), value.number())).collect();
        EnumTable::new(item.full_name(), features.is_closed(), values)
    }

    fn message_table(&self, message: &MessageDescriptor, indexes: &Indexes) -> Result<MessageTable> {
        if message.fields().len() > MessageTable::MAX_FIELDS {
            let reason = format!("has more than {} fields", MessageTable::MAX_FIELDS);
            return Err(self.message_error(message, &reason));
        }
        // The index of each oneof, except the synthetic ones of `optional` fields.
        let mut oneofs = HashMap::new();
        let mut oneof_names = Vec::new();
        let mut fields = Vec::new();
        for field in message.fields() {
            let known = self.field(&field, indexes)?;
            let oneof = field.containing_oneof().filter(|oneof| is_singular(&field) && !oneof.is_synthetic());
            let oneof = oneof.map(|oneof| {
                *oneofs.entry(oneof.name().to_owned()).or_insert_with(|| {
                    oneof_names.push(oneof.name().into());
                    oneof_names.len() as u16 - 1
                })
            });
            fields.push(Field { oneof, ..known });
        }
        Ok(MessageTable::new(message.full_name(), fields, oneof_names, message.is_map_entry()))
    }

    fn field(&self, field: &FieldDescriptor, indexes: &Indexes) -> Result<Field> {
        // Other names could be mistaken for a path or for `UNKNOWN_KEY`.
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if field.name().is_empty() || !field.name().bytes().all(is_name) {
            return Err(self.message_error(field.parent_message(), "has a field with an invalid name"));
        }
        let features = self.features[field.parent_file().name()].with(&field.options(), tag::FIELD_FEATURES);
        let kind = indexes.kind(&field.kind());
        let is_member = field.containing_oneof().is_some();
        let is_message = matches!(kind, Kind::Message(_));
        let in_map = field.is_map() || field.parent_message().is_map_entry();
        let packed = field.field_descriptor_proto().options.as_ref().and_then(|options| options.packed);
        let label = match field.cardinality() {
            // Map entries always have a key and a value.
            _ if field.parent_message().is_map_entry() => Label::Explicit,
            Cardinality::Repeated if field.is_map() => Label::Map,
            Cardinality::Repeated if kind.can_be_packed() && packed.unwrap_or(features.is_packed()) => {
                Label::Packed
            }
            Cardinality::Repeated => Label::Repeated,
            Cardinality::Required => Label::Required,
            // A oneof, also the synthetic one of an `optional` field, gives presence to its members.
            Cardinality::Optional if is_member => Label::Explicit,
            Cardinality::Optional if features.is_required() => Label::Required,
            Cardinality::Optional if features.is_implicit() && !is_message => Label::Implicit,
            Cardinality::Optional => Label::Explicit,
        };
        let default = match field.default_value() {
            Value::Bool(value) => Default::Int(value.into()),
            Value::I32(value) | Value::EnumNumber(value) => Default::Int(value.into()),
            Value::U32(value) => Default::Int(value.into()),
            Value::I64(value) => Default::Int(value),
            Value::U64(value) => Default::Int(value as i64),
            Value::F32(value) => Default::Float(value.into()),
            Value::F64(value) => Default::Float(value),
            Value::String(value) => Default::Text(value.into()),
            Value::Bytes(value) => Default::Bytes((&*value).into()),
            Value::Message(_) | Value::List(_) | Value::Map(_) => Default::None,
        };
        let is_zero = match &default {
            Default::None => true,
            Default::Int(int) => *int == 0,
            Default::Float(float) => float.to_bits() == 0,
            Default::Text(text) => text.is_empty(),
            Default::Bytes(bytes) => bytes.is_empty(),
        };
        if label == Label::Implicit && !is_zero {
            let reason = "field without presence cannot have a default other than zero";
            let reason = format!("{}: {reason}", field.full_name());
            return Err(self.error(field.parent_file().name(), field.path(), reason));
        }
        let known = Field::new(field.name(), field.number(), kind, label);
        let is_delimited = !in_map && (field.is_group() || is_message && features.is_delimited());
        let known = if is_delimited { known.delimited() } else { known };
        Ok(Field { default, type_name: type_name(field).into(), ..known })
    }
}

/// The indexes of messages and enums by full name.
struct Indexes {
    messages: HashMap<String, u32>,
    enums: HashMap<String, u32>,
}

impl Indexes {
    fn kind(&self, kind: &FieldKind) -> Kind {
        match kind {
            FieldKind::Double => Kind::Double,
            FieldKind::Float => Kind::Float,
            FieldKind::Int32 => Kind::Int32,
            FieldKind::Int64 => Kind::Int64,
            FieldKind::Uint32 => Kind::Uint32,
            FieldKind::Uint64 => Kind::Uint64,
            FieldKind::Sint32 => Kind::Sint32,
            FieldKind::Sint64 => Kind::Sint64,
            FieldKind::Fixed32 => Kind::Fixed32,
            FieldKind::Fixed64 => Kind::Fixed64,
            FieldKind::Sfixed32 => Kind::Sfixed32,
            FieldKind::Sfixed64 => Kind::Sfixed64,
            FieldKind::Bool => Kind::Bool,
            FieldKind::String => Kind::String,
            FieldKind::Bytes => Kind::Bytes,
            FieldKind::Message(message) => Kind::Message(self.messages[message.full_name()]),
            FieldKind::Enum(item) => Kind::Enum(self.enums[item.full_name()]),
        }
    }
}

/// The type as in the schema. prost-reflect prints a kind as its keyword or its full name.
fn type_name(field: &FieldDescriptor) -> String {
    match field.kind() {
        FieldKind::Message(entry) if field.is_map() => {
            let [key, value] = [entry.map_entry_key_field(), entry.map_entry_value_field()];
            format!("map<{:?}, {:?}>", key.kind(), value.kind())
        }
        kind => format!("{kind:?}"),
    }
}

fn is_singular(field: &FieldDescriptor) -> bool {
    field.cardinality() == Cardinality::Optional
}

/// Whether a message has the fields of a map entry, on which encoders and decoders rely.
fn is_entry(message: &MessageDescriptor) -> bool {
    use FieldKind as K;
    let (Some(key), Some(_)) = (message.get_field(1), message.get_field(2)) else { return false };
    message.fields().len() == 2
        && message.fields().all(|field| is_singular(&field) && field.containing_oneof().is_none())
        && !matches!(key.kind(), K::Double | K::Float | K::Bytes | K::Enum(_) | K::Message(_))
}
