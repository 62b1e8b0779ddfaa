## The same bytes and values on the main thread, on a Thread, and in WorkerThreadPool tasks, several at once.
extends "res://suites/suite.gd"

const THREADS := 4
const POOL_TASKS := 24


## What one caller gets for the same work.
class Work:
	extends RefCounted
	var batch: Array = []
	var buffers: Array[PackedByteArray] = []
	var singles: Array[PackedByteArray] = []
	var sizes := PackedInt64Array()
	var decoded: Array = []
	var single_decoded: Array = []
	var strict_ok := true
	var finished := false

	func run(full_objects: bool) -> void:
		buffers = Codec.encode_batch(batch, full_objects)
		decoded = Codec.decode_batch(buffers, full_objects)
		for value: Variant in batch:
			singles.append(Codec.encode(value, full_objects))
			sizes.append(Codec.encoded_size(value, full_objects))
		for buffer in buffers:
			single_decoded.append(Codec.decode(buffer, full_objects))
			strict_ok = strict_ok and (full_objects or Codec.try_decode(buffer).is_ok())
		finished = true


func test_main_thread() -> bool:
	checks.subject(checks.MIXED, "main thread")
	var work := _work(false)
	work.run(false)
	_check_work(work, false)
	return true


func test_thread_without_objects() -> bool:
	checks.subject(checks.MIXED, "one Thread")
	_check_work(_on_threads(1, false)[0], false)
	return true


func test_threads_at_once() -> bool:
	checks.subject(checks.MIXED, "%d Threads at once" % THREADS)
	for work in _on_threads(THREADS, false):
		_check_work(work, false)
	return true


func test_thread_with_objects() -> bool:
	checks.subject(checks.MIXED, "one Thread, with objects")
	_check_work(_on_threads(1, true)[0], true)
	return true


func test_pool_tasks_at_once() -> bool:
	checks.subject(checks.MIXED, "%d WorkerThreadPool tasks" % POOL_TASKS)
	var works: Array[Work] = []
	var tasks := PackedInt64Array()
	for i in POOL_TASKS:
		var work := _work(false)
		works.append(work)
		tasks.append(WorkerThreadPool.add_task(work.run.bind(false), i % 2 == 0))
	for task in tasks:
		WorkerThreadPool.wait_for_task_completion(task)
	for work in works:
		_check_work(work, false)
	return true


func test_pool_group() -> bool:
	checks.subject(checks.MIXED, "WorkerThreadPool group")
	var batch := _work(false).batch
	var results: Array[PackedByteArray] = []
	results.resize(batch.size())
	var lock := Mutex.new()
	var encode_element := func(index: int) -> void:
		var bytes := Codec.encode(batch[index])
		lock.lock()
		results[index] = bytes
		lock.unlock()
	WorkerThreadPool.wait_for_group_task_completion(
			WorkerThreadPool.add_group_task(encode_element, batch.size()))
	for i in batch.size():
		checks.same_bytes("element %d" % i, var_to_bytes(batch[i]), results[i])
	return true


## All callers at the same time: the main thread batches while threads and pool tasks do.
func test_everyone_at_once() -> bool:
	checks.subject(checks.MIXED, "main thread, Threads and pool at once")
	var threads: Array[Thread] = []
	var works: Array[Work] = []
	var tasks := PackedInt64Array()
	for i in THREADS:
		var thread := Thread.new()
		var thread_work := _work(false)
		var task_work := _work(false)
		works.append_array([thread_work, task_work])
		thread.start(thread_work.run.bind(false))
		threads.append(thread)
		tasks.append(WorkerThreadPool.add_task(task_work.run.bind(false)))
	var own := _work(false)
	own.run(false)
	works.append(own)
	for thread in threads:
		thread.wait_to_finish()
	for task in tasks:
		WorkerThreadPool.wait_for_task_completion(task)
	for work in works:
		_check_work(work, false)
	return true


func _on_threads(count: int, full_objects: bool) -> Array[Work]:
	var works: Array[Work] = []
	var threads: Array[Thread] = []
	for i in count:
		var work := _work(full_objects)
		var thread := Thread.new()
		thread.start(work.run.bind(full_objects))
		works.append(work)
		threads.append(thread)
	for thread in threads:
		thread.wait_to_finish()
	return works


## The edge values that encode and decode without an error, so that no thread prints one.
func _work(full_objects: bool) -> Work:
	var work := Work.new()
	for case in values.cases:
		if full_objects and not Oracle.unmanaged_objects(case.value).is_empty():
			continue
		var bytes := Oracle.engine_encode(case.value, full_objects)
		if bytes and Codec.try_encode(case.value, full_objects).is_ok() and bytes.size() < 100000:
			if not full_objects and not Codec.try_decode(bytes).is_ok():
				continue
			work.batch.append(case.value)
	return work


func _check_work(work: Work, full_objects: bool) -> void:
	checks.truth("reached its end", work.finished)
	checks.truth("try_decode", work.strict_ok)
	var expected: Array[PackedByteArray] = []
	var expected_sizes := PackedInt64Array()
	for value: Variant in work.batch:
		var bytes := var_to_bytes_with_objects(value) if full_objects else var_to_bytes(value)
		expected.append(bytes)
		expected_sizes.append(bytes.size())
	checks.same_value("encode_batch", expected, work.buffers)
	checks.same_value("encode", expected, work.singles)
	checks.same_value("encoded_size", expected_sizes, work.sizes)
	var expected_values: Array = []
	for bytes in expected:
		expected_values.append(bytes_to_var_with_objects(bytes) if full_objects else bytes_to_var(bytes))
	checks.same_value("decode_batch", expected_values, work.decoded)
	checks.same_value("decode", expected_values, work.single_decoded)
	for made: Array in [expected_values, work.decoded, work.single_decoded]:
		Oracle.release(made)
