//! Conversions between values and Rust types.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::str::FromStr;

use super::types::{Array, Dictionary, NodePath, Object, Value};
use crate::error::{Error, ErrorKind, Result, quoted};

/// An element of collections that convert into one value: a PackedByteArray for `u8`, an Array for other
/// types.
///
/// The trait is implemented for types that convert into a [`Value`], so that their `Vec`s, slices and arrays
/// convert too. For a type of your own, an empty `impl` is enough.
///
/// ```
/// use variant_codec::Value;
/// use variant_codec::value::Element;
///
/// struct Level(u8);
///
/// impl From<Level> for Value {
///     fn from(level: Level) -> Self {
///         Self::from(level.0)
///     }
/// }
/// impl Element for Level {}
///
/// assert_eq!(Value::from(vec![Level(1), Level(2)]), Value::from([1, 2]));
/// ```
pub trait Element: Into<Value> {
    /// Collects elements into one value.
    fn together(elements: impl Iterator<Item = Self>) -> Value {
        Value::Array(elements.collect())
    }
}

impl Element for u8 {
    fn together(elements: impl Iterator<Item = Self>) -> Value {
        Value::PackedByteArray(elements.collect())
    }
}

macro_rules! numbers {
    ($variant:ident: $($ty:ty),*) => {
        $(impl From<$ty> for Value {
            fn from(value: $ty) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

numbers!(Int: i8, i16, i32, i64, u8, u16, u32);
numbers!(Float: f32, f64);
numbers!(Bool: bool);
numbers!(String: &str, &String, char, Box<str>, Cow<'_, str>);

macro_rules! by_name {
    ($($ty:ident),*) => {
        $(impl From<$ty> for Value {
            fn from(value: $ty) -> Self {
                Self::$ty(value)
            }
        })*
    };
}

by_name!(String, Array, Dictionary, NodePath, Object);

macro_rules! elements {
    ($($ty:ty),*) => {
        $(impl Element for $ty {})*
    };
}

elements!(i8, i16, i32, i64, u16, u32, f32, f64, bool, char, &str, &String, String, Box<str>, Cow<'_, str>);
elements!(Value, Array, Dictionary, NodePath, Object, ());

/// Converts `()` to Nil.
impl From<()> for Value {
    fn from((): ()) -> Self {
        Self::Nil
    }
}

/// Converts `None` to Nil.
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Nil, Into::into)
    }
}

impl<T: Into<Value>> Element for Option<T> {}

impl<T: Element> From<Vec<T>> for Value {
    fn from(elements: Vec<T>) -> Self {
        T::together(elements.into_iter())
    }
}

impl<T: Element> Element for Vec<T> {}

impl<T: Element, const N: usize> From<[T; N]> for Value {
    fn from(elements: [T; N]) -> Self {
        T::together(elements.into_iter())
    }
}

impl<T: Element, const N: usize> Element for [T; N] {}

impl<T: Element + Clone> From<&[T]> for Value {
    fn from(elements: &[T]) -> Self {
        T::together(elements.iter().cloned())
    }
}

impl<T: Element + Clone, const N: usize> From<&[T; N]> for Value {
    fn from(elements: &[T; N]) -> Self {
        elements.as_slice().into()
    }
}

/// Creates an untyped Dictionary. Equal keys are not merged.
impl From<Vec<(Value, Value)>> for Value {
    fn from(entries: Vec<(Value, Value)>) -> Self {
        Self::Dictionary(Dictionary { entries, ..Dictionary::default() })
    }
}

/// Creates a Dictionary in arbitrary order.
impl<K: Into<Value>, V: Into<Value>, S> From<HashMap<K, V, S>> for Value {
    fn from(map: HashMap<K, V, S>) -> Self {
        map.into_iter().collect()
    }
}

/// Creates a Dictionary in the order of the map.
impl<K: Into<Value>, V: Into<Value>> From<BTreeMap<K, V>> for Value {
    fn from(map: BTreeMap<K, V>) -> Self {
        map.into_iter().collect()
    }
}

impl<K: Into<Value>, V: Into<Value>, S> Element for HashMap<K, V, S> {}
impl<K: Into<Value>, V: Into<Value>> Element for BTreeMap<K, V> {}

impl<T: Into<Value>> FromIterator<T> for Array {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self { values: values.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

impl<T: Into<Value>> Extend<T> for Array {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        self.values.extend(values.into_iter().map(Into::into));
    }
}

impl<T: Element> From<Vec<T>> for Array {
    fn from(values: Vec<T>) -> Self {
        values.into_iter().collect()
    }
}

/// Does not merge equal keys. [`Dictionary::insert`] does.
impl<K: Into<Value>, V: Into<Value>> FromIterator<(K, V)> for Dictionary {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self { entries, ..Self::default() }
    }
}

/// Later values replace earlier ones at the same key.
impl<K: Into<Value>, V: Into<Value>> Extend<(K, V)> for Dictionary {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

/// Creates an untyped Array.
impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::Array(values.into_iter().collect())
    }
}

/// Creates an untyped Dictionary. Equal keys are not merged.
impl<K: Into<Value>, V: Into<Value>> FromIterator<(K, V)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self::Dictionary(entries.into_iter().collect())
    }
}

macro_rules! ints_that_may_not_fit {
    ($($ty:ty),*) => {
        $(
            /// # Errors
            /// [`ErrorKind::OutOfRange`] if the number does not fit an int.
            impl TryFrom<$ty> for Value {
                type Error = Error;

                fn try_from(value: $ty) -> Result<Self> {
                    match i64::try_from(value) {
                        Ok(int) => Ok(Self::Int(int)),
                        Err(_) => Err(out_of_range(value, "int")),
                    }
                }
            }
        )*
    };
}

ints_that_may_not_fit!(u64, usize, isize, i128, u128);

#[cold]
fn out_of_range(value: impl ToString, ty: &'static str) -> Error {
    ErrorKind::OutOfRange { value: value.to_string(), expected: ty }.into()
}

#[cold]
fn unexpected(value: &Value, expected: &'static str) -> Error {
    ErrorKind::UnexpectedType { expected, found: value.ty() }.into()
}

/// Implements the conversion for a value and for a reference to one.
macro_rules! try_from_value {
    ($ty:ty, $read:expr) => {
        /// # Errors
        /// [`ErrorKind::UnexpectedType`], [`ErrorKind::OutOfRange`].
        impl TryFrom<&Value> for $ty {
            type Error = Error;

            fn try_from(value: &Value) -> Result<Self> {
                let read: fn(&Value) -> Result<Self> = $read;
                read(value)
            }
        }

        /// # Errors
        /// [`ErrorKind::UnexpectedType`], [`ErrorKind::OutOfRange`].
        impl TryFrom<Value> for $ty {
            type Error = Error;

            fn try_from(value: Value) -> Result<Self> {
                Self::try_from(&value)
            }
        }
    };
}

macro_rules! try_into_ints {
    ($($ty:ty),*) => {
        $(try_from_value!($ty, |value| {
            let int = value.as_i64().ok_or_else(|| unexpected(value, "int"))?;
            <$ty>::try_from(int).map_err(|_| out_of_range(int, stringify!($ty)))
        });)*
    };
}

try_into_ints!(i8, i16, i32, i64, isize, i128, u8, u16, u32, u64, usize, u128);
try_from_value!(bool, |value| value.as_bool().ok_or_else(|| unexpected(value, "bool")));
try_from_value!(f64, |value| match (value.as_f64(), value) {
    (Some(float), _) => Ok(float),
    (None, Value::Int(int)) => Err(out_of_range(int, "f64")),
    (None, _) => Err(unexpected(value, "float")),
});
try_from_value!(f32, |value| {
    let wide = f64::try_from(value)?;
    let narrow = wide as f32;
    if f64::from(narrow) == wide || wide.is_nan() { Ok(narrow) } else { Err(out_of_range(wide, "f32")) }
});

macro_rules! try_from_parts {
    ($($ty:ty, $borrowed:ty, $expected:literal, $pattern:pat => $found:expr;)*) => {
        $(
            /// # Errors
            /// [`ErrorKind::UnexpectedType`].
            impl TryFrom<Value> for $ty {
                type Error = Error;

                fn try_from(value: Value) -> Result<Self> {
                    match value {
                        $pattern => Ok($found),
                        other => Err(unexpected(&other, $expected)),
                    }
                }
            }

            /// # Errors
            /// [`ErrorKind::UnexpectedType`].
            impl<'a> TryFrom<&'a Value> for &'a $borrowed {
                type Error = Error;

                fn try_from(value: &'a Value) -> Result<Self> {
                    match value {
                        $pattern => Ok($found),
                        other => Err(unexpected(other, $expected)),
                    }
                }
            }
        )*
    };
}

try_from_parts! {
    String, str, "String", Value::String(text) | Value::StringName(text) => text;
    Vec<u8>, [u8], "PackedByteArray", Value::PackedByteArray(bytes) => bytes;
    Array, Array, "Array", Value::Array(array) => array;
    Dictionary, Dictionary, "Dictionary", Value::Dictionary(dictionary) => dictionary;
    NodePath, NodePath, "NodePath", Value::NodePath(path) => path;
    Object, Object, "Object", Value::Object(object) => object;
}

/// Parses a path as in scripts, such as `/root/Player:position:x`. Skips empty node names, as the engine does.
///
/// # Errors
/// [`ErrorKind::Argument`] if a property name is empty, except after one trailing colon.
impl FromStr for NodePath {
    type Err = Error;

    fn from_str(path: &str) -> Result<Self> {
        let (nodes, properties) = path.split_once(':').unwrap_or((path, ""));
        let absolute = path.starts_with('/');
        let names = nodes.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let mut subnames: Vec<String> = properties.split(':').map(str::to_owned).collect();
        subnames.pop_if(|last| last.is_empty());
        if subnames.iter().any(String::is_empty) {
            return Err(Error::argument(format!(
                "the NodePath {} names a property without a name",
                quoted(path)
            )));
        }
        Ok(Self { absolute, names, subnames })
    }
}

/// The path as written in scripts.
impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = if self.absolute { "/" } else { "" };
        write!(f, "{root}{}", self.names.join("/"))?;
        self.subnames.iter().try_for_each(|subname| write!(f, ":{subname}"))
    }
}
