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
pub fn add_change(changes: &mut Vec<Change>, change: Change) {
    match changes.iter_mut().find(|known| known.from == change.from && known.to == change.to) {
        Some(known) => known.count += change.count,
        None => changes.push(change),
    }
}

/// Whether a conversion between two versions of the format may lose something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// What would be lost is an error.
    #[default]
    Refused,
    /// What the other version cannot hold becomes what comes next to it, and is counted as a [`Change`].
    Accepted,
}

impl Loss {
    /// Accepted if so asked, otherwise refused.
    pub const fn accepted_if(lossy: bool) -> Self {
        if lossy { Self::Accepted } else { Self::Refused }
    }

    /// Whether it is accepted.
    pub const fn is_accepted(self) -> bool {
        matches!(self, Self::Accepted)
    }
}
