//! Patches.

use variant_codec::{Value, frames, patch};

use super::{everything, one_value};

/// Of the first two records, the patch between them makes the second. Taken as a patch itself, it makes a value or is refused.
pub fn check(data: &[u8]) {
    let limits = one_value();
    let (records, _) = frames::records(data, &everything());
    let [old, new, ..] = &records[..] else { return };
    let (old, new) = (&data[old.clone()], &data[new.clone()]);
    if let Ok(made) = patch::apply(old, new, &limits) {
        assert!(Value::decode(&made, &limits).is_ok());
    }
    if Value::decode(old, &limits).is_err() || Value::decode(new, &limits).is_err() {
        assert!(patch::diff(old, new, &limits).is_err());
        return;
    }
    let change = patch::diff(old, new, &limits).expect("both are good");
    assert_eq!(patch::apply(old, &change, &limits).as_deref(), Ok(new));
    let found = patch::differences(old, new, 100, &limits).expect("both are good");
    assert!(!found.is_empty() || old.len() == new.len());
}
