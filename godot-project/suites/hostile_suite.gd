## Broken and hostile input: the codec accepts and rejects the same bytes as the engine, with the same values.
extends "res://suites/suite.gd"

const Crafted := preload("res://suites/crafted.gd")
const Mutations := preload("res://suites/mutations.gd")
const Refusals := preload("res://suites/refusals.gd")
const Samples := preload("res://suites/samples.gd")

## Samples of up to this many bytes are truncated at every byte, larger samples at this many offsets.
const CUTS := 150

## Each bit of the first FLIPPED_BYTES bytes is flipped, one at a time, then RANDOM_FLIPS bits at random offsets.
const FLIPPED_BYTES := 8
const RANDOM_FLIPS := 24

## Samples up to this size get every kind of damage, larger samples only the kinds that are tested quickly.
const SMALL_BYTES := 2000
const COUNT_WORDS := 12
const COUNT_WORDS_OF_LARGE := 4

const WRONG_COUNTS: Array[int] = [0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0x40000000, 0x7ffffffc]

## The engine's limit on nested containers, if the innermost is empty.
const DEEPEST := 1025


func test_crafted_inputs() -> bool:
	for input_name in Crafted.INPUTS:
		var bytes := Crafted.INPUTS[input_name].hex_decode()
		checks.subject(bytes[0] if bytes and bytes[0] < TYPE_MAX else checks.MIXED, input_name)
		checks.no_problem("alone", Oracle.disagreement(bytes))
		checks.no_problem("inside of an Array", Oracle.disagreement(
				Wire.header(TYPE_ARRAY) + Wire.word(2) + bytes + Wire.header(TYPE_NIL)))
		checks.no_problem("as key and value", Oracle.disagreement(
				Wire.header(TYPE_DICTIONARY) + Wire.word(1) + bytes + bytes))
		checks.no_problem("with objects allowed", Oracle.disagreement(bytes, true))
	return true


## If the engine decodes a refused input, `encode` writes the value as the engine does, and `try_encode` fails.
func test_values_that_only_broken_bytes_make() -> bool:
	for input_name in Crafted.INPUTS:
		var value: Variant = Oracle.engine_decode(Crafted.INPUTS[input_name].hex_decode())
		if not Refusals.applying_to(value):
			continue
		checks.subject(TYPE_DICTIONARY, input_name)
		for nested: Variant in [value, [value], {"a": value}]:
			var bytes := Oracle.engine_encode(nested)
			checks.same_bytes("encode", bytes, Oracle.codec_encode(nested))
			checks.truth("try_decode refuses", not FastVariantCodec.try_decode(bytes).is_ok())
			checks.truth("try_encode refuses", not FastVariantCodec.try_encode(nested).is_ok())
			checks.truth("try_encode with objects refuses", not FastVariantCodec.try_encode(nested, true).is_ok())
	return true


func test_truncation_at_every_byte() -> bool:
	var generator := seeded("truncation")
	for sample in Samples.of(values, false):
		checks.subject(sample.type, sample.name)
		var size := sample.bytes.size()
		for i in mini(size, CUTS):
			var cut := i if size <= CUTS else generator.randi() % size
			checks.no_problem("cut at byte %d" % cut, Oracle.disagreement(sample.bytes.slice(0, cut)))
	return true


func test_flipped_bits() -> bool:
	_check_flipped_bits(false)
	return true


func test_flipped_bits_with_objects() -> bool:
	_check_flipped_bits(true)
	return true


## Tries every type id for every sample, and unassigned ids for one sample of each type.
func test_type_ids() -> bool:
	var seen: Dictionary[int, bool] = {}
	for sample in Samples.of(values, false):
		if sample.bytes.size() > SMALL_BYTES:
			continue
		checks.subject(sample.type, sample.name)
		var bytes := sample.bytes.duplicate()
		for id in TYPE_MAX if seen.has(sample.type) else 256:
			bytes[0] = id
			checks.no_problem("type id %d" % id, Oracle.disagreement(bytes))
		seen[sample.type] = true
	return true


func test_wrong_counts() -> bool:
	for sample in Samples.of(values, false):
		checks.subject(sample.type, sample.name)
		var words := COUNT_WORDS if sample.bytes.size() <= SMALL_BYTES else COUNT_WORDS_OF_LARGE
		for at in range(4, mini(sample.bytes.size() - 3, words * 4), 4):
			var bytes := sample.bytes.duplicate()
			var right := bytes.decode_u32(at)
			for wrong: int in WRONG_COUNTS + [right + 1, right - 1, right + 4]:
				bytes.encode_u32(at, wrong & 0xffffffff)
				checks.no_problem("%d at byte %d" % [wrong, at], Oracle.disagreement(bytes))
	return true


func test_appended_bytes() -> bool:
	var mutations := Mutations.new(seeded("appended"))
	for sample in Samples.of(values, false):
		checks.subject(sample.type, sample.name)
		for length in range(1, 9):
			checks.no_problem("%d bytes appended" % length, Oracle.disagreement(
					sample.bytes + mutations.random_bytes(length)))
		checks.no_problem("a value appended", Oracle.disagreement(sample.bytes + sample.bytes))
	return true


func test_depth_limit_of_decoding() -> bool:
	var empty_array := Wire.header(TYPE_ARRAY) + Wire.word(0)
	var array := Wire.header(TYPE_ARRAY) + Wire.word(1)
	var typed_array := Wire.header(TYPE_ARRAY, 1) + Wire.word(TYPE_ARRAY) + Wire.word(1)
	var empty_dictionary := Wire.header(TYPE_DICTIONARY) + Wire.word(0)
	var dictionary := Wire.header(TYPE_DICTIONARY) + Wire.word(1) + Wire.header(TYPE_NIL)
	var key := Wire.header(TYPE_DICTIONARY) + Wire.word(1)
	for depth: int in [2, 100, 1000, DEEPEST - 2, DEEPEST - 1, DEEPEST, DEEPEST + 1, DEEPEST + 2, 5000]:
		checks.subject(TYPE_ARRAY, "nested %d deep" % depth)
		_check_depth("arrays", Wire.repeated(array, depth - 1) + empty_array)
		_check_depth("arrays around nil", Wire.repeated(array, depth) + Wire.header(TYPE_NIL))
		_check_depth("typed arrays", Wire.repeated(typed_array, depth - 1) + empty_array)
		_check_depth("arrays cut short", Wire.repeated(array, depth))
		checks.subject(TYPE_DICTIONARY, "nested %d deep" % depth)
		_check_depth("dictionaries", Wire.repeated(dictionary, depth - 1) + empty_dictionary)
		_check_depth("dictionaries around nil", Wire.repeated(dictionary, depth) + Wire.header(TYPE_NIL))
		_check_depth("dictionaries as keys", Wire.repeated(key, depth - 1) + empty_dictionary
				+ Wire.repeated(Wire.header(TYPE_NIL), depth - 1))
		_check_depth("arrays and dictionaries", Wire.repeated(array + dictionary, depth / 2) + empty_array)
	return true


func test_depth_limit_of_encoding() -> bool:
	for depth: int in [2, 100, 1000, DEEPEST - 2, DEEPEST - 1, DEEPEST, DEEPEST + 1, DEEPEST + 2, 3000]:
		checks.subject(TYPE_ARRAY, "nested %d deep" % depth)
		_check_encoding(Values.nested_arrays(depth))
		_check_encoding([Values.nested_arrays(depth - 1), 1, {"a": Values.nested_arrays(depth - 2)}])
		checks.subject(TYPE_DICTIONARY, "nested %d deep" % depth)
		_check_encoding(Values.nested_dictionaries(depth))
	return true


func test_containers_that_contain_themselves() -> bool:
	checks.subject(TYPE_ARRAY, "contains itself")
	var array := []
	array.append(array)
	_check_encoding(array)
	checks.subject(TYPE_DICTIONARY, "contains itself")
	var dictionary := {}
	dictionary["itself"] = dictionary
	_check_encoding(dictionary)
	checks.subject(TYPE_DICTIONARY, "contains itself through an Array")
	dictionary["itself"] = [array, dictionary]
	array[0] = {"other": dictionary}
	_check_encoding(dictionary)
	_check_encoding([1, array])
	# Enough values for the threads of the pool.
	var batch := Values.filled(400, dictionary) + [7]
	checks.same_bytes("encode_batch, the last", var_to_bytes(7), Oracle.codec_encode_batch(batch)[-1])
	array.clear()
	dictionary.clear()
	return true


func _check_flipped_bits(with_objects: bool) -> void:
	var generator := seeded("flipped bits")
	for sample in Samples.of(values, with_objects):
		checks.subject(sample.type, sample.name)
		var bits := sample.bytes.size() * 8
		var first := mini(bits, FLIPPED_BYTES * 8)
		for i in first + (RANDOM_FLIPS if bits > first and bits <= SMALL_BYTES * 8 else 0):
			var bit := i if i < first else generator.randi_range(first, bits - 1)
			var bytes := sample.bytes.duplicate()
			bytes[bit >> 3] ^= 1 << (bit & 7)
			checks.no_problem("bit %d flipped" % bit, Oracle.disagreement(bytes, with_objects))


func _check_depth(what: String, bytes: PackedByteArray) -> void:
	checks.no_problem(what, Oracle.disagreement(bytes))
	checks.no_problem(what + ", with objects allowed", Oracle.disagreement(bytes, true))


func _check_encoding(value: Variant) -> void:
	var expected := Oracle.engine_encode(value)
	checks.same_bytes("encode", expected, Oracle.codec_encode(value))
	checks.same_bytes("encode with full objects", expected, Oracle.codec_encode(value, true))
	checks.same_int("encoded_size", expected.size() if expected else -1, Oracle.codec_size(value))
	checks.truth("try_encode", FastVariantCodec.try_encode(value).is_ok() == not expected.is_empty())
	checks.same_value("encode_batch", [expected, expected], Array(
			Oracle.codec_encode_batch([value, value]), TYPE_NIL, "", null))
	checks.same_value("decode", Oracle.engine_decode(expected), Oracle.codec_decode(expected))
