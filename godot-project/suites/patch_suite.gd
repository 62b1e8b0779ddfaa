## FastVariantPatch on the engine's values: arguments and errors. tests/patches.rs tests the
## rules of changes and patches.
extends "res://suites/suite.gd"

const RandomValues := preload("res://suites/random_values.gd")


func test_every_value() -> bool:
	var last: Variant = null
	for case in values.cases:
		if _is_repeatable(case.value):
			checks.subject(case.type, case.name)
			var value: Variant = bytes_to_var(var_to_bytes(case.value))
			_check_pair({"a": [last, 1, 2, 3], "b": last}, {"a": [0, last, 2, value], "b": value})
			last = value
	return true


func test_random_pairs() -> bool:
	var random := RandomValues.new(seeded("pairs"))
	var old: Variant = null
	for i in maxi(random_count / 4, 100):
		var new: Variant = random.nested()
		if _is_repeatable(new):
			checks.subject(typeof(new), "random pairs")
			_check_pair(old, bytes_to_var(var_to_bytes(new)))
			old = new
	return true


func test_differences_name_the_places() -> bool:
	checks.subject(checks.MIXED, "differences")
	var old := var_to_bytes({"name": "Ada", "items": ["rope", "torch", "map"], "at": Vector2(1, 2), "gone": 1})
	var new := var_to_bytes({"name": "Ada", "items": ["rope", "map", "key"], "at": Vector2(1, 3), 7: "added"})
	var found := FastVariantPatch.differences(old, new)
	for difference in found:
		for side: String in ["old", "new"]:
			checks.truth("%s has a range" % side, difference.has(side) == difference.has(side + "_range"))
			if difference.has(side):
				var bytes := old if side == "old" else new
				var place: PackedInt64Array = difference[side + "_range"]
				checks.same_value("what is there", difference[side], bytes_to_var(bytes.slice(place[0], place[1])))
				difference.erase(side + "_range")
	checks.same_value("all", [
		{"path": ["items", 1], "old": "torch"},
		{"path": ["items", 2], "new": "key"},
		{"path": ["at"], "old": Vector2(1, 2), "new": Vector2(1, 3)},
		{"path": ["gone"], "old": 1},
		{"path": [7], "new": "added"},
	], Array(found, TYPE_NIL, &"", null))
	for most: int in [2, 0, -1]:
		checks.same_int("at most %d" % most, maxi(most, 0), FastVariantPatch.differences(old, new, most).size())
	var turned := var_to_bytes({"at": Vector2(1, 2), "gone": 1, "items": ["rope", "torch", "map"], "name": "Ada"})
	checks.same_int("another order of keys", 0, FastVariantPatch.differences(old, turned).size())
	checks.same_int("its fingerprint", FastVariantPatch.fingerprint(old), FastVariantPatch.fingerprint(turned))
	# A variable, because the engine merges the constants 0.0 and -0.0.
	var zero := 0.0
	checks.truth("zeros", FastVariantPatch.fingerprint(var_to_bytes(zero)) != FastVariantPatch.fingerprint(var_to_bytes(-zero)))
	checks.truth("int and float", FastVariantPatch.fingerprint(var_to_bytes(1)) != FastVariantPatch.fingerprint(var_to_bytes(1.0)))
	return true


## A patch for another value is refused, however little differs: here, a packet between the two was lost.
func test_patches_for_other_values() -> bool:
	checks.subject(checks.MIXED, "patches for other values")
	var states: Array[PackedByteArray] = []
	for state: Dictionary in [{"hp": 10, "pos": Vector3.ZERO}, {"hp": 9, "pos": Vector3.ZERO}, {"hp": 9, "pos": Vector3.ONE}]:
		states.append(var_to_bytes(state))
	var patch := FastVariantPatch.diff(states[1], states[2])
	checks.same_bytes("on its own", states[2], FastVariantPatch.apply(states[1], patch))
	var before := {"at": Vector3.ZERO, "texts": PackedStringArray(["a", "b"]), "name": "a text that is longer than a change of the position"}
	var after := before.duplicate(true)
	after["at"] = Vector3.ONE
	var turned := {}
	for key: String in ["name", "texts", "at"]:
		turned[key] = before[key]
	var moved := FastVariantPatch.try_apply(var_to_bytes(turned), FastVariantPatch.diff(var_to_bytes(before), var_to_bytes(after)))
	turned["at"] = Vector3.ONE
	checks.same_bytes("on a value with another order of keys", var_to_bytes(turned), moved.value)
	for other: PackedByteArray in [states[0], states[2], var_to_bytes([]), var_to_bytes(null)]:
		var result := FastVariantPatch.try_apply(other, patch)
		checks.same_value("on another", [FastVariantCodec.BAD_PATCH, null], [result.error, result.value])
		checks.truth("message", "it was made for another value" in result.message, result.message)
	for other: PackedByteArray in [PackedByteArray(), states[0], var_to_bytes(1)]:
		checks.truth("no patch", "not a patch" in FastVariantPatch.try_apply(states[0], other).message)
	var bomb := FastVariantPatch.diff(var_to_bytes([]), var_to_bytes(range(100000)))
	checks.same_int("more than the limits allow", FastVariantCodec.MAX_ELEMENTS_EXCEEDED,
			FastVariantPatch.try_apply(var_to_bytes([]), bomb, FastVariantLimits.for_network()).error)
	# 50 moved positions.
	var positions := PackedVector3Array()
	positions.resize(50)
	var still := var_to_bytes({"pos": positions})
	positions.fill(Vector3.ONE)
	var all_moved := var_to_bytes({"pos": positions})
	checks.same_int("everything has changed", all_moved.size() + 12, FastVariantPatch.diff(still, all_moved).size())
	return true


## Objects are never made, whatever the limits allow.
func test_objects() -> bool:
	checks.subject(TYPE_OBJECT, "objects in patches")
	var node := Node.new()
	var bytes := var_to_bytes_with_objects([node])
	node.free()
	var limits := with_objects()
	var objects := Performance.get_monitor(Performance.OBJECT_COUNT)
	var found := FastVariantPatch.differences(bytes, var_to_bytes([1]), 10, limits)
	checks.truth("null stands for it", found[0].has("old") and found[0]["old"] == null)
	checks.truth("none is made", Performance.get_monitor(Performance.OBJECT_COUNT) <= objects)
	return true


func test_bytes_that_are_bad() -> bool:
	checks.subject(checks.MIXED, "bytes that are bad")
	var good := var_to_bytes([1, 2])
	var bad := good.slice(0, -1)
	var patch := FastVariantPatch.diff(good, var_to_bytes(2))
	Engine.print_error_messages = false
	checks.same_bytes("diff", PackedByteArray(), FastVariantPatch.diff(bad, good))
	checks.same_bytes("diff, the other", PackedByteArray(), FastVariantPatch.diff(good, bad))
	checks.same_bytes("apply", PackedByteArray(), FastVariantPatch.apply(bad, patch))
	checks.same_int("fingerprint", 0, FastVariantPatch.fingerprint(bad))
	checks.same_int("differences", 0, FastVariantPatch.differences(bad, good).size())
	Engine.print_error_messages = true
	checks.same_int("try_apply", FastVariantCodec.UNEXPECTED_END, FastVariantPatch.try_apply(bad, patch).error)
	return true


## Returns whether a value can be encoded and decoded unchanged.
static func _is_repeatable(value: Variant) -> bool:
	Engine.print_error_messages = false
	var is_encoded := FastVariantCodec.try_encode(value).is_ok()
	Engine.print_error_messages = true
	return is_encoded and Oracle.is_repeatable(var_to_bytes(value))


func _check_pair(old: Variant, new: Variant) -> void:
	if not FastVariantCodec.try_encode(old).is_ok() or not FastVariantCodec.try_encode(new).is_ok():
		return
	var old_bytes := var_to_bytes(old)
	var new_bytes := var_to_bytes(new)
	var patch := FastVariantPatch.diff(old_bytes, new_bytes)
	var result := FastVariantPatch.try_apply(old_bytes, patch)
	checks.truth("try_apply is ok", result.is_ok(), result.message)
	checks.same_value("what it makes", new_bytes, result.value)
	checks.same_bytes("apply", new_bytes, FastVariantPatch.apply(old_bytes, patch))
	checks.truth("size", patch.size() <= new_bytes.size() + 12)
	var differences := FastVariantPatch.differences(old_bytes, new_bytes)
	var same := FastVariantPatch.fingerprint(old_bytes) == FastVariantPatch.fingerprint(new_bytes)
	checks.truth("no differences are equal fingerprints", same == differences.is_empty())
