//! What users may choose: in the project settings, or in the environment, which wins.

use std::sync::atomic::{AtomicUsize, Ordering};

use godot::builtin::Variant;
use godot::classes::ProjectSettings;
use godot::obj::Singleton;

/// How many threads work on a batch; 0 is one for each core.
pub fn threads() -> i64 {
    from_environment("FAST_VARIANT_CODEC_THREADS")
        .and_then(|text| text.parse().ok())
        .or_else(|| from_project("fast_variant_codec/threads")?.try_to().ok())
        .unwrap_or(0)
}

/// From how many bytes on a value or a batch is shared out to several threads.
#[inline(always)]
pub fn parallel_threshold() -> usize {
    PARALLEL_THRESHOLD.load(Ordering::Relaxed)
}

/// Measured: below it, waking another thread takes as long as it saves.
static PARALLEL_THRESHOLD: AtomicUsize = AtomicUsize::new(1 << 18);

/// Reads what is asked for often. Called once, at start-up.
pub fn load() {
    let threshold = from_environment("FAST_VARIANT_CODEC_PARALLEL_THRESHOLD_BYTES")
        .and_then(|text| text.parse().ok())
        .or_else(|| from_project("fast_variant_codec/parallel_threshold_bytes")?.try_to::<i64>().ok())
        .and_then(|bytes| usize::try_from(bytes).ok());
    if let Some(threshold) = threshold {
        PARALLEL_THRESHOLD.store(threshold, Ordering::Relaxed);
    }
}

/// Whether engine memory is reached only through documented functions.
pub fn access_is_portable() -> bool {
    from_environment("FAST_VARIANT_CODEC_ACCESS")
        .or_else(|| Some(from_project("fast_variant_codec/access_path")?.stringify().to_string()))
        .is_some_and(|access| access == "portable")
}

/// A fact about engine memory to get wrong on purpose, for the test that this is noticed.
pub fn wrong_fact() -> Option<String> {
    from_environment("FAST_VARIANT_CODEC_WRONG_FACT")
}

fn from_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn from_project(name: &str) -> Option<Variant> {
    let settings = ProjectSettings::singleton();
    settings.has_setting(name).then(|| settings.get_setting(name))
}
