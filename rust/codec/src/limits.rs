//! Limits on what a reader accepts, and the budget that tracks how much of them is left.
//!
//! ```
//! use variant_codec::{ErrorKind, Limits, Value};
//!
//! let limits = Limits { max_elements: 2, ..Limits::for_network() };
//! let error = Value::decode(&Value::from([1, 2, 3]).encode()?, &limits).unwrap_err();
//! assert!(matches!(error.kind(), ErrorKind::LimitExceeded(_, 2)));
//! # Ok::<(), variant_codec::Error>(())
//! ```

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Deref;
use std::sync::{Arc, Mutex};

pub use crate::error::Limit;
use crate::error::{Error, ErrorKind, Result};
use crate::events::ElementType;
use crate::format::{self, Lane, VariantType};
use crate::lanes::Precision;
use crate::sync::lock;

/// A mask of all types, one bit each at the position of the type's id.
pub const ALL_TYPES: u64 = (1 << VariantType::COUNT) - 1;

/// The engine memory that values take, in bytes, according to the sources of Godot 4.6.3. The figures include
/// the bytes that debug builds and the C library add to each allocation. `limit_suite.gd` compares them with
/// the engine's actual use.
mod cost {
    use super::{ElementType, Lane, Precision, VariantType};

    /// Whether the engine has 64-bit vector components.
    const DOUBLE: bool = cfg!(feature = "double");

    /// The cost of a value's slot in its container.
    pub const SLOT: u64 = if DOUBLE { 40 } else { 24 };
    /// The cost of an Array without its elements.
    pub const ARRAY: u64 = 112;
    /// The cost of a Dictionary without its entries.
    pub const DICTIONARY: u64 = 176;
    /// The cost of the smallest hash table, which is allocated with the first entry.
    pub const TABLE: u64 = 372;
    /// The cost of an entry and its share of a growing hash table, without the slots of key and value.
    pub const ENTRY: u64 = 104;
    pub const OBJECT: u64 = 480;
    /// The cost of a packed array without its buffer.
    pub const PACKED: u64 = 64;
    /// The cost of a NodePath without its names.
    pub const NODE_PATH: u64 = 96;
    /// The cost of a buffer without its contents.
    pub const BUFFER: u64 = 80;
    /// The cost of a reference to a text in a buffer, including the reader's own memory for it.
    pub const REFERENCE: u64 = 32;
    pub const CODE_UNIT: u64 = 4;
    /// The cost of an entry in the engine's table of names, without the text.
    pub const NAME: u64 = 48;

    /// The highest charge per byte of input. Nested Dictionaries with one key each reach it.
    pub const MOST_PER_BYTE: u64 = (2 * SLOT + DICTIONARY + TABLE + ENTRY).div_ceil(12);

    /// The cost of a value of each type, excluding its contents. The engine allocates separate memory for
    /// types that do not fit into a slot.
    const VALUES: [u64; VariantType::COUNT] = {
        let mut costs = [SLOT; VariantType::COUNT];
        let times = if DOUBLE { 2 } else { 1 };
        costs[VariantType::Transform2D.id() as usize] += 24 * times;
        costs[VariantType::Aabb.id() as usize] += 24 * times;
        costs[VariantType::Basis.id() as usize] += 48 * times;
        costs[VariantType::Transform3D.id() as usize] += 48 * times;
        costs[VariantType::Projection.id() as usize] += 64 * times;
        costs
    };

    #[inline(always)]
    pub fn value(ty: VariantType) -> u64 {
        VALUES[usize::from(ty.id())]
    }

    /// The cost, excluding the slot, of the empty value that the engine puts into each element of a new typed
    /// Array. The decoded value replaces it.
    pub fn default(element: ElementType<'_>) -> u64 {
        match element {
            ElementType::Builtin(VariantType::Array) => ARRAY,
            ElementType::Builtin(VariantType::Dictionary) => DICTIONARY,
            ElementType::Builtin(ty) => value(ty) - SLOT + if ty.shape().is_packed() { PACKED } else { 0 },
            _ => 0,
        }
    }

    /// The number of bytes that the engine needs for packed elements that take `bytes` bytes on the wire.
    #[inline(always)]
    pub fn lanes(lane: Lane, precision: Precision, bytes: usize) -> usize {
        let widens = DOUBLE && lane == Lane::Real && precision == Precision::Single;
        if widens { bytes.saturating_mul(2) } else { bytes }
    }

    #[inline(always)]
    pub fn text(bytes: usize) -> u64 {
        BUFFER + CODE_UNIT * (bytes as u64 + 1)
    }

    #[inline(always)]
    pub fn buffer(bytes: usize) -> u64 {
        if bytes == 0 { 0 } else { BUFFER + bytes as u64 }
    }
}

/// The number of encoded bytes of a key or name that take as long to compare as one more key.
const COMPARED_BYTES: u64 = 64;
/// Looking up a known name takes less time than adding a name, by this factor.
const LOOKUPS_PER_NAME: u64 = 4;

/// The strictness of a reader. Readers of other formats use it too. For protobuf, the official
/// implementations take the place of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Reads what the engine reads, with two exceptions. A value of the wrong type in a typed Dictionary is
    /// refused: a script would read its memory as the declared type. Keys that are nested too deeply are
    /// refused: the engine cannot compare them.
    Lenient,
    /// Reads only what an encoder writes; anything else is an error that names the oddity. The sink must
    /// refuse repeated keys, as [`ValueBuilder::strict`](crate::stream::ValueBuilder::strict) does.
    #[default]
    Strict,
}

/// Names of classes or scripts, in any order. Copies share the storage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(Option<Arc<[String]>>);

impl Names {
    /// No names.
    pub const NONE: Self = Self(None);
}

impl Deref for Names {
    type Target = [String];

    fn deref(&self) -> &[String] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl FromIterator<String> for Names {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        let names: Arc<[String]> = names.into_iter().collect();
        Self((!names.is_empty()).then_some(names))
    }
}

/// Limits on what a caller is willing to read. Counts cover the whole value, nested values included.
///
/// ```
/// use variant_codec::{Limits, VariantType};
///
/// let only_numbers = 1 << VariantType::Int.id() | 1 << VariantType::Float.id() | 1 << VariantType::Array.id();
/// let limits = Limits { allowed_types: only_numbers, ..Limits::for_network() };
/// assert!(variant_codec::Value::decode(&[0; 4], &limits).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of bytes of input.
    pub max_bytes: usize,
    /// Maximum number of levels below the outermost value, up to [`format::MAX_DEPTH`].
    pub max_depth: u32,
    /// Maximum number of values of any kind, including elements of packed arrays and names of NodePaths.
    pub max_elements: u64,
    /// Maximum number of bytes of engine memory for the result, estimated before it is allocated.
    pub max_memory: u64,
    /// Maximum number of comparisons that the engine's hash tables may need if all keys and all names are crafted to
    /// collide. A Dictionary needs at most the square of its number of entries, all names together the square of the
    /// number of different names, and long keys and names more. If there is a maximum, containers may not be keys.
    pub max_key_comparisons: u64,
    /// Whether bytes may follow the value.
    pub allow_trailing_bytes: bool,
    /// Whether strict reading accepts harmless encodings of writers other than an engine: see
    /// [`Oddity::is_harmless`](crate::error::Oddity::is_harmless).
    pub allow_non_canonical: bool,
    /// Whether to read an object that was written only by its instance id as null. The id means nothing in another run
    /// of the game. Only a reader inside an engine does so; in this crate, the id stays as it is.
    pub lost_objects_as_null: bool,
    /// Whether objects with class and properties are read.
    pub allow_objects: bool,
    /// The native classes that objects may have; empty allows all.
    pub allowed_classes: Names,
    /// The scripts that objects and typed containers may have, by path; empty allows all.
    pub allowed_scripts: Names,
    /// The types that values may have, one bit each at the position of the type's id.
    pub allowed_types: u64,
}

impl Limits {
    /// Limits for packets from strangers: 1 MiB, 32 levels, 100,000 values, 16 MiB of memory, 5,000,000 key
    /// comparisons.
    pub fn for_network() -> Self {
        Self {
            max_bytes: 1 << 20,
            max_depth: 32,
            max_elements: 100_000,
            max_memory: 16 << 20,
            max_key_comparisons: 5_000_000,
            ..Self::for_save_files()
        }
    }

    /// Limits for the user's own files: everything that the format holds, except objects with properties and
    /// trailing bytes.
    ///
    /// The format's 1024 levels need 4 MiB of stack in release builds; the threads that Rust starts have 2
    /// MiB. In debug builds, 2 MiB are enough for about 100 levels. There, 1024 levels need 32 MiB, or 8 MiB
    /// if dependencies are compiled with `opt-level = 1`.
    pub const fn for_save_files() -> Self {
        let mut limits = Self::unlimited();
        limits.allow_trailing_bytes = false;
        limits
    }

    /// Whether [`Limits::max_elements`], [`Limits::max_memory`] and [`Limits::max_key_comparisons`] admit
    /// every value of `bytes` bytes.
    pub fn admit_all_of(&self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        self.max_elements >= bytes
            && self.max_memory >= bytes.saturating_mul(cost::MOST_PER_BYTE)
            && !self.limits_key_comparisons()
    }

    /// Whether [`Limits::max_key_comparisons`] is set.
    #[inline(always)]
    pub(crate) fn limits_key_comparisons(&self) -> bool {
        self.max_key_comparisons != u64::MAX
    }

    /// The deepest level that a value may have.
    #[inline(always)]
    pub fn deepest(&self) -> u32 {
        self.max_depth.min(format::MAX_DEPTH)
    }

    /// The reason of the error for data that exceeds this limit.
    #[cold]
    #[inline(never)]
    pub fn exceeded(&self, limit: Limit) -> ErrorKind {
        let setting = match limit {
            Limit::Depth if self.max_depth >= format::MAX_DEPTH => return ErrorKind::TooDeep,
            Limit::Bytes if self.max_bytes >= format::MAX_BYTES => return ErrorKind::TooLarge,
            Limit::Bytes => self.max_bytes as u64,
            Limit::Depth => self.max_depth.into(),
            Limit::Elements => self.max_elements,
            Limit::Memory => self.max_memory,
            Limit::KeyComparisons => self.max_key_comparisons,
        };
        ErrorKind::LimitExceeded(limit, setting)
    }

    /// Limits that allow everything that the format holds, except objects with properties. Trailing bytes are
    /// allowed.
    pub const fn unlimited() -> Self {
        Self {
            max_bytes: format::MAX_BYTES,
            max_depth: format::MAX_DEPTH,
            max_elements: u64::MAX,
            max_memory: u64::MAX,
            max_key_comparisons: u64::MAX,
            allow_trailing_bytes: true,
            allow_non_canonical: false,
            lost_objects_as_null: false,
            allow_objects: false,
            allowed_classes: Names::NONE,
            allowed_scripts: Names::NONE,
            allowed_types: ALL_TYPES,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::for_save_files()
    }
}

/// The different names so far. Names are random hashes, which attackers cannot predict.
#[derive(Debug, Default)]
struct SeenNames {
    hashes: HashSet<u64>,
    random: RandomState,
}

impl SeenNames {
    /// Adds a name. Returns the number of comparisons that an engine may need to find or add it.
    fn add(&mut self, name: &[u8]) -> u64 {
        let others = self.hashes.len() as u64;
        let is_new = self.hashes.insert(self.random.hash_one(name));
        let names = if is_new { others } else { others / LOOKUPS_PER_NAME };
        names.saturating_mul(1 + name.len() as u64 / COMPARED_BYTES)
    }
}

/// The share of [`Limits`] that values have used.
#[derive(Clone, Debug, Default)]
pub struct Spent {
    elements: u64,
    memory: u64,
    key_comparisons: u64,
    names: Option<Arc<Mutex<SeenNames>>>,
}

impl Spent {
    /// The charged memory, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory
    }
}

/// The part of a reader's [`Limits`] that is left. Readers of other formats charge the same for the same values.
#[derive(Debug)]
pub struct Budget<'l> {
    /// The limits themselves.
    pub limits: &'l Limits,
    spent: Spent,
}

/// Unless stated otherwise, errors are [`ErrorKind::LimitExceeded`] or [`ErrorKind::TypeNotAllowed`].
#[expect(clippy::missing_errors_doc, reason = "all give the same")]
impl<'l> Budget<'l> {
    /// An unused budget.
    pub fn new(limits: &'l Limits) -> Self {
        Self::after(Spent::default(), limits)
    }

    /// The budget that is left after other values have used this share.
    pub fn after(spent: Spent, limits: &'l Limits) -> Self {
        Self { limits, spent }
    }

    /// The usage so far.
    pub fn spent(&self) -> Spent {
        self.spent.clone()
    }

    /// Charges one value of this type.
    #[inline(always)]
    pub fn value(&mut self, ty: VariantType) -> Result<()> {
        if self.limits.allowed_types >> ty.id() & 1 == 0 {
            return Err(ErrorKind::TypeNotAllowed(ty).into());
        }
        self.charge(1, cost::value(ty))
    }

    /// The number of values of this type that the budget still covers.
    #[inline(always)]
    pub fn values_left(&self, ty: VariantType) -> usize {
        if self.limits.allowed_types >> ty.id() & 1 == 0 {
            return 0;
        }
        let elements = self.limits.max_elements.saturating_sub(self.spent.elements);
        let memory = self.limits.max_memory.saturating_sub(self.spent.memory) / cost::value(ty);
        usize::try_from(elements.min(memory)).unwrap_or(usize::MAX)
    }

    /// Charges `count` values of this type.
    #[inline(always)]
    pub fn values(&mut self, ty: VariantType, count: usize) -> Result<()> {
        debug_assert!(count <= self.values_left(ty), "more values than are left");
        self.charge(count as u64, cost::value(ty).saturating_mul(count as u64))
    }

    /// Charges an Array; its elements are charged as they come.
    #[inline(always)]
    pub fn array(&mut self, len: usize, element: ElementType<'_>) -> Result<()> {
        self.charge(0, cost::ARRAY + if len == 0 { 0 } else { cost::BUFFER })?;
        let default = if element == ElementType::Untyped { 0 } else { cost::default(element) };
        self.announce(len as u64, cost::SLOT + default)
    }

    /// Charges a Dictionary and its entries; keys and values are charged as they come.
    #[inline(always)]
    pub fn dictionary(&mut self, len: usize) -> Result<()> {
        let table = if len == 0 { 0 } else { cost::TABLE };
        self.charge(0, cost::DICTIONARY + table + cost::ENTRY.saturating_mul(len as u64))?;
        self.announce(len as u64 * 2, cost::SLOT)?;
        self.compare((len as u64).saturating_mul(len as u64))
    }

    /// Charges a key of `bytes` encoded bytes in a Dictionary with `len` entries.
    #[inline(always)]
    pub fn key(&mut self, len: usize, bytes: usize) -> Result<()> {
        match bytes as u64 / COMPARED_BYTES {
            0 => Ok(()),
            times => self.compare(times.saturating_mul(len as u64)),
        }
    }

    /// Charges text of `bytes` bytes.
    #[inline(always)]
    pub fn text(&mut self, bytes: usize) -> Result<()> {
        self.charge(0, cost::text(bytes))
    }

    /// Whether text of `bytes` bytes can be charged without another check.
    #[inline(always)]
    pub fn allows_text(&self, bytes: usize) -> bool {
        self.spent.elements <= self.limits.max_elements
            && self.spent.memory.saturating_add(cost::text(bytes)) <= self.limits.max_memory
    }

    /// Charges a name without the memory of its text.
    #[inline(always)]
    pub fn name(&mut self, text: &[u8]) -> Result<()> {
        self.charge(0, cost::NAME)?;
        if self.limits.limits_key_comparisons() { self.compare_name(text) } else { Ok(()) }
    }

    #[inline(never)]
    fn compare_name(&mut self, text: &[u8]) -> Result<()> {
        let comparisons = lock(self.spent.names.get_or_insert_default()).add(text);
        self.compare(comparisons)
    }

    #[inline(always)]
    fn compare(&mut self, comparisons: u64) -> Result<()> {
        self.spent.key_comparisons = self.spent.key_comparisons.saturating_add(comparisons);
        if self.spent.key_comparisons > self.limits.max_key_comparisons {
            return Err(self.limits.exceeded(Limit::KeyComparisons).into());
        }
        Ok(())
    }

    /// Charges a NodePath of `names` names; their texts are charged as they come.
    #[inline(always)]
    pub fn node_path(&mut self, names: usize) -> Result<()> {
        let names = names as u64;
        self.charge(names, cost::NODE_PATH + 2 * cost::BUFFER + cost::REFERENCE.saturating_mul(names))
    }

    /// Charges a packed array.
    #[inline(always)]
    pub fn packed(&mut self, elements: usize, bytes: usize) -> Result<()> {
        self.charge(elements as u64, cost::PACKED + cost::buffer(bytes))
    }

    /// Charges a packed array whose elements take `bytes` bytes on the wire.
    #[inline(always)]
    pub(crate) fn packed_lanes(
        &mut self,
        lane: Lane,
        precision: Precision,
        elements: usize,
        bytes: usize,
    ) -> Result<()> {
        self.packed(elements, cost::lanes(lane, precision, bytes))
    }

    /// Charges a PackedStringArray; its texts are charged as they come.
    #[inline(always)]
    pub fn strings(&mut self, len: usize) -> Result<()> {
        self.packed(len, len.saturating_mul(size_of::<u64>()))
    }

    /// Charges a reader's working memory.
    #[inline(always)]
    pub fn working(&mut self, bytes: usize) -> Result<()> {
        self.charge(0, bytes as u64)
    }

    /// Charges an object.
    #[inline(always)]
    pub fn object(&mut self) -> Result<()> {
        self.charge(0, cost::OBJECT)
    }

    /// Fails before allocating if the budget cannot cover `values` more values of `each` bytes.
    #[inline(always)]
    fn announce(&self, values: u64, each: u64) -> Result<()> {
        let slots = values.saturating_mul(each);
        self.check(self.spent.elements.saturating_add(values), self.spent.memory.saturating_add(slots))
    }

    #[inline(always)]
    fn charge(&mut self, elements: u64, memory: u64) -> Result<()> {
        self.spent.elements = self.spent.elements.saturating_add(elements);
        self.spent.memory = self.spent.memory.saturating_add(memory);
        self.check(self.spent.elements, self.spent.memory)
    }

    #[inline(always)]
    fn check(&self, elements: u64, memory: u64) -> Result<()> {
        if elements > self.limits.max_elements || memory > self.limits.max_memory {
            return Err(self.exceeded(elements));
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn exceeded(&self, elements: u64) -> Error {
        let is_elements = elements > self.limits.max_elements;
        self.limits.exceeded(if is_elements { Limit::Elements } else { Limit::Memory }).into()
    }
}
