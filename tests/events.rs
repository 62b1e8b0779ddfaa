//! The events that a decoder sends to a sink, also to one that accepts several values at once as a part. `parts.rs` and
//! the fuzz target `parts` compare parts with the whole.

use std::ops::Range;

use conformance::{Values, transcode};
use proptest::{prop_assert_eq, proptest};
use variant_codec::stream::{
    Decoder, ElementType, Encoder, Lanes, NodePathParts, Part, PartSink, Precision, Sink, Source, Text,
};
use variant_codec::{Error, ErrorKind, Limits, Object, Result, Strictness, Value, VariantType};

#[derive(Debug, Default)]
struct Log {
    events: Vec<String>,
    part_bytes: Option<usize>,
}

impl Log {
    fn add(&mut self, event: impl Into<String>) -> Result<()> {
        self.events.push(event.into());
        Ok(())
    }

    fn add_part(&mut self, what: &str, part: &Part) -> Result<()> {
        let Part { bytes: Range { start, end }, count, depth } = part;
        self.add(format!("{what} {start}..{end}: {count} at level {depth}"))
    }
}

/// Each method of a sink, with the event that it records.
macro_rules! logged {
    ($($name:ident($($argument:ident: $ty:ty),*) => $event:expr;)*) => {
        $(fn $name(&mut self, $($argument: $ty),*) -> Result<()> {
            self.add($event)
        })*
    };
}

impl Sink for Log {
    type Array = ();
    type Dictionary = ();
    type Object = ();
    type Strings = ();

    logged! {
        nil() => "nil";
        bool(value: bool) => value.to_string();
        int(value: i64) => value.to_string();
        float(value: f64) => value.to_string();
        text(ty: VariantType, text: Text<'_>) => format!("{ty} {}", text.to_lossy());
        fixed(ty: VariantType, _lanes: Lanes<'_>) => ty.name();
        packed(ty: VariantType, _lanes: Lanes<'_>) => ty.name();
        node_path(_path: NodePathParts<'_>) => "NodePath";
        rid(id: u64) => format!("RID {id}");
        callable() => "Callable";
        signal(name: Text<'_>, _object: u64) => format!("Signal {}", name.to_lossy());
        object_id(id: u64) => format!("Object {id}");
        begin_array(len: usize, element: ElementType<'_>) => format!("[ {len} of {element}");
        end_element(_array: &mut ()) => ",";
        end_array(_array: ()) => "]";
        begin_dictionary(len: usize, key: ElementType<'_>, value: ElementType<'_>) => format!("{{ {len} of {key}, {value}");
        begin_value(_dictionary: &mut ()) => ":";
        end_entry(_dictionary: &mut ()) => ",";
        end_dictionary(_dictionary: ()) => "}";
        begin_object(class: Text<'_>, properties: usize) => format!("{} {properties} (", class.to_lossy());
        begin_property(_object: &mut (), name: Text<'_>) => format!("{} =", name.to_lossy());
        end_property(_object: &mut ()) => ",";
        end_object(_object: ()) => ")";
        begin_strings(len: usize) => format!("< {len}");
        string(_strings: &mut (), text: Text<'_>) => text.to_lossy();
        end_strings(_strings: ()) => ">";
    }

    fn in_parts(&mut self) -> Option<&mut impl PartSink<Self>> {
        self.part_bytes.is_some().then_some(self)
    }
}

impl PartSink<Self> for Log {
    fn part_bytes(&self) -> usize {
        self.part_bytes.unwrap_or(usize::MAX)
    }
    fn part(&mut self, (): &mut (), part: Part) -> Result<()> {
        self.add_part("elements", &part)
    }
    fn strings_part(&mut self, (): &mut (), part: Part) -> Result<()> {
        self.add_part("strings", &part)
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    hex::decode(hex.replace(' ', "")).expect("hexadecimal bytes")
}

/// Returns the events of these bytes, and checks that both strictness levels agree.
fn read(bytes: &[u8], limits: &Limits, log: impl Fn() -> Log) -> Result<String> {
    let [engine, strict] = [Strictness::Lenient, Strictness::Strict].map(|strictness| {
        let mut log = log();
        Decoder::new(bytes, strictness, limits).decode_only(&mut log)?;
        Ok(log.events.join(" "))
    });
    assert_eq!(engine, strict, "{}", hex::encode(bytes));
    engine
}

#[track_caller]
fn check(hex: &str, log: impl Fn() -> Log, expected: &str) {
    let events = read(&bytes(hex), &Limits::unlimited(), log);
    assert_eq!(events.as_deref(), Ok(expected), "{hex}");
}

fn in_parts(part_bytes: usize) -> impl Fn() -> Log {
    move || Log { part_bytes: Some(part_bytes), ..Log::default() }
}

const TEXTS: &str = "22000000 03000000 03000000 68700000 03000000 c3a90000 01000000 00000000";

/// A text of two letters: twelve bytes.
const HP: &str = "04000000 02000000 68700000";

fn array_of(elements: &[&str]) -> String {
    format!("1c000000 {} {}", hex::encode((elements.len() as u32).to_le_bytes()), elements.join(" "))
}

fn text_of(letters: usize) -> String {
    format!("04000000 {} {}", hex::encode((letters as u32).to_le_bytes()), "61".repeat(letters))
}

#[test]
fn keys_are_not_split() {
    let texts = "22000000 03000000 02000000 61000000 02000000 62000000 02000000 63000000";
    let keys = format!(
        "1b000000 02000000 {} 00000000 {} 00000000",
        array_of(&[HP; 4]),
        array_of(&[texts, &format!("1b000000 01000000 00000000 {}", text_of(56))]),
    );
    check(
        &keys,
        in_parts(10),
        &format!(
            "{{ 2 of Variant, Variant [ 4 of Variant String hp , String hp , String hp , String hp , ] : nil , \
             [ 2 of Variant < 3 a b c > , {{ 1 of Variant, Variant nil : String {} , }} , ] : nil , }}",
            "a".repeat(56)
        ),
    );
    // After the key, the reader splits values again.
    let value = format!("1b000000 01000000 {} {}", array_of(&["00000000"]), array_of(&[HP; 3]));
    check(
        &value,
        in_parts(20),
        "{ 1 of Variant, Variant [ 1 of Variant nil , ] : \
         [ 3 of Variant elements 28..52: 2 at level 2 elements 52..64: 1 at level 2 ] , }",
    );
}

/// Repeated searches for the ends of values at each level must not take quadratic time.
#[test]
fn searches_for_ends_take_linear_time() {
    let nested = |opener: &str, depth: usize, inside: &str| format!("{}{inside}", opener.repeat(depth));
    let arrays = |depth| nested("1c00000001000000", depth, &array_of(&[HP; 4]));
    let events =
        |hex: &str, part_bytes| read(&bytes(hex), &Limits::unlimited(), in_parts(part_bytes)).unwrap();
    assert!(events(&arrays(4), 40).contains("elements 40..88: 4 at level 5"), "{}", events(&arrays(4), 40));
    assert!(!events(&arrays(100), 40).contains("elements"));
    // A search that fails counts as well: it does not know this old form of a NodePath.
    let path = "16000000 01000080 00000000 02000000 01000000 61000000 01000000 61000000";
    let failing = |depth| nested("1c00000001000000", depth, &array_of(&[&[HP; 80][..], &[path]].concat()));
    let has_parts = |depth| {
        let mut log = in_parts(2000)();
        let hex = array_of(&[&failing(depth), &array_of(&[HP; 200])]);
        let hex = bytes(&hex);
        Decoder::new(&hex, Strictness::Lenient, &Limits::unlimited()).write_into(&mut log).expect("lenient");
        log.events.iter().any(|event| event.contains("elements"))
    };
    assert!(has_parts(1));
    assert!(!has_parts(100));
}

/// The decoder of a part detects wrong bounds.
#[test]
fn wrong_bounds_of_parts_are_detected() {
    let limits = Limits::unlimited();
    let array = bytes(&array_of(&[HP; 4]));
    let texts = bytes(TEXTS);
    let elements = |bytes: Range<usize>, count, depth| {
        let mut log = Log::default();
        let part = Part { bytes, count, depth };
        Decoder::new(&array, Strictness::Strict, &limits).decode_part(&part, &mut log, &mut ())?;
        Ok(log.events.join(" "))
    };
    let strings = |bytes: Range<usize>, count| {
        let mut log = Log::default();
        let part = Part { bytes, count, depth: 0 };
        Decoder::new(&texts, Strictness::Strict, &limits).decode_strings_part(&part, &mut log, &mut ())?;
        Ok(log.events.join(" "))
    };
    assert_eq!(elements(20..44, 2, 1).as_deref(), Ok("String hp , String hp ,"));
    assert_eq!(strings(16..32, 2).as_deref(), Ok("é "));
    for wrong in [elements(20..45, 2, 1), elements(20..40, 2, 1), strings(16..31, 2), strings(8..32, 2)] {
        let error: Error = wrong.expect_err("ends elsewhere");
        assert!(matches!(error.kind(), ErrorKind::Argument(_)), "{error}");
        assert!([Some(44), Some(32), Some(24)].contains(&error.offset()), "{error}");
    }
    let error = elements(20..44, 2, 1025).expect_err("a level too deep");
    assert_eq!(error.kind(), &ErrorKind::TooDeep);
    assert!(elements(20..44, 2, 1024).is_ok());
}

/// A sink that opens containers and uses the default methods for all other values.
#[derive(Default)]
struct Least {
    others: Option<Vec<VariantType>>,
}

impl Sink for Least {
    type Array = ();
    type Dictionary = ();
    type Object = ();
    type Strings = ();

    fn other(&mut self, ty: VariantType) -> Result<()> {
        match &mut self.others {
            Some(others) => others.push(ty),
            None => return Encoder::<Vec<u8>>::default().other(ty),
        }
        Ok(())
    }
    fn begin_array(&mut self, _len: usize, _element: ElementType<'_>) -> Result<()> {
        Ok(())
    }
    fn begin_dictionary(&mut self, _: usize, _: ElementType<'_>, _: ElementType<'_>) -> Result<()> {
        Ok(())
    }
    fn begin_object(&mut self, _class: Text<'_>, _properties: usize) -> Result<()> {
        Ok(())
    }
    fn begin_strings(&mut self, _len: usize) -> Result<()> {
        Ok(())
    }
}

/// If a sink lacks a method for a value, it receives the type of the value. By default, it refuses such
/// values.
#[test]
fn values_without_a_method_are_announced_or_refused() {
    proptest!(|(value in Values { full_objects: true, ..Values::default() }.any())| {
        let mut expected = Vec::new();
        leaves(&value, &mut expected);
        let mut least = Least { others: Some(Vec::new()) };
        (&value).write_into(&mut least).expect("it takes everything");
        prop_assert_eq!((least.others.as_ref(), least.written()), (Some(&expected), 0));
        let refused = (&value).write_into(&mut Least::default());
        prop_assert_eq!(refused.is_ok(), expected.is_empty());
        if let Err(error) = refused {
            let says = format!("this sink does not accept {}", expected[0]);
            prop_assert_eq!(error.kind(), &ErrorKind::Argument(says.into()));
        }
    });
}

/// The types of the leaves, in wire order. Texts of a PackedStringArray count as Strings.
fn leaves(value: &Value, found: &mut Vec<VariantType>) {
    match value {
        Value::Array(array) => array.iter().for_each(|value| leaves(value, found)),
        Value::Dictionary(dictionary) => dictionary.iter().for_each(|(key, value)| {
            leaves(key, found);
            leaves(value, found);
        }),
        Value::Object(Object::Full { properties, .. }) => {
            properties.iter().for_each(|(_, value)| leaves(value, found));
        }
        Value::Object(Object::Null) => found.push(VariantType::Nil),
        Value::PackedStringArray(texts) => found.extend(texts.iter().map(|_| VariantType::String)),
        other => found.push(other.ty()),
    }
}

#[test]
fn runs_are_written_one_by_one_by_default() {
    for (number, event) in [(Value::Float(0.5), "0.5"), (Value::Int(7), "7")] {
        let mut log = Log::default();
        (&Value::from(vec![number; 2])).write_into(&mut log).expect("a small value");
        assert_eq!(log.events.join(" "), format!("[ 2 of Variant {event} , {event} , ]"));
    }
}

/// Components may resemble headers.
#[test]
fn wide_components_are_not_taken_for_headers() {
    let quaternion = format!("0f000100 {}", "0f".repeat(32));
    let wide = bytes(&array_of(&[quaternion.as_str(); 3]));
    let again = transcode(&wide, Strictness::Strict, &Limits::unlimited(), Precision::Double);
    assert_eq!(again, Ok(wide));
}

#[test]
fn objects_end_their_level() {
    let object = "18000000 01000000 41000000 01000000 01000000 62000000 00000000";
    let objects = Limits { allow_objects: true, ..Limits::unlimited() };
    assert!(read(&bytes(&array_of(&vec![object; 1100])), &objects, Log::default).is_ok());
}

#[test]
fn runs_count_as_a_level() {
    let nested = |arrays| {
        (0..arrays).fold(Value::from(vec![Value::Int(1), Value::Int(2)]), |inside, _| vec![inside].into())
    };
    let levels = |arrays| conformance::with_stack(64 << 20, move || nested(arrays).encode().map(drop));
    assert_eq!(levels(1023), Ok(()));
    assert_eq!(levels(1024).expect_err("too deep").kind(), &ErrorKind::TooDeep);
}
