//! The writer of snapshots for one peer.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::VERSION;
use crate::bits::{BitReader, BitWriter};
use crate::coding::Span;
use crate::difference::{Difference, Item, References};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::reader::{ACKNOWLEDGED, Header, KEPT, SESSION_BITS};
use crate::schema::Schema;

/// A snapshot that was sent.
#[derive(Clone)]
struct Sent {
    tick: u32,
    /// The frame that the peer has if it has received the snapshot.
    frame: Arc<Frame>,
    is_acknowledged: bool,
}

/// Writes snapshots for one peer.
#[derive(Clone)]
pub struct Writer {
    schema: Arc<Schema>,
    session: u16,
    sent: VecDeque<Sent>,
    /// The entities that have waited, with their accumulated priorities.
    waiting: HashMap<u32, f64>,
}

impl Writer {
    /// A writer for a peer that has received nothing from it. The session is a random number, so that a peer that has
    /// received snapshots of another writer notices.
    pub fn new(schema: Arc<Schema>, session: u16) -> Self {
        Self { schema, session, sent: VecDeque::new(), waiting: HashMap::new() }
    }

    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The smallest `max_bytes` for [`Writer::write`]: the largest entity must fit.
    pub fn least_bytes(&self) -> usize {
        self.schema.most_bits().div_ceil(8) + 64
    }

    /// The frame that the peer has if it has received the last snapshot.
    pub fn last(&self) -> Option<(u32, &Arc<Frame>)> {
        self.sent.back().map(|sent| (sent.tick, &sent.frame))
    }

    /// The snapshot of a tick: what the peer needs to have `frame`. If that takes over `max_bytes`, the entities with the
    /// highest priorities are sent, and the others wait. Each tick adds an entity's `priority` to that of waiting before.
    ///
    /// # Errors
    /// Fails if the tick is not above the last one, or `max_bytes` is below [`Writer::least_bytes`].
    pub fn write(
        &mut self,
        tick: u32,
        frame: &Arc<Frame>,
        max_bytes: usize,
        priority: impl Fn(u32) -> f64,
    ) -> Result<Vec<u8>> {
        if let Some(last) = self.sent.back().filter(|last| last.tick >= tick) {
            return Err(Error::argument(format!("expected a tick above {}, found {tick}", last.tick)));
        }
        if max_bytes < self.least_bytes() {
            let least = self.least_bytes();
            return Err(Error::argument(format!(
                "expected a max_bytes of at least {least}, so that the largest entity fits; found {max_bytes}"
            )));
        }
        let (schema, mut waiting) = (Arc::clone(&self.schema), std::mem::take(&mut self.waiting));
        let empty = Frame::new();
        let (header, references) = self.references(tick, &empty);
        let mut difference = Difference::of(&schema, frame, references);
        let mut bits = BitWriter::default();
        header.write(&schema, &mut bits);
        difference.write(&mut bits);
        if bits.count() > max_bytes * 8 || !waiting.is_empty() {
            let items = difference.items();
            // If an entity appeared in the last snapshot and not in this one, the peer would see it vanish.
            let was_sent = |item: &Item| {
                item.is_added() && self.last().is_some_and(|(_, last)| last.find(item.id).is_some())
            };
            let urgency = |item: &Item| match was_sent(item) {
                true => f64::INFINITY,
                false => waiting.get(&item.id).copied().unwrap_or(0.0) + priority(item.id).max(0.0),
            };
            let mut ranked: Vec<(f64, usize)> =
                items.iter().enumerate().map(|(at, item)| (urgency(item), at)).collect();
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let (most, mut count) = (max_bytes * 8, ranked.len());
            // The sizes are estimates. All together show how good they are, and then it may take a few attempts.
            let estimated: usize = items.iter().map(|item| item.bits).sum();
            let mut budget = most * estimated / bits.count().max(1);
            while bits.count() > most {
                let mut used = 0;
                let fits = ranked.iter().take_while(|(_, at)| {
                    used += items[*at].bits;
                    used <= budget
                });
                count = fits.count().min(count.saturating_sub(1)).max(usize::from(count > 1));
                for (rank, (_, at)) in ranked.iter().enumerate() {
                    difference.send(&items[*at], rank < count);
                }
                bits = BitWriter::default();
                header.write(&schema, &mut bits);
                difference.write(&mut bits);
                budget = budget.saturating_sub(bits.count().saturating_sub(most));
            }
            waiting.clear();
            let left = ranked.iter().skip(count).filter(|(urgency, _)| urgency.is_finite());
            waiting.extend(left.map(|(urgency, at)| (items[*at].id, *urgency)));
        }
        let frame = difference.sent_frame();
        self.waiting = waiting;
        self.sent.push_back(Sent { tick, frame, is_acknowledged: false });
        if self.sent.len() > KEPT {
            self.sent.pop_front();
        }
        Ok(bits.into_bytes())
    }

    /// The frames for a snapshot of `tick`: the newest that the peer has, and an earlier one.
    fn references<'f>(&'f self, tick: u32, empty: &'f Frame) -> (Header, References<'f>) {
        let mut known = self.sent.iter().rev().filter(|sent| sent.is_acknowledged);
        let Some(base) = known.next() else {
            return (Header::Full { session: self.session, tick }, References { base: empty, earlier: None });
        };
        let ahead = tick - base.tick;
        // Looking back as far as ahead predicts best: closer, the steps of the numbers matter more.
        let earlier = known.min_by_key(|earlier| (base.tick - earlier.tick).abs_diff(ahead));
        let behind = earlier.map(|earlier| base.tick - earlier.tick);
        let earlier =
            earlier.map(|earlier| (&*earlier.frame, Span { ahead, behind: base.tick - earlier.tick }));
        (Header::Difference { tick, ahead, behind }, References { base: &base.frame, earlier })
    }

    /// Notes which snapshots the peer has, from its acknowledgement. Returns the newest tick that it has.
    ///
    /// # Errors
    /// Fails if the bytes are no acknowledgement, or of a snapshot that was not sent.
    pub fn acknowledge(&mut self, bytes: &[u8]) -> Result<Option<u32>> {
        let mut bits = BitReader::new(bytes);
        let version = bits.take(3)?;
        if version != VERSION {
            return Err(Error::Version(version));
        }
        let has_received = bits.bit()?;
        let session = if has_received { bits.take(SESSION_BITS)? } else { 0 };
        let [newest, others] = if has_received { [bits.take(32)?, bits.take(ACKNOWLEDGED)?] } else { [0; 2] };
        bits.finish()?;
        if !has_received || session != self.session.into() {
            // The peer has nothing, or snapshots of another writer.
            self.sent.iter_mut().for_each(|sent| sent.is_acknowledged = false);
            return Ok(None);
        }
        let before = (0..ACKNOWLEDGED)
            .filter(|index| others >> index & 1 == 1)
            .map(|index| newest.checked_sub(index + 1));
        let ticks: Option<Vec<u32>> = std::iter::once(Some(newest)).chain(before).collect();
        let ticks = ticks.ok_or_else(|| Error::invalid("an acknowledgement of a tick below 0"))?;
        let oldest = self.sent.front().map_or(u32::MAX, |sent| sent.tick);
        // Snapshots before the oldest may have been sent, but are no longer kept.
        let not_sent = |tick: &&u32| **tick >= oldest && !self.sent.iter().any(|sent| sent.tick == **tick);
        if let Some(tick) = ticks.iter().find(not_sent) {
            return Err(Error::NotSent(*tick));
        }
        if self.sent.is_empty() {
            return Err(Error::NotSent(newest));
        }
        for sent in &mut self.sent {
            sent.is_acknowledged |= ticks.contains(&sent.tick);
        }
        Ok(Some(newest))
    }
}
