//! What the test programs share: vectors that the engine wrote, and random values and bytes.

pub mod fuzzing;
pub mod godot3;
pub mod random_messages;

use std::collections::HashSet;
use std::fs;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use anyhow::Context as _;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use variant_codec::stream::{Decoder, Encoder, Measure, Precision, Source};
use variant_codec::value::OwnedElementType;
use variant_codec::{
    Array, Dictionary, EncodeOptions, Error, ErrorKind, Limits, NodePath, Object, PackedReals, Reals, Result,
    Strictness, Value, VariantType, format,
};

/// Runs this on a stack of so many bytes. On the web without threads, that is the page's own, whose size the linker sets.
pub fn with_stack<T: Send + 'static>(bytes: usize, run: impl FnOnce() -> T + Send + 'static) -> T {
    if cfg!(target_family = "wasm") {
        return run();
    }
    let thread = thread::Builder::new().stack_size(bytes).spawn(run).expect("a thread starts");
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// One line of `vectors/godot4.tsv`: bytes, and what the engine made of them.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is special about the input.
    pub label: String,
    /// Whether the engine was asked to read objects.
    pub objects: bool,
    /// The input.
    pub bytes: Vec<u8>,
    /// What the engine read; `None` where it refused.
    pub accepted: Option<Accepted>,
}

/// How the engine reads an input.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// Bytes that it counts as read.
    pub consumed: usize,
    /// The value written again, in hexadecimal, with `<ID64>` for instance ids of that run.
    pub reencoded: String,
}

impl Accepted {
    /// Whether these are the bytes that the engine wrote, whatever the instance ids.
    pub fn is_reencoded(&self, bytes: &[u8]) -> bool {
        let hex = hex::encode(bytes);
        let mut rest = hex.as_str();
        for (index, part) in self.reencoded.split(MASK).enumerate() {
            let id = if index > 0 { 16 } else { 0 };
            match rest.get(id..).and_then(|after| after.strip_prefix(part)) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty()
    }
}

const MASK: &str = "<ID64>";

impl Row {
    /// Limits that say no to nothing but objects, where the engine was not asked for them.
    pub fn limits(&self) -> Limits {
        Limits { allow_objects: self.objects, ..Limits::unlimited() }
    }

    /// Whether the engine reads the whole input, and writes the same again.
    pub fn is_canonical(&self) -> bool {
        self.accepted.as_ref().is_some_and(|engine| engine.is_reencoded(&self.bytes))
    }
}

/// Every vector that the engine wrote.
pub fn rows() -> Vec<Row> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/godot4.tsv");
    let text = fs::read_to_string(file).expect("`cargo xtask vectors` writes the vectors");
    let rows: Vec<Row> = text.lines().skip(2).map(row).collect();
    assert!(rows.len() > 300, "only {} vectors", rows.len());
    rows
}

fn row(line: &str) -> Row {
    let columns: Vec<&str> = line.split('\t').collect();
    let [mode, input, result, consumed, reencoded, label] = columns[..] else {
        panic!("not six columns: {line}");
    };
    let accepted = match result {
        "ok" => Some(Accepted {
            consumed: consumed.parse().expect("a count of bytes"),
            reencoded: reencoded.to_owned(),
        }),
        "error" => None,
        _ => panic!("neither ok nor error: {line}"),
    };
    Row {
        label: label.to_owned(),
        objects: match mode {
            "plain" => false,
            "objects" => true,
            _ => panic!("unknown mode: {line}"),
        },
        bytes: hex::decode(input).expect("hexadecimal bytes"),
        accepted,
    }
}

/// The one error that the engine's strictness knows and the engine does not: values of another type in a typed Dictionary.
pub fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WrongElementType { container: "Dictionary's values", .. })
}

/// Reads one value and writes it again without building it.
///
/// # Errors
/// Whatever reader or writer refuse.
pub fn transcode(
    bytes: &[u8],
    strictness: Strictness,
    limits: &Limits,
    precision: Precision,
) -> Result<Vec<u8>> {
    let mut encoder = Encoder::new(Vec::new(), EncodeOptions { precision, ..EncodeOptions::default() });
    Decoder::new(bytes, strictness, limits).decode_only(&mut encoder)?;
    Ok(encoder.into_output())
}

/// How many bytes this source's value takes.
///
/// # Errors
/// Whatever the source refuses.
pub fn measure(mut source: impl Source, precision: Precision) -> Result<usize> {
    let mut measure = Measure::counting(EncodeOptions { precision, ..EncodeOptions::default() });
    source.write_into(&mut measure)?;
    Ok(measure.bytes())
}

/// Calls `look` with the value and everything inside of it.
pub fn visit(value: &Value, look: &mut impl FnMut(&Value)) {
    look(value);
    match value {
        Value::Array(array) => array.values.iter().for_each(|inner| visit(inner, look)),
        Value::Dictionary(dictionary) => dictionary.entries.iter().for_each(|(key, inner)| {
            visit(key, look);
            visit(inner, look);
        }),
        Value::Object(Object::Full { properties, .. }) => {
            properties.iter().for_each(|(_, inner)| visit(inner, look));
        }
        _ => {}
    }
}

/// Whether the value or anything inside of it is such a value.
pub fn any_inside(value: &Value, is: impl Fn(&Value) -> bool) -> bool {
    let mut found = false;
    visit(value, &mut |inner| found |= is(inner));
    found
}

/// Whether a typed Array, or the keys of a typed Dictionary, hold a value of another type. The engine converts those, or
/// leaves them out.
pub fn has_misfits(value: &Value) -> bool {
    any_inside(value, |inner| match inner {
        Value::Array(array) => array.values.iter().any(|value| !takes(&array.element, value)),
        Value::Dictionary(dictionary) => {
            dictionary.entries.iter().any(|(key, _)| !takes(&dictionary.key, key))
        }
        _ => false,
    })
}

fn takes(element: &OwnedElementType, value: &Value) -> bool {
    match element {
        OwnedElementType::Untyped => true,
        OwnedElementType::Builtin(ty) if *ty != VariantType::Object => value.ty() == *ty,
        _ => matches!(value.ty(), VariantType::Nil | VariantType::Object),
    }
}

/// Whether a Dictionary holds keys that are one key for the engine, which merges them.
pub fn has_equal_keys(value: &Value) -> bool {
    any_inside(value, |inner| match inner {
        Value::Dictionary(dictionary) => {
            let mut known = HashSet::new();
            !dictionary.entries.iter().all(|(key, _)| known.insert(identity(key)))
        }
        _ => false,
    })
}

/// The same text for keys that the engine takes for one: both text types, both zeros, all NaNs, containers whatever the
/// types that they declare.
fn identity(key: &Value) -> String {
    match key {
        Value::Array(array) => format!("{:?}", array.values.iter().map(identity).collect::<Vec<_>>()),
        Value::Dictionary(dictionary) => {
            let entries = dictionary.entries.iter().map(|(key, value)| (identity(key), identity(value)));
            format!("{{{:?}}}", entries.collect::<Vec<_>>())
        }
        _ => format!("{key:?}").replace("StringName(", "String(").replace("-0.0", "0.0"),
    }
}

/// What an engine has written for a test: numbers of 32 bits, and bytes behind their length, taken from the front.
pub struct Records<'a>(pub &'a [u8]);

impl<'a> Records<'a> {
    /// The next number.
    ///
    /// # Errors
    /// If there is none.
    pub fn number(&mut self) -> anyhow::Result<usize> {
        let (number, rest) = self.0.split_first_chunk().context("the engine's output is cut")?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*number) as usize)
    }

    /// The next bytes.
    ///
    /// # Errors
    /// If they are not all there.
    pub fn bytes(&mut self) -> anyhow::Result<&'a [u8]> {
        let length = self.number()?;
        let (bytes, rest) = self.0.split_at_checked(length).context("the engine's output is cut")?;
        self.0 = rest;
        Ok(bytes)
    }
}

/// Whether the value holds an object by its instance id, which the engine replaces by that of a wrapper.
pub fn has_instance_ids(value: &Value) -> bool {
    any_inside(value, |inner| matches!(inner, Value::Object(Object::Id(_))))
}

/// Which random values are made. All of them are such that the engine writes them back unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values {
    /// The width of `real_t`.
    pub precision: Precision,
    /// Whether there are objects with class and properties, and containers typed by classes and scripts.
    pub full_objects: bool,
}

/// Levels of containers in a random value.
const DEPTH: u32 = 4;

impl Values {
    /// A value of any type.
    pub fn any(self) -> BoxedStrategy<Value> {
        prop_oneof![
            3 => self.nested(DEPTH),
            1 => vec(self.nested(DEPTH - 1), 0..8).prop_map(Value::from),
        ]
        .boxed()
    }

    /// A value with so many levels of containers at most; containers are drawn more often than other types.
    fn nested(self, depth: u32) -> BoxedStrategy<Value> {
        let containers = std::iter::repeat_n([VariantType::Array, VariantType::Dictionary], 5).flatten();
        let types: Vec<_> = VariantType::ALL.into_iter().chain(containers).collect();
        select(types).prop_flat_map(move |ty| self.of(ty, depth)).boxed()
    }

    /// A value of this type, with so many levels of containers at most.
    pub fn of(self, ty: VariantType, depth: u32) -> BoxedStrategy<Value> {
        use VariantType as T;
        match ty {
            T::Nil => Just(Value::Nil).boxed(),
            T::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
            T::Int => ints().prop_map(Value::Int).boxed(),
            T::Float => {
                prop_oneof![doubles(), floats().prop_map(f64::from).prop_filter("NaN bits", |v| !v.is_nan())]
                    .prop_map(Value::Float)
                    .boxed()
            }
            T::String => texts().prop_map(Value::String).boxed(),
            T::Vector2 => self.reals().prop_map(Value::Vector2).boxed(),
            T::Vector2i => lanes(any::<i32>()).prop_map(Value::Vector2i).boxed(),
            T::Rect2 => self.reals().prop_map(Value::Rect2).boxed(),
            T::Rect2i => lanes(any::<i32>()).prop_map(Value::Rect2i).boxed(),
            T::Vector3 => self.reals().prop_map(Value::Vector3).boxed(),
            T::Vector3i => lanes(any::<i32>()).prop_map(Value::Vector3i).boxed(),
            T::Transform2D => self.reals().prop_map(Value::Transform2D).boxed(),
            T::Vector4 => self.reals().prop_map(Value::Vector4).boxed(),
            T::Vector4i => lanes(any::<i32>()).prop_map(Value::Vector4i).boxed(),
            T::Plane => self.reals().prop_map(Value::Plane).boxed(),
            T::Quaternion => self.reals().prop_map(Value::Quaternion).boxed(),
            T::Aabb => self.reals().prop_map(Value::Aabb).boxed(),
            T::Basis => self.reals().prop_map(Value::Basis).boxed(),
            T::Transform3D => self.reals().prop_map(Value::Transform3D).boxed(),
            T::Projection => self.reals().prop_map(Value::Projection).boxed(),
            T::Color => lanes(floats()).prop_map(Value::Color).boxed(),
            T::StringName => texts().prop_map(Value::StringName).boxed(),
            T::NodePath => (any::<bool>(), vec(texts(), 0..4), vec(texts(), 0..3))
                .prop_map(|(absolute, names, subnames)| {
                    Value::NodePath(NodePath { absolute, names, subnames })
                })
                .boxed(),
            T::Rid => any::<u64>().prop_map(Value::Rid).boxed(),
            T::Object => self.object(depth),
            T::Callable => Just(Value::Callable).boxed(),
            T::Signal => {
                (texts(), any::<u64>()).prop_map(|(name, object)| Value::Signal { name, object }).boxed()
            }
            T::Dictionary => self.dictionary(depth),
            T::Array => self.array(depth),
            T::PackedByteArray => vec(any::<u8>(), 0..9).prop_map(Value::PackedByteArray).boxed(),
            T::PackedInt32Array => vec(any::<i32>(), 0..5).prop_map(Value::PackedInt32Array).boxed(),
            T::PackedInt64Array => vec(any::<i64>(), 0..5).prop_map(Value::PackedInt64Array).boxed(),
            T::PackedFloat32Array => vec(floats(), 0..5).prop_map(Value::PackedFloat32Array).boxed(),
            T::PackedFloat64Array => vec(doubles(), 0..5).prop_map(Value::PackedFloat64Array).boxed(),
            T::PackedStringArray => vec(texts(), 0..5).prop_map(Value::PackedStringArray).boxed(),
            T::PackedVector2Array => self.packed_reals().prop_map(Value::PackedVector2Array).boxed(),
            T::PackedVector3Array => self.packed_reals().prop_map(Value::PackedVector3Array).boxed(),
            T::PackedColorArray => vec(lanes(floats()), 0..4).prop_map(Value::PackedColorArray).boxed(),
            T::PackedVector4Array => self.packed_reals().prop_map(Value::PackedVector4Array).boxed(),
        }
    }

    fn reals<const N: usize>(self) -> BoxedStrategy<Reals<N>> {
        match self.precision {
            Precision::Single => lanes(floats()).prop_map(Reals::Single).boxed(),
            Precision::Double => lanes(doubles()).prop_map(Reals::Double).boxed(),
        }
    }

    fn packed_reals<const N: usize>(self) -> BoxedStrategy<PackedReals<N>> {
        match self.precision {
            Precision::Single => vec(lanes(floats()), 0..4).prop_map(PackedReals::Single).boxed(),
            Precision::Double => vec(lanes(doubles()), 0..4).prop_map(PackedReals::Double).boxed(),
        }
    }

    fn object(self, depth: u32) -> BoxedStrategy<Value> {
        let by_id = (1..=u64::MAX).prop_map(|id| Value::Object(Object::Id(id)));
        if !self.full_objects {
            return by_id.boxed();
        }
        let properties = vec((texts(), self.nested(depth.saturating_sub(1))), 0..3);
        let full = (names(), properties)
            .prop_map(|(class, properties)| Value::Object(Object::Full { class, properties }));
        prop_oneof![by_id, full].boxed()
    }

    /// A type for elements and whatever values it takes. Nil stands for untyped.
    fn element(self, depth: u32) -> BoxedStrategy<(OwnedElementType, BoxedStrategy<Value>)> {
        select(VariantType::ALL.to_vec())
            .prop_flat_map(move |ty| {
                let inside = depth - 1;
                let element = match ty {
                    VariantType::Nil => Just(OwnedElementType::Untyped).boxed(),
                    VariantType::Object if self.full_objects => prop_oneof![
                        Just(OwnedElementType::Builtin(ty)),
                        names().prop_map(OwnedElementType::Class),
                        names().prop_map(|name| OwnedElementType::Script(format!("res://{name}"))),
                    ]
                    .boxed(),
                    VariantType::Object => {
                        Just(OwnedElementType::Class(format::ENCODED_OBJECT_AS_ID.to_owned())).boxed()
                    }
                    _ => Just(OwnedElementType::Builtin(ty)).boxed(),
                };
                element.prop_map(move |element| {
                    let values = match ty {
                        VariantType::Nil => self.nested(inside),
                        VariantType::Object => prop_oneof![Just(Value::Nil), self.of(ty, inside)].boxed(),
                        _ => self.of(ty, inside),
                    };
                    (element, values)
                })
            })
            .boxed()
    }

    fn array(self, depth: u32) -> BoxedStrategy<Value> {
        if depth == 0 {
            return Just(Value::Array(Array::default())).boxed();
        }
        let typed = self.element(depth).prop_flat_map(|(element, values)| {
            vec(values, 0..5).prop_map(move |values| Value::Array(Array { element: element.clone(), values }))
        });
        let plain = vec(self.nested(depth - 1), 0..5).prop_map(Value::from);
        prop_oneof![typed, plain].boxed()
    }

    fn dictionary(self, depth: u32) -> BoxedStrategy<Value> {
        if depth == 0 {
            return Just(Value::Dictionary(Dictionary::default())).boxed();
        }
        let typed =
            (self.element(depth), self.element(depth)).prop_flat_map(|((key, keys), (value, values))| {
                vec((keys, values), 0..4).prop_map(move |entries| {
                    Value::Dictionary(Dictionary {
                        key: key.clone(),
                        value: value.clone(),
                        entries: distinct(entries),
                    })
                })
            });
        let plain = vec((self.nested(depth - 1), self.nested(depth - 1)), 0..4)
            .prop_map(|entries| Value::from(distinct(entries)));
        prop_oneof![typed, plain].boxed()
    }
}

fn distinct(mut entries: Vec<(Value, Value)>) -> Vec<(Value, Value)> {
    let mut known = HashSet::new();
    entries.retain(|(key, _)| known.insert(identity(key)));
    entries
}

fn ints() -> impl Strategy<Value = i64> {
    prop_oneof![
        -3..300_i64,
        any::<i32>().prop_map(i64::from),
        any::<i64>(),
        select(vec![i64::MIN, -0x8000_0001, -0x8000_0000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, i64::MAX]),
    ]
}

/// Every bit pattern, the special ones more often.
fn floats() -> impl Strategy<Value = f32> {
    let special =
        [0, 1, 0x8000_0000, 0x3F80_0000, 0x7F80_0000, 0xFF80_0000, 0x7F80_0001, 0x7FC0_0000, 0x7F7F_FFFF];
    prop_oneof![any::<u32>(), select(special.to_vec())].prop_map(f32::from_bits)
}

/// Every bit pattern, the special ones more often.
fn doubles() -> impl Strategy<Value = f64> {
    let special = [0, 1, 1 << 63, 0x3FF0 << 48, 0x7FF0 << 48, 0xFFF0 << 48, (0x7FF0 << 48) + 1, 0x7FF8 << 48];
    prop_oneof![any::<u64>(), select(special.to_vec())].prop_map(f64::from_bits)
}

fn lanes<T: std::fmt::Debug, const N: usize>(
    lane: impl Strategy<Value = T>,
) -> impl Strategy<Value = [T; N]> {
    vec(lane, N).prop_map(|lanes| lanes.try_into().expect("exactly N were drawn"))
}

/// Text that reading leaves as it is: no NUL inside, no byte-order mark first.
fn texts() -> impl Strategy<Value = String> {
    let unit = prop_oneof![
        3 => proptest::char::range(' ', '~').boxed(),
        1 => any::<char>().boxed(),
        1 => select(vec!['/', ':', '"', '\u{7F}', '\u{80}', '\u{7FF}', '\u{800}', '\u{D7FF}', '\u{FEFF}', '\u{FFFF}', '\u{10FFFF}']).boxed(),
    ];
    vec(unit, 0..8).prop_map(|units| {
        let text: String = units.into_iter().filter(|&unit| unit != '\0').collect();
        text.trim_start_matches(format::BOM).to_owned()
    })
}

/// Names of classes and scripts.
fn names() -> impl Strategy<Value = String> {
    select(vec!["A", "Node", "Node2D", "RefCounted", "Größe"]).prop_map(str::to_owned)
}

/// The bytes of a random value after a little damage.
pub fn damaged_bytes(values: Values) -> impl Strategy<Value = Vec<u8>> {
    (values.any(), vec((any::<Index>(), damage()), 1..4)).prop_map(|(value, damages)| {
        let mut bytes = value.encode().expect("random values can be written");
        for (place, damage) in damages {
            damage.apply(&mut bytes, place);
        }
        bytes
    })
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    Byte(u8),
    Bit(u8),
    Word(u32),
    Cut,
    Insert(u32),
}

impl Damage {
    fn apply(self, bytes: &mut Vec<u8>, place: Index) {
        if bytes.len() < 4 {
            return;
        }
        let at = place.index(bytes.len());
        let word = at / 4 * 4;
        match self {
            Self::Byte(byte) => bytes[at] = byte,
            Self::Bit(bit) => bytes[at] ^= 1 << bit,
            Self::Word(new) => {
                bytes[word..].iter_mut().zip(new.to_le_bytes()).for_each(|(old, new)| *old = new)
            }
            Self::Cut => bytes.truncate(at),
            Self::Insert(new) => drop(bytes.splice(word..word, new.to_le_bytes())),
        }
    }
}

/// Mostly words that mean something to a reader: headers, counts, flags.
fn damage() -> impl Strategy<Value = Damage> {
    let header = (0..40_u32, 0..16_u32).prop_map(|(id, flags)| id | flags << 16);
    let count = select(vec![0, 1, 2, 3, 4, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFF]);
    prop_oneof![
        any::<u8>().prop_map(Damage::Byte),
        (0..8_u8).prop_map(Damage::Bit),
        header.clone().prop_map(Damage::Word),
        count.clone().prop_map(Damage::Word),
        Just(Damage::Cut),
        prop_oneof![header, count].prop_map(Damage::Insert),
    ]
}
