## Calls that run out of memory, for `cargo xtask test`, which limits the address space of the process. Linux only.
##
## For each kind of value and each way to read and write it: however little memory is left, the call gives what it should
## or OUT_OF_MEMORY, and the process lives. With plenty it succeeds.
extends SceneTree

const Checks := preload("res://suites/checks.gd")
const Extension := preload("res://suites/extension.gd")
const MIB := 1 << 20
## What is left for a call, in MiB, over and over.
const LEFT: Array[int] = [40, 72, 130, 400]
const PIECES := 4000
const LITTLE := 4 * MIB
## Elements of what is encoded: about 8 MiB each.
const MANY := 100_000
const LARGE := 8 * MIB
const SCHEMA := "res://suites/fixtures/messages/everything.proto"
const FILE := "user://no_memory"

var _checks := Checks.new()
var _limit := 0
var _refused := 0


func _initialize() -> void:
	_run()


func _run() -> void:
	if not Extension.is_loaded():
		return quit(1)
	_limit = OS.get_environment("ADDRESS_SPACE").to_int()
	Engine.print_error_messages = false
	var values := _values()
	for value_name in values:
		await _check(value_name, values[value_name])
		values[value_name] = null
	Engine.print_error_messages = true
	_checks.subject(_checks.MIXED, "memory")
	_checks.truth("calls ran out of it", _refused > 20, str(_refused))
	DirAccess.remove_absolute(FILE)
	print("%d calls without memory" % _refused)
	print("\n%d passed, %d failed" % [_checks.passed, _checks.failed])
	quit(0 if _checks.failed == 0 else 1)


func _values() -> Dictionary[String, Variant]:
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
	for index in MANY / 4:
		dictionaries.append({"name": index, "list": [index]})
	return {
		"String": "a".repeat(LARGE), "String, not ASCII": "ä".repeat(LARGE / 2), "PackedByteArray": bytes,
		"PackedInt32Array": int32, "PackedFloat64Array": bytes.to_float64_array(), "PackedColorArray": colors,
		"PackedVector3Array": vectors, "PackedStringArray": strings, "Strings in an Array": texts, "Array[int]": typed,
		"Dictionary": entries, "Dictionaries": dictionaries, "large parts": [bytes, "a".repeat(LARGE), int32],
	}


func _check(value_name: String, value: Variant) -> void:
	_checks.subject(typeof(value), value_name)
	var bytes := FastVariantCodec.encode(value)
	var old := FastVariantCodec.encode_godot3(value)
	var packed := FastVariantCodec.pack_batch([value, 1])
	var many: Array = [bytes, bytes]
	var items: Array = value if value is Array else [value, value]
	FastVariantCodec.save_batch(FILE, [value])
	# Each gives its error code and what it is about.
	var calls: Dictionary[String, Callable] = {
		"try_encode": func() -> Array: return _of(FastVariantCodec.try_encode(value)),
		"try_decode": func() -> Array: return _of(FastVariantCodec.try_decode(bytes)),
		"validate": func() -> Array: return _of(FastVariantCodec.validate(bytes)),
		"decode": func() -> Array: return _of_value(FastVariantCodec.decode(bytes)),
		"encode": func() -> Array: return _of_value(FastVariantCodec.encode(value)),
		"encode_batch": func() -> Array: return _of_batch(FastVariantCodec.encode_batch(items), items.size()),
		"decode_batch": func() -> Array: return _of_batch(FastVariantCodec.decode_batch(many), 2),
		"pack_batch": func() -> Array: return _of_value(FastVariantCodec.pack_batch([value, 1])),
		"unpack_batch": func() -> Array: return _of(FastVariantCodec.unpack_batch(packed)),
		"load_batch": func() -> Array: return _of(FastVariantCodec.load_batch(FILE)),
		"decode_batch_async": func() -> Array: return _of(FastVariantCodec.decode_batch_async(many).wait()),
		"encode_batch_async": func() -> Array: return _of(FastVariantCodec.encode_batch_async(items).wait()),
		"try_encode_godot3": func() -> Array: return _of(FastVariantCodec.try_encode_godot3(value)),
		"try_decode_godot3": func() -> Array: return _of(FastVariantCodec.try_decode_godot3(old)),
		"describe": func() -> Array: return _of_value(FastVariantCodec.describe(bytes)),
	}
	if value is String or value is PackedByteArray or value is PackedInt32Array:
		var schema := FastProtobufCodec.load_schema(SCHEMA)
		var field: String = {TYPE_STRING: "f_string", TYPE_PACKED_BYTE_ARRAY: "f_bytes", TYPE_PACKED_INT32_ARRAY: "r_int32"}[typeof(value)]
		var message := {field: value}
		var written := schema.encode("Everything", message)
		calls["message, try_encode"] = func() -> Array: return _of(schema.try_encode("Everything", message))
		calls["message, try_decode"] = func() -> Array: return _of(schema.try_decode("Everything", written))
	var all_ends: Dictionary[String, Array] = {}
	for left in LEFT:
		var ballast := _ballast(left)
		for call_name in calls:
			var outcome: Array = calls[call_name].call()
			var end: int = outcome[0]
			outcome.clear()
			all_ends.get_or_add(call_name, []).append(end)
			_refused += int(end == FastVariantCodec.OUT_OF_MEMORY)
		ballast.clear()
		# Jobs stay until the next frames.
		await process_frame
		await process_frame
	for call_name in calls:
		var ends := all_ends[call_name]
		var are_right := ends.all(func(end: int) -> bool: return end in [FastVariantCodec.OK, FastVariantCodec.OUT_OF_MEMORY])
		_checks.truth("%s succeeds or has no memory" % call_name, are_right, str(ends))
		_checks.truth("%s succeeds with plenty" % call_name, ends.back() == FastVariantCodec.OK, str(ends))


func _of(result: FastVariantResult) -> Array:
	return [result.error, result]


## Where nothing says why, the value does.
func _of_value(value: Variant) -> Array:
	var is_nothing: bool = value == null or (value is PackedByteArray and value.is_empty())
	return [FastVariantCodec.OUT_OF_MEMORY if is_nothing else FastVariantCodec.OK, value]


func _of_batch(values: Array, count: int) -> Array:
	if values.is_empty() or _of_value(values[0])[0] != FastVariantCodec.OK:
		return [FastVariantCodec.OUT_OF_MEMORY, values]
	return [FastVariantCodec.OK if values.size() == count else FAILED, values]


## Takes all memory, but for so many MiB in one piece, which is taken first and freed last, and less than 40 MiB beside it.
## All pieces are larger than those that the C library keeps for later.
func _ballast(left: int) -> Array[PackedByteArray]:
	var kept := PackedByteArray()
	_checks.truth("%d MiB can be kept" % left, kept.resize(left * MIB) == OK)
	var ballast: Array[PackedByteArray] = []
	if kept.is_empty():
		return ballast
	ballast.resize(PIECES)
	var count := 0
	for size: int in [256 * MIB, 34 * MIB]:
		var piece := PackedByteArray()
		while count < PIECES and _free() > size + LITTLE and piece.resize(size - 64) == OK:
			ballast[count] = piece
			piece = PackedByteArray()
			count += 1
	return ballast


## How far the address space may still grow.
func _free() -> int:
	# It says that it has no length.
	var pages := FileAccess.open("/proc/self/statm", FileAccess.READ).get_line().get_slice(" ", 0).to_int()
	return _limit - pages * 4096
