## Runs the conformance suites: godot --headless --path godot-project --script res://suites/run.gd -- [options].
##
## --seed N|random   seed of the random values and mutations (default 20260101)
## --random N        number of random nested values (default 4000)
## --only A,B,…      runs only these suites; SUITES lists them
extends SceneTree

const Checks := preload("res://suites/checks.gd")
const Extension := preload("res://suites/extension.gd")
const Options := preload("res://suites/options.gd")
const Oracle := preload("res://suites/oracle.gd")
const Refusals := preload("res://suites/refusals.gd")
const Suite := preload("res://suites/suite.gd")
const Values := preload("res://suites/values.gd")

const DEFAULT_SEED := 20260101
const DEFAULT_RANDOM_COUNT := 4000
## The time limit of a test that waits for frames, in milliseconds.
const LONGEST_WAIT := 300000

const SUITES: Dictionary[String, GDScript] = {
	"surface": preload("res://suites/surface_suite.gd"),
	"report": preload("res://suites/report_suite.gd"),
	"values": preload("res://suites/value_suite.gd"),
	"rows": preload("res://suites/row_suite.gd"),
	"batches": preload("res://suites/batch_suite.gd"),
	"large": preload("res://suites/large_suite.gd"),
	"threads": preload("res://suites/thread_suite.gd"),
	"objects": preload("res://suites/object_suite.gd"),
	"classes": preload("res://suites/class_suite.gd"),
	"outlines": preload("res://suites/outline_suite.gd"),
	"files": preload("res://suites/file_suite.gd"),
	"saves": preload("res://suites/save_suite.gd"),
	"snapshots": preload("res://suites/snapshot_suite.gd"),
	"jobs": preload("res://suites/job_suite.gd"),
	"ownership": preload("res://suites/ownership_suite.gd"),
	"messages": preload("res://suites/message_suite.gd"),
	"dialects": preload("res://suites/dialect_suite.gd"),
	"conversions": preload("res://suites/conversion_suite.gd"),
	"limits": preload("res://suites/limit_suite.gd"),
	"hostile": preload("res://suites/hostile_suite.gd"),
	"views": preload("res://suites/view_suite.gd"),
	"patches": preload("res://suites/patch_suite.gd"),
	"random": preload("res://suites/random_suite.gd"),
}

var _seed := DEFAULT_SEED
var _random_count := DEFAULT_RANDOM_COUNT
var _only := PackedStringArray()
var _checks := Checks.new()
## The time of each suite in seconds.
var _seconds: Dictionary[String, float] = {}
## The exit code if a script error ends the run early.
var _exit_code := 1
## The test that may wait for frames now, and its deadline in milliseconds; empty if none may.
var _waiting := ""
var _waits_until := 0


func _initialize() -> void:
	_run()


func _process(_delta: float) -> bool:
	if _waiting.is_empty():
		# On the web, the engine cannot stop its audio before the second frame.
		if Engine.get_process_frames() > 1:
			quit(_exit_code)
	elif Time.get_ticks_msec() > _waits_until:
		printerr("%s timed out, or a script error stopped it" % _waiting)
		quit(1)
	return false


func _run() -> void:
	if not Extension.is_loaded():
		return
	if not _read_options():
		_exit_code = 2
		return
	print("FastVariantCodec conformance on Godot %s, seed %d, %d random values" % [
		Engine.get_version_info()["string"], _seed, _random_count,
	])
	var watch := _watch_errors()
	var values := Values.new()
	for suite_name in SUITES:
		if _only.is_empty() or suite_name in _only:
			await _run_suite(suite_name, values)
	values.release()
	_report(watch)
	_exit_code = 0 if _checks.failed == 0 else 1


func _read_options() -> bool:
	var options := {"seed": DEFAULT_SEED, "random": DEFAULT_RANDOM_COUNT, "only": ""}
	if not Options.read(options, get_script()):
		return false
	_seed = options["seed"]
	_random_count = options["random"]
	_only = options["only"].split(",", false)
	for suite_name in _only:
		if not SUITES.has(suite_name):
			printerr("unknown suite \"%s\"; expected one of %s" % [suite_name, ", ".join(SUITES.keys())])
			return false
	return true


## A logger that counts engine errors, if the engine supports it (4.5 and later).
func _watch_errors() -> RefCounted:
	if not ClassDB.class_exists(&"Logger"):
		return null
	var watch: RefCounted = load("res://suites/error_watch.gd").new()
	OS.call(&"add_logger", watch)
	return watch


func _run_suite(suite_name: String, values: Values) -> void:
	var suite: Suite = SUITES[suite_name].new()
	suite.checks = _checks
	suite.values = values
	suite.run_seed = _seed
	suite.random_count = _random_count
	print("\n%s" % suite_name)
	var began := Time.get_ticks_msec()
	for test in suite.all_tests():
		var started := Time.get_ticks_msec()
		var before := _checks.passed + _checks.failed
		_checks.begin_test("%s/%s" % [suite_name, test])
		_waiting = "%s/%s" % [suite_name, test]
		_waits_until = started + LONGEST_WAIT
		var reached_its_end: bool = await suite.call(test) == true
		_waiting = ""
		if not reached_its_end:
			_checks.subject(Checks.MIXED, test)
			_checks.fail("the test ended before its last line", "a script error stopped it; see the log")
		print("  %-46s %8d checks %7.2f s" % [
			test.trim_prefix("test_").replace("_", " "), _checks.passed + _checks.failed - before,
			(Time.get_ticks_msec() - started) / 1000.0,
		])
	_seconds[suite_name] = (Time.get_ticks_msec() - began) / 1000.0


func _report(watch: RefCounted) -> void:
	if watch:
		OS.call(&"remove_logger", watch)
		_checks.begin_test("log")
		var errors: PackedStringArray = watch.errors()
		_checks.truth("the run printed no engine or script error", errors.is_empty(),
				"%d errors, the first: %s" % [errors.size(), errors[0] if errors else ""])
	if _only.is_empty():
		_checks.begin_test("coverage")
		_checks.truth("every Variant type is covered", _checks.covers_all_types())
	print("\nSeconds")
	for suite_name in _seconds:
		print("  %-12s %7.2f" % [suite_name, _seconds[suite_name]])
	print("\nInputs that the engine accepts and the codec refuses on purpose (suites/refusals.gd)")
	for refusal in Refusals.REASONS:
		print("  %-32s met %5d times. %s" % [refusal, Refusals.met.get(refusal, 0), Refusals.REASONS[refusal]])
	print("Inputs whose value the engine itself does not repeat (compared by type only): %d" % Oracle.unrepeatable)
	print("Inputs with a Dictionary typed by a script, which the engine misreads (compared by type only): %d" % Oracle.scripted)
	print("\n%d passed, %d failed" % [_checks.passed, _checks.failed])
