//! Encodes values that stand for a message, and packed arrays of them.

use variant_codec::stream::{ElementType, Lanes, Precision, Sink};
use variant_codec::{Result, VariantType};

use super::{MessageEncoder, NextValue};
use crate::components::{element_of, is_float};
use crate::kind::Kind;
use crate::schema::Field;

impl<'s> MessageEncoder<'s> {
    /// Writes a value as the message that it stands for.
    pub(super) fn put_components(&mut self, ty: VariantType, lanes: Lanes<'_>) -> Result<()> {
        let message = match self.next {
            NextValue::Root => Some(self.root),
            NextValue::Single(Field { kind: Kind::Message(index), .. })
            | NextValue::Element(Field { kind: Kind::Message(index), .. }) => {
                Some(&self.tables.messages[*index as usize])
            }
            _ => None,
        };
        let components = message.and_then(|message| Some((message, message.components?)));
        let Some((message, components)) = components.filter(|(_, components)| components.ty == ty) else {
            return Err(self.refuse(ty));
        };
        let ranks = components.ranks();
        let mut dictionary =
            self.begin_dictionary(ranks.len(), ElementType::Untyped, ElementType::Untyped)?;
        let mut put = |rank: u16, put: &mut dyn FnMut(&mut Self) -> Result<()>| {
            self.begin_key(&mut dictionary)?;
            self.text(VariantType::String, (&*message.fields[usize::from(rank)].name).into())?;
            self.begin_value(&mut dictionary)?;
            put(self)?;
            self.end_entry(&mut dictionary)
        };
        let ranks = ranks.iter().copied();
        if is_float(ty) {
            ranks
                .zip(floats(lanes))
                .try_for_each(|(rank, float)| put(rank, &mut |this| this.float(float)))?;
        } else {
            ranks
                .zip(lanes.i32s())
                .try_for_each(|(rank, int)| put(rank, &mut |this| this.int(int.into())))?;
        }
        self.end_dictionary(dictionary)
    }

    /// Writes a packed array of values with components: as messages, or as a list of all components.
    pub(super) fn put_packed_components(
        &mut self,
        field: &'s Field,
        ty: VariantType,
        lanes: Lanes<'_>,
    ) -> Result<()> {
        let Some((element, count)) = element_of(ty) else { return Err(self.refuse(ty)) };
        match field.kind {
            Kind::Float | Kind::Double => {
                let mut floats = floats(lanes);
                let mut array = self.open_list(field, floats.len())?;
                self.floats(&mut array, &mut floats)?;
                self.end_array(array)
            }
            Kind::Message(_) => {
                let width = count * if lanes.precision == Precision::Single { 4 } else { 8 };
                let mut array = self.open_list(field, lanes.le.len() / width)?;
                for le in lanes.le.chunks_exact(width) {
                    self.begin_element(&mut array)?;
                    self.put_components(element, Lanes { le, ..lanes })?;
                    self.end_element(&mut array)?;
                }
                self.end_array(array)
            }
            _ => Err(self.refuse(ty)),
        }
    }
}

fn floats(lanes: Lanes<'_>) -> impl ExactSizeIterator<Item = f64> + '_ {
    let (width, is_single) = match lanes.precision {
        Precision::Single => (4, true),
        Precision::Double => (8, false),
    };
    lanes.le.chunks_exact(width).map(move |le| {
        let lanes = Lanes { le, ..lanes };
        let single = || lanes.f32s().next().map(variant_codec::lanes::widen);
        let float = if is_single { single() } else { lanes.f64s().next() };
        float.unwrap_or_default()
    })
}
