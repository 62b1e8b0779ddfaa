//! Lookups in typed containers without printed errors. The engine prints an error for each value whose type
//! is not the declared one, and for each key that is nested too deeply. Each error may run a Logger, which
//! is a script.

use godot::builtin::{AnyDictionary, Variant};
use godot::classes::Object;
use godot::meta::ToGodot;
use godot::obj::Gd;
use variant_codec::VariantType;
use variant_codec::format::MAX_KEY_DEPTH;
use variant_engine::{ContainerType, Conversions, Reader, is_nested_deeper};

/// The value to look up in a container of this type; `None` if the container cannot hold the value.
pub fn sought(declared: &ContainerType, value: &Variant) -> Option<Variant> {
    let ty = Reader::new().ty(value)?;
    let is_container = matches!(ty, VariantType::Array | VariantType::Dictionary);
    if is_container && is_nested_deeper(value, MAX_KEY_DEPTH as usize) {
        return None;
    }
    match declared {
        // The engine would print an error for a freed object.
        ContainerType::Builtin(VariantType::Object) if value.try_to::<Gd<Object>>().is_err() => None,
        _ if declared.accepts(value) => Some(value.clone()),
        ContainerType::Builtin(ty) => Conversions::get().convert(*ty, value).map(|found| found.value),
        _ => None,
    }
}

/// The value at a key of a Dictionary, typed or not.
pub fn get(dictionary: &AnyDictionary, key: &Variant) -> Option<Variant> {
    let (declared, _) = Reader::new().dictionary_types(&dictionary.to_variant());
    dictionary.get(&sought(&declared, key)?)
}
