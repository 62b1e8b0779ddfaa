//! `convert`: writes the same values in another form.

use clap::ValueEnum;
use variant_codec::godot3::{Downgrade, Loss};
use variant_codec::stream::{Decoder, Source as _};
use variant_codec::{Error, Limits, Result, Strictness, VariantType, View, frames};

use crate::check::Checker;
use crate::failure::{Failure, Outcome};
use crate::input::{self, Input};
use crate::output::{Output, Target};

/// The form of the new file.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum To {
    /// One encoded value; records become an Array
    Value,
    /// Records: one for each element of an untyped Array, or one for any other value
    Records,
}

/// Writes all values in the form `to`, by default the form of the input. Copies the bytes of the values,
/// unless Godot 3's format is written.
pub fn convert(
    input: &Input,
    to: Option<To>,
    for_godot3: Option<Loss>,
    target: &Target,
    out: &mut Output,
) -> Outcome<()> {
    let limits = input::limits();
    let failed = |error: Error| Failure::data(&input.name, &error);
    let mut contents = Vec::new();
    match (input.has_records, to.map_or(input.has_records, |to| to == To::Records)) {
        (true, true) => each_checked(input, |value| {
            with_dialect(value, for_godot3, &limits, |value| frames::try_append(&mut contents, value))
        })?,
        (false, true) => {
            let value = whole(input)?;
            elements(&value, &limits, |element| {
                with_dialect(element, for_godot3, &limits, |value| frames::try_append(&mut contents, value))
            })
            .map_err(failed)?;
        }
        (_, false) => {
            contents = whole(input)?;
            if for_godot3.is_some() {
                let value = std::mem::take(&mut contents);
                with_dialect(&value, for_godot3, &limits, |value| {
                    contents = value.to_vec();
                    Ok(())
                })
                .map_err(failed)?;
            }
        }
    }
    target.write(contents, out)
}

/// Calls `take` with the value, converted to Godot 3's format if `for_godot3` is set.
fn with_dialect(
    value: &[u8],
    for_godot3: Option<Loss>,
    limits: &Limits,
    take: impl FnOnce(&[u8]) -> Result<()>,
) -> Result<()> {
    let Some(loss) = for_godot3 else { return take(value) };
    let mut downgrade = Downgrade::new(Vec::new(), loss);
    Decoder::new(value, Strictness::Strict, limits).write_into(&mut downgrade)?;
    take(&downgrade.into_output())
}

/// Calls `take` with each value of the file. Fails if strict decoding refuses one.
fn each_checked(input: &Input, mut take: impl FnMut(&[u8]) -> Result<()>) -> Outcome<()> {
    let limits = input::limits();
    let mut checker = Checker::default();
    input.each(0..u64::MAX, |index, offset, bytes| {
        let taken = checker.check(bytes, &limits).and_then(|()| take(bytes));
        taken.map_err(|error| Failure::data_at(&input.name_of(index), error, bytes, offset))
    })
}

/// The bytes of a file's single value, or of an untyped Array of its records. Strict decoding accepts the
/// result.
pub fn whole(input: &Input) -> Outcome<Vec<u8>> {
    const COUNT: usize = 4;

    let mut whole = Vec::new();
    if !input.has_records {
        each_checked(input, |value| {
            whole = value.to_vec();
            Ok(())
        })?;
        return Ok(whole);
    }
    whole.extend_from_slice(&u32::from(VariantType::Array.id()).to_le_bytes());
    whole.extend_from_slice(&[0; COUNT]);
    let mut count = 0_u32;
    each_checked(input, |value| {
        count += 1;
        whole.try_reserve(value.len()).map_err(Error::other)?;
        whole.extend_from_slice(value);
        Ok(())
    })?;
    whole.iter_mut().skip(COUNT).zip(count.to_le_bytes()).for_each(|(place, byte)| *place = byte);
    // The Array adds a level of nesting, and the limit on bytes applies to all records together.
    Checker::default().check(&whole, &input::limits()).map_err(|error| {
        Failure::Data(format!(
            "{}: its records do not fit in one Array: {}",
            input.name,
            error.without_offset()
        ))
    })?;
    Ok(whole)
}

/// Calls `take` with each element of an untyped Array, or with any other value itself.
///
/// # Errors
/// Fails if `take` fails or the value is damaged.
pub fn elements(value: &[u8], limits: &Limits, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    if !is_untyped_array(value) {
        return take(value);
    }
    for element in View::within(value, limits)?.elements()? {
        take(element?.bytes()?)?;
    }
    Ok(())
}

/// Whether the value has the header of an untyped Array.
pub fn is_untyped_array(value: &[u8]) -> bool {
    value.first_chunk() == Some(&u32::from(VariantType::Array.id()).to_le_bytes())
}
