//! Rows: the fields of one entity, as whole numbers and encoded Variants.

use std::sync::Arc;

use crate::bits::{BitReader, BitWriter};
use crate::error::{Error, Result};
use crate::quantize;
use crate::schema::{Kind, Lanes, Schema};

/// The fields of one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub(crate) lanes: Box<[u32]>,
    pub(crate) variants: Box<[Arc<[u8]>]>,
}

/// The most rows of a series.
const MOST_ROWS: usize = 256;

impl Schema {
    /// The row as bytes, each field in as few bits as all its values need.
    pub fn pack(&self, row: &Row) -> Vec<u8> {
        let mut bits = BitWriter::default();
        self.fields()
            .iter()
            .enumerate()
            .for_each(|(index, _)| self.put(&mut bits, (&row.lanes, &row.variants), index));
        bits.into_bytes()
    }

    /// The row in these bytes.
    ///
    /// # Errors
    /// Fails if [`Schema::pack`] with this schema has not written the bytes.
    pub fn unpack(&self, bytes: &[u8]) -> Result<Row> {
        let mut bits = BitReader::new(bytes);
        let mut row = self.row();
        for index in 0..self.fields().len() {
            self.take(&mut bits, (&mut row.lanes, &mut row.variants), index)?;
        }
        bits.finish()?;
        Ok(row)
    }

    /// Rows as bytes, such as the last inputs of a player: for each after the first, only the fields that differ from the
    /// row before.
    ///
    /// # Errors
    /// Fails if there are none, or over 256.
    pub fn pack_series(&self, rows: &[Row]) -> Result<Vec<u8>> {
        if !(1..=MOST_ROWS).contains(&rows.len()) {
            return Err(Error::argument(format!("expected 1 to {MOST_ROWS} rows, found {}", rows.len())));
        }
        let mut bits = BitWriter::default();
        bits.put(rows.len() as u32 - 1, 8);
        let mut last: Option<&Row> = None;
        for row in rows {
            for (index, field) in self.fields().iter().enumerate() {
                let differs = last.is_none_or(|last| {
                    differs((&last.lanes, &last.variants), (&row.lanes, &row.variants), field)
                });
                if last.is_some() {
                    bits.bit(differs);
                }
                if differs {
                    self.put(&mut bits, (&row.lanes, &row.variants), index);
                }
            }
            last = Some(row);
        }
        Ok(bits.into_bytes())
    }

    /// The rows in these bytes.
    ///
    /// # Errors
    /// Fails if [`Schema::pack_series`] with this schema has not written the bytes.
    pub fn unpack_series(&self, bytes: &[u8]) -> Result<Vec<Row>> {
        let mut bits = BitReader::new(bytes);
        let count = bits.take(8)? as usize + 1;
        let mut rows: Vec<Row> = Vec::new();
        for _ in 0..count {
            let mut row = rows.last().cloned().unwrap_or_else(|| self.row());
            for index in 0..self.fields().len() {
                if rows.is_empty() || bits.bit()? {
                    self.take(&mut bits, (&mut row.lanes, &mut row.variants), index)?;
                }
            }
            rows.push(row);
        }
        bits.finish()?;
        Ok(rows)
    }

    /// Appends a field of a row.
    pub(crate) fn put(&self, bits: &mut BitWriter, row: Fields<'_>, index: usize) {
        let field = &self.fields()[index];
        let lanes = &row.0[field.first.min(row.0.len())..];
        match field.lanes {
            Lanes::Flag => bits.put(lanes[0], 1),
            Lanes::Numbers { count, values, bits: each, .. } => {
                lanes[..count].iter().for_each(|lane| bits.put_below(*lane, values, each));
            }
            Lanes::Wide { bits: all } => {
                bits.put(lanes[0], 32);
                bits.put(lanes[1], all - 32);
            }
            Lanes::Quaternion { bits: each } => {
                bits.put(lanes[0], 2);
                lanes[1..4].iter().for_each(|lane| bits.put(*lane, each));
            }
            Lanes::Variant { bits: length } => {
                let bytes = &row.1[field.first];
                bits.put(bytes.len() as u32, length);
                bits.bytes(bytes);
            }
        }
    }

    /// Takes a field into a row.
    ///
    /// # Errors
    /// Fails if the data ends before, or the number is not one of the field.
    pub(crate) fn take(&self, bits: &mut BitReader<'_>, row: FieldsMut<'_>, index: usize) -> Result<()> {
        let field = &self.fields()[index];
        let first = field.first.min(row.0.len());
        let lanes = &mut row.0[first..];
        match (field.lanes, field.kind()) {
            (Lanes::Flag, _) => lanes[0] = bits.take(1)?,
            (Lanes::Numbers { count, values, bits: each, .. }, _) => {
                for lane in &mut lanes[..count] {
                    *lane = bits.take_below(values, each)?;
                }
            }
            (Lanes::Wide { bits: all }, Kind::Int { min, max }) => {
                lanes[0] = bits.take(32)?;
                lanes[1] = bits.take(all - 32)?;
                let index = u64::from(lanes[0]) | u64::from(lanes[1]) << 32;
                if index > max.wrapping_sub(min).cast_unsigned() {
                    return Err(outside(field.name()));
                }
            }
            (Lanes::Quaternion { bits: each }, _) => {
                lanes[0] = bits.take(2)?;
                for lane in &mut lanes[1..4] {
                    *lane = bits.take(each)?;
                }
                check_quaternion(field.name(), lanes, each)?;
            }
            (Lanes::Variant { bits: length }, Kind::Variant { max_bytes }) => {
                let count = bits.take(length)? as usize;
                if count > max_bytes {
                    return Err(outside(field.name()));
                }
                row.1[field.first] = bits.bytes(count)?.into();
            }
            _ => unreachable!("the lanes are those of the kind"),
        }
        Ok(())
    }
}

/// The lanes and the Variants of a row.
pub(crate) type Fields<'r> = (&'r [u32], &'r [Arc<[u8]>]);
pub(crate) type FieldsMut<'r> = (&'r mut [u32], &'r mut [Arc<[u8]>]);

/// Whether a field differs in two rows.
#[inline(always)]
pub(crate) fn differs(a: Fields<'_>, b: Fields<'_>, field: &crate::schema::Field) -> bool {
    match field.lanes {
        Lanes::Variant { .. } => a.1[field.first] != b.1[field.first],
        lanes => {
            let lanes = field.first..field.first + lanes.count();
            a.0[lanes.clone()] != b.0[lanes]
        }
    }
}

/// Checks that numbers from data are those of a rotation.
pub(crate) fn check_quaternion(name: &str, lanes: &[u32], bits: u32) -> Result<()> {
    if quantize::is_rotation([lanes[0], lanes[1], lanes[2], lanes[3]], bits) {
        Ok(())
    } else {
        Err(outside(name))
    }
}

#[cold]
pub(crate) fn outside(name: &str) -> Error {
    Error::invalid(format!("a value of field {name:?} is outside its range"))
}
