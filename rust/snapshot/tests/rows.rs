//! Single rows: what the other side sees, and damaged bytes.

use std::f64::consts::{PI, TAU};

use variant_snapshot::{Kind, Row, Schema, Steps, Value};

const KINDS: [Kind; 13] = [
    Kind::Bool,
    Kind::Int { min: -5, max: 100 },
    Kind::Int { min: i64::MIN, max: i64::MAX },
    Kind::Int { min: 0, max: 1 << 40 },
    Kind::Int { min: 0, max: 0xffff_ffff },
    Kind::Float(Steps { min: -100.0, max: 100.0, step: 0.01 }),
    Kind::Float(Steps { min: 0.0, max: 1.0, step: 1.0 / 3.0 }),
    Kind::Vector2(Steps { min: -2000.0, max: 2000.0, step: 0.01 }),
    Kind::Vector3(Steps { min: -512.0, max: 512.0, step: 1.0 / 512.0 }),
    Kind::Angle { bits: 9 },
    Kind::Angle { bits: 1 },
    Kind::Quaternion { bits: 9 },
    Kind::Variant { max_bytes: 20 },
];

pub fn schema() -> Schema {
    let mut schema = Schema::new();
    for (index, kind) in KINDS.into_iter().enumerate() {
        schema.add(&format!("field {index}"), kind).unwrap();
    }
    schema
}

/// A random row; floats reach beyond their range.
pub fn random_row(schema: &Schema, random: &mut fastrand::Rng) -> Row {
    let mut row = schema.row();
    for (index, field) in schema.fields().iter().enumerate() {
        let bytes: Vec<u8> = (0..random.usize(0..=20)).map(|_| random.u8(..)).collect();
        let mut float = |steps: Steps| steps.min + (steps.max - steps.min) * (random.f64() * 1.2 - 0.1);
        let value = match field.kind() {
            Kind::Bool => Value::Bool(random.bool()),
            Kind::Int { min, max } if max.checked_sub(min).is_some() => {
                Value::Int(random.i64(min.saturating_sub(3)..=max.saturating_add(3)))
            }
            Kind::Int { .. } => Value::Int(random.i64(..)),
            Kind::Float(steps) => Value::Float(float(steps)),
            Kind::Vector2(steps) => Value::Vector2([float(steps), float(steps)]),
            Kind::Vector3(steps) => Value::Vector3([float(steps), float(steps), float(steps)]),
            Kind::Angle { .. } => Value::Float((random.f64() - 0.5) * 100.0),
            Kind::Quaternion { .. } => Value::Quaternion([0, 1, 2, 3].map(|_| (random.f64() - 0.5) * 3.0)),
            Kind::Variant { .. } => Value::Variant(&bytes),
        };
        schema.set(&mut row, index, value).unwrap();
    }
    row
}

#[test]
fn what_the_other_side_sees_is_close_and_stays_the_same() {
    let schema = schema();
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..20_000 {
        let row = random_row(&schema, &mut random);
        assert_eq!(schema.unpack(&schema.pack(&row)).unwrap(), row);
        let mut again = schema.row();
        for index in 0..schema.fields().len() {
            // Vectors and quaternions of the engine have 32-bit components.
            let narrow = |part: f64| f64::from(part as f32);
            let value = match schema.get(&row, index) {
                Value::Vector2(parts) => Value::Vector2(parts.map(narrow)),
                Value::Vector3(parts) => Value::Vector3(parts.map(narrow)),
                Value::Quaternion(parts) => Value::Quaternion(parts.map(narrow)),
                value => value,
            };
            schema.set(&mut again, index, value).unwrap();
        }
        assert_eq!(again, row);
    }
}

#[test]
fn errors_are_at_most_half_a_step() {
    let mut schema = Schema::new();
    let steps = Steps { min: -10.0, max: 10.0, step: 0.3 };
    schema.add("float", Kind::Float(steps)).unwrap();
    schema.add("angle", Kind::Angle { bits: 7 }).unwrap();
    schema.add("rotation", Kind::Quaternion { bits: 8 }).unwrap();
    let mut random = fastrand::Rng::with_seed(4);
    let mut row = schema.row();
    for _ in 0..20_000 {
        let (float, angle) = (random.f64() * 20.0 - 10.0, random.f64() * 50.0 - 25.0);
        let rotation = [0, 1, 2, 3].map(|_| random.f64() - 0.5);
        let length = rotation.iter().map(|part| part * part).sum::<f64>().sqrt();
        schema.set(&mut row, 0, Value::Float(float)).unwrap();
        schema.set(&mut row, 1, Value::Float(angle)).unwrap();
        schema.set(&mut row, 2, Value::Quaternion(rotation)).unwrap();
        let Value::Float(seen) = schema.get(&row, 0) else { panic!() };
        assert!((seen - float).abs() <= 0.15 + 1e-12, "{float} is seen as {seen}");
        let Value::Float(seen) = schema.get(&row, 1) else { panic!() };
        let apart = (seen - angle + PI).rem_euclid(TAU) - PI;
        assert!((-PI..PI).contains(&seen) && apart.abs() <= TAU / 256.0 + 1e-9, "{angle} is seen as {seen}");
        let Value::Quaternion(seen) = schema.get(&row, 2) else { panic!() };
        // The angle between two rotations, by their scalar product.
        let product: f64 = seen.iter().zip(rotation).map(|(a, b)| a * b / length).sum();
        assert!(product.abs() > 0.9999, "{rotation:?} is seen as {seen:?}");
    }
}

#[test]
fn edges_are_exact() {
    let mut schema = Schema::new();
    schema.add("int", Kind::Int { min: i64::MIN, max: i64::MAX }).unwrap();
    schema.add("float", Kind::Float(Steps { min: -1.0, max: 1.0, step: 0.25 })).unwrap();
    schema.add("rotation", Kind::Quaternion { bits: 9 }).unwrap();
    let mut row = schema.row();
    for int in [i64::MIN, -1, 0, 1, i64::MAX] {
        schema.set(&mut row, 0, Value::Int(int)).unwrap();
        assert_eq!(schema.get(&row, 0), Value::Int(int));
    }
    for (float, seen) in [(-9.0, -1.0), (0.0, 0.0), (0.12, 0.0), (0.13, 0.25), (1e300, 1.0)] {
        schema.set(&mut row, 1, Value::Float(float)).unwrap();
        assert_eq!(schema.get(&row, 1), Value::Float(seen));
    }
    schema.set(&mut row, 2, Value::Quaternion([0.0, 0.0, 0.0, -1.0])).unwrap();
    assert_eq!(schema.get(&row, 2), Value::Quaternion([0.0, 0.0, 0.0, 1.0]));
    for wrong in [Value::Float(f64::NAN), Value::Float(f64::INFINITY), Value::Int(1), Value::Variant(&[])] {
        let message = schema.set(&mut row, 1, wrong).unwrap_err().to_string();
        assert!(message.starts_with("field \"float\": expected a "), "{message}");
    }
    assert!(schema.set(&mut row, 2, Value::Quaternion([0.0; 4])).is_err());
    let beyond = Kind::Vector3(Steps { min: 0.0, max: 1e39, step: 1e36 });
    assert!(schema.add("beyond 32 bits", beyond).is_err());
}

#[test]
fn fields_that_cannot_be_added() {
    let mut schema = Schema::new();
    schema.add("taken", Kind::Bool).unwrap();
    let steps = |min: f64, max: f64, step: f64| Steps { min, max, step };
    for (name, kind, reason) in [
        ("", Kind::Bool, "a name of 1 to 255 bytes"),
        ("taken", Kind::Bool, "already"),
        ("x", Kind::Int { min: 1, max: 1 }, "a min below the max"),
        ("x", Kind::Float(steps(1.0, f64::NAN, 1.0)), "a min below the max"),
        ("x", Kind::Float(steps(0.0, 1.0, -0.1)), "a step above 0"),
        ("x", Kind::Float(steps(0.0, 1.0, 3.0)), "larger than the range"),
        ("x", Kind::Float(steps(0.0, 1.0, 1e-12)), "too small"),
        ("x", Kind::Vector3(steps(0.0, 1e6, 0.1)), "4,194,304 steps"),
        ("x", Kind::Angle { bits: 0 }, "1 to 24 bits"),
        ("x", Kind::Quaternion { bits: 19 }, "3 to 18 bits"),
        ("x", Kind::Variant { max_bytes: 0 }, "1 to 65,535 bytes"),
    ] {
        let message = schema.add(name, kind).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
    (1..64).for_each(|index| schema.add(&format!("{index}"), Kind::Bool).unwrap());
    assert!(schema.add("one more", Kind::Bool).unwrap_err().to_string().contains("at most 64"));
}

#[test]
fn series_are_read_as_written() {
    let schema = schema();
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..500 {
        let mut rows = vec![random_row(&schema, &mut random)];
        while rows.len() < random.usize(1..12) {
            let mut row = rows.last().unwrap().clone();
            if random.bool() {
                schema.set(&mut row, 1, Value::Int(random.i64(0..9))).unwrap();
            }
            rows.push(row);
        }
        let bytes = schema.pack_series(&rows).unwrap();
        assert_eq!(schema.unpack_series(&bytes).unwrap(), rows);
        assert!(bytes.len() <= schema.pack(&rows[0]).len() * rows.len() + 2 * rows.len());
    }
    assert!(schema.pack_series(&[]).is_err());
}

/// Each length and each flipped bit: an error, or a row whose values are in their ranges.
#[test]
fn damaged_rows() {
    let schema = schema();
    let mut random = fastrand::Rng::with_seed(6);
    for _ in 0..50 {
        let row = random_row(&schema, &mut random);
        let bytes = schema.pack(&row);
        for length in 0..bytes.len() {
            assert!(schema.unpack(&bytes[..length]).is_err());
        }
        assert!(schema.unpack(&[&bytes[..], &[0]].concat()).is_err());
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            if let Ok(read) = schema.unpack(&changed) {
                assert_eq!(schema.pack(&read), changed);
            }
        }
    }
}
