//! The class FastVariantClasses: objects of registered classes as plain data.

use std::sync::{Arc, Mutex};

use godot::builtin::{GString, PackedByteArray, PackedStringArray, Variant};
use godot::classes::{IRefCounted, Object, Script};
use godot::global::Error as Code;
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot::prelude::{AnyArray, GodotClass, godot_api};
use variant_codec::sync::lock;
use variant_codec::{Error, Limits, Result};
use variant_engine::{self as engine, DictionaryOrEmpty, HeldObject};

use super::arguments::{OptionalLimits, strict_limits};
use super::file_calls::{code_of, load, write, written};
use super::guard::guard;
use super::job_class::{self, FastVariantJob};
use super::result_class::FastVariantResult;
use super::{report, summary};
use crate::files;
use crate::jobs::Job;
use crate::json;
use variant_live::batch::registered;
use variant_live::classes::class::Class;
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
///     classes.register(Hero, {"name": "Hero"})
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
/// runs the [code]upgrade[/code] functions, the setters, and the [code]_loaded()[/code] methods that classes have.
/// Because scripts run, the calling thread does all the work; call the methods on the main thread if your scripts need
/// it.
#[derive(GodotClass)]
#[class(tool, init, base=RefCounted)]
pub struct FastVariantClasses {
    /// The registered classes. Adding a class copies the registry if calls are using it, so each call keeps the
    /// registry that it started with.
    registry: Mutex<Arc<Registry>>,
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

#[godot_api]
impl FastVariantClasses {
    /// Registers the class of [param script], a script of this project such as [code]Hero[/code] or an inner class.
    ///
    /// The keys of [param options]:
    /// [br]- [code]name[/code]: the name in the data; the default is the script's [code]class_name[/code]. Never change
    /// it while data exists. You may still move and rename the script;
    /// [br]- [code]properties[/code]: an Array with the names of the properties to write; the default is all variables
    /// of the script and of the scripts that it extends. Native properties, such as [code]position[/code], are written
    /// only if listed;
    /// [br]- [code]version[/code]: the version of the class, at least 1; the default is 1;
    /// [br]- [code]upgrade[/code]: a Callable that takes a Dictionary with the data of an earlier version,
    /// and the number of that version; it returns the Dictionary for the current version;
    /// [br]- [code]renamed[/code]: a Dictionary from former to current names of properties; former names are read in
    /// data of any version;
    /// [br]- [code]create[/code]: a Callable that returns a new object, for classes whose [code]_init[/code]
    /// needs arguments;
    /// [br]- [code]keep_unknown[/code]: whether to keep properties that are in the data but not in the class,
    /// and to write them back, instead of failing. The Dictionary [code]_fast_variant_unknown[/code] in the
    /// object's metadata holds them.
    ///
    /// The variables are those at the time of this call. If a script is reloaded while the game runs, register it
    /// with a new [FastVariantClasses].
    ///
    /// If the class cannot be registered, prints one error and returns an error code.
    // `this` keeps the object alive, here and in all methods: scripts run and may drop the last other
    // reference.
    #[func(gd_self)]
    fn register(
        this: Gd<Self>,
        script: Option<Gd<Script>>,
        #[opt(default = DictionaryOrEmpty::empty())] options: DictionaryOrEmpty,
    ) -> Code {
        guard("FastVariantClasses.register", || {
            let registered = script.ok_or_else(|| Error::argument("script: expected a Script, found null"));
            let registered = registered.and_then(|script| Class::of(script, options.get()));
            let added =
                registered.and_then(|class| Arc::make_mut(&mut *lock(&this.bind().registry)).add(class));
            code("FastVariantClasses.register", added)
        })
    }

    /// Allows references to resources in the project's folder [param folder] whose class is one of
    /// [param types] or extends one of them. [param types] are the names of native classes and the
    /// [code]class_name[/code]s of scripts.
    ///
    /// Encoding writes the UID and path of an allowed resource instead of its contents; decoding loads the
    /// resource. Other resources are ordinary objects: their class must be registered.
    #[func(gd_self)]
    fn allow_resources(this: Gd<Self>, folder: GString, types: PackedStringArray) -> Code {
        guard("FastVariantClasses.allow_resources", || {
            let types = types.as_slice().iter().map(engine::text_of).collect();
            let folder = Folder::of(&engine::text_of(&folder), types);
            let added =
                folder.map(|folder| Arc::make_mut(&mut *lock(&this.bind().registry)).add_folder(folder));
            code("FastVariantClasses.allow_resources", added)
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
            value::encode_registered(&value, &Self::registry(&this)).unwrap_or_else(|error| {
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

    /// Decodes a value strictly from [param bytes], as written by [method encode]. Prints nothing. The
    /// default [param limits] are [method FastVariantLimits.for_save_files]. Objects in the engine's own
    /// format are refused, whatever the limits allow.
    #[func(gd_self)]
    fn decode(
        this: Gd<Self>,
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.decode", || {
            result(Self::decoded(&Self::registry(&this), bytes, &class_limits(limits), None))
        })
    }

    /// Decodes an object from [param bytes] into [param target], which takes the place of the outermost
    /// object of the data and must have the same class. Properties that the data lacks keep their values.
    /// After an error in a setter, some properties may already be set. Otherwise works like [method decode]
    /// with the same [param limits].
    #[func(gd_self)]
    fn decode_into(
        this: Gd<Self>,
        target: Option<Gd<Object>>,
        bytes: PackedByteArray,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.decode_into", || {
            let target = HeldObject::of(target.to_variant());
            let target = target.ok_or_else(|| Error::argument("target: expected an object, found null"));
            result(target.and_then(|target| {
                Self::decoded(&Self::registry(&this), bytes, &class_limits(limits), Some(target))
            }))
        })
    }

    /// Encodes each element of [param values], an Array, and replaces the file at [param path] with the records, as
    /// [method FastVariantCodec.save_batch] does. If a value cannot be encoded, or an object is in two of them, returns an
    /// error and leaves the file unchanged: records are read one by one, so two objects would be read. To keep one object,
    /// save a single value that contains both values.
    #[func(gd_self)]
    fn save_batch(this: Gd<Self>, path: GString, values: AnyArray) -> Code {
        guard("FastVariantClasses.save_batch", || {
            let frame = || registered::frame(&values, &Self::registry(&this));
            code_of("FastVariantClasses.save_batch", write(&path, frame, files::replace))
        })
    }

    /// Replaces the file at [param path] as [method save_batch] does with the same [param values], and
    /// returns the reason if it fails. Prints nothing.
    #[func(gd_self)]
    fn try_save_batch(this: Gd<Self>, path: GString, values: AnyArray) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.try_save_batch", || {
            written(write(&path, || registered::frame(&values, &Self::registry(&this)), files::replace))
        })
    }

    /// Encodes each element of [param values], an Array, and appends the records to the file at [param path], as
    /// [method FastVariantCodec.append_batch] does. If [method save_batch] would refuse the values, returns an error
    /// and leaves the file unchanged.
    #[func(gd_self)]
    fn append_batch(this: Gd<Self>, path: GString, values: AnyArray) -> Code {
        guard("FastVariantClasses.append_batch", || {
            let frame = || registered::frame(&values, &Self::registry(&this));
            code_of("FastVariantClasses.append_batch", write(&path, frame, files::append))
        })
    }

    /// Appends to the file at [param path] as [method append_batch] does with the same [param values], and
    /// returns the reason if it fails. Prints nothing.
    #[func(gd_self)]
    fn try_append_batch(this: Gd<Self>, path: GString, values: AnyArray) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.try_append_batch", || {
            written(write(&path, || registered::frame(&values, &Self::registry(&this)), files::append))
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
            load(&path, &limits, |bytes| registered::unpack(bytes, &limits, &registry))
        })
    }

    /// Encodes each element of [param values], an Array, immediately, and replaces the file at [param path] in the
    /// background, as [method FastVariantCodec.save_batch_async] does. If [method save_batch] would refuse the values,
    /// the job fails. Prints nothing.
    ///
    /// To load in the background, use [method FastVariantCodec.load_batch_async], and pass each element of the
    /// result's value to [method from_plain].
    #[func(gd_self)]
    fn save_batch_async(this: Gd<Self>, path: GString, values: AnyArray) -> Gd<FastVariantJob> {
        guard("FastVariantClasses.save_batch_async", || {
            let frame = || registered::frame(&values, &Self::registry(&this));
            job_class::start(Job::save(&path, values.len(), frame))
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

    /// Returns the value that the containers in [param plain] stand for, as [method decode] does with the same
    /// [param limits]. The inverse of [method to_plain].
    #[func(gd_self)]
    fn from_plain(
        this: Gd<Self>,
        plain: Variant,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.from_plain", || {
            let read = value::encode(&plain, Objects::Refused, true)
                .and_then(|bytes| Self::decoded(&Self::registry(&this), bytes, &class_limits(limits), None));
            // The caller has never seen the bytes, so an offset has no meaning.
            result(read.map_err(Error::without_offset))
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

    /// Returns the value for the JSON in [param text], as written by [method to_json] or by hand. Prints nothing. Checks the
    /// data as [method decode] does with the same [param limits].
    #[func(gd_self)]
    fn from_json(
        this: Gd<Self>,
        text: GString,
        #[opt(default = OptionalLimits::NULL)] limits: OptionalLimits,
    ) -> Gd<FastVariantResult> {
        guard("FastVariantClasses.from_json", || {
            let limits = class_limits(limits);
            let read = json::from_json(&engine::text_of(&text), &limits)
                .and_then(|bytes| Self::decoded(&Self::registry(&this), bytes, &limits, None));
            result(read.map_err(Error::without_offset))
        })
    }
}

impl FastVariantClasses {
    fn registry(this: &Gd<Self>) -> Arc<Registry> {
        Arc::clone(&lock(&this.bind().registry))
    }

    fn decoded(
        registry: &Arc<Registry>,
        bytes: PackedByteArray,
        limits: &Limits,
        target: Option<HeldObject>,
    ) -> Result<Gd<FastVariantResult>> {
        let (len, input) = (bytes.len(), Input::Owned(bytes));
        let (built, end) = Decoding::strict(limits).decode_registered(&input, 0..len, registry, target)?;
        Ok(FastVariantResult::decoded(built.into_value(), 0, end))
    }
}

/// The limits, without objects in the engine's format.
fn class_limits(limits: OptionalLimits) -> Limits {
    Limits { allow_objects: false, ..strict_limits(limits) }
}

fn result(read: Result<Gd<FastVariantResult>>) -> Gd<FastVariantResult> {
    read.unwrap_or_else(|error| FastVariantResult::failed(&error))
}

fn code(method: &str, added: Result<()>) -> Code {
    match added {
        Ok(()) => Code::OK,
        Err(error) => {
            report::failure(method, &error);
            Code::ERR_INVALID_PARAMETER
        }
    }
}
