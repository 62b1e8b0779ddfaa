//! Columns: one field of all entities as a packed array.

use std::sync::Arc;

use godot::builtin::{
    AnyArray, AnyDictionary, PackedByteArray, PackedFloat32Array, PackedFloat64Array, PackedInt32Array,
    PackedInt64Array, PackedVector2Array, PackedVector3Array, PackedVector4Array, VarArray, VarDictionary,
    Variant, Vector2, Vector3, Vector4, real,
};
use godot::meta::ToGodot;
use variant_codec::error::Step;
use variant_codec::{Error, Result, VariantType};
use variant_engine::Reader;
use variant_snapshot::{Frame, Kind, Value};

use super::{Fields, Reading, entity_id, name_of, no_id};

impl Fields {
    /// The frame of entities: their ids, and for each field a packed array or an Array with a value for each id.
    ///
    /// # Errors
    /// Fails if an id is there twice or not from 0 to 4,294,967,294, or a column is missing or does not fit.
    pub fn frame_of_columns(&self, ids: &PackedInt64Array, columns: &AnyDictionary) -> Result<Arc<Frame>> {
        let mut order: Vec<(u32, usize)> = Vec::with_capacity(ids.len());
        for (at, id) in ids.as_slice().iter().enumerate() {
            order.push((entity_id(*id).ok_or_else(|| no_id(id))?, at));
        }
        order.sort_unstable();
        let ids = order.iter().map(|(id, _)| *id).collect();
        let mut frame = Frame::of(&self.schema, ids).map_err(Error::other)?;
        for (field, key) in self.keys.iter().enumerate() {
            let column = columns.get(key).ok_or_else(|| self.missing(field))?;
            self.fill(&mut frame, field, &order, &column)?;
        }
        Ok(self.shared(frame))
    }

    /// Fills a field of all entities.
    fn fill(&self, frame: &mut Frame, field: usize, order: &[(u32, usize)], column: &Variant) -> Result<()> {
        use VariantType as T;
        let kind = self.schema.fields()[field].kind();
        let count = |found: usize| {
            let reason = || format!("expected {} values, as there are ids, found {found}", order.len());
            if found == order.len() {
                Ok(())
            } else {
                Err(Error::argument(reason()).inside(self.step(field)))
            }
        };
        macro_rules! packed {
            ($Array:ty, $value:expr) => {{
                let array: $Array = column.to();
                let values = array.as_slice();
                count(values.len())?;
                for (index, (id, at)) in order.iter().enumerate() {
                    let set = frame.set(&self.schema, index, field, $value(values[*at]));
                    set.map_err(|error| {
                        Error::other(error).inside(self.step(field)).inside(Step::Index(*id as usize))
                    })?;
                }
            }};
        }
        match (kind, Reader::new().ty(column)) {
            (Kind::Bool, Some(T::PackedByteArray)) => {
                packed!(PackedByteArray, |flag: u8| Value::Bool(flag != 0))
            }
            (Kind::Int { .. }, Some(T::PackedByteArray)) => {
                packed!(PackedByteArray, |int: u8| Value::Int(int.into()));
            }
            (Kind::Int { .. }, Some(T::PackedInt32Array)) => {
                packed!(PackedInt32Array, |int: i32| Value::Int(int.into()));
            }
            (Kind::Int { .. }, Some(T::PackedInt64Array)) => packed!(PackedInt64Array, Value::Int),
            (Kind::Float(_) | Kind::Angle { .. }, Some(T::PackedFloat32Array)) => {
                packed!(PackedFloat32Array, |float: f32| Value::Float(float.into()));
            }
            (Kind::Float(_) | Kind::Angle { .. }, Some(T::PackedFloat64Array)) => {
                packed!(PackedFloat64Array, Value::Float);
            }
            (Kind::Vector2(_), Some(T::PackedVector2Array)) => {
                packed!(PackedVector2Array, |v: Vector2| Value::Vector2([v.x, v.y].map(f64::from)));
            }
            (Kind::Vector3(_), Some(T::PackedVector3Array)) => {
                packed!(PackedVector3Array, |v: Vector3| Value::Vector3([v.x, v.y, v.z].map(f64::from)));
            }
            (Kind::Quaternion { .. }, Some(T::PackedVector4Array)) => {
                packed!(PackedVector4Array, |v: Vector4| Value::Quaternion(
                    [v.x, v.y, v.z, v.w].map(f64::from)
                ));
            }
            (_, Some(T::Array)) => {
                let array: AnyArray = column.to();
                count(array.len())?;
                for (index, (id, at)) in order.iter().enumerate() {
                    let value = array.get(*at).unwrap_or_default();
                    self.give(field, &value, |value| frame.set(&self.schema, index, field, value))
                        .map_err(|error| error.inside(Step::Index(*id as usize)))?;
                }
            }
            (kind, found) => {
                let reason =
                    format!("expected {} or an Array, found {}", array_of(kind).name(), name_of(found));
                return Err(Error::argument(reason).inside(self.step(field)));
            }
        }
        Ok(())
    }

    /// The columns of a frame.
    ///
    /// # Errors
    /// Fails if an encoded Variant is invalid.
    pub fn columns(&self, frame: &Frame, reading: &Reading) -> Result<VarDictionary> {
        let mut columns = VarDictionary::new();
        for (field, key) in self.keys.iter().enumerate() {
            columns.set(key, &self.column(frame, field, reading)?);
        }
        Ok(columns)
    }

    fn column(&self, frame: &Frame, field: usize, reading: &Reading) -> Result<Variant> {
        let values = || (0..frame.len()).map(|index| frame.get(&self.schema, index, field));
        macro_rules! packed {
            ($Array:ty, $value:pat => $element:expr) => {{
                // All values of a field are of its kind.
                let of = |value: Value<'_>| if let $value = value { $element } else { Default::default() };
                values().map(of).collect::<$Array>().to_variant()
            }};
        }
        Ok(match self.schema.fields()[field].kind() {
            Kind::Bool => packed!(PackedByteArray, Value::Bool(flag) => u8::from(flag)),
            Kind::Int { .. } => packed!(PackedInt64Array, Value::Int(int) => int),
            Kind::Float(_) | Kind::Angle { .. } => packed!(PackedFloat64Array, Value::Float(float) => float),
            Kind::Vector2(_) => {
                packed!(PackedVector2Array, Value::Vector2([x, y]) => Vector2::new(x as real, y as real))
            }
            Kind::Vector3(_) => packed!(
                PackedVector3Array,
                Value::Vector3([x, y, z]) => Vector3::new(x as real, y as real, z as real)
            ),
            Kind::Quaternion { .. } => packed!(
                PackedVector4Array,
                Value::Quaternion([x, y, z, w]) => Vector4::new(x as real, y as real, z as real, w as real)
            ),
            Kind::Variant { .. } => {
                let mut array = VarArray::new();
                for (id, value) in frame.ids().iter().zip(values()) {
                    let value = self.take(field, value, reading);
                    array.push(&value.map_err(|error| error.inside(Step::Index(*id as usize)))?);
                }
                array.to_variant()
            }
        })
    }
}

/// The array for a column of a kind.
fn array_of(kind: Kind) -> VariantType {
    match kind {
        Kind::Bool => VariantType::PackedByteArray,
        Kind::Int { .. } => VariantType::PackedInt64Array,
        Kind::Float(_) | Kind::Angle { .. } => VariantType::PackedFloat64Array,
        Kind::Vector2(_) => VariantType::PackedVector2Array,
        Kind::Vector3(_) => VariantType::PackedVector3Array,
        Kind::Quaternion { .. } => VariantType::PackedVector4Array,
        Kind::Variant { .. } => VariantType::Array,
    }
}
