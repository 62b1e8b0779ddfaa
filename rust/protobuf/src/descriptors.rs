//! Builds tables from descriptors. Encoders and decoders rely on the checks here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use prost_types::field_descriptor_proto::{Label as Cardinality, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, OneofDescriptorProto,
    SourceCodeInfo,
};

use variant_codec::error::quoted;

use crate::error::{Error, Result};
use crate::features::{self, Features};
use crate::kind::Kind;
use crate::schema::{Default, EnumTable, Field, Label, MessageTable, Schema, Tables};

/// Field numbers in descriptors, which make up the paths in source information.
mod tag {
    pub const FILE_MESSAGE: i32 = 4;
    pub const FILE_ENUM: i32 = 5;
    pub const MESSAGE_FIELD: i32 = 2;
    pub const MESSAGE_MESSAGE: i32 = 3;
    pub const MESSAGE_ENUM: i32 = 4;
}

/// The maximum length of all full names together, in bytes. A full name includes the package and the outer
/// messages. The compiler and the tables hold several copies of each name.
pub const MAX_NAMES: usize = 1 << 24;
/// The maximum length of a full name or an identifier in bytes, because errors quote names.
pub const MAX_NAME: usize = 1024;

/// The supported first statements of a file, for error messages.
pub const SYNTAXES: &str = "syntax = \"proto2\" or \"proto3\", or edition = \"2023\" or \"2024\"";

/// Builds the schema of these files, which include all imports. `features` belong to the same files, in order.
///
/// # Errors
/// [`Error::Schema`].
pub fn schema(files: &[FileDescriptorProto], features: &[features::File]) -> Result<Schema> {
    let mut names = Names::default();
    let mut file_names = HashSet::new();
    for file in files {
        if file.name().is_empty() || !file_names.insert(file.name()) {
            return Err(error(file, &[], "missing or duplicate file name".to_owned()));
        }
    }
    for (file, features) in files.iter().zip(features) {
        if let Some(missing) = file.dependency.iter().find(|import| !file_names.contains(import.as_str())) {
            let reason = format!("import {} is missing; run protoc with --include_imports", quoted(missing));
            return Err(error(file, &[], reason));
        }
        names.add_file(file, features)?;
    }
    let mut tables = Tables::default();
    for item in &names.enums {
        tables.enums.push(item.enum_table()?);
    }
    for (index, item) in names.messages.iter().enumerate() {
        tables.by_name.insert(item.name.as_str().into(), index as u32);
        if !is_map_entry(item.descriptor) {
            tables.by_short_name.entry(item.descriptor.name().into()).or_default().push(index as u32);
        }
        tables.push(names.message_table(item)?);
    }
    Ok(Schema(Arc::new(tables)))
}

/// A message or an enum.
struct Item<'a, D, F> {
    file: &'a FileDescriptorProto,
    /// The full name, with package and outer messages.
    name: String,
    /// Its path in source information.
    path: Vec<i32>,
    descriptor: &'a D,
    features: &'a F,
    /// The features of its file.
    inherited: Features,
}

type MessageItem<'a> = Item<'a, DescriptorProto, features::MessageType>;
type EnumItem<'a> = Item<'a, EnumDescriptorProto, features::EnumType>;

/// Messages or enums, with their features and their field number in the enclosing descriptor.
type Listed<'a, D, F> = (&'a [D], &'a [F], i32);

impl<D, F> Item<'_, D, F> {
    fn error(&self, path: &[i32], reason: String) -> Error {
        let path = [&self.path, path].concat();
        error(self.file, &path, reason)
    }
}

fn error(file: &FileDescriptorProto, path: &[i32], reason: String) -> Error {
    error_at(file.name(), file.source_code_info.as_ref(), path, reason)
}

/// An error at a path of a descriptor; without line and column if the locations lack the path.
pub fn error_at(file: &str, locations: Option<&SourceCodeInfo>, path: &[i32], reason: String) -> Error {
    let locations = locations.into_iter().flat_map(|info| &info.location);
    let found = locations.filter(|location| location.path == path).find_map(|location| {
        let number = |index| usize::try_from(*location.span.get(index)?).ok()?.checked_add(1);
        Some((number(0)?, number(1)?))
    });
    let (line, column) = found.unwrap_or_default();
    Error::Schema { file: file.to_owned(), line, column, reason }
}

/// Whether this is an identifier. Other names could be mistaken for a path or for `UNKNOWN_KEY`.
fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_map_entry(message: &DescriptorProto) -> bool {
    message.options.as_ref().is_some_and(|options| options.map_entry())
}

/// The type that a name refers to.
#[derive(Clone, Copy)]
enum Meaning {
    Message(u32),
    Enum(u32),
}

/// All messages and enums, each message before its nested messages.
#[derive(std::default::Default)]
struct Names<'a> {
    messages: Vec<MessageItem<'a>>,
    enums: Vec<EnumItem<'a>>,
    by_name: HashMap<String, Meaning>,
    /// The length of all full names so far, including the names of fields.
    bytes: usize,
}

impl<'a> Names<'a> {
    fn add_file(&mut self, file: &'a FileDescriptorProto, features: &'a features::File) -> Result<()> {
        let Some(inherited) = features.features(file.syntax()) else {
            return Err(error(file, &[], format!("unknown syntax; use {SYNTAXES}")));
        };
        let package = file.package();
        if !package.is_empty() && !package.split('.').all(is_name) {
            return Err(error(file, &[], "invalid package name".to_owned()));
        }
        let messages = (&*file.message_type, &*features.message_type, tag::FILE_MESSAGE);
        let enums = (&*file.enum_type, &*features.enum_type, tag::FILE_ENUM);
        self.add_all(file, inherited, package, &[], messages, enums)
    }

    /// Adds the messages and enums of a file or a message.
    fn add_all(
        &mut self,
        file: &'a FileDescriptorProto,
        inherited: Features,
        scope: &str,
        path: &[i32],
        (messages, features, message_tag): Listed<'a, DescriptorProto, features::MessageType>,
        (enums, enum_features, enum_tag): Listed<'a, EnumDescriptorProto, features::EnumType>,
    ) -> Result<()> {
        for ((descriptor, features), index) in messages.iter().zip(features).zip(0..) {
            let path = [path, &[message_tag, index]].concat();
            let meaning = Meaning::Message(self.messages.len() as u32);
            let name = self.add(file, scope, &path, descriptor.name(), meaning)?;
            self.charge(file, &path, name.len().saturating_mul(descriptor.field.len()))?;
            let item = Item { file, name: name.clone(), path: path.clone(), descriptor, features, inherited };
            self.messages.push(item);
            let messages = (&*descriptor.nested_type, &*features.nested_type, tag::MESSAGE_MESSAGE);
            let enums = (&*descriptor.enum_type, &*features.enum_type, tag::MESSAGE_ENUM);
            self.add_all(file, inherited, &name, &path, messages, enums)?;
        }
        for ((descriptor, features), index) in enums.iter().zip(enum_features).zip(0..) {
            let path = [path, &[enum_tag, index]].concat();
            let meaning = Meaning::Enum(self.enums.len() as u32);
            let name = self.add(file, scope, &path, descriptor.name(), meaning)?;
            self.enums.push(Item { file, name, path, descriptor, features, inherited });
        }
        Ok(())
    }

    /// Registers a name, and returns the full name.
    fn add(
        &mut self,
        file: &FileDescriptorProto,
        scope: &str,
        path: &[i32],
        name: &str,
        meaning: Meaning,
    ) -> Result<String> {
        if !is_name(name) {
            return Err(error(file, path, "invalid message or enum name".to_owned()));
        }
        self.charge(file, path, scope.len() + name.len())?;
        let name = if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") };
        if name.len() > MAX_NAME {
            return Err(error(file, path, format!("full name longer than {MAX_NAME} bytes")));
        }
        if self.by_name.insert(name.clone(), meaning).is_some() {
            return Err(error(file, path, format!("{name} is already defined")));
        }
        Ok(name)
    }

    /// Counts bytes of names before they are copied.
    fn charge(&mut self, file: &FileDescriptorProto, path: &[i32], bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_NAMES {
            return Err(error(file, path, format!("more than {MAX_NAMES} bytes of full names in all")));
        }
        Ok(())
    }

    /// Resolves a name in a message: from the innermost scope outwards, unless it starts with a dot.
    fn find(&self, message: &str, name: &str) -> Option<Meaning> {
        if let Some(name) = name.strip_prefix('.') {
            return self.by_name.get(name).copied();
        }
        let mut scope = message;
        loop {
            if let Some(meaning) = self.by_name.get(&format!("{scope}.{name}")) {
                return Some(*meaning);
            }
            match scope.rsplit_once('.') {
                Some((outer, _)) => scope = outer,
                None => return self.by_name.get(name).copied(),
            }
        }
    }

    fn message_table(&self, item: &MessageItem<'a>) -> Result<MessageTable> {
        let Item { name, descriptor, .. } = item;
        if descriptor.field.len() > MessageTable::MAX_FIELDS {
            return Err(item.error(&[], format!("{name} has more than {} fields", MessageTable::MAX_FIELDS)));
        }
        let oneofs = Oneofs::of(item)?;
        let mut fields = Vec::new();
        let (mut numbers, mut field_names) = (HashSet::new(), HashSet::new());
        for ((field, features), index) in descriptor.field.iter().zip(&item.features.field).zip(0..) {
            let fail = |reason: String| {
                Err(item.error(&[tag::MESSAGE_FIELD, index], format!("{name}.{}: {reason}", field.name())))
            };
            if !is_name(field.name()) {
                return Err(item.error(
                    &[tag::MESSAGE_FIELD, index],
                    format!("{name} has a field with an invalid name"),
                ));
            }
            let number = match u32::try_from(field.number()) {
                Ok(number @ (1..=18_999 | 20_000..=0x1FFF_FFFF)) => number,
                _ => return fail(format!("invalid field number {}", field.number())),
            };
            if !numbers.insert(number) {
                return fail(format!("field number {number} is already used"));
            }
            if !field_names.insert(field.name()) {
                return fail("duplicate field name".to_owned());
            }
            let Ok(cardinality) = Cardinality::try_from(field.label.unwrap_or(Cardinality::Optional as i32))
            else {
                return fail("label is neither optional, required nor repeated".to_owned());
            };
            if field.oneof_index.is_some() && cardinality != Cardinality::Optional {
                return fail("oneof member cannot be required or repeated".to_owned());
            }
            let features = features.features(item.inherited);
            match self.field(item, field, cardinality, features) {
                Ok(known) => fields.push(Field { oneof: oneofs.of_field(field), ..known }),
                Err(reason) => return fail(reason),
            }
        }
        let is_map_entry = is_map_entry(descriptor);
        if is_map_entry && !is_entry(&fields, descriptor) {
            return Err(
                item.error(&[], format!("{name} is not a valid map entry: it needs a key and a value"))
            );
        }
        Ok(MessageTable::new(name, fields, oneofs.names, is_map_entry))
    }

    /// Builds a field without the data that depends on other fields. Returns the reason if the field is
    /// invalid.
    fn field(
        &self,
        item: &MessageItem<'a>,
        field: &FieldDescriptorProto,
        cardinality: Cardinality,
        features: Features,
    ) -> std::result::Result<Field, String> {
        let (kind, type_name) = self.kind(item, field)?;
        let is_map = match kind {
            Kind::Message(index) => is_map_entry(self.messages[index as usize].descriptor),
            _ => false,
        };
        if is_map && (cardinality != Cardinality::Repeated || is_map_entry(item.descriptor)) {
            return Err("map entry used as a message".to_owned());
        }
        let in_map = is_map || is_map_entry(item.descriptor);
        let is_group = field.r#type == Some(Type::Group as i32);
        if is_group && in_map {
            return Err("group in a map".to_owned());
        }
        let packed = field.options.as_ref().and_then(|options| options.packed);
        let is_member = field.oneof_index.is_some();
        let is_implicit = features.is_implicit()
            && !(field.proto3_optional() || is_member || matches!(kind, Kind::Message(_)));
        let label = match cardinality {
            // Map entries always have a key and a value.
            _ if is_map_entry(item.descriptor) => Label::Explicit,
            Cardinality::Repeated if is_map => Label::Map,
            Cardinality::Repeated if kind.can_be_packed() && packed.unwrap_or(features.is_packed()) => {
                Label::Packed
            }
            Cardinality::Repeated => Label::Repeated,
            Cardinality::Required => Label::Required,
            Cardinality::Optional if features.is_required() && !is_member => Label::Required,
            Cardinality::Optional if is_implicit => Label::Implicit,
            Cardinality::Optional => Label::Explicit,
        };
        let default = match (cardinality, field.default_value.as_deref()) {
            (Cardinality::Repeated, None) => Default::None,
            (Cardinality::Repeated, Some(_)) => return Err("repeated field cannot have a default".to_owned()),
            (_, text) => self.absent(kind, text)?,
        };
        let is_zero = match &default {
            Default::None => true,
            Default::Int(int) => *int == 0,
            Default::Float(float) => float.to_bits() == 0,
            Default::Text(text) => text.is_empty(),
            Default::Bytes(bytes) => bytes.is_empty(),
        };
        if label == Label::Implicit && !is_zero {
            return Err("field without presence cannot have a default other than zero".to_owned());
        }
        let known = Field::new(field.name(), field.number() as u32, kind, label);
        let is_delimited = is_group || features.is_delimited() && matches!(kind, Kind::Message(_)) && !in_map;
        let known = if is_delimited { known.delimited() } else { known };
        Ok(Field { default, type_name: type_name.into(), ..known })
    }

    /// The type of a field, and the type's name.
    fn kind(
        &self,
        item: &MessageItem<'a>,
        field: &FieldDescriptorProto,
    ) -> std::result::Result<(Kind, String), String> {
        let ty = match field.r#type {
            None if field.type_name.is_some() => None,
            None => return Err("field without a type".to_owned()),
            Some(ty) => Some(Type::try_from(ty).map_err(|_| format!("unknown type number {ty}"))?),
        };
        let kind = match ty {
            None | Some(Type::Message | Type::Enum | Type::Group) => {
                let name = field.type_name();
                let meaning = self.find(&item.name, name);
                let kind = match (meaning, ty) {
                    (Some(Meaning::Message(index)), None | Some(Type::Message | Type::Group)) => {
                        Kind::Message(index)
                    }
                    (Some(Meaning::Enum(index)), None | Some(Type::Enum)) => Kind::Enum(index),
                    (Some(_), _) => {
                        return Err(format!("{name} is a message where an enum is declared, or the reverse"));
                    }
                    (None, _) => return Err(format!("{name} is not defined")),
                };
                return Ok((kind, self.type_name(kind)));
            }
            Some(Type::Double) => Kind::Double,
            Some(Type::Float) => Kind::Float,
            Some(Type::Int32) => Kind::Int32,
            Some(Type::Int64) => Kind::Int64,
            Some(Type::Uint32) => Kind::Uint32,
            Some(Type::Uint64) => Kind::Uint64,
            Some(Type::Sint32) => Kind::Sint32,
            Some(Type::Sint64) => Kind::Sint64,
            Some(Type::Fixed32) => Kind::Fixed32,
            Some(Type::Fixed64) => Kind::Fixed64,
            Some(Type::Sfixed32) => Kind::Sfixed32,
            Some(Type::Sfixed64) => Kind::Sfixed64,
            Some(Type::Bool) => Kind::Bool,
            Some(Type::String) => Kind::String,
            Some(Type::Bytes) => Kind::Bytes,
        };
        Ok((kind, kind.keyword().to_owned()))
    }

    fn type_name(&self, kind: Kind) -> String {
        match kind {
            Kind::Enum(index) => self.enums[index as usize].name.clone(),
            Kind::Message(index) => {
                let entry = &self.messages[index as usize];
                if !is_map_entry(entry.descriptor) {
                    return entry.name.clone();
                }
                // The name of an invalid key or value is empty. `message_table` reports the error for the
                // entry itself.
                let of = |number| {
                    let field = entry.descriptor.field.iter().find(|field| field.number() == number);
                    let kind = field.and_then(|field| self.kind_in_entry(entry, field));
                    kind.unwrap_or_default()
                };
                format!("map<{}, {}>", of(1), of(2))
            }
            kind => kind.keyword().to_owned(),
        }
    }

    /// The type name of a map entry's key or value; `None` if the type is not allowed, such as another map
    /// entry.
    fn kind_in_entry(&self, entry: &MessageItem<'a>, field: &FieldDescriptorProto) -> Option<String> {
        if let Some(Meaning::Message(index)) = self.find(&entry.name, field.type_name())
            && is_map_entry(self.messages[index as usize].descriptor)
        {
            return None;
        }
        self.kind(entry, field).ok().map(|(_, name)| name)
    }

    /// The default of a field. `text` is the default in the schema, if any.
    fn absent(&self, kind: Kind, text: Option<&str>) -> std::result::Result<Default, String> {
        let Some(text) = text else {
            return Ok(match kind {
                Kind::Message(_) => Default::None,
                Kind::Double | Kind::Float => Default::Float(0.0),
                Kind::String => Default::Text(Box::default()),
                Kind::Bytes => Default::Bytes(Box::default()),
                Kind::Enum(index) => Default::Int(self.first_number(index)),
                _ => Default::Int(0),
            });
        };
        let int = |int: Option<i64>| int.map(Default::Int);
        let default = match kind {
            Kind::Message(_) => return Err("message field cannot have a default".to_owned()),
            Kind::Double => text.parse().ok().map(Default::Float),
            Kind::Float => text.parse::<f32>().ok().map(|float| Default::Float(float.into())),
            Kind::Bool => int(text.parse().ok().map(bool::into)),
            Kind::String => Some(Default::Text(text.into())),
            Kind::Bytes => unescaped(text).map(|bytes| Default::Bytes(bytes.into())),
            Kind::Enum(index) => {
                let values = &self.enums[index as usize].descriptor.value;
                int(values.iter().find(|value| value.name() == text).map(|value| value.number().into()))
            }
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => int(text.parse::<i32>().ok().map(i64::from)),
            Kind::Uint32 | Kind::Fixed32 => int(text.parse::<u32>().ok().map(i64::from)),
            Kind::Uint64 | Kind::Fixed64 => int(text.parse::<u64>().ok().map(|number| number as i64)),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => int(text.parse().ok()),
        };
        default.ok_or_else(|| format!("invalid default for {}", self.type_name(kind)))
    }

    fn first_number(&self, index: u32) -> i64 {
        // Each enum has a value, as `enum_table` has checked.
        self.enums[index as usize].descriptor.value.first().map_or(0, |value| value.number().into())
    }
}

impl EnumItem<'_> {
    fn enum_table(&self) -> Result<EnumTable> {
        let Item { name, descriptor, .. } = self;
        let mut names = HashSet::new();
        for value in &descriptor.value {
            if !is_name(value.name()) || !names.insert(value.name()) {
                let reason = format!("{name} has an invalid or duplicate value name");
                return Err(self.error(&[], reason));
            }
        }
        if descriptor.value.is_empty() {
            return Err(self.error(&[], format!("{name} has no values")));
        }
        let values = descriptor.value.iter().map(|value| (value.name().into(), value.number())).collect();
        Ok(EnumTable::new(name, self.features.features(self.inherited).is_closed(), values))
    }
}

/// Whether these are valid fields of a map entry.
fn is_entry(fields: &[Field], descriptor: &DescriptorProto) -> bool {
    use Kind as K;
    let field = |number| fields.iter().find(|field| field.number == number);
    let (Some(key), Some(_)) = (field(1), field(2)) else { return false };
    let are_single = descriptor
        .field
        .iter()
        .all(|field| field.label() == Cardinality::Optional && field.oneof_index.is_none());
    fields.len() == 2
        && descriptor.field.len() == 2
        && are_single
        && !matches!(key.kind, K::Double | K::Float | K::Bytes | K::Enum(_) | K::Message(_))
}

/// The oneofs of a message, except the synthetic ones of `optional` fields.
struct Oneofs {
    names: Vec<Box<str>>,
    /// Maps indexes in the descriptor to indexes in [`Oneofs::names`].
    indexes: Vec<Option<u16>>,
}

impl Oneofs {
    fn of(item: &MessageItem<'_>) -> Result<Self> {
        let Item { name, descriptor, .. } = item;
        // For each oneof, the number of members, and whether it is the synthetic one of an `optional` field.
        let mut found = vec![(0, false); descriptor.oneof_decl.len()];
        for field in &descriptor.field {
            let Some(index) = field.oneof_index else { continue };
            let Some((members, optional)) =
                usize::try_from(index).ok().and_then(|index| found.get_mut(index))
            else {
                return Err(
                    item.error(&[], format!("{name}.{} names a oneof that does not exist", field.name()))
                );
            };
            *members += 1;
            *optional |= field.proto3_optional();
        }
        let mut oneofs = Self { names: Vec::new(), indexes: Vec::new() };
        for (oneof, (members, optional)) in descriptor.oneof_decl.iter().zip(found) {
            if !is_name(OneofDescriptorProto::name(oneof)) || members == 0 || optional && members > 1 {
                return Err(
                    item.error(&[], format!("{name} has a oneof with an invalid name or without members"))
                );
            }
            let index = (!optional).then_some(oneofs.names.len() as u16);
            if !optional {
                oneofs.names.push(oneof.name().into());
            }
            oneofs.indexes.push(index);
        }
        Ok(oneofs)
    }

    fn of_field(&self, field: &FieldDescriptorProto) -> Option<u16> {
        self.indexes.get(usize::try_from(field.oneof_index?).ok()?).copied().flatten()
    }
}

/// Decodes the C escapes in a default.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes().peekable();
    let mut unescaped = Vec::new();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            unescaped.push(byte);
            continue;
        }
        let digits = |bytes: &mut std::iter::Peekable<std::str::Bytes<'_>>, radix, most, start: u32| {
            let mut number = start;
            for _ in 0..most {
                let digit = bytes.peek().and_then(|digit| char::from(*digit).to_digit(radix));
                let Some(digit) = digit else { break };
                number = number * radix + digit;
                bytes.next();
            }
            u8::try_from(number).ok()
        };
        unescaped.push(match bytes.next()? {
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0B,
            quoted @ (b'\\' | b'?' | b'\'' | b'"') => quoted,
            digit @ b'0'..=b'7' => digits(&mut bytes, 8, 2, u32::from(digit - b'0'))?,
            b'x' | b'X' => {
                bytes.peek().filter(|digit| digit.is_ascii_hexdigit())?;
                digits(&mut bytes, 16, 2, 0)?
            }
            _ => return None,
        });
    }
    Some(unescaped)
}
