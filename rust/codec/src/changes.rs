//! What a value loses or becomes between two versions of the format.

/// A kind of value that has become another, and how many there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// What it was.
    pub from: &'static str,
    /// What it has become.
    pub to: &'static str,
    /// How many.
    pub count: u64,
}

/// Adds a change to others.
pub fn add(changes: &mut Vec<Change>, change: Change) {
    match changes.iter_mut().find(|known| known.from == change.from && known.to == change.to) {
        Some(known) => known.count += change.count,
        None => changes.push(change),
    }
}
