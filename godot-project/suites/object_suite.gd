## Full objects: refusals even if objects are allowed, getters, hand-made inputs, and clean-up.
extends "res://suites/suite.gd"

const CountingGetter := preload("res://suites/fixtures/counting_getter.gd")
const Meddler := preload("res://suites/fixtures/meddler.gd")
const ReentrantGetter := preload("res://suites/fixtures/reentrant_getter.gd")

const PLAIN_DATA := "res://suites/fixtures/plain_data.gd"
const LISTED := "res://suites/fixtures/listed_properties.gd"
const SCRIPTED_NODE := "res://suites/fixtures/scripted_node.gd"
const SCRIPTED_RESOURCE := "res://suites/fixtures/scripted_resource.gd"

const FREED := 200

## Classes derived from Script: the engine compiles and runs the source code in an encoded object of these
## classes.
const SCRIPT_CLASSES: Array[String] = ["GDScript", "Script", "ScriptExtension", "CSharpScript"]

## Classes whose second instance ends the engine. The test adds the classes of the running singletons.
const SINGLETON_CLASSES: Array[String] = ["ProjectSettings", "ThemeDB", "TextServerManager"]

## Script paths that leave the project, or that the engine would have to simplify.
const OUTSIDE_PATHS: Array[String] = [
	"res://../godot-project/suites/fixtures/plain_data.gd",
	"res://suites/../../godot-project/suites/fixtures/plain_data.gd",
	"res://../outside.gd", "res:///../outside.gd", "res://..\\godot-project\\suites\\fixtures\\plain_data.gd",
	"res://./suites/fixtures/plain_data.gd", "res://suites//fixtures/plain_data.gd", "res://suites/.\\fixtures/plain_data.gd", "res://",
]


func test_scripts_are_refused() -> bool:
	checks.subject(TYPE_OBJECT, "refused: class derived from Script")
	var source := "static func _static_init() -> void:\n\tEngine.set_meta(&\"codec_ran_a_script\", true)\n"
	for script_class in SCRIPT_CLASSES:
		_check_refused(script_class, _object(script_class, {"script/source": var_to_bytes(source)}))
		_check_refused(script_class + " without properties", _object(script_class, {}))
	_check_refused("a script that was encoded", var_to_bytes_with_objects(Values.PlainData))
	checks.truth("no script ran", not Engine.has_meta(&"codec_ran_a_script"))
	checks.same_bytes("a script is encoded as the engine does",
			var_to_bytes_with_objects(Values.PlainData), FastVariantCodec.encode(Values.PlainData, true))
	return true


func test_singletons_are_refused() -> bool:
	checks.subject(TYPE_OBJECT, "refused: engine singleton")
	var classes := SINGLETON_CLASSES.duplicate()
	for singleton in Engine.get_singleton_list():
		classes.append(Engine.get_singleton(singleton).get_class())
	for singleton_class in classes:
		_check_refused(singleton_class, _object(singleton_class, {}))
	return true


func test_paths_outside_are_refused() -> bool:
	checks.subject(TYPE_OBJECT, "refused: script path that leaves the project or has another spelling")
	var long := "res://" + "./".repeat(2100) + "suites/fixtures/plain_data.gd"
	for path: String in OUTSIDE_PATHS + [long]:
		_check_refused(path, _object("RefCounted", {"script": var_to_bytes(path)}))
		_check_refused("array of " + path, Wire.header(TYPE_ARRAY, 3) + Wire.text(path) + Wire.word(0))
		_check_refused("keys of " + path, Wire.header(TYPE_DICTIONARY, 3) + Wire.text(path) + Wire.word(0))
		_check_refused("values of " + path, Wire.header(TYPE_DICTIONARY, 12) + Wire.text(path) + Wire.word(0))
	return true


## The codec refuses an object that the engine would make without its script and values.
func test_scripts_that_cannot_be_attached() -> bool:
	checks.subject(TYPE_OBJECT, "a script whose constructor needs arguments")
	var limits := with_objects()
	var objects_before := object_count()
	var read := FastVariantCodec.try_decode(_object("RefCounted", {"script": var_to_bytes("res://suites/fixtures/classes/picky.gd")}), limits)
	checks.truth("refused", "its _init needs arguments" in read.message, read.message)
	read = null
	checks.same_int("nothing was made", objects_before, object_count())
	return true


func test_objects_are_refused_unless_allowed() -> bool:
	for case in values.cases:
		var bytes := Oracle.engine_encode(case.value, true)
		if case.type != TYPE_OBJECT or bytes.size() <= 4:
			continue
		checks.subject(TYPE_OBJECT, case.name)
		var objects_before := object_count()
		checks.truth("decode refuses", Oracle.codec_decode(bytes) == null)
		checks.truth("decode refuses it inside of an Array", Oracle.codec_decode(_wrapped(bytes)) == null)
		checks.truth("try_decode refuses", not FastVariantCodec.try_decode(bytes).is_ok())
		checks.same_int("nothing was made", objects_before, object_count())
	return true


func test_crafted_objects() -> bool:
	var inputs := _crafted_objects()
	for input_name in inputs:
		checks.subject(TYPE_OBJECT, input_name)
		checks.no_problem("alone", Oracle.disagreement(inputs[input_name], true))
		checks.no_problem("inside of an Array", Oracle.disagreement(_wrapped(inputs[input_name]), true))
		checks.no_problem("without objects", Oracle.disagreement(inputs[input_name]))
	return true


## A getter's value changes in size between two reads. The engine would overrun its buffer, so only the codec
## encodes the object.
func test_getters_run_once() -> bool:
	for lengths: Vector2i in [Vector2i(0, 100), Vector2i(100, 0), Vector2i(5, 5), Vector2i(0, 4000000)]:
		checks.subject(TYPE_OBJECT, "getter, first %d then %d characters" % [lengths.x, lengths.y])
		var object := CountingGetter.new()
		object.first = "x".repeat(lengths.x)
		object.later = "y".repeat(lengths.y)
		var bytes := FastVariantCodec.encode(object, true)
		checks.same_int("reads", 1, object.reads)
		checks.same_bytes("bytes", _object("RefCounted", {
			"script": var_to_bytes("res://suites/fixtures/counting_getter.gd"), "text": var_to_bytes(object.first),
		}), bytes)
		object.reads = 0
		checks.same_int("encoded_size", bytes.size(), FastVariantCodec.encoded_size(object, true))
		object.reads = 0
		checks.same_value("encode_batch", bytes, FastVariantCodec.encode_batch([object], true)[0])
	var font := FastVariantCodec.encode(FontFile.new(), true)
	checks.truth("a class whose list of properties grows when read", FastVariantCodec.decode(font, true) is FontFile)
	return true


func test_getter_that_calls_the_codec() -> bool:
	checks.subject(TYPE_OBJECT, "getter that calls the codec")
	var batch: Array = []
	for i in 50:
		batch.append([i, ReentrantGetter.new(), {"again": ReentrantGetter.new()}])
	var expected: Array[PackedByteArray] = []
	for value: Variant in batch:
		expected.append(var_to_bytes_with_objects(value))
	checks.same_bytes("encode", expected[0], FastVariantCodec.encode(batch[0], true))
	checks.same_value("encode_batch", expected, FastVariantCodec.encode_batch(batch, true))
	return true


## Setters and getters that change the codec's argument during the call.
func test_accessors_that_meddle() -> bool:
	checks.subject(TYPE_OBJECT, "accessors that meddle")
	var meddler := Meddler.new()
	var bytes := var_to_bytes_with_objects([meddler, "tail", 1, 2, 3])

	var buffers: Array = [bytes.duplicate(), bytes.duplicate()]
	Meddler.on_access = func() -> void:
		if not buffers.is_empty():
			buffers[0].fill(0)
		buffers.clear()
	var decoded := FastVariantCodec.decode_batch(buffers, true)
	checks.same_int("all buffers are decoded", 2, decoded.size())
	for value: Variant in decoded:
		checks.same_value("behind a setter that clears the buffers", ["tail", 1, 2, 3], (value as Array).slice(1))
		(value as Array)[0].free()

	var values: Array = [[meddler, "tail"], [meddler, "tail"]]
	Meddler.on_access = func() -> void:
		for value: Array in values:
			value.clear()
		values.clear()
	var encoded := FastVariantCodec.encode_batch(values, true)
	Meddler.on_access = Callable()
	checks.same_int("all values are encoded", 2, encoded.size())
	checks.same_bytes("behind a getter that clears the values",
			var_to_bytes_with_objects([meddler, "tail"]), encoded[0])
	meddler.free()

	# The getter frees its own object before the last property is read.
	var doomed: Array[Object] = [Meddler.new(), Meddler.new()]
	for object: Meddler in doomed:
		object.frees_itself = true
	var outcome := FastVariantCodec.try_encode([1, doomed[0]], true)
	checks.truth("try_encode fails", outcome != null and not outcome.is_ok() and outcome.path.begins_with("[1]"))
	encoded = Oracle.codec_encode_batch([1, doomed[1], 2], true)
	checks.same_value("encode_batch goes on", [var_to_bytes(1), PackedByteArray(), var_to_bytes(2)],
			Array(encoded, TYPE_NIL, "", null))
	return true


## The innermost of endlessly nested calls fails. The engine's own functions would overflow the stack.
func test_accessors_that_call_without_end() -> bool:
	var limits := FastVariantLimits.for_save_files()
	limits.allow_objects = true
	for levels: int in [0, 10, 300, 1000]:
		checks.subject(TYPE_OBJECT, "accessors that call without end, %d levels deep" % levels)
		var meddler := Meddler.new()
		var value: Variant = meddler
		for i in levels:
			value = [value]
		var bytes := var_to_bytes_with_objects(value)
		var encode := func() -> FastVariantResult: return FastVariantCodec.try_encode(value, true)
		var decode := func() -> FastVariantResult:
			var result := FastVariantCodec.try_decode(bytes, limits)
			var made: Variant = result.value
			while made is Array:
				made = made[0]
			if made is Object:
				made.free()
			return result
		for call: Callable in [encode, decode]:
			var errors: Array[String] = []
			Meddler.on_access = func() -> void:
				var result: FastVariantResult = call.call()
				if not result.is_ok():
					errors.append(result.message)
			var outermost: FastVariantResult = call.call()
			Meddler.on_access = Callable()
			checks.truth("the innermost call fails", outermost.is_ok() and errors.size() == 1 and " nested calls: " in errors[0], str(errors))
		meddler.free()
	return true


func test_objects_nested_deeply() -> bool:
	for depth: int in [10, 500, 1022, 1023, 1024, 1025, 1026]:
		checks.subject(TYPE_OBJECT, "objects nested %d deep" % depth)
		var outermost := Values.PlainData.new()
		var innermost := outermost
		for i in depth - 1:
			innermost.child = Values.PlainData.new()
			innermost = innermost.child
		var expected := Oracle.engine_encode(outermost, true)
		checks.same_bytes("encode", expected, Oracle.codec_encode(outermost, true))
		if expected:
			checks.no_problem("decode", Oracle.disagreement(expected, true))
	return true


## The engine leaks objects made before the broken byte of a packet; the codec frees them.
func test_leftovers_are_freed() -> bool:
	var node := _object("Node", {"name": var_to_bytes("x")})
	var broken: Dictionary[String, PackedByteArray] = {
		"node without its property": _object("Node", {"name": PackedByteArray()}),
		"array cut after a node": Wire.header(TYPE_ARRAY) + Wire.word(2) + node,
		"dictionary cut after a node": Wire.header(TYPE_DICTIONARY) + Wire.word(1) + node,
		"property cut inside of a node": _object("Node", {"metadata/child": node, "name": Wire.header(39)}),
		"reference cut after a node": _object("RefCounted", {"metadata/child": node, "script": var_to_bytes("res://no.gd")}),
	}
	for case_name in broken:
		checks.subject(TYPE_OBJECT, case_name)
		var objects_before := object_count()
		checks.truth("is refused", Oracle.codec_decode(broken[case_name], true) == null)
		checks.truth("is refused in a batch", Oracle.codec_decode_batch([broken[case_name]], true) == [null])
		checks.same_int("objects left over", 0, object_count() - objects_before)
	return true


## Objects that a typed container drops from a valid packet are freed, too.
func test_misfits_are_freed() -> bool:
	var node := _object("Node", {})
	var inside := Wire.header(TYPE_ARRAY) + Wire.word(1) + node
	var keys := Wire.header(TYPE_DICTIONARY, 1)
	var packets: Dictionary[String, PackedByteArray] = {
		"node in an array of another class": _typed_array("Resource", 2, [node, Wire.header(TYPE_NIL), inside]),
		"array of nodes converted to texts": Wire.header(TYPE_ARRAY, 1) + Wire.word(TYPE_PACKED_STRING_ARRAY) + Wire.word(1)
				+ inside,
		"node as a key of another type": keys + Wire.word(TYPE_INT) + Wire.word(2) + node + inside + var_to_bytes(1) + node,
		"key of nodes converted to texts": keys + Wire.word(TYPE_PACKED_STRING_ARRAY) + Wire.word(1) + inside + node,
	}
	for case_name in packets:
		checks.subject(TYPE_OBJECT, case_name)
		var objects_before := object_count()
		var decoded: Variant = Oracle.codec_decode(packets[case_name], true)
		checks.truth("is decoded", decoded != null)
		Oracle.release(decoded)
		checks.same_int("objects left over", 0, object_count() - objects_before)
	return true


## The engine prints an error and makes the object without its script. Strict reading refuses it and prints
## nothing.
func test_scripts_for_other_classes() -> bool:
	checks.subject(TYPE_OBJECT, "script of another base")
	var limits := FastVariantLimits.for_save_files()
	limits.allow_objects = true
	var bytes := _object("RefCounted", {"script": var_to_bytes(SCRIPTED_NODE)})
	checks.same_int("try_decode", FastVariantCodec.OBJECT_REFUSED, FastVariantCodec.try_decode(bytes, limits).error)
	bytes = _object("Resource", {"script": var_to_bytes(PLAIN_DATA)})
	checks.truth("of a base of its class", FastVariantCodec.try_decode(bytes, limits).value.get_script() != null)
	return true


func test_objects_freed_by_another_thread() -> bool:
	checks.subject(TYPE_OBJECT, "freed by another thread")
	for full_objects: bool in [false, true]:
		var nodes: Array = []
		for i in FREED:
			nodes.append([i, Node.new()])
		var thread := Thread.new()
		thread.start(func() -> void:
			for index in range(0, FREED, 2):
				nodes[index][1].free())
		thread.wait_to_finish()
		var encoded := Oracle.codec_encode_batch(nodes, full_objects)
		for index in FREED:
			checks.same_bytes("item %d" % index, Oracle.engine_encode(nodes[index], full_objects), encoded[index])
		for index in range(1, FREED, 2):
			nodes[index][1].free()
	return true


func test_ids_make_nothing_but_wrappers() -> bool:
	var target := RefCounted.new()
	for id: int in [1, 5, -1, target.get_instance_id(), -9223372036854775808]:
		checks.subject(TYPE_OBJECT, "object id %d" % id)
		var bytes := Wire.header(TYPE_OBJECT, 1) + Wire.word(id) + Wire.word(id >> 32)
		for allow_objects: bool in [false, true]:
			var wrapper: Variant = FastVariantCodec.decode(bytes, allow_objects)
			checks.truth("gives an EncodedObjectAsID", wrapper is EncodedObjectAsID)
			checks.same_int("object_id", id, wrapper.object_id)
	return true


func _check_refused(what: String, bytes: PackedByteArray) -> void:
	checks.truth(what, Oracle.codec_decode(bytes, true) == null, "it was decoded")
	checks.truth(what + ", inside of an Array", Oracle.codec_decode(_wrapped(bytes), true) == null, "it was decoded")
	checks.truth(what + ", in a batch", Oracle.codec_decode_batch([bytes, bytes], true) == [null, null], "it was decoded")
	checks.truth(what + ", as a property", Oracle.codec_decode(
			_object("RefCounted", {"metadata/x": bytes}), true) == null, "it was decoded")


func _crafted_objects() -> Dictionary[String, PackedByteArray]:
	var seven := var_to_bytes(7)
	var null_object := Wire.header(TYPE_OBJECT) + Wire.text("")
	return {
		"null object": null_object, "null object and a count": null_object + Wire.word(0),
		"no properties": _object("RefCounted", {}), "unknown property": _object("RefCounted", {"nothing": seven}),
		"nameless property": _object("RefCounted", {"": seven}), "metadata": _object("RefCounted", {"metadata/foo": seven}),
		"metadata with a bad name": _object("RefCounted", {"metadata/a b": seven}),
		"negative count": Wire.header(TYPE_OBJECT) + Wire.text("RefCounted") + Wire.word(-1),
		"count without properties": Wire.header(TYPE_OBJECT) + Wire.text("RefCounted") + Wire.word(1),
		"no count": Wire.header(TYPE_OBJECT) + Wire.text("RefCounted"),
		"unknown class": _object("NoSuchClass", {}), "class without a constructor": _object("Input", {}),
		"abstract class": _object("CollisionObject2D", {}), "editor class": _object("EditorPlugin", {}),
		"class with a leading U+FEFF": _object(char(0xfeff) + "RefCounted", {}),
		"class in lower case": _object("refcounted", {}),
		"script": _object("RefCounted", {"script": var_to_bytes(PLAIN_DATA), "number": seven}),
		"script after its property": _object("RefCounted", {"number": seven, "script": var_to_bytes(PLAIN_DATA)}),
		"script, property of another type": _object("RefCounted", {
			"script": var_to_bytes(PLAIN_DATA), "number": var_to_bytes("text"), "text": seven, "numbers": var_to_bytes(["a"]),
		}),
		"script, unstored variable": _object("RefCounted", {"script": var_to_bytes(PLAIN_DATA), "unstored": seven}),
		"script, then nil": _object(
				"RefCounted", {"script": var_to_bytes(PLAIN_DATA), "number": seven}, {"script": var_to_bytes(null)}),
		"script twice": _object("RefCounted", {"script": var_to_bytes(PLAIN_DATA)}, {"script": var_to_bytes(LISTED)}),
		"property twice": _object(
				"RefCounted", {"script": var_to_bytes(PLAIN_DATA), "number": seven}, {"number": var_to_bytes(8)}),
		"script with listed properties": _object("RefCounted", {
			"script": var_to_bytes(LISTED), "listed_b": seven, "listed_a": var_to_bytes("x"), "unlisted": seven,
		}),
		"script nil": _object("RefCounted", {"script": var_to_bytes(null)}),
		"script as StringName": _object("RefCounted", {"script": var_to_bytes(StringName(PLAIN_DATA))}),
		"script as NodePath": _object("RefCounted", {"script": var_to_bytes(NodePath(PLAIN_DATA))}),
		"script as int": _object("RefCounted", {"script": seven}),
		"script as null object": _object("RefCounted", {"script": null_object}),
		"script empty": _object("RefCounted", {"script": var_to_bytes("")}),
		"script missing": _object("RefCounted", {"script": var_to_bytes("res://no_such_script.gd")}),
		"script in user://": _object("RefCounted", {"script": var_to_bytes("user://script.gd")}),
		"script by uid": _object("RefCounted", {"script": var_to_bytes("uid://abc")}),
		"script without res://": _object("RefCounted", {"script": var_to_bytes("suites/fixtures/plain_data.gd")}),
		"script that is none": _object("RefCounted", {"script": var_to_bytes("res://project.godot")}),
		"script of another base": _object("RefCounted", {"script": var_to_bytes(SCRIPTED_NODE)}),
		"script on a Resource": _object(
				"Resource", {"script": var_to_bytes(SCRIPTED_RESOURCE), "settings": var_to_bytes({"a": 1})}),
		"script on a Node": _object("Node", {"script": var_to_bytes(SCRIPTED_NODE), "speed": seven}),
		"EncodedObjectAsID in full": _object("EncodedObjectAsID", {"object_id": seven}),
		"object id": Wire.header(TYPE_OBJECT, 1) + Wire.word(5) + Wire.word(0),
		"object id and an unknown bit": Wire.header(TYPE_OBJECT, 3) + Wire.word(5) + Wire.word(0),
		"array of a class, null inside": _typed_array("Node", 2, [Wire.header(TYPE_NIL)]),
		"array of a class, reference inside": _typed_array(
				"RefCounted", 2, [_object("Resource", {}), _object("RefCounted", {})]),
		"array of a class, another inside": _typed_array(
				"Resource", 2, [_object("RefCounted", {}), _object("Resource", {})]),
		"array of a class, int inside": _typed_array("Node", 2, [seven]),
		"array of an unknown class": _typed_array("NoSuchClass", 2, [Wire.header(TYPE_NIL), _object("RefCounted", {})]),
		"array of a script": _typed_array(PLAIN_DATA, 3, [
			_object("RefCounted", {"script": var_to_bytes(PLAIN_DATA)}), _object("RefCounted", {}),
			_object("RefCounted", {"script": var_to_bytes("res://suites/fixtures/derived_data.gd")}),
		]),
		"array of a missing script": _typed_array("res://no_such_script.gd", 3, []),
		"array of a script in user://": _typed_array("user://script.gd", 3, []),
		"array of an unnamed script": _typed_array("", 3, []),
		"array of no script": _typed_array("res://project.godot", 3, []),
		"array property of another type": _object("RefCounted", {
			"script": var_to_bytes(PLAIN_DATA), "numbers": Wire.header(TYPE_ARRAY, 1) + Wire.word(TYPE_FLOAT) + Wire.word(0),
		}),
	}


## An object with its properties in order. `repeated` may contain names that are also in `properties`.
static func _object(
		object_class: String, properties: Dictionary[String, PackedByteArray],
		repeated: Dictionary[String, PackedByteArray] = {}) -> PackedByteArray:
	var bytes := Wire.header(TYPE_OBJECT) + Wire.text(object_class)
	bytes += Wire.word(properties.size() + repeated.size())
	for table: Dictionary[String, PackedByteArray] in [properties, repeated]:
		for property in table:
			bytes += Wire.text(property) + table[property]
	return bytes


static func _typed_array(declared: String, kind: int, elements: Array[PackedByteArray]) -> PackedByteArray:
	var bytes := Wire.header(TYPE_ARRAY, kind) + Wire.text(declared) + Wire.word(elements.size())
	for element in elements:
		bytes += element
	return bytes


static func _wrapped(bytes: PackedByteArray) -> PackedByteArray:
	return Wire.header(TYPE_ARRAY) + Wire.word(2) + Wire.header(TYPE_NIL) + bytes


## The argument of a call, which accessors replace while the codec works on it.
var _argument: Variant


func test_accessors_that_replace_the_argument() -> bool:
	checks.subject(TYPE_OBJECT, "accessors that replace the argument")
	var meddler := Meddler.new()
	var bytes := var_to_bytes_with_objects([meddler, "tail", 1, 2, 3])
	Meddler.on_access = func() -> void:
		if _argument is PackedByteArray:
			_argument.fill(0xff)
		_argument = "x".repeat(100)
	_argument = [meddler, "tail", 1, 2, 3]
	checks.same_bytes("encode", bytes, FastVariantCodec.encode(_argument, true))
	_argument = [meddler, "tail", 1, 2, 3]
	checks.same_int("encoded_size", bytes.size(), FastVariantCodec.encoded_size(_argument, true))
	_argument = bytes.duplicate()
	var decoded: Array = FastVariantCodec.decode(_argument, true)
	checks.same_value("decode", ["tail", 1, 2, 3], decoded.slice(1))
	decoded[0].free()
	Meddler.on_access = Callable()
	_argument = null
	meddler.free()
	return true
