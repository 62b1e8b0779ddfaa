//! The limits of `quick_check`. The fuzz targets `strict` and `values` check what it accepts.

use variant_codec::{Limits, QuickCheck, Value, format, quick_check};

#[test]
fn the_quick_check_finds_equal_keys_among_any_number() {
    for count in [2, 12, 13, 64, 65, 1000] {
        let entry = |index: usize| (format!("key {index}"), Value::from(index as i64));
        let rows: Vec<Value> = (0..3).map(|_| (0..count).map(entry).collect()).collect();
        let bytes = Value::from(rows.clone()).encode().unwrap();
        assert_eq!(quick_check(&bytes, &Limits::for_save_files()), Some(bytes.len()), "{count} keys");
        // Each row in turn gets a last key that repeats its first key, because the check compares later rows
        // with the keys of earlier rows.
        for twin in 0..rows.len() {
            let mut rows = rows.clone();
            let Value::Dictionary(row) = &mut rows[twin] else { unreachable!() };
            row.entries[count - 1].0 = Value::from("key 0");
            let mut check = QuickCheck::default();
            for (index, row) in rows.iter().enumerate() {
                let bytes = row.encode().unwrap();
                let found = check.check(&bytes, &Limits::for_save_files());
                assert_eq!(found, (index != twin).then_some(bytes.len()), "{count} keys");
            }
            let bytes = Value::from(rows).encode().unwrap();
            assert_eq!(quick_check(&bytes, &Limits::for_save_files()), None, "{count} keys");
        }
    }
}

#[test]
fn the_quick_check_keeps_the_depth_limit() {
    let nested = |levels: u32| (0..levels).fold(Value::from(1), |value, _| Value::from(vec![value]));
    for depth in [0, 1, 5] {
        let limits = Limits { max_depth: depth, ..Limits::for_save_files() };
        let [good, deep] = [depth, depth + 1].map(|levels| nested(levels).encode().unwrap());
        assert_eq!(quick_check(&good, &limits), Some(good.len()));
        assert_eq!(quick_check(&deep, &limits), None);
    }
    let bytes = nested(format::MAX_DEPTH).encode().unwrap();
    assert_eq!(quick_check(&bytes, &Limits::for_save_files()), Some(bytes.len()));
}
