//! FastVariantLimits: how much a strict reader accepts, as a resource.

use godot::builtin::{GString, PackedInt32Array, PackedStringArray};
use godot::classes::{IResource, Resource};
use godot::obj::{Base, Gd, NewGd};
use godot::prelude::{GodotClass, godot_api};
use variant_codec::{Error, Limits, VariantType};

use super::guard::{OnFailure, guard};
use super::{report, summary};

/// What [FastVariantCodec] accepts when it reads data strictly.
///
/// Counts cover the whole value, nested values included. [code]-1[/code] is no limit. A new resource has the numbers of
/// [method for_save_files].
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
    /// Values of any kind, elements of packed arrays included.
    #[export]
    #[init(val = -1)]
    max_elements: i64,
    /// Entries of one Dictionary.
    #[export]
    #[init(val = -1)]
    max_dictionary_entries: i64,
    /// Bytes of memory that the result may need in the engine, estimated before they are allocated, and rather too many
    /// than too few. What the classes of allowed objects allocate by themselves is not counted.
    #[export]
    #[init(val = -1)]
    max_memory: i64,
    /// Whether bytes may follow the value.
    #[export]
    allow_trailing_bytes: bool,
    /// Whether non-canonical encodings are accepted, which programs other than Godot write and Godot does not: numbers in 8
    /// bytes that fit in 4, padding that is missing at the end or not zero, texts of a [PackedStringArray] without a closing
    /// NUL, bools other than 0 and 1, texts with a byte-order mark, and a few more (docs/format.md lists them all). Every other
    /// check and limit still applies, and the value is the one that [method @GlobalScope.bytes_to_var] gives. Set this if
    /// peers or tools write with a library for Python, JavaScript or another language. Leave it off between Godot games:
    /// there, such data mean damage or tampering.
    #[export]
    allow_non_canonical: bool,
    /// Whether data are refused if many keys of a Dictionary, or many names, collide in the engine's hash tables, as if
    /// chosen to: the more of them collide, the longer the engine takes for each. Keys nested in keys, which the engine
    /// hashes again for each key around them, are limited as well.
    #[export]
    refuse_colliding_keys: bool,
    /// Whether objects with class and properties are made. Their setters and scripts run: only for data that you trust.
    #[export]
    allow_objects: bool,
    /// The native classes that objects may have, by exact name. Empty allows every class that may be made at all.
    #[export]
    allowed_classes: PackedStringArray,
    /// The types that values may have: bit [code]1 << TYPE_INT[/code] for ints, and so on. [method allow_only] sets it. With
    /// the plugin enabled, the inspector has a list of the types to tick.
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
            // As the engine shows resources.
            let from = if path.is_empty() { String::new() } else { format!("({}):", summary::short(path)) };
            GString::from(&format!("{from}{}", summary::of(&this, this.bind().summary())))
        })
    }
}

#[godot_api]
impl FastVariantLimits {
    /// Limits for packets from strangers: 1 MiB, 32 levels, 100,000 values, 10,000 entries in one Dictionary, 16 MiB of
    /// memory, no colliding keys.
    #[func]
    fn for_network() -> Gd<Self> {
        guard("FastVariantLimits.for_network", || Self::from_limits(&Limits::for_network()))
    }

    /// Limits for the game's own files: everything that the format holds, but nothing behind it.
    #[func]
    fn for_save_files() -> Gd<Self> {
        guard("FastVariantLimits.for_save_files", || Self::from_limits(&Limits::for_save_files()))
    }

    /// Everything that the format holds, whatever follows it. Objects are still off.
    #[func]
    fn unlimited() -> Gd<Self> {
        guard("FastVariantLimits.unlimited", || Self::from_limits(&Limits::unlimited()))
    }

    /// Allows values of these types, and no others: [code]limits.allow_only([TYPE_ARRAY, TYPE_INT])[/code]. Numbers that
    /// are no [enum Variant.Type] are ignored.
    #[func]
    fn allow_only(&mut self, types: PackedInt32Array) {
        guard("FastVariantLimits.allow_only", || {
            let known =
                types.as_slice().iter().filter_map(|&id| VariantType::from_id(u8::try_from(id).ok()?));
            self.allowed_types = known.fold(0, |types, ty| types | 1 << ty.id());
        })
    }
}

/// What refuses everything, rather than nothing.
impl OnFailure for Gd<FastVariantLimits> {
    fn failed(method: &str, error: &Error) -> Self {
        report::failure(method, error);
        let mut resource = FastVariantLimits::new_gd();
        resource.bind_mut().max_bytes = 0;
        resource
    }
}

impl FastVariantLimits {
    /// What is limited, and what is allowed beyond the usual, in few words.
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

    /// The limits that the properties say.
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
