//! Batches of length-prefixed values.

use std::io::Cursor;

use variant_codec::error::Step;
use variant_codec::frames::{self, FRAME_BYTES, Index};
use variant_codec::limits::Limit;
use variant_codec::{ErrorKind, Limits, Value};

use super::{Tail, check_error, everything};

/// All complete records are found, and the error describes the bytes after them.
pub fn check(data: &[u8]) {
    let (records, error) = frames::records(data, &everything());
    let mut again = Vec::new();
    for record in &records {
        assert_eq!(record.start, again.len() + FRAME_BYTES);
        frames::append(&mut again, &data[record.clone()]);
        assert_eq!(record.end, again.len());
        if let Err(error) = Value::decode(&data[record.clone()], &everything()) {
            check_error(&error, 0, record.len());
        }
    }
    assert!(data.starts_with(&again));
    match &error {
        None => assert_eq!(data, again),
        Some(error) => {
            assert_eq!(error.offset(), Some(again.len()));
            match *error.kind() {
                ErrorKind::EmptyRecord => assert_eq!(data[again.len()..][..FRAME_BYTES], [0; FRAME_BYTES]),
                ErrorKind::UnexpectedEnd { needed, left } => assert!(left < needed, "{error}"),
                _ => panic!("{error}"),
            }
        }
    }

    let torn = error.as_ref().and_then(|error| error.offset()).map(|offset| offset as u64);
    assert_eq!(frames::find_torn(&mut Cursor::new(data), data.len() as u64).expect("memory"), torn);
    let mut scanned = Vec::new();
    let end = frames::scan(data, &Index::default(), 0..u64::MAX, &everything(), |_, start, record| {
        scanned.push(start as usize..start as usize + record.len());
        Ok(())
    });
    assert_eq!(scanned, records);
    assert_eq!(end.err(), error.clone().map(|error| error.inside(Step::Index(records.len()))));

    let mut tail = Tail::of(data);
    let max_elements = tail.below(records.len() as u64 + 1);
    let (few, too_many) = frames::records(data, &Limits { max_elements, ..everything() });
    assert_eq!(few, records[..max_elements as usize]);
    let end = few.last().map_or(0, |record| record.end);
    assert_eq!(too_many.is_some(), end < data.len());
    assert!(too_many.is_none_or(|error| error.offset() == Some(end)));

    let max_bytes = tail.below(data.len() as u64 + 2) as usize;
    let (within, too_long) = frames::records(data, &Limits { max_bytes, ..everything() });
    if max_bytes < data.len() {
        assert!(within.is_empty());
        let kind = ErrorKind::LimitExceeded(Limit::Bytes, max_bytes as u64);
        assert_eq!(too_long.as_ref().map(|error| error.kind()), Some(&kind));
    } else {
        assert_eq!((within, &too_long), (records.clone(), &error));
    }

    // Wherever a save was interrupted, all complete records are found.
    let cut = tail.below(data.len() as u64 + 1) as usize;
    let (complete, torn) = frames::records(&data[..cut], &everything());
    let whole = records.iter().take_while(|record| record.end <= cut).count();
    assert_eq!(complete, records[..whole]);
    assert_eq!(torn.is_some(), complete.last().map_or(0, |record| record.end) < cut);
}
