//! Changes and losses in a conversion between two versions of the format.

/// A kind of change in a conversion, and how often it occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The original type or kind of value.
    pub from: &'static str,
    /// The type or kind of value that replaces it.
    pub to: &'static str,
    /// The number of values changed.
    pub count: u64,
}

/// Adds a change to the list. Changes of the same kind share an entry.
pub fn add_change(changes: &mut Vec<Change>, change: Change) {
    match changes.iter_mut().find(|known| known.from == change.from && known.to == change.to) {
        Some(known) => known.count += change.count,
        None => changes.push(change),
    }
}

/// Whether a conversion between two versions of the format may lose information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// A loss is an error.
    #[default]
    Refused,
    /// A loss is accepted: the nearest equivalent replaces a value that the other version cannot hold, and a
    /// [`Change`] counts it.
    Accepted,
}

impl Loss {
    /// [`Loss::Accepted`] if `lossy`, otherwise [`Loss::Refused`].
    pub const fn accepted_if(lossy: bool) -> Self {
        if lossy { Self::Accepted } else { Self::Refused }
    }

    /// Whether this is [`Loss::Accepted`].
    pub const fn is_accepted(self) -> bool {
        matches!(self, Self::Accepted)
    }
}
