//! Forms: the notation for values in formats that have no type for them.

use std::borrow::Cow;

use crate::error::{Error, ErrorKind, Result, Step, quoted};
use crate::events::Sink as _;
use crate::format::{Lane, Shape, VariantType};
use crate::lanes::{Lanes, Precision, widen};
use crate::tag;
use crate::value::builder::ValueBuilder;
use crate::value::{Array, Components, Dictionary, NodePath, Object, OwnedElementType, Value};

/// The name of the enum whose variants are the forms. This crate's own serializer and deserializer recognise
/// values by this name.
pub(super) const NAME: &str = concat!("$variant_codec::Value ", env!("CARGO_PKG_VERSION"));

/// The key of 64-bit components.
const WIDE: &str = "f64";

/// Non-finite floats, as text.
const INF: &str = "inf";
const NEG_INF: &str = "-inf";
const NAN: &str = "nan";
/// The NaN that the engine produces.
const QUIET_NAN: u64 = 0x7FF8 << 48;

/// Returns the content of a value's form.
pub(super) fn content(value: Value) -> Value {
    match value {
        Value::Float(float) if !float.is_finite() => float_text(float).into(),
        Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_) => value,
        Value::StringName(text) => text.into(),
        Value::NodePath(NodePath { absolute, names, subnames }) => Value::from_iter([
            ("absolute", absolute.into()),
            ("names", names.into()),
            ("subnames", Value::from(subnames)),
        ]),
        Value::Rid(id) | Value::Object(Object::Id(id)) => Value::Int(id as i64),
        Value::Callable | Value::Object(Object::Null) => Value::Nil,
        Value::Object(Object::Full { class, properties }) => {
            let properties: Value =
                properties.into_iter().map(|(name, value)| Value::from_iter([name.into(), value])).collect();
            Value::from_iter([("class", class.into()), ("properties", properties)])
        }
        Value::Signal { name, object } => {
            Value::from_iter([("name", name.into()), ("object", Value::Int(object as i64))])
        }
        Value::Array(Array { element, values }) => {
            Value::from_iter([("element", element_form(element)), ("values", values.into())])
        }
        Value::Dictionary(Dictionary { key, value, entries }) => {
            let entries: Value =
                entries.into_iter().map(|(key, value)| Value::from_iter([key, value])).collect();
            Value::from_iter([
                ("key", element_form(key)),
                ("value", element_form(value)),
                ("entries", entries),
            ])
        }
        Value::PackedStringArray(texts) => texts.into(),
        _ => components(&value),
    }
}

/// The components of a value. An element of several components becomes an Array.
fn components(value: &Value) -> Value {
    let (numbers, is_wide): (Vec<Value>, bool) = match value.components() {
        None => return Value::Nil,
        Some(Components::U8(bytes)) => (bytes.iter().map(|byte| Value::from(*byte)).collect(), false),
        Some(Components::I32(ints)) => (ints.iter().map(|int| Value::from(*int)).collect(), false),
        Some(Components::I64(ints)) => (ints.iter().map(|int| Value::from(*int)).collect(), false),
        Some(Components::F32(floats)) => {
            (floats.iter().map(|float| Value::Float(shortest(*float))).collect(), false)
        }
        Some(Components::F64(floats)) => {
            (floats.iter().map(|float| Value::Float(*float)).collect(), value.ty().is_real())
        }
    };
    let list = match value.ty().shape() {
        Shape::Packed(_, per_element @ 2..) => {
            numbers.chunks(per_element).map(|element| element.iter().cloned().collect::<Value>()).collect()
        }
        _ => Value::from(numbers),
    };
    if is_wide { Value::from_iter([(WIDE, list)]) } else { list }
}

/// The number with the shortest text that is read as this one, such as 0.1 for the nearest 32-bit float.
fn shortest(float: f32) -> f64 {
    let short = float.to_string().parse().unwrap_or(f64::NAN);
    if (short as f32).to_bits() == float.to_bits() { short } else { widen(float) }
}

/// Reads the value of the form with this name.
///
/// # Errors
/// Fails if the payload is not the content of that form.
pub(super) fn named(name: &str, payload: Value) -> Result<Value> {
    match form_named(name) {
        Some(ty) => read(ty, payload),
        None => Err(message(format!("there is no form {name}"))),
    }
}

/// Reads the value of the form with this name from a program's serialized field. Nil is a missing value. The
/// function also accepts a value of the type itself, and components as the fields of a struct, in order.
///
/// # Errors
/// Fails if the payload is not the content of that form.
pub(super) fn of_field(name: &str, payload: Value) -> Result<Value> {
    match form_named(name) {
        Some(ty) if payload.is_nil() && !matches!(ty, VariantType::Callable | VariantType::Object) => {
            Ok(payload)
        }
        Some(ty) if matches!(ty.shape(), Shape::Fixed(..) | Shape::Packed(..)) => {
            read(ty, positional(payload))
        }
        _ => named(name, payload),
    }
}

/// Reads a field of type `ty` from another format: from a form, or from the bare content of one. Leaves other
/// maps to the field's Rust type, which knows their keys.
///
/// # Errors
/// Fails if the value is neither a form nor the content of one.
pub(super) fn of_plain(ty: VariantType, value: Value) -> Result<Value> {
    match value {
        Value::Nil | Value::Dictionary(_) => Ok(value),
        value if value.ty() == ty => Ok(value),
        Value::Array(_) if ty.is_real() && !fits_singles(&value)? => {
            read(ty, Value::from_iter([(WIDE, value)]))
        }
        Value::Array(_) | Value::String(_) => read(ty, value),
        other => Err(ErrorKind::UnexpectedType { expected: ty.name(), found: other.ty() }.into()),
    }
}

/// The type whose form has this name. Nil, bool, int and String need no form, because every format has
/// them; a float needs one only if it is not finite.
pub(super) fn form_named(name: &str) -> Option<VariantType> {
    use VariantType as T;
    type_named(name).filter(|ty| !matches!(ty, T::Nil | T::Bool | T::Int | T::String))
}

/// Replaces structs with Arrays of their fields, in order.
fn positional(value: Value) -> Value {
    match value {
        Value::Dictionary(dictionary) => dictionary.into_iter().map(|(_, value)| positional(value)).collect(),
        Value::Array(array) => array.into_iter().map(positional).collect(),
        other => other,
    }
}

/// Whether 32-bit floats represent these numbers exactly.
fn fits_singles(payload: &Value) -> Result<bool> {
    Ok(all::<f64>(payload)?.into_iter().all(|wide| wide.is_nan() || f64::from(wide as f32) == wide))
}

/// The text of a non-finite float, which JSON cannot write as a number.
fn float_text(float: f64) -> String {
    match float {
        f64::INFINITY => INF.to_owned(),
        f64::NEG_INFINITY => NEG_INF.to_owned(),
        nan if nan.to_bits() == QUIET_NAN => NAN.to_owned(),
        nan => format!("{NAN}:{:016x}", nan.to_bits()),
    }
}

fn float_of_text(text: &str) -> Result<f64> {
    let bits = |hex| u64::from_str_radix(hex, 16).ok().map(f64::from_bits).filter(|float| float.is_nan());
    match text {
        INF => Some(f64::INFINITY),
        NEG_INF => Some(f64::NEG_INFINITY),
        NAN => Some(f64::from_bits(QUIET_NAN)),
        _ => text.strip_prefix(NAN).and_then(|rest| rest.strip_prefix(':')).and_then(bits),
    }
    .ok_or_else(|| message(format!("expected inf, -inf, nan or nan:<bits>, found {}", quoted(text))))
}

/// Rounds to the nearest 32-bit float, as the engine does. A NaN gets back the bits that it had before [`widen`].
fn narrow(float: f64) -> f32 {
    let bits = float.to_bits();
    let narrow = ((bits >> 63) as u32) << 31 | 0xFF << 23 | ((bits >> 29) as u32 & 0x7F_FFFF);
    let narrow = f32::from_bits(narrow);
    if float.is_nan() && narrow.is_nan() { narrow } else { float as f32 }
}

/// The bytes of a 32-bit float. Fails if a finite number would become infinite.
fn fitting(float: f64) -> Result<[u8; 4]> {
    let narrow = narrow(float);
    if float.is_finite() && narrow.is_infinite() {
        return Err(message(format!("{float:e} does not fit in a component of 32 bits")));
    }
    Ok(narrow.to_le_bytes())
}

fn type_named(name: &str) -> Option<VariantType> {
    VariantType::ALL.into_iter().find(|ty| ty.name() == name)
}

pub(super) fn is_untyped(dictionary: &Dictionary) -> bool {
    dictionary.key == OwnedElementType::Untyped && dictionary.value == OwnedElementType::Untyped
}

/// Whether a Dictionary can be written as a map that does not look like a form.
pub(super) fn is_plain(dictionary: &Dictionary) -> bool {
    let is_text = |(key, _): &(Value, Value)| matches!(key, Value::String(_));
    let fits = match dictionary.entries.as_slice() {
        [] => true,
        [_] => first_map_key(dictionary).is_some_and(|first| form_named(&first).is_none()),
        [_, others @ ..] => first_map_key(dictionary).is_some() && others.iter().all(is_text),
    };
    is_untyped(dictionary) && fits
}

/// The first key of a Dictionary as the first key of a map: see [`tag::to_map_key`].
pub(super) fn first_map_key(dictionary: &Dictionary) -> Option<Cow<'_, str>> {
    let (first, _) = dictionary.entries.first()?;
    tag::to_map_key(first.as_str()?, matches!(first, Value::StringName(_)))
}

/// The first key of a map.
pub(super) fn of_first_map_key(text: String) -> Value {
    match tag::of_map_key(&text) {
        (name, true) => Value::StringName(name.to_owned()),
        (name, false) => name.into(),
    }
}

fn element_form(element: OwnedElementType) -> Value {
    match element {
        OwnedElementType::Untyped => Value::Nil,
        OwnedElementType::Builtin(ty) => Value::from_iter([("builtin", ty.name())]),
        OwnedElementType::Class(name) => Value::from_iter([("class", name)]),
        OwnedElementType::Script(path) => Value::from_iter([("script", path)]),
    }
}

/// Reads a value of type `ty` from the content of its form.
///
/// # Errors
/// Fails if the payload is not the content of that form.
pub(super) fn read(ty: VariantType, payload: Value) -> Result<Value> {
    use VariantType as T;

    if payload.ty() == ty && !matches!(ty, T::Dictionary | T::Float) {
        return Ok(payload);
    }
    Ok(match ty {
        T::Float => Value::Float(float_of_text(<&str>::try_from(&payload)?)?),
        T::Nil | T::Bool | T::Int | T::String => {
            return Err(ErrorKind::UnexpectedType { expected: ty.name(), found: payload.ty() }.into());
        }
        T::StringName => Value::StringName(payload.try_into()?),
        T::NodePath => Value::NodePath(node_path(payload)?),
        T::Rid => Value::Rid(id(&payload)?),
        T::Object => Value::Object(object(payload)?),
        T::Callable if payload.is_nil() => Value::Callable,
        T::Callable => return Err(message(format!("a Callable has no content, found {}", payload.ty()))),
        T::Signal => {
            only(&["name", "object"], &payload)?;
            Value::Signal { name: text(&payload, "name")?, object: id(field(&payload, "object")?)? }
        }
        T::Dictionary => Value::Dictionary(dictionary(payload)?),
        T::Array => Value::Array(array(payload)?),
        T::PackedStringArray => {
            let texts = Array::try_from(payload)?.into_iter().enumerate();
            let text = |(index, text): (usize, Value)| {
                text.try_into().map_err(|error: Error| error.inside(Step::Index(index)))
            };
            Value::PackedStringArray(texts.map(text).collect::<Result<_>>()?)
        }
        _ => of_components(ty, &payload)?,
    })
}

/// Builds a mathematical value or packed array from these numbers.
fn of_components(ty: VariantType, payload: &Value) -> Result<Value> {
    let (Shape::Fixed(lane, count) | Shape::Packed(lane, count)) = ty.shape() else {
        return Err(ErrorKind::UnexpectedType { expected: ty.name(), found: payload.ty() }.into());
    };
    let wide = wide(payload).filter(|_| lane == Lane::Real);
    let precision = if wide.is_some() { Precision::Double } else { Precision::Single };
    let le: Vec<u8> = match (lane, wide) {
        (Lane::Byte, _) => all(payload)?,
        (Lane::Int32, _) => all(payload)?.into_iter().flat_map(i32::to_le_bytes).collect(),
        (Lane::Int64, _) => all(payload)?.into_iter().flat_map(i64::to_le_bytes).collect(),
        (Lane::Float64, _) => all(payload)?.into_iter().flat_map(f64::to_le_bytes).collect(),
        (_, Some(wide)) => all(wide)?.into_iter().flat_map(f64::to_le_bytes).collect(),
        (_, None) => all(payload)?.into_iter().map(fitting).collect::<Result<Vec<_>>>()?.into_flattened(),
    };
    let found = le.len() / lane.width(wide.is_some());
    let mut builder = ValueBuilder::default();
    let lanes = Lanes { precision, le: &le };
    if let Shape::Fixed(..) = ty.shape() {
        if found != count {
            return Err(message(format!("expected {count} numbers, found {found}")));
        }
        builder.fixed(ty, lanes)?;
    } else {
        if !found.is_multiple_of(count) {
            return Err(message(format!("{found} numbers are no elements of {count} each")));
        }
        builder.packed(ty, lanes)?;
    }
    Ok(builder.into_value())
}

/// Passes all numbers of an Array to `take`, in order, including those of nested Arrays.
fn numbers<'v>(value: &'v Value, take: &mut impl FnMut(&'v Value) -> Result<()>) -> Result<()> {
    match value {
        Value::Array(array) => array.iter().enumerate().try_for_each(|(index, value)| {
            numbers(value, take).map_err(|error| error.inside(Step::Index(index)))
        }),
        number => take(number),
    }
}

fn all<'v, T: TryFrom<&'v Value, Error = Error>>(payload: &'v Value) -> Result<Vec<T>> {
    if !matches!(payload, Value::Array(_)) {
        return Err(ErrorKind::UnexpectedType { expected: "Array", found: payload.ty() }.into());
    }
    let mut found = Vec::new();
    numbers(payload, &mut |number| {
        found.push(T::try_from(number)?);
        Ok(())
    })?;
    Ok(found)
}

/// The 64-bit components, if the form marks them as such.
fn wide(payload: &Value) -> Option<&Value> {
    match payload.as_dictionary()?.entries.as_slice() {
        [(key, wide)] if key.as_str() == Some(WIDE) => Some(wide),
        _ => None,
    }
}

fn id(payload: &Value) -> Result<u64> {
    i64::try_from(payload).map(|bits| bits as u64)
}

/// Fails if the content of a form has other fields than these, or one of them twice.
fn only(fields: &[&str], payload: &Value) -> Result<()> {
    let mut left = fields.to_vec();
    for (key, _) in payload.as_dictionary().into_iter().flatten() {
        let name = key.as_str().unwrap_or_default();
        match left.iter().position(|field| *field == name) {
            Some(index) => drop(left.swap_remove(index)),
            None if fields.contains(&name) => return Err(message(format!("{name} is given twice"))),
            None => {
                let expected = fields.join(", ");
                return Err(message(format!("unknown field {}; expected {expected}", quoted(name))));
            }
        }
    }
    Ok(())
}

fn field<'v>(payload: &'v Value, name: &str) -> Result<&'v Value> {
    payload.get(name).ok_or_else(|| message(format!("{name} is missing")))
}

/// Moves the Array out, so that deep forms are not copied at each level.
fn take_array(payload: &mut Value, name: &str) -> Result<Array> {
    let field = payload.get_mut(name).ok_or_else(|| message(format!("{name} is missing")))?;
    std::mem::take(field).try_into().map_err(|error: Error| error.inside(Step::text_key(name)))
}

fn text(payload: &Value, name: &str) -> Result<String> {
    field(payload, name)?.clone().try_into().map_err(|error: Error| error.inside(Step::text_key(name)))
}

fn texts(payload: &Value, name: &str) -> Result<Vec<String>> {
    match read(VariantType::PackedStringArray, field(payload, name)?.clone()) {
        Ok(Value::PackedStringArray(texts)) => Ok(texts),
        Ok(other) => Err(ErrorKind::UnexpectedType { expected: "Array", found: other.ty() }.into()),
        Err(error) => Err(error.inside(Step::text_key(name))),
    }
}

/// Reads a NodePath from the content of its form, or from text as in scripts.
fn node_path(payload: Value) -> Result<NodePath> {
    if let Value::String(path) = &payload {
        return path.parse();
    }
    only(&["absolute", "names", "subnames"], &payload)?;
    Ok(NodePath {
        absolute: field(&payload, "absolute")?.try_into()?,
        names: texts(&payload, "names")?,
        subnames: texts(&payload, "subnames")?,
    })
}

fn object(payload: Value) -> Result<Object> {
    match payload {
        Value::Nil => Ok(Object::Null),
        Value::Int(bits) => Ok(Object::Id(bits as u64)),
        mut full => {
            only(&["class", "properties"], &full)?;
            let pairs = take_array(&mut full, "properties")?;
            let properties = pairs.into_iter().map(pair).map(|pair| {
                let (name, value) = pair?;
                Ok((name.try_into()?, value))
            });
            Ok(Object::Full { class: text(&full, "class")?, properties: properties.collect::<Result<_>>()? })
        }
    }
}

fn pair(value: Value) -> Result<(Value, Value)> {
    let pair: [Value; 2] = Array::try_from(value)?
        .values
        .try_into()
        .map_err(|found: Vec<Value>| message(format!("expected a pair, found {} values", found.len())))?;
    Ok(pair.into())
}

fn element(payload: &Value, name: &str) -> Result<OwnedElementType> {
    let form = field(payload, name)?;
    if form.is_nil() {
        return Ok(OwnedElementType::Untyped);
    }
    let entry = match form.as_dictionary().map(|form| form.entries.as_slice()) {
        Some([(kind, name)]) => kind.as_str().zip(name.as_str()),
        _ => None,
    };
    match entry {
        Some(("class", name)) => Some(OwnedElementType::Class(name.to_owned())),
        Some(("script", path)) => Some(OwnedElementType::Script(path.to_owned())),
        Some(("builtin", name)) => type_named(name).map(OwnedElementType::Builtin),
        _ => None,
    }
    .ok_or_else(|| {
        let expected = "null, or an object with one of builtin, class and script";
        message(format!("invalid {name}; expected {expected}"))
    })
}

fn array(mut payload: Value) -> Result<Array> {
    only(&["element", "values"], &payload)?;
    let element = element(&payload, "element")?;
    Ok(Array { element, values: take_array(&mut payload, "values")?.values })
}

fn dictionary(mut payload: Value) -> Result<Dictionary> {
    only(&["key", "value", "entries"], &payload)?;
    let (key, value) = (element(&payload, "key")?, element(&payload, "value")?);
    let entries = take_array(&mut payload, "entries")?;
    Ok(Dictionary { key, value, entries: entries.into_iter().map(pair).collect::<Result<_>>()? })
}

fn message(text: String) -> Error {
    ErrorKind::Message(text.into()).into()
}
