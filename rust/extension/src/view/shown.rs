//! [`Shown`]: the contents of a view.

use std::sync::Arc;

use godot::builtin::{AnyArray, GString, PackedByteArray, VarArray, Variant};
use godot::meta::ToGodot;
use variant_codec::view::Spot;
use variant_codec::{Error, Result, VariantType};

use super::fetching::{Format, ViewLimits};
use super::held::{Found, Held, in_either};
use super::path::Step;
use super::records::{Records, inside};

/// The contents of a view: a value, or records. Any thread may read them.
#[derive(Clone)]
pub enum Shown {
    /// A value in owned bytes.
    Value(Arc<Held>, Spot),
    /// Records of a buffer or file.
    Records(Arc<Records>),
}

impl Shown {
    /// The value in a buffer.
    pub fn value(bytes: PackedByteArray, limits: ViewLimits, format: Format) -> Self {
        let spot = Spot::of(0..bytes.len());
        Self::Value(Arc::new(Held::new(bytes, 0, limits, format)), spot)
    }

    /// The records in a buffer.
    pub fn records(bytes: PackedByteArray, limits: ViewLimits, format: Format) -> Self {
        Self::Records(Arc::new(Records::in_memory(bytes, limits, format)))
    }

    /// The records in a file. If it cannot be opened, each access fails.
    pub fn file(path: &GString, limits: ViewLimits, format: Format) -> Self {
        Self::Records(Arc::new(Records::in_file(path, limits, format)))
    }

    /// Calls `look` with the value at a path.
    ///
    /// # Errors
    /// Fails if the path leads nowhere, the bytes are invalid, or `look` fails.
    pub fn find<R>(&self, path: &[Step], look: impl FnOnce(Found<'_>, &Held) -> Result<R>) -> Result<R> {
        self.find_in(path, |found, held, _| look(found, held))
    }

    /// Like [`Shown::find`]; `look` also gets the spot of the record if the path leads to a whole record.
    fn find_in<R>(
        &self,
        path: &[Step],
        look: impl FnOnce(Found<'_>, &Held, Option<Spot>) -> Result<R>,
    ) -> Result<R> {
        match self {
            Self::Value(held, spot) => {
                held.find(*spot, path, |found| look(found, held, None)).map_err(|error| held.located(error))
            }
            Self::Records(records) => {
                let (index, rest) = first(records, path)?;
                let (held, spot) = records.record(index)?;
                let record = rest.is_empty().then_some(spot);
                let result = held.find(spot, rest, |found| look(found, &held, record));
                result.map_err(|error| inside(held.located(error), index))
            }
        }
    }

    /// The value at a path, as a view of its own.
    ///
    /// # Errors
    /// As [`Shown::find`].
    pub fn part(&self, path: &[Step]) -> Result<Self> {
        if path.is_empty() {
            return Ok(self.clone());
        }
        match self {
            Self::Value(held, _) => {
                let spot = self.find(path, |found, _| Ok(in_either!(found, view => view.spot())))?;
                Ok(Self::Value(Arc::clone(held), spot))
            }
            Self::Records(records) => {
                let (index, rest) = first(records, path)?;
                let (held, spot) = records.record(index)?;
                let found = held.find(spot, rest, |found| Ok(in_either!(found, view => view.spot())));
                let spot = found.map_err(|error| inside(held.located(error), index))?;
                Ok(Self::Value(held, spot))
            }
        }
    }

    /// The number of elements, entries, properties or records at a path.
    ///
    /// # Errors
    /// As [`Shown::find`].
    pub fn len(&self, path: &[Step]) -> Result<u64> {
        match self {
            Self::Records(records) if path.is_empty() => records.len(),
            _ => self.find(path, |found, _| in_either!(found, view => view.len()).map(|len| len as u64)),
        }
    }

    /// The type of the value at a path; records are an Array.
    ///
    /// # Errors
    /// As [`Shown::find`].
    pub fn ty(&self, path: &[Step]) -> Result<VariantType> {
        match self {
            Self::Records(records) if path.is_empty() => records.check_format().map(|()| VariantType::Array),
            _ => self.find(path, |found, _| Ok(in_either!(found, view => view.ty()))),
        }
    }

    /// The offsets, in the buffer or file, of the first byte and of the end of the value at a path.
    ///
    /// # Errors
    /// As [`Shown::find`].
    pub fn range(&self, path: &[Step]) -> Result<[u64; 2]> {
        match self {
            Self::Records(records) if path.is_empty() => Ok([0, records.end(records.len()?)?]),
            _ => self.find(path, |found, held| range_of(&found, held)),
        }
    }

    /// The value at a path, decoded.
    ///
    /// # Errors
    /// As [`Shown::find`].
    pub fn fetch(&self, path: &[Step]) -> Result<Variant> {
        if let (Self::Records(_), []) = (self, path) {
            return Ok(self.slice(path, 0, i64::MAX)?.to_variant());
        }
        self.find_in(path, |found, held, record| decoded(&found, held, record))
    }

    /// The value at a path, decoded, and its [range](Shown::range). They belong together even if the file grows
    /// meanwhile.
    ///
    /// # Errors
    /// As [`Shown::find`].
    pub fn fetch_with_range(&self, path: &[Step]) -> Result<(Variant, [u64; 2])> {
        if let (Self::Records(records), []) = (self, path) {
            let values = self.slice(path, 0, i64::MAX)?;
            return Ok((values.to_variant(), [0, records.end(values.len() as u64)?]));
        }
        self.find_in(path, |found, held, record| {
            Ok((decoded(&found, held, record)?, range_of(&found, held)?))
        })
    }

    /// The elements or records from `begin` up to, not including, `end`, as in `Array.slice`. The slice of a typed
    /// Array is typed. The limits hold for all values together.
    ///
    /// # Errors
    /// As [`Shown::find`]; also fails for values without elements.
    pub fn slice(&self, path: &[Step], begin: i64, end: i64) -> Result<AnyArray> {
        if let (Self::Records(records), []) = (self, path) {
            return slice_of_records(records, begin, end).map(VarArray::upcast_any_array);
        }
        self.find(path, |found, held| {
            in_either!(found, view => {
                let len = view.len()? as u64;
                let range = place(begin, len) as usize..place(end, len) as usize;
                let slice = held
                    .fetching()
                    .build(|limits, builder, _| view.with_limits(limits).decode_slice(range, builder));
                slice.map(|slice| slice.to())
            })
        })
    }

    /// The keys of the Dictionary, or the names of the properties, at a path. The keys of a typed Dictionary are typed.
    ///
    /// # Errors
    /// As [`Shown::find`].
    pub fn keys(&self, path: &[Step]) -> Result<AnyArray> {
        if let (Self::Records(records), []) = (self, path) {
            return records.check_format().map(|()| VarArray::new().upcast_any_array());
        }
        self.find(path, |found, held| {
            in_either!(found, view => {
                let keys =
                    held.fetching().build(|limits, builder, _| view.with_limits(limits).decode_keys(builder));
                keys.map(|keys| keys.to())
            })
        })
    }
}

/// Decodes a value. If it stands for a whole record, no bytes may follow the record.
fn decoded(found: &Found<'_>, held: &Held, record: Option<Spot>) -> Result<Variant> {
    let value = in_either!(found, view => held.fetching().value(view))?;
    record.map_or(Ok(()), |record| held.check_end(record)).map(|()| value)
}

fn range_of(found: &Found<'_>, held: &Held) -> Result<[u64; 2]> {
    in_either!(found, view => view.range()).map(|range| held.range(range))
}

fn slice_of_records(records: &Records, begin: i64, end: i64) -> Result<VarArray> {
    let (mut values, mut fetching) = (VarArray::new(), records.limits().fetching(None));
    // Counts all records only if an index is negative.
    let len = if begin >= 0 && end >= 0 { u64::MAX } else { records.len()? };
    let range = place(begin, len)..place(end, len);
    records.for_each(range, |_, record| {
        values.push(&fetching.record(record, records.format())?);
        Ok(())
    })?;
    Ok(values)
}

/// The index of the record that a path starts with, and the remaining path.
fn first<'p>(records: &Records, path: &'p [Step]) -> Result<(u64, &'p [Step])> {
    let (record, rest) = path
        .split_first()
        .ok_or_else(|| Error::argument("the path is empty; start it with the index of a record"))?;
    Ok((records.index_of(record)?, rest))
}

/// Resolves an index to a position from 0 to `len`, as `Array.slice` does.
fn place(index: i64, len: u64) -> u64 {
    let from_start = if index < 0 { len.saturating_sub(index.unsigned_abs()) } else { index.unsigned_abs() };
    from_start.min(len)
}
