//! The class FastSnapshotReader: reads the snapshots of one writer.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use godot::builtin::{AnyDictionary, GString, PackedByteArray, PackedInt64Array, VarDictionary, Variant};
use godot::classes::IRefCounted;
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::{GodotClass, PhantomVar, godot_api};
use variant_codec::error::Step;
use variant_codec::sync::lock;
use variant_codec::{Error, Result};
use variant_engine as engine;
use variant_snapshot::{Changes, Frame, Reader};

use super::guard::guard;
use super::result_class::FastVariantResult;
use super::snapshot_schema_class::{Bound, FastSnapshotSchema, no_schema};
use super::summary;
use crate::snapshots::{FieldValues, Fields, Reading};

/// Reads the snapshots of one [FastSnapshotWriter], or of one after another. Safe for packets of strangers: a packet that cannot be read changes
/// nothing.
///
/// Packets may be lost, repeated or late. A snapshot that cannot be used is [constant
/// FastVariantCodec.SKIPPED_SNAPSHOT], which a game can ignore. Send [method get_acknowledgement] back after each packet: the writer sends only what differs from what this
/// reader has, so without acknowledgements every snapshot is a full one.
///
/// Read only packets of the writer's peer: nothing in a snapshot proves who has sent it.
#[derive(GodotClass)]
#[class(tool, init, base=RefCounted)]
pub struct FastSnapshotReader {
    /// The fields of the entities, equal to the writer's. Setting it forgets everything that was received. Fields that are
    /// added to the schema later have no effect.
    #[var(get, set)]
    schema: PhantomVar<Option<Gd<FastSnapshotSchema>>>,
    state: Mutex<Option<Bound<Reader>>>,
    /// Whether setters of entities run.
    is_applying: AtomicBool,
}

#[godot_api]
impl FastSnapshotReader {
    #[func]
    fn get_schema(&self) -> Option<Gd<FastSnapshotSchema>> {
        guard("FastSnapshotReader.schema", || lock(&self.state).as_ref().map(|state| state.schema.clone()))
    }

    #[func]
    fn set_schema(&self, schema: Option<Gd<FastSnapshotSchema>>) {
        guard("FastSnapshotReader.schema", || {
            let state = schema.map(|schema| Bound::of(schema, Reader::new));
            let old = std::mem::replace(&mut *lock(&self.state), state);
            drop(old);
        });
    }
}

#[godot_api]
impl IRefCounted for FastSnapshotReader {
    #[func(gd_self)]
    fn to_string(this: Gd<Self>) -> GString {
        guard("FastSnapshotReader.to_string", || {
            let last = lock(&this.bind().state).as_ref().and_then(|state| {
                state.peer.last().map(|(tick, frame)| format!("tick {tick}, {} entities", frame.len()))
            });
            summary::of(&this, last.unwrap_or_else(|| "nothing received".to_owned()))
        })
    }
}

#[godot_api(secondary)]
impl FastSnapshotReader {
    /// Reads the snapshot in [param bytes]. The result's [member FastVariantResult.value] is a [Dictionary]: [code]"tick"[/code];
    /// [code]"changed"[/code], which maps ids to Dictionaries of the fields that differ from the last snapshot;
    /// [code]"added"[/code], which maps ids to Dictionaries of all fields; [code]"removed"[/code], the ids of entities that
    /// are gone. Prints nothing. After an error, nothing has changed.
    #[func(gd_self)]
    fn read(this: Gd<Self>, bytes: PackedByteArray) -> Gd<FastVariantResult> {
        guard("FastSnapshotReader.read", || {
            Self::result(&this, &bytes, |received| {
                let changed = received.rows(&received.changes.changed)?;
                let added = received.rows(&received.changes.added)?;
                Ok(received.value(changed.to_variant(), added.to_variant()))
            })
        })
    }

    /// Reads the snapshot in [param bytes] as [method read] does, and sets the changed fields of [param entities], which maps ids to
    /// Dictionaries or objects. Your game adds and removes entities, as the result says; its [code]"changed"[/code] are ids
    /// alone. Ids that are not in [param entities], and freed objects, are skipped.
    #[func(gd_self)]
    fn apply(this: Gd<Self>, bytes: PackedByteArray, entities: AnyDictionary) -> Gd<FastVariantResult> {
        guard("FastSnapshotReader.apply", || {
            let mut write = None;
            let result = Self::result(&this, &bytes, |received| {
                let mut changed = Vec::new();
                for id in &received.changes.changed {
                    let row = received.row(*id)?;
                    if let Some(entity) = entities.get(i64::from(*id)) {
                        received.fields.check(&entity)?;
                        changed.push((entity, row));
                    }
                }
                let added = received.rows(&received.changes.added)?;
                write = Some((Arc::clone(received.fields), changed));
                Ok(received.value(packed(&received.changes.changed).to_variant(), added.to_variant()))
            });
            if let Some((fields, changed)) = write {
                this.bind().is_applying.store(true, Relaxed);
                changed.iter().for_each(|(entity, row)| fields.write(entity, row));
                this.bind().is_applying.store(false, Relaxed);
            }
            result
        })
    }

    /// Reads the snapshot in [param bytes] as [method read] does, several times faster: the result's
    /// [member FastVariantResult.value] is a [Dictionary] of [code]"tick"[/code]; [code]"ids"[/code], of all entities in
    /// ascending order; [code]"columns"[/code], which maps the name of each field to the values of all entities, in arrays
    /// as [method FastSnapshotWriter.write_columns] takes them; and the ids of those that are [code]"changed"[/code],
    /// [code]"added"[/code] and [code]"removed"[/code].
    #[func(gd_self)]
    fn read_columns(this: Gd<Self>, bytes: PackedByteArray) -> Gd<FastVariantResult> {
        guard("FastSnapshotReader.read_columns", || {
            Self::result(&this, &bytes, |received| received.columns())
        })
    }

    /// Returns the bytes for [method FastSnapshotWriter.acknowledge]: which snapshots this reader has. Send the newest after
    /// each packet; it does not matter if some are lost.
    #[func(gd_self)]
    fn get_acknowledgement(this: Gd<Self>) -> PackedByteArray {
        guard("FastSnapshotReader.get_acknowledgement", || {
            let this = this.bind();
            let state = lock(&this.state);
            state.as_ref().map_or_else(PackedByteArray::new, |state| state.peer.acknowledgement().into())
        })
    }
}

impl FastSnapshotReader {
    /// Reads a snapshot, unless `value` fails, and returns its value.
    fn result(
        this: &Gd<Self>,
        bytes: &PackedByteArray,
        value: impl FnOnce(&Received<'_>) -> Result<VarDictionary>,
    ) -> Gd<FastVariantResult> {
        let read = || {
            let this = this.bind();
            if this.is_applying.load(Relaxed) {
                return Err(Error::argument(
                    "a setter reads while `apply` sets values; read the snapshot later",
                ));
            }
            let mut state = lock(&this.state);
            let state = state.as_mut().ok_or_else(no_schema)?;
            // A copy, so that an invalid Variant changes nothing, either.
            let mut reader = state.peer.clone();
            let before = Arc::clone(reader.newest());
            let changes = reader.read(engine::bytes(bytes)).map_err(Error::other)?;
            let (tick, _) = reader.last().ok_or_else(no_schema)?;
            let frame = reader.newest();
            let received = Received {
                fields: &state.fields,
                tick,
                frame,
                before: &before,
                changes: &changes,
                reading: Reading::for_network(),
            };
            let value = value(&received)?;
            state.peer = reader;
            Ok(value)
        };
        read().map_or_else(
            |error: Error| FastVariantResult::failed(&error),
            |value| FastVariantResult::decoded(value.to_variant(), 0, bytes.len()),
        )
    }
}

/// A snapshot that was read.
struct Received<'r> {
    fields: &'r Arc<Fields>,
    tick: u32,
    frame: &'r Frame,
    before: &'r Frame,
    changes: &'r Changes,
    reading: Reading,
}

impl Received<'_> {
    /// The fields of an entity that differ from the last snapshot, or all.
    fn row(&self, id: u32) -> Result<FieldValues> {
        let Some(index) = self.frame.find(id) else { return Ok(FieldValues::new()) };
        let before = self.before.find(id).map(|index| (self.before, index));
        let row = self.fields.changes((self.frame, index), before, &self.reading);
        row.map_err(|error| error.inside(Step::Index(id as usize)))
    }

    fn rows(&self, ids: &[u32]) -> Result<VarDictionary> {
        let mut rows = VarDictionary::new();
        for id in ids {
            rows.set(i64::from(*id), &self.fields.named(&self.row(*id)?));
        }
        Ok(rows)
    }

    fn columns(&self) -> Result<VarDictionary> {
        let changes = self.changes;
        let columns = self.fields.columns(self.frame, &self.reading)?;
        let mut value =
            self.value(packed(&changes.changed).to_variant(), packed(&changes.added).to_variant());
        value.set("ids", &packed(self.frame.ids()));
        value.set("columns", &columns);
        Ok(value)
    }

    /// The value of a result.
    fn value(&self, changed: Variant, added: Variant) -> VarDictionary {
        let mut value = VarDictionary::new();
        value.set("tick", i64::from(self.tick));
        value.set("changed", &changed);
        value.set("added", &added);
        value.set("removed", &packed(&self.changes.removed));
        value
    }
}

fn packed(ids: &[u32]) -> PackedInt64Array {
    ids.iter().map(|id| i64::from(*id)).collect()
}
