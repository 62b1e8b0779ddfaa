//! How much a reader accepts: the caller's limits and what is left of them.

use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, VariantType};

/// A set of types, one bit each at the position of the type's id.
pub const ALL_TYPES: u64 = (1 << VariantType::COUNT) - 1;

/// Bytes of engine memory that a value costs beside its payload: its slot in the container that holds it.
///
/// Measured on Godot 4.6.3 with a million elements in one Array, as are the ones below.
const SLOT: u64 = 24;
/// An Array beside its elements.
const ARRAY: u64 = 94;
/// A Dictionary beside its entries.
const DICTIONARY: u64 = 158;
/// One Dictionary entry with its index, beside what key and value cost.
const ENTRY: u64 = 384;
/// The object that stands for an instance id.
const OBJECT: u64 = 447;
/// A packed array, or a String, beside its elements.
const BUFFER: u64 = 62;
/// One code unit of a String.
const CODE_UNIT: u64 = 4;
/// The most that one byte of input is charged: an entry of two Nils, which takes eight.
const MOST_PER_BYTE: u64 = (ENTRY + 2 * SLOT).div_ceil(8);

/// What a caller is willing to read. Counts cover the whole value, nested ones included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of input.
    pub max_bytes: usize,
    /// Levels of nesting below the outermost value, at most [`format::MAX_DEPTH`].
    pub max_depth: u32,
    /// Values of any kind, elements of packed arrays included.
    pub max_elements: u64,
    /// Entries of one Dictionary.
    pub max_dictionary_entries: u64,
    /// Bytes of engine memory that the result may need, estimated before it is allocated.
    pub max_memory: u64,
    /// Whether bytes may follow the value.
    pub allow_trailing_bytes: bool,
    /// Whether objects with class and properties are read.
    pub allow_objects: bool,
    /// The native classes that objects may have; empty allows all.
    pub allowed_classes: Vec<String>,
    /// The types that values may have, one bit each at the position of the type's id.
    pub allowed_types: u64,
}

impl Limits {
    /// For packets from strangers: 1 MiB, 32 levels, 100,000 values, 10,000 entries, 16 MiB of memory.
    pub fn for_network() -> Self {
        Self {
            max_bytes: 1 << 20,
            max_depth: 32,
            max_elements: 100_000,
            max_dictionary_entries: 10_000,
            max_memory: 16 << 20,
            ..Self::for_save_files()
        }
    }

    /// For the user's own files: everything the format holds, but nothing behind it.
    pub fn for_save_files() -> Self {
        Self { allow_trailing_bytes: false, ..Self::unlimited() }
    }

    /// Whether no value of so many bytes can exceed what is limited for a value as a whole: [`Limits::max_elements`] and
    /// [`Limits::max_memory`].
    pub fn admit_all_of(&self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        self.max_elements >= bytes && self.max_memory >= bytes.saturating_mul(MOST_PER_BYTE)
    }

    /// Everything that the format holds, whatever follows it. Objects are still off.
    pub fn unlimited() -> Self {
        Self {
            max_bytes: format::MAX_BYTES,
            max_depth: format::MAX_DEPTH,
            max_elements: u64::MAX,
            max_dictionary_entries: u64::MAX,
            max_memory: u64::MAX,
            allow_trailing_bytes: true,
            allow_objects: false,
            allowed_classes: Vec::new(),
            allowed_types: ALL_TYPES,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::for_save_files()
    }
}

/// What a reader has used up of its [`Limits`].
#[derive(Debug)]
pub(crate) struct Budget<'l> {
    pub limits: &'l Limits,
    elements: u64,
    memory: u64,
}

impl<'l> Budget<'l> {
    pub fn new(limits: &'l Limits) -> Self {
        Self { limits, elements: 0, memory: 0 }
    }

    /// Charges one value of this type.
    #[inline(always)]
    pub fn value(&mut self, ty: VariantType) -> Result<()> {
        if self.limits.allowed_types >> ty.id() & 1 == 0 {
            return Err(ErrorKind::TypeNotAllowed(ty).into());
        }
        self.charge(1, SLOT)
    }

    /// How many values of this type may follow.
    #[inline(always)]
    pub fn values_left(&self, ty: VariantType) -> usize {
        if self.limits.allowed_types >> ty.id() & 1 == 0 {
            return 0;
        }
        let elements = self.limits.max_elements.saturating_sub(self.elements);
        let memory = self.limits.max_memory.saturating_sub(self.memory) / SLOT;
        usize::try_from(elements.min(memory)).unwrap_or(usize::MAX)
    }

    /// Charges so many values of this type.
    #[inline(always)]
    pub fn values(&mut self, ty: VariantType, count: usize) -> Result<()> {
        debug_assert!(count <= self.values_left(ty), "more values than are left");
        self.charge(count as u64, SLOT.saturating_mul(count as u64))
    }

    /// Charges an Array; its elements are charged as they come.
    #[inline(always)]
    pub fn array(&mut self, len: usize) -> Result<()> {
        self.charge(0, ARRAY)?;
        self.announce(len as u64)
    }

    /// Charges a Dictionary and its entries; keys and values are charged as they come.
    #[inline(always)]
    pub fn dictionary(&mut self, len: usize) -> Result<()> {
        let limit = self.limits.max_dictionary_entries;
        if len as u64 > limit {
            return Err(exceeded("max_dictionary_entries", "entries in one Dictionary", limit));
        }
        self.announce(len as u64 * 2)?;
        self.charge(0, DICTIONARY + ENTRY.saturating_mul(len as u64))
    }

    /// Charges text of so many bytes.
    #[inline(always)]
    pub fn text(&mut self, bytes: usize) -> Result<()> {
        self.charge(0, BUFFER + CODE_UNIT * bytes as u64)
    }

    /// Whether text of so many bytes could be charged.
    #[inline(always)]
    pub fn allows_text(&self, bytes: usize) -> bool {
        self.elements <= self.limits.max_elements
            && self.memory.saturating_add(BUFFER + CODE_UNIT * bytes as u64) <= self.limits.max_memory
    }

    /// Charges a packed array, or anything else that is one buffer.
    #[inline(always)]
    pub fn buffer(&mut self, elements: usize, bytes: usize) -> Result<()> {
        self.charge(elements as u64, BUFFER + bytes as u64)
    }

    /// Charges an object.
    #[inline(always)]
    pub fn object(&mut self) -> Result<()> {
        self.charge(0, OBJECT)
    }

    /// Fails now if `values` more cannot be had, so that nothing is allocated for them.
    #[inline(always)]
    fn announce(&self, values: u64) -> Result<()> {
        if self.elements.saturating_add(values) > self.limits.max_elements {
            return Err(exceeded("max_elements", "values", self.limits.max_elements));
        }
        if self.memory.saturating_add(values.saturating_mul(SLOT)) > self.limits.max_memory {
            return Err(exceeded("max_memory", "bytes of memory", self.limits.max_memory));
        }
        Ok(())
    }

    #[inline(always)]
    fn charge(&mut self, elements: u64, memory: u64) -> Result<()> {
        self.elements = self.elements.saturating_add(elements);
        self.memory = self.memory.saturating_add(memory);
        if self.elements > self.limits.max_elements {
            return Err(exceeded("max_elements", "values", self.limits.max_elements));
        }
        if self.memory > self.limits.max_memory {
            return Err(exceeded("max_memory", "bytes of memory", self.limits.max_memory));
        }
        Ok(())
    }
}

#[cold]
pub(crate) fn exceeded(name: &'static str, what: &'static str, limit: u64) -> Error {
    ErrorKind::LimitExceeded { name, what, limit }.into()
}
