//! Encodes events as bytes of Godot 3, and replaces types that Godot 3 lacks.

use crate::changes::{Change, Loss, add_change};
use crate::encoder::Encoder;
use crate::error::{Error, ErrorKind, Result};
use crate::events::{ElementType, NodePathParts, Sink, Text};
use crate::format::{Lane, Shape, VariantType};
use crate::lanes::{Lanes, Precision};
use crate::output::Output;
use crate::wire::dialect::Godot3;

/// The replacement for a type that Godot 3 lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counterpart {
    /// The type that Godot 3 lacks.
    pub ty: VariantType,
    /// The replacement, in Godot 3's terms.
    pub becomes: &'static str,
    /// `Accepted` if the conversion loses part of the value or of its meaning.
    pub loss: Loss,
}

/// Every type that Godot 3 lacks, with its replacement.
pub const COUNTERPARTS: [Counterpart; 12] = {
    use VariantType as T;
    const fn kept(ty: VariantType, becomes: &'static str) -> Counterpart {
        Counterpart { ty, becomes, loss: Loss::Refused }
    }
    const fn lost(ty: VariantType, becomes: &'static str) -> Counterpart {
        Counterpart { ty, becomes, loss: Loss::Accepted }
    }
    [
        kept(T::Vector2i, "Vector2"),
        kept(T::Rect2i, "Rect2"),
        kept(T::Vector3i, "Vector3"),
        lost(T::Vector4, "Quat"),
        lost(T::Vector4i, "Array of ints"),
        lost(T::Projection, "PoolRealArray of 16 numbers"),
        kept(T::StringName, "String"),
        lost(T::Callable, "null"),
        lost(T::Signal, "null"),
        kept(T::PackedInt64Array, "Array of ints"),
        kept(T::PackedFloat64Array, "Array of floats"),
        lost(T::PackedVector4Array, "Array of Quats"),
    ]
};

/// Writes values in Godot 3's format.
///
/// A type that Godot 3 lacks is replaced by one that holds the same numbers and characters. A loss is an
/// error unless the caller accepts it. [`COUNTERPARTS`] lists the replacements.
#[derive(Debug)]
pub struct Downgrade<O> {
    encoder: Encoder<O, Godot3>,
    loss: Loss,
    changes: Vec<Change>,
    /// The types met since the last key began, one bit each. Types that are not in [`ALIKE`] may be
    /// missing.
    met: u64,
}

/// The types found in a Dictionary's keys so far.
#[derive(Default)]
pub struct KeyTypes {
    found: u64,
    /// The types met before the key. If this Dictionary is itself part of a key, these types belong to the
    /// enclosing key.
    outside: u64,
}

impl KeyTypes {
    fn have(&self, (a, b): &(VariantType, VariantType)) -> bool {
        self.found & bit(*a) != 0 && self.found & bit(*b) != 0
    }

    /// Two of the found types whose values may become equal in Godot 3.
    fn alike(&self) -> Option<&'static (VariantType, VariantType)> {
        const TEXTS: (VariantType, VariantType) = (VariantType::StringName, VariantType::String);

        // Outside containers, a StringName and a String with the same text are already one key in Godot 4.
        let have_containers = self.found & (bit(VariantType::Array) | bit(VariantType::Dictionary)) != 0;
        ALIKE
            .iter()
            .find(|types| self.have(types))
            .or((have_containers && self.have(&TEXTS)).then_some(&TEXTS))
    }
}

/// Types whose values are different keys in Godot 4 but may be equal in Godot 3.
const ALIKE: [(VariantType, VariantType); 6] = [
    (VariantType::Vector2i, VariantType::Vector2),
    (VariantType::Rect2i, VariantType::Rect2),
    (VariantType::Vector3i, VariantType::Vector3),
    (VariantType::PackedInt64Array, VariantType::Array),
    (VariantType::PackedFloat64Array, VariantType::Array),
    (VariantType::PackedInt64Array, VariantType::PackedFloat64Array),
];

impl<O: Output> Downgrade<O> {
    /// A writer that appends to `out`. With [`Loss::Accepted`], it rounds numbers, replaces each type by the
    /// nearest one that Godot 3 has, and writes text as the engine does.
    pub fn new(out: O, loss: Loss) -> Self {
        Self { encoder: Encoder::for_godot3(out, !loss.is_accepted()), loss, changes: Vec::new(), met: 0 }
    }

    /// The output so far.
    pub fn output(&self) -> &O {
        self.encoder.output()
    }

    /// The complete output.
    pub fn into_output(self) -> O {
        self.encoder.into_output()
    }

    /// The changes made, in the order in which each kind first occurred.
    pub fn into_changes(self) -> Vec<Change> {
        self.changes
    }

    fn change(&mut self, from: &'static str, to: &'static str) {
        add_change(&mut self.changes, Change { from, to, count: 1 });
    }

    /// Counts the replacement of a type that Godot 3 lacks. Fails if the replacement loses information and
    /// losses are not accepted.
    fn replace(&mut self, ty: VariantType) -> Result<()> {
        self.met |= bit(ty);
        let Some(found) = COUNTERPARTS.iter().find(|counterpart| counterpart.ty == ty) else { return Ok(()) };
        if found.loss.is_accepted() && !self.loss.is_accepted() {
            return Err(refused(format!(
                "Godot 3 has no {ty}; a lossy conversion turns it into {}",
                found.becomes
            )));
        }
        self.change(ty.name(), found.becomes);
        Ok(())
    }

    /// Does nothing if `exact`. Otherwise counts a rounding, or fails if losses are not accepted.
    fn round(&mut self, ty: VariantType, exact: bool) -> Result<()> {
        if exact {
            return Ok(());
        }
        if !self.loss.is_accepted() {
            return Err(refused(format!(
                "{ty} with numbers that do not fit Godot 3's 32-bit floats exactly; a lossy conversion rounds them"
            )));
        }
        self.change("number", "rounded number");
        Ok(())
    }

    /// Refuses or counts a value with reals that 32 bits do not hold exactly.
    fn check_reals(&mut self, ty: VariantType, lane: Lane, lanes: Lanes<'_>) -> Result<()> {
        if lane != Lane::Real || lanes.precision == Precision::Single {
            return Ok(());
        }
        self.round(ty, lanes.f64s().all(|real| real.is_nan() || f64::from(real as f32) == real))
    }

    fn ints_as_floats(&mut self, ty: VariantType, target: VariantType, lanes: Lanes<'_>) -> Result<()> {
        let (mut le, mut exact) = ([0; 16], true);
        for (float, int) in le.as_chunks_mut().0.iter_mut().zip(lanes.i32s()) {
            exact &= f64::from(int as f32) == f64::from(int);
            *float = (int as f32).to_le_bytes();
        }
        self.round(ty, exact)?;
        self.encoder.fixed(target, Lanes { precision: Precision::Single, le: &le[..lanes.le.len()] })
    }

    fn array_of_ints(&mut self, len: usize, mut ints: impl Iterator<Item = i64>) -> Result<()> {
        self.encoder.begin_array(len, ElementType::Untyped)?;
        self.encoder.ints(&mut (), &mut ints)?;
        self.encoder.end_array(())
    }
}

const fn bit(ty: VariantType) -> u64 {
    1 << ty.id()
}

#[cold]
fn refused(reason: String) -> Error {
    ErrorKind::NoCounterpart(reason.into()).into()
}

impl<O: Output> Sink for Downgrade<O> {
    type Array = ();
    type Dictionary = KeyTypes;
    type Object = ();
    type Strings = ();

    fn written(&self) -> usize {
        self.encoder.written()
    }

    fn nil(&mut self) -> Result<()> {
        self.encoder.nil()
    }

    fn bool(&mut self, value: bool) -> Result<()> {
        self.encoder.bool(value)
    }

    fn int(&mut self, value: i64) -> Result<()> {
        self.encoder.int(value)
    }

    fn float(&mut self, value: f64) -> Result<()> {
        self.encoder.float(value)
    }

    fn text(&mut self, ty: VariantType, text: Text<'_>) -> Result<()> {
        self.replace(ty)?;
        self.encoder.text(VariantType::String, text)
    }

    fn fixed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        use VariantType as T;

        let Shape::Fixed(lane, _) = ty.shape() else { unreachable!("{ty} has no fixed components") };
        self.replace(ty)?;
        self.check_reals(ty, lane, lanes)?;
        match ty {
            T::Vector2i => self.ints_as_floats(ty, T::Vector2, lanes),
            T::Rect2i => self.ints_as_floats(ty, T::Rect2, lanes),
            T::Vector3i => self.ints_as_floats(ty, T::Vector3, lanes),
            T::Vector4 => self.encoder.fixed(T::Quaternion, lanes),
            T::Vector4i => self.array_of_ints(4, lanes.i32s().map(i64::from)),
            T::Projection => match lanes.precision {
                Precision::Single => self.encoder.packed(T::PackedFloat32Array, lanes),
                Precision::Double => {
                    let le: Vec<u8> = lanes.f64s().flat_map(|real| (real as f32).to_le_bytes()).collect();
                    let lanes = Lanes { precision: Precision::Single, le: &le };
                    self.encoder.packed(T::PackedFloat32Array, lanes)
                }
            },
            _ => self.encoder.fixed(ty, lanes),
        }
    }

    fn packed(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        use VariantType as T;

        let Shape::Packed(lane, _) = ty.shape() else { unreachable!("{ty} is no packed array") };
        self.replace(ty)?;
        self.check_reals(ty, lane, lanes)?;
        match ty {
            T::PackedInt64Array => {
                let ints = lanes.i64s();
                self.array_of_ints(ints.len(), ints)
            }
            T::PackedFloat64Array => {
                self.encoder.begin_array(lanes.le.len() / 8, ElementType::Untyped)?;
                self.encoder.floats(&mut (), &mut lanes.f64s())?;
                self.encoder.end_array(())
            }
            T::PackedVector4Array => {
                let bytes = ty.lanes_bytes(lanes.precision);
                self.encoder.begin_array(lanes.le.len() / bytes, ElementType::Untyped)?;
                let mut elements = lanes.le.chunks_exact(bytes);
                elements.try_for_each(|le| self.encoder.fixed(T::Quaternion, Lanes { le, ..lanes }))?;
                self.encoder.end_array(())
            }
            _ => self.encoder.packed(ty, lanes),
        }
    }

    fn node_path(&mut self, path: NodePathParts<'_>) -> Result<()> {
        let is_root = path.absolute && path.names.is_empty() && path.subnames.is_empty();
        if is_root && !self.loss.is_accepted() {
            return Err(refused(
                "Godot 3 has no NodePath \"/\"; a lossy conversion turns it into an empty one".into(),
            ));
        }
        if is_root {
            self.change("NodePath \"/\"", "empty NodePath");
        }
        self.encoder.node_path(NodePathParts { absolute: path.absolute && !is_root, ..path })
    }

    fn rid(&mut self, id: u64) -> Result<()> {
        if id != 0 {
            if !self.loss.is_accepted() {
                return Err(refused(
                    "Godot 3 does not store the id of a RID; a lossy conversion turns it into an empty one"
                        .into(),
                ));
            }
            self.change("RID", "empty RID");
        }
        self.encoder.rid(0)
    }

    fn callable(&mut self) -> Result<()> {
        self.replace(VariantType::Callable)?;
        self.encoder.nil()
    }

    fn signal(&mut self, _name: Text<'_>, _object: u64) -> Result<()> {
        self.replace(VariantType::Signal)?;
        self.encoder.nil()
    }

    fn object_id(&mut self, id: u64) -> Result<()> {
        self.encoder.object_id(id)
    }

    fn begin_array(&mut self, len: usize, element: ElementType<'_>) -> Result<()> {
        self.met |= bit(VariantType::Array);
        if element != ElementType::Untyped {
            self.change("typed Array", "Array");
        }
        self.encoder.begin_array(len, ElementType::Untyped)
    }

    fn ints(&mut self, (): &mut (), ints: &mut impl Iterator<Item = i64>) -> Result<()> {
        self.encoder.ints(&mut (), ints)
    }

    fn floats(&mut self, (): &mut (), floats: &mut impl Iterator<Item = f64>) -> Result<()> {
        self.encoder.floats(&mut (), floats)
    }

    fn begin_dictionary(
        &mut self,
        len: usize,
        key: ElementType<'_>,
        value: ElementType<'_>,
    ) -> Result<KeyTypes> {
        if key != ElementType::Untyped || value != ElementType::Untyped {
            self.change("typed Dictionary", "Dictionary");
        }
        self.encoder.begin_dictionary(len, ElementType::Untyped, ElementType::Untyped)?;
        self.met |= bit(VariantType::Dictionary);
        Ok(KeyTypes::default())
    }

    fn begin_key(&mut self, keys: &mut KeyTypes) -> Result<()> {
        keys.outside = std::mem::take(&mut self.met);
        Ok(())
    }

    fn begin_value(&mut self, keys: &mut KeyTypes) -> Result<()> {
        keys.found |= self.met;
        self.met |= keys.outside;
        match keys.alike() {
            Some((a, b)) if !self.loss.is_accepted() => Err(refused(format!(
                "Dictionary with both {a} and {b} in its keys, which become the same type in Godot 3; use a lossy conversion \
                 if no two become equal"
            ))),
            _ => Ok(()),
        }
    }

    fn begin_object(&mut self, class: Text<'_>, _properties: usize) -> Result<()> {
        Err(refused(format!(
            "object of class {} with properties, which Godot 3 cannot create: its classes differ",
            class.quoted()
        )))
    }

    fn begin_strings(&mut self, len: usize) -> Result<()> {
        self.encoder.begin_strings(len)
    }

    fn string(&mut self, (): &mut (), text: Text<'_>) -> Result<()> {
        self.encoder.string(&mut (), text)
    }
}
