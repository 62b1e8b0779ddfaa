//! The only room that touches engine memory: every unsafe line of the extension.
//!
//! | file | offers |
//! |---|---|
//! | `interface.rs` | the engine functions used, looked up once |
//! | `behaviour.rs` | what the engine does with new memory, measured at start-up |
//! | `layout.rs` | where the engine keeps things in memory, found and verified at start-up |
//! | `read.rs` | what a live Variant holds, borrowed |
//! | `building.rs` | a Variant under construction, element by element |
//! | `slots.rs` | elements that one owner fills |
//! | `sharing.rs` | what several threads read, and what goes from one to another |
//! | `arguments.rs` | wrong arguments to all other methods, refused as the engine does |
//! | `calls.rs` | methods that the engine calls without godot-rust in between |
//! | `conversions.rs` | which values the engine converts for typed containers, measured at start-up |
//! | `godot_rust.rs` | what godot-rust wants an `unsafe impl` for |
//!
//! There are two ways to touch a Variant, through documented functions and directly; `layout.rs` decides which. Both give
//! the same bytes and values, under the same tests.
//!
//! What is offered is safe to call: each function checks what its unsafe code relies on, or borrows it.

mod arguments;
mod behaviour;
mod building;
mod calls;
mod conversions;
mod godot_rust;
mod interface;
mod layout;
mod read;
mod sharing;
mod slots;

pub use behaviour::can_share_out;
pub use building::{Building, raw_string, string};
pub use calls::{StaticMethod, register};
pub use conversions::{Conversions, Converted};
pub use godot_rust::OptionalLimits;
pub use layout::{Findings, findings};
pub use read::{ContainerType, Entries, EntriesInPlace, Reader, Run, Strings, run_bytes};
pub use sharing::{Elements, GivenArray, OwnArray, OwnedBytes, SharedResult};
pub use slots::{LateValues, LeftValue, Slots, StringSlots};

use std::sync::OnceLock;

use godot::builtin::{PackedByteArray, Variant};
use godot::classes::Os;
use godot::obj::Singleton;
use variant_codec::{ErrorKind, Precision, Result, VariantType, check_room};

#[cfg(target_endian = "big")]
compile_error!(
    "components are copied between memory and wire as they are, which needs a little-endian machine"
);

/// The precision of the engine that this library is for.
pub const PRECISION: Precision = if cfg!(feature = "double") { Precision::Double } else { Precision::Single };

static DEBUG_BUILD: OnceLock<bool> = OnceLock::new();

/// Whether the engine is an editor or debug build: those check more, and handle packed arrays element by element.
#[inline(always)]
pub fn is_debug_build() -> bool {
    DEBUG_BUILD.get().copied().unwrap_or(true)
}

/// Makes a PackedByteArray hold exactly these bytes.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
#[inline(always)]
pub fn set_bytes(array: &mut PackedByteArray, bytes: &[u8]) -> Result<()> {
    // The engine says it, too, but prints something of its own.
    check_room(bytes.len())?;
    if interface::interface().set_bytes(array, bytes) {
        Ok(())
    } else {
        Err(ErrorKind::OutOfMemory(bytes.len()).into())
    }
}

/// A PackedByteArray of so many bytes.
///
/// # Errors
/// [`ErrorKind::OutOfMemory`].
pub fn new_bytes(len: usize) -> Result<PackedByteArray> {
    check_room(len)?;
    let mut array = PackedByteArray::new();
    array.resize(len);
    if array.len() == len { Ok(array) } else { Err(ErrorKind::OutOfMemory(len).into()) }
}

/// The elements of a PackedByteArray.
#[inline(always)]
pub fn bytes(array: &PackedByteArray) -> &[u8] {
    interface::interface().bytes(array)
}

/// The type of a value, if it is one that this library knows.
pub fn type_of(value: &Variant) -> Option<VariantType> {
    interface::interface().type_of(value)
}

/// Looks up engine functions and measures the engine. Called once, at start-up, on the main thread.
pub fn measure() {
    DEBUG_BUILD.get_or_init(|| Os::singleton().is_debug_build());
    interface::load();
    layout::measure();
    conversions::measure();
}
