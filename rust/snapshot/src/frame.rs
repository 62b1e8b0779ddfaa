//! The entities of a tick.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::row::{Fields, FieldsMut, Row};
use crate::schema::Schema;

/// The most entities of a frame.
pub const MOST_ENTITIES: usize = 1 << 16;

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
    /// Fails if the id is not above those before, or above 4,294,967,294, or there are 65,536 entities.
    pub fn push(&mut self, id: u32, row: &Row) -> Result<()> {
        if self.ids.last().is_some_and(|last| *last >= id) {
            return Err(Error::argument(format!("expected ids in ascending order, found {id}")));
        }
        if id > MOST_ID {
            return Err(Error::argument(format!("expected ids up to {MOST_ID}, found {id}")));
        }
        if self.ids.len() == MOST_ENTITIES {
            return Err(Error::argument(format!("a snapshot has at most {MOST_ENTITIES} entities")));
        }
        self.add(id, (&row.lanes, &row.variants));
        Ok(())
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

    /// The entity at this index.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn row(&self, schema: &Schema, index: usize) -> Row {
        let (lanes, variants) = self.fields(schema, index);
        Row { lanes: lanes.into(), variants: variants.into() }
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
