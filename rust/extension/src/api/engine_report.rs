//! Versions, settings and the access path, for bug reports.

use godot::builtin::{GString, PackedStringArray};
use godot::classes::{Engine, Os};
use godot::obj::Singleton;
use godot::prelude::VarDictionary;
use variant_codec::stream::Precision;
use variant_engine::{Findings, PRECISION, findings};

use variant_live::settings;
use variant_live::threads::pool;

/// The report, with the keys in the help of `FastVariantInspector.get_engine_report`.
pub fn report() -> VarDictionary {
    let found = findings();
    let os = Os::singleton();
    let mut offsets = VarDictionary::new();
    for (fact, offset) in found.offsets() {
        offsets.set(fact, offset as i64);
    }
    let mut report = VarDictionary::new();
    report.set("addon_version", env!("CARGO_PKG_VERSION"));
    report.set("engine_version", &Engine::singleton().get_version_info().get("string").unwrap_or_default());
    report.set("engine_build", if os.is_debug_build() { "debug" } else { "release" });
    report.set("platform", format!("{} {}", os.get_name(), Engine::singleton().get_architecture_name()));
    report.set("precision", if PRECISION == Precision::Double { "double" } else { "single" });
    report.set("threads", pool::width() as i64);
    report.set("parallel_threshold_bytes", settings::parallel_threshold() as i64);
    report.set("access_path", if found.is_direct() { "direct" } else { "portable" });
    report.set("access_reason", reason(&found));
    report.set("offsets", &offsets);
    report.set("failed_facts", &found.failed.into_iter().map(GString::from).collect::<PackedStringArray>());
    report
}

fn reason(found: &Findings) -> String {
    if let Some(fact) = found.failed {
        return format!("unexpected memory layout in this engine: {fact}");
    }
    if found.is_direct() {
        return "memory layout verified at start-up".to_owned();
    }
    match settings::portable_access() {
        Some(wanted) => format!("requested by {wanted}"),
        None => "direct access needs a 64-bit engine".to_owned(),
    }
}
