//! Reads a file that a game saved with `FastVariantCodec.save_batch` or `FileAccess.store_var`, within the limits of
//! a server.
//!
//! cargo run -p variant_codec --example read_save -- FILE

use std::error::Error;
use std::{env, fs};

use variant_codec::{Limits, Value, frames};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).ok_or("which file?")?;
    let bytes = fs::read(path)?;
    let limits = Limits::for_network(); // Players send us these files.
    let (records, damage) = frames::records(&bytes, &limits);
    for record in records {
        println!("{}", summary(&Value::decode(&bytes[record], &limits)?));
    }
    damage.map_or(Ok(()), |error| Err(error.into()))
}

fn summary(character: &Value) -> String {
    match (character["name"].as_str(), character["hp"].as_i64()) {
        (Some(name), Some(hp)) => format!("{name} has {hp} hp"),
        _ => format!("no character, but of type {}", character.ty()),
    }
}
