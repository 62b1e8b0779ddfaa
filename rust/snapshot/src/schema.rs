//! Schemas: the fields of an entity, and the numbers that each can hold.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::VERSION;
use crate::error::{Error, Result};
use crate::quantize;
use crate::row::{Fields, FieldsMut, Row};

/// The most fields of a schema.
pub const MOST_FIELDS: usize = 64;
/// The most bytes of the name of a field.
pub const MOST_NAME: usize = 255;
/// The most bytes of a Variant.
pub const MOST_VARIANT: usize = 65_535;
/// A vector has 32-bit components, which hold this many steps exactly.
const MOST_VECTOR_STEPS: f64 = (1 << 22) as f64;
/// The most entities of a frame.
const MOST_ENTITIES: usize = 1 << 16;
/// The most lanes and Variants of all entities of a frame.
const MOST_NUMBERS: usize = 1 << 20;
const MOST_FLOAT_STEPS: f64 = u32::MAX as f64;

/// Floats from `min` to `max`, in steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// The smallest float.
    pub min: f64,
    /// The largest float. The last step may be up to half a step above it.
    pub max: f64,
    /// The distance of two floats.
    pub step: f64,
}

/// The values of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A bool.
    Bool,
    /// An int from `min` to `max`.
    Int {
        /// The smallest int.
        min: i64,
        /// The largest int.
        max: i64,
    },
    /// A float.
    Float(Steps),
    /// Two floats.
    Vector2(Steps),
    /// Three floats.
    Vector3(Steps),
    /// An angle in radians, as one of 2^bits parts of a turn.
    Angle {
        /// 1 to 24.
        bits: u32,
    },
    /// A rotation. Each of the three smallest components takes this many bits.
    Quaternion {
        /// 3 to 18.
        bits: u32,
    },
    /// An encoded Variant.
    Variant {
        /// The most bytes of it, at most 65,535.
        max_bytes: usize,
    },
}

/// A value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Of a [`Kind::Bool`].
    Bool(bool),
    /// Of a [`Kind::Int`].
    Int(i64),
    /// Of a [`Kind::Float`] or a [`Kind::Angle`].
    Float(f64),
    /// Of a [`Kind::Vector2`].
    Vector2([f64; 2]),
    /// Of a [`Kind::Vector3`].
    Vector3([f64; 3]),
    /// Of a [`Kind::Quaternion`].
    Quaternion([f64; 4]),
    /// Of a [`Kind::Variant`].
    Variant(&'a [u8]),
}

/// A field of a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    name: String,
    kind: Kind,
    /// The index of its first lane, or of its Variant.
    pub(crate) first: usize,
    pub(crate) lanes: Lanes,
}

/// The whole numbers that a field consists of, and how they are predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lanes {
    /// One number below 2, which changes or does not.
    Flag,
    /// So many numbers below `values`.
    Numbers { count: usize, values: u64, bits: u32, motion: Motion },
    /// A number of more than 32 bits: the lower 32 bits, and the others.
    Wide { bits: u32 },
    /// The index of the largest component, and three numbers.
    Quaternion { bits: u32 },
    /// Bytes.
    Variant { bits: u32 },
}

/// How a number changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    /// It is likely to stay the same.
    None,
    /// It is likely to change as before.
    Linear,
    /// As `Linear`, and 0 follows the largest number.
    Turning,
}

impl Lanes {
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Flag => 1,
            Self::Numbers { count, .. } => count,
            Self::Wide { .. } => 2,
            Self::Quaternion { .. } => 4,
            Self::Variant { .. } => 0,
        }
    }

    /// The most bits of a value.
    pub(crate) fn most_bits(self) -> usize {
        match self {
            Self::Flag => 1,
            Self::Numbers { count, bits, .. } => count * bits as usize,
            Self::Wide { bits } => bits as usize,
            Self::Quaternion { bits } => 2 + 3 * bits as usize,
            Self::Variant { bits } => bits as usize,
        }
    }
}

impl Field {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The values.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The Variant of the field; empty for other kinds.
    pub(crate) fn variant<'r>(&self, variants: &'r [Arc<[u8]>]) -> &'r [u8] {
        match self.lanes {
            Lanes::Variant { .. } => &variants[self.first],
            _ => &[],
        }
    }

    #[cold]
    fn wrong(&self, reason: &'static str) -> Error {
        Error::Value(self.name.clone(), reason.into())
    }
}

/// The fields of an entity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    fields: Vec<Field>,
    /// The lanes of a row without values.
    zero: Vec<u32>,
    variants: usize,
}

impl Schema {
    /// A schema without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field.
    ///
    /// # Errors
    /// Fails if the name is empty, too long or taken, there are too many fields, or the range is empty or has too many
    /// steps.
    pub fn add(&mut self, name: &str, kind: Kind) -> Result<()> {
        let fail = |reason: &'static str| Err(Error::Field(name.to_owned(), reason.into()));
        if name.is_empty() || name.len() > MOST_NAME {
            return fail("expected a name of 1 to 255 bytes");
        }
        if self.field(name).is_some() {
            return fail("the schema has a field with this name already");
        }
        if self.fields.len() == MOST_FIELDS {
            return fail("a schema has at most 64 fields");
        }
        let lanes = lanes(kind).map_err(|reason| Error::Field(name.to_owned(), reason.into()))?;
        let first = if matches!(kind, Kind::Variant { .. }) { self.variants } else { self.zero.len() };
        self.variants += usize::from(matches!(kind, Kind::Variant { .. }));
        match lanes {
            Lanes::Quaternion { bits } => {
                self.zero.extend(quantize::smallest_three([0.0, 0.0, 0.0, 1.0], bits))
            }
            lanes => self.zero.resize(self.zero.len() + lanes.count(), 0),
        }
        self.fields.push(Field { name: name.to_owned(), kind, first, lanes });
        Ok(())
    }

    /// The fields, in the order in which they were added.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// A number that is the same for equal schemas of the same version of the format.
    pub fn hash(&self) -> u32 {
        xxh3_64(&self.description()) as u32
    }

    /// The bytes that the hash is of.
    fn description(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION as u8];
        let mut add = |parts: &[&[u8]]| parts.iter().for_each(|part| bytes.extend_from_slice(part));
        for field in &self.fields {
            add(&[&[field.name.len() as u8], field.name.as_bytes()]);
            let mut steps = |kind: u8, Steps { min, max, step }: Steps| {
                add(&[&[kind], &min.to_le_bytes(), &max.to_le_bytes(), &step.to_le_bytes()]);
            };
            match field.kind {
                Kind::Float(range) => steps(2, range),
                Kind::Vector2(range) => steps(3, range),
                Kind::Vector3(range) => steps(4, range),
                Kind::Bool => add(&[&[0]]),
                Kind::Int { min, max } => add(&[&[1], &min.to_le_bytes(), &max.to_le_bytes()]),
                Kind::Angle { bits } => add(&[&[5, bits as u8]]),
                Kind::Quaternion { bits } => add(&[&[6, bits as u8]]),
                Kind::Variant { max_bytes } => add(&[&[7], &(max_bytes as u32).to_le_bytes()]),
            }
        }
        bytes
    }

    /// The number of lanes of a row.
    pub(crate) fn lanes(&self) -> usize {
        self.zero.len()
    }

    /// The most entities of a frame, so that a reader's memory is bounded.
    pub(crate) fn most_entities(&self) -> usize {
        MOST_ENTITIES.min(MOST_NUMBERS / (self.zero.len() + self.variants).max(1))
    }

    /// The number of Variants of a row.
    pub(crate) fn variants(&self) -> usize {
        self.variants
    }

    /// The most bits of a packed row.
    pub(crate) fn most_bits(&self) -> usize {
        let variants = self.fields.iter().map(|field| match field.kind {
            Kind::Variant { max_bytes } => max_bytes * 8,
            _ => 0,
        });
        self.fields.iter().map(|field| field.lanes.most_bits()).sum::<usize>() + variants.sum::<usize>()
    }

    /// A row with the first number of each range, rotations of no turn, and empty Variants.
    pub fn row(&self) -> Row {
        Row { lanes: self.zero.clone().into(), variants: vec![Arc::default(); self.variants].into() }
    }

    pub(crate) fn zero(&self) -> &[u32] {
        &self.zero
    }

    /// Sets a field of a row, given as the field's index. A number outside the range becomes the nearest one in it.
    ///
    /// # Errors
    /// Fails if the value is of another kind, a float is not finite, a quaternion has no direction, or a Variant is too
    /// long.
    pub fn set(&self, row: &mut Row, field: usize, value: Value<'_>) -> Result<()> {
        self.set_in((&mut row.lanes, &mut row.variants), field, value)
    }

    #[inline]
    pub(crate) fn set_in(&self, row: FieldsMut<'_>, field: usize, value: Value<'_>) -> Result<()> {
        let Some(field) = self.fields.get(field) else { return Err(Error::argument("no such field")) };
        let lanes = row.0.get_mut(field.first..field.first + field.lanes.count()).unwrap_or_default();
        match (field.kind, value, lanes) {
            (Kind::Bool, Value::Bool(value), [lane]) => *lane = value.into(),
            (Kind::Int { min, max }, Value::Int(value), lanes) => {
                let index = value.clamp(min, max).wrapping_sub(min).cast_unsigned();
                lanes
                    .iter_mut()
                    .zip([index as u32, (index >> 32) as u32])
                    .for_each(|(lane, part)| *lane = part);
            }
            (Kind::Float(steps), Value::Float(value), [lane]) => {
                *lane = field.step(value, steps)?;
            }
            (Kind::Vector2(steps), Value::Vector2(values), lanes) => {
                for (lane, value) in lanes.iter_mut().zip(values) {
                    *lane = field.step(value, steps)?;
                }
            }
            (Kind::Vector3(steps), Value::Vector3(values), lanes) => {
                for (lane, value) in lanes.iter_mut().zip(values) {
                    *lane = field.step(value, steps)?;
                }
            }
            (Kind::Angle { bits }, Value::Float(value), [lane]) => {
                field.check_finite(value)?;
                *lane = quantize::part_of_turn(value, bits);
            }
            (Kind::Quaternion { bits }, Value::Quaternion(value), lanes) => {
                let square: f64 = value.iter().map(|part| part * part).sum();
                field.check_finite(square)?;
                if square < 1e-12 {
                    return Err(field.wrong("expected a rotation, found a quaternion of length 0"));
                }
                lanes.copy_from_slice(&quantize::smallest_three(value, bits));
            }
            (Kind::Variant { max_bytes }, Value::Variant(bytes), _) => {
                if bytes.len() > max_bytes {
                    let reason =
                        format!("the Variant has {} bytes; the field allows {max_bytes}", bytes.len());
                    return Err(Error::Value(field.name.clone(), reason.into()));
                }
                let place = row.1.get_mut(field.first);
                if let Some(place) = place.filter(|place| ***place != *bytes) {
                    *place = bytes.into();
                }
            }
            (kind, ..) => {
                return Err(Error::Value(field.name.clone(), format!("expected {}", expected(kind)).into()));
            }
        }
        Ok(())
    }

    /// A field of a row, given as the field's index.
    ///
    /// # Panics
    /// Panics if the row or the index is of another schema.
    pub fn get<'r>(&self, row: &'r Row, field: usize) -> Value<'r> {
        self.get_in((&row.lanes, &row.variants), field)
    }

    #[inline]
    pub(crate) fn get_in<'r>(&self, row: Fields<'r>, field: usize) -> Value<'r> {
        let field = &self.fields[field];
        if let Kind::Variant { .. } = field.kind {
            return Value::Variant(&row.1[field.first]);
        }
        let lanes = &row.0[field.first..field.first + field.lanes.count()];
        let at = |steps: Steps, index: usize| quantize::at_step(lanes[index], steps.min, steps.step);
        match field.kind {
            Kind::Bool => Value::Bool(lanes[0] != 0),
            Kind::Int { min, .. } => {
                let high = lanes.get(1).map_or(0, |high| u64::from(*high) << 32);
                Value::Int(min.wrapping_add((u64::from(lanes[0]) | high).cast_signed()))
            }
            Kind::Float(steps) => Value::Float(at(steps, 0)),
            Kind::Vector2(steps) => Value::Vector2([at(steps, 0), at(steps, 1)]),
            Kind::Vector3(steps) => Value::Vector3([at(steps, 0), at(steps, 1), at(steps, 2)]),
            Kind::Angle { bits } => Value::Float(quantize::at_part(lanes[0], bits)),
            Kind::Quaternion { bits } => Value::Quaternion(quantize::from_smallest_three(
                [lanes[0], lanes[1], lanes[2], lanes[3]],
                bits,
            )),
            Kind::Variant { .. } => Value::Variant(&[]),
        }
    }
}

impl Field {
    #[inline(always)]
    fn step(&self, value: f64, Steps { min, step, .. }: Steps) -> Result<u32> {
        self.check_finite(value)?;
        let Lanes::Numbers { values, .. } = self.lanes else { return Ok(0) };
        Ok(quantize::step_of(value, min, step, values))
    }

    #[inline(always)]
    fn check_finite(&self, value: f64) -> Result<()> {
        if value.is_finite() {
            Ok(())
        } else {
            Err(self.wrong("expected a finite number, found NaN or infinity"))
        }
    }
}

/// The value of a kind, for messages.
fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "a bool",
        Kind::Int { .. } => "an int",
        Kind::Float(_) | Kind::Angle { .. } => "a float",
        Kind::Vector2(_) => "a Vector2",
        Kind::Vector3(_) => "a Vector3",
        Kind::Quaternion { .. } => "a Quaternion",
        Kind::Variant { .. } => "an encoded Variant",
    }
}

fn lanes(kind: Kind) -> Result<Lanes, &'static str> {
    let numbers = |count: usize, values: u64, motion: Motion| Lanes::Numbers {
        count,
        values,
        bits: 64 - (values - 1).leading_zeros(),
        motion,
    };
    let floats = |count: usize, steps: Steps, most: f64| {
        let Steps { min, max, step } = steps;
        if !(min.is_finite() && max.is_finite() && step.is_finite() && step > 0.0 && min < max) {
            return Err("expected a min below the max, and a step above 0");
        }
        // Components of vectors have 32 bits.
        if most == MOST_VECTOR_STEPS && min.abs().max(max.abs()) + step > f64::from(f32::MAX) {
            return Err("the range is too large for a vector's 32-bit components");
        }
        let last = ((max - min) / step).round();
        if last < 1.0 {
            return Err("the step is larger than the range");
        }
        if last > most || min.abs().max(max.abs()) / step > most {
            return Err(if most == MOST_VECTOR_STEPS {
                "the step is too small: a vector's 32-bit components hold 4,194,304 steps from 0"
            } else {
                "the step is too small: at most 4,294,967,295 steps from 0"
            });
        }
        Ok(numbers(count, last as u64 + 1, Motion::Linear))
    };
    match kind {
        Kind::Bool => Ok(Lanes::Flag),
        Kind::Int { min, max } if min < max => {
            let range = max.wrapping_sub(min).cast_unsigned();
            match range {
                1..=0xffff_ffff => Ok(numbers(1, range + 1, Motion::None)),
                _ => Ok(Lanes::Wide { bits: 64 - range.leading_zeros() }),
            }
        }
        Kind::Int { .. } => Err("expected a min below the max"),
        Kind::Float(steps) => floats(1, steps, MOST_FLOAT_STEPS),
        Kind::Vector2(steps) => floats(2, steps, MOST_VECTOR_STEPS),
        Kind::Vector3(steps) => floats(3, steps, MOST_VECTOR_STEPS),
        Kind::Angle { bits: bits @ 1..=24 } => Ok(numbers(1, 1 << bits, Motion::Turning)),
        Kind::Angle { .. } => Err("expected 1 to 24 bits"),
        Kind::Quaternion { bits: bits @ 3..=18 } => Ok(Lanes::Quaternion { bits }),
        Kind::Quaternion { .. } => Err("expected 3 to 18 bits"),
        Kind::Variant { max_bytes: max_bytes @ 1..=MOST_VARIANT } => {
            Ok(Lanes::Variant { bits: usize::BITS - max_bytes.leading_zeros() })
        }
        Kind::Variant { .. } => Err("expected 1 to 65,535 bytes"),
    }
}
