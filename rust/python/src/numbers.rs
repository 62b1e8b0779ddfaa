//! Components as Python's numbers, and back.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use variant_codec::VariantType;
use variant_codec::format::{Lane, Shape};
use variant_codec::stream::{Lanes, Precision};

/// The component type of a mathematical type or packed array, and the number of components in a value or an element.
pub fn lane(ty: VariantType) -> (Lane, usize) {
    match ty.shape() {
        Shape::Fixed(lane, count) | Shape::Packed(lane, count) => (lane, count),
        _ => unreachable!("{ty} has no components"),
    }
}

/// The type code of a component, which Python's `struct` and NumPy share.
pub fn code(lane: Lane, precision: Precision) -> &'static str {
    match (lane, precision) {
        (Lane::Byte, _) => "B",
        (Lane::Int32, _) => "i",
        (Lane::Int64, _) => "q",
        (Lane::Float32, _) | (Lane::Real, Precision::Single) => "f",
        (Lane::Float64, _) | (Lane::Real, Precision::Double) => "d",
    }
}

/// The components as Python's numbers.
pub fn to_python<'py>(py: Python<'py>, lane: Lane, lanes: Lanes<'_>) -> Vec<Bound<'py, PyAny>> {
    let int = |int: i64| PyInt::new(py, int).into_any();
    let float = |float: f64| PyFloat::new(py, float).into_any();
    match code(lane, lanes.precision) {
        "B" => lanes.le.iter().map(|byte| int((*byte).into())).collect(),
        "i" => lanes.i32s().map(|number| int(number.into())).collect(),
        "q" => lanes.i64s().map(int).collect(),
        "f" => lanes.f32s().map(|number| float(number.into())).collect(),
        _ => lanes.f64s().map(float).collect(),
    }
}

/// The components as text in the form of Python's numbers, as short as their width allows.
pub fn to_text(lane: Lane, lanes: Lanes<'_>) -> Vec<String> {
    fn float<T: Into<f64> + std::fmt::Debug + Copy>(number: T) -> String {
        let wide: f64 = number.into();
        match wide.is_finite() {
            true => format!("{number:?}"),
            false => format!("float('{}')", format!("{wide}").to_lowercase()),
        }
    }
    match code(lane, lanes.precision) {
        "B" => lanes.le.iter().map(u8::to_string).collect(),
        "i" => lanes.i32s().map(|number| number.to_string()).collect(),
        "q" => lanes.i64s().map(|number| number.to_string()).collect(),
        "f" => lanes.f32s().map(float).collect(),
        _ => lanes.f64s().map(float).collect(),
    }
}

/// Appends the components of `values`: numbers, or iterables of numbers.
pub fn put_all(
    le: &mut Vec<u8>,
    lane: Lane,
    precision: Precision,
    values: &Bound<'_, PyAny>,
) -> PyResult<()> {
    for value in values.try_iter()? {
        let value = value?;
        match put(le, lane, precision, &value) {
            Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => match value.try_iter() {
                Ok(inner) => inner.into_iter().try_for_each(|number| put(le, lane, precision, &number?))?,
                Err(_) => return Err(error),
            },
            written => written?,
        }
    }
    Ok(())
}

fn put(le: &mut Vec<u8>, lane: Lane, precision: Precision, number: &Bound<'_, PyAny>) -> PyResult<()> {
    match code(lane, precision) {
        "B" => le.push(number.extract()?),
        "i" => le.extend(number.extract::<i32>()?.to_le_bytes()),
        "q" => le.extend(number.extract::<i64>()?.to_le_bytes()),
        "f" => le.extend((number.extract::<f64>()? as f32).to_le_bytes()),
        _ => le.extend(number.extract::<f64>()?.to_le_bytes()),
    }
    Ok(())
}

/// The precision of components that Python makes.
pub fn precision(ty: VariantType, double: bool) -> PyResult<Precision> {
    match double {
        false => Ok(Precision::Single),
        true if ty.is_real() => Ok(Precision::Double),
        true => Err(PyValueError::new_err(format!("{ty} has one precision only"))),
    }
}
