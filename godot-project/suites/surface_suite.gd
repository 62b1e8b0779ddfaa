## The classes as scripts see them: names, arguments, defaults, and the handling of wrong arguments.
extends "res://suites/suite.gd"

## The methods of each class, with optional arguments in brackets, and its properties.
const SURFACE: Dictionary[StringName, Array] = {
	&"FastVariantCodec": [
		"encode(value, [full_objects]) -> PackedByteArray",
		"decode(bytes, [allow_objects]) -> Variant",
		"encoded_size(value, [full_objects]) -> int",
		"try_encode(value, [full_objects]) -> FastVariantResult",
		"try_decode(bytes, [limits, offset]) -> FastVariantResult",
		"validate(bytes, [limits]) -> FastVariantResult",
		"encode_batch(values, [full_objects]) -> Array",
		"decode_batch(buffers, [allow_objects]) -> Array",
		"pack_batch(values, [full_objects]) -> PackedByteArray",
		"unpack_batch(bytes, [limits]) -> FastVariantResult",
		"save(path, value, [summary, compress]) -> FastVariantResult",
		"load(path, [limits]) -> FastVariantResult",
		"load_summary(path, [limits]) -> FastVariantResult",
		"save_async(path, value, [summary, compress]) -> FastVariantJob",
		"load_async(path, [limits]) -> FastVariantJob",
		"save_batch(path, values, [full_objects, compress]) -> FastVariantResult",
		"append_batch(path, values, [full_objects, compress]) -> FastVariantResult",
		"load_batch(path, [limits]) -> FastVariantResult",
		"encode_batch_async(values, [full_objects, budget_ms]) -> FastVariantJob",
		"decode_batch_async(buffers, [limits]) -> FastVariantJob",
		"save_batch_async(path, values, [full_objects, compress]) -> FastVariantJob",
		"load_batch_async(path, [limits]) -> FastVariantJob",
		"append_batch_async(path, values, [full_objects, compress]) -> FastVariantJob",
		"append_encoded_async(path, buffers, [compress]) -> FastVariantJob",
	],
	&"FastVariantClasses": [
		"register(script, [name]) -> FastVariantClass",
		"allow_resources(folder, types) -> Error",
		"encode(value) -> PackedByteArray",
		"decode(bytes, [limits]) -> Variant",
		"decode_into(target, bytes, [limits]) -> bool",
		"try_encode(value) -> FastVariantResult",
		"try_decode(bytes, [limits]) -> FastVariantResult",
		"try_decode_into(target, bytes, [limits]) -> FastVariantResult",
		"save(path, value, [summary]) -> FastVariantResult",
		"load(path, [limits]) -> FastVariantResult",
		"load_summary(path, [limits]) -> FastVariantResult",
		"load_into(target, path, [limits]) -> FastVariantResult",
		"save_async(path, value, [summary]) -> FastVariantJob",
		"load_async(path, [limits]) -> FastVariantJob",
		"compress",
		"save_batch(path, values) -> FastVariantResult",
		"append_batch(path, values) -> FastVariantResult",
		"load_batch(path, [limits]) -> FastVariantResult",
		"save_batch_async(path, values) -> FastVariantJob",
		"load_batch_async(path, [limits]) -> FastVariantJob",
		"to_plain(value) -> Variant",
		"from_plain(plain, [limits]) -> Variant",
		"try_from_plain(plain, [limits]) -> FastVariantResult",
		"to_json(value) -> String",
		"from_json(text, [limits]) -> Variant",
		"try_from_json(text, [limits]) -> FastVariantResult",
	],
	&"FastVariantClass": [
		"include(names) -> void",
		"exclude(names) -> void",
		"name", "version", "properties", "renamed", "upgrade", "create", "keep_unknown", "ignore_unknown",
	],
	&"FastVariantView": [
		"open(bytes, [limits, godot3]) -> FastVariantView",
		"open_records(bytes, [limits, godot3]) -> FastVariantView",
		"open_file(path, [limits, godot3]) -> FastVariantView",
		"view(path) -> FastVariantView",
		"fetch(path, [default]) -> Variant",
		"try_fetch(path) -> FastVariantResult",
		"has(path) -> bool",
		"type_of(path) -> int",
		"size_of(path) -> int",
		"keys(path) -> Array",
		"slice(path, begin, [end]) -> Array",
		"columns(path, types, [defaults]) -> Dictionary",
		"try_columns(path, types, [defaults]) -> FastVariantResult",
		"rows(path, key, operator, value) -> PackedInt64Array",
	],
	&"FastVariantPatch": [
		"diff(old, new, [limits]) -> PackedByteArray",
		"apply(old, patch, [limits]) -> PackedByteArray",
		"try_apply(old, patch, [limits]) -> FastVariantResult",
		"differences(old, new, [max, limits]) -> Array",
		"fingerprint(bytes, [limits]) -> int",
	],
	&"FastSnapshotSchema": [
		"add_bool(name) -> void",
		"add_int(name, min, max) -> void",
		"add_float(name, min, max, step) -> void",
		"add_vector2(name, min, max, step) -> void",
		"add_vector3(name, min, max, step) -> void",
		"add_angle(name, bits) -> void",
		"add_quaternion(name, bits) -> void",
		"add_variant(name, max_bytes) -> void",
		"pack(row) -> PackedByteArray",
		"try_unpack(bytes) -> FastVariantResult",
		"pack_series(rows) -> PackedByteArray",
		"try_unpack_series(bytes) -> FastVariantResult",
		"quantized(row) -> Dictionary",
		"get_hash() -> int",
		"fields",
	],
	&"FastSnapshotWriter": [
		"write(tick, entities, [max_bytes, priorities]) -> PackedByteArray",
		"write_columns(tick, ids, columns, [max_bytes, priorities]) -> PackedByteArray",
		"acknowledge(bytes) -> FastVariantResult",
		"schema",
	],
	&"FastSnapshotReader": [
		"read(bytes) -> FastVariantResult",
		"apply(bytes, entities) -> FastVariantResult",
		"read_columns(bytes) -> FastVariantResult",
		"get_acknowledgement() -> PackedByteArray",
		"schema",
	],
	&"FastGodot3Codec": [
		"encode(value, [lossy]) -> PackedByteArray",
		"decode(bytes, [lossy]) -> Variant",
		"try_encode(value, [lossy]) -> FastVariantResult",
		"try_decode(bytes, [limits, lossy]) -> FastVariantResult",
		"encode_batch(values, [lossy]) -> Array",
		"decode_batch(buffers, [lossy]) -> Array",
		"convert_file(from, to, [limits, lossy]) -> FastVariantResult",
		"convert_file_back(from, to, [limits, lossy]) -> FastVariantResult",
	],
	&"FastProtobufSchema": [
		"load_file(path, [import_folders]) -> FastProtobufSchema",
		"try_load_file(path, [import_folders]) -> FastVariantResult",
		"from_text(text) -> FastProtobufSchema",
		"map_message(message_name, value_type) -> Error",
		"encode(message_name, message) -> PackedByteArray",
		"decode(message_name, bytes) -> Variant",
		"try_encode(message_name, message) -> FastVariantResult",
		"try_decode(message_name, bytes, [limits]) -> FastVariantResult",
		"encode_batch(message_name, messages) -> Array",
		"decode_batch(message_name, buffers) -> Array",
		"get_message_names() -> PackedStringArray",
		"get_fields(message_name) -> Array",
		"own_wire", "enum_names", "string_name_keys", "keep_unknown", "strict", "defaults",
	],
	&"FastVariantInspector": [
		"inspect(bytes, [max_nodes]) -> Dictionary",
		"describe(bytes) -> String",
		"byte_range(view, path) -> PackedInt64Array",
		"get_engine_report() -> Dictionary",
	],
	&"FastVariantJob": [
		"cancel() -> void",
		"get_progress() -> float",
		"is_completed() -> bool",
		"wait_to_finish() -> FastVariantResult",
	],
	&"FastVariantResult": [
		"is_ok() -> bool",
		"get_item_error(index) -> String",
		"value", "error", "message", "offset", "path", "bytes_read", "failed", "incomplete_rows",
	],
	&"FastVariantLimits": [
		"for_network() -> FastVariantLimits",
		"for_save_files() -> FastVariantLimits",
		"allow_only(types) -> void",
		"max_bytes", "max_depth", "max_elements", "max_memory", "max_key_comparisons", "allow_trailing_bytes", "allow_non_canonical", "lost_objects_as_null", "allow_objects", "allowed_classes", "allowed_scripts", "allowed_types",
	],
}


func test_classes_are_as_they_are_documented() -> bool:
	var classes := Array(ClassDB.get_class_list()).filter(func(found: String) -> bool:
		return found.begins_with("FastVariant") or found.begins_with("FastSnapshot") or found.begins_with("FastProtobuf") or found.begins_with("FastGodot3"))
	checks.subject(checks.MIXED, "classes")
	checks.same_value("all", _sorted(SURFACE.keys()), _sorted(classes))
	for owner in SURFACE:
		checks.subject(checks.MIXED, owner)
		var accessors := {}
		var found: Array = []
		for property in ClassDB.class_get_property_list(owner, true):
			if property["usage"] & (PROPERTY_USAGE_CATEGORY | PROPERTY_USAGE_GROUP) == 0:
				found.append(property["name"])
				accessors[ClassDB.class_get_property_getter(owner, property["name"])] = true
				accessors[ClassDB.class_get_property_setter(owner, property["name"])] = true
		for method in ClassDB.class_get_method_list(owner, true):
			if not accessors.has(StringName(method["name"])) and not method["name"].begins_with("_"):
				found.append(_signature(method))
		checks.same_value("methods and properties", _sorted(SURFACE[owner]), _sorted(found))
	return true


func _sorted(list: Array) -> Array:
	var sorted := list.map(func(item: Variant) -> String: return item)
	sorted.sort()
	return sorted


func _signature(method: Dictionary) -> String:
	var arguments: Array = method["args"].map(func(argument: Dictionary) -> String: return argument["name"])
	var needed: int = arguments.size() - method["default_args"].size()
	var shown := ", ".join(arguments.slice(0, needed))
	if needed < arguments.size():
		shown += ("%s[%s]" % [", " if needed else "", ", ".join(arguments.slice(needed))])
	var type: String = method["return"]["class_name"]
	if type.is_empty():
		type = type_string(method["return"]["type"])
		if method["return"]["type"] == TYPE_NIL:
			type = "Variant" if method["return"]["usage"] & PROPERTY_USAGE_NIL_IS_VARIANT else "void"
	return "%s(%s) -> %s" % [method["name"], shown, type]


## A method that changes something is not const: an Expression that may call only const methods must refuse
## it.
func test_methods_that_change_something_are_not_const() -> bool:
	for method: Array in [[&"FastVariantLimits", &"allow_only"], [&"FastVariantJob", &"cancel"], [&"FastVariantJob", &"wait_to_finish"]]:
		checks.subject(checks.MIXED, "%s.%s" % method)
		for found in ClassDB.class_get_method_list(method[0], true):
			if found["name"] == method[1]:
				checks.truth("is not const", found["flags"] & METHOD_FLAG_CONST == 0)
	return true


## Each method that FastVariant.cs calls by name exists. Exported games do not contain that file.
func test_the_calls_from_csharp() -> bool:
	checks.subject(checks.MIXED, "FastVariant.cs")
	var source := FileAccess.get_file_as_string("res://addons/fast_variant_codec/csharp/FastVariant.cs")
	for call: Array in [
		["[^.]Call\\(\"(\\w+)\"(.*?)\\)\\)?\\.?", &"FastVariantCodec"], ["_view\\.Call\\(\"(\\w+)\"(.*?)\\)[;.)]", &"FastVariantView"],
		["Static\\(ViewClass, \"(\\w+)\"(.*?)\\)\\.", &"FastVariantView"],
		["Static\\(LimitsClass, \"(\\w+)\"(.*?)\\)\\.", &"FastVariantLimits"],
		["Static\\(PatchClass, \"(\\w+)\"(.*?)\\)\\)?\\.?", &"FastVariantPatch"],
	]:
		var found := RegEx.create_from_string(call[0]).search_all(source)
		checks.truth("calls of %s" % call[1], found.size() > 0 or source.is_empty())
		for match in found:
			var method := StringName(match.get_string(1))
			var arguments := match.get_string(2).count(", ")
			checks.truth("%s.%s" % [call[1], method], ClassDB.class_has_method(call[1], method, true))
			checks.truth("arguments of %s" % method, ClassDB.class_get_method_argument_count(call[1], method) >= arguments)
	return true


func test_the_self_check_of_the_addon() -> bool:
	var check: RefCounted = preload("res://addons/fast_variant_codec/self_check.gd").new()
	check.run()
	checks.subject(checks.MIXED, "self-check")
	checks.same_int("types", TYPE_MAX, check.rows.size())
	for row: RefCounted in check.rows:
		checks.subject(row.type, "self-check")
		checks.truth("is checked", row.passed >= 10)
		checks.truth("nothing differs", row.failures.is_empty(), "\n".join(row.failures))
	checks.subject(checks.MIXED, "self-check of a wrong value")
	check.rows.clear()
	check.rows.append(check.Row.new(TYPE_INT))
	check._check_values(check.rows[0], [7, "not an int"])
	checks.same_value("what differs", PackedStringArray(["type: not an int"]), check.rows[0].failures)
	return true


func test_results_name_the_place() -> bool:
	checks.subject(checks.MIXED, "places in results")
	var broken := Wire.header(TYPE_ARRAY) + Wire.word(2) + Wire.header(TYPE_NIL) + Wire.header(39)
	var outcome := FastVariantCodec.try_decode(broken)
	checks.same_int("offset", 12, outcome.offset)
	checks.same_value("path", "[1]", outcome.path)
	outcome = FastVariantCodec.try_decode(PackedByteArray([9, 9, 9, 9]) + broken, null, 4)
	checks.same_int("offset behind an offset", 16, outcome.offset)
	checks.truth("the message names the same byte", outcome.message.contains("byte 16"), outcome.message)
	for offset: int in [5, 4 + (1 << 32) - 64, -1, 1 << 62]:
		outcome = FastVariantCodec.try_decode(PackedByteArray([0, 0, 0, 0]), null, offset)
		checks.same_int("offset %d" % offset, FastVariantCodec.BAD_ARGUMENT, outcome.error)
	outcome = FastVariantCodec.try_decode(var_to_bytes({1 << 40: 1}).slice(0, -4))
	checks.same_value("path at a large int key", "." + str(1 << 40), outcome.path)
	checks.truth("keys that come back as one", not FastVariantCodec.try_encode({Callable(): 1, Callable(self, &"free"): 2}).is_ok())
	outcome = FastVariantCodec.try_decode(var_to_bytes({"x".repeat(500000): 1}).slice(0, -4))
	checks.truth("messages are short", outcome.message.length() < 300)
	checks.truth("a decoded null is no failure", FastVariantCodec.try_decode(var_to_bytes(null)).is_ok())
	for without: FastVariantResult in [FastVariantCodec.try_encode(values.lone_surrogates()), FastVariantCodec.load_batch("user://none")]:
		checks.same_int("no offset", -1, without.offset)
	return true


func test_defaults_are_without_objects() -> bool:
	var object := RefCounted.new()
	checks.subject(TYPE_OBJECT, "default arguments")
	checks.same_bytes("encode", var_to_bytes(object), FastVariantCodec.encode(object))
	checks.same_int("encoded_size", var_to_bytes(object).size(), FastVariantCodec.encoded_size(object))
	checks.same_value("encode_batch", var_to_bytes(object), FastVariantCodec.encode_batch([object])[0])
	checks.truth("decode refuses full objects", Oracle.codec_decode(var_to_bytes_with_objects(object)) == null)
	return true


## Each way in which scripts call a method: typed or untyped, without flags, by name, and through a Callable.
func test_ways_to_call() -> bool:
	for case in values.cases:
		var value: Variant = case.value
		var bytes := Oracle.engine_encode(value)
		if bytes.is_empty():
			continue
		checks.subject(case.type, case.name)
		checks.same_bytes("encode, untyped", bytes, FastVariantCodec.encode(value, false))
		checks.same_bytes("encode through a Callable", bytes, _called(&"encode", [value]))
		checks.same_bytes("encode by name", bytes, _called(&"encode", [value, false]))
		checks.same_int("encoded_size, with types", bytes.size(), FastVariantCodec.encoded_size(value, false))
		checks.same_value("encoded_size through a Callable", bytes.size(), _called(&"encoded_size", [value]))
		var untyped: Variant = bytes
		var expected: Variant = Oracle.engine_decode(bytes)
		Engine.print_error_messages = false
		var decoded: Array = [
			FastVariantCodec.decode(bytes, false), FastVariantCodec.decode(untyped), FastVariantCodec.decode(untyped, false),
			_called(&"decode", [bytes]), _called(&"decode", [bytes, false]),
		]
		Engine.print_error_messages = true
		if not FastVariantCodec.try_decode(bytes).is_ok():
			continue
		for index in decoded.size():
			checks.same_value("decode, way %d" % index, expected, decoded[index])
	return true


func test_results_replace_what_was_there() -> bool:
	checks.subject(checks.MIXED, "one variable for many results")
	var bytes := PackedByteArray([1, 2, 3])
	var shared := bytes
	var value: Variant = "text"
	for index in 20:
		bytes = FastVariantCodec.encode("x".repeat(index * 7), false)
		checks.same_bytes("bytes %d" % index, var_to_bytes("x".repeat(index * 7)), bytes)
		value = FastVariantCodec.decode(bytes, false)
		checks.same_value("value %d" % index, "x".repeat(index * 7), value)
	value = [1, 2]
	value = FastVariantCodec.encode(value, false)
	value = FastVariantCodec.decode(value, false)
	checks.same_value("the argument's own variable", [1, 2], value)
	checks.same_bytes("another handle", PackedByteArray([1, 2, 3]), shared)
	Engine.print_error_messages = false
	bytes = FastVariantCodec.encode(Values.nested_arrays(2000), false)
	value = FastVariantCodec.decode(PackedByteArray([1]), false)
	Engine.print_error_messages = true
	checks.truth("nothing where it fails", bytes.is_empty() and value == null)
	return true


func test_wrong_arguments() -> bool:
	for method_name: StringName in [&"encode", &"decode", &"encoded_size"]:
		checks.subject(checks.MIXED, "arguments of %s" % method_name)
		var good: Variant = var_to_bytes(5)
		checks.truth("none", _called(method_name, []) == null)
		checks.truth("three", _called(method_name, [good, false, false]) == null)
		for wrong: Variant in ["", &"false", null, [], {}, Vector2.ZERO, RefCounted.new()]:
			checks.truth("%s as the flag" % type_string(typeof(wrong)), _called(method_name, [good, wrong]) == null)
		for converted: Variant in [0, 1, 0.0, 2.5]:
			checks.same_value("%s as the flag" % converted,
					_called(method_name, [good, bool(converted)]), _called(method_name, [good, converted]))
	checks.subject(TYPE_PACKED_BYTE_ARRAY, "arguments of decode")
	for wrong: Variant in [5, "text", null, {}, Vector2.ZERO, PackedInt32Array([0]), RefCounted.new()]:
		checks.truth("%s as bytes" % type_string(typeof(wrong)), _called(&"decode", [wrong]) == null)
	checks.same_value("an Array as bytes", 5, _called(&"decode", [Array(var_to_bytes(5))]))
	var typed: Array[int] = []
	typed.assign(Array(var_to_bytes("typed")))
	checks.same_value("an Array[int] as bytes", "typed", _called(&"decode", [typed, 0]))
	return true


## An object that counts the calls of its _to_string.
class Curious:
	extends RefCounted
	var asked := 0

	func _to_string() -> String:
		asked += 1
		return "curious"


func _shown(object: Object, holds: String) -> String:
	return "<%s#%d %s>" % [object.get_class(), object.get_instance_id(), holds]


func test_results_show_what_they_hold() -> bool:
	var size := var_to_bytes({1: 2, 3: 4}).size()
	var curious := Curious.new()
	for case: Array in [
		[null, "null"], [true, "bool true"], [-7, "int -7"], [0.5, "float 0.5"], ["äöü", "String, 3 characters"],
		[&"x", "StringName, 1 character"], [^"a:b", "NodePath"], [Vector2.ONE, "Vector2"], [{1: 2, 3: 4}, "Dictionary, 2 entries"],
		[[1], "Array, 1 element"], [Array([], TYPE_INT, &"", null), "Array, 0 elements"],
		[PackedByteArray([1, 2]), "PackedByteArray, 2 bytes"], [PackedVector3Array([Vector3.ONE]), "PackedVector3Array, 1 element"],
	]:
		checks.subject(typeof(case[0]), "what a result shows")
		var bytes := var_to_bytes(case[0])
		var result := FastVariantCodec.try_decode(bytes)
		checks.same_value("decoded", _shown(result, "ok: %s, %d bytes read" % [case[1], bytes.size()]), str(result))
		result = FastVariantCodec.try_encode(case[0])
		checks.same_value("encoded", _shown(result, "ok: PackedByteArray, %d bytes" % bytes.size()), str(result))
	checks.subject(TYPE_OBJECT, "what a result shows")
	var limits := FastVariantLimits.new()
	limits.allow_objects = true
	var held := FastVariantCodec.try_decode(var_to_bytes_with_objects(Resource.new()), limits)
	checks.truth("an object", str(held).begins_with("<FastVariantResult#%d ok: Object, " % held.get_instance_id()), str(held))
	var failed := FastVariantCodec.try_decode(var_to_bytes({1: 2, 3: 4}).slice(0, size - 4))
	checks.subject(TYPE_DICTIONARY, "what a failed result shows")
	checks.same_value("code and message", _shown(failed, "error UNEXPECTED_END: %s" % failed.message), str(failed))
	checks.truth("the message names the byte", str(failed).contains("(at byte "), str(failed))
	var packed := FastVariantCodec.pack_batch([1, 2, [3]])
	failed = FastVariantCodec.unpack_batch(packed.slice(0, -1))
	checks.truth("the values that are good", str(failed).ends_with("; Array, 2 elements, %d bytes read>" % failed.bytes_read), str(failed))
	checks.subject(checks.MIXED, "what is shown of much")
	var text := "x\ny".repeat(5_000_000)
	for much: RefCounted in [
		FastVariantCodec.try_decode(var_to_bytes(text)), FastVariantCodec.load_batch("user://" + text.left(3000)),
		FastVariantCodec.try_encode({text: {text: Callable()}}), FastVariantCodec.try_encode({text: values.lone_surrogates()}),
		FastVariantCodec.try_decode(var_to_bytes({curious: [curious]})), FastVariantCodec.encode_batch_async([curious]),
		FastVariantLimits.for_network(), FastProtobufSchema.load_file("res://suites/fixtures/messages/everything.proto"),
		FastProtobufSchema.new(), FastVariantView.open(var_to_bytes(text)), FastVariantClasses.new(),
	]:
		checks.truth("one short line", str(much).length() < 300 and not str(much).contains("\n"), str(much).left(500))
	checks.same_int("no script runs", 0, curious.asked)
	return true


## Setting → type, hint, hint string.
const SETTINGS: Dictionary[String, Array] = {
	"fast_variant_codec/threads": [TYPE_INT, PROPERTY_HINT_RANGE, "0,256"],
	"fast_variant_codec/parallel_threshold_bytes": [TYPE_INT, PROPERTY_HINT_RANGE, "0,16777216,1,or_greater,suffix:B"],
	"fast_variant_codec/access_path": [TYPE_STRING, PROPERTY_HINT_ENUM, "automatic,portable"],
}


func test_settings_are_declared() -> bool:
	var declared: Dictionary[String, Dictionary] = {}
	for property in ProjectSettings.get_property_list():
		declared[property["name"]] = property
	for setting in SETTINGS:
		checks.subject(checks.MIXED, setting)
		var property: Dictionary = declared.get(setting, {})
		checks.same_value("type, hint and choices",
				SETTINGS[setting].duplicate(), [property.get("type"), property.get("hint"), property.get("hint_string")])
		var usage: int = property.get("usage", 0)
		checks.truth("the editor shows it", usage & PROPERTY_USAGE_EDITOR != 0)
		checks.truth("the editor says that it must be restarted", usage & PROPERTY_USAGE_RESTART_IF_CHANGED != 0)
		checks.same_value("its value is its default",
				ProjectSettings.property_get_revert(setting), ProjectSettings.get_setting(setting))
	var saved := "user://saved_settings.godot"
	checks.same_int("project settings are saved", OK, ProjectSettings.save_custom(saved))
	checks.truth("default values are not", not FileAccess.get_file_as_string(saved).contains("fast_variant_codec]"))
	DirAccess.remove_absolute(saved)
	return true


func _called(method_name: StringName, arguments: Array) -> Variant:
	var codec: Variant = FastVariantCodec
	Engine.print_error_messages = false
	var result: Variant = Callable(codec, method_name).callv(arguments)
	Engine.print_error_messages = true
	return result
