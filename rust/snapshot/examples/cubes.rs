//! A benchmark of the 901 cubes of Glenn Fiedler's article "Snapshot Compression", at 60 Hz, beside the crate sdec. FILE is
//! an absolute path:
//!
//! ```text
//! godot --headless --fixed-fps 60 --path godot-project --script res://bench/cubes.gd -- --file FILE
//! cargo run -p variant_snapshot --release --example cubes FILE
//! ```
//!
//! The numbers have the article's steps. Acknowledgements arrive six ticks, which are 100 ms, late; nothing is lost.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sdec::{ComponentSnapshot, EntityId, EntitySnapshot, FieldValue, Snapshot, SnapshotTick};
use sdec_schema::{ComponentDef, ComponentId, FieldCodec, FieldDef, FieldId};
use variant_snapshot::bits::BitReader;
use variant_snapshot::{Frame, Kind, Reader, Schema, Steps, Value, Writer};

const CUBES: usize = 901;
/// The floats of a cube in the recording.
const FLOATS: usize = 8;
/// The age in ticks of the newest acknowledgement.
const LATE: usize = 6;
/// Enough for all cubes, so that none waits.
const MOST_BYTES: usize = 1 << 16;
const STEP: f64 = 1.0 / 512.0;
/// The bits of the rival's fields: x, y, z, and the rotation with the flag.
const RIVAL_BITS: [u32; 4] = [18, 18, 14, 30];

/// The bytes of all differences, and the time that they took.
#[derive(Default)]
struct Cost {
    bytes: usize,
    encoding: Duration,
    decoding: Duration,
}

fn main() {
    let file = std::env::args().nth(1).expect("the file of the recording");
    let recording = std::fs::read(file).unwrap();
    let floats: Vec<f64> =
        recording.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes).into()).collect();
    let mut schema = Schema::new();
    schema.add("ground", Kind::Vector2(Steps { min: -256.0, max: 256.0 - STEP, step: STEP })).unwrap();
    schema.add("height", Kind::Float(Steps { min: 0.0, max: 32.0 - STEP, step: STEP })).unwrap();
    schema.add("rotation", Kind::Quaternion { bits: 9 }).unwrap();
    schema.add("interacts", Kind::Bool).unwrap();
    let schema = Arc::new(schema);
    let frames: Vec<Arc<Frame>> =
        floats.chunks_exact(CUBES * FLOATS).map(|tick| frame(&schema, tick)).collect();
    let ticks = frames.len() - LATE;
    let rows = |frame: &Frame| (0..CUBES).map(|index| frame.row(&schema, index)).collect::<Vec<_>>();
    let differ = frames
        .iter()
        .zip(&frames[LATE..])
        .map(|(old, new)| rows(old).iter().zip(rows(new)).filter(|(old, new)| *old != new).count());
    let share = differ.sum::<usize>() as f64 / (ticks * CUBES) as f64;
    println!("{:.1} % of the cubes differ from {LATE} ticks before", share * 100.0);
    println!("                 bits for a cube and tick   kbit/s   encoding and decoding a cube");
    for (name, cost) in [("variant_snapshot", own(&schema, &frames)), ("sdec", rival(&schema, &frames))] {
        let bits = (cost.bytes * 8) as f64 / ticks as f64;
        let each = |time: Duration| time.as_nanos() / (ticks * CUBES) as u128;
        println!(
            "{name:16} {:24.2} {:8.1} {:9} ns {:8} ns",
            bits / CUBES as f64,
            bits * 60.0 / 1000.0,
            each(cost.encoding),
            each(cost.decoding),
        );
    }
}

/// The cubes of a tick. The engine's axis of height is y.
fn frame(schema: &Schema, floats: &[f64]) -> Arc<Frame> {
    let (mut frame, mut row) = (Frame::new(), schema.row());
    for (id, cube) in floats.as_chunks::<FLOATS>().0.iter().enumerate() {
        let [x, y, z, rotation @ .., interacts] = *cube;
        let values = [
            Value::Vector2([x, z]),
            Value::Float(y),
            Value::Quaternion(rotation),
            Value::Bool(interacts > 0.0),
        ];
        for (field, value) in values.into_iter().enumerate() {
            schema.set(&mut row, field, value).unwrap();
        }
        frame.push(id as u32, &row).unwrap();
    }
    Arc::new(frame)
}

fn own(schema: &Arc<Schema>, frames: &[Arc<Frame>]) -> Cost {
    let mut cost = Cost::default();
    let (mut writer, mut reader) = (Writer::new(Arc::clone(schema), 0), Reader::new(Arc::clone(schema)));
    let mut late = VecDeque::new();
    for (tick, frame) in frames.iter().enumerate() {
        if late.len() == LATE {
            let acknowledgement: Vec<u8> = late.pop_front().unwrap();
            writer.acknowledge(&acknowledgement).unwrap();
        }
        let started = Instant::now();
        let packet = writer.write(tick as u32, frame, MOST_BYTES, |_| 1.0).unwrap();
        cost.encoding += started.elapsed();
        let started = Instant::now();
        reader.read(&packet).unwrap();
        cost.decoding += started.elapsed();
        cost.bytes += packet.len();
        assert_eq!(reader.last().unwrap().1, frame);
        late.push_back(reader.acknowledgement());
        if tick < LATE {
            // Snapshots are full until an acknowledgement arrives.
            cost = Cost::default();
        }
    }
    cost
}

/// The rival sends the fields that differ, in full. Of its modes, and of eight ways to cut the 80 bits of a cube into fields,
/// this is the smallest: the mode for sessions, with its compact header, and four fields.
fn rival(schema: &Schema, frames: &[Arc<Frame>]) -> Cost {
    let component = ComponentId::new(1).unwrap();
    let fields = (1..).zip(RIVAL_BITS);
    let fields =
        fields.map(|(id, bits)| FieldDef::new(FieldId::new(id).unwrap(), FieldCodec::uint(bits as u8)));
    let rival =
        sdec_schema::Schema::new(vec![ComponentDef::with_fields(component, fields.collect())]).unwrap();
    let entity = |frame: &Frame, index: usize| {
        // The same numbers: packed rows have them one after another.
        let packed = schema.pack(&frame.row(schema, index));
        let mut bits = BitReader::new(&packed);
        let fields = RIVAL_BITS.map(|each| FieldValue::UInt(bits.take(each).unwrap().into()));
        let components = vec![ComponentSnapshot { id: component, fields: fields.into() }];
        EntitySnapshot { id: EntityId::new(index as u32), components }
    };
    let snapshots: Vec<Snapshot> = (1..)
        .zip(frames)
        .map(|(tick, frame)| Snapshot {
            tick: SnapshotTick::new(tick),
            entities: (0..frame.len()).map(|index| entity(frame, index)).collect(),
        })
        .collect();
    let (limits, wire_limits) = (sdec::CodecLimits::default(), sdec::WireLimits::default());
    let mut scratch = sdec::CodecScratch::default();
    let mut buffer = vec![0; MOST_BYTES];
    let mut last_tick = snapshots[LATE - 1].tick;
    let mut session = sdec::SessionState {
        schema_hash: sdec_schema::schema_hash(&rival),
        session_id: None,
        last_tick,
        compact_mode: sdec::CompactHeaderMode::SessionV1,
    };
    let mut cost = Cost::default();
    for (old, new) in snapshots.iter().zip(&snapshots[LATE..]) {
        let started = Instant::now();
        let length = sdec::encode_delta_snapshot_for_client_session_with_scratch(
            &rival,
            new.tick,
            old.tick,
            old,
            new,
            &limits,
            &mut scratch,
            &mut last_tick,
            &mut buffer,
        );
        cost.encoding += started.elapsed();
        let bytes = &buffer[..length.unwrap()];
        let started = Instant::now();
        let packet = sdec::decode_session_packet(&rival, &mut session, bytes, &wire_limits).unwrap();
        let read = sdec::apply_delta_snapshot_from_packet(&rival, old, &packet, &limits).unwrap();
        cost.decoding += started.elapsed();
        assert_eq!(read, *new);
        cost.bytes += bytes.len();
    }
    cost
}
