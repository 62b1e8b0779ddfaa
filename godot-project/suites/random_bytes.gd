## A seeded generator of valid and nearly valid encoded values, including encodings that the engine never writes.
extends RefCounted

const Values := preload("res://suites/values.gd")
const Wire := preload("res://suites/wire.gd")

const MAX_DEPTH := 4
const MAX_WIDTH := 6

const GOOD_TEXTS: Array[String] = ["61", "6964", "78", "6e616d65", "c3a9", "e282ac", "f09f9880", "efbfbf", "0a", "3a", "2f"]
## NUL, a byte-order mark, and invalid UTF-8.
const ODD_TEXTS: Array[String] = ["00", "efbbbf", "ff", "80", "c0af", "eda080", "f4908080", "e282"]
const CLASSES: Array[String] = ["RefCounted", "Resource", "EncodedObjectAsID", "Object", "NoSuchClass", ""]

## The only classes of generated objects. The engine does not leak their objects if a later byte is broken.
## They are neither scripts nor singletons, and the values of their getters do not change.
const OBJECT_CLASSES: Array[String] = ["RefCounted", "Resource", "EncodedObjectAsID"]
const SCRIPTS: Array[String] = [
	"res://suites/fixtures/plain_data.gd", "res://suites/fixtures/derived_data.gd",
	"res://suites/fixtures/listed_properties.gd", "res://suites/fixtures/scripted_resource.gd", "res://no_such_script.gd",
]
const PROPERTIES: Array[String] = [
	"number", "unstored", "text", "ratio", "child", "numbers", "table", "listed_a", "listed_b", "items", "settings",
	"object_id", "resource_name", "metadata/a", "metadata/b", "nothing", "",
]

## One choice in this many is irregular.
var odd := 50

var _generator: RandomNumberGenerator
var _with_objects := false


func _init(generator: RandomNumberGenerator) -> void:
	_generator = generator


## The bytes of a value of any type. Containers are more frequent than other types.
func outermost() -> PackedByteArray:
	_with_objects = false
	match _generator.randi() % 8:
		0:
			return _value(0)
		1:
			var pieces := rows()
			return _header(TYPE_ARRAY) + _count(pieces.size()) + Wire.joined(pieces)
		2:
			return _run()
	return _of_type(TYPE_ARRAY if _generator.randi() % 2 else TYPE_DICTIONARY, 0)


func with_objects() -> PackedByteArray:
	_with_objects = true
	match _generator.randi() % 3:
		0:
			return _of_type(TYPE_ARRAY, 1)
		1:
			return _of_type(TYPE_DICTIONARY, 1)
	return _object(0)


func _value(depth: int) -> PackedByteArray:
	return _of_type(_generator.randi() % TYPE_MAX, depth)


func _of_type(type: int, depth: int) -> PackedByteArray:
	var is_wide := _generator.randi() % 4 == 0
	if Values.FLOAT_TYPES.has(type):
		var wide_words := 2 if is_wide and type != TYPE_COLOR else 1
		return _header(type, int(is_wide)) + _words(Values.FLOAT_TYPES[type] * wide_words)
	if Values.INT_TYPES.has(type):
		return _header(type) + _words(Values.INT_TYPES[type])
	if Values.PACKED_WORD_TYPES.has(type):
		return _packed(type, is_wide)
	match type:
		TYPE_BOOL:
			return _header(type) + Wire.word(_generator.randi() if _is_odd() else _generator.randi() % 2)
		TYPE_INT, TYPE_FLOAT:
			return _header(type, int(is_wide)) + _words(2 if is_wide else 1)
		TYPE_STRING, TYPE_STRING_NAME:
			return _header(type) + _text()
		TYPE_NODE_PATH:
			return _node_path()
		TYPE_RID:
			return _header(type) + _words(2)
		TYPE_OBJECT:
			return _object(depth) if _with_objects and not is_wide else _header(type, 1) + _words(2)
		TYPE_SIGNAL:
			return _header(type) + _text() + _words(2)
		TYPE_DICTIONARY:
			return _dictionary(depth)
		TYPE_ARRAY:
			return _array(depth)
		TYPE_PACKED_BYTE_ARRAY:
			return _header(type) + Wire.sized(_words(_generator.randi() % 4).slice(_generator.randi() % 4))
		TYPE_PACKED_STRING_ARRAY:
			return _packed_strings()
	return _header(type)


func _array(depth: int) -> PackedByteArray:
	var kind := _kind(4)
	var declared := _declared_type(kind)
	var elements := PackedByteArray()
	var count := _width(depth)
	for i in count:
		elements += _inside(declared, depth)
	return _header(TYPE_ARRAY, kind) + _declaration(kind, declared) + _count(count) + elements


func _dictionary(depth: int) -> PackedByteArray:
	# The engine restores the wrong script if a Dictionary's type is a script.
	var kinds := 3 if _with_objects else 4
	var key_kind := _kind(kinds)
	var value_kind := _kind(kinds)
	var key_type := _declared_type(key_kind)
	var value_type := _declared_type(value_kind)
	var entries := PackedByteArray()
	var count := _width(depth)
	for i in count:
		var is_text := key_type == TYPE_NIL and _generator.randi() % 2
		entries += _of_type(TYPE_STRING, depth) if is_text else _inside(key_type, depth)
		entries += _inside(value_type, depth)
	return (_header(TYPE_DICTIONARY, key_kind | value_kind << 2) + _declaration(key_kind, key_type)
			+ _declaration(value_kind, value_type) + _count(count) + entries)


## Dictionaries with the same keys, occasionally with another key.
func rows() -> Array[PackedByteArray]:
	_with_objects = false
	var keys: Array[PackedByteArray] = []
	for i in _generator.randi_range(1, 20):
		var key_type := TYPE_INT if _generator.randi() % 8 == 0 else TYPE_STRING
		keys.append(_of_type(key_type, MAX_DEPTH) if _is_odd() else Wire.header(TYPE_STRING) + Wire.text("key %d" % i))
	var rows: Array[PackedByteArray] = []
	for i in _generator.randi_range(10, 30):
		var row := _header(TYPE_DICTIONARY) + _count(keys.size())
		for key in keys:
			row += _of_type(TYPE_STRING, MAX_DEPTH) if _is_odd() and i > 8 else key
			row += _of_type([TYPE_INT, TYPE_BOOL, TYPE_NIL, TYPE_STRING][_generator.randi() % 4], MAX_DEPTH)
		rows.append(row)
	return rows


## Elements of a PackedStringArray.
func strings(count: int) -> Array[PackedByteArray]:
	var texts: Array[PackedByteArray] = []
	for i in count:
		texts.append(Wire.sized(_characters() + PackedByteArray([] if _is_odd() else [0])))
	return texts


## An Array whose values are of one type, with rare exceptions.
func _run() -> PackedByteArray:
	var type := _generator.randi() % TYPE_MAX
	var kind := _generator.randi() % 2
	var elements := PackedByteArray()
	var count := _generator.randi_range(1, 60)
	for i in count:
		elements += _value(MAX_DEPTH) if _is_odd() else _of_type(type, MAX_DEPTH)
	return _header(TYPE_ARRAY, kind) + _declaration(kind, type) + _count(count) + elements


func _object(depth: int) -> PackedByteArray:
	var properties := PackedByteArray()
	var count := 0
	if _generator.randi() % 2:
		properties += Wire.text("script") + Wire.header(TYPE_STRING) + Wire.text(_any_of(SCRIPTS))
		count += 1
	for i in _width(depth):
		properties += Wire.text(_any_of(PROPERTIES)) + _value(depth + 1)
		count += 1
	return _header(TYPE_OBJECT) + Wire.text(_any_of(OBJECT_CLASSES)) + _count(count) + properties


func _packed(type: int, is_wide: bool) -> PackedByteArray:
	var words := Values.PACKED_WORD_TYPES[type]
	if is_wide and type in [TYPE_PACKED_VECTOR2_ARRAY, TYPE_PACKED_VECTOR3_ARRAY, TYPE_PACKED_VECTOR4_ARRAY]:
		words *= 2
	var count := _generator.randi() % 5
	return _header(type, int(is_wide)) + _count(count) + _words(count * words)


func _packed_strings() -> PackedByteArray:
	var count := _generator.randi() % 5
	return _header(TYPE_PACKED_STRING_ARRAY) + _count(count) + Wire.joined(strings(count))


func _node_path() -> PackedByteArray:
	var names := _generator.randi() % 4
	var subnames := _generator.randi() % 3
	var flags := _generator.randi() % 4 if _is_odd() else _generator.randi() % 2
	var bytes := _header(TYPE_NODE_PATH) + Wire.word(names | 0x80000000)
	bytes += Wire.word(subnames - (flags >> 1)) + Wire.word(flags)
	for i in names + subnames:
		bytes += _text()
	return bytes


func _inside(declared: int, depth: int) -> PackedByteArray:
	return _value(depth + 1) if declared == TYPE_NIL or _is_odd() else _of_type(declared, depth + 1)


## A random kind of declared type: usually 0, which means untyped.
func _kind(kinds: int) -> int:
	return 0 if _generator.randi() % 4 else _generator.randi() % kinds


func _declared_type(kind: int) -> int:
	match kind:
		0:
			return TYPE_NIL
		1:
			return _generator.randi() % TYPE_MAX
	return TYPE_OBJECT


func _declaration(kind: int, type: int) -> PackedByteArray:
	match kind:
		1:
			return Wire.word(_generator.randi() % 64 if _is_odd() else type)
		2:
			return Wire.text(_any_of(CLASSES))
		3:
			return Wire.text(_any_of(SCRIPTS))
	return PackedByteArray()


func _header(type: int, flags := 0) -> PackedByteArray:
	return Wire.word(type | flags << 16 | (_generator.randi() << 8 if _is_odd() else 0))


func _count(count: int) -> PackedByteArray:
	return Wire.word([count - 1, count + 1, count | 0x80000000, -1][_generator.randi() % 4] if _is_odd() else count)


func _text() -> PackedByteArray:
	return Wire.sized(_characters())


func _characters() -> PackedByteArray:
	var hex := ""
	for i in _generator.randi() % 5:
		hex += _any_of(ODD_TEXTS) if _is_odd() else _any_of(GOOD_TEXTS)
	return hex.hex_decode()


func _width(depth: int) -> int:
	return 0 if depth >= MAX_DEPTH else _generator.randi() % (MAX_WIDTH - depth)


func _words(count: int) -> PackedByteArray:
	var bytes := PackedByteArray()
	bytes.resize(count * 4)
	var is_small := _generator.randi() % 2 == 0
	for i in count:
		bytes.encode_u32(i * 4, _generator.randi() & 0xff if is_small else _generator.randi())
	return bytes


func _any_of(texts: Array[String]) -> String:
	return texts[_generator.randi() % texts.size()]


func _is_odd() -> bool:
	return _generator.randi() % odd == 0
