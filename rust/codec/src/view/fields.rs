//! [`Fields`]: the same keys of many Dictionaries.

use super::cursor::View;
use super::key::Key;
use crate::dialect::{Dialect, Godot4};
use crate::error::{Error, ErrorKind, Locate as _, Result, Step};
use crate::format::{Shape, VariantType};
use crate::skim::Skimmer;

impl<'a, D: Dialect> View<'a, D> {
    /// Calls `each` with the index and the [`Fields`] of each element of an Array, in one walk.
    ///
    /// ```
    /// use variant_codec::view::Fields;
    /// use variant_codec::{Value, View};
    ///
    /// let bytes = Value::from(vec![Value::from_iter([("hp", 7)]), Value::Nil]).encode()?;
    /// let mut fields = Fields::new(vec!["hp".into()]);
    /// let mut without = Vec::new();
    /// View::new(&bytes)?.rows(&mut fields, |row, found| {
    ///     if found[0].is_none() {
    ///         without.push(row);
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(without, [1]);
    /// # Ok::<(), variant_codec::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bytes in which the rows cannot be found; a value that is no Array; what `each` returns.
    pub fn rows(
        &self,
        fields: &mut Fields<'_, 'a, D>,
        mut each: impl FnMut(usize, &[Option<Self>]) -> Result<()>,
    ) -> Result<()> {
        if self.holder().shape() != Shape::Array {
            let found = self.ty();
            return Err(Error::new(ErrorKind::UnexpectedType { expected: "Array", found }).at(self.at));
        }
        let head = self.head()?;
        let mut at = head.first;
        for index in 0..head.count {
            let inside = |error: Error| error.inside(Step::Index(index));
            let row = self.value_at(at, self.depth + 1).map_err(inside)?;
            let (found, end) = fields.read(&row).map_err(inside)?;
            each(index, found).map_err(inside)?;
            at = end;
        }
        Ok(())
    }
}

impl<D: Dialect> View<'_, D> {
    /// How many entries an untyped Dictionary has, and where the first one starts, if nothing is wrong at first sight.
    #[inline]
    fn plain_dictionary(&self) -> Option<(usize, usize)> {
        let header = D::id_of(VariantType::Dictionary)?;
        let (count, first) = (self.word(self.at + 4)? as usize, self.at + 8);
        let fits =
            count <= (self.bytes.len() - first) / 8 && count as u64 <= self.limits.max_dictionary_entries;
        (self.word(self.at)? == u32::from(header) && fits).then_some((count, first))
    }
}

/// Entries of which the key is remembered.
const MOST: usize = 256;

/// The same keys of many Dictionaries or Objects in one buffer, each found in one walk. Where a row has its keys in the order of the
/// last one, none is looked at twice.
///
/// ```
/// use variant_codec::view::Fields;
/// use variant_codec::{Value, View};
///
/// let rows = (0..3).map(|hp| Value::from_iter([("name", Value::from("Ada")), ("hp", Value::from(hp))]));
/// let bytes = Value::from(rows.collect::<Vec<_>>()).encode()?;
/// let mut fields = Fields::new(vec!["hp".into()]);
/// let mut sum = 0;
/// for row in View::new(&bytes)?.elements()? {
///     let [Some(hp)] = fields.read(&row?)?.0 else { continue };
///     sum += hp.as_i64()?;
/// }
/// assert_eq!(sum, 3);
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fields<'k, 'a, D: Dialect = Godot4> {
    keys: Vec<Key<'k>>,
    found: Vec<Option<View<'a, D>>>,
    /// The encoded keys of the last row, and which of the wanted ones they are.
    last: Vec<(&'a [u8], Option<usize>)>,
}

impl<'k, 'a, D: Dialect> Fields<'k, 'a, D> {
    /// These keys.
    pub fn new(keys: Vec<Key<'k>>) -> Self {
        let found = vec![None; keys.len()];
        Self { keys, found, last: Vec::new() }
    }

    /// The values at the keys in a row, in their order, and where the row ends.
    ///
    /// # Errors
    /// Bytes in which they cannot be found.
    pub fn read(&mut self, row: &View<'a, D>) -> Result<(&[Option<View<'a, D>>], usize)> {
        self.found.fill(None);
        let end = match self.skim(row)? {
            Some(end) => end,
            None => {
                self.found.fill(None);
                for (key, found) in self.keys.iter().zip(&mut self.found) {
                    *found = row.find(key)?;
                }
                row.range()?.end
            }
        };
        Ok((&self.found, end))
    }

    /// Walks over a Dictionary; `None` for other values, and where something is wrong.
    fn skim(&mut self, row: &View<'a, D>) -> Result<Option<usize>> {
        if row.holder().shape() != Shape::Dictionary {
            return Ok(None);
        }
        let (count, first) = match row.plain_dictionary() {
            Some(plain) => plain,
            None => row.head().map(|head| (head.count, head.first))?,
        };
        let mut skimmer = Skimmer::<D>::new(row.bytes, first);
        for index in 0..count {
            let Some(column) = self.column(row, &mut skimmer, index) else { return Ok(None) };
            if let Some(found) = column.and_then(|column| self.found.get_mut(column))
                && found.is_none()
            {
                *found = Some(row.value_at(skimmer.position(), row.depth + 1).at(row.at)?);
            }
            if skimmer.skip_all().is_none() {
                return Ok(None);
            }
        }
        Ok(Some(skimmer.position()))
    }

    /// Goes over the key of the entry at `index` and says which of the wanted ones it is.
    #[inline]
    fn column(
        &mut self,
        row: &View<'a, D>,
        skimmer: &mut Skimmer<'a, D>,
        index: usize,
    ) -> Option<Option<usize>> {
        let at = skimmer.position();
        let rest = row.bytes.get(at..)?;
        if let Some((key, column)) = self.last.get(index)
            && rest.starts_with(key)
        {
            skimmer.skip(key.len())?;
            return Some(*column);
        }
        skimmer.skip_all()?;
        let key = rest.get(..skimmer.position() - at)?;
        let column = self.keys.iter().position(|wanted| wanted.is_at::<D>(row.bytes, at));
        if let Some(last) = self.last.get_mut(index) {
            *last = (key, column);
        } else if index == self.last.len() && index < MOST {
            self.last.push((key, column));
        }
        Some(column)
    }
}
