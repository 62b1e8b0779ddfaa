//! Errors and warnings about objects that would lose their contents. Warnings are collected while a value is encoded and
//! printed afterwards, because printing runs scripts.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use variant_codec::sync::lock;

use godot::builtin::Variant;
use godot::classes::{Object, Resource, Script};
use godot::obj::Gd;
use variant_codec::Error;
use variant_codec::error::quoted;
use variant_codec::format::ENCODED_OBJECT_AS_ID;
use variant_engine::{class_name, is_debug_build};

use crate::objects::labels::{label, script_label};
use crate::objects::scripts::file_of;

/// Limit on the objects that are examined in a run of the game.
const MOST_OBJECTS: usize = 10_000;

static LEFT: AtomicUsize = AtomicUsize::new(MOST_OBJECTS);
static ARE_NOTED: AtomicBool = AtomicBool::new(false);
static NOTES: Mutex<Notes> = Mutex::new(Notes { known: None, new: Vec::new() });

struct Notes {
    /// All warnings of this run of the game.
    known: Option<HashSet<String>>,
    new: Vec<String>,
}

/// The error of an object that no reader could find by its id.
#[cold]
pub fn refused(object: &Variant) -> Error {
    let Ok(object) = object.try_to::<Gd<Object>>() else {
        return Error::object("an object was freed by another thread during the call");
    };
    let file = object.clone().try_cast::<Resource>().ok().as_ref().and_then(file_of);
    let (label, has_script) = (label(&object), object.get_script().is_some());
    let advice = match file {
        _ if is_lost(&object) => return lost(),
        Some(file) => format!("save its path {}, or use `FastVariantClasses.allow_resources`", quoted(&file)),
        None if has_script => "register its class with FastVariantClasses".into(),
        None => {
            "save the properties that you need, or pass `full_objects`, and load with `allow_objects` and `allowed_classes`".into()
        }
    };
    Error::object(format!(
        "{label} would be written only as an instance id, which has no meaning to a reader; {advice}"
    ))
}

/// Whether an object stands for one that was saved only by its instance id.
pub fn is_lost(object: &Gd<Object>) -> bool {
    class_name(object) == ENCODED_OBJECT_AS_ID
}

/// The error of an object that an earlier save has lost.
#[cold]
pub fn lost() -> Error {
    Error::object(
        "an object that was saved only by its instance id (EncodedObjectAsID) is lost; set `lost_objects_as_null` when you load the save, or put null in its place",
    )
}

/// Adds a warning for a class whose objects have files, but are written as copies.
#[cold]
pub fn note_copy(class: &str) {
    if is_debug_build() {
        note(format!(
            "objects of class {} that have a file, such as .tres, are saved as copies of it; to save references, call `allow_resources` with their folder and class",
            quoted(class)
        ));
    }
}

/// Adds a warning for the script of an object that is written only as an instance id.
#[cold]
pub fn note_id(object: &Variant) {
    let may_look =
        || LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
    if !is_debug_build() || !may_look() {
        return;
    }
    let script = object.try_to::<Gd<Object>>().ok().and_then(|object| object.get_script());
    if let Some(script) = script {
        note(format!(
            "{} is written only as an instance id, which has no meaning to a reader; register its class with FastVariantClasses",
            script_label(&script)
        ));
    }
}

/// Adds a warning for a script that stores none of its variables.
pub fn note_empty(script: &Gd<Script>) {
    if is_debug_build() {
        note(format!(
            "{} stores none of its variables; mark them with @export_storage, or register it with FastVariantClasses",
            script_label(script)
        ));
    }
}

fn note(note: String) {
    let mut notes = lock(&NOTES);
    if notes.known.get_or_insert_default().insert(note.clone()) {
        notes.new.push(note);
        ARE_NOTED.store(true, Ordering::Relaxed);
    }
}

/// Whether there are warnings to print.
#[inline(always)]
pub fn are_noted() -> bool {
    ARE_NOTED.load(Ordering::Relaxed)
}

/// Takes the warnings to print.
#[cold]
pub fn take() -> Vec<String> {
    ARE_NOTED.store(false, Ordering::Relaxed);
    std::mem::take(&mut lock(&NOTES).new)
}
