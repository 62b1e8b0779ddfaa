//! Every error, with bytes that cause it, its offset and its path.

use std::sync::LazyLock;

use conformance::transcode;
use variant_codec::error::Oddity;
use variant_codec::limits::{ALL_TYPES, Limit};
use variant_codec::stream::{Encoder, Precision, Sink, Text};
use variant_codec::{EncodeOptions, Error, ErrorKind, Limits, Strictness, Value, VariantType};

use ErrorKind::*;
use VariantType::{Bool, Callable, Nil};

static PLAIN: LazyLock<Limits> = LazyLock::new(Limits::unlimited);
static OBJECTS: LazyLock<Limits> = LazyLock::new(|| Limits { allow_objects: true, ..Limits::unlimited() });

fn end(needed: usize, left: usize) -> ErrorKind {
    UnexpectedEnd { needed, left }
}

fn count(count: i64, left: usize) -> ErrorKind {
    BadCount { count, left }
}

fn wrong(container: &'static str, expected: &str, found: &str) -> ErrorKind {
    WrongElementType { container, expected: expected.to_owned(), found: found.to_owned() }
}

/// Reads with and without building a value, and checks that both agree.
fn read(hex: &str, strictness: Strictness, limits: &Limits) -> Result<Value, Error> {
    let bytes = hex::decode(hex.replace(' ', "")).expect("hexadecimal bytes");
    let built = Value::decode_as(&bytes, strictness, limits);
    let streamed = transcode(&bytes, strictness, limits, Precision::Single);
    assert_eq!(built.as_ref().err(), streamed.as_ref().err(), "{hex}");
    built
}

#[track_caller]
fn fails(hex: &str, strictness: Strictness, limits: &Limits, kind: &ErrorKind, offset: usize) -> Error {
    let error = read(hex, strictness, limits).expect_err(hex);
    assert_eq!((error.kind(), error.offset()), (kind, Some(offset)), "{strictness:?}: {hex}");
    let text = error.to_string();
    assert!(text.starts_with(&kind.to_string()) && text.contains(&format!("at byte {offset}")), "{text}");
    error
}

#[test]
fn invalid_bytes_are_refused() {
    let cases: &[(&Limits, &str, ErrorKind, usize)] = &[
        (&PLAIN, "", end(4, 0), 0),
        (&PLAIN, "000000", end(4, 3), 0),
        (&PLAIN, "27000000", UnknownType(39), 0),
        (&PLAIN, "ff000000", UnknownType(255), 0),
        (&PLAIN, "1c000000 01000000 27000000", UnknownType(39), 8),
        (&PLAIN, "01000000 010000", end(4, 3), 4),
        (&PLAIN, "02000000 010000", end(4, 3), 4),
        (&PLAIN, "02000100 00000000 000000", end(8, 7), 4),
        (&PLAIN, "03000000 000000", end(4, 3), 4),
        (&PLAIN, "03000100 00000000 000000", end(8, 7), 4),
        (&PLAIN, "04000000 0000", end(4, 2), 4),
        (&PLAIN, "04000000 ffffffff", count(-1, 0), 4),
        (&PLAIN, "04000000 02000000 61", count(2, 1), 4),
        (&PLAIN, "04000000 01000000 61", end(3, 0), 9),
        (&PLAIN, "04000000 01000000 ff000000", InvalidUtf8, 4),
        (&PLAIN, "04000000 03000000 eda08000", InvalidUtf8, 4),
        (&PLAIN, "15000000 04000000 f4908080", InvalidUtf8, 4),
        (&PLAIN, "05000000 00000000 000000", end(8, 7), 4),
        (&PLAIN, "05000100 00000000 00000000 00000000 000000", end(16, 15), 4),
        (&PLAIN, "13000000", end(64, 0), 4),
        (&PLAIN, "16000000", end(4, 0), 4),
        (&PLAIN, "16000000 00000000 00000000 00000000", OldNodePath, 4),
        (&PLAIN, "16000000 00000080 00000000 000000", end(4, 3), 12),
        (&PLAIN, "16000000 02000080 00000000 00000000 00000000", count(2, 4), 4),
        (&PLAIN, "17000000 01000000 000000", end(8, 7), 4),
        (&PLAIN, "18000000 00000000", ObjectsNotAllowed, 0),
        (&PLAIN, "1c000000 01000000 18000000 00000000", ObjectsNotAllowed, 8),
        (&PLAIN, "18000100 01000000 000000", end(8, 7), 4),
        (&OBJECTS, "18000100 01000000 000000", end(8, 7), 4),
        (&OBJECTS, "18000000 02000000 41", count(2, 1), 4),
        (&OBJECTS, "18000000 01000000 41000000 01000000", count(1, 0), 12),
        (&OBJECTS, "18000000 01000000 41000000 02000000 00000000 00000000 00000000", count(2, 12), 12),
        (&OBJECTS, "18000000 01000000 41000000 01000000 01000000 62000000", end(4, 0), 24),
        (&PLAIN, "1a000000 00000000 00000000", end(8, 4), 8),
        (&PLAIN, "1b000000 01000000 00000000", count(1, 4), 4),
        (&PLAIN, "1b000100 27000000 00000000", UnknownElementType(39), 4),
        (&PLAIN, "1b000400 ffffffff 00000000", UnknownElementType(-1), 4),
        (
            &PLAIN,
            "1b000400 02000000 01000000 00000000 00000000",
            wrong("Dictionary's values", "int", "Nil"),
            16,
        ),
        (
            &OBJECTS,
            "1b000400 18000000 01000000 00000000 01000000 00000000",
            wrong("Dictionary's values", "Object", "bool"),
            16,
        ),
        (&PLAIN, "1c000000 02000000 00000000", count(2, 4), 4),
        (&PLAIN, "1c000100 02010000 00000000", UnknownElementType(258), 4),
        (&PLAIN, "1c000200 04000000 4e6f6465", end(4, 0), 12),
        (&PLAIN, "1c000300 03000000 ffffff00 00000000", InvalidUtf8, 4),
        (&PLAIN, "1d000000 ffffffff", count(-1, 0), 4),
        (&PLAIN, "1d000000 02000000 00", count(2, 1), 4),
        (&PLAIN, "1e000000 00000080", count(-0x8000_0000, 0), 4),
        (&PLAIN, "1e000000 02000000 00000000", count(2, 4), 4),
        (&PLAIN, "1f000000 00000020 00000000 00000000", count(0x2000_0000, 8), 4),
        (&PLAIN, "22000000 02000000 00000000", count(2, 4), 4),
        (&PLAIN, "22000000 01000000 01000000 00", end(3, 0), 13),
        (&PLAIN, "23000100 01000000 00000000 00000000", count(1, 8), 4),
    ];
    for (limits, hex, kind, offset) in cases {
        for strictness in [Strictness::Lenient, Strictness::Strict] {
            fails(hex, strictness, limits, kind, *offset);
        }
    }
}

#[test]
fn non_canonical_bytes_need_lenient_decoding() {
    use Oddity::*;
    let cases: &[(&Limits, &str, Oddity, usize)] = &[
        (&PLAIN, "0000ffff", HeaderBits, 0),
        (&PLAIN, "00ff0000", HeaderBits, 0),
        (&PLAIN, "02000200 05000000", HeaderBits, 0),
        (&PLAIN, "14000100 00000000 00000000 00000000 00000000", HeaderBits, 0),
        (&PLAIN, "1c000400 00000000", HeaderBits, 0),
        (&PLAIN, "1b001000 00000000", HeaderBits, 0),
        (&PLAIN, "01000000 02000000", Bool, 0),
        (&PLAIN, "02000100 05000000 00000000", WideNumber, 0),
        (&PLAIN, "02000100 00000080 ffffffff", WideNumber, 0),
        (&PLAIN, "03000100 00000000 0000f83f", WideNumber, 0),
        (&PLAIN, "03000100 00000000 00000080", WideNumber, 0),
        (&PLAIN, "03000000 0000c07f", NarrowNan, 0),
        (&PLAIN, "04000000 01000000 61000001", Padding, 4),
        (&PLAIN, "1d000000 01000000 01000001", Padding, 9),
        (&PLAIN, "1d000000 01000000 01", MissingPadding, 9),
        (&PLAIN, "1c000000 01000000 1d000000 01000000 010000", MissingPadding, 17),
        (&PLAIN, "04000000 04000000 efbbbf61", ByteOrderMark, 4),
        (&PLAIN, "22000000 01000000 04000000 efbbbf00", ByteOrderMark, 8),
        (&PLAIN, "04000000 02000000 61000000", Nul, 4),
        (&PLAIN, "22000000 01000000 02000000 00000000", Nul, 8),
        (&PLAIN, "22000000 01000000 01000000 61000000", MissingNul, 8),
        (&PLAIN, "22000000 01000000 00000000", MissingNul, 8),
        (&PLAIN, "22000000 ffffffff", NegativeCount, 4),
        (&OBJECTS, "18000000 01000000 41000000 ffffffff", NegativeCount, 12),
        (&PLAIN, "1c000000 00000080", SharedBit, 4),
        (&PLAIN, "1b000000 00000080", SharedBit, 4),
        (&PLAIN, "16000000 ffffffff 01000080 00000000", NodePathCounters, 4),
        (&PLAIN, "16000000 00000080 ffffffff 02000000", NodePathCounters, 4),
        (&PLAIN, "16000000 00000080 00000000 04000000", NodePathCounters, 4),
        (&PLAIN, "18000100 00000000 00000000", NullObject, 0),
        (&OBJECTS, "18000000 00000000", NullObject, 0),
        (&PLAIN, "1c000100 00000000 00000000", ElementType, 4),
        (&PLAIN, "1c000200 00000000 00000000", ElementType, 4),
        (&PLAIN, "1c000300 00000000 00000000", ScriptPath, 4),
        (&PLAIN, "1b000500 02000000 00000000 00000000", ElementType, 8),
        (&PLAIN, "03000000 010080ff", NarrowNan, 0),
        (&PLAIN, "1b000000 01000080 00000000 00000000", SharedBit, 4),
        // Runs of elements of one type.
        (&PLAIN, "1c000000 02000000 02000100 05000000 00000000 02000100 06000000 00000000", WideNumber, 8),
        (&PLAIN, "1c000000 02000000 03000100 00000000 0000f83f 03000100 00000000 0000f83f", WideNumber, 8),
        (&PLAIN, "1c000000 02000000 03000000 0000c07f 03000000 0000c07f", NarrowNan, 8),
        (&PLAIN, "1c000100 02000000 02000000 02000100 05000000 00000000 02000000 06000000", WideNumber, 12),
    ];
    let harmless = [
        Bool,
        WideNumber,
        NarrowNan,
        Padding,
        MissingPadding,
        ByteOrderMark,
        MissingNul,
        SharedBit,
        NullObject,
        ElementType,
    ];
    for (limits, hex, oddity, offset) in cases {
        let engine = read(hex, Strictness::Lenient, limits).expect(hex);
        let error = fails(hex, Strictness::Strict, limits, &NotCanonical(*oddity), *offset);
        assert_eq!(error.to_string().contains("`allow_non_canonical`"), harmless.contains(oddity), "{error}");
        // Harmless bytes are read as the engine reads them, as the column `allow_non_canonical` in chapter
        // 13 of `docs/format.md` says.
        let other_writers = Limits { allow_non_canonical: true, ..(*limits).clone() };
        if harmless.contains(oddity) {
            let value = read(hex, Strictness::Strict, &other_writers).expect(hex);
            assert_eq!(value.encode(), engine.encode(), "{hex}");
        } else {
            fails(hex, Strictness::Strict, &other_writers, &NotCanonical(*oddity), *offset);
        }
    }
    let other_writers = Limits { allow_non_canonical: true, ..Limits::for_save_files() };
    for refused in [
        "1c000100 02000000 01000000 00000000",
        "1b000100 02000000 01000000 04000000 00000000 00000000",
        "00000000 00000000",
    ] {
        assert!(read(refused, Strictness::Strict, &other_writers).is_err(), "{refused}");
    }
}

#[test]
fn misfits_need_lenient_decoding() {
    let cases = [
        ("1c000100 02000000 01000000 00000000", wrong("Array", "int", "Nil"), 12),
        (
            "1c000100 03000000 02000000 03000000 00000000 02000000 00000000",
            wrong("Array", "float", "int"),
            20,
        ),
        (
            "1c000200 04000000 4e6f6465 01000000 01000000 00000000",
            wrong("Array", "\"EncodedObjectAsID\"", "bool"),
            16,
        ),
        (
            "1b000100 02000000 01000000 04000000 00000000 00000000",
            wrong("Dictionary's keys", "int", "String"),
            12,
        ),
        // A run of ints.
        (
            "1c000100 03000000 03000000 02000000 01000000 02000000 01000000 02000000 01000000",
            wrong("Array", "float", "int"),
            12,
        ),
    ];
    for (hex, kind, offset) in cases {
        assert!(read(hex, Strictness::Lenient, &PLAIN).is_ok(), "{hex}");
        fails(hex, Strictness::Strict, &PLAIN, &kind, offset);
    }
}

/// The engine counts missing padding as read, but no error offset exceeds the data.
#[test]
fn offsets_are_within_the_data() {
    let hex = "1c000000 02000000 1d000000 01000000 01";
    fails(hex, Strictness::Lenient, &PLAIN, &end(4, 0), 17);
}

#[test]
fn limits_are_kept() {
    let unlimited = Limits::unlimited;
    let bytes = |max_bytes| Limits { max_bytes, ..unlimited() };
    let depth = |max_depth| Limits { max_depth, ..unlimited() };
    let elements = |max_elements| Limits { max_elements, ..unlimited() };
    let memory = |max_memory| Limits { max_memory, ..unlimited() };
    let without = |ty: VariantType| Limits { allowed_types: ALL_TYPES & !(1 << ty.id()), ..unlimited() };
    let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let classes = |names: &[&str]| Limits { allowed_classes: list(names), ..OBJECTS.clone() };
    let scripts = |names: &[&str]| Limits { allowed_scripts: list(names), ..OBJECTS.clone() };
    let trailing = |allow_trailing_bytes| Limits { allow_trailing_bytes, ..unlimited() };

    let two_nils = "1c000000 02000000 00000000 00000000";
    let two_entries = "1b000000 02000000 02000000 01000000 00000000 02000000 02000000 00000000";
    let three_ints = "1e000000 03000000 01000000 02000000 03000000";
    let kilobyte = format!("1d000000 00040000 {}", "00".repeat(1024));
    let strings = format!("22000000 00010000 {}", "01000000 00000000".repeat(256));
    let object = "18000000 01000000 41000000 00000000";
    let scripted =
        "18000000 01000000 41000000 01000000 06000000 73637269 70740000 04000000 01000000 42000000";
    let typed = "1c000300 07000000 7265733a 2f2f4200 00000000";
    // A value, limits that just suffice, limits that are too low, the error, and its offset.
    let cases: Vec<(&str, Limits, Limits, ErrorKind, usize)> = vec![
        ("00000000", bytes(4), bytes(3), LimitExceeded(Limit::Bytes, 3), 0),
        (two_nils, depth(1), depth(0), LimitExceeded(Limit::Depth, 0), 8),
        (two_nils, elements(3), elements(2), LimitExceeded(Limit::Elements, 2), 4),
        (two_entries, elements(5), elements(4), LimitExceeded(Limit::Elements, 4), 4),
        (three_ints, elements(4), elements(3), LimitExceeded(Limit::Elements, 3), 4),
        (&strings, elements(257), elements(256), LimitExceeded(Limit::Elements, 256), 4),
        (&kilobyte, memory(4096), memory(1024), LimitExceeded(Limit::Memory, 1024), 4),
        (&strings, memory(1 << 17), memory(256), LimitExceeded(Limit::Memory, 256), 4),
        (two_entries, memory(4096), memory(512), LimitExceeded(Limit::Memory, 512), 4),
        (two_nils, without(Bool), without(Nil), TypeNotAllowed(Nil), 8),
        ("19000000", unlimited(), without(Callable), TypeNotAllowed(Callable), 0),
        (object, classes(&[]), classes(&["B"]), ClassNotAllowed("A".into()), 0),
        (object, classes(&["B", "A"]), unlimited(), ObjectsNotAllowed, 0),
        (scripted, scripts(&["A", "B"]), scripts(&["A"]), ScriptNotAllowed("B".into()), 28),
        (typed, scripts(&["res://B"]), scripts(&["B"]), ScriptNotAllowed("res://B".into()), 4),
        ("00000000 00", trailing(true), trailing(false), TrailingBytes(1), 4),
    ];
    for (hex, enough, too_little, kind, offset) in &cases {
        for strictness in [Strictness::Lenient, Strictness::Strict] {
            assert!(read(hex, strictness, enough).is_ok(), "{strictness:?} {enough:?}: {hex}");
            fails(hex, strictness, too_little, kind, *offset);
        }
    }
    // No setting allows 2 GiB.
    assert_eq!(unlimited().exceeded(Limit::Bytes), TooLarge);
}

#[test]
fn errors_name_the_path() {
    let cases = [
        ("27000000", ""),
        ("1c000000 02000000 00000000 27000000", "[1]"),
        (
            "1c000000 04000000 00000000 00000000 00000000 1b000000 01000000 04000000 02000000 68700000 27000000",
            "[3].\"hp\"",
        ),
        ("1b000000 01000000 15000000 01000000 22000000 27000000", ".\"\\\"\""),
        ("1b000000 01000000 02000000 fbffffff 27000000", ".-5"),
        ("1b000000 01000000 02000100 05000000 01000000 27000000", ".4294967301"),
        ("1b000000 01000000 03000000 00000000 27000000", ".<key 0>"),
        ("1b000000 02000000 00000000 00000000 27000000 00000000", ".<key 1>"),
        ("18000000 01000000 41000000 01000000 01000000 78000000 27000000", ".\"x\""),
    ];
    for (hex, path) in cases {
        let error = read(hex, Strictness::Lenient, &OBJECTS).expect_err(hex);
        assert_eq!((error.kind(), error.path().as_str()), (&UnknownType(39), path), "{hex}");
        assert!(path.is_empty() || error.to_string().ends_with(&format!(" (at {path})")), "{error}");
    }
    let strings = "22000000 02000000 01000000 00000000 02000000 ff000000";
    assert_eq!(read(strings, Strictness::Lenient, &PLAIN).unwrap_err().path(), "[1]");
}

/// Code units, the bytes that the engine writes for them, and the first unit that a strict writer refuses
/// because the unit does not survive a round trip.
#[test]
fn text_of_any_code_units() {
    let cases: [(&[u32], &str, Option<u32>); 16] = [
        (&[], "00000000", None),
        (&[0], "01000000 00000000", Some(0)),
        (&[0x7F, 0x80, 0x7FF], "05000000 7fc280dfbf 000000", None),
        (&[0x800, 0xFFFF], "06000000 e0a080efbfbf 0000", None),
        (&[0x1_0000, 0x10_FFFF], "08000000 f0908080f48fbfbf", None),
        (&[0xFEFF, 0x61], "04000000 efbbbf61", Some(0xFEFF)),
        (&[0x61, 0xFEFF], "04000000 61efbbbf", None),
        (&[0xDC00, 0xD800], "06000000 edb080eda080 0000", Some(0xDC00)),
        (&[0xD800, 0x20_0000, 0xDFFF], "0b000000 eda080f888808080edbfbf 00", Some(0xD800)),
        (&[0x61, 0xDFFF], "04000000 61edbfbf", Some(0xDFFF)),
        (&[0x11_0000], "04000000 f4908080", Some(0x11_0000)),
        (&[0x1F_FFFF], "04000000 f7bfbfbf", Some(0x1F_FFFF)),
        (&[0x20_0000], "05000000 f888808080 000000", Some(0x20_0000)),
        (&[0x3FF_FFFF], "05000000 fbbfbfbfbf 000000", Some(0x3FF_FFFF)),
        (&[0x400_0000], "06000000 fc8480808080 0000", Some(0x400_0000)),
        (&[0x7FFF_FFFF], "06000000 fdbfbfbfbfbf 0000", Some(0x7FFF_FFFF)),
    ];
    let written = |text: Text<'_>, strict_text| {
        let mut encoder = Encoder::new(Vec::new(), EncodeOptions { strict_text, ..EncodeOptions::default() });
        encoder.text(VariantType::String, text).map(|()| hex::encode(encoder.into_output()))
    };
    for (units, bytes, refused) in cases {
        let bytes = format!("04000000{}", bytes.replace(' ', ""));
        let characters: Option<String> = units.iter().map(|&unit| char::from_u32(unit)).collect();
        let utf8 = characters.as_deref().map(Text::Utf8);
        for text in [Some(Text::Utf32(units)), utf8].into_iter().flatten() {
            assert_eq!(written(text, false).as_ref(), Ok(&bytes), "{text:x?}");
            match refused {
                None => assert_eq!(written(text, true).as_ref(), Ok(&bytes), "{text:x?}"),
                Some(unit) => assert_eq!(written(text, true).unwrap_err().kind(), &InvalidCodeUnit(unit)),
            }
        }
    }
    for strict in [false, true] {
        let error = written(Text::Utf32(&[0x61, 0x8000_0000, 0x62]), strict).unwrap_err();
        assert_eq!(error.kind(), &InvalidCodeUnit(0x8000_0000));
    }
}

/// The charges in the table of `limits.rs` are exact. `limit_suite.gd` compares them with the engine.
#[test]
fn memory_is_charged_by_the_table() {
    let cases = [
        ("00000000", 24),
        ("04000000 03000000 61626300", 24 + 80 + 4 * 4),
        ("15000000 03000000 61626300", 24 + 48 + 80 + 4 * 4),
        ("16000000 01000080 01000000 00000000 01000000 61000000 02000000 62630000", {
            let texts = (80 + 4 * 2) + (80 + 4 * 3);
            24 + 96 + 2 * 80 + 2 * (32 + 48) + texts
        }),
        ("1a000000 01000000 61000000 00000000 00000000", 24 + 48 + 80 + 4 * 2),
        ("22000000 01000000 04000000 61626300", 24 + 64 + (80 + 8) + (80 + 4 * 4)),
        ("1e000000 02000000 01000000 02000000", 24 + 64 + (80 + 8)),
        ("1e000000 00000000", 24 + 64),
        ("1c000000 01000000 00000000", 24 + 112 + 80 + 24),
        ("1b000000 01000000 00000000 00000000", 24 + 176 + 372 + 104 + 2 * 24),
        ("18000100 05000000 00000000", 24 + 480),
    ];
    for (hex, bytes) in cases {
        let limits = |max_memory| Limits { max_memory, ..Limits::unlimited() };
        assert!(read(hex, Strictness::Strict, &limits(bytes)).is_ok(), "{hex}");
        let error = read(hex, Strictness::Strict, &limits(bytes - 1)).unwrap_err();
        assert_eq!(error.kind(), &LimitExceeded(Limit::Memory, bytes - 1), "{hex}");
    }
}
