//! The class FastVariantClasses: objects of registered classes as plain data.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use godot::builtin::{GString, PackedByteArray, PackedStringArray, Variant};
use godot::classes::{IRefCounted, Object, Script};
use godot::global::Error as Code;
use godot::init::is_main_thread;
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::{AnyArray, GodotClass, PhantomVar, godot_api};
use variant_codec::sync::lock;
use variant_codec::{Error, Limits, Result};
use variant_engine::{self as engine, DictionaryOrEmpty, HeldObject};

use super::arguments::{OptionalLimits, strict_limits};
use super::class_class::{FastVariantClass, SharedRegistry};
use super::file_calls::{load, load_summary, load_value, write, write_later};
use super::guard::guard;
use super::job_class::{self, FastVariantJob};
use super::result_class::FastVariantResult;
use super::{report, summary};
use crate::files::{self, Holds};
use crate::jobs::{Job, Outcome};
use crate::json;
use crate::saves::{self, Chunk};
use variant_live::batch::failed::Failed;
use variant_live::batch::registered;
use variant_live::classes::class::{Class, Registration};
use variant_live::classes::registry::Registry;
use variant_live::classes::resources::Folder;
use variant_live::decode::decoding::Decoding;
use variant_live::decode::input::Input;
use variant_live::encode::walker::Objects;
use variant_live::value;

/// Encodes and decodes objects of your own classes. Objects are saved whole, and reading them runs no code from the
/// data.
///
/// ```gdscript
/// extends RefCounted
///
/// class Hero:
///     var name := ""
///     var friends: Array[Hero] = []
///
/// func save_and_load(heroes: Array[Hero]) -> Array[Hero]:
///     var classes := FastVariantClasses.new()
///     classes.register(Hero, "Hero")
///     classes.save_batch("user://heroes.dat", [heroes])
///     return classes.load_batch("user://heroes.dat").value[0]
/// ```
///
/// Encoding writes all variables of the script, including those that are not exported, unless you list the
/// properties to write. An object that is referred to several times, or that refers to itself, is still one
/// object after reading. Typed Arrays and Dictionaries stay typed. The data consists of plain Arrays and
/// Dictionaries, which every reader of Variants can read; [code]docs/classes.md[/code] describes them.
///
/// Reading creates only objects of registered classes and sets only their registered properties, after checking the
/// type of each value. If anything is wrong, the result has the reason and the path, and all objects created so far are
/// freed.
///
/// Encoding runs getters. Decoding runs [code]_init[/code] while it reads. Once all data is read and checked, decoding
/// runs the [member FastVariantClass.upgrade] functions, the setters, and the [code]_loaded()[/code] methods that classes have.
/// Because scripts run, the calling thread does all the work; call the methods on the main thread if your scripts need
/// it.
#[derive(GodotClass)]
#[class(tool, init, base=RefCounted)]
pub struct FastVariantClasses {
    /// If [code]true[/code], the methods that save or append compress the values with zstd, as
    /// [method FastVariantCodec.save] and [method FastVariantCodec.save_batch] do.
    #[var(get, set)]
    compress: PhantomVar<bool>,
    compresses: AtomicBool,
    registry: SharedRegistry,
}

#[godot_api]
impl FastVariantClasses {
    #[func]
    fn get_compress(&self) -> bool {
        guard("FastVariantClasses.compress", || self.compresses.load(Ordering::Relaxed))
    }

    #[func]
    fn set_compress(&self, compress: bool) {
        guard("FastVariantClasses.compress", || self.compresses.store(compress, Ordering::Relaxed));
    }
}

#[godot_api]
impl IRefCounted for FastVariantClasses {
    #[func(gd_self)]
    fn to_string(this: Gd<Self>) -> GString {
        guard("FastVariantClasses.to_string", || {
            let registry = Self::registry(&this);
            let names: Vec<&str> = registry.names().take(NAMED + 1).collect();
            let more = if names.len() > NAMED { ", …" } else { "" };
            let shown = names[..names.len().min(NAMED)].join(", ");
            let count = summary::count(registry.names().count(), "class", "classes");
            summary::of(&this, format!("{count}: {}", summary::short(shown + more)))
        })
    }
}

/// The maximum number of classes that a summary names.
const NAMED: usize = 3;

#[godot_api(secondary)]
impl FastVariantClasses {
    /// Registers the class of [param script], a script of this project such as [code]Hero[/code] or an inner class.
    /// [param name] is the name in the data; the default is the script's [code]class_name[/code]. Never change it while
    /// data exists. You may still move and rename the script.
    ///
    /// Returns the registered class, whose properties say what is written and how older data is read. If the class
    /// cannot be registered, prints one error and returns [code]null[/code].
    ///
    /// The variables are those at the time of this call. If a script is reloaded while the game runs, register it
    /// with a new [FastVariantClasses].
    // `this` keeps the object alive, here and in all methods: scripts run and may drop the last other
    // reference.
    #[func(gd_self)]
    fn register(
        this: Gd<Self>,
        script: Option<Gd<Script>>,
        #[opt(default = "")] name: GString,
    ) -> Option<Gd<FastVariantClass>> {
        guard("FastVariantClasses.register", || {
            let registry = Arc::clone(&this.bind().registry);
            let script = script.ok_or_else(|| Error::argument("script: expected a Script, found null"));
            let class =
                script.and_then(|script| Class::of(Registration::of(script, engine::text_of(&name))?));
            let added = class.and_then(|class| {
                let id = class.script_id();
                Arc::make_mut(&mut *lock(&registry)).add(class).map(|()| id)
            });
            added
                .map(|id| FastVariantClass::of(registry, id))
                .inspect_err(|error| report::failure("FastVariantClasses.register", error))
                .ok()
        })
    }

    /// Allows references to resources in the project's folder [param folder] whose class is one of
    /// [param types] or extends one of them. [param types] are the names of native classes and the
    /// [code]class_name[/code]s of scripts.
    ///
    /// Encoding writes the UID and path of an allowed resource instead of its contents; decoding loads the
    /// resource. Other resources are ordinary objects: their class must be registered. If the folder does not exist, or
    /// has no resources, one warning is printed.
    #[func(gd_self)]
    fn allow_resources(this: Gd<Self>, folder: GString, types: PackedStringArray) -> Code {
        guard("FastVariantClasses.allow_resources", || {
            let types = types.as_slice().iter().map(engine::text_of).collect();
            let folder = Folder::of(&engine::text_of(&folder), types);
            let added = folder.map(|folder| {
                if !folder.has_resources() {
                    report::empty_folder("FastVariantClasses.allow_resources", folder.path());
                }
                Arc::make_mut(&mut *lock(&this.bind().registry)).add_folder(folder);
            });
            report::code("FastVariantClasses.allow_resources", added)
        })
    }

    /// Encodes [param value], whose objects must be of registered classes. If it cannot be encoded, prints one error
    /// with the path, and returns an empty array.
    ///
    /// Values that a reader could not restore are errors: objects of other classes, Callables, Signals, and
    /// all other values that [method FastVariantCodec.try_encode] refuses. A freed object is written as
    /// [code]null[/code], as the engine does.
    #[func(gd_self)]
    fn encode(this: Gd<Self>, value: Variant) -> PackedByteArray {
        guard("FastVariantClasses.encode", || {
            let bytes = value::encode_registered(&value, &Self::registry(&this));
            report::lost_objects("FastVariantClasses.encode");
            bytes.unwrap_or_else(|error| {
                report::failure("FastVariantClasses.encode", &error);
                PackedByteArray::new()
            })
        })
    }

    /// Encodes [param value] as [method encode] does, and returns the bytes or an error. Prints nothing.
    #[func(gd_self)]
    fn try_encode(this: Gd<Self>, value: Variant) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.try_encode", || {
            match value::encode_registered(&value, &Self::registry(&this)) {
                Ok(bytes) => FastVariantResult::encoded(bytes.to_variant(), bytes.len()),
                Err(error) => FastVariantResult::failed(&error),
            }
        })
    }

    /// Decodes a value strictly from [param bytes], as written by [method encode], within [param limits]. If it cannot be
    /// decoded, prints one error with the path, and returns [code]null[/code]; see [method try_decode].
    #[func(gd_self)]
    fn decode(
        this: Gd<Self>,
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Variant {
        guard("FastVariantClasses.decode", || {
            value_of("FastVariantClasses.decode", Self::read(&this, bytes, &class_limits(limits), None))
        })
    }

    /// Decodes a value from [param bytes] as [method decode] does, and returns it or an error. Prints nothing.
    ///
    /// The default [param limits] are [method FastVariantLimits.for_save_files]. Objects in the engine's own
    /// format are refused, whatever the limits allow.
    #[func(gd_self)]
    fn try_decode(
        this: Gd<Self>,
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.try_decode", || {
            result(Self::read(&this, bytes, &class_limits(limits), None))
        })
    }

    /// Decodes an object from [param bytes] into [param target], which takes the place of the outermost
    /// object of the data and must have the same class. Properties that the data lacks keep their values.
    /// Returns whether that succeeded within [param limits]; if not, prints one error. See [method try_decode_into].
    #[func(gd_self)]
    fn decode_into(
        this: Gd<Self>,
        target: Option<Gd<Object>>,
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> bool {
        guard("FastVariantClasses.decode_into", || {
            let read = Self::read_into(&this, target, bytes, &class_limits(limits));
            read.inspect_err(|error| report::failure("FastVariantClasses.decode_into", error)).is_ok()
        })
    }

    /// Decodes an object from [param bytes] into [param target] as [method decode_into] does, and returns it or an error.
    /// Prints nothing.
    ///
    /// After an error in a setter, some properties may already be set. [param limits] are as in [method try_decode].
    #[func(gd_self)]
    fn try_decode_into(
        this: Gd<Self>,
        target: Option<Gd<Object>>,
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.try_decode_into", || {
            result(Self::read_into(&this, target, bytes, &class_limits(limits)))
        })
    }

    /// Encodes [param value], and replaces the file at [param path] with it. Its objects must be of
    /// registered classes.
    ///
    /// [param summary] is for menus: [method load_summary] reads it without the value. With [member compress], the value is compressed with zstd. A sum in the file finds
    /// accidents, such as a truncated file or a flipped bit, but not cheaters. [code]docs/saves.md[/code] describes the file.
    ///
    /// The save is atomic: even after a crash, the file has either the old or the new content. [param path] is as for
    /// [method FastVariantCodec.save_batch]. If the value cannot be encoded or the file cannot be written, the result has the reason, for a
    /// message to the player; one error is printed, too, and the file is unchanged.
    #[func(gd_self)]
    fn save(
        this: Gd<Self>,
        path: GString,
        value: Variant,
        #[opt(default = DictionaryOrEmpty::empty())] summary: DictionaryOrEmpty,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.save", || {
            let chunks = || Self::saved(&this, &value, summary);
            write("FastVariantClasses.save", &path, Holds::Value, chunks, files::replace)
        })
    }

    /// Loads the value that [method save] wrote to the file at [param path]. Prints nothing. What can still be read of a
    /// damaged save is plain data, for [method from_plain]. Otherwise works like [method FastVariantCodec.load] and
    /// [method try_decode] with the same [param limits].
    #[func(gd_self)]
    fn load(
        this: Gd<Self>,
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.load", || {
            FastVariantResult::of(load_registered(&path, &class_limits(limits), &Self::registry(&this), None))
        })
    }

    /// Loads the file at [param path] into [param target], such as a Node in the scene, as [method try_decode_into] does
    /// with the same [param limits]. Otherwise works like [method load].
    #[func(gd_self)]
    fn load_into(
        this: Gd<Self>,
        target: Option<Gd<Object>>,
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.load_into", || match Self::target(target) {
            Ok(target) => {
                let (registry, limits) = (Self::registry(&this), class_limits(limits));
                FastVariantResult::of(load_registered(&path, &limits, &registry, Some(target)))
            }
            Err(error) => FastVariantResult::failed(&error),
        })
    }

    /// Loads the file at [param path] as [method load] does with the same [param limits], in the background, after saves
    /// started earlier. The main thread creates the objects in slices of about 2 ms per frame, so that a large save does
    /// not stop the game; it takes several times as long as [method load]. A container of plain values is read in one
    /// slice. On the web and on Windows for ARM, the value is read in one frame, and then the properties are set in slices.
    /// Progress is counted in parts of 1,000.
    ///
    /// If you start the job on another thread, it is done when the call returns.
    #[func(gd_self)]
    fn load_async(
        this: Gd<Self>,
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantClasses.load_async", || {
            let (registry, limits) = (Self::registry(&this), class_limits(limits));
            job_class::start(if is_main_thread() {
                Job::load_value_registered(&path, limits, registry)
            } else {
                Job::done(load_registered(&path, &limits, &registry, None))
            })
        })
    }

    /// Reads the summary in the file at [param path], as [method FastVariantCodec.load_summary] does with the same
    /// [param limits].
    #[func(gd_self)]
    fn load_summary(
        this: Gd<Self>,
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.load_summary", || {
            let _held = this;
            load_summary(&path, &class_limits(limits))
        })
    }

    /// Encodes [param value] immediately, and replaces the file at [param path] in the background, as [method save] does
    /// with the same [param summary]. You may change the value as soon as the call returns. Otherwise works like
    /// [method FastVariantCodec.save_batch_async].
    #[func(gd_self)]
    fn save_async(
        this: Gd<Self>,
        path: GString,
        value: Variant,
        #[opt(default = DictionaryOrEmpty::empty())] summary: DictionaryOrEmpty,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantClasses.save_async", || {
            let chunks = || Self::saved(&this, &value, summary);
            write_later("FastVariantClasses.save_async", &path, Holds::Value, chunks, files::replace)
        })
    }

    /// Encodes each element of [param values], an Array, and replaces the file at [param path] with the records, as
    /// [method FastVariantCodec.save_batch] does. If a value cannot be encoded, or an object is in two of them, returns an
    /// error and leaves the file unchanged: records are read one by one, so two objects would be read. To keep one object,
    /// save a single value that contains both values.
    #[func(gd_self)]
    fn save_batch(this: Gd<Self>, path: GString, values: AnyArray) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.save_batch", || {
            let frame = || Self::framed(&this, &values);
            write("FastVariantClasses.save_batch", &path, Holds::Records(values.len()), frame, files::replace)
        })
    }

    /// Encodes each element of [param values], an Array, and appends the records to the file at [param path], as
    /// [method FastVariantCodec.append_batch] does. If [method save_batch] would refuse the values, returns an error
    /// and leaves the file unchanged.
    #[func(gd_self)]
    fn append_batch(this: Gd<Self>, path: GString, values: AnyArray) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.append_batch", || {
            let frame = || Self::framed(&this, &values);
            write(
                "FastVariantClasses.append_batch",
                &path,
                Holds::Records(values.len()),
                frame,
                files::append,
            )
        })
    }

    /// Decodes all records of the file at [param path], as written by [method save_batch] or
    /// [method append_batch]. Otherwise works like [method FastVariantCodec.load_batch] and [method decode]
    /// with the same [param limits].
    #[func(gd_self)]
    fn load_batch(
        this: Gd<Self>,
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.load_batch", || {
            let (registry, limits) = (Self::registry(&this), class_limits(limits));
            FastVariantResult::of(load(&path, &limits, |bytes| registered::unpack(bytes, &limits, &registry)))
        })
    }

    /// Loads the file at [param path] as [method load_batch] does with the same [param limits], in the background, after
    /// saves started earlier. The main thread decodes the records one by one, in slices of at most 2 ms per frame, and
    /// at least one record in each. If you start the job on another thread, it is done when the call returns.
    #[func(gd_self)]
    fn load_batch_async(
        this: Gd<Self>,
        path: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantJob> {
        guard("FastVariantClasses.load_batch_async", || {
            let (registry, limits) = (Self::registry(&this), class_limits(limits));
            job_class::start(if is_main_thread() {
                Job::load_registered(&path, limits, registry)
            } else {
                Job::done(load(&path, &limits, |bytes| registered::unpack(bytes, &limits, &registry)))
            })
        })
    }

    /// Encodes each element of [param values], an Array, immediately, and replaces the file at [param path] in the
    /// background, as [method FastVariantCodec.save_batch_async] does. If [method save_batch] would refuse the values,
    /// the job fails.
    #[func(gd_self)]
    fn save_batch_async(this: Gd<Self>, path: GString, values: AnyArray) -> Gd<FastVariantJob> {
        guard("FastVariantClasses.save_batch_async", || {
            let frame = || Self::framed(&this, &values);
            write_later(
                "FastVariantClasses.save_batch_async",
                &path,
                Holds::Records(values.len()),
                frame,
                files::replace,
            )
        })
    }

    /// Returns the plain containers that [method encode] writes for [param value], for use with RPCs or
    /// [MultiplayerSynchronizer]. If the value cannot be encoded, prints one error and returns [code]null[/code].
    #[func(gd_self)]
    fn to_plain(this: Gd<Self>, value: Variant) -> Variant {
        guard("FastVariantClasses.to_plain", || {
            let plain = value::encode_registered(&value, &Self::registry(&this)).and_then(|bytes| {
                let (input, limits) = (Input::Owned(bytes), Limits::unlimited());
                Decoding::strict(&limits).decode_input(&input).map(|built| built.into_value())
            });
            plain.unwrap_or_else(|error| {
                report::failure("FastVariantClasses.to_plain", &error);
                Variant::nil()
            })
        })
    }

    /// Returns the value that the containers in [param plain] stand for, within [param limits]; the inverse of
    /// [method to_plain]. If there is none, prints one error with the path, and returns [code]null[/code]; see [method try_from_plain].
    #[func(gd_self)]
    fn from_plain(
        this: Gd<Self>,
        plain: Variant,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Variant {
        guard("FastVariantClasses.from_plain", || {
            value_of("FastVariantClasses.from_plain", Self::read_plain(&this, &plain, &class_limits(limits)))
        })
    }

    /// Returns the value for [param plain] as [method from_plain] does, or an error. Prints nothing. [param limits] are
    /// as in [method try_decode].
    #[func(gd_self)]
    fn try_from_plain(
        this: Gd<Self>,
        plain: Variant,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.try_from_plain", || {
            result(Self::read_plain(&this, &plain, &class_limits(limits)))
        })
    }

    /// Returns [param value] as JSON, which loses nothing: ints, floats, vectors, packed arrays and keys of any type come
    /// back as they were. A value of a type that JSON lacks is an object with one entry, named after the type:
    /// [code]{"Vector2":[1.0,2.0]}[/code]; [code]docs/gdvar.md[/code] lists all forms. If the value cannot be encoded,
    /// or nests more than about 100 levels deep, prints one error and returns an empty String.
    ///
    /// The entries of an object keep their order. [method from_json] needs [code]"@class"[/code] to come first, so use no
    /// tool that sorts them.
    #[func(gd_self)]
    fn to_json(this: Gd<Self>, value: Variant) -> GString {
        guard("FastVariantClasses.to_json", || {
            let bytes = value::encode_registered(&value, &Self::registry(&this));
            let json = bytes.and_then(|bytes| json::to_json(bytes.as_slice()));
            json.map_or_else(
                |error| {
                    report::failure("FastVariantClasses.to_json", &error.without_offset());
                    GString::new()
                },
                |json| GString::from(&json),
            )
        })
    }

    /// Returns the value for the JSON in [param text], as written by [method to_json] or by hand, within [param limits]. If
    /// there is none, prints
    /// one error with the path, and returns [code]null[/code]; see [method try_from_json].
    #[func(gd_self)]
    fn from_json(
        this: Gd<Self>,
        text: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Variant {
        guard("FastVariantClasses.from_json", || {
            value_of("FastVariantClasses.from_json", Self::read_json(&this, &text, &class_limits(limits)))
        })
    }

    /// Returns the value for the JSON in [param text] as [method from_json] does, or an error. Prints nothing.
    /// [param limits] are as in [method try_decode].
    #[func(gd_self)]
    fn try_from_json(
        this: Gd<Self>,
        text: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.try_from_json", || {
            result(Self::read_json(&this, &text, &class_limits(limits)))
        })
    }
}

impl FastVariantClasses {
    /// The file for a value.
    fn saved(this: &Gd<Self>, value: &Variant, summary: DictionaryOrEmpty) -> Result<Vec<Chunk>> {
        let compress = this.bind().compresses.load(Ordering::Relaxed);
        let value = value::encode_registered(value, &Self::registry(this))?;
        saves::chunks(&summary.get().to_variant(), value, compress)
    }

    /// The records of a batch.
    fn framed(this: &Gd<Self>, values: &AnyArray) -> std::result::Result<Vec<Vec<u8>>, Failed> {
        let compress = this.bind().compresses.load(Ordering::Relaxed);
        registered::frame(values, &Self::registry(this), compress)
    }

    fn registry(this: &Gd<Self>) -> Arc<Registry> {
        Arc::clone(&lock(&this.bind().registry))
    }

    /// Reads a value, or an object into `target`. Returns the value and the end of its bytes.
    fn read(
        this: &Gd<Self>,
        bytes: PackedByteArray,
        limits: &Limits,
        target: Option<HeldObject>,
    ) -> Result<(Variant, usize)> {
        let (len, input, registry) = (bytes.len(), Input::Owned(bytes), Self::registry(this));
        let (built, end) = Decoding::strict(limits).decode_registered(&input, 0..len, &registry, target)?;
        Ok((built.into_value(), end))
    }

    fn read_into(
        this: &Gd<Self>,
        target: Option<Gd<Object>>,
        bytes: PackedByteArray,
        limits: &Limits,
    ) -> Result<(Variant, usize)> {
        Self::read(this, bytes, limits, Some(Self::target(target)?))
    }

    fn target(target: Option<Gd<Object>>) -> Result<HeldObject> {
        let target = HeldObject::of(target.to_variant());
        target.ok_or_else(|| Error::argument("target: expected an object, found null"))
    }

    // The caller has never seen the bytes in between, so an offset has no meaning.
    fn read_plain(this: &Gd<Self>, plain: &Variant, limits: &Limits) -> Result<(Variant, usize)> {
        let bytes = value::encode(plain, Objects::Refused, true);
        bytes.and_then(|bytes| Self::read(this, bytes, limits, None)).map_err(Error::without_offset)
    }

    fn read_json(this: &Gd<Self>, text: &GString, limits: &Limits) -> Result<(Variant, usize)> {
        let bytes = json::from_json(&engine::text_of(text), limits);
        bytes.and_then(|bytes| Self::read(this, bytes, limits, None)).map_err(Error::without_offset)
    }
}

/// Loads a save whose objects are of registered classes, into `target` if given.
fn load_registered(
    path: &GString,
    limits: &Limits,
    registry: &Arc<Registry>,
    target: Option<HeldObject>,
) -> Outcome {
    load_value(path, limits, |input, part| {
        Decoding::strict(limits).decode_registered(input, part, registry, target).map(|(built, _)| built)
    })
}

/// The limits, without objects in the engine's format.
fn class_limits(limits: OptionalLimits) -> Limits {
    Limits { allow_objects: false, ..strict_limits(limits) }
}

fn result(read: Result<(Variant, usize)>) -> Gd<FastVariantResult> {
    match read {
        Ok((value, end)) => FastVariantResult::decoded(value, 0, end),
        Err(error) => FastVariantResult::failed(&error),
    }
}

/// The value that was read. Prints an error.
fn value_of(method: &str, read: Result<(Variant, usize)>) -> Variant {
    read.map_or_else(
        |error| {
            report::failure(method, &error);
            Variant::nil()
        },
        |(value, _)| value,
    )
}
