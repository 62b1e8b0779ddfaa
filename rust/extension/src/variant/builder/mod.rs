//! Events → live Variant.

pub mod sink;
mod typed;

use godot::builtin::{PackedByteArray, Variant};
use godot::global::bytes_to_var;
use godot::meta::ToGodot;
use variant_codec::format::NODE_PATH_NEW_FORMAT;
use variant_codec::stream::{Decoder, Encoder, NodePathParts, Text};
use variant_codec::{EncodeOptions, Error, Result, Strictness, VariantType};
use variant_engine::{Building, Conversions, PRECISION, Reader, Unfinished};

use super::built::{Built, ConversionCounts, CreatedObjects};
use super::collisions::Buckets;
use super::input::{Input, Reading};
use super::keys::{CachedKey, KeyCache, RowCursor};
use super::part_tasks::{PartDispatcher, PartTask, Places};
use crate::thresholds::{LARGE_BYTES, engine_is_as_fast};

/// Builds a live Variant.
pub struct VariantBuilder<'k, 's> {
    building: Building<'s>,
    strictness: Strictness,
    reader: Reader,
    conversions: &'static Conversions,
    keys: &'k mut KeyCache,
    refuses_colliding_keys: bool,
    /// How many keys what comes next lies in.
    key_level: u32,
    /// What is read, for what the engine can copy from it.
    input: &'k Input<'k>,
    /// The key that has just been poured.
    key: Key,
    /// Of the Dictionary whose key is next.
    cursor: RowCursor,
    /// Memory to turn text into code units.
    units: Vec<u32>,
    dropped: usize,
    /// How many characters of text conversions have made of containers.
    converted_text: usize,
    created: CreatedObjects,
    /// What is left to others. Boxed: most values are small.
    parts: Option<Box<PartDispatcher<'k, 's>>>,
}

/// A key that has been poured.
#[derive(Clone, Copy)]
enum Key {
    /// It has been put in its place.
    Put,
    /// It is one that is cached.
    Cached(CachedKey),
    /// It is the next one of the row that the Dictionary follows.
    Next,
}

impl<'k, 's> VariantBuilder<'k, 's> {
    /// A builder at its start.
    #[inline(always)]
    pub fn new(reading: Reading<'k>) -> Self {
        let Reading { input, strictness, limits, keys } = reading;
        Self {
            building: Building::new(),
            strictness,
            reader: Reader::new(),
            conversions: Conversions::get(),
            keys,
            refuses_colliding_keys: limits.refuse_colliding_keys,
            key_level: 0,
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

    /// The same, with parts left to others.
    pub fn with_parts(self, parts: PartDispatcher<'k, 's>) -> Self {
        Self { parts: Some(Box::new(parts)), ..self }
    }

    /// Fills what was left by another builder of the same input. Returns what conversions came to.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn fill(self, task: PartTask<'s>, decoder: &mut Decoder<'_>) -> Result<ConversionCounts> {
        let PartTask { parts, places } = task;
        match places {
            Places::Values(slots) => {
                let mut builder = Self { building: Building::of_elements(slots), ..self };
                let mut array = sink::ArrayFrame::default();
                parts.iter().try_for_each(|part| decoder.pour_part(part, &mut builder, &mut array))?;
                Ok(ConversionCounts { dropped: builder.dropped, converted_text: builder.converted_text })
            }
            Places::Strings(mut strings) => {
                let mut builder = self;
                let mut pour = |part| decoder.pour_strings_part(part, &mut builder, &mut strings);
                parts.iter().try_for_each(&mut pour).map(|()| ConversionCounts::default())
            }
        }
    }

    /// The value, once it is complete but for what was left to others, and what conversions came to.
    ///
    /// # Errors
    /// That there is no memory for what was left last.
    pub fn finish_with_gaps(mut self) -> Result<(Unfinished<'s>, ConversionCounts)> {
        let late = self.parts.take().map_or_else(|| Ok(Vec::new()), |parts| parts.finish())?;
        let fill = ConversionCounts { dropped: self.dropped, converted_text: self.converted_text };
        Ok((self.building.finish_with_gaps(late), fill))
    }

    /// The value, once it is complete.
    #[inline(always)]
    pub fn finish(self) -> Built {
        let fill = ConversionCounts { dropped: self.dropped, converted_text: self.converted_text };
        Built::new(self.building.finish(), fill, self.created)
    }

    /// Refuses the key that was put last if too many collide.
    #[inline(always)]
    fn check_key(&mut self, buckets: &mut Option<Box<Buckets>>) -> Result<()> {
        if !self.refuses_colliding_keys {
            return Ok(());
        }
        let key = self.building.last().ok_or_else(unfinished)?;
        // Even two of them may hold whatever takes long to compare.
        let is_container =
            || matches!(self.reader.ty(key), Some(VariantType::Array | VariantType::Dictionary));
        if buckets.is_none() && !is_container() {
            return Ok(());
        }
        let buckets = buckets.get_or_insert_default();
        self.keys.collisions.add_key(buckets, &key, self.key_level > 0)
    }

    /// Refuses a name if too many collide.
    #[inline(always)]
    pub fn check_name(&mut self, name: Text<'_>) -> Result<()> {
        if !self.refuses_colliding_keys {
            return Ok(());
        }
        match name {
            Text::Utf8(name) => self.keys.collisions.add_name(name),
            _ => self.keys.collisions.add_name(&name.to_lossy()),
        }
    }

    /// Refuses a path with such a name.
    #[inline(always)]
    pub fn check_names(&mut self, path: NodePathParts<'_>) -> Result<()> {
        path.names.iter().chain(path.subnames).try_for_each(|name| self.check_name(*name))
    }

    /// The next value goes nowhere but to [`VariantBuilder::close_aside`].
    pub fn open_aside(&mut self) {
        self.building.open_aside();
    }

    /// The value that has gone nowhere else.
    pub fn close_aside(&mut self) -> Variant {
        self.building.close_aside()
    }

    /// What the engine's own reader makes of a value that extensions have no other way to make.
    fn put_by_engine(&mut self, pour: impl FnOnce(&mut Encoder<Vec<u8>>) -> Result<()>) -> Result<()> {
        let mut encoder =
            Encoder::new(Vec::new(), EncodeOptions { precision: PRECISION, strict_text: false });
        pour(&mut encoder)?;
        self.building.put(bytes_to_var(&PackedByteArray::from(encoder.into_output().as_slice())));
        Ok(())
    }

    /// Where in the bytes that are read the value starts that says exactly this, which the engine's own reader may read.
    fn offset_of(&self, path: &NodePathParts<'_>) -> Option<usize> {
        /// A header, three counters, and the length of the first part.
        const START: usize = 20;

        let Text::Utf8(first) = path.names.iter().chain(path.subnames).next()? else { return None };
        let bytes = self.input.bytes();
        let offset = (first.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?.checked_sub(START)?;
        let found = bytes.get(offset..)?.first_chunk::<START>()?;
        let expected = [
            u32::from(VariantType::NodePath.id()),
            path.names.len() as u32 | NODE_PATH_NEW_FORMAT,
            path.subnames.len() as u32,
            u32::from(path.absolute),
            first.len() as u32,
        ];
        (found == expected.map(u32::to_le_bytes).as_flattened()).then_some(offset)
    }

    /// A large packed array as the engine copies it out of the bytes that are read, where it does so as fast as possible.
    fn copied_by_engine(&self, ty: VariantType, elements: &[u8]) -> Option<Variant> {
        /// In front of the elements: a header and a count.
        const HEADER: usize = 8;

        if elements.len() < LARGE_BYTES || !engine_is_as_fast(ty) {
            return None;
        }
        let bytes = self.input.bytes();
        let start = (elements.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
        let end = start.checked_add(elements.len()).filter(|end| *end <= bytes.len())?;
        let bytes = self.input.to_packed();
        if ty == VariantType::PackedByteArray {
            return Some(bytes.subarray(start..end).to_variant());
        }
        let header = i64::try_from(start.checked_sub(HEADER)?).ok()?;
        let value = bytes.to_variant().call("decode_var", &[header.to_variant(), false.to_variant()]);
        (self.reader.ty(&value) == Some(ty)).then_some(value)
    }

    /// The next key is not the one of the row that the open Dictionary has followed.
    #[cold]
    #[inline(never)]
    fn leave_row(&mut self, cursor: &mut RowCursor) {
        self.building.give_up_copied();
        self.keys.leave_row(*cursor);
        cursor.leave();
    }
}

/// A value of which other threads fill parts cannot be looked at. One thread alone then decodes all.
#[cold]
fn unfinished() -> Error {
    Error::argument("another thread decodes a part of this value")
}
