## Deep, bit-exact comparison of two values.
extends RefCounted


## Describes the first difference between `actual` and `expected`. Returns an empty text if they are
## identical. Types must match everywhere: String and StringName differ, and so do Array[int] and Array.
## Floats must match bit by bit, and dictionaries in order. Objects must have the same class and stored
## properties, and an EncodedObjectAsID the same id.
static func difference(expected: Variant, actual: Variant) -> String:
	var pending: Array[Array] = [["value", expected, actual]]
	while not pending.is_empty():
		var pair: Array = pending.pop_back()
		var found := _differs_here(pair[0], pair[1], pair[2], pending)
		if found:
			return found
	return ""


## Compares one pair without descending, and appends its contents to `pending`.
static func _differs_here(path: String, expected: Variant, actual: Variant, pending: Array[Array]) -> String:
	var type := typeof(expected)
	if typeof(actual) != type:
		return "%s: expected type %s, got %s" % [path, type_string(type), type_string(typeof(actual))]
	match type:
		TYPE_ARRAY:
			return _array_differs(path, expected, actual, pending)
		TYPE_DICTIONARY:
			return _dictionary_differs(path, expected, actual, pending)
		TYPE_OBJECT:
			return _object_differs(path, expected, actual, pending)
		TYPE_CALLABLE:
			return "" if expected == actual else "%s: expected %s, got %s" % [path, expected, actual]
		_:
			var expected_bytes := var_to_bytes(expected)
			var actual_bytes := var_to_bytes(actual)
			if expected_bytes == actual_bytes:
				return ""
			return "%s: %s" % [path, hex_difference(expected_bytes, actual_bytes)]


static func _array_differs(path: String, expected: Array, actual: Array, pending: Array[Array]) -> String:
	if not expected.is_same_typed(actual):
		return "%s: the element types differ" % path
	if expected.is_read_only() != actual.is_read_only():
		return "%s: one of the two is read-only" % path
	if expected.size() != actual.size():
		return "%s: expected %d elements, got %d" % [path, expected.size(), actual.size()]
	for i in expected.size():
		var found := _inside_differs(path, i, expected[i], actual[i], pending)
		if found:
			return found
	return ""


static func _dictionary_differs(
		path: String, expected: Dictionary, actual: Dictionary, pending: Array[Array]) -> String:
	if not expected.is_same_typed(actual):
		return "%s: the key or value types differ" % path
	if expected.is_read_only() != actual.is_read_only():
		return "%s: one of the two is read-only" % path
	if expected.size() != actual.size():
		return "%s: expected %d entries, got %d" % [path, expected.size(), actual.size()]
	var expected_keys := expected.keys()
	var actual_keys := actual.keys()
	var expected_values := expected.values()
	var actual_values := actual.values()
	for i in expected_keys.size():
		var found := _inside_differs(path + ".key", i, expected_keys[i], actual_keys[i], pending)
		if not found:
			found = _inside_differs(path + ".value", i, expected_values[i], actual_values[i], pending)
		if found:
			return found
	return ""


static func _object_differs(path: String, expected: Variant, actual: Variant, pending: Array[Array]) -> String:
	if not is_instance_valid(expected) or not is_instance_valid(actual):
		return "" if is_instance_valid(expected) == is_instance_valid(actual) else "%s: one is null" % path
	var expected_object: Object = expected
	var actual_object: Object = actual
	if is_same(expected_object, actual_object):
		return ""
	if expected_object.get_class() != actual_object.get_class():
		return "%s: expected class %s, got %s" % [path, expected_object.get_class(), actual_object.get_class()]
	if expected_object.get_script() != actual_object.get_script():
		return "%s: the scripts differ" % path
	var expected_names := stored_properties(expected_object)
	var actual_names := stored_properties(actual_object)
	if expected_names != actual_names:
		return "%s: expected properties %s, got %s" % [path, expected_names, actual_names]
	for property in expected_names:
		pending.append([
			"%s.%s" % [path, property], expected_object.get(property), actual_object.get(property),
		])
	return ""


## Compares a pair of leaves immediately, which is fast, and appends every other pair to `pending`.
static func _inside_differs(
		path: String, index: int, expected: Variant, actual: Variant, pending: Array[Array]) -> String:
	var type := typeof(expected)
	if type == typeof(actual) and type != TYPE_ARRAY and type != TYPE_DICTIONARY and type != TYPE_OBJECT:
		if type != TYPE_CALLABLE and var_to_bytes(expected) == var_to_bytes(actual):
			return ""
	pending.append(["%s[%d]" % [path, index], expected, actual])
	return ""


## The names of the properties that the engine writes for `object`, in order.
static func stored_properties(object: Object) -> PackedStringArray:
	var names := PackedStringArray()
	for property in object.get_property_list():
		if property["usage"] & PROPERTY_USAGE_STORAGE:
			names.append(property["name"])
	return names


## Shows two buffers around their first difference.
static func hex_difference(expected: PackedByteArray, actual: PackedByteArray) -> String:
	var shorter := mini(expected.size(), actual.size())
	var at := 0
	while at < shorter and expected[at] == actual[at]:
		at += 1
	return "first difference at byte %d\n      expected (%d bytes) %s\n      actual   (%d bytes) %s" % [
		at, expected.size(), _excerpt(expected, at), actual.size(), _excerpt(actual, at),
	]


static func _excerpt(bytes: PackedByteArray, at: int) -> String:
	var from := maxi(0, (at & ~3) - 16)
	var to := mini(bytes.size(), from + 48)
	return ("… " if from > 0 else "") + bytes.slice(from, to).hex_encode() + (" …" if to < bytes.size() else "")


## Returns whether a value is, or contains, a reference to an object of this run.
static func holds_objects(value: Variant) -> bool:
	match typeof(value):
		TYPE_OBJECT, TYPE_SIGNAL, TYPE_CALLABLE:
			return true
		TYPE_ARRAY:
			return value.any(holds_objects)
		TYPE_DICTIONARY:
			return value.keys().any(holds_objects) or value.values().any(holds_objects)
	return false
