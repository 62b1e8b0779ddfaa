//! Messages that stand for a value with components, such as a Vector3.

use variant_codec::VariantType;

use crate::error::{Error, Result};
use crate::kind::Kind;

/// The components of a type, which are the fields of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Components {
    /// The type with these components.
    pub ty: VariantType,
    /// The ranks of the fields of the components, in the order of the type; the first [`Components::count`] count.
    ranks: [u16; 4],
    /// The number of components.
    count: usize,
    /// Whether the values are written with components of 64 bits.
    pub is_wide: bool,
}

impl Components {
    /// The components of `ty` in a message with these fields, sorted by number: the name and kind of each; no kind if
    /// it is a list, a map or a member of a oneof.
    ///
    /// # Errors
    /// Fails if the type cannot be a message, or the message has other fields.
    pub fn of(message: &str, fields: &[(&str, Option<Kind>)], ty: VariantType) -> Result<Self> {
        let cannot = |reason: String| Err(Error::Unmappable { message: message.to_owned(), ty, reason });
        let Some(names) = names(ty) else {
            return cannot(
                "expected a Vector2, Vector3 or Vector4, with or without i, a Quaternion or a Color".into(),
            );
        };
        let rank = |name: &&str| {
            let is_it = |(found, kind): &(&str, Option<Kind>)| {
                found == name && kind.is_some_and(|kind| fits(ty, kind))
            };
            fields.iter().position(is_it)
        };
        let found: Vec<usize> = names.iter().filter_map(rank).collect();
        if found.len() != names.len() || fields.len() != names.len() {
            let number = if is_float(ty) { "float or double" } else { "an integer type" };
            return cannot(format!("expected exactly the fields {}, each one of {number}", names.join(", ")));
        }
        let mut ranks = [0; 4];
        found.iter().zip(&mut ranks).for_each(|(rank, slot)| *slot = *rank as u16);
        // A Color has components of 32 bits in every engine.
        let is_wide = ty != VariantType::Color && fields.iter().any(|(_, kind)| *kind == Some(Kind::Double));
        Ok(Self { ty, ranks, count: names.len(), is_wide })
    }

    /// The ranks of the components' fields, in the order of the type.
    #[inline(always)]
    pub fn ranks(&self) -> &[u16] {
        &self.ranks[..self.count]
    }

    /// The packed array of the type.
    pub fn packed(&self) -> Option<VariantType> {
        PACKED.into_iter().find_map(|(packed, ty)| (ty == self.ty).then_some(packed))
    }
}

/// The packed arrays whose elements have components.
const PACKED: [(VariantType, VariantType); 4] = [
    (VariantType::PackedVector2Array, VariantType::Vector2),
    (VariantType::PackedVector3Array, VariantType::Vector3),
    (VariantType::PackedVector4Array, VariantType::Vector4),
    (VariantType::PackedColorArray, VariantType::Color),
];

/// The type of the elements of a packed array, and the number of their components.
pub(crate) fn element_of(packed: VariantType) -> Option<(VariantType, usize)> {
    let (_, ty) = PACKED.into_iter().find(|(known, _)| *known == packed)?;
    names(ty).map(|names| (ty, names.len()))
}

/// The names of a type's components.
fn names(ty: VariantType) -> Option<&'static [&'static str]> {
    use VariantType as T;
    Some(match ty {
        T::Vector2 | T::Vector2i => &["x", "y"],
        T::Vector3 | T::Vector3i => &["x", "y", "z"],
        T::Vector4 | T::Vector4i | T::Quaternion => &["x", "y", "z", "w"],
        T::Color => &["r", "g", "b", "a"],
        _ => return None,
    })
}

/// Whether the components of a type are floats.
pub(crate) fn is_float(ty: VariantType) -> bool {
    !matches!(ty, VariantType::Vector2i | VariantType::Vector3i | VariantType::Vector4i)
}

fn fits(ty: VariantType, kind: Kind) -> bool {
    match kind {
        Kind::Float | Kind::Double => is_float(ty),
        Kind::Bool | Kind::String | Kind::Bytes | Kind::Enum(_) | Kind::Message(_) => false,
        _ => !is_float(ty),
    }
}
