//! Dictionaries.

use super::Decoder;
use crate::dialect::Dialect;
use crate::error::{Locate, Result, Step};
use crate::events::{ElementType, Sink, Source};
use crate::format::{self, ContainerKind, VariantType};
use crate::limits::Strictness;

/// Whether the untyped Dictionary whose header starts at `at` has a first key that is a text with this first byte.
#[inline(always)]
pub fn first_key_starts_with(bytes: &[u8], at: usize, start: u8) -> bool {
    const fn header(ty: VariantType) -> [u8; 4] {
        (ty.id() as u32).to_le_bytes()
    }
    let Some([head, text, first]) = bytes.get(at..).and_then(|bytes| {
        let (head, rest) = bytes.split_first_chunk::<8>()?;
        let (text, rest) = rest.split_first_chunk::<8>()?;
        Some([&head[..], &text[..], rest.get(..1)?])
    }) else {
        return false;
    };
    head[..4] == header(VariantType::Dictionary)
        && head[4..] != [0; 4]
        && (text[..4] == header(VariantType::StringName) || text[..4] == header(VariantType::String))
        && text[4..] != [0; 4]
        && *first == [start]
}

impl<'a, D: Dialect, const NOTES: bool> Decoder<'a, D, NOTES> {
    #[inline(never)]
    pub(super) fn decode_dictionary<S: Sink>(&mut self, sink: &mut S, header: u32) -> Result<()> {
        let at = self.at;
        self.check_key_depth(at - 4)?;
        let key = self.element_type(ContainerKind::of(header, format::KIND_SHIFT))?;
        let value = self.element_type(ContainerKind::of(header, format::VALUE_KIND_SHIFT))?;
        let count = self.container_count(8)?;
        self.budget.dictionary(count).at(at)?;
        let mut dictionary = sink.begin_dictionary(count, key, value).at(at)?;
        self.depth += 1;
        let part_bytes = Self::part_bytes(sink).filter(|bytes| !self.in_key && self.left() > *bytes);
        for index in 0..count {
            let key_at = self.at;
            self.decode_key(sink, &mut dictionary, &key).map_err(|error| error.inside(Step::KeyAt(index)))?;
            if let Some(bytes) = part_bytes
                && self.hand_value_over(sink, &mut dictionary, &value, bytes)?
            {
                continue;
            }
            self.decode_value(sink, &mut dictionary, &value)
                .map_err(|error| error.inside(self.step_of_key(key_at, index)))?;
        }
        self.depth -= 1;
        sink.end_dictionary(dictionary).at(at)
    }

    #[inline(always)]
    pub(super) fn decode_key<S: Sink>(
        &mut self,
        sink: &mut S,
        dictionary: &mut S::Dictionary,
        key: &ElementType<'_>,
    ) -> Result<()> {
        let at = self.at;
        sink.begin_key(dictionary)?;
        let (max_container_depth, in_key) = (self.max_container_depth, self.in_key);
        self.in_key = true;
        self.max_container_depth = max_container_depth.min(self.depth + format::MAX_KEY_DEPTH);
        if self.strictness == Strictness::Strict {
            self.odd_misfit("Dictionary's keys", key)?;
        }
        self.write_into(sink)?;
        (self.max_container_depth, self.in_key) = (max_container_depth, in_key);
        if in_key {
            self.budget.nested_key(self.at - at).at(at)?;
        }
        sink.begin_value(dictionary).at(at)
    }

    #[inline(always)]
    pub(super) fn decode_value<S: Sink>(
        &mut self,
        sink: &mut S,
        dictionary: &mut S::Dictionary,
        value: &ElementType<'_>,
    ) -> Result<()> {
        let at = self.at;
        // In either strictness: a typed script would take the value for what it is not.
        if let Some(found) = self.misfit(value)
            && sink.keeps_entry(dictionary)
        {
            return Err(self.error(Self::wrong_type("Dictionary's values", value, found)));
        }
        self.write_into(sink)?;
        sink.end_entry(dictionary).at(at)
    }

    /// Names the value of the entry whose key starts at `key_at`: by the key where it is text or a number.
    #[cold]
    #[inline(never)]
    pub(crate) fn step_of_key(&self, key_at: usize, index: usize) -> Step {
        let mut key = Decoder::<'_, D>::at_start(
            self.dialect.clone(),
            self.bytes,
            Strictness::Lenient,
            self.budget.limits,
        );
        key.at = key_at;
        let Ok(header) = key.u32() else { return Step::KeyAt(index) };
        let step = match D::type_of(header as u8) {
            Some(VariantType::String | VariantType::StringName) => key.string().map(Step::text_key),
            Some(VariantType::Int) if header & format::FLAG_64 != 0 => {
                key.u64().map(|int| Step::int_key(int as i64))
            }
            Some(VariantType::Int) => key.u32().map(|int| Step::int_key((int as i32).into())),
            _ => Ok(Step::KeyAt(index)),
        };
        step.unwrap_or(Step::KeyAt(index))
    }
}
