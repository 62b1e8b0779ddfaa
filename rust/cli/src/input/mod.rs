//! Input files: opens them and recognises their contents.

mod files;
mod open;
mod options;
mod progress;
mod value_path;
mod walk;
mod wrapped;

pub use files::{name_of, read, refuse_stdin_twice};
pub use open::{Input, limits};
pub use options::{Damage, Format, Holds};
pub use value_path::{ValuePath, no_record};
pub use walk::{Placed, STACK};
pub use wrapped::{Key, compress, encrypt, encrypt_for_godot3};
