//! The events that a decoder sends to a sink that accepts raw text, or several values at once as a part.

use std::collections::BTreeSet;
use std::ops::Range;

use conformance::{Row, Values, rows, transcode};
use proptest::{prop_assert_eq, proptest};
use variant_codec::format::Shape;
use variant_codec::stream::{
    Buffer, Decoder, ElementType, Encoder, Lanes, NodePathParts, Part, PartSink, Precision, Sink, Source,
    Text,
};
use variant_codec::{
    EncodeOptions, Error, ErrorKind, Limits, Object, Reals, Result, Strictness, Value, VariantType,
};

#[derive(Debug, Default)]
struct Log {
    events: Vec<String>,
    /// Selects the text that the sink accepts unchecked.
    takes_raw: Option<fn(&[u8]) -> bool>,
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

    fn raw(&mut self, what: &str, bytes: &[u8]) -> Result<bool> {
        let taken = self.takes_raw.is_some_and(|takes| takes(bytes));
        if taken {
            self.add(format!("raw {what} {}", String::from_utf8_lossy(bytes)))?;
        }
        Ok(taken)
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

    fn raw_text(&mut self, ty: VariantType, bytes: &[u8]) -> Result<bool> {
        self.raw(ty.name(), bytes)
    }
    fn raw_string(&mut self, (): &mut (), bytes: &[u8]) -> Result<bool> {
        self.raw("string", bytes)
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

fn raw() -> Log {
    Log { takes_raw: Some(<[u8]>::is_ascii), ..Log::default() }
}

fn in_parts(part_bytes: usize) -> impl Fn() -> Log {
    move || Log { part_bytes: Some(part_bytes), ..Log::default() }
}

const TEXTS: &str = "22000000 03000000 03000000 68700000 03000000 c3a90000 01000000 00000000";

#[test]
fn a_sink_may_accept_raw_text() {
    check("04000000 02000000 68700000", raw, "raw String hp");
    check("15000000 00000000", raw, "raw StringName ");
    check("04000000 02000000 c3a90000", raw, "String é");
    check(TEXTS, raw, "< 3 raw string hp é raw string  >");
    check(TEXTS, Log::default, "< 3 hp é  >");
}

/// Even a sink that accepts raw text receives text without its leading byte-order mark.
#[test]
fn raw_text_has_no_byte_order_mark() {
    let limits = Limits::unlimited();
    for (hex, expected) in [
        ("04000000 04000000 efbbbf61", "String a"),
        ("04000000 03000000 efa8a900", "String \u{FA29}"),
        ("22000000 02000000 05000000 efbbbf61 00000000 02000000 61000000", "< 2 a raw string a >"),
    ] {
        let mut log = Log { takes_raw: Some(|_| true), ..Log::default() };
        Decoder::new(&bytes(hex), Strictness::Lenient, &limits)
            .write_into(&mut log)
            .expect("what the engine reads");
        assert_eq!(log.events.join(" "), expected, "{hex}");
    }
}

/// Limits that just suffice for checked text also just suffice for raw text.
#[test]
fn limits_count_raw_and_checked_text_alike() {
    let array = format!("1c000000 02000000 {TEXTS} 04000000 02000000 68700000");
    let mut accepted = 0;
    for number in 0..2000 {
        for limits in [
            Limits { max_memory: number, ..Limits::unlimited() },
            Limits { max_elements: number / 100, ..Limits::unlimited() },
        ] {
            let plain = read(&bytes(&array), &limits, Log::default);
            let taken = read(&bytes(&array), &limits, raw).map(|events| events.replace("raw string ", ""));
            let taken = taken.map(|events| events.replace("raw ", ""));
            assert_eq!(taken, plain, "{limits:?}");
            accepted += usize::from(plain.is_ok());
        }
    }
    assert!((100..3900).contains(&accepted), "{accepted} limits are enough");
}

/// A text of two letters: twelve bytes.
const HP: &str = "04000000 02000000 68700000";

fn array_of(elements: &[&str]) -> String {
    format!("1c000000 {} {}", hex::encode((elements.len() as u32).to_le_bytes()), elements.join(" "))
}

#[test]
fn elements_come_in_parts_of_the_least_size() {
    let four = array_of(&[HP; 4]);
    let whole = "[ 4 of Variant String hp , String hp , String hp , String hp , ]";
    check(&four, in_parts(48), whole);
    check(&four, in_parts(47), "[ 4 of Variant elements 8..56: 4 at level 1 ]");
    let halves = "[ 4 of Variant elements 8..32: 2 at level 1 elements 32..56: 2 at level 1 ]";
    for part_bytes in 13..=24 {
        check(&four, in_parts(part_bytes), halves);
    }
    check(&four, in_parts(25), "[ 4 of Variant elements 8..44: 3 at level 1 elements 44..56: 1 at level 1 ]");
    // So few bytes are not worth a part, whatever follows.
    let followed = format!("{} {}", array_of(&[HP; 2]), "00".repeat(100));
    check(&followed, in_parts(40), "[ 2 of Variant String hp , String hp , ]");
}

#[test]
fn larger_elements_are_split() {
    let hex = array_of(&[HP, &array_of(&[HP; 3]), HP]);
    check(
        &hex,
        in_parts(20),
        "[ 3 of Variant elements 8..20: 1 at level 1 \
         [ 3 of Variant elements 28..52: 2 at level 2 elements 52..64: 1 at level 2 ] , \
         elements 64..76: 1 at level 1 ]",
    );
    // An element of exactly the part size is a part of its own.
    check(&hex, in_parts(44), "[ 3 of Variant elements 8..64: 2 at level 1 elements 64..76: 1 at level 1 ]");
    check(
        &hex,
        in_parts(43),
        "[ 3 of Variant elements 8..20: 1 at level 1 \
         [ 3 of Variant String hp , String hp , String hp , ] , elements 64..76: 1 at level 1 ]",
    );
}

#[test]
fn leading_numbers_are_not_delegated() {
    let (one, two) = ("02000000 01000000", "02000000 02000000");
    check(
        &array_of(&[one, two, HP, HP, HP]),
        in_parts(20),
        "[ 5 of Variant 1 , 2 , elements 24..48: 2 at level 1 elements 48..60: 1 at level 1 ]",
    );
    let float = "03000000 0000003f";
    check(&array_of(&[one, two, float, float]), in_parts(20), "[ 4 of Variant 1 , 2 , 0.5 , 0.5 , ]");
}

/// Elements that a typed container may convert, drop or refuse never come in parts, and neither do Objects.
#[test]
fn elements_that_may_be_converted_are_not_delegated() {
    let typed = |ty: &str| format!("1c000100 {ty} 04000000 {}", [HP; 4].join(" "));
    check(
        &typed("04000000"),
        in_parts(20),
        "[ 4 of String elements 12..36: 2 at level 1 elements 36..60: 2 at level 1 ]",
    );
    let mut log = in_parts(20)();
    let limits = Limits::unlimited();
    Decoder::new(&bytes(&typed("15000000")), Strictness::Lenient, &limits)
        .write_into(&mut log)
        .expect("as the engine");
    assert_eq!(log.events.join(" "), "[ 4 of StringName String hp , String hp , String hp , String hp , ]");
    let ids = format!("1c000100 18000000 04000000 {}", "18000100 05000000 00000000".repeat(4));
    let objects = Limits { allow_objects: true, ..Limits::unlimited() };
    assert_eq!(
        read(&bytes(&ids), &objects, in_parts(20)).as_deref(),
        Ok("[ 4 of Object Object 5 , Object 5 , Object 5 , Object 5 , ]")
    );
}

#[test]
fn objects_with_properties_are_not_delegated() {
    let object = "18000000 01000000 41000000 00000000";
    let limits = Limits { allow_objects: true, ..Limits::unlimited() };
    let events = read(&bytes(&array_of(&[HP, HP, object, HP, HP])), &limits, in_parts(20));
    assert_eq!(
        events.as_deref(),
        Ok("[ 5 of Variant elements 8..32: 2 at level 1 A 0 ( ) , String hp , String hp , ]")
    );
}

#[test]
fn texts_come_in_parts_of_the_least_size() {
    let text = "03000000 68700000";
    let strings = |count: usize| format!("22000000 0{count}000000 {}", text.repeat(count));
    check(&strings(4), in_parts(32), "< 4 hp hp hp hp >");
    check(&strings(4), in_parts(31), "< 4 strings 8..40: 4 at level 0 >");
    for part_bytes in 9..=16 {
        check(
            &strings(4),
            in_parts(part_bytes),
            "< 4 strings 8..24: 2 at level 0 strings 24..40: 2 at level 0 >",
        );
    }
    check(&strings(3), in_parts(16), "< 3 strings 8..24: 2 at level 0 hp >");
    check(&array_of(&[&strings(3)]), in_parts(20), "[ 1 of Variant < 3 strings 16..40: 3 at level 1 > , ]");
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

/// Returns whether the value has properties, which no part may contain.
fn has_properties(bytes: &[u8], limits: &Limits) -> bool {
    let mut log = Log::default();
    Decoder::new(bytes, Strictness::Lenient, limits).write_into(&mut log).expect("a canonical value");
    log.events.iter().any(|event| event.ends_with('('))
}

/// For every value that the engine writes, the reader finds the end of the value without decoding it.
#[test]
fn values_of_every_type_come_in_parts() {
    let mut types = BTreeSet::new();
    for row in rows().into_iter().filter(Row::is_canonical) {
        let (limits, len) = (row.limits(), row.bytes.len());
        let reads = transcode(&row.bytes, Strictness::Lenient, &limits, Precision::Single).is_ok();
        if !reads || has_properties(&row.bytes, &limits) {
            continue;
        }
        let array = bytes(&array_of(&[HP, &hex::encode(&row.bytes), HP]));
        let events = |part_bytes| {
            let mut log = in_parts(part_bytes)();
            Decoder::new(&array, Strictness::Lenient, &limits)
                .decode_only(&mut log)
                .expect("canonical values");
            log.events.join(" ")
        };
        let whole = format!("[ 3 of Variant elements 8..{}: 3 at level 1 ]", array.len());
        assert_eq!(events(array.len() - 9), whole, "{}", row.label);
        let ty = VariantType::from_id(row.bytes[0]).expect("a canonical header");
        let is_long = !matches!(ty.shape(), Shape::Fixed(..)) && len > 24;
        if is_long {
            let as_large = format!("[ 3 of Variant elements 8..{}: 2 at level 1 elements", 20 + len);
            assert!(events(len).starts_with(&as_large), "{}: {}", row.label, events(len));
            let cut = events(len - 1);
            assert!(cut.starts_with("[ 3 of Variant elements 8..20: 1 at level 1 "), "{}: {cut}", row.label);
        }
        types.insert((ty, is_long));
    }
    for ty in VariantType::ALL {
        assert!(types.contains(&(ty, false)) || types.contains(&(ty, true)), "no {ty}");
    }
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

/// An error of the sink within a run has an offset.
#[test]
fn errors_of_a_sink_in_a_run_have_an_offset() {
    let limits = Limits::unlimited();
    let vector = |number: f32| Value::Vector2(Reals::Single([number; 2]));
    let kinds = [Value::Int(7), Value::Float(0.5), vector(1.0)];
    for kind in kinds {
        let bytes = Value::from(vec![kind.clone(); 100]).encode().expect("a small value");
        let size = (bytes.len() - 8) / 100;
        for place in [0, 1, 41, 98] {
            let at = 8 + size * place;
            let mut room = vec![0; at + size - 1];
            let mut encoder = Encoder::new(Buffer::new(room.as_mut_slice()), EncodeOptions::default());
            let error = Decoder::new(&bytes, Strictness::Strict, &limits)
                .write_into(&mut encoder)
                .expect_err("no room");
            assert_eq!((error.offset(), error.path()), (Some(at), format!("[{place}]")), "{kind:?}");
        }
    }
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
