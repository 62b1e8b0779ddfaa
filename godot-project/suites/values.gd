## The table of edge values: named values of every Variant type, which the suites encode, decode, batch and damage.
##
## To add a case, add a line to the function for its type.
extends RefCounted

const Wire := preload("res://suites/wire.gd")

const PlainData := preload("res://suites/fixtures/plain_data.gd")
const DerivedData := preload("res://suites/fixtures/derived_data.gd")
const ListedProperties := preload("res://suites/fixtures/listed_properties.gd")
const ScriptedNode := preload("res://suites/fixtures/scripted_node.gd")
const ScriptedResource := preload("res://suites/fixtures/scripted_resource.gd")

const READ_ONLY_ARRAY := [1, "two", [3.5, &"four"], {"five": 5}]
const READ_ONLY_TYPED_ARRAY: Array[int] = [1, -1, 4294967296]
const READ_ONLY_DICTIONARY := {"one": 1, 2: [3], &"four": {"five": 5}}
const READ_ONLY_TYPED_DICTIONARY: Dictionary[String, int] = {"one": 1, "two": 2}

## Components of the float vectors, as the bits of 32-bit floats, repeated as often as needed.
const FLOAT_PATTERNS: Dictionary[String, Array] = {
	"zeros": [0],
	"negative zeros": [0x80000000],
	"counting": [0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0x40a00000, 0x40c00000, 0x40e00000, 0x41000000],
	"tenths and thirds": [0x3dcccccd, 0xbeaaaaab],
	"infinities": [0x7f800000, 0xff800000],
	"quiet NaNs": [0x7fc00000, 0xffc00000, 0x7fc12345],
	"signalling NaNs": [0x7f800001, 0xff812345, 0x7fbfffff],
	"denormals": [0x00000001, 0x807fffff],
	"largest and smallest": [0x7f7fffff, 0xff7fffff, 0x00800000],
}

## Components of the integer vectors, repeated as often as needed.
const INT_PATTERNS: Dictionary[String, Array] = {
	"zeros": [0],
	"counting": [1, 2, 3, 4],
	"minus ones": [0xffffffff],
	"borders": [0x7fffffff, 0x80000000, 0xffff, 0x10000],
}

## Float vector types and their component counts.
const FLOAT_TYPES: Dictionary[int, int] = {
	TYPE_VECTOR2: 2, TYPE_RECT2: 4, TYPE_VECTOR3: 3, TYPE_TRANSFORM2D: 6, TYPE_VECTOR4: 4, TYPE_PLANE: 4,
	TYPE_QUATERNION: 4, TYPE_AABB: 6, TYPE_BASIS: 9, TYPE_TRANSFORM3D: 12, TYPE_PROJECTION: 16, TYPE_COLOR: 4,
}

## Integer vector types and their component counts.
const INT_TYPES: Dictionary[int, int] = {
	TYPE_VECTOR2I: 2, TYPE_RECT2I: 4, TYPE_VECTOR3I: 3, TYPE_VECTOR4I: 4,
}

## Packed arrays of 32-bit words and the words per element.
const PACKED_WORD_TYPES: Dictionary[int, int] = {
	TYPE_PACKED_INT32_ARRAY: 1, TYPE_PACKED_INT64_ARRAY: 2, TYPE_PACKED_FLOAT32_ARRAY: 1,
	TYPE_PACKED_FLOAT64_ARRAY: 2, TYPE_PACKED_VECTOR2_ARRAY: 2, TYPE_PACKED_VECTOR3_ARRAY: 3,
	TYPE_PACKED_COLOR_ARRAY: 4, TYPE_PACKED_VECTOR4_ARRAY: 4,
}


class Case:
	extends RefCounted
	var name: String
	var type: int
	var value: Variant

	func _init(case_name: String, case_type: int, case_value: Variant) -> void:
		name = case_name
		type = case_type
		value = case_value


## Every case, in the order of the type ids.
var cases: Array[Case] = []

var _owned: Array[Object] = []


func _init() -> void:
	_add(TYPE_NIL, {"nil": null})
	_add(TYPE_BOOL, {"false": false, "true": true})
	_add(TYPE_INT, _ints())
	_add(TYPE_FLOAT, _floats())
	_add(TYPE_STRING, _strings())
	for type in FLOAT_TYPES:
		_add(type, _vectors(type, FLOAT_TYPES[type], FLOAT_PATTERNS))
	for type in INT_TYPES:
		_add(type, _vectors(type, INT_TYPES[type], INT_PATTERNS))
	_add(TYPE_COLOR, {"red": Color.RED, "transparent": Color(0, 0, 0, 0), "overbright": Color(2, -1, 100, 0.5)})
	_add(TYPE_STRING_NAME, _string_names())
	_add(TYPE_NODE_PATH, _node_paths())
	_add(TYPE_RID, _rids())
	_add(TYPE_OBJECT, _objects())
	_add(TYPE_CALLABLE, _callables())
	_add(TYPE_SIGNAL, _signals())
	_add(TYPE_DICTIONARY, _dictionaries())
	_add(TYPE_DICTIONARY, _typed_dictionaries())
	_add(TYPE_ARRAY, _arrays())
	_add(TYPE_ARRAY, _typed_arrays())
	_add(TYPE_PACKED_BYTE_ARRAY, _packed_bytes())
	for type in PACKED_WORD_TYPES:
		_add(type, _packed_words(type))
	_add(TYPE_PACKED_STRING_ARRAY, _packed_strings())
	cases.sort_custom(func(a: Case, b: Case) -> bool: return a.type < b.type)


## Frees the objects of the table that are not reference-counted.
func release() -> void:
	cases.clear()
	for object in _owned:
		object.free()
	_owned.clear()


## Dictionaries whose key or value type is a script. Their bytes are checked like all others, but the engine decodes
## them wrongly, so they are separate.
func script_typed_dictionaries() -> Array[Case]:
	var data := PlainData.new()
	var derived := DerivedData.new()
	var found: Array[Case] = []
	found.append_array(_cases_of(TYPE_DICTIONARY, {
		"script values": Dictionary({1: data, 2: derived, 3: null}, TYPE_INT, "", null, TYPE_OBJECT, "RefCounted", PlainData),
		"script values, untyped keys": Dictionary({"a": derived}, TYPE_NIL, "", null, TYPE_OBJECT, "RefCounted", DerivedData),
		"script keys": Dictionary({data: 1}, TYPE_OBJECT, "RefCounted", PlainData, TYPE_INT, "", null),
		"script keys, untyped values": Dictionary({data: "x"}, TYPE_OBJECT, "RefCounted", PlainData, TYPE_NIL, "", null),
		"script keys and values": Dictionary(
				{data: derived}, TYPE_OBJECT, "RefCounted", PlainData, TYPE_OBJECT, "RefCounted", DerivedData),
		"script keys, class values": Dictionary(
				{data: derived}, TYPE_OBJECT, "RefCounted", PlainData, TYPE_OBJECT, "RefCounted", null),
		"class keys, script values": Dictionary(
				{data: derived}, TYPE_OBJECT, "RefCounted", null, TYPE_OBJECT, "RefCounted", DerivedData),
		"empty, script values": Dictionary({}, TYPE_STRING, "", null, TYPE_OBJECT, "Node", ScriptedNode),
	}))
	return found


## `depth` nested arrays, the innermost empty.
static func nested_arrays(depth: int) -> Array:
	var nested: Array = []
	for i in depth - 1:
		nested = [nested]
	return nested


## `depth` nested dictionaries, the innermost empty.
static func nested_dictionaries(depth: int) -> Dictionary:
	var nested: Dictionary = {}
	for i in depth - 1:
		nested = {1: nested}
	return nested


static func filled(count: int, element: Variant) -> Array:
	var array := []
	array.resize(count)
	array.fill(element)
	return array


## Text that scripts cannot write: "a" and surrogates in the wrong order. Nothing may follow the
## surrogates, or the engine would leave the last character uninitialised.
static func lone_surrogates() -> String:
	Engine.print_error_messages = false
	var broken := PackedByteArray([0x61, 0x00, 0x00, 0xdc, 0x00, 0xd8]).get_string_from_utf16()
	Engine.print_error_messages = true
	return broken


func _add(type: int, table: Dictionary) -> void:
	cases.append_array(_cases_of(type, table))


func _cases_of(type: int, table: Dictionary) -> Array[Case]:
	var found: Array[Case] = []
	for case_name: String in table:
		found.append(Case.new(case_name, type, table[case_name]))
	return found


func _own(object: Object) -> Object:
	_owned.append(object)
	return object


func _ints() -> Dictionary:
	var table := {"0": 0, "1": 1, "-1": -1, "42": 42, "smallest": -9223372036854775808, "largest": 9223372036854775807}
	for bits: int in [7, 8, 15, 16, 24, 31, 32, 33, 52, 53, 62]:
		var power := 1 << bits
		table["2^%d - 1" % bits] = power - 1
		table["2^%d" % bits] = power
		table["-2^%d" % bits] = -power
		table["-2^%d - 1" % bits] = -power - 1
	return table


func _floats() -> Dictionary:
	var table := {
		"0.0": 0.0, "1.5": 1.5, "-1.0": -1.0, "0.1": 0.1, "1/3": 1.0 / 3.0, "pi": PI, "NAN": NAN, "INF": INF, "-INF": -INF,
		"16777216": 16777216.0, "16777217": 16777217.0, "2^53 + 2": 9007199254740994.0, "1e300": 1e300, "-1e-300": -1e-300,
	}
	var bits: Dictionary[String, int] = {
		"negative zero": 1 << 63, "quiet NaN": 0x7ff8000000000000, "quiet NaN, payload": 0x7ff80000abcdef12,
		"NaN that fits 32 bits": 0x7ff8000020000000, "negative quiet NaN": -0x0007ffff543210ff,
		"signalling NaN": 0x7ff0000000000001, "negative signalling NaN": -0x000ffffffffffff0,
		"all bits": -1, "smallest 64-bit denormal": 1, "largest 64-bit denormal": 0x000fffffffffffff,
		"smallest 64-bit normal": 0x0010000000000000, "largest 64-bit": 0x7fefffffffffffff,
		"2^-149, smallest 32-bit denormal": 0x36a0000000000000, "2^-150": 0x3690000000000000,
		"below 2^-149": 0x369fffffffffffff, "largest 32-bit denormal": 0x380fffffc0000000,
		"smallest 32-bit normal": 0x3810000000000000, "largest 32-bit": 0x47efffffe0000000,
		"next after the largest 32-bit": 0x47efffffe0000001, "rounds to 32-bit infinity": 0x47effffff0000000,
		"next after 1.0": 0x3ff0000000000001, "next 32-bit after 1.0": 0x3ff0000020000000,
	}
	for case_name in bits:
		var bytes := PackedByteArray()
		bytes.resize(8)
		bytes.encode_s64(0, bits[case_name])
		table[case_name] = bytes.decode_double(0)
	return table


func _strings() -> Dictionary:
	return {
		"empty": "", "1 byte": "a", "2 bytes": "ab", "3 bytes": "abc", "4 bytes": "abcd", "5 bytes": "abcde",
		"1 character of 2 bytes": "é", "1 character of 3 bytes": "€", "1 character of 4 bytes": "😀",
		"1 + 2 bytes": "aé", "1 + 3 bytes": "a€", "1 + 4 bytes": "a😀", "mixed widths": "aé€😀 zß水🍌",
		"last of 1 byte": char(0x7f), "first of 2 bytes": char(0x80), "last of 2 bytes": char(0x7ff),
		"first of 3 bytes": char(0x800), "last of 3 bytes": char(0xffff), "first of 4 bytes": char(0x10000),
		"U+10FFFF": char(0x10ffff), "U+FFFE": char(0xfffe), "U+FFFD": char(0xfffd), "U+D7FF": char(0xd7ff),
		"U+E000": char(0xe000), "U+FEFF alone": char(0xfeff), "U+FEFF first": char(0xfeff) + "a",
		"U+FEFF twice": char(0xfeff) + char(0xfeff) + "a", "U+FEFF inside": "a" + char(0xfeff) + "b",
		"quotes and backslashes": "\"'\\`", "control characters": "\t\r\n\u0001\u001f\u0085", "blanks": "   ",
		"combining characters": "e\u0301\u0302", "right to left": "שלום", "line separators": "\u2028\u2029",
		"looks like a path": "res://a/b.tscn::1", "looks like a number": "-1.5e3", "looks like a color": "#ff8000",
		"path": "a/b:c:d", "no path": "a::b", "path with an open end": "a:b:",
		"color name": "red", "lone surrogates": lone_surrogates(), "long": "0123456789".repeat(1000),
		"long, 3-byte characters": "水".repeat(3333), "long, one 4-byte character last": "x".repeat(4093) + "😀",
	}


func _string_names() -> Dictionary:
	var table := {"literal": &"literal", "looks like a path": &"a/b:c"}
	var strings := _strings()
	for case_name: String in strings:
		if not case_name.begins_with("looks like"):
			table[case_name] = StringName(strings[case_name])
	return table


func _vectors(type: int, components: int, patterns: Dictionary[String, Array]) -> Dictionary:
	var table := {}
	for case_name in patterns:
		table[case_name] = bytes_to_var(Wire.header(type) + Wire.words(patterns[case_name], components))
	return table


func _node_paths() -> Dictionary:
	var table := {"empty": NodePath(""), "root": NodePath("/"), "long": NodePath("/root/" + "Node/".repeat(300) + "End")}
	for path: String in [
		"a", "/a", "a/b", "/root/a/b", ".", "..", "../a", "../../b", "a:b", "a:b:c", "/root/a:b", ":b", ":b:c", "/a:b:c",
		"%Unique", "%Unique/a:b", "ab/abc/abcd/abcde", ":a:ab:abc:abcd:abcde", "é/水/😀:ß",
		"with space/b c:d e", "@a@2/b",
	]:
		table[path] = NodePath(path)
	var parts: Dictionary[String, PackedByteArray] = {
		"name with a slash": Wire.word(0x80000001) + Wire.word(0) + Wire.word(0) + Wire.text("a/b"),
		"name with a colon": Wire.word(0x80000001) + Wire.word(0) + Wire.word(0) + Wire.text("a:b"),
		"empty name": Wire.word(0x80000001) + Wire.word(0) + Wire.word(1) + Wire.text(""),
		"empty names": Wire.word(0x80000003) + Wire.word(0) + Wire.word(0) + Wire.text("") + Wire.text("a") + Wire.text(""),
		"empty subname": Wire.word(0x80000000) + Wire.word(1) + Wire.word(0) + Wire.text(""),
		"subname with a colon": (
				Wire.word(0x80000001) + Wire.word(2) + Wire.word(1) + Wire.text("a") + Wire.text("b:c") + Wire.text("d/e")),
		"only subnames, absolute": Wire.word(0x80000000) + Wire.word(2) + Wire.word(1) + Wire.text("a") + Wire.text("b"),
	}
	for case_name in parts:
		table[case_name] = bytes_to_var(Wire.header(TYPE_NODE_PATH) + parts[case_name])
	return table


func _rids() -> Dictionary:
	return {
		"empty": RID(), "1": rid_from_int64(1), "32 bits": rid_from_int64(0xffffffff),
		"33 bits": rid_from_int64(0x100000000), "64 bits": rid_from_int64(-1),
		"smallest": rid_from_int64(-9223372036854775808),
	}


func _objects() -> Dictionary:
	var freed := Object.new()
	var held_freed := [freed]
	freed.free()
	var wrapper := EncodedObjectAsID.new()
	wrapper.object_id = 5
	var wrapper_of_reference := EncodedObjectAsID.new()
	wrapper_of_reference.object_id = -9223372036854775807
	var described := RefCounted.new()
	described.set_meta(&"note", "hello")
	described.set_meta(&"nested", {"list": [1, 2.5, &"x"], "path": ^"a:b"})
	var named := Resource.new()
	named.resource_name = "a resource"
	var local := Resource.new()
	local.resource_local_to_scene = true
	var data := PlainData.new()
	data.number = -9000000000
	data.text = "changed é"
	data.child = PlainData.new()
	data.numbers = [9, 8]
	data.set_meta(&"tag", &"kept")
	var listed := ListedProperties.new()
	listed.set(&"listed_vector", Vector3(1, 2, 3))
	listed.set(&"listed_int", -7)
	var resource := ScriptedResource.new()
	resource.items = [named, Gradient.new(), ScriptedResource.new()]
	resource.settings = {"volume": 0.8, named: [local]}
	var node: ScriptedNode = _own(ScriptedNode.new())
	node.name = "Fixture"
	node.set_meta(&"level", 3)
	var generator := RandomNumberGenerator.new()
	generator.seed = 77
	var key := InputEventKey.new()
	key.keycode = KEY_A
	key.ctrl_pressed = true
	return {
		"null object": instance_from_id(0), "freed object": held_freed[0], "Object": _own(Object.new()),
		"RefCounted": RefCounted.new(), "RefCounted with metadata": described, "Resource": Resource.new(),
		"Resource with a name": named, "Resource local to scene": local, "Gradient": Gradient.new(),
		"RandomNumberGenerator": generator, "InputEventKey": key,
		"EncodedObjectAsID": wrapper, "EncodedObjectAsID, top bit": wrapper_of_reference,
		"script": data, "script, untouched": PlainData.new(), "derived script": DerivedData.new(),
		"script with listed properties": listed, "script on a Resource": resource, "script on a Node": node,
		"Node": _own(Node.new()), "Node2D": _own(Node2D.new()), "Timer": _own(Timer.new()),
		"class without a constructor": Input,
		"script of an inner class": Case.new("inner", TYPE_NIL, null),
	}


func _callables() -> Dictionary:
	var local := 3
	return {
		"empty": Callable(), "method": _own, "builtin method": "text".to_upper, "by name": Callable(self, &"no_such_method"),
		"lambda": func() -> int: return local, "bound": _own.bind(1, "two"), "unbound": _own.unbind(1),
		"static": Callable(PlainData, &"new"),
	}


func _signals() -> Dictionary:
	var node: ScriptedNode = _own(ScriptedNode.new())
	var crafted := Wire.header(TYPE_SIGNAL) + Wire.text("foo") + Wire.word(0x23456789) + Wire.word(1)
	var nameless := Wire.header(TYPE_SIGNAL) + Wire.text("") + Wire.word(0xffffffff) + Wire.word(0xffffffff)
	return {
		"empty": Signal(), "of a script": node.changed, "of a class": node.renamed,
		"unknown": Signal(node, &"no_such_signal"),
		"of a reference": Signal(RefCounted.new(), &"script_changed"), "owner unknown": bytes_to_var(crafted),
		"owner unknown, nameless": bytes_to_var(nameless), "long name": Signal(node, "ñ".repeat(101)),
	}


## One plain value of every type, for the keys and elements of the containers below.
func _one_of_each() -> Array:
	return [
		null, true, -7, 2.25, "text", Vector2(1, 2), Vector2i(3, 4), Rect2(1, 2, 3, 4), Rect2i(5, 6, 7, 8), Vector3(1, 2, 3),
		Vector3i(4, 5, 6), Transform2D(0.5, Vector2(1, 2)), Vector4(1, 2, 3, 4), Vector4i(5, 6, 7, 8), Plane(0, 1, 0, 5),
		Quaternion(0, 0, 0, 1), AABB(Vector3.ONE, Vector3.ONE), Basis.FLIP_X, Transform3D.FLIP_Y, Projection.IDENTITY,
		Color.ORANGE, &"name", ^"a/b:c", rid_from_int64(9), RefCounted.new(), Callable(), Signal(), {"k": 1}, [1, "x"],
		PackedByteArray([1, 2, 3]), PackedInt32Array([1, -2]), PackedInt64Array([1 << 40]), PackedFloat32Array([0.5]),
		PackedFloat64Array([0.1]), PackedStringArray(["a", "bc"]), PackedVector2Array([Vector2(1, 2)]),
		PackedVector3Array([Vector3(1, 2, 3)]), PackedColorArray([Color.RED]), PackedVector4Array([Vector4(1, 2, 3, 4)]),
	]


func _dictionaries() -> Dictionary:
	var table := {
		"empty": {}, "one entry": {"a": 1}, "padded keys and values": {"": "", "a": "ab", "ab": "abc", "abcd": "abcde", 1: 2},
		"nil key": {null: null}, "int and float keys": {1: "int", 1.0: "float", -1: 0, 4294967296: 0, 0.1: 0},
		"merged zero keys": {0.0: "first", "x": 1}, "merged names": {&"name": 1, "other": 2},
		"infinite and NaN keys": {INF: 1, -INF: 2, NAN: 3}, "true and 1": {true: 1, 1: true, "true": 2},
		"container keys": {[1, 2]: "array", {"k": "v"}: "dictionary", []: 0, {}: 1},
		"path and string keys": {^"a": 1, "a": 2}, "bool keys": {false: 0, true: 1},
		"nested": {"a": {"b": {"c": {"d": [{"e": {}}]}}}}, "read-only": READ_ONLY_DICTIONARY,
		"not in alphabetical order": {"z": 1, "a": 2, "m": 3, 9: 4, 1: 5}, "lone surrogate key": {lone_surrogates(): 1},
		"with objects": {"r": RefCounted.new(), "n": null, 7: [RefCounted.new()]}, "object key": {RefCounted.new(): 1},
		"entity": {
			"id": 1234567, "name": "Goblin é", "hp": 87.5, "alive": true, "position": Vector3(1.5, 2.5, -3.5),
			"tags": ["enemy", &"boss"], "inventory": {"gold": 12, "items": PackedInt32Array([1, 5, 9])},
		},
	}
	var emptied := {}
	var removed := {"a": 1, "b": 2, "c": 3}
	removed.erase("a")
	removed["a"] = 4
	var big := {}
	for i in 500:
		big["key_%d" % i] = i * i
		emptied[i] = i
	emptied.clear()
	table["erased and inserted again"] = removed
	table["cleared"] = emptied
	table["500 entries"] = big
	var elements := _one_of_each()
	var all_keys := {}
	for type in elements.size():
		table["%s key" % type_string(type)] = {elements[type]: type}
		all_keys[elements[type]] = elements[type]
	table["every type as key and value"] = all_keys
	return table


func _typed_dictionaries() -> Dictionary:
	var node: Node = _own(Node.new())
	var table := {
		"read-only typed": READ_ONLY_TYPED_DICTIONARY,
		"class values": Dictionary({"n": node, "none": null}, TYPE_STRING, "", null, TYPE_OBJECT, "Node", null),
		"class values, empty": Dictionary({}, TYPE_STRING, "", null, TYPE_OBJECT, "Resource", null),
		"class keys": Dictionary({node: 1}, TYPE_OBJECT, "Node", null, TYPE_INT, "", null),
		"class keys and values": Dictionary({node: node}, TYPE_OBJECT, "Node", null, TYPE_OBJECT, "Object", null),
		"object keys and values without a class": Dictionary({}, TYPE_OBJECT, "", null, TYPE_OBJECT, "", null),
		"many entries": Dictionary(
				{"a": 1, "bc": -2, "def": 1 << 40, "": 0}, TYPE_STRING, "", null, TYPE_INT, "", null),
		"dictionary values": Dictionary({1: {"a": 1}}, TYPE_INT, "", null, TYPE_DICTIONARY, "", null),
		"padded": Dictionary({"a": "b", "cd": ""}, TYPE_STRING, "", null, TYPE_STRING, "", null),
		"references as values": Dictionary({1: RefCounted.new()}, TYPE_INT, "", null, TYPE_OBJECT, "RefCounted", null),
	}
	var elements := _one_of_each()
	for type in range(1, elements.size()):
		if type == TYPE_OBJECT:
			continue
		var type_name := type_string(type)
		table["%s keys" % type_name] = Dictionary({elements[type]: "v"}, type, "", null, TYPE_NIL, "", null)
		table["%s values" % type_name] = Dictionary({"k": elements[type]}, TYPE_NIL, "", null, type, "", null)
		table["%s keys and values" % type_name] = Dictionary(
				{elements[type]: elements[type]}, type, "", null, type, "", null)
	return table


func _arrays() -> Dictionary:
	var table := {
		"empty": [], "one nil": [null], "ints": [0, 1, -1, 2147483647, 2147483648, -2147483648, -2147483649],
		"strings of every padding": ["", "a", "ab", "abc", "abcd", "abcde", 1, "", "é", 2.5],
		"bytes of every padding": [
			PackedByteArray(), PackedByteArray([1]), PackedByteArray([1, 2]), PackedByteArray([1, 2, 3]), 7,
			PackedByteArray([1, 2, 3, 4]), PackedByteArray([1, 2, 3, 4, 5]), "end",
		],
		"nested": [[[[[]]]], [[], [1], [1, [2, [3]]]]], "nested dictionaries": [{"a": [{}]}, {}, [{1: {2: {3: []}}}]],
		"read-only": READ_ONLY_ARRAY, "every type": _one_of_each(), "nils": filled(100, null),
		"1000 ints": range(1000), "paths": [^"a", ^"/b:c", ^"", 1], "names": [&"a", &"", &"abcde", "abcde"],
		"lone surrogates inside": [1, lone_surrogates()], "300 deep": nested_arrays(300), "1025 deep": nested_arrays(1025),
		"1025 dictionaries deep": [nested_dictionaries(1024)], "callables and signals": [Callable(), Signal(), _own, 1],
		"with objects": [RefCounted.new(), null, instance_from_id(0), [RefCounted.new()]],
		"resource twice": filled(2, Resource.new()),
	}
	var made_read_only := [1, [2], {"three": 3}]
	made_read_only.make_read_only()
	table["made read-only"] = made_read_only
	var shared := [1, 2]
	table["shared array"] = [shared, shared, {"again": shared}]
	table["other characters at every place"] = _mixed_strings()
	var runs: Array[Array] = [
		[0, 1 << 40, -1, -2147483649], [0.5, 0.1, NAN, -0.0], [Vector2(1, 2)], [Vector3i(1, 2, 3)], [Plane(1, 2, 3, 4)],
		[AABB(Vector3.ONE, Vector3.ONE)], [true, false],
	]
	for run in runs:
		var element := type_string(typeof(run[0]))
		for size: int in [2, 3, 40, 41, 42, 43, 63, 64, 65, 129, 300]:
			table["%d times %s" % [size, element]] = _repeated(run, size)
		for other: Variant in [null, 1, 0.25, Vector2.ONE, Vector3.ONE, "text", [1, 2, 3]]:
			var broken := []
			for place in 8:
				var array := _repeated(run, 8)
				array[place] = other
				broken.append(array)
			table["%s broken by %s" % [element, type_string(typeof(other))]] = broken
	return table


func _repeated(elements: Array, size: int) -> Array:
	return range(size).map(func(i: int) -> Variant: return elements[i % elements.size()])


## Characters of every UTF-8 length, alone and combined, at every offset in short texts.
func _mixed_strings() -> Array:
	var strings := []
	for character: String in ["é", "水", "😀", "éa", "水é", "😀😀😀"]:
		for before in 34:
			for after: int in [0, 1, 7, 8, 16, 33]:
				strings.append("x".repeat(before) + character + "y".repeat(after))
				strings.append(character.repeat(before) + "x" + character.repeat(after))
	return strings


func _typed_arrays() -> Dictionary:
	var node: Node = _own(Node.new())
	var data := PlainData.new()
	var derived := DerivedData.new()
	var scripted: ScriptedNode = _own(ScriptedNode.new())
	var errors: Array[Error] = [OK, ERR_BUG]
	var inner: Array[Case] = []
	var table := {
		"read-only typed": READ_ONLY_TYPED_ARRAY, "enum": errors, "inner class, empty": inner,
		"object without a class": Array([node, data, null], TYPE_OBJECT, "", null),
		"class Node": Array([node, scripted, null], TYPE_OBJECT, "Node", null),
		"class Object": Array([node, data], TYPE_OBJECT, "Object", null),
		"class RefCounted": Array([data, RefCounted.new(), null, derived], TYPE_OBJECT, "RefCounted", null),
		"class Resource, empty": Array([], TYPE_OBJECT, "Resource", null),
		"class Resource": Array([Gradient.new(), Resource.new()], TYPE_OBJECT, "Resource", null),
		"class EncodedObjectAsID": Array([EncodedObjectAsID.new()], TYPE_OBJECT, "EncodedObjectAsID", null),
		"script": Array([data, derived, null], TYPE_OBJECT, "RefCounted", PlainData),
		"script, empty": Array([], TYPE_OBJECT, "RefCounted", PlainData),
		"derived script": Array([derived], TYPE_OBJECT, "RefCounted", DerivedData),
		"script on a Node": Array([scripted], TYPE_OBJECT, "Node", ScriptedNode),
		"script on a Resource": Array([ScriptedResource.new()], TYPE_OBJECT, "Resource", ScriptedResource),
		"typed arrays inside": Array([errors, READ_ONLY_TYPED_ARRAY, []], TYPE_ARRAY, "", null),
		"500 floats": Array(range(500).map(func(i: int) -> float: return i * 0.1), TYPE_FLOAT, "", null),
	}
	var elements := _one_of_each()
	for type in range(1, elements.size()):
		if type == TYPE_OBJECT:
			continue
		var type_name := type_string(type)
		table["%s, empty" % type_name] = Array([], type, "", null)
		table[type_name] = Array([elements[type], elements[type]], type, "", null)
	return table


func _packed_bytes() -> Dictionary:
	var table := {}
	for size: int in [0, 1, 2, 3, 4, 5, 6, 7, 8, 255, 4097, 100000]:
		var bytes := PackedByteArray()
		bytes.resize(size)
		for i in size:
			bytes[i] = (i * 7 + 255) & 0xff
		table["%d elements" % size] = bytes
	table["looks like a value"] = var_to_bytes({"a": [1]})
	return table


func _packed_words(type: int) -> Dictionary:
	var table := {}
	var per_element := PACKED_WORD_TYPES[type]
	var counting := FLOAT_PATTERNS["counting"]
	for size: int in [0, 1, 2, 3, 4, 5, 7, 63, 1000, 20001]:
		table["%d elements" % size] = _packed(type, size, counting, per_element)
	for case_name in FLOAT_PATTERNS:
		table[case_name] = _packed(type, 9, FLOAT_PATTERNS[case_name], per_element)
	for case_name in INT_PATTERNS:
		table["words: " + case_name] = _packed(type, 5, INT_PATTERNS[case_name], per_element)
	return table


func _packed(type: int, size: int, pattern: Array, per_element: int) -> Variant:
	return bytes_to_var(Wire.header(type) + Wire.word(size) + Wire.words(pattern, size * per_element))


func _packed_strings() -> Dictionary:
	var strings := _strings()
	var every := PackedStringArray()
	var table := {}
	for case_name: String in strings:
		every.append(strings[case_name])
		table["[%s]" % case_name] = PackedStringArray([strings[case_name]])
	table["every string"] = every
	for size in 6:
		var names := PackedStringArray()
		for i in size:
			names.append("x".repeat(i))
		table["%d elements" % size] = names
	var many := PackedStringArray()
	for i in 3000:
		many.append("line %d" % i)
	table["3000 elements"] = many
	table["other characters at every place"] = PackedStringArray(_mixed_strings())
	return table
