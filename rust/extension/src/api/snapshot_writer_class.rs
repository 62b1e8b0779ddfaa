//! The class FastSnapshotWriter: writes snapshots for one peer.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use godot::builtin::{AnyDictionary, GString, PackedByteArray, PackedInt64Array, Variant};
use godot::classes::IRefCounted;
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::{GodotClass, PhantomVar, godot_api};
use variant_codec::sync::lock;
use variant_codec::{Error, Result};
use variant_engine::{self as engine, DictionaryOrEmpty};
use variant_snapshot::{Frame, Writer};

use super::guard::{OnFailure, guard};
use super::result_class::FastVariantResult;
use super::snapshot_schema_class::{Bound, FastSnapshotSchema, no_schema};
use super::summary;
use crate::snapshots::{Fields, id_of};

/// Writes snapshots for one peer, in a few bits for each entity: what differs from a prediction that the peer can make from
/// the states that it has acknowledged.
///
/// ```gdscript
/// var schema := FastSnapshotSchema.new()
/// schema.add_vector2("position", -1000, 1000, 0.1)
/// var writer := FastSnapshotWriter.new()
/// var reader := FastSnapshotReader.new()
/// writer.schema = schema
/// reader.schema = schema
/// var entities := {7: {"position": Vector2(3, 4)}}
/// print(reader.read(writer.write(1, entities)).value)
/// writer.acknowledge(reader.get_acknowledgement())
/// entities[7]["position"] = Vector2(3.5, 4)
/// print(writer.write(2, entities).size(), " bytes")
/// ```
///
/// ```text output
/// { "tick": 1, "changed": {  }, "added": { 7: { "position": (3.0, 4.0) } }, "removed": [] }
/// 6 bytes
/// ```
///
/// Any transport can carry the bytes, also one that loses packets: send each snapshot once, unreliably. Make one writer for
/// each peer, and a new one when a peer connects again. The peer's [FastSnapshotReader] reads the snapshots.
///
/// The writer keeps the last 32 frames that it has sent: 4 bytes for each number, times 32, for each entity. Writers whose
/// peers have the same entities share them.
#[derive(GodotClass)]
#[class(tool, init, base=RefCounted)]
pub struct FastSnapshotWriter {
    /// The fields of the entities. Setting it forgets everything that was sent. Fields that are added to the schema later
    /// have no effect.
    #[var(get, set)]
    schema: PhantomVar<Option<Gd<FastSnapshotSchema>>>,
    state: Mutex<Option<Bound<Writer>>>,
}

#[godot_api]
impl FastSnapshotWriter {
    #[func]
    fn get_schema(&self) -> Option<Gd<FastSnapshotSchema>> {
        guard("FastSnapshotWriter.schema", || lock(&self.state).as_ref().map(|state| state.schema.clone()))
    }

    #[func]
    fn set_schema(&self, schema: Option<Gd<FastSnapshotSchema>>) {
        guard("FastSnapshotWriter.schema", || {
            // A random number, so that readers notice another writer.
            let session = RandomState::new().hash_one(()) as u32;
            let state = schema.map(|schema| Bound::of(schema, |schema| Writer::new(schema, session)));
            let old = std::mem::replace(&mut *lock(&self.state), state);
            drop(old);
        });
    }
}

#[godot_api]
impl IRefCounted for FastSnapshotWriter {
    #[func(gd_self)]
    fn to_string(this: Gd<Self>) -> GString {
        guard("FastSnapshotWriter.to_string", || {
            let last = lock(&this.bind().state).as_ref().and_then(|state| {
                state.peer.last().map(|(tick, frame)| format!("tick {tick}, {} entities", frame.len()))
            });
            summary::of(&this, last.unwrap_or_else(|| "nothing sent".to_owned()))
        })
    }
}

#[godot_api(secondary)]
impl FastSnapshotWriter {
    /// Returns the snapshot of [param tick] for the peer. [param tick] is above the one before, from 0 to 4294967295.
    ///
    /// [param entities] maps the id of each entity that the peer shall see, an int from 0 to 4294967294, to a [Dictionary]
    /// or an object with the fields of [member schema]. An entity that is no longer in it, or was freed, is
    /// removed.
    ///
    /// The snapshot has at most [param max_bytes]. If the changes take more, the entities with the highest priorities are
    /// sent, and the others wait: with each snapshot, an entity's priority grows by its number in [param priorities], which
    /// maps ids to floats; the default is 1. If something does not fit, prints one error and returns an empty array.
    #[func(gd_self)]
    fn write(
        this: Gd<Self>,
        tick: i64,
        entities: AnyDictionary,
        #[opt(default = 1200)] max_bytes: i64,
        #[opt(default = DictionaryOrEmpty::empty())] priorities: DictionaryOrEmpty,
    ) -> PackedByteArray {
        guard("FastSnapshotWriter.write", || {
            let frame = |fields: &Fields| fields.frame(&entities);
            let written = Self::written(&this, tick, frame, max_bytes, priorities.get());
            written.unwrap_or_else(|error| PackedByteArray::failed("FastSnapshotWriter.write", &error))
        })
    }

    /// Returns the snapshot of [param tick] as [method write] does, with the same [param max_bytes] and
    /// [param priorities], several times faster: [param columns] maps the name of each field to the values of all
    /// entities, in the order of [param ids].
    ///
    /// The values are a [PackedByteArray] for bools (0 or 1), a [PackedInt64Array] or a smaller one for ints, a
    /// [PackedFloat64Array] or [PackedFloat32Array] for floats and angles, a packed array of [Vector2] or [Vector3] for
    /// those types, of [Vector4] for quaternions, or an [Array] for any field.
    #[func(gd_self)]
    fn write_columns(
        this: Gd<Self>,
        tick: i64,
        ids: PackedInt64Array,
        columns: AnyDictionary,
        #[opt(default = 1200)] max_bytes: i64,
        #[opt(default = DictionaryOrEmpty::empty())] priorities: DictionaryOrEmpty,
    ) -> PackedByteArray {
        guard("FastSnapshotWriter.write_columns", || {
            let frame = |fields: &Fields| fields.frame_of_columns(&ids, &columns);
            let written = Self::written(&this, tick, frame, max_bytes, priorities.get());
            written
                .unwrap_or_else(|error| PackedByteArray::failed("FastSnapshotWriter.write_columns", &error))
        })
    }

    /// Notes which snapshots the peer has received, from the bytes of [method FastSnapshotReader.get_acknowledgement]. The
    /// result's [member FastVariantResult.value] is the newest tick that the peer has, or [code]null[/code] if it has none.
    /// Prints nothing. Safe for bytes of strangers.
    #[func(gd_self)]
    fn acknowledge(this: Gd<Self>, bytes: PackedByteArray) -> Gd<FastVariantResult> {
        guard("FastSnapshotWriter.acknowledge", || {
            let this = this.bind();
            let mut state = lock(&this.state);
            let acknowledged = state
                .as_mut()
                .ok_or_else(no_schema)
                .and_then(|state| state.peer.acknowledge(engine::bytes(&bytes)).map_err(Error::other));
            match acknowledged {
                Ok(tick) => {
                    let tick = tick.map_or_else(Variant::nil, |tick| i64::from(tick).to_variant());
                    FastVariantResult::decoded(tick, 0, bytes.len())
                }
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }
}

impl FastSnapshotWriter {
    fn written(
        this: &Gd<Self>,
        tick: i64,
        frame: impl FnOnce(&Fields) -> Result<Arc<Frame>>,
        max_bytes: i64,
        priorities: &AnyDictionary,
    ) -> Result<PackedByteArray> {
        let tick = u32::try_from(tick)
            .map_err(|_| Error::argument(format!("expected a tick from 0 to 4294967295, found {tick}")))?;
        let max_bytes = usize::try_from(max_bytes.max(0)).unwrap_or(usize::MAX);
        let mut weights = HashMap::new();
        for (id, weight) in priorities.iter_shared() {
            let weight = weight.try_to::<f64>().or_else(|_| weight.try_to::<i64>().map(|int| int as f64));
            let weight = weight.map_err(|_| Error::argument("priorities: expected floats"))?;
            weights.insert(id_of(&id)?, weight);
        }
        let fields = lock(&this.bind().state).as_ref().map(|state| Arc::clone(&state.fields));
        let fields = fields.ok_or_else(no_schema)?;
        // The state is free while getters run.
        let frame = frame(&fields)?;
        let this = this.bind();
        let mut state = lock(&this.state);
        let state = state.as_mut().ok_or_else(no_schema)?;
        if !Arc::ptr_eq(&state.fields, &fields) {
            return Err(Error::argument("a getter has replaced the schema"));
        }
        let written =
            state.peer.write(tick, &frame, max_bytes, |id| weights.get(&id).copied().unwrap_or(1.0));
        written.map(PackedByteArray::from).map_err(Error::other)
    }
}
