//! `convert`: writes the same values in another form.

use clap::ValueEnum;
use variant_codec::godot3::{Change, Downgrade, Loss, add_change};
use variant_codec::stream::{Decoder, Source as _};
use variant_codec::{Error, Limits, Result, Strictness, VariantType, View};

use crate::check::Checker;
use crate::exact::{self, canonical};
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

/// Writes all values in the form `to`, by default the form of the input, and in canonical encodings. Prints on
/// standard error which types change.
pub fn convert(
    input: &Input,
    to: Option<To>,
    for_godot3: Option<Loss>,
    target: &Target,
    out: &mut Output,
) -> Outcome<()> {
    let limits = input::limits();
    let failed = |error: Error| Failure::data(&input.name, &error);
    let mut changes = Vec::new();
    let mut with_dialect = |value: &[u8], take: &mut dyn FnMut(&[u8]) -> Result<()>| {
        let Some(loss) = for_godot3 else { return take(value) };
        let mut downgrade = Downgrade::new(Vec::new(), loss);
        Decoder::new(value, Strictness::Strict, &limits).write_into(&mut downgrade)?;
        take(downgrade.output())?;
        downgrade.into_changes().into_iter().for_each(|change| add_change(&mut changes, change));
        Ok(())
    };
    let mut contents = Vec::new();
    let append = |value: &[u8]| with_dialect(value, &mut |value| exact::append(&mut contents, value));
    match (input.has_records, to.map_or(input.has_records, |to| to == To::Records)) {
        (true, true) => each_checked(input, append)?,
        (false, true) => elements(&whole(input)?, &limits, append).map_err(failed)?,
        (_, false) => {
            let value = whole(input)?;
            let mut take = |value: &[u8]| {
                contents = value.to_vec();
                Ok(())
            };
            with_dialect(&value, &mut take).map_err(failed)?;
        }
    }
    target.write(contents, for_godot3.is_some(), out)?;
    for Change { from, to, count } in changes {
        let values = if count == 1 { "value" } else { "values" };
        anstream::eprintln!("changed: {from} to {to}, {count} {values}");
    }
    Ok(())
}

fn each_checked(input: &Input, mut take: impl FnMut(&[u8]) -> Result<()>) -> Outcome<()> {
    let limits = input::limits();
    let mut checker = Checker::default();
    input.each(0..u64::MAX, |index, offset, bytes| {
        let taken = canonical(bytes, &limits, &mut checker).and_then(|bytes| take(&bytes));
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
