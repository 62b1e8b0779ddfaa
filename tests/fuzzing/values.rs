//! Values of all kinds, made of bytes.

use arbitrary::{Result, Unstructured};
use variant_codec::stream::Precision;
use variant_codec::value::OwnedElementType;
use variant_codec::{
    Array, Dictionary, EncodeOptions, NodePath, Object, PackedReals, Reals, Strictness, Value, VariantType,
    format,
};

use super::{encoded, one_value, read};
use crate::measure;

/// A random value is written, read and written again without a change, and not read where its bytes are cut.
pub fn check(data: &[u8]) {
    // Where the bytes are used up, zeros follow, so that this never fails.
    let mut bytes = Unstructured::new(data);
    let Ok((precision, value, cut)) = draw(&mut bytes) else { return };
    let options = EncodeOptions { precision, strict_text: true };
    let written = value.encode_as(options).expect("a value that the format holds");
    assert_eq!(measure(&value, precision), Ok(written.len()));
    assert_eq!(written.len() % 4, 0);
    let expected = encoded(&value);
    for strictness in [Strictness::Strict, Strictness::Lenient] {
        let again = read(&written, strictness, &one_value()).expect("what was written");
        assert_eq!(encoded(&again), expected);
        // NaNs differ from themselves.
        if value == value.clone() {
            assert_eq!(again, value);
        }
    }
    let cut = cut % written.len();
    assert!(read(&written[..cut], Strictness::Strict, &one_value()).is_err(), "{cut} bytes");
}

fn draw(bytes: &mut Unstructured<'_>) -> Result<(Precision, Value, usize)> {
    let precision = if bytes.arbitrary()? { Precision::Double } else { Precision::Single };
    let value = Values { bytes, precision }.any(DEPTH)?;
    Ok((precision, value, bytes.arbitrary()?))
}

/// Levels of containers in a random value.
const DEPTH: u32 = 8;

/// Draws values that the engine writes back unchanged.
struct Values<'a, 'b> {
    bytes: &'a mut Unstructured<'b>,
    /// The width of `real_t`.
    precision: Precision,
}

impl Values<'_, '_> {
    /// A value with so many levels of containers at most.
    fn any(&mut self, depth: u32) -> Result<Value> {
        let ty = *self.bytes.choose(&VariantType::ALL)?;
        self.of(ty, depth)
    }

    fn of(&mut self, ty: VariantType, depth: u32) -> Result<Value> {
        use VariantType as T;
        Ok(match ty {
            T::Nil => Value::Nil,
            T::Bool => Value::Bool(self.bytes.arbitrary()?),
            T::Int => Value::Int(self.int()?),
            T::Float => Value::Float(self.double()?),
            T::String => Value::String(self.text()?),
            T::Vector2 => Value::Vector2(self.reals()?),
            T::Vector2i => Value::Vector2i(self.bytes.arbitrary()?),
            T::Rect2 => Value::Rect2(self.reals()?),
            T::Rect2i => Value::Rect2i(self.bytes.arbitrary()?),
            T::Vector3 => Value::Vector3(self.reals()?),
            T::Vector3i => Value::Vector3i(self.bytes.arbitrary()?),
            T::Transform2D => Value::Transform2D(self.reals()?),
            T::Vector4 => Value::Vector4(self.reals()?),
            T::Vector4i => Value::Vector4i(self.bytes.arbitrary()?),
            T::Plane => Value::Plane(self.reals()?),
            T::Quaternion => Value::Quaternion(self.reals()?),
            T::Aabb => Value::Aabb(self.reals()?),
            T::Basis => Value::Basis(self.reals()?),
            T::Transform3D => Value::Transform3D(self.reals()?),
            T::Projection => Value::Projection(self.reals()?),
            T::Color => Value::Color(self.bytes.arbitrary()?),
            T::StringName => Value::StringName(self.text()?),
            T::NodePath => Value::NodePath(NodePath {
                absolute: self.bytes.arbitrary()?,
                names: self.many(Self::text)?,
                subnames: self.many(Self::text)?,
            }),
            T::Rid => Value::Rid(self.bytes.arbitrary()?),
            T::Object => Value::Object(self.object(depth)?),
            T::Callable => Value::Callable,
            T::Signal => Value::Signal { name: self.text()?, object: self.bytes.arbitrary()? },
            T::Dictionary => Value::Dictionary(self.dictionary(depth)?),
            T::Array => Value::Array(self.array(depth)?),
            T::PackedByteArray => Value::PackedByteArray(self.bytes.arbitrary()?),
            T::PackedInt32Array => Value::PackedInt32Array(self.bytes.arbitrary()?),
            T::PackedInt64Array => Value::PackedInt64Array(self.many(Self::int)?),
            T::PackedFloat32Array => Value::PackedFloat32Array(self.bytes.arbitrary()?),
            T::PackedFloat64Array => Value::PackedFloat64Array(self.many(Self::double)?),
            T::PackedStringArray => Value::PackedStringArray(self.many(Self::text)?),
            T::PackedVector2Array => Value::PackedVector2Array(self.packed_reals()?),
            T::PackedVector3Array => Value::PackedVector3Array(self.packed_reals()?),
            T::PackedColorArray => Value::PackedColorArray(self.bytes.arbitrary()?),
            T::PackedVector4Array => Value::PackedVector4Array(self.packed_reals()?),
        })
    }

    /// As many as the bytes say; the most are few.
    fn many<T>(&mut self, draw: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let most = if self.bytes.ratio(1, 8)? { 100 } else { 4 };
        let count = self.bytes.int_in_range(0..=most)?.min(self.bytes.len());
        (0..count).map(|_| draw(self)).collect()
    }

    fn int(&mut self) -> Result<i64> {
        let int: i64 = self.bytes.arbitrary()?;
        Ok(match self.bytes.int_in_range(0..=3)? {
            0 => int,
            1 => int >> 32,
            // Around the ends of 32 bits.
            2 => (int % 3) + i64::from(i32::MAX),
            _ => (int % 3) + i64::from(i32::MIN),
        })
    }

    fn double(&mut self) -> Result<f64> {
        // Narrow ones as well; NaNs are always wide, whatever their bits.
        if self.bytes.arbitrary()? {
            Ok(self.bytes.arbitrary::<f32>()?.into())
        } else {
            self.bytes.arbitrary()
        }
    }

    /// Text that reading leaves as it is: no NUL inside, no byte-order mark first.
    fn text(&mut self) -> Result<String> {
        let text = self.bytes.arbitrary::<&str>()?.replace('\0', "\u{10FFFF}");
        Ok(text.trim_start_matches(format::BOM).to_owned())
    }

    fn reals<const N: usize>(&mut self) -> Result<Reals<N>> {
        Ok(match self.precision {
            Precision::Single => Reals::Single(self.bytes.arbitrary()?),
            Precision::Double => Reals::Double(self.bytes.arbitrary()?),
        })
    }

    fn packed_reals<const N: usize>(&mut self) -> Result<PackedReals<N>> {
        Ok(match self.precision {
            Precision::Single => PackedReals::Single(self.bytes.arbitrary()?),
            Precision::Double => PackedReals::Double(self.bytes.arbitrary()?),
        })
    }

    fn object(&mut self, depth: u32) -> Result<Object> {
        if depth == 0 || self.bytes.arbitrary()? {
            return Ok(Object::Id(self.bytes.arbitrary::<u64>()?.max(1)));
        }
        let class = self.name()?;
        let properties = self.many(|values| Ok((values.text()?, values.any(depth - 1)?)))?;
        Ok(Object::Full { class, properties })
    }

    /// The name of a class.
    fn name(&mut self) -> Result<String> {
        let name = self.text()?;
        Ok(if name.is_empty() { "Node".to_owned() } else { name })
    }

    /// What a container's elements are declared to be. Containers are untyped half of the time.
    fn element(&mut self) -> Result<OwnedElementType> {
        Ok(match self.bytes.int_in_range(0..=7)? {
            0..4 => OwnedElementType::Untyped,
            4 => OwnedElementType::Class(self.name()?),
            5 => OwnedElementType::Script(format!("{}{}", format::SCRIPT_PATH_PREFIX, self.text()?)),
            _ => match *self.bytes.choose(&VariantType::ALL)? {
                VariantType::Nil => OwnedElementType::Untyped,
                ty => OwnedElementType::Builtin(ty),
            },
        })
    }

    /// A value for a container of such elements.
    fn taken_by(&mut self, element: &OwnedElementType, depth: u32) -> Result<Value> {
        match element {
            OwnedElementType::Untyped => self.any(depth),
            OwnedElementType::Builtin(ty) if *ty != VariantType::Object => self.of(*ty, depth),
            _ if self.bytes.arbitrary()? => Ok(Value::Nil),
            _ => Ok(Value::Object(self.object(depth)?)),
        }
    }

    fn array(&mut self, depth: u32) -> Result<Array> {
        if depth == 0 {
            return Ok(Array::default());
        }
        let element = self.element()?;
        let values = self.many(|values| values.taken_by(&element, depth - 1))?;
        Ok(Array { element, values })
    }

    fn dictionary(&mut self, depth: u32) -> Result<Dictionary> {
        if depth == 0 {
            return Ok(Dictionary::default());
        }
        let (key, value) = (self.element()?, self.element()?);
        let entry =
            |values: &mut Self| Ok((values.taken_by(&key, depth - 1)?, values.taken_by(&value, depth - 1)?));
        let entries = self.many(entry)?;
        Ok(Dictionary { key, value, entries })
    }
}
