//! The writer of snapshots for one peer.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::VERSION;
use crate::bits::{BitReader, BitWriter};
use crate::coding::Span;
use crate::difference::{Difference, Item, References};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::reader::{ACKNOWLEDGED, Header, KEPT, LONGEST};
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
    session: u32,
    sent: VecDeque<Sent>,
    /// The entities that have waited, with their accumulated priorities.
    waiting: HashMap<u32, f64>,
}

impl Writer {
    /// A writer for a peer that has received nothing from it. The session is a random number, so that a peer that has
    /// received snapshots of another writer notices.
    pub fn new(schema: Arc<Schema>, session: u32) -> Self {
        Self { schema, session, sent: VecDeque::new(), waiting: HashMap::new() }
    }

    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The smallest `max_bytes` for [`Writer::write`]: the largest entity must fit, beside two bits for each entity.
    pub fn least_bytes(&self, entities: usize) -> usize {
        self.schema.most_bits().div_ceil(8) + 64 + entities / 4
    }

    /// The frame that the peer has if it has received the last snapshot.
    pub fn last(&self) -> Option<(u32, &Arc<Frame>)> {
        self.sent.back().map(|sent| (sent.tick, &sent.frame))
    }

    /// The snapshot of a tick: what the peer needs to have `frame`. If that takes over `max_bytes`, the entities with the
    /// highest priorities are sent, and the others wait. Each tick adds an entity's `priority` to that of waiting before.
    ///
    /// # Errors
    /// Fails if the tick is not above the last one, there are too many entities, or `max_bytes` is below
    /// [`Writer::least_bytes`].
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
        let (schema, empty) = (Arc::clone(&self.schema), Frame::new());
        let (header, references) = self.references(tick, &empty);
        let most_entities = schema.most_entities();
        if frame.len() > most_entities {
            return Err(Error::argument(format!(
                "a snapshot has at most {most_entities} entities with so many fields, found {}",
                frame.len()
            )));
        }
        let least = self.least_bytes(frame.len().max(references.base.len()));
        if max_bytes < least {
            return Err(Error::argument(format!(
                "expected a max_bytes of at least {least} for so many entities, found {max_bytes}"
            )));
        }
        let most = max_bytes.saturating_mul(8);
        let mut difference = Difference::of(&schema, frame, references);
        let write = |difference: &Difference<'_>| {
            let mut bits = BitWriter::default();
            header.write(&schema, &mut bits);
            difference.write(&mut bits);
            bits
        };
        let mut bits = write(&difference);
        let mut waiting = HashMap::new();
        if bits.count() > most || !self.waiting.is_empty() {
            let items = difference.items();
            // If an entity appeared in the last snapshot and not in this one, the peer would see it vanish.
            let was_sent = |item: &Item| {
                item.is_added() && self.last().is_some_and(|(_, last)| last.find(item.id).is_some())
            };
            let urgency = |item: &Item| match was_sent(item) {
                true => f64::INFINITY,
                false => self.waiting.get(&item.id).copied().unwrap_or(0.0) + priority(item.id).max(0.0),
            };
            let mut ranked: Vec<(f64, usize)> =
                items.iter().enumerate().map(|(at, item)| (urgency(item), at)).collect();
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let mut fits = ranked.len();
            if bits.count() > most {
                let mut exceeds = ranked.len();
                // The first guess is the share that fits of all.
                let mut count = (exceeds as u64 * most as u64 / bits.count() as u64) as usize;
                fits = 0;
                loop {
                    for (rank, (_, at)) in ranked.iter().enumerate() {
                        difference.send(&items[*at], rank < count);
                    }
                    let tried = write(&difference);
                    // Nothing always fits: `least_bytes`.
                    if tried.count() > most && count > 0 {
                        exceeds = count;
                    } else {
                        fits = count;
                        bits = tried;
                    }
                    // Closer takes more attempts than it is worth.
                    if exceeds - fits <= 1 + fits / 32 && count == fits {
                        break;
                    }
                    count = fits.midpoint(exceeds);
                }
            }
            let left = ranked.iter().skip(fits).filter(|(urgency, _)| urgency.is_finite());
            waiting.extend(left.map(|(urgency, at)| (items[*at].id, *urgency)));
        }
        let frame = difference.sent_frame();
        self.waiting = waiting;
        self.sent.push_back(Sent { tick, frame, is_acknowledged: false });
        if self.sent.len() > KEPT {
            // The newest frame that the peer has is the next baseline.
            let has_newer = self.sent.iter().skip(1).any(|sent| sent.is_acknowledged);
            let is_base = !has_newer && self.sent.front().is_some_and(|oldest| oldest.is_acknowledged);
            self.sent.remove(usize::from(is_base));
        }
        Ok(bits.into_bytes())
    }

    /// The frames for a snapshot of `tick`: the newest that the peer has, and an earlier one.
    fn references<'f>(&'f self, tick: u32, empty: &'f Frame) -> (Header, References<'f>) {
        let mut known = self.sent.iter().rev().filter(|sent| sent.is_acknowledged);
        let Some(base) = known.next().filter(|base| tick - base.tick < LONGEST) else {
            return (Header::Full { session: self.session, tick }, References { base: empty, earlier: None });
        };
        let ahead = tick - base.tick;
        // Looking back as far as ahead predicts best: closer, the steps of the numbers matter more.
        let earlier = known
            .take_while(|earlier| base.tick - earlier.tick < LONGEST)
            .min_by_key(|earlier| (base.tick - earlier.tick).abs_diff(ahead));
        let behind = earlier.map(|earlier| base.tick - earlier.tick);
        let earlier =
            earlier.map(|earlier| (&*earlier.frame, Span { ahead, behind: base.tick - earlier.tick }));
        (
            Header::Difference { session: self.session, tick, ahead, behind },
            References { base: &base.frame, earlier },
        )
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
        let session = if has_received { bits.take(32)? } else { 0 };
        let [newest, others] = if has_received { [bits.take(32)?, bits.take(ACKNOWLEDGED)?] } else { [0; 2] };
        bits.finish()?;
        if !has_received || session != self.session {
            // The peer has nothing, or snapshots of another writer.
            self.sent.iter_mut().for_each(|sent| sent.is_acknowledged = false);
            return Ok(None);
        }
        let before = (0..ACKNOWLEDGED)
            .filter(|index| others >> index & 1 == 1)
            .map(|index| newest.checked_sub(index + 1));
        let ticks: Option<Vec<u32>> = std::iter::once(Some(newest)).chain(before).collect();
        let ticks = ticks.ok_or_else(|| Error::invalid("an acknowledgement of a tick below 0"))?;
        // Snapshots before may have been sent, but are no longer kept. The first one may be an old baseline.
        let oldest = self.sent.get(usize::from(self.sent.len() == KEPT)).map_or(u32::MAX, |sent| sent.tick);
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
