## Godot 3's format on live values: round trips, batches, files and refusals. tests/godot3_vectors.rs compares the bytes
## with Godot 3's own.
extends "res://suites/suite.gd"

const FOLDER := "user://dialect_suite"
const SAVED := FOLDER + "/saved.dat"
const OLD := FOLDER + "/old.dat"
const BACK := FOLDER + "/back.dat"
## Types that survive a round trip. RIDs do not, because the format of Godot 3 does not contain their ids.
const KEPT: Array[int] = [
	TYPE_NIL, TYPE_BOOL, TYPE_INT, TYPE_FLOAT, TYPE_STRING, TYPE_VECTOR2, TYPE_RECT2, TYPE_VECTOR3, TYPE_TRANSFORM2D,
	TYPE_PLANE, TYPE_QUATERNION, TYPE_AABB, TYPE_BASIS, TYPE_TRANSFORM3D, TYPE_COLOR, TYPE_NODE_PATH,
	TYPE_PACKED_BYTE_ARRAY, TYPE_PACKED_INT32_ARRAY, TYPE_PACKED_FLOAT32_ARRAY, TYPE_PACKED_STRING_ARRAY,
	TYPE_PACKED_VECTOR2_ARRAY, TYPE_PACKED_VECTOR3_ARRAY, TYPE_PACKED_COLOR_ARRAY,
]

const GODOT_3_POOL_BYTE_ARRAY := 20
## The maximum depth that `_holds_ids` searches.
const DEEPEST := 50

var _kept: Array


func test_begin() -> bool:
	DirAccess.make_dir_recursive_absolute(FOLDER)
	for case in values.cases:
		if _is_kept(case.value) and FastGodot3Codec.try_encode(case.value).is_ok():
			_kept.append(case.value)
	checks.subject(checks.MIXED, "values of both versions")
	checks.truth("there are many", _kept.size() > 300, str(_kept.size()))
	return true


func test_what_both_have_comes_back() -> bool:
	for value: Variant in _kept:
		checks.subject(typeof(value), var_to_str(value).left(40))
		var encoded := FastGodot3Codec.encode(value)
		checks.same_bytes("decode_godot3", var_to_bytes(value), var_to_bytes(FastGodot3Codec.decode(encoded)))
		var result := FastGodot3Codec.try_decode(encoded)
		checks.truth("try_decode_godot3 is ok", result.is_ok(), result.message)
		checks.same_bytes("try_decode_godot3", var_to_bytes(value), var_to_bytes(result.value))
		checks.same_int("bytes read", encoded.size(), result.bytes_read)
		for size: int in [0, 3, encoded.size() / 2]:
			checks.truth("cut to %d" % size, not FastGodot3Codec.try_decode(encoded.slice(0, size)).is_ok())
	return true


func test_every_case_lossy() -> bool:
	for case in values.cases:
		checks.subject(case.type, case.name)
		var strict := FastGodot3Codec.try_encode(case.value)
		var lossy := FastGodot3Codec.try_encode(case.value, true)
		if strict.is_ok():
			checks.same_bytes("nothing is lost", strict.value, lossy.value)
		elif strict.error != FastVariantCodec.NO_COUNTERPART and strict.error != FastVariantCodec.INVALID_TEXT:
			checks.same_int("lossy fails in the same way", strict.error, lossy.error)
			continue
		if not lossy.is_ok():
			continue
		var decoded := FastGodot3Codec.try_decode(lossy.value, null, true)
		# With `lossy`, texts keep byte-order marks and NULs, and keys may become null. Strict reading refuses
		# these.
		if decoded.error == FastVariantCodec.NOT_CANONICAL and not strict.is_ok():
			continue
		checks.truth("it is read", decoded.is_ok(), decoded.message)
		if strict.error != FastVariantCodec.INVALID_TEXT and not _holds_ids(decoded.value, 0):
			checks.same_bytes("encoded again", lossy.value, FastGodot3Codec.encode(decoded.value, true))
	return true


func test_batches() -> bool:
	checks.subject(checks.MIXED, "batches")
	for name: String in ["untyped", "once more, with bad items"]:
		var values_then := _kept.duplicate()
		var bad: Array[int] = []
		if name != "untyped":
			for index: int in [0, 77, values_then.size() - 1]:
				values_then[index] = Vector4.ONE
				bad.append(index)
		Engine.print_error_messages = bad.is_empty()
		var buffers := FastGodot3Codec.encode_batch(values_then)
		var decoded := FastGodot3Codec.decode_batch(buffers)
		Engine.print_error_messages = true
		checks.same_int("buffers", values_then.size(), buffers.size())
		for index in values_then.size():
			var alone := FastGodot3Codec.try_encode(values_then[index])
			var expected: PackedByteArray = alone.value if alone.is_ok() else PackedByteArray()
			checks.same_bytes("buffer %d" % index, expected, buffers[index])
			checks.truth("bad item %d" % index, buffers[index].is_empty() == (index in bad))
		for index in values_then.size():
			var expected: Variant = null if index in bad else values_then[index]
			checks.same_bytes("value %d" % index, var_to_bytes(expected), var_to_bytes(decoded[index]))
	checks.same_int("no values", 0, FastGodot3Codec.encode_batch([]).size())
	return true


func test_files() -> bool:
	checks.subject(checks.MIXED, "files")
	checks.truth("save_batch", FastVariantCodec.save_batch(SAVED, _kept).is_ok())
	var saved := FileAccess.get_file_as_bytes(SAVED)
	var to_3 := FastGodot3Codec.convert_file_back(SAVED, OLD)
	checks.truth("convert_file_to_godot3 is ok", to_3.is_ok(), to_3.message)
	var old := FileAccess.get_file_as_bytes(OLD)
	checks.same_bytes("what it has written", Wire.behind_lengths(FastGodot3Codec.encode_batch(_kept)), old)
	checks.same_value("its report", {
		"records": _kept.size(), "bytes_read": saved.size(), "bytes_written": old.size(), "changes": {},
	}, to_3.value)
	var from_3 := FastGodot3Codec.convert_file(OLD, BACK)
	checks.truth("convert_godot3_file is ok", from_3.is_ok(), from_3.message)
	checks.same_bytes("what it has written", saved, FileAccess.get_file_as_bytes(BACK))
	var in_place := FastGodot3Codec.convert_file(OLD, OLD)
	checks.truth("a file takes its own place", in_place.is_ok(), in_place.message)
	checks.same_bytes("then", saved, FileAccess.get_file_as_bytes(OLD))
	# The conversion waits for the save, and converts the saved file.
	var saving := FastVariantCodec.save_batch_async(OLD, range(50_000))
	var waited := FastGodot3Codec.convert_file_back(OLD, OLD)
	checks.truth("a file that is being saved", waited.is_ok() and waited.value["records"] == 50_000, waited.message)
	checks.truth("saved", saving.wait_to_finish().is_ok())
	# Other programs write 8 bytes for each float, and omit padding.
	_write(OLD, Wire.behind_lengths([
		Wire.header(TYPE_FLOAT, 1) + PackedByteArray([0, 0, 0, 0, 0, 0, 0x45, 0x40]),
		Wire.header(GODOT_3_POOL_BYTE_ARRAY) + Wire.word(1) + PackedByteArray([7]),
	]))
	var odd := FastGodot3Codec.convert_file(OLD, BACK)
	checks.truth("bytes of other programs", odd.is_ok(), odd.message)
	checks.same_bytes("then", Wire.framed([42.0, PackedByteArray([7])]), FileAccess.get_file_as_bytes(BACK))
	_write(OLD, Wire.behind_lengths([Wire.header(TYPE_FLOAT, 1) + PackedByteArray([0, 0, 0, 0, 0, 0, 0x45, 0x40])]))
	odd = FastGodot3Codec.convert_file_back(OLD, BACK)
	checks.truth("bytes of other programs to Godot 3's", odd.is_ok(), odd.message)
	checks.same_bytes("then", Wire.framed([42.0]), FileAccess.get_file_as_bytes(BACK))
	return true


func test_reports() -> bool:
	checks.subject(checks.MIXED, "reports")
	var typed: Array[Vector2i] = [Vector2i(1, 2), Vector2i(3, 4)]
	FastVariantCodec.save_batch(SAVED, [typed, &"name", {"at": Vector2i.ONE}])
	var kept := FastGodot3Codec.convert_file_back(SAVED, OLD)
	checks.same_value("changes", {"typed Array to Array": 1, "Vector2i to Vector2": 3, "StringName to String": 1},
			kept.value.changes)
	for value: Dictionary in [{["a"]: 1, [&"a"]: 2}, {{1: "a"}: 1, {1: &"a"}: 2}]:
		var merged := FastGodot3Codec.try_encode(value).message
		checks.truth("texts in keys", "both StringName and String in its keys" in merged, merged)
	checks.truth("texts as keys", FastGodot3Codec.try_encode({"a": 1, &"b": 2, 3: [&"a", "b"]}).is_ok())
	FastVariantCodec.save_batch(SAVED, [Vector4.ONE, 1, [Vector2i(16777217, 0)]])
	var before := FileAccess.get_file_as_bytes(OLD)
	var refused := FastGodot3Codec.convert_file_back(SAVED, OLD)
	checks.same_int("refused", FastVariantCodec.NO_COUNTERPART, refused.error)
	checks.same_value("the records", PackedInt32Array([0, 2]), refused.failed)
	checks.truth("the reason of the first", refused.get_item_error(0).contains("Vector4"), refused.get_item_error(0))
	checks.truth("the place of the second", refused.get_item_error(2).contains("[0]"), refused.get_item_error(2))
	checks.same_bytes("nothing was written", before, FileAccess.get_file_as_bytes(OLD))
	var lossy := FastGodot3Codec.convert_file_back(SAVED, OLD, null, true)
	checks.same_value("lossy changes", {"Vector4 to Quat": 1, "Vector2i to Vector2": 1, "number to rounded number": 1},
			lossy.value.changes)
	return true


func test_broken_files() -> bool:
	checks.subject(checks.MIXED, "broken files")
	var good := Wire.behind_lengths(FastGodot3Codec.encode_batch([1, {"hp": 7}, "text"]))
	var before := PackedByteArray([1, 2, 3])
	for size in good.size():
		_write(OLD, good.slice(0, size))
		_write(BACK, before)
		var result := FastGodot3Codec.convert_file(OLD, BACK)
		# A file shortened to the end of a record is complete.
		if size in [0, 12, 44]:
			checks.truth("whole at %d" % size, result.is_ok(), result.message)
			continue
		checks.truth("cut at %d" % size, not result.is_ok() and not result.message.is_empty())
		checks.same_bytes("the other file", before, FileAccess.get_file_as_bytes(BACK))
	var repeated := FastGodot3Codec.encode({1: [], 2: []})
	repeated.encode_u32(12, 2)
	_write(OLD, good + Wire.behind_lengths([repeated]))
	var twice := FastGodot3Codec.convert_file(OLD, BACK)
	checks.truth("a key twice", twice.failed == PackedInt32Array([3]) and "duplicate Dictionary key" in twice.message, twice.message)
	_write(OLD, good)
	for paths: Array in [["user://not/there", BACK], [OLD, "user://not/there"], ["", ""]]:
		var result: FastVariantResult = FastGodot3Codec.convert_file(paths[0], paths[1])
		checks.same_int("%s to %s" % paths, FastVariantCodec.FILE_ERROR, result.error)
	return true


## Objects are never made, whatever the limits allow.
func test_objects() -> bool:
	checks.subject(TYPE_OBJECT, "objects")
	var limits := FastVariantLimits.for_network()
	limits.allow_objects = true
	var object := (Wire.header(17) + Wire.text("RefCounted") + Wire.word(0))
	checks.same_int("objects", FastVariantCodec.OBJECT_REFUSED, FastGodot3Codec.try_decode(object, limits).error)
	checks.same_value("lossy objects", {"class": "RefCounted"},
			FastGodot3Codec.try_decode(object, limits, true).value)
	return true


func _is_kept(value: Variant, depth := 0) -> bool:
	if value is Array or value is Dictionary:
		if value.is_typed() or depth == DEEPEST:
			return false
		return _inside(value).all(func(inner: Variant) -> bool: return _is_kept(inner, depth + 1))
	return typeof(value) in KEPT and not (value is NodePath and str(value) == "/")


## Returns whether a value contains objects, whose ids differ each time.
func _holds_ids(value: Variant, depth: int) -> bool:
	if value is Array or value is Dictionary:
		return depth < DEEPEST and _inside(value).any(func(inner: Variant) -> bool: return _holds_ids(inner, depth + 1))
	return value is Object


func _inside(container: Variant) -> Array:
	return container if container is Array else container.keys() + container.values()


func _write(path: String, bytes: PackedByteArray) -> void:
	var file := FileAccess.open(path, FileAccess.WRITE)
	file.store_buffer(bytes)
	file.close()
