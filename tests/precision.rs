//! Engines of both precisions read each other's values. The vectors show how official, single-precision
//! builds read wide components. Double builds write the same format with bit 16 set and wide components.

use conformance::transcode;
use variant_codec::format::{FLAG_64, Lane, Shape};
use variant_codec::lanes::convert as convert_lanes;
use variant_codec::stream::{Buffer, Decoder, Encoder, Precision};
use variant_codec::{EncodeOptions, ErrorKind, Limits, Strictness, Value, VariantType};

use Precision::{Double, Single};

fn real_types() -> impl Iterator<Item = VariantType> {
    VariantType::ALL
        .into_iter()
        .filter(|ty| matches!(ty.shape(), Shape::Fixed(Lane::Real, _) | Shape::Packed(Lane::Real, _)))
}

#[test]
fn every_type_in_both_widths() {
    assert_eq!(real_types().count(), 14);
    for ty in real_types() {
        let (components, counted) = match ty.shape() {
            Shape::Fixed(_, components) => (components, None),
            Shape::Packed(_, components) => (components * 3, Some(3_u32)),
            _ => unreachable!("{ty} is not made of reals"),
        };
        let head = |flag: u32| {
            let count = counted.map(u32::to_le_bytes);
            [(u32::from(ty.id()) | flag).to_le_bytes()]
                .into_iter()
                .chain(count)
                .flatten()
                .collect::<Vec<u8>>()
        };
        let numbers: Vec<f32> = (0..components as u16).map(|index| f32::from(index) - 1.5).collect();
        let narrow = [head(0), numbers.iter().flat_map(|number| number.to_le_bytes()).collect()].concat();
        let wide = numbers.iter().flat_map(|&number| f64::from(number).to_le_bytes()).collect();
        let wide = [head(FLAG_64), wide].concat();
        let limits = Limits::for_save_files();
        for (from, to, precision) in [
            (&narrow, &narrow, Single),
            (&narrow, &wide, Double),
            (&wide, &narrow, Single),
            (&wide, &wide, Double),
        ] {
            assert_eq!(
                transcode(from, Strictness::Strict, &limits, precision).as_ref(),
                Ok(to),
                "{ty}, {precision:?}"
            );
            assert_eq!(
                transcode(from, Strictness::Lenient, &limits, precision).as_ref(),
                Ok(to),
                "{ty}, {precision:?}"
            );
            let options = EncodeOptions { precision: Some(precision), strict_text: false };
            let write = |room: &mut [u8]| {
                let mut encoder = Encoder::new(Buffer::new(room), options);
                Decoder::new(from, Strictness::Strict, &limits).decode_only(&mut encoder)
            };
            let mut just_enough = vec![0; to.len()];
            assert!(write(&mut just_enough).is_ok(), "{ty}, {precision:?}");
            assert_eq!(&just_enough, to, "{ty}, {precision:?}");
            for short in 0..to.len() {
                let error = write(&mut just_enough[..short]).unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::OutOfMemory(_)), "{ty}, {precision:?}: {error}");
            }
        }
    }
}

#[test]
fn other_types_have_one_width() {
    let one_width = [
        "02000000 05000000",
        "03000000 0000c03f",
        "03000100 9a999999 9999b93f",
        "06000000 01000000 02000000",
        "14000000 0000803f 00000040 00004040 00008040",
        "20000000 01000000 0000c03f",
        "21000000 01000000 00000000 0000f83f",
        "25000000 01000000 0000803f 00000040 00004040 00008040",
    ];
    for hex in one_width {
        let bytes = hex::decode(hex.replace(' ', "")).unwrap();
        for precision in [Single, Double] {
            let written = transcode(&bytes, Strictness::Strict, &Limits::unlimited(), precision);
            assert_eq!(written.as_ref(), Ok(&bytes), "{hex}");
        }
    }
}

/// As observed on x86-64, the engine rounds to nearest, makes NaNs quiet, and keeps the top bits of
/// their payload.
#[test]
fn bits_that_do_not_fit() {
    let narrowed = [
        (0x7FF0_0000_0000_0001, 0x7FC0_0000),
        (0xFFF8_0000_2000_0000, 0xFFC0_0001),
        (0x7FF0_0000_2000_0000, 0x7FC0_0001),
        (0xFFFF_FFFF_FFFF_FFFF, 0xFFFF_FFFF),
        (0.1_f64.to_bits(), 0x3DCC_CCCD),
        (1e300_f64.to_bits(), 0x7F80_0000),
        ((-1e300_f64).to_bits(), 0xFF80_0000),
        (1e-300_f64.to_bits(), 0),
        ((-1e-300_f64).to_bits(), 0x8000_0000),
        (2_f64.powi(-149).to_bits(), 1),
        (2_f64.powi(-150).to_bits(), 0),
        (16_777_217_f64.to_bits(), 0x4B80_0000),
        (16_777_219_f64.to_bits(), 0x4B80_0002),
    ];
    for (wide, narrow) in narrowed {
        assert_eq!(converted(&u64::to_le_bytes(wide), Double), u32::to_le_bytes(narrow), "{wide:016x}");
    }
    let widened = [
        (0x7F80_0001, 0x7FF8_0000_2000_0000),
        (0xFFC0_0001, 0xFFF8_0000_2000_0000),
        (0x7FFF_FFFF, 0x7FFF_FFFF_E000_0000),
        (0xFF80_0000, 0xFFF0_0000_0000_0000),
        (0x8000_0000, 0x8000_0000_0000_0000),
        (1, 2_f64.powi(-149).to_bits()),
    ];
    for (narrow, wide) in widened {
        assert_eq!(converted(&u32::to_le_bytes(narrow), Single), u64::to_le_bytes(wide), "{narrow:08x}");
        // The engine widens its own floats in the same way, and writes NaNs wide.
        let float = [&[3, 0, 0, 0], u32::to_le_bytes(narrow).as_slice()].concat();
        let value = Value::decode_as(&float, Strictness::Lenient, &Limits::unlimited());
        assert!(
            matches!(value, Ok(Value::Float(float)) if float.to_bits() == wide),
            "{narrow:08x}: {value:?}"
        );
    }
}

fn converted(le: &[u8], from: Precision) -> Vec<u8> {
    let mut out = Vec::new();
    convert_lanes(le, from, |bytes| out.extend_from_slice(bytes));
    out
}
