## What goes wrong around the codec: bad items, freed objects, containers in themselves, depth on every kind of thread,
## results that are too large.
extends "res://suites/suite.gd"

const THREADS := 4
const COPIES := 200

## Two packed arrays of so many bytes are more than can be encoded.
const HALF := 1 << 30

## What the machine should have to spare for a result that is too large.
const MEMORY := 5 << 30


## Every place of a batch holds what the engine gives for the item alone, however many are bad.
func test_batches_with_bad_items() -> bool:
	var generator := seeded("bad items")
	var good: Array[PackedByteArray] = []
	for case in values.cases:
		var bytes := Oracle.engine_encode(case.value)
		if Codec.try_decode(bytes).is_ok():
			good.append(bytes)
	for share: float in [0.0, 0.01, 0.5, 1.0]:
		checks.subject(checks.MIXED, "%d%% of the buffers bad" % (share * 100))
		var buffers: Array = []
		for i in good.size():
			var bytes: Variant = good[i]
			if generator.randf() < share:
				bytes = [good[i].slice(0, -1), 7, null, PackedByteArray(), Wire.header(255)][i % 5]
			buffers.append(bytes)
		var decoded := Oracle.codec_decode_batch(buffers)
		for i in buffers.size():
			var expected: Variant = Oracle.engine_decode(buffers[i]) if buffers[i] is PackedByteArray else null
			checks.same_value("item %d" % i, expected, decoded[i])
	return true


func test_objects_freed_by_another_thread() -> bool:
	checks.subject(TYPE_OBJECT, "freed by another thread")
	for full_objects: bool in [false, true]:
		var nodes: Array = []
		for i in COPIES:
			nodes.append([i, Node.new()])
		var thread := Thread.new()
		thread.start(func() -> void:
			for index in range(0, COPIES, 2):
				nodes[index][1].free())
		thread.wait_to_finish()
		var encoded := Oracle.codec_encode_batch(nodes, full_objects)
		for index in COPIES:
			checks.same_bytes("item %d" % index, Oracle.engine_encode(nodes[index], full_objects), encoded[index])
		for index in range(1, COPIES, 2):
			nodes[index][1].free()
	return true


## The engine's answer, on the calling thread and on those of the pool.
func test_containers_in_themselves() -> bool:
	checks.subject(TYPE_ARRAY, "containers in themselves")
	var endless_array: Array = [1]
	endless_array.append(endless_array)
	var endless_dictionary := {}
	endless_dictionary["self"] = endless_dictionary
	var batch: Array = []
	for i in COPIES:
		batch.append_array([endless_array, endless_dictionary, [[endless_array]], i])
	var encoded := Oracle.codec_encode_batch(batch)
	for index in batch.size():
		var expected := var_to_bytes(batch[index]) if batch[index] is int else PackedByteArray()
		checks.same_bytes("item %d" % index, expected, encoded[index])
	checks.same_bytes("as the engine", Oracle.engine_encode(endless_array), Oracle.codec_encode(endless_array))
	endless_array.clear()
	endless_dictionary.clear()
	return true


## As deep as the engine goes, on the main thread, on Threads, in pool tasks, and in batches called from there.
func test_depth_on_every_thread() -> bool:
	var nested: Array = []
	for i in 1024:
		nested = [nested]
	var keyed := {}
	for i in 1024:
		keyed = {i: keyed}
	var deepest: Array = [nested, keyed]
	var expected: Array[PackedByteArray] = [var_to_bytes(nested), var_to_bytes(keyed)]
	var work := func() -> Array:
		var batch := Codec.encode_batch(_repeated(deepest))
		var again := Codec.encode_batch(Codec.decode_batch(batch))
		var strict := true
		for bytes in expected:
			strict = strict and Codec.try_decode(bytes).is_ok() and FastVariantCodec.validate(bytes).is_ok()
		return [Codec.encode(nested), Codec.encode(keyed), batch == again, batch[0], batch[1], strict]
	var answer: Array = expected + [true] + expected + [true]
	checks.subject(TYPE_ARRAY, "depth on every thread")
	checks.same_value("main thread", answer, work.call())
	var threads: Array[Thread] = []
	for i in THREADS:
		var thread := Thread.new()
		thread.start(work)
		threads.append(thread)
	for thread in threads:
		checks.same_value("Thread", answer, thread.wait_to_finish())
	var from_tasks: Array = []
	from_tasks.resize(THREADS)
	var task := WorkerThreadPool.add_group_task(
			func(index: int) -> void: from_tasks[index] = work.call(), THREADS)
	WorkerThreadPool.wait_for_group_task_completion(task)
	for result: Variant in from_tasks:
		checks.same_value("task of the WorkerThreadPool", answer, result)
	return true


## Past what the format can say, and what the engine writes damaged.
func test_results_that_are_too_large() -> bool:
	if OS.get_memory_info()["available"] < MEMORY:
		print("  not enough memory for results that are too large")
		return true
	checks.subject(TYPE_PACKED_BYTE_ARRAY, "too large")
	var half := PackedByteArray()
	half.resize(HALF)
	var too_large: Array = [half, half]
	var outcome := Codec.try_encode(too_large)
	checks.same_value("try_encode", [FastVariantCodec.TOO_LARGE, null, "[1]"], [outcome.error, outcome.value, outcome.path])
	checks.same_int("encoded_size", -1, Codec.encoded_size(too_large))
	checks.truth("just one is written", Codec.encoded_size([half]) == HALF + 16)
	return true


static func _repeated(batch: Array) -> Array:
	var repeated: Array = []
	for i in COPIES:
		repeated.append_array(batch)
	return repeated
