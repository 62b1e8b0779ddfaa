//! Events → live Variant.

pub mod sink;
mod typed;

use godot::builtin::{PackedByteArray, Variant};
use godot::global::bytes_to_var;
use godot::meta::ToGodot;
use variant_codec::format::{NODE_PATH_NEW_FORMAT, NODE_PATH_TEXT, PACKED_ELEMENTS};
use variant_codec::stream::{Encoder, NodePathParts, Text};
use variant_codec::{EncodeOptions, Error, Result, Strictness, VariantType};
use variant_engine::{Building, Conversions, PRECISION, Reader, Unfinished};

use crate::decode::built::{Built, ConversionCounts, CreatedObjects};
use crate::decode::input::Input;
use crate::decode::keys::{CachedKey, KeyCache, RowCursor};
use crate::decode::part_tasks::PartDispatcher;
use crate::thresholds::{LARGE_BYTES, engine_is_as_fast};

/// A sink that builds a live Variant.
pub struct VariantBuilder<'k, 's> {
    pub(crate) building: Building<'s>,
    strictness: Strictness,
    reader: Reader,
    conversions: &'static Conversions,
    keys: &'k mut KeyCache,
    lost_objects_as_null: bool,
    /// The input, if the engine can copy some values from it.
    input: Option<&'k Input<'k>>,
    /// The key that was received last.
    key: Key,
    /// The cursor of the Dictionary that the next key belongs to.
    cursor: RowCursor,
    /// Scratch memory for code units.
    units: Vec<u32>,
    dropped: usize,
    /// The number of characters in the texts to which containers were converted.
    converted_text: usize,
    pub(crate) created: CreatedObjects,
    /// Hands parts to other threads.
    parts: Option<PartDispatcher<'k, 's>>,
}

/// A key that has been received.
#[derive(Clone, Copy)]
enum Key {
    /// A key that has been put.
    Put,
    /// A cached key that has not been put yet.
    Cached(CachedKey),
    /// The next key of the row that the Dictionary follows.
    Next,
}

impl<'k, 's> VariantBuilder<'k, 's> {
    #[inline(always)]
    pub(crate) fn new(
        keys: &'k mut KeyCache,
        input: Option<&'k Input<'k>>,
        strictness: Strictness,
        lost_objects_as_null: bool,
    ) -> Self {
        Self {
            building: Building::new(),
            strictness,
            reader: Reader::new(),
            conversions: Conversions::get(),
            keys,
            lost_objects_as_null,
            input,
            key: Key::Put,
            cursor: RowCursor::start(0, false),
            units: Vec::new(),
            dropped: 0,
            converted_text: 0,
            created: CreatedObjects::default(),
            parts: None,
        }
    }

    pub(crate) fn with_parts(self, parts: PartDispatcher<'k, 's>) -> Self {
        Self { parts: Some(parts), ..self }
    }

    /// The value. Other threads may still be filling parts of it.
    pub fn finish_with_gaps(self) -> (Unfinished<'s>, ConversionCounts) {
        let fill = ConversionCounts { dropped: self.dropped, converted_text: self.converted_text };
        (self.building.finish_with_gaps(), fill)
    }

    #[inline(always)]
    pub(crate) fn finish(self) -> Built {
        let fill = ConversionCounts { dropped: self.dropped, converted_text: self.converted_text };
        Built::new(self.building.finish(), fill, self.created)
    }

    /// Lets the engine decode a value that extensions cannot make in any other way.
    fn put_by_engine(&mut self, write: impl FnOnce(&mut Encoder<Vec<u8>>) -> Result<()>) -> Result<()> {
        let mut encoder =
            Encoder::new(Vec::new(), EncodeOptions { precision: Some(PRECISION), strict_text: false });
        write(&mut encoder)?;
        self.building.put(bytes_to_var(&PackedByteArray::from(encoder.into_output().as_slice())));
        Ok(())
    }

    /// The offset in the input at which exactly this path is encoded, so that the engine can decode it there.
    fn offset_of(&self, path: &NodePathParts<'_>) -> Option<usize> {
        let Text::Utf8(first) = path.names.iter().chain(path.subnames).next()? else { return None };
        let bytes = self.input?.bytes();
        let offset =
            (first.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?.checked_sub(NODE_PATH_TEXT)?;
        let found = bytes.get(offset..)?.first_chunk::<NODE_PATH_TEXT>()?;
        let expected = [
            u32::from(VariantType::NodePath.id()),
            path.names.len() as u32 | NODE_PATH_NEW_FORMAT,
            path.subnames.len() as u32,
            u32::from(path.absolute),
            first.len() as u32,
        ];
        (found == expected.map(u32::to_le_bytes).as_flattened()).then_some(offset)
    }

    /// A packed array that the engine copies from the input; `None` if the array is small or
    /// [`engine_is_as_fast`] is false for its type.
    fn copied_by_engine(&self, ty: VariantType, elements: &[u8]) -> Option<Variant> {
        if elements.len() < LARGE_BYTES || !engine_is_as_fast(ty) {
            return None;
        }
        let bytes = self.input?.bytes();
        let start = (elements.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
        let end = start.checked_add(elements.len()).filter(|end| *end <= bytes.len())?;
        let bytes = self.input?.to_packed();
        if ty == VariantType::PackedByteArray {
            return Some(bytes.subarray(start..end).to_variant());
        }
        let header = i64::try_from(start.checked_sub(PACKED_ELEMENTS)?).ok()?;
        let value = bytes.to_variant().call("decode_var", &[header.to_variant(), false.to_variant()]);
        (self.reader.ty(&value) == Some(ty)).then_some(value)
    }

    /// Leaves the row that the open Dictionary has followed, because the next key is a different one.
    #[cold]
    #[inline(never)]
    fn leave_row(&mut self, cursor: &mut RowCursor) {
        self.building.discard_copied();
        self.keys.leave_row(*cursor);
        cursor.leave();
    }
}

/// The error for a value that cannot be read, because other threads are filling it. A single thread then
/// decodes everything.
#[cold]
fn unfinished() -> Error {
    Error::argument("another thread decodes a part of this value")
}
