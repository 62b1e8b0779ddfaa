## Ownership: jobs own their input, whatever becomes of the caller's arguments; objects that nobody received are
## freed.
extends "res://suites/suite.gd"

const CountedNode := preload("res://suites/fixtures/counted_node.gd")

## The number of records in a batch with objects.
const NODES := 100
## The number of records in a batch that takes several frames.
const UNWANTED := 1500
## The number of frames after which an unwanted job must be gone.
const FRAMES := 1000
const PACKED := {
	TYPE_PACKED_BYTE_ARRAY: true, TYPE_PACKED_INT32_ARRAY: true, TYPE_PACKED_INT64_ARRAY: true,
	TYPE_PACKED_FLOAT32_ARRAY: true, TYPE_PACKED_FLOAT64_ARRAY: true, TYPE_PACKED_STRING_ARRAY: true,
	TYPE_PACKED_VECTOR2_ARRAY: true, TYPE_PACKED_VECTOR3_ARRAY: true, TYPE_PACKED_COLOR_ARRAY: true,
	TYPE_PACKED_VECTOR4_ARRAY: true,
}

## A folder for this process, because another one may run the same suite.
var _folder := "user://ownership_suite_%d" % OS.get_process_id()
var _path := _folder + "/records.dat"


## Changes Arrays, Dictionaries and packed arrays in one of several ways.
class Change:
	extends RefCounted

	static func to(things: Array, choice: int) -> void:
		for at in range(things.size() - 1, -1, -1):
			var thing: Variant = things[at]
			if thing is Array:
				_array(thing, choice)
			elif thing is Dictionary:
				thing.clear()
			elif PACKED.has(typeof(thing)):
				_packed(thing, choice)

	static func _array(array: Array, choice: int) -> void:
		match choice % 4:
			0:
				array.clear()
			1:
				array.resize(array.size() / 2)
			2:
				array.reverse()
			3:
				array.resize(array.size() + 100)

	static func _packed(packed: Variant, choice: int) -> void:
		match choice % 6:
			0:
				packed.clear()
			1:
				packed.resize(packed.size() / 2)
			2:
				if packed.size() > 0:
					packed.fill(packed[packed.size() - 1])
			3:
				packed.resize(packed.size() * 4 + 1000)
			4:
				packed.append_array(packed)
			5:
				# Overwrites the bytes with a completely different value, like the next packet in a receive
				# buffer.
				packed.reverse()


## Holds a job, so that a setter can release it.
class Holder:
	extends RefCounted
	var job: FastVariantJob
	var answer: FastVariantResult


func test_begin() -> bool:
	DirAccess.make_dir_recursive_absolute(_folder)
	return true


## Jobs decode the buffers as they were at the call. The test changes them in every way, right after the call
## or slightly later, when the job reads them.
func test_buffers_are_those_of_the_call() -> bool:
	var items: Array = []
	for index in 60:
		items.append(range(index, 3000 + index))
	for delay: int in [0, 1000]:
		for choice in 12:
			checks.subject(TYPE_PACKED_BYTE_ARRAY, "change %d after %d µs" % [choice, delay])
			var buffers: Array = items.map(func(item: Array) -> PackedByteArray: return var_to_bytes(item))
			if choice % 2:
				buffers = Array(buffers, TYPE_PACKED_BYTE_ARRAY, "", null)
			var limits := FastVariantLimits.for_save_files()
			var job := FastVariantCodec.decode_batch_async(buffers, limits)
			limits.max_elements = 0
			OS.delay_usec(delay)
			Change.to(buffers.duplicate() + [buffers], choice)
			var result := job.wait_to_finish()
			checks.truth("is ok", result.is_ok(), result.message)
			checks.truth("values", result.value == items)
	return true


## Buffers change between frames, and in setters that run for the job.
func test_buffers_between_frames() -> bool:
	var items: Array = []
	for index in 2000:
		items.append({"index": index})
	for waits: bool in [true, false]:
		checks.subject(TYPE_PACKED_BYTE_ARRAY, "changed between frames, " + ("wait" if waits else "await"))
		var buffers: Array = items.map(func(item: Dictionary) -> PackedByteArray: return var_to_bytes(item))
		var job := FastVariantCodec.decode_batch_async(buffers, with_objects())
		await next_frame()
		Change.to(buffers.duplicate() + [buffers], 0)
		var result: FastVariantResult = job.wait_to_finish() if waits else await job.completed
		checks.same_value("values", items, result.value)
	return true


func test_setters_that_change_the_buffers() -> bool:
	for how: String in ["decode_batch", "decode_batch_async", "unpack_batch", "load_batch_async"]:
		for choice in 6:
			checks.subject(TYPE_OBJECT, "a setter that makes change %d, %s" % [choice, how])
			var buffers := _node_buffers(NODES)
			var packed := Wire.behind_lengths(buffers)
			_write(packed)
			CountedNode.numbers.clear()
			CountedNode.on_set = func(node: Node) -> void:
				if node.number == 1:
					Change.to(buffers.duplicate() + [buffers, packed], choice)
			var found: Array
			match how:
				"decode_batch":
					found = FastVariantCodec.decode_batch(buffers, true)
				"decode_batch_async":
					found = FastVariantCodec.decode_batch_async(buffers, with_objects()).wait_to_finish().value
				"unpack_batch":
					found = FastVariantCodec.unpack_batch(packed, with_objects()).value
				"load_batch_async":
					found = FastVariantCodec.load_batch_async(_path, with_objects()).wait_to_finish().value
			CountedNode.on_set = Callable()
			checks.same_value("numbers", range(NODES), found.map(func(node: Node) -> int: return node.number))
			_free(found)
	return true


## Changes to the Array, and to packed arrays in it, do not affect the job.
func test_packed_arrays_to_encode() -> bool:
	for choice in 6:
		checks.subject(checks.MIXED, "change %d of packed arrays" % choice)
		var packed: Array = []
		for case in values.cases:
			if PACKED.has(case.type):
				packed.append(case.value.duplicate())
		var expected := packed.map(func(value: Variant) -> PackedByteArray: return var_to_bytes(value))
		var job := FastVariantCodec.encode_batch_async(packed)
		Change.to(packed.duplicate() + [packed], choice)
		checks.same_value("buffers", expected, Array(job.wait_to_finish().value, TYPE_NIL, "", null))
	return true


func test_values_to_save() -> bool:
	for choice in 6:
		checks.subject(checks.MIXED, "change %d of values to save" % choice)
		var saved: Array = [[1, 2, 3], {"a": 1}, PackedInt32Array([4, 5]), "text"]
		var expected := Wire.framed(saved)
		var job := FastVariantCodec.save_batch_async(_path, saved)
		Change.to(saved.duplicate() + [saved], choice)
		checks.truth("is ok", job.wait_to_finish().is_ok())
		checks.same_bytes("the file", expected, FileAccess.get_file_as_bytes(_path))
	return true


## After a bad record, nothing is made and no setter runs. Parts of the bad record are freed.
func test_a_bad_record() -> bool:
	# Waits for jobs of other tests.
	for frame in 20:
		await next_frame()
	for bad: int in [0, 1, 50, NODES - 1]:
		# The bad record fails before any Node is made, after a Node is complete, or within a Node.
		var node := _node_buffers(1)[0]
		var kinds: Dictionary[String, PackedByteArray] = {
			"of no type": PackedByteArray([99, 0, 0, 0]),
			"torn behind a Node": Wire.header(TYPE_ARRAY) + Wire.word(2) + node,
			"torn in a Node": node.slice(0, -4),
		}
		for kind in kinds:
			checks.subject(TYPE_OBJECT, "record %d %s" % [bad, kind])
			var buffers := _node_buffers(NODES)
			buffers[bad] = kinds[kind]
			var packed := Wire.behind_lengths(buffers)
			_write(packed)
			for how: String in ["unpack_batch", "load_batch", "load_batch_async", "load_batch_async, await"]:
				var objects := object_count()
				CountedNode.numbers.clear()
				var result: FastVariantResult
				match how:
					"unpack_batch":
						result = FastVariantCodec.unpack_batch(packed, with_objects())
					"load_batch":
						result = FastVariantCodec.load_batch(_path, with_objects())
					"load_batch_async":
						result = FastVariantCodec.load_batch_async(_path, with_objects()).wait_to_finish()
					_:
						result = await FastVariantCodec.load_batch_async(_path, with_objects()).completed
				checks.same_value("%s: failed" % how, PackedInt32Array([bad]), result.failed)
				checks.same_int("%s: values" % how, bad, result.value.size())
				checks.same_int("%s: Nodes" % how, bad, CountedNode.alive)
				var of_record := CountedNode.numbers.slice(bad)
				checks.same_value("%s: set" % how, range(bad), CountedNode.numbers.slice(0, bad))
				checks.truth("%s: none was set behind it" % how,
						of_record.all(func(number: int) -> bool: return number == 0) and of_record.size() <= 1, str(of_record))
				_free(result.value)
				result = null
				for frame in 5:
					await next_frame()
				checks.same_int("%s: objects" % how, objects, object_count())
	return true


## The Nodes of a job are freed, in whatever way its result is discarded.
func test_nodes_of_unwanted_jobs() -> bool:
	_write(Wire.behind_lengths(_node_buffers(UNWANTED)))
	for how: String in ["decode", "load"]:
		for when: String in ["at once", "after a frame", "with some Nodes", "with all Nodes"]:
			for end: String in _possible(["cancel", "let go", "let go in a thread", "nobody asks"]):
				checks.subject(TYPE_OBJECT, "%s: %s %s" % [how, end, when])
				var job := _start(how)
				var id := job.get_instance_id()
				var keeper := Holder.new()
				if when == "after a frame":
					await next_frame()
				while when == "with some Nodes" and CountedNode.alive == 0 or when == "with all Nodes" and not job.is_completed():
					await next_frame()
				checks.truth("Nodes were made", CountedNode.alive > 0 or not when.begins_with("with"))
				match end:
					"cancel":
						var was_done := job.is_completed()
						job.cancel()
						checks.truth("Nodes are freed at once", was_done or CountedNode.alive == 0)
						if not was_done:
							checks.same_int("result", FastVariantCodec.CANCELLED, job.wait_to_finish().error)
					"let go in a thread":
						keeper.job = job
						job = null
						var thread := Thread.new()
						thread.start(func() -> void: keeper.job = null)
						thread.wait_to_finish()
					"nobody asks":
						# A connected listener keeps the job running to its end.
						job.progressed.connect(func(_done: int, _total: int) -> void: pass)
				job = null
				for frame in FRAMES:
					await next_frame()
					if not is_instance_id_valid(id):
						break
				checks.truth("the job is gone", not is_instance_id_valid(id))
				checks.same_int("Nodes left", 0, CountedNode.alive)
	return true


## A result that was handed out belongs to its receiver.
func test_nodes_that_were_given_stay() -> bool:
	checks.subject(TYPE_OBJECT, "Nodes that were given")
	_write(Wire.behind_lengths(_node_buffers(NODES)))
	for how: String in ["decode", "load"]:
		for waits: bool in [true, false]:
			var job := _start(how, NODES)
			var result: FastVariantResult = job.wait_to_finish() if waits else await job.completed
			job = null
			for frame in 5:
				await next_frame()
			checks.same_int("%s: alive" % how, NODES, CountedNode.alive)
			checks.same_value("%s: numbers" % how, range(NODES),
					result.value.map(func(node: Node) -> int: return node.number))
			_free(result.value)
	return true


## On a thread that the main thread joins, `wait_to_finish()` is refused if the job needs the main thread.
func test_waiting_on_another_thread() -> bool:
	_write(Wire.behind_lengths(buffers_of(range(3000))))
	var refused: Dictionary[String, FastVariantJob] = {
		"encode_batch_async": FastVariantCodec.encode_batch_async(range(3000)),
		"decode_batch_async with objects": _start("decode", NODES),
		"load_batch_async with objects": FastVariantCodec.load_batch_async(_path, with_objects()),
	}
	var refused_without_threads: Dictionary[String, FastVariantJob] = {
		"decode_batch_async": FastVariantCodec.decode_batch_async(buffers_of(range(3000))),
		"load_batch_async": FastVariantCodec.load_batch_async(_path),
	}
	var allowed: Dictionary[String, FastVariantJob] = {
		"save_batch_async": FastVariantCodec.save_batch_async(_path, range(3000)),
	}
	(refused if has_jobs_on_main_thread() else allowed).merge(refused_without_threads)
	for job_name in refused:
		checks.subject(checks.MIXED, "waiting on a thread for " + job_name)
		var result := _joined(refused[job_name])
		checks.same_int("refused", FastVariantCodec.BAD_ARGUMENT, result.error)
		checks.truth("with the reason", result.message.contains("main thread"), result.message)
		var waited := refused[job_name].wait_to_finish()
		checks.truth("the job goes on", waited.is_ok(), waited.message)
		checks.truth("its result is there for all then", _joined(refused[job_name]) == waited)
		if job_name == "decode_batch_async with objects":
			_free(waited.value)
	for job_name in allowed:
		checks.subject(checks.MIXED, "waiting on a thread for " + job_name)
		var result := _joined(allowed[job_name])
		checks.truth("is waited for", result.is_ok(), result.message)
	return true


## Setters may use the job for which they run.
func test_setters_that_use_their_job() -> bool:
	for waits: bool in [true, false]:
		for how: String in ["decode", "load"]:
			for deed: String in _possible(["wait", "wait in a thread", "cancel", "let go"]):
				checks.subject(TYPE_OBJECT, "a setter's %s in %s, %s" % [deed, how, "wait" if waits else "await"])
				await _check_deed(how, deed, waits)
	return true


func _check_deed(how: String, deed: String, waits: bool) -> void:
	_write(Wire.behind_lengths(_node_buffers(NODES)))
	var holder := Holder.new()
	var answers: Array[FastVariantResult] = []
	CountedNode.on_set = func(node: Node) -> void:
		if node.number != 10:
			return
		match deed:
			"wait":
				answers.append(holder.job.wait_to_finish())
			"wait in a thread":
				answers.append(_joined(holder.job))
			"cancel":
				holder.job.cancel()
			"let go":
				holder.job = null
	holder.job = _start(how, NODES)
	CountedNode.numbers.clear()
	# This is a separate function, because a local variable of the caller would keep the job alive.
	if waits:
		holder.answer = holder.job.wait_to_finish()
	else:
		for frame in FRAMES:
			await next_frame()
			if holder.job == null or holder.job.is_completed():
				break
		if holder.job:
			holder.answer = holder.job.wait_to_finish()
	CountedNode.on_set = Callable()
	match deed:
		"wait", "wait in a thread":
			checks.same_int("the setter's answers", 1, answers.size())
			for answer in answers:
				checks.same_int("the setter's answer", FastVariantCodec.BAD_ARGUMENT, answer.error)
		"cancel":
			checks.same_int("the result", FastVariantCodec.CANCELLED, holder.answer.error)
			checks.same_value("no item was begun behind it", range(11), CountedNode.numbers)
	if holder.answer and holder.answer.is_ok():
		checks.same_int("values", NODES, holder.answer.value.size())
		_free(holder.answer.value)
	else:
		checks.truth("there is none only where nobody wants it", deed == "cancel" or deed == "let go")
	holder.job = null
	await _no_node_is_left(deed)


func test_nothing_is_left_over() -> bool:
	checks.subject(checks.MIXED, "afterwards")
	DirAccess.remove_absolute(_path)
	checks.same_int("the folder is empty", OK, DirAccess.remove_absolute(_folder))
	CountedNode.numbers.clear()
	return true


func _start(how: String, count := UNWANTED) -> FastVariantJob:
	if how == "load":
		return FastVariantCodec.load_batch_async(_path, with_objects())
	return FastVariantCodec.decode_batch_async(_node_buffers(count), with_objects())


## The ways that work on this platform. Without threads, ways that need a thread are omitted.
func _possible(ways: Array[String]) -> Array[String]:
	return ways.filter(func(way: String) -> bool: return has_threads() or not way.ends_with("in a thread"))


## The result of `wait_to_finish()` on another thread, which this thread joins.
func _joined(job: FastVariantJob) -> FastVariantResult:
	var thread := Thread.new()
	thread.start(func() -> FastVariantResult: return job.wait_to_finish())
	return thread.wait_to_finish()


func _no_node_is_left(when: String) -> void:
	for frame in FRAMES:
		await next_frame()
		if CountedNode.alive == 0:
			break
	checks.same_int("Nodes left, %s" % when, 0, CountedNode.alive)


## The engine's bytes for Nodes with consecutive numbers from 0.
static func _node_buffers(count: int) -> Array[PackedByteArray]:
	var buffers: Array[PackedByteArray] = []
	var on_set := CountedNode.on_set
	CountedNode.on_set = Callable()
	var node := CountedNode.new()
	for number in count:
		node.number = number
		buffers.append(var_to_bytes_with_objects(node))
	node.free()
	CountedNode.on_set = on_set
	return buffers


func _write(bytes: PackedByteArray) -> void:
	FileAccess.open(_path, FileAccess.WRITE).store_buffer(bytes)


static func _free(nodes: Array) -> void:
	for node: Node in nodes:
		node.free()
