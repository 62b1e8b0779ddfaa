//! Snapshots, rows and acknowledgements of strangers.

use std::sync::{Arc, LazyLock};

use variant_snapshot::{Frame, Kind, Reader, Row, Schema, Steps, Value, Writer};

/// A reader that has a few frames, and the writer that sent them.
struct Both {
    writer: Writer,
    reader: Reader,
}

static BOTH: LazyLock<Both> = LazyLock::new(|| both(|_| {}));

fn schema() -> Arc<Schema> {
    let mut schema = Schema::new();
    let steps = Steps { min: -10.0, max: 10.0, step: 0.1 };
    let kinds = [
        Kind::Bool,
        Kind::Int { min: 0, max: 100 },
        Kind::Int { min: 0, max: 1 << 33 },
        Kind::Vector2(steps),
        Kind::Angle { bits: 8 },
        Kind::Quaternion { bits: 5 },
        Kind::Variant { max_bytes: 10 },
    ];
    for (index, kind) in kinds.into_iter().enumerate() {
        schema.add(&format!("{index}"), kind).expect("it can be added");
    }
    Arc::new(schema)
}

/// Sends four frames, and passes each packet to `see`.
fn both(mut see: impl FnMut(Vec<u8>)) -> Both {
    let schema = schema();
    let mut writer = Writer::new(Arc::clone(&schema), 9);
    let mut reader = Reader::new(Arc::clone(&schema));
    for tick in 1..5 {
        let mut frame = Frame::new();
        for id in (0..12).filter(|id| id % 4 != tick % 4) {
            let turn = f64::from(tick * (1 + id % 3)) / 10.0;
            let mut row = schema.row();
            let values = [
                Value::Bool(id % 2 == tick % 2),
                Value::Int((100 - tick).into()),
                Value::Int(1 << (30 + id % 4)),
                Value::Vector2([turn, -2.0 * turn]),
                Value::Float(turn),
                Value::Quaternion([turn.sin(), 0.0, 0.0, turn.cos()]),
                Value::Variant(if tick < 3 { b"abc" } else { b"" }),
            ];
            for (field, value) in values.into_iter().enumerate() {
                schema.set(&mut row, field, value).expect("it fits");
            }
            frame.push(id, &row).expect("ids ascend");
        }
        let packet = writer.write(tick, &Arc::new(frame), 1200, |_| 1.0).expect("it fits");
        reader.read(&packet).expect("it is whole");
        writer.acknowledge(&reader.acknowledgement()).expect("it was sent");
        see(packet);
    }
    Both { writer, reader }
}

/// Packets, packed rows and acknowledgements.
pub fn examples() -> Vec<Vec<u8>> {
    let mut examples = Vec::new();
    let Both { reader, .. } = both(|packet| examples.push(packet));
    let (schema, frame) = (schema(), reader.last().expect("it has frames").1);
    let rows: Vec<Row> = (0..frame.len()).map(|index| frame.row(&schema, index)).collect();
    examples.extend(rows.iter().map(|row| schema.pack(row)));
    examples.push(schema.pack_series(&rows).expect("there are a few"));
    examples.push(reader.acknowledgement());
    examples
}

/// Everything that is read consists of rows that can be written again, and an error changes nothing.
pub fn check(data: &[u8]) {
    let schema = schema();
    if let Ok(row) = schema.unpack(data) {
        assert_eq!(schema.pack(&row), data);
    }
    if let Ok(rows) = schema.unpack_series(data) {
        let again = schema.pack_series(&rows).expect("there are a few");
        assert_eq!(schema.unpack_series(&again).as_ref(), Ok(&rows));
    }
    for known in [Reader::new(Arc::clone(&schema)), BOTH.reader.clone()] {
        let mut reader = known.clone();
        match reader.read(data) {
            Ok(_) => {
                let (_, frame) = reader.last().expect("it was read");
                assert!(frame.ids().is_sorted());
                for index in 0..frame.len() {
                    let row = frame.row(&schema, index);
                    assert_eq!(schema.unpack(&schema.pack(&row)), Ok(row));
                }
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert_eq!(reader.last(), known.last());
                assert_eq!(reader.acknowledgement(), known.acknowledgement());
            }
        }
    }
    let mut writer = BOTH.writer.clone();
    let _ = writer.acknowledge(data);
    let frame = Arc::new(Frame::new());
    assert!(writer.write(9, &frame, 1200, |_| 1.0).is_ok());
}
