//! The containers of `FileAccess.open_compressed`, `open_encrypted` and `open_encrypted_with_pass`.
//!
//! A compressed file, with all numbers little-endian:
//!
//! ```text
//! "GCPF" | mode u32 | block size u32 | size u32 | compressed size of each block u32 … | blocks … | "GCPF"
//! ```
//!
//! There are size / block size + 1 blocks, so the last one may be empty. An encrypted file, in AES-256-CFB:
//!
//! ```text
//! "GDEC" | MD5 of the contents, 16 bytes | size u64 | initialization vector, 16 bytes | contents, padded to 16 bytes
//! ```
//!
//! An encrypted file of Godot 3, in AES-256-ECB:
//!
//! ```text
//! "GDEC" | 1 u32 | MD5 of the contents, 16 bytes | size u64 | contents, padded to 16 bytes
//! ```

use std::fmt::Write as _;
use std::io::{self, Read};
use std::ops::Range;

use aes::Aes256;
use aes::cipher::{BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _, KeyIvInit as _};
use flate2::read::{GzDecoder, ZlibDecoder};
use md5::{Digest as _, Md5};
use variant_zstd as zstd;

const COMPRESSED: &[u8; 4] = b"GCPF";
const ENCRYPTED: &[u8; 4] = b"GDEC";
/// The mode in an encrypted file of Godot 3.
const GODOT3_MODE: u32 = 1;
const ZSTD: u32 = 2;
const GZIP: u32 = 3;
/// The block size that the engine writes.
const BLOCK: usize = 4096;
/// The minimum input size of FastLZ, in bytes. The engine pads shorter input with zeros.
const LEAST_FASTLZ: usize = 16;
const CIPHER_BLOCK: usize = 16;
const WRONG_KEY: &str = "the pass or key is wrong, or the file is damaged";

/// The key of an encrypted file.
#[derive(Clone)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of `open_encrypted_with_pass`: the MD5 of the pass, in hexadecimal.
    pub fn of_pass(pass: &str) -> Self {
        let mut key = [0; 32];
        let digits = Md5::digest(pass).into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
        key.iter_mut()
            .zip(digits)
            .for_each(|(place, digit)| *place = b"0123456789abcdef"[usize::from(digit)]);
        Self(key)
    }

    /// The key of `open_encrypted`. Returns `None` unless there are 32 bytes.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8], String> {
        let (found, rest) = self.0.split_at_checked(count).ok_or("the file is cut off")?;
        self.0 = rest;
        Ok(found)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.take(N).map(|bytes| *bytes.first_chunk().unwrap_or(&[0; N]))
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_le_bytes)
    }
}

/// The contents of a compressed file.
#[derive(Debug)]
pub struct Decompressed {
    /// The contents up to the last whole block, with zeros for damaged blocks.
    pub contents: Vec<u8>,
    /// The ranges of the zeros.
    pub filled: Vec<Range<usize>>,
    /// The error of the first damaged block. If damaged blocks are filled, also says how many bytes are missing
    /// at the end.
    pub damage: Option<String>,
}

/// Decompresses a file up to the first damaged block. With `fills`, continues after damaged blocks.
///
/// # Errors
/// Fails if the header is damaged or the compression mode is unknown.
pub fn decompress(file: &[u8], fills: bool) -> Result<Decompressed, String> {
    /// The limit on blocks replaced with zeros is the size of the file divided by this number. Further
    /// damaged blocks are left out, so that damage cannot fill the memory.
    const BYTES_PER_FILLED: usize = 128;

    let mut fields = Fields(file);
    fields.take(COMPRESSED.len())?;
    let (mode, block_size, size) = (fields.u32()?, fields.u32()? as usize, fields.u32()? as usize);
    // Larger blocks could expand a small file to gigabytes.
    if !(1..=BLOCK).contains(&block_size) {
        return Err(format!("a block size of {block_size} bytes; the engine writes {BLOCK}"));
    }
    if mode > GZIP {
        return Err(format!("unknown compression mode {mode}"));
    }
    let blocks = size / block_size + 1;
    let mut sizes = Fields(fields.take(blocks.saturating_mul(size_of::<u32>()))?);
    let (mut contents, mut damage) = (Vec::new(), None);
    let (mut good, mut filled, most_filled) = (0, Vec::new(), file.len() / BYTES_PER_FILLED);
    for index in 0..blocks {
        let expected = block_size.min(size - index * block_size);
        let start = contents.len();
        let block = sizes.u32().and_then(|size| fields.take(size as usize));
        let is_cut_off = block.is_err();
        let read = block.and_then(|block| {
            decompress_block(mode, block, expected, &mut contents).map_err(|error| error.to_string())?;
            match contents.len() - start {
                found if found == expected => Ok(()),
                found => Err(format!("{found} bytes instead of {expected}")),
            }
        });
        match read {
            Ok(()) => good = contents.len(),
            Err(error) => {
                contents.truncate(start);
                damage.get_or_insert_with(|| format!("block {index} of {blocks} is damaged: {error}"));
                if is_cut_off || !fills {
                    break;
                }
                if filled.len() < most_filled {
                    contents.resize(start + expected, 0);
                    filled.push(start..contents.len());
                }
            }
        }
    }
    contents.truncate(good);
    let missing = size.saturating_sub(good);
    if let Some(damage) = damage.as_mut().filter(|_| fills && missing > 0) {
        write!(damage, "; the last {missing} bytes of the contents are missing")
            .map_err(|error| error.to_string())?;
    }
    Ok(Decompressed { contents, filled, damage })
}

/// Decompresses a block into `into`. Appends at most one byte more than `expected`.
fn decompress_block(mode: u32, block: &[u8], expected: usize, into: &mut Vec<u8>) -> io::Result<()> {
    // The decoders check their checksum at the end, which they reach only if asked for another byte.
    let mut read = |source: &mut dyn Read| source.take(expected as u64 + 1).read_to_end(into).map(drop);
    match mode {
        0 => {
            // The header may claim a false size. FastLZ expands a byte to fewer than 256 bytes.
            let most = block.len().saturating_mul(256);
            let mut found = vec![0; expected.min(most).max(LEAST_FASTLZ)];
            let count = fastlz_rs::decompress_to_buf(block, &mut found)
                .map_err(|error| io::Error::other(format!("{error:?}")))?;
            into.extend_from_slice(found.get(..count.min(expected)).unwrap_or_default());
            Ok(())
        }
        1 => read(&mut ZlibDecoder::new(block)),
        ZSTD => zstd::decompress_into(block, expected, zstd::WINDOW, into),
        GZIP => read(&mut GzDecoder::new(block)),
        unknown => Err(io::Error::other(format!("unknown compression mode {unknown}"))),
    }
}

/// Compresses contents with Zstandard. The engine reads the mode from the file.
///
/// # Errors
/// Fails if the contents exceed 4 GiB.
pub fn compress(contents: &[u8]) -> Result<Vec<u8>, String> {
    let size = u32::try_from(contents.len()).map_err(|_| "a compressed file has at most 4 GiB".to_owned())?;
    let whole = contents.chunks_exact(BLOCK);
    let last = whole.remainder();
    let blocks: Vec<Vec<u8>> = whole.chain([last]).map(zstd::compress).collect();
    let mut file = COMPRESSED.to_vec();
    for number in [ZSTD, BLOCK as u32, size] {
        file.extend_from_slice(&number.to_le_bytes());
    }
    blocks.iter().for_each(|block| file.extend_from_slice(&(block.len() as u32).to_le_bytes()));
    blocks.iter().for_each(|block| file.extend_from_slice(block));
    file.extend_from_slice(COMPRESSED);
    Ok(file)
}

/// Decrypts a file.
///
/// # Errors
/// Fails if the file is damaged or the key is wrong.
pub fn decrypt(file: &[u8], key: &Key) -> Result<Vec<u8>, String> {
    // In a file of Godot 4, the MD5 may start like the mode of Godot 3.
    if let Some(contents) = decrypt_godot3(file, key) {
        return Ok(contents);
    }
    let mut fields = Fields(file);
    fields.take(ENCRYPTED.len())?;
    let md5: [u8; 16] = fields.array()?;
    let size = u64::from_le_bytes(fields.array()?);
    let vector: [u8; CIPHER_BLOCK] = fields.array()?;
    let size = usize::try_from(size).map_err(|_| format!("a size of {size} bytes"))?;
    // The engine does not need the padding of the last block.
    let contents = fields.take(size);
    if is_of_godot3(file) && contents.is_err() {
        return Err(WRONG_KEY.to_owned());
    }
    let mut contents = contents?.to_vec();
    cfb_mode::Decryptor::<Aes256>::new(&key.0.into(), &vector.into()).decrypt(&mut contents);
    if Md5::digest(&contents).as_slice() != md5 {
        return Err(WRONG_KEY.to_owned());
    }
    Ok(contents)
}

fn is_of_godot3(file: &[u8]) -> bool {
    file.get(ENCRYPTED.len()..).is_some_and(|rest| rest.starts_with(&GODOT3_MODE.to_le_bytes()))
}

/// The contents of an encrypted file of Godot 3. `None` if it is of Godot 4, is damaged, or the key is wrong.
fn decrypt_godot3(file: &[u8], key: &Key) -> Option<Vec<u8>> {
    let mut fields = Fields(file.get(ENCRYPTED.len()..).filter(|_| is_of_godot3(file))?);
    fields.u32().ok()?;
    let md5: [u8; 16] = fields.array().ok()?;
    let size = usize::try_from(u64::from_le_bytes(fields.array().ok()?)).ok()?;
    if size.checked_next_multiple_of(CIPHER_BLOCK) != Some(fields.0.len()) {
        return None;
    }
    let mut contents = fields.0.to_vec();
    let cipher = Aes256::new(&key.0.into());
    let blocks = contents.chunks_exact_mut(CIPHER_BLOCK).filter_map(|block| block.try_into().ok());
    blocks.for_each(|block| cipher.decrypt_block(block));
    contents.truncate(size);
    (Md5::digest(&contents).as_slice() == md5).then_some(contents)
}

/// Encrypts contents for Godot 3.
pub fn encrypt_for_godot3(contents: &[u8], key: &Key) -> Vec<u8> {
    let mut padded = contents.to_vec();
    padded.resize(contents.len().next_multiple_of(CIPHER_BLOCK), 0);
    let cipher = Aes256::new(&key.0.into());
    let blocks = padded.chunks_exact_mut(CIPHER_BLOCK).filter_map(|block| block.try_into().ok());
    blocks.for_each(|block| cipher.encrypt_block(block));
    let (mode, size) = (GODOT3_MODE.to_le_bytes(), (contents.len() as u64).to_le_bytes());
    [&ENCRYPTED[..], &mode, &Md5::digest(contents), &size, &padded].concat()
}

/// Encrypts contents with a random initialization vector.
///
/// # Errors
/// Fails if the system cannot provide random numbers.
pub fn encrypt(contents: &[u8], key: &Key) -> Result<Vec<u8>, String> {
    let mut vector = [0; CIPHER_BLOCK];
    getrandom::fill(&mut vector).map_err(|error| error.to_string())?;
    let mut blocks = contents.to_vec();
    blocks.resize(contents.len().next_multiple_of(CIPHER_BLOCK), 0);
    cfb_mode::Encryptor::<Aes256>::new(&key.0.into(), &vector.into()).encrypt(&mut blocks);
    let size = contents.len() as u64;
    Ok([&ENCRYPTED[..], &Md5::digest(contents), &size.to_le_bytes(), &vector, &blocks].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(file: &[u8]) -> Result<Vec<u8>, String> {
        match decompress(file, false)? {
            Decompressed { contents, damage: None, .. } => Ok(contents),
            Decompressed { damage: Some(error), .. } => Err(error),
        }
    }

    fn file_of(size: usize, blocks: &[Vec<u8>]) -> Vec<u8> {
        let mut file = COMPRESSED.to_vec();
        let numbers = [ZSTD, BLOCK as u32, size as u32].into_iter();
        let sizes = blocks.iter().map(|block| block.len() as u32);
        file.extend(numbers.chain(sizes).flat_map(u32::to_le_bytes));
        file.extend(blocks.concat());
        file
    }

    #[test]
    fn a_block_expands_within_limits() {
        // 64 MiB of one byte, with a window of the same size.
        let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0, 16 << 3];
        (0..512).for_each(|index| frame.extend([2 | u8::from(index == 511), 0, 0x10, 0]));
        let small_window = [&frame[..5], &[7 << 3], &frame[6..]].concat();
        let declared = [&[0x28, 0xB5, 0x2F, 0xFD, 0xA0, 0, 0, 0, 4][..], &frame[6..]].concat();
        for frame in [frame, small_window, declared] {
            assert!(whole(&file_of(BLOCK - 1, &[frame])).is_err());
        }
    }

    #[test]
    fn checksums_and_sizes_are_checked() -> Result<(), String> {
        use flate2::Compression;
        use flate2::read::{GzEncoder, ZlibEncoder};

        let contents = b"Ada".as_slice();
        let (mut gzip, mut zlib) = (Vec::new(), Vec::new());
        GzEncoder::new(contents, Compression::none())
            .read_to_end(&mut gzip)
            .map_err(|error| error.to_string())?;
        ZlibEncoder::new(contents, Compression::none())
            .read_to_end(&mut zlib)
            .map_err(|error| error.to_string())?;
        for (mode, block) in [(GZIP, gzip), (1, zlib)] {
            let file = |size, block: &[u8]| {
                let mut file = file_of(size, &[block.to_vec()]);
                file[COMPRESSED.len()..][..4].copy_from_slice(&mode.to_le_bytes());
                whole(&file)
            };
            assert_eq!(file(3, &block), Ok(contents.to_vec()));
            assert!(file(2, &block).is_err());
            let at = block.windows(3).position(|bytes| bytes == contents).expect("stored");
            let mut changed = block;
            changed[at] = b'E';
            assert!(file(3, &changed).is_err());
        }
        Ok(())
    }

    #[test]
    fn damaged_blocks_use_bounded_memory() -> Result<(), String> {
        let count = 10_000;
        let mut blocks = vec![Vec::new(); count];
        blocks.push(zstd::compress(b"the end"));
        let file = file_of(BLOCK * count + 7, &blocks);
        let found = decompress(&file, true)?;
        assert!(found.contents.ends_with(b"the end") && found.damage.is_some());
        assert!(found.contents.len() < 50 * file.len(), "{} of {}", found.contents.len(), file.len());
        Ok(())
    }

    #[test]
    fn reads_and_writes_encrypted_files_of_godot_3() {
        // Godot 3.2.3 and 3.6.2 wrote the same bytes: `store_var(7)`, with the pass "pw".
        let file = hex::decode(concat!(
            "47444543010000001463db1eaed01b4fc17387a2d9ee777e0c00000000000000",
            "eb1fee9833dfc1372e66a6f6d9cb0ba5",
        ));
        let (file, key) = (file.expect("hexadecimal"), Key::of_pass("pw"));
        let contents = decrypt(&file, &key).expect("decrypted");
        assert_eq!(contents, [8, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(encrypt_for_godot3(&contents, &key), file);
        assert_eq!(decrypt(&file, &Key::of_pass("wrong")), Err(WRONG_KEY.to_owned()));
        assert!((0..file.len()).all(|end| decrypt(&file[..end], &key).is_err()));
        for size in [0, 15, 16, 17, 100] {
            let contents = vec![5; size];
            assert_eq!(decrypt(&encrypt_for_godot3(&contents, &key), &key), Ok(contents));
        }
        // A file of Godot 4 with the mode of Godot 3 in its MD5 is checked as one of Godot 4.
        let mut godot4 = encrypt(b"contents", &key).expect("encrypted");
        godot4[4..8].copy_from_slice(&GODOT3_MODE.to_le_bytes());
        assert_eq!(decrypt(&godot4, &key), Err(WRONG_KEY.to_owned()));
    }

    #[test]
    fn reads_compressed_files_of_the_engine() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/wrapped.tsv");
        let table = std::fs::read_to_string(path).expect("the vectors are there");
        let bytes = |hex: &str| hex::decode(hex).expect("hexadecimal");
        let pass = Key::of_pass("größer");
        let key = Key::of_bytes(&(0..32).collect::<Vec<u8>>()).expect("32 bytes");
        let mut count = 0;
        for row in table.lines().skip(1) {
            let [_, label, file, md5] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
            let (file, md5) = (bytes(file), bytes(md5));
            let read = |file: &[u8]| match label.split(' ').next() {
                Some("pass") => decrypt(file, &pass),
                Some("key") => decrypt(file, &key),
                _ => whole(file),
            };
            let contents = read(&file).unwrap_or_else(|error| panic!("{label}: {error}"));
            assert_eq!(Md5::digest(&contents).as_slice(), md5, "{label}");
            assert_eq!(whole(&compress(&contents).expect("compressed")), Ok(contents.clone()), "{label}");
            assert_eq!(decrypt(&encrypt(&contents, &key).expect("encrypted"), &key), Ok(contents), "{label}");
            // The padding of the last cipher block and the magic number at the end are optional.
            for end in 0..file.len().saturating_sub(CIPHER_BLOCK) {
                assert!(read(&file[..end]).is_err(), "{label}: {end} of {} bytes", file.len());
            }
            count += 1;
        }
        assert_eq!(count, 29);
        let wrong = encrypt(b"contents", &key).and_then(|file| decrypt(&file, &pass));
        assert_eq!(wrong, Err("the pass or key is wrong, or the file is damaged".to_owned()));
    }
}
