# A seeded generator of nested values, of all types whose values mean the same in another process.
extends Reference

const Values := preload("res://values.gd")
const Wire := preload("res://wire.gd")

const MAX_DEPTH := 5
const MAX_WIDTH := 8
const CHARACTERS := [
	[0x20, 0x7e], [0x20, 0x7e], [0x01, 0x7f], [0x80, 0x7ff], [0x800, 0xd7ff], [0xe000, 0xfefe], [0x10000, 0x10ffff],
]
# Names that fill whole 32-bit words, because the padding of other names differs each time.
const NAMES := ["root", "Node", "Player01", "a b ", "水 ", "..\u00e9"]
const KEYS := [TYPE_BOOL, TYPE_INT, TYPE_REAL, TYPE_STRING, TYPE_STRING, TYPE_VECTOR2, TYPE_COLOR, TYPE_NODE_PATH, TYPE_ARRAY]

var _generator := RandomNumberGenerator.new()


func _init(from_seed: int) -> void:
	_generator.seed = from_seed


# An Array, a Dictionary, or, one time in four, any value.
func nested():
	match _generator.randi() % 4:
		0:
			return value(0)
		1, 2:
			return of_type(TYPE_ARRAY, 0)
	return of_type(TYPE_DICTIONARY, 0)


func value(depth: int):
	return of_type(_generator.randi() % TYPE_MAX, depth)


func of_type(type: int, depth: int):
	if Values.VECTORS.has(type):
		return bytes2var(Wire.joined([Wire.word(type), _words(Values.VECTORS[type])]))
	if Values.POOLS.has(type):
		var size := _length()
		return bytes2var(Wire.joined([Wire.word(type), Wire.word(size), _words(size * Values.POOLS[type])]))
	match type:
		TYPE_BOOL:
			return _generator.randi() % 2 == 0
		TYPE_INT:
			return (_generator.randi() << 32 | _generator.randi()) >> (_generator.randi() % 64)
		TYPE_REAL:
			return _float()
		TYPE_STRING:
			return _text()
		TYPE_NODE_PATH:
			return _path()
		TYPE_RID:
			return RID()
		TYPE_DICTIONARY:
			var dictionary := {}
			for i in _width(depth):
				dictionary[of_type(KEYS[_generator.randi() % KEYS.size()], MAX_DEPTH)] = value(depth + 1)
			return dictionary
		TYPE_ARRAY:
			var array := []
			for i in _width(depth):
				array.append(value(depth + 1))
			return array
		TYPE_RAW_ARRAY:
			var bytes := PoolByteArray()
			for i in _length():
				bytes.append(_generator.randi() & 0xff)
			return bytes
		TYPE_STRING_ARRAY:
			var texts := PoolStringArray()
			for i in _length():
				texts.append(_text())
			return texts
	return null


func _width(depth: int) -> int:
	if depth == 0:
		return 1 + _generator.randi() % MAX_WIDTH
	return 0 if depth >= MAX_DEPTH else _generator.randi() % (MAX_WIDTH - depth)


func _length() -> int:
	return _generator.randi() % 100 if _generator.randi() % 50 == 0 else _generator.randi() % 7


func _float() -> float:
	match _generator.randi() % 3:
		0:
			return _generator.randi_range(-1000, 1000) * 0.25
		1:
			return _generator.randf() * 100.0
	return bytes2var(Wire.joined([PoolByteArray([TYPE_REAL, 0, 1, 0]), _random_words(2)]))


func _text() -> String:
	var text := ""
	for i in _length():
		var borders: Array = CHARACTERS[_generator.randi() % CHARACTERS.size()]
		text += char(_generator.randi_range(borders[0], borders[1]))
	return text


func _path() -> NodePath:
	var path := "/" if _generator.randi() % 2 else ""
	for i in _generator.randi() % 4:
		path += NAMES[_generator.randi() % NAMES.size()] + "/"
	for i in _generator.randi() % 3:
		path += ":" + NAMES[_generator.randi() % NAMES.size()]
	# The path "/" does not keep its flag when it is written and read.
	return NodePath("" if path == "/" else path)


# Plain numbers half of the time, otherwise special numbers or any bits.
func _words(count: int) -> PoolByteArray:
	match _generator.randi() % 4:
		0:
			return _random_words(count)
		1:
			var patterns: Array = Values.PATTERNS.values()
			return Wire.words(patterns[_generator.randi() % patterns.size()], count)
	var floats := StreamPeerBuffer.new()
	for i in count:
		floats.put_float(_generator.randi_range(-4000, 4000) * 0.125)
	return floats.data_array


func _random_words(count: int) -> PoolByteArray:
	var words := []
	for i in count:
		words.append(_generator.randi())
	return Wire.words(words, count)
