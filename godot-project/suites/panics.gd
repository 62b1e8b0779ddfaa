## Injects a panic into each method of each class in CLASSES, and at each inner point that catches panics.
## `cargo xtask test` runs this script and sets FAST_VARIANT_CODEC_PANIC.
##
## A panic is an error like others: results and jobs contain it. A method that returns neither a result nor a
## job prints one line, which is announced as in `messages.gd`. The same call works immediately afterwards.
## Each method also gets bad arguments.
extends SceneTree

const Extension := preload("res://suites/extension.gd")
const VARIABLE := "FAST_VARIANT_CODEC_PANIC"
const STATIC_CLASSES: Array[StringName] = [&"FastVariantCodec", &"FastVariantInspector", &"FastVariantPatch", &"FastGodot3Codec"]
const CLASSES: Array[StringName] = [
	&"FastProtobufSchema", &"FastVariantLimits", &"FastVariantResult", &"FastVariantJob", &"FastVariantView",
	&"FastVariantClasses", &"FastVariantClass",
]
const Hero := preload("res://suites/fixtures/classes/hero.gd")
const Mage := preload("res://suites/fixtures/classes/mage.gd")
const Watched := preload("res://suites/fixtures/classes/watched.gd")
const SCHEMA := "res://suites/fixtures/messages/everything.proto"
const FILE := "user://panics"
const OTHER_FILE := "user://panics_too"
const GODOT_3_FILE := "user://panics_3"
const LARGE := 3000
const TIMES := 100
## Methods that print nothing for bad arguments, besides those that return their error.
const NEVER_FAIL: Array[String] = [
	"encoded_size", "inspect", "describe", "get_engine_report", "open", "open_file", "open_records", "cancel", "is_completed", "get_progress",
	"is_ok", "get_item_error", "get_message_names", "for_network", "for_save_files", "allow_only", "rows",
]

var _methods := 0
## A path and a name that do not exist, with a lone surrogate.
var _missing := "user://no such folder/"


func _initialize() -> void:
	_run()


func _run() -> void:
	if not Extension.is_loaded():
		return quit(1)
	OS.set_environment(VARIABLE, "nowhere")
	printerr("@@ expect 0 preparing")
	Engine.print_error_messages = false
	_missing += PackedByteArray([0x61, 0x00, 0x00, 0xdc, 0x00, 0xd8]).get_string_from_utf16()
	Engine.print_error_messages = true
	FastVariantCodec.save_batch(FILE, [1, 2, 3])
	FastGodot3Codec.convert_file_back(FILE, GODOT_3_FILE)
	for owner in STATIC_CLASSES + CLASSES:
		var accessors := {}
		for property in ClassDB.class_get_property_list(owner, true):
			accessors[ClassDB.class_get_property_getter(owner, property["name"])] = true
			accessors[ClassDB.class_get_property_setter(owner, property["name"])] = true
		for method in ClassDB.class_get_method_list(owner, true):
			# godot-rust implements the accessors of properties.
			if not accessors.has(StringName(method["name"])):
				_methods += 1
				_check_method(owner, method)
				_check_bad_arguments(owner, method)
	printerr("@@ expect 0 methods are found")
	_truth("there are %d methods" % _methods, _methods >= 70)
	_check_places()
	for owner in CLASSES:
		var instance := _instance(owner)
		_place(1, "%s.to_string" % owner, "str", func() -> Variant: return str(instance), "")
	await _check_leaks()
	for file: String in [FILE, OTHER_FILE, GODOT_3_FILE]:
		DirAccess.remove_absolute(file)
	# Waits for the last output of jobs.
	for frame in 5:
		await process_frame
	printerr("@@ end")
	quit(0)


## Returns whether the method returns its error in a result or a job.
func _holds_error(method: Dictionary) -> bool:
	return method["return"]["class_name"] in [&"FastVariantResult", &"FastVariantJob"]


## Returns whether the method prints its error: a failed write does, too.
func _prints(method: Dictionary) -> bool:
	return not _holds_error(method) or method["name"].begins_with("save") or method["name"].begins_with("append")


func _check_bad_arguments(owner: StringName, method: Dictionary) -> void:
	if method["name"].begins_with("_"):
		return
	var prints: bool = _prints(method) and method["name"] not in NEVER_FAIL
	printerr("@@ expect %d %s.%s with bad arguments" % [int(prints), owner, method["name"]])
	var loop: Array = []
	loop.append(loop)
	_call(owner, method, method["args"].map(_bad_argument.bind(owner, method["name"], loop)))
	loop.clear()


## Returns a bad argument. For the arguments in `by_name`, other bad values would make the engine itself print
## errors.
func _bad_argument(argument: Dictionary, owner: StringName, method: String, loop: Array) -> Variant:
	var by_name := {
		"limits": null, "default": null, "key": "id", "operator": "in",
		"defaults": Dictionary({7: "none"}, TYPE_INT, &"", null, TYPE_NIL, &"", null), "message": {"f_int32": "text"}, "names": PackedStringArray(["no such property"]),
	}
	if owner == &"FastVariantView" and method != "open_file":
		by_name["path"] = [] if method in ["columns", "try_columns", "rows"] else {}
		by_name["types"] = {"id": TYPE_INT, 7: TYPE_COLOR}
		by_name["value"] = Array(["text"], TYPE_STRING, &"", null)
	var by_type := {TYPE_NIL: loop, TYPE_ARRAY: loop, TYPE_STRING: _missing, TYPE_PACKED_BYTE_ARRAY: PackedByteArray([39, 0, 0, 0])}
	var type: int = argument["type"]
	return by_name.get(argument["name"], by_type.get(type, type_convert(null, type)))


func _check_method(owner: StringName, method: Dictionary) -> void:
	var place := "%s.%s" % [owner, method["name"]]
	var type: int = method["return"]["type"]
	var kind: StringName = method["return"]["class_name"]
	var is_held := _holds_error(method)
	printerr("@@ expect %d %s" % [0 if is_held else 1, place])
	OS.set_environment(VARIABLE, place)
	var failed: Variant = _call(owner, method, _good_arguments(owner, method))
	OS.set_environment(VARIABLE, "nowhere")
	if is_held:
		_truth("%s has the error" % place, _is_fault(failed))
	elif kind == &"FastVariantLimits":
		_truth("%s refuses everything" % place, failed.max_bytes == 0)
	elif method["name"] == "encoded_size":
		_truth("%s is -1" % place, failed == -1)
	elif kind == &"Error":
		_truth("%s is ERR_BUG" % place, failed == ERR_BUG)
	else:
		_truth("%s gives nothing: %s" % [place, failed], not failed and (type == TYPE_NIL or failed == null or typeof(failed) == type))
	if method["name"].begins_with("_"):
		return
	printerr("@@ expect 0 %s afterwards" % place)
	var result: Variant = _call(owner, method, _good_arguments(owner, method))
	if is_held:
		_truth("%s works again" % place, not _is_fault(result))
	elif type == TYPE_NIL or kind == &"Error" or method["name"] in ["is_ok", "is_completed", "get_item_error"]:
		_truth("%s works again" % place, kind != &"Error" or result == OK)
	else:
		_truth("%s gives something: %s" % [place, result], result or method["name"] == "get_progress")


func _good_arguments(owner: StringName, method: Dictionary) -> Array:
	var needed: int = method["args"].size() - method["default_args"].size()
	return method["args"].slice(0, needed).map(_argument.bind(owner, method["name"]))


func _call(owner: StringName, method: Dictionary, arguments: Array) -> Variant:
	if method["flags"] & METHOD_FLAG_STATIC:
		return ClassDB.callv(&"class_call_static", [owner, method["name"]] + arguments)
	var place := OS.get_environment(VARIABLE)
	OS.set_environment(VARIABLE, "nowhere")
	var instance := _instance(owner)
	if method["name"] == "map_message":
		instance = FastProtobufSchema.from_text("message V { optional int32 x = 1; optional int32 y = 2; }")
	OS.set_environment(VARIABLE, place)
	return instance.callv(method["name"], arguments)


func _argument(argument: Dictionary, owner: StringName, method: String) -> Variant:
	match argument["name"]:
		"buffers" when owner == &"FastProtobufSchema":
			return [PackedByteArray()]
		"bytes" when owner == &"FastProtobufSchema":
			return PackedByteArray()
		"message_name" when method == "map_message":
			return "V"
		"value_type":
			return TYPE_VECTOR2I
		"message_name":
			return "Everything"
		"names":
			return PackedStringArray(["process_priority"] if method == "include" else ["title"])
		"text" when owner == &"FastVariantClasses":
			return "{\"@class\":\"Mage\"}"
		"text" when owner == &"FastProtobufSchema":
			return "message Everything {}"
		"path" when owner == &"FastVariantView" and not method.begins_with("open"):
			return [0] if method == "keys" else []
		"key":
			return "id"
		"operator":
			return "=="
		"value" when owner == &"FastVariantView":
			return 1
		"new":
			return var_to_bytes(8)
		"patch":
			return FastVariantPatch.diff(var_to_bytes(7), var_to_bytes(8))
		"view":
			return FastVariantView.open(var_to_bytes(7))
		"path" when method == "byte_range":
			return []
		"path" when owner == &"FastProtobufSchema":
			return SCHEMA
		"path":
			return OTHER_FILE if method.contains("save") or method.contains("append") else FILE
		"from":
			return GODOT_3_FILE if method == "convert_file" else FILE
		"to":
			return OTHER_FILE
		"buffers":
			return [var_to_bytes(null)]
		"messages":
			return [{}]
		"script":
			return Hero
		"folder":
			return "res://suites"
		"types" when method == "allow_resources":
			return PackedStringArray(["Texture2D"])
		"types" when owner == &"FastVariantView":
			return {"id": TYPE_INT}
		"target":
			return Mage.new()
		"bytes" when method.ends_with("decode_into"):
			return var_to_bytes({&"@class": "Mage"})
		"bytes" when method == "unpack_batch":
			return FastVariantCodec.pack_batch([1, 2, 3])
	match argument["type"]:
		TYPE_NIL:
			return 7
		TYPE_ARRAY:
			return [7]
		TYPE_DICTIONARY:
			return {"f_int32": 7}
		TYPE_PACKED_BYTE_ARRAY:
			return var_to_bytes(7)
	return type_convert(null, argument["type"])


func _instance(owner: StringName) -> Object:
	match owner:
		&"FastProtobufSchema":
			return FastProtobufSchema.load_file(SCHEMA)
		&"FastVariantResult":
			return FastVariantCodec.try_encode(7)
		&"FastVariantJob":
			return FastVariantCodec.encode_batch_async([7])
		&"FastVariantView":
			return FastVariantView.open(var_to_bytes([{"id": 1}]))
		&"FastVariantClasses":
			var classes := FastVariantClasses.new()
			classes.register(Mage, "Mage")
			return classes
		&"FastVariantClass":
			return FastVariantClasses.new().register(Watched, "Watched")
	return ClassDB.instantiate(owner)


## Returns whether a result or a job contains the panic.
func _is_fault(outcome: RefCounted) -> bool:
	var result: FastVariantResult = outcome.wait_to_finish() if outcome is FastVariantJob else outcome
	if result.error != FastVariantCodec.INTERNAL_ERROR:
		return false
	return result.message.contains("please report it") and result.message.contains("injected by a test")


## Checks the inner points: items, threads of the pool, jobs, slices.
func _check_places() -> void:
	var values := range(LARGE)
	var buffers := FastVariantCodec.encode_batch(values)
	var packed := FastVariantCodec.pack_batch(values)
	var large: Array = []
	for index in LARGE:
		large.append({"name": "entity %d" % index, "at": [index, index + 1, "text"]})
	var bytes := var_to_bytes(large)
	var empty: Array[PackedByteArray] = []
	empty.resize(LARGE)
	var nothing: Array = []
	nothing.resize(LARGE)

	_place(1, "an item to encode", "encode_batch", func() -> Variant: return FastVariantCodec.encode_batch(values), empty)
	_place(1, "an item to decode", "decode_batch", func() -> Variant: return FastVariantCodec.decode_batch(buffers), nothing)
	_place(1, "an item to pack", "pack_batch", func() -> Variant: return FastVariantCodec.pack_batch(values), PackedByteArray())
	_held("an item to pack", "save_batch", func() -> RefCounted: return FastVariantCodec.save_batch(FILE, values), 1)
	_held("an item to unpack", "unpack_batch", func() -> RefCounted: return FastVariantCodec.unpack_batch(packed))
	_held("an item to unpack", "load_batch", func() -> RefCounted: return FastVariantCodec.load_batch(FILE))
	_held("an item to encode", "encode_batch_async", func() -> RefCounted: return FastVariantCodec.encode_batch_async(values))
	_held("an item to decode", "decode_batch_async", func() -> RefCounted: return FastVariantCodec.decode_batch_async(buffers))

	if FastVariantInspector.get_engine_report()["threads"] > 1:
		const POOL := "a thread of the pool"
		_place(1, POOL, "encode_batch", func() -> Variant: return FastVariantCodec.encode_batch(values), [])
		_place(1, POOL, "decode_batch", func() -> Variant: return FastVariantCodec.decode_batch(buffers), [])
		_place(1, POOL, "encode", func() -> Variant: return FastVariantCodec.encode(large), PackedByteArray())
		_place(1, POOL, "decode", func() -> Variant: return FastVariantCodec.decode(bytes), null)
		_held(POOL, "try_decode", func() -> RefCounted: return FastVariantCodec.try_decode(bytes))
		_held(POOL, "unpack_batch", func() -> RefCounted: return FastVariantCodec.unpack_batch(packed))
		const JOB := "a job on a thread of the pool"
		_held(JOB, "decode_batch_async", func() -> RefCounted: return FastVariantCodec.decode_batch_async(buffers))
		_held(JOB, "load_batch_async", func() -> RefCounted: return FastVariantCodec.load_batch_async(FILE))

	_held("a job that reads", "decode_batch_async", func() -> RefCounted: return FastVariantCodec.decode_batch_async(buffers))
	_held("a job that reads", "load_batch_async", func() -> RefCounted: return FastVariantCodec.load_batch_async(FILE))
	_held("a job that saves", "save_batch_async", func() -> RefCounted: return FastVariantCodec.save_batch_async(OTHER_FILE, values))
	_held("a slice of a job", "encode_batch_async", func() -> RefCounted: return FastVariantCodec.encode_batch_async(values))


## Checks that a call with a panic prints `count` lines and returns `expected`, and that the next call works.
func _place(count: int, place: String, method: String, codec_call: Callable, expected: Variant) -> void:
	printerr("@@ expect %d %s: %s" % [count, place, method])
	OS.set_environment(VARIABLE, place)
	var failed: Variant = codec_call.call()
	OS.set_environment(VARIABLE, "nowhere")
	_truth("%s: %s" % [place, failed], typeof(failed) == typeof(expected) and failed == expected)
	printerr("@@ expect 0 %s: %s afterwards" % [place, method])
	var result: Variant = codec_call.call()
	_truth("works again", typeof(result) != TYPE_NIL and result != expected)


func _held(place: String, method: String, codec_call: Callable, printed := 0) -> void:
	printerr("@@ expect %d %s: %s" % [printed, place, method])
	OS.set_environment(VARIABLE, place)
	# Waits for a job while the panic is enabled.
	var is_fault := _is_fault(codec_call.call())
	OS.set_environment(VARIABLE, "nowhere")
	_truth("%s: the result has the error" % place, is_fault)
	printerr("@@ expect 0 %s: %s afterwards" % [place, method])
	_truth("works again", not _is_fault(codec_call.call()))


## Checks that values under construction are freed after a panic.
func _check_leaks() -> void:
	var bytes := var_to_bytes(range(LARGE).map(func(index: int) -> Dictionary: return {index: [index, "text"]}))
	var buffers: Array = []
	buffers.resize(LARGE)
	buffers.fill(bytes.slice(0, 4))
	for place: String in ["an item to decode", "a thread of the pool", "FastVariantCodec.try_decode"]:
		printerr("@@ expect 0 leaks after %s" % place)
		var before := 0
		OS.set_environment(VARIABLE, place)
		for index in TIMES:
			if index == 10:
				before = OS.get_static_memory_usage()
			FastVariantCodec.try_decode(bytes)
			FastVariantCodec.decode_batch_async(buffers).wait_to_finish()
			# Jobs stay alive until a later frame.
			await process_frame
			await process_frame
		OS.set_environment(VARIABLE, "nowhere")
		var grown := OS.get_static_memory_usage() - before
		_truth("%d bytes more after %s" % [grown, place], grown < TIMES * LARGE * 8)


func _truth(what: String, holds: bool) -> void:
	if not holds:
		# A separate announcement, so that this line does not count for the previous call.
		printerr("@@ expect 0 %s" % what)
		printerr("ERROR: not so: %s" % what)
