//! A server that reads what a game has saved with `FastVariantCodec.save_batch` or `FileAccess.store_var`.
//!
//! cargo run -p variant_codec --example read_save -- FILE

use std::error::Error;
use std::{env, fs};

use variant_codec::{Dictionary, Limits, Value, frames};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).ok_or("which file?")?;
    let bytes = fs::read(path)?;
    let limits = Limits::for_network(); // Players send us these files.
    let (records, damage) = frames::records(&bytes, &limits);
    for record in records {
        match Value::decode(&bytes[record], &limits)? {
            Value::Dictionary(character) => println!("{}", summary(&character)),
            other => println!("no character, but of type {}", other.ty()),
        }
    }
    damage.map_or(Ok(()), |error| Err(error.into()))
}

fn summary(character: &Dictionary) -> String {
    let entry = |key: &str| {
        character.entries.iter().find(|(found, _)| *found == Value::from(key)).map(|(_, value)| value)
    };
    match (entry("name"), entry("hp")) {
        (Some(Value::String(name)), Some(Value::Int(hp))) => format!("{name} has {hp} hp"),
        _ => "a character without name or hp".to_owned(),
    }
}
