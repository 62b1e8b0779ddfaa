## Typed containers with elements of every other type: the engine's implicit conversions and refusals.
##
## Tries moderately sized edge values as elements, keys and values of every declared type. The codec converts or drops
## elements and keys as the engine does, and refuses values of another type in Dictionaries.
extends "res://suites/suite.gd"

const MAX_SOURCE_BYTES := 256
## The maximum number of edge values of each type.
const SOURCES := 14
const DECLARED_CLASSES: Array[String] = ["Object", "RefCounted", "Node", "EncodedObjectAsID", "NoSuchClass", ""]
const DECLARED_SCRIPTS: Array[String] = [
	"res://suites/fixtures/plain_data.gd", "res://suites/fixtures/scripted_node.gd", "res://no_such_script.gd",
	"user://elsewhere.gd", "",
]

## The number of entries for each pair of types.
const PAIRS := 3

const KIND_BUILTIN := 1
const KIND_CLASS := 2
const KIND_SCRIPT := 3


class Declared:
	extends RefCounted
	var type: int
	var kind: int
	var bytes: PackedByteArray

	func _init(declared_type: int, declared_kind: int, declared_bytes: PackedByteArray) -> void:
		type = declared_type
		kind = declared_kind
		bytes = declared_bytes


func test_builtin_types_without_objects() -> bool:
	_check_all(_builtin_types(), false)
	return true


func test_builtin_types_with_objects() -> bool:
	_check_all(_builtin_types(), true)
	return true


func test_classes_without_objects() -> bool:
	_check_all(_classes(), false)
	_check_all(_scripts(), false)
	return true


func test_classes_with_objects() -> bool:
	_check_all(_classes(), true)
	return true


## Tests elements of Arrays only, because the engine drops the scripts of Dictionaries.
func test_scripts_with_objects() -> bool:
	for declared in _scripts():
		for source in _sources(true):
			_check_element(declared, source, true)
	return true


## Random keys and values in Dictionaries of every pair of types. The engine drops an entry if it does not accept the
## key, whatever the value is.
func test_keys_with_values() -> bool:
	var generator := seeded("keys with values")
	var sources := _by_type()
	for key_type in TYPE_MAX:
		for value_type in TYPE_MAX:
			checks.subject(TYPE_DICTIONARY, "any entry in Dictionary[%s, %s]" % [type_string(key_type), type_string(value_type)])
			var start := Wire.header(TYPE_DICTIONARY, KIND_BUILTIN | KIND_BUILTIN << 2) + Wire.word(key_type) + Wire.word(value_type)
			for round_number in PAIRS:
				var key := _any(sources[generator.randi() % TYPE_MAX], generator)
				var value := _any(sources[generator.randi() % TYPE_MAX], generator)
				# Tests keys that the engine may not accept, after and before a key that it accepts.
				var fitting := _any(sources[key_type], generator) + _any(sources[value_type], generator)
				checks.no_problem("alone", Oracle.disagreement(start + Wire.word(1) + key + value))
				checks.no_problem("behind another", Oracle.disagreement(start + Wire.word(2) + fitting + key + value))
				checks.no_problem("before another", Oracle.disagreement(start + Wire.word(2) + key + value + fitting))
	return true


## Each level of typed Arrays converts the level below to text and escapes it. The engine continues until
## memory is exhausted, so only the codec gets many levels.
func test_text_that_doubles() -> bool:
	checks.subject(TYPE_PACKED_STRING_ARRAY, "texts in texts")
	for levels in 20:
		var bytes := _texts_in_texts(levels)
		checks.no_problem("%d levels" % levels, Oracle.disagreement(bytes))
		checks.no_problem("%d levels, as a key" % levels, Oracle.disagreement(_as_key(bytes)))
	for levels: int in [30, 60, 500]:
		for bytes: PackedByteArray in [_texts_in_texts(levels), _as_key(_texts_in_texts(levels)), _keys_in_keys(mini(levels, 90))]:
			checks.truth("%d levels" % levels, Oracle.codec_decode(bytes) == null)
			checks.same_value("in a batch", [null, 1], Oracle.codec_decode_batch([bytes, var_to_bytes(1)]))
			checks.truth("strictly", not FastVariantCodec.try_decode(bytes).is_ok())
	# Adds enough other elements for several threads.
	var filler := Wire.header(TYPE_ARRAY) + Wire.word(20_000) + Wire.repeated(var_to_bytes(["a"]), 20_000)
	for count: int in [1, 10]:
		for levels: int in [8, 60]:
			var bytes := Wire.header(TYPE_ARRAY) + Wire.word(2 * count)
			for index in count:
				bytes.append_array(_texts_in_texts(levels) + (filler if count == 1 else var_to_bytes("x".repeat(70_000))))
			if levels < 30:
				checks.no_problem("%d at once" % count, Oracle.disagreement(bytes))
			else:
				checks.truth("%d at once" % count, Oracle.codec_decode(bytes) == null)
	var no_object := Wire.header(TYPE_SIGNAL) + Wire.text("s") + Wire.word(0) + Wire.word(0)
	var texts := Wire.header(TYPE_ARRAY, KIND_BUILTIN) + Wire.word(TYPE_PACKED_STRING_ARRAY) + Wire.word(1)
	texts.append_array(Wire.header(TYPE_ARRAY) + Wire.word(1))
	checks.no_problem("a Signal of no object", Oracle.disagreement(texts + no_object))
	var entry := Wire.header(TYPE_DICTIONARY) + Wire.word(1)
	checks.no_problem("as a key", Oracle.disagreement(texts + entry + no_object + Wire.header(TYPE_NIL)))
	var of_object := texts + Wire.header(TYPE_SIGNAL) + Wire.text("s") + Wire.word(1) + Wire.word(0)
	checks.no_problem("a Signal of an object", Oracle.disagreement(of_object))
	checks.same_int("its Array is dropped", 0, Oracle.codec_decode(of_object).size())
	# Tests large text that is escaped at most once.
	for value: Variant in [PackedByteArray([255]), "\"", null, Vector4(1.0 / 3, 2.0 / 3, 1e-30, 1e30)]:
		var inner: Array = []
		inner.resize(20_000)
		inner.fill(value)
		var bytes := Wire.header(TYPE_ARRAY, KIND_BUILTIN) + Wire.word(TYPE_PACKED_STRING_ARRAY) + Wire.word(1)
		checks.no_problem("much of %s" % [value], Oracle.disagreement(bytes + var_to_bytes([inner])))
	return true


static func _texts_in_texts(levels: int) -> PackedByteArray:
	var level := Wire.header(TYPE_ARRAY, KIND_BUILTIN) + Wire.word(TYPE_PACKED_STRING_ARRAY) + Wire.word(1)
	return Wire.repeated(level, levels) + Wire.header(TYPE_ARRAY) + Wire.word(1) + var_to_bytes("\"")


static func _as_key(bytes: PackedByteArray) -> PackedByteArray:
	return (Wire.header(TYPE_DICTIONARY, KIND_BUILTIN) + Wire.word(TYPE_PACKED_STRING_ARRAY) + Wire.word(1) + bytes
			+ Wire.header(TYPE_NIL))


## Dictionaries nested `levels` deep in their keys: each key is an Array that contains the next Dictionary.
## The keys have the declared type PackedStringArray.
static func _keys_in_keys(levels: int) -> PackedByteArray:
	var bytes := Wire.header(TYPE_ARRAY) + Wire.word(1) + var_to_bytes("\"")
	for level in levels:
		bytes = Wire.header(TYPE_ARRAY) + Wire.word(1) + _as_key(bytes)
	return _as_key(bytes)


func _by_type() -> Array[Array]:
	var sources: Array[Array] = []
	sources.resize(TYPE_MAX)
	for source in _sources(false):
		sources[source[0]].append(source)
	return sources


static func _any(sources: Array, generator: RandomNumberGenerator) -> PackedByteArray:
	return sources[generator.randi() % sources.size()]


## The remaining elements keep their order, even if the engine converts or drops some elements.
func test_mixed_elements() -> bool:
	var sources := _sources(false)
	var generator := seeded("mixed elements")
	for declared in _builtin_types():
		checks.subject(TYPE_ARRAY, "mixed elements in Array[%s]" % type_string(declared.type))
		for round_number in 20:
			var elements := PackedByteArray()
			for i in 8:
				elements += sources[generator.randi() % sources.size()]
			checks.no_problem("as the engine", Oracle.disagreement(
					Wire.header(TYPE_ARRAY, KIND_BUILTIN) + declared.bytes + Wire.word(8) + elements))
	return true


func _check_all(declared_types: Array[Declared], allow_objects: bool) -> void:
	var sources := _sources(allow_objects)
	for declared in declared_types:
		for source in sources:
			_check_element(declared, source, allow_objects)
			_check_key(declared, source, allow_objects)
			_check_value(declared, source, allow_objects)


func _check_element(declared: Declared, source: PackedByteArray, allow_objects: bool) -> void:
	checks.subject(declared.type, "any element in a typed Array")
	checks.no_problem("element of type %s" % type_string(source[0]), Oracle.disagreement(
			Wire.header(TYPE_ARRAY, declared.kind) + declared.bytes + Wire.word(1) + source, allow_objects))


func _check_key(declared: Declared, source: PackedByteArray, allow_objects: bool) -> void:
	checks.subject(declared.type, "any key in a typed Dictionary")
	checks.no_problem("key of type %s" % type_string(source[0]), Oracle.disagreement(
			Wire.header(TYPE_DICTIONARY, declared.kind) + declared.bytes + Wire.word(1) + source
			+ Wire.header(TYPE_NIL), allow_objects))


func _check_value(declared: Declared, source: PackedByteArray, allow_objects: bool) -> void:
	checks.subject(declared.type, "any value in a typed Dictionary")
	checks.no_problem("value of type %s" % type_string(source[0]), Oracle.disagreement(
			Wire.header(TYPE_DICTIONARY, declared.kind << 2) + declared.bytes + Wire.word(1)
			+ Wire.header(TYPE_NIL) + source, allow_objects))


## Some edge values of each type as bytes. With objects, returns only values whose bytes differ from the bytes
## without objects. Omits values with objects that are not reference-counted, because the engine leaks such
## objects when it drops them.
func _sources(with_objects: bool) -> Array[PackedByteArray]:
	var sources: Array[PackedByteArray] = []
	var counts: Dictionary[int, int] = {}
	for case in values.cases:
		var bytes := Oracle.engine_encode(case.value, with_objects)
		if bytes.is_empty() or bytes.size() > MAX_SOURCE_BYTES or counts.get(case.type, 0) == SOURCES:
			continue
		if with_objects and (bytes == Oracle.engine_encode(case.value)
				or not Oracle.unmanaged_objects(case.value).is_empty()):
			continue
		counts[case.type] = counts.get(case.type, 0) + 1
		sources.append(bytes)
	return sources


static func _builtin_types() -> Array[Declared]:
	var declared: Array[Declared] = []
	for type in TYPE_MAX:
		declared.append(Declared.new(type, KIND_BUILTIN, Wire.word(type)))
	return declared


static func _classes() -> Array[Declared]:
	var declared: Array[Declared] = []
	for declared_class in DECLARED_CLASSES:
		declared.append(Declared.new(TYPE_OBJECT, KIND_CLASS, Wire.text(declared_class)))
	return declared


static func _scripts() -> Array[Declared]:
	var declared: Array[Declared] = []
	for path in DECLARED_SCRIPTS:
		declared.append(Declared.new(TYPE_OBJECT, KIND_SCRIPT, Wire.text(path)))
	return declared
