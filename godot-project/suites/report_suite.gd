## Tests the result of get_engine_report. `cargo xtask test` also runs this suite with each fact about engine
## memory falsified.
extends "res://suites/suite.gd"

const WRONG_FACT := "FAST_VARIANT_CODEC_WRONG_FACT"
const ACCESS := "FAST_VARIANT_CODEC_ACCESS"
const THREADS := "FAST_VARIANT_CODEC_THREADS"
const THRESHOLD := "FAST_VARIANT_CODEC_PARALLEL_THRESHOLD_BYTES"

const KEYS: PackedStringArray = [
	"addon_version", "engine_version", "engine_build", "platform", "precision", "threads", "parallel_threshold_bytes",
	"access_path", "access_reason", "offsets", "failed_facts",
]
## This constant and the next two list the facts about engine memory that are verified at start-up, each with
## words from the message of its failure. Facts with an offset come first, in the order of the report.
const OFFSETS: Dictionary[String, String] = {
	"array_elements": "of an Array", "array_type": "of an Array", "packed_elements": "of a packed array",
	"count": "units of a String", "name_text": "of a StringName", "dictionary_first": "of a Dictionary",
	"dictionary_size": "of a Dictionary", "dictionary_key_type": "of a Dictionary",
	"dictionary_value_type": "of a Dictionary",
}
## The engine's memory behaviour, measured before the offsets. If one of these facts fails, no threads are used.
const BEHAVIOUR: Dictionary[String, String] = {"own_buffers": "buffer"}
## Facts measured after the offsets.
const NEW_ELEMENTS: Dictionary[String, String] = {"new_elements": "of a new Array"}


static func facts() -> Dictionary[String, String]:
	var all: Dictionary[String, String] = {}
	for some: Dictionary in [OFFSETS, BEHAVIOUR, NEW_ELEMENTS]:
		all.merge(some)
	return all


func test_what_runs_here() -> bool:
	checks.subject(checks.MIXED, "engine report")
	var report := FastVariantInspector.get_engine_report()
	checks.same_value("keys", Array(KEYS), report.keys())
	# Exported games do not contain the plugin's file.
	if OS.has_feature("editor"):
		var plugin := ConfigFile.new()
		checks.same_int("the plugin's file", OK, plugin.load("res://addons/fast_variant_codec/plugin.cfg"))
		checks.same_value("addon", plugin.get_value("plugin", "version"), report["addon_version"])
	checks.same_value("engine", Engine.get_version_info()["string"], report["engine_version"])
	checks.same_value("build", "debug" if OS.is_debug_build() else "release", report["engine_build"])
	checks.same_value("platform", "%s %s" % [OS.get_name(), Engine.get_architecture_name()], report["platform"])
	# In double precision, a component has 8 bytes.
	checks.same_value("precision", "double" if var_to_bytes(Vector2(0.1, 0)).size() > 12 else "single", report["precision"])
	var threads := OS.get_environment(THREADS).to_int()
	var is_alone := OS.get_environment(WRONG_FACT) in BEHAVIOUR or OS.has_feature("web")
	checks.same_int("threads", 1 if is_alone else threads if threads > 0 else OS.get_processor_count(), report["threads"])
	var threshold := OS.get_environment(THRESHOLD)
	checks.same_int("threshold", int(threshold if threshold else str(1 << 18)), report["parallel_threshold_bytes"])
	return true


func test_access_path_in_use() -> bool:
	checks.subject(checks.MIXED, "access path in the report")
	var report := FastVariantInspector.get_engine_report()
	var wrong := OS.get_environment(WRONG_FACT)
	var is_wanted_portable := OS.get_environment(ACCESS) == "portable"
	var offsets: Dictionary = report["offsets"]
	if wrong:
		checks.same_value("access path with a wrong fact", "portable", report["access_path"])
		checks.same_int("facts that failed", 1, report["failed_facts"].size())
		checks.truth("what failed", report["failed_facts"][0].contains(facts()[wrong]), str(report["failed_facts"]))
		checks.truth("it is the reason", report["access_reason"].contains(report["failed_facts"][0]), report["access_reason"])
		checks.same_value("what was found", [] if wrong in BEHAVIOUR else Array(PackedStringArray(OFFSETS.keys())), offsets.keys())
	elif is_wanted_portable:
		checks.same_value("access path as it was asked for", "portable", report["access_path"])
		checks.truth("what asked", report["access_reason"].contains(ACCESS), report["access_reason"])
		checks.truth("nothing failed, nothing was looked for", report["failed_facts"].is_empty() and offsets.is_empty())
	elif not OS.has_feature("64"):
		checks.same_value("access path with 32-bit pointers", "portable", report["access_path"])
		checks.truth("why", report["access_reason"].contains("64-bit"), report["access_reason"])
		checks.truth("nothing failed, nothing was looked for", report["failed_facts"].is_empty() and offsets.is_empty())
	else:
		checks.same_value("access path where all holds", "direct", report["access_path"])
		checks.truth("all was verified", report["access_reason"].contains("verified"), report["access_reason"])
		checks.truth("nothing failed", report["failed_facts"].is_empty())
		checks.same_value("what was found", Array(PackedStringArray(OFFSETS.keys())), offsets.keys())
		for fact: String in offsets:
			checks.truth("%s lies in a small block" % fact, offsets[fact] in range(0, 120, 4), str(offsets[fact]))
	report["access_path"] = "changed"
	checks.truth("each report is one of its own", FastVariantInspector.get_engine_report()["access_path"] != "changed")
	return true
