//! Truncated snapshots, and acknowledgements of snapshots that were not sent. Networks are simulated in the package
//! `conformance`.

use std::sync::Arc;

use variant_snapshot::{Error, Frame, Kind, Reader, Schema, Writer};

use crate::rows::{random_row, schema};

/// No truncated snapshot can be read, and an error changes nothing. The fuzz target `snapshots` flips bits.
#[test]
fn truncated_snapshots() {
    let schema = Arc::new(schema());
    let mut random = fastrand::Rng::with_seed(9);
    let mut writer = Writer::new(Arc::clone(&schema), 9);
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
    let schema = Arc::new(schema());
    let mut writer = Writer::new(Arc::clone(&schema), 9);
    let mut reader = Reader::new(Arc::clone(&schema));
    let nothing = reader.acknowledgement();
    assert_eq!(writer.acknowledge(&nothing), Ok(None));
    let frame = Arc::new(Frame::new());
    let first = writer.write(7, &frame, 1000, |_| 1.0).unwrap();
    reader.read(&first).unwrap();
    let acknowledgement = reader.acknowledgement();
    let mut other = Writer::new(Arc::clone(&schema), 9);
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
