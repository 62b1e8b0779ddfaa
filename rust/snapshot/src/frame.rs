//! The entities of a tick.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::row::{self, Fields, FieldsMut, Row};
use crate::schema::{Schema, Value};

/// The largest id.
pub const MOST_ID: u32 = u32::MAX - 1;

/// The entities of a tick, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub(crate) ids: Vec<u32>,
    pub(crate) lanes: Vec<u32>,
    pub(crate) variants: Vec<Arc<[u8]>>,
}

impl Frame {
    /// A frame without entities.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entity. Its id must be above those before.
    ///
    /// # Errors
    /// Fails if the id is not above those before, or above 4,294,967,294.
    pub fn push(&mut self, id: u32, row: &Row) -> Result<()> {
        check(self.ids.last().copied(), id)?;
        self.add(id, (&row.lanes, &row.variants));
        Ok(())
    }

    /// A frame of entities with these ids, in ascending order, each as [`Schema::row`].
    ///
    /// # Errors
    /// As [`Frame::push`].
    pub fn of(schema: &Schema, ids: Vec<u32>) -> Result<Self> {
        let mut last = None;
        for id in &ids {
            check(last.replace(*id), *id)?;
        }
        let (lanes, variants) = (schema.zero().repeat(ids.len()), ids.len() * schema.variants());
        Ok(Self { ids, lanes, variants: vec![Arc::default(); variants] })
    }

    /// Sets a field, given as its index, of the entity at an index, as [`Schema::set`] does.
    ///
    /// # Errors
    /// As [`Schema::set`].
    ///
    /// # Panics
    /// Panics if there is no such entity.
    #[inline]
    pub fn set(&mut self, schema: &Schema, index: usize, field: usize, value: Value<'_>) -> Result<()> {
        let (lanes, variants) = (schema.lanes(), schema.variants());
        let row =
            (&mut self.lanes[index * lanes..][..lanes], &mut self.variants[index * variants..][..variants]);
        schema.set_in(row, field, value)
    }

    /// A field, given as its index, of the entity at an index.
    ///
    /// # Panics
    /// Panics if there is no such entity or field.
    #[inline]
    pub fn get(&self, schema: &Schema, index: usize, field: usize) -> Value<'_> {
        schema.get_in(self.fields(schema, index), field)
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, id: u32, (lanes, variants): Fields<'_>) {
        self.ids.push(id);
        self.lanes.extend_from_slice(lanes);
        self.variants.extend_from_slice(variants);
    }

    /// The number of entities.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no entities.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The ids, in ascending order.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The index of the entity with this id.
    pub fn find(&self, id: u32) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    /// The entity at an index.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn row(&self, schema: &Schema, index: usize) -> Row {
        let (lanes, variants) = self.fields(schema, index);
        Row { lanes: lanes.into(), variants: variants.into() }
    }

    /// Whether a field, given as its index, of the entity at `index` differs from that of the entity at `at` in `other`.
    ///
    /// # Panics
    /// Panics if there is no such entity or field.
    pub fn differs(&self, schema: &Schema, index: usize, (other, at): (&Self, usize), field: usize) -> bool {
        row::differs(self.fields(schema, index), other.fields(schema, at), &schema.fields()[field])
    }

    #[inline(always)]
    pub(crate) fn fields(&self, schema: &Schema, index: usize) -> Fields<'_> {
        let (lanes, variants) = (schema.lanes(), schema.variants());
        (&self.lanes[index * lanes..][..lanes], &self.variants[index * variants..][..variants])
    }

    #[inline(always)]
    pub(crate) fn last_fields(&mut self, schema: &Schema) -> FieldsMut<'_> {
        let (lanes, variants) = (self.lanes.len() - schema.lanes(), self.variants.len() - schema.variants());
        (&mut self.lanes[lanes..], &mut self.variants[variants..])
    }
}

/// Checks an id that follows `last`.
fn check(last: Option<u32>, id: u32) -> Result<()> {
    match last {
        Some(last) if last == id => Err(Error::argument(format!("id {id} is there twice"))),
        Some(last) if last > id => {
            Err(Error::argument(format!("expected ids in ascending order, found {id} after {last}")))
        }
        _ if id > MOST_ID => Err(Error::argument(format!("expected ids up to {MOST_ID}, found {id}"))),
        _ => Ok(()),
    }
}
