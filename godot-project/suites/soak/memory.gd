## Calls that run out of memory, in a limited address space (Linux).
##
## However little memory is left, each call returns the correct result or OUT_OF_MEMORY, and the process
## survives. With plenty of memory, every call succeeds. A case is one kind of value.
extends "res://suites/soak/activity.gd"

const Bag := preload("res://suites/fixtures/classes/hero.gd").Bag
const MIB := 1 << 20
## The remaining address space for a call, in MiB.
const LEFT: Array[int] = [20, 40, 72, 130, 400]
## The number of elements of a value that takes about 8 MiB when encoded.
const MANY := 100_000
const LARGE := 8 * MIB
const SCHEMA := "res://suites/fixtures/messages/everything.proto"
const FILE := "user://no_memory"

var _values: Dictionary[String, Variant] = {}
var _spare := PackedByteArray()
var _refused := 0


func begin() -> bool:
	_values = _all_values()
	cases = _values.size()
	return true


func run_case() -> int:
	Engine.print_error_messages = false
	var value_name: String = _values.keys()[case % _values.size()]
	await _check(value_name, _values[value_name])
	Engine.print_error_messages = true
	return 1


func end() -> void:
	check("calls ran out of memory", _refused > 20, str(_refused))
	count("calls without memory", _refused)
	DirAccess.remove_absolute(FILE)
	DirAccess.remove_absolute(FILE + "_saved")


func _all_values() -> Dictionary[String, Variant]:
	var bytes := PackedByteArray()
	bytes.resize(LARGE)
	var int32 := bytes.to_int32_array()
	var colors := PackedColorArray()
	colors.resize(LARGE / 16)
	var vectors := PackedVector3Array()
	vectors.resize(LARGE / 12)
	var strings := PackedStringArray()
	strings.resize(MANY)
	strings.fill("some text")
	var texts: Array = []
	var typed: Array[int] = []
	var entries := {}
	var dictionaries: Array = []
	for index in MANY:
		texts.append("text %d" % index)
		typed.append(index)
		entries[index] = index
	var rows: Array = []
	var text := "a".repeat(1000)
	# Small containers, many of them for each byte.
	var nested := {}
	for index in MANY / 20:
		nested[index] = [{}, {"a": {"b": {"c": {"d": {}}}}}, {1: {2: {3: {}}}}, [[], [], []]]
	for index in MANY / 4:
		dictionaries.append({"name": index, "list": [index]})
		if index % 3 == 0:
			rows.append({"name": text, "list": [index]})
	# Each part that a thread decodes takes little memory.
	var points: Array = []
	points.resize(LARGE / 4096)
	var line: Array = []
	line.resize(500)
	line.fill(Vector3.ONE)
	points.fill(line)
	# Short runs use only the first entries, so the entries that differ most come first.
	return {
		"large parts": [bytes, "a".repeat(LARGE), int32], "Dictionaries": dictionaries, "PackedStringArray": strings,
		"String": "a".repeat(LARGE), "String, not ASCII": "ä".repeat(LARGE / 2), "PackedByteArray": bytes,
		"PackedInt32Array": int32, "PackedFloat64Array": bytes.to_float64_array(), "PackedColorArray": colors,
		"PackedVector3Array": vectors, "Strings in an Array": texts, "Arrays of vectors": points,
		"Array[int]": typed, "Dictionary": entries, "rows": rows, "nested containers": nested,
	}


func _check(value_name: String, value: Variant) -> void:
	var bytes := FastVariantCodec.encode(value)
	var old := FastVariantCodec.encode_godot3(value)
	var packed := FastVariantCodec.pack_batch([value, 1])
	var many: Array = [bytes, bytes]
	var items: Array = value if value is Array else [value, value]
	FastVariantCodec.save_batch(FILE, items)
	var with_objects := FastVariantLimits.for_save_files()
	with_objects.allow_objects = true
	var invalid: Array = []
	invalid.resize(MANY)
	invalid.fill(PackedByteArray([99, 0, 0, 0]))
	# Each call returns its error code and its result.
	var calls: Dictionary[String, Callable] = {
		"try_encode": func() -> Array: return _of(FastVariantCodec.try_encode(value)),
		"try_decode": func() -> Array: return _of(FastVariantCodec.try_decode(bytes)),
		"validate": func() -> Array: return _of(FastVariantCodec.validate(bytes)),
		"try_encode, full objects": func() -> Array: return _of(FastVariantCodec.try_encode(value, true)),
		"decode": func() -> Array: return _of_value(FastVariantCodec.decode(bytes)),
		"encode": func() -> Array: return _of_value(FastVariantCodec.encode(value)),
		"encode_batch": func() -> Array: return _of_batch(FastVariantCodec.encode_batch(items), items.size()),
		"decode_batch": func() -> Array: return _of_batch(FastVariantCodec.decode_batch(many), 2),
		"pack_batch": func() -> Array: return _of_value(FastVariantCodec.pack_batch([value, 1])),
		"pack_batch, each": func() -> Array: return _of_value(FastVariantCodec.pack_batch(items)),
		"try_save_batch": func() -> Array: return _of(FastVariantCodec.try_save_batch(FILE + "_saved", items)),
		"encode_godot3_batch": func() -> Array: return _of_batch(FastVariantCodec.encode_godot3_batch(items), items.size()),
		"unpack_batch": func() -> Array: return _of(FastVariantCodec.unpack_batch(packed)),
		"load_batch": func() -> Array: return _of(FastVariantCodec.load_batch(FILE)),
		"load_batch_async, in slices": func() -> Array: return _of(FastVariantCodec.load_batch_async(FILE, with_objects).wait()),
		"decode_batch_async": func() -> Array: return _of(FastVariantCodec.decode_batch_async(many).wait()),
		"encode_batch_async": func() -> Array: return _of(FastVariantCodec.encode_batch_async(items).wait()),
		"decode_batch_async, invalid": func() -> Array: return _of_invalid(FastVariantCodec.decode_batch_async(invalid).wait()),
		"try_encode_godot3": func() -> Array: return _of(FastVariantCodec.try_encode_godot3(value)),
		"try_decode_godot3": func() -> Array: return _of(FastVariantCodec.try_decode_godot3(old)),
		"describe": func() -> Array: return _of_value(FastVariantCodec.describe(bytes)),
		"inspect": func() -> Array: return _of_value(FastVariantCodec.inspect(bytes, MANY / 4)),
	}
	if value_name == "Dictionaries":
		_add_calls_of_objects(calls)
	if value_name == "rows":
		_add_calls_of_rows(calls, value, bytes)
	if value is String or value is PackedByteArray or value is PackedInt32Array:
		var schema := FastProtobufCodec.load_schema(SCHEMA)
		var field: String = {TYPE_STRING: "f_string", TYPE_PACKED_BYTE_ARRAY: "f_bytes", TYPE_PACKED_INT32_ARRAY: "r_int32"}[typeof(value)]
		var message := {field: value}
		var written := schema.encode("Everything", message)
		calls["message, try_encode"] = func() -> Array: return _of(schema.try_encode("Everything", message))
		calls["message, try_decode"] = func() -> Array: return _of(schema.try_decode("Everything", written))
	var all_ends: Dictionary[String, Array] = {}
	for left in LEFT:
		_limit_memory(left)
		for call_name in calls:
			var outcome: Array = calls[call_name].call()
			var end: int = outcome[0]
			outcome.clear()
			all_ends.get_or_add(call_name, []).append(end)
			_refused += int(end == FastVariantCodec.OUT_OF_MEMORY)
		_limit_memory(-1)
		# Jobs stay alive until the next frames.
		await next_frame()
		await next_frame()
	for call_name in calls:
		var ends := all_ends[call_name]
		var are_right := ends.all(func(end: int) -> bool: return end in [FastVariantCodec.OK, FastVariantCodec.OUT_OF_MEMORY])
		check("%s, %s succeeds or has no memory" % [value_name, call_name], are_right, str(ends))
		check("%s, %s succeeds with plenty" % [value_name, call_name], ends.back() == FastVariantCodec.OK, str(ends))


func _add_calls_of_objects(calls: Dictionary[String, Callable]) -> void:
	var classes := FastVariantClasses.new()
	classes.register(Bag, {"name": "Bag", "keep_unknown": true})
	var with_unknown := Bag.new()
	var unknown := {}
	var containers := {}
	for index in MANY:
		unknown["unknown %d" % index] = index
		containers[index] = []
	with_unknown.set_meta("_fast_variant_unknown", unknown)
	var objects: Array = []
	for index in MANY / 2:
		objects.append(Bag.new())
	objects.append_array(objects.slice(0, MANY / 4))
	var bytes := classes.encode(objects)
	var packed := classes.pack_batch(objects.slice(0, MANY / 2))
	# Objects that take much more memory than their data.
	var wide := GDScript.new()
	wide.source_code = "extends RefCounted\n"
	for index in 600:
		wide.source_code += "var unsaved_%d := 0\n" % index
	wide.reload()
	classes.register(wide, {"name": "Wide", "properties": []})
	var wide_objects: Array = []
	for index in MANY / 40:
		wide_objects.append(wide.new())
	var wide_bytes := classes.encode(wide_objects)
	var wide_packed := classes.pack_batch(wide_objects)
	wide_objects.clear()
	var with_long_key := FastVariantCodec.encode({&"@class": "Bag", "a".repeat(LARGE): 1})
	var upgrading := FastVariantClasses.new()
	upgrading.register(Bag, {"name": "Bag", "version": 2, "upgrade": func(data: Dictionary, _from: int) -> Dictionary:
		data["items"] = [RefCounted.new(), RefCounted.new()]
		return data})
	calls.merge({
		"objects, unknown properties": func() -> Array: return _of(classes.try_encode(with_unknown)),
		"objects, Dictionary": func() -> Array: return _of(classes.try_encode(containers)),
		"objects, encode": func() -> Array: return _of(classes.try_encode(objects)),
		"objects, decode": func() -> Array: return _of(classes.decode(bytes)),
		"objects, pack_batch": func() -> Array: return _of_value(classes.pack_batch(objects.slice(0, MANY / 2))),
		"objects, unpack_batch": func() -> Array: return _of(classes.unpack_batch(packed)),
		"objects, a long key": func() -> Array: return _of(classes.decode(with_long_key)),
		"objects, upgrade": func() -> Array: return _of(upgrading.decode(bytes)),
		"objects, decode to wide objects": func() -> Array: return _of(classes.decode(wide_bytes)),
		"objects, unpack_batch to wide objects": func() -> Array: return _of(classes.unpack_batch(wide_packed)),
		"objects, to_plain": func() -> Array: return _of_value(classes.to_plain(objects)),
	})


## Adds the calls that work on a value with many rows.
func _add_calls_of_rows(calls: Dictionary[String, Callable], rows: Array, bytes: PackedByteArray) -> void:
	var others := rows.map(func(row: Dictionary) -> Dictionary: return {"name": row["name"] + "b", "list": row["list"]})
	var other_bytes := FastVariantCodec.encode(others)
	var patch := FastVariantCodec.diff(rows, others)
	var types := {"name": TYPE_STRING, "list": TYPE_ARRAY}
	var views: Dictionary[String, FastVariantView] = {"view": FastVariantView.open(bytes), "view of a file": FastVariantView.open_file(FILE)}
	for kind in views:
		var view := views[kind]
		calls[kind + ", try_fetch"] = func() -> Array: return _of(view.try_fetch(""))
		calls[kind + ", slice"] = func() -> Array: return _of_value(view.slice("", 0))
		calls[kind + ", try_columns"] = func() -> Array: return _of(view.try_columns("", types))
		calls[kind + ", rows"] = func() -> Array: return _of_value(view.rows("", "list", "!=", []))
	calls.merge({
		"diff": func() -> Array: return _of_value(FastVariantCodec.diff(rows, others)),
		"diff_bytes": func() -> Array: return _of_value(FastVariantCodec.diff_bytes(bytes, other_bytes)),
		"patch": func() -> Array: return _of(FastVariantCodec.patch(rows, patch)),
		"patch_bytes": func() -> Array: return _of(FastVariantCodec.patch_bytes(bytes, patch)),
		"differences": func() -> Array: return _of_value(FastVariantCodec.differences(rows, others, MANY)),
		"differences_bytes": func() -> Array: return _of_value(FastVariantCodec.differences_bytes(bytes, other_bytes, MANY)),
		"fingerprint_bytes": func() -> Array: return _of_value(FastVariantCodec.fingerprint_bytes(bytes)),
	})


func _of(result: FastVariantResult) -> Array:
	return [result.error, result]


## The error code and the result of a batch of invalid items.
func _of_invalid(result: FastVariantResult) -> Array:
	return [result.error if result.error == FastVariantCodec.OUT_OF_MEMORY else FastVariantCodec.OK, result]


## An error code and the value, for a method that returns only the value: an empty value means OUT_OF_MEMORY.
func _of_value(value: Variant) -> Array:
	return [FastVariantCodec.OK if value else FastVariantCodec.OUT_OF_MEMORY, value]


func _of_batch(values: Array, count: int) -> Array:
	if values.is_empty() or _of_value(values[0])[0] != FastVariantCodec.OK:
		return [FastVariantCodec.OUT_OF_MEMORY, values]
	return [FastVariantCodec.OK if values.size() == count else FAILED, values]


## Limits the address space to the present size plus `left` MiB; −1 removes the limit.
func _limit_memory(left: int) -> void:
	var limit := "unlimited"
	# Starting prlimit takes memory, so this block is freed before prlimit removes the limit. The C library
	# returns blocks of this size to the system.
	_spare.resize(64 * MIB if left >= 0 else 0)
	if left >= 0:
		# Reads a line, because the file reports a length of 0.
		var pages := FileAccess.open("/proc/self/statm", FileAccess.READ).get_line().get_slice(" ", 0).to_int()
		limit = str(pages * 4096 + left * MIB)
	var process := str(OS.get_process_id())
	check("prlimit", OS.execute("prlimit", ["--pid", process, "--as=%s:" % limit]) == 0)
