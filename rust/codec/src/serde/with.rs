//! Modules for `#[serde(with = "…")]`: one for each Godot type that Rust lacks.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserializer, Serialize, Serializer};

use super::buffer;
use super::form;
use super::ser::ValueSerializer;
use super::value::{Source, is_own_serializer, read_field};
use crate::error::ErrorKind;
use crate::format::VariantType;

fn write<T: Serialize + ?Sized, S: Serializer>(
    ty: VariantType,
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if is_own_serializer::<S>() {
        return serializer.serialize_newtype_variant(form::NAME, ty.id().into(), ty.name(), value);
    }
    let value =
        value.serialize(ValueSerializer::default()).and_then(|payload| form::of_field(ty.name(), payload));
    value.map_err(S::Error::custom)?.serialize(serializer)
}

fn read<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    ty: VariantType,
    deserializer: D,
) -> Result<T, D::Error> {
    let (value, source) = read_field(deserializer)?;
    let value = match source {
        Source::Value if value.ty() == ty || value.is_nil() => Ok(value),
        Source::Value => Err(ErrorKind::UnexpectedType { expected: ty.name(), found: value.ty() }.into()),
        Source::Buffer => buffer::of_field(ty, value),
        Source::Foreign => form::of_plain(ty, value),
    };
    let value = value.map_err(D::Error::custom)?;
    T::deserialize(value).map_err(D::Error::custom)
}

macro_rules! with_modules {
    ($($module:ident $ty:ident $what:literal $rust:literal;)*) => {
        $(
            #[doc = concat!("Converts a field, such as `", $rust, "`, to and from ", $what, ".")]
            pub mod $module {
                use serde::de::DeserializeOwned;
                use serde::{Deserializer, Serialize, Serializer};

                use crate::format::VariantType;
                use crate::serde::with;

                /// Writes the field.
                ///
                /// # Errors
                /// Fails if the field does not fit the type.
                pub fn serialize<T: Serialize + ?Sized, S: Serializer>(
                    value: &T,
                    serializer: S,
                ) -> Result<S::Ok, S::Error> {
                    with::write(VariantType::$ty, value, serializer)
                }

                /// Reads the field.
                ///
                /// # Errors
                /// Fails if the field does not fit the type.
                pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
                    deserializer: D,
                ) -> Result<T, D::Error> {
                    with::read(VariantType::$ty, deserializer)
                }
            }
        )*
    };
}

with_modules! {
    string_name StringName "StringName: text" "String";
    node_path NodePath "NodePath: text" "String";
    vector2 Vector2 "Vector2: x and y" "[f32; 2]";
    vector2i Vector2i "Vector2i: x and y" "[i32; 2]";
    rect2 Rect2 "Rect2: position and size" "[[f32; 2]; 2]";
    rect2i Rect2i "Rect2i: position and size" "[i32; 4]";
    vector3 Vector3 "Vector3: x, y and z" "[f32; 3]";
    vector3i Vector3i "Vector3i: x, y and z" "[i32; 3]";
    transform2d Transform2D "Transform2D: columns" "[[f32; 2]; 3]";
    vector4 Vector4 "Vector4: x, y, z and w" "[f32; 4]";
    vector4i Vector4i "Vector4i: x, y, z and w" "[i32; 4]";
    plane Plane "Plane: normal, then the distance" "[f32; 4]";
    quaternion Quaternion "Quaternion: x, y, z and w" "[f32; 4]";
    aabb Aabb "AABB: position and size" "[[f32; 3]; 2]";
    basis Basis "Basis: rows" "[[f32; 3]; 3]";
    transform3d Transform3D "Transform3D: rows of the basis, then the origin" "[[f32; 3]; 4]";
    projection Projection "Projection: columns" "[[f32; 4]; 4]";
    color Color "Color: red, green, blue and alpha" "[f32; 4]";
    byte_array PackedByteArray "PackedByteArray: bytes" "Vec<u8>";
    int32_array PackedInt32Array "PackedInt32Array: ints" "Vec<i32>";
    int64_array PackedInt64Array "PackedInt64Array: ints" "Vec<i64>";
    float32_array PackedFloat32Array "PackedFloat32Array: floats" "Vec<f32>";
    float64_array PackedFloat64Array "PackedFloat64Array: floats" "Vec<f64>";
    string_array PackedStringArray "PackedStringArray: texts" "Vec<String>";
    vector2_array PackedVector2Array "PackedVector2Array: elements of two floats" "Vec<[f32; 2]>";
    vector3_array PackedVector3Array "PackedVector3Array: elements of three floats" "Vec<[f32; 3]>";
    vector4_array PackedVector4Array "PackedVector4Array: elements of four floats" "Vec<[f32; 4]>";
    color_array PackedColorArray "PackedColorArray: elements of four floats" "Vec<[f32; 4]>";
}
