//! The state that a decoding call carries from value to value.

use std::cell::Cell;
use std::rc::Rc;

use variant_codec::limits::{Budget, Spent};
use variant_codec::stream::Decoder;
use variant_codec::{Limits, Result, Strictness};

use crate::decode::builder::VariantBuilder;
use crate::decode::built::Built;
use crate::decode::input::Input;
use crate::decode::keys::KeyCache;
use crate::nested::Nested;

/// The limits, the share of them that is spent, and the caches of a call. Each thread of a call has its own.
pub struct Decoding<'l> {
    /// The limits of each input.
    pub limits: &'l Limits,
    /// The strictness of the reader.
    pub strictness: Strictness,
    /// The share of the limits that the earlier values of the input have used.
    pub spent: Spent,
    /// The share that names made from Strings have used, in objects of registered classes.
    pub(crate) spent_on_names: Rc<Cell<Spent>>,
    cache: KeyCache,
    /// Counts the call as nested once scripts may run.
    running: Option<Nested>,
}

impl<'l> Decoding<'l> {
    /// The start of a call.
    #[inline(always)]
    pub fn new(limits: &'l Limits, strictness: Strictness) -> Self {
        Self {
            limits,
            strictness,
            spent: Spent::default(),
            spent_on_names: Rc::default(),
            cache: KeyCache::default(),
            running: None,
        }
    }

    /// For a reader that accepts only what an encoder writes.
    #[inline(always)]
    pub fn strict(limits: &'l Limits) -> Self {
        Self::new(limits, Strictness::Strict)
    }

    /// A builder of the next value. `input` contains the bytes that the value is decoded from, if the engine can read
    /// them.
    #[inline(always)]
    pub fn builder<'k, 's>(&'k mut self, input: Option<&'k Input<'k>>) -> VariantBuilder<'k, 's> {
        VariantBuilder::new(&mut self.cache, input, self.strictness, self.limits.lost_objects_as_null)
    }

    /// Begins another input, which has the limits to itself.
    pub fn begin_input(&mut self) {
        self.spent = Spent::default();
        self.spent_on_names.take();
    }

    /// Charges text of `bytes` bytes that a caller builds itself.
    ///
    /// # Errors
    /// Fails without an offset if the limits do not cover the text; then nothing is charged.
    pub fn charge_text(&mut self, bytes: usize) -> Result<()> {
        let mut budget = Budget::after(self.spent.clone(), self.limits);
        budget.text(bytes)?;
        self.spent = budget.spent();
        Ok(())
    }

    /// Counts the call as nested, because scripts may run.
    ///
    /// # Errors
    /// As [`Nested::enter`].
    pub fn allow_scripts(&mut self) -> Result<()> {
        if self.running.is_none() {
            self.running = Some(Nested::enter()?);
        }
        Ok(())
    }

    /// A decoder of the next value, which is at the start of `data`. When it is done, put what it has spent into
    /// `spent`.
    #[inline(always)]
    pub fn decoder<'b>(&mut self, data: &'b [u8]) -> Decoder<'b>
    where
        'l: 'b,
    {
        Decoder::new(data, self.strictness, self.limits).after(std::mem::take(&mut self.spent))
    }

    /// Builds the value that `read` decodes.
    ///
    /// # Errors
    /// As `read`.
    #[inline(always)]
    pub fn build<T>(
        &mut self,
        input: Option<&Input<'_>>,
        read: impl FnOnce(&mut VariantBuilder<'_, '_>, &mut Spent) -> Result<T>,
    ) -> Result<(Built, T)> {
        let mut spent = std::mem::take(&mut self.spent);
        let mut builder = self.builder(input);
        let result = read(&mut builder, &mut spent);
        let built = result.map(|result| (builder.finish(), result));
        self.spent = spent;
        built
    }
}
