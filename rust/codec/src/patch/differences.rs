//! Two values → what differs, for people.

use std::collections::HashMap;

use super::align::{Elements, Piece, pieces};
use super::form::{MAX_CHANGES, check};
use crate::error::{ErrorKind, Result};
use crate::format::Shape;
use crate::limits::Limits;
use crate::view::View;

/// A place where two values differ.
///
/// ```
/// use variant_codec::{Limits, Value, patch};
///
/// let old = Value::from_iter([("hp", 87)]).encode()?;
/// let new = Value::from_iter([("hp", 86)]).encode()?;
/// let limits = Limits::for_save_files();
/// let found = patch::differences(&old, &new, 100, &limits)?;
/// assert_eq!(found[0].old.unwrap().as_i64()?, 87);
/// assert_eq!(found[0].path.len(), 1);
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Difference<'a> {
    /// The steps that lead there.
    pub path: Vec<PathStep<'a>>,
    /// What was there; `None` if it has been added.
    pub old: Option<View<'a>>,
    /// What is there now; `None` if it has been removed.
    pub new: Option<View<'a>>,
}

/// One step to a difference.
///
/// ```
/// use variant_codec::patch::{PathStep, differences};
/// use variant_codec::{Limits, Value};
///
/// let (old, new) = (Value::from([1, 2]).encode()?, Value::from([1, 3]).encode()?);
/// let limits = Limits::for_save_files();
/// let found = differences(&old, &new, 100, &limits)?;
/// assert!(matches!(found[0].path[..], [PathStep::Index(1)]));
/// # Ok::<(), variant_codec::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum PathStep<'a> {
    /// An element: its index in the old value, or in the new one if it has been added.
    Index(usize),
    /// The value at this key, or the property of this name.
    Key(View<'a>),
}

/// Where two encoded values differ: at most so many places, in their order.
///
/// Elements of Arrays that were added or removed are found as such, as far as a bounded search goes. The order of keys makes no
/// difference.
///
/// ```
/// use variant_codec::{Limits, Value, patch};
///
/// let (old, new) = (Value::from([1, 2, 3]).encode()?, Value::from([1, 3]).encode()?);
/// let limits = Limits::for_save_files();
/// let found = patch::differences(&old, &new, 100, &limits)?;
/// assert!(found[0].new.is_none(), "the 2 is gone");
/// # Ok::<(), variant_codec::Error>(())
/// ```
///
/// # Errors
/// As [`Value::decode`](crate::Value::decode), for either.
pub fn differences<'a>(
    old: &'a [u8],
    new: &'a [u8],
    most: usize,
    limits: &'a Limits,
) -> Result<Vec<Difference<'a>>> {
    check(old, limits)?;
    check(new, limits)?;
    let mut search = Search { path: Vec::new(), found: Vec::new(), most };
    search.compare(View::within(old, limits)?, View::within(new, limits)?)?;
    Ok(search.found)
}

struct Search<'a> {
    path: Vec<PathStep<'a>>,
    found: Vec<Difference<'a>>,
    most: usize,
}

impl<'a> Search<'a> {
    fn is_done(&self) -> bool {
        self.found.len() >= self.most
    }

    fn add(&mut self, old: Option<View<'a>>, new: Option<View<'a>>) {
        if !self.is_done() {
            self.found.push(Difference { path: self.path.clone(), old, new });
        }
    }

    fn at(&mut self, place: PathStep<'a>, look: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.path.push(place);
        let result = look(self);
        self.path.pop();
        result
    }

    fn compare(&mut self, old: View<'a>, new: View<'a>) -> Result<()> {
        if self.is_done() || old.bytes()? == new.bytes()? {
            return Ok(());
        }
        let is_same_kind = old.ty() == new.ty() && old.declared()? == new.declared()?;
        if !is_same_kind || self.path.len() as u32 == MAX_CHANGES {
            self.add(Some(old), Some(new));
            return Ok(());
        }
        match new.ty().shape() {
            Shape::Dictionary => self.compare_entries(old, new),
            Shape::Object if old.len()? > 0 && new.len()? > 0 => self.compare_entries(old, new),
            Shape::Array | Shape::PackedStrings => self.compare_elements(old, new),
            Shape::Packed(..) if old.len()? == new.len()? => {
                for (index, (old, new)) in old.elements()?.zip(new.elements()?).enumerate() {
                    let (old, new) = (old?, new?);
                    self.at(PathStep::Index(index), |search| search.compare(old, new))?;
                }
                Ok(())
            }
            _ => {
                self.add(Some(old), Some(new));
                Ok(())
            }
        }
    }

    fn compare_elements(&mut self, old: View<'a>, new: View<'a>) -> Result<()> {
        let (old, new) = (Elements::of(&old)?, Elements::of(&new)?);
        for piece in pieces(&old, &new)? {
            match piece {
                Piece::Changed(gone, come) => {
                    self.at(PathStep::Index(gone), |search| search.compare(old.view(gone)?, new.view(come)?))?
                }
                Piece::Replaced(gone, come) => {
                    for index in gone {
                        self.at(PathStep::Index(index), |search| {
                            search.add(Some(old.view(index)?), None);
                            Ok(())
                        })?;
                    }
                    for index in come {
                        self.at(PathStep::Index(index), |search| {
                            search.add(None, Some(new.view(index)?));
                            Ok(())
                        })?;
                    }
                }
            }
            if self.is_done() {
                break;
            }
        }
        Ok(())
    }

    fn compare_entries(&mut self, old: View<'a>, new: View<'a>) -> Result<()> {
        let mut entries: HashMap<&[u8], View<'a>> = HashMap::new();
        let count = new.len()?;
        entries.try_reserve(count).map_err(|_| ErrorKind::OutOfMemory(count.saturating_mul(128)))?;
        for entry in new.entries()? {
            let (key, value) = entry?;
            entries.insert(key.bytes()?, value);
        }
        for entry in old.entries()? {
            let (key, value) = entry?;
            let counterpart = entries.remove(key.bytes()?);
            self.at(PathStep::Key(key), |search| match counterpart {
                Some(counterpart) => search.compare(value, counterpart),
                None => {
                    search.add(Some(value), None);
                    Ok(())
                }
            })?;
        }
        if !entries.is_empty() {
            for entry in new.entries()? {
                let (key, value) = entry?;
                if entries.remove(key.bytes()?).is_some() {
                    self.at(PathStep::Key(key), |search| {
                        search.add(None, Some(value));
                        Ok(())
                    })?;
                }
            }
        }
        Ok(())
    }
}
