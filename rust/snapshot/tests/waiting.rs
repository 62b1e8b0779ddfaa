//! What a peer sees if snapshots do not hold everything, and if another writer takes over.

use std::sync::Arc;

use variant_snapshot::{Error, Frame, Kind, Reader, Schema, Value, Writer};

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
        let packet = writer.write(tick, &frame(&schema, tick, count), 300, |_| 1.0).unwrap();
        assert!((250..=300).contains(&packet.len()), "tick {tick}: {} bytes", packet.len());
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

#[test]
fn a_peer_whose_acknowledgements_are_lost_keeps_its_entities() {
    let schema = schema();
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&schema), 1), Reader::new(Arc::clone(&schema)));
    for tick in 1..200 {
        let packet = writer.write(tick, &frame(&schema, tick, 150), 500, |_| 1.0).unwrap();
        let changes = reader.read(&packet).unwrap();
        assert!(changes.removed.is_empty(), "tick {tick}: {:?}", changes.removed);
        if tick < 20 {
            writer.acknowledge(&reader.acknowledgement()).unwrap();
        }
    }
    assert_eq!(reader.newest().len(), 150);
}

#[test]
fn budgets_are_kept_or_refused() {
    let schema = schema();
    let mut writer = Writer::new(Arc::clone(&schema), 1);
    let few = writer.write(1, &frame(&schema, 1, 20_000), 1200, |_| 1.0).unwrap_err().to_string();
    assert!(few.contains("a max_bytes of at least 5067"), "{few}");
    // Most bytes of a budget are used, and another one may follow.
    for (tick, budget) in [(2, 20_000), (3, 5067), (4, usize::MAX)] {
        let bytes = writer.write(tick, &frame(&schema, tick, 20_000), budget, |_| 1.0).unwrap().len();
        assert!(bytes <= budget && bytes > budget.min(27_000) * 9 / 10, "{bytes} of {budget} bytes");
    }
    let mut wide = Schema::new();
    for index in 0..64 {
        wide.add(&format!("{index}"), Kind::Bool).unwrap();
    }
    let frame = Arc::new(Frame::of(&wide, (0..20_000).collect()).unwrap());
    let many = Writer::new(Arc::new(wide), 1).write(1, &frame, 100_000, |_| 1.0).unwrap_err().to_string();
    assert!(many.contains("at most 16384 entities"), "{many}");
}

#[test]
fn a_late_difference_of_another_writer_is_refused() {
    let schema = schema();
    let mut reader = Reader::new(Arc::clone(&schema));
    let mut late = Vec::new();
    for session in [1, 2] {
        let mut writer = Writer::new(Arc::clone(&schema), session);
        for tick in 1..6 - session {
            reader
                .read(&writer.write(tick, &frame(&schema, tick + session, 3), 1200, |_| 1.0).unwrap())
                .unwrap();
            writer.acknowledge(&reader.acknowledgement()).unwrap();
        }
        late.push(writer.write(5, &frame(&schema, 5, 3), 1200, |_| 1.0).unwrap());
    }
    assert!(matches!(reader.read(&late[0]), Err(Error::Baseline(_))));
    assert!(reader.read(&late[1]).is_ok());
}

#[test]
fn ticks_may_be_far_apart() {
    let schema = schema();
    let (mut writer, mut reader) = (Writer::new(Arc::clone(&schema), 1), Reader::new(Arc::clone(&schema)));
    let mut tick = 0;
    for distance in [1, 32_767, 32_768, 40_000, 65_536, 1 << 20, 1 << 31, 1, 32_767, 1] {
        tick += distance;
        let record = frame(&schema, 7, 3);
        reader.read(&writer.write(tick, &record, 1200, |_| 1.0).unwrap()).unwrap();
        assert_eq!(reader.last(), Some((tick, &record)));
        writer.acknowledge(&reader.acknowledgement()).unwrap();
    }
}
