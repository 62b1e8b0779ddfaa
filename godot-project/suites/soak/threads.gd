## Many Threads, WorkerThreadPool tasks and the main thread call every method at once. Each answer is compared
## with the engine's answer, which one thread determined before.
##
## The cases alternate between three phases: valid input, which must print nothing; valid and broken input,
## with printing off; and only large values, with few calls per caller.
extends "res://suites/soak/activity.gd"

const CALLERS := 8
## The number of calls of each caller in a case, by phase.
const CALLS: Array[int] = [100, 100, 5]
const RANDOM_VALUES := 200
const BROKEN_INPUTS := 400
const LARGEST_BATCH := 12
## The number of rows. Their size exceeds the threshold below which the codec uses one thread.
const ROWS := 4000
## The number of values in an outline.
const OUTLINED := 100
## The number of calls after which a pool task ends.
const TASK_CALLS := 20


## One value or one input, and the engine's result for it.
class Item:
	extends RefCounted
	## Shared by all callers, which only read it.
	var value: Variant
	var is_value := true
	## The encoded value; empty if there is none.
	var bytes: PackedByteArray
	## The decoded value, encoded in full: equal bytes mean equal values.
	var decoded: PackedByteArray
	## Whether try_decode accepts the bytes, for each of the limits. Accepted bytes must give the engine's
	## value.
	var strict: Array[bool] = []
	## The hashes of the results of inspect and describe on a single thread.
	var outline: int
	var text: int
	## The encoding with full objects, if it differs. Each caller decodes its own value from it, because
	## encoding runs the getters.
	var full: PackedByteArray


## One caller, with its own random choices.
class Caller:
	extends RefCounted
	var done := 0
	var counts: Dictionary[String, int] = {}
	var problems := PackedStringArray()
	var has_ended := false
	var _items: Array[Item]
	var _limits: Array[FastVariantLimits]
	var _own: Dictionary[Item, Variant] = {}
	var _generator := RandomNumberGenerator.new()
	var _methods: Array[Callable] = [
		_encode, _encoded_size, _decode, _try_encode, _try_decode, _encode_batch, _decode_batch, _pack_batch, _unpack_batch,
		_objects, _object_batches, _validate, _outline, _files, _jobs,
	]
	var _path: String

	func _init(items: Array[Item], limits: Array[FastVariantLimits], own_seed: int) -> void:
		_items = items
		_path = "user://soak_%d_%d.dat" % [OS.get_process_id(), own_seed]
		_limits = limits
		_generator.seed = own_seed
		for item in items:
			if item.full:
				_own[item] = bytes_to_var_with_objects(item.full)

	func run(calls: int) -> void:
		has_ended = false
		var last := done + calls
		while done < last:
			var method: Callable = _methods[_generator.randi() % _methods.size()]
			var method_name: String = method.get_method()
			var problem: Variant = method.call()
			if problem is not String or problem:
				problems.append("%s: %s" % [method_name.trim_prefix("_"), problem])
			counts[method_name] = counts.get(method_name, 0) + 1
			done += 1
		has_ended = true

	func _encode() -> String:
		var item := _any_value()
		return "" if FastVariantCodec.encode(item.value) == item.bytes else "other bytes"

	func _encoded_size() -> String:
		var item := _any_value()
		var expected := item.bytes.size() if item.bytes else -1
		return "" if FastVariantCodec.encoded_size(item.value) == expected else "another size"

	func _decode() -> String:
		var item := _any()
		return _decoded_problem(item, FastVariantCodec.decode(item.bytes))

	func _try_encode() -> String:
		var item := _any_value()
		var outcome := FastVariantCodec.try_encode(item.value)
		if outcome.is_ok():
			return "" if outcome.value == item.bytes else "other bytes"
		return "" if outcome.message and outcome.value == null else "no reason"

	func _try_decode() -> String:
		var item := _any()
		var which := _generator.randi() % _limits.size()
		var outcome := FastVariantCodec.try_decode(item.bytes, _limits[which])
		if outcome.is_ok() != item.strict[which]:
			return "accepted" if outcome.is_ok() else "refused: " + outcome.message
		if outcome.is_ok():
			return _decoded_problem(item, outcome.value)
		return "" if outcome.message and outcome.value == null else "no reason"

	func _encode_batch() -> String:
		var items := _several(true)
		var buffers := FastVariantCodec.encode_batch(items.map(func(item: Item) -> Variant: return item.value))
		for i in items.size():
			if buffers[i] != items[i].bytes:
				return "other bytes at %d" % i
		return ""

	func _decode_batch() -> String:
		var items := _several(false)
		var decoded := FastVariantCodec.decode_batch(items.map(func(item: Item) -> PackedByteArray: return item.bytes))
		for i in items.size():
			var problem := _decoded_problem(items[i], decoded[i])
			if problem:
				return "%s at %d" % [problem, i]
		return ""

	func _pack_batch() -> String:
		var items := _several(true)
		var packed := FastVariantCodec.pack_batch(items.map(func(item: Item) -> Variant: return item.value))
		var expected := _framed(items)
		for item in items:
			if item.bytes.is_empty():
				expected = PackedByteArray()
		return "" if packed == expected else "other bytes"

	func _unpack_batch() -> String:
		var items := _several(false)
		var which := _generator.randi() % _limits.size()
		while _limits[which] and _limits[which].max_elements >= 0:
			# Skips limits on elements, because they apply to all records together.
			which = (which + 1) % _limits.size()
		var good := 0
		while good < items.size() and items[good].strict[which]:
			good += 1
		var outcome := FastVariantCodec.unpack_batch(_framed(items), _limits[which])
		if outcome.is_ok() != (good == items.size()) or outcome.value.size() != good:
			return "%d records instead of %d" % [outcome.value.size(), good]
		for i in good:
			var problem := _decoded_problem(items[i], outcome.value[i])
			if problem:
				return "%s at %d" % [problem, i]
		return ""

	func _objects() -> String:
		if _own.is_empty():
			return ""
		var item: Item = _own.keys()[_generator.randi() % _own.size()]
		var own: Variant = _own[item]
		if FastVariantCodec.encode(own, true) != item.full or FastVariantCodec.try_encode(own, true).value != item.full:
			return "other bytes"
		if FastVariantCodec.encoded_size(own, true) != item.full.size():
			return "another size"
		return "" if var_to_bytes_with_objects(FastVariantCodec.decode(item.full, true)) == item.full else "another value"

	func _object_batches() -> String:
		if _own.is_empty():
			return ""
		var first := _generator.randi() % _own.size()
		var items := _own.keys().slice(first, first + LARGEST_BATCH)
		var batch := items.map(func(item: Item) -> Variant: return _own[item])
		var buffers := FastVariantCodec.encode_batch(batch, true)
		var decoded := FastVariantCodec.decode_batch(buffers, true)
		var packed := PackedByteArray()
		for i in batch.size():
			if buffers[i] != items[i].full:
				return "other bytes at %d" % i
			if var_to_bytes_with_objects(decoded[i]) != items[i].full:
				return "another value at %d" % i
			packed += Wire.word(buffers[i].size()) + buffers[i]
		return "" if FastVariantCodec.pack_batch(batch, true) == packed else "packed otherwise"

	func _validate() -> String:
		var item := _any()
		var which := _generator.randi() % _limits.size()
		var outcome := FastVariantCodec.validate(item.bytes, _limits[which])
		return "" if outcome.is_ok() == item.strict[which] else "another verdict: %s" % outcome.message

	func _outline() -> String:
		var item := _any()
		var outline := FastVariantCodec.inspect(item.bytes, OUTLINED)
		if hash(outline) != item.outline or FastVariantCodec.describe(item.bytes.slice(0, 4 * OUTLINED)).hash() != item.text:
			return "another outline"
		return ""

	func _files() -> String:
		var items := _several(true).filter(func(item: Item) -> bool: return not item.bytes.is_empty())
		var batch: Array = items.map(func(item: Item) -> Variant: return item.value)
		var expected := _framed(items)
		if FastVariantCodec.save_batch(_path, batch) != OK or FileAccess.get_file_as_bytes(_path) != expected:
			return "save_batch wrote other bytes"
		if (FastVariantCodec.append_batch(_path, batch) != OK
				or FileAccess.get_file_as_bytes(_path) != expected + expected):
			return "append_batch wrote other bytes"
		var loaded := FastVariantCodec.load_batch(_path)
		if loaded.value.size() != 2 * items.size():
			return "%d records instead of %d: %s" % [loaded.value.size(), 2 * items.size(), loaded.message]
		return ""

	func _jobs() -> String:
		var items := _several(true)
		var batch: Array = items.map(func(item: Item) -> Variant: return item.value)
		var buffers: Array = items.map(func(item: Item) -> PackedByteArray: return item.bytes)
		if FastVariantCodec.encode_batch_async(batch).wait().value != Array(buffers, TYPE_PACKED_BYTE_ARRAY, "", null):
			return "other bytes"
		var decoded := FastVariantCodec.decode_batch_async(buffers).wait()
		for i in items.size():
			if items[i].strict[0]:
				var problem := _decoded_problem(items[i], decoded.value[i])
				if problem:
					return "%s at %d" % [problem, i]
		items = items.filter(func(item: Item) -> bool: return item.strict[0])
		FastVariantCodec.save_batch_async(_path, items.map(func(item: Item) -> Variant: return item.value))
		var load_job := FastVariantCodec.load_batch_async(_path)
		if _generator.randi() % 4 == 0:
			load_job.cancel()
			return "" if load_job.wait().error in [FastVariantCodec.OK, FastVariantCodec.CANCELLED] else "not cancelled"
		var loaded: Array = load_job.wait().value
		return "" if loaded.size() == items.size() else "%d records instead of %d" % [loaded.size(), items.size()]

	func clean_up() -> void:
		DirAccess.remove_absolute(_path)

	func _decoded_problem(item: Item, value: Variant) -> String:
		return "" if var_to_bytes_with_objects(value) == item.decoded else "another value"

	func _any() -> Item:
		return _items[_generator.randi() % _items.size()]

	func _any_value() -> Item:
		var item := _any()
		while not item.is_value:
			item = _any()
		return item

	func _several(are_values: bool) -> Array[Item]:
		var items: Array[Item] = []
		for i in _generator.randi() % (LARGEST_BATCH + 1):
			items.append(_any_value() if are_values else _any())
		return items

	static func _framed(items: Array[Item]) -> PackedByteArray:
		var buffers: Array[PackedByteArray] = []
		for item in items:
			buffers.append(item.bytes)
		return Wire.behind_lengths(buffers)


var _limits: Array[FastVariantLimits] = [
	null, FastVariantLimits.for_network(), FastVariantLimits.for_save_files(), FastVariantLimits.unlimited(),
]
## An Array that contains itself.
var _loop: Array = []
var _table := Values.new()
## The items of each phase.
var _phases: Array[Array] = []


func begin() -> bool:
	cases = 3
	var large := _large_items()
	var good := _good_items() + large
	_phases = [good, good + _broken_items(), large]
	return true


func run_case() -> int:
	var phase := case % _phases.size()
	var calls := CALLS[phase]
	Engine.print_error_messages = phase != 1
	var callers: Array[Caller] = []
	for i in 2 * CALLERS + 1:
		callers.append(Caller.new(_phases[phase], _limits, generator.randi()))
	var threads: Array[Thread] = []
	for i in CALLERS:
		var thread := Thread.new()
		thread.start(callers[i].run.bind(calls))
		threads.append(thread)
	var own := callers[-1]
	var pooled := callers.slice(CALLERS, -1)
	while own.done < calls:
		var most := mini(TASK_CALLS, calls - own.done)
		var run_pooled := func(index: int) -> void: pooled[index].run(most)
		var group := WorkerThreadPool.add_group_task(run_pooled, pooled.size())
		own.run(most)
		WorkerThreadPool.wait_for_group_task_completion(group)
	for thread in threads:
		thread.wait_to_finish()
	Engine.print_error_messages = true
	var done := 0
	for i in callers.size():
		var caller := callers[i]
		caller.clean_up()
		done += caller.done
		passed += caller.done - caller.problems.size()
		for problem in caller.problems:
			check("caller %d" % i, false, problem)
		if not caller.has_ended:
			check("caller %d" % i, false, "a script error ended it")
		for method_name in caller.counts:
			count(method_name.trim_prefix("_"), caller.counts[method_name])
	return done


func end() -> void:
	_loop.clear()
	_phases.clear()
	_table.release()


## The edge values and random values that encode and decode without an error, so that nothing is printed.
func _good_items() -> Array[Item]:
	var items: Array[Item] = []
	for case in _table.cases:
		var item := _item(case.value)
		if item and item.bytes.size() < 100000:
			_add_full(item)
			items.append(item)
	var random := RandomValues.new(generator)
	for i in RANDOM_VALUES:
		var item := _item(random.nested())
		if item:
			_add_full(item)
			items.append(item)
	return items


## Large values, both read-only, like constants, and writable.
func _large_items() -> Array[Item]:
	var rows: Array = []
	var table: Dictionary = {}
	var texts := PackedStringArray()
	for i in ROWS:
		var row := {"id": i, "name": "row %d" % i, "place": Vector3(i, 1, 2), "tags": ["a", &"b", i * 0.1]}
		row.make_read_only()
		rows.append(row)
		table["row %d" % i] = [row, i]
		texts.append("ü %d" % i)
	var numbers: Array = range(ROWS * 10)
	var items: Array[Item] = []
	for value: Variant in [
		rows, table, numbers, Array(numbers, TYPE_INT, "", null), texts, var_to_bytes(rows), PackedVector3Array(
				numbers.map(func(number: int) -> Vector3: return Vector3(number, 0, 1))), "text ".repeat(ROWS * 20),
	]:
		if value is Array or value is Dictionary:
			value.make_read_only()
		items.append(_item(value))
	var changeable := rows.duplicate()
	items.append(_item(changeable))
	return items


## Values that cannot be encoded, and bytes that are damaged or that no encoder writes.
func _broken_items() -> Array[Item]:
	var items: Array[Item] = []
	_loop.append(_loop)
	for value: Variant in [Values.nested_arrays(1026), {"deep": [Values.nested_arrays(1500)]}, {"loop": _loop}]:
		items.append(_described(value, true, PackedByteArray()))
	var inputs: Array[PackedByteArray] = []
	for input_name in Crafted.INPUTS:
		inputs.append(Crafted.INPUTS[input_name].hex_decode())
	var mutations := Mutations.new(generator)
	var samples := Samples.of(_table, false)
	for i in BROKEN_INPUTS:
		inputs.append(mutations.mutated(
				samples[generator.randi() % samples.size()].bytes, samples[generator.randi() % samples.size()].bytes))
	for bytes in inputs:
		var value: Variant = Oracle.engine_decode(bytes)
		if (not Refusals.applying_to(value) and not Refusals.hidden_in(bytes, false)
				and Oracle.engine_repeats(bytes, value)):
			items.append(_described(null, false, bytes))
	return items


## Returns the item for a value; null if try_encode refuses the value or try_decode refuses its bytes.
func _item(value: Variant) -> Item:
	var bytes := Oracle.engine_encode(value)
	if not FastVariantCodec.try_encode(value).is_ok() or not FastVariantCodec.try_decode(bytes).is_ok():
		return null
	return _described(value, true, bytes)


func _described(value: Variant, is_value: bool, bytes: PackedByteArray) -> Item:
	var item := Item.new()
	item.value = value
	item.is_value = is_value
	item.bytes = bytes
	item.decoded = Oracle.engine_encode(Oracle.engine_decode(bytes), true)
	item.outline = hash(FastVariantCodec.inspect(bytes, OUTLINED))
	item.text = FastVariantCodec.describe(bytes.slice(0, 4 * OUTLINED)).hash()
	for limits in _limits:
		item.strict.append(FastVariantCodec.try_decode(bytes, limits).is_ok())
	return item


## Adds the full encoding if it survives a round trip and its objects are reference-counted.
func _add_full(item: Item) -> void:
	var full := Oracle.engine_encode(item.value, true)
	if full == item.bytes or not Oracle.unmanaged_objects(item.value).is_empty():
		return
	var outcome := FastVariantCodec.try_encode(item.value, true)
	if outcome.is_ok() and var_to_bytes_with_objects(bytes_to_var_with_objects(full)) == full:
		item.full = full
