@tool
extends RefCounted
## Times workloads on its own thread. Emits signals on the main thread.

signal progressed(done: int, total: int)
signal measured(row: Row)
## Emitted at the end. `problem` says why a workload was not measured; empty if all were.
signal finished(problem: String)

const Workload := preload("workloads.gd").Workload

const RUNS := 7
## The minimum time of a workload in milliseconds. Short workloads are repeated for this long, up to MOST_RUNS
## times.
const LEAST_MSEC := 300
const MOST_RUNS := 100


## The results of a workload: times in milliseconds, the median of all runs.
class Row:
	extends RefCounted
	var title: String
	var items: int
	var bytes: int
	## Whether the codec's bytes and values equal the engine's.
	var is_identical := true
	## The times, under the keys "engine" and "codec".
	var encode: Dictionary[String, float] = {}
	var decode: Dictionary[String, float] = {}


var _thread: Thread
var _is_cancelled := false


func start(workloads: Array[Workload]) -> void:
	_is_cancelled = false
	_thread = Thread.new()
	_thread.start(_run.bind(workloads))


func is_running() -> bool:
	return _thread != null


## Stops after the current run.
func cancel() -> void:
	_is_cancelled = true


func join() -> void:
	if _thread:
		_thread.wait_to_finish()
		_thread = null


func _run(workloads: Array[Workload]) -> void:
	var problem := ""
	for i in workloads.size():
		if _is_cancelled:
			break
		var values: Variant = workloads[i].make.call()
		if values is String:
			problem = values
			continue
		var row := _measure(workloads[i], values, i * RUNS, workloads.size() * RUNS)
		if row:
			measured.emit.call_deferred(row)
	_finish.call_deferred("Cancelled." if _is_cancelled else problem)


func _finish(problem: String) -> void:
	join()
	finished.emit(problem)


## Returns null if the benchmark was cancelled.
func _measure(workload: Workload, values: Array, done: int, total: int) -> Row:
	var row := Row.new()
	row.title = workload.title
	row.items = values.size()
	# The times of each run: encoding by the engine and by the codec, then decoding by both.
	var times: Array[PackedFloat64Array] = [[], [], [], []]
	var started := Time.get_ticks_msec()
	for run in MOST_RUNS:
		if _is_cancelled:
			return null
		if run >= RUNS and Time.get_ticks_msec() - started > LEAST_MSEC:
			break
		_run_once(workload, values, row, times)
		progressed.emit.call_deferred(done + mini(run + 1, RUNS), total)
	row.encode = {"engine": _median(times[0]), "codec": _median(times[1])}
	row.decode = {"engine": _median(times[2]), "codec": _median(times[3])}
	return row


## Encodes and decodes the values once with the engine and with the codec. The times exclude freeing the
## results, which happens on return.
func _run_once(workload: Workload, values: Array, row: Row, times: Array[PackedFloat64Array]) -> void:
	var started := Time.get_ticks_usec()
	var expected: Array[PackedByteArray] = []
	for value: Variant in values:
		expected.append(var_to_bytes(value))
	times[0].append(_since(started))

	started = Time.get_ticks_usec()
	var buffers: Array[PackedByteArray] = []
	if workload.is_batch:
		buffers = FastVariantCodec.encode_batch(values)
	else:
		for value: Variant in values:
			buffers.append(FastVariantCodec.encode(value))
	times[1].append(_since(started))

	started = Time.get_ticks_usec()
	var expected_values: Array = []
	for buffer in expected:
		expected_values.append(bytes_to_var(buffer))
	times[2].append(_since(started))

	started = Time.get_ticks_usec()
	var decoded: Array = []
	if workload.is_batch:
		decoded = FastVariantCodec.decode_batch(expected)
	else:
		for buffer in expected:
			decoded.append(FastVariantCodec.decode(buffer))
	times[3].append(_since(started))

	# Compares values as bytes, because NAN does not equal itself.
	var is_same := buffers == expected and var_to_bytes(decoded) == var_to_bytes(expected_values)
	row.is_identical = row.is_identical and is_same
	row.bytes = expected.reduce(func(sum: int, buffer: PackedByteArray) -> int: return sum + buffer.size(), 0)


static func _since(started: int) -> float:
	return (Time.get_ticks_usec() - started) / 1000.0


static func _median(times: PackedFloat64Array) -> float:
	times.sort()
	return times[times.size() / 2]
