//! The class FastVariantLimits: limits for strict decoding, as a resource.

use std::sync::Mutex;

use godot::builtin::{GString, PackedInt32Array, PackedStringArray};
use godot::classes::{IResource, Resource};
use godot::obj::{Base, Gd, NewGd};
use godot::prelude::{GodotClass, PhantomVar, godot_api};
use variant_codec::sync::lock;
use variant_codec::{Error, Limits, VariantType};
use variant_engine::text_of;

use super::guard::{OnFailure, guard};
use super::properties::properties;
use super::{report, summary};

/// Limits on what [FastVariantCodec] accepts when it decodes strictly.
///
/// Counts include nested values. [code]-1[/code] means no limit; any other negative number allows nothing,
/// because the engine turns NaN and floats outside the range of int into such numbers. A new resource has the
/// limits of [method for_save_files]. Any thread may set the properties at any time; a call uses them as they
/// were when it began.
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
/// [b]Presets:[/b] network — 1 MiB, 32 levels, 100,000 values, 2,000 entries in one Dictionary, 16 MiB of
/// memory, 5,000,000 key comparisons; save files — 2 GiB − 1, 1024 levels, no other limit.
#[derive(GodotClass)]
#[class(tool, init, base=Resource)]
pub struct FastVariantLimits {
    /// The maximum size of the input in bytes, up to 2147483647.
    #[export(range = (-1.0, 2147483647.0, 1.0, hide_slider, suffix = " bytes"))]
    #[var(get, set)]
    max_bytes: PhantomVar<i64>,
    /// The maximum number of nesting levels below the outermost value, up to 1024.
    #[export(range = (-1.0, 1024.0, 1.0, suffix = " levels"))]
    #[var(get, set)]
    max_depth: PhantomVar<i64>,
    /// The maximum number of values, including elements of packed arrays and names of NodePaths.
    #[export(range = (-1.0, 2147483647.0, 1.0, or_greater, hide_slider, suffix = " values"))]
    #[var(get, set)]
    max_elements: PhantomVar<i64>,
    /// The maximum engine memory for the result in bytes, estimated before allocation. The estimate errs on the high
    /// side. Memory that allowed objects allocate themselves is not counted.
    #[export(range = (-1.0, 2147483647.0, 1.0, or_greater, hide_slider, suffix = " bytes"))]
    #[var(get, set)]
    max_memory: PhantomVar<i64>,
    /// The maximum number of key comparisons that the engine may need if all keys and all names are crafted to collide
    /// in its hash tables. A Dictionary of [code]n[/code] entries counts [code]n * n[/code], all Dictionaries of the
    /// data add up, and all names together count the square of the number of different names; long keys and names count
    /// more. For a Dictionary of 5,000 entries, allow at least 25,000,000; such a limit lets a hostile packet take five
    /// times as long as with [method for_network]. If there is a limit, Arrays and Dictionaries cannot be keys.
    #[export(range = (-1.0, 2147483647.0, 1.0, or_greater, hide_slider, suffix = " comparisons"))]
    #[var(get, set)]
    max_key_comparisons: PhantomVar<i64>,
    /// If [code]true[/code], bytes may follow the value.
    #[export]
    #[var(get, set)]
    allow_trailing_bytes: PhantomVar<bool>,
    /// If [code]true[/code], accepts non-canonical encodings, which programs other than Godot write: 8-byte
    /// numbers that fit in 4 bytes, missing or non-zero padding at the end, [PackedStringArray] elements
    /// without a terminating NUL, bools other than 0 and 1, text with a byte-order mark, and a few more
    /// (docs/format.md lists all). All other checks and limits still apply, and the value is the one that
    /// [method @GlobalScope.bytes_to_var] returns. Set this if peers or tools use a library for Python,
    /// JavaScript or another language. Leave it off between Godot games, where such data is damaged or
    /// forged. [FastVariantPatch] ignores it.
    #[export]
    #[var(get, set)]
    allow_non_canonical: PhantomVar<bool>,
    /// If [code]true[/code], an object that was saved only by its instance id is read as [code]null[/code] instead of an
    /// [EncodedObjectAsID]. Such an object is lost, and the strict methods refuse to save its id again. Set this to
    /// load an old save that you want to save again. Two lost objects cannot both be keys of a Dictionary. Methods that
    /// compare or convert bytes ignore this property.
    #[export]
    #[var(get, set)]
    lost_objects_as_null: PhantomVar<bool>,
    /// If [code]true[/code], creates objects with class and properties. Their setters and scripts run, so set
    /// this only for data that you trust.
    #[export]
    #[var(get, set)]
    allow_objects: PhantomVar<bool>,
    /// The native classes that objects may have, by exact name. If empty, every class that can be
    /// instantiated is allowed. Scripts that extend an allowed class are allowed, too, unless
    /// [member allowed_scripts] lists only others.
    #[export]
    #[var(get, set)]
    allowed_classes: PhantomVar<PackedStringArray>,
    /// The scripts that objects may have and that may be types of containers, by exact path, such as
    /// [code]"res://hero.gd"[/code]. If empty, every script of the project that extends one of the allowed
    /// classes is allowed: with [code]["RefCounted"][/code] in [member allowed_classes], most scripts.
    #[export]
    #[var(get, set)]
    allowed_scripts: PhantomVar<PackedStringArray>,
    /// The types that values may have, as bits: [code]1 << TYPE_INT[/code] for ints, and so on. [method allow_only]
    /// sets it. With the plugin enabled, the inspector shows a checklist of the types.
    #[export]
    #[var(get, set)]
    allowed_types: PhantomVar<i64>,
    values: Mutex<Values>,
    base: Base<Resource>,
}

const NO_LIMIT: i64 = -1;

#[derive(Clone)]
struct Values {
    max_bytes: i64,
    max_depth: i64,
    max_elements: i64,
    max_memory: i64,
    max_key_comparisons: i64,
    allow_trailing_bytes: bool,
    allow_non_canonical: bool,
    lost_objects_as_null: bool,
    allow_objects: bool,
    allowed_classes: PackedStringArray,
    allowed_scripts: PackedStringArray,
    allowed_types: i64,
}

impl Default for Values {
    fn default() -> Self {
        Self::from(&Limits::for_save_files())
    }
}

properties! { FastVariantLimits {
    max_bytes: i64, get_max_bytes, set_max_bytes;
    max_depth: i64, get_max_depth, set_max_depth;
    max_elements: i64, get_max_elements, set_max_elements;
    max_memory: i64, get_max_memory, set_max_memory;
    max_key_comparisons: i64, get_max_key_comparisons, set_max_key_comparisons;
    allow_trailing_bytes: bool, get_allow_trailing_bytes, set_allow_trailing_bytes;
    allow_non_canonical: bool, get_allow_non_canonical, set_allow_non_canonical;
    lost_objects_as_null: bool, get_lost_objects_as_null, set_lost_objects_as_null;
    allow_objects: bool, get_allow_objects, set_allow_objects;
    allowed_classes: PackedStringArray, get_allowed_classes, set_allowed_classes;
    allowed_scripts: PackedStringArray, get_allowed_scripts, set_allowed_scripts;
    allowed_types: i64, get_allowed_types, set_allowed_types;
} }

#[godot_api]
impl IResource for FastVariantLimits {
    #[func(gd_self)]
    fn to_string(this: Gd<Self>) -> GString {
        guard("FastVariantLimits.to_string", || {
            // As in the engine's text for resources, the name and path come first, unless both are empty.
            let (name, path) = (this.get_name(), this.get_path());
            let from = match (name.is_empty(), path.is_empty()) {
                (true, true) => String::new(),
                (true, false) => format!("({}):", summary::short(text_of(&path))),
                (false, _) => {
                    format!("{} ({}):", summary::short(text_of(&name)), summary::short(text_of(&path)))
                }
            };
            let values = this.bind().values();
            GString::from(&format!("{from}{}", summary::of(&this, values.summary())))
        })
    }
}

#[godot_api(secondary)]
impl FastVariantLimits {
    /// Returns limits for packets from untrusted peers: 1 MiB, 32 levels, 100,000 values, 16 MiB of memory,
    /// 5,000,000 key comparisons. Objects written by instance id are read as [EncodedObjectAsID]; leave out
    /// [constant TYPE_OBJECT] in [method allow_only] to refuse them.
    #[func]
    fn for_network() -> Gd<Self> {
        guard("FastVariantLimits.for_network", || Self::from_limits(&Limits::for_network()))
    }

    /// Returns limits for the game's own files. They allow everything that the format can hold, except
    /// trailing bytes and objects.
    #[func]
    fn for_save_files() -> Gd<Self> {
        guard("FastVariantLimits.for_save_files", || Self::from_limits(&Limits::for_save_files()))
    }

    /// Allows only values of these [param types]: [code]limits.allow_only([TYPE_ARRAY, TYPE_INT])[/code]. Ignores
    /// numbers that are not a [enum Variant.Type].
    #[func(gd_self)]
    fn allow_only(this: Gd<Self>, types: PackedInt32Array) {
        guard("FastVariantLimits.allow_only", || {
            let known =
                types.as_slice().iter().filter_map(|&id| VariantType::from_id(u8::try_from(id).ok()?));
            lock(&this.bind().values).allowed_types = known.fold(0, |types, ty| types | 1 << ty.id());
        })
    }
}

/// After an internal error, returns limits that refuse everything, which is safer than no limits.
impl OnFailure for Gd<FastVariantLimits> {
    fn failed(method: &str, error: &Error) -> Self {
        report::failure(method, error);
        FastVariantLimits::from_limits(&Limits { max_bytes: 0, ..Limits::for_save_files() })
    }
}

impl FastVariantLimits {
    fn from_limits(limits: &Limits) -> Gd<Self> {
        let resource = Self::new_gd();
        *lock(&resource.bind().values) = Values::from(limits);
        resource
    }

    /// The values of all properties at one moment.
    fn values(&self) -> Values {
        lock(&self.values).clone()
    }

    /// The limits set by the properties.
    pub fn to_limits(&self) -> Limits {
        let values = self.values();
        let none = Limits::unlimited();
        let number =
            |limit: i64| if limit == NO_LIMIT { u64::MAX } else { u64::try_from(limit).unwrap_or(0) };
        Limits {
            max_bytes: usize::try_from(number(values.max_bytes)).unwrap_or(usize::MAX).min(none.max_bytes),
            max_depth: u32::try_from(number(values.max_depth)).unwrap_or(u32::MAX).min(none.max_depth),
            max_elements: number(values.max_elements),
            max_memory: number(values.max_memory),
            max_key_comparisons: number(values.max_key_comparisons),
            allow_trailing_bytes: values.allow_trailing_bytes,
            allow_non_canonical: values.allow_non_canonical,
            lost_objects_as_null: values.lost_objects_as_null,
            allow_objects: values.allow_objects,
            allowed_classes: values.allowed_classes.as_slice().iter().map(text_of).collect(),
            allowed_scripts: values.allowed_scripts.as_slice().iter().map(text_of).collect(),
            allowed_types: values.allowed_types as u64,
        }
    }
}

impl Values {
    fn summary(&self) -> String {
        let numbers = [
            ("max_bytes", self.max_bytes),
            ("max_depth", self.max_depth),
            ("max_elements", self.max_elements),
            ("max_memory", self.max_memory),
            ("max_key_comparisons", self.max_key_comparisons),
        ];
        let flags = [
            ("allow_trailing_bytes", self.allow_trailing_bytes),
            ("allow_non_canonical", self.allow_non_canonical),
            ("lost_objects_as_null", self.lost_objects_as_null),
            ("allow_objects", self.allow_objects),
        ];
        let limited = numbers.into_iter().filter(|(_, most)| *most != NO_LIMIT);
        let set = flags.into_iter().filter(|(_, is_set)| *is_set);
        let mut parts: Vec<String> = limited.map(|(name, most)| format!("{name} {most}")).collect();
        parts.extend(set.map(|(name, _)| name.to_owned()));
        if !self.allowed_classes.is_empty() {
            parts.push(summary::count(self.allowed_classes.len(), "class", "classes"));
        }
        if !self.allowed_scripts.is_empty() {
            parts.push(summary::count(self.allowed_scripts.len(), "script", "scripts"));
        }
        let types = self.allowed_types as u64 & variant_codec::limits::ALL_TYPES;
        if types != variant_codec::limits::ALL_TYPES {
            parts.push(format!("{} of {} types", types.count_ones(), VariantType::COUNT));
        }
        if parts.is_empty() { "no limits".to_owned() } else { parts.join(", ") }
    }
}

impl From<&Limits> for Values {
    fn from(limits: &Limits) -> Self {
        let number = |limit: u64| i64::try_from(limit).unwrap_or(NO_LIMIT);
        Self {
            max_bytes: number(limits.max_bytes as u64),
            max_depth: limits.max_depth.into(),
            max_elements: number(limits.max_elements),
            max_memory: number(limits.max_memory),
            max_key_comparisons: number(limits.max_key_comparisons),
            allow_trailing_bytes: limits.allow_trailing_bytes,
            allow_non_canonical: limits.allow_non_canonical,
            lost_objects_as_null: limits.lost_objects_as_null,
            allow_objects: limits.allow_objects,
            allowed_classes: limits.allowed_classes.iter().map(GString::from).collect(),
            allowed_scripts: limits.allowed_scripts.iter().map(GString::from).collect(),
            allowed_types: limits.allowed_types as i64,
        }
    }
}
