## Protobuf messages on live values: bytes of the official implementation, batches, errors, limits, its own wire.
extends "res://suites/suite.gd"

const FOLDER := "res://suites/fixtures/messages/"
const SCHEMA := FOLDER + "everything.proto"
const OLD := FOLDER + "old.proto"
const FIXTURES := "res://suites/fixtures/messages.json"
const WRITTEN := "user://message_suite.proto"

var _schema: FastProtobufSchema
var _old: FastProtobufSchema
var _rows: Array


func test_begin() -> bool:
	checks.subject(checks.MIXED, "schemas")
	_schema = FastProtobufSchema.load_file(SCHEMA)
	_old = FastProtobufSchema.load_file(OLD)
	checks.truth("the schemas are loaded", _schema != null and _old != null)
	var fixtures: Dictionary = JSON.parse_string(FileAccess.get_file_as_string(FIXTURES))
	for row: Dictionary in fixtures.rows:
		_rows.append({
			"name": row.message, "value": str_to_var(row.value), "bytes": (row.bytes as String).hex_decode(), "text": row.value,
			"schema": _old if row.message == "Old" else _schema,
		})
	checks.truth("there are many", _rows.size() > 150, str(_rows.size()))
	return true


func test_bytes_are_those_of_the_official_implementation() -> bool:
	for row: Dictionary in _rows:
		checks.subject(TYPE_DICTIONARY, row.text.left(60))
		checks.same_bytes("encode", row.bytes, row.schema.encode(row.name, row.value))
		for value: Dictionary in [_turned_round(row.value), _with_string_names(row.value), _with_packed_arrays(row.value)]:
			checks.same_bytes("the same in another form", row.bytes, row.schema.encode(row.name, value))
		_check_holds("", row.value, row.schema.decode(row.name, row.bytes))
		var tried: FastVariantResult = row.schema.try_decode(row.name, row.bytes, FastVariantLimits.for_network())
		checks.truth("try_decode is ok", tried.is_ok(), tried.message)
		checks.same_bytes("encoded again", row.bytes, row.schema.encode(row.name, tried.value))
	return true


func test_options() -> bool:
	for row: Dictionary in _rows:
		checks.subject(TYPE_DICTIONARY, row.text.left(60))
		var file := SCHEMA if row.schema == _schema else OLD
		for option: String in ["enum_names", "string_name_keys", "keep_unknown", "strict", "own_wire"]:
			var schema := FastProtobufSchema.load_file(file)
			schema.set(option, true)
			checks.truth(option + " is set", schema.get(option))
			var encoded := schema.encode(row.name, row.value)
			var decoded: Dictionary = schema.decode(row.name, encoded)
			checks.same_bytes(option, encoded, schema.encode(row.name, decoded))
			if option == "own_wire":
				checks.same_value(option, row.schema.decode(row.name, row.bytes), decoded)
			else:
				checks.same_bytes(option, row.bytes, encoded)
		var bare := FastProtobufSchema.load_file(file)
		bare.defaults = false
		var decoded: Dictionary = bare.decode(row.name, row.bytes)
		checks.truth("without defaults there is nothing more", decoded.size() <= row.value.size(), str(decoded))
		checks.same_bytes("without defaults", row.bytes, bare.encode(row.name, decoded))
	return true


func test_forms_of_values() -> bool:
	checks.subject(checks.MIXED, "forms")
	var names: FastProtobufSchema = FastProtobufSchema.load_file(SCHEMA)
	names.enum_names = true
	names.string_name_keys = true
	var bytes := names.encode("suite.Everything", {f_kind = "ELF", r_kind = [&"ORC", 2, "LOST"], f_string = &"name"})
	var decoded: Dictionary = names.decode("Everything", bytes)
	checks.same_value("an enum by name", "ELF", decoded.f_kind)
	checks.same_value("enums by name", PackedStringArray(["ORC", "ELF", "LOST"]), decoded.r_kind)
	checks.truth("keys are StringNames", decoded.keys().all(func(key: Variant) -> bool: return key is StringName))
	var empty: Dictionary = _schema.decode("Everything", PackedByteArray())
	var types := {
		"f_double": TYPE_FLOAT, "f_int32": TYPE_INT, "f_uint64": TYPE_INT, "f_bool": TYPE_BOOL, "f_string": TYPE_STRING,
		"f_bytes": TYPE_PACKED_BYTE_ARRAY, "f_kind": TYPE_INT, "r_double": TYPE_PACKED_FLOAT64_ARRAY,
		"r_float": TYPE_PACKED_FLOAT32_ARRAY, "r_int32": TYPE_PACKED_INT32_ARRAY, "r_int64": TYPE_PACKED_INT64_ARRAY,
		"r_uint32": TYPE_PACKED_INT64_ARRAY, "r_bool": TYPE_ARRAY, "r_string": TYPE_PACKED_STRING_ARRAY,
		"r_bytes": TYPE_ARRAY, "r_kind": TYPE_PACKED_INT32_ARRAY, "r_point": TYPE_ARRAY, "m_string": TYPE_DICTIONARY,
	}
	for field: String in types:
		checks.same_int("type of " + field, types[field], typeof(empty[field]))
	for field: String in ["f_optional", "f_point", "by_number", "f_inner"]:
		checks.truth(field + " is absent", not empty.has(field))
	checks.same_int("elements of r_bool", TYPE_BOOL, (empty.r_bool as Array).get_typed_builtin())
	checks.same_int("elements of r_bytes", TYPE_PACKED_BYTE_ARRAY, (empty.r_bytes as Array).get_typed_builtin())
	checks.same_int("elements of r_point", TYPE_DICTIONARY, (empty.r_point as Array).get_typed_builtin())
	var typed: Dictionary[String, int] = {"f_int32": 7}
	checks.same_bytes("a typed Dictionary", _schema.encode("Everything", {"f_int32": 7}), _schema.encode("Everything", typed))
	checks.same_bytes("null is absent", PackedByteArray(), _schema.encode("Everything", {"f_int32": null, "f_point": null}))
	return true


func test_unknown_fields() -> bool:
	checks.subject(checks.MIXED, "unknown fields")
	var newer := _schema.encode("Everything", {"f_int32": 7, "f_string": "new", "far_away": 3})
	_write("syntax = \"proto3\"; message Older { int32 f_int32 = 3; }")
	var older := FastProtobufSchema.load_file(WRITTEN)
	checks.same_value("they are passed over", {"f_int32": 7}, older.decode("Older", newer))
	older.keep_unknown = true
	var kept: Dictionary = older.decode("Older", newer)
	checks.truth("they are kept", kept["@unknown"] is PackedByteArray)
	checks.same_bytes("and written back", newer, older.encode("Older", kept))
	older.strict = true
	older.keep_unknown = false
	checks.same_int("or refused", FastVariantCodec.NOT_CANONICAL, older.try_decode("Older", newer).error)
	return true


func test_batches() -> bool:
	checks.subject(checks.MIXED, "batches")
	var messages: Array = []
	for index in 3000:
		messages.append({"f_int32": index, "f_string": "n".repeat(index % 50), "r_point": [{"x": index}, {}]})
	for bad: Array in [[], [0, 77, 2999]]:
		var given := messages.duplicate()
		for index: int in bad:
			given[index] = {"f_int32": "text"}
		Engine.print_error_messages = bad.is_empty()
		var buffers := _schema.encode_batch("Everything", given)
		for index: int in bad:
			buffers[index] = PackedByteArray([0xff])
		var decoded := _schema.decode_batch("Everything", buffers)
		Engine.print_error_messages = true
		checks.same_int("buffers", given.size(), buffers.size())
		for index in given.size():
			if index in bad:
				checks.truth("a bad message", decoded[index] == null)
				continue
			checks.same_bytes("buffer %d" % index, _schema.encode("Everything", given[index]), buffers[index])
			checks.same_value("message %d" % index, _schema.decode("Everything", buffers[index]), decoded[index])
	checks.same_int("no messages", 0, _schema.encode_batch("Everything", []).size())
	return true


func test_reasons() -> bool:
	checks.subject(checks.MIXED, "reasons")
	var wrong: Array = [
		[{"f_int32": 2 ** 31}, "f_int32", "2147483648"],
		[{"f_string": 5}, "f_string", "String"],
		[{"f_point": Vector3.ONE}, "f_point", "Vector3"],
		[{"f_point": RefCounted.new()}, "f_point", "Object"],
		[{"r_point": [{}, {"x": "y"}]}, "x", "String"],
		[{"by_number": 1, "by_name": "x"}, ".", "choice"],
		[{"f_nothing": 1}, ".", "f_nothing"],
		[{1: 1}, ".", "int"],
	]
	for row: Array in wrong:
		var result := _schema.try_encode("Everything", row[0])
		checks.same_int("%s is refused" % row[0], FastVariantCodec.NOT_IN_SCHEMA, result.error)
		checks.truth("the message names what is wrong", result.message.contains(row[2]), result.message)
		checks.truth("the path names the field", (result.path + ".").contains(row[1]), result.path)
	var deep := _schema.try_encode("Demand", {"many": [{}, {"r_point": [{}, {}, {"x": "text"}]}]})
	checks.same_value("a path", ".\"many\"[1].\"r_point\"[2].\"x\"", deep.path)
	var missing := _old.try_encode("Old", {"with_default": 1})
	checks.truth("a required field", missing.message.contains("needed"), missing.message)
	for name: String in ["", "Nobody", "suite", "suite.everything"]:
		checks.same_int("no message " + name, FastVariantCodec.BAD_SCHEMA, _schema.try_encode(name, {}).error)
		checks.same_int("no message " + name, FastVariantCodec.BAD_SCHEMA, _schema.try_decode(name, PackedByteArray()).error)
	checks.same_int("not loaded", FastVariantCodec.BAD_ARGUMENT, FastProtobufSchema.new().try_encode("Everything", {}).error)
	return true


func test_schemas() -> bool:
	checks.subject(checks.MIXED, "schemas")
	checks.same_value("names", PackedStringArray(["suite.Everything", "suite.Demand"]),
			PackedStringArray(Array(_schema.get_message_names()).filter(func(name: String) -> bool:
				return name in ["suite.Everything", "suite.Demand"])))
	checks.same_value("a field", {
		"name": "needed", "number": 1, "type": "int32", "repeated": false, "map": false, "required": true, "presence": true,
	}, _old.get_fields("Old")[0])
	var set_of_them := FastProtobufSchema.load_file(FOLDER + "everything.binpb")
	for row: Dictionary in _rows:
		checks.same_bytes("by a descriptor set", row.bytes, set_of_them.encode(row.name, row.value))
	var reasons := {
		"syntax = \"proto3\";\nmessage X {\n  int33 a = 1;\n}": ":3:",
		"syntax = \"proto3\";\nimport \"nowhere.proto\";": "nowhere.proto",
		"syntax = \"proto4\";": "proto4",
		"syntax = \"proto3\"; message X { int32 a = 1; int32 b = 1; }": "1",
		"nonsense": "nonsense",
	}
	for text: String in reasons:
		_write(text)
		var result := FastProtobufSchema.try_load_file(WRITTEN)
		checks.same_int("refused", FastVariantCodec.BAD_SCHEMA, result.error)
		checks.truth("the message says where and why", result.message.contains(reasons[text]), result.message)
		checks.truth("the message names the file", result.message.contains(WRITTEN), result.message)
	# File extensions are compared without case, as everywhere in the engine.
	var capital := "user://MESSAGE_SUITE.PROTO"
	FileAccess.open(capital, FileAccess.WRITE).store_string("syntax = \"proto3\"; message Loud {}")
	checks.truth("a file .PROTO", FastProtobufSchema.try_load_file(capital).is_ok())
	DirAccess.remove_absolute(capital)
	var none := FastProtobufSchema.try_load_file("user://there_is_none.proto")
	checks.truth("the message names the path", none.message.contains("user://there_is_none.proto"), none.message)
	_write("syntax = \"proto3\"; import \"shared.proto\"; message X { suite.Point at = 1; }")
	checks.truth("not beside it", not FastProtobufSchema.try_load_file(WRITTEN).is_ok())
	checks.truth("in a folder given", FastProtobufSchema.try_load_file(WRITTEN, [FOLDER]).is_ok())
	# protoc accepts comments in other encodings.
	FileAccess.open(WRITTEN, FileAccess.WRITE).store_buffer("// ".to_utf8_buffer() + PackedByteArray([0xe9]) + "\nmessage X {}".to_utf8_buffer())
	checks.truth("a comment in Latin-1", FastProtobufSchema.try_load_file(WRITTEN).is_ok())
	return true


## A file that is too large is refused before it is read: its size alone would exceed the memory below.
func test_large_files() -> bool:
	checks.subject(checks.MIXED, "large files")
	_write("syntax = \"proto3\"; import \"message_suite_large.proto\";")
	for path: String in ["user://message_suite_large.proto", "user://message_suite_large.bin"]:
		FileAccess.open(path, FileAccess.WRITE).resize(1 << 32)
		for loaded: String in [path, WRITTEN] if path.ends_with(".proto") else [path]:
			var peak := OS.get_static_memory_peak_usage()
			var result := FastProtobufSchema.try_load_file(loaded)
			checks.truth("a large file is refused", result.message.contains("larger than "), result.message)
			checks.truth("memory for " + loaded, OS.get_static_memory_peak_usage() - peak <= 1 << 26)
		DirAccess.remove_absolute(path)
	return true


func test_texts_that_strings_cannot_hold() -> bool:
	checks.subject(TYPE_STRING, "NUL")
	for hex: String in ["7203610062", "720100", "e20203610062", "9a03070a036100621001"]:
		checks.same_int(hex, FastVariantCodec.INVALID_TEXT, _schema.try_decode("Everything", hex.hex_decode()).error)
	for text: String in ["\ufeffmarked", "\ufeff\ufeff", "a\ufeff"]:
		checks.same_value("a byte-order mark", text, _schema.decode("Everything", _schema.encode("Everything", {"f_string": text})).f_string)
	return true


func _write(text: String) -> void:
	var file := FileAccess.open(WRITTEN, FileAccess.WRITE)
	file.store_string(text)
	file.close()


## Checks that the decoded message has all fields of the encoded one. Every other field of the decoded message
## must have an empty or zero value.
func _check_holds(path: String, expected: Dictionary, actual: Dictionary) -> void:
	for key: Variant in expected:
		var what := "%s.%s" % [path, key]
		if not actual.has(key):
			checks.fail(what, "it is not there")
			continue
		if expected[key] is Dictionary and actual[key] is Dictionary:
			_check_holds(what, expected[key], actual[key])
		elif expected[key] is Array:
			var elements := Array(actual[key])
			checks.same_int(what + ", elements", expected[key].size(), elements.size())
			for index in mini(elements.size(), expected[key].size()):
				if elements[index] is Dictionary:
					_check_holds("%s[%d]" % [what, index], expected[key][index], elements[index])
				else:
					checks.same_value("%s[%d]" % [what, index], expected[key][index], elements[index])
		else:
			checks.same_value(what, expected[key], actual[key])
	for key: Variant in actual:
		if not expected.has(key):
			checks.truth("%s.%s is a default" % [path, key], not actual[key], str(actual[key]))


func _turned_round(value: Dictionary) -> Dictionary:
	var keys := value.keys()
	keys.reverse()
	var turned := {}
	for key: Variant in keys:
		turned[key] = _turned_round(value[key]) if value[key] is Dictionary else value[key]
	return turned


func _with_string_names(value: Dictionary) -> Dictionary:
	var named := {}
	for key: Variant in value:
		var content: Variant = _with_string_names(value[key]) if value[key] is Dictionary else value[key]
		if key is String:
			named[StringName(key as String)] = content
		else:
			named[key] = content
	return named


## Replaces Arrays of numbers or texts with packed arrays.
func _with_packed_arrays(value: Dictionary) -> Dictionary:
	var packed := value.duplicate()
	for key: Variant in packed:
		var array: Array = packed[key] if packed[key] is Array else []
		if array.is_empty():
			continue
		match typeof(array[0]):
			TYPE_INT: packed[key] = PackedInt64Array(array)
			TYPE_FLOAT: packed[key] = PackedFloat64Array(array)
			TYPE_STRING: packed[key] = PackedStringArray(array)
	return packed
