//! Checks, before anything else, that the engine has the precision that this library is built for.
//!
//! godot-rust does not check the precision, and values of the wrong size would crash the process or corrupt
//! memory.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr::null;

use godot::sys;
use variant_codec::VariantType;
use variant_codec::stream::Precision;

use crate::types::PRECISION;

/// Memory for a Variant of either precision, which takes 24 or 40 bytes.
#[repr(C, align(16))]
struct Room(MaybeUninit<[u8; 64]>);

/// A byte that does not occur in a zero vector.
const MARK: u8 = 0xA5;

/// Returns true if this library has the engine's precision, or the engine's precision is unknown. Otherwise
/// prints an error.
///
/// # Safety
/// - `engine` is the pointer that the engine passed to the entry point.
pub unsafe fn fits_precision(engine: sys::GDExtensionInterfaceGetProcAddress) -> bool {
    // SAFETY: `engine` is the pointer that the engine passed to the entry point (`# Safety`).
    let Some(found) = (unsafe { precision_of(engine) }) else { return true };
    if found == PRECISION {
        return true;
    }
    // SAFETY: `engine` is the pointer that the engine passed to the entry point (`# Safety`).
    unsafe { refuse(engine) };
    false
}

/// The engine's precision, from the size of a Vector2. `None` if the size is unexpected or a function is
/// missing; godot-rust reports missing functions.
///
/// # Safety
/// - `engine` is the pointer that the engine passed to the entry point.
unsafe fn precision_of(engine: sys::GDExtensionInterfaceGetProcAddress) -> Option<Precision> {
    let engine = engine?;
    let vector = sys::GDExtensionVariantType::from(VariantType::Vector2.id());
    // SAFETY: the engine's functions with these names have these types, by the documented interface.
    let (construct, destroy, converter) = unsafe {
        (
            std::mem::transmute::<unsafe extern "C" fn(), sys::GDExtensionInterfaceVariantConstruct>(engine(
                c"variant_construct".as_ptr(),
            )?),
            std::mem::transmute::<unsafe extern "C" fn(), sys::GDExtensionInterfaceVariantDestroy>(engine(
                c"variant_destroy".as_ptr(),
            )?),
            std::mem::transmute::<unsafe extern "C" fn(), sys::GDExtensionInterfaceGetVariantToTypeConstructor>(
                engine(c"get_variant_to_type_constructor".as_ptr())?,
            ),
        )
    };
    let mut variant = Room(MaybeUninit::uninit());
    let mut components = [MARK; 64];
    let mut error = MaybeUninit::zeroed();
    // SAFETY: a Vector2 has a constructor without arguments, which writes a Variant, and a converter, which
    // writes two components. `Room` is large enough for either value in both precisions. The Variant is
    // destroyed once.
    unsafe {
        let to_vector = converter(vector)?;
        let place: *mut [u8; 64] = variant.0.as_mut_ptr();
        construct(vector, place.cast(), null(), 0, error.as_mut_ptr());
        to_vector(components.as_mut_ptr().cast(), place.cast());
        destroy(place.cast());
    }
    match components.iter().position(|byte| *byte == MARK) {
        Some(8) => Some(Precision::Single),
        Some(16) => Some(Precision::Double),
        _ => None,
    }
}

/// # Safety
/// - `engine` is the pointer that the engine passed to the entry point.
unsafe fn refuse(engine: sys::GDExtensionInterfaceGetProcAddress) {
    const MESSAGE: &CStr = match PRECISION {
        Precision::Single => {
            c"FastVariantCodec: this library is for engines with single precision, and this engine has double precision (precision=double). Build one with: cargo xtask build --double"
        }
        Precision::Double => {
            c"FastVariantCodec: this library is for engines with double precision (precision=double), and this engine has single precision. Build one with: cargo xtask build"
        }
    };
    let print = |name: &CStr| {
        let print = engine?;
        // SAFETY: the engine's function with this name has this type, and all texts are C strings.
        unsafe {
            std::mem::transmute::<unsafe extern "C" fn(), sys::GDExtensionInterfacePrintError>(print(
                name.as_ptr(),
            )?)(MESSAGE.as_ptr(), c"start".as_ptr(), c"precision.rs".as_ptr(), 0, 0);
        }
        Some(())
    };
    let _printed = print(c"print_error");
}
