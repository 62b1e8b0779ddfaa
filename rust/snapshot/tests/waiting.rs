//! What a peer sees if snapshots do not hold everything, and if another writer takes over.

use std::sync::Arc;

use variant_snapshot::{Frame, Kind, Reader, Schema, Value, Writer};

/// The age in ticks of the newest acknowledgement.
const LATE: usize = 4;
const COUNT: u32 = 400;

fn schema() -> Arc<Schema> {
    let mut schema = Schema::new();
    schema.add("tick", Kind::Int { min: 0, max: 10_000 }).unwrap();
    schema.add("noise", Kind::Int { min: 0, max: 1000 }).unwrap();
    Arc::new(schema)
}

/// Entities that all have the tick as one value.
fn frame(schema: &Schema, tick: u32, count: u32) -> Arc<Frame> {
    let mut frame = Frame::of(schema, (0..count).collect()).unwrap();
    for index in 0..count as usize {
        frame.set(schema, index, 0, Value::Int(tick.into())).unwrap();
        let noise = (u64::from(tick) * 7919 + index as u64 * 104_729) % 1001;
        frame.set(schema, index, 1, Value::Int(noise as i64)).unwrap();
    }
    Arc::new(frame)
}

fn shown(reader: &Reader, id: u32) -> Option<i64> {
    let index = reader.newest().find(id)?;
    let Value::Int(tick) = reader.newest().get(reader.schema(), index, 0) else { panic!("an int") };
    Some(tick)
}

#[test]
fn entities_that_wait_neither_vanish_nor_go_back() {
    let schema = schema();
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&schema), 1), Reader::new(Arc::clone(&schema)));
    let mut acknowledgements = Vec::new();
    for tick in 1..200 {
        let before: Vec<Option<i64>> = (0..COUNT).map(|id| shown(&reader, id)).collect();
        // A third of the entities vanishes at a time.
        let count = if tick < 100 { COUNT } else { COUNT * 2 / 3 };
        let packet = writer.write(tick, &frame(&schema, tick, count), 150, |_| 1.0).unwrap();
        assert!((100..=150).contains(&packet.len()), "tick {tick}: {} bytes", packet.len());
        let changes = reader.read(&packet).unwrap();
        assert!(tick >= 100 || changes.removed.is_empty(), "tick {tick}: {:?}", changes.removed);
        for id in 0..COUNT {
            let (before, now) = (before[id as usize], shown(&reader, id));
            assert!(now >= before || now.is_none() && id >= count, "tick {tick}: {before:?} to {now:?}");
            assert!(before.is_some() || now.is_none() || id < count, "tick {tick}: {id} is there again");
        }
        acknowledgements.push(reader.acknowledgement());
        if acknowledgements.len() == LATE {
            writer.acknowledge(&acknowledgements.remove(0)).unwrap();
        }
    }
    assert_eq!(reader.newest().len(), COUNT as usize * 2 / 3);
    let oldest = (0..COUNT * 2 / 3).filter_map(|id| shown(&reader, id)).min().unwrap();
    assert!(oldest > 150, "{oldest}");
}

#[test]
fn a_reader_follows_to_another_writer() {
    let schema = schema();
    let mut reader = Reader::new(Arc::clone(&schema));
    let mut first = Writer::new(Arc::clone(&schema), 1);
    for tick in 100..110 {
        reader.read(&first.write(tick, &frame(&schema, tick, 3), 1200, |_| 1.0).unwrap()).unwrap();
        first.acknowledge(&reader.acknowledgement()).unwrap();
    }
    // Its ticks start again, and reach those that the reader has acknowledged to the first one.
    let mut second = Writer::new(Arc::clone(&schema), 2);
    for tick in 0..200 {
        let record = frame(&schema, tick, 2);
        let packet = second.write(tick, &record, 1200, |_| 1.0).unwrap();
        second.acknowledge(&reader.acknowledgement()).unwrap();
        let changes = reader.read(&packet).unwrap();
        assert_eq!(changes.removed, if tick == 0 { vec![2] } else { vec![] });
        assert_eq!(reader.last(), Some((tick, &record)));
    }
    // A late snapshot of the first one takes the reader back, until it has said so.
    let late =
        Writer::new(Arc::clone(&schema), 1).write(110, &frame(&schema, 110, 3), 1200, |_| 1.0).unwrap();
    reader.read(&late).unwrap();
    second.acknowledge(&reader.acknowledgement()).unwrap();
    let record = frame(&schema, 200, 2);
    reader.read(&second.write(200, &record, 1200, |_| 1.0).unwrap()).unwrap();
    assert_eq!(reader.newest(), &record);
}
