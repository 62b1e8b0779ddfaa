## Jobs of every kind: their arguments are changed, cleared, resized, overwritten and released right after the
## call, or by another thread while the job runs. Each result must equal the engine's result for the bytes at
## the time of the call. Memory and objects must not grow.
##
## The run ends with running jobs and unclaimed Nodes; the engine reports leaks.
extends "res://suites/soak/activity.gd"

const CountedNode := preload("res://suites/fixtures/counted_node.gd")
const Suite := preload("res://suites/suite.gd")

## The number of frames after which unwanted jobs are gone.
const FRAMES := 300
## The number of concurrent jobs.
const AT_ONCE := 16
const RANDOM_VALUES := 60
const LARGEST_BATCH := 12
const PACKED := {
	TYPE_PACKED_BYTE_ARRAY: true, TYPE_PACKED_INT32_ARRAY: true, TYPE_PACKED_INT64_ARRAY: true,
	TYPE_PACKED_FLOAT32_ARRAY: true, TYPE_PACKED_FLOAT64_ARRAY: true, TYPE_PACKED_STRING_ARRAY: true,
	TYPE_PACKED_VECTOR2_ARRAY: true, TYPE_PACKED_VECTOR3_ARRAY: true, TYPE_PACKED_COLOR_ARRAY: true,
	TYPE_PACKED_VECTOR4_ARRAY: true,
}


## A value's bytes and the engine's decoding of them; neither is ever changed.
class Item:
	extends RefCounted
	var bytes: PackedByteArray
	var decoded: PackedByteArray

	func _init(value: Variant) -> void:
		bytes = var_to_bytes(value)
		decoded = var_to_bytes_with_objects(bytes_to_var(bytes))


## A job and its expected result.
class Started:
	extends RefCounted
	var kind: String
	var job: FastVariantJob
	## The expected encoding of each value.
	var expected: Array[PackedByteArray] = []
	## The path, if the result is a file.
	var path := ""
	var needs_main_thread := Suite.has_jobs_on_main_thread()


## Changes buffers, other packed arrays, containers and objects in one of several ways.
class Change:
	extends RefCounted

	static func to(things: Array, choice: int) -> void:
		for at in range(things.size() - 1, -1, -1):
			var thing: Variant = things[at]
			if thing is Array:
				_array(thing, choice)
			elif thing is Dictionary:
				_dictionary(thing, choice)
			elif thing is FastVariantLimits:
				thing.max_bytes = 1
				thing.max_depth = 1
				thing.max_elements = 0
				thing.allow_objects = false
			elif thing is Node:
				thing.free()
			elif PACKED.has(typeof(thing)):
				_packed(thing, choice)

	static func _dictionary(dictionary: Dictionary, choice: int) -> void:
		if dictionary.is_read_only():
			return
		if choice % 2:
			dictionary.clear()
		if not dictionary.is_typed():
			dictionary["changed"] = choice

	static func _array(array: Array, choice: int) -> void:
		if array.is_read_only():
			return
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


## A second thread, which changes the values it is given. Without threads, nothing changes.
class Changer:
	extends RefCounted
	var _thread := Thread.new()
	var _lock := Mutex.new()
	var _given := Semaphore.new()
	var _things: Array = []
	var _is_busy := false
	var _ends := false

	func start() -> void:
		if OS.has_feature("threads"):
			_thread.start(_run)

	## Queues `things` for the second thread to change. The caller keeps no references to them.
	func give(things: Array, choice: int) -> void:
		if not _thread.is_started():
			return
		_lock.lock()
		_things.append([things, choice])
		_lock.unlock()
		_given.post()

	## Returns whether everything was changed.
	func is_idle() -> bool:
		_lock.lock()
		var idle := _things.is_empty() and not _is_busy
		_lock.unlock()
		return idle

	func stop() -> void:
		_lock.lock()
		_ends = true
		_lock.unlock()
		_given.post()
		if _thread.is_started():
			_thread.wait_to_finish()

	func _run() -> void:
		while true:
			_given.wait()
			_lock.lock()
			var next: Variant = _things.pop_front()
			var ends := _ends
			_is_busy = next != null
			_lock.unlock()
			if next == null:
				if ends:
					return
				continue
			# Several changes, one after the other, while the job reads.
			for step in 3:
				Change.to(next[0], next[1] + step)
			next = null
			_lock.lock()
			_is_busy = false
			_lock.unlock()


var _items: Array[Item] = []
var _large: Array[Item] = []
var _nodes: Array[PackedByteArray] = []
var _changer := Changer.new()
var _folder := "user://jobs_%d" % OS.get_process_id()
## References to jobs that are held until the end of the run. The jobs are then running or done.
var _last: Array = []


func begin() -> bool:
	watches_memory = true
	leaves_nothing = false
	DirAccess.make_dir_recursive_absolute(_folder)
	var random := RandomValues.new(generator)
	while _items.size() < RANDOM_VALUES:
		var value: Variant = random.value(0)
		if FastVariantCodec.try_encode(value).is_ok() and FastVariantCodec.try_decode(var_to_bytes(value)).is_ok():
			_items.append(Item.new(value))
	var bytes := PackedByteArray()
	bytes.resize(300_000)
	var texts := PackedStringArray()
	texts.resize(3000)
	texts.fill("some text")
	for value: Variant in [bytes, PackedInt64Array(range(20_000)), texts, range(20_000), _rows(3000)]:
		_large.append(Item.new(value))
	for number in LARGEST_BATCH:
		var node := CountedNode.new()
		node.number = number
		_nodes.append(var_to_bytes_with_objects(node))
		node.free()
	CountedNode.numbers.clear()
	_changer.start()
	return true


## Starts jobs, and ends each in one of several ways.
func run_case() -> int:
	var all_started: Array[Started] = []
	for index in AT_ONCE:
		all_started.append(_start(index))
	for started in all_started:
		await _end(started)
		started.job = null
	CountedNode.numbers.clear()
	return AT_ONCE


func settle() -> void:
	var tree: SceneTree = Engine.get_main_loop()
	for frame in FRAMES:
		await tree.process_frame
		if tree.process_frame.get_connections().is_empty() and _changer.is_idle():
			break


func end() -> void:
	await settle()
	check("Nodes are freed", CountedNode.alive == 0, str(CountedNode.alive))
	_changer.stop()
	var folder := DirAccess.open(_folder)
	for file_name in folder.get_files():
		folder.remove(file_name)
	DirAccess.remove_absolute(_folder)
	_leave_jobs_behind()
	await next_frame()


## Leaves jobs that have created Nodes: some still run when the engine quits; others hold unclaimed results.
func _leave_jobs_behind() -> void:
	var node := CountedNode.new()
	var buffers: Array[PackedByteArray] = []
	buffers.resize(20_000)
	buffers.fill(var_to_bytes_with_objects(node))
	node.free()
	for many: int in [10, buffers.size()]:
		var job := FastVariantCodec.decode_batch_async(buffers.slice(0, many), _with_objects())
		job.progressed.connect(func(_done: int, _total: int) -> void: pass)
		_last.append(job)


func _start(index: int) -> Started:
	var kinds: Array[Callable] = [_decode, _decode, _decode, _decode_nodes, _encode, _save, _load, _load_nodes]
	var start := kinds[generator.randi() % kinds.size()]
	var started := Started.new()
	started.kind = start.get_method().trim_prefix("_")
	count(started.kind)
	start.call(started, "%s/%d.dat" % [_folder, index])
	return started


func _decode(started: Started, _path: String) -> void:
	var buffers: Array = []
	if generator.randi() % 2:
		buffers = Array([], TYPE_PACKED_BYTE_ARRAY, "", null)
	for item in _several():
		started.expected.append(item.decoded)
		buffers.append(item.bytes.duplicate())
	var limits := FastVariantLimits.for_save_files()
	started.job = FastVariantCodec.decode_batch_async(buffers, limits)
	_change_now_or_later(buffers.duplicate() + [buffers, limits])


func _decode_nodes(started: Started, _path: String) -> void:
	var buffers: Array[PackedByteArray] = []
	for number in generator.randi() % LARGEST_BATCH:
		var bytes := _nodes[generator.randi() % _nodes.size()]
		started.expected.append(bytes)
		buffers.append(bytes.duplicate())
	started.needs_main_thread = true
	var limits := _with_objects()
	started.job = FastVariantCodec.decode_batch_async(buffers, limits)
	_change_now_or_later(buffers.duplicate() + [buffers, limits])


func _encode(started: Started, _path: String) -> void:
	var values: Array = []
	for item in _several():
		values.append(bytes_to_var(item.bytes))
	values.append(Node.new())
	started.needs_main_thread = true
	started.expected.assign(values.map(func(value: Variant) -> PackedByteArray: return var_to_bytes(value)))
	started.job = FastVariantCodec.encode_batch_async(values)
	var elements := values.duplicate()
	var owned := elements.filter(func(value: Variant) -> bool: return PACKED.has(typeof(value)))
	_change_now_or_later(owned + [values])
	# The job reads Arrays, Dictionaries and objects when it reaches them, not before the next frame.
	var choice := generator.randi()
	for at in elements.size():
		var value: Variant = elements[at]
		if value is Array or value is Dictionary or value is Node:
			Change.to([value], choice)
			# The last value, a Node, is freed by then, and freed objects are written as null.
			started.expected[at] = var_to_bytes(null if at == elements.size() - 1 else value)


func _save(started: Started, path: String) -> void:
	var values: Array = []
	for item in _several():
		values.append(bytes_to_var(item.bytes))
	started.expected.assign(values.map(func(value: Variant) -> PackedByteArray: return var_to_bytes(value)))
	started.path = path
	started.job = FastVariantCodec.save_batch_async(path, values)
	_change_now_or_later(values.duplicate() + [values])


func _load(started: Started, path: String) -> void:
	var records: Array[PackedByteArray] = []
	for item in _several():
		records.append(item.bytes)
		started.expected.append(item.decoded)
	_write(path, records)
	var limits := FastVariantLimits.for_save_files()
	started.job = FastVariantCodec.load_batch_async(path, limits)
	_change_now_or_later([limits])


func _load_nodes(started: Started, path: String) -> void:
	for number in generator.randi() % LARGEST_BATCH:
		started.expected.append(_nodes[generator.randi() % _nodes.size()])
	_write(path, started.expected)
	started.needs_main_thread = true
	var limits := _with_objects()
	started.job = FastVariantCodec.load_batch_async(path, limits)
	_change_now_or_later([limits])


## Waits for a job in one of several ways, or not at all.
func _end(started: Started) -> void:
	var result: FastVariantResult
	match generator.randi() % 8:
		0:
			started.job.cancel()
			result = started.job.wait()
			if result.error == FastVariantCodec.CANCELLED:
				return
		1:
			if started.path.is_empty():
				# Releases the job, whether it is done or not.
				return
			result = started.job.wait()
		2, 3:
			result = await started.job.completed
		4:
			var answers: Array = []
			var task := WorkerThreadPool.add_task(func() -> void: answers.append(started.job.wait()))
			WorkerThreadPool.wait_for_task_completion(task)
			result = answers[0]
			if started.needs_main_thread and result.error == FastVariantCodec.BAD_ARGUMENT:
				result = started.job.wait()
		_:
			result = started.job.wait()
	var problem := _problem(started, result)
	check(started.kind, problem.is_empty(), problem)
	if started.kind.ends_with("nodes") and result.value is Array:
		for node: Node in result.value:
			node.free()


func _problem(started: Started, result: FastVariantResult) -> String:
	if not result.is_ok():
		return result.message
	if started.path:
		return "" if FileAccess.get_file_as_bytes(started.path) == Wire.behind_lengths(started.expected) else "another file"
	var values: Array = Array(result.value, TYPE_NIL, "", null)
	if values.size() != started.expected.size():
		return "%d items instead of %d" % [values.size(), started.expected.size()]
	for at in values.size():
		var found: PackedByteArray = values[at] if started.kind == "encode" else var_to_bytes_with_objects(values[at])
		if found != started.expected[at]:
			return "another item %d of %d" % [at, values.size()]
	return ""


func _change_now_or_later(things: Array) -> void:
	var choice := generator.randi() % 1000
	match generator.randi() % 4:
		0:
			pass
		1, 2:
			_changer.give(things, choice)
		3:
			Change.to(things, choice)


func _several() -> Array[Item]:
	var items: Array[Item] = []
	for number in generator.randi() % LARGEST_BATCH:
		items.append(_items[generator.randi() % _items.size()])
	if generator.randi() % 16 == 0:
		items.append(_large[generator.randi() % _large.size()])
	return items


static func _with_objects() -> FastVariantLimits:
	var limits := FastVariantLimits.for_save_files()
	limits.allow_objects = true
	return limits


static func _rows(count: int) -> Array:
	var rows: Array = []
	for index in count:
		rows.append({"id": index, "at": Vector3(index, 1, 2), "name": "row %d" % index})
	return rows


static func _write(path: String, records: Array[PackedByteArray]) -> void:
	FileAccess.open(path, FileAccess.WRITE).store_buffer(Wire.behind_lengths(records))
