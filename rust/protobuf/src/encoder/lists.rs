//! Encodes repeated fields.

use variant_codec::stream::{Lanes, Sink};
use variant_codec::{Result, VariantType};

use super::{MessageEncoder, NextValue, OpenArray};
use crate::floats::{narrow_keeping_nan, widen_keeping_nan};
use crate::kind::{Class, Kind};
use crate::schema::{Field, Label};
use crate::varint::{varint_len, zigzag};

impl<'s> MessageEncoder<'s> {
    /// Opens a list, and starts its record if the list is packed.
    #[inline(always)]
    pub(super) fn open_list(&mut self, field: &'s Field, len: usize) -> Result<OpenArray> {
        let mut open = OpenArray { length_at: 0, reserved: 0 };
        self.next = NextValue::Element(field);
        if field.label == Label::Packed && len > 0 {
            let least = match field.kind.class() {
                Class::Fixed64 => 8,
                Class::Fixed32 => 4,
                _ => 1,
            };
            self.put_tag(field, Class::Bytes)?;
            open.reserved = varint_len(len.saturating_mul(least) as u64) as u8;
            open.length_at = self.out.len() as u32;
            self.out.take(open.reserved.into())?;
            self.next = NextValue::Packed(field);
        }
        Ok(open)
    }

    #[inline(never)]
    pub(super) fn put_packed_numbers(
        &mut self,
        field: &'s Field,
        ty: VariantType,
        lanes: Lanes<'_>,
    ) -> Result<()> {
        use VariantType as T;

        let le = lanes.le;
        let width = match ty {
            T::PackedByteArray => 1,
            T::PackedInt32Array | T::PackedFloat32Array => 4,
            T::PackedInt64Array | T::PackedFloat64Array => 8,
            _ => return self.put_packed_components(field, ty, lanes),
        };
        if !field.kind.can_be_packed() {
            return Err(self.refuse(ty));
        }
        let mut array = self.open_list(field, le.len() / width)?;
        let same = matches!(
            (field.kind, ty),
            (Kind::Sfixed32, T::PackedInt32Array)
                | (Kind::Fixed64 | Kind::Sfixed64, T::PackedInt64Array)
                | (Kind::Float, T::PackedFloat32Array)
                | (Kind::Double, T::PackedFloat64Array)
        );
        if same && let NextValue::Packed(_) = self.next {
            self.out.put_bytes(le)?;
            return self.end_array(array);
        }
        let (words, long_words) = (le.as_chunks::<4>().0.iter(), le.as_chunks::<8>().0.iter());
        match ty {
            T::PackedByteArray => self.ints(&mut array, &mut le.iter().map(|&byte| byte.into())),
            T::PackedInt32Array => self.ints(&mut array, &mut words.map(|le| i32::from_le_bytes(*le).into())),
            T::PackedInt64Array => self.ints(&mut array, &mut long_words.map(|le| i64::from_le_bytes(*le))),
            T::PackedFloat32Array => {
                self.floats(&mut array, &mut words.map(|le| widen_keeping_nan(u32::from_le_bytes(*le))))
            }
            _ => self.floats(&mut array, &mut long_words.map(|le| f64::from_le_bytes(*le))),
        }?;
        self.end_array(array)
    }

    #[inline(always)]
    pub(super) fn put_ints(&mut self, field: &Field, ints: &mut impl Iterator<Item = i64>) -> Result<()> {
        let kind = field.kind;
        if let Kind::Float | Kind::Double = kind {
            return self.put_floats(field, &mut ints.map(|int| int as f64));
        }
        if !kind.accepts_numbers() {
            return ints.next().map_or(Ok(()), |_| Err(self.refuse(VariantType::Int)));
        }
        let zigzags = self.wire.packs_in_zigzag(kind);
        let class = kind.class();
        ints.try_for_each(|int| {
            if !self.is_in_range(kind, int) {
                return Err(self.out_of_range(int));
            }
            match class {
                Class::Fixed32 => self.out.put_bytes(&(int as u32).to_le_bytes()),
                Class::Fixed64 => self.out.put_bytes(&int.to_le_bytes()),
                _ if zigzags => self.out.put_varint(zigzag(int)),
                _ => self.out.put_varint(int as u64),
            }
        })
    }

    #[inline(always)]
    pub(super) fn put_floats(&mut self, field: &Field, floats: &mut impl Iterator<Item = f64>) -> Result<()> {
        match field.kind {
            Kind::Double => floats.try_for_each(|float| self.out.put_bytes(&float.to_le_bytes())),
            Kind::Float => {
                floats.try_for_each(|float| self.out.put_bytes(&narrow_keeping_nan(float).to_le_bytes()))
            }
            _ => floats.next().map_or(Ok(()), |_| Err(self.refuse(VariantType::Float))),
        }
    }
}
