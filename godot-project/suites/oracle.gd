## Asks the engine and the codec the same question without printing, and describes the difference between their answers.
##
## The engine and the codec print errors for bytes that do not decode and values that do not encode. Each function here
## mutes printing around exactly one call, so that the log of a run stays clean. messages.gd checks the printed errors.
extends RefCounted

const Compare := preload("res://suites/compare.gd")
const Refusals := preload("res://suites/refusals.gd")


## The number of inputs whose value the engine itself does not reproduce.
static var unrepeatable := 0

## The number of inputs with a script-typed Dictionary, whose types the engine does not read back.
static var scripted := 0

## The number of inputs, and the number that the engine decoded to a value other than null.
static var asked := 0
static var accepted := 0


static func engine_encode(value: Variant, full_objects := false) -> PackedByteArray:
	Engine.print_error_messages = false
	var bytes := var_to_bytes_with_objects(value) if full_objects else var_to_bytes(value)
	Engine.print_error_messages = true
	return bytes


static func engine_decode(bytes: PackedByteArray, allow_objects := false) -> Variant:
	Engine.print_error_messages = false
	var value: Variant = bytes_to_var_with_objects(bytes) if allow_objects else bytes_to_var(bytes)
	Engine.print_error_messages = true
	return value


## Returns whether the engine accepts the bytes, even if they encode null. The bytes must not contain objects,
## because the engine would leak them.
static func engine_accepts(bytes: PackedByteArray) -> bool:
	Engine.print_error_messages = false
	var accepted := bytes.has_encoded_var(0)
	Engine.print_error_messages = true
	return accepted


## The number of bytes that the engine reads of a value that it accepts.
static func engine_consumed(bytes: PackedByteArray) -> int:
	Engine.print_error_messages = false
	var consumed := bytes.decode_var_size(0)
	Engine.print_error_messages = true
	return consumed


## Returns whether encoding loses a part of the value. Callables and Signals that are not null are always
## lost. Existing objects, and declared classes other than EncodedObjectAsID, are lost unless `full_objects`
## is true.
static func is_lost(value: Variant, full_objects := false) -> bool:
	var pending: Array = [value]
	while pending:
		var next: Variant = pending.pop_back()
		match typeof(next):
			TYPE_OBJECT when is_instance_valid(next) and not full_objects:
				return true
			TYPE_CALLABLE, TYPE_SIGNAL when not next.is_null():
				return true
			TYPE_ARRAY:
				if next.get_typed_class_name() not in [&"", &"EncodedObjectAsID"] and not full_objects:
					return true
				pending.append_array(next)
			TYPE_DICTIONARY:
				for typed: StringName in [next.get_typed_key_class_name(), next.get_typed_value_class_name()]:
					if typed not in [&"", &"EncodedObjectAsID"] and not full_objects:
						return true
				pending.append_array(next.keys() + next.values())
	return false


## Returns whether an object with this id exists in this run.
static func engine_knows_id(id: int) -> bool:
	Engine.print_error_messages = false
	var known := is_instance_id_valid(id)
	Engine.print_error_messages = true
	return known


## Returns whether the engine's bytes can be read strictly and decode to the same value each time.
static func is_repeatable(bytes: PackedByteArray) -> bool:
	return FastVariantCodec.validate(bytes).is_ok() and bytes == engine_encode(engine_decode(bytes))


static func codec_encode(value: Variant, full_objects := false) -> PackedByteArray:
	Engine.print_error_messages = false
	var bytes := FastVariantCodec.encode(value, full_objects)
	Engine.print_error_messages = true
	return bytes


static func codec_size(value: Variant, full_objects := false) -> int:
	Engine.print_error_messages = false
	var size := FastVariantCodec.encoded_size(value, full_objects)
	Engine.print_error_messages = true
	return size


static func codec_decode(bytes: PackedByteArray, allow_objects := false) -> Variant:
	Engine.print_error_messages = false
	var value: Variant = FastVariantCodec.decode(bytes, allow_objects)
	Engine.print_error_messages = true
	return value


## Calls try_decode with printing off, because setters and scripts of objects may print.
static func codec_try_decode(bytes: PackedByteArray, limits: FastVariantLimits) -> RefCounted:
	Engine.print_error_messages = false
	var outcome := FastVariantCodec.try_decode(bytes, limits)
	Engine.print_error_messages = true
	return outcome


static func codec_encode_batch(batch: Array, full_objects := false) -> Array[PackedByteArray]:
	Engine.print_error_messages = false
	var buffers := FastVariantCodec.encode_batch(batch, full_objects)
	Engine.print_error_messages = true
	return buffers


static func codec_decode_batch(buffers: Array, allow_objects := false) -> Array:
	Engine.print_error_messages = false
	var batch := FastVariantCodec.decode_batch(buffers, allow_objects)
	Engine.print_error_messages = true
	return batch


## Decodes arbitrary bytes with the engine and the codec, and describes the codec's mistake; empty if there is
## none. The codec must accept and reject the same bytes and give the same value, but must refuse the inputs
## in refusals.gd. The strict try_decode may refuse more inputs.
static func disagreement(bytes: PackedByteArray, allow_objects := false) -> String:
	var expected: Variant = engine_decode(bytes, allow_objects)
	var actual: Variant = codec_decode(bytes, allow_objects)
	asked += 1
	accepted += int(expected != null)
	var problem := _decode_problem(bytes, expected, actual, allow_objects)
	if not problem and not allow_objects:
		problem = _strict_problem(bytes, expected)
	release(expected)
	release(actual)
	return problem


static func _decode_problem(
		bytes: PackedByteArray, expected: Variant, actual: Variant, allow_objects: bool) -> String:
	var refusal := Refusals.applying_to(expected)
	if refusal:
		if actual == null:
			return ""
		return "accepted, though refusals.gd lists it (%s)\n      input %s" % [refusal, _hex(bytes)]
	var found := Compare.difference(expected, actual)
	if not found:
		var expected_again := engine_encode(expected, true)
		var actual_again := engine_encode(actual, true)
		if expected_again == actual_again:
			return ""
		found = "encoded again: " + Compare.hex_difference(expected_again, actual_again)
	elif actual == null and (Refusals.hidden_in(bytes, allow_objects) or Refusals.has_doubled_text(expected, bytes)):
		return ""
	elif Refusals.has_signal_as_text(expected, bytes):
		return ""
	if typeof(expected) == typeof(actual) and not is_reference(bytes, expected, allow_objects):
		return ""
	return "decode differs from the engine: %s\n      input %s" % [found, _hex(bytes)]


## Returns whether a decoded value can be compared in full. If the engine does not reproduce the value, or
## does not read back what it wrote, only the type can be compared.
static func is_reference(bytes: PackedByteArray, expected: Variant, allow_objects: bool) -> bool:
	if allow_objects and _has_scripted_types(bytes):
		scripted += 1
		return false
	if not engine_repeats(bytes, expected, allow_objects):
		unrepeatable += 1
		return false
	return true


## Returns whether decoding again gives the same value. The value differs if text contains instance ids
## (objects converted to strings), or if a constructor picks a random number.
static func engine_repeats(bytes: PackedByteArray, expected: Variant, allow_objects := false) -> bool:
	var again: Variant = engine_decode(bytes, allow_objects)
	var repeats := Compare.difference(expected, again) == ""
	release(again)
	return repeats


## Returns whether there is a header of a Dictionary with a script as key or value type. Every value begins at a
## multiple of four bytes.
static func _has_scripted_types(bytes: PackedByteArray) -> bool:
	for at in range(0, bytes.size() - 8, 4):
		if bytes[at] == TYPE_DICTIONARY and (bytes[at + 2] & 3 == 3 or bytes[at + 2] >> 2 & 3 == 3):
			return true
	return false


static func _strict_problem(bytes: PackedByteArray, expected: Variant) -> String:
	var outcome := FastVariantCodec.try_decode(bytes)
	var checked := FastVariantCodec.validate(bytes)
	if (
			checked.error != outcome.error or checked.message != outcome.message or checked.offset != outcome.offset
			or checked.bytes_read != outcome.bytes_read):
		return "validate says \"%s\", try_decode \"%s\"\n      input %s" % [
			checked.message, outcome.message, _hex(bytes),
		]
	if not outcome.is_ok():
		if outcome.value == null and outcome.error != 0 and outcome.message:
			return ""
		return "try_decode failed without an error, a message and a null value\n      input %s" % _hex(bytes)
	if (expected == null and not engine_accepts(bytes)) or Refusals.applying_to(expected):
		return "try_decode accepted what must be refused\n      input %s" % _hex(bytes)
	var found := Compare.difference(expected, outcome.value)
	if found:
		return "try_decode differs from the engine: %s\n      input %s" % [found, _hex(bytes)]
	if outcome.bytes_read != bytes.size():
		return "try_decode read %d of %d bytes\n      input %s" % [outcome.bytes_read, bytes.size(), _hex(bytes)]
	return ""


## Frees the objects in a decoded value that are not reference-counted.
static func release(value: Variant) -> void:
	for object in unmanaged_objects(value):
		object.free()


## The objects in a value that are not reference-counted, including those in properties of objects.
static func unmanaged_objects(value: Variant) -> Array[Object]:
	var found: Array[Object] = []
	var pending: Array = [value]
	while not pending.is_empty():
		var current: Variant = pending.pop_back()
		match typeof(current):
			TYPE_ARRAY:
				_collect_containers(current, pending)
			TYPE_DICTIONARY:
				_collect_containers(current.keys(), pending)
				_collect_containers(current.values(), pending)
			TYPE_OBJECT:
				if not is_instance_valid(current):
					continue
				for property in Compare.stored_properties(current):
					_collect_containers([current.get(property)], pending)
				if current is not RefCounted:
					found.append(current)
	return found


static func _collect_containers(elements: Array, pending: Array) -> void:
	for element: Variant in elements:
		var type := typeof(element)
		if type == TYPE_ARRAY or type == TYPE_DICTIONARY or type == TYPE_OBJECT:
			pending.append(element)


static func _hex(bytes: PackedByteArray) -> String:
	return bytes.hex_encode() if bytes.size() <= 4096 else "of %d bytes" % bytes.size()
