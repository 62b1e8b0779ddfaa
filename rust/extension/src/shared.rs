//! One large value on several threads.
//!
//! Both ways stop at the first thing that is wrong and say no more than that: one thread alone then finds out what it
//! is, and where, as it does for small values.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use godot::builtin::PackedByteArray;
use variant_codec::format::MAX_BYTES;
use variant_codec::memory::copied;
use variant_codec::stream::Decoder;
use variant_codec::{EncodeOptions, Limits, Strictness};

use crate::background;
use crate::builder::{Built, Fill, Left, Parts, VariantBuilder, check_converted_text};
use crate::codec::{Input, with_room};
use crate::engine::{self, LateValues, OwnedBytes};
use crate::keys::Keys;
use crate::pool::{Pool, lock, pool, share};
use crate::source::{Splitter, Tail};

/// What a thread does at a time, in encoded bytes.
pub const PART_BYTES: usize = 1 << 16;

/// How many pieces are put together at a time.
const COPIED_AT_ONCE: usize = 32;

/// What one task has encoded.
struct Piece {
    bytes: Vec<u8>,
    /// Where pieces of other tasks belong: behind so many of these bytes.
    gaps: Vec<Gap>,
}

struct Gap {
    position: usize,
    /// The index of the first piece, and how many follow one another.
    first: usize,
    count: usize,
}

/// The bytes of a value of which the calling thread has encoded `lead`, all but these tails.
pub fn encode<'a>(
    lead: Vec<u8>,
    tails: Vec<(usize, Tail<'a>)>,
    options: EncodeOptions,
) -> Option<PackedByteArray> {
    let pool = pool()?;
    let pieces = Mutex::new(vec![None]);
    let failed = AtomicBool::new(false);
    let finish = |index: usize, bytes, tails: Vec<(usize, Tail<'a>)>, add: &dyn Fn((usize, Tail<'a>))| {
        let mut gaps = Vec::with_capacity(tails.len());
        for (position, tail) in tails {
            let parts = tail.into_parts();
            let first = {
                let mut pieces = lock(&pieces);
                let first = pieces.len();
                pieces.resize_with(first + parts.len(), || None);
                first
            };
            gaps.push(Gap { position, first, count: parts.len() });
            for (offset, part) in parts.into_iter().enumerate() {
                add((first + offset, part));
            }
        }
        lock(&pieces)[index] = Some(Piece { bytes, gaps });
    };
    share(
        &pool,
        |(index, part): (usize, Tail<'a>), add| {
            if failed.load(Ordering::Relaxed) {
                return;
            }
            let splitter = Splitter::new();
            let encoded = with_room(options, |encoder| {
                part.pour(encoder, &splitter).and_then(|()| copied(encoder.output().written()))
            });
            match encoded {
                Ok(bytes) => finish(index, bytes, splitter.into_tails(), add),
                Err(_) => failed.store(true, Ordering::Relaxed),
            }
        },
        |add| finish(0, lead, tails, add),
    );
    let pieces: Option<Vec<Piece>> = pieces.into_inner().ok()?.into_iter().collect();
    join(&pool, &pieces.filter(|_| !failed.into_inner())?)
}

/// All pieces in one.
fn join(pool: &Pool, pieces: &[Piece]) -> Option<PackedByteArray> {
    let total = pieces.iter().map(|piece| piece.bytes.len()).sum::<usize>();
    if total > MAX_BYTES {
        return None;
    }
    let mut joined = engine::new_bytes(total).ok()?;
    let mut copies = Vec::with_capacity(pieces.len());
    order(pieces, 0, &mut joined.as_mut_slice(), &mut copies);
    copy_all(Some(pool), copies);
    Some(joined)
}

/// Bytes and the place for them.
pub struct Copy<'p, 'j> {
    pub from: &'p [u8],
    pub to: &'j mut [u8],
}

/// Copies bytes to their places, of the same length, on the threads of the pool if there is one.
pub fn copy_all(pool: Option<&Pool>, mut copies: Vec<Copy<'_, '_>>) {
    let copy =
        |copies: Vec<Copy<'_, '_>>| copies.into_iter().for_each(|Copy { from, to }| to.copy_from_slice(from));
    let Some(pool) = pool.filter(|_| copies.len() > COPIED_AT_ONCE) else { return copy(copies) };
    share(
        pool,
        |copies, _| copy(copies),
        |add| {
            while !copies.is_empty() {
                let rest = copies.split_off(copies.len().min(COPIED_AT_ONCE));
                add(std::mem::replace(&mut copies, rest));
            }
        },
    );
}

/// Puts a piece, with what belongs into its gaps, in order to the start of `rest`, which then is what follows.
fn order<'p, 'j>(pieces: &'p [Piece], index: usize, rest: &mut &'j mut [u8], copies: &mut Vec<Copy<'p, 'j>>) {
    let Piece { bytes, gaps } = &pieces[index];
    let put = |from: &'p [u8], rest: &mut &'j mut [u8], copies: &mut Vec<Copy<'p, 'j>>| {
        let (to, behind) = std::mem::take(rest).split_at_mut(from.len());
        copies.push(Copy { from, to });
        *rest = behind;
    };
    let mut done = 0;
    for gap in gaps {
        put(&bytes[done..gap.position], rest, copies);
        done = gap.position;
        for piece in gap.first..gap.first + gap.count {
            order(pieces, piece, rest, copies);
        }
    }
    put(&bytes[done..], rest, copies);
}

/// The value that `data`, a part of the input, hold, and where it ends. `None` where anything is wrong.
pub fn decode(
    pool: &Pool,
    input: &Input<'_>,
    data: &[u8],
    manner: Strictness,
    limits: &Limits,
    keys: &mut Keys,
) -> Option<(Built, usize)> {
    let bytes = OwnedBytes::new(input.to_packed());
    let (failed, misfits, text) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let fill = |left: Left, _: &dyn Fn(Left)| {
        if failed.load(Ordering::Relaxed) || !background::goes_on() {
            return;
        }
        let (mut keys, input) = (Keys::default(), Input::Shared(bytes.get()));
        let builder = VariantBuilder::new(manner, limits, &mut keys, &input);
        match builder.fill(left, &mut Decoder::new(data, manner, limits)) {
            Ok(done) => {
                misfits.fetch_add(done.misfits, Ordering::Relaxed);
                let text = text.fetch_add(done.converted_text, Ordering::Relaxed) + done.converted_text;
                if check_converted_text(text, data.len()).is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
            }
            Err(_) => failed.store(true, Ordering::Relaxed),
        }
    };
    let ((built, late), end) = share(pool, fill, |add| {
        let mut builder =
            VariantBuilder::new(manner, limits, keys, input).with_parts(Parts::new(PART_BYTES, add));
        let end = Decoder::new(data, manner, limits).pour_only(&mut builder).ok()?;
        Some((builder.finish_in_part().ok()?, end))
    })?;
    let built = built.with(Fill { misfits: misfits.into_inner(), converted_text: text.into_inner() });
    if failed.into_inner() || check_converted_text(built.converted_text, data.len()).is_err() {
        return None;
    }
    late.into_iter().for_each(LateValues::settle);
    Some((built, end))
}
