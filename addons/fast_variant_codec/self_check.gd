@tool
extends RefCounted
## Compares the codec's bytes and values with the running engine's, for edge values of every type.
##
## The editor panel shows the results. Scripts and exported games can run it too:
## [codeblock]
## var check := preload("res://addons/fast_variant_codec/self_check.gd").new()
## check.run()
## print("%d passed, %d failed" % [check.passed(), check.failed()])
## [/codeblock]

signal something_happened

## Bit patterns of 32-bit floats, repeated until they fill a value.
const FLOAT_PATTERNS: Array[Array] = [
	[0], [0x80000000], [0x3f800000, 0x40000000, 0x40400000], [0x3dcccccd, 0xbeaaaaab], [0x7f800000, 0xff800000],
	[0x7fc00000, 0xffc12345], [0x00000001, 0x807fffff], [0x7f7fffff, 0xff7fffff],
]
const INT_PATTERNS: Array[Array] = [[0], [1, 2, 3, 4], [0xffffffff], [0x7fffffff, 0x80000000]]
## The number of 32-bit components, for types that consist only of these.
const COMPONENTS: Dictionary[int, int] = {
	TYPE_VECTOR2: 2, TYPE_VECTOR2I: 2, TYPE_RECT2: 4, TYPE_RECT2I: 4, TYPE_VECTOR3: 3, TYPE_VECTOR3I: 3,
	TYPE_TRANSFORM2D: 6, TYPE_VECTOR4: 4, TYPE_VECTOR4I: 4, TYPE_PLANE: 4, TYPE_QUATERNION: 4, TYPE_AABB: 6, TYPE_BASIS: 9,
	TYPE_TRANSFORM3D: 12, TYPE_PROJECTION: 16, TYPE_COLOR: 4,
}
const INT_TYPES: PackedInt32Array = [TYPE_VECTOR2I, TYPE_RECT2I, TYPE_VECTOR3I, TYPE_VECTOR4I]
## The number of 32-bit words in an element of a packed array.
const ELEMENT_WORDS: Dictionary[int, int] = {
	TYPE_PACKED_INT32_ARRAY: 1, TYPE_PACKED_INT64_ARRAY: 2, TYPE_PACKED_FLOAT32_ARRAY: 1, TYPE_PACKED_FLOAT64_ARRAY: 2,
	TYPE_PACKED_VECTOR2_ARRAY: 2, TYPE_PACKED_VECTOR3_ARRAY: 3, TYPE_PACKED_COLOR_ARRAY: 4, TYPE_PACKED_VECTOR4_ARRAY: 4,
}


class Row:
	extends RefCounted
	var type: int
	var passed := 0
	var failures := PackedStringArray()

	func _init(of: int) -> void:
		type = of

	func check(what: String, holds: bool, value: Variant) -> void:
		if holds:
			passed += 1
		else:
			failures.append("%s: %s" % [what, str(value).left(200)])


## The results, one row per type, in the order of the type ids.
var rows: Array[Row] = []


func passed() -> int:
	return rows.reduce(func(sum: int, row: Row) -> int: return sum + row.passed, 0)


func failed() -> int:
	return rows.reduce(func(sum: int, row: Row) -> int: return sum + row.failures.size(), 0)


func run() -> void:
	rows.clear()
	for type in TYPE_MAX:
		var row := Row.new(type)
		_check_values(row, _values_of(type))
		rows.append(row)


func _check_values(row: Row, values: Array) -> void:
	for value: Variant in values:
		var bytes := var_to_bytes(value)
		row.check("type", typeof(value) == row.type, value)
		row.check("encode", FastVariantCodec.encode(value) == bytes, value)
		row.check("encoded_size", FastVariantCodec.encoded_size(value) == bytes.size(), value)
		row.check("decode", _is_same(FastVariantCodec.decode(bytes), bytes_to_var(bytes)), value)
		row.check("decode behind other values", _is_same(
				FastVariantCodec.decode(var_to_bytes([1, "é", value])), bytes_to_var(var_to_bytes([1, "é", value]))), value)
		row.check("inspect", FastVariantInspector.inspect(bytes, 1)["end"] == bytes.size(), value)
		var full := var_to_bytes_with_objects(value)
		row.check("encode with objects", FastVariantCodec.encode(value, true) == full, value)
		row.check("decode with objects", _is_same(
				FastVariantCodec.decode(full, true), bytes_to_var_with_objects(full)), value)
	var buffers := FastVariantCodec.encode_batch(values)
	var again := FastVariantCodec.decode_batch(buffers)
	for i in values.size():
		row.check("encode_batch", buffers[i] == var_to_bytes(values[i]), values[i])
		row.check("decode_batch", _is_same(again[i], bytes_to_var(buffers[i])), values[i])
	row.check("encode_batch, size", buffers.size() == values.size(), values)


## Whether types and encoded bits are equal, and objects have the same class.
func _is_same(actual: Variant, expected: Variant) -> bool:
	if typeof(actual) != typeof(expected):
		return false
	if actual is Object and expected is Object and (actual as Object).get_class() != (expected as Object).get_class():
		return false
	# Encodes with objects, because a decoded object is a new object with another id.
	return var_to_bytes_with_objects(actual) == var_to_bytes_with_objects(expected)


func _values_of(type: int) -> Array:
	if COMPONENTS.has(type):
		return _made_of(type, INT_PATTERNS if type in INT_TYPES else FLOAT_PATTERNS)
	if ELEMENT_WORDS.has(type):
		return _packed(type)
	match type:
		TYPE_NIL:
			return [null]
		TYPE_BOOL:
			return [false, true]
		TYPE_INT:
			return _ints()
		TYPE_FLOAT:
			return _floats()
		TYPE_STRING:
			return _texts()
		TYPE_STRING_NAME:
			return _texts().map(func(text: String) -> StringName: return StringName(text))
		TYPE_NODE_PATH:
			return [
				^"", ^"a", ^"/root", ^"../a/b", ^"/root/a:b:c", ^":b", ^"%Unique/a", ^"é/水/😀:ß", ^"ab/abc/abcd/abcde",
				NodePath("/root/" + "Node/".repeat(300)),
			]
		TYPE_RID:
			return [RID(), rid_from_int64(1), rid_from_int64(0x100000000), rid_from_int64(-1)]
		TYPE_OBJECT:
			return _objects()
		TYPE_CALLABLE:
			return [Callable(), run, "text".to_upper, func() -> int: return 1]
		TYPE_SIGNAL:
			return [Signal(), something_happened, Signal(self, &"property_list_changed")]
		TYPE_DICTIONARY:
			return _dictionaries()
		TYPE_ARRAY:
			return _arrays()
		TYPE_PACKED_BYTE_ARRAY:
			return [0, 1, 2, 3, 4, 5, 255, 100_000].map(_bytes)
		TYPE_PACKED_STRING_ARRAY:
			return [PackedStringArray(), PackedStringArray([""]), PackedStringArray(["a", "", "é"]), PackedStringArray(_texts())]
	return []


func _ints() -> Array:
	var ints: Array = [0, 42]
	for bits in 64:
		var power := 1 << bits
		ints.append_array([power - 1, power, -power, -power - 1])
	return ints


func _floats() -> Array:
	var floats: Array = [0.0, 1.5, -1.0, 0.1, PI, 1e300, -1e-300, 16777217.0, NAN, INF, -INF]
	for bits: int in [
		1 << 63, 1, -1, 0x000fffffffffffff, 0x7fefffffffffffff, 0x36a0000000000000, 0x3690000000000000,
		0x47efffffe0000000, 0x47efffffe0000001, 0x7ff8000020000000, 0x7ff80000abcdef12, 0x3ff0000020000000,
	]:
		var bytes := _bytes(8)
		bytes.encode_s64(0, bits)
		floats.append(bytes.decode_double(0))
	return floats


func _texts() -> Array:
	return [
		"", "a", "ab", "abc", "abcd", "abcde", "é", "€", "😀", "aé€😀 zß水🍌", "\"'\\`", "\t\r\n\u0001", "שלום", "e\u0301",
		char(0x7f), char(0x80), char(0x7ff), char(0x800), char(0xd7ff), char(0xe000), char(0xffff), char(0x10000),
		char(0x10ffff), "a" + char(0xfeff), "0123456789".repeat(1000), "水".repeat(3333), "x".repeat(4093) + "😀",
	]


func _made_of(type: int, patterns: Array[Array]) -> Array:
	return patterns.map(func(pattern: Array) -> Variant:
		return bytes_to_var(PackedByteArray([type, 0, 0, 0]) + _words(pattern, COMPONENTS[type])))


func _packed(type: int) -> Array:
	var arrays: Array = []
	for count: int in [0, 1, 2, 3, 1000, 20_001]:
		var head := PackedByteArray([type, 0, 0, 0, 0, 0, 0, 0])
		head.encode_u32(4, count)
		for pattern in FLOAT_PATTERNS + INT_PATTERNS:
			arrays.append(bytes_to_var(head + _words(pattern, count * ELEMENT_WORDS[type])))
			if count == 0 or count > 1000:
				break
	return arrays


func _words(pattern: Array, count: int) -> PackedByteArray:
	var words := PackedByteArray()
	words.resize(count * 4)
	for i in count:
		words.encode_u32(i * 4, pattern[i % pattern.size()])
	return words


func _bytes(count: int) -> PackedByteArray:
	var bytes := PackedByteArray()
	bytes.resize(count)
	for i in count:
		bytes[i] = (i * 7 + 255) & 0xff
	return bytes


func _objects() -> Array:
	var stand_in := EncodedObjectAsID.new()
	stand_in.object_id = 5
	var described := RefCounted.new()
	described.set_meta(&"note", {"list": [1, 2.5, &"x"], "path": ^"a:b"})
	var named := Resource.new()
	named.resource_name = "größe"
	var gradient := Gradient.new()
	gradient.colors = PackedColorArray([Color.RED, Color(2, -1, 100, 0.5)])
	return [RefCounted.new(), stand_in, described, named, gradient]


func _arrays() -> Array:
	var read_only := [1, [2], {"three": 3}]
	read_only.make_read_only()
	var deep: Array = []
	for i in 300:
		deep = [deep]
	var arrays: Array = [
		[], [null], [[[[]]], {}, [1, [2, [3]]]], range(1000), ["", "a", 1, "ab", "é", 2.5], read_only, deep,
		[RefCounted.new(), null, [Resource.new()]], Array([Resource.new(), null], TYPE_OBJECT, &"Resource", null),
		Array([], TYPE_OBJECT, &"Node", null),
	]
	for type in range(1, TYPE_MAX):
		if type != TYPE_OBJECT:
			var element: Variant = type_convert(null, type)
			arrays.append(Array([], type, &"", null))
			arrays.append(Array([element, element], type, &"", null))
			arrays.append([element, 1, element])
	return arrays


func _dictionaries() -> Array:
	var dictionaries: Array = [
		{}, {1: {2: {3: []}}}, {"hp": 7, &"name": "é", 2.5: null, Vector2i(1, 2): [1], ^"a:b": {}},
		{[1, 2]: "array key", {"a": 1}: "dictionary key", null: 0, true: 1, PackedByteArray([1]): 2},
		Dictionary({"one": 1, "two": 2}, TYPE_STRING, &"", null, TYPE_INT, &"", null),
		Dictionary({1: [2]}, TYPE_INT, &"", null, TYPE_NIL, &"", null),
		Dictionary({1: Resource.new(), 2: null}, TYPE_NIL, &"", null, TYPE_OBJECT, &"Resource", null),
		Dictionary({}, TYPE_OBJECT, &"Node", null, TYPE_ARRAY, &"", null),
	]
	var large := {}
	for i in 2000:
		large["key %d" % i] = {"id": i, "at": Vector3(i, 0.5, -i), "tags": ["a", &"b"]}
	dictionaries.append(large)
	for type in range(1, TYPE_MAX):
		if type != TYPE_OBJECT:
			var element: Variant = type_convert(null, type)
			dictionaries.append(Dictionary({"x": element}, TYPE_STRING, &"", null, type, &"", null))
	return dictionaries
