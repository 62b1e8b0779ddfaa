## One test for each dangerous behaviour of the engine that the codec refuses or avoids.
##
## If the behaviour would end the process, only the codec gets the input. Behaviours that the codec reproduces
## are in crafted.gd. limit_suite.gd lists the encodings of other writers, which strict reading refuses.
extends "res://suites/suite.gd"

const CountingGetter := preload("res://suites/fixtures/counting_getter.gd")


## Refused: a value of another type in a typed Dictionary, which a script would misinterpret.
func test_values_of_typed_dictionaries() -> bool:
	for hex: String in [
		"1b0005000200000002000000010000000200000001000000040000000100000078000000",
		"1b0005000200000004000000010000000200000001000000020001004041414141414141",
	]:
		_check_refused(hex.hex_decode(), FastVariantCodec.WRONG_ELEMENT_TYPE)
		checks.truth("decode", Oracle.codec_decode(hex.hex_decode()) == null)
		checks.truth("decode, in an Array", Oracle.codec_decode(_in_array(hex.hex_decode())) == null)
	# A null object is allowed.
	var with_null := Dictionary({1: null}, TYPE_INT, "", null, TYPE_OBJECT, "RefCounted", null)
	var bytes := var_to_bytes_with_objects(with_null)
	checks.same_value("null stays", bytes_to_var_with_objects(bytes), FastVariantCodec.decode(bytes, true))
	return true


## Getters run once, and the bytes contain the returned values. Only the codec encodes the object.
func test_getters_run_once() -> bool:
	for later: String in ["", "A".repeat(4_000_000)]:
		var object := CountingGetter.new()
		object.first = "A".repeat(40)
		object.later = later
		var bytes := FastVariantCodec.encode(object, true)
		checks.same_int("reads", 1, object.reads)
		checks.same_bytes("what was read", var_to_bytes(object.first), bytes.slice(-var_to_bytes(object.first).size()))
	var font := FontFile.new()
	var first := FastVariantCodec.encode(font, true)
	checks.truth("a class whose list of properties grows when read", FastVariantCodec.decode(first, true) is FontFile)
	return true


## Refused: an offset beyond the end.
func test_offsets() -> bool:
	for offset: int in [5, 4 + (1 << 32) - 64, -1, 1 << 62]:
		var outcome := FastVariantCodec.try_decode(PackedByteArray([0, 0, 0, 0]), null, offset)
		checks.same_int("offset %d" % offset, FastVariantCodec.BAD_ARGUMENT, outcome.error)
	return true


## Refused: code in the data, engine singletons, and paths outside of the project.
func test_objects() -> bool:
	var script := GDScript.new()
	script.source_code = "static func _static_init() -> void:\n\tEngine.set_meta(&\"quirk_ran\", true)\n"
	for bytes: PackedByteArray in [
		var_to_bytes_with_objects(script),
		"180000000f00000050726f6a65637453657474696e67730000000000".hex_decode(),
		"18000000070000004d79436c6173730000000000".hex_decode(),
		Wire.header(TYPE_OBJECT) + Wire.text("RefCounted") + Wire.word(1) + Wire.text("script")
				+ var_to_bytes("res://../godot-project/suites/fixtures/plain_data.gd"),
	]:
		checks.truth("decode", Oracle.codec_decode(bytes, true) == null)
		var limits := FastVariantLimits.for_save_files()
		limits.allow_objects = true
		checks.same_int("try_decode", FastVariantCodec.OBJECT_REFUSED, FastVariantCodec.try_decode(bytes, limits).error)
	checks.truth("nothing ran", not Engine.has_meta(&"quirk_ran"))
	var objects := Performance.get_monitor(Performance.OBJECT_COUNT)
	checks.truth("a broken Node", Oracle.codec_decode("18000000040000004e6f646501000000".hex_decode(), true) == null)
	checks.same_value("is freed", objects, Performance.get_monitor(Performance.OBJECT_COUNT))
	return true


func _check_refused(bytes: PackedByteArray, code: int) -> void:
	var outcome := FastVariantCodec.try_decode(bytes)
	checks.same_int("try_decode", code, outcome.error)
	checks.truth("says why", outcome.message != "" and outcome.value == null, outcome.message)


static func _in_array(bytes: PackedByteArray) -> PackedByteArray:
	return Wire.header(TYPE_ARRAY) + Wire.word(1) + bytes
