//! Encodes and decodes protobuf messages, and loads their schemas.

use godot::builtin::{GString, PackedByteArray, PackedStringArray, Variant};
use godot::classes::FileAccess;
use variant_codec::Result;
use variant_codec::stream::Source as _;
use variant_engine as engine;
use variant_protobuf::{
    DecodeOptions, EncodeOptions, Error, Message, MessageDecoder, MessageEncoder, Schema,
};

use crate::files::{self, FileError};
use variant_live::decode::built::Built;
use variant_live::decode::decoding::Decoding;
use variant_live::encode::buffer::with_buffer;
use variant_live::encode::walker::{Live, Objects};

/// Encodes a message into `bytes`. `encoder` may be kept from value to value.
///
/// # Errors
/// Fails if the value does not fit the message; the error has the path. The contents of `bytes` are then unspecified.
pub fn encode_to(
    bytes: &mut PackedByteArray,
    value: &Variant,
    encoder: &mut MessageEncoder<'_>,
) -> Result<()> {
    encoder.clear();
    Live::new(value, Objects::AsIds { warns: false }, false).write_into(encoder)?;
    engine::set_bytes(bytes, encoder.written())
}

/// Encodes one message into a new buffer, as [`encode_to`] does.
///
/// # Errors
/// As [`encode_to`].
pub fn encode_one(value: &Variant, message: &Message, options: &EncodeOptions) -> Result<PackedByteArray> {
    with_buffer(|memory| {
        let mut encoder = MessageEncoder::with_memory(message, options, std::mem::take(memory));
        let mut bytes = PackedByteArray::new();
        let encoded = encode_to(&mut bytes, value, &mut encoder);
        *memory = encoder.into_bytes();
        encoded.map(|()| bytes)
    })
}

/// Decodes a message.
///
/// # Errors
/// Fails if the bytes are invalid; the error has the offset and path.
pub fn decode(
    bytes: &[u8],
    message: &Message,
    options: &DecodeOptions,
    decoding: &mut Decoding<'_>,
) -> Result<Built> {
    let mut decoder = MessageDecoder::new(message, bytes, options);
    decoding.build(None, |builder, _| decoder.write_into(builder)).map(|(built, ())| built)
}

/// Compiles the text of a `.proto` file that imports at most standard files.
///
/// # Errors
/// Fails if the text is no schema; the error has line and column.
pub fn compile(text: &GString) -> std::result::Result<Schema, Error> {
    const NAME: &str = "schema.proto";
    let text = engine::text_of(text);
    Schema::compile(NAME, move |import| (import == NAME).then(|| text.clone()))
}

/// Loads the schema from a `.proto` file or a descriptor set. Imports are searched for in `folders`, in the
/// folder of the file, and in `res://`, in this order.
///
/// # Errors
/// Fails if the schema cannot be loaded; the error has file, line and column.
pub fn load(path: &GString, folders: &PackedStringArray) -> std::result::Result<Schema, Error> {
    let path = &GString::from(&engine::text_of(path));
    let bytes = read(path).map_err(|error| Error::Schema {
        file: String::new(),
        line: 0,
        column: 0,
        reason: error.to_string(),
    })?;
    if path.get_extension().to_lower() != "proto" {
        return Schema::from_descriptor_set(engine::bytes(&bytes));
    }
    let root = path.get_file().to_string();
    let name = root.clone();
    let beside = [path.get_base_dir(), GString::from("res://")];
    let valid = |folder: &GString| GString::from(&engine::text_of(folder));
    let folders: Vec<GString> = folders.as_slice().iter().map(valid).collect();
    let compiled = Schema::compile(&root, move |import| {
        if import == name {
            return Some(text(&bytes));
        }
        let import = GString::from(import);
        let mut places = folders.iter().chain(&beside).map(|folder| folder.path_join(&import));
        let place = places.find(|place| FileAccess::file_exists(place))?;
        read(&place).ok().as_ref().map(text)
    });
    compiled.map_err(|error| match error {
        Error::Schema { file, line, column, reason } if file == root => {
            Error::Schema { file: path.to_string(), line, column, reason }
        }
        error => error,
    })
}

/// Reads a schema, but at most one byte more than allowed.
fn read(path: &GString) -> std::result::Result<PackedByteArray, FileError> {
    files::read(path, Schema::MAX_BYTES + 1)
}

/// The bytes as text. Comments may have another encoding than UTF-8.
fn text(bytes: &PackedByteArray) -> String {
    String::from_utf8_lossy(engine::bytes(bytes)).into_owned()
}
