## The base of all suites: the counter, the table of values, the options of the run.
##
## Every method whose name begins with `test_` runs, in the order of the file, and may wait for frames. It returns true
## on its last line. If a script error aborts a test, the test returns nothing, and so fails. A test with "thread" in
## its name does not run in an engine without threads.
extends RefCounted

const Checks := preload("res://suites/checks.gd")
const Compare := preload("res://suites/compare.gd")
const Oracle := preload("res://suites/oracle.gd")
const Values := preload("res://suites/values.gd")
const Wire := preload("res://suites/wire.gd")

var checks: Checks
var values: Values
var run_seed: int
var random_count: int


func all_tests() -> PackedStringArray:
	var names := PackedStringArray()
	for method in (get_script() as Script).get_script_method_list():
		var method_name: String = method["name"]
		if method_name.begins_with("test_") and (has_threads() or not "thread" in method_name):
			names.append(method_name)
	return names


## Returns whether jobs run on the main thread. This is the default on the web, where the library starts no
## threads.
static func has_jobs_on_main_thread() -> bool:
	return OS.get_name() == "Web" and FastVariantInspector.get_engine_report()["threads"] == 1


## Returns whether the engine has threads; some web games have none.
static func has_threads() -> bool:
	return OS.has_feature("threads")


## A separate generator for every test, so that a test's length does not change another test's input.
func seeded(salt: String) -> RandomNumberGenerator:
	var generator := RandomNumberGenerator.new()
	generator.seed = hash([run_seed, salt])
	return generator


static func with_objects() -> FastVariantLimits:
	var limits := FastVariantLimits.for_save_files()
	limits.allow_objects = true
	return limits


static func buffers_of(items: Array) -> Array[PackedByteArray]:
	var buffers: Array[PackedByteArray] = []
	for item: Variant in items:
		buffers.append(var_to_bytes(item))
	return buffers


static func object_count() -> int:
	return roundi(Performance.get_monitor(Performance.OBJECT_COUNT))


func next_frame() -> void:
	await (Engine.get_main_loop() as SceneTree).process_frame
