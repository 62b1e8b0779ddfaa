//! What runs here and how engine memory is reached, for bug reports.

use godot::builtin::{GString, PackedStringArray};
use godot::classes::{Engine, Os};
use godot::obj::Singleton;
use godot::prelude::VarDictionary;
use variant_codec::stream::Precision;
use variant_engine::{Findings, PRECISION, findings};

use crate::settings;
use crate::threads::pool;

/// The report, under keys that `FastVariantCodec.get_engine_report` describes.
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

/// Why memory is reached as it is.
fn reason(found: &Findings) -> String {
    if let Some(fact) = found.failed {
        return format!("this engine keeps {fact} elsewhere than expected");
    }
    if found.is_direct() {
        return "engine memory was verified at start-up".to_owned();
    }
    match settings::portable_access() {
        Some(wanted) => format!("{wanted} asks for it"),
        None => "direct access needs a 64-bit engine".to_owned(),
    }
}
