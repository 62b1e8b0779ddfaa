## Random nested values of all types: single, in batches, with objects, and with one flipped bit in their bytes.
extends "res://suites/suite.gd"

const RandomValues := preload("res://suites/random_values.gd")

const BATCH := 500


func test_random_values() -> bool:
	var generator := seeded("random values")
	var random := RandomValues.new(generator)
	var done := 0
	while done < random_count:
		var size := mini(BATCH, random_count - done)
		_check_batch(random, size, generator)
		done += size
	return true


## Values of every type in turn, nested in containers.
func test_random_values_of_every_type() -> bool:
	var random := RandomValues.new(seeded("every type"))
	for type in TYPE_MAX:
		checks.subject(type, "random values")
		for i in 100:
			_check_value([{"value": random.of_type(type, 1)}])
	return true


func _check_batch(random: RandomValues, size: int, generator: RandomNumberGenerator) -> void:
	var batch: Array = []
	var expected: Array[PackedByteArray] = []
	for i in size:
		var value: Variant = random.nested()
		checks.subject(typeof(value), "random values")
		batch.append(value)
		expected.append(_check_value(value))
		var changed := expected[i].duplicate()
		changed[generator.randi() % changed.size()] ^= 1 << (generator.randi() & 7)
		checks.no_problem("one bit flipped", Oracle.disagreement(changed))
	checks.subject(TYPE_ARRAY, "batches of random values")
	checks.same_value("encode_batch", expected, Oracle.codec_encode_batch(batch))
	var decoded := Oracle.codec_decode_batch(expected)
	for i in size:
		checks.same_value("decode_batch", Oracle.engine_decode(expected[i]), decoded[i])
	var full: Array[PackedByteArray] = []
	for value: Variant in batch:
		full.append(Oracle.engine_encode(value, true))
	checks.same_value("encode_batch with objects", full, Oracle.codec_encode_batch(batch, true))


func _check_value(value: Variant) -> PackedByteArray:
	var expected := Oracle.engine_encode(value)
	checks.same_bytes("encode", expected, Oracle.codec_encode(value))
	checks.same_int("encoded_size", expected.size(), Oracle.codec_size(value))
	checks.no_problem("decode", Oracle.disagreement(expected))
	return expected
