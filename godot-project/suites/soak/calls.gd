## Calls every method repeatedly, on valid and broken input; memory and objects must not grow.
##
## A case encodes and decodes every edge value, and then makes every kind of batch once. `cargo xtask soak` also checks
## for leaks that the engine reports when it exits.
extends "res://suites/soak/activity.gd"

## The number of elements of values that are large enough for several threads.
const LARGE := 20000
const BATCH := 50
## The minimum number of calls of a long run. A shorter run may grow more, because it has few samples, and a
## sample may follow a large batch.
const LONG := 1_000_000


## A value, and its bytes without and with objects.
class Subject:
	extends RefCounted
	var value: Variant
	var bytes: PackedByteArray
	var full_bytes: PackedByteArray
	## The type of the decoded value, which may differ from the type of `value`: an empty reference is read as
	## Nil.
	var decoded_type: int
	## Whether normal and strict methods accept the value in both directions, so that nothing is printed.
	var is_good: bool
	## Like `is_good`, but for the encoding with full objects; false if both encodings are the same.
	var is_good_object: bool


var _subjects: Array[Subject] = []
var _good: Array[Subject] = []
var _objects: Array[Subject] = []
var _large: Array = []
var _limits: Array[FastVariantLimits] = []
var _with_objects := FastVariantLimits.for_save_files()
var _batch_kinds: Array[Callable] = [
	_good_batch, _good_batch, _good_batch, _broken_batch, _broken_batch, _object_batch, _every_value_batch, _large_batch,
]
var _table := Values.new()
## The number of calls of the running case.
var _calls := 0


func begin() -> bool:
	watches_memory = true
	_prepare()
	return true


func run_case() -> int:
	_calls = 0
	_call_all()
	for batch in _batch_kinds:
		batch.call()
	count("calls", _calls)
	count("batches", _batch_kinds.size())
	return _calls


func end() -> void:
	_subjects.clear()
	_good.clear()
	_objects.clear()
	_table.release()


func slack(units: int) -> int:
	return 24 if units < LONG else 8


func _prepare() -> void:
	Engine.print_error_messages = false
	_with_objects.allow_objects = true
	for case in _table.cases:
		var subject := Subject.new()
		subject.value = case.value
		subject.bytes = var_to_bytes(case.value)
		subject.decoded_type = typeof(bytes_to_var(subject.bytes))
		subject.full_bytes = var_to_bytes_with_objects(case.value)
		subject.is_good = (FastVariantCodec.try_encode(case.value).is_ok()
				and FastVariantCodec.try_decode(subject.bytes).is_ok())
		if subject.full_bytes and subject.full_bytes != subject.bytes:
			var decoded := FastVariantCodec.try_decode(subject.full_bytes, _with_objects)
			subject.is_good_object = decoded.is_ok() and FastVariantCodec.try_encode(case.value, true).is_ok()
			Oracle.release(decoded.value)
			_objects.append(subject)
		if subject.bytes:
			_subjects.append(subject)
		if subject.is_good:
			_good.append(subject)
	Engine.print_error_messages = true

	var entries := {}
	var texts := PackedStringArray()
	var records := []
	for i in LARGE:
		entries["k%d" % i] = [i, i * 0.5, "v%d" % (i % 100)]
		texts.append("é%d" % i if i % 3 else "text")
		records.append({"id": i, "name": &"entity", "at": Vector3(i, 0, 1)})
	_large = [range(2 * LARGE), entries, texts, records, [1, {"a": [entries]}, 2]]

	for property: String in ["max_bytes", "max_depth", "max_elements", "max_memory", "allowed_types"]:
		var limits := FastVariantLimits.for_network()
		limits.set(property, 1)
		_limits.append(limits)
	_limits.append_array([null, FastVariantLimits.for_network(), FastVariantLimits.for_save_files()])


## Encodes every value and decodes its bytes, intact and damaged, with and without full objects.
func _call_all() -> void:
	for subject in _good:
		_call_good(subject)
	Engine.print_error_messages = false
	for subject in _subjects:
		_call_broken(subject)
	Engine.print_error_messages = true
	for subject in _objects:
		if subject.is_good_object:
			_call_objects(subject)
	Engine.print_error_messages = false
	for subject in _objects:
		_call_broken_objects(subject)
	Engine.print_error_messages = true


func _call_good(subject: Subject) -> void:
	var value: Variant = subject.value
	var bytes := subject.bytes
	check("encode", FastVariantCodec.encode(value) == bytes)
	check("encoded_size", FastVariantCodec.encoded_size(value) == bytes.size())
	check("try_encode", FastVariantCodec.try_encode(value).value == bytes)
	check("decode", typeof(FastVariantCodec.decode(bytes)) == subject.decoded_type)
	check("try_decode", FastVariantCodec.try_decode(bytes).bytes_read == bytes.size())
	var limits: FastVariantLimits = _limits[(_calls + case) % _limits.size()]
	var outcome := FastVariantCodec.try_decode(bytes, limits)
	check("try_decode with limits", outcome.is_ok() == outcome.message.is_empty())
	_calls += 6


func _call_broken(subject: Subject) -> void:
	var cut := subject.bytes.slice(0, generator.randi() % subject.bytes.size())
	var flipped := _flipped(subject.bytes)
	FastVariantCodec.decode(cut)
	FastVariantCodec.decode(flipped)
	FastVariantCodec.try_decode(cut, _limits[(_calls + case) % _limits.size()])
	FastVariantCodec.try_decode(flipped)
	check("decode of a byte too few", FastVariantCodec.decode(subject.bytes.slice(0, 3)) == null)
	if not subject.is_good:
		FastVariantCodec.encode(subject.value)
		FastVariantCodec.encoded_size(subject.value)
		FastVariantCodec.try_encode(subject.value)
		_calls += 3
	_calls += 5


func _call_objects(subject: Subject) -> void:
	var bytes := subject.full_bytes
	check("encode with objects", FastVariantCodec.encode(subject.value, true) == bytes)
	check("encoded_size with objects", FastVariantCodec.encoded_size(subject.value, true) == bytes.size())
	check("try_encode with objects", FastVariantCodec.try_encode(subject.value, true).is_ok())
	var decoded: Variant = FastVariantCodec.decode(bytes, true)
	check("decode with objects", typeof(decoded) == typeof(subject.value))
	Oracle.release(decoded)
	var outcome := FastVariantCodec.try_decode(bytes, _with_objects)
	check("try_decode with objects", outcome.is_ok())
	Oracle.release(outcome.value)
	_calls += 5


func _call_broken_objects(subject: Subject) -> void:
	var cut := subject.full_bytes.slice(0, generator.randi() % subject.full_bytes.size())
	var flipped := _flipped(subject.full_bytes)
	for bytes: PackedByteArray in [cut, flipped]:
		Oracle.release(FastVariantCodec.try_decode(bytes, _with_objects).value)
		# If damage makes keys equal, one value replaces another, and the Nodes of the replaced value become
		# unreachable, as in the engine.
		if subject.value is not Dictionary:
			Oracle.release(FastVariantCodec.decode(bytes, true))
	FastVariantCodec.decode(subject.full_bytes)
	_calls += 5


func _good_batch() -> void:
	var batch := []
	var expected: Array[PackedByteArray] = []
	var start := generator.randi() % _good.size()
	for i in BATCH:
		var subject := _good[(start + i) % _good.size()]
		batch.append(subject.value)
		expected.append(subject.bytes)
	_check_batch(batch, expected)


func _every_value_batch() -> void:
	var batch := []
	var expected: Array[PackedByteArray] = []
	for subject in _good:
		batch.append(subject.value)
		expected.append(subject.bytes)
	_check_batch(batch, expected)


func _check_batch(batch: Array, expected: Array[PackedByteArray]) -> void:
	check("encode_batch", FastVariantCodec.encode_batch(batch) == expected)
	check("decode_batch", FastVariantCodec.decode_batch(expected).size() == batch.size())
	var outcome := FastVariantCodec.unpack_batch(FastVariantCodec.pack_batch(batch))
	check("unpack_batch", outcome.is_ok() and outcome.value.size() == batch.size())


func _broken_batch() -> void:
	var buffers := []
	var values := []
	for i in BATCH:
		var subject := _subjects[generator.randi() % _subjects.size()]
		buffers.append(_flipped(subject.bytes) if i % 2 else subject.bytes)
		values.append(subject.value)
	buffers.append(7)
	Engine.print_error_messages = false
	check("decode_batch, broken", FastVariantCodec.decode_batch(buffers).size() == buffers.size())
	check("encode_batch, broken", FastVariantCodec.encode_batch(values).size() == values.size())
	FastVariantCodec.pack_batch(values)
	Engine.print_error_messages = true
	var packed := FastVariantCodec.pack_batch(_good.slice(0, BATCH).map(func(subject: Subject) -> Variant: return subject.value))
	var outcome := FastVariantCodec.unpack_batch(packed.slice(0, -1), _limits[case % _limits.size()])
	check("unpack_batch, torn", not outcome.is_ok() and outcome.get_item_error(outcome.failed[0]) != "")


func _object_batch() -> void:
	var batch := []
	var buffers := []
	for subject in _objects:
		if subject.is_good_object:
			batch.append(subject.value)
		if subject.value is not Dictionary:
			buffers.append(_flipped(subject.full_bytes))
	var encoded := FastVariantCodec.encode_batch(batch, true)
	for decoded: Array in [
			FastVariantCodec.decode_batch(encoded, true),
			FastVariantCodec.unpack_batch(FastVariantCodec.pack_batch(batch, true), _with_objects).value]:
		check("batch with objects", decoded.size() == batch.size())
		Oracle.release(decoded)
	Engine.print_error_messages = false
	Oracle.release(FastVariantCodec.decode_batch(buffers, true))
	Engine.print_error_messages = true


## Calls methods on one large value, alone and in a batch, intact and damaged.
func _large_batch() -> void:
	var value: Variant = _large[generator.randi() % _large.size()]
	var bytes := FastVariantCodec.encode(value)
	check("large value", FastVariantCodec.decode(bytes) == value)
	check("large value in a batch", FastVariantCodec.decode_batch(FastVariantCodec.encode_batch([value, 1]))[0] == value)
	Engine.print_error_messages = false
	FastVariantCodec.decode(_flipped(bytes))
	check("large value, torn", FastVariantCodec.decode(bytes.slice(0, -4)) == null)
	Engine.print_error_messages = true
	_calls += 4


func _flipped(bytes: PackedByteArray) -> PackedByteArray:
	var flipped := bytes.duplicate()
	# Mostly near the start, where the types and counts are.
	var places := mini(bytes.size(), 64) if generator.randi() % 2 else bytes.size()
	flipped[generator.randi() % places] ^= 1 << (generator.randi() & 7)
	return flipped
