//! Reads and rewrites values.

use variant_codec::stream::{Buffer, Encoder, Precision, Source};
use variant_codec::{EncodeOptions, PackedReals, Reals, Strictness, Value, format};

use super::{encoded, everything, one_value, read};
use crate::{any_inside, measure, transcode, visit};

/// All writers agree on the bytes of a value, and the bytes survive another round trip. Strictly read bytes
/// are rewritten unchanged.
pub fn check(data: &[u8]) {
    for (strictness, limits) in [(Strictness::Lenient, everything()), (Strictness::Strict, one_value())] {
        let Ok(value) = read(data, strictness, &limits) else { continue };
        let written = [Precision::Single, Precision::Double].map(|precision| {
            let written = write(&value, precision);
            assert_eq!(transcode(data, strictness, &limits, precision).as_ref(), Ok(&written));
            if strictness == Strictness::Strict || !drops_marks(data) {
                let again = transcode(&written, strictness, &limits, precision);
                assert_eq!(again.as_ref(), Ok(&written));
            }
            written
        });
        if strictness == Strictness::Strict {
            check_strict(data, &value, &written);
        }
    }
}

/// Writes in every way, and checks that all ways agree.
fn write(value: &Value, precision: Precision) -> Vec<u8> {
    let options = EncodeOptions { precision: Some(precision), ..EncodeOptions::default() };
    let written = value.encode_as(options).expect("what was read can be written");
    assert_eq!(measure(value, precision), Ok(written.len()));
    let mut growing = Vec::new();
    let mut encoder = Encoder::new(Buffer::new(&mut growing), options);
    (&*value).write_into(&mut encoder).expect("there is memory");
    assert_eq!(encoder.into_output().written(), written);
    let mut exact = vec![0xAA; written.len()];
    let mut encoder = Encoder::new(Buffer::new(exact.as_mut_slice()), options);
    (&*value).write_into(&mut encoder).expect("there is just enough room");
    assert_eq!(encoder.into_output().written(), written);
    written
}

/// Returns whether the data contain two byte-order marks in a row. Each reading drops only one of them.
fn drops_marks(data: &[u8]) -> bool {
    let marks = [format::BOM; 2].concat();
    data.windows(marks.len()).any(|window| window == marks.as_bytes())
}

fn check_strict(data: &[u8], value: &Value, written: &[Vec<u8>; 2]) {
    let strict_text = EncodeOptions { strict_text: true, ..EncodeOptions::default() };
    assert_eq!(value.encode_as(strict_text).as_ref(), Ok(&written[0]), "all text comes back");
    let again = Value::decode(&written[0], &one_value()).expect("what was written");
    assert_eq!(again.encode().as_ref(), Ok(&written[0]));
    let (narrow, wide) = widths(value);
    if narrow && wide {
        return; // No engine writes both widths.
    }
    let written = &written[usize::from(wide)];
    if any_inside(value, |inner| matches!(inner, Value::NodePath(_))) {
        // Older engines leave the padding of NodePath parts uninitialised.
        assert_eq!(written.len(), data.len());
        assert_eq!(encoded(&Value::decode(written, &one_value()).expect("what was written")), encoded(value));
    } else {
        assert_eq!(written, data);
    }
}

/// Returns whether the value contains 32-bit components, and whether it contains 64-bit components.
fn widths(value: &Value) -> (bool, bool) {
    let mut found = (false, false);
    let mut see = |is_wide: bool| if is_wide { found.1 = true } else { found.0 = true };
    visit(value, &mut |value| match value {
        Value::Vector2(reals) => see(is_wide(reals)),
        Value::Vector3(reals) => see(is_wide(reals)),
        Value::Rect2(reals) | Value::Vector4(reals) | Value::Plane(reals) | Value::Quaternion(reals) => {
            see(is_wide(reals))
        }
        Value::Transform2D(reals) | Value::Aabb(reals) => see(is_wide(reals)),
        Value::Basis(reals) => see(is_wide(reals)),
        Value::Transform3D(reals) => see(is_wide(reals)),
        Value::Projection(reals) => see(is_wide(reals)),
        Value::PackedVector2Array(reals) => see(is_packed_wide(reals)),
        Value::PackedVector3Array(reals) => see(is_packed_wide(reals)),
        Value::PackedVector4Array(reals) => see(is_packed_wide(reals)),
        _ => {}
    });
    found
}

fn is_wide<const N: usize>(reals: &Reals<N>) -> bool {
    matches!(reals, Reals::Double(_))
}

fn is_packed_wide<const N: usize>(reals: &PackedReals<N>) -> bool {
    matches!(reals, PackedReals::Double(_))
}
