## Calls every method again and again, on good and on broken input, and fails if memory or objects keep growing.
##
## godot --headless --verbose --path godot-project --script res://suites/endure.gd -- \
##     [--calls N] [--batches N] [--seed N] [--slack MIB]
## What is alive is counted between rounds of calls, when nothing of theirs is left. `cargo xtask endure` runs it and
## looks for leaks that the engine reports at its end.
extends SceneTree

const Extension := preload("res://suites/extension.gd")
const Options := preload("res://suites/options.gd")
const Memory := preload("res://bench/memory.gd")
const Oracle := preload("res://suites/oracle.gd")
const Values := preload("res://suites/values.gd")

const SAMPLES := 10

const PRINTED_FAILURES := 20


## Elements of the values that are large enough for several threads.
const LARGE := 20000

const BATCH := 50


## A value, its bytes without and with objects, and what the codec makes of them.
class Subject:
	extends RefCounted
	var value: Variant
	var bytes: PackedByteArray
	var full_bytes: PackedByteArray
	## Not always the value's own: what refers to nothing is read as Nil.
	var decoded_type: int
	## Both manners take it, both ways, so that nothing is printed.
	var is_good: bool
	## The same with objects in full, where that makes a difference.
	var is_good_object: bool


## What is alive between two rounds.
class Sample:
	extends RefCounted
	var calls: int
	var batches: int
	var seconds: float
	var objects: int
	var resources: int
	var nodes: int
	var static_bytes: int
	var resident_bytes: int


var _calls_wanted: int
var _batches_wanted: int
## How far apart, in MiB, what the process needs at least may be in the two halves of the run.
var _slack: int
var _generator := RandomNumberGenerator.new()

var _subjects: Array[Subject] = []
var _good: Array[Subject] = []
var _objects: Array[Subject] = []
var _large: Array = []
var _limits: Array[FastVariantLimits] = []
var _with_objects := FastVariantLimits.for_save_files()
var _batch_kinds: Array[Callable] = [
	_good_batch, _good_batch, _good_batch, _broken_batch, _broken_batch, _object_batch, _every_value_batch, _large_batch,
]

var _calls := 0
var _batches := 0
var _passed := 0
var _failed := 0


func _initialize() -> void:
	quit(1)  # Stands if a script error ends this function early.
	if not Extension.is_loaded() or not _read_options():
		return
	var values := Values.new()
	_prepare(values)
	print("%d calls and %d batches over %d values, %d of them with objects; Godot %s" % [
		_calls_wanted, _batches_wanted, _subjects.size(), _objects.size(), Engine.get_version_info()["string"],
	])
	_judge(_run())
	_subjects.clear()
	_good.clear()
	_objects.clear()
	values.release()
	print("\n%d passed, %d failed" % [_passed, _failed])
	quit(0 if _failed == 0 else 1)


func _read_options() -> bool:
	var options: Dictionary[String, int] = {"calls": 10_000_000, "batches": 10_000, "slack": 8, "seed": 20260101}
	if not Options.read(options, get_script()):
		return false
	_calls_wanted = options["calls"]
	_batches_wanted = options["batches"]
	_slack = options["slack"]
	_generator.seed = options["seed"]
	return true


func _prepare(values: Values) -> void:
	Engine.print_error_messages = false
	_with_objects.allow_objects = true
	for case in values.cases:
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

	for property: String in ["max_bytes", "max_depth", "max_elements", "max_dictionary_entries", "max_memory", "allowed_types"]:
		var limits := FastVariantLimits.for_network()
		limits.set(property, 1)
		_limits.append(limits)
	_limits.append_array([null, FastVariantLimits.for_network(), FastVariantLimits.unlimited()])


## Rounds until there were as many calls and batches as wanted. The first sample is taken after a tenth.
func _run() -> Array[Sample]:
	# Made before the first count, because they are counted, too.
	var samples: Array[Sample] = []
	for i in SAMPLES:
		samples.append(Sample.new())
	var taken := 0
	var started := Time.get_ticks_msec()
	print("\n%10s %8s %8s %10s %10s %10s %14s %14s" % [
		"calls", "batches", "seconds", "objects", "resources", "nodes", "engine bytes", "resident KiB",
	])
	while _calls < _calls_wanted or _batches < _batches_wanted:
		_round()
		while _batches < _batches_wanted and _batches * _calls_wanted < _calls * _batches_wanted:
			_batch_kinds[_batches % _batch_kinds.size()].call()
			_batches += 1
		if taken < SAMPLES and _calls * SAMPLES >= _calls_wanted * (taken + 1):
			_take(samples[taken], started)
			taken += 1
	return samples.slice(0, taken)


func _take(sample: Sample, started: int) -> void:
	sample.calls = _calls
	sample.batches = _batches
	sample.seconds = (Time.get_ticks_msec() - started) / 1000.0
	sample.objects = roundi(Performance.get_monitor(Performance.OBJECT_COUNT))
	sample.resources = roundi(Performance.get_monitor(Performance.OBJECT_RESOURCE_COUNT))
	sample.nodes = roundi(Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT))
	sample.static_bytes = OS.get_static_memory_usage()
	sample.resident_bytes = Memory.bytes("VmRSS")
	print("%10d %8d %8.1f %10d %10d %10d %14d %14d" % [
		sample.calls, sample.batches, sample.seconds, sample.objects, sample.resources, sample.nodes,
		sample.static_bytes, sample.resident_bytes >> 10,
	])


func _judge(samples: Array[Sample]) -> void:
	_check("long enough to compare", samples.size() > 1)
	var first := samples[0]
	var last := samples[-1]
	_check("objects", last.objects == first.objects)
	_check("resources", last.resources == first.resources)
	_check("nodes", last.nodes == first.nodes)
	_check("engine memory", last.static_bytes <= first.static_bytes)
	# What the allocators keep goes up and down; what is lost stays below all of it.
	var half := samples.size() / 2
	_check("resident memory", _lowest(samples.slice(half)) - _lowest(samples.slice(0, half)) <= _slack << 20)


func _lowest(samples: Array[Sample]) -> int:
	return samples.map(func(sample: Sample) -> int: return sample.resident_bytes).min()


## Every method that takes one value, on every value.
func _round() -> void:
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
	_check("encode", FastVariantCodec.encode(value) == bytes)
	_check("encoded_size", FastVariantCodec.encoded_size(value) == bytes.size())
	_check("try_encode", FastVariantCodec.try_encode(value).value == bytes)
	_check("decode", typeof(FastVariantCodec.decode(bytes)) == subject.decoded_type)
	_check("try_decode", FastVariantCodec.try_decode(bytes).bytes_read == bytes.size())
	var limits: FastVariantLimits = _limits[_calls % _limits.size()]
	var outcome := FastVariantCodec.try_decode(bytes, limits)
	_check("try_decode with limits", outcome.is_ok() == outcome.message.is_empty())
	_calls += 6


func _call_broken(subject: Subject) -> void:
	var cut := subject.bytes.slice(0, _generator.randi() % subject.bytes.size())
	var flipped := _flipped(subject.bytes)
	FastVariantCodec.decode(cut)
	FastVariantCodec.decode(flipped)
	FastVariantCodec.try_decode(cut, _limits[_calls % _limits.size()])
	FastVariantCodec.try_decode(flipped)
	_check("decode of a byte too few", FastVariantCodec.decode(subject.bytes.slice(0, 3)) == null)
	if not subject.is_good:
		FastVariantCodec.encode(subject.value)
		FastVariantCodec.encoded_size(subject.value)
		FastVariantCodec.try_encode(subject.value)
		_calls += 3
	_calls += 5


func _call_objects(subject: Subject) -> void:
	var bytes := subject.full_bytes
	_check("encode with objects", FastVariantCodec.encode(subject.value, true) == bytes)
	_check("encoded_size with objects", FastVariantCodec.encoded_size(subject.value, true) == bytes.size())
	_check("try_encode with objects", FastVariantCodec.try_encode(subject.value, true).is_ok())
	var decoded: Variant = FastVariantCodec.decode(bytes, true)
	_check("decode with objects", typeof(decoded) == typeof(subject.value))
	Oracle.release(decoded)
	var outcome := FastVariantCodec.try_decode(bytes, _with_objects)
	_check("try_decode with objects", outcome.is_ok())
	Oracle.release(outcome.value)
	_calls += 5


func _call_broken_objects(subject: Subject) -> void:
	var cut := subject.full_bytes.slice(0, _generator.randi() % subject.full_bytes.size())
	var flipped := _flipped(subject.full_bytes)
	for bytes: PackedByteArray in [cut, flipped]:
		Oracle.release(FastVariantCodec.try_decode(bytes, _with_objects).value)
		# Where keys become equal, a value replaces another, whose nodes nobody can reach, as with the engine's function.
		if subject.value is not Dictionary:
			Oracle.release(FastVariantCodec.decode(bytes, true))
	FastVariantCodec.decode(subject.full_bytes)
	_calls += 5


func _good_batch() -> void:
	var batch := []
	var expected: Array[PackedByteArray] = []
	var start := _generator.randi() % _good.size()
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
	_check("encode_batch", FastVariantCodec.encode_batch(batch) == expected)
	_check("decode_batch", FastVariantCodec.decode_batch(expected).size() == batch.size())
	var outcome := FastVariantCodec.unpack_batch(FastVariantCodec.pack_batch(batch))
	_check("unpack_batch", outcome.is_ok() and outcome.value.size() == batch.size())


func _broken_batch() -> void:
	var buffers := []
	var values := []
	for i in BATCH:
		var subject := _subjects[_generator.randi() % _subjects.size()]
		buffers.append(_flipped(subject.bytes) if i % 2 else subject.bytes)
		values.append(subject.value)
	buffers.append(7)
	Engine.print_error_messages = false
	_check("decode_batch, broken", FastVariantCodec.decode_batch(buffers).size() == buffers.size())
	_check("encode_batch, broken", FastVariantCodec.encode_batch(values).size() == values.size())
	FastVariantCodec.pack_batch(values)
	Engine.print_error_messages = true
	var packed := FastVariantCodec.pack_batch(_good.slice(0, BATCH).map(func(subject: Subject) -> Variant: return subject.value))
	var outcome := FastVariantCodec.unpack_batch(packed.slice(0, -1), _limits[_batches % _limits.size()])
	_check("unpack_batch, torn", not outcome.is_ok() and outcome.get_error(outcome.failed[0]) != "")


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
		_check("batch with objects", decoded.size() == batch.size())
		Oracle.release(decoded)
	Engine.print_error_messages = false
	Oracle.release(FastVariantCodec.decode_batch(buffers, true))
	Engine.print_error_messages = true


## One large value alone, and all of them in a batch, good and torn.
func _large_batch() -> void:
	var value: Variant = _large[_generator.randi() % _large.size()]
	var bytes := FastVariantCodec.encode(value)
	_check("large value", FastVariantCodec.decode(bytes) == value)
	_check("large value in a batch", FastVariantCodec.decode_batch(FastVariantCodec.encode_batch([value, 1]))[0] == value)
	Engine.print_error_messages = false
	FastVariantCodec.decode(_flipped(bytes))
	_check("large value, torn", FastVariantCodec.decode(bytes.slice(0, -4)) == null)
	Engine.print_error_messages = true
	_calls += 4


func _flipped(bytes: PackedByteArray) -> PackedByteArray:
	var flipped := bytes.duplicate()
	# Mostly in front, where the types and counts are.
	var places := mini(bytes.size(), 64) if _generator.randi() % 2 else bytes.size()
	flipped[_generator.randi() % places] ^= 1 << (_generator.randi() & 7)
	return flipped


func _check(what: String, holds: bool) -> void:
	if holds:
		_passed += 1
		return
	_failed += 1
	if _failed <= PRINTED_FAILURES:
		print("  FAILED after %d calls and %d batches: %s" % [_calls, _batches, what])
