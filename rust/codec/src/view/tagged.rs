//! Views that follow tags: the path of a value is the same whether its object is shared or not.

use super::cursor::{Tags, View};
use super::key::Key;
use crate::error::{Error, Result};
use crate::format::VariantType;
use crate::tag;
use crate::wire::cursor::{Cursor, first_key_starts_with};
use crate::wire::dialect::Dialect;

impl<'a, D: Dialect> View<'a, D> {
    /// The value that this whole value stands for in data with [tags](tag), as `FastVariantClasses` writes it. Each
    /// [step](View::at) from it also leads to the value that a Dictionary with a tag stands for:
    ///
    /// - `@ref`: the object at this index in `@objects`.
    /// - `@array`, `@dictionary`: the container at `values`.
    /// - `@plain`: the Dictionary in it, whatever its keys are.
    /// - `@objects`, in the outermost value: the value at `value`.
    ///
    /// An object is its Dictionary, tag included. Dictionaries of any other form stand for themselves. The values
    /// inside a value are decoded as they are written.
    ///
    /// ```
    /// use variant_codec::view::Key;
    /// use variant_codec::{Value, View};
    ///
    /// let hero = Value::from_iter([("@class", Value::from("Hero")), ("hp", Value::from(7))]);
    /// let twice = Value::from(vec![Value::from_iter([("@ref", 0)]); 2]);
    /// let bytes = Value::from_iter([("@objects", Value::from(vec![hero])), ("value", twice)]).encode()?;
    /// let heroes = View::new(&bytes)?.following_tags()?;
    /// assert_eq!(heroes.at(&Key::path("1/hp"))?.as_i64()?, 7);
    /// # Ok::<(), variant_codec::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a reference leads to no object, or invalid bytes prevent the search. So do the steps.
    pub fn following_tags(self) -> Result<Self> {
        if self.tags != Tags::LITERAL {
            return Ok(self);
        }
        let root = self.with_tags(Tags::FOLLOWED);
        if self.depth == 0
            && let Some((tag::OBJECTS, 2, table)) = root.tag()
            && table.ty() == VariantType::Array
            && let Some(value) = root.find_literal(&Key::Text(tag::VALUE))?
        {
            return value.with_tags(Tags(table.at)).resolved();
        }
        root.resolved()
    }

    /// The value that this value stands for, if the view follows tags.
    ///
    /// # Errors
    /// As [`View::following_tags`].
    #[inline]
    pub fn resolved(self) -> Result<Self> {
        if self.is_followed() { self.follow() } else { Ok(self) }
    }

    /// Whether this value may stand for another.
    #[inline]
    pub(super) fn is_followed(&self) -> bool {
        self.tags != Tags::LITERAL && self.may_have_tag()
    }

    #[inline]
    fn may_have_tag(&self) -> bool {
        self.holder() == VariantType::Dictionary
            && first_key_starts_with::<D>(self.bytes, self.at, tag::START)
    }

    #[inline(never)]
    pub(super) fn follow(self) -> Result<Self> {
        use VariantType as T;

        let values = |ty| -> Result<Option<Self>> {
            Ok(self.find_literal(&Key::Text(tag::VALUES))?.filter(|found| found.ty() == ty))
        };
        let found = match (self.tag(), self.tags.table()) {
            (Some((tag::REFERENCE, 1, index)), Some(table)) => Some(self.object(table, &index)?),
            (Some((tag::PLAIN, 1, dictionary)), _) => {
                Some(dictionary).filter(|found| found.ty() == T::Dictionary)
            }
            (Some((tag::ARRAY, 2, _)), _) => values(T::Array)?,
            (Some((tag::DICTIONARY, 2, _)), _) => match values(T::Dictionary)? {
                Some(values) => match values.tag() {
                    Some((tag::PLAIN, 1, dictionary)) => Some(dictionary),
                    _ => Some(values),
                },
                None => None,
            },
            _ => None,
        };
        Ok(found.unwrap_or(self))
    }

    /// The tag of a Dictionary, the number of its entries, and the value of the tag. `None` if invalid bytes prevent
    /// that: the steps inside the Dictionary then fail.
    fn tag(&self) -> Option<(&'static str, usize, Self)> {
        if !self.may_have_tag() {
            return None;
        }
        let mut cursor = Cursor::new(self.bytes, self.at + 4);
        let (count, _) = (cursor.u32()?, cursor.u32()?);
        let text = cursor.text()?.text;
        let tag = tag::ALL.into_iter().find(|tag| tag.as_bytes() == text)?;
        Some((tag, count as usize, self.value_at(cursor.position(), self.depth + 1).ok()?))
    }

    /// The object that a reference leads to. The table holds objects only, so references make no chains.
    fn object(&self, table: usize, index: &Self) -> Result<Self> {
        let float = || index.as_f64().ok().filter(|float| float.fract() == 0.0).map(|float| float as i64);
        // In data from JSON, the index is a float.
        let index = index.as_i64().ok().or_else(float).ok_or_else(|| {
            Error::object(format!("expected the index of an object, found {}", index.ty())).at(index.at)
        })?;
        let table = self.value_at(table, 1)?;
        let found = usize::try_from(index).ok().map(|index| table.element(index)).transpose()?.flatten();
        let Some(object) = found else {
            let len = table.len()?;
            return Err(
                Error::object(format!("reference to object {index}, but there are {len}")).at(self.at)
            );
        };
        match object.tag() {
            Some((tag::CLASS, ..)) => Ok(object),
            _ => {
                let reason = format!("reference to object {index}, whose first key is not {:?}", tag::CLASS);
                Err(Error::object(reason).at(object.at))
            }
        }
    }
}
