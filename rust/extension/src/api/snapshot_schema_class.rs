//! The class FastSnapshotSchema: the fields of an entity in snapshots.

use std::sync::{Arc, Mutex};

use godot::builtin::{AnyArray, Array, GString, PackedByteArray, VarDictionary, Variant};
use godot::classes::{IResource, Resource};
use godot::meta::ToGodot;
use godot::obj::{Base, Gd};
use godot::prelude::{GodotClass, PhantomVar, godot_api};
use variant_codec::error::Step;
use variant_codec::sync::lock;
use variant_codec::{Error, Result};
use variant_engine::{self as engine, text_of};
use variant_snapshot::{Kind, Schema, Steps};

use super::guard::{OnFailure, guard};
use super::result_class::FastVariantResult;
use super::{report, summary};
use crate::snapshots::{Fields, Reading};

/// The fields of an entity in snapshots, and the numbers that each can hold: fewer numbers take fewer bits.
///
/// Both sides need equal schemas: build them in the same code, or save the resource as a [code].tres[/code] file.
///
/// ```gdscript
/// var schema := FastSnapshotSchema.new()
/// schema.add_vector2("position", -1000, 1000, 0.1)
/// schema.add_angle("rotation", 8)
/// schema.add_int("hp", 0, 100)
/// schema.add_bool("is_hit")
/// var bytes := schema.pack({"position": Vector2(3.14, 4), "rotation": 1.0, "hp": 87, "is_hit": false})
/// print(bytes.size(), " bytes: ", schema.try_unpack(bytes).value)
/// ```
///
/// ```text output
/// 6 bytes: { "position": (3.1, 4.0), "rotation": 1.00629139685298, "hp": 87, "is_hit": false }
/// ```
///
/// An entity is a [Dictionary] with the names of the fields as keys, or an object with properties of these names. A number
/// outside its range becomes the nearest one in it; NaN and infinity are errors. [code]docs/snapshot_format.md[/code] specifies
/// the bits.
#[derive(GodotClass)]
#[class(tool, init, base=Resource)]
pub struct FastSnapshotSchema {
    /// The fields, as the [code]add_[/code] methods add them. Each Dictionary has [code]"name"[/code],
    /// [code]"type"[/code], such as [code]"vector2"[/code], and the other arguments of the method under their names.
    #[export]
    #[var(get, set)]
    fields: PhantomVar<Array<VarDictionary>>,
    known: Mutex<Option<Arc<Fields>>>,
    base: Base<Resource>,
}

#[godot_api]
impl IResource for FastSnapshotSchema {
    #[func(gd_self)]
    fn to_string(this: Gd<Self>) -> GString {
        guard("FastSnapshotSchema.to_string", || {
            let count = summary::count(Self::known(&this).schema().fields().len(), "field", "fields");
            summary::of(&this, count)
        })
    }
}

#[godot_api]
impl FastSnapshotSchema {
    #[func]
    fn get_fields(&self) -> Array<VarDictionary> {
        guard("FastSnapshotSchema.fields", || {
            self.fields_now()
                .schema()
                .fields()
                .iter()
                .map(|field| described(field.name(), field.kind()))
                .collect()
        })
    }

    #[func]
    fn set_fields(&self, fields: Array<VarDictionary>) {
        guard("FastSnapshotSchema.fields", || {
            let mut schema = Schema::new();
            let added = fields.iter_shared().enumerate().try_for_each(|(index, field)| {
                let kind = read(&field).map_err(|error| error.inside(Step::Index(index)))?;
                schema.add(&text(&field, "name"), kind).map_err(Error::other)
            });
            match added {
                Ok(()) => *lock(&self.known) = Some(Fields::of(schema)),
                Err(error) => report::failure("FastSnapshotSchema.fields", &error),
            }
        });
    }
}

#[godot_api(secondary)]
impl FastSnapshotSchema {
    /// Adds a bool, or an int that is not 0: 1 bit.
    ///
    /// If a field cannot be added, all [code]add_[/code] methods print one error, and the schema stays the same. [param name]
    /// is the key or the property, up to 255 bytes. A schema has at most 64 fields.
    #[func(gd_self)]
    fn add_bool(this: Gd<Self>, name: GString) {
        Self::add(&this, "FastSnapshotSchema.add_bool", &name, Kind::Bool);
    }

    /// Adds the int [param name] from [param min] to [param max]. A float is rounded.
    #[func(gd_self)]
    fn add_int(this: Gd<Self>, name: GString, min: i64, max: i64) {
        Self::add(&this, "FastSnapshotSchema.add_int", &name, Kind::Int { min, max });
    }

    /// Adds the float [param name] from [param min] to [param max], rounded to a multiple of [param step] above [param min]. The last
    /// multiple may be up to half a step above [param max].
    #[func(gd_self)]
    fn add_float(this: Gd<Self>, name: GString, min: f64, max: f64, step: f64) {
        Self::add(&this, "FastSnapshotSchema.add_float", &name, Kind::Float(Steps { min, max, step }));
    }

    /// Adds the [Vector2] [param name], each component as [method add_float] with the same [param min], [param max] and [param step].
    #[func(gd_self)]
    fn add_vector2(this: Gd<Self>, name: GString, min: f64, max: f64, step: f64) {
        Self::add(&this, "FastSnapshotSchema.add_vector2", &name, Kind::Vector2(Steps { min, max, step }));
    }

    /// Adds the [Vector3] [param name], each component as [method add_float] with the same [param min], [param max] and [param step].
    #[func(gd_self)]
    fn add_vector3(this: Gd<Self>, name: GString, min: f64, max: f64, step: f64) {
        Self::add(&this, "FastSnapshotSchema.add_vector3", &name, Kind::Vector3(Steps { min, max, step }));
    }

    /// Adds the angle [param name] in radians, rounded to one of 2^[param bits] parts of a turn; [param bits] is at most 24. The other side
    /// sees it between −π and π.
    #[func(gd_self)]
    fn add_angle(this: Gd<Self>, name: GString, bits: i64) {
        let bits = u32::try_from(bits).unwrap_or(0);
        Self::add(&this, "FastSnapshotSchema.add_angle", &name, Kind::Angle { bits });
    }

    /// Adds the rotation [param name], a [Quaternion]: the three smallest components with [param bits] each, 3 to 18, and 2 bits for the
    /// largest. The other side may see the negated quaternion, which is the same rotation.
    #[func(gd_self)]
    fn add_quaternion(this: Gd<Self>, name: GString, bits: i64) {
        let bits = u32::try_from(bits).unwrap_or(0);
        Self::add(&this, "FastSnapshotSchema.add_quaternion", &name, Kind::Quaternion { bits });
    }

    /// Adds the field [param name] for any value without objects, encoded in at most [param max_bytes], up to 65535. It is sent whole whenever it
    /// changes, and must be within the limits of [method FastVariantLimits.for_network].
    #[func(gd_self)]
    fn add_variant(this: Gd<Self>, name: GString, max_bytes: i64) {
        let max_bytes = usize::try_from(max_bytes).unwrap_or(0);
        Self::add(&this, "FastSnapshotSchema.add_variant", &name, Kind::Variant { max_bytes });
    }

    /// Returns the fields of [param row], a [Dictionary] or an object, as bytes: for the arguments of an RPC, or an input of
    /// a player. If a field is missing or does not fit, prints one error and returns an empty array.
    #[func(gd_self)]
    fn pack(this: Gd<Self>, row: Variant) -> PackedByteArray {
        guard("FastSnapshotSchema.pack", || {
            let fields = Self::known(&this);
            let packed = fields.row(&row).map(|row| PackedByteArray::from(fields.schema().pack(&row)));
            packed.unwrap_or_else(|error| PackedByteArray::failed("FastSnapshotSchema.pack", &error))
        })
    }

    /// Reads the row that [method pack] with an equal schema wrote to [param bytes]: the result's
    /// [member FastVariantResult.value] is a [Dictionary]. Prints nothing. Safe for bytes of strangers.
    #[func(gd_self)]
    fn try_unpack(this: Gd<Self>, bytes: PackedByteArray) -> Gd<FastVariantResult> {
        guard("FastSnapshotSchema.try_unpack", || {
            let fields = Self::known(&this);
            let row = fields.schema().unpack(engine::bytes(&bytes)).map_err(Error::other);
            let row = row.and_then(|row| fields.dictionary(&row, &Reading::for_network()));
            row.map_or_else(
                |error| FastVariantResult::failed(&error),
                |row| FastVariantResult::decoded(row.to_variant(), 0, bytes.len()),
            )
        })
    }

    /// Returns up to 256 [param rows] as bytes, such as the last inputs of a player in each packet, so that a lost packet
    /// loses no input. After the first, a row takes 1 bit for each field, and more only for fields that differ from the row
    /// before. If a row does not fit, prints one error and returns an empty array.
    #[func(gd_self)]
    fn pack_series(this: Gd<Self>, rows: AnyArray) -> PackedByteArray {
        guard("FastSnapshotSchema.pack_series", || {
            let fields = Self::known(&this);
            let packed: Result<Vec<_>> = rows
                .iter_shared()
                .enumerate()
                .map(|(index, row)| fields.row(&row).map_err(|error| error.inside(Step::Index(index))))
                .collect();
            let packed = packed.and_then(|rows| fields.schema().pack_series(&rows).map_err(Error::other));
            packed
                .map(PackedByteArray::from)
                .unwrap_or_else(|error| PackedByteArray::failed("FastSnapshotSchema.pack_series", &error))
        })
    }

    /// Reads the rows that [method pack_series] with an equal schema wrote to [param bytes]: the result's
    /// [member FastVariantResult.value] is an Array of Dictionaries. Prints nothing. Safe for bytes of strangers.
    #[func(gd_self)]
    fn try_unpack_series(this: Gd<Self>, bytes: PackedByteArray) -> Gd<FastVariantResult> {
        guard("FastSnapshotSchema.try_unpack_series", || {
            let fields = Self::known(&this);
            let rows = fields.schema().unpack_series(engine::bytes(&bytes)).map_err(Error::other);
            let rows: Result<Array<VarDictionary>> = rows.and_then(|rows| {
                let reading = Reading::for_network();
                rows.iter().map(|row| fields.dictionary(row, &reading)).collect()
            });
            rows.map_or_else(
                |error| FastVariantResult::failed(&error),
                |rows| FastVariantResult::decoded(rows.to_variant(), 0, bytes.len()),
            )
        })
    }

    /// Returns [param row] as the other side will see it. If a field is missing or does not fit, prints one error and returns
    /// an empty Dictionary.
    #[func(gd_self)]
    fn quantized(this: Gd<Self>, row: Variant) -> VarDictionary {
        guard("FastSnapshotSchema.quantized", || {
            let fields = Self::known(&this);
            let row = fields.row(&row).and_then(|row| fields.dictionary(&row, &Reading::for_network()));
            row.unwrap_or_else(|error| VarDictionary::failed("FastSnapshotSchema.quantized", &error))
        })
    }

    /// Returns a number of 32 bits that is the same for equal schemas. Full snapshots contain it.
    #[func(gd_self)]
    fn get_hash(this: Gd<Self>) -> i64 {
        guard("FastSnapshotSchema.get_hash", || Self::known(&this).schema().hash().into())
    }
}

impl FastSnapshotSchema {
    /// The fields as they are now.
    pub fn known(this: &Gd<Self>) -> Arc<Fields> {
        this.bind().fields_now()
    }

    fn fields_now(&self) -> Arc<Fields> {
        Arc::clone(lock(&self.known).get_or_insert_with(|| Fields::of(Schema::new())))
    }

    fn add(this: &Gd<Self>, method: &'static str, name: &GString, kind: Kind) {
        guard(method, || {
            let mut schema = Schema::clone(Self::known(this).schema());
            match schema.add(&text_of(name), kind) {
                Ok(()) => *lock(&this.bind().known) = Some(Fields::of(schema)),
                Err(error) => report::failure(method, &Error::other(error)),
            }
        });
    }
}

/// A writer or reader of snapshots, and its schema.
pub struct Bound<T> {
    pub schema: Gd<FastSnapshotSchema>,
    pub fields: Arc<Fields>,
    pub peer: T,
}

impl<T> Bound<T> {
    /// Binds what `make` returns to the fields that a schema has now.
    pub fn of(schema: Gd<FastSnapshotSchema>, make: impl FnOnce(Arc<Schema>) -> T) -> Self {
        let fields = FastSnapshotSchema::known(&schema);
        let peer = make(Arc::clone(fields.schema()));
        Self { schema, fields, peer }
    }
}

/// The error of a writer or reader without a schema.
#[cold]
pub fn no_schema() -> Error {
    Error::argument("set `schema` first")
}

/// The description of a field in a resource.
fn described(name: &str, kind: Kind) -> VarDictionary {
    let mut description = VarDictionary::new();
    let mut set = |key: &str, value: Variant| description.set(&GString::from(key), &value);
    set("name", GString::from(name).to_variant());
    let mut ty = |ty: &str| set("type", GString::from(ty).to_variant());
    match kind {
        Kind::Bool => ty("bool"),
        Kind::Int { .. } => ty("int"),
        Kind::Float(_) => ty("float"),
        Kind::Vector2(_) => ty("vector2"),
        Kind::Vector3(_) => ty("vector3"),
        Kind::Angle { .. } => ty("angle"),
        Kind::Quaternion { .. } => ty("quaternion"),
        Kind::Variant { .. } => ty("variant"),
    }
    match kind {
        Kind::Bool => {}
        Kind::Int { min, max } => {
            set("min", min.to_variant());
            set("max", max.to_variant());
        }
        Kind::Float(steps) | Kind::Vector2(steps) | Kind::Vector3(steps) => {
            set("min", steps.min.to_variant());
            set("max", steps.max.to_variant());
            set("step", steps.step.to_variant());
        }
        Kind::Angle { bits } | Kind::Quaternion { bits } => set("bits", i64::from(bits).to_variant()),
        Kind::Variant { max_bytes } => set("max_bytes", (max_bytes as i64).to_variant()),
    }
    description
}

/// The kind of field that a description has.
fn read(description: &VarDictionary) -> Result<Kind> {
    let value = |key: &str| description.get(&GString::from(key)).unwrap_or_default();
    let int = |key: &str| {
        let found = value(key).try_to::<i64>();
        found.map_err(|_| Error::argument("expected an int").inside(Step::text_key(key)))
    };
    let float = |key: &str| {
        let found = value(key).try_to::<f64>().or_else(|_| value(key).try_to::<i64>().map(|int| int as f64));
        found.map_err(|_| Error::argument("expected a float").inside(Step::text_key(key)))
    };
    let steps =
        || -> Result<Steps> { Ok(Steps { min: float("min")?, max: float("max")?, step: float("step")? }) };
    let bits = || int("bits").map(|bits| u32::try_from(bits).unwrap_or(0));
    Ok(match &*text(description, "type") {
        "bool" => Kind::Bool,
        "int" => Kind::Int { min: int("min")?, max: int("max")? },
        "float" => Kind::Float(steps()?),
        "vector2" => Kind::Vector2(steps()?),
        "vector3" => Kind::Vector3(steps()?),
        "angle" => Kind::Angle { bits: bits()? },
        "quaternion" => Kind::Quaternion { bits: bits()? },
        "variant" => Kind::Variant { max_bytes: usize::try_from(int("max_bytes")?).unwrap_or(0) },
        other => {
            let reason = format!("expected a type such as \"int\" or \"vector2\", found {other:?}");
            return Err(Error::argument(reason).inside(Step::text_key("type")));
        }
    })
}

fn text(description: &VarDictionary, key: &str) -> String {
    description.get(&GString::from(key)).map_or_else(String::new, |text| text_of(&text.stringify()))
}
