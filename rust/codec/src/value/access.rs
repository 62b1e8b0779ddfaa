//! Looking into values: `get`, `as_*`, indexes, iterators.

use std::iter::Map;
use std::ops::Index;
use std::slice::{Iter, IterMut};

use super::same::is_same_key;
use super::types::{Array, Dictionary, NodePath, Object, Value};

/// What [`Value::get`] and [`Dictionary::get`] look for.
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

/// What a [`Lookup`] stands for.
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

/// What is at an index or key that is not there.
static NIL: Value = Value::Nil;

impl Value {
    /// The element, the value at a key, or the property; `None` where there is none, or where this holds no others.
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

    /// The same, to be changed.
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

    /// Whether it is Nil or the null object, which the wire does not tell from it.
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil | Self::Object(Object::Null))
    }

    /// The int, if it is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        u64::try_from(self.as_i64()?).ok()
    }

    /// The float, or an int that a float holds exactly.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            Self::Int(value) => exact_float(*value),
            _ => None,
        }
    }

    /// The Array, to be changed.
    pub fn as_array_mut(&mut self) -> Option<&mut Array> {
        if let Self::Array(array) = self { Some(array) } else { None }
    }

    /// The Dictionary, to be changed.
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

/// The same number as a float, if there is one.
pub(crate) fn exact_float(int: i64) -> Option<f64> {
    let float = int as f64;
    // The largest float below 2^63 is exact; 2^63 itself saturates when it comes back.
    (float as i64 == int && float < i64::MAX as f64).then_some(float)
}

/// Nil where there is no such key. For a key that should be there, take [`Value::get`].
impl Index<&str> for Value {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&NIL)
    }
}

/// Nil where there is no such index or key. For one that should be there, take [`Value::get`].
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

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The element at this index.
    pub fn get(&self, index: usize) -> Option<&Value> {
        self.values.get(index)
    }

    /// The element at this index, to be changed.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Value> {
        self.values.get_mut(index)
    }

    /// Adds an element at the end. What a typed Array takes is the caller's to see to.
    pub fn push(&mut self, value: impl Into<Value>) {
        self.values.push(value.into());
    }

    /// The elements.
    pub fn iter(&self) -> Iter<'_, Value> {
        self.values.iter()
    }

    /// The elements, to be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, Value> {
        self.values.iter_mut()
    }
}

impl Index<usize> for Array {
    type Output = Value;

    /// # Panics
    /// Where there is no such element, as for a slice.
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

/// Keys are found as the engine finds them: the texts of String and StringName are alike, and so are NaNs; an int is not
/// like a float. Looking for one takes time in proportion to the entries; collect large ones into a map of your own.
impl Dictionary {
    /// An untyped Dictionary without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value at this key. Of equal keys, which only bytes have, the last one counts, as in the engine.
    pub fn get(&self, key: impl Lookup) -> Option<&Value> {
        self.entries.iter().rev().find(|(found, _)| key.wanted().is(found)).map(|(_, value)| value)
    }

    /// The value at this key, to be changed.
    pub fn get_mut(&mut self, key: impl Lookup) -> Option<&mut Value> {
        self.entries.iter_mut().rev().find(|(found, _)| key.wanted().is(found)).map(|(_, value)| value)
    }

    /// Whether there is such a key.
    pub fn contains_key(&self, key: impl Lookup) -> bool {
        self.get(key).is_some()
    }

    /// Puts a value at a key, and returns the one that was there. A new key comes last. What a typed Dictionary takes is the
    /// caller's to see to.
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

    /// Takes a key and its value out. The others keep their order.
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
    /// Where there is no such key, as for a map.
    fn index(&self, key: K) -> &Value {
        self.get(key).expect("the Dictionary has this key")
    }
}

/// Keys and values of a Dictionary, in order; [`Dictionary::iter`] gives it.
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
