# Edge values of all 27 types: `cases` holds names and values.
extends Reference

const Wire := preload("res://wire.gd")

# Components as the bits of 32-bit floats, repeated as often as needed.
const PATTERNS := {
	"zeros": [0],
	"negative zeros": [0x80000000],
	"counting": [
		0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0x40a00000, 0x40c00000, 0x40e00000, 0x41000000, 0x41100000,
		0x41200000, 0x41300000, 0x41400000,
	],
	"tenths and thirds": [0x3dcccccd, 0xbeaaaaab],
	"infinities": [0x7f800000, 0xff800000],
	"quiet NaNs": [0x7fc00000, 0xffc00000, 0x7fc12345],
	"signalling NaNs": [0x7f800001, 0xff812345, 0x7fbfffff],
	"subnormal": [0x00000001, 0x807fffff],
	"largest and smallest": [0x7f7fffff, 0xff7fffff, 0x00800000],
}

# Vector types and their component counts.
const VECTORS := {
	TYPE_VECTOR2: 2, TYPE_RECT2: 4, TYPE_VECTOR3: 3, TYPE_TRANSFORM2D: 6, TYPE_PLANE: 4, TYPE_QUAT: 4, TYPE_AABB: 6,
	TYPE_BASIS: 9, TYPE_TRANSFORM: 12, TYPE_COLOR: 4,
}

# Pools of 32-bit words, and the number of words in an element of each.
const POOLS := {
	TYPE_INT_ARRAY: 1, TYPE_REAL_ARRAY: 1, TYPE_VECTOR2_ARRAY: 2, TYPE_VECTOR3_ARRAY: 3, TYPE_COLOR_ARRAY: 4,
}

const DOUBLES := {
	"negative zero": "0000000000000080", "quiet NaN": "000000000000f87f", "quiet NaN with payload": "12efcdab0000f87f",
	"NaN that fits 32 bits": "000000200000f87f", "negative NaN": "f0debc9a7800f8ff", "signalling NaN": "010000000000f07f",
	"all bits": "ffffffffffffffff", "smallest subnormal": "0100000000000000", "largest subnormal": "ffffffffffff0f00",
	"smallest normal": "0000000000001000", "largest": "ffffffffffffef7f", "2^-149": "000000000000a036",
	"2^-150": "0000000000009036", "below 2^-149": "ffffffffffff9f36", "largest 32-bit subnormal": "000000c0ffff0f38",
	"smallest 32-bit normal": "0000000000001038", "largest 32-bit": "000000e0ffffef47",
	"after the largest 32-bit": "010000e0ffffef47", "rounds to 32-bit infinity": "000000f0ffffef47",
	"after 1.0": "010000000000f03f", "next 32-bit after 1.0": "000000200000f03f",
}

# Characters at the boundaries of UTF-8 lengths, and characters with a meaning.
const CHARACTERS := [
	0x01, 0x09, 0x0a, 0x22, 0x5c, 0x7f, 0x80, 0x85, 0x7ff, 0x800, 0x2028, 0xd7ff, 0xe000, 0xfeff, 0xfffd, 0xfffe, 0xffff,
	0x10000, 0x1f600, 0x10ffff,
]

const PATHS := [
	"", "/", "a", "/a", "a/b", "/root/a/b", ".", "..", "../a", "../../b", "a:b", "a:b:c", "/root/a:b", ":b", ":b:c", "/a:b:c",
	"ab/abc/abcd/abcde", ":a:ab:abc:abcd:abcde", "é/水:ß", "with space/b c:d e", "@a@2/b",
]

var cases := []

var _shape := Physics2DServer.circle_shape_create()


func _init() -> void:
	_add("nil", null)
	_add("true", true)
	_add("false", false)
	_add_ints()
	_add_floats()
	for value in _texts():
		_add("String", value)
	for type in VECTORS:
		for pattern in PATTERNS:
			_add("type %d, %s" % [type, pattern], _read(type, Wire.words(PATTERNS[pattern], VECTORS[type])))
	_add("overbright", Color(2, -1, 100, 0.5))
	for path in PATHS:
		_add("NodePath " + path, NodePath(path))
	_add("empty RID", RID())
	_add("RID of a shape", _shape)
	var freed := Node.new()
	freed.free()
	_add("freed object", [freed])
	_add_containers()
	_add_pools()


func release() -> void:
	Physics2DServer.free_rid(_shape)


func _add(name: String, value) -> void:
	cases.append([name, value])


# The value of a type with these bytes after its header.
func _read(type: int, content: PoolByteArray):
	return bytes2var(Wire.joined([Wire.word(type), content]))


func _add_ints() -> void:
	for bits in [0, 7, 8, 15, 16, 24, 31, 32, 33, 52, 53, 62]:
		var power: int = 1 << bits
		for value in [power - 1, power, -power, -power - 1]:
			_add("int", value)
	_add("largest int", 0x7fffffffffffffff)
	_add("smallest int", -0x7fffffffffffffff - 1)


func _add_floats() -> void:
	for value in [0.0, 1.5, -1.0, 0.1, 1.0 / 3.0, PI, NAN, INF, -INF, 16777216.0, 16777217.0, 1e300, -1e-300]:
		_add("float", value)
	for name in DOUBLES:
		_add("float, " + name, bytes2var(Wire.bytes("03000100" + DOUBLES[name])))


func _texts() -> Array:
	var texts := ["", "a", "ab", "abc", "abcd", "abcde", "é", "€", "aé€ zß水", "שלום", "-1.5e3", "#ff8000", "a/b:c"]
	for character in CHARACTERS:
		texts.append("x" + char(character))
		if character != 0xfeff:
			texts.append(char(character) + "xyz")
	texts.append("0123456789".repeat(100))
	texts.append("水".repeat(333))
	return texts


func _add_containers() -> void:
	var shared := [1, 2]
	var removed := {"a": 1, "b": 2, "c": 3}
	removed.erase("a")
	removed["a"] = 4
	var arrays := [
		[], [null], [[]], [[[[[]]]], [[], [1], [1, [2, [3]]]]], [shared, shared], [{}, {1: {2: {3: []}}}],
		["", "a", "ab", "abc", "abcd", "abcde", 1, "", "é", 2.5], [NodePath("a"), NodePath("/b:c"), NodePath(""), 1],
		[PoolByteArray(), PoolByteArray([1]), PoolByteArray([1, 2]), PoolByteArray([1, 2, 3]), "end"], _one_of_each(),
		range(1000),
	]
	var dictionaries := [
		{}, {"a": 1}, {"": "", "a": "ab", "ab": "abc", "abcd": "abcde", 1: 2}, {null: null}, {1: "int", 1.0: "float"},
		{true: 1, 1: true, "true": 2}, {NodePath("a"): 1, "a": 2}, {"z": 1, "a": 2, "m": 3, 9: 4, 1: 5}, removed,
		{"a": {"b": {"c": {"d": [{"e": {}}]}}}}, {INF: 1, -INF: 2}, {Vector2(1, 2): 1, Color(1, 0, 0): 2, false: 3},
		{"id": 1234567, "name": "Goblin é", "hp": 87.5, "position": Vector3(1.5, 2.5, -3.5), "tags": ["enemy"]},
	]
	for value in arrays:
		_add("Array", value)
	for value in dictionaries:
		_add("Dictionary", value)
	var deep = []
	for i in 300:
		deep = [deep] if i % 2 else {"deep": deep}
	_add("300 deep", deep)


func _one_of_each() -> Array:
	return [
		null, true, 7, 1.5, "text", Vector2(1, 2), Rect2(1, 2, 3, 4), Vector3(1, 2, 3),
		Transform2D(Vector2(1, 2), Vector2(3, 4), Vector2(5, 6)), Plane(1, 2, 3, 4), Quat(1, 2, 3, 4),
		AABB(Vector3(1, 2, 3), Vector3(4, 5, 6)), Basis(Vector3(1, 2, 3), Vector3(4, 5, 6), Vector3(7, 8, 9)),
		Transform(Vector3(1, 2, 3), Vector3(4, 5, 6), Vector3(7, 8, 9), Vector3(10, 11, 12)), Color(0.1, 0.2, 0.3, 0.4),
		NodePath("a/b:c"), _shape, null, {"a": 1}, [1], PoolByteArray([1, 2, 3]), PoolIntArray([1, -2]),
		PoolRealArray([1.5, -2]), PoolStringArray(["a", "bc"]), PoolVector2Array([Vector2(1, 2)]),
		PoolVector3Array([Vector3(1, 2, 3)]), PoolColorArray([Color(1, 0, 0)]),
	]


func _add_pools() -> void:
	for size in [0, 1, 2, 3, 4, 5, 255, 4097]:
		var content := PoolByteArray()
		for i in size:
			content.append(i * 7 + 255 & 0xff)
		_add("PoolByteArray of %d" % size, content)
	for type in POOLS:
		for size in [0, 1, 2, 3, 1000]:
			var content := Wire.joined([Wire.word(size), Wire.words(PATTERNS["counting"], size * POOLS[type])])
			_add("type %d of %d" % [type, size], _read(type, content))
		for pattern in PATTERNS:
			var content := Wire.joined([Wire.word(5), Wire.words(PATTERNS[pattern], 5 * POOLS[type])])
			_add("type %d, %s" % [type, pattern], _read(type, content))
	_add("PoolIntArray, borders", PoolIntArray([0x7fffffff, -0x80000000, -1, 0]))
	_add("PoolStringArray of 0", PoolStringArray())
	for value in _texts():
		_add("PoolStringArray", PoolStringArray([value]))
	_add("PoolStringArray of many", PoolStringArray(_texts()))
