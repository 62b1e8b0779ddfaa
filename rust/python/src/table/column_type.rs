//! [`ColumnType`]: the type of a column, in the forms of Arrow and of Python.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use variant_codec::VariantType;
use variant_codec::format::{Lane, Shape};
use variant_codec::stream::Precision;

use crate::numbers::lane;

/// The type of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnType {
    /// Only nulls so far.
    Unknown,
    Bool,
    /// Whether an int is beyond 2⁵³, from where floats are not exact.
    Int {
        is_wide: bool,
    },
    Float,
    /// String, StringName, NodePath, or a Signal's name.
    Text(VariantType),
    Bytes,
    /// An RID or the id of an object.
    Id(VariantType),
    /// A value of components.
    Vector(VariantType, Precision),
    /// A packed array of numbers or vectors.
    Packed(VariantType, Precision),
    List(Box<ColumnType>),
    /// Dictionaries with text as keys, or objects. Without fields, their keys are not known yet.
    Struct(StructType),
    /// Dictionaries with other keys.
    Map(Box<[ColumnType; 2]>),
    /// Any value as JSON.
    Json,
}

/// The keys of Dictionaries, in the order of their first appearance, with the types of their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StructType {
    pub fields: Vec<(Arc<str>, ColumnType)>,
    /// Whether other keys are ignored.
    pub is_closed: bool,
}

/// The maximum number of levels in a table. pyarrow reads up to 64 levels of Arrow's, and a list of Dictionaries is two.
pub const LEVELS: u32 = 30;
/// The largest int from which all smaller ones are floats, too.
pub const EXACT: u64 = 1 << 53;

impl ColumnType {
    /// The type that holds the values of both. Types that do not unify give JSON, or `None` without `json`.
    pub fn merged(self, other: Self, json: bool) -> Option<Self> {
        use ColumnType::{Float, Int, Json, List, Map, Packed, Struct, Text, Unknown, Vector};
        let exact = Int { is_wide: false };
        Some(match (self, other) {
            (Unknown, ty) | (ty, Unknown) => ty,
            (Json, _) | (_, Json) => Json,
            (Int { is_wide }, Int { is_wide: other }) => Int { is_wide: is_wide || other },
            (Float, int) | (int, Float) if int == exact => Float,
            (Text(ty), Text(other)) => Text(if ty == other { ty } else { VariantType::String }),
            (Vector(ty, precision), Vector(other, wider)) if ty == other => {
                Vector(ty, widest(precision, wider))
            }
            (Packed(ty, precision), Packed(other, wider)) if ty == other => {
                Packed(ty, widest(precision, wider))
            }
            (List(element), List(other)) => List(Box::new(element.merged(*other, json)?)),
            (Struct(empty), map @ Map(_)) | (map @ Map(_), Struct(empty)) if empty.fields.is_empty() => map,
            (Struct(fields), Struct(other)) => Struct(fields.merged(other, json)?),
            (Map(entry), Map(other)) => {
                let ([key, value], [other_key, other_value]) = (*entry, *other);
                match key.merged(other_key, false) {
                    Some(key) => Map(Box::new([key, value.merged(other_value, json)?])),
                    None if json => Json,
                    None => return None,
                }
            }
            (ty, other) if ty == other => ty,
            _ if json => Json,
            _ => return None,
        })
    }

    /// Whether a part of it is JSON.
    pub fn has_json(&self) -> bool {
        match self {
            Self::Json => true,
            Self::List(element) => element.has_json(),
            Self::Struct(of) => of.fields.iter().any(|(_, ty)| ty.has_json()),
            Self::Map(entry) => entry.iter().any(Self::has_json),
            _ => false,
        }
    }

    /// The number of arrays that hold a value.
    pub fn width(&self) -> u64 {
        match self {
            Self::List(element) => 1 + element.width(),
            Self::Struct(of) => 1 + of.fields.iter().map(|(_, ty)| ty.width()).sum::<u64>(),
            Self::Map(entry) => 1 + entry.iter().map(Self::width).sum::<u64>(),
            Self::Vector(ty, _) => lane(*ty).1 as u64,
            _ => 1,
        }
    }

    /// The type for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Unknown => "Nil".into(),
            Self::Bool => "bool".into(),
            Self::Int { is_wide: false } => "int".into(),
            Self::Int { is_wide: true } => "int beyond 2^53".into(),
            Self::Float => "float".into(),
            Self::Text(ty) | Self::Id(ty) | Self::Vector(ty, _) | Self::Packed(ty, _) => ty.name().into(),
            Self::Bytes => "PackedByteArray".into(),
            Self::List(_) => "Array".into(),
            Self::Struct(_) => "Dictionary with text as keys".into(),
            Self::Map(_) => "Dictionary with other keys than text".into(),
            Self::Json => "JSON".into(),
        }
    }
}

pub fn widest(one: Precision, other: Precision) -> Precision {
    if one == Precision::Double { one } else { other }
}

impl StructType {
    fn merged(mut self, other: Self, json: bool) -> Option<Self> {
        let places: HashMap<_, _> =
            self.fields.iter().zip(0..).map(|((name, _), at)| (name.clone(), at)).collect();
        for (name, ty) in other.fields {
            match places.get(&name) {
                Some(&at) => {
                    let slot: &mut (_, ColumnType) = &mut self.fields[at];
                    slot.1 = std::mem::replace(&mut slot.1, ColumnType::Unknown).merged(ty, json)?;
                }
                None => self.fields.push((name, ty)),
            }
        }
        self.is_closed |= other.is_closed;
        Some(self)
    }
}

/// The type in Arrow.
impl ColumnType {
    /// A field of this type. Its metadata names the type in Godot, unless Arrow's type says it.
    pub fn field(&self, name: &str) -> Field {
        let field = Field::new(name, self.data_type(), true);
        match self {
            Self::Text(VariantType::String) => field,
            Self::Text(ty) | Self::Id(ty) | Self::Vector(ty, _) | Self::Packed(ty, _) => {
                field.with_metadata(HashMap::from([("godot_type".into(), ty.name().into())]))
            }
            _ => field,
        }
    }

    pub fn data_type(&self) -> DataType {
        match self {
            Self::Unknown => DataType::Null,
            Self::Bool => DataType::Boolean,
            Self::Int { .. } => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Text(_) | Self::Json => DataType::Utf8,
            Self::Bytes => DataType::Binary,
            Self::Id(_) => DataType::UInt64,
            Self::Vector(ty, precision) => components(*ty, *precision),
            Self::Packed(ty, precision) => DataType::List(item(components(*ty, *precision))),
            Self::List(element) => DataType::List(Arc::new(element.field("item"))),
            Self::Struct(of) if of.fields.is_empty() => {
                Self::Map(Box::new([Self::Text(VariantType::String), Self::Unknown])).data_type()
            }
            Self::Struct(of) => DataType::Struct(of.arrow_fields()),
            Self::Map(entry) => {
                let [key, value] = &**entry;
                let key = match key {
                    Self::Unknown => &Self::Text(VariantType::String),
                    key => key,
                };
                let entry = [key.field("key").with_nullable(false), value.field("value")];
                let entries = Field::new("entries", DataType::Struct(Fields::from(entry.to_vec())), false);
                DataType::Map(Arc::new(entries), false)
            }
        }
    }
}

impl StructType {
    pub fn arrow_fields(&self) -> Fields {
        self.fields.iter().map(|(name, ty)| ty.field(name)).collect()
    }
}

/// The field of components and elements.
pub fn item(ty: DataType) -> FieldRef {
    Arc::new(Field::new("item", ty, true))
}

/// Arrow's type of a value with components, or of the elements of a packed array.
fn components(ty: VariantType, precision: Precision) -> DataType {
    match lane(ty) {
        (lane, 1) => number(lane, precision),
        (lane, count) => DataType::FixedSizeList(item(number(lane, precision)), count as i32),
    }
}

pub fn number(lane: Lane, precision: Precision) -> DataType {
    match (lane, precision) {
        (Lane::Byte, _) => DataType::UInt8,
        (Lane::Int32, _) => DataType::Int32,
        (Lane::Int64, _) => DataType::Int64,
        (Lane::Float32, _) | (Lane::Real, Precision::Single) => DataType::Float32,
        (Lane::Float64, _) | (Lane::Real, Precision::Double) => DataType::Float64,
    }
}

/// The type in Python: a class, `list[…]`, `dict[…, …]`, a dict of fields, `Any` for JSON, or None if it is not known.
impl ColumnType {
    pub fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let class = |name: &str| py.import("godot_variant")?.getattr(name);
        let alias = |class: Bound<'py, PyAny>, of: Bound<'py, PyAny>| class.get_item(of);
        match self {
            Self::Unknown => Ok(py.None().into_bound(py)),
            Self::Bool => Ok(py.get_type::<PyBool>().into_any()),
            Self::Int { .. } => Ok(py.get_type::<PyInt>().into_any()),
            Self::Float => Ok(py.get_type::<PyFloat>().into_any()),
            Self::Text(VariantType::String) => Ok(py.get_type::<PyString>().into_any()),
            Self::Bytes => Ok(py.get_type::<PyBytes>().into_any()),
            Self::Id(VariantType::Object) => class("ObjectId"),
            Self::Text(ty) | Self::Id(ty) | Self::Vector(ty, _) | Self::Packed(ty, _) => class(ty.name()),
            Self::List(element) => alias(py.get_type::<PyList>().into_any(), element.to_python(py)?),
            Self::Struct(of) => {
                let dict = PyDict::new(py);
                of.fields.iter().try_for_each(|(name, ty)| dict.set_item(&**name, ty.to_python(py)?))?;
                Ok(dict.into_any())
            }
            Self::Map(entry) => {
                let entry = [entry[0].to_python(py)?, entry[1].to_python(py)?];
                alias(py.get_type::<PyDict>().into_any(), PyTuple::new(py, entry)?.into_any())
            }
            Self::Json => py.import("typing")?.getattr("Any"),
        }
    }

    pub fn from_python(form: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::from_form(form, LEVELS)
    }

    fn from_form(form: &Bound<'_, PyAny>, levels: u32) -> PyResult<Self> {
        let py = form.py();
        if form.is_none() {
            return Ok(Self::Unknown);
        }
        let too_deep = || PyTypeError::new_err(format!("a type of more than {LEVELS} levels"));
        let inner = levels.checked_sub(1).ok_or_else(too_deep)?;
        if let Ok(fields) = form.cast::<PyDict>() {
            let field = |(name, form): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                Ok((Arc::from(name.extract::<&str>()?), Self::from_form(&form, inner)?))
            };
            let fields = fields.iter().map(field).collect::<PyResult<Vec<_>>>()?;
            // `{}` stands for Dictionaries that were all empty, whose keys are not known.
            let is_closed = !fields.is_empty();
            return Ok(Self::Struct(StructType { fields, is_closed }));
        }
        let typing = py.import("typing")?;
        let origin = typing.call_method1("get_origin", (form,))?;
        let parts = typing.call_method1("get_args", (form,))?.cast_into::<PyTuple>()?;
        let part = |index| match parts.get_item(index) {
            Ok(form) => Self::from_form(&form, inner),
            Err(_) => Ok(Self::Unknown),
        };
        let class = if origin.is_none() { form } else { &origin };
        if class.is(py.get_type::<PyList>()) {
            return Ok(Self::List(Box::new(part(0)?)));
        }
        if class.is(py.get_type::<PyDict>()) {
            return Ok(Self::Map(Box::new([part(0)?, part(1)?])));
        }
        for ty in Self::plain() {
            if ty.to_python(py)?.is(form) {
                return Ok(ty);
            }
        }
        let package = py.import("godot_variant")?;
        if form.is(package.getattr("PackedStringArray")?) {
            return Ok(Self::List(Box::new(Self::Text(VariantType::String))));
        }
        if form.is(package.getattr("PackedByteArray")?) {
            return Ok(Self::Bytes);
        }
        let expected = "expected None, a dict of fields, list[…], dict[…, …], Any, or a class of values";
        Err(PyTypeError::new_err(format!("{} as the type of a column: {expected}", form.repr()?)))
    }

    /// All types without parts.
    fn plain() -> impl Iterator<Item = Self> {
        let simple = [Self::Bool, Self::Int { is_wide: false }, Self::Float, Self::Bytes, Self::Json];
        let ids =
            [Self::Id(VariantType::Rid), Self::Id(VariantType::Object), Self::Text(VariantType::Signal)];
        let others = VariantType::ALL.iter().filter_map(|ty| match ty.shape() {
            Shape::Text | Shape::NodePath => Some(Self::Text(*ty)),
            Shape::Fixed(..) => Some(Self::Vector(*ty, Precision::Single)),
            Shape::Packed(Lane::Byte, _) => None,
            Shape::Packed(..) => Some(Self::Packed(*ty, Precision::Single)),
            _ => None,
        });
        simple.into_iter().chain(ids).chain(others)
    }
}
