//! The reader of one writer's snapshots.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::VERSION;
use crate::bits::{BitReader, BitWriter};
use crate::coding::Span;
use crate::difference::{self, References};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::row::Fields;
use crate::schema::Schema;

/// The number of frames that each side keeps.
pub const KEPT: usize = 32;
/// The number of ticks before the newest that an acknowledgement has a bit for.
pub const ACKNOWLEDGED: u32 = 32;
/// The ticks of differences have so many bits.
const TICK_BITS: u32 = 16;
/// Differences are less ticks long, so that these bits suffice.
pub const LONGEST: u32 = 1 << (TICK_BITS - 1);
/// Differences have so many bits of the session.
const SESSION_BITS: u32 = 8;

/// The start of a snapshot.
#[derive(Clone, Copy)]
pub(crate) enum Header {
    /// All entities, from the writer with this session.
    Full { session: u32, tick: u32 },
    /// What differs from the frame `ahead` ticks before, predicted with the one `behind` ticks before that.
    Difference { session: u32, tick: u32, ahead: u32, behind: Option<u32> },
}

impl Header {
    pub(crate) fn write(self, schema: &Schema, bits: &mut BitWriter) {
        bits.put(VERSION, 3);
        match self {
            Self::Full { session, tick } => {
                bits.bit(true);
                bits.put(session, 32);
                bits.put(tick, 32);
                bits.put(schema.hash(), 32);
            }
            Self::Difference { session, tick, ahead, behind } => {
                bits.bit(false);
                bits.put(session & ((1 << SESSION_BITS) - 1), SESSION_BITS);
                bits.put(tick & ((1 << TICK_BITS) - 1), TICK_BITS);
                bits.gamma(ahead);
                bits.bit(behind.is_some());
                if let Some(behind) = behind {
                    bits.gamma(behind);
                }
            }
        }
    }

    /// Reads a header. `known` is the session, and `newest` the tick of the last snapshot.
    fn read(schema: &Schema, bits: &mut BitReader<'_>, known: u32, newest: Option<u32>) -> Result<Self> {
        let version = bits.take(3)?;
        if version != VERSION {
            return Err(Error::Version(version));
        }
        if bits.bit()? {
            let (session, tick, found) = (bits.take(32)?, bits.take(32)?, bits.take(32)?);
            let expected = schema.hash();
            return if found == expected {
                Ok(Self::Full { session, tick })
            } else {
                Err(Error::Schema { found, expected })
            };
        }
        let (session, low) = (bits.take(SESSION_BITS)?, bits.take(TICK_BITS)?);
        let ahead = bits.gamma()?;
        let behind = if bits.bit()? { Some(bits.gamma()?) } else { None };
        if ahead.max(behind.unwrap_or(0)) >= LONGEST {
            return Err(Error::invalid("the distance to an earlier snapshot is too large"));
        }
        let Some(newest) = newest.filter(|_| session == known & ((1 << SESSION_BITS) - 1)) else {
            return Err(Error::Baseline((low as u16).wrapping_sub(ahead as u16).into()));
        };
        // The tick with these bits that is the closest to the last one.
        let change = (low as u16).wrapping_sub(newest as u16).cast_signed();
        let tick = newest.checked_add_signed(change.into());
        let tick = tick.ok_or_else(|| Error::invalid("a tick below 0 or above 4,294,967,295"))?;
        Ok(Self::Difference { session: known, tick, ahead, behind })
    }

    fn tick(self) -> u32 {
        match self {
            Self::Full { tick, .. } | Self::Difference { tick, .. } => tick,
        }
    }
}

/// The changes since the snapshot before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The ids of entities whose fields have changed.
    pub changed: Vec<u32>,
    /// The ids of new entities.
    pub added: Vec<u32>,
    /// The ids of entities that are gone.
    pub removed: Vec<u32>,
}

/// Reads the snapshots of one writer after another.
#[derive(Clone)]
pub struct Reader {
    schema: Arc<Schema>,
    /// The writer's session.
    session: u32,
    /// The frames that differences may refer to, with their ticks.
    received: VecDeque<(u32, Arc<Frame>)>,
    newest: Arc<Frame>,
}

impl Reader {
    /// A reader that has received nothing.
    pub fn new(schema: Arc<Schema>) -> Self {
        Self { schema, session: 0, received: VecDeque::new(), newest: Arc::default() }
    }

    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The newest state of each entity that was received. It differs from the frame of the last snapshot in entities that
    /// wait: the snapshot may have an older state of them.
    pub fn newest(&self) -> &Arc<Frame> {
        &self.newest
    }

    /// The last snapshot: its tick, and its frame, as the writer knows it.
    pub fn last(&self) -> Option<(u32, &Arc<Frame>)> {
        self.received.back().map(|(tick, frame)| (*tick, frame))
    }

    /// Reads a snapshot, and returns how [`Reader::newest`] changes. The first one of another writer starts a new session.
    ///
    /// # Errors
    /// Fails if the snapshot is not newer than the last one, refers to one that this reader does not have, is of another
    /// schema, or is damaged. Nothing has changed then.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Changes> {
        let schema = &*self.schema;
        let mut bits = BitReader::new(bytes);
        let newest = self.received.back().map(|(tick, _)| *tick);
        let header = Header::read(schema, &mut bits, self.session, newest)?;
        let tick = header.tick();
        let (Header::Full { session, .. } | Header::Difference { session, .. }) = header;
        if let Some(newest) = newest.filter(|newest| *newest >= tick && session == self.session) {
            return Err(Error::Old { found: tick, newest });
        }
        let empty = Arc::default();
        let find = |tick: Option<u32>, behind: u32| {
            let wanted = tick.and_then(|tick| tick.checked_sub(behind));
            let found = self.received.iter().find(|(known, _)| Some(*known) == wanted);
            found.ok_or_else(|| Error::Baseline(wanted.unwrap_or_default()))
        };
        let references = match header {
            Header::Full { .. } => References { base: &empty, earlier: None },
            Header::Difference { ahead, behind, .. } => {
                let (base_tick, base) = find(Some(tick), ahead)?;
                let earlier = behind.map(|behind| {
                    find(Some(*base_tick), behind).map(|(_, frame)| (&**frame, Span { ahead, behind }))
                });
                References { base, earlier: earlier.transpose()? }
            }
        };
        let (frame, waiting) = difference::read(schema, &mut bits, references)?;
        bits.finish()?;
        let frame = Arc::new(frame);
        let newest = if waiting.is_empty() {
            Arc::clone(&frame)
        } else {
            merged(schema, &self.newest, &frame, &waiting)
        };
        let changes = changes(schema, &self.newest, &newest);
        if session != self.session {
            self.received.clear();
        }
        self.received.push_back((tick, frame));
        if self.received.len() > KEPT {
            // The next snapshots may have the same baseline.
            let base = match header {
                Header::Full { .. } => None,
                Header::Difference { ahead, .. } => Some(tick - ahead),
            };
            let is_base = self.received.front().is_some_and(|(oldest, _)| Some(*oldest) == base);
            self.received.remove(usize::from(is_base));
        }
        (self.session, self.newest) = (session, newest);
        Ok(changes)
    }

    /// The bytes for [`Writer::acknowledge`](crate::Writer::acknowledge): the snapshots that this reader has.
    pub fn acknowledgement(&self) -> Vec<u8> {
        let mut bits = BitWriter::default();
        bits.put(VERSION, 3);
        bits.bit(!self.received.is_empty());
        if let Some((newest, _)) = self.received.back() {
            bits.put(self.session, 32);
            bits.put(*newest, 32);
            let others = self.received.iter().rev().skip(1).map(|(tick, _)| newest - tick - 1);
            bits.put(
                others.filter(|index| *index < ACKNOWLEDGED).fold(0, |bits, index| bits | 1 << index),
                ACKNOWLEDGED,
            );
        }
        bits.into_bytes()
    }
}

/// A frame in which the entities that wait are as in the last one, or not there.
fn merged(schema: &Schema, last: &Frame, frame: &Frame, waiting: &[u32]) -> Arc<Frame> {
    let mut merged = Frame::new();
    for (index, id) in frame.ids.iter().enumerate() {
        if waiting.binary_search(id).is_err() {
            merged.add(*id, frame.fields(schema, index));
        } else if let Some(at) = last.find(*id) {
            merged.add(*id, last.fields(schema, at));
        }
    }
    Arc::new(merged)
}

fn changes(schema: &Schema, last: &Frame, frame: &Frame) -> Changes {
    let mut changes = Changes::default();
    let mut at = 0;
    for (index, id) in frame.ids.iter().enumerate() {
        while last.ids.get(at).is_some_and(|gone| gone < id) {
            changes.removed.push(last.ids[at]);
            at += 1;
        }
        if last.ids.get(at) != Some(id) {
            changes.added.push(*id);
            continue;
        }
        let (before, now): (Fields<'_>, Fields<'_>) = (last.fields(schema, at), frame.fields(schema, index));
        if before != now {
            changes.changed.push(*id);
        }
        at += 1;
    }
    changes.removed.extend_from_slice(&last.ids[at..]);
    changes
}
