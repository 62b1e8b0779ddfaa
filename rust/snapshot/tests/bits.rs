//! Bits beside the crate `bitstream-io`.

use bitstream_io::{BitRead, BitReader as TheirReader, BitWrite, BitWriter as TheirWriter, LittleEndian};
use variant_snapshot::bits::{BitReader, BitWriter};

#[test]
fn bits_are_those_of_bitstream_io() {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..2000 {
        let parts: Vec<(u32, u32)> = (0..random.usize(0..80))
            .map(|_| {
                let bits = random.u32(0..=32);
                (if bits == 0 { 0 } else { random.u32(..) >> (32 - bits) }, bits)
            })
            .collect();
        let mut ours = BitWriter::default();
        let mut theirs = TheirWriter::endian(Vec::new(), LittleEndian);
        for &(number, bits) in &parts {
            ours.put(number, bits);
            if bits > 0 {
                theirs.write_var(bits, number).unwrap();
            }
        }
        theirs.byte_align().unwrap();
        let (ours, theirs) = (ours.into_bytes(), theirs.into_writer());
        assert_eq!(ours, theirs);
        let mut reader = BitReader::new(&ours);
        let mut their_reader = TheirReader::endian(&theirs[..], LittleEndian);
        for &(number, bits) in &parts {
            assert_eq!(reader.take(bits), Ok(number));
            if bits > 0 {
                assert_eq!(their_reader.read_var::<u32>(bits).unwrap(), number);
            }
        }
        reader.finish().unwrap();
    }
}

#[test]
fn codes_are_read_as_written() {
    let mut random = fastrand::Rng::with_seed(2);
    for _ in 0..500 {
        let numbers: Vec<(u32, u32)> =
            (0..60).map(|_| (random.u32(..) >> random.u32(0..31) | 1, random.u32(0..16))).collect();
        let mut bits = BitWriter::default();
        for &(number, k) in &numbers {
            bits.gamma(number);
            if !bits.rice(number.into(), k) {
                bits.put(number, 32);
            }
        }
        let bytes = bits.into_bytes();
        let mut reader = BitReader::new(&bytes);
        for &(number, k) in &numbers {
            assert_eq!(reader.gamma(), Ok(number));
            let read = reader.rice(k).unwrap().unwrap_or_else(|| reader.take(32).unwrap().into());
            assert_eq!(read, u64::from(number));
        }
        reader.finish().unwrap();
    }
}
