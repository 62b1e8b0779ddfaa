//! What keys and names cost in the engine's hash tables: chosen ones all want the same place, and each takes longer than
//! the one before.
//!
//! The tables are those of Godot 4.4 to 4.6. In an engine that has others, chosen keys may pass.

use std::collections::hash_map::{Entry, RandomState};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use variant_codec::{ErrorKind, Result};

/// So few keys of a Dictionary cost little, however they collide.
pub const FEW_KEYS: usize = 16;

/// The effort that the engine may take.
struct Bounds {
    what: &'static str,
    /// So many steps are free, and so many are expected for each key. The engine's hash puts numbered texts close
    /// together, which takes up to 200 steps for each of 10,000.
    free_steps: u64,
    steps_per_key: u64,
}

const KEYS: Bounds = Bounds { what: "keys of Dictionaries", free_steps: 2_000_000, steps_per_key: 128 };
/// Their steps are slower, and they are spread more widely.
const NAMES: Bounds = Bounds { what: "names", free_steps: 100_000, steps_per_key: 16 };

/// So many comparisons of whole keys are free, and one for each key: those whose hashes are equal.
const FREE_COMPARISONS: u64 = 1000;

/// The effort that the engine takes.
#[derive(Default)]
struct Effort {
    keys: u64,
    steps: u64,
    comparisons: u64,
}

impl Effort {
    /// Refuses what takes more than it should.
    fn check(&self, bounds: &Bounds) -> Result<()> {
        if self.steps > bounds.free_steps + bounds.steps_per_key * self.keys
            || self.comparisons > FREE_COMPARISONS + self.keys
        {
            return Err(ErrorKind::CollidingKeys(bounds.what).into());
        }
        Ok(())
    }
}

/// The keys and names of one call.
#[derive(Default)]
pub struct Collisions {
    keys: Effort,
    names: Names,
}

impl Collisions {
    /// A key with this hash is put into a Dictionary.
    ///
    /// # Errors
    /// That too many keys collide.
    pub fn add_key(&mut self, buckets: &mut Buckets, hash: u32) -> Result<()> {
        self.keys.keys += 1;
        buckets.add(hash, &mut self.keys)
    }

    /// A name is looked up, and added where it is new.
    ///
    /// # Errors
    /// That too many names collide.
    pub fn add_name(&mut self, name: &str) -> Result<()> {
        self.names.add(name)
    }
}

/// The places of a Dictionary's keys: each takes the next free one from that which its hash says.
#[derive(Default)]
pub struct Buckets {
    hashes: Vec<u32>,
    /// The hash of the key in each place; 0 where there is none.
    places: Vec<u32>,
}

impl Buckets {
    /// Numbers of places that the engine's tables have; each is left when three quarters are taken.
    const SIZES: [u32; 27] = [
        23, 47, 97, 193, 389, 769, 1543, 3079, 6151, 12289, 24593, 49157, 98317, 196613, 393241, 786433,
        1572869, 3145739, 6291469, 12582917, 25165843, 50331653, 100663319, 201326611, 402653189, 805306457,
        1610612741,
    ];

    fn add(&mut self, hash: u32, effort: &mut Effort) -> Result<()> {
        // The engine, too, has no key with hash 0.
        let no_room = |places: usize| ErrorKind::OutOfMemory(places.saturating_mul(size_of::<u32>()));
        self.hashes.try_reserve(1).map_err(|_| no_room(self.hashes.len()))?;
        self.hashes.push(hash.max(1));
        let is_full = |size: usize| self.hashes.len() * 4 > size * 3;
        let moved = if is_full(self.places.len()) {
            let size = Self::SIZES.into_iter().map(|size| size as usize).find(|size| !is_full(*size));
            let size = size.unwrap_or(usize::MAX);
            self.places.clear();
            self.places.try_reserve_exact(size).map_err(|_| no_room(size))?;
            self.places.resize(size, 0);
            0
        } else {
            self.hashes.len() - 1
        };
        for index in moved..self.hashes.len() {
            self.put(self.hashes[index], effort);
            effort.check(&KEYS)?;
        }
        Ok(())
    }

    fn put(&mut self, hash: u32, effort: &mut Effort) {
        let mut place = hash as usize % self.places.len();
        while self.places[place] != 0 {
            effort.steps += 1;
            effort.comparisons += u64::from(self.places[place] == hash);
            place = if place + 1 == self.places.len() { 0 } else { place + 1 };
        }
        self.places[place] = hash;
    }
}

/// The engine's table of names: chains of those whose hashes end alike.
#[derive(Default)]
struct Names {
    /// By hash: the fingerprint of the first name that has it, and how many others do. Nobody outside can foresee
    /// fingerprints.
    known: HashMap<u32, (u64, u32)>,
    /// Fingerprints of the others.
    others: HashSet<u64>,
    random: RandomState,
    /// How many are in each chain.
    chains: Vec<u32>,
    effort: Effort,
}

impl Names {
    const CHAINS: usize = 1 << 16;

    fn add(&mut self, name: &str) -> Result<()> {
        let (hash, fingerprint) = (hash(name), self.random.hash_one(name));
        self.chains.resize(Self::CHAINS, 0);
        let length = &mut self.chains[hash as usize % Self::CHAINS];
        self.effort.keys += 1;
        self.effort.steps += u64::from(*length);
        match self.known.entry(hash) {
            Entry::Vacant(entry) => {
                entry.insert((fingerprint, 0));
                *length += 1;
            }
            Entry::Occupied(mut entry) => {
                let (first, others) = entry.get_mut();
                if *first != fingerprint && self.others.insert(fingerprint) {
                    *others += 1;
                    *length += 1;
                    self.effort.comparisons += u64::from(*others);
                }
            }
        }
        self.effort.check(&NAMES)
    }
}

/// The engine's hash of a text.
fn hash(text: &str) -> u32 {
    text.chars().fold(5381, |hash: u32, character| hash.wrapping_mul(33).wrapping_add(character.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether so many keys with these hashes pass.
    fn pass(hashes: impl Iterator<Item = u32>) -> bool {
        let (mut collisions, mut buckets) = (Collisions::default(), Buckets::default());
        hashes.map(|hash| collisions.add_key(&mut buckets, hash)).all(|result| result.is_ok())
    }

    #[test]
    fn random_keys_pass_and_chosen_ones_do_not() {
        let random = RandomState::new();
        assert!(pass((0..100_000).map(|key| random.hash_one(key) as u32)));
        for size in Buckets::SIZES.into_iter().filter(|size| (4_000..50_000).contains(size)) {
            assert!(!pass((0..30_000).map(|key| size.wrapping_mul(key))), "{size}");
        }
        assert!(!pass(std::iter::repeat_n(7, 100)));
        assert!(!pass(std::iter::repeat_n(0, 100)));
    }

    #[test]
    fn small_dictionaries_add_up() {
        let mut collisions = Collisions::default();
        let failed = (0..1000).find(|_| {
            let mut buckets = Buckets::default();
            (0..20).any(|_| collisions.add_key(&mut buckets, 7).is_err())
        });
        assert!(failed.is_some());
    }

    #[test]
    fn names_collide_where_the_engine_hashes_them_alike() {
        let mut collisions = Collisions::default();
        assert!((0..100_000).all(|_| collisions.add_name("hp").is_ok()));
        assert!((0..100_000).all(|index| collisions.add_name(&format!("name {index}")).is_ok()));
        // In the engine's hash, as in many others of old, "ab" and "bA" are the same.
        let colliding = (0..10_000_u32).map(|index| {
            (0..14).map(|bit| if index >> bit & 1 == 0 { "ab" } else { "bA" }).collect::<String>()
        });
        assert!(colliding.map(|name| collisions.add_name(&name)).any(|result| result.is_err()));
    }
}
