//! Encodes single values, and looks up field names.

use variant_codec::stream::{Sink, Text};
use variant_codec::text::{Utf8Rule, put_utf8, utf8_len};
use variant_codec::{Error as CodecError, Result, VariantType};

use super::MessageEncoder;
use crate::error::Error;
use crate::floats::narrow_keeping_nan;
use crate::kind::{Class, Kind};
use crate::names;
use crate::schema::{EnumTable, Field, Label, NONE, UNKNOWN_KEY};
use crate::varint::zigzag;
use crate::wire::Wire;

impl<'s> MessageEncoder<'s> {
    #[inline(always)]
    pub(super) fn put_record(&mut self, field: &Field, class: Class, value: u64) -> Result<()> {
        let tag = self.wire.tag(field.tag, class);
        match class {
            Class::Fixed32 => self.put_fixed(field, tag, value, 4),
            Class::Fixed64 => self.put_fixed(field, tag, value, 8),
            Class::True | Class::False => self.put_fixed(field, tag, 0, 0),
            _ => self.out.put_tagged(tag, field.tag.len, value),
        }
    }

    #[inline(always)]
    pub(super) fn put_fixed(&mut self, field: &Field, tag: u64, value: u64, len: usize) -> Result<()> {
        self.out.put::<16>(|target| {
            let at = usize::from(field.tag.len);
            target[..8].copy_from_slice(&tag.to_le_bytes());
            if let Some(rest) = target.get_mut(at..at + 8) {
                rest.copy_from_slice(&value.to_le_bytes());
            }
            at + len
        })
    }

    #[inline(always)]
    pub(super) fn put_tag(&mut self, field: &Field, class: Class) -> Result<()> {
        let tag = self.wire.tag(field.tag, class);
        self.put_fixed(field, tag, 0, 0)
    }

    /// The class of a number, and its encoding after the tag.
    #[inline(always)]
    pub(super) fn spelled(&self, kind: Kind, value: i64) -> (Class, u64) {
        match kind {
            _ if self.wire.has_signs(kind) => match value {
                0.. => (Class::Varint, value as u64),
                _ => (Class::Negative, value.unsigned_abs()),
            },
            Kind::Sint32 | Kind::Sint64 => (Class::Varint, zigzag(value)),
            _ => (kind.class(), value as u64),
        }
    }

    /// Whether a field of this kind can hold this number.
    #[inline(always)]
    pub(super) fn is_in_range(&self, kind: Kind, value: i64) -> bool {
        match kind {
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => i32::try_from(value).is_ok(),
            Kind::Uint32 | Kind::Fixed32 => u32::try_from(value).is_ok(),
            Kind::Enum(index) => {
                i32::try_from(value).is_ok_and(|number| self.enumeration(index).accepts(number))
            }
            _ => true,
        }
    }

    #[inline(always)]
    pub(super) fn put_int(&mut self, field: &'s Field, value: i64) -> Result<()> {
        match field.kind {
            Kind::Double | Kind::Float => return self.put_float(field, value as f64),
            Kind::Bool | Kind::String | Kind::Bytes | Kind::Message(_) => {
                return Err(self.refuse(VariantType::Int));
            }
            kind if !self.is_in_range(kind, value) => return Err(self.out_of_range(value)),
            _ => {}
        }
        let (class, number) = self.spelled(field.kind, value);
        self.put_record(field, class, number)
    }

    #[inline(always)]
    pub(super) fn put_float(&mut self, field: &'s Field, value: f64) -> Result<()> {
        match field.kind {
            Kind::Double => self.put_record(field, Class::Fixed64, value.to_bits()),
            Kind::Float => self.put_record(field, Class::Fixed32, narrow_keeping_nan(value).into()),
            _ => Err(self.refuse(VariantType::Float)),
        }
    }

    #[inline(always)]
    pub(super) fn put_bool(&mut self, field: &'s Field, value: bool) -> Result<()> {
        match (field.kind, self.wire, value) {
            (Kind::Bool, Wire::Protobuf, _) => self.put_record(field, Class::Varint, value.into()),
            (Kind::Bool, Wire::Own, true) => self.put_record(field, Class::True, 0),
            (Kind::Bool, Wire::Own, false) => self.put_record(field, Class::False, 0),
            _ => Err(self.refuse(VariantType::Bool)),
        }
    }

    /// Writes a tag, a length and a text. `bytes` must be the length of the text in UTF-8.
    #[inline(always)]
    pub(super) fn put_text(&mut self, field: &'s Field, text: Text<'_>, bytes: usize) -> Result<()> {
        let tag = self.wire.tag(field.tag, Class::Bytes);
        self.out.put_tagged(tag, field.tag.len, bytes as u64)?;
        let target = self.out.take(bytes)?;
        match text {
            Text::Utf8(text) => target.copy_from_slice(text.as_bytes()),
            Text::Utf32(units) => put_utf8(target, units),
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn put_string(&mut self, field: &'s Field, ty: VariantType, text: Text<'_>) -> Result<()> {
        match field.kind {
            Kind::String => {
                let bytes = match text {
                    Text::Utf8(text) => text.len(),
                    Text::Utf32(units) => utf8_len(units, Utf8Rule::Scalars)?,
                };
                if bytes == 0 && self.leaves_zero_out(field) {
                    return Ok(());
                }
                self.put_text(field, text, bytes)
            }
            Kind::Enum(index) => self.put_enum_name(self.enumeration(index), text),
            _ => Err(self.refuse(ty)),
        }
    }

    #[inline(never)]
    pub(super) fn put_enum_name(&mut self, names: &EnumTable, text: Text<'_>) -> Result<()> {
        let number = match text {
            Text::Utf8(name) => names.number_of(name),
            Text::Utf32(_) => names.number_of(&text.to_lossy()),
        };
        let Some(number) = number else {
            return Err(Error::NoEnumValue { name: names.name.to_string(), value: text.quoted() }.into());
        };
        self.int(number.into())
    }

    #[inline(always)]
    pub(super) fn leaves_zero_out(&self, field: &Field) -> bool {
        field.label == Label::Implicit
    }

    /// Finds the field with this name.
    #[inline(always)]
    pub(super) fn name(&mut self, text: Text<'_>) -> Result<()> {
        let message = self.level.message;
        // For the first field, this wraps from `NONE` to 0.
        let next = self.level.last.wrapping_add(1);
        let follower = message.first_follower + usize::from(next);
        let expected = self.followers.get(follower).copied().unwrap_or(next);
        let hit = message.fields.get(usize::from(expected)).is_some_and(|field| match text {
            Text::Utf32(units) => names::same_units(&field.units, units),
            Text::Utf8(text) => names::same_bytes(field.name.as_bytes(), text.as_bytes()),
        });
        let rank = if hit { expected } else { self.look_up(text, follower)? };
        self.level.in_order &= rank.wrapping_add(1) > next;
        self.level.last = rank;
        Ok(())
    }

    #[inline(never)]
    pub(super) fn look_up(&mut self, text: Text<'_>, follower: usize) -> Result<u16> {
        let message = self.level.message;
        let rank = match text {
            Text::Utf32(units) => message.rank_of_name(units.iter().copied()),
            Text::Utf8(text) => message.rank_of_name(text.chars().map(u32::from)),
        };
        if rank == NONE && text.to_lossy() != UNKNOWN_KEY {
            return Err(self.no_field(text.quoted()));
        }
        if self.followers.is_empty() {
            self.followers = self.tables.followers();
        }
        self.followers[follower] = rank;
        Ok(rank)
    }

    #[cold]
    pub(super) fn no_field(&self, name: String) -> CodecError {
        Error::NoField { message: self.level.message.name.to_string(), name }.into()
    }
}
