//! Snapshots: the fields of entities as live Variants.

mod columns;

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use godot::builtin::{
    AnyDictionary, GString, PackedByteArray, Quaternion, StringName, VarDictionary, Variant, Vector2,
    Vector2i, Vector3, Vector3i, real,
};
use godot::meta::ToGodot;
use variant_codec::error::Step;
use variant_codec::sync::lock;
use variant_codec::{Error, Limits, Result, VariantType, validate};
use variant_engine::{self as engine, HeldObject, Reader};
use variant_snapshot::{Frame, Kind, Row, Schema, Value};

use variant_live::decode::built::Built;
use variant_live::decode::decoding::Decoding;
use variant_live::decode::input::Input;
use variant_live::encode::walker::Objects;
use variant_live::value;

/// Fields of an entity, as their indexes and values.
pub type FieldValues = Vec<(usize, Variant)>;

/// The limits for the Variants of one call.
pub struct Reading {
    limits: Limits,
    /// The bytes that all Variants together may still have: a few bits of a packet may stand for many equal ones.
    left: Cell<usize>,
}

impl Reading {
    const MOST_BYTES: usize = 4 << 20;

    /// Limits for packets of strangers.
    pub fn for_network() -> Self {
        Self { limits: Limits::for_network(), left: Cell::new(Self::MOST_BYTES) }
    }
}

/// A schema, and the names of its fields for the engine.
pub struct Fields {
    schema: Arc<Schema>,
    names: Vec<StringName>,
    keys: Vec<Variant>,
    /// The last frame that was made: writers for several peers share equal frames.
    last: Mutex<Arc<Frame>>,
}

impl Fields {
    /// The fields of a schema.
    // Any thread may use them: the engine counts the references to the names atomically.
    #[expect(clippy::arc_with_non_send_sync, reason = "an `Rc` would count calls on several threads wrongly")]
    pub fn of(schema: Schema) -> Arc<Self> {
        let names = || schema.fields().iter().map(|field| GString::from(field.name()));
        let (keys, names) =
            (names().map(|name| name.to_variant()).collect(), names().map(|name| (&name).into()).collect());
        Arc::new(Self { schema: Arc::new(schema), names, keys, last: Mutex::default() })
    }

    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Sets all fields of a row from an entity, a Dictionary or an object. Getters run.
    ///
    /// # Errors
    /// Fails if a field is missing, or its value does not fit.
    pub fn read(&self, entity: &Variant, row: &mut Row) -> Result<()> {
        let reader = Reader::new();
        match reader.ty(entity) {
            Some(VariantType::Dictionary) => {
                let dictionary: AnyDictionary = entity.to();
                // In place as long as the keys are in the order of the fields.
                let mut entries = reader.is_direct().then(|| reader.entries(entity, false).0);
                for (field, key) in self.keys.iter().enumerate() {
                    let next = entries.as_mut().and_then(|entries| reader.next_entry(entries));
                    if let Some((_, value)) = next.filter(|(found, _)| is_text(reader, found, key)) {
                        self.give(field, value, |value| self.schema.set(row, field, value))?;
                        continue;
                    }
                    entries = None;
                    let value = dictionary.get(key).ok_or_else(|| self.missing(field))?;
                    self.give(field, &value, |value| self.schema.set(row, field, value))?;
                }
            }
            Some(VariantType::Object) => {
                let object =
                    HeldObject::of(entity.clone()).ok_or_else(|| Error::argument("a freed object"))?;
                for (field, name) in self.names.iter().enumerate() {
                    let value = object.get(name).ok_or_else(|| Error::argument("freed by its own getter"))?;
                    // The engine gives null for a property that does not exist.
                    if value.is_nil() && !matches!(self.schema.fields()[field].kind(), Kind::Variant { .. }) {
                        return Err(
                            Error::argument("the property is missing or null").inside(self.step(field))
                        );
                    }
                    self.give(field, &value, |value| self.schema.set(row, field, value))?;
                }
            }
            found => {
                return Err(Error::argument(format!(
                    "expected a Dictionary or an object, found {}",
                    name_of(found)
                )));
            }
        }
        Ok(())
    }

    /// A row of an entity, as [`Fields::read`] does.
    ///
    /// # Errors
    /// As [`Fields::read`].
    pub fn row(&self, entity: &Variant) -> Result<Row> {
        let mut row = self.schema.row();
        self.read(entity, &mut row).map(|()| row)
    }

    fn missing(&self, field: usize) -> Error {
        Error::argument("the field is missing").inside(self.step(field))
    }

    fn step(&self, field: usize) -> Step {
        Step::text_key(self.schema.fields()[field].name())
    }

    /// Gives the value of a field to `set`.
    fn give(
        &self,
        field: usize,
        value: &Variant,
        set: impl FnOnce(Value<'_>) -> variant_snapshot::Result<()>,
    ) -> Result<()> {
        let (reader, kind) = (Reader::new(), self.schema.fields()[field].kind());
        let encoded;
        let found = reader.ty(value);
        let value = match (kind, found) {
            (Kind::Variant { .. }, _) => {
                encoded = value::encode(value, Objects::Refused, true)
                    .map_err(|error| error.inside(self.step(field)))?;
                // Otherwise each reader would refuse the whole snapshot.
                let bytes = engine::bytes(&encoded);
                validate(bytes, &Limits::for_network())
                    .map_err(|error| error.without_offset().inside(self.step(field)))?;
                Value::Variant(bytes)
            }
            (_, Some(VariantType::Bool)) => Value::Bool(reader.bool(value)),
            (Kind::Bool, Some(VariantType::Int)) => Value::Bool(reader.int(value) != 0),
            (Kind::Float(_) | Kind::Angle { .. }, Some(VariantType::Int)) => {
                Value::Float(reader.int(value) as f64)
            }
            // Arithmetic of scripts often makes floats of ints.
            (Kind::Int { .. }, Some(VariantType::Float)) if reader.float(value).is_finite() => {
                Value::Int(reader.float(value).round() as i64)
            }
            (_, Some(VariantType::Int)) => Value::Int(reader.int(value)),
            (_, Some(VariantType::Float)) => Value::Float(reader.float(value)),
            (_, Some(VariantType::Vector2)) => {
                let vector: Vector2 = value.to();
                Value::Vector2([vector.x, vector.y].map(f64::from))
            }
            (_, Some(VariantType::Vector2i)) => {
                let vector: Vector2i = value.to();
                Value::Vector2([vector.x, vector.y].map(f64::from))
            }
            (_, Some(VariantType::Vector3i)) => {
                let vector: Vector3i = value.to();
                Value::Vector3([vector.x, vector.y, vector.z].map(f64::from))
            }
            (_, Some(VariantType::Vector3)) => {
                let vector: Vector3 = value.to();
                Value::Vector3([vector.x, vector.y, vector.z].map(f64::from))
            }
            (_, Some(VariantType::Quaternion)) => {
                let rotation: Quaternion = value.to();
                Value::Quaternion([rotation.x, rotation.y, rotation.z, rotation.w].map(f64::from))
            }
            _ => {
                let reason = format!("expected {}, found {}", type_of(kind).name(), name_of(found));
                return Err(Error::argument(reason).inside(self.step(field)));
            }
        };
        set(value).map_err(|error| Error::other(error).inside(self.step(field)))
    }

    /// The value of a field.
    ///
    /// # Errors
    /// Fails if an encoded Variant is invalid.
    fn take(&self, field: usize, value: Value<'_>, reading: &Reading) -> Result<Variant> {
        Ok(match value {
            Value::Bool(value) => value.to_variant(),
            Value::Int(value) => value.to_variant(),
            Value::Float(value) => value.to_variant(),
            Value::Vector2([x, y]) => Vector2::new(x as real, y as real).to_variant(),
            Value::Vector3([x, y, z]) => Vector3::new(x as real, y as real, z as real).to_variant(),
            Value::Quaternion(parts) => {
                let [x, y, z, w] = parts.map(|part| part as real);
                Quaternion::new(x, y, z, w).to_variant()
            }
            Value::Variant(bytes) => {
                let left = reading.left.get().checked_sub(bytes.len());
                let too_many = || format!("the Variants have over {} bytes", Reading::MOST_BYTES);
                reading.left.set(left.ok_or_else(|| Error::argument(too_many()))?);
                let (input, limits) = (Input::Owned(PackedByteArray::from(bytes)), &reading.limits);
                let value = Decoding::strict(limits).decode_input(&input).map(Built::into_value);
                value.map_err(|error| error.without_offset().inside(self.step(field)))?
            }
        })
    }

    /// All fields of a row.
    ///
    /// # Errors
    /// Fails if an encoded Variant is invalid.
    pub fn dictionary(&self, row: &Row, reading: &Reading) -> Result<VarDictionary> {
        let mut dictionary = VarDictionary::new();
        for (field, key) in self.keys.iter().enumerate() {
            dictionary.set(key, &self.take(field, self.schema.get(row, field), reading)?);
        }
        Ok(dictionary)
    }
}

/// The type of the values of a field.
fn type_of(kind: Kind) -> VariantType {
    match kind {
        Kind::Bool => VariantType::Bool,
        Kind::Int { .. } => VariantType::Int,
        Kind::Float(_) | Kind::Angle { .. } => VariantType::Float,
        Kind::Vector2(_) => VariantType::Vector2,
        Kind::Vector3(_) => VariantType::Vector3,
        Kind::Quaternion { .. } => VariantType::Quaternion,
        Kind::Variant { .. } => VariantType::Nil,
    }
}

/// Whether a key is this String, or a StringName with its text.
fn is_text(reader: Reader, key: &Variant, text: &Variant) -> bool {
    match reader.ty(key) {
        Some(VariantType::String) => reader.string_units(key) == reader.string_units(text),
        Some(VariantType::StringName) => {
            reader.name_units(reader.string_name(key)) == Some(reader.string_units(text))
        }
        _ => false,
    }
}

fn name_of(ty: Option<VariantType>) -> &'static str {
    ty.map_or("a newer type", VariantType::name)
}

impl Fields {
    /// The frame of entities: a Dictionary with their ids as keys. It leaves out freed objects. Getters run.
    ///
    /// # Errors
    /// Fails if an id is not an int from 0 to 4,294,967,294, or an entity does not fit.
    pub fn frame(&self, entities: &AnyDictionary) -> Result<Arc<Frame>> {
        let mut sorted = Vec::with_capacity(entities.len());
        let reader = Reader::new();
        for (id, entity) in entities.iter_shared() {
            let is_freed =
                reader.ty(&entity) == Some(VariantType::Object) && reader.live_object_id(&entity) == 0;
            if !is_freed {
                sorted.push((id_of(&id)?, entity));
            }
        }
        sorted.sort_unstable_by_key(|(id, _)| *id);
        let (mut frame, mut row) = (Frame::new(), self.schema.row());
        for (id, entity) in sorted {
            self.read(&entity, &mut row).map_err(|error| error.inside(Step::Index(id as usize)))?;
            frame.push(id, &row).map_err(Error::other)?;
        }
        Ok(self.shared(frame))
    }

    /// The frame, or the last one if it is equal.
    fn shared(&self, frame: Frame) -> Arc<Frame> {
        let mut last = lock(&self.last);
        if **last != frame {
            *last = Arc::new(frame);
        }
        Arc::clone(&last)
    }

    /// Checks that [`Fields::write`] can write to an entity.
    ///
    /// # Errors
    /// Fails if it is neither an untyped Dictionary nor an object.
    pub fn check(&self, entity: &Variant) -> Result<()> {
        let found = Reader::new().ty(entity);
        let fits = match found {
            Some(VariantType::Dictionary) => {
                entity.try_to::<VarDictionary>().is_ok_and(|dictionary| !dictionary.is_read_only())
            }
            found => found == Some(VariantType::Object),
        };
        let reason = || {
            format!(
                "expected an object or a Dictionary without types that can be changed, found {}",
                name_of(found)
            )
        };
        if fits { Ok(()) } else { Err(Error::argument(reason())) }
    }

    /// Sets fields of an entity, unless it is a freed object. Setters run.
    pub fn write(&self, entity: &Variant, changes: &FieldValues) {
        if let Ok(mut dictionary) = entity.try_to::<VarDictionary>() {
            changes.iter().for_each(|(field, value)| dictionary.set(&self.keys[*field], value));
        } else if let Some(object) = HeldObject::of(entity.clone()) {
            for (field, value) in changes {
                object.set(&self.names[*field], value);
            }
        }
    }

    /// The fields of the entity at `index` that differ from those of `before`, or all, with their values.
    ///
    /// # Errors
    /// Fails if an encoded Variant is invalid.
    pub fn changes(
        &self,
        (frame, index): (&Frame, usize),
        before: Option<(&Frame, usize)>,
        reading: &Reading,
    ) -> Result<FieldValues> {
        let differs =
            |field: &usize| before.is_none_or(|before| frame.differs(&self.schema, index, before, *field));
        let value = |field| self.take(field, frame.get(&self.schema, index, field), reading);
        (0..self.keys.len()).filter(differs).map(|field| Ok((field, value(field)?))).collect()
    }

    /// The fields as a Dictionary.
    pub fn named(&self, changes: &FieldValues) -> VarDictionary {
        let mut dictionary = VarDictionary::new();
        changes.iter().for_each(|(field, value)| dictionary.set(&self.keys[*field], value));
        dictionary
    }
}

/// The id of an entity.
///
/// # Errors
/// Fails if it is not an int from 0 to 4,294,967,294.
pub fn id_of(id: &Variant) -> Result<u32> {
    let int = (Reader::new().ty(id) == Some(VariantType::Int)).then(|| Reader::new().int(id));
    int.and_then(entity_id).ok_or_else(|| no_id(&id.stringify()))
}

fn entity_id(int: i64) -> Option<u32> {
    u32::try_from(int).ok().filter(|id| *id < u32::MAX)
}

#[cold]
fn no_id(found: &impl std::fmt::Display) -> Error {
    Error::argument(format!("expected an id from 0 to 4294967294, found {found}"))
}
