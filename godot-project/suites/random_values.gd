## A seeded generator of nested values of all types.
extends RefCounted

const Values := preload("res://suites/values.gd")
const Wire := preload("res://suites/wire.gd")

const MAX_DEPTH := 5
const MAX_WIDTH := 8
const CHARACTER_RANGES: Array[Vector2i] = [
	Vector2i(0x20, 0x7e), Vector2i(0x20, 0x7e), Vector2i(1, 0x7f), Vector2i(0x80, 0x7ff), Vector2i(0x800, 0xd7ff),
	Vector2i(0xe000, 0xfefe), Vector2i(0x10000, 0x10ffff),
]

var _generator: RandomNumberGenerator
var _objects: Array[RefCounted] = [RefCounted.new(), Resource.new(), EncodedObjectAsID.new()]


func _init(generator: RandomNumberGenerator) -> void:
	_generator = generator


## An Array or a Dictionary with at least one element.
func nested() -> Variant:
	return of_type(TYPE_ARRAY if _generator.randi() % 2 else TYPE_DICTIONARY, 0)


func value(depth: int) -> Variant:
	return of_type(_generator.randi() % TYPE_MAX, depth)


func of_type(type: int, depth: int) -> Variant:
	if Values.FLOAT_TYPES.has(type):
		return bytes_to_var(Wire.header(type) + _float_words(Values.FLOAT_TYPES[type]))
	if Values.INT_TYPES.has(type):
		return bytes_to_var(Wire.header(type) + _words(Values.INT_TYPES[type]))
	if Values.PACKED_WORD_TYPES.has(type):
		var size := _length()
		return bytes_to_var(Wire.header(type) + Wire.word(size) + _float_words(size * Values.PACKED_WORD_TYPES[type]))
	match type:
		TYPE_BOOL:
			return _generator.randi() % 2 == 0
		TYPE_INT:
			return _int()
		TYPE_FLOAT:
			return _float()
		TYPE_STRING:
			return _text()
		TYPE_STRING_NAME:
			return StringName(_text())
		TYPE_NODE_PATH:
			return NodePath(_text().replace(":", "") if _generator.randi() % 4 == 0 else _path())
		TYPE_RID:
			return rid_from_int64(_int())
		TYPE_OBJECT:
			return _objects[_generator.randi() % _objects.size()] if _generator.randi() % 4 else null
		TYPE_CALLABLE:
			return Callable() if _generator.randi() % 2 else value
		TYPE_SIGNAL:
			return Signal(_objects[_generator.randi() % _objects.size()], _text())
		TYPE_DICTIONARY:
			return _dictionary(depth)
		TYPE_ARRAY:
			return _array(depth)
		TYPE_PACKED_BYTE_ARRAY:
			return _words(_length()).slice(_generator.randi() & 3)
		TYPE_PACKED_STRING_ARRAY:
			return _packed_strings()
	return null


func _array(depth: int) -> Array:
	var declared := _declared_type(depth)
	var array := Array([], declared, &"RefCounted" if declared == TYPE_OBJECT else &"", null)
	for i in _width(depth):
		array.append(value(depth + 1) if declared == TYPE_NIL else of_type(declared, depth + 1))
	return array


func _dictionary(depth: int) -> Dictionary:
	var key_type := _declared_type(depth)
	var value_type := _declared_type(depth)
	var dictionary := Dictionary({}, key_type, &"RefCounted" if key_type == TYPE_OBJECT else &"", null,
			value_type, &"RefCounted" if value_type == TYPE_OBJECT else &"", null)
	for i in _width(depth):
		var key: Variant = _key(depth) if key_type == TYPE_NIL else of_type(key_type, depth + 1)
		dictionary[key] = value(depth + 1) if value_type == TYPE_NIL else of_type(value_type, depth + 1)
	return dictionary


## Returns a random key, mostly of a type that scripts use as keys.
func _key(depth: int) -> Variant:
	match _generator.randi() % 4:
		0:
			return value(depth + 1)
		1:
			return _int()
	return _text()


## The declared type of a container, mostly untyped. The innermost containers never declare a container type.
func _declared_type(depth: int) -> int:
	if _generator.randi() % 4:
		return TYPE_NIL
	var type := _generator.randi() % TYPE_MAX
	if depth >= MAX_DEPTH and (type == TYPE_ARRAY or type == TYPE_DICTIONARY):
		return TYPE_INT
	return type


func _width(depth: int) -> int:
	if depth == 0:
		return 1 + _generator.randi() % MAX_WIDTH
	return 0 if depth >= MAX_DEPTH else _generator.randi() % (MAX_WIDTH - depth)


func _length() -> int:
	return _generator.randi() % 300 if _generator.randi() % 50 == 0 else _generator.randi() % 7


func _int() -> int:
	var bits := (_generator.randi() << 32) | _generator.randi()
	return bits >> (_generator.randi() % 64)


func _float() -> float:
	match _generator.randi() % 4:
		0:
			return _generator.randi_range(-1000, 1000) * 0.25
		1:
			return _generator.randf() * 100.0
		2:
			return _words(1).decode_float(0)
	return _words(2).decode_double(0)


func _text() -> String:
	var text := ""
	for i in _length():
		var characters := CHARACTER_RANGES[_generator.randi() % CHARACTER_RANGES.size()]
		text += char(_generator.randi_range(characters.x, characters.y))
	return text


func _path() -> String:
	var path := "/" if _generator.randi() % 2 else ""
	for i in _generator.randi() % 4:
		path += "Node%d/" % (_generator.randi() % 2000)
	for i in _generator.randi() % 3:
		path += ":property"
	return path


func _packed_strings() -> PackedStringArray:
	var strings := PackedStringArray()
	for i in _length():
		strings.append(_text())
	return strings


func _words(count: int) -> PackedByteArray:
	var bytes := PackedByteArray()
	bytes.resize(count * 4)
	for i in count:
		bytes.encode_u32(i * 4, _generator.randi())
	return bytes


## The bits of random floats: plain numbers half of the time, otherwise any bits.
func _float_words(count: int) -> PackedByteArray:
	if _generator.randi() % 2:
		return _words(count)
	var floats := PackedFloat32Array()
	for i in count:
		floats.append(_generator.randi_range(-4000, 4000) * 0.125)
	return floats.to_byte_array()
