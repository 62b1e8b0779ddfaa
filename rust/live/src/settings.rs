//! Settings: from the project settings, overridden by the environment.

use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};

use godot::builtin::{Variant, vdict};
use godot::classes::Engine;
use godot::meta::ToGodot;
use godot::obj::{EngineEnum, Singleton};
use godot::register::info::PropertyHint;
use variant_engine::Access;

const THREADS: &str = "fast_variant_codec/threads";
const PARALLEL_THRESHOLD_BYTES: &str = "fast_variant_codec/parallel_threshold_bytes";
const ACCESS_PATH: &str = "fast_variant_codec/access_path";
const ACCESS_VARIABLE: &str = "FAST_VARIANT_CODEC_ACCESS";

/// The default of [`parallel_threshold`], in bytes. Waking a thread takes about as long as decoding 64 KiB,
/// so another thread does not help with less than about four times that.
const DEFAULT_THRESHOLD: usize = 1 << 18;

/// Shows the settings in the editor's Project Settings. Sets defaults for those that the project does not
/// set; the editor does not store defaults.
pub fn register() {
    add(THREADS, 0, PropertyHint::RANGE, "0,256");
    let bytes = "0,16777216,1,or_greater,suffix:B";
    add(PARALLEL_THRESHOLD_BYTES, DEFAULT_THRESHOLD as i64, PropertyHint::RANGE, bytes);
    add(ACCESS_PATH, "automatic", PropertyHint::ENUM, "automatic,portable");
}

fn add(name: &str, default: impl ToGodot, hint: PropertyHint, choices: &str) {
    let (name, default) = (name.to_variant(), default.to_variant());
    if !project("has_setting", slice::from_ref(&name)).try_to().unwrap_or(false) {
        project("set_setting", &[name.clone(), default.clone()]);
    }
    project("set_initial_value", &[name.clone(), default.clone()]);
    let info = vdict! {
        "name" => &name, "type" => default.get_type().ord(), "hint" => hint.ord(), "hint_string" => choices,
    };
    project("add_property_info", &[info.to_variant()]);
    // Settings are read when the library starts.
    project("set_restart_if_changed", &[name, true.to_variant()]);
}

/// Calls a method of the engine's `ProjectSettings`. The `godot` crate has no class for it here; the comment
/// on `godot` in the workspace's Cargo.toml has the reason.
pub fn project(method: &str, arguments: &[Variant]) -> Variant {
    Engine::singleton()
        .get_singleton("ProjectSettings")
        .map_or_else(Variant::nil, |mut settings| settings.call(method, arguments))
}

/// The configured number of threads for a batch; 0 means the default.
pub fn threads() -> i64 {
    from_environment("FAST_VARIANT_CODEC_THREADS")
        .and_then(|text| text.parse().ok())
        .or_else(|| from_project(THREADS).try_to().ok())
        .unwrap_or(0)
}

/// The size in bytes from which a value or a batch is split among threads.
#[inline(always)]
pub fn parallel_threshold() -> usize {
    PARALLEL_THRESHOLD.load(Ordering::Relaxed)
}

static PARALLEL_THRESHOLD: AtomicUsize = AtomicUsize::new(DEFAULT_THRESHOLD);

/// Reads frequently used settings. Called once, at start-up.
pub fn load() {
    let threshold = from_environment("FAST_VARIANT_CODEC_PARALLEL_THRESHOLD_BYTES")
        .and_then(|text| text.parse().ok())
        .or_else(|| from_project(PARALLEL_THRESHOLD_BYTES).try_to::<i64>().ok())
        .and_then(|bytes| usize::try_from(bytes).ok());
    if let Some(threshold) = threshold {
        PARALLEL_THRESHOLD.store(threshold, Ordering::Relaxed);
    }
}

/// The setting that requests the portable access path, if any.
pub fn portable_access() -> Option<&'static str> {
    let (asked, by) = match from_environment(ACCESS_VARIABLE) {
        Some(asked) => (asked, "the environment variable FAST_VARIANT_CODEC_ACCESS"),
        None => (
            from_project(ACCESS_PATH).stringify().to_string(),
            "the project setting fast_variant_codec/access_path",
        ),
    };
    (asked == "portable").then_some(by)
}

/// The configured access to engine memory.
pub fn access() -> Access {
    let access = Access::new(portable_access().is_some());
    #[cfg(feature = "fault-injection")]
    let access = access.with_wrong_fact(from_environment("FAST_VARIANT_CODEC_WRONG_FACT"));
    access
}

/// The name of the code that panics on purpose, to test that no panic reaches a script.
#[cfg(feature = "fault-injection")]
pub fn fault() -> Option<String> {
    from_environment("FAST_VARIANT_CODEC_PANIC")
}

fn from_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A project setting, with overrides for platforms and other feature tags.
fn from_project(name: &str) -> Variant {
    project("get_setting_with_override", &[name.to_variant()])
}
