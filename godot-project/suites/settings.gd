## Tests project settings. `cargo xtask test` runs this in a copy of the project with settings. It also falsifies a
## fact about engine memory, and portable access must ignore that.
extends SceneTree

const Checks := preload("res://suites/checks.gd")
const Extension := preload("res://suites/extension.gd")

## The copied project sets the number of threads to one, and to three under a feature tag that this engine has.
const THREADS := "fast_variant_codec/threads"
const OWN_THREADS := 3
const THRESHOLD := 1000


func _initialize() -> void:
	quit(1)  # The exit code if a script error ends this function early.
	if not Extension.is_loaded():
		return
	var checks := Checks.new()
	checks.begin_test("settings")
	checks.same_value("threads", OWN_THREADS, ProjectSettings.get_setting_with_override(THREADS))
	checks.same_value("their default", 0, ProjectSettings.property_get_revert(THREADS))
	checks.same_value("threshold", THRESHOLD, ProjectSettings.get_setting("fast_variant_codec/parallel_threshold_bytes"))
	checks.same_value("access path", "portable", ProjectSettings.get_setting("fast_variant_codec/access_path"))
	var report := FastVariantInspector.get_engine_report()
	checks.same_value("access path in use", "portable", report["access_path"])
	checks.truth("what asked for it", report["access_reason"].contains("project setting fast_variant_codec/access_path"))
	checks.truth("nothing failed", report["failed_facts"].is_empty())
	checks.same_int("threads in use", OWN_THREADS, report["threads"])
	checks.same_int("threshold in use", THRESHOLD, report["parallel_threshold_bytes"])
	_decode(checks, THRESHOLD / 2)
	if OS.get_name() == "Linux":
		checks.same_int("threads below the threshold", 0, _own_threads())
	_decode(checks, THRESHOLD * 2)
	if OS.get_name() == "Linux":
		_wait_for_names()
		checks.same_int("threads above it, beside the calling one", OWN_THREADS - 1, _own_threads())
	print("%d passed, %d failed" % [checks.passed, checks.failed])
	quit(0 if checks.failed == 0 else 1)


func _decode(checks: Checks, size: int) -> void:
	var strings: Array = range(size / 12).map(str)
	checks.same_value("about %d bytes" % size, strings, FastVariantCodec.decode(var_to_bytes(strings)))


## Waits until the extension's threads have their names. A thread sets its name some time after it starts.
func _wait_for_names() -> void:
	for attempt in 500:
		if _own_threads() >= OWN_THREADS - 1:
			return
		OS.delay_msec(10)


## The number of threads of this process with the extension's name, which the system truncates.
func _own_threads() -> int:
	var count := 0
	for thread in DirAccess.get_directories_at("/proc/self/task"):
		var file := FileAccess.open("/proc/self/task/%s/comm" % thread, FileAccess.READ)
		if file and file.get_line().begins_with("FastVariantCod"):
			count += 1
	return count
