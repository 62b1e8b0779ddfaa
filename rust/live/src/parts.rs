//! Encodes and decodes one large value on several threads.
//!
//! The threads stop at the first error without reporting it. A single thread then repeats the work and finds
//! the error and its path, as for small values.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use godot::builtin::PackedByteArray;
use variant_codec::format::MAX_BYTES;
use variant_codec::sync::lock;
use variant_codec::{EncodeOptions, Error};
use variant_engine::{self as engine, OwnedBytes, Scope, Unfinished, with_gaps};

use crate::decode::built::{Built, ConversionCounts, CreatedObjects, check_converted_text};
use crate::decode::decoding::Decoding;
use crate::decode::input::Input;
use crate::decode::part_tasks::{PartDispatcher, PartTask};
use crate::encode::buffer::with_encoder;
use crate::encode::splitter::{Splitter, Tail};
use crate::encode::walker::write_tail;
use crate::threads::pool::{Pool, pool, share};
use crate::threads::progress::should_continue;
use crate::thresholds::PART_BYTES;

/// The number of chunks that a task copies.
const COPIED_AT_ONCE: usize = 32;

/// The bytes that one task has encoded.
struct Chunk {
    bytes: Vec<u8>,
    /// The positions in these bytes at which chunks of other tasks belong.
    insertions: Vec<Insertion>,
}

struct Insertion {
    position: usize,
    /// The index of the first inserted chunk, and the number of consecutive chunks.
    first: usize,
    count: usize,
}

/// Encodes the tails of a value, and returns the bytes of the whole value, or `None` for any error. `lead` is
/// the rest of the value, already encoded by the calling thread.
///
/// All threads encode parts into reused memory and join them: `cargo xtask bench entities` takes 5.4 ms on
/// two threads. With growing buffers that the calling thread joins, it takes 10 ms. One thread alone takes
/// 9.2 ms.
pub fn encode<'a>(
    lead: Vec<u8>,
    tails: Vec<(usize, Tail<'a>)>,
    options: EncodeOptions,
) -> Option<PackedByteArray> {
    let pool = pool()?;
    let chunks = Mutex::new(vec![None]);
    let failed = AtomicBool::new(false);
    let finish = |index: usize, bytes, tails: Vec<(usize, Tail<'a>)>, add: &dyn Fn((usize, Tail<'a>))| {
        let mut insertions = Vec::with_capacity(tails.len());
        for (position, tail) in tails {
            let parts = tail.into_parts();
            let first = {
                let mut chunks = lock(&chunks);
                let first = chunks.len();
                chunks.resize_with(first + parts.len(), || None);
                first
            };
            insertions.push(Insertion { position, first, count: parts.len() });
            for (offset, part) in parts.into_iter().enumerate() {
                add((first + offset, part));
            }
        }
        lock(&chunks)[index] = Some(Chunk { bytes, insertions });
    };
    share(
        &pool,
        |(index, part): (usize, Tail<'a>), add| {
            if failed.load(Ordering::Relaxed) {
                return;
            }
            let splitter = Splitter::new();
            let encoded = with_encoder(options, |encoder| {
                write_tail(&part, encoder, &splitter)?;
                Ok::<_, Error>(encoder.output().written().to_vec())
            });
            match encoded {
                Ok(bytes) => finish(index, bytes, splitter.into_tails(), add),
                Err(_) => failed.store(true, Ordering::Relaxed),
            }
        },
        |add| finish(0, lead, tails, add),
    );
    let chunks: Option<Vec<Chunk>> = chunks.into_inner().ok()?.into_iter().collect();
    join(&pool, &chunks.filter(|_| !failed.into_inner())?)
}

fn join(pool: &Pool, chunks: &[Chunk]) -> Option<PackedByteArray> {
    let total = chunks.iter().map(|chunk| chunk.bytes.len()).sum::<usize>();
    if total > MAX_BYTES {
        return None;
    }
    let mut joined = engine::new_bytes(total).ok()?;
    let mut copies = Vec::with_capacity(chunks.len());
    order(chunks, 0, &mut joined.as_mut_slice(), &mut copies);
    copy_all(Some(pool), copies);
    Some(joined)
}

/// Bytes and their destination.
pub struct Copy<'p, 'j> {
    pub from: &'p [u8],
    pub to: &'j mut [u8],
}

/// Copies bytes to destinations of the same length, on the threads of the pool if there is one.
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

/// Assigns memory from the start of `rest` to a chunk and its insertions, in order. `rest` is then the
/// remaining memory.
fn order<'p, 'j>(chunks: &'p [Chunk], index: usize, rest: &mut &'j mut [u8], copies: &mut Vec<Copy<'p, 'j>>) {
    let Chunk { bytes, insertions } = &chunks[index];
    let put = |from: &'p [u8], rest: &mut &'j mut [u8], copies: &mut Vec<Copy<'p, 'j>>| {
        let (to, behind) = std::mem::take(rest).split_at_mut(from.len());
        copies.push(Copy { from, to });
        *rest = behind;
    };
    let mut done = 0;
    for insertion in insertions {
        put(&bytes[done..insertion.position], rest, copies);
        done = insertion.position;
        for chunk in insertion.first..insertion.first + insertion.count {
            order(chunks, chunk, rest, copies);
        }
    }
    put(&bytes[done..], rest, copies);
}

/// Decodes `data`, a part of the input; returns the value and the offset of its end, or `None` for any error.
pub fn decode(
    pool: &Pool,
    decoding: &mut Decoding<'_>,
    input: &Input<'_>,
    data: &[u8],
) -> Option<(Built, usize)> {
    let totals = Totals::default();
    let (value, end) = with_gaps(|scope| decode_with_gaps(scope, pool, decoding, input, data, &totals))?;
    // Only a single-threaded decode creates objects.
    Some((Built::new(value, totals.into_counts(), CreatedObjects::default()), end))
}

/// The conversion counts of all threads that decode one value, and whether a thread has failed.
#[derive(Default)]
struct Totals {
    failed: AtomicBool,
    dropped: AtomicUsize,
    converted_text: AtomicUsize,
}

impl Totals {
    fn add(&self, counts: Option<ConversionCounts>, bytes: usize) {
        let fits = counts.is_some_and(|ConversionCounts { dropped, converted_text }| {
            self.dropped.fetch_add(dropped, Ordering::Relaxed);
            let text = self.converted_text.fetch_add(converted_text, Ordering::Relaxed) + converted_text;
            check_converted_text(text, bytes).is_ok()
        });
        if !fits {
            self.failed.store(true, Ordering::Relaxed);
        }
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn into_counts(self) -> ConversionCounts {
        ConversionCounts {
            dropped: self.dropped.into_inner(),
            converted_text: self.converted_text.into_inner(),
        }
    }
}

/// Decodes everything on the calling thread, except the parts that it hands to the other threads.
fn decode_with_gaps<'s>(
    _: Scope<'s>,
    pool: &Pool,
    decoding: &mut Decoding<'_>,
    input: &Input<'_>,
    data: &[u8],
    totals: &Totals,
) -> Option<(Unfinished<'s>, usize)> {
    let (strictness, limits) = (decoding.strictness, decoding.limits);
    let bytes = OwnedBytes::new(input.to_packed());
    let fill = |task: PartTask<'s>, _: &dyn Fn(PartTask<'s>)| {
        if totals.has_failed() || !should_continue() {
            return;
        }
        let (mut decoding, input) = (Decoding::new(limits, strictness), Input::Shared(bytes.get()));
        let mut decoder = decoding.decoder(data);
        let filled = decoding.builder(Some(&input)).fill(task, &mut decoder);
        totals.add(filled.ok(), data.len());
    };
    let ((value, counts), end) = share(pool, fill, |take| {
        let mut decoder = decoding.decoder(data);
        let mut builder =
            decoding.builder(Some(input)).with_parts(PartDispatcher { bytes: PART_BYTES, take });
        let end = decoder.decode_only(&mut builder).ok()?;
        Some((builder.finish_with_gaps(), end))
    })?;
    totals.add(Some(counts), data.len());
    (!totals.has_failed()).then_some((value, end))
}
