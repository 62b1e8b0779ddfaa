//! `convert`: the same values in another file.

use clap::ValueEnum;
use variant_codec::godot3::{Downgrade, Loss};
use variant_codec::stream::Source as _;
use variant_codec::{Error, Result, Value, frames};

use crate::failure::{Failure, Outcome};
use crate::input::{self, Input};
use crate::output::{Output, Target};

/// The form of the new file.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum To {
    /// One encoded value: of records, an Array of them
    Value,
    /// Records: of an Array, one for each element
    Records,
}

/// Writes all values, in this form or as they are.
pub fn convert(
    input: &Input,
    to: Option<To>,
    for_godot3: Option<Loss>,
    target: &Target,
    out: &mut Output,
) -> Outcome<()> {
    let values = values(input)?;
    let failed = |error: Error| Failure::data(&input.name, &error);
    let has_records = to.map_or(input.has_records, |to| to == To::Records);
    let values = match (input.has_records, has_records) {
        (true, false) => vec![values.into_iter().collect()],
        (false, true) => elements(values),
        _ => values,
    };
    let encoded = values.iter().map(|value| encode(value, for_godot3)).collect::<Result<Vec<_>>>();
    let encoded = encoded.map_err(failed)?;
    if !has_records {
        return target.write(encoded.concat(), out);
    }
    let mut batch = Vec::new();
    encoded.iter().try_for_each(|value| frames::try_append(&mut batch, value)).map_err(failed)?;
    target.write(batch, out)
}

fn encode(value: &Value, for_godot3: Option<Loss>) -> Result<Vec<u8>> {
    let Some(loss) = for_godot3 else { return value.encode() };
    let mut downgrade = Downgrade::new(Vec::new(), loss);
    let mut source = value;
    source.write_into(&mut downgrade)?;
    Ok(downgrade.into_output())
}

/// All values of a file.
pub fn values(input: &Input) -> Outcome<Vec<Value>> {
    let limits = input::limits();
    let mut values = Vec::new();
    input.each(0..u64::MAX, |index, offset, bytes| {
        let value = Value::decode(bytes, &limits);
        values.push(value.map_err(|error| Failure::data_at(&input.name_of(index), error, bytes, offset))?);
        Ok(())
    })?;
    Ok(values)
}

/// The elements of the only value, if it is an untyped Array; else the value.
fn elements(mut values: Vec<Value>) -> Vec<Value> {
    match (values.pop(), values.is_empty()) {
        (Some(Value::Array(array)), true) => array.values,
        (last, _) => values.into_iter().chain(last).collect(),
    }
}
