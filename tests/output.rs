//! Outputs: memory that is too small, the maximum size of the format, and counting only.

use variant_codec::format::MAX_BYTES;
use variant_codec::stream::{
    Buffer, Count, ElementType, Encoder, Lanes, Measure, NodePathParts, Output, Precision, Sink, Text,
};
use variant_codec::text::{Utf8Rule, utf8_len};
use variant_codec::{EncodeOptions, ErrorKind, Result, VariantType};

/// An output that already holds almost the maximum number of bytes.
struct Late<'a> {
    start: usize,
    room: Buffer<&'a mut Vec<u8>>,
}

impl Output for Late<'_> {
    fn len(&self) -> usize {
        self.start + self.room.len()
    }
    fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.room.reserve(bytes)
    }
    fn put(&mut self, bytes: &[u8]) {
        self.room.put(bytes);
    }
    fn put_zeros(&mut self, count: usize) {
        self.room.put_zeros(count);
    }
    fn put_utf32(&mut self, units: &[u32], bytes: usize) {
        self.room.put_utf32(units, bytes);
    }
    fn put_text(&mut self, units: &[u32], tail: usize) -> bool {
        self.room.put_text(units, tail)
    }
    fn put_block<const N: usize>(&mut self, write: impl FnOnce(&mut [u8; N]) -> usize) -> bool {
        self.room.put_block(write)
    }
}

/// The output of `write` with `left` bytes remaining, or `None` if they are too few.
fn with_left(
    left: usize,
    write: impl Fn(&mut Encoder<Late<'_>>) -> Result<()>,
    count: impl Fn(&mut Encoder<Count>) -> Result<()>,
) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let late = Late { start: MAX_BYTES - left, room: Buffer::new(&mut bytes) };
    let mut encoder = Encoder::new(late, EncodeOptions::default());
    let written = write(&mut encoder);
    let written = match written {
        Ok(()) => Some(encoder.output().room.written().to_vec()),
        Err(error) => {
            assert_eq!(error.kind(), &ErrorKind::TooLarge);
            None
        }
    };
    let mut far = Measure::counting(EncodeOptions::default());
    assert!(count(&mut far).is_ok());
    assert!(written.as_ref().is_none_or(|bytes| bytes.len() == far.bytes()));
    written
}

/// Checks that writing one value takes exactly `$size` bytes in any output.
macro_rules! exactly {
    ($size:expr, |$sink:ident| $write:expr) => {{
        let size: usize = $size;
        let fits = |left| with_left(left, |$sink| $write, |$sink| $write);
        for left in size.saturating_sub(12)..size + 12 {
            let written = fits(left).map(|bytes| bytes.len());
            assert_eq!(written, (left >= size).then_some(size), "{left} bytes left: {}", stringify!($write));
        }
    }};
}

#[test]
fn values_end_within_two_gibibytes() {
    let le = |le: &'static [u8]| Lanes { precision: Precision::Single, le };
    exactly!(4, |sink| sink.nil());
    exactly!(8, |sink| sink.bool(true));
    exactly!(8, |sink| sink.int(5));
    exactly!(12, |sink| sink.int(1 << 40));
    exactly!(8, |sink| sink.float(0.5));
    exactly!(12, |sink| sink.float(0.1));
    exactly!(12, |sink| sink.rid(1));
    exactly!(4, |sink| sink.callable());
    exactly!(4, |sink| sink.object_id(0));
    exactly!(12, |sink| sink.object_id(1));
    exactly!(12, |sink| sink.text(VariantType::String, "hp".into()));
    exactly!(20, |sink| sink.signal("hp".into(), 1));
    exactly!(12, |sink| sink.fixed(VariantType::Vector2i, le(&[0; 8])));
    exactly!(12, |sink| sink.packed(VariantType::PackedByteArray, le(&[7; 3])));
    exactly!(16, |sink| sink.packed(VariantType::PackedInt32Array, le(&[7; 8])));
    exactly!(24, |sink| sink.node_path(NodePathParts {
        absolute: true,
        names: &["a".into()],
        subnames: &[]
    }));
    exactly!(8, |sink| sink.begin_array(3, ElementType::Untyped));
    exactly!(12, |sink| sink.begin_array(3, ElementType::Builtin(VariantType::Int)));
    exactly!(8, |sink| sink.begin_dictionary(3, ElementType::Untyped, ElementType::Untyped));
    exactly!(8, |sink| sink.begin_strings(3));
    exactly!(16, |sink| sink.begin_object("hp".into(), 3));
    exactly!(8, |sink| sink.string(&mut (), "hp".into()));
}

#[test]
fn texts_end_within_two_gibibytes() {
    for unit in [0x61, 0xE9, 0x65E5, 0x1_F40E, 0x20_0000] {
        for len in [0, 1, 3, 12, 40, 100] {
            let units = vec![unit; len];
            let text = || Text::Utf32(&units);
            let bytes = utf8_len(&units, Utf8Rule::Generalized).expect("units that some form holds");
            exactly!(8 + bytes.next_multiple_of(4), |sink| sink.text(VariantType::String, text()));
            exactly!(4 + (bytes + 1).next_multiple_of(4), |sink| sink.string(&mut (), text()));
        }
    }
}

#[test]
fn runs_end_within_two_gibibytes() {
    for count in [1, 2, 63, 64, 65, 200] {
        exactly!(8 * count, |sink| sink.ints(&mut (), &mut (0..count as i64)));
        exactly!(12 * count, |sink| sink.floats(&mut (), &mut (0..count).map(|_| 0.1)));
        exactly!(16 * count, |sink| sink.fixed_run::<12>(
            &mut (),
            VariantType::Vector3i,
            Precision::Single,
            &mut (0..count).map(|_| [1; 12])
        ));
    }
}

/// The format's counts are signed, so larger counts than the maximum are refused.
#[test]
fn counts_are_signed() {
    type Begin = fn(&mut Measure, usize) -> Result<()>;
    let openers: [Begin; 4] = [
        |sink, len| sink.begin_array(len, ElementType::Untyped),
        |sink, len| sink.begin_dictionary(len, ElementType::Untyped, ElementType::Untyped),
        |sink, len| sink.begin_strings(len),
        |sink, len| sink.begin_object("A".into(), len),
    ];
    for begin in openers {
        let mut measure = Measure::counting(EncodeOptions::default());
        assert_eq!(begin(&mut measure, MAX_BYTES), Ok(()));
        let error = begin(&mut measure, MAX_BYTES + 1).expect_err("a negative count");
        assert_eq!(error.kind(), &ErrorKind::TooLarge);
    }
}

/// Checks that the output accepts `size` bytes, which fill its memory, and no more.
fn check_memory<O: Output>(mut output: O, size: usize) {
    assert!(output.is_empty());
    assert!(output.reserve(size).is_ok());
    assert_eq!(output.reserve(size + 1).expect_err("no memory").kind(), &ErrorKind::OutOfMemory(size + 1));
    output.put(&[1; 6]);
    assert!(!output.is_empty());
    assert_eq!(output.len(), 6);
    assert!(output.reserve(size - 6).is_ok());
    assert!(output.reserve(size - 5).is_err());
    assert!(output.reserve(usize::MAX).is_err());
    assert!(!output.put_block::<11>(|_| panic!("there is no room for a block")));
    assert!(output.put_block::<10>(|block| {
        block[..3].fill(2);
        3
    }));
    output.put_zeros(2);
    assert_eq!(output.len(), 11);
}

#[test]
fn fixed_memory_is_filled_to_its_end() {
    let mut memory = [9; 16];
    check_memory(Buffer::new(memory.as_mut_slice()), 16);
    assert_eq!(memory[..11], [1, 1, 1, 1, 1, 1, 2, 2, 2, 0, 0]);
}

/// Texts around the maximum length that is written in one pass.
#[test]
fn long_text() {
    for len in [4094, 4095, 4096, 4097, 4098, 70_000] {
        for (unit, bytes) in [(0x61_u32, 1), (0xE9, 2), (0x65E5, 3), (0x1_F40E, 4)] {
            let units = vec![unit; len];
            let text: String = units.iter().filter_map(|unit| char::from_u32(*unit)).collect();
            assert_eq!(utf8_len(&units, Utf8Rule::Generalized), Ok(len * bytes));
            assert_eq!(utf8_len(&units, Utf8Rule::RoundTrip), Ok(len * bytes));
            let mut memory = Vec::new();
            let mut encoder = Encoder::new(Buffer::new(&mut memory), EncodeOptions::default());
            encoder.text(VariantType::String, Text::Utf32(&units)).expect("memory");
            let mut expected = [[4, 0, 0, 0], (text.len() as u32).to_le_bytes()].concat();
            expected.extend(text.as_bytes());
            expected.resize(expected.len().next_multiple_of(4), 0);
            assert_eq!(encoder.output().written(), expected);
        }
    }
}
