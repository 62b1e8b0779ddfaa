//! What users may choose: in the project settings, or in the environment, which wins.

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
