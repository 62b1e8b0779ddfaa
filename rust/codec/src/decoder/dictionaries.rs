//! Decodes Dictionaries.

use super::Decoder;
use crate::error::{Locate, Result, Step};
use crate::events::{ElementType, Sink, Source};
use crate::format::{self, VariantType};
use crate::limits::Strictness;
use crate::wire::dialect::Dialect;
use crate::wire::header::Header;

impl<'a, D: Dialect, const NOTES: bool> Decoder<'a, D, NOTES> {
    /// The declared types of keys and values in a Dictionary with this header, and the number of entries.
    #[inline(always)]
    pub(super) fn dictionary_head(&mut self, header: Header) -> Result<([ElementType<'a>; 2], usize)> {
        let declared = [self.element_type(header.element_kind())?, self.element_type(header.value_kind())?];
        Ok((declared, self.container_count(8)?))
    }

    #[inline(never)]
    pub(super) fn decode_dictionary<S: Sink>(&mut self, sink: &mut S, header: Header) -> Result<()> {
        let at = self.position();
        self.check_container_in_key(at - 4)?;
        let ([key, value], count) = self.dictionary_head(header)?;
        let bad_count = self.take_bad_count();
        self.budget.dictionary(count).at(at)?;
        let mut dictionary = sink.begin_dictionary(count, key, value).at(at)?;
        self.depth += 1;
        let decoded = self.decode_entries(sink, &mut dictionary, &[key, value], count);
        bad_count.map_or(decoded, Err)?;
        self.depth -= 1;
        sink.end_dictionary(dictionary).at(at)
    }

    // See `Decoder::write_into`.
    #[inline(always)]
    fn decode_entries<S: Sink>(
        &mut self,
        sink: &mut S,
        dictionary: &mut S::Dictionary,
        [key, value]: &[ElementType<'_>; 2],
        count: usize,
    ) -> Result<()> {
        for index in 0..count {
            let key_at = self.position();
            self.decode_key(sink, dictionary, key, count)
                .map_err(|error| error.inside(Step::KeyAt(index)))?;
            self.decode_value(sink, dictionary, value)
                .map_err(|error| error.inside(self.step_of_key(key_at, index)))?;
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn decode_key<S: Sink>(
        &mut self,
        sink: &mut S,
        dictionary: &mut S::Dictionary,
        key: &ElementType<'_>,
        count: usize,
    ) -> Result<()> {
        let at = self.position();
        sink.begin_key(dictionary)?;
        let (max_container_depth, in_key) = (self.max_container_depth, self.in_key);
        self.in_key = true;
        self.max_container_depth = max_container_depth.min(self.depth + format::MAX_KEY_DEPTH);
        if self.strictness == Strictness::Strict {
            self.odd_misfit("Dictionary's keys", key)?;
        }
        self.write_into(sink)?;
        (self.max_container_depth, self.in_key) = (max_container_depth, in_key);
        self.budget.key(count, self.position() - at).at(at)?;
        sink.begin_value(dictionary).at(at)
    }

    #[inline(always)]
    pub(super) fn decode_value<S: Sink>(
        &mut self,
        sink: &mut S,
        dictionary: &mut S::Dictionary,
        value: &ElementType<'_>,
    ) -> Result<()> {
        let at = self.position();
        // This fails at any strictness: a typed script would read the value as the wrong type.
        if let Some(found) = self.misfit(value)
            && sink.keeps_entry(dictionary)
        {
            return Err(self.error(Self::wrong_type("Dictionary's values", value, found)));
        }
        self.write_into(sink)?;
        sink.end_entry(dictionary).at(at)
    }

    /// The step to the value of the entry whose key starts at `key_at`. It names the key if the key is text
    /// or an int.
    #[cold]
    #[inline(never)]
    pub(crate) fn step_of_key(&self, key_at: usize, index: usize) -> Step {
        let mut key = Decoder::<'_, D>::at_start(
            self.dialect.clone(),
            self.cursor.bytes(),
            Strictness::Lenient,
            self.budget.limits,
        );
        key.cursor.jump(key_at);
        let Ok(header) = key.u32().and_then(|bits| key.header_of(bits, key_at)) else {
            return Step::KeyAt(index);
        };
        let step = match header.ty {
            VariantType::String | VariantType::StringName => key.string().map(Step::text_key),
            VariantType::Int => key.int(header.is_wide()).map(Step::int_key),
            _ => Ok(Step::KeyAt(index)),
        };
        step.unwrap_or(Step::KeyAt(index))
    }
}
