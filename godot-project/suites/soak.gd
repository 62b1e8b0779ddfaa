## Runs an activity of `cargo xtask soak`: random cases that compare the codec with the engine.
##
## godot --headless --path godot-project --script res://suites/soak.gd -- --activity NAME [options]
## --seed S      seed of the run (default 0)
## --seconds N   runs cases for this long
## --count N     runs cases until they add up to this many units
## --case I      starts at this case, and prints each input before it is tried; alone, runs only this case
## --slack MIB   growth of resident memory that does not count as a leak
## --folder, --role, --name, --number, --until, --pid: for activities with other processes
##
## The last lines are `@@ done UNITS` and `N passed, N failed`.
extends SceneTree

const Activity := preload("res://suites/soak/activity.gd")
const Extension := preload("res://suites/extension.gd")
const Memory := preload("res://bench/memory.gd")
const Options := preload("res://suites/options.gd")

const ACTIVITIES: PackedStringArray = [
	"values", "calls", "kill", "writers", "network",
]
const PROGRESS_SECONDS := 10.0
const SAMPLES := 10
## The time limit of a case in milliseconds, long enough for valgrind.
const LONGEST_WAIT := 600000


## The engine's counts and memory between two cases.
class Sample:
	extends RefCounted
	var objects: int
	var resources: int
	var nodes: int
	var static_bytes: int
	var resident_bytes: int


var _options := {
	"activity": "", "seed": 0, "seconds": -1, "count": -1, "case": -1, "slack": -1, "folder": "", "role": "", "name": "",
	"until": "", "number": 0, "pid": 0,
}
var _activity: Activity
var _units := 0
var _samples: Array[Sample] = []
## The exit code if a script error ends the run early.
var _exit_code := 1
var _ends := false
var _case_began := Time.get_ticks_msec()


func _initialize() -> void:
	_run()


func _process(_delta: float) -> bool:
	if _ends:
		quit(_exit_code)
	elif Time.get_ticks_msec() - _case_began > LONGEST_WAIT:
		printerr("no case has ended for long, or a script error stopped the run")
		quit(1)
	return false


func _run() -> void:
	if not Extension.is_loaded() or not Options.read(_options, get_script()) or not _options["activity"] in ACTIVITIES:
		_ends = true
		return
	_activity = load("res://suites/soak/%s.gd" % _options["activity"]).new()
	_activity.options = _options
	_activity.generator.seed = _options["seed"]
	print("%s on Godot %s, seed %d" % [_options["activity"], Engine.get_version_info()["string"], _options["seed"]])
	if _activity.begin():
		await _run_cases()
		# A single case is too short to compare memory.
		if _activity.watches_memory and (_options["case"] < 0 or _samples.size() > 1):
			_judge_memory()
		await _activity.end()
		for kind in _activity.counts:
			print("  %-28s %10d" % [kind, _activity.counts[kind]])
		print("@@ done %d" % _units)
		print("%d passed, %d failed" % [_activity.passed, _activity.failed])
		_exit_code = 0 if _activity.failed == 0 else 1
	_ends = true


func _run_cases() -> void:
	var wanted: int = _options["count"]
	var milliseconds: int = _options["seconds"] * 1000
	if wanted < 0 and milliseconds < 0:
		wanted = 1 if _options["case"] >= 0 else _activity.cases
	_activity.case = maxi(_options["case"], 0)
	# The samples are created before the first count, because they are counted, too.
	for index in SAMPLES if _activity.watches_memory else 0:
		_samples.append(Sample.new())
	var taken := 0
	var started := Time.get_ticks_msec()
	var reported := started
	while true:
		_case_began = Time.get_ticks_msec()
		var share := (_case_began - started) / float(maxi(milliseconds, 1)) if milliseconds >= 0 \
				else _units / float(wanted) if wanted > 0 else 1.0
		if taken < _samples.size() and share * SAMPLES >= taken + 1:
			_take(_samples[taken])
			taken += 1
		if share >= 1.0:
			break
		if _case_began - reported > PROGRESS_SECONDS * 1000.0:
			reported = _case_began
			_report(_case_began - started)
		# The seed has two hashes of 32 bits, because a single one would repeat in a run of millions of cases.
		var case := _activity.case
		_activity.generator.seed = hash([_options["seed"], case]) | hash([case, "half", _options["seed"]]) << 32
		var units: Variant = await _activity.call(&"run_case")
		if units is not int:
			_activity.check("the case", false, "a script error ended it")
		_units += maxi(units if units is int else 1, 1)
		_activity.case += 1
	_samples.resize(taken)


## In a function of its own, because a function keeps its temporary values until it ends, and they are counted.
func _report(milliseconds: int) -> void:
	print("  … %d after %d s, %d failed" % [_units, milliseconds / 1000, _activity.failed])


func _take(sample: Sample) -> void:
	sample.objects = roundi(Performance.get_monitor(Performance.OBJECT_COUNT))
	sample.resources = roundi(Performance.get_monitor(Performance.OBJECT_RESOURCE_COUNT))
	sample.nodes = roundi(Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT))
	sample.static_bytes = OS.get_static_memory_usage()
	sample.resident_bytes = Memory.bytes("VmRSS")
	print("%10d units %8d objects %6d resources %4d nodes %12d engine bytes %10d KiB resident" % [
		_units, sample.objects, sample.resources, sample.nodes, sample.static_bytes, sample.resident_bytes >> 10,
	])


func _judge_memory() -> void:
	var check := _activity.check
	check.call("long enough to compare", _samples.size() > 1)
	var first := _samples[0]
	var last := _samples[-1]
	check.call("objects", last.objects == first.objects)
	check.call("resources", last.resources == first.resources)
	check.call("nodes", last.nodes == first.nodes)
	var growth := last.static_bytes - first.static_bytes
	check.call("engine memory", growth <= 0, "%d bytes more" % growth)
	var slack: int = _options["slack"] if _options["slack"] >= 0 else _activity.slack(_units)
	check.call("resident memory", _resident_growth() <= slack << 20)


## The growth of the minimum, from one half of the run to the other. Memory kept by allocators fluctuates, but a leak
## raises the minimum.
func _resident_growth() -> int:
	var values := _samples.map(func(sample: Sample) -> int: return sample.resident_bytes)
	var half := values.size() / 2
	return values.slice(half).min() - values.slice(0, half).min()
