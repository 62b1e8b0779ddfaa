## The distinct edge values of values.gd as bytes.
extends RefCounted

const Oracle := preload("res://suites/oracle.gd")
const Values := preload("res://suites/values.gd")


class Sample:
	extends RefCounted
	var name: String
	var type: int
	var bytes: PackedByteArray


## The samples. If `with_objects` is true, these are only the values that contain objects, all of them
## reference-counted. The engine leaks other objects when a later byte is broken.
static func of(values: Values, with_objects: bool) -> Array[Sample]:
	var samples: Array[Sample] = []
	var seen: Dictionary[PackedByteArray, bool] = {}
	for case in values.cases:
		var bytes := Oracle.engine_encode(case.value, with_objects)
		if bytes.is_empty() or seen.has(bytes):
			continue
		if with_objects and (bytes == Oracle.engine_encode(case.value)
				or not Oracle.unmanaged_objects(case.value).is_empty()):
			continue
		seen[bytes] = true
		var sample := Sample.new()
		sample.name = case.name
		sample.type = case.type
		sample.bytes = bytes
		samples.append(sample)
	return samples
