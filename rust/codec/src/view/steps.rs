//! The steps from a view to the values inside its value.

use super::cursor::{Form, View};
use super::key::Key;
use crate::decoder::Decoder;
use crate::error::{Error, ErrorKind, Result, Step};
use crate::format::Shape;
use crate::wire::dialect::Dialect;

/// A function that skips an element.
type Skip<'a, D> = fn(&mut Decoder<'a, D>) -> Result<()>;

impl<'a, D: Dialect> View<'a, D> {
    /// The number of elements, entries or properties; 0 for other values. Walks over a Dictionary or typed Array.
    ///
    /// # Errors
    /// Fails if the bytes cannot hold the count, a key is repeated, or an element has another type than declared.
    #[expect(clippy::len_without_is_empty, reason = "it can fail")]
    pub fn len(&self) -> Result<usize> {
        let head = self.head()?;
        self.refuse_misfits(&head)?;
        self.refuse_repeated_keys(&head)?;
        Ok(head.count)
    }

    /// Like [`View::len`], for a value that has been [checked](crate::check::check).
    pub(crate) fn count(&self) -> Result<usize> {
        Ok(self.head()?.count)
    }

    /// The element at `index` of an Array or packed array.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; also fails if invalid bytes prevent the search.
    pub fn index(&self, index: usize) -> Result<Self> {
        let found = self.element(index)?.map(Self::resolved).transpose()?;
        found.ok_or_else(|| self.not_found(&Key::Int(i64::try_from(index).unwrap_or(i64::MAX))))
    }

    /// The value at a key of a Dictionary, the property of an Object, or the element of an Array or packed
    /// array. Negative indexes count from the end.
    ///
    /// # Errors
    /// As [`View::index`].
    pub fn get<'k>(&self, key: impl Into<Key<'k>>) -> Result<Self> {
        let key = key.into();
        self.find(&key)?.ok_or_else(|| self.not_found(&key))
    }

    /// The value at the end of a path of keys and indexes.
    ///
    /// # Errors
    /// As [`View::get`], with the path to the failing step.
    pub fn at(&self, path: &[Key<'_>]) -> Result<Self> {
        let mut view = *self;
        for (done, key) in path.iter().enumerate() {
            view = view.get(*key).map_err(|error| self.after(&path[..done], error))?;
        }
        Ok(view)
    }

    /// Calls `look` with the value at the end of the path. Errors of `look` get the path as a prefix.
    ///
    /// # Errors
    /// As [`View::at`]; also fails if `look` does.
    pub fn look_at<R>(&self, path: &[Key<'_>], look: impl FnOnce(Self) -> Result<R>) -> Result<R> {
        look(self.at(path)?).map_err(|error| self.after(path, error))
    }

    /// Prefixes an error with the path to its value.
    #[cold]
    fn after(&self, path: &[Key<'_>], error: Error) -> Error {
        let mut steps = Vec::new();
        let mut view = *self;
        for key in path {
            steps.push(view.step_of(key));
            match view.get(*key) {
                Ok(next) => view = next,
                Err(_) => break,
            }
        }
        steps.into_iter().rev().fold(error, Error::inside)
    }

    fn step_of(&self, key: &Key<'_>) -> Step {
        match (self.holder().shape(), key.index()) {
            (shape, Some(index)) if shape.is_list() => {
                let back = || self.len().unwrap_or_default().saturating_sub(index.unsigned_abs() as usize);
                Step::Index(usize::try_from(index).unwrap_or_else(|_| back()))
            }
            _ => key.step(),
        }
    }

    /// Like [`View::get`], but `None` if there is no such value.
    ///
    /// # Errors
    /// Fails if invalid bytes prevent the search.
    pub fn find(&self, key: &Key<'_>) -> Result<Option<Self>> {
        self.find_literal(key)?.map(Self::resolved).transpose()
    }

    /// Like [`View::find`], without following the tag of the value that is found.
    pub(super) fn find_literal(&self, key: &Key<'_>) -> Result<Option<Self>> {
        match (self.holder().shape(), key) {
            (shape, _) if shape.is_list() => {
                let Some(index) = key.index() else { return Ok(None) };
                let index = match usize::try_from(index) {
                    Ok(index) => Some(index),
                    Err(_) => {
                        let back = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
                        self.len()?.checked_sub(back)
                    }
                };
                index.map_or(Ok(None), |index| self.element(index))
            }
            (Shape::Dictionary, Key::Segment(text)) => {
                if let Some(found) = self.entry(&Key::Text(text))? {
                    return Ok(Some(found));
                }
                match key.index() {
                    Some(int) => self.entry(&Key::Int(int)),
                    None => Ok(None),
                }
            }
            (Shape::Dictionary, key) => self.entry(key),
            (Shape::Object, Key::Text(name) | Key::Segment(name)) => self.property(name),
            _ => Ok(None),
        }
    }

    #[cold]
    fn not_found(&self, key: &Key<'_>) -> Error {
        let found = self.ty();
        let key = match (found.shape(), key.index()) {
            (shape, Some(index)) if shape.is_list() => {
                format!("element {index}: it has {}", self.len().unwrap_or_default())
            }
            (Shape::Object, _) => format!("property {key}"),
            _ => format!("key {key}"),
        };
        Error::new(ErrorKind::NotFound { key, found }).at(self.at)
    }

    pub(super) fn element(&self, index: usize) -> Result<Option<Self>> {
        let (ty, head) = (self.holder(), self.head()?);
        if index >= head.count {
            return Ok(None);
        }
        match ty.shape() {
            Shape::Packed(..) => {
                let at = head.first + index * ty.lanes_bytes(head.precision);
                Ok(Some(self.written_as(Form::Lanes(ty, head.precision), at)))
            }
            Shape::Array => {
                self.refuse_misfits(&head)?;
                let at = self.walk(head.first, index, Decoder::skip_value)?;
                let found = self.value_at(at, self.depth + 1);
                found.map(Some).map_err(|error| error.inside(Step::Index(index)))
            }
            Shape::PackedStrings => {
                let at = self.walk(head.first, index, Decoder::skip_text)?;
                Ok(Some(self.written_as(Form::Text, at)))
            }
            _ => Ok(None),
        }
    }

    /// The offset of the element at `index`; the first one starts at `first`.
    fn walk(&self, first: usize, index: usize, skip: Skip<'a, D>) -> Result<usize> {
        match self.known {
            None => self.walk_from((0, first), index, skip, |_, _| ()),
            Some(known) => known.with_marks(self.at, |marks| {
                let from = marks.before(index).unwrap_or((0, first));
                self.walk_from(from, index, skip, |index, at| marks.note(index, at, first))
            }),
        }
    }

    fn walk_from(
        &self,
        (mut index, at): (usize, usize),
        wanted: usize,
        skip: Skip<'a, D>,
        mut note: impl FnMut(usize, usize),
    ) -> Result<usize> {
        let mut decoder = self.decoder_inside(at);
        while index < wanted {
            skip(&mut decoder).map_err(|error| error.inside(Step::Index(index)))?;
            index += 1;
            note(index, decoder.position());
        }
        Ok(decoder.position())
    }
}
