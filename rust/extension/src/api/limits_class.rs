//! The class FastVariantLimits: limits for strict decoding, as a resource.

use godot::builtin::{GString, PackedInt32Array, PackedStringArray};
use godot::classes::{IResource, Resource};
use godot::obj::{Base, Gd, NewGd};
use godot::prelude::{GodotClass, godot_api};
use variant_codec::{Error, Limits, VariantType};

use super::guard::{OnFailure, guard};
use super::{report, summary};

/// What [FastVariantCodec] accepts when it decodes strictly.
///
/// Counts include nested values. [code]-1[/code] is no limit. A new resource has the limits of [method for_save_files].
///
/// ```gdscript
/// var packet := var_to_bytes({"position": Vector2(3, 4)}) # From a stranger.
/// var result := FastVariantCodec.try_decode(packet, FastVariantLimits.for_network())
/// if result.is_ok():
///     print(result.value)
/// else:
///     print(result.message)
/// ```
///
/// [b]Presets:[/b] network — 1 MiB, 32 levels, 100,000 values, 10,000 entries in one Dictionary, 16 MiB of memory, no
/// colliding keys; save files — 2 GiB − 1, 1024 levels, no other limit; unlimited — the same, with trailing bytes allowed.
#[derive(GodotClass)]
#[class(tool, init, base=Resource)]
pub struct FastVariantLimits {
    /// Bytes of input, at most 2147483647.
    #[export]
    #[init(val = i64::from(i32::MAX))]
    max_bytes: i64,
    /// Levels of nesting below the outermost value, at most 1024.
    #[export(range = (0.0, 1024.0))]
    #[init(val = 1024)]
    max_depth: i64,
    /// Values, including elements of packed arrays.
    #[export]
    #[init(val = -1)]
    max_elements: i64,
    /// Entries of one Dictionary.
    #[export]
    #[init(val = -1)]
    max_dictionary_entries: i64,
    /// Bytes of engine memory for the result, estimated before allocation; the estimate is rather too high than too
    /// low. Memory that allowed objects allocate themselves is not counted.
    #[export]
    #[init(val = -1)]
    max_memory: i64,
    /// Whether trailing bytes are allowed after the value.
    #[export]
    allow_trailing_bytes: bool,
    /// Whether non-canonical encodings are accepted, which programs other than Godot write: 8-byte numbers that fit in
    /// 4 bytes, missing or non-zero padding at the end, [PackedStringArray] elements without a terminating NUL, bools
    /// other than 0 and 1, text with a byte-order mark, and a few more (docs/format.md lists all). All other checks and
    /// limits still apply, and the value is that of [method @GlobalScope.bytes_to_var]. Set this if peers or tools use
    /// a library for Python, JavaScript or another language. Leave it off between Godot games, where such data is
    /// damaged or forged.
    #[export]
    allow_non_canonical: bool,
    /// Whether data is refused if too many Dictionary keys, or names, collide in the engine's hash tables, as in a
    /// hash-flooding attack: each collision makes the engine slower. Nested keys, which the engine hashes again at each
    /// level, are limited as well.
    #[export]
    refuse_colliding_keys: bool,
    /// Whether objects with class and properties are created. Their setters and scripts run: only for data you trust.
    #[export]
    allow_objects: bool,
    /// The native classes that objects may have, by exact name. Empty allows every class that can be instantiated.
    #[export]
    allowed_classes: PackedStringArray,
    /// The types that values may have, as bits: [code]1 << TYPE_INT[/code] for ints, and so on. [method allow_only]
    /// sets it. With the plugin enabled, the inspector has a list of the types to tick.
    #[export]
    #[init(val = variant_codec::limits::ALL_TYPES as i64)]
    allowed_types: i64,
    base: Base<Resource>,
}

#[godot_api]
impl IResource for FastVariantLimits {
    #[func(gd_self)]
    fn to_string(this: Gd<Self>) -> GString {
        guard("FastVariantLimits.to_string", || {
            let path = this.get_path();
            // As the engine prints resources.
            let from = if path.is_empty() { String::new() } else { format!("({}):", summary::short(path)) };
            GString::from(&format!("{from}{}", summary::of(&this, this.bind().summary())))
        })
    }
}

#[godot_api]
impl FastVariantLimits {
    /// Limits for packets from untrusted peers: 1 MiB, 32 levels, 100,000 values, 10,000 entries in one Dictionary, 16
    /// MiB of memory, no colliding keys.
    #[func]
    fn for_network() -> Gd<Self> {
        guard("FastVariantLimits.for_network", || Self::from_limits(&Limits::for_network()))
    }

    /// Limits for the game's own files: everything that the format can hold, without trailing bytes.
    #[func]
    fn for_save_files() -> Gd<Self> {
        guard("FastVariantLimits.for_save_files", || Self::from_limits(&Limits::for_save_files()))
    }

    /// Everything that the format can hold, with trailing bytes. Objects are still refused.
    #[func]
    fn unlimited() -> Gd<Self> {
        guard("FastVariantLimits.unlimited", || Self::from_limits(&Limits::unlimited()))
    }

    /// Allows only values of these types: [code]limits.allow_only([TYPE_ARRAY, TYPE_INT])[/code]. Numbers that are not
    /// a [enum Variant.Type] are ignored.
    #[func]
    fn allow_only(&mut self, types: PackedInt32Array) {
        guard("FastVariantLimits.allow_only", || {
            let known =
                types.as_slice().iter().filter_map(|&id| VariantType::from_id(u8::try_from(id).ok()?));
            self.allowed_types = known.fold(0, |types, ty| types | 1 << ty.id());
        })
    }
}

/// Limits that refuse everything: safer than none.
impl OnFailure for Gd<FastVariantLimits> {
    fn failed(method: &str, error: &Error) -> Self {
        report::failure(method, error);
        let mut resource = FastVariantLimits::new_gd();
        resource.bind_mut().max_bytes = 0;
        resource
    }
}

impl FastVariantLimits {
    /// The limits that are set, and what is allowed besides, briefly.
    fn summary(&self) -> String {
        let numbers = [
            ("max_bytes", self.max_bytes),
            ("max_depth", self.max_depth),
            ("max_elements", self.max_elements),
            ("max_dictionary_entries", self.max_dictionary_entries),
            ("max_memory", self.max_memory),
        ];
        let flags = [
            ("allow_trailing_bytes", self.allow_trailing_bytes),
            ("allow_non_canonical", self.allow_non_canonical),
            ("refuse_colliding_keys", self.refuse_colliding_keys),
            ("allow_objects", self.allow_objects),
        ];
        let limited = numbers.into_iter().filter(|(_, most)| *most >= 0);
        let set = flags.into_iter().filter(|(_, is_set)| *is_set);
        let mut parts: Vec<String> = limited.map(|(name, most)| format!("{name} {most}")).collect();
        parts.extend(set.map(|(name, _)| name.to_owned()));
        if !self.allowed_classes.is_empty() {
            parts.push(summary::count(self.allowed_classes.len(), "class", "classes"));
        }
        let types = self.allowed_types as u64 & variant_codec::limits::ALL_TYPES;
        if types != variant_codec::limits::ALL_TYPES {
            parts.push(format!("{} of {} types", types.count_ones(), VariantType::COUNT));
        }
        if parts.is_empty() { "no limits".to_owned() } else { parts.join(", ") }
    }

    fn from_limits(limits: &Limits) -> Gd<Self> {
        let number = |limit: u64| i64::try_from(limit).unwrap_or(-1);
        let mut resource = Self::new_gd();
        {
            let mut fields = resource.bind_mut();
            fields.max_bytes = number(limits.max_bytes as u64);
            fields.max_depth = limits.max_depth.into();
            fields.max_elements = number(limits.max_elements);
            fields.max_dictionary_entries = number(limits.max_dictionary_entries);
            fields.max_memory = number(limits.max_memory);
            fields.allow_trailing_bytes = limits.allow_trailing_bytes;
            fields.allow_non_canonical = limits.allow_non_canonical;
            fields.refuse_colliding_keys = limits.refuse_colliding_keys;
        }
        resource
    }

    /// The limits set by the properties.
    pub fn to_limits(&self) -> Limits {
        let none = Limits::unlimited();
        let number = |limit: i64| u64::try_from(limit).unwrap_or(u64::MAX);
        Limits {
            max_bytes: usize::try_from(self.max_bytes).unwrap_or(none.max_bytes).min(none.max_bytes),
            max_depth: u32::try_from(self.max_depth).unwrap_or(none.max_depth).min(none.max_depth),
            max_elements: number(self.max_elements),
            max_dictionary_entries: number(self.max_dictionary_entries),
            max_memory: number(self.max_memory),
            allow_trailing_bytes: self.allow_trailing_bytes,
            allow_non_canonical: self.allow_non_canonical,
            refuse_colliding_keys: self.refuse_colliding_keys,
            allow_objects: self.allow_objects,
            allowed_classes: self.allowed_classes.as_slice().iter().map(ToString::to_string).collect(),
            allowed_types: self.allowed_types as u64,
        }
    }
}
