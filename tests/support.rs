//! Code that the test programs share: the engine's vectors, and random values and bytes.

pub mod fuzzing;
pub mod godot3;
pub mod network;
pub mod python;
pub mod random_messages;

use std::collections::HashSet;
use std::fs;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use anyhow::Context as _;
use arbitrary::Unstructured;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use variant_codec::stream::{Decoder, Encoder, Measure, Precision, Source};
use variant_codec::value::OwnedElementType;
use variant_codec::{
    Array, Dictionary, EncodeOptions, Error, ErrorKind, Limits, NodePath, Object, PackedReals, Reals, Result,
    Strictness, Value, VariantType, format,
};

/// Runs `run` on a stack of `bytes`. On the web without threads, the linker sets the size of the only stack.
pub fn with_stack<T: Send + 'static>(bytes: usize, run: impl FnOnce() -> T + Send + 'static) -> T {
    if cfg!(target_family = "wasm") {
        return run();
    }
    let thread = thread::Builder::new().stack_size(bytes).spawn(run).expect("a thread starts");
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// One line of `vectors/godot4.tsv`: bytes, and the engine's result.
#[derive(Clone, Debug)]
pub struct Row {
    /// A description of the input.
    pub label: String,
    /// Whether the engine was asked to read objects.
    pub objects: bool,
    /// The input.
    pub bytes: Vec<u8>,
    /// The engine's result; `None` if it refused the input.
    pub accepted: Option<Accepted>,
}

/// The engine's result for an input that it reads.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The number of bytes that the engine counts as read.
    pub consumed: usize,
    /// The rewritten value in hexadecimal, with `<ID64>` in place of instance ids.
    pub reencoded: String,
}

impl Accepted {
    /// Returns whether the engine wrote these bytes, apart from instance ids.
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
    /// Limits that allow everything, except objects if the engine did not read objects.
    pub fn limits(&self) -> Limits {
        Limits { allow_objects: self.objects, ..Limits::unlimited() }
    }

    /// Returns whether the engine reads the whole input and writes it back unchanged.
    pub fn is_canonical(&self) -> bool {
        self.accepted.as_ref().is_some_and(|engine| engine.is_reencoded(&self.bytes))
    }
}

/// Every vector that the engine wrote.
pub fn rows() -> Vec<Row> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/godot4.tsv");
    let text = fs::read_to_string(file).expect("`cargo xtask accept vectors` writes the vectors");
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

/// Returns whether the error is about values of another type in a typed Dictionary. The engine accepts such
/// values.
pub fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WrongElementType { container: "Dictionary's values", .. })
}

/// Reads one value, and writes it again without building it.
///
/// # Errors
/// Fails if the reader or the writer fails.
pub fn transcode(
    bytes: &[u8],
    strictness: Strictness,
    limits: &Limits,
    precision: Precision,
) -> Result<Vec<u8>> {
    let mut encoder =
        Encoder::new(Vec::new(), EncodeOptions { precision: Some(precision), ..EncodeOptions::default() });
    Decoder::new(bytes, strictness, limits).decode_only(&mut encoder)?;
    Ok(encoder.into_output())
}

/// The encoded size of the source's value.
///
/// # Errors
/// Fails if the source fails.
pub fn measure(mut source: impl Source, precision: Precision) -> Result<usize> {
    let mut measure =
        Measure::counting(EncodeOptions { precision: Some(precision), ..EncodeOptions::default() });
    source.write_into(&mut measure)?;
    Ok(measure.bytes())
}

/// Calls `look` with the value and everything inside it.
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

/// Returns whether `is` holds for the value or anything inside it.
pub fn any_inside(value: &Value, is: impl Fn(&Value) -> bool) -> bool {
    let mut found = false;
    visit(value, &mut |inner| found |= is(inner));
    found
}

/// Returns whether an element of a typed Array, or a key of a typed Dictionary, has another type. The engine
/// converts or drops such an element or key.
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

/// Returns whether a Dictionary contains keys that are equal for the engine, which merges them.
pub fn has_equal_keys(value: &Value) -> bool {
    any_inside(value, |inner| match inner {
        Value::Dictionary(dictionary) => {
            let mut known = HashSet::new();
            !dictionary.entries.iter().all(|(key, _)| known.insert(identity(key)))
        }
        _ => false,
    })
}

/// A text that is the same for keys that are equal for the engine. It ignores text types, signs of zeros, NaN
/// bits, lost precision of components, and declared types.
fn identity(key: &Value) -> String {
    match key {
        Value::Array(array) => format!("{:?}", array.values.iter().map(identity).collect::<Vec<_>>()),
        Value::Dictionary(dictionary) => {
            let entries = dictionary.entries.iter().map(|(key, value)| (identity(key), identity(value)));
            // The order does not count, because the engine compares Dictionaries in any order.
            let mut entries: Vec<_> = entries.collect();
            entries.sort();
            format!("{{{entries:?}}}")
        }
        _ => {
            let limits = Limits { allow_objects: true, ..Limits::unlimited() };
            let rounded =
                key.encode().and_then(|bytes| Value::decode_as(&bytes, Strictness::Lenient, &limits));
            format!("{:?}", rounded.as_ref().unwrap_or(key))
                .replace("StringName(", "String(")
                .replace("-0.0", "0.0")
        }
    }
}

/// A reader of an engine's output for a test: 32-bit numbers and length-prefixed bytes.
pub struct Records<'a>(pub &'a [u8]);

impl<'a> Records<'a> {
    /// The next number.
    ///
    /// # Errors
    /// Fails if no number is left.
    pub fn number(&mut self) -> anyhow::Result<usize> {
        let (number, rest) = self.0.split_first_chunk().context("the engine's output is cut")?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*number) as usize)
    }

    /// The next bytes.
    ///
    /// # Errors
    /// Fails if they are truncated.
    pub fn bytes(&mut self) -> anyhow::Result<&'a [u8]> {
        let length = self.number()?;
        let (bytes, rest) = self.0.split_at_checked(length).context("the engine's output is cut")?;
        self.0 = rest;
        Ok(bytes)
    }
}

/// Returns whether the value contains an object's instance id, which the engine replaces with a wrapper's id.
pub fn has_instance_ids(value: &Value) -> bool {
    any_inside(value, |inner| matches!(inner, Value::Object(Object::Id(_))))
}

/// The number of random bytes for a value.
const DRAWN: std::ops::Range<usize> = 0..800;

/// Options for random values. The engine writes all these values back unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values {
    /// The width of `real_t`.
    pub precision: Precision,
    /// Whether to make objects with class and properties, and containers typed by classes and scripts.
    pub full_objects: bool,
}

impl Values {
    /// A value of any type.
    pub fn any(self) -> impl Strategy<Value = Value> {
        let draw = move |bytes: Vec<u8>| self.draw(&mut Unstructured::new(&bytes));
        vec(any::<u8>(), DRAWN).prop_map(draw)
    }

    /// A value made of random bytes. After the last byte, zeros follow.
    pub fn draw(self, bytes: &mut Unstructured<'_>) -> Value {
        Draw { bytes, values: self }.any(DEPTH).expect("zeros follow the last byte")
    }
}

/// The maximum levels of containers in a random value.
const DEPTH: u32 = 6;

type Drawn<T> = arbitrary::Result<T>;

struct Draw<'a, 'b> {
    bytes: &'a mut Unstructured<'b>,
    values: Values,
}

impl Draw<'_, '_> {
    /// A value with at most `depth` levels of containers, which are more frequent than other types.
    fn any(&mut self, depth: u32) -> Drawn<Value> {
        match self.bytes.int_in_range(0..=9)? {
            0 => self.of(VariantType::Array, depth),
            1 => self.of(VariantType::Dictionary, depth),
            _ => {
                let ty = *self.bytes.choose(&VariantType::ALL)?;
                self.of(ty, depth)
            }
        }
    }

    fn of(&mut self, ty: VariantType, depth: u32) -> Drawn<Value> {
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
            T::Color => Value::Color(self.lanes(Self::float)?),
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
            T::PackedByteArray => Value::PackedByteArray(self.many(|draw| draw.bytes.arbitrary())?),
            T::PackedInt32Array => Value::PackedInt32Array(self.many(|draw| draw.bytes.arbitrary())?),
            T::PackedInt64Array => Value::PackedInt64Array(self.many(Self::int)?),
            T::PackedFloat32Array => Value::PackedFloat32Array(self.many(Self::float)?),
            T::PackedFloat64Array => Value::PackedFloat64Array(self.many(Self::double)?),
            T::PackedStringArray => Value::PackedStringArray(self.many(Self::text)?),
            T::PackedVector2Array => Value::PackedVector2Array(self.packed_reals()?),
            T::PackedVector3Array => Value::PackedVector3Array(self.packed_reals()?),
            T::PackedColorArray => Value::PackedColorArray(self.many(|draw| draw.lanes(Self::float))?),
            T::PackedVector4Array => Value::PackedVector4Array(self.packed_reals()?),
        })
    }

    /// A random number of items, mostly few.
    fn many<T>(&mut self, draw: impl Fn(&mut Self) -> Drawn<T>) -> Drawn<Vec<T>> {
        let most = if self.bytes.ratio(1, 16)? { 100 } else { 4 };
        let count = self.bytes.int_in_range(0..=most)?.min(self.bytes.len());
        (0..count).map(|_| draw(self)).collect()
    }

    fn int(&mut self) -> Drawn<i64> {
        let int: i64 = self.bytes.arbitrary()?;
        Ok(match self.bytes.int_in_range(0..=4)? {
            0 => int,
            1 => int >> 32,
            2 => int % 300,
            // Around the limits of 32 bits.
            3 => (int % 3) + i64::from(i32::MAX),
            _ => (int % 3) + i64::from(i32::MIN),
        })
    }

    /// A float with any bit pattern. Special patterns are more frequent.
    fn float(&mut self) -> Drawn<f32> {
        const SPECIAL: [u32; 9] =
            [0, 1, 1 << 31, 0x3F80_0000, 0x7F80_0000, 0xFF80_0000, 0x7F80_0001, 0x7FC0_0000, 0x7F7F_FFFF];
        let bits =
            if self.bytes.arbitrary()? { *self.bytes.choose(&SPECIAL)? } else { self.bytes.arbitrary()? };
        Ok(f32::from_bits(bits))
    }

    /// A float with any bit pattern. Special patterns and narrow floats are more frequent.
    fn double(&mut self) -> Drawn<f64> {
        const SPECIAL: [u64; 6] = [1, 1 << 63, 0x7FF0 << 48, 0xFFF0 << 48, (0x7FF0 << 48) + 1, 0x7FF8 << 48];
        Ok(match self.bytes.int_in_range(0..=2)? {
            0 => f64::from_bits(*self.bytes.choose(&SPECIAL)?),
            1 => f64::from_bits(self.bytes.arbitrary()?),
            // A narrow NaN may change in conversion.
            _ => match self.float()? {
                float if float.is_nan() => f64::NAN,
                float => float.into(),
            },
        })
    }

    /// Text that survives reading: no NUL, and no byte-order mark at the start.
    fn text(&mut self) -> Drawn<String> {
        const SPECIAL: [char; 11] = [
            '/',
            ':',
            '"',
            '\u{7F}',
            '\u{80}',
            '\u{7FF}',
            '\u{800}',
            '\u{D7FF}',
            '\u{FEFF}',
            '\u{FFFF}',
            '\u{10FFFF}',
        ];
        let text = self.many(|draw| match draw.bytes.int_in_range(0..=4)? {
            0 => draw.bytes.choose(&SPECIAL).copied(),
            1 => Ok(draw.bytes.arbitrary::<char>()?.max('\u{1}')),
            _ => Ok(draw.bytes.int_in_range(b' '..=b'~')?.into()),
        })?;
        Ok(String::from_iter(text).trim_start_matches(format::BOM).to_owned())
    }

    fn lanes<T: Copy + Default, const N: usize>(
        &mut self,
        draw: impl Fn(&mut Self) -> Drawn<T>,
    ) -> Drawn<[T; N]> {
        let mut lanes = [T::default(); N];
        for lane in &mut lanes {
            *lane = draw(self)?;
        }
        Ok(lanes)
    }

    fn reals<const N: usize>(&mut self) -> Drawn<Reals<N>> {
        Ok(match self.values.precision {
            Precision::Single => Reals::Single(self.lanes(Self::float)?),
            Precision::Double => Reals::Double(self.lanes(Self::double)?),
        })
    }

    fn packed_reals<const N: usize>(&mut self) -> Drawn<PackedReals<N>> {
        Ok(match self.values.precision {
            Precision::Single => PackedReals::Single(self.many(|draw| draw.lanes(Self::float))?),
            Precision::Double => PackedReals::Double(self.many(|draw| draw.lanes(Self::double))?),
        })
    }

    fn object(&mut self, depth: u32) -> Drawn<Object> {
        if depth == 0 || !self.values.full_objects || self.bytes.arbitrary()? {
            return Ok(Object::Id(self.bytes.arbitrary::<u64>()?.max(1)));
        }
        let class = self.name()?;
        let properties = self.many(|draw| Ok((draw.text()?, draw.any(depth - 1)?)))?;
        Ok(Object::Full { class, properties })
    }

    fn name(&mut self) -> Drawn<String> {
        let name = self.text()?;
        Ok(if name.is_empty() { "Node".to_owned() } else { name })
    }

    /// The declared type of a container's elements. Half of the containers are untyped.
    fn element(&mut self) -> Drawn<OwnedElementType> {
        Ok(match self.bytes.int_in_range(0..=7)? {
            0..4 => OwnedElementType::Untyped,
            4 if self.values.full_objects => OwnedElementType::Class(self.name()?),
            5 if self.values.full_objects => {
                OwnedElementType::Script(format!("{}{}", format::SCRIPT_PATH_PREFIX, self.text()?))
            }
            4 | 5 => OwnedElementType::Class(format::ENCODED_OBJECT_AS_ID.to_owned()),
            _ => match *self.bytes.choose(&VariantType::ALL)? {
                VariantType::Nil => OwnedElementType::Untyped,
                VariantType::Object if !self.values.full_objects => OwnedElementType::Untyped,
                ty => OwnedElementType::Builtin(ty),
            },
        })
    }

    /// A value for a container with this element type.
    fn taken_by(&mut self, element: &OwnedElementType, depth: u32) -> Drawn<Value> {
        match element {
            OwnedElementType::Untyped => self.any(depth),
            OwnedElementType::Builtin(ty) if *ty != VariantType::Object => self.of(*ty, depth),
            _ if self.bytes.arbitrary()? => Ok(Value::Nil),
            _ => Ok(Value::Object(self.object(depth)?)),
        }
    }

    fn array(&mut self, depth: u32) -> Drawn<Array> {
        if depth == 0 {
            return Ok(Array::default());
        }
        let element = self.element()?;
        let values = self.many(|draw| draw.taken_by(&element, depth - 1))?;
        Ok(Array { element, values })
    }

    /// A Dictionary whose keys are distinct for the engine.
    fn dictionary(&mut self, depth: u32) -> Drawn<Dictionary> {
        if depth == 0 {
            return Ok(Dictionary::default());
        }
        let (key, value) = (self.element()?, self.element()?);
        let entry =
            |draw: &mut Self| Ok((draw.taken_by(&key, depth - 1)?, draw.taken_by(&value, depth - 1)?));
        let mut entries = self.many(entry)?;
        let mut known = HashSet::new();
        entries.retain(|(key, _)| known.insert(identity(key)));
        Ok(Dictionary { key, value, entries })
    }
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

/// Random damage, mostly words that mean something to a reader: headers, counts and flags.
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
