//! Creates Strings, and reads their text.

use std::mem::MaybeUninit;

use godot::builtin::GString;
use godot::sys::{GodotFfi, interface_fn};
use variant_codec::stream::Text;
use variant_codec::text::{is_ascii_without_nul, to_utf32};

use crate::documented::{documented_string, string_of_units};
use crate::layout::layout;
use crate::read::Reader;

/// The text of a String. Code units that are not characters become U+FFFD. Scripts can put lone surrogates into
/// Strings, for which godot-rust's `to_string` has undefined behavior.
pub fn text_of(string: &GString) -> String {
    Text::Utf32(Reader::new().units(string)).to_lossy()
}

/// A String of exactly this text.
#[inline]
pub fn string(text: Text<'_>) -> GString {
    match text {
        Text::Utf8(text) if layout().is_some() => string_in_place(text),
        Text::Utf8(text) => documented_string(text),
        Text::Utf32(units) => string_of_units(units),
    }
}

/// A String from UTF-8 bytes; `None` if the bytes are not UTF-8 or contain a NUL. Also `None` if direct
/// access is off, the text is long and not ASCII, or memory runs out: [`string`] handles these cases. `units`
/// is scratch memory to keep between calls.
#[inline]
pub fn raw_string(bytes: &[u8], units: &mut Vec<u32>) -> Option<GString> {
    /// The maximum length in bytes of text that is not ASCII. Longer text would need too much scratch memory.
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

/// A String of exactly this text, written in place. For ASCII Strings, this takes 6.6 ms, and the engine's
/// conversion takes 10 ms (`cargo xtask bench Strings`).
#[inline(always)]
pub(crate) fn string_in_place(text: &str) -> GString {
    if text.is_ascii() {
        return string_of_ascii(text.as_bytes()).unwrap_or_else(|| documented_string(text));
    }
    let fill = |target: &mut [u32]| {
        target.iter_mut().zip(text.chars()).for_each(|(unit, character)| *unit = character.into());
    };
    string_of(characters(text), fill).unwrap_or_else(|| documented_string(text))
}

#[inline(always)]
fn string_of_ascii(bytes: &[u8]) -> Option<GString> {
    string_of(bytes.len(), |target| {
        target.iter_mut().zip(bytes).for_each(|(unit, byte)| *unit = (*byte).into());
    })
}

#[inline(always)]
fn string_of_units_in_place(units: &[u32]) -> Option<GString> {
    string_of(units.len(), |target| target.copy_from_slice(units))
}

/// A String of `count` code units, which `fill` writes in place; `None` if out of memory.
#[inline(always)]
fn string_of(count: usize, fill: impl FnOnce(&mut [u32])) -> Option<GString> {
    // SAFETY: `probe.rs` has verified that an empty String is a null pointer.
    let mut string: GString = unsafe { MaybeUninit::zeroed().assume_init() };
    if count == 0 {
        return Some(string);
    }
    // SAFETY: the String is live. The engine allocates `count` code units and the terminating zero, or leaves
    // the pointer null, which is checked. A String is one pointer to its code units, and GString is
    // transparent over it. A new String is unshared.
    let target = unsafe {
        interface_fn!(string_resize)(string.sys_mut().cast(), count as i64 + 1);
        let first = std::ptr::from_ref(&string).cast::<*mut u32>().read();
        if first.is_null() {
            return None;
        }
        first.add(count).write(0);
        std::slice::from_raw_parts_mut(first, count)
    };
    fill(target);
    Some(string)
}

/// The number of characters, which is the number of bytes that are not continuation bytes.
fn characters(text: &str) -> usize {
    text.as_bytes().iter().filter(|byte| **byte as i8 >= -0x40).count()
}
