//! The outline of bytes. The fuzz target `outline` compares it with the decoder.

use conformance::fuzzing::outline::kind_at;
use variant_codec::error::Oddity;
use variant_codec::outline::{Notes, Outline, SpanKind};
use variant_codec::{ErrorKind, Value};

/// The limit on nodes: more than any vector has.
const ALL: usize = usize::MAX;

fn unhex(hex: &str) -> Vec<u8> {
    hex::decode(hex.replace(' ', "")).expect("hexadecimal bytes")
}

fn kinds(notes: &Notes) -> Vec<(usize, &ErrorKind)> {
    notes.first.iter().map(|note| (note.offset().expect("a place"), note.kind())).collect()
}

/// One letter per byte: header, type, number, content or padding.
fn pieces(hex: &str) -> String {
    let bytes = unhex(hex);
    let outline = Outline::of(&bytes, ALL);
    let kinds = (0..outline.end().min(bytes.len())).map(|at| match kind_at(&outline, at) {
        Some(SpanKind::Header) => 'h',
        Some(SpanKind::ElementType) => 't',
        Some(SpanKind::Count) => 'n',
        Some(SpanKind::Content) => 'c',
        Some(SpanKind::Padding) => 'p',
        None => '-',
    });
    kinds.collect()
}

#[test]
fn pieces_match_the_format() {
    for (hex, expected) in [
        ("00000000", "hhhh"),
        ("02000000 05000000", "hhhhcccc"),
        ("04000000 05000000 68656c6c6f000000", "hhhhnnnncccccppp"),
        ("04000000 04000000 61626364", "hhhhnnnncccc"),
        ("1b000000 01000000 04000000 02000000 68700000 02000000 07000000", "hhhhnnnnhhhhnnnnccpphhhhcccc"),
        ("1c000100 02000000 01000000 02000000 05000000", "hhhhttttnnnnhhhhcccc"),
        ("1c000000 02000000 00000000 00000000", "hhhhnnnnhhhhhhhh"),
        ("16000000 01000080 00000000 00000000 01000000 61000000", "hhhhnnnnnnnnnnnnnnnncppp"),
        ("1d000000 03000000 01020300", "hhhhnnnncccp"),
        ("22000000 01000000 02000000 61000000", "hhhhnnnnnnnnccpp"),
        ("18000100 0500000000000000", "hhhhcccccccc"),
        ("1c000000 01000000 04000000 ffffffff", "hhhhnnnnhhhhnnnn"),
    ] {
        assert_eq!(pieces(hex), expected, "{hex}");
    }
}

#[test]
fn large_containers_are_counted_and_cut() {
    const INTS: usize = 1 << 20;
    let array = [unhex("1c000000 00001000"), unhex("02000000 07000000").repeat(INTS)].concat();
    let outline = Outline::of(&array, 10);
    assert_eq!((outline.nodes().len(), outline.error()), (10, None));
    let root = &outline.nodes()[0];
    assert_eq!((root.bytes.clone(), root.count), (0..array.len(), Some(INTS)));
    assert_eq!((root.left_out.count, root.left_out.bytes.clone()), (INTS - 9, 8 + 9 * 8..array.len()));

    let odd = [unhex("1c000000 00001000"), unhex("01000000 02000000").repeat(INTS)].concat();
    let outline = Outline::of(&odd, 10);
    assert_eq!((outline.notes().first.len(), outline.notes().left_out), (100, INTS - 100));
    assert!(outline.to_string().lines().count() < 120);

    // A long class name as the element type of ints.
    let class = "A".repeat(1 << 20);
    let misfits = [
        unhex("1c000200 00001000"),
        class.clone().into_bytes(),
        unhex("00001000"),
        unhex("01000000 01000000").repeat(INTS),
    ];
    let misfits = misfits.concat();
    let outline = Outline::of(&misfits, 10);
    assert_eq!((outline.notes().left_out, outline.error()), (INTS - 100, None));
    let text = Value::from(class).encode().unwrap();
    for bytes in [&misfits, &text] {
        let described = Outline::of(bytes, 1000).to_string();
        assert!(described.lines().all(|line| line.len() < 600), "{described}");
    }
}

#[test]
fn memory_is_bounded_by_the_nodes() {
    const MANY: usize = 1 << 20;
    let announced = |header: &str| [unhex(header), unhex("00001000")].concat();
    let name = [unhex("00001000"), vec![b'a'; MANY]].concat();
    let cases = [
        ("ints", [announced("1c000000"), unhex("02000000 07000000").repeat(MANY)].concat()),
        ("odd bools", [announced("1c000000"), unhex("01000000 02000000").repeat(MANY)].concat()),
        ("entries", [announced("1b000000"), unhex("00000000 00000000").repeat(MANY)].concat()),
        ("packed strings", [announced("22000000"), unhex("01000000 00000000").repeat(MANY)].concat()),
        ("packed bytes", [announced("1d000000"), vec![7; MANY]].concat()),
        ("a text", [unhex("04000000"), name.clone()].concat()),
        ("a signal", [unhex("1a000000"), name.clone(), vec![0; 8]].concat()),
        (
            "an object",
            [unhex("18000000"), name.clone(), unhex("01000000"), name.clone(), vec![0; 4]].concat(),
        ),
        ("a class", [unhex("1c000200"), name.clone(), vec![0; 4]].concat()),
        ("arrays without an end", unhex("1c000000 01000000").repeat(MANY)),
    ];
    for (label, bytes) in cases {
        let mut whole = false;
        let memory = allocation_counter::measure(|| {
            let outline = Outline::of(&bytes, 100);
            whole = outline.error().is_none() && outline.end() == bytes.len();
            assert!(outline.to_string().len() < 64 << 10, "{label}");
        });
        assert!(whole || label == "arrays without an end", "{label}");
        assert!(memory.bytes_max < 256 << 10, "{label}: {} bytes", memory.bytes_max);
    }
}

/// The stack size of the smallest worker threads. Unoptimised stack frames are larger.
const STACK: usize = if cfg!(debug_assertions) { 32 << 20 } else { 512 << 10 };

#[test]
fn the_deepest_value_fits_a_small_stack() {
    let deepest = || {
        let openers = [
            "1c000000 01000000",
            "1c000100 1c000000 01000000",
            "1b000000 01000000 00000000",
            "18000000 01000000 41000000 01000000 01000000 62000000",
        ];
        for opener in openers {
            let bytes = [unhex(opener).repeat(1025), vec![0; 64]].concat();
            let outline = Outline::of(&bytes, ALL);
            let error = outline.error().expect("an error");
            assert_eq!(error.kind(), &ErrorKind::TooDeep);
            assert_eq!(outline.nodes().last().map(|node| node.depth), Some(1024));
            assert!(outline.to_string().lines().all(|line| line.len() < 600));
        }
    };
    conformance::with_stack(STACK, deepest);
}

#[test]
fn non_canonical_places_are_noted() {
    let cases: [(&str, &[(usize, ErrorKind)]); 4] = [
        (
            "1c000000 02000080 01000000 02000000 00ff0000",
            &[
                (4, ErrorKind::NotCanonical(Oddity::SharedBit)),
                (8, ErrorKind::NotCanonical(Oddity::Bool)),
                (16, ErrorKind::NotCanonical(Oddity::HeaderBits)),
            ],
        ),
        ("02000100 05000000 00000000", &[(0, ErrorKind::NotCanonical(Oddity::WideNumber))]),
        (
            "1c000100 02000000 01000000 03000000 0000803f",
            &[(
                12,
                ErrorKind::WrongElementType {
                    container: "Array",
                    expected: "int".to_owned(),
                    found: "float".to_owned(),
                },
            )],
        ),
        ("00000000 0102", &[(4, ErrorKind::TrailingBytes(2))]),
    ];
    for (hex, wanted) in cases {
        let bytes = unhex(hex);
        let outline = Outline::of(&bytes, ALL);
        assert_eq!(outline.error(), None, "{hex}");
        let wanted: Vec<_> = wanted.iter().map(|(at, kind)| (*at, kind)).collect();
        assert_eq!(kinds(outline.notes()), wanted, "{hex}");
    }
}

fn described(hex: &str) -> String {
    Outline::of(&unhex(hex), 6).to_string()
}

#[test]
fn the_text_shows_each_value_with_its_bytes() {
    let dictionary = "1b000400 02000000 02000000 04000000 02000000 68700000 02000000 07000000 \
                      15000000 01000000 61000000 02000100 00000000 01000000 ffff";
    let expected = "
      byte       size  hex                            value
         0         56  1b000400 02000000 02000000     Dictionary[Variant, int] 2 entries (values: built-in type)
        12         12  04000000 02000000 68700000       key 0: String \"hp\"
        24          8  02000000 07000000                value 0: int 7
        32         12  15000000 01000000 61000000       key 1: StringName \"a\"
        44         12  02000100 00000000 01000000       value 1: int 4294967296 (64 bits)
        56             [ff]ff                         ^ note: 2 trailing bytes; set `allow_trailing_bytes` if this is expected
";
    assert_eq!(format!("\n{}", described(dictionary)), expected);
}

#[test]
fn the_text_marks_the_bad_byte() {
    let array = "1c000000 03000000 1c000000 01000000 00ff0000 27000000 00000000";
    let expected = "
      byte       size  hex                            value
         0         24  1c000000 03000000              Array 3 elements (incomplete)
         8         12  1c000000 01000000                [0] Array 1 element
        16          4  00ff0000                           [0] Nil null
        16             [00]ff0000 27000000 00000000   ^ note: non-canonical encoding: undefined header flags are set
        20             [27]000000 00000000            ^ error: unknown type id 39: Godot 4 has the ids 0 to 38 (at [1])
";
    assert_eq!(format!("\n{}", described(array)), expected);
}

#[test]
fn the_text_counts_omitted_nodes() {
    let array =
        "1c000000 02000000 1c000000 06000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000";
    let expected = "
      byte       size  hex                            value
         0         44  1c000000 02000000              Array 2 elements
         8         32  1c000000 06000000                [0] Array 6 elements
        16          4  00000000                           [0] Nil null
        20          4  00000000                           [1] Nil null
        24          4  00000000                           [2] Nil null
        28          4  00000000                           [3] Nil null
        32          8                                     … and 2 more
        40          4                                   … and 1 more
";
    assert_eq!(format!("\n{}", described(array)), expected);
}

#[test]
fn previews_are_short() {
    let cases = [
        ("00000000", "null"),
        ("01000000 01000000", "true"),
        ("03000000 0000c03f", "1.5"),
        ("03000100 000000000000f87f", "nan"),
        ("05000000 0000803f cdcccc3d", "(1.0, 0.1)"),
        ("06000000 ffffffff 02000000", "(-1, 2)"),
        (
            "0c000100 0000000000000000 000000000000f03f 9a9999999999b93f 000000000000f0ff",
            "(0.0, 1.0, 0.1, -inf)",
        ),
        (
            "16000000 02000080 01000000 01000000 01000000 61000000 02000000 62630000 01000000 78000000",
            "\"/a/bc:x\"",
        ),
        ("17000000 0700000000000000", "RID(7)"),
        ("18000100 07000000000000FF", "instance id -72057594037927929, without meaning to a reader"),
        (
            "1b000000 01000000 15000000 06000000 40636c6173730000 04000000 04000000 4865726f",
            "\"Hero\", 0 properties",
        ),
        ("18000000 04000000 4e6f6465 00000000", "\"Node\", 0 properties"),
        ("1a000000 01000000 61000000 0700000000000000", "\"a\" of the object 7"),
        ("1d000000 00000000", "0 elements"),
        ("1d000000 03000000 01ff0300", "3 elements: 1, 255, 3"),
        ("1f000000 01000000 ffffffffffffffff", "1 element: -1"),
        ("22000000 02000000 02000000 61000000 01000000 00000000", "2 elements: \"a\", \"\""),
        ("23000000 02000000 0000803f 00000000 00000040 0000803f", "2 elements: (1.0, 0.0), (2.0, 1.0)"),
    ];
    for (hex, preview) in cases {
        let bytes = unhex(hex);
        let outline = Outline::of(&bytes, ALL);
        assert_eq!(outline.error(), None, "{hex}");
        assert_eq!(outline.nodes()[0].preview, preview, "{hex}");
    }
    let long = [unhex("1d000000 00040000"), vec![200; 1024]].concat();
    let preview = Outline::of(&long, 1).nodes()[0].preview.clone();
    assert!(preview.starts_with("1024 elements: 200, 200, ") && preview.ends_with(", …"), "{preview}");
    assert!(preview.len() < 100, "{preview}");
}
