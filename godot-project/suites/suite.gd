## What all suites share: the counter, the table of values, the options of the run.
##
## Every method whose name begins with `test_` is run, in the order of the file. It returns true on its last line: a
## test that the engine aborts half-way (a script error) returns nothing and so counts as failed. It may wait for frames.
## A test with "thread" in its name is not run in an engine without threads.
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


## Whether jobs run on the main thread because the library starts no threads: the default on the web.
static func has_jobs_on_main_thread() -> bool:
	return OS.get_name() == "Web" and FastVariantCodec.get_engine_report()["threads"] == 1


## Whether the engine has threads; some games for the web have none.
static func has_threads() -> bool:
	return OS.has_feature("threads")


## A generator of its own for every test, so that one test's length does not change another's input.
func seeded(salt: String) -> RandomNumberGenerator:
	var generator := RandomNumberGenerator.new()
	generator.seed = hash([run_seed, salt])
	return generator


## The limits of save files, with objects.
static func with_objects() -> FastVariantLimits:
	var limits := FastVariantLimits.for_save_files()
	limits.allow_objects = true
	return limits


## What the engine encodes each value to.
static func buffers_of(items: Array) -> Array[PackedByteArray]:
	var buffers: Array[PackedByteArray] = []
	for item: Variant in items:
		buffers.append(var_to_bytes(item))
	return buffers


static func object_count() -> int:
	return roundi(Performance.get_monitor(Performance.OBJECT_COUNT))


func next_frame() -> void:
	await (Engine.get_main_loop() as SceneTree).process_frame
