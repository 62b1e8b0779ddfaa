## Every edge value, alone and in a batch, with and without objects.
extends "res://suites/suite.gd"


func test_values_without_objects() -> bool:
	for case in values.cases:
		checks.subject(case.type, case.name)
		_check_value(case.value, false)
	return true


func test_values_with_objects() -> bool:
	for case in values.cases:
		checks.subject(case.type, case.name)
		_check_value(case.value, true)
	return true


func test_batches_without_objects() -> bool:
	_check_batch(false)
	return true


func test_batches_with_objects() -> bool:
	_check_batch(true)
	return true


## The engine drops the value script of a typed Dictionary, and may drop the type altogether. The codec
## restores the encoded value, so this test compares the decoded value with the original.
func test_script_typed_dictionaries() -> bool:
	for case in values.script_typed_dictionaries():
		checks.subject(case.type, case.name)
		_check_encoding(case.value, var_to_bytes(case.value), false)
		var bytes := var_to_bytes_with_objects(case.value)
		_check_encoding(case.value, bytes, true)
		var decoded: Variant = FastVariantCodec.decode(bytes, true)
		checks.same_value("value scripts are restored", case.value, decoded)
		checks.same_bytes("encoded again", bytes, var_to_bytes_with_objects(decoded))
		Oracle.release(decoded)
	return true


func test_every_container_decodes_writable() -> bool:
	for case in values.cases:
		if case.type != TYPE_ARRAY and case.type != TYPE_DICTIONARY:
			continue
		var decoded: Variant = Oracle.codec_decode(Oracle.engine_encode(case.value))
		if decoded != null:
			checks.subject(case.type, case.name)
			checks.truth("can be changed", not decoded.is_read_only())
	return true


func _check_value(value: Variant, full_objects: bool) -> void:
	var expected := Oracle.engine_encode(value, full_objects)
	_check_encoding(value, expected, full_objects)
	if expected:
		_check_decoding(expected, full_objects)


## Checks encode, encoded_size and try_encode. If `expected` is empty, all three must fail.
func _check_encoding(value: Variant, expected: PackedByteArray, full_objects: bool) -> void:
	checks.same_bytes("encode", expected, Oracle.codec_encode(value, full_objects))
	var size := expected.size() if expected else -1
	checks.same_int("encoded_size", size, Oracle.codec_size(value, full_objects))
	var outcome := FastVariantCodec.try_encode(value, full_objects)
	if expected and not _comes_back_changed(expected) and not Oracle.is_lost(value, full_objects):
		checks.truth("try_encode is_ok", outcome.is_ok(), outcome.message)
		checks.same_value("try_encode value", expected, outcome.value)
	else:
		checks.truth("try_encode fails with a message", not outcome.is_ok() and outcome.message != "")


func _check_decoding(bytes: PackedByteArray, full_objects: bool) -> void:
	var expected: Variant = Oracle.engine_decode(bytes, full_objects)
	var decoded: Variant = Oracle.codec_decode(bytes, full_objects)
	checks.same_value("decode", expected, decoded)
	checks.same_bytes("decode, encoded again",
			Oracle.engine_encode(expected, true), Oracle.engine_encode(decoded, true))
	if not full_objects:
		_check_strict_decoding(bytes, expected)
	Oracle.release(expected)
	Oracle.release(decoded)


## try_decode accepts the engine's bytes, unless they contain text that the engine does not read back unchanged.
func _check_strict_decoding(bytes: PackedByteArray, expected: Variant) -> void:
	var outcome := FastVariantCodec.try_decode(bytes)
	if _comes_back_changed(bytes):
		checks.truth("try_decode refuses the text", not outcome.is_ok())
		return
	checks.truth("try_decode is_ok", outcome.is_ok(), outcome.message)
	checks.same_value("try_decode value", expected, outcome.value)
	checks.same_int("try_decode bytes_read", bytes.size(), outcome.bytes_read)
	var behind := PackedByteArray([1, 2, 3, 4]) + bytes
	outcome = FastVariantCodec.try_decode(behind, null, 4)
	checks.same_value("try_decode at an offset", expected, outcome.value)


## All values in one batch, including those that cannot be encoded.
func _check_batch(full_objects: bool) -> void:
	var batch: Array = []
	var expected_buffers: Array[PackedByteArray] = []
	for case in values.cases:
		batch.append(case.value)
		expected_buffers.append(Oracle.engine_encode(case.value, full_objects))
	var buffers := Oracle.codec_encode_batch(batch, full_objects)
	checks.same_int("size of the encoded batch", batch.size(), buffers.size())
	var decoded := Oracle.codec_decode_batch(expected_buffers, full_objects)
	checks.same_int("size of the decoded batch", batch.size(), decoded.size())
	for i in values.cases.size():
		checks.subject(values.cases[i].type, values.cases[i].name)
		checks.same_bytes("encode_batch", expected_buffers[i], buffers[i])
		var expected: Variant = Oracle.engine_decode(expected_buffers[i], full_objects)
		checks.same_value("decode_batch", expected, decoded[i])
		Oracle.release(expected)
	Oracle.release(decoded)


## Returns whether there is text that the engine cannot read back (lone surrogates), or reads back changed (a
## leading U+FEFF). The strict methods refuse such text in both directions.
static func _comes_back_changed(bytes: PackedByteArray) -> bool:
	return _holds_lone_surrogates(bytes) or _holds_byte_order_mark(bytes)


static func _holds_lone_surrogates(bytes: PackedByteArray) -> bool:
	return bytes.hex_encode().contains("edb080eda080")


static func _holds_byte_order_mark(bytes: PackedByteArray) -> bool:
	return bytes.hex_encode().contains("efbbbf") and Oracle.engine_encode(Oracle.engine_decode(bytes)) != bytes
