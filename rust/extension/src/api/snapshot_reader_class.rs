//! The class FastSnapshotReader: reads the snapshots of one writer.

use std::sync::{Arc, Mutex};

use godot::builtin::{AnyDictionary, GString, PackedByteArray, PackedInt64Array, VarDictionary, Variant};
use godot::classes::IRefCounted;
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::{GodotClass, PhantomVar, godot_api};
use variant_codec::error::Step;
use variant_codec::sync::lock;
use variant_codec::{Error, Limits, Result};
use variant_engine as engine;
use variant_snapshot::{Frame, Reader};

use super::guard::guard;
use super::result_class::FastVariantResult;
use super::snapshot_schema_class::{Bound, FastSnapshotSchema, no_schema};
use super::summary;
use crate::snapshots::Fields;

/// Reads the snapshots of one [FastSnapshotWriter]. Safe for packets of strangers: a packet that cannot be read changes
/// nothing.
///
/// Packets may be lost, repeated or late. A snapshot that is not newer than the last one is an error, which a game can
/// ignore. Send [method get_acknowledgement] back after each packet: the writer sends only what differs from what this
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
            let read = Self::changes(&this, &bytes, |_, _| Ok(()));
            read.map_or_else(
                |error| FastVariantResult::failed(&error),
                |(_, value)| FastVariantResult::decoded(value.to_variant(), 0, bytes.len()),
            )
        })
    }

    /// Reads the snapshot in [param bytes] as [method read] does, and sets the changed fields of [param entities], which maps ids to
    /// Dictionaries or objects. Your game adds and removes entities, as the result says. Ids that are not in
    /// [param entities], and freed objects, are skipped.
    #[func(gd_self)]
    fn apply(this: Gd<Self>, bytes: PackedByteArray, entities: AnyDictionary) -> Gd<FastVariantResult> {
        guard("FastSnapshotReader.apply", || {
            let entity = |id: &Variant| entities.get(id);
            let read = Self::changes(&this, &bytes, |fields, changed| {
                changed
                    .keys_shared()
                    .filter_map(|id| entity(&id))
                    .try_for_each(|entity| fields.check(&entity))
            });
            match read {
                Ok((fields, value)) => {
                    let changed: VarDictionary = value.get("changed").unwrap_or_default().to();
                    for (id, row) in changed.iter_shared() {
                        entity(&id).into_iter().for_each(|entity| fields.write(&entity, &row.to()));
                    }
                    FastVariantResult::decoded(value.to_variant(), 0, bytes.len())
                }
                Err(error) => FastVariantResult::failed(&error),
            }
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
    /// Reads a snapshot, unless `check` refuses the changed rows. Returns the value of the result.
    fn changes(
        this: &Gd<Self>,
        bytes: &PackedByteArray,
        check: impl FnOnce(&Fields, &VarDictionary) -> Result<()>,
    ) -> Result<(Arc<Fields>, VarDictionary)> {
        let this = this.bind();
        let mut state = lock(&this.state);
        let state = state.as_mut().ok_or_else(no_schema)?;
        let (fields, limits) = (Arc::clone(&state.fields), Limits::for_network());
        let schema = fields.schema();
        // A copy, so that an invalid Variant changes nothing, either.
        let mut reader = state.peer.clone();
        let before = reader.last().map_or_else(Arc::<Frame>::default, |(_, frame)| Arc::clone(frame));
        let changes = reader.read(engine::bytes(bytes)).map_err(Error::other)?;
        let (tick, frame) = reader.last().ok_or_else(no_schema)?;
        let row_of = |frame: &Frame, id: u32| frame.find(id).map(|index| frame.row(schema, index));
        let rows = |ids: &[u32]| -> Result<VarDictionary> {
            let mut rows = VarDictionary::new();
            for id in ids {
                let Some(row) = row_of(frame, *id) else { continue };
                let row = fields.changed(&row, row_of(&before, *id).as_ref(), &limits);
                rows.set(i64::from(*id), &row.map_err(|error| error.inside(Step::Index(*id as usize)))?);
            }
            Ok(rows)
        };
        let changed = rows(&changes.changed)?;
        check(&fields, &changed)?;
        let removed: PackedInt64Array = changes.removed.iter().map(|id| i64::from(*id)).collect();
        let mut value = VarDictionary::new();
        value.set("tick", i64::from(tick));
        value.set("changed", &changed);
        value.set("added", &rows(&changes.added)?);
        value.set("removed", &removed);
        state.peer = reader;
        Ok((fields, value))
    }
}
