//! [`Fields`]: looks up the same keys in many Dictionaries.

use std::hash::RandomState;
use std::marker::PhantomData;

use super::cursor::View;
use super::key::{Key, KeyContent};
use super::known_offsets::{Keys, KnownOffsets};
use crate::error::{Error, Locate as _, Result, Step};
use crate::format::{Shape, VariantType};
use crate::skim::Skimmer;
use crate::wire::cursor::Cursor;
use crate::wire::dialect::{Dialect, Godot4};
use crate::wire::header::Header;

impl<'a, D: Dialect> View<'a, D> {
    /// Calls `each` with the index of each element of an Array and the values that the element has at the
    /// keys of the [`Fields`], in one walk.
    ///
    /// # Errors
    /// Fails if the value is not an Array, if the rows cannot be walked, or if `each` fails.
    pub fn rows(
        &self,
        fields: &mut Fields<'_, D>,
        mut each: impl FnMut(usize, &[Option<Self>]) -> Result<()>,
    ) -> Result<()> {
        if self.holder().shape() != Shape::Array {
            return Err(self.unexpected("Array"));
        }
        let head = self.head()?;
        self.refuse_misfits(&head)?;
        let (mut at, mut found) = (head.first, Vec::new());
        for index in 0..head.count {
            let inside = |error: Error| error.inside(Step::Index(index));
            let row = self.value_at(at, self.depth + 1).map_err(inside)?;
            at = fields.read(&row, &mut found).map_err(inside)?;
            each(index, &found).map_err(inside)?;
        }
        Ok(())
    }
}

impl<D: Dialect> View<'_, D> {
    /// The number of entries in an untyped Dictionary and the start of the first one, if the Dictionary
    /// passes the cheap checks.
    #[inline]
    fn plain_dictionary(&self) -> Option<(usize, usize)> {
        let header = D::id_of(VariantType::Dictionary)?;
        let (count, first) = (self.word(self.at + 4)? as usize, self.at + 8);
        let fits = count <= (self.bytes.len() - first) / 8;
        (self.word(self.at)? == u32::from(header) && fits).then_some((count, first))
    }
}

/// Maximum number of cached keys per row, and maximum length of a cached key.
const MOST: usize = 256;
const LONGEST: usize = 64;

/// A lookup of the same keys or paths in many Dictionaries or Objects (rows), with one walk per row. A row whose
/// keys have the same order as in the previous row needs one comparison per key.
///
/// ```
/// use variant_codec::view::Fields;
/// use variant_codec::{Value, View};
///
/// let rows = (0..3).map(|hp| Value::from_iter([("name", Value::from("Ada")), ("hp", Value::from(hp))]));
/// let bytes = Value::from(rows.collect::<Vec<_>>()).encode()?;
/// let mut fields = Fields::new(vec!["hp".into()]);
/// let (mut found, mut sum) = (Vec::new(), 0);
/// for row in View::new(&bytes)?.elements()? {
///     fields.read(&row?, &mut found)?;
///     let [Some(hp)] = &found[..] else { continue };
///     sum += hp.as_i64()?;
/// }
/// assert_eq!(sum, 3);
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fields<'k, D: Dialect = Godot4> {
    /// The first keys of the paths.
    keys: Vec<Key<'k>>,
    /// The paths, unless each is one of the keys: the index of the first key, if any, and the other steps.
    paths: Option<Vec<(Option<usize>, Vec<Key<'k>>)>>,
    /// The indexes of the keys.
    indexes: Keys,
    hasher: RandomState,
    /// The types that a matching key of a Dictionary can have, as bits.
    types: u64,
    /// Whether each key matches at most one entry of a Dictionary, and no two keys match the same entry.
    can_skim: bool,
    /// Whether to remember the offset of every key of a row, so that the row is walked only once.
    remembers: bool,
    /// The encoded keys of the previous row, each with the index of the wanted key that it matches. A key
    /// that is not cached is empty.
    last: Vec<(Vec<u8>, Option<usize>)>,
    /// Whether a value at a key in the last row may have a tag.
    may_be_tagged: bool,
    dialect: PhantomData<D>,
}

impl<'k, D: Dialect> Fields<'k, D> {
    /// A lookup of these keys.
    pub fn new(keys: Vec<Key<'k>>) -> Self {
        let (mut indexes, hasher, mut types) = (Keys::default(), RandomState::new(), 0);
        let can_skim = keys.iter().enumerate().all(|(index, key)| {
            let means_two = matches!(key, Key::Segment(_)) && key.index().is_some();
            let half = key.hash(&hasher) as u32;
            let is_repeated = indexes.find_if(half, |earlier| Ok(keys[earlier].is_same(key)));
            types |= key.types();
            !means_two
                && is_repeated.is_ok_and(|found| found.is_none())
                && indexes.insert(half, index as u32).is_ok()
        });
        let remembers = keys.len() > 1 || keys.iter().any(Key::may_be_another);
        Self {
            keys,
            paths: None,
            indexes,
            hasher,
            types,
            can_skim,
            remembers,
            last: Vec::new(),
            may_be_tagged: false,
            dialect: PhantomData,
        }
    }

    /// A lookup of these paths. The empty path leads to the row itself.
    pub fn at(paths: Vec<Vec<Key<'k>>>) -> Self {
        let mut keys: Vec<Key<'k>> = Vec::new();
        let mut split = |path: Vec<Key<'k>>| {
            let mut steps = path.into_iter();
            let first = steps.next().map(|key| {
                // Any text but an int means one entry, which is faster to look up.
                let key = match key {
                    Key::Segment(text) if key.index().is_none() => Key::Text(text),
                    key => key,
                };
                keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                    keys.push(key);
                    keys.len() - 1
                })
            });
            (first, steps.collect::<Vec<_>>())
        };
        let paths: Vec<_> = paths.into_iter().map(&mut split).collect();
        let is_key = |(index, (first, rest)): (usize, &(Option<usize>, Vec<_>))| {
            *first == Some(index) && rest.is_empty()
        };
        let are_keys = paths.iter().enumerate().all(is_key);
        Self { paths: (!are_keys).then_some(paths), ..Self::new(keys) }
    }

    /// Puts the value that the row has at each key or path into `found`, in their order, and returns the end of the
    /// row.
    ///
    /// # Errors
    /// Fails if invalid bytes prevent the search.
    pub fn read<'a>(&mut self, row: &View<'a, D>, found: &mut Vec<Option<View<'a, D>>>) -> Result<usize> {
        let followed;
        let (resolved, end) = if row.is_followed() {
            followed = row.follow()?;
            self.find_keys(&followed, found)?;
            (&followed, row.range()?.end)
        } else {
            (row, self.read_keys(row, found)?)
        };
        if self.may_be_tagged {
            for (key, field) in self.keys.iter().zip(found.iter_mut()) {
                if let Some(field) = field {
                    *field = field.resolved().map_err(|error| error.inside(key.step()))?;
                }
            }
        }
        if let Some(paths) = &self.paths {
            for (first, rest) in paths {
                let mut at = match first {
                    Some(index) => found.get(*index).copied().flatten(),
                    None => Some(*resolved),
                };
                for (done, key) in rest.iter().enumerate() {
                    let Some(view) = at else { break };
                    at = view.find(key).map_err(|error| {
                        let steps =
                            first.and_then(|index| self.keys.get(index)).into_iter().chain(&rest[..done]);
                        steps.rev().fold(error, |error, key| error.inside(key.step()))
                    })?;
                }
                found.push(at);
            }
            found.drain(..self.keys.len());
        }
        Ok(end)
    }

    /// Puts the value at each of the keys into `found`. Many rows may refer to the same value, so each key is found with
    /// the offsets that the view remembers.
    #[cold]
    fn find_keys<'a>(&mut self, row: &View<'a, D>, found: &mut Vec<Option<View<'a, D>>>) -> Result<()> {
        found.clear();
        for key in &self.keys {
            found.push(row.find_literal(key)?);
        }
        self.may_be_tagged = true;
        Ok(())
    }

    /// Puts the value at each of the keys into `found`, and returns the end of the row.
    #[inline(never)]
    fn read_keys<'a>(&mut self, row: &View<'a, D>, found: &mut Vec<Option<View<'a, D>>>) -> Result<usize> {
        found.clear();
        found.resize(self.keys.len(), None);
        self.may_be_tagged = false;
        if let Some(end) = self.skim(row, found)? {
            return Ok(end);
        }
        let known = if self.remembers { KnownOffsets::of_all() } else { KnownOffsets::default() };
        let walked = row.detached(row.bytes, row.limits).remembering(&known);
        for (key, found) in self.keys.iter().zip(found) {
            *found = walked.find_literal(key)?.map(|found| row.moved_to(&found));
        }
        self.may_be_tagged = true;
        Ok(row.range()?.end)
    }

    /// Looks up the keys with a [`Skimmer`]; `None` for values other than Dictionaries, and if the bytes may
    /// be invalid.
    fn skim<'a>(&mut self, row: &View<'a, D>, found: &mut [Option<View<'a, D>>]) -> Result<Option<usize>> {
        if !self.can_skim || row.holder().shape() != Shape::Dictionary {
            return Ok(None);
        }
        let Some((count, first)) = row.plain_dictionary() else { return Ok(None) };
        let mut skimmer = Skimmer::<D>::new(row.bytes, first);
        for index in 0..count {
            let Some(column) = self.column(row, &mut skimmer, index) else { return Ok(None) };
            if let Some(column) = column
                && let (Some(key), Some(found)) = (self.keys.get(column), found.get_mut(column))
            {
                let field = row.value_at(skimmer.position(), row.depth + 1);
                let field = field.at(row.at).map_err(|error| error.inside(key.step()))?;
                self.may_be_tagged |= field.holder() == VariantType::Dictionary;
                if found.replace(field).is_some() {
                    return Err(row.repeated_key());
                }
            }
            if skimmer.skip_all().is_none() {
                return Ok(None);
            }
        }
        Ok(Some(skimmer.position()))
    }

    /// The index of the wanted key that equals the key at `at`.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    fn wanted(&self, bytes: &[u8], at: usize) -> Result<Option<usize>> {
        let header = Cursor::new(bytes, at).u32().and_then(Header::of::<D>);
        if header.is_none_or(|header| self.types & 1 << header.ty.id() == 0) {
            return Ok(None);
        }
        match KeyContent::read::<D>(bytes, at)? {
            Some(key) => self
                .indexes
                .find_if(key.hash(&self.hasher) as u32, |index| self.keys[index].is_at::<D>(bytes, at)),
            None => Ok(None),
        }
    }

    /// Skips the key of the entry at `index` and returns the index of the wanted key that it matches.
    #[inline]
    fn column<'a>(
        &mut self,
        row: &View<'a, D>,
        skimmer: &mut Skimmer<'a, D>,
        index: usize,
    ) -> Option<Option<usize>> {
        let at = skimmer.position();
        let rest = row.bytes.get(at..)?;
        if let Some((key, column)) = self.last.get(index)
            && !key.is_empty()
            && rest.starts_with(key)
        {
            skimmer.skip(key.len())?;
            return Some(*column);
        }
        if row.has_converted_key(at) {
            return None;
        }
        skimmer.skip_all()?;
        let key = rest.get(..skimmer.position() - at)?;
        // If there is not enough memory to read a key, the slow path reports the error.
        let column = self.wanted(row.bytes, at).ok()?;
        if column.and_then(|column| self.keys.get(column)).is_some_and(Key::may_be_another) {
            return None;
        }
        if index == self.last.len() && index < MOST {
            self.last.push(Default::default());
        }
        if let Some((last, last_column)) = self.last.get_mut(index) {
            last.clear();
            if key.len() <= LONGEST {
                last.extend_from_slice(key);
            }
            *last_column = column;
        }
        Some(column)
    }
}
