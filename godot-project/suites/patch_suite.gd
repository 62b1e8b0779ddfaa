## diff, patch, differences and fingerprint on the engine's values: arguments and errors. tests/patches.rs tests the
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
	var old := {"name": "Ada", "items": ["rope", "torch", "map"], "at": Vector2(1, 2), "gone": 1}
	var new := {"name": "Ada", "items": ["rope", "map", "key"], "at": Vector2(1, 3), 7: "added"}
	checks.same_value("all", [
		{"path": ["items", 1], "old": "torch"},
		{"path": ["items", 2], "new": "key"},
		{"path": ["at"], "old": Vector2(1, 2), "new": Vector2(1, 3)},
		{"path": ["gone"], "old": 1},
		{"path": [7], "new": "added"},
	], Array(FastVariantCodec.differences(old, new), TYPE_NIL, &"", null))
	for most: int in [2, 0, -1]:
		checks.same_int("at most %d" % most, maxi(most, 0), FastVariantCodec.differences(old, new, most).size())
	var turned := {"at": Vector2(1, 2), "gone": 1, "items": ["rope", "torch", "map"], "name": "Ada"}
	checks.same_int("another order of keys", 0, FastVariantCodec.differences(old, turned).size())
	checks.same_int("its fingerprint", FastVariantCodec.fingerprint(old), FastVariantCodec.fingerprint(turned))
	# A variable, because the engine merges the constants 0.0 and -0.0.
	var zero := 0.0
	checks.truth("zeros", FastVariantCodec.fingerprint(zero) != FastVariantCodec.fingerprint(-zero))
	checks.truth("int and float", FastVariantCodec.fingerprint(1) != FastVariantCodec.fingerprint(1.0))
	return true


func test_patches_that_do_not_fit() -> bool:
	checks.subject(checks.MIXED, "patches that do not fit")
	var patch := FastVariantCodec.diff({"a": range(20), "b": 1}, {"a": range(21), "b": 1})
	for value: Variant in [{"a": [1, 2], "b": 1}, {"a": 1}, {"b": 1}, [], 1, {"a": PackedByteArray([1, 2, 3])}]:
		var result := FastVariantCodec.patch(value, patch)
		checks.same_int("on %s" % [value], FastVariantCodec.BAD_PATCH, result.error)
		checks.truth("message on %s" % [value], "does not fit" in result.message, result.message)
	checks.same_value("path", ".\"a\"", FastVariantCodec.patch({"a": [1, 2]}, patch).path)
	for other: PackedByteArray in [PackedByteArray(), var_to_bytes(1), var_to_bytes({}), var_to_bytes({"patch": 2})]:
		checks.truth("no patch", not FastVariantCodec.patch({"a": 1}, other).is_ok())
	var bomb := FastVariantCodec.diff([], range(100000))
	checks.same_int("more than the limits allow", FastVariantCodec.MAX_ELEMENTS_EXCEEDED,
			FastVariantCodec.patch([], bomb, FastVariantLimits.for_network()).error)
	return true


## Objects are never made, whatever the limits allow.
func test_objects() -> bool:
	checks.subject(TYPE_OBJECT, "objects in patches")
	var node := Node.new()
	var bytes := var_to_bytes_with_objects([node])
	node.free()
	var limits := FastVariantLimits.unlimited()
	limits.allow_objects = true
	var objects := Performance.get_monitor(Performance.OBJECT_COUNT)
	var found := FastVariantCodec.differences_bytes(bytes, var_to_bytes([1]), 10, limits)
	checks.truth("null stands for it", found[0].has("old") and found[0]["old"] == null)
	checks.truth("none is made", Performance.get_monitor(Performance.OBJECT_COUNT) <= objects)
	return true


func test_bytes_that_are_bad() -> bool:
	checks.subject(checks.MIXED, "bytes that are bad")
	var good := var_to_bytes([1, 2])
	var bad := good.slice(0, -1)
	var surrogates := values.lone_surrogates()
	Engine.print_error_messages = false
	checks.same_bytes("diff_bytes", PackedByteArray(), FastVariantCodec.diff_bytes(bad, good))
	checks.same_bytes("diff_bytes, the other", PackedByteArray(), FastVariantCodec.diff_bytes(good, bad))
	checks.same_int("fingerprint_bytes", 0, FastVariantCodec.fingerprint_bytes(bad))
	checks.same_int("differences_bytes", 0, FastVariantCodec.differences_bytes(bad, good).size())
	checks.same_bytes("diff of what cannot be encoded", PackedByteArray(),
			FastVariantCodec.diff([], [surrogates]))
	Engine.print_error_messages = true
	var result := FastVariantCodec.patch_bytes(bad, FastVariantCodec.diff(1, 2))
	checks.same_int("patch_bytes", FastVariantCodec.UNEXPECTED_END, result.error)
	var twin := var_to_bytes({"patch": 1, "change": ["dictionary", {&"hp": ["set", 2]}]})
	for failed: FastVariantResult in [
		FastVariantCodec.patch({"hp": 1}, twin), FastVariantCodec.patch_bytes(var_to_bytes({"hp": 1}), twin),
	]:
		checks.same_value("a key twice", [FastVariantCodec.BAD_PATCH, -1], [failed.error, failed.offset])
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
	var patch := FastVariantCodec.diff(old, new)
	checks.same_bytes("diff_bytes", patch, FastVariantCodec.diff_bytes(old_bytes, new_bytes))
	var result := FastVariantCodec.patch(old, patch)
	checks.truth("patch is ok", result.is_ok(), result.message)
	checks.same_bytes("patch", new_bytes, var_to_bytes(result.value))
	checks.same_bytes("old value", old_bytes, var_to_bytes(old))
	checks.same_value("patch_bytes", new_bytes, FastVariantCodec.patch_bytes(old_bytes, patch).value)
	var differences := FastVariantCodec.differences(old, new)
	checks.same_value("differences_bytes", differences.size(), FastVariantCodec.differences_bytes(old_bytes, new_bytes).size())
	var print := FastVariantCodec.fingerprint(new)
	checks.same_int("fingerprint_bytes", print, FastVariantCodec.fingerprint_bytes(new_bytes))
	checks.truth("no differences are equal fingerprints", (FastVariantCodec.fingerprint(old) == print) == differences.is_empty())
