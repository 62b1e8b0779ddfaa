//! Lists the differences between two values, for people to read.

use std::collections::HashMap;

use super::align::{Items, Piece, pieces};
use super::form::{MAX_CHANGES, checked, map_with_capacity, push, with_capacity};
use crate::error::Result;
use crate::format::Shape;
use crate::limits::{Budget, Limits};
use crate::view::View;

/// One difference between two values.
#[derive(Clone, Debug)]
pub struct Difference<'a> {
    /// The steps from the root to the difference.
    pub path: Vec<PathStep<'a>>,
    /// The old value; `None` if the value was added.
    pub old: Option<View<'a>>,
    /// The new value; `None` if the value was removed.
    pub new: Option<View<'a>>,
}

/// One step of [`Difference::path`].
#[derive(Clone, Copy, Debug)]
pub enum PathStep<'a> {
    /// An element, by its index in the old value, or in the new value if the element was added.
    Index(usize),
    /// The value at this key, or the property of this name.
    Key(View<'a>),
}

/// Returns the first `most` differences between two encoded values, in order.
///
/// Recognises added and removed Array elements, within a bounded search. Ignores the order of keys.
///
/// # Errors
/// Fails as [`Value::decode`](crate::Value::decode) does for either value, or if the differences exceed the
/// memory limit.
pub fn differences<'a>(
    old: &'a [u8],
    new: &'a [u8],
    most: usize,
    limits: &'a Limits,
) -> Result<Vec<Difference<'a>>> {
    let ends = [checked(old, limits)?, checked(new, limits)?];
    let mut search = Search {
        bytes: [old, new],
        limits,
        path: Vec::new(),
        found: Vec::new(),
        most,
        budget: Budget::new(limits),
    };
    let [old, new] =
        [View::within(old, limits)?.knowing(&ends[0]), View::within(new, limits)?.knowing(&ends[1])];
    search.compare(old, new)?;
    Ok(search.found)
}

struct Search<'a, 'e> {
    bytes: [&'a [u8]; 2],
    limits: &'a Limits,
    /// The steps to the compared values, each with [`OLD`] or [`NEW`] for the value that the step belongs to.
    path: Vec<(PathStep<'e>, usize)>,
    found: Vec<Difference<'a>>,
    most: usize,
    budget: Budget<'a>,
}

const OLD: usize = 0;
const NEW: usize = 1;

impl<'a: 'e, 'e> Search<'a, 'e> {
    fn is_done(&self) -> bool {
        self.found.len() >= self.most
    }

    fn add(&mut self, old: Option<View<'e>>, new: Option<View<'e>>) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        self.budget.working(size_of::<Difference<'_>>() + self.path.len() * size_of::<PathStep<'_>>())?;
        let mut path = with_capacity(self.path.len())?;
        path.extend(self.path.iter().map(|(step, side)| match step {
            PathStep::Index(index) => PathStep::Index(*index),
            PathStep::Key(key) => PathStep::Key(self.found_in(*key, *side)),
        }));
        let (old, new) = (old.map(|old| self.found_in(old, OLD)), new.map(|new| self.found_in(new, NEW)));
        push(&mut self.found, Difference { path, old, new })
    }

    /// Detaches a view from the known ends, because the result outlives them.
    fn found_in(&self, view: View<'e>, side: usize) -> View<'a> {
        view.detached(self.bytes[side], self.limits)
    }

    fn at(
        &mut self,
        place: PathStep<'e>,
        side: usize,
        look: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        push(&mut self.path, (place, side))?;
        let result = look(self);
        self.path.pop();
        result
    }

    fn compare(&mut self, old: View<'e>, new: View<'e>) -> Result<()> {
        if self.is_done() || old.bytes()? == new.bytes()? {
            return Ok(());
        }
        let is_same_kind = old.ty() == new.ty() && old.declared()? == new.declared()?;
        if !is_same_kind || self.path.len() as u32 == MAX_CHANGES {
            return self.add(Some(old), Some(new));
        }
        match new.ty().shape() {
            Shape::Dictionary => self.compare_entries(old, new),
            Shape::Object if old.count()? > 0 && new.count()? > 0 => self.compare_entries(old, new),
            Shape::Array | Shape::PackedStrings => self.compare_elements(old, new),
            Shape::Packed(..) if old.count()? == new.count()? => {
                for (index, (old, new)) in old.elements()?.zip(new.elements()?).enumerate() {
                    let (old, new) = (old?, new?);
                    self.at(PathStep::Index(index), OLD, |search| search.compare(old, new))?;
                }
                Ok(())
            }
            _ => self.add(Some(old), Some(new)),
        }
    }

    fn compare_elements(&mut self, old: View<'e>, new: View<'e>) -> Result<()> {
        let (old, new) = (Items::of(&old)?, Items::of(&new)?);
        for piece in pieces(&old, &new)? {
            match piece {
                Piece::Changed(gone, come) => {
                    let (old, new) = (old.view(gone)?, new.view(come)?);
                    self.at(PathStep::Index(gone), OLD, |search| search.compare(old, new))?;
                }
                Piece::Replaced(gone, come) => {
                    for index in gone {
                        let old = old.view(index)?;
                        self.at(PathStep::Index(index), OLD, |search| search.add(Some(old), None))?;
                    }
                    for index in come {
                        let new = new.view(index)?;
                        self.at(PathStep::Index(index), NEW, |search| search.add(None, Some(new)))?;
                    }
                }
            }
            if self.is_done() {
                break;
            }
        }
        Ok(())
    }

    fn compare_entries(&mut self, old: View<'e>, new: View<'e>) -> Result<()> {
        let mut entries: HashMap<&[u8], View<'e>> = map_with_capacity(new.count()?)?;
        for entry in new.checked_entries()? {
            let (key, value) = entry?;
            if entries.insert(key.bytes()?, value).is_some() {
                // Keys with a NaN inside are distinct even if their bytes are equal.
                return self.add(Some(old), Some(new));
            }
        }
        let mut seen = map_with_capacity(old.count()?)?;
        for entry in old.checked_entries()? {
            if seen.insert(entry?.0.bytes()?, ()).is_some() {
                return self.add(Some(old), Some(new));
            }
        }
        for entry in old.checked_entries()? {
            let (key, value) = entry?;
            let counterpart = entries.remove(key.bytes()?);
            self.at(PathStep::Key(key), OLD, |search| match counterpart {
                Some(counterpart) => search.compare(value, counterpart),
                None => search.add(Some(value), None),
            })?;
        }
        if !entries.is_empty() {
            for entry in new.checked_entries()? {
                let (key, value) = entry?;
                if entries.remove(key.bytes()?).is_some() {
                    self.at(PathStep::Key(key), NEW, |search| search.add(None, Some(value)))?;
                }
            }
        }
        Ok(())
    }
}
