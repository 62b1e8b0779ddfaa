//! What a value loses or becomes between two versions of the format.

/// A kind of value that has become another, and how many there were.
///
/// ```
/// use variant_codec::godot3::Change;
///
/// let change = Change { from: "StringName", to: "String", count: 3 };
/// assert_eq!(format!("{} × {} → {}", change.count, change.from, change.to), "3 × StringName → String");
/// ```
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
///
/// ```
/// use variant_codec::godot3::{Change, add_change};
///
/// let mut changes = vec![Change { from: "StringName", to: "String", count: 3 }];
/// add_change(&mut changes, Change { from: "StringName", to: "String", count: 1 });
/// assert_eq!(changes[0].count, 4);
/// ```
pub fn add_change(changes: &mut Vec<Change>, change: Change) {
    match changes.iter_mut().find(|known| known.from == change.from && known.to == change.to) {
        Some(known) => known.count += change.count,
        None => changes.push(change),
    }
}

/// Whether a conversion between two versions of the format may lose something.
///
/// ```
/// use variant_codec::Value;
/// use variant_codec::godot3::Loss;
///
/// assert!(Value::Callable.encode_godot3(Loss::Refused).is_err());
/// assert_eq!(Value::Callable.encode_godot3(Loss::Accepted)?, [0; 4]);
/// # Ok::<(), variant_codec::Error>(())
/// ```
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
