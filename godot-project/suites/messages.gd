## Makes one codec call per case and announces the expected number of error lines, which `cargo xtask test` counts.
##
## Prints "@@ expect COUNT NAME" (or "expect_script") to standard error before each call, and "@@ end" at the end. A
## failing call prints one error, however large the damage. Successful calls and try_ calls print none. In a NAME with
## " says ", the text after it must be in the error.
extends SceneTree

const Crafted := preload("res://suites/crafted.gd")
const Extension := preload("res://suites/extension.gd")
const Hero := preload("res://suites/fixtures/classes/hero.gd")
const Mage := preload("res://suites/fixtures/classes/mage.gd")
const Picky := preload("res://suites/fixtures/classes/picky.gd")
const Values := preload("res://suites/values.gd")
const Wire := preload("res://suites/wire.gd")

const DEEPEST := 1025
const BROKEN := "27000000"


## A script without a path, whose objects cannot be encoded in full.
class Inner:
	extends RefCounted


func _initialize() -> void:
	quit(1)  # The exit code if a script error ends this function early.
	if not Extension.is_loaded():
		return
	_decode_failures()
	_decode_successes()
	_encode_failures()
	_encode_successes()
	_batches()
	_tries()
	_outlines()
	_files()
	_godot_3()
	_protobuf()
	_registration()
	_wrong_arguments()
	printerr("@@ end")
	quit(0)


func _expect(count: int, case_name: String, codec_call: Callable) -> void:
	printerr("@@ expect %d %s" % [count, case_name])
	codec_call.call()


## Announces a call that ends the script's function with a script error.
func _expect_script(count: int, case_name: String, codec_call: Callable) -> void:
	printerr("@@ expect_script %d %s" % [count, case_name])
	codec_call.call()


func _registration() -> void:
	var classes := FastVariantClasses.new()
	classes.register(Hero)
	classes.register(Mage, "Mage")
	_expect(1, "register says the script is registered already, as \"SuiteHero\"",
			func() -> void: classes.register(Hero, "Mage"))
	_expect(1, "register says the script has no class_name; pass a name",
			func() -> void: classes.register(Hero.Bag))
	_expect(1, "register says another script is registered as \"Mage\"; pass another name",
			func() -> void: classes.register(Picky, "Mage"))
	var bag := classes.register(Hero.Bag, "Bag")
	_expect(1, "FastVariantClass.version says expected a version of at least 1, found 0", func() -> void: bag.version = 0)
	var bytes := FastVariantCodec.encode({&"@class": "None"})
	_expect(1, "decode of a class that is not registered", func() -> void: classes.decode(bytes))
	_expect(1, "decode_into null", func() -> void: classes.decode_into(null, bytes))
	_expect(1, "from_plain of a class that is not registered", func() -> void: classes.from_plain({&"@class": "None"}))
	_expect(1, "from_json of no JSON", func() -> void: classes.from_json("{"))
	_expect(0, "their try_ twins", func() -> void:
		classes.try_decode(bytes)
		classes.try_decode_into(null, bytes)
		classes.try_from_plain({&"@class": "None"})
		classes.try_from_json("{"))


func _godot_3() -> void:
	var array := Wire.header(19) + Wire.word(1)
	var bad := Wire.repeated(array, 1000) + Wire.header(27)
	_expect(1, "decode_godot3 of a bad value in 1000 arrays", func() -> void: FastGodot3Codec.decode(bad))
	_expect(1, "encode_godot3 of what Godot 3 has not", func() -> void: FastGodot3Codec.encode([Vector4.ONE, Callable()]))
	_expect(0, "encode_godot3, lossy", func() -> void: FastGodot3Codec.encode([Vector4.ONE, Callable()], true))
	var buffers: Array = []
	buffers.resize(1000)
	buffers.fill(bad)
	_expect(1, "decode_godot3_batch of 1000 bad buffers", func() -> void: FastGodot3Codec.decode_batch(buffers))
	var values: Array = []
	values.resize(1000)
	values.fill(Projection())
	_expect(1, "encode_godot3_batch of 1000 that Godot 3 has not", func() -> void: FastGodot3Codec.encode_batch(values))


func _protobuf() -> void:
	const FILE := "res://suites/fixtures/messages/everything.proto"
	var schema := FastProtobufSchema.load_file(FILE)
	var many: Array = []
	many.resize(1000)
	many.fill({"f_int32": "text"})
	var bad: Array = []
	bad.resize(1000)
	bad.fill(PackedByteArray([0xff]))
	_expect(1, "a message of no such fields", func() -> void: schema.encode("Everything", {"r_point": many}))
	_expect(1, "encode_batch of 1000 bad messages", func() -> void: schema.encode_batch("Everything", many))
	_expect(1, "decode_batch of 1000 bad buffers", func() -> void: schema.decode_batch("Everything", bad))


func _decode_failures() -> void:
	for input_name: String in [
		"header: empty input", "header: 3 bytes", "string: length truncated", "string: missing padding",
		"string: negative length ffffffff", "string: length 7fffffff", "string: invalid lead ff",
		"string: surrogate ed a0 80", "string name: invalid", "node path: old format zero len", "node path: huge names",
		"rid: truncated", "packed int32: count 7fffffff", "packed strings: count 7fffffff", "dictionary: count 7fffffff",
		"typed array: type -1", "object: RefCounted 0 properties", "typed dictionary: int, int from value String",
	]:
		_expect_decode(1, input_name, Crafted.INPUTS[input_name].hex_decode())
	_expect_decode(1, "type id 39", Wire.header(39))
	_expect_decode(1, "type id 255", Wire.header(255))
	var array := Wire.header(TYPE_ARRAY) + Wire.word(1)
	var dictionary := Wire.header(TYPE_DICTIONARY) + Wire.word(1) + Wire.header(TYPE_NIL)
	var bad_text := Wire.header(TYPE_STRING) + Wire.word(4) + Wire.word(0xfffefdfc)
	_expect_decode(1, "broken at the bottom of 1000 arrays", Wire.repeated(array, 1000) + Wire.header(39))
	_expect_decode(1, "broken at the bottom of 1000 dictionaries", Wire.repeated(dictionary, 1000) + Wire.header(39))
	_expect_decode(1, "cut at the bottom of 1000 arrays", Wire.repeated(array, 1000))
	_expect_decode(1, "text that doubles 60 times",
			Wire.repeated(Wire.header(TYPE_ARRAY, 1) + Wire.word(TYPE_PACKED_STRING_ARRAY) + Wire.word(1), 60) + array
			+ var_to_bytes("a"))
	_expect_decode(1, "1000 Signals of no object as text", Wire.header(TYPE_ARRAY, 1) + Wire.word(TYPE_PACKED_STRING_ARRAY)
			+ Wire.word(1) + Wire.header(TYPE_ARRAY) + Wire.word(1000)
			+ Wire.repeated(Wire.header(TYPE_SIGNAL) + Wire.word(0) + Wire.word(0xffffff) + Wire.word(0), 1000))
	_expect_decode(1, "a value dropped with its key", Wire.header(TYPE_DICTIONARY, 5) + Wire.word(TYPE_STRING)
			+ Wire.word(TYPE_INT) + Wire.word(1) + Wire.header(TYPE_NIL) + var_to_bytes(true))
	_expect_decode(1, "one array too deep", Wire.repeated(array, DEEPEST) + Wire.header(TYPE_NIL))
	_expect_decode(1, "one dictionary too deep", Wire.repeated(dictionary, DEEPEST) + Wire.header(TYPE_NIL))
	_expect_decode(1, "bad UTF-8 in 1000 elements",
			Wire.header(TYPE_ARRAY) + Wire.word(1000) + Wire.repeated(bad_text, 1000))
	_expect_decode(1, "bad UTF-8, 1000 bytes of it",
			Wire.header(TYPE_STRING) + Wire.word(1000) + Wire.repeated(Wire.word(0xfffefdfc), 250))
	_expect_decode(1, "2000 Nils in an Array[int]", _typed_array(TYPE_INT, Wire.header(TYPE_NIL), 2000))
	_expect_decode(1, "500 misfits in an Array[Array], nested",
			array + _typed_array(TYPE_ARRAY, Wire.header(TYPE_NIL), 500))
	_expect_decode(1, "1000 junk keys in a Dictionary[int, Variant]",
			Wire.header(TYPE_DICTIONARY, 1) + Wire.word(TYPE_INT) + Wire.word(1000)
			+ Wire.repeated(Wire.header(TYPE_STRING) + Wire.text("junk") + Wire.header(TYPE_NIL), 1000))
	var one_key := Wire.header(TYPE_DICTIONARY) + Wire.word(1)
	_expect_decode(1, "a key of 51 arrays, the innermost full of arrays", one_key + Wire.repeated(array, 49)
			+ Wire.header(TYPE_ARRAY) + Wire.word(500) + Wire.repeated(Wire.header(TYPE_ARRAY) + Wire.word(0), 500)
			+ Wire.header(TYPE_NIL))
	# The engine compares the two keys.
	_expect_decode(0, "two equal keys of 50 arrays", Wire.header(TYPE_DICTIONARY) + Wire.word(2) + Wire.repeated(
			Wire.repeated(array, 49) + Wire.header(TYPE_ARRAY) + Wire.word(0) + Wire.header(TYPE_NIL), 2))
	_expect_decode(1, "arrays that are too deep for text in an Array[PackedStringArray]",
			_typed_array(TYPE_PACKED_STRING_ARRAY, Wire.repeated(array, 103) + Wire.header(TYPE_NIL), 50))
	_expect_decode(0, "arrays that are just not too deep for it",
			_typed_array(TYPE_PACKED_STRING_ARRAY, Wire.repeated(array, 102) + Wire.header(TYPE_NIL), 50))
	_expect_object(1, "object of an unknown class", "NoSuchClass", PackedByteArray())
	_expect_object(1, "object of a singleton class", "ProjectSettings", PackedByteArray())
	_expect_object(1, "object of a script class", "GDScript", PackedByteArray())
	_expect_object(1, "object with a missing script", "RefCounted",
			Wire.text("script") + Wire.header(TYPE_STRING) + Wire.text("res://no_such_script.gd"))
	_expect_object(1, "object with a script outside of the project", "RefCounted",
			Wire.text("script") + Wire.header(TYPE_STRING) + Wire.text("res://../outside.gd"))


func _decode_successes() -> void:
	for input_name: String in [
		"header: trailing bytes", "string: two BOMs", "string: trailing NUL", "array: [bytes without padding]",
		"packed strings: count -1", "node path: count overflow total=0", "typed array: int from bool", "object: as id 5",
	]:
		_expect_decode(0, input_name, Crafted.INPUTS[input_name].hex_decode())
	# The engine accepts any text as a colour, and prints an error for each invalid one.
	_expect_decode(0, "1000 junk strings in an Array[Color]",
			_typed_array(TYPE_COLOR, Wire.header(TYPE_STRING) + Wire.text("junk"), 1000))
	_expect_decode(0, "1000 texts that are no paths in an Array[NodePath]",
			_typed_array(TYPE_NODE_PATH, Wire.header(TYPE_STRING) + Wire.text("a::b"), 1000))
	_expect_object(0, "object with a script", "RefCounted",
			Wire.text("script") + Wire.header(TYPE_STRING) + Wire.text("res://suites/fixtures/plain_data.gd"))


func _encode_failures() -> void:
	var too_deep := Values.nested_arrays(DEEPEST + 1)
	_expect(1, "encode one array too deep", _codec(&"encode", [too_deep]))
	_expect(1, "encode a class without a constructor", _codec(&"encode", [Input, true]))
	_expect(1, "encode an object whose script has no path", _codec(&"encode", [[[{"a": Inner.new()}]], true]))


func _encode_successes() -> void:
	_expect(0, "encode 1025 arrays", _codec(&"encode", [Values.nested_arrays(DEEPEST)]))
	_expect(0, "encode lone surrogates", _codec(&"encode", [Values.lone_surrogates()]))
	_expect(0, "encode an object as id", _codec(&"encode", [Input]))
	_expect(0, "encode an object in full", _codec(&"encode", [Values.PlainData.new(), true]))


func _batches() -> void:
	var values: Array = []
	var buffers: Array = []
	for i in 100:
		values.append(Values.nested_arrays(DEEPEST + 1) if i % 3 == 0 else [i])
		buffers.append(BROKEN.hex_decode() if i % 3 == 0 else var_to_bytes(i))
	_expect(1, "encode_batch with 34 failing values", _codec(&"encode_batch", [values]))
	_expect(1, "decode_batch with 34 broken buffers", _codec(&"decode_batch", [buffers]))
	_expect(1, "decode_batch with misfits in 20 buffers", _codec(&"decode_batch", [
			Values.filled(20, _typed_array(TYPE_INT, Wire.header(TYPE_NIL), 100))]))
	_expect(1, "pack_batch with 34 failing values", _codec(&"pack_batch", [values]))


func _tries() -> void:
	var array := Wire.header(TYPE_ARRAY) + Wire.word(1)
	_expect(0, "try_decode of 1000 broken levels", _codec(&"try_decode", [Wire.repeated(array, 1000)]))
	_expect(0, "try_decode of misfits", _codec(&"try_decode", [
			_typed_array(TYPE_INT, Wire.header(TYPE_NIL), 2000)]))
	_expect(0, "try_decode of an object", _codec(&"try_decode", [
			Wire.header(TYPE_OBJECT) + Wire.text("RefCounted") + Wire.word(0)]))
	_expect(0, "try_encode of lone surrogates", _codec(&"try_encode", [Values.lone_surrogates()]))
	_expect(0, "try_encode of a class without a constructor", _codec(&"try_encode", [Input, true]))
	_expect(0, "try_encode of an object whose script has no path", _codec(&"try_encode", [Inner.new(), true]))


func _outlines() -> void:
	var deep := Wire.repeated(Wire.header(TYPE_ARRAY) + Wire.word(1), 2000)
	for bytes: PackedByteArray in [
		PackedByteArray(), BROKEN.hex_decode(), deep, var_to_bytes(Values.nested_arrays(DEEPEST)),
		_typed_array(TYPE_INT, Wire.header(TYPE_NIL), 2000), Wire.header(TYPE_STRING) + Wire.word(4) + Wire.word(0xfffefdfc),
		Wire.header(TYPE_OBJECT) + Wire.text("GDScript") + Wire.word(0),
	]:
		_expect(0, "inspect of %d bytes" % bytes.size(), func() -> void: FastVariantInspector.inspect(bytes))
		_expect(0, "printing what inspect gives", func() -> void: str(FastVariantInspector.inspect(bytes)))
		_expect(0, "describe of %d bytes" % bytes.size(), func() -> void: FastVariantInspector.describe(bytes))


## A Logger that saves: its calls wait for earlier ones, also for those behind the failed save.
class SavingLogger:
	extends Logger
	var job: FastVariantJob
	var waited := 0

	func _log_error(_function: String, _file: String, _line: int, code: String, _rationale: String, _notify: bool, _type: int, _traces: Array[ScriptBacktrace]) -> void:
		if not "save_batch_async" in code or waited > 0:
			return
		waited += 1
		FastVariantCodec.append_batch("user://messages_log.dat", [code])
		job.wait_to_finish()


func _saves_behind_a_failed_one() -> void:
	var logger := SavingLogger.new()
	OS.add_logger(logger)
	_expect(1, "a Logger saves when a save fails", func() -> void:
		logger.job = FastVariantCodec.save_batch_async(OS.get_user_data_dir(), [1])
		FastVariantCodec.save_batch_async("user://messages_log.dat", ["the session starts"])
		FastVariantCodec.save_async("user://messages_progress.dat", 5).wait_to_finish()
		logger.job.wait_to_finish())
	OS.remove_logger(logger)
	_expect(0, "all of it is saved", func() -> void:
		if logger.waited != 1 or FastVariantCodec.load_batch("user://messages_log.dat").value.size() != 2:
			push_error("the Logger waited %d times" % logger.waited)
		if FastVariantCodec.load("user://messages_progress.dat").value != 5:
			push_error("nothing was saved behind the failed save"))
	for file: String in ["log", "progress"]:
		DirAccess.remove_absolute("user://messages_%s.dat" % file)


func _files() -> void:
	_saves_behind_a_failed_one()
	var path := "user://messages.dat"
	var failing: Array = [1, Values.nested_arrays(DEEPEST + 1), 3, Values.nested_arrays(DEEPEST + 1)]
	for target: String in ["", "user://", "user://no such folder/x", "https://example.org", "uid://x"]:
		_expect(1, "save_batch to \"%s\"" % target, func() -> void: FastVariantCodec.save_batch(target, [1]))
		_expect(1, "append_batch to \"%s\"" % target, func() -> void: FastVariantCodec.append_batch(target, [1]))
		_expect(0, "a view of \"%s\"" % target, func() -> void: FastVariantView.open_file(target).try_fetch(0))
		_expect(1, "a part of \"%s\"" % target, func() -> void: FastVariantView.open_file(target).fetch(0))
		_expect(1, "save_batch_async to \"%s\"" % target,
				func() -> void: FastVariantCodec.save_batch_async(target, [1]).wait_to_finish())
		_expect(0, "load_batch from \"%s\"" % target, func() -> void: FastVariantCodec.load_batch(target))
		_expect(0, "load_batch_async from \"%s\"" % target, func() -> void: FastVariantCodec.load_batch_async(target).wait_to_finish())
	_expect(1, "save_batch of failing values", func() -> void: FastVariantCodec.save_batch(path, failing))
	_expect(1, "append_batch of failing values", func() -> void: FastVariantCodec.append_batch(path, failing))
	_expect(1, "save_batch_async of failing values", func() -> void: FastVariantCodec.save_batch_async(path, failing).wait_to_finish())
	_expect(0, "save_batch", func() -> void: FastVariantCodec.save_batch(path, range(100)))
	FileAccess.open(path, FileAccess.READ_WRITE).resize(1195)
	_expect(0, "load_batch of a torn file", func() -> void: FastVariantCodec.load_batch(path))
	_expect(1, "append_batch to a torn file", func() -> void: FastVariantCodec.append_batch(path, [1]))
	DirAccess.remove_absolute(path)


## Calls with arguments of wrong types. A wrong type in a typed call ends the calling function with the
## engine's own message.
func _wrong_arguments() -> void:
	var text: Variant = "text"
	_expect_script(1, "decode of a text", func() -> void: FastVariantCodec.decode(text))
	_expect_script(1, "encode with a text for a flag", func() -> void: FastVariantCodec.encode(1, text))
	_expect_script(1, "encoded_size with a text for a flag", func() -> void: FastVariantCodec.encoded_size(1, text))
	var number: Variant = 1
	_expect(0, "encode with a number for a flag", func() -> void: FastVariantCodec.encode(1, number))
	# Decoded data can contain typed Dictionaries, and godot-rust would abort if it printed one. `callv` prints
	# nothing for an argument of the wrong type.
	var typed: Dictionary[int, String] = {1: "a"}
	var instances: Dictionary[String, Variant] = {
		"FastVariantCodec": FastVariantCodec, "FastVariantInspector": FastVariantInspector, "FastGodot3Codec": FastGodot3Codec, "FastVariantLimits": FastVariantLimits.new(),
		"FastVariantResult": FastVariantCodec.try_encode(1), "FastVariantJob": FastVariantCodec.encode_batch_async([1]),
		"FastVariantView": FastVariantView.open(var_to_bytes([1])), "FastVariantClasses": FastVariantClasses.new(),
		"FastProtobufSchema": FastProtobufSchema.load_file("res://suites/fixtures/messages/everything.proto"),
	}
	for owner in instances:
		for method: Dictionary in ClassDB.class_get_method_list(owner, true):
			var types: Array = method["args"].map(func(argument: Dictionary) -> int: return argument["type"])
			for i in types.size():
				var arguments: Array = types.map(func(type: int) -> Variant: return type_convert(null, type))
				arguments[i] = typed
				if types[i] not in [TYPE_NIL, TYPE_DICTIONARY]:
					_expect(0, "%s.%s with a Dictionary" % [owner, method["name"]],
							func() -> void: Callable(instances[owner], method["name"]).callv(arguments))


## A Callable that calls the method with this name.
static func _codec(method: StringName, arguments: Array) -> Callable:
	return func() -> Variant:
		var codec: Variant = FastVariantCodec
		return Callable(codec, method).callv(arguments)


func _expect_decode(count: int, case_name: String, bytes: PackedByteArray) -> void:
	_expect(count, "decode " + case_name, _codec(&"decode", [bytes]))


func _expect_object(count: int, case_name: String, object_class: String, property: PackedByteArray) -> void:
	var bytes := Wire.header(TYPE_OBJECT) + Wire.text(object_class)
	bytes += Wire.word(0 if property.is_empty() else 1) + property
	_expect(count, "decode " + case_name, _codec(&"decode", [bytes, true]))


static func _typed_array(type: int, element: PackedByteArray, count: int) -> PackedByteArray:
	return Wire.header(TYPE_ARRAY, 1) + Wire.word(type) + Wire.word(count) + Wire.repeated(element, count)
