//! [`ValuePath`]: a path to a part of a file.

use variant_codec::View;
use variant_codec::view::Key;

use super::open::{Input, limits};
use crate::failure::{Failure, Outcome};

/// The failure for an index beyond the last record.
pub fn no_record(input: &Input, record: u64) -> Failure {
    Failure::Data(format!("{}: there is no record {record}", input.name))
}

/// A parsed path of keys and indexes. In a file of records, the first step is the index of a record.
pub struct ValuePath<'p> {
    /// The index of the record; `None` for all records, or if the file contains one value.
    pub record: Option<u64>,
    /// The steps inside the value.
    pub steps: Vec<Key<'p>>,
}

impl<'p> ValuePath<'p> {
    /// Parses a path into `input`.
    ///
    /// # Errors
    /// Fails if the input contains records and the path does not start with an index.
    pub fn of(input: &Input, path: &'p str) -> Outcome<Self> {
        if !input.has_records || path.is_empty() {
            return Ok(Self { record: None, steps: Key::path(path) });
        }
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let record = first.parse().map_err(|_| {
            Failure::Data(format!(
                "{}: invalid record index {first:?}; a path in a file of records starts with the index of a record",
                input.name
            ))
        })?;
        Ok(Self { record: Some(record), steps: Key::path(rest) })
    }

    /// Calls `each` with each value at the path, and the index and file offset of its record. The steps follow tags; a
    /// whole value is as it is written.
    pub fn each(
        &self,
        input: &Input,
        mut each: impl FnMut(u64, u64, View<'_>) -> Outcome<()>,
    ) -> Outcome<()> {
        let limits = limits();
        self.each_value(input, |index, offset, bytes| {
            let found = View::within(bytes, &limits).and_then(|view| {
                // If the path selects the whole value, no bytes may follow it.
                if self.steps.is_empty() {
                    return view.check_end().map(|()| view);
                }
                view.following_tags()?.at(&self.steps)
            });
            let view =
                found.map_err(|error| Failure::data_at(&input.name_of(index), error, bytes, offset))?;
            each(index, offset, view)
        })
    }

    /// Calls `each` with each record that the path selects, or with the single value.
    pub fn each_value(
        &self,
        input: &Input,
        mut each: impl FnMut(u64, u64, &[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        let records = self.record.map_or(0..u64::MAX, |record| record..record.saturating_add(1));
        let mut found = false;
        input.each(records, |index, offset, bytes| {
            found = true;
            each(index, offset, bytes)
        })?;
        match self.record {
            Some(record) if !found => Err(no_record(input, record)),
            _ => Ok(()),
        }
    }
}
