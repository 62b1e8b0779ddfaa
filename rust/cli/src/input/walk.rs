//! The values of an [`Input`], in order, beside those of another one, or in parallel.

use std::borrow::Cow;
use std::mem;
use std::ops::Range;
use std::sync::mpsc;
use std::thread;

use rayon::prelude::*;
use variant_codec::frames::{self, Index};
use variant_codec::godot3::Loss;
use variant_codec::stream::{Decoder, Encoder};
use variant_codec::{EncodeOptions, Error, ErrorKind, Limits, Strictness};

use super::open::{Input, of_file};
use super::progress::Progress;
use crate::failure::{Failure, Outcome};

/// The stack size that debug builds need for 1024 nested typed Dictionaries. Each of them takes five levels of JSON.
/// Unused stack takes no memory.
pub const STACK: usize = 512 << 20;

/// The offset and the bytes of a value in a file.
pub type Placed<'b> = (u64, &'b [u8]);

impl Input {
    /// Calls `each` with the index, offset and bytes of each record in the range `records`. A single value is
    /// record 0. Values of Godot 3 are converted. Keeps at most 1 MiB in memory, or one record or value if it is longer.
    pub fn each(
        &self,
        records: Range<u64>,
        mut each: impl FnMut(u64, u64, &[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        self.each_stored(records, |index, offset, bytes| {
            let Some(loss) = self.godot3 else { return each(index, offset, bytes) };
            let converted = to_godot4(bytes, &self.limits, loss);
            let converted =
                converted.map_err(|error| Failure::data_at(&self.name_of(index), error, bytes, offset))?;
            each(index, offset, &converted)
        })
    }

    /// Like [`Input::each`], but with the bytes as they are stored, in Godot 3's format or in Godot 4's.
    pub fn each_stored(
        &self,
        records: Range<u64>,
        mut each: impl FnMut(u64, u64, &[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        let size = self.size()?;
        let progress = self.shows_progress.then(|| Progress::of(size));
        let mut each = |index, offset, bytes: &[u8]| {
            if let Some(progress) = &progress {
                progress.at(index, offset);
            }
            each(index, offset, bytes)
        };
        if !self.has_records {
            return each(0, 0, &self.raw()?);
        }
        let mut failed = None;
        let scanned =
            frames::scan(&*self.source, &Index::default(), records, &self.limits, |index, offset, record| {
                each(index, offset, record).map_err(|failure| {
                    failed = Some(failure);
                    Error::new(ErrorKind::Argument("".into()))
                })
            });
        match (failed, scanned) {
            (Some(failure), _) => Err(failure),
            (None, scanned) => scanned.map_err(|error| of_file(&self.name, &error)),
        }
    }

    /// The bytes of the record at `at`, without its length prefix, and its error, if it is truncated.
    pub fn torn_record(&self, at: u64) -> Outcome<Option<(Vec<u8>, Error)>> {
        let size = self.size()?;
        if !self.has_records || size < at + frames::FRAME_BYTES as u64 {
            return Ok(None);
        }
        let mut bytes = vec![0; usize::try_from(size - at).unwrap_or(usize::MAX)];
        let read = self.source.read_at(at, &mut bytes);
        bytes.truncate(read.map_err(|error| Failure::file(&self.name, &error))?);
        let error = frames::records(&bytes, &self.limits).1;
        let torn = error.filter(|error| {
            error.offset() == Some(0) && matches!(error.kind(), ErrorKind::UnexpectedEnd { .. })
        });
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        Ok(torn.map(|error| (bytes.split_off(frames::FRAME_BYTES), error.shifted(start))))
    }

    /// Calls `each` with each index and the values at this index in both files, until `each` returns false.
    /// A value is `None` if its file has fewer values.
    pub fn each_beside(
        &self,
        other: &Self,
        mut each: impl FnMut(u64, Option<Placed<'_>>, Option<Placed<'_>>) -> Outcome<bool>,
    ) -> Outcome<()> {
        /// The capacity of the channel, in groups of values.
        const WAITING: usize = 2;
        /// The size at which a group is sent, in bytes.
        const GROUP: usize = 64 << 10;

        thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(WAITING);
            let send_all = move || {
                let (mut group, mut bytes) = (Vec::new(), 0);
                let read = other.each(0..u64::MAX, |_, offset, value| {
                    group.push((offset, value.to_vec()));
                    bytes += value.len();
                    if bytes < GROUP && group.len() < GROUP / 64 {
                        return Ok(());
                    }
                    bytes = 0;
                    sender.send(Ok(std::mem::take(&mut group))).map_err(|_| Failure::Closed)
                });
                // The receiver is gone if the comparison ended early.
                let _ = sender.send(Ok(group));
                if let Err(failure) = read {
                    let _ = sender.send(Err(failure));
                }
            };
            let reader = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, send_all);
            reader.map_err(|error| Failure::file("cannot start a thread", &error))?;
            let mut group = Vec::new().into_iter();
            let mut next_of_other = || -> Outcome<Option<(u64, Vec<u8>)>> {
                loop {
                    if let Some(value) = group.next() {
                        return Ok(Some(value));
                    }
                    let Ok(received) = receiver.recv() else { return Ok(None) };
                    group = received?.into_iter();
                }
            };
            let mut count = 0;
            let mut is_done = false;
            let read = self.each(0..u64::MAX, |index, offset, value| {
                let beside = next_of_other()?;
                let beside = beside.as_ref().map(|(offset, value)| (*offset, value.as_slice()));
                count = index + 1;
                is_done = !each(index, Some((offset, value)), beside)?;
                if is_done { Err(Failure::Closed) } else { Ok(()) }
            });
            match read {
                Err(Failure::Closed) if is_done => return Ok(()),
                read => read?,
            }
            while let Some((offset, value)) = next_of_other()? {
                if !each(count, None, Some((offset, &value)))? {
                    break;
                }
                count += 1;
            }
            Ok(())
        })
    }

    /// Calls `work` with each value, on all cores and in groups of consecutive values; calls `take` with the
    /// result of each group, in order.
    pub fn each_in_parallel<T: Default + Send>(
        &self,
        work: impl Fn(&mut T, u64, u64, &[u8]) -> Outcome<()> + Sync,
        mut take: impl FnMut(T) -> Outcome<()>,
    ) -> Outcome<()> {
        /// The bytes of the values that are processed at the same time.
        const AT_ONCE: usize = 8 << 20;
        /// Several groups per core, so that one busy core does not delay the others.
        const PER_CORE: usize = 8;

        let mut process = |values: &[(u64, u64, Cow<'_, [u8]>)]| {
            let size = values.len().div_ceil(rayon::current_num_threads() * PER_CORE).max(1);
            let groups = values.par_chunks(size).map(|group| {
                let mut found = T::default();
                let done = group
                    .iter()
                    .try_for_each(|(index, offset, bytes)| work(&mut found, *index, *offset, bytes));
                (found, done)
            });
            let groups: Vec<_> = groups.collect();
            groups.into_iter().try_for_each(|(found, done)| take(found).and(done))
        };
        let (mut values, mut held) = (Vec::new(), 0);
        let read = self.each(0..u64::MAX, |index, offset, bytes| {
            if bytes.len() >= AT_ONCE {
                process(&mem::take(&mut values))?;
                held = 0;
                // A value of this size is not copied.
                return process(&[(index, offset, Cow::Borrowed(bytes))]);
            }
            values.push((index, offset, Cow::Owned(bytes.to_vec())));
            held += bytes.len();
            if held < AT_ONCE {
                return Ok(());
            }
            held = 0;
            process(&mem::take(&mut values))
        });
        // If reading fails, the values before the damage are still processed.
        process(&values).and(read)
    }
}

fn to_godot4(bytes: &[u8], limits: &Limits, loss: Loss) -> Result<Vec<u8>, Error> {
    let mut encoder = Encoder::new(Vec::new(), EncodeOptions::default());
    let mut decoder = Decoder::of_godot3(bytes, Strictness::Strict, limits, loss);
    decoder.decode_only(&mut encoder)?;
    Ok(encoder.into_output())
}
