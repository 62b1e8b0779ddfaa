## Random values and damaged bytes: engine and codec must accept the same inputs and give the same results.
##
## The inputs that make the engine crash or hang do not occur:
## - typed code never gets typed Dictionaries with values of another type;
## - objects are reference-counted, but are not scripts, singletons or FontFiles, and their getters always
##   return the same values;
## - StreamPeer, FileAccess and offsets outside of the bytes are not used;
## - inputs stay far below 2 GiB, and are too small and random for colliding hashes;
## - script-typed Dictionaries, which the engine decodes wrongly, are left to value_suite.gd.
extends "res://suites/soak/activity.gd"

## The maximum size of an edge value in bytes. Small values find more bugs in the same time.
const SAMPLE_BYTES := 2000
## The codec splits larger values into parts of this size.
const PART_BYTES := 65536
## `cargo xtask soak` reads the number after this text.
const LEAKS_OF_ENGINE := "Inputs of which the engine leaks objects"

## The number of cases of each kind among a thousand.
var _kinds: Dictionary[Callable, int] = {
	_try_value: 220, _try_bytes: 470, _try_objects: 80, _try_batch: 40, _try_buffers: 40, _try_limits: 147, _try_large: 3,
}
var _mutations := Mutations.new(generator)
var _values := RandomValues.new(generator)
var _bytes := RandomBytes.new(generator)
var _table := Values.new()
var _samples: Array[PackedByteArray] = []
var _object_samples: Array[PackedByteArray] = []
## As loose as the engine, with and without objects.
var _with_objects := FastVariantLimits.for_save_files()
var _loose := FastVariantLimits.for_save_files()
var _input: PackedByteArray
var _leaks_of_engine := 0


func begin() -> bool:
	for sample in Samples.of(_table, false):
		if sample.bytes.size() <= SAMPLE_BYTES:
			_samples.append(sample.bytes)
	for input_name in Crafted.INPUTS:
		_samples.append(Crafted.INPUTS[input_name].hex_decode())
	for sample in Samples.of(_table, true):
		if sample.bytes.size() <= SAMPLE_BYTES:
			_object_samples.append(sample.bytes)
	_with_objects.allow_objects = true
	_with_objects.allow_trailing_bytes = true
	_loose.allow_trailing_bytes = true
	return true


func run_case() -> int:
	var ticket := generator.randi() % 1000
	for kind in _kinds:
		ticket -= _kinds[kind]
		if ticket < 0:
			_input = PackedByteArray()
			var problem: Variant = kind.call()
			var text: String = problem if problem is String else "a script error ended the case"
			check(kind.get_method(), text.is_empty(), "%s\n      input %s" % [text, _input.hex_encode()])
			count(kind.get_method().trim_prefix("_try_"))
			break
	return 1


func end() -> void:
	_table.release()
	count("inputs", Oracle.asked)
	count("accepted by the engine", Oracle.accepted)
	for refusal in Refusals.REASONS:
		count("refused: " + refusal, Refusals.met.get(refusal, 0))
	count("not repeated by the engine", Oracle.unrepeatable)
	count("typed by a script", Oracle.scripted)
	print("%s: %d" % [LEAKS_OF_ENGINE, _leaks_of_engine])


## Remembers the input for the message about a failure. With --case, prints the input before the call, so that it is
## known after a crash.
func _trying(input: PackedByteArray) -> PackedByteArray:
	_input = input
	if options["case"] >= 0:
		print("  trying %s" % input.hex_encode())
	return input


func _try_value() -> String:
	return _value_problem(_random_value())


func _try_bytes() -> String:
	var bytes := _trying(_random_input())
	var problem := Oracle.disagreement(bytes)
	if not problem:
		problem = _view_problem(bytes)
	if not problem and generator.randi() % 4 == 0:
		# Broken bytes give values that no script makes.
		problem = _value_problem(Oracle.engine_decode(bytes))
	return problem


## Checks that a view finds the engine's values or returns an error.
func _view_problem(bytes: PackedByteArray) -> String:
	var expected: Variant = Oracle.engine_decode(bytes)
	var view := FastVariantView.open(bytes, _loose)
	var steps: Array = expected.keys() if expected is Dictionary else range(expected.size()) if expected is Array else []
	# Does not look up by key, because the engine prints errors when it hashes deeply nested keys.
	var values: Variant = expected.values() if expected is Dictionary else expected
	for i in mini(steps.size(), 10):
		var found := view.try_fetch([steps[i]])
		if found.is_ok() and Compare.difference(values[i], found.value):
			return "a view finds another value at %s" % [steps[i]]
	return ""


func _try_objects() -> String:
	var bytes := _bytes.with_objects() if generator.randi() % 2 else _any_of(_object_samples)
	if generator.randi() % 2:
		bytes = _mutations.mutated(bytes, _bytes.with_objects())
	_trying(bytes)
	var before := Performance.get_monitor(Performance.OBJECT_COUNT)
	var problem := _objects_problem(bytes)
	if not problem and Performance.get_monitor(Performance.OBJECT_COUNT) != before:
		problem = _leak_problem(bytes)
	return problem


func _objects_problem(bytes: PackedByteArray) -> String:
	var problem := Oracle.disagreement(bytes, true)
	var outcome := Oracle.codec_try_decode(bytes, _with_objects)
	if problem or not outcome.is_ok():
		return problem
	var expected: Variant = Oracle.engine_decode(bytes, true)
	var found := Compare.difference(expected, outcome.value)
	if found and (typeof(expected) != typeof(outcome.value) or Oracle.is_reference(bytes, expected, true)):
		problem = "try_decode differs from the engine: %s" % found
	Oracle.release(expected)
	Oracle.release(outcome.value)
	return problem


## If the engine refuses a value halfway, it leaks objects that are not reference-counted. The codec must not.
func _leak_problem(bytes: PackedByteArray) -> String:
	var before := Performance.get_monitor(Performance.OBJECT_COUNT)
	Oracle.release(Oracle.codec_decode(bytes, true))
	Oracle.release(Oracle.codec_try_decode(bytes, _with_objects).value)
	var left := Performance.get_monitor(Performance.OBJECT_COUNT) - before
	if left:
		return "decode or try_decode leaks %d objects" % left
	_leaks_of_engine += 1
	return ""


func _try_batch() -> String:
	var batch: Array = []
	var buffers: Array[PackedByteArray] = []
	var full: Array[PackedByteArray] = []
	var framed := PackedByteArray()
	for i in generator.randi_range(1, 12):
		batch.append(_random_value())
		buffers.append(Oracle.engine_encode(batch[i]))
		full.append(Oracle.engine_encode(batch[i], true))
		framed += Wire.word(buffers[i].size()) + buffers[i]
	_trying(framed)
	if Oracle.codec_encode_batch(batch) != buffers:
		return "encode_batch differs from the engine"
	if Oracle.codec_encode_batch(batch, true) != full:
		return "encode_batch with objects differs from the engine"
	if FastVariantCodec.pack_batch(batch) != framed:
		return "pack_batch differs from the engine"
	return _buffers_problem(buffers)


func _try_buffers() -> String:
	var buffers: Array[PackedByteArray] = []
	for i in generator.randi_range(1, 12):
		buffers.append(_random_input())
	return _buffers_problem(buffers)


## Tries one value of many parts, often with some damage.
func _try_large() -> String:
	var shape := generator.randi() % 4
	_bytes.odd = 2000
	var pieces := _bytes.strings(30) if shape == 3 else _large_pieces()
	_bytes.odd = 50
	var piece_bytes := Wire.joined(pieces)
	var repeats := PART_BYTES * generator.randi_range(1, 4) / piece_bytes.size() + 1
	var count := Wire.word(pieces.size() * repeats)
	var bytes := Wire.repeated(piece_bytes, repeats)
	match shape:
		0:
			bytes = Wire.header(TYPE_DICTIONARY) + count
			for i in pieces.size() * repeats:
				bytes += var_to_bytes(i) + pieces[i % pieces.size()]
		1:
			bytes = Wire.header(TYPE_ARRAY) + count + bytes
		2:
			bytes = Wire.header(TYPE_ARRAY, 1) + Wire.word(pieces[0][0]) + count + bytes
		3:
			bytes = Wire.header(TYPE_PACKED_STRING_ARRAY) + count + bytes
	if generator.randi() % 4 == 0:
		var nil := Wire.header(TYPE_NIL)
		bytes = Wire.header(TYPE_DICTIONARY) + Wire.word(2) + nil + bytes + var_to_bytes("more") + nil
	if generator.randi() % 2:
		bytes = _mutations.mutated(bytes, _any_of(pieces))
	var problem := _all_limits_problem(bytes) if generator.randi() % 2 else Oracle.disagreement(_trying(bytes))
	return problem if problem else _value_problem(Oracle.engine_decode(bytes))


func _large_pieces() -> Array[PackedByteArray]:
	if generator.randi() % 2:
		return _bytes.rows()
	var pieces: Array[PackedByteArray] = []
	while pieces.size() < 4 or Wire.joined(pieces).size() < 200:
		pieces.append(_bytes.outermost() if generator.randi() % 4 == 0 else Oracle.engine_encode(_random_value()))
	return pieces


func _try_limits() -> String:
	return _all_limits_problem(_random_input() if generator.randi() % 4 == 0 else Oracle.engine_encode(_random_value()))


func _all_limits_problem(bytes: PackedByteArray) -> String:
	_trying(bytes)
	var most := FastVariantCodec.try_decode(bytes, _loose)
	if most.is_ok() and most.bytes_read != Oracle.engine_consumed(bytes):
		return "trailing bytes: read %d bytes, the engine %d" % [most.bytes_read, Oracle.engine_consumed(bytes)]
	var problem := Oracle.disagreement(bytes)
	if not problem:
		problem = _offset_problem(bytes, most)
	for preset: FastVariantLimits in [
		_loose, FastVariantLimits.for_save_files(), FastVariantLimits.for_network(),
	]:
		for limits: FastVariantLimits in [preset, _changed(preset, bytes.size())]:
			if not problem:
				problem = _limits_problem(bytes, limits, most)
	return problem


## Checks that bytes give the same result alone and after other bytes.
func _offset_problem(bytes: PackedByteArray, alone: FastVariantResult) -> String:
	var start := generator.randi() % 8
	var outcome := FastVariantCodec.try_decode(_mutations.random_bytes(start) + bytes, _loose, start)
	if outcome.error != alone.error or outcome.bytes_read != alone.bytes_read:
		return "reads otherwise behind %d bytes" % start
	if outcome.offset != alone.offset + start:
		return "gives byte %d behind %d bytes, %d without" % [outcome.offset, start, alone.offset]
	var found := Compare.difference(alone.value, outcome.value)
	return "another value behind %d bytes: %s" % [start, found] if found else ""


## A copy of `preset` with one or two limits close to the needs of a value of this size.
func _changed(preset: FastVariantLimits, size: int) -> FastVariantLimits:
	var limits: FastVariantLimits = preset.duplicate()
	for i in generator.randi_range(1, 2):
		match generator.randi() % 6:
			0:
				limits.max_bytes = size + generator.randi_range(-2, 2)
			1:
				limits.max_depth = generator.randi() % 6
			2:
				limits.max_elements = generator.randi() % (2 + size / 8)
			3:
				limits.max_memory = generator.randi() % (1 + size * 20)
			4:
				limits.allow_trailing_bytes = not limits.allow_trailing_bytes
			5:
				limits.allowed_types ^= 1 << (generator.randi() % TYPE_MAX)
	return limits


## Checks that decoding within limits, by several threads if the value is large, gives an error or the same
## value as without limits. `validate`, which runs on one thread and without the engine, must agree.
func _limits_problem(bytes: PackedByteArray, limits: FastVariantLimits, most: FastVariantResult) -> String:
	var outcome := FastVariantCodec.try_decode(bytes, limits)
	var checked := FastVariantCodec.validate(bytes, limits)
	if [outcome.error, outcome.message, outcome.offset] != [checked.error, checked.message, checked.offset]:
		return "\"%s\", but validate says \"%s\": %s" % [outcome.message, checked.message, limits]
	if outcome.is_ok():
		if not most.is_ok() or outcome.bytes_read != most.bytes_read:
			return "read %d bytes, %d without limits: %s" % [outcome.bytes_read, most.bytes_read, limits]
		var found := Compare.difference(most.value, outcome.value)
		return "another value with limits: %s: %s" % [found, limits] if found else ""
	if outcome.value != null or not outcome.message or outcome.offset < 0 or outcome.offset > bytes.size():
		return "refused at byte %d of %d without a message and a null value: %s" % [outcome.offset, bytes.size(), limits]
	return ""


## Checks that a value is encoded as the engine encodes it, and decoded again.
func _value_problem(value: Variant) -> String:
	var expected := Oracle.engine_encode(value)
	_trying(expected)
	var actual := Oracle.codec_encode(value)
	if actual != expected:
		return "encode: %s" % Compare.hex_difference(expected, actual)
	var size := Oracle.codec_size(value)
	# The engine can read some values that it cannot write, because they are nested too deeply.
	var expected_size := expected.size() if expected else -1
	if size != expected_size:
		return "encoded_size is %d, not %d" % [size, expected_size]
	var full := Oracle.engine_encode(value, true)
	var actual_full := Oracle.codec_encode(value, true)
	if actual_full != full:
		return "encode with objects: %s" % Compare.hex_difference(full, actual_full)
	var outcome := FastVariantCodec.try_encode(value)
	if outcome.is_ok():
		if outcome.value != expected:
			return "try_encode: %s" % Compare.hex_difference(expected, outcome.value)
		var again := FastVariantCodec.try_decode(expected)
		if not again.is_ok():
			return "try_encode accepts what try_decode refuses: %s" % again.message
	elif outcome.value != null or outcome.error == FastVariantCodec.OK or not outcome.message:
		return "try_encode failed without an error, a message and a null value"
	return Oracle.disagreement(expected)


## Checks that a batch gives the results of its single buffers, including errors.
func _buffers_problem(buffers: Array[PackedByteArray]) -> String:
	var decoded := Oracle.codec_decode_batch(buffers)
	if decoded.size() != buffers.size():
		return "decode_batch gives %d values for %d buffers" % [decoded.size(), buffers.size()]
	var framed := PackedByteArray()
	for i in buffers.size():
		_trying(buffers[i])
		var problem := Oracle.disagreement(buffers[i])
		if not problem:
			problem = _repeated_problem(Oracle.codec_decode(buffers[i]), decoded[i], buffers[i])
		if problem:
			return "buffer %d of a batch: %s" % [i, problem]
		framed += Wire.word(buffers[i].size()) + buffers[i]
	if generator.randi() % 2:
		framed = _mutations.mutated(framed, framed)
	return _frames_problem(_trying(framed))


## Checks that a packed batch gives its records up to the first torn or bad one.
func _frames_problem(framed: PackedByteArray) -> String:
	var outcome := FastVariantCodec.unpack_batch(framed)
	var at := 0
	var records := 0
	while framed.size() - at >= 4 and framed.decode_u32(at) <= framed.size() - at - 4:
		var bytes := framed.slice(at + 4, at + 4 + framed.decode_u32(at))
		var single := FastVariantCodec.try_decode(bytes)
		if not single.is_ok():
			break
		if records >= outcome.value.size():
			return "unpack_batch ends before record %d" % records
		var problem := _repeated_problem(single.value, outcome.value[records], bytes)
		if problem:
			return "record %d: %s" % [records, problem]
		records += 1
		at += 4 + bytes.size()
	if outcome.value.size() != records or outcome.bytes_read != at:
		return "unpack_batch gives %d records in %d bytes, not %d in %d" % [
			outcome.value.size(), outcome.bytes_read, records, at,
		]
	if outcome.is_ok() != (at == framed.size()) or outcome.failed.has(records) == outcome.is_ok():
		return "unpack_batch does not tell whether record %d is bad" % records
	return ""


## The difference between two codec results; empty if there is none or the engine does not reproduce the input.
func _repeated_problem(expected: Variant, actual: Variant, bytes: PackedByteArray) -> String:
	var found := Compare.difference(expected, actual)
	if not found or not Oracle.engine_repeats(bytes, Oracle.engine_decode(bytes)):
		return ""
	return "differs from the single answer: %s" % found


func _random_value() -> Variant:
	return _values.nested() if generator.randi() % 4 else _values.value(0)


## Encoded values of all kinds, most of them damaged.
func _random_input() -> PackedByteArray:
	var bytes := _random_source()
	if generator.randi() % 8 == 0:
		bytes = _mutations.nested(bytes, _random_source()) if bytes else bytes
	elif generator.randi() % 8:
		bytes = _mutations.mutated(bytes, _random_source())
	return bytes


func _random_source() -> PackedByteArray:
	match generator.randi() % 16:
		0:
			return Wire.header(generator.randi() % TYPE_MAX) + _mutations.random_words(generator.randi() % 24)
		1:
			return _mutations.random_bytes(generator.randi() % 64)
		2, 3, 4, 5:
			return Oracle.engine_encode(_random_value())
		6, 7, 8:
			return _any_of(_samples)
	return _bytes.outermost()


func _any_of(buffers: Array[PackedByteArray]) -> PackedByteArray:
	return buffers[generator.randi() % buffers.size()]
