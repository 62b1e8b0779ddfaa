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


## The bytes are those of the same message as a Dictionary, which the official implementation has written elsewhere.
func test_messages_as_values() -> bool:
	const FIELDS: Dictionary[String, Array] = {
		"Vector2": ["x", "y"], "Vector2i": ["x", "y"], "Vector3": ["x", "y", "z"], "Vector3i": ["x", "y", "z"], "Vector4": ["x", "y", "z", "w"],
		"Vector4i": ["x", "y", "z", "w"], "Quaternion": ["x", "y", "z", "w"], "Color": ["r", "g", "b", "a"],
	}
	for type_name in FIELDS:
		for kind: String in (["int32", "sint64", "sfixed32"] if type_name.ends_with("i") else ["float", "double"]):
			var fields: Array = FIELDS[type_name]
			var type := range(TYPE_MAX).map(type_string).find(type_name)
			checks.subject(type, "%s of %s" % [type_name, kind])
			# The numbers of the fields are not in the order of the components.
			var lines := range(fields.size()).map(func(i: int) -> String: return "%s %s = %d;" % [kind, fields[i], fields.size() - i])
			var text := """syntax = "proto3"; message V { %s } message Outer {
				V one = 1; repeated V many = 2; map<string, V> by_name = 3; oneof either { V first = 4; string second = 5; } }""" % " ".join(lines)
			var plain := FastProtobufSchema.from_text(text)
			var mapped := FastProtobufSchema.from_text(text)
			checks.same_int("map_message", OK, mapped.map_message("V", type))
			var of := func(components: Array) -> Variant:
				var value: Variant = type_convert(null, type)
				for i in fields.size():
					value[fields[i]] = components[i]
				return value
			var rows: Array[Array] = [[0, 0, 0, 0], [1, -2, 3, -4], [0, 5, 0, 0], [1 << 30, -(1 << 30), 0, 1]]
			if not type_name.ends_with("i"):
				rows += [[0.5, -0.0, NAN, INF], [1e-40, 3.4e38, 0.1, -0.1]] as Array[Array]
			var values := rows.map(of)
			var dictionaries := values.map(func(value: Variant) -> Dictionary:
				var dictionary := {}
				for field: String in fields:
					dictionary[field] = value[field]
				return dictionary)
			var first := {"one": dictionaries[1], "many": dictionaries, "by_name": {"a": dictionaries[2], "b": dictionaries[0]}, "first": dictionaries[3]}
			var second := {"one": values[1], "many": values, "by_name": {"a": values[2], "b": values[0]}, "first": values[3]}
			var bytes := plain.encode("Outer", first)
			checks.same_bytes("encode", bytes, mapped.encode("Outer", second))
			checks.same_bytes("Dictionaries still", bytes, mapped.encode("Outer", first))
			checks.same_value("encode_batch", [bytes, bytes] as Array[PackedByteArray], mapped.encode_batch("Outer", [first, second]))
			var many: Variant = type_convert(values, _packed_of(type)) if _packed_of(type) else Array(values, type, &"", null)
			checks.same_bytes("encode a typed list", bytes, mapped.encode("Outer", second.merged({"many": many}, true)))
			var read := mapped.try_decode("Outer", bytes, FastVariantLimits.for_network())
			checks.truth("try_decode", read.is_ok(), read.message)
			checks.same_value("what it reads", second.merged({"many": many}, true), read.value)
			checks.same_value("decode_batch", [read.value, read.value], Array(mapped.decode_batch("Outer", [bytes, bytes])))
			checks.same_bytes("again", bytes, mapped.encode("Outer", read.value))
			mapped.strict = true
			checks.truth("strictly", mapped.try_decode("Outer", bytes).is_ok(), mapped.try_decode("Outer", bytes).message)
			mapped.strict = false
			# Fields that are written twice are merged.
			var twice := bytes + plain.encode("Outer", {"one": {fields[0]: 7}})
			var merged: Variant = values[1]
			merged[fields[0]] = 7
			checks.same_value("merged", merged, mapped.decode("Outer", twice)["one"])
			checks.same_value("no values", {"many": type_convert([], typeof(many)) if _packed_of(type) else Array([], type, &"", null), "by_name": {}},
					mapped.decode("Outer", PackedByteArray()))
			Engine.print_error_messages = false
			for wrong: Variant in [type_convert(null, TYPE_RECT2), [values[0]], 1.5]:
				checks.same_bytes("another type", PackedByteArray(), mapped.encode("Outer", {"one": wrong}))
			Engine.print_error_messages = true
			var refused := mapped.try_encode("Outer", {"one": Rect2()})
			checks.truth("message", "expected %s or Dictionary for message V, found Rect2" % type_name in refused.message, refused.message)
	checks.subject(checks.MIXED, "messages as values")
	var wide := FastProtobufSchema.from_text("syntax = 'proto3'; message V { int64 x = 1; int64 y = 2; } message F { repeated float all = 1; }")
	Engine.print_error_messages = false
	for wrong: Array in [["V", TYPE_VECTOR3I], ["V", TYPE_VECTOR2], ["F", TYPE_VECTOR2], ["V", TYPE_RECT2], ["V", -1], ["W", TYPE_VECTOR2I]]:
		checks.truth("map_message of %s" % [wrong], wide.map_message(wrong[0], wrong[1]) != OK)
	checks.truth("of nothing", FastProtobufSchema.new().map_message("V", TYPE_VECTOR2I) != OK)
	Engine.print_error_messages = true
	var far := wide.encode("V", {"x": 1 << 40, "y": 1})
	checks.same_int("map_message", OK, wide.map_message("V", TYPE_VECTOR2I))
	var out_of_range := wide.try_decode("V", far)
	checks.truth("too large for an int of 32 bits", not out_of_range.is_ok() and out_of_range.path == ".\"x\"", out_of_range.message)
	checks.same_value("the message itself", Vector2i(0, 5), wide.decode("V", wide.encode("V", {"y": 5})))
	checks.same_bytes("a packed array as floats", wide.encode("F", {"all": [1, 2, 3, 4, 5, 6]}),
			wide.encode("F", {"all": PackedVector3Array([Vector3(1, 2, 3), Vector3(4, 5, 6)])}))
	return true


func _packed_of(type: int) -> int:
	return {
		TYPE_VECTOR2: TYPE_PACKED_VECTOR2_ARRAY, TYPE_VECTOR3: TYPE_PACKED_VECTOR3_ARRAY, TYPE_VECTOR4: TYPE_PACKED_VECTOR4_ARRAY,
		TYPE_COLOR: TYPE_PACKED_COLOR_ARRAY,
	}.get(type, 0)


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
