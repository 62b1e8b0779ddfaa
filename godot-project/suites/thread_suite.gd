## Concurrent calls on Threads and in WorkerThreadPool tasks, with deep values and with objects shared by threads.
extends "res://suites/suite.gd"

## The number of uses of the shared object by each thread.
const ROUNDS := 10000
## A thread makes an expensive call once in this many rounds.
const SELDOM := 200
const SCHEMA := "user://thread_suite_%d.proto"
const FILE := "user://thread_suite_%d_%d.dat"


## One of several threads that use one object.
class Sharer:
	extends RefCounted
	## Uses the object once, and returns true on success. A script error makes it return null.
	var step := Callable()
	var good_rounds := 0

	func run(start: Semaphore) -> void:
		start.wait()
		while good_rounds < ROUNDS and step.call(good_rounds) == true:
			good_rounds += 1


## Runs every operation on one deeply nested value, inside nested script calls.
class DeepWork:
	extends RefCounted
	const SCRIPT_DEPTH := 40
	var value: Variant
	var bytes: PackedByteArray
	var engine_agrees := false
	var encoded: Dictionary[String, PackedByteArray] = {}
	var decoded: Dictionary[String, Variant] = {}
	var succeeded: Dictionary[String, bool] = {}

	func run(depth := SCRIPT_DEPTH) -> void:
		if depth > 0:
			run(depth - 1)
			return
		var limits := FastVariantLimits.for_save_files()
		engine_agrees = var_to_bytes(value) == bytes and bytes_to_var(bytes) != null
		encoded["encode"] = FastVariantCodec.encode(value)
		encoded["encode, with objects"] = FastVariantCodec.encode(value, true)
		encoded["try_encode"] = FastVariantCodec.try_encode(value).value
		encoded["encode_batch"] = FastVariantCodec.encode_batch([value])[0]
		decoded["decode"] = FastVariantCodec.decode(bytes)
		decoded["decode, with objects"] = FastVariantCodec.decode(bytes, true)
		decoded["try_decode"] = FastVariantCodec.try_decode(bytes, limits).value
		decoded["decode_batch"] = FastVariantCodec.decode_batch([bytes])[0]
		var old := FastGodot3Codec.encode(value)
		decoded["try_decode_godot3"] = FastGodot3Codec.try_decode(old, limits).value
		var packed := FastVariantCodec.pack_batch([value])
		decoded["unpack_batch"] = FastVariantCodec.unpack_batch(packed, limits).value[0]
		succeeded["encoded_size"] = FastVariantCodec.encoded_size(value) == bytes.size()
		succeeded["validate"] = FastVariantCodec.validate(bytes, limits).is_ok()
		succeeded["inspect"] = not FastVariantInspector.inspect(bytes).is_empty()
		succeeded["describe"] = not FastVariantInspector.describe(bytes).is_empty()


## A thread encodes and decodes the deepest values. In Chromium, a thread has about half a megabyte of stack,
## and a stack overflow crashes the page.
func test_deepest_values_on_a_thread() -> bool:
	var deepest: Dictionary[String, Variant] = {
		"Arrays": Values.nested_arrays(1024), "Dictionaries": Values.nested_dictionaries(1024),
	}
	for index in 2 * deepest.size():
		var title: String = deepest.keys()[index / 2]
		checks.subject(checks.MIXED, "1024 nested %s, on a %s" % [title, "pool task" if index % 2 else "Thread"])
		var work := DeepWork.new()
		work.value = deepest[title]
		work.bytes = var_to_bytes(work.value)
		if index % 2:
			WorkerThreadPool.wait_for_task_completion(WorkerThreadPool.add_task(work.run))
		else:
			var thread := Thread.new()
			thread.start(work.run)
			thread.wait_to_finish()
		checks.truth("the engine agrees", work.engine_agrees)
		for operation in work.encoded:
			checks.same_bytes(operation, work.bytes, work.encoded[operation])
		for operation in work.decoded:
			checks.same_bytes(operation, work.bytes, var_to_bytes(work.decoded[operation]))
		for operation in work.succeeded:
			checks.truth(operation, work.succeeded[operation])
		checks.same_int("number of operations", 14, work.encoded.size() + work.decoded.size() + work.succeeded.size())
	return true


## Every method, on several threads at once, gives what the engine gives.
func test_calls_on_threads() -> bool:
	checks.subject(checks.MIXED, "calls on several threads")
	var items: Array = []
	for case in values.cases:
		if Oracle.is_repeatable(var_to_bytes(case.value)) and not Oracle.is_lost(case.value):
			items.append(case.value)
	var buffers := buffers_of(items)
	var framed := Wire.framed(items)
	var large := range(40_000)
	var large_bytes := var_to_bytes(large)
	var encode := func(turn: int) -> bool:
		var index := turn % items.size()
		var is_size: bool = FastVariantCodec.encoded_size(items[index]) == buffers[index].size()
		return is_size and FastVariantCodec.encode(items[index]) == buffers[index] and FastVariantCodec.try_encode(items[index]).is_ok()
	var decode := func(turn: int) -> bool:
		var bytes := buffers[turn % buffers.size()]
		var is_good := FastVariantCodec.validate(bytes).is_ok() and not FastVariantCodec.try_decode(bytes.slice(0, -1)).is_ok()
		return is_good and var_to_bytes(FastVariantCodec.decode(bytes)) == bytes and FastVariantInspector.inspect(bytes, 9)["error"] == 0
	var batches := func(turn: int) -> bool:
		if turn % SELDOM:
			return true
		var unpacked := FastVariantCodec.unpack_batch(framed)
		return (FastVariantCodec.encode_batch(FastVariantCodec.decode_batch(buffers)) == buffers
				and FastVariantCodec.pack_batch(unpacked.value) == framed)
	var one_large := func(turn: int) -> bool:
		return turn % SELDOM or FastVariantCodec.encode(FastVariantCodec.decode(large_bytes)) == large_bytes
	var jobs := func(turn: int) -> bool:
		if turn % SELDOM:
			return true
		var path := FILE % [OS.get_process_id(), OS.get_thread_caller_id()]
		var saved := FastVariantCodec.save_batch_async(path, items).wait_to_finish()
		var same: bool = FileAccess.get_file_as_bytes(path) == framed and FastVariantCodec.load_batch(path).value.size() == items.size()
		DirAccess.remove_absolute(path)
		return saved.is_ok() and same
	_share([encode, encode, decode, decode, batches, batches, one_large, one_large, jobs, jobs])
	return true


func test_shared_limits() -> bool:
	checks.subject(checks.MIXED, "one FastVariantLimits on several threads")
	var limits := FastVariantLimits.for_save_files()
	var classes := PackedStringArray(["RefCounted"])
	var packet := var_to_bytes([1, [2]])
	# Each thread sets its own properties, and must read back the same values. Meanwhile, calls of other
	# threads read all properties.
	_share([
		func(turn: int) -> bool:
			limits.max_depth = 10 + turn % 1000
			return limits.max_depth == 10 + turn % 1000,
		func(turn: int) -> bool:
			limits.max_memory += 1 if turn else 1 << 20
			return str(limits).contains("max_memory %d" % limits.max_memory),
		func(turn: int) -> bool:
			limits.allowed_classes = classes if turn % 2 else PackedStringArray()
			limits.allow_only([TYPE_ARRAY, TYPE_INT] if turn % 2 else [TYPE_ARRAY, TYPE_INT, TYPE_STRING])
			return FastVariantCodec.try_decode(packet, limits).is_ok(),
		func(turn: int) -> bool:
			limits.allow_non_canonical = turn % 2 == 0
			return FastVariantCodec.validate(packet, limits).is_ok(),
	])
	return true


func test_shared_schema() -> bool:
	checks.subject(checks.MIXED, "one FastProtobufSchema on several threads")
	var path := SCHEMA % OS.get_process_id()
	FileAccess.open(path, FileAccess.WRITE).store_string(
			"syntax = \"proto3\"; message Point { int32 x = 1; int32 y = 2; }")
	var schema := FastProtobufSchema.load_file(path)
	DirAccess.remove_absolute(path)
	var bytes := schema.encode("Point", {"x": 7})
	_share([
		func(turn: int) -> bool:
			schema.strict = turn % 2 == 0
			return schema.strict == (turn % 2 == 0),
		func(turn: int) -> bool:
			schema.defaults = turn % 2 == 0
			return schema.decode("Point", bytes).has("y") == (turn % 2 == 0),
		func(_turn: int) -> bool:
			schema.keep_unknown = not schema.keep_unknown
			return schema.try_decode("Point", bytes).is_ok(),
		func(turn: int) -> bool:
			schema.string_name_keys = turn % 2 == 0
			return str(schema).contains("string_name_keys") == (turn % 2 == 0),
		func(_turn: int) -> bool:
			return schema.encode_batch("Point", [{"x": 7}]) == [bytes],
	])
	return true


func test_shared_result() -> bool:
	checks.subject(checks.MIXED, "one FastVariantResult on several threads")
	var result := FastVariantCodec.unpack_batch(FastVariantCodec.pack_batch([7]) + Wire.word(4) + Wire.header(77))
	var text := str(result)
	var read := func(_turn: int) -> bool:
		var same: bool = result.value == [7] and result.failed == PackedInt32Array([1]) and result.get_item_error(1) == result.message
		return same and str(result) == text
	_share([read, read, read])
	return true


func test_shared_job() -> bool:
	checks.subject(checks.MIXED, "one FastVariantJob on several threads")
	var buffers: Array[PackedByteArray] = []
	for index in 2000:
		buffers.append(var_to_bytes([index]))
	var job := FastVariantCodec.decode_batch_async(buffers)
	# A library without threads runs jobs on the main thread, between frames. `wait_to_finish()` fails on other threads.
	var may_refuse: bool = FastVariantInspector.get_engine_report()["threads"] == 1
	_share([
		func(_turn: int) -> bool:
			return str(job).begins_with("<FastVariantJob#"),
		func(_turn: int) -> bool:
			var result := job.wait_to_finish()
			var is_right: bool = result.value.size() == buffers.size() if result.is_ok() else may_refuse
			return is_right and job.get_progress() <= 1.0,
		func(_turn: int) -> bool:
			return not job.is_completed() or job.wait_to_finish().is_ok(),
	])
	return true


## Uses one object on several threads at once: each thread repeats its own step.
func _share(steps: Array[Callable]) -> void:
	var start := Semaphore.new()
	var sharers: Array[Sharer] = []
	var threads: Array[Thread] = []
	for step in steps:
		var sharer := Sharer.new()
		sharer.step = step
		var thread := Thread.new()
		thread.start(sharer.run.bind(start))
		sharers.append(sharer)
		threads.append(thread)
	start.post(steps.size())
	for index in threads.size():
		threads[index].wait_to_finish()
		checks.same_int("good rounds of thread %d" % index, ROUNDS, sharers[index].good_rounds)
