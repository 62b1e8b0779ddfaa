//! Finds the keys of Dictionaries and the properties of Objects, with and without [`KnownOffsets`].

use std::hash::{BuildHasher as _, RandomState};

use super::cursor::View;
use super::key::{self, Key, KeyContent};
use super::known_offsets::{FEW, Keys, KnownOffsets};
use crate::decoder::heads::Head;
use crate::error::{Error, ErrorKind, Oddity, Result, Step};
use crate::format::Shape;
use crate::sync::lock;
use crate::wire::dialect::Dialect;

impl<'a, D: Dialect> View<'a, D> {
    /// The start of the key, if it exists, and the end of the last entry. Calls `started` with the index and
    /// start of each entry.
    ///
    /// # Errors
    /// Fails if the entries are invalid or repeat the key.
    fn scan(
        &self,
        head: &Head<'_>,
        key: &Key<'_>,
        started: &mut dyn FnMut(usize, usize),
    ) -> Result<(Option<usize>, usize)> {
        let mut found = None;
        let end = self.walk_entries(head, |index, at| {
            started(index, at);
            if key.is_at::<D>(self.bytes, at)? && found.replace(at).is_some() {
                return Err(self.repeated_key());
            }
            Ok(())
        })?;
        Ok((found, end))
    }

    /// Calls `each` with the index and the start of each entry of a Dictionary, and returns the end of the last
    /// one. A key of another type than declared is an error: the engine converts it, perhaps to the wanted key.
    fn walk_entries(
        &self,
        head: &Head<'_>,
        mut each: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<usize> {
        let mut decoder = self.decoder_inside(head.first);
        for index in 0..head.count {
            let at = decoder.position();
            let keys = &head.declared[0];
            self.refuse_misfit(at, "Dictionary's keys", keys)
                .map_err(|error| error.inside(Step::KeyAt(index)))?;
            if self.has_converted_key(at) {
                key::check::<D>(self.bytes, at, self.depth + 1, self.limits)
                    .map_err(|error| error.inside(Step::KeyAt(index)))?;
            }
            each(index, at)?;
            self.skip(&mut decoder).map_err(|error| error.inside(Step::KeyAt(index)))?;
            self.skip(&mut decoder).map_err(|error| error.inside(decoder.step_of_key(at, index)))?;
        }
        Ok(decoder.position())
    }

    /// Whether the engine may read the key at `at` as another key. This holds for objects, and for
    /// containers, since the engine may convert or drop their elements.
    #[inline]
    pub(super) fn has_converted_key(&self, at: usize) -> bool {
        let ty = self.word(at).and_then(|header| D::type_of(header as u8));
        ty.is_some_and(|ty| matches!(ty.shape(), Shape::Array | Shape::Dictionary | Shape::Object))
    }

    #[cold]
    pub(super) fn repeated_key(&self) -> Error {
        Error::new(ErrorKind::NotCanonical(Oddity::DuplicateKey)).at(self.at + 4)
    }

    pub(super) fn refuse_repeated_keys(&self, head: &Head<'_>) -> Result<()> {
        match self.known {
            _ if self.holder().shape() != Shape::Dictionary || head.count == 0 => Ok(()),
            Some(known) => self.know_keys(known, head),
            None => self.know_keys(&KnownOffsets::default(), head),
        }
    }

    /// The value at a key of a Dictionary.
    pub(super) fn entry(&self, key: &Key<'_>) -> Result<Option<Self>> {
        let head = self.head()?;
        let found = match self.known {
            Some(known) => self.find_known_key(known, &head, key)?,
            None => self.scan(&head, key, &mut |_, _| ())?.0,
        };
        let Some(key_at) = found else { return Ok(None) };
        if key.may_be_another() {
            self.refuse_repeated_keys(&head)?;
        }
        let mut decoder = self.decoder_inside(key_at);
        self.skip(&mut decoder)?;
        let at = decoder.position();
        let fits = self.refuse_misfit(at, "Dictionary's values", &head.declared[1]);
        let found = fits.and_then(|()| self.value_at(at, self.depth + 1));
        found.map(Some).map_err(|error| error.inside(key.step()))
    }

    /// The property of this name. If several properties have this name, the last one counts, since the engine
    /// sets it last.
    pub(super) fn property(&self, wanted: &str) -> Result<Option<Self>> {
        let head = self.head()?;
        let found = match self.known {
            Some(known) => self.find_known_property(known, &head, wanted)?,
            None => {
                let mut found = None;
                self.walk_properties(&head, |at, name| {
                    if name == wanted {
                        found = Some(at);
                    }
                    Ok(())
                })?;
                found
            }
        };
        let Some(at) = found else { return Ok(None) };
        let mut decoder = self.decoder_inside(at);
        decoder.property_name()?;
        let found = self.value_at(decoder.position(), self.depth + 1);
        found.map(Some).map_err(|error| error.inside(Step::property(wanted)))
    }

    /// Calls `each` with the start of each property and its name. Returns the end of the last property.
    fn walk_properties(
        &self,
        head: &Head<'_>,
        mut each: impl FnMut(usize, &str) -> Result<()>,
    ) -> Result<usize> {
        let mut decoder = self.decoder_inside(head.first);
        for _ in 0..head.count {
            let at = decoder.position();
            let name = decoder.property_name()?;
            each(at, name)?;
            self.skip(&mut decoder).map_err(|error| error.inside(Step::property(name)))?;
        }
        Ok(decoder.position())
    }

    /// The name of the property at `at`.
    fn name_at(&self, at: usize) -> Result<&'a str> {
        self.decoder_inside(at).property_name()
    }

    /// The start of the key in a Dictionary whose keys the cache knows afterwards, unless it is cheap to walk again.
    fn find_known_key(&self, known: &KnownOffsets, head: &Head<'_>, key: &Key<'_>) -> Result<Option<usize>> {
        let hasher = &known.hasher;
        let look = |keys: &Keys| keys.find_if(key.hash(hasher) as u32, |at| key.is_at::<D>(self.bytes, at));
        let mut walked = lock(&known.walked);
        if let Some(keys) = walked.keys_at(self.at) {
            return look(keys);
        }
        let keys = if head.count <= FEW {
            // Most Dictionaries with few keys also take few bytes, and are not remembered.
            let mut starts = [0; FEW];
            let (found, end) = self.scan(head, key, &mut |index, at| starts[index] = at)?;
            if known.is_cheap(head.count, end - head.first) {
                return Ok(found);
            }
            let mut keys = Keys::default();
            starts.iter().take(head.count).try_for_each(|at| self.add_key(&mut keys, *at, hasher))?;
            keys
        } else {
            self.keys(head, hasher)?.0
        };
        let found = look(&keys)?;
        walked.remember(self.at, keys);
        Ok(found)
    }

    /// The start of the last property of this name in an Object, as [`View::find_known_key`].
    fn find_known_property(
        &self,
        known: &KnownOffsets,
        head: &Head<'_>,
        name: &str,
    ) -> Result<Option<usize>> {
        let hash = |name: &str| known.hasher.hash_one(name) as u32;
        let look = |keys: &Keys| keys.find_if(hash(name), |at| Ok(self.name_at(at)? == name));
        let mut walked = lock(&known.walked);
        if let Some(keys) = walked.keys_at(self.at) {
            return look(keys);
        }
        let mut keys = Keys::default();
        let end = self.walk_properties(head, |at, name| {
            let Ok(number) = u32::try_from(at) else { return Ok(()) };
            keys.set(hash(name), number, |other| self.name_at(other).is_ok_and(|other| other == name))
        })?;
        let found = look(&keys)?;
        if !known.is_cheap(head.count, end - head.first) {
            walked.remember(self.at, keys);
        }
        Ok(found)
    }

    /// Refuses a Dictionary that repeats a key, unless the cache knows its keys.
    fn know_keys(&self, known: &KnownOffsets, head: &Head<'_>) -> Result<()> {
        let mut walked = lock(&known.walked);
        if walked.keys_at(self.at).is_none() {
            let (keys, end) = self.keys(head, &known.hasher)?;
            if !known.is_cheap(head.count, end - head.first) {
                walked.remember(self.at, keys);
            }
        }
        Ok(())
    }

    /// The keys of a Dictionary, and the end of its last entry. Fails if the Dictionary repeats a key.
    fn keys(&self, head: &Head<'_>, hasher: &RandomState) -> Result<(Keys, usize)> {
        let mut keys = Keys::default();
        let end = self.walk_entries(head, |_, at| self.add_key(&mut keys, at, hasher))?;
        Ok((keys, end))
    }

    /// Adds the key that starts at `at`. Fails if the Dictionary repeats it.
    fn add_key(&self, keys: &mut Keys, at: usize, hasher: &RandomState) -> Result<()> {
        let read = |at: usize| KeyContent::read::<D>(self.bytes, at);
        // A key that cannot be read cannot be looked up.
        let (Some(key), Ok(number)) = (read(at)?, u32::try_from(at)) else { return Ok(()) };
        // A key with a NaN inside equals no key, not even itself, so it can be neither repeated nor looked
        // up.
        if !key.is(&key) {
            return Ok(());
        }
        let half = key.hash(hasher) as u32;
        let is_same = |other: usize| Ok(read(other)?.is_some_and(|other| other.is(&key)));
        if keys.find_if(half, is_same)?.is_some() {
            return Err(self.repeated_key());
        }
        keys.insert(half, number)
    }
}
