//! The values that all contestants work on, the same in each run.

use variant_codec::{PackedReals, Reals, Value};

const ENTITIES: u64 = 5_000;
const NUMBERS: u64 = 100_000;
const STRINGS: u64 = 10_000;

/// A value and its size.
pub struct Workload {
    pub name: &'static str,
    /// Elements of the outermost container; the message counts as one.
    pub elements: u64,
    pub value: Value,
    /// The value in Godot's format.
    pub bytes: Vec<u8>,
}

impl Workload {
    fn new(name: &'static str, elements: u64, value: Value) -> Self {
        let bytes = value.encode().expect("a value within the format's limits");
        Self { name, elements, value, bytes }
    }
}

/// All of them.
pub fn all() -> Vec<Workload> {
    let array = |count, element: fn(u64) -> Value| Value::from((0..count).map(element).collect::<Vec<_>>());
    let vectors = (0..NUMBERS).map(|i| [i as f32, i as f32 * 0.5, -(i as f32)]).collect();
    vec![
        Workload::new("entities", ENTITIES, array(ENTITIES, entity)),
        Workload::new("ints", NUMBERS, Value::from(ints().into_iter().map(Value::from).collect::<Vec<_>>())),
        Workload::new("floats", NUMBERS, array(NUMBERS, float)),
        Workload::new("ascii strings", STRINGS, array(STRINGS, ascii)),
        Workload::new("unicode strings", STRINGS, array(STRINGS, unicode)),
        Workload::new("packed vectors", NUMBERS, Value::PackedVector3Array(PackedReals::Single(vectors))),
        Workload::new("message", 1, message()),
    ]
}

/// Numbers of all magnitudes that 32 bits hold, since some formats write small ones shorter.
pub fn ints() -> Vec<i64> {
    (0..NUMBERS).map(|i| i64::from(random(i) as i32 >> (i % 32))).collect()
}

/// One in five fits 32 bits; the others need all 64, as computed ones mostly do.
fn float(i: u64) -> Value {
    Value::from(if i.is_multiple_of(5) { i as f64 * 0.25 } else { random(i) as f64 / 1e15 })
}

/// The addon's demo has the same.
fn entity(i: u64) -> Value {
    let count = i as f32;
    dictionary([
        ("id", Value::from(i as i64)),
        ("name", Value::from(format!("entity_{i}"))),
        ("hp", Value::from(100.0 - (i % 97) as f64)),
        ("alive", Value::from(!i.is_multiple_of(5))),
        ("position", Value::Vector3(Reals::Single([count % 640.0, 1.5, count / 640.0]))),
        ("tint", Value::Color([(i % 100) as f32 / 100.0, 0.5, 1.0, 1.0])),
        ("tags", Value::from(vec![Value::from("enemy")])),
    ])
}

/// 50 characters, none beyond ASCII.
fn ascii(i: u64) -> Value {
    Value::from(format!("{i:06}: the quick brown fox jumps over the lazy dog"))
}

/// Characters of one to four bytes of UTF-8.
fn unicode(i: u64) -> Value {
    Value::from(format!("{i:06}: Größe, Ελλάδα, 城と竜, 🎲 and plain text"))
}

/// What a client may send each frame.
fn message() -> Value {
    dictionary([
        ("id", Value::from(7)),
        ("pos", Value::Vector3(Reals::Single([1.5, 2.5, -3.5]))),
        ("cmd", Value::from("attack")),
    ])
}

fn dictionary<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::from(entries.map(|(key, value)| (Value::from(key), value)).to_vec())
}

/// The `i`-th of a sequence without a pattern that a branch predictor could learn: splitmix64.
fn random(i: u64) -> u64 {
    let mut z = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}
