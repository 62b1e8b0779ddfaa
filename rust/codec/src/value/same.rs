//! When two values are the same key: the engine's `StringLikeVariantComparator` and `Variant::hash_compare`.

use super::types::{PackedReals, Reals, Value};

/// Whether a Dictionary takes the two for one key.
pub(super) fn is_same_key(a: &Value, b: &Value) -> bool {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => a == b,
        _ => is_same(a, b, true),
    }
}

/// Whether the two are the same value. NaNs are, unless they lie in an Array or Dictionary.
fn is_same(a: &Value, b: &Value, nans: bool) -> bool {
    use Value as V;
    let same = |a: f64, b: f64| a == b || nans && a.is_nan() && b.is_nan();
    match (a, b) {
        (V::Float(a), V::Float(b)) => same(*a, *b),
        (V::Vector2(a), V::Vector2(b)) => are_same(a, b),
        (V::Rect2(a), V::Rect2(b)) => are_same(a, b),
        (V::Vector3(a), V::Vector3(b)) => are_same(a, b),
        (V::Transform2D(a), V::Transform2D(b)) => are_same(a, b),
        (V::Vector4(a), V::Vector4(b)) | (V::Plane(a), V::Plane(b)) => are_same(a, b),
        (V::Quaternion(a), V::Quaternion(b)) => are_same(a, b),
        (V::Aabb(a), V::Aabb(b)) => are_same(a, b),
        (V::Basis(a), V::Basis(b)) => are_same(a, b),
        (V::Transform3D(a), V::Transform3D(b)) => are_same(a, b),
        (V::Projection(a), V::Projection(b)) => are_same(a, b),
        (V::Color(a), V::Color(b)) => all_same(a, b),
        (V::PackedFloat32Array(a), V::PackedFloat32Array(b)) => all_same(a, b),
        (V::PackedFloat64Array(a), V::PackedFloat64Array(b)) => all_same(a, b),
        (V::PackedVector2Array(a), V::PackedVector2Array(b)) => packed_same(a, b),
        (V::PackedVector3Array(a), V::PackedVector3Array(b)) => packed_same(a, b),
        (V::PackedVector4Array(a), V::PackedVector4Array(b)) => packed_same(a, b),
        (V::PackedColorArray(a), V::PackedColorArray(b)) => all_same(a.as_flattened(), b.as_flattened()),
        (V::Array(a), V::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_same(a, b, false))
        }
        (V::Dictionary(a), V::Dictionary(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b.iter())
                    .all(|((a_key, a), (b_key, b))| is_same_key(a_key, b_key) && is_same(a, b, false))
        }
        _ => a == b,
    }
}

fn all_same<T: Copy + Into<f64>>(a: &[T], b: &[T]) -> bool {
    let same = |(a, b): (&T, &T)| {
        let (a, b): (f64, f64) = ((*a).into(), (*b).into());
        a == b || a.is_nan() && b.is_nan()
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

fn are_same<const N: usize>(a: &Reals<N>, b: &Reals<N>) -> bool {
    match (a, b) {
        (Reals::Single(a), Reals::Single(b)) => all_same(a, b),
        (Reals::Double(a), Reals::Double(b)) => all_same(a, b),
        (Reals::Single(a), Reals::Double(b)) | (Reals::Double(b), Reals::Single(a)) => {
            all_same(&a.map(f64::from), b)
        }
    }
}

fn packed_same<const N: usize>(a: &PackedReals<N>, b: &PackedReals<N>) -> bool {
    let wide = |reals: &PackedReals<N>| -> Vec<f64> {
        match reals {
            PackedReals::Single(reals) => reals.as_flattened().iter().map(|real| f64::from(*real)).collect(),
            PackedReals::Double(reals) => reals.as_flattened().to_vec(),
        }
    };
    all_same(&wide(a), &wide(b))
}
