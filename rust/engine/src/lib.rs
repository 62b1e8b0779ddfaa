//! Access to Godot's memory: all unsafe code of the library except its entry symbol.
//!
//! | file | offers |
//! |---|---|
//! | `interface.rs` | the engine functions that this crate uses, looked up once |
//! | `types.rs` | how the engine stores values of each type |
//! | `documented.rs` | the documented access path: reading values and making Strings |
//! | `layout.rs` | the engine's memory layout |
//! | `elements.rs`, `read.rs` | reading live Variants |
//! | `objects.rs` | classes and properties of objects |
//! | `strings.rs`, `bytes.rs` | Strings and PackedByteArrays |
//! | `owned.rs` | values that move between threads, or outlive a call |
//! | `slots.rs` | elements of a container under construction, each filled by one thread |
//! | `building/` | a Variant under construction, element by element |
//! | `gaps.rs` | values with gaps that other threads fill |
//! | `behaviour.rs` | verifies at start-up how the engine treats new memory |
//! | `probe.rs` | the facts of `layout.rs`, found and verified at start-up |
//! | `conversions.rs` | the conversions that the engine applies for typed containers, measured at start-up |
//! | `arguments.rs`, `refusal.rs` | refuses invalid arguments to methods, as the engine does |
//! | `calls.rs` | methods that the engine calls without godot-rust in between |
//! | `precision.rs` | checks, before anything else, that the engine has this library's precision |
//! | `optional.rs` | optional arguments |
//! | `loaded.rs` | keeps the library loaded while its threads run |
//! | `unwinding.rs` | unwinding on the web, for panics |
//!
//! A Variant has two access paths: documented functions and direct access. `probe.rs` decides which path is
//! used. Both paths give the same bytes and values, and pass the same tests.
//!
//! The public functions are safe: checks or types guarantee what their unsafe code relies on. The exception
//! is a rule of the engine that no type of godot-rust expresses. Arrays, Dictionaries, packed arrays and
//! objects are references, and no lock guards their targets. So while one thread reads or changes a
//! container, no script and no other thread may change it through any other Variant, slot or `OwnArray`. Code
//! that runs scripts while it reads a container reads a copy (`Reader::entries`), and code that outlives a
//! call owns what it reads (`owned.rs`).

#![cfg_attr(target_os = "emscripten", feature(asm_experimental_arch, link_llvm_intrinsics))]
#![cfg_attr(target_os = "emscripten", allow(internal_features))]

mod arguments;
mod behaviour;
mod building;
mod bytes;
mod calls;
mod conversions;
mod documented;
mod elements;
mod gaps;
mod interface;
mod layout;
mod loaded;
mod objects;
mod optional;
mod owned;
mod precision;
mod probe;
mod read;
mod refusal;
mod slots;
mod strings;
mod types;
#[cfg(target_os = "emscripten")]
mod unwinding;

pub use arguments::with_checked_arguments;
pub use behaviour::can_share_out;
pub use building::Building;
pub use bytes::{bytes, new_bytes, set_bytes};
pub use calls::{StaticMethod, register};
pub use conversions::{Conversions, Converted, is_nested_deeper};
pub use elements::Elements;
pub use gaps::{Scope, Unfinished, with_gaps};
pub use interface::{engine_version, is_debug_build};
pub use loaded::keep_loaded;
pub use objects::{Factory, HeldObject, class_name, get_property, set_property};
pub use optional::{DictionaryOrEmpty, OrNull, ValueOrNull};
pub use owned::{GivenArray, OwnArray, OwnedBytes};
pub use precision::fits_precision;
pub use probe::{Access, Findings, findings};
pub use read::{ContainerType, Entries, EntriesInPlace, Reader, Run, Strings, is_instance};
pub use slots::{Slots, StringSlots};
pub use strings::{raw_string, string, text_of};
pub use types::{PRECISION, run_bytes};

/// Looks up the engine's functions, verifies the engine's memory layout, and measures its conversions for
/// typed containers. Call this function once, at start-up, on the main thread, before anything else in this
/// crate.
pub fn start(access: &Access) {
    interface::load();
    probe::measure(access);
    conversions::measure();
}
