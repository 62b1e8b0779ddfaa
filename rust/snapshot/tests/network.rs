//! A writer and a reader beside a network that loses, delays, repeats and reorders packets.

use std::collections::HashMap;
use std::sync::Arc;

use variant_snapshot::{Error, Frame, Kind, Reader, Schema, Steps, Value, Writer};

use crate::rows::{random_row, schema as any_schema};

/// Entities that move, appear, vanish and change.
struct World {
    schema: Arc<Schema>,
    random: fastrand::Rng,
    entities: HashMap<u32, [f64; 6]>,
    most: usize,
}

fn schema() -> Arc<Schema> {
    let mut schema = Schema::new();
    schema.add("position", Kind::Vector2(Steps { min: 0.0, max: 100.0, step: 0.01 })).unwrap();
    schema.add("heading", Kind::Angle { bits: 8 }).unwrap();
    schema.add("hp", Kind::Int { min: 0, max: 100 }).unwrap();
    schema.add("is_hit", Kind::Bool).unwrap();
    schema.add("gold", Kind::Int { min: 0, max: 1 << 40 }).unwrap();
    schema.add("rotation", Kind::Quaternion { bits: 7 }).unwrap();
    schema.add("name", Kind::Variant { max_bytes: 12 }).unwrap();
    Arc::new(schema)
}

impl World {
    fn new(schema: &Arc<Schema>, seed: u64, most: usize) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self { schema: Arc::clone(schema), random, entities: HashMap::new(), most }
    }

    fn step(&mut self) -> Arc<Frame> {
        let random = &mut self.random;
        if random.u8(..) < 30 && self.entities.len() < self.most {
            let id = if random.u8(..) < 3 { u32::MAX - 1 } else { random.u32(0..self.most as u32 * 2) };
            self.entities.insert(
                id,
                [random.f64() * 100.0, random.f64() * 100.0, random.f64() * 6.0, 100.0, 0.0, 0.0],
            );
        }
        if random.u8(..) < 20 {
            let ids: Vec<u32> = self.entities.keys().copied().collect();
            if let Some(id) = random.choice(ids) {
                self.entities.remove(&id);
            }
        }
        let mut ids: Vec<u32> = self.entities.keys().copied().collect();
        ids.sort_unstable();
        let mut frame = Frame::new();
        let mut row = self.schema.row();
        for id in ids {
            let entity = self.entities.get_mut(&id).unwrap();
            let is_moving = id % 3 > 0;
            if is_moving {
                entity[2] += (random.f64() - 0.5) * 0.2;
                entity[0] = (entity[0] + entity[2].cos() * 0.1).clamp(0.0, 100.0);
                entity[1] = (entity[1] + entity[2].sin() * 0.1).clamp(0.0, 100.0);
            }
            entity[3] -= f64::from(random.u8(..) < 4);
            entity[4] += f64::from(random.u8(..) < 3) * 1e10;
            entity[5] += f64::from(random.u8(..) < 9);
            let half = entity[2] / 2.0;
            let name = format!("n{}", entity[5] as u32 / 20);
            let values = [
                Value::Vector2([entity[0], entity[1]]),
                Value::Float(entity[2]),
                Value::Int(entity[3] as i64),
                Value::Bool(entity[5] as u32 % 2 == 1),
                Value::Int(entity[4] as i64),
                Value::Quaternion([half.sin(), 0.0, half.cos(), 0.1]),
                Value::Variant(name.as_bytes()),
            ];
            for (index, value) in values.into_iter().enumerate() {
                self.schema.set(&mut row, index, value).unwrap();
            }
            frame.push(id, &row).unwrap();
        }
        Arc::new(frame)
    }
}

/// How bad the network is.
#[derive(Clone, Copy, Debug)]
struct Network {
    /// Of 100 packets.
    lost: u32,
    /// In ticks.
    longest_delay: u32,
    max_bytes: usize,
}

/// Packets on their way, with the ticks at which they arrive.
type Packets = Vec<(u32, Vec<u8>)>;

/// Runs ticks; returns how many snapshots were accepted, and how many bytes were sent.
fn run(network: Network, seed: u64, first_tick: u32, ticks: u32, most: usize) -> (u32, usize) {
    let schema = schema();
    let mut world = World::new(&schema, seed, most);
    let mut random = fastrand::Rng::with_seed(seed + 1000);
    let mut writer = Writer::new(Arc::clone(&schema));
    let mut reader = Reader::new(Arc::clone(&schema));
    let mut records: HashMap<u32, (Arc<Frame>, Arc<Frame>)> = HashMap::new();
    let (mut down, mut up) = (Packets::new(), Packets::new());
    let (mut accepted, mut bytes, mut tick) = (0, 0, first_tick);
    for _ in 0..ticks {
        // Servers may skip ticks.
        tick += if random.u8(..) < 10 { random.u32(1..5) } else { 1 };
        let frame = world.step();
        let packet = writer.write(tick, &frame, network.max_bytes, |id| f64::from(id % 4)).unwrap();
        assert!(packet.len() <= network.max_bytes, "{network:?}: {} bytes", packet.len());
        bytes += packet.len();
        let (sent_tick, sent) = writer.last().unwrap();
        assert_eq!(sent_tick, tick);
        records.insert(tick, (frame, Arc::clone(sent)));
        let mut post = |packets: &mut Packets, packet: Vec<u8>| {
            while random.u32(0..100) >= network.lost {
                packets.push((tick + random.u32(0..=network.longest_delay), packet.clone()));
                // A few are sent twice.
                if random.u8(..) > 8 {
                    break;
                }
            }
        };
        post(&mut down, packet);
        // The peer may stall for a while.
        if tick % 1000 < 940 {
            for (_, packet) in down.extract_if(.., |(arrives, _)| *arrives <= tick) {
                let before = reader.last().map(|(tick, frame)| (tick, Arc::clone(frame)));
                match reader.read(&packet) {
                    Ok(changes) => {
                        let (read, frame) = reader.last().unwrap();
                        let (world, record) = &records[&read];
                        assert_eq!(frame, record, "{network:?}, tick {read}");
                        if network.max_bytes > 50_000 {
                            assert_eq!(frame, world);
                        }
                        check_changes(&changes, before.as_ref().map(|(_, frame)| &**frame), frame, &schema);
                        accepted += 1;
                    }
                    Err(Error::Old { .. } | Error::Baseline(_)) => {
                        assert_eq!(reader.last(), before.as_ref().map(|(tick, frame)| (*tick, frame)))
                    }
                    Err(error) => panic!("{network:?}: {error}"),
                }
            }
            post(&mut up, reader.acknowledgement());
        }
        for (_, acknowledgement) in up.extract_if(.., |(arrives, _)| *arrives <= tick) {
            writer.acknowledge(&acknowledgement).unwrap();
        }
        // A late joiner, or a peer that has started again.
        if random.u32(0..2000) == 0 {
            reader = Reader::new(Arc::clone(&schema));
        }
    }
    (accepted, bytes)
}

fn check_changes(
    changes: &variant_snapshot::Changes,
    before: Option<&Frame>,
    after: &Frame,
    schema: &Schema,
) {
    let empty = Frame::new();
    let before = before.unwrap_or(&empty);
    for id in &changes.changed {
        let (was, is) = (before.find(*id).unwrap(), after.find(*id).unwrap());
        assert!((0..schema.fields().len()).any(|field| after.differs(schema, is, (before, was), field)));
    }
    assert!(changes.added.iter().all(|id| before.find(*id).is_none() && after.find(*id).is_some()));
    assert!(changes.removed.iter().all(|id| before.find(*id).is_some() && after.find(*id).is_none()));
    assert_eq!(before.len() + changes.added.len() - changes.removed.len(), after.len());
}

const NETWORKS: [Network; 6] = [
    Network { lost: 0, longest_delay: 0, max_bytes: 100_000 },
    Network { lost: 5, longest_delay: 3, max_bytes: 100_000 },
    Network { lost: 20, longest_delay: 10, max_bytes: 1200 },
    Network { lost: 50, longest_delay: 6, max_bytes: 400 },
    Network { lost: 30, longest_delay: 50, max_bytes: 200 },
    Network { lost: 0, longest_delay: 5, max_bytes: 120 },
];

#[test]
fn every_accepted_frame_is_the_one_that_was_sent() {
    for (seed, network) in NETWORKS.into_iter().enumerate() {
        let (accepted, _) = run(network, seed as u64, 65_000 * seed as u32, 3000, 60);
        assert!(accepted > 100, "{network:?}: {accepted}");
    }
}

/// A million ticks: `cargo test -p variant_snapshot --release -- --ignored million`.
#[test]
#[ignore = "takes a minute"]
fn a_million_ticks() {
    for round in 0..20 {
        for (index, network) in NETWORKS.into_iter().enumerate() {
            let (accepted, bytes) =
                run(network, 100 + round * 10 + index as u64, round as u32 * 60_000, 8400, 60);
            assert!(accepted > 500, "{network:?}: {accepted}");
            println!("{network:?}: {accepted} of 8,400 accepted, {bytes} bytes sent");
        }
    }
}

/// No truncated snapshot can be read, and an error changes nothing. The fuzz target `snapshots` flips bits.
#[test]
fn truncated_snapshots() {
    let schema = Arc::new(any_schema());
    let mut random = fastrand::Rng::with_seed(9);
    let mut writer = Writer::new(Arc::clone(&schema));
    let mut good = Reader::new(Arc::clone(&schema));
    for tick in 1..30 {
        let mut frame = Frame::new();
        for id in 0..8 {
            if random.bool() {
                frame.push(id, &random_row(&schema, &mut random)).unwrap();
            }
        }
        let packet = writer.write(tick, &Arc::new(frame), 100_000, |_| 1.0).unwrap();
        let state = good.last().map(|(tick, frame)| (tick, Arc::clone(frame)));
        let history: Vec<u8> = good.acknowledgement();
        let mut lengths: Vec<usize> = (0..packet.len()).collect();
        random.shuffle(&mut lengths);
        for length in lengths.into_iter().take(60) {
            assert!(good.read(&packet[..length]).is_err(), "tick {tick}, {length} of {} bytes", packet.len());
        }
        assert_eq!(good.last().map(|(tick, frame)| (tick, Arc::clone(frame))), state);
        assert_eq!(good.acknowledgement(), history);
        good.read(&packet).unwrap();
        writer.acknowledge(&good.acknowledgement()).unwrap();
    }
}

#[test]
fn acknowledgements_of_nothing() {
    let schema = schema();
    let mut writer = Writer::new(Arc::clone(&schema));
    let mut reader = Reader::new(Arc::clone(&schema));
    let nothing = reader.acknowledgement();
    assert_eq!(writer.acknowledge(&nothing), Ok(None));
    let frame = Arc::new(Frame::new());
    let first = writer.write(7, &frame, 1000, |_| 1.0).unwrap();
    reader.read(&first).unwrap();
    let acknowledgement = reader.acknowledgement();
    let mut other = Writer::new(Arc::clone(&schema));
    assert_eq!(other.acknowledge(&acknowledgement), Err(Error::NotSent(7)));
    other.write(5, &frame, 1000, |_| 1.0).unwrap();
    assert_eq!(other.acknowledge(&acknowledgement), Err(Error::NotSent(7)));
    assert_eq!(writer.acknowledge(&acknowledgement), Ok(Some(7)));
    for length in 0..acknowledgement.len() {
        assert!(writer.acknowledge(&acknowledgement[..length]).is_err());
    }
    assert_eq!(reader.read(&first), Err(Error::Old { found: 7, newest: 7 }));
    assert!(writer.write(7, &frame, 1000, |_| 1.0).unwrap_err().to_string().contains("a tick above 7"));
    assert!(writer.write(8, &frame, 10, |_| 1.0).unwrap_err().to_string().contains("max_bytes"));
    let mut stranger = Schema::new();
    stranger.add("hp", Kind::Bool).unwrap();
    let refused = Reader::new(Arc::new(stranger)).read(&first).unwrap_err().to_string();
    assert!(refused.contains("another schema"), "{refused}");
}
