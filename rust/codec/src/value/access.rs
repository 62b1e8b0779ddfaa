//! Access to the parts of values: `get`, `as_*`, indexing, iterators.

use std::iter::Map;
use std::ops::Index;
use std::slice::{Iter, IterMut};

use super::same::is_same_key;
use super::types::{Array, Dictionary, NodePath, Object, Value};

/// An index, name or key for [`Value::get`] and [`Dictionary::get`].
///
/// | type | in an Array | in a Dictionary | in an Object |
/// |---|---|---|---|
/// | `&str`, `String` | | the value at the String or StringName | the property |
/// | `usize` | the element | the value at the int | |
/// | `&Value` | the element, if an int | the value at the key | the property, if text |
pub trait Lookup: sealed::Sealed {
    #[doc(hidden)]
    fn wanted(&self) -> Wanted<'_>;
}

/// The index, text or key of a [`Lookup`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    Index(usize),
    Text(&'a str),
    Key(&'a Value),
}

impl<'a> Wanted<'a> {
    fn index(self) -> Option<usize> {
        match self {
            Self::Index(index) => Some(index),
            Self::Text(_) => None,
            Self::Key(key) => usize::try_from(key.as_i64()?).ok(),
        }
    }

    fn text(self) -> Option<&'a str> {
        match self {
            Self::Index(_) => None,
            Self::Text(text) => Some(text),
            Self::Key(key) => key.as_str(),
        }
    }

    fn is(self, key: &Value) -> bool {
        match self {
            Self::Index(index) => matches!(key, Value::Int(int) if usize::try_from(*int) == Ok(index)),
            Self::Text(text) => key.as_str() == Some(text),
            Self::Key(wanted) => is_same_key(wanted, key),
        }
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T: Sealed + ?Sized> Sealed for &T {}
}

impl<T: Lookup + ?Sized> Lookup for &T {
    fn wanted(&self) -> Wanted<'_> {
        (**self).wanted()
    }
}

macro_rules! lookups {
    ($($ty:ty, $wanted:expr;)*) => {
        $(
            impl sealed::Sealed for $ty {}

            impl Lookup for $ty {
                fn wanted(&self) -> Wanted<'_> {
                    $wanted(self)
                }
            }
        )*
    };
}

lookups! {
    str, Wanted::Text;
    String, Wanted::Text;
    usize, |index: &usize| Wanted::Index(*index);
    Value, Wanted::Key;
}

/// The result of indexing with a missing index or key.
static NIL: Value = Value::Nil;

impl Value {
    /// Returns the element, the value at a key, or the property. `None` if it is missing.
    pub fn get(&self, key: impl Lookup) -> Option<&Value> {
        match self {
            Self::Array(array) => array.values.get(key.wanted().index()?),
            Self::Dictionary(dictionary) => dictionary.get(key),
            Self::Object(Object::Full { properties, .. }) => {
                let name = key.wanted().text()?;
                properties.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// A mutable reference to the part that [`Value::get`] returns.
    pub fn get_mut(&mut self, key: impl Lookup) -> Option<&mut Value> {
        match self {
            Self::Array(array) => array.values.get_mut(key.wanted().index()?),
            Self::Dictionary(dictionary) => dictionary.get_mut(key),
            Self::Object(Object::Full { properties, .. }) => {
                let name = key.wanted().text()?;
                properties.iter_mut().rev().find(|(found, _)| found == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Whether this is Nil or the null object. Both have the same encoding.
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil | Self::Object(Object::Null))
    }

    /// The int, if it is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        u64::try_from(self.as_i64()?).ok()
    }

    /// The float, or the int if a float represents it exactly.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            Self::Int(value) => exact_float(*value),
            _ => None,
        }
    }

    /// A mutable reference to the Array.
    pub fn as_array_mut(&mut self) -> Option<&mut Array> {
        if let Self::Array(array) = self { Some(array) } else { None }
    }

    /// A mutable reference to the Dictionary.
    pub fn as_dictionary_mut(&mut self) -> Option<&mut Dictionary> {
        if let Self::Dictionary(dictionary) = self { Some(dictionary) } else { None }
    }
}

macro_rules! getters {
    ($($doc:literal $name:ident -> $ty:ty, $pattern:pat => $found:expr;)*) => {
        impl Value {
            $(
                #[doc = $doc]
                pub fn $name(&self) -> Option<$ty> {
                    if let $pattern = self { Some($found) } else { None }
                }
            )*
        }
    };
}

getters! {
    "The bool." as_bool -> bool, Self::Bool(value) => *value;
    "The int." as_i64 -> i64, Self::Int(value) => *value;
    "The text of a String or StringName." as_str -> &str, Self::String(text) | Self::StringName(text) => text;
    "The bytes of a PackedByteArray." as_bytes -> &[u8], Self::PackedByteArray(bytes) => bytes;
    "The Array." as_array -> &Array, Self::Array(array) => array;
    "The Dictionary." as_dictionary -> &Dictionary, Self::Dictionary(dictionary) => dictionary;
    "The NodePath." as_node_path -> &NodePath, Self::NodePath(path) => path;
    "The object." as_object -> &Object, Self::Object(object) => object;
}

/// The int as a float, if a float represents it exactly.
pub(crate) fn exact_float(int: i64) -> Option<f64> {
    let float = int as f64;
    // `i64::MAX` rounds up to 2^63, which saturates back to `i64::MAX` and would seem exact.
    (float as i64 == int && float < i64::MAX as f64).then_some(float)
}

/// Returns Nil if the key is missing. To detect that, use [`Value::get`].
impl Index<&str> for Value {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&NIL)
    }
}

/// Returns Nil if the index or key is missing. To detect that, use [`Value::get`].
impl Index<usize> for Value {
    type Output = Value;

    fn index(&self, index: usize) -> &Value {
        self.get(index).unwrap_or(&NIL)
    }
}

impl Array {
    /// An untyped Array without elements.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether the Array has no elements.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The element at this index.
    pub fn get(&self, index: usize) -> Option<&Value> {
        self.values.get(index)
    }

    /// A mutable reference to the element at this index.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Value> {
        self.values.get_mut(index)
    }

    /// Appends an element. Does not check the declared type.
    pub fn push(&mut self, value: impl Into<Value>) {
        self.values.push(value.into());
    }

    /// The elements.
    pub fn iter(&self) -> Iter<'_, Value> {
        self.values.iter()
    }

    /// Mutable references to the elements.
    pub fn iter_mut(&mut self) -> IterMut<'_, Value> {
        self.values.iter_mut()
    }
}

impl Index<usize> for Array {
    type Output = Value;

    /// # Panics
    /// Panics if the index is out of bounds.
    fn index(&self, index: usize) -> &Value {
        &self.values[index]
    }
}

impl IntoIterator for Array {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter()
    }
}

impl<'a> IntoIterator for &'a Array {
    type Item = &'a Value;
    type IntoIter = Iter<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.iter()
    }
}

impl<'a> IntoIterator for &'a mut Array {
    type Item = &'a mut Value;
    type IntoIter = IterMut<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.iter_mut()
    }
}

/// Lookups compare keys as the engine does: a String equals a StringName with the same text, a NaN equals a NaN,
/// and an int never equals a float. A lookup takes linear time. Collect large Dictionaries into a map first.
impl Dictionary {
    /// An untyped Dictionary without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the Dictionary has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value at this key. If the Dictionary repeats a key, the last entry counts, as in the engine.
    pub fn get(&self, key: impl Lookup) -> Option<&Value> {
        self.entries.iter().rev().find(|(found, _)| key.wanted().is(found)).map(|(_, value)| value)
    }

    /// A mutable reference to the value at this key.
    pub fn get_mut(&mut self, key: impl Lookup) -> Option<&mut Value> {
        self.entries.iter_mut().rev().find(|(found, _)| key.wanted().is(found)).map(|(_, value)| value)
    }

    /// Whether the Dictionary has this key.
    pub fn contains_key(&self, key: impl Lookup) -> bool {
        self.get(key).is_some()
    }

    /// Sets the value at a key, and returns the old one. A new key comes last. Does not check the declared types.
    pub fn insert(&mut self, key: impl Into<Value>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match self.get_mut(&key) {
            Some(place) => Some(std::mem::replace(place, value)),
            None => {
                self.entries.push((key, value));
                None
            }
        }
    }

    /// Removes a key, and returns its value. The other entries keep their order.
    pub fn remove(&mut self, key: impl Lookup) -> Option<Value> {
        let index = self.entries.iter().rposition(|(found, _)| key.wanted().is(found))?;
        Some(self.entries.remove(index).1)
    }

    /// Keys and values, in order.
    pub fn iter(&self) -> Entries<'_> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values, in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.entries.iter().map(|(_, value)| value)
    }
}

impl<K: Lookup> Index<K> for Dictionary {
    type Output = Value;

    /// # Panics
    /// Panics if the key is missing.
    fn index(&self, key: K) -> &Value {
        self.get(key).expect("the Dictionary has this key")
    }
}

/// The iterator of [`Dictionary::iter`]: keys and values, in order.
pub type Entries<'a> = Map<Iter<'a, (Value, Value)>, fn(&(Value, Value)) -> (&Value, &Value)>;

impl IntoIterator for Dictionary {
    type Item = (Value, Value);
    type IntoIter = std::vec::IntoIter<(Value, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a> IntoIterator for &'a Dictionary {
    type Item = (&'a Value, &'a Value);
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Entries<'a> {
        self.iter()
    }
}
