//! The cost of keys and names in the engine's hash tables.
//!
//! With `refuse_colliding_keys`, decoding refuses keys and names that were chosen to collide, as in a
//! hash-flooding attack. The option bounds the engine's probes in one call: at most 2,000,000 plus 128 per
//! key for all keys, and at most 100,000 plus 16 per name for all names. Probes of names that the game has
//! kept from earlier calls are not counted. Ordinary keys stay far below these bounds.
//!
//! To enforce these bounds, this file simulates the tables of Godot 4.4 to 4.6, and stops at the key that
//! exceeds a bound. The tables of a newer engine may differ. There, every key counts as if it collided with
//! all keys before it in its Dictionary, and every new name as if it collided with all other names. That caps
//! one Dictionary at about 2,100 entries, and a call at about 460 different names. Any number of Dictionaries
//! is accepted if each has at most 256 entries. Including the rehashing of growing tables, such an engine
//! makes at most three times the allowed probes for keys, and at most 460 probes per name.
//!
//! The engine compares keys whose hashes are equal. To compare two Dictionaries, it looks up each key of one
//! in the other. Collisions among nested keys thus multiply with collisions among the outer keys. Nested keys
//! therefore count even in small Dictionaries, and each comparison of them makes the next one cost more.
//! Nested keys are also hashed once per level, which the codec charges; see
//! [`variant_codec::limits::Budget::nested_key`].

use std::collections::hash_map::{Entry, RandomState};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};

use variant_codec::{ErrorKind, Result};

/// The newest engine whose tables are simulated here.
const NEWEST_KNOWN: (u8, u8) = (4, 6);

static IS_NEWER: AtomicBool = AtomicBool::new(false);

/// Stores whether the running engine is newer than the known ones. Called once, at start-up.
pub fn open(engine: (u8, u8)) {
    IS_NEWER.store(engine > NEWEST_KNOWN, Ordering::Relaxed);
}

/// The maximum number of keys in a Dictionary that is cheap even if all keys collide. Nested keys always
/// count.
pub const FEW_KEYS: usize = 16;

/// The allowed cost.
struct Bounds {
    what: &'static str,
    /// The number of free steps, and of allowed steps per key. The engine's hash puts numbered texts close
    /// together: 10,000 of them take up to 200 steps each, or 2,000,000 in all.
    free_steps: u64,
    steps_per_key: u64,
}

const KEYS: Bounds = Bounds { what: "colliding Dictionary keys", free_steps: 2_000_000, steps_per_key: 128 };
/// The bounds for names are lower than for keys, because a step takes the engine longer, and its table of
/// names has more slots.
const NAMES: Bounds = Bounds { what: "colliding names", free_steps: 100_000, steps_per_key: 16 };

/// The number of free comparisons of keys with equal hashes, besides one per key. Comparing a large key
/// counts as several comparisons.
const FREE_COMPARISONS: u64 = 1000;
/// The number of encoded bytes of a key that count as one comparison.
const COMPARED_BYTES: u64 = 16;

/// A key that is put into a Dictionary.
pub trait Key {
    /// The engine's hash of the key.
    fn hash(&self) -> u32;
    /// Its encoded size in bytes.
    fn bytes(&self) -> usize;
}

/// The cost of keys or names in the engine's hash tables.
#[derive(Clone, Copy, Default)]
pub struct Effort {
    keys: u64,
    steps: u64,
    comparisons: u64,
}

impl Effort {
    fn add(&mut self, other: Self) {
        self.keys += other.keys;
        self.steps = self.steps.saturating_add(other.steps);
        self.comparisons = self.comparisons.saturating_add(other.comparisons);
    }

    /// Adds `count` comparisons of keys or texts of `bytes` bytes, each weighted by `factor`.
    fn compare(&mut self, count: u64, bytes: usize, factor: u64) {
        let each = (1 + bytes as u64 / COMPARED_BYTES).saturating_mul(factor);
        self.comparisons = self.comparisons.saturating_add(count.saturating_mul(each));
    }

    fn check(&self, bounds: &Bounds) -> Result<()> {
        if self.steps > bounds.free_steps + bounds.steps_per_key * self.keys
            || self.comparisons > FREE_COMPARISONS + self.keys
        {
            return Err(ErrorKind::CollidingKeys(bounds.what).into());
        }
        Ok(())
    }
}

/// The cost of all keys and names of one call in the engine's hash tables.
pub struct Collisions {
    /// Whether the engine's tables may differ from those simulated here.
    assumes_worst: bool,
    keys: Effort,
    /// The number of comparisons of nested keys.
    nested: u64,
    /// Boxed, because most values have no names and each call creates a `Collisions`.
    names: Option<Box<Names>>,
}

impl Default for Collisions {
    fn default() -> Self {
        let assumes_worst = IS_NEWER.load(Ordering::Relaxed);
        Self { assumes_worst, keys: Effort::default(), nested: 0, names: None }
    }
}

impl Collisions {
    /// Adds a key of a Dictionary. Pass `is_nested` if the Dictionary is itself a key or part of one.
    ///
    /// # Errors
    /// Fails if too many keys collide.
    pub fn add_key(&mut self, buckets: &mut Buckets, key: &impl Key, is_nested: bool) -> Result<()> {
        let mut effort = Effort { keys: 1, ..Effort::default() };
        let others = buckets.hashes.len() as u64;
        let equal = buckets.add(key.hash(), &mut effort, self.keys)?;
        if self.assumes_worst {
            effort.steps = effort.steps.max(others);
        }
        if equal > 0 {
            effort.compare(equal, key.bytes(), 1 + self.nested);
            self.nested += if is_nested { equal } else { 0 };
        }
        buckets.effort.add(effort);
        self.add_effort(effort)
    }

    /// Adds the cost of another Dictionary with the same keys.
    ///
    /// # Errors
    /// Fails if too many keys collide.
    pub fn add_effort(&mut self, effort: Effort) -> Result<()> {
        self.keys.add(effort);
        self.keys.check(&KEYS)
    }

    /// Adds a lookup of a name, and the name if it is new.
    ///
    /// # Errors
    /// Fails if too many names collide.
    pub fn add_name(&mut self, name: &str) -> Result<()> {
        self.names.get_or_insert_default().add(name, self.assumes_worst)
    }
}

/// The hash table of a Dictionary: each key takes the first free slot at or after the slot of its hash.
#[derive(Default)]
pub struct Buckets {
    hashes: Vec<u32>,
    /// The hash of the key in each slot; 0 for an empty slot.
    places: Vec<u32>,
    /// The cost of all keys.
    effort: Effort,
}

impl Buckets {
    /// The sizes of the engine's tables; a table grows when three quarters of its slots are taken.
    const SIZES: [u32; 27] = [
        23, 47, 97, 193, 389, 769, 1543, 3079, 6151, 12289, 24593, 49157, 98317, 196613, 393241, 786433,
        1572869, 3145739, 6291469, 12582917, 25165843, 50331653, 100663319, 201326611, 402653189, 805306457,
        1610612741,
    ];

    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// Adds a key. Returns the number of other keys with the same hash.
    fn add(&mut self, hash: u32, effort: &mut Effort, before: Effort) -> Result<u64> {
        // As in the engine, no key has hash 0.
        let hash = hash.max(1);
        let no_room = |places: usize| ErrorKind::OutOfMemory(places.saturating_mul(size_of::<u32>()));
        self.hashes.try_reserve(1).map_err(|_| no_room(self.hashes.len()))?;
        let is_full = |size: usize| (self.hashes.len() + 1) * 4 > size * 3;
        if is_full(self.places.len()) {
            let size = Self::SIZES.into_iter().map(|size| size as usize).find(|size| !is_full(*size));
            let size = size.unwrap_or(usize::MAX);
            self.places.clear();
            self.places.try_reserve_exact(size).map_err(|_| no_room(size))?;
            self.places.resize(size, 0);
            for index in 0..self.hashes.len() {
                // Keys that move are not compared.
                self.put(self.hashes[index], effort);
                let mut all = before;
                all.add(*effort);
                all.check(&KEYS)?;
            }
        }
        self.hashes.push(hash);
        Ok(self.put(hash, effort))
    }

    fn put(&mut self, hash: u32, effort: &mut Effort) -> u64 {
        let mut equal = 0;
        let mut place = hash as usize % self.places.len();
        while self.places[place] != 0 {
            effort.steps += 1;
            equal += u64::from(self.places[place] == hash);
            place = if place + 1 == self.places.len() { 0 } else { place + 1 };
        }
        self.places[place] = hash;
        equal
    }
}

/// The engine's table of names: chains of names whose hashes have the same low bits.
#[derive(Default)]
struct Names {
    /// For each hash: the fingerprint of the first name with that hash, and the number of other names with
    /// it. Attackers cannot predict fingerprints.
    known: HashMap<u32, (u64, u32)>,
    /// The fingerprints of these other names.
    others: HashSet<u64>,
    random: RandomState,
    /// The length of each chain.
    chains: Vec<u32>,
    effort: Effort,
}

impl Names {
    const CHAINS: usize = 1 << 16;

    fn add(&mut self, name: &str, assumes_worst: bool) -> Result<()> {
        let others = self.known.len() + self.others.len();
        let (hash, fingerprint) = (hash(name), self.random.hash_one(name));
        self.chains.resize(Self::CHAINS, 0);
        let length = &mut self.chains[hash as usize % Self::CHAINS];
        self.effort.keys += 1;
        let steps = u64::from(*length);
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
                    self.effort.compare(u64::from(*others), name.len(), 1);
                }
            }
        }
        let is_new = self.known.len() + self.others.len() > others;
        self.effort.steps += if assumes_worst && is_new { steps.max(others as u64) } else { steps };
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

    struct TestKey(u32, usize);

    impl Key for TestKey {
        fn hash(&self) -> u32 {
            self.0
        }

        fn bytes(&self) -> usize {
            self.1
        }
    }

    fn pass(hashes: impl Iterator<Item = u32>) -> bool {
        let (mut collisions, mut buckets) = (Collisions::default(), Buckets::default());
        hashes
            .map(|hash| collisions.add_key(&mut buckets, &TestKey(hash, 8), false))
            .all(|result| result.is_ok())
    }

    /// The number of Dictionaries that pass, each with two keys of the same hash.
    fn pairs(bytes: usize, is_nested: bool) -> usize {
        let mut collisions = Collisions::default();
        let passes = |_: &usize| {
            let mut buckets = Buckets::default();
            (0..2).all(|_| collisions.add_key(&mut buckets, &TestKey(7, bytes), is_nested).is_ok())
        };
        (0..100_000).take_while(passes).count()
    }

    #[test]
    fn crafted_keys_are_refused_and_random_keys_pass() {
        let random = RandomState::new();
        assert!(pass((0..100_000).map(|key| random.hash_one(key) as u32)));
        for size in Buckets::SIZES.into_iter().filter(|size| (4_000..50_000).contains(size)) {
            assert!(!pass((0..30_000).map(|key| size.wrapping_mul(key))), "{size}");
        }
        assert!(!pass(std::iter::repeat_n(7, 100)));
        assert!(!pass(std::iter::repeat_n(0, 100)));
    }

    #[test]
    fn costs_of_small_dictionaries_add_up() {
        let mut collisions = Collisions::default();
        let failed = (0..1000).find(|_| {
            let mut buckets = Buckets::default();
            (0..20).any(|_| collisions.add_key(&mut buckets, &TestKey(7, 8), false).is_err())
        });
        assert!(failed.is_some());
    }

    #[test]
    fn large_and_nested_keys_cost_more() {
        // Each Dictionary has two keys with the same hash, so it costs one comparison; one comparison per
        // key is free.
        assert_eq!(pairs(8, false), 100_000);
        assert!((400..4000).contains(&pairs(16 * 3, false)));
        assert_eq!(pairs(32_000, false), 0);
        assert!((10..200).contains(&pairs(8, true)));
    }

    #[test]
    fn repeated_keys_cost_the_same() {
        let (mut collisions, mut buckets) = (Collisions::default(), Buckets::default());
        assert!((0..40).all(|_| collisions.add_key(&mut buckets, &TestKey(7, 8), false).is_ok()));
        assert!(collisions.add_effort(buckets.effort()).is_err());
    }

    /// The number of keys with random hashes that are accepted, in Dictionaries of `entries` entries, if
    /// the engine's tables are unknown.
    fn pass_unknown(entries: usize, most: usize) -> usize {
        let random = RandomState::new();
        let mut collisions = Collisions { assumes_worst: true, ..Collisions::default() };
        let mut passed = 0;
        while passed < most {
            let mut buckets = Buckets::default();
            for _ in 0..entries {
                let key = TestKey(random.hash_one(passed) as u32, 8);
                if collisions.add_key(&mut buckets, &key, false).is_err() {
                    return passed;
                }
                passed += 1;
            }
        }
        passed
    }

    #[test]
    fn an_unknown_engine_limits_entries() {
        assert_eq!(pass_unknown(256, 256 * 1000), 256 * 1000);
        let one_dictionary = pass_unknown(100_000, 100_000);
        assert!((2_000..2_200).contains(&one_dictionary), "{one_dictionary}");
        let colliding = std::iter::repeat_n(7, 100);
        let (mut collisions, mut buckets) =
            (Collisions { assumes_worst: true, ..Collisions::default() }, Buckets::default());
        assert!(
            colliding
                .map(|hash| collisions.add_key(&mut buckets, &TestKey(hash, 8), false))
                .any(|result| result.is_err())
        );
    }

    #[test]
    fn an_unknown_engine_limits_names() {
        let mut collisions = Collisions { assumes_worst: true, ..Collisions::default() };
        let names: Vec<_> = (0..1000).map(|index| format!("name {index}")).collect();
        let passed = names.iter().take_while(|name| collisions.add_name(name).is_ok()).count();
        assert!((440..480).contains(&passed), "{passed}");
        let mut collisions = Collisions { assumes_worst: true, ..Collisions::default() };
        assert!((0..100).all(|_| names[..400].iter().all(|name| collisions.add_name(name).is_ok())));
    }

    #[test]
    fn names_collide_if_their_engine_hashes_are_equal() {
        let mut collisions = Collisions::default();
        assert!((0..100_000).all(|_| collisions.add_name("hp").is_ok()));
        assert!((0..100_000).all(|index| collisions.add_name(&format!("name {index}")).is_ok()));
        // In the engine's hash, "ab" and "bA" collide.
        let colliding = (0..10_000_u32).map(|index| {
            (0..14).map(|bit| if index >> bit & 1 == 0 { "ab" } else { "bA" }).collect::<String>()
        });
        assert!(colliding.map(|name| collisions.add_name(&name)).any(|result| result.is_err()));
    }
}
