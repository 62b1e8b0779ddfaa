//! The class FastVariantReader: decodes values that are alike.

use std::sync::Mutex;

use godot::builtin::{GString, PackedByteArray, Variant};
use godot::classes::{IRefCounted, RefCounted};
use godot::obj::{Base, Gd};
use godot::prelude::{GodotClass, godot_api};
use variant_codec::limits::Spent;
use variant_codec::{Limits, Result, Strictness};

use super::arguments::{OptionalLimits, engine_limits, strict_limits};
use super::guard::guard;
use super::result_class::FastVariantResult;
use super::{report, summary};
use crate::value;
use crate::variant::built::Built;
use crate::variant::input::{Input, Reading};
use crate::variant::keys::KeyCache;

/// Decodes values with the same Dictionary keys, such as packets of one protocol. It remembers keys, sets of keys that occur
/// together, and short texts, from call to call.
///
/// For values of a few keys, [method FastVariantCodec.decode] is faster: a call to an object costs more than remembering saves.
///
/// ```gdscript
/// var reader := FastVariantReader.new()
/// for packet: PackedByteArray in [var_to_bytes({"player": 1}), var_to_bytes({"player": 2})]:
///     print(reader.decode(packet)["player"])
/// ```
///
/// Results are the same as those of [FastVariantCodec]. A reader keeps at most 256 keys, 64 sets of keys and 128 other texts; no text is longer
/// than 32 bytes. Any thread may use it, but one reader for each thread is faster: while one thread uses a reader, calls from other threads
/// decode without what it remembers. A reader never creates objects.
#[derive(GodotClass)]
#[class(tool, base=RefCounted)]
pub struct FastVariantReader {
    keys: Mutex<KeyCache>,
}

#[godot_api]
impl IRefCounted for FastVariantReader {
    fn init(_base: Base<RefCounted>) -> Self {
        Self { keys: Mutex::default() }
    }

    #[func(gd_self)]
    fn to_string(this: Gd<Self>) -> GString {
        guard("FastVariantReader.to_string", || {
            let this_one = this.bind();
            let keys = this_one.keys.try_lock().map_or(0, |keys| keys.len());
            summary::of(&this, summary::count(keys, "key", "keys"))
        })
    }
}

#[godot_api]
impl FastVariantReader {
    /// Decodes a value as [method FastVariantCodec.decode] does. If the bytes cannot be decoded, the result is [code]null[/code] and
    /// one error is printed.
    // `this` keeps the object alive: printing an error runs Loggers, which are scripts.
    #[func(gd_self)]
    fn decode(this: Gd<Self>, bytes: PackedByteArray) -> Variant {
        const METHOD: &str = "FastVariantReader.decode";
        guard(METHOD, || match this.bind().read(&bytes, Strictness::Lenient, &engine_limits(false)) {
            Ok((built, _)) => {
                if built.dropped > 0 {
                    report::dropped(METHOD, built.dropped);
                }
                built.give()
            }
            Err(error) => {
                report::failure(METHOD, &error);
                Variant::nil()
            }
        })
    }

    /// Decodes the value in [param bytes] strictly, as [method FastVariantCodec.try_decode] does with the same [param limits], and returns
    /// the value or an error. Never creates objects, even if the limits allow them. Prints nothing.
    #[func]
    fn try_decode(
        &self,
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantReader.try_decode", || {
            let limits = Limits { allow_objects: false, ..strict_limits(limits) };
            match self.read(&bytes, Strictness::Strict, &limits) {
                Ok((built, end)) => FastVariantResult::decoded(built.give(), 0, end),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }
}

impl FastVariantReader {
    fn read(
        &self,
        bytes: &PackedByteArray,
        strictness: Strictness,
        limits: &Limits,
    ) -> Result<(Built, usize)> {
        let input = Input::Shared(bytes);
        let read = |keys: &mut KeyCache| {
            let reading = Reading { input: &input, strictness, limits, keys };
            value::decode(reading, 0..bytes.len(), &mut Spent::default())
        };
        match self.keys.try_lock() {
            Ok(mut kept) => {
                kept.begin_call(limits.refuse_colliding_keys);
                read(&mut kept)
            }
            Err(_) => read(&mut KeyCache::default()),
        }
    }
}
