//! Patches between values, and arbitrary values as patches.

use variant_codec::{Value, frames, patch};

use super::mutate::mutate;
use super::{Tail, everything, one_value};

/// A patch between the first two records, or between the first record and a mutated copy, reproduces the
/// second value. The second record and a damaged patch, applied as patches, give a value or an error.
pub fn check(data: &[u8]) {
    let (records, _) = frames::records(data, &everything());
    let [old, new, ..] = &records[..] else { return };
    let (old, new) = (&data[old.clone()], &data[new.clone()]);
    check_applied(old, new);
    let seed = Tail::of(data).below(u64::MAX);
    let change = check_pair(old, new);
    let mut similar = old.to_vec();
    mutate(&mut similar, usize::MAX, seed);
    for mut change in change.into_iter().chain(check_pair(old, &similar)) {
        mutate(&mut change, usize::MAX, seed);
        check_applied(old, &change);
    }
}

/// Any patch gives a value or an error.
fn check_applied(old: &[u8], change: &[u8]) {
    if let Ok(made) = patch::apply(old, change, &one_value()) {
        assert!(Value::decode(&made, &one_value()).is_ok());
    }
}

/// Checks the patch between two records, and returns it if both records are values.
fn check_pair(old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let limits = one_value();
    if Value::decode(old, &limits).is_err() || Value::decode(new, &limits).is_err() {
        assert!(patch::diff(old, new, &limits).is_err());
        return None;
    }
    let change = patch::diff(old, new, &limits).expect("both are good");
    assert_eq!(patch::apply(old, &change, &limits).as_deref(), Ok(new));
    let found = patch::differences(old, new, 100, &limits).expect("both are good");
    assert!(!found.is_empty() || old.len() == new.len());
    Some(change)
}
