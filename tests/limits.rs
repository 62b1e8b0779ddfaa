//! Limits: the costs that they count, the totals that several values share, and the error messages.

use variant_codec::limits::{Limit, Spent};
use variant_codec::stream::{Decoder, Measure, Source, ValueBuilder};
use variant_codec::{EncodeOptions, ErrorKind, Limits, Result, Strictness, Value, VariantType};
use variant_protobuf::{DecodeOptions, Defaults, MessageDecoder, Schema};

fn read(bytes: &[u8], limits: &Limits, spent: Spent) -> Result<Spent> {
    let mut decoder = Decoder::new(bytes, Strictness::Strict, limits).after(spent);
    let mut builder = ValueBuilder::default();
    decoder.decode_only(&mut builder).map(|_| decoder.spent())
}

/// If [`Limits::admit_all_of`] accepts a length, no input of that length exceeds the limits on the whole input.
#[test]
fn limits_for_a_length_accept_all_data_of_that_length() {
    let none = Limits::unlimited();
    // Nested Dictionaries, each the only key of the outer one: the most expensive input per byte.
    let mut costly = [0x1B, 0, 0, 0, 1, 0, 0, 0].repeat(50);
    costly.extend([0x1B, 0, 0, 0, 0, 0, 0, 0]);
    costly.extend([0; 4].repeat(50));
    let least = (0..1_000_000)
        .find(|memory| Limits { max_memory: *memory * 16, ..none.clone() }.admit_all_of(costly.len()));
    let max_memory = least.expect("16 MB are enough") * 16;
    assert!(read(&costly, &Limits { max_memory, ..none.clone() }, Spent::default()).is_ok());
    assert!(none.admit_all_of(usize::MAX));
    let elements = |max_elements| Limits { max_elements, ..none.clone() };
    assert!(elements(100).admit_all_of(100) && !elements(99).admit_all_of(100));
    assert!(!Limits { max_key_comparisons: u64::MAX - 1, ..none.clone() }.admit_all_of(1));
    assert!(!Limits { max_memory: 0, ..none.clone() }.admit_all_of(1));
    assert!(!Limits::for_network().admit_all_of(1));
}

/// A Dictionary costs the square of its entries, more if its keys are long, and names cost by how many differ.
#[test]
fn key_comparisons_are_limited() {
    let name = |index: i64| Value::StringName(index.to_string());
    let rows: [(Value, u64); 6] = [
        (Value::from_iter((0..10).map(|key| (key, 0))), 100),
        (Value::from(vec![Value::from_iter((0..10).map(|key| (key, 0))); 5]), 500),
        (Value::from_iter((0..10).map(|key| (format!("{key:0128}"), 0))), 100 + 10 * 10 * 2),
        ((0..10).map(name).collect(), 45),
        ((0..10).map(name).chain((0..10).map(name)).collect(), 45 + 10 * (10 / 4)),
        (Value::from_iter((0..10).map(|index| (name(index), 0))), 100 + 45),
    ];
    for (value, comparisons) in rows {
        let bytes = value.encode().unwrap();
        let limits = |max_key_comparisons| Limits { max_key_comparisons, ..Limits::for_save_files() };
        assert!(read(&bytes, &limits(comparisons), Spent::default()).is_ok(), "{value:?}");
        let error = read(&bytes, &limits(comparisons - 1), Spent::default()).unwrap_err();
        assert_eq!(
            error.kind(),
            &ErrorKind::LimitExceeded(Limit::KeyComparisons, comparisons - 1),
            "{value:?}"
        );
    }
    // Values that share the limits share the names, too.
    let names = (0..10).map(name).collect::<Value>().encode().unwrap();
    let limits = Limits { max_key_comparisons: 45 + 10 * (10 / 4), ..Limits::for_save_files() };
    let spent = read(&names, &limits, Spent::default()).unwrap();
    let spent = read(&names, &limits, spent).unwrap();
    assert!(read(&names, &limits, spent).is_err());
}

/// Values that are read one after the other share the limits on totals.
#[test]
fn spent_limits_add_up() {
    let three = [0x1C, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let limits = Limits { max_elements: 8, ..Limits::for_save_files() };
    let first = read(&three, &limits, Spent::default()).unwrap();
    let second = read(&three, &limits, first).unwrap();
    let error = read(&three, &limits, second).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::LimitExceeded(Limit::Elements, 8));

    let memory = |max_memory| Limits { max_memory, ..Limits::for_save_files() };
    let one = 24 + 112 + 80 + 2 * 24;
    for count in 1..5 {
        let limits = memory(one * count);
        let spent = (0..count).try_fold(Spent::default(), |spent, _| read(&three, &limits, spent)).unwrap();
        let error = read(&three, &limits, spent).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::LimitExceeded(Limit::Memory, one * count));
    }
}

/// Values too large for a slot are stored outside of it, in blocks of the engine's pools.
#[test]
fn large_values_are_charged_in_addition_to_their_slots() {
    for (ty, components, beside) in [
        (VariantType::Vector4, 4, 0),
        (VariantType::Transform2D, 6, 24),
        (VariantType::Aabb, 6, 24),
        (VariantType::Basis, 9, 48),
        (VariantType::Transform3D, 12, 48),
        (VariantType::Projection, 16, 64),
    ] {
        let mut bytes = vec![ty.id(), 0, 0, 0];
        bytes.extend([0; 4].repeat(components));
        let memory = |max_memory| Limits { max_memory, ..Limits::for_save_files() };
        assert!(read(&bytes, &memory(24 + beside), Spent::default()).is_ok(), "{ty}");
        assert!(read(&bytes, &memory(23 + beside), Spent::default()).is_err(), "{ty}");
        // An Array of such values is read as a run.
        let mut run = vec![0x1C, 0, 0, 0, 200, 0, 0, 0];
        run.extend(bytes.repeat(200));
        let all = 24 + 112 + 80 + 200 * (24 + beside);
        assert!(read(&run, &memory(all), Spent::default()).is_ok(), "{ty}");
        let error = read(&run, &memory(all - 1), Spent::default()).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::LimitExceeded(Limit::Memory, all - 1), "{ty}");
        let elements = |max_elements| Limits { max_elements, ..Limits::for_save_files() };
        assert!(read(&run, &elements(201), Spent::default()).is_ok(), "{ty}");
        assert!(read(&run, &elements(200), Spent::default()).is_err(), "{ty}");
    }
}

/// The engine puts an empty value into each element of a new typed Array. The limits refuse the Array before
/// the engine creates it.
#[test]
fn defaults_of_typed_arrays_are_charged_first() {
    const COUNT: u32 = 10_000;
    let limits = Limits { max_memory: 800_000, ..Limits::for_save_files() };
    let breach = |element: VariantType| {
        let header = [28 | 1 << 16, element.id().into(), COUNT];
        let elements = [u32::from(element.id()), 0].repeat(COUNT as usize);
        let bytes: Vec<u8> = header.into_iter().chain(elements).flat_map(u32::to_le_bytes).collect();
        read(&bytes, &limits, Spent::default()).expect_err("much memory").to_string()
    };
    let refused = "max_memory";
    for element in [VariantType::Dictionary, VariantType::Array, VariantType::PackedInt32Array] {
        let message = breach(element);
        // The error is not at an element: the message contains no path.
        assert!(message.contains(refused) && !message.contains('['), "{element}: {message}");
    }
    // 10,000 slots of 24 bytes are within the limit.
    let message = breach(VariantType::String);
    assert!(message.contains(refused) && message.contains('['), "{message}");
}

#[test]
fn errors_name_the_limit_and_how_to_raise_it() {
    for (limit, name, what) in [
        (Limit::Bytes, "max_bytes", "bytes of input"),
        (Limit::Depth, "max_depth", "levels of nesting"),
        (Limit::Elements, "max_elements", "values"),
        (Limit::Memory, "max_memory", "bytes of memory"),
        (
            Limit::KeyComparisons,
            "max_key_comparisons",
            "possible key comparisons (n × n for a Dictionary of n entries)",
        ),
    ] {
        let sentence = format!("more than 7 {what}; raise `{name}` if this is expected");
        assert_eq!(ErrorKind::LimitExceeded(limit, 7).to_string(), sentence);
    }
}

/// The decoder also charges for the memory that it needs besides the value, so reading any message takes at
/// most `max_memory` plus 64 KiB.
#[test]
fn messages_are_charged_for_the_memory_to_read_them() {
    const SIZE: usize = 1 << 20;
    const BESIDE: u64 = 64 << 10;
    let text = r#"
        syntax = "proto2";
        enum Team { RED = 1; BLUE = 2; }
        message M {
            optional int32 a = 1; optional int32 b = 2; repeated int32 numbers = 3; repeated int32 packed = 4 [packed = true];
            repeated Team teams = 5; repeated Team packed_teams = 6 [packed = true]; map<int32, int32> map = 7;
            oneof choice { int32 one = 8; int32 two = 9; group G = 10 {} } repeated M inner = 11; repeated string texts = 12;
            repeated bytes blobs = 13; repeated group R = 14 { repeated group S = 2 {} }
        }
    "#;
    let schema = Schema::compile("m.proto", |name| (name == "m.proto").then(|| text.to_owned())).unwrap();
    let message = schema.message("M").unwrap();
    let record = |tag: u8, bytes: Vec<u8>| {
        let mut len = bytes.len();
        let mut record = vec![tag];
        while len >= 0x80 {
            record.push(len as u8 | 0x80);
            len >>= 7;
        }
        record.push(len as u8);
        record.extend(bytes);
        record
    };
    let mut most = 0;
    for (name, bytes) in [
        ("two numbers in turn", [8, 1, 16, 1].repeat(SIZE / 4)),
        ("numbers without packing", [24, 1].repeat(SIZE / 2)),
        ("packed numbers", record(34, vec![1; SIZE])),
        ("enums without packing", [40, 1].repeat(SIZE / 2)),
        ("packed enums", record(50, vec![1; SIZE])),
        ("packed enums without a name", record(50, vec![3; SIZE])),
        ("entries", [58, 0].repeat(SIZE / 2)),
        ("members of a oneof in turn", [64, 1, 72, 1].repeat(SIZE / 4)),
        ("groups in a oneof", [83, 84].repeat(SIZE / 2)),
        ("groups in a group", [&[115][..], &[19, 20].repeat(SIZE / 2), &[116]].concat()),
        ("unknown groups in a group", [&[115][..], &[27, 28].repeat(SIZE / 2), &[116]].concat()),
        ("unknown fields", [240, 1, 1].repeat(SIZE / 3)),
        ("messages", [90, 0].repeat(SIZE / 2)),
        ("messages of unknown fields", [90, 3, 240, 1, 1].repeat(SIZE / 5)),
        ("texts", [98, 0].repeat(SIZE / 2)),
        ("bytes", [106, 0].repeat(SIZE / 2)),
    ] {
        for max_memory in [1 << 18, 1 << 20, 1 << 22] {
            let limits = Limits { max_memory, ..Limits::unlimited() };
            let options = DecodeOptions {
                limits,
                enum_names: true,
                keep_unknown: true,
                defaults: Defaults::Omit,
                ..DecodeOptions::default()
            };
            let memory = allocation_counter::measure(|| {
                let mut sink = Measure::counting(EncodeOptions::default());
                let _ = MessageDecoder::new(&message, &bytes, &options).write_into(&mut sink);
            });
            let taken = memory.bytes_max;
            assert!(taken <= max_memory + BESIDE, "{name}: {taken} bytes where {max_memory} are allowed");
            most = most.max(taken);
        }
    }
    assert!(most >= 3 << 20, "nothing that takes much: {most}");
}
