//! A writer and a reader of snapshots beside a network that loses, delays, repeats and reorders packets.

use std::collections::{BTreeMap, HashMap};
use std::f64::consts::TAU;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use variant_snapshot::{Changes, Error, Frame, Kind, Reader, Schema, Steps, Value, Writer};

/// The quality of a network.
#[derive(Clone, Copy, Debug)]
struct Network {
    /// Of 100 packets.
    lost: u32,
    /// In ticks.
    longest_delay: u32,
    max_bytes: usize,
}

/// A budget that every snapshot of a run fits into.
const UNLIMITED: usize = 200_000;

const NETWORKS: [Network; 6] = [
    Network { lost: 0, longest_delay: 0, max_bytes: UNLIMITED },
    Network { lost: 5, longest_delay: 3, max_bytes: UNLIMITED },
    Network { lost: 20, longest_delay: 10, max_bytes: 1200 },
    Network { lost: 50, longest_delay: 6, max_bytes: 400 },
    Network { lost: 30, longest_delay: 50, max_bytes: 200 },
    Network { lost: 0, longest_delay: 5, max_bytes: 120 },
];

/// The most entities at a time.
const MOST_ENTITIES: u32 = 60;

/// Watches the peer.
pub trait Witness {
    /// The peer starts with a new reader.
    ///
    /// # Errors
    /// An error ends the run.
    fn starts(&mut self, _schema: &Schema) -> Result<()> {
        Ok(())
    }

    /// Another writer takes over.
    fn follows(&mut self) {}

    /// A packet arrives, and `reader` has not read it yet.
    ///
    /// # Errors
    /// An error ends the run.
    fn arrives(&mut self, _packet: &[u8], _reader: &Reader) -> Result<()> {
        Ok(())
    }

    /// `reader` has accepted or refused a packet.
    ///
    /// # Errors
    /// An error ends the run.
    fn has_read(&mut self, _packet: &[u8], _is_accepted: bool, _reader: &Reader) -> Result<()> {
        Ok(())
    }
}

/// Watches nothing.
pub struct Nobody;

impl Witness for Nobody {}

/// Packets on their way, with the ticks at which they arrive.
type Packets = Vec<(u32, Vec<u8>)>;

/// Runs `ticks` ticks. The seed chooses the schema, the network and the world. Returns the number of accepted snapshots.
///
/// # Errors
/// Fails if a frame that the peer accepts is not the one that was sent, or a snapshot exceeds its budget.
pub fn run(seed: u64, ticks: u32, witness: &mut impl Witness) -> Result<u32> {
    let mut random = Rng::with_seed(seed);
    let network = NETWORKS[(seed % NETWORKS.len() as u64) as usize];
    let schema = Arc::new(random_schema(&mut random));
    // Any tick may be the first. In some runs, the lowest bits wrap, or the last tick is close to the largest.
    let mut tick =
        [random.u32(..) >> random.u32(..32), u32::MAX][random.usize(..2)].min(u32::MAX - 5 * ticks);
    let mut world = World::new(&schema, random.fork(), random.u32(1..=MOST_ENTITIES));
    let mut writer = Writer::new(Arc::clone(&schema), random.u32(..));
    let mut reader = Reader::new(Arc::clone(&schema));
    let max_bytes = network.max_bytes.max(writer.least_bytes(MOST_ENTITIES as usize));
    let mut records: HashMap<u32, (Arc<Frame>, Arc<Frame>)> = HashMap::new();
    let (mut down, mut up) = (Packets::new(), Packets::new());
    let mut accepted = 0;
    witness.starts(&schema)?;
    for _ in 0..ticks {
        // Servers may skip ticks.
        tick += if random.u8(..) < 10 { random.u32(1..5) } else { 1 };
        let frame = world.step()?;
        let packet = writer.write(tick, &frame, max_bytes, |id| f64::from(id % 4))?;
        ensure!(packet.len() <= max_bytes, "{network:?}, tick {tick}: {} bytes", packet.len());
        let (_, sent) = writer.last().context("a snapshot was sent")?;
        records.insert(tick, (frame, Arc::clone(sent)));
        let mut post = |packets: &mut Packets, packet: &[u8]| {
            while random.u32(0..100) >= network.lost {
                packets.push((tick + random.u32(0..=network.longest_delay), packet.to_owned()));
                // A few are sent twice.
                if random.u8(..) > 8 {
                    break;
                }
            }
        };
        post(&mut down, &packet);
        // The peer may stall for a while.
        if tick % 1000 < 940 {
            for (_, packet) in down.extract_if(.., |(arrives, _)| *arrives <= tick) {
                let before = reader.last().map(|(tick, frame)| (tick, Arc::clone(frame)));
                let shown = Arc::clone(reader.newest());
                witness.arrives(&packet, &reader)?;
                let result = reader.read(&packet);
                let last = reader.last();
                match &result {
                    Ok(changes) => {
                        let (read, frame) = last.context("a snapshot was read")?;
                        let (world, record) = records.get(&read).context("no such snapshot was sent")?;
                        ensure!(frame == record, "{network:?}: another frame was sent at tick {read}");
                        ensure!(max_bytes < UNLIMITED || frame == world, "{network:?}: entities wait");
                        ensure!(are_the_changes(changes, &shown, reader.newest(), &schema), "{changes:?}");
                        ensure!(
                            max_bytes < UNLIMITED || reader.newest() == frame,
                            "{network:?}: an old state"
                        );
                        accepted += 1;
                    }
                    Err(Error::Old { .. } | Error::Baseline(_)) => {
                        ensure!(
                            last == before.as_ref().map(|(tick, frame)| (*tick, frame)),
                            "it has changed"
                        );
                    }
                    Err(error) => bail!("{network:?}, tick {tick}: {error}"),
                }
                witness.has_read(&packet, result.is_ok(), &reader)?;
            }
            post(&mut up, &reader.acknowledgement());
        }
        for (_, acknowledgement) in up.extract_if(.., |(arrives, _)| *arrives <= tick) {
            writer.acknowledge(&acknowledgement)?;
        }
        // Another server, with ticks of its own, on a new connection.
        if random.u32(0..2000) == 0 {
            writer = Writer::new(Arc::clone(&schema), random.u32(..));
            tick = tick.saturating_sub(random.u32(0..100));
            (down, up) = (Packets::new(), Packets::new());
            records.clear();
            witness.follows();
        }
        // A late joiner, or a peer that has started again.
        if random.u32(0..2000) == 0 {
            reader = Reader::new(Arc::clone(&schema));
            witness.starts(&schema)?;
        }
    }
    Ok(accepted)
}

fn are_the_changes(changes: &Changes, before: &Frame, after: &Frame, schema: &Schema) -> bool {
    let row = |frame: &Frame, id: u32| frame.find(id).map(|index| frame.row(schema, index));
    let is_changed = |id: &u32| matches!((row(before, *id), row(after, *id)), (Some(a), Some(b)) if a != b);
    let is_new = |id: &u32| before.find(*id).is_none() && after.find(*id).is_some();
    let is_gone = |id: &u32| before.find(*id).is_some() && after.find(*id).is_none();
    let is_same = |id: &&u32| row(before, **id).is_some() && row(before, **id) == row(after, **id);
    let same = after.ids().iter().filter(is_same).count();
    changes.changed.iter().all(is_changed)
        && changes.added.iter().all(is_new)
        && changes.removed.iter().all(is_gone)
        && same + changes.changed.len() + changes.added.len() == after.len()
        && before.len() + changes.added.len() == after.len() + changes.removed.len()
}

/// A schema with fields of any kind.
fn random_schema(random: &mut Rng) -> Schema {
    let mut schema = Schema::new();
    for index in 0..random.usize(1..10) {
        let name = if random.bool() { format!("{index}") } else { format!("\"{index}\" \u{3b1}\u{1f600}") };
        // Not every random kind is valid.
        while schema.add(&name, random_kind(random)).is_err() {}
    }
    schema
}

fn random_kind(random: &mut Rng) -> Kind {
    let below_or_above = (random.f64() - 0.5) * f64::from(random.u32(..) >> random.u32(..32));
    let min = if random.bool() { below_or_above.round() } else { below_or_above };
    let step = [1.0, 0.1, 0.01, 1.0 / 3.0, 1.0 / 512.0, random.f64()][random.usize(..6)];
    let count = f64::from(random.u32(..) >> random.u32(..32)) + [0.0, 0.3, 0.5][random.usize(..3)];
    let steps = Steps { min, max: min + step * count, step };
    match random.u32(0..10) {
        0 => Kind::Bool,
        1 | 2 => {
            let min = random.i64(..) >> random.u32(..64);
            Kind::Int { min, max: min.saturating_add_unsigned(random.u64(..) >> random.u32(..64)) }
        }
        3 => Kind::Float(steps),
        4 => Kind::Vector2(steps),
        5 => Kind::Vector3(steps),
        6 => Kind::Angle { bits: random.u32(1..=24) },
        7 | 8 => Kind::Quaternion { bits: random.u32(3..=18) },
        _ => Kind::Variant { max_bytes: random.usize(1..=40) },
    }
}

/// Entities that move, appear, vanish and change.
struct World {
    schema: Arc<Schema>,
    random: Rng,
    entities: BTreeMap<u32, Vec<Part>>,
    most: u32,
}

impl World {
    fn new(schema: &Arc<Schema>, random: Rng, most: u32) -> Self {
        Self { schema: Arc::clone(schema), random, entities: BTreeMap::new(), most }
    }

    fn step(&mut self) -> Result<Arc<Frame>> {
        let Self { schema, random, entities, most } = self;
        let kinds = || schema.fields().iter().map(|field| field.kind());
        if random.u8(..) < 30 && entities.len() < *most as usize {
            let id = if random.u8(..) < 3 { u32::MAX - 1 } else { random.u32(0..*most * 2) };
            entities.insert(id, kinds().map(|kind| Part::random(kind, random)).collect());
        }
        if random.u8(..) < 20
            && let Some(id) = random.choice(entities.keys().copied().collect::<Vec<_>>())
        {
            entities.remove(&id);
        }
        let mut frame = Frame::new();
        let mut row = schema.row();
        for (id, parts) in entities {
            for (index, (part, kind)) in parts.iter_mut().zip(kinds()).enumerate() {
                if id % 3 > 0 {
                    part.step(kind, random);
                }
                schema.set(&mut row, index, part.value(kind))?;
            }
            frame.push(*id, &row)?;
        }
        Ok(Arc::new(frame))
    }
}

/// A field of an entity, before it is rounded.
enum Part {
    Flag(bool),
    Int(i64),
    Moving { at: [f64; 4], speed: [f64; 4] },
    Bytes(Vec<u8>),
}

impl Part {
    /// Any value of a kind. Numbers reach beyond their range.
    fn random(kind: Kind, random: &mut Rng) -> Self {
        let mut moving = |min: f64, max: f64, step: f64| Self::Moving {
            at: [0; 4].map(|_| min + (max - min) * (random.f64() * 1.2 - 0.1)),
            speed: [0; 4].map(|_| (random.f64() - 0.5) * step * 8.0),
        };
        match kind {
            Kind::Bool => Self::Flag(random.bool()),
            Kind::Int { min, max } => Self::Int(random.i64(min.saturating_sub(3)..=max.saturating_add(3))),
            Kind::Float(steps) | Kind::Vector2(steps) | Kind::Vector3(steps) => {
                moving(steps.min, steps.max, steps.step)
            }
            Kind::Angle { bits } => moving(-50.0, 50.0, TAU / f64::from(1 << bits)),
            Kind::Quaternion { bits } => moving(-1.0, 1.0, 1.0 / f64::from(1 << bits)),
            Kind::Variant { max_bytes } => {
                Self::Bytes((0..random.usize(0..=max_bytes)).map(|_| random.u8(..)).collect())
            }
        }
    }

    /// Moves on. Seldom, something else happens.
    fn step(&mut self, kind: Kind, random: &mut Rng) {
        match self {
            _ if random.u8(..) < 2 => *self = Self::random(kind, random),
            Self::Int(int) if random.u8(..) < 8 => *int = int.saturating_add(random.i64(-3..=3)),
            Self::Moving { at, speed } => at.iter_mut().zip(speed).for_each(|(at, speed)| {
                *at += *speed;
                *speed *= 0.95 + random.f64() * 0.1;
            }),
            _ => {}
        }
    }

    fn value(&self, kind: Kind) -> Value<'_> {
        match (kind, self) {
            (_, Self::Flag(flag)) => Value::Bool(*flag),
            (_, Self::Int(int)) => Value::Int(*int),
            (_, Self::Bytes(bytes)) => Value::Variant(bytes),
            (Kind::Vector2(_), Self::Moving { at: [x, y, ..], .. }) => Value::Vector2([*x, *y]),
            (Kind::Vector3(_), Self::Moving { at: [x, y, z, _], .. }) => Value::Vector3([*x, *y, *z]),
            (Kind::Quaternion { .. }, Self::Moving { at, .. }) => Value::Quaternion(*at),
            (_, Self::Moving { at: [x, ..], .. }) => Value::Float(*x),
        }
    }
}
