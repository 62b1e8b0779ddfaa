//! Strings of texts.

use std::mem::MaybeUninit;

use godot::builtin::GString;
use godot::sys::{GodotFfi, interface_fn};
use variant_codec::stream::Text;
use variant_codec::text::{is_ascii_without_nul, to_utf32};

use crate::documented::{documented_string, string_of_units};
use crate::layout::layout;

/// A String of exactly this text.
#[inline]
pub fn string(text: Text<'_>) -> GString {
    match text {
        Text::Utf8(text) if layout().is_some() => string_in_place(text),
        Text::Utf8(text) => documented_string(text),
        Text::Utf32(units) => string_of_units(units),
    }
}

/// The String of bytes that should be UTF-8 without NULs; `None` if they are not, or a longer way has to be gone.
/// `units` is memory to work in, which is best kept.
#[inline]
pub fn raw_string(bytes: &[u8], units: &mut Vec<u32>) -> Option<GString> {
    /// Longer text is not worth the memory to work in.
    const LONGEST: usize = 1 << 14;

    layout()?;
    if is_ascii_without_nul(bytes) {
        return string_of_ascii(bytes);
    }
    if bytes.len() > LONGEST {
        return None;
    }
    if units.len() < bytes.len() {
        units.resize(bytes.len().next_power_of_two(), 0);
    }
    let count = to_utf32(bytes, units)?;
    string_of_units_in_place(&units[..count])
}

/// A String of exactly this text, written where the engine keeps it.
#[inline(always)]
pub(crate) fn string_in_place(text: &str) -> GString {
    if text.is_ascii() {
        return string_of_ascii(text.as_bytes()).unwrap_or_else(|| documented_string(text));
    }
    let fill = |room: &mut [u32]| {
        room.iter_mut().zip(text.chars()).for_each(|(unit, character)| *unit = character.into());
    };
    string_of(characters(text), fill).unwrap_or_else(|| documented_string(text))
}

/// A String of these bytes, each a code unit; `None` without memory.
#[inline(always)]
fn string_of_ascii(bytes: &[u8]) -> Option<GString> {
    string_of(bytes.len(), |room| {
        room.iter_mut().zip(bytes).for_each(|(unit, byte)| *unit = (*byte).into());
    })
}

/// A String of these code units; `None` without memory.
#[inline(always)]
fn string_of_units_in_place(units: &[u32]) -> Option<GString> {
    string_of(units.len(), |room| room.copy_from_slice(units))
}

/// A String of `count` code units, which `fill` writes where the engine keeps them; `None` without memory.
#[inline(always)]
fn string_of(count: usize, fill: impl FnOnce(&mut [u32])) -> Option<GString> {
    // SAFETY: verification has seen that an empty String is a null pointer.
    let mut string: GString = unsafe { MaybeUninit::zeroed().assume_init() };
    if count == 0 {
        return Some(string);
    }
    // SAFETY: the String is live; the engine makes room for so many code units, the closing zero included, and says
    // whether it could. A String is one pointer to that room, over which GString is transparent, and nobody shares it.
    let room = unsafe {
        interface_fn!(string_resize)(string.sys_mut().cast(), count as i64 + 1);
        let first = std::ptr::from_ref(&string).cast::<*mut u32>().read();
        if first.is_null() {
            return None;
        }
        first.add(count).write(0);
        std::slice::from_raw_parts_mut(first, count)
    };
    fill(room);
    Some(string)
}

/// How many characters a text has: as many as it has bytes that start one.
fn characters(text: &str) -> usize {
    text.as_bytes().iter().filter(|byte| **byte as i8 >= -0x40).count()
}
