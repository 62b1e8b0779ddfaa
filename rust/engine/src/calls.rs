//! Static methods registered with the engine directly, because godot-rust's wrapper costs more than encoding
//! a small value. An int is encoded in 43 instead of 109 ns and decoded in 46 instead of 107 ns
//! (`cargo xtask bench int`).
//!
//! The engine calls a method with any number of Variants of any type or, if the script's types are known,
//! with plain values.

use std::ffi::c_void;

use godot::builtin::{PackedByteArray, StringName, Variant};
use godot::meta::{FromGodot, ToGodot};
use godot::obj::GodotClass;
use godot::register::info::MethodFlags;
use godot::register::private::method::ClassMethodInfo;
use godot::sys;
use variant_codec::VariantType;

use crate::arguments;
use crate::interface::interface;
use crate::read::Reader;
use crate::refusal::{Refused, refused};

/// A static method with one argument and an optional flag, false by default.
pub trait StaticMethod {
    /// The method's name.
    const NAME: &'static str;
    /// The names of the argument and of the flag.
    const ARGUMENTS: [&'static str; 2];
    /// The type of the argument.
    type Argument: Argument;
    /// The type of the result.
    type Return: Return;

    /// Runs the method and overwrites `result`. Scripts that run meanwhile may change the variable behind
    /// `argument`.
    ///
    /// Must not panic: a panic would end the process.
    fn call(argument: &Self::Argument, flag: bool, result: &mut Self::Return);
}

/// An argument type.
///
/// # Safety
/// - The engine's value of type `TYPE`, or any Variant if `TYPE` is Nil, can be borrowed as this type.
pub unsafe trait Argument: FromGodot + std::fmt::Debug {
    /// The type; Nil for any type.
    const TYPE: VariantType;
}

// SAFETY: `repr(transparent)` over the engine's Variant.
unsafe impl Argument for Variant {
    const TYPE: VariantType = VariantType::Nil;
}

// SAFETY: holds nothing but the engine's value.
unsafe impl Argument for PackedByteArray {
    const TYPE: VariantType = VariantType::PackedByteArray;
}
const _: () = assert!(
    size_of::<PackedByteArray>() == size_of::<sys::types::OpaquePackedByteArray>()
        && align_of::<PackedByteArray>() == align_of::<sys::types::OpaquePackedByteArray>()
);

/// A result type.
///
/// # Safety
/// - The memory that the engine passes for a result of this type holds a live value that can be borrowed as
///   this type.
pub unsafe trait Return: ToGodot {
    /// Turns the Nil `result` into a value of this type, and calls `fill` to set it.
    fn fill(result: &mut Variant, fill: impl FnOnce(&mut Self));
}

// SAFETY: `repr(transparent)` over the engine's Variant.
unsafe impl Return for Variant {
    #[inline(always)]
    fn fill(result: &mut Variant, fill: impl FnOnce(&mut Self)) {
        fill(result);
    }
}

// SAFETY: holds nothing but the engine's value.
unsafe impl Return for PackedByteArray {
    #[inline(always)]
    fn fill(result: &mut Variant, fill: impl FnOnce(&mut Self)) {
        let interface = interface();
        // SAFETY: a Nil needs no destructor. The PackedByteArray constructed in `result` is borrowed in
        // place.
        let bytes = unsafe {
            interface.construct_empty_bytes(result);
            &mut *interface.payload(result, VariantType::PackedByteArray).cast::<PackedByteArray>()
        };
        fill(bytes);
    }
}

// SAFETY: the engine's int is an i64.
unsafe impl Return for i64 {
    #[inline(always)]
    fn fill(result: &mut Variant, fill: impl FnOnce(&mut Self)) {
        let mut int = 0;
        fill(&mut int);
        *result = int.to_variant();
    }
}

/// Registers a method of the class.
pub fn register<C: GodotClass, M: StaticMethod>() {
    // SAFETY: both functions have the registered signature and use no instance, as a static method must.
    let method = unsafe {
        ClassMethodInfo::from_signature::<C, (M::Argument, bool), M::Return>(
            StringName::from(M::NAME),
            Some(call::<M>),
            Some(call_plain::<M>),
            MethodFlags::NORMAL | MethodFlags::STATIC,
            &M::ARGUMENTS,
            vec![false.to_variant()],
        )
    };
    arguments::unchecked(|| method.register_extension_class_method());
}

/// The function that the engine calls with Variants.
///
/// # Safety
/// - `arguments` points to `count` pointers to live Variants.
/// - `result` points to a Variant that is Nil; `error` is valid for writing.
unsafe extern "C" fn call<M: StaticMethod>(
    _userdata: *mut c_void,
    _instance: sys::GDExtensionClassInstancePtr,
    arguments: *const sys::GDExtensionConstVariantPtr,
    count: sys::GDExtensionInt,
    result: sys::GDExtensionVariantPtr,
    error: *mut sys::GDExtensionCallError,
) {
    // SAFETY: the engine passes `count` Variants and a Nil for the result (`# Safety`). godot-rust's Variant is
    // `repr(transparent)` over the engine's.
    let (arguments, result): (&[&Variant], &mut Variant) = unsafe {
        let arguments = match usize::try_from(count) {
            Ok(count) if count > 0 => std::slice::from_raw_parts(arguments.cast(), count),
            _ => &[],
        };
        (arguments, &mut *result.cast())
    };
    let done = checked::<M>(arguments).and_then(|(argument, flag)| match borrowed::<M::Argument>(argument) {
        Some(argument) => {
            M::Return::fill(result, |result| M::call(argument, flag, result));
            Ok(())
        }
        None => {
            let argument = converted::<M::Argument>(argument, 0, M::Argument::TYPE)?;
            M::Return::fill(result, |result| M::call(&argument, flag, result));
            Ok(())
        }
    });
    if let Err(refused) = done {
        // SAFETY: the engine passes memory for the error (`# Safety`).
        unsafe { error.write(refused) };
    }
}

/// The function that the engine calls with plain values.
///
/// # Safety
/// - `arguments` points to pointers to live values of the two arguments' types.
/// - `result` points to a live value of the result's type.
unsafe extern "C" fn call_plain<M: StaticMethod>(
    _userdata: *mut c_void,
    _instance: sys::GDExtensionClassInstancePtr,
    arguments: *const sys::GDExtensionConstTypePtr,
    result: sys::GDExtensionTypePtr,
) {
    // SAFETY: the engine passes both arguments and memory for the result (`# Safety`). The unsafe traits
    // `Argument` and `Return` guarantee that the values can be borrowed as these types; the engine's bool is
    // one byte.
    let (argument, flag, result) = unsafe {
        let [argument, flag] = *arguments.cast::<[sys::GDExtensionConstTypePtr; 2]>();
        (&*argument.cast::<M::Argument>(), *flag.cast::<u8>() != 0, &mut *result.cast::<M::Return>())
    };
    M::call(argument, flag, result);
}

#[inline(always)]
fn checked<'a, M: StaticMethod>(arguments: &[&'a Variant]) -> Result<(&'a Variant, bool), Refused> {
    match *arguments {
        [argument] => Ok((argument, false)),
        [argument, flag] => {
            let reader = Reader::new();
            let flag = match reader.ty(flag) {
                Some(VariantType::Bool) => reader.bool(flag),
                _ => converted(flag, 1, VariantType::Bool)?,
            };
            Ok((argument, flag))
        }
        [] => Err(refused(sys::GDEXTENSION_CALL_ERROR_TOO_FEW_ARGUMENTS, 0, 1)),
        _ => Err(refused(sys::GDEXTENSION_CALL_ERROR_TOO_MANY_ARGUMENTS, 0, M::ARGUMENTS.len() as i32)),
    }
}

#[inline(always)]
fn borrowed<A: Argument>(argument: &Variant) -> Option<&A> {
    let value = match A::TYPE {
        VariantType::Nil => std::ptr::from_ref(argument).cast(),
        ty if Reader::new().ty(argument) != Some(ty) => return None,
        // SAFETY: the guard of the arm above has checked the type.
        ty => unsafe { interface().payload(argument, ty).cast_const().cast() },
    };
    // SAFETY: in both cases, the pointer is to a value that lives as long as the Variant. The unsafe
    // trait guarantees that the value can be borrowed as this type.
    Some(unsafe { &*value })
}

/// Converts an argument of another type as the engine does in untyped calls.
#[cold]
#[inline(never)]
fn converted<A: FromGodot>(argument: &Variant, index: i32, ty: VariantType) -> Result<A, Refused> {
    argument
        .try_to_relaxed()
        .map_err(|_| refused(sys::GDEXTENSION_CALL_ERROR_INVALID_ARGUMENT, index, ty.id().into()))
}
