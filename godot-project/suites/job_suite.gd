## Jobs: results that equal those of blocking calls; signals; cancelling; work between frames; dropped
## references.
extends "res://suites/suite.gd"

const Waiter := preload("res://suites/fixtures/waiting_getter.gd")

const FOLDER := "user://job_suite"
const PATH := FOLDER + "/records.dat"
## The number of frames after which an unwanted job must be gone.
const FRAMES := 1000


## Records the signals of a job, and their threads.
class Listener:
	extends RefCounted
	var results: Array[FastVariantResult] = []
	var progress: Array[Vector2i] = []
	var off_main := 0

	func _init(job: FastVariantJob) -> void:
		job.completed.connect(func(result: FastVariantResult) -> void:
			results.append(result)
			_note_thread())
		job.progressed.connect(func(done: int, total: int) -> void:
			progress.append(Vector2i(done, total))
			_note_thread())

	func _note_thread() -> void:
		off_main += int(OS.get_thread_caller_id() != OS.get_main_thread_id())


func test_begin() -> bool:
	DirAccess.make_dir_recursive_absolute(FOLDER)
	return true


func test_results_are_those_of_calls_that_wait() -> bool:
	var items := _items(3000)
	var buffers := buffers_of(items)
	for waits: bool in [true, false]:
		checks.subject(checks.MIXED, "with wait()" if waits else "with await")
		var saved: FastVariantResult = await _result(FastVariantCodec.save_batch_async(PATH, items), waits)
		checks.truth("save_batch_async", saved.is_ok() and saved.value == null, saved.message)
		checks.same_bytes("the file", Wire.framed(items), FileAccess.get_file_as_bytes(PATH))
		var loaded: FastVariantResult = await _result(FastVariantCodec.load_batch_async(PATH), waits)
		checks.truth("load_batch_async", loaded.is_ok(), loaded.message)
		checks.same_bytes("its values", var_to_bytes(items), var_to_bytes(loaded.value))
		checks.same_int("its bytes", FileAccess.get_file_as_bytes(PATH).size(), loaded.bytes_read)
		var encoded: FastVariantResult = await _result(FastVariantCodec.encode_batch_async(items), waits)
		checks.truth("encode_batch_async", encoded.is_ok(), encoded.message)
		checks.same_value("its buffers", buffers, encoded.value)
		var decoded: FastVariantResult = await _result(FastVariantCodec.decode_batch_async(buffers), waits)
		checks.truth("decode_batch_async", decoded.is_ok(), decoded.message)
		checks.same_bytes("its values", var_to_bytes(items), var_to_bytes(decoded.value))
	return true


func test_empty_batches() -> bool:
	checks.subject(TYPE_ARRAY, "no items")
	for job: FastVariantJob in [
		FastVariantCodec.encode_batch_async([]), FastVariantCodec.decode_batch_async([]),
		FastVariantCodec.save_batch_async(PATH, []), FastVariantCodec.load_batch_async(PATH),
	]:
		var listener := Listener.new(job)
		await job.completed
		checks.truth("is ok", listener.results.size() == 1 and listener.results[0].is_ok())
		checks.truth("is done", job.is_completed() and job.get_progress() == 1.0)
	return true


func test_signals() -> bool:
	var items := _items(20000)
	var buffers := buffers_of(items)
	var jobs: Dictionary[String, FastVariantJob] = {
		"encode": FastVariantCodec.encode_batch_async(items, false, 0.2),
		"decode": FastVariantCodec.decode_batch_async(buffers),
		"save": FastVariantCodec.save_batch_async(PATH, items),
		"load": FastVariantCodec.load_batch_async(PATH),
	}
	var listeners: Dictionary[String, Listener] = {}
	for job_name in jobs:
		checks.subject(checks.MIXED, "signals of %s" % job_name)
		checks.truth("nothing is done at once", listeners.is_empty() or not jobs["encode"].is_completed())
		listeners[job_name] = Listener.new(jobs[job_name])
	while listeners.values().any(func(listener: Listener) -> bool: return listener.results.is_empty()):
		await next_frame()
	for index in 10:
		await next_frame()
	for job_name in jobs:
		checks.subject(checks.MIXED, "signals of %s" % job_name)
		var listener := listeners[job_name]
		checks.same_int("completed is emitted once", 1, listener.results.size())
		checks.truth("with the result", listener.results[0] == jobs[job_name].wait_to_finish() and listener.results[0].is_ok())
		checks.same_int("signals on other threads", 0, listener.off_main)
		checks.same_value("the last progress", Vector2i(20000, 20000), listener.progress.back())
		for index in range(1, listener.progress.size()):
			checks.truth("progress %d grows" % index, listener.progress[index].x > listener.progress[index - 1].x)
	checks.truth("encoding took several frames", listeners["encode"].progress.size() > 3)
	return true


func test_awaiting_without_holding() -> bool:
	checks.subject(checks.MIXED, "await in one line")
	var result: FastVariantResult = await FastVariantCodec.decode_batch_async(
			FastVariantCodec.encode_batch(range(5000))).completed
	checks.same_value("decode_batch_async", range(5000), result.value)
	result = await FastVariantCodec.encode_batch_async(range(5000)).completed
	checks.same_value("encode_batch_async", buffers_of(range(5000)), result.value)
	return true


## A job may be done before the script awaits it. The script then gets the same result.
func test_awaiting_what_is_done() -> bool:
	checks.subject(checks.MIXED, "await afterwards")
	var job := FastVariantCodec.decode_batch_async([var_to_bytes(1)])
	var waited := job.wait_to_finish()
	for index in 5:
		await next_frame()
	var awaited: FastVariantResult = await job.completed
	checks.truth("the same result", waited == awaited and awaited.value == [1])
	var listener := Listener.new(job)
	for index in 5:
		await next_frame()
	checks.truth("not emitted again", listener.results.is_empty())
	return true


func test_failures() -> bool:
	checks.subject(checks.MIXED, "failures")
	var endless: Array = []
	endless.append(endless)
	var encoded := FastVariantCodec.encode_batch_async([1, endless, 3, endless]).wait_to_finish()
	endless.clear()
	checks.same_int("encode: code", FastVariantCodec.TOO_DEEP, encoded.error)
	checks.same_value("encode: failed", PackedInt32Array([1, 3]), encoded.failed)
	checks.same_value("encode: buffers", [var_to_bytes(1), PackedByteArray(), var_to_bytes(3), PackedByteArray()],
			Array(encoded.value, TYPE_NIL, "", null))
	var decoded := FastVariantCodec.decode_batch_async([
		var_to_bytes(0), PackedByteArray([1]), "text", var_to_bytes("a") + var_to_bytes(1), var_to_bytes(4),
	]).wait_to_finish()
	checks.same_value("decode: failed", PackedInt32Array([1, 2, 3]), decoded.failed)
	checks.same_value("decode: values", [0, null, null, null, 4], decoded.value)
	checks.same_int("decode: code of the first", FastVariantCodec.UNEXPECTED_END, decoded.error)
	var reasons: Dictionary[int, String] = {}
	for index in 6:
		reasons[index] = decoded.get_item_error(index)
	checks.truth("decode: each has its own reason", reasons[1].contains("end") and reasons[2].contains("PackedByteArray")
			and reasons[3].contains("trailing"), str(reasons))
	checks.truth("decode: the others have none", (reasons[0] + reasons[4] + reasons[5]).is_empty(), str(reasons))
	var limits := FastVariantLimits.for_network()
	limits.max_bytes = 8
	decoded = FastVariantCodec.decode_batch_async([var_to_bytes(1), var_to_bytes(1 << 40)], limits).wait_to_finish()
	checks.same_int("limits", FastVariantCodec.MAX_BYTES_EXCEEDED, decoded.error)
	checks.same_value("limits: values", [1, null], decoded.value)
	Engine.print_error_messages = false
	for job: FastVariantJob in [
		FastVariantCodec.load_batch_async(FOLDER + "/none"), FastVariantCodec.save_batch_async(FOLDER + "/none/none", [1]),
		FastVariantCodec.save_batch_async("https://example.org", [1]),
	]:
		var result: FastVariantResult = await job.completed
		checks.same_int("file error", FastVariantCodec.FILE_ERROR, result.error)
	Engine.print_error_messages = true
	FastVariantCodec.save_batch(PATH, [0])
	FastVariantCodec.append_batch_async(PATH, [1, 2])
	FastVariantCodec.append_encoded_async(PATH, [var_to_bytes(3), var_to_bytes([4])])
	checks.same_value("appended in order", [0, 1, 2, 3, [4]], FastVariantCodec.load_batch_async(PATH).wait_to_finish().value)
	Engine.print_error_messages = false
	for wrong: Variant in [PackedByteArray(), var_to_bytes(3).slice(0, 6), "text", var_to_bytes(1) + var_to_bytes(2)]:
		var refused := FastVariantCodec.append_encoded_async(PATH, [var_to_bytes(5), wrong]).wait_to_finish()
		checks.truth("no value: %s" % [wrong], not refused.is_ok() and "at index 1" in refused.message, refused.message)
	Engine.print_error_messages = true
	checks.same_int("nothing of it is appended", 5, FastVariantCodec.load_batch(PATH).value.size())
	FastVariantCodec.save_batch(PATH, [1, 2])
	FileAccess.open(PATH, FileAccess.READ_WRITE).resize(20)
	var torn := FastVariantCodec.load_batch_async(PATH).wait_to_finish()
	checks.same_value("a torn file: values", [1], torn.value)
	checks.same_value("a torn file: failed", PackedInt32Array([1]), torn.failed)
	return true


func test_cancelling() -> bool:
	var items := _items(50000)
	var buffers := buffers_of(items)
	FastVariantCodec.save_batch(PATH, items)
	for frames: int in [0, 1, 3]:
		var jobs: Dictionary[String, FastVariantJob] = {
			"encode": FastVariantCodec.encode_batch_async(items, false, 0.1),
			"decode": FastVariantCodec.decode_batch_async(buffers),
			"load": FastVariantCodec.load_batch_async(PATH),
			"decode between frames": FastVariantCodec.decode_batch_async(buffers, with_objects()),
		}
		var listeners: Array[Listener] = []
		for job_name in jobs:
			listeners.append(Listener.new(jobs[job_name]))
		for index in frames:
			await next_frame()
		for job_name in jobs:
			checks.subject(checks.MIXED, "cancelling %s after %d frames" % [job_name, frames])
			var job := jobs[job_name]
			var was_done := job.is_completed()
			job.cancel()
			checks.truth("is done", job.is_completed() and job.get_progress() == 1.0)
			checks.same_int("result", FastVariantCodec.OK if was_done else FastVariantCodec.CANCELLED, job.wait_to_finish().error)
			job.cancel()
		for index in 5:
			await next_frame()
		for listener in listeners:
			checks.same_int("completed is emitted once", 1, listener.results.size())
	checks.subject(checks.MIXED, "cancelling a save")
	var save := FastVariantCodec.save_batch_async(PATH, ["new"])
	save.cancel()
	checks.truth("it is done all the same", save.wait_to_finish().is_ok())
	checks.same_value("the file", ["new"], FastVariantCodec.load_batch(PATH).value)
	return true


func test_letting_go() -> bool:
	checks.subject(checks.MIXED, "letting go")
	var ids := _start_and_let_go()
	for index in FRAMES:
		await next_frame()
		if not ids.any(func(id: int) -> bool: return is_instance_id_valid(id)):
			break
	for id: int in ids:
		checks.truth("the job is gone", not is_instance_id_valid(id))
	checks.same_value("but the save is done", ["saved"], FastVariantCodec.load_batch(PATH).value)
	return true


## A script changes values between frames while they are encoded. Each value is written as it was at one
## moment.
func test_changing_values_between_frames() -> bool:
	checks.subject(checks.MIXED, "changing values")
	var items: Array = []
	for index in 5000:
		items.append({"a": 0, "b": [0, 0]})
	var job := FastVariantCodec.encode_batch_async(items, false, 0.1)
	var listener := Listener.new(job)
	var round_number := 0
	while listener.results.is_empty():
		round_number += 1
		for item: Dictionary in items:
			item["a"] = round_number
			item["b"] = [round_number, round_number]
		if round_number == 2:
			items.reverse()
			items.append({"a": "another", "b": []})
		await next_frame()
	var decoded := FastVariantCodec.decode_batch(listener.results[0].value)
	checks.same_int("values", 5000, decoded.size())
	var rounds: Dictionary[int, bool] = {}
	for value: Dictionary in decoded:
		checks.truth("a value of one frame", value["b"] == [value["a"], value["a"]], str(value))
		rounds[value["a"]] = true
	checks.truth("of several frames", rounds.size() > 1, str(rounds))
	return true


func test_objects() -> bool:
	checks.subject(TYPE_OBJECT, "objects")
	var resources: Array = []
	for index in 500:
		var curve := Gradient.new()
		curve.offsets = PackedFloat32Array([index / 500.0])
		curve.colors = PackedColorArray([Color.RED])
		resources.append(curve)
	var expected: Array = resources.map(func(resource: Gradient) -> PackedByteArray:
		return var_to_bytes_with_objects(resource))
	var encoded: FastVariantResult = await FastVariantCodec.encode_batch_async(resources, true).completed
	checks.same_value("encode_batch_async", expected, Array(encoded.value, TYPE_NIL, "", null))
	var decoded: FastVariantResult = await FastVariantCodec.decode_batch_async(expected, with_objects()).completed
	checks.truth("decode_batch_async", decoded.is_ok(), decoded.message)
	var saved: FastVariantResult = await FastVariantCodec.save_batch_async(PATH, resources, true).completed
	checks.truth("save_batch_async", saved.is_ok(), saved.message)
	var loaded: FastVariantResult = await FastVariantCodec.load_batch_async(PATH, with_objects()).completed
	checks.truth("load_batch_async", loaded.is_ok(), loaded.message)
	for index in 500:
		checks.same_bytes("decoded", expected[index], var_to_bytes_with_objects(decoded.value[index]))
		checks.same_bytes("loaded", expected[index], var_to_bytes_with_objects(loaded.value[index]))
	checks.same_value("loaded with wait()", 500, FastVariantCodec.load_batch_async(PATH, with_objects()).wait_to_finish().value.size())
	return true


## A Node that refers to others and keeps the number of objects that were complete when it was loaded.
class Pawn:
	extends Node
	static var made := 0
	static var loaded := 0
	var title := ""
	var next: Pawn
	var made_before := 0

	func _init() -> void:
		made += 1

	func _loaded() -> void:
		loaded += 1
		made_before = made


## A setter that loads its own file endlessly.
class Loop:
	extends RefCounted
	static var classes: FastVariantClasses
	static var deepest := ""
	var level := 0:
		set(value):
			level = value
			if value == 7:
				var again := classes.load_async(PATH).wait_to_finish()
				deepest = deepest if deepest else again.message


## A destructor that calls the codec.
class Mortal:
	extends RefCounted
	static var freed: Array[int] = []
	var number := 0

	func _notification(what: int) -> void:
		if what == NOTIFICATION_PREDELETE:
			freed.append(FastVariantCodec.try_encode([1]).error)


func test_scripts_that_call_the_codec() -> bool:
	checks.subject(TYPE_OBJECT, "scripts inside a load")
	Loop.classes = FastVariantClasses.new()
	Loop.classes.register(Loop, "Loop")
	var loop := Loop.new()
	loop.level = 7 - 1
	var plain: Dictionary = Loop.classes.to_plain(loop)
	plain["level"] = 7
	FastVariantCodec.save(PATH, plain)
	Loop.classes.load_async(PATH).wait_to_finish()
	checks.truth("an endless load", "64 nested calls" in Loop.deepest, Loop.deepest)
	# Wrong data after several objects, so that they are freed while the reader has its own stack.
	var classes := FastVariantClasses.new()
	classes.register(Mortal, "Mortal")
	Mortal.freed.clear()
	FastVariantCodec.save(PATH, [{&"@class": "Mortal"}, {&"@class": "Mortal"}, {&"@class": "Mortal", "number": "text"}])
	var failed: FastVariantResult = await classes.load_async(PATH).completed
	checks.truth("wrong data", "expected int, found String" in failed.message and failed.path == "[2].\"number\"", failed.message)
	checks.same_value("the codec works in destructors", "[0, 0, 0]", str(Mortal.freed))
	Loop.classes = null
	return true


func test_objects_of_registered_classes() -> bool:
	checks.subject(TYPE_OBJECT, "registered classes")
	var classes := FastVariantClasses.new()
	classes.register(Pawn, "Pawn")
	var pawns: Array[Pawn] = []
	for index in 3000:
		pawns.append(Pawn.new())
		pawns[index].title = "pawn %d" % index
	for index in pawns.size():
		pawns[index].next = pawns[index - 1]
	var before := Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT)
	for compress: bool in [false, true]:
		classes.compress = compress
		classes.save(PATH, pawns)
		for waits: bool in [false, true]:
			Pawn.made = 0
			Pawn.loaded = 0
			var job := classes.load_async(PATH)
			var listener := Listener.new(job)
			var frames := 0
			while not waits and listener.results.is_empty():
				await next_frame()
				frames += 1
				# The calls of other scripts are not inside the job.
				checks.same_value("meanwhile", "Pawn", classes.decode(classes.encode({"a": "Pawn"}))["a"])
			var result := job.wait_to_finish() if waits else listener.results[0]
			checks.truth("load_async", result.is_ok() and result.value.size() == 3000, result.message)
			checks.truth("in several frames", waits or frames > 2, str(frames))
			checks.same_int("each object is made once", 3000, Pawn.made)
			checks.same_int("and loaded once", 3000, Pawn.loaded)
			checks.same_int("after all were made", 3000, result.value[2999].made_before)
			checks.truth("a cycle", result.value[0].next == result.value[2999] and result.value[1].title == "pawn 1")
			checks.same_int("on the main thread", 0, listener.off_main)
			for index in range(1, listener.progress.size()):
				checks.truth("progress", listener.progress[index].x > listener.progress[index - 1].x, str(listener.progress))
			if not waits:
				checks.same_value("to its end", Vector2i(1000, 1000), listener.progress[-1])
			result.value.map(func(pawn: Pawn) -> void: pawn.free())
	for frames: int in [0, 1, 2, 3, 5, 8]:
		var job := classes.load_async(PATH)
		for index in frames:
			await next_frame()
		job.cancel()
		var ended := job.wait_to_finish()
		# It may have been done already.
		checks.truth("cancelled", ended.error == FastVariantCodec.CANCELLED or ended.value.size() == 3000, ended.message)
		if ended.is_ok():
			ended.value.map(func(pawn: Pawn) -> void: pawn.free())
	classes.save_batch(PATH, pawns.map(func(pawn: Pawn) -> Pawn:
		pawn.next = null
		return pawn))
	var loaded: FastVariantResult = await classes.load_batch_async(PATH).completed
	checks.truth("load_batch_async", loaded.is_ok() and loaded.value.size() == 3000 and loaded.value[7].title == "pawn 7", loaded.message)
	loaded.value.map(func(pawn: Pawn) -> void: pawn.free())
	loaded = classes.load_batch(PATH)
	checks.truth("load_batch", loaded.is_ok() and is_instance_valid(loaded.value[0]), loaded.message)
	loaded.value.map(func(pawn: Pawn) -> void: pawn.free())
	classes.save(PATH, pawns[0])
	loaded = classes.load(PATH)
	checks.truth("load", loaded.is_ok() and is_instance_valid(loaded.value), loaded.message)
	loaded.value.free()
	for index in 3:
		await next_frame()
	checks.same_int("all are freed", int(before), int(Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT)))
	var other := FastVariantClasses.new()
	for tried: FastVariantResult in [other.load(PATH), await other.load_async(PATH).completed]:
		checks.truth("an unknown class", "no class is registered as \"Pawn\"" in tried.message and tried.message.begins_with(PATH), tried.message)
	var on_thread := Thread.new()
	on_thread.start(func() -> FastVariantResult: return classes.load_async(PATH).wait_to_finish())
	loaded = on_thread.wait_to_finish()
	checks.truth("on another thread", loaded.is_ok() and loaded.value.title == "pawn 0", loaded.message)
	loaded.value.free()
	pawns.map(func(pawn: Pawn) -> void: pawn.free())
	return true


func test_a_getter_that_waits_for_its_job() -> bool:
	checks.subject(TYPE_OBJECT, "waiting from within")
	var waiter := Waiter.new()
	waiter.job = FastVariantCodec.encode_batch_async([1, waiter, 3], true)
	var job := waiter.job
	var result := job.wait_to_finish()
	waiter.job = null
	checks.same_int("the getter's answer", FastVariantCodec.BAD_ARGUMENT, waiter.answer)
	checks.same_value("the others", [1, 3], [bytes_to_var(result.value[0]), bytes_to_var(result.value[2])])
	return true


func test_saves_are_done_in_order() -> bool:
	checks.subject(checks.MIXED, "order of saves")
	for index in 20:
		FastVariantCodec.save_batch_async(PATH, [index, "x".repeat(1000 * (20 - index))])
	var async_load := FastVariantCodec.load_batch_async(PATH)
	checks.same_value("load_batch finds the last", 19, FastVariantCodec.load_batch(PATH).value[0])
	checks.truth("append_batch", FastVariantCodec.append_batch(PATH, ["more"]).is_ok())
	checks.same_value("load_batch_async finds the last", 19, async_load.wait_to_finish().value[0])
	for index in 5:
		FastVariantCodec.save_batch_async(PATH, [index])
	checks.truth("save_batch", FastVariantCodec.save_batch(PATH, ["last"]).is_ok())
	checks.same_value("is the last", ["last"], FastVariantCodec.load_batch(PATH).value)
	return true


func test_nothing_is_left_over() -> bool:
	checks.subject(checks.MIXED, "afterwards")
	for index in 10:
		await next_frame()
	# The classes of a load that fails on its thread are freed, too.
	var classes := FastVariantClasses.new()
	classes.register(Pawn, "Pawn")
	var missing: FastVariantResult = await classes.load_async(FOLDER + "/missing").completed
	checks.same_int("a missing file", FastVariantCodec.FILE_ERROR, missing.error)
	checks.same_int("connections to the frame", 0, (Engine.get_main_loop() as SceneTree).process_frame.get_connections().size())
	var folder := DirAccess.open(FOLDER)
	folder.include_hidden = true
	for file_name in folder.get_files():
		checks.truth("%s was asked for" % file_name, file_name.ends_with(".dat") and not file_name.begins_with("."))
		folder.remove(file_name)
	DirAccess.remove_absolute(FOLDER)
	return true


## Starts jobs, and returns their ids without keeping references to the jobs.
func _start_and_let_go() -> Array:
	var items := _items(50000)
	return [
		FastVariantCodec.encode_batch_async(items, false, 0.01).get_instance_id(),
		FastVariantCodec.decode_batch_async(FastVariantCodec.encode_batch(items)).get_instance_id(),
		FastVariantCodec.save_batch_async(PATH, ["saved"]).get_instance_id(),
	]


func _items(count: int) -> Array:
	var items: Array = []
	for index in count:
		items.append({"id": index, "at": Vector3(index, 1, 2), "tags": ["a", "b"], "name": "item %d" % index})
	return items


func _result(job: FastVariantJob, waits: bool) -> FastVariantResult:
	return job.wait_to_finish() if waits else await job.completed
