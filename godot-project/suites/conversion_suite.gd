## Typed containers fed with elements of every other type: the engine's implicit conversions and its refusals.
##
## Every edge value of a moderate size is tried as element, as key and as value against every declared type. Elements
## and keys are converted or dropped as the engine does; values of another type make the codec refuse (Q1).
extends "res://suites/suite.gd"

const MAX_SOURCE_BYTES := 256
const DECLARED_CLASSES: Array[String] = ["Object", "RefCounted", "Node", "EncodedObjectAsID", "NoSuchClass", ""]
const DECLARED_SCRIPTS: Array[String] = [
	"res://suites/fixtures/plain_data.gd", "res://suites/fixtures/scripted_node.gd", "res://no_such_script.gd",
	"user://elsewhere.gd", "",
]

const KIND_BUILTIN := 1
const KIND_CLASS := 2
const KIND_SCRIPT := 3


## A type that a container declares.
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


## Only elements: the engine forgets scripts of dictionaries (Q2).
func test_scripts_with_objects() -> bool:
	for declared in _scripts():
		for source in _sources(true):
			_check_element(declared, source, true)
	return true


## Elements that fit, that are converted and that are dropped, mixed: the others keep their order.
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


## The edge values as bytes. What the engine drops it leaks, unless it is reference-counted; the rest is left out.
func _sources(with_objects: bool) -> Array[PackedByteArray]:
	var sources: Array[PackedByteArray] = []
	for case in values.cases:
		var bytes := Oracle.engine_encode(case.value, with_objects)
		if bytes and bytes.size() <= MAX_SOURCE_BYTES:
			if not with_objects or Oracle.unmanaged_objects(case.value).is_empty():
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
