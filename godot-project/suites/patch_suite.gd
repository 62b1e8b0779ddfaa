## Comparing and changing: diff, patch, differences and fingerprint.
extends "res://suites/suite.gd"

const RandomValues := preload("res://suites/random_values.gd")

var _shallow := _limits_of_depth(100)


func test_random_pairs() -> bool:
	var generator := seeded("pairs")
	var random := RandomValues.new(generator)
	for i in maxi(random_count / 4, 100):
		var old: Variant = _decodable(random)
		var new: Variant = _edited(old, random, generator) if i % 2 else _decodable(random)
		if not FastVariantCodec.try_encode(new).is_ok() or not Oracle.is_repeatable(var_to_bytes(new)):
			continue
		checks.subject(typeof(new), "random pairs")
		_check_pair(old, new)
	return true


func test_every_value() -> bool:
	var last: Variant = null
	for case in values.cases:
		if not FastVariantCodec.try_encode(case.value).is_ok():
			continue
		var value: Variant = Oracle.engine_decode(var_to_bytes(case.value))
		if FastVariantCodec.try_encode(value).is_ok() and Oracle.is_repeatable(var_to_bytes(value)):
			checks.subject(case.type, case.name)
			_check_pair(last, value)
			var old := {"a": [last, 1, 2, 3], "b": last}
			var new := {"a": [0, last, 2, value], "b": value}
			if FastVariantCodec.try_encode(old).is_ok() and FastVariantCodec.try_encode(new).is_ok():
				_check_pair(old, new)
			last = value
	return true


func test_small_changes_make_small_patches() -> bool:
	checks.subject(TYPE_ARRAY, "small changes")
	var old: Array = []
	for index in 1000:
		old.append({"id": index, "hp": 100, "position": Vector3(index, 0, 0), "tags": ["a", "b", "c"]})
	for change: Callable in [
		func(value: Array) -> void: value[500]["hp"] = 99,
		func(value: Array) -> void: value.remove_at(2),
		func(value: Array) -> void: value.insert(700, {"id": -1}),
		func(value: Array) -> void: value[3]["tags"].append("d"),
		func(value: Array) -> void: value[4].erase("hp"),
		func(value: Array) -> void: value[5]["new"] = PackedByteArray([1, 2, 3]),
		func(value: Array) -> void: value.push_front(value.pop_back()),
	]:
		var new := old.duplicate(true)
		change.call(new)
		var patch := FastVariantCodec.diff(old, new)
		checks.truth("%d bytes" % patch.size(), patch.size() < 400, FastVariantCodec.describe(patch))
		_check_pair(old, new)
	var floats := PackedFloat32Array()
	floats.resize(10000)
	var others := floats.duplicate()
	others[7777] = 1.5
	checks.truth("a packed array", FastVariantCodec.diff(floats, others).size() < 200)
	_check_pair(floats, others)
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
	checks.same_int("no more than asked for", 2, FastVariantCodec.differences(old, new, 2).size())
	checks.same_int("none", 0, FastVariantCodec.differences(old, new, 0).size())
	checks.same_int("fewer than none", 0, FastVariantCodec.differences(old, new, -1).size())
	var turned := {"at": Vector2(1, 2), "gone": 1, "items": ["rope", "torch", "map"], "name": "Ada"}
	checks.same_int("another order of keys", 0, FastVariantCodec.differences(old, turned).size())
	return true


func test_fingerprints() -> bool:
	var generator := seeded("fingerprints")
	var random := RandomValues.new(generator)
	for i in mini(random_count / 4, 5000):
		var value: Variant = _decodable(random)
		var bytes := var_to_bytes(value)
		checks.subject(typeof(value), "fingerprints")
		var print := FastVariantCodec.fingerprint(value)
		checks.same_int("of bytes", print, FastVariantCodec.fingerprint_bytes(bytes))
		checks.same_int("with other orders of keys", print, FastVariantCodec.fingerprint(_shuffled(value, generator)))
		var edited: Variant = _edited(value, random, generator)
		var is_other := not FastVariantCodec.differences(value, edited).is_empty()
		checks.truth("of a changed value", (FastVariantCodec.fingerprint(edited) != print) == is_other)
	checks.subject(TYPE_FLOAT, "fingerprints")
	# As a constant, the engine takes one for the other.
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


## Long lists that are far from one another, each in a way that makes a search for what they share long.
func test_long_lists() -> bool:
	checks.subject(TYPE_ARRAY, "long lists")
	const LENGTH := 40000
	var generator := seeded("long lists")
	var chain: Array = [-1, 0]
	var others: Array = [-2]
	var few: Array = []
	var few_others: Array = []
	for index in range(1, LENGTH):
		chain.append_array([index, index - 1])
		others.append_array([index, 1000000000 + index])
		few.append(generator.randi() % 50)
		few_others.append(generator.randi() % 50)
	var every_second := range(LENGTH)
	for index in range(0, LENGTH, 2):
		every_second[index] = -index
	every_second.remove_at(LENGTH / 3)
	for pair: Array in [[chain, others], [few, few_others], [range(LENGTH), every_second]]:
		var patch := FastVariantCodec.diff(pair[0], pair[1])
		checks.same_bytes("patch", var_to_bytes(pair[1]), var_to_bytes(FastVariantCodec.patch(pair[0], patch).value))
	return true


## Objects are not made, whatever the limits allow, and what is made of a patch is as good as what is decoded.
func test_objects_and_keys_in_patches() -> bool:
	checks.subject(TYPE_OBJECT, "objects in patches")
	var node := Node.new()
	var bytes := var_to_bytes_with_objects([node])
	node.free()
	var limits := FastVariantLimits.unlimited()
	limits.allow_objects = true
	var nodes := Performance.get_monitor(Performance.OBJECT_COUNT)
	var found := FastVariantCodec.differences_bytes(bytes, var_to_bytes([1]), 10, limits)
	checks.truth("null stands for it", found[0].has("old") and found[0]["old"] == null)
	checks.truth("none is made", Performance.get_monitor(Performance.OBJECT_COUNT) <= nodes)
	checks.subject(TYPE_DICTIONARY, "keys in patches")
	var twin := var_to_bytes({"patch": 1, "change": ["dictionary", {&"hp": ["set", 2]}]})
	checks.same_int("a key twice", FastVariantCodec.NOT_CANONICAL,
			FastVariantCodec.patch_bytes(var_to_bytes({"hp": 1}), twin).error)
	for change: Array in [["bytes", 3], ["bytes", PackedByteArray([1])], ["dictionary", {"zz": [3, 4]}]]:
		var patch := var_to_bytes({"patch": 1, "change": change})
		checks.same_int("%s" % [change], FastVariantCodec.BAD_PATCH, FastVariantCodec.patch({"hp": 1}, patch).error)
	return true


func test_changed_patches() -> bool:
	var generator := seeded("changed patches")
	var random := RandomValues.new(generator)
	for i in maxi(random_count / 8, 100):
		var old: Variant = _decodable(random)
		var new: Variant = _edited(old, random, generator)
		var patch := FastVariantCodec.diff(old, new)
		if patch.is_empty():
			continue
		for j in generator.randi() % 3 + 1:
			patch[generator.randi() % patch.size()] ^= 1 << (generator.randi() & 7)
		checks.subject(typeof(old), "changed patches")
		var result := FastVariantCodec.patch_bytes(var_to_bytes(old), patch)
		checks.truth("a value or a reason", result.is_ok() == result.message.is_empty())
		if result.is_ok():
			checks.truth("what it made is good", FastVariantCodec.validate(result.value).is_ok())
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
	return true


## Applies a patch as docs/patch.md describes it, without the addon.
static func applied(value: Variant, patch: Dictionary) -> Variant:
	return _changed(value, patch["change"]) if patch.has("change") else value


static func _changed(value: Variant, change: Array) -> Variant:
	match change[0]:
		"set":
			return change[1]
		"bytes":
			return bytes_to_var(change[1])
		"dictionary":
			return _changed_dictionary(value, change)
	var changed: Variant = value.slice(0, 0)
	var index := 0
	for edit: Array in change[2]:
		changed.append_array(value.slice(index, edit[0]))
		if edit.size() == 2:
			changed.append(_changed(value[edit[0]], edit[1]))
			index = edit[0] + 1
		else:
			changed.append_array(edit[2])
			index = edit[0] + edit[1]
	changed.append_array(value.slice(index))
	return changed


static func _changed_dictionary(value: Dictionary, change: Array) -> Dictionary:
	var changed := value.duplicate()
	var removed: Array = change[2] if change.size() > 2 else []
	for key: Variant in removed:
		changed.erase(key)
	for key: Variant in change[1]:
		changed[key] = _changed(changed.get(key), change[1][key])
	if change.size() < 4:
		return changed
	var keys := changed.keys()
	var ordered := value.duplicate()
	ordered.clear()
	for position: int in change[3]:
		ordered[keys[position]] = changed[keys[position]]
	return ordered


func _check_pair(old: Variant, new: Variant) -> void:
	var old_bytes := var_to_bytes(old)
	var new_bytes := var_to_bytes(new)
	var patch := FastVariantCodec.diff(old, new)
	checks.same_bytes("diff_bytes", patch, FastVariantCodec.diff_bytes(old_bytes, new_bytes))
	var result := FastVariantCodec.patch(old, patch)
	checks.truth("patch is ok", result.is_ok(), result.message)
	checks.same_bytes("patch", new_bytes, var_to_bytes(result.value))
	checks.same_bytes("old value", old_bytes, var_to_bytes(old))
	checks.same_value("patch_bytes", new_bytes, FastVariantCodec.patch_bytes(old_bytes, patch).value)
	var plain: Variant = bytes_to_var(patch)
	# A script cannot call itself as often as values may be nested.
	if not FastVariantCodec.validate(old_bytes, _shallow).is_ok() or not FastVariantCodec.validate(new_bytes, _shallow).is_ok():
		return
	# Keys that the engine makes objects of are others each time.
	if not Compare.holds_objects(old) and not Compare.holds_objects(new):
		checks.same_bytes("patch applied by a script", new_bytes, var_to_bytes(applied(old, plain)))
	var differences := FastVariantCodec.differences(old, new)
	checks.same_value("differences_bytes", differences.size(), FastVariantCodec.differences_bytes(old_bytes, new_bytes).size())
	var is_same := FastVariantCodec.fingerprint(old) == FastVariantCodec.fingerprint(new)
	checks.truth("no differences are equal fingerprints", is_same == differences.is_empty())
	var old_view := FastVariantView.open(old_bytes)
	var new_view := FastVariantView.open(new_bytes)
	for difference in differences:
		var path: Array = difference["path"]
		# A key with a NaN inside is not found again, in the engine either.
		if Compare.holds_objects(path) or "nan" in var_to_str(path):
			continue
		if difference.has("old"):
			checks.same_bytes("old at %s" % [path], var_to_bytes(difference["old"]), var_to_bytes(old_view.fetch(path)))
		elif not path.any(func(step: Variant) -> bool: return step is int):
			checks.same_bytes("new at %s" % [path], var_to_bytes(difference["new"]), var_to_bytes(new_view.fetch(path)))


static func _limits_of_depth(depth: int) -> FastVariantLimits:
	var limits := FastVariantLimits.unlimited()
	limits.max_depth = depth
	return limits


## A random value that is decoded as it was.
static func _decodable(random: RandomValues) -> Variant:
	while true:
		var bytes := Oracle.engine_encode(random.nested())
		if Oracle.is_repeatable(bytes):
			var value: Variant = bytes_to_var(bytes)
			if FastVariantCodec.try_encode(value).is_ok():
				return value
	return null


## A copy with one small change somewhere.
static func _edited(value: Variant, random: RandomValues, generator: RandomNumberGenerator) -> Variant:
	var edited: Variant = bytes_to_var(var_to_bytes(value))
	var place: Variant = edited
	while generator.randi() % 4:
		var inner: Array = place.values() if place is Dictionary else Array(place)
		inner = inner.filter(func(found: Variant) -> bool: return (found is Dictionary or found is Array) and not found.is_empty())
		if inner.is_empty():
			break
		place = inner[generator.randi() % inner.size()]
	if place is Dictionary and not place.is_typed():
		var key: Variant = place.keys()[generator.randi() % place.size()]
		match generator.randi() % 4:
			0:
				place.erase(key)
			1:
				place[key] = random.of_type(TYPE_INT, 5)
			2:
				place["new %d" % (generator.randi() % 10)] = random.value(4)
			3:
				var moved: Variant = place[key]
				place.erase(key)
				place[key] = moved
	elif place is Array and not place.is_typed():
		var index: int = generator.randi() % place.size()
		match generator.randi() % 4:
			0:
				place.remove_at(index)
			1:
				place[index] = random.value(4)
			2:
				place.insert(index, random.of_type(TYPE_STRING, 5))
			3:
				place.append(place[index])
	return bytes_to_var(Oracle.engine_encode(edited))


static func _shuffled(value: Variant, generator: RandomNumberGenerator) -> Variant:
	if value is Array:
		var copy := (value as Array).duplicate()
		for index in copy.size():
			copy[index] = _shuffled(copy[index], generator)
		return copy
	if value is not Dictionary:
		return value
	var keys: Array = value.keys()
	for index in range(keys.size() - 1, 0, -1):
		var other: int = generator.randi() % (index + 1)
		var key: Variant = keys[index]
		keys[index] = keys[other]
		keys[other] = key
	var copy: Dictionary = value.duplicate()
	copy.clear()
	for key: Variant in keys:
		copy[key] = _shuffled(value[key], generator)
	return copy
