//! Schemas from `.proto` files and descriptor sets.

use std::collections::HashMap;
use std::sync::Arc;

use miette::Diagnostic;
use prost_reflect::{
    Cardinality, DescriptorPool, EnumDescriptor, FieldDescriptor, MessageDescriptor, Syntax,
};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use crate::error::{Error, Result};
use crate::schema::{Default, EnumTable, Field, Kind, Label, MessageTable, Schema, Tables};

impl Schema {
    /// Compiles a `.proto` file and what it imports.
    ///
    /// `resolve` gives the text of a file by its name: `root` itself, then names as `import` has them, which are paths
    /// without `.`, `..` and `//`. What it does not know of `google/protobuf/` is known here.
    ///
    /// # Errors
    /// [`Error::Schema`] with file, line and column.
    pub fn compile(root: &str, resolve: impl Fn(&str) -> Option<String> + 'static) -> Result<Self> {
        let mut resolver = ChainFileResolver::new();
        resolver.add(Texts(resolve));
        resolver.add(GoogleFileResolver::new());
        let mut compiler = Compiler::with_file_resolver(resolver);
        compiler.open_file(root).map_err(|error| located(root, &error))?;
        Self::of(&compiler.descriptor_pool())
    }

    /// Reads what `protoc --include_imports --descriptor_set_out` writes.
    ///
    /// # Errors
    /// [`Error::Schema`].
    pub fn from_descriptor_set(bytes: &[u8]) -> Result<Self> {
        let pool = DescriptorPool::decode(bytes).map_err(|error| Error::Schema {
            file: error.file().unwrap_or_default().to_owned(),
            line: error.line().map_or(0, |line| line + 1),
            column: error.column().map_or(0, |column| column + 1),
            reason: error.to_string(),
        })?;
        Self::of(&pool)
    }

    fn of(pool: &DescriptorPool) -> Result<Self> {
        let (messages, enums): (Vec<_>, Vec<_>) = (pool.all_messages().collect(), pool.all_enums().collect());
        let indexes = Indexes {
            messages: messages.iter().map(MessageDescriptor::full_name).zip(0..).collect(),
            enums: enums.iter().map(EnumDescriptor::full_name).zip(0..).collect(),
        };
        let mut tables = Tables { enums: enums.iter().map(enum_table).collect(), ..Tables::default() };
        for (index, message) in messages.iter().enumerate() {
            tables.by_name.insert(message.full_name().into(), index as u32);
            if !message.is_map_entry() {
                tables.by_short_name.entry(message.name().into()).or_default().push(index as u32);
            }
            tables.push(indexes.message_table(message)?);
        }
        Ok(Self(Arc::new(tables)))
    }
}

/// Files by their names.
struct Texts<F>(F);

impl<F: Fn(&str) -> Option<String>> FileResolver for Texts<F> {
    fn resolve_path(&self, path: &std::path::Path) -> Option<String> {
        // As it is, `res://` and all.
        path.to_str().map(str::to_owned)
    }

    fn open_file(&self, name: &str) -> std::result::Result<File, protox::Error> {
        let text = (self.0)(name).ok_or_else(|| protox::Error::file_not_found(name))?;
        File::from_source(name, &text)
    }
}

/// What the compiler says, with its place.
fn located(root: &str, error: &protox::Error) -> Error {
    let label = error.labels().and_then(|mut labels| labels.next());
    let span = label.zip(error.source_code()).and_then(|(label, code)| {
        let span = code.read_span(label.inner(), 0, 0).ok()?;
        Some((span.line() + 1, span.column() + 1))
    });
    let (line, column) = span.unwrap_or_default();
    // Only the first file can be missing without an import to blame.
    let reason = if error.file().is_none() { "file not found".to_owned() } else { error.to_string() };
    Error::Schema { file: error.file().unwrap_or(root).to_owned(), line, column, reason }
}

fn enum_table(descriptor: &EnumDescriptor) -> EnumTable {
    let is_closed = descriptor.parent_file().syntax() == Syntax::Proto2;
    // `values` sorts them by number: of two names for one, any may come first.
    let values = &descriptor.enum_descriptor_proto().value;
    let values = values.iter().map(|value| (value.name().into(), value.number())).collect();
    EnumTable::new(descriptor.full_name(), is_closed, values)
}

/// Full names at their indexes.
struct Indexes<'a> {
    messages: HashMap<&'a str, u32>,
    enums: HashMap<&'a str, u32>,
}

impl Indexes<'_> {
    fn message_table(&self, message: &MessageDescriptor) -> Result<MessageTable> {
        let oneofs: Vec<_> = message.oneofs().filter(|oneof| !oneof.is_synthetic()).collect();
        let field = |field: FieldDescriptor| {
            let oneof = field.containing_oneof().and_then(|oneof| {
                oneofs.iter().position(|other| other.name() == oneof.name()).map(|index| index as u16)
            });
            Field { oneof, ..self.field(message, &field) }
        };
        // Groups are skipped like fields that nobody knows.
        let fields: Vec<Field> = message.fields().filter(|field| !field.is_group()).map(field).collect();
        if fields.len() > MessageTable::MOST_FIELDS {
            let reason =
                format!("{} has more than {} fields", message.full_name(), MessageTable::MOST_FIELDS);
            let file = message.parent_file().name().to_owned();
            return Err(Error::Schema { file, line: 0, column: 0, reason });
        }
        let oneofs = oneofs.iter().map(|oneof| oneof.name().into()).collect();
        Ok(MessageTable::new(message.full_name(), fields, oneofs, message.is_map_entry()))
    }

    fn field(&self, message: &MessageDescriptor, field: &FieldDescriptor) -> Field {
        let (kind, type_name) = self.kind(field);
        let label = match field.cardinality() {
            // An entry always has both.
            _ if message.is_map_entry() => Label::Explicit,
            Cardinality::Repeated if field.is_map() => Label::Map,
            Cardinality::Repeated if kind.can_be_packed() && is_packed(field) => Label::Packed,
            Cardinality::Repeated => Label::Repeated,
            Cardinality::Required => Label::Required,
            Cardinality::Optional if field.supports_presence() => Label::Explicit,
            Cardinality::Optional => Label::Implicit,
        };
        Field {
            default: default(field),
            type_name: type_name.into(),
            ..Field::new(field.name(), field.number(), kind, label)
        }
    }

    /// The type of a field, and its name.
    fn kind(&self, field: &FieldDescriptor) -> (Kind, String) {
        use prost_reflect::Kind as K;

        let kind = match field.kind() {
            K::Double => Kind::Double,
            K::Float => Kind::Float,
            K::Int32 => Kind::Int32,
            K::Int64 => Kind::Int64,
            K::Uint32 => Kind::Uint32,
            K::Uint64 => Kind::Uint64,
            K::Sint32 => Kind::Sint32,
            K::Sint64 => Kind::Sint64,
            K::Fixed32 => Kind::Fixed32,
            K::Fixed64 => Kind::Fixed64,
            K::Sfixed32 => Kind::Sfixed32,
            K::Sfixed64 => Kind::Sfixed64,
            K::Bool => Kind::Bool,
            K::String => Kind::String,
            K::Bytes => Kind::Bytes,
            K::Enum(descriptor) => {
                return (Kind::Enum(self.enums[descriptor.full_name()]), descriptor.full_name().to_owned());
            }
            K::Message(descriptor) => {
                let kind = Kind::Message(self.messages[descriptor.full_name()]);
                let name = if field.is_map() {
                    let (_, key) = self.kind(&descriptor.map_entry_key_field());
                    let (_, value) = self.kind(&descriptor.map_entry_value_field());
                    format!("map<{key}, {value}>")
                } else {
                    descriptor.full_name().to_owned()
                };
                return (kind, name);
            }
        };
        (kind, kind.keyword().to_owned())
    }
}

/// Whether elements share one record. `FieldDescriptor::is_packed` does not see options in the text of a schema.
fn is_packed(field: &FieldDescriptor) -> bool {
    let packed = field.field_descriptor_proto().options.as_ref().and_then(|options| options.packed);
    packed.unwrap_or(field.parent_file().syntax() == Syntax::Proto3)
}

/// What an absent field holds.
fn default(field: &FieldDescriptor) -> Default {
    use prost_reflect::Value as V;

    match field.default_value() {
        V::Bool(value) => Default::Int(value.into()),
        V::I32(value) | V::EnumNumber(value) => Default::Int(value.into()),
        V::I64(value) => Default::Int(value),
        V::U32(value) => Default::Int(value.into()),
        V::U64(value) => Default::Int(value as i64),
        V::F32(value) => Default::Float(value.into()),
        V::F64(value) => Default::Float(value),
        V::String(text) => Default::Text(text.into()),
        V::Bytes(bytes) => Default::Bytes(bytes.as_ref().into()),
        _ => Default::None,
    }
}
