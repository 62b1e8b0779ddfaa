## Jobs whose arguments are changed, cleared, resized, overwritten and let go of while they are at work, and in the end memory
## and objects must be as before: `cargo xtask jobs`. What is done to them is in job_changes.gd.
##
## godot --headless --verbose --path godot-project --script res://suites/jobs.gd -- [--jobs N] [--seed N] [--slack MIB]
##
## It ends while jobs are at work, with Nodes that nobody asked for; the engine reports what is left over then.
extends SceneTree

const CountedNode := preload("res://suites/fixtures/counted_node.gd")
const Extension := preload("res://suites/extension.gd")
const JobChanges := preload("res://suites/job_changes.gd")
const Memory := preload("res://bench/memory.gd")
const Options := preload("res://suites/options.gd")

## How much more of the engine's memory the second half of the jobs may need, in bytes: less than one for each of a long run.
const ENGINE_SLACK := 16 << 10
const SAMPLES := 10
const PRINTED_FAILURES := 20
## Without the end of a job, in milliseconds; long enough for valgrind.
const LONGEST_WAIT := 600000
## Frames after which jobs that nobody wants are gone.
const FRAMES := 300


## What is alive between jobs.
class Sample:
	extends RefCounted
	var objects: int
	var nodes: int
	var static_bytes: int
	var resident_bytes: int


var _changes: JobChanges
## How many jobs had ended when one did last, and when that was, in milliseconds.
var _seen := -1
var _seen_at := Time.get_ticks_msec()
var _exit_code := 1
var _ends := false
var _failed := 0
var _passed := 0
## Held until the end, when their jobs are at work or done.
var _last: Array = []


func _initialize() -> void:
	if not Extension.is_loaded():
		quit(1)
		return
	_run()


func _process(_delta: float) -> bool:
	var now := Time.get_ticks_msec()
	if _changes and _changes.done != _seen:
		_seen = _changes.done
		_seen_at = now
	if _ends:
		quit(_exit_code)
	elif now - _seen_at > LONGEST_WAIT:
		printerr("no job has ended for long, or a script error stopped the run")
		quit(1)
	return false


func _run() -> void:
	var options: Dictionary[String, int] = {"jobs": 100_000, "seed": 20260101, "slack": 16}
	if not Options.read(options, get_script()):
		_ends = true
		return
	var jobs := options["jobs"]
	print("%d jobs whose arguments are changed meanwhile; Godot %s, seed %d" % [
		jobs, Engine.get_version_info()["string"], options["seed"],
	])
	_changes = JobChanges.new(options["seed"], "user://jobs_%d" % OS.get_process_id())
	var changes := _changes
	# Made before the first count, because they are counted, too.
	var samples: Array[Sample] = []
	for index in SAMPLES:
		samples.append(Sample.new())
	var started := Time.get_ticks_msec()
	print("\n%8s %8s %8s %8s %14s %14s" % ["jobs", "seconds", "objects", "nodes", "engine bytes", "resident KiB"])
	# What is made once is made by now.
	await _take(samples[0])
	for index in SAMPLES:
		await changes.run(jobs / SAMPLES)
		var sample := samples[index]
		await _take(sample)
		print("%8d %8.1f %8d %8d %14d %14d" % [
			changes.done, (Time.get_ticks_msec() - started) / 1000.0, sample.objects, sample.nodes, sample.static_bytes,
			sample.resident_bytes >> 10,
		])
	_judge(samples, options["slack"])
	for kind in changes.counts:
		print("  %-14s %8d jobs" % [kind, changes.counts[kind]])
	for problem in changes.problems.slice(0, PRINTED_FAILURES):
		print("FAILED %s" % problem)
	_failed += changes.problems.size()
	_passed += changes.done - changes.problems.size()
	changes.stop()
	_changes = null
	_leave_jobs_behind()
	print("\n%d passed, %d failed" % [_passed, _failed])
	_exit_code = 0 if _failed == 0 else 1
	await process_frame
	_ends = true


## When nothing is at work any more.
func _take(sample: Sample) -> void:
	for frame in FRAMES:
		await process_frame
		if process_frame.get_connections().is_empty() and _changes.is_idle():
			break
	sample.objects = roundi(Performance.get_monitor(Performance.OBJECT_COUNT))
	sample.nodes = CountedNode.alive
	sample.static_bytes = OS.get_static_memory_usage()
	sample.resident_bytes = Memory.bytes("VmRSS")


func _judge(samples: Array[Sample], slack: int) -> void:
	var first := samples[0]
	var last := samples[-1]
	_check("objects", last.objects <= first.objects)
	_check("nodes", last.nodes == 0)
	var half := samples.size() / 2
	_check("engine memory", _lowest(samples.slice(half), "static_bytes")
			<= _lowest(samples.slice(0, half), "static_bytes") + ENGINE_SLACK)
	_check("resident memory", _lowest(samples.slice(half), "resident_bytes")
			- _lowest(samples.slice(0, half), "resident_bytes") <= slack << 20)


func _lowest(samples: Array[Sample], property: String) -> int:
	return samples.map(func(sample: Sample) -> int: return sample.get(property)).min()


## Jobs that have made Nodes when the engine ends: some are at work, of others nobody has asked for the result.
func _leave_jobs_behind() -> void:
	var node := CountedNode.new()
	var buffers: Array[PackedByteArray] = []
	buffers.resize(20_000)
	buffers.fill(var_to_bytes_with_objects(node))
	node.free()
	var limits := FastVariantLimits.for_save_files()
	limits.allow_objects = true
	for count: int in [10, buffers.size()]:
		var job := FastVariantCodec.decode_batch_async(buffers.slice(0, count), limits)
		job.progressed.connect(func(_done: int, _total: int) -> void: pass)
		_last.append(job)


func _check(what: String, holds: bool) -> void:
	if holds:
		_passed += 1
		return
	_failed += 1
	print("FAILED %s" % what)
