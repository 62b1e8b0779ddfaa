## FastVariantClasses: objects survive a round trip, nothing else is made, and each fault has its own message.
extends "res://suites/suite.gd"

const Exported := preload("res://suites/fixtures/classes/exported.gd")
const Hero := preload("res://suites/fixtures/classes/hero.gd")
const Mage := preload("res://suites/fixtures/classes/mage.gd")
const Mutations := preload("res://suites/mutations.gd")
const Picky := preload("res://suites/fixtures/classes/picky.gd")
const Watched := preload("res://suites/fixtures/classes/watched.gd")

const FOLDER := "res://suites/fixtures/classes"
const COLOURS := FOLDER + "/colours.tres"
const FILE := "user://class_suite.dat"
const GRAPHS := 20
const GRAPH_OBJECTS := 300
const CHAIN := 30000
const MUTATED := 3000

## The Nodes that the running test has made. The test frees them at its end.
var _nodes: Array = []


func _classes() -> FastVariantClasses:
	var classes := FastVariantClasses.new()
	for registered: Array in [[Hero], [Mage, "Mage"], [Hero.Bag, "Bag"], [Hero.Skill, "Skill"], [Watched, "Watched"]]:
		checks.truth("register", classes.callv(&"register", registered) != null)
	checks.same_int("allow_resources", OK, classes.allow_resources(FOLDER, ["Gradient"]))
	return classes


## Registers a class with these properties of a FastVariantClass.
func _register(classes: FastVariantClasses, script: Script, class_name_: String, properties: Dictionary) -> void:
	var registered := classes.register(script, class_name_)
	for property: StringName in properties:
		registered.set(property, properties[property])


## Objects are encoded as plain containers, in the engine's bytes.
func test_form() -> bool:
	checks.subject(TYPE_OBJECT, "the form of objects")
	var classes := _classes()
	var hero := Hero.new()
	hero.title = "Ren"
	hero.bag = Hero.Bag.new()
	hero.counts = {&"gold": 3}
	var bag := {&"@class": "Bag", "items": [], "owner": null}
	var skill := {&"@class": "Skill", "title": "", "needs": [], "levels": {} as Dictionary[int, Variant]}
	var plain := {
		&"@class": "SuiteHero", "title": "Ren", "kind": 0, "hp": 10, "speed": 1.5, "at": Vector3.ZERO, "name_of": &"", "bag": bag, "friends": [],
		"by_name": {} as Dictionary[String, Variant], "counts": {&"gold": 3} as Dictionary[StringName, int], "skill": null, "colours": null, "any": null,
	}
	_check_form("an object", classes, hero, plain)
	var bags: Array[Hero.Bag] = [Hero.Bag.new()]
	_check_form("elements of a class", classes, [bags], [{&"@array": "Bag", "values": [bag]}])
	var by_skill: Dictionary[Hero.Skill, String] = {Hero.Skill.new(): "x"}
	# An inner Array of a class is encoded as a Dictionary, so the Array around it has no declared type
	# in the data.
	var row := {&"@array": "Bag", "values": [bag]}
	_check_form("Arrays of a class", classes, [[bags] as Array[Array]], [{&"@array": "Array", "values": [row]}])
	_check_form("Arrays of a class by name", classes, {&"@x": bags} as Dictionary[StringName, Array], {
		&"@dictionary": ["StringName", "Array"], "values": {&"@plain": {&"@x": row} as Dictionary[StringName, Variant]},
	})
	_check_form("keys of a class", classes, by_skill, {
		&"@objects": [skill],
		"value": {&"@dictionary": ["Skill", "String"], "values": {{&"@ref": 0}: "x"} as Dictionary[Variant, String]},
	})
	var shared := Hero.Bag.new()
	shared.items.append(shared)
	_check_form("a cycle", classes, [shared, shared], {
		&"@objects": [{&"@class": "Bag", "items": [{&"@ref": 0}], "owner": null}], "value": [{&"@ref": 0}, {&"@ref": 0}],
	})
	shared.items.clear()
	var id := ResourceLoader.get_resource_uid(COLOURS)
	var uid := "" if id == ResourceUID.INVALID_ID else ResourceUID.id_to_text(id)
	_check_form("a resource", classes, load(COLOURS), {&"@resource": uid, "path": COLOURS})
	for imitation: Dictionary in [
		{"@class": "Bag"}, {&"@ref": 0}, {&"@plain": {"@objects": 1}}, {"@": 1}, {&"@objects": [], "value": 2}, {"x": 1, "@class": "Bag"},
		{"@t": 1} as Dictionary[String, int], {^"@class": "Bag"},
	]:
		var escaped: Variant = {&"@plain": imitation}
		if imitation.has(&"@plain"):
			escaped = {&"@plain": {&"@plain": {&"@plain": {"@objects": 1}}}}
		_check_form("data that look like an object", classes, imitation, escaped)
	for value: Variant in [{}, {"": 1}, {1: "@class"}, ["@class"], {&"x": PackedByteArray([1])}]:
		_check_form("data without objects", classes, value, value)
	var versioned := FastVariantClasses.new()
	_register(versioned, Hero.Bag, "Bag", {"version": 4, "properties": ["items"], "upgrade": func(data: Dictionary, _from: int) -> Dictionary: return data})
	_check_form("a version", versioned, Hero.Bag.new(), {&"@class": "Bag", "@version": 4, "items": []})
	return true


func _check_form(what: String, classes: FastVariantClasses, value: Variant, plain: Variant) -> void:
	checks.same_bytes(what, var_to_bytes(plain), classes.encode(value))
	checks.same_value(what + ", to_plain", plain, classes.to_plain(value))
	var read := classes.try_from_plain(plain)
	checks.truth(what + ", from_plain", read.is_ok(), read.message)
	checks.same_bytes(what + ", again", var_to_bytes(plain), classes.encode(read.value))
	_unlink(read.value)


func test_random_graphs() -> bool:
	var classes := _classes()
	var random := seeded("classes")
	for graph in GRAPHS:
		checks.subject(TYPE_OBJECT, "graph %d" % graph)
		var objects := _graph(random, GRAPH_OBJECTS)
		var value: Array = [objects[0], objects.slice(0, random.randi_range(0, 9)), {"last": objects[-1]}]
		var read := classes.try_decode(classes.encode(value))
		checks.truth("decode", read.is_ok(), read.message)
		checks.no_problem("the same graph", _difference(value, read.value))
		_unlink(read.value)
		checks.truth("save_batch", classes.save_batch(FILE, [value, {"plain": graph}]).is_ok())
		read = classes.load_batch(FILE)
		checks.truth("load_batch", read.is_ok(), read.message)
		checks.no_problem("the same graph from a file", _difference([value, {"plain": graph}], read.value))
		_unlink(read.value)
		read = classes.try_from_json(classes.to_json(value))
		checks.no_problem("the same graph from JSON", _difference(value, read.value))
		_unlink(read.value)
		read = classes.try_from_plain(FastVariantCodec.load_batch(FILE).value[0])
		checks.no_problem("the same graph from plain data", _difference(value, read.value))
		_unlink(read.value)
		_unlink(objects)
	return true


func _graph(random: RandomNumberGenerator, count: int) -> Array:
	var objects: Array = []
	var by_class: Dictionary[Variant, Array] = {null: objects, Hero: [], Mage: [], Hero.Bag: [], Hero.Skill: [], Watched: []}
	for index in count:
		var script: GDScript = [Hero, Mage, Hero.Bag, Hero.Skill, Watched][random.randi() % 5]
		objects.append(script.new())
		by_class[script].append(objects[-1])
	by_class[Hero].append_array(by_class[Mage])
	var any := func(script: Variant) -> Object:
		var found := by_class[script]
		return null if found.is_empty() or random.randi() % 4 == 0 else found[random.randi() % found.size()]
	for object: Object in objects:
		if object is Hero:
			object.title = "hero %d" % random.randi()
			object.kind = [Hero.Kind.KNIGHT, Hero.Kind.MAGE][random.randi() % 2]
			object.bag = any.call(Hero.Bag)
			object.skill = any.call(Hero.Skill)
			object.colours = load(COLOURS) if random.randi() % 3 == 0 else null
			for _i in random.randi() % 4:
				object.friends.append(any.call(Hero))
				object.by_name["%d" % random.randi()] = any.call(Hero)
			object.any = [any.call(Watched), {any.call(Hero.Skill): [any.call(Hero)]}, {"@x": any.call(Mage)}, values.cases[random.randi() % 20].value]
			if object is Mage:
				object.place = any.call(Watched)
		elif object is Hero.Bag:
			var typed: Array[Hero] = [any.call(Hero), any.call(Mage)]
			object.items = [any.call(null), typed, random.randi(), Vector2(random.randf(), 1)]
			object.owner = any.call(Hero)
		elif object is Hero.Skill:
			object.needs.append(any.call(Hero.Skill))
			object.levels[random.randi()] = any.call(Hero.Skill)
		else:
			object.other = any.call(Watched)
	return objects


## The first difference between two values. Two objects are equal if their variables are equal and refer to
## equal objects.
func _difference(expected: Variant, actual: Variant) -> String:
	var pairs: Array[Array] = [[expected, actual, "value"]]
	var partners: Dictionary[Object, Object] = {}
	var reverse: Dictionary[Object, Object] = {}
	while not pairs.is_empty():
		var pair: Array = pairs.pop_back()
		var left: Variant = pair[0]
		var right: Variant = pair[1]
		if typeof(left) != typeof(right) or (left is Object) and (left == null) != (right == null):
			return "%s: %s became %s" % [pair[2], type_string(typeof(left)), type_string(typeof(right))]
		match typeof(left):
			TYPE_OBJECT:
				if left == null or partners.has(left) or reverse.has(right):
					if left != null and (partners.get(left) != right or reverse.get(right) != left):
						return "%s: another object" % pair[2]
					continue
				partners[left] = right
				reverse[right] = left
				if left.get_script() != right.get_script() or left is Resource and left != right:
					return "%s: another class or resource" % pair[2]
				for property: Dictionary in left.get_property_list():
					if property["usage"] & PROPERTY_USAGE_SCRIPT_VARIABLE:
						pairs.append([left.get(property["name"]), right.get(property["name"]), property["name"]])
			TYPE_ARRAY:
				if left.size() != right.size() or not left.is_same_typed(right):
					return "%s: other size or type" % pair[2]
				for index: int in left.size():
					pairs.append([left[index], right[index], "element %d" % index])
			TYPE_DICTIONARY:
				if left.size() != right.size() or not left.is_same_typed(right):
					return "%s: other size or type" % pair[2]
				pairs.append([left.keys(), right.keys(), "keys"])
				pairs.append([left.values(), right.values(), "values"])
			_:
				var difference := Compare.difference(left, right)
				if difference:
					return "%s: %s" % [pair[2], difference]
	return ""


## Breaks the references of a graph, so that its objects are freed.
func _unlink(value: Variant) -> void:
	var left: Array = [value]
	var nodes: Dictionary[int, bool] = {}
	while not left.is_empty():
		var next: Variant = left.pop_back()
		if typeof(next) == TYPE_OBJECT and not is_instance_valid(next):
			continue
		if next is Array or next is Dictionary:
			left.append_array(next if next is Array else next.keys() + next.values())
			if not next.is_read_only():
				next.clear()
		elif next is Object and not next is Resource:
			for property: Dictionary in next.get_property_list():
				if property["usage"] & PROPERTY_USAGE_SCRIPT_VARIABLE and next.get(property["name"]) != null:
					left.append(next.get(property["name"]))
					next.set(property["name"], null)
			if next is Node:
				nodes[next.get_instance_id()] = true
	for node in nodes:
		if is_instance_id_valid(node):
			instance_from_id(node).free()


## Each object refers to the next one. Encoding and decoding need little stack and linear time.
func test_long_chains() -> bool:
	checks.subject(TYPE_OBJECT, "a chain")
	var classes := _classes()
	var first := Hero.Bag.new()
	var last := first
	for index in CHAIN:
		last.items = [Hero.Bag.new(), index]
		last = last.items[0]
	var read := classes.try_decode(classes.encode(first))
	checks.truth("decode", read.is_ok(), read.message)
	var length := 0
	var next: Hero.Bag = read.value
	while not next.items.is_empty():
		length += 1
		next = next.items[0]
	checks.same_int("length", CHAIN, length)
	_unlink(read.value)
	_unlink(first)
	return true


## Each fault is an error with its path, and nothing is made.
func test_faults_are_named() -> bool:
	var classes := _classes()
	var bag := {&"@class": "Bag"}
	var cases: Array[Array] = [
		["an unknown class", [{&"@class": "Nobody"}], "no class is registered as \"Nobody\"", "[0].\"@class\""],
		["no name", [{&"@class": 5}], "expected the name of a class, found int", "[0].\"@class\""],
		["an unknown property", {&"@class": "Bag", "size": 1}, "has no property \"size\"", ".<key 1>"],
		["a property twice", {&"@class": "Bag", "items": [], &"x": 1}, "has no property \"x\"", ".<key 2>"],
		["a key that is no name", {&"@class": "Bag", 1: 1}, "expected a key of text, found int", ".<key 1>"],
		["a wrong type", {&"@class": "Bag", "items": 5}, "expected Array, found int", ".\"items\""],
		["a wrong class", {&"@class": "SuiteHero", "friends": [bag]}, "found ", ".\"friends\"[0]"],
		["a wrong class of a variable", {&"@class": "Bag", "owner": bag}, "expected SuiteHero, found ", ".\"owner\""],
		["a wrong inner class", {&"@class": "SuiteHero", "bag": {&"@class": "Skill"}}, "has another type", ".\"bag\""],
		["a wrong native class", {&"@class": "Mage", "place": bag}, "expected Node, found ", ".\"place\""],
		["no value of the enum", {&"@class": "SuiteHero", "kind": 3}, "3 is not a value of the enum SuiteHero.Kind; if the enum has changed, raise `version`", ".\"kind\""],
		["a float that is no int", {&"@class": "SuiteHero", "hp": 1.5}, "expected int, found float", ".\"hp\""],
		["a float of several ints", {&"@class": "SuiteHero", "hp": 76561198138808079.0}, "expected int, found a float beyond ±(2^53 − 1)", ".\"hp\""],
		["a float of several values of an enum", {&"@class": "SuiteHero", "kind": -9007199254740992.0}, "SuiteHero.Kind, found a float beyond", ".\"kind\""],
		["floats of several ints", {&"@class": "SuiteHero", "counts": {"x": 1e17}}, "expected elements of type int, found a float beyond", ".\"counts\".<key 0>"],
		["wrong elements", {&"@class": "SuiteHero", "counts": {"x": "y"}}, "expected elements of type int, found String", ".\"counts\".<key 0>"],
		["a newer version", {&"@class": "Bag", "@version": 2}, "but the data has version 2", ".\"@version\""],
		["no version", {&"@class": "Bag", "@version": 0}, "expected a version of at least 1, found 0", ".\"@version\""],
		["a reference to nothing", [{&"@ref": 0}], "reference to object 0, but there are 0", "[0].\"@ref\""],
		["a reference too far", {&"@objects": [bag], "value": {&"@ref": 1}}, "reference to object 1, but there are 1", ".\"value\".\"@ref\""],
		["a reference before the first", {&"@objects": [bag], "value": {&"@ref": -1}}, "reference to object -1, but there are 1", ".\"value\".\"@ref\""],
		["objects that are none", {&"@objects": [1], "value": 1}, "expected an object of a registered class", ".\"@objects\"[0]"],
		["an element that is no object", {&"@objects": [bag, 5], "value": [{&"@ref": 0}]}, "expected an object of a registered class", ".\"@objects\"[1]"],
		["objects not at the root", [{&"@objects": [bag], "value": 1}], "unexpected tag \"@objects\"", "[0].<key 0>"],
		["an unknown tag", {&"@other": 1}, "unexpected tag \"@other\"", ".<key 0>"],
		["two values for a reference", {&"@objects": [bag], "value": {&"@ref": 0, "x": 1}}, "unexpected tag \"@ref\"", ".\"value\".<key 0>"],
		["elements of no class", {&"@array": "Nobody", "values": []}, "no class is registered as \"Nobody\"", ".\"@array\""],
		["elements of another class", {&"@array": "Bag", "values": [{&"@class": "Skill"}]}, "expected elements of type", ".\"values\"[0]"],
		["one type for two", {&"@dictionary": ["Bag"], "values": {}}, "expected the types of keys and values", ".\"@dictionary\""],
		["a resource elsewhere", {&"@resource": "", "path": "res://suites/run.gd"}, "is not in a folder of `allow_resources`", ".\"path\""],
		["a resource outside", {&"@resource": "", "path": FOLDER + "/../../run.gd"}, "is outside the project", ".\"path\""],
		["another spelling of its path", {&"@resource": "", "path": FOLDER + "/" + "./".repeat(2000) + "colours.tres"}, "has an empty or \".\" part", ".\"path\""],
		["a doubled slash", {&"@resource": "", "path": FOLDER + "//colours.tres"}, "has an empty or \".\" part", ".\"path\""],
		["a long path", {&"@resource": "", "path": FOLDER + "/" + "./".repeat(32700) + "colours.tres"}, "is longer than 4096 bytes", ".\"path\""],
		["a lost object", [EncodedObjectAsID.new()], "saved only by its instance id (EncodedObjectAsID) is lost", "[0]"],
		["no resource", {&"@resource": "", "path": FOLDER + "/none.tres"}, "does not exist", ".\"path\""],
		["another resource", {&"@resource": "", "path": FOLDER + "/hero.gd"}, "is not of type Gradient", ".\"path\""],
		["plain data of another type", {&"@plain": []}, "expected Dictionary, found Array", ".\"@plain\""],
	]
	var read := classes.try_from_plain(null)
	for case in cases:
		checks.subject(TYPE_OBJECT, case[0])
		var objects_before := object_count()
		read = classes.try_from_plain(case[1])
		checks.same_int("code", FastVariantCodec.OBJECT_REFUSED, read.error)
		checks.truth("message", case[2] in read.message, read.message)
		checks.same_value("path", case[3], read.path)
		checks.same_int("objects made", objects_before, object_count())
	checks.subject(TYPE_OBJECT, "objects by id or in the engine's format")
	for bytes: PackedByteArray in [var_to_bytes(classes), var_to_bytes([Signal(classes, &"script_changed")]), var_to_bytes_with_objects([Hero.new()])]:
		read = classes.try_decode(bytes, with_objects())
		checks.truth("refused", not read.is_ok() and read.value == null)
	var lost := FastVariantLimits.for_save_files()
	checks.truth("the advice", "set `lost_objects_as_null`" in classes.try_decode(var_to_bytes([classes]), lost).message)
	lost.lost_objects_as_null = true
	checks.same_value("is followed", [null], classes.try_decode(var_to_bytes([classes]), lost).value)
	checks.subject(TYPE_OBJECT, "a property twice")
	for first: Dictionary in [{}, {"items": []}]:
		for between: Dictionary in [{}, {"items": []}]:
			var data := {&"@class": "Bag"}
			data.merge(first)
			data["owner"] = null
			data.merge(between)
			data["ownes"] = null
			var twice := var_to_bytes(data)
			twice[twice.size() - 8] = "r".unicode_at(0)
			checks.truth("refused", "duplicate property \"owner\"" in classes.try_decode(twice).message, classes.try_decode(twice).message)
	return true


## Encoding fails for a value that no reader could recreate.
func test_what_cannot_be_written() -> bool:
	var classes := _classes()
	var hero := Hero.new()
	for case: Array in [
		["an object without a script", [RefCounted.new()], "RefCounted has no script", "[0]"],
		["an unregistered class", {"a": Picky.new(1)}, "picky.gd is not registered", ".\"a\""],
		["one in a property", [_hero_with(Picky.new(1))], "picky.gd is not registered", "[0].\"any\""],
		["a Callable", [_hero_with(test_form)], "a Callable would be read as an empty one", "[0].\"any\""],
		["a Signal", _hero_with(hero.script_changed), "a Signal has no meaning", ".\"any\""],
		["flags", _hero_of_kind(3), "3 is not a value of the enum SuiteHero.Kind; declare flags as int", ".\"kind\""],
		["a lost object", [EncodedObjectAsID.new()], "saved only by its instance id (EncodedObjectAsID) is lost", "[0]"],
		["a resource elsewhere", [get_script()], "has the file \"res://suites/class_suite.gd\"; call `allow_resources`", "[0]"],
		["another resource", [Curve.new()], "Curve has no script", "[0]"],
		["a resource twice in keys", {[load(COLOURS)]: 1, [ResourceLoader.load(COLOURS, "", ResourceLoader.CACHE_MODE_IGNORE)]: 2}, "which was loaded twice", ".<key 1>[0]"],
		["another native class", [_other_native()], "Node3D with the script of class \"Watched\", which makes objects of Node", "[0]"],
	]:
		checks.subject(TYPE_OBJECT, case[0])
		var written := classes.try_encode(case[1])
		checks.same_int("code", FastVariantCodec.OBJECT_REFUSED, written.error)
		checks.truth("message", case[2] in written.message, written.message)
		checks.same_value("path", case[3], written.path)
	checks.subject(TYPE_OBJECT, "getters that return another type than their property declares")
	for case: Array in [
		["extends Curve2D", ["_data"], "expected int, found Dictionary"],
		["var wrong: int: get = _get_wrong\nfunc _get_wrong() -> Variant:\n\treturn \"text\"", ["wrong"], "expected int, found String"],
		["var wrong: Array: get = _get_wrong\nfunc _get_wrong() -> Variant:\n\treturn null", ["wrong"], "expected Array, found Nil"],
		["var wrong: Node: get = _get_wrong\nfunc _get_wrong() -> Variant:\n\treturn Curve.new()", ["wrong"], "expected Node, found Curve"],
		["var wrong: Node: get = _get_wrong\nfunc _get_wrong() -> Variant:\n\treturn load(\"res://suites/fixtures/classes/hero.gd\").Bag.new()", ["wrong"], "expected Node, found \"Bag\""],
		["var right: float: get = _get_right\nfunc _get_right() -> Variant:\n\treturn 1", ["right"], ""],
	]:
		var script := GDScript.new()
		script.source_code = case[0]
		script.reload()
		var own := FastVariantClasses.new()
		_register(own, script, "Own", {"properties": case[1]})
		own.register(Hero.Bag, "Bag")
		var written := own.try_encode(script.new())
		checks.same_value("message", case[2], written.message.get_slice(" (", 0))
		checks.truth("path", written.is_ok() or written.path == ".\"%s\"" % case[1][0], written.path)
	checks.subject(TYPE_OBJECT, "one object in two values")
	var bag := Hero.Bag.new()
	Engine.print_error_messages = false
	for saved: FastVariantResult in [
		classes.save_batch(FILE, [[bag], [bag]]), classes.save_batch_async(FILE, [bag, bag]).wait_to_finish(),
	]:
		checks.truth("is refused", "is also in value 0" in saved.message, saved.message)
	Engine.print_error_messages = true
	_free_nodes()
	checks.subject(TYPE_OBJECT, "what is too deep to be read is not written")
	var typed: Array[Hero.Bag] = []
	for deep: Variant in [bag, typed, load(COLOURS), {"@x": 1}]:
		var written := 0
		for levels in 1025:
			if levels > 1018:
				var encoded := classes.try_encode([deep, bag])
				written += int(encoded.is_ok())
				var message := classes.try_decode(encoded.value).message if encoded.is_ok() else ""
				checks.truth("%d levels" % levels, message.is_empty(), message)
			deep = [deep]
		checks.truth("and some are written", written > 0 and written < 6)
	var freed := Node.new()
	var held: Array = [freed]
	freed.free()
	checks.same_bytes("a freed object", var_to_bytes([null]), classes.encode(held))
	return true


## In debug builds, encoding without `try_` warns about each class once per run. The `try_` methods refuse the
## objects.
func test_losses_are_warned_of() -> bool:
	checks.subject(TYPE_OBJECT, "warnings")
	if not ClassDB.class_exists(&"Logger"):
		return true
	var watch: Object = load("res://suites/error_watch.gd").new()
	OS.call(&"add_logger", watch)
	var hero := Hero.new()
	for _twice in 2:
		FastVariantCodec.encode([hero])
		FastVariantCodec.encode_batch([hero, Picky.new(1)])
		FastVariantCodec.pack_batch([hero])
		FastVariantCodec.encode(hero, true)
		FastVariantCodec.try_encode(Mage.new())
		FastVariantCodec.encode(Values.PlainData.new(), true)
	OS.call(&"remove_logger", watch)
	var warnings: PackedStringArray = watch.call(&"warnings")
	if not OS.is_debug_build():
		checks.truth("none in a release build", warnings.is_empty())
		return true
	checks.same_int("how many", 3, warnings.size())
	for expected: String in ["encode: SuiteHero is written only as an instance id", "encode_batch: res://suites/fixtures/classes/picky.gd is written only", "SuiteHero stores none of its variables"]:
		checks.truth(expected, Array(warnings).any(func(warning: String) -> bool: return warning.contains(expected)), "\n".join(warnings))
	return true


## The advice for an object that cannot be saved fits its kind.
func test_advice_for_objects() -> bool:
	for case: Array in [
		[Hero.new(), "SuiteHero would be written only as an instance id, which has no meaning to a reader; register its class with FastVariantClasses"],
		[InputEventKey.new(), "InputEventKey would be written only as an instance id, which has no meaning to a reader; save the properties that you need, or pass `full_objects`, and load with `allow_objects` and `allowed_classes`"],
		[load(COLOURS), "save its path \"%s\", or use `FastVariantClasses.allow_resources`" % COLOURS],
		[bytes_to_var(var_to_bytes(Resource.new())), "(EncodedObjectAsID) is lost; set `lost_objects_as_null` when you load the save, or put null in its place"],
		[[] as Array[Hero.Bag], "a container with elements of type an inner class that extends RefCounted, with the variables items, owner would be read"],
	]:
		checks.subject(TYPE_OBJECT, case[1])
		Engine.print_error_messages = false
		var saved := FastVariantCodec.save_batch(FILE, [{"item": case[0]}])
		Engine.print_error_messages = true
		checks.truth("save_batch", case[1] in saved.message, saved.message)
	checks.subject(TYPE_OBJECT, "advice that is followed")
	var key := InputEventKey.new()
	key.physical_keycode = KEY_W
	checks.truth("full_objects", FastVariantCodec.save_batch(FILE, [key], true).is_ok())
	var limits := with_objects()
	limits.allowed_classes = ["InputEventKey"]
	var read := FastVariantCodec.load_batch(FILE, limits)
	checks.truth("allowed_classes", read.is_ok() and read.value[0].physical_keycode == KEY_W, read.message)
	return true


func _hero_with(any: Variant) -> Hero:
	var hero := Hero.new()
	hero.any = any
	return hero


func _hero_of_kind(kind: int) -> Hero:
	var hero := Hero.new()
	hero.set(&"kind", kind)
	return hero


func _other_native() -> Node:
	var node := Node3D.new()
	node.set_script(Watched)
	_nodes.append(node)
	return node


func test_registration() -> bool:
	checks.subject(TYPE_OBJECT, "registration")
	var classes := _classes()
	var broken := GDScript.new()
	broken.source_code = "extends Nowhere"
	var none := func(_first: Variant = null, _second: Variant = null) -> Variant: return null
	Engine.print_error_messages = false
	for wrong: Array in [
		[null], [Hero], [Picky, "Mage"], [Hero.Bag], [broken, "Broken"], [Picky], [Picky, "Node"], [Picky, "int"],
	]:
		checks.truth(str(wrong), classes.callv(&"register", wrong) == null)
	var picky := classes.register(Picky, "P")
	picky.create = none
	for wrong: Array in [
		["version", 0], ["upgrade", none.bind(1)], ["upgrade", Callable(self, &"none")], ["properties", ["none"]],
		["properties", ["size", "size"]], ["properties", ["script"]], ["properties", ["@size"]], ["renamed", {"old": "none"}],
		["renamed", {"size": "size"}], ["renamed", {1: "size"}],
	]:
		var before: Variant = picky.get(wrong[0])
		picky.set(wrong[0], wrong[1])
		checks.same_value("%s = %s" % wrong, before, picky.get(wrong[0]))
	for wrong: Array in [["user://", ["Texture2D"]], ["res://..", ["Texture2D"]], ["res://./suites", ["Texture2D"]], ["res://", []]]:
		checks.same_int(str(wrong), ERR_INVALID_PARAMETER, classes.callv(&"allow_resources", wrong))
	Engine.print_error_messages = true
	checks.same_value("what is left", ["P", 1, PackedStringArray(["size"]), {}, Callable(), none, false, false], [
		picky.name, picky.version, picky.properties, picky.renamed, picky.upgrade, picky.create, picky.keep_unknown, picky.ignore_unknown,
	])
	checks.truth("create that returns nothing is an error", "cannot create an object of class \"P\"" in classes.try_from_plain({&"@class": "P"}).message)
	classes = FastVariantClasses.new()
	picky = classes.register(Picky, "P")
	for without: FastVariantResult in [classes.try_encode(Picky.new(1)), classes.try_from_plain({&"@class": "P"})]:
		checks.truth("no create", "_init of class \"P\" takes arguments; give what `register` returned a `create`" in without.message, without.message)
	# An object that the old value captured may call the classes while it is freed.
	_capture_a_sentinel(classes, picky)
	picky.upgrade = Callable()
	checks.same_int("a captured object is freed", 1, Sentinel.freed)
	picky.create = func() -> Picky: return Picky.new(4)
	checks.same_int("create", 4, classes.try_from_plain({&"@class": "P"}).value.size)
	checks.same_int("from JSON", 7, classes.try_from_json(classes.to_json(Picky.new(7))).value.size)
	var hero := Hero.new()
	hero.counts = {&"gold": 3}
	hero.name_of = &"x"
	var same := _classes().try_from_json(JSON.stringify({"@class": "SuiteHero", "counts": {"gold": 3.0}, "name_of": "x", "hp": 10.0, "kind": 0}))
	checks.no_problem("texts and numbers of other programs", _difference(hero, same.value))
	classes = FastVariantClasses.new()
	_register(classes, Watched, "W", {"properties": PackedStringArray(["process_priority", "title"])})
	checks.same_value("native properties", {&"@class": "W", "process_priority": 3, "title": "x"}, classes.to_plain(_watched({&"process_priority": 3, &"title": "x"})))
	# A Node of the game: native properties are added, and a variable that refers to a child leaves itself out.
	classes = FastVariantClasses.new()
	var player := classes.register(Player, "Player")
	var node := Player.new()
	node.label = Label.new()
	node.add_child(node.label)
	node.position = Vector2(3, 4)
	checks.same_value("a child Node", {&"@class": "Player", "hp": 100, "target": null}, classes.to_plain(node))
	var read: Player = classes.decode(classes.encode(node))
	checks.truth("keeps its default", read.label == null)
	read.free()
	player.include(["position", "rotation"])
	player.exclude(["target"])
	checks.same_value("properties", PackedStringArray(["hp", "label", "position", "rotation"]), player.properties)
	checks.same_value("what is written", {&"@class": "Player", "hp": 100, "position": Vector2(3, 4), "rotation": 0.0}, classes.to_plain(node))
	Engine.print_error_messages = false
	player.exclude(["hp", "target"])
	player.include(["hp"])
	player.include(["nowhere"])
	Engine.print_error_messages = true
	checks.same_value("nothing changes after an error", PackedStringArray(["hp", "label", "position", "rotation"]), player.properties)
	node.free()
	_free_nodes()
	return true


## A variable of a Node in the scene tree refers to a Node: one in the value, or another one.
func test_nodes_in_the_tree() -> bool:
	checks.subject(TYPE_OBJECT, "Nodes in the scene tree")
	var classes := FastVariantClasses.new()
	classes.register(Player, "Player")
	var nodes: Array[Player] = [Player.new(), Player.new()]
	var root := (Engine.get_main_loop() as SceneTree).root
	# Only then is the root itself inside.
	await next_frame()
	nodes[0].target = nodes[1]
	nodes[1].hp = 7
	var read: Variant = classes.decode(classes.encode(nodes[0]))
	checks.truth("outside the tree, it belongs to the other", read.target.hp == 7)
	read.target.free()
	read.free()
	nodes.map(func(node: Player) -> void: root.add_child(node))
	var refused := classes.try_encode({"hero": nodes[0]})
	checks.truth("not in the value", "keep its NodePath" in refused.message and refused.path == ".\"hero\".\"target\"", refused.message)
	nodes[1].target = nodes[0]
	checks.truth("and refers back", "keep its NodePath" in classes.try_encode(nodes[0]).message)
	for value: Variant in [[nodes[0], nodes[1]], {"a": nodes[1], "b": [nodes[0]]}]:
		var loaded := classes.try_decode(classes.encode(value))
		var both: Array = loaded.value if loaded.value is Array else [loaded.value["b"][0], loaded.value["a"]]
		checks.truth("in the value", both[0].target == both[1] and both[1].target == both[0] and both[1].hp == 7, loaded.message)
		both.map(func(node: Player) -> void: node.free())
	nodes[1].reparent(nodes[0])
	checks.same_value("a child of the script's own class", {&"@class": "Player", "hp": 100, "label": null}, classes.to_plain(nodes[0]))
	nodes[0].free()
	return true


class Player:
	extends Node2D
	var hp := 100
	var label: Label
	var target: Player


class Sentinel:
	extends RefCounted
	static var freed := 0
	var classes: WeakRef

	func same(data: Dictionary) -> Dictionary:
		return data

	func _notification(what: int) -> void:
		if what == NOTIFICATION_PREDELETE:
			freed += 1
			var found: FastVariantClasses = classes.get_ref()
			found.encode(1)


func _capture_a_sentinel(classes: FastVariantClasses, picky: FastVariantClass) -> void:
	var sentinel := Sentinel.new()
	sentinel.classes = weakref(classes)
	picky.upgrade = func(data: Dictionary, _from: int) -> Dictionary: return sentinel.same(data)


## The messages about a script and a name that are registered already name the right class.
func _watched(properties: Dictionary) -> Watched:
	var node := Watched.new()
	_nodes.append(node)
	for property: StringName in properties:
		node.set(property, properties[property])
	return node


func _free_nodes() -> void:
	for node in _nodes:
		if is_instance_valid(node):
			node.free()
	_nodes.clear()


## Version 3 reads data of version 1.
func test_versions() -> bool:
	checks.subject(TYPE_OBJECT, "versions")
	var old := {&"@class": "Bag", "things": [1], "count": 2, "gone": 3}
	var upgrade := func(data: Dictionary, from: int) -> Dictionary:
		if from < 2:
			data["items"] = data["things"] + [data["count"]]
			data.erase("things")
			data.erase("count")
		data.erase("gone")
		return data
	var classes := _versioned({"version": 3, "upgrade": upgrade})
	checks.same_value("upgraded", [1, 2], classes.try_from_plain(old).value.items)
	checks.same_value("from version 2", [5], classes.try_from_plain({&"@class": "Bag", "@version": 2, "items": [5]}).value.items)
	checks.same_value("of this version", [6], classes.try_from_plain({&"@class": "Bag", "@version": 3, "items": [6]}).value.items)
	checks.same_value("renamed", [7], _versioned({"renamed": {"things": "items"}}).try_from_plain({&"@class": "Bag", "things": [7]}).value.items)
	var twice := var_to_bytes({&"@class": "Bag", "things": [], "thingz": [], "count": 1})
	twice[twice.rfind("z".unicode_at(0))] = "s".unicode_at(0)
	checks.truth("a property twice", "duplicate property \"things\"" in classes.try_decode(twice).message, classes.try_decode(twice).message)
	checks.same_value("without a property", [], classes.try_from_plain({&"@class": "Bag", "@version": 3}).value.items)
	for case: Array in [
		["no upgrade", {"version": 3}, "class \"Bag\" has version 3, but the data has version 1; give what `register` returned an `upgrade`"],
		["an upgrade that returns nothing", {"version": 3, "upgrade": func(_data: Dictionary, _from: int) -> void: pass}, "`upgrade` of class \"Bag\" from version 1 returned Nil; expected"],
		["an upgrade that leaves too much", {"version": 3, "upgrade": func(data: Dictionary, _from: int) -> Dictionary: return data}, "`upgrade` of class \"Bag\" from version 1 returned \"things\""],
		["an upgrade of another type", {"version": 3, "upgrade": func(_data: Dictionary, _from: int) -> Dictionary: return {"items": 1}}, "expected Array, found int"],
		["an upgrade that fails", {"version": 3, "upgrade": _failing_upgrade}, "`upgrade` of class \"Bag\" from version 1 failed, or returned a new empty Dictionary"],
		["a property that is gone", {}, "class \"Bag\" has no property \"things\""],
	]:
		Engine.print_error_messages = false
		var read := _versioned(case[1]).try_from_plain(old)
		Engine.print_error_messages = true
		checks.truth(case[0], case[2] in read.message, read.message)
	return true


func _failing_upgrade(data: Dictionary, _from: int) -> Dictionary:
	@warning_ignore("unsafe_method_access")
	data["none"].call_nothing()
	return data


## The engine's loaders of scripts, shaders and JSON do not know that these are of class Resource.
func test_resources_of_any_class() -> bool:
	checks.subject(TYPE_OBJECT, "resources of any class")
	const PATH := FOLDER + "/table.json"
	var classes := FastVariantClasses.new()
	checks.same_int("allow_resources", OK, classes.allow_resources(FOLDER, ["Resource"]))
	var item: JSON = load(PATH)
	var bytes := classes.encode(item)
	item = null
	checks.truth("the resource is not loaded", not ResourceLoader.has_cached(PATH))
	var read := classes.try_decode(bytes)
	checks.truth("it is read", read.is_ok() and read.value is JSON and read.value.data == {"power": 7.0}, read.message)
	return true


## For these properties, the engine silently ignores values of a wrong type or class. The codec refuses such
## values, and does not change containers that the game shares.
func test_what_the_engine_does_not_check() -> bool:
	checks.subject(TYPE_OBJECT, "exported containers")
	var classes := FastVariantClasses.new()
	for registered: Array in [[Exported, "E"], [Exported.Bag, "Bag"], [Exported.Skill, "Skill"]]:
		classes.callv(&"register", registered)
	for wrong: Dictionary in [
		{"by_name": {"x": "text"} as Dictionary[String, Variant]}, {"custom": {"x": 1.5} as Dictionary[String, Variant]}, {"ints": ["x"]}, {"ints": ["x"] as Array[String]},
	]:
		var refused := classes.try_from_plain({&"@class": "E"}.merged(wrong))
		checks.truth("wrong elements", "expected elements of type int" in refused.message, refused.message)
	var read := classes.try_from_plain({&"@class": "E", "by_name": {"x": 1}, "custom": {"x": 2.0}, "ints": [3.0], "table": ["y"]})
	checks.truth("converted elements", read.is_ok() and read.value.by_name.x == 1 and read.value.custom.x == 2 and read.value.ints == [3], read.message)
	var object: Exported = read.value
	var objects: Array[Object] = [object.bag]
	object.any = objects
	checks.no_problem("again", _difference(object, classes.try_decode(classes.encode(object)).value))
	checks.subject(TYPE_OBJECT, "a class that the engine refuses in silence")
	read = classes.try_from_plain({&"@class": "E", "bag": {&"@class": "Skill"}, "table": []})
	checks.truth("instead of a default", "it has another type" in read.message, read.message)
	checks.same_value("containers of the game", [1, 2, 3], Exported.shared)
	var upgrading := FastVariantClasses.new()
	upgrading.register(Exported.Bag, "Bag")
	upgrading.register(Exported.Skill, "Skill")
	_register(upgrading, Exported, "E", {"version": 2, "upgrade": func(data: Dictionary, _from: int) -> Dictionary:
		data["table"] = Exported.shared
		return data})
	read = upgrading.try_from_plain({&"@class": "E", "table": [], "bag": {&"@class": "Skill"}})
	checks.truth("after an upgrade", "it has another type" in read.message, read.message)
	checks.same_value("containers of the game that an upgrade returns", [1, 2, 3], Exported.shared)
	_register(upgrading, Hero.Skill, "Old", {"version": 2, "upgrade": func(data: Dictionary, _from: int) -> Dictionary: return data})
	var with_cycle := object_count()
	var failing := {&"@class": "E", "table": [], "bag": {&"@class": "Skill"}}
	read = upgrading.try_from_plain({&"@objects": [failing, {&"@class": "Old", "needs": [{&"@ref": 1}]}], "value": [{&"@ref": 0}, {&"@ref": 1}]})
	checks.truth("after an upgrade with typed containers", "it has another type" in read.message, read.message)
	checks.same_int("objects in a cycle are freed", with_cycle, object_count())
	checks.subject(TYPE_OBJECT, "enums of inner classes and of other scripts")
	for case: Array in [[{"bag": {&"@class": "Bag", "size": 7}}, "7 is not a value of"], [{"picky_kind": 3}, "3 is not a value of"], [{"picky_kind": 5}, ""]]:
		var message := classes.try_from_plain({&"@class": "E"}.merged(case[0])).message
		checks.truth(str(case[0]), message.is_empty() if case[1] == "" else message.begins_with(case[1]), message)
	checks.subject(TYPE_OBJECT, "enums of scripts without a file")
	for path: String in ["", "res://scene.tscn::GDScript_1"]:
		var script := GDScript.new()
		if path:
			script.resource_path = path
		script.source_code = "enum Kind {A = 5}\nvar kind := Kind.A"
		script.reload()
		var own := FastVariantClasses.new()
		own.register(script, "Own")
		for kind: int in [5, 6]:
			var message := own.try_from_plain({&"@class": "Own", "kind": kind}).message
			checks.truth(path, message.is_empty() == (kind == 5), message)
	checks.subject(TYPE_OBJECT, "a default with a type that its variable does not declare")
	read = classes.try_from_plain({&"@class": "E", "loose": [1.5, "x"]})
	checks.same_value("is not that of others", [1.5, "x"], read.value.loose)
	var half_typed := {"a": "text"} as Dictionary[String, Variant]
	read = classes.try_from_plain({&"@class": "E", "loose_table": half_typed, "any_table": half_typed})
	for table: String in ["loose_table", "any_table"]:
		checks.same_value(table, half_typed, read.value.get(table) if read.is_ok() else null)
	checks.subject(TYPE_OBJECT, "a getter that returns another container")
	var guarded := FastVariantClasses.new()
	guarded.register(Exported.Guarded, "Guarded")
	guarded.register(Exported.Skill, "Skill")
	var guard := Exported.Guarded.new()
	guard.skills = [Exported.Skill.new()] as Array[Exported.Skill]
	var guard_bytes := guarded.encode(guard)
	for is_open: bool in [false, true]:
		Exported.Guarded.is_open = is_open
		read = guarded.try_decode(guard_bytes)
		checks.truth("nothing is lost", read.value.skills.size() == 1 if is_open else "rejected the value" in read.message, read.message)
	var made_before := Exported.Guarded.made
	checks.truth("into a target", guarded.try_decode_into(guard, guard_bytes).is_ok() and guard.skills.size() == 1)
	checks.same_int("no other object is made", made_before, Exported.Guarded.made)
	checks.subject(TYPE_OBJECT, "a property of one of several classes")
	var material := ShaderMaterial.new()
	var drawn := FastVariantClasses.new()
	_register(drawn, Exported.Shown, "Shown", {"properties": ["material"]})
	drawn.register(Exported.Painted, "Painted")
	material.set_script(Exported.Painted)
	var shown := Exported.Shown.new()
	shown.material = material
	read = drawn.try_decode(drawn.encode(shown))
	checks.truth("is read", read.is_ok() and read.value.material is ShaderMaterial, read.message)
	shown.free()
	if read.is_ok():
		read.value.free()
	checks.subject(TYPE_OBJECT, "a counted object of a class that is not")
	var counted := FastVariantClasses.new()
	counted.register(Watched, "Watched")
	_register(counted, Exported.Bare, "Bare", {"create": func() -> Object:
		var made := RefCounted.new()
		made.set_script(Exported.Bare)
		return made})
	var objects_before := object_count()
	read = counted.try_from_plain([{&"@class": "Watched"}, {&"@class": "Bare"}, {&"@class": "None"}])
	checks.truth("is refused for another reason", "no class is registered as \"None\"" in read.message, read.message)
	checks.same_int("objects", objects_before, object_count())
	read = classes.try_from_plain({&"@class": "E", "near": {&"@class": "Bag"}})
	checks.truth("but a setter may leave it out", read.is_ok() and read.value.near == null, read.message)
	checks.subject(TYPE_OBJECT, "a getter that decodes its own class")
	var calls := [0]
	var lazy := FastVariantClasses.new()
	_register(lazy, Exported, "E", {"properties": ["lazy"]})
	Exported.on_read = func() -> void:
		calls[0] += 1
		if calls[0] == 1:
			lazy.try_from_plain({&"@class": "E", "lazy": [5]})
	read = lazy.try_from_plain({&"@class": "E", "lazy": [4]})
	checks.truth("ends", read.is_ok() and calls[0] > 1, "%d %s" % [calls[0], read.message])
	Exported.on_read = Callable()
	return true


## All values come back from JSON with the bytes that the engine writes for them.
func test_json() -> bool:
	var classes := FastVariantClasses.new()
	_register(classes, Hero, "SuiteHero", {"properties": ["any", "counts"]})
	var written := 0
	for case in values.cases:
		if not classes.try_encode(case.value).is_ok() or "without a class" in case.name:
			continue
		checks.subject(case.type, case.name)
		Engine.print_error_messages = false
		var text := classes.to_json(case.value)
		Engine.print_error_messages = true
		if text.is_empty():
			checks.truth("only deep values are refused", " deep" in case.name, case.name)
			continue
		var read := classes.try_from_json(text)
		checks.same_bytes("from JSON", var_to_bytes(case.value), var_to_bytes(read.value) if read.is_ok() else PackedByteArray())
		var json := JSON.new()
		checks.same_int("JSON for the engine", OK, json.parse(text))
		written += 1
	checks.truth("most values can be written", written > values.cases.size() / 2)
	checks.subject(TYPE_OBJECT, "properties in JSON")
	var tags: Dictionary[StringName, int] = {&"@ref": 0, &"gold": 76561198138808079}
	for any: Variant in [
		{"bob": true, "@alice": false}, {"name": "x", "@class": "Bag"}, {"@class": "Bag"} as Dictionary[String, String], {&"@class": "Bag"},
		{"Vector2": [1, 2]}, Vector2(0.1, -0.0), Color.CORAL, PackedInt64Array([76561198138808079]), {1: 1.0 / 3}, NAN,
	]:
		var hero := Hero.new()
		hero.any = any
		hero.counts = tags
		var read := classes.try_from_json(classes.to_json(hero))
		checks.same_bytes(str(any), var_to_bytes([any, tags]), var_to_bytes([read.value.any, read.value.counts]) if read.is_ok() else PackedByteArray())
	checks.subject(TYPE_STRING, "JSON that is refused")
	for case: Array in [
		["", "not JSON that `to_json` writes: EOF"], ["{\"Vector2\":[1]}", "expected 2 numbers, found 1 at line 1"], ["[".repeat(9000), "recursion limit exceeded"],
		["{\"@class\":\"SuiteHero\",\"counts\":{\"x\":99999999999999999999}}", "found a float beyond ±(2^53 − 1)"], ["[{\"Object\":7}]", "set `lost_objects_as_null`"],
		["[{\"Object\":{\"class\":\"Node\",\"properties\":[]}}]", "use FastVariantCodec with `allow_objects`"],
	]:
		var message := classes.try_from_json(case[0]).message
		checks.truth(case[1], case[1] in message, message)
	var limits := FastVariantLimits.for_network()
	checks.same_int("a long text", FastVariantCodec.MAX_BYTES_EXCEEDED, classes.try_from_json(" ".repeat(limits.max_bytes) + "1", limits).error)
	for text: String in ["[%s0]" % "[[[0]]],".repeat(100_000), "[%s0]" % "{\"a\":0},".repeat(100_000)]:
		checks.same_int("many containers", FastVariantCodec.MAX_MEMORY_EXCEEDED, classes.try_from_json(text, limits).error)
	var nested: Array = []
	for _level in 200:
		nested = [nested]
	Engine.print_error_messages = false
	checks.same_value("nothing is written that cannot be read", ["", ""], [classes.to_json(nested), classes.to_json(Bag1.new())])
	Engine.print_error_messages = true
	return true


## Lists and keys that the value holds several times.
func test_lists_that_are_found_many_times() -> bool:
	checks.subject(TYPE_OBJECT, "lists that are found many times")
	var classes := _classes()
	var twice: Array = range(2).map(func(_index: int) -> Array: return [ResourceLoader.load(COLOURS, "", ResourceLoader.CACHE_MODE_IGNORE)])
	var many: Array = range(16500).map(func(_index: int) -> Array: return [])
	var refused := classes.try_encode([many, [twice, twice, {twice[0]: 1, twice[1]: 2}]])
	checks.truth("keys in them are checked", "which was loaded twice" in refused.message, refused.message)
	var rows: Array = range(6000).map(func(_row: int) -> Array: return [{"bag": Hero.Bag.new()}])
	var bytes := classes.encode([rows, rows, {"rows": rows}, rows])
	var again := classes.try_decode(bytes)
	checks.truth("they are read", again.is_ok() and is_same(again.value[0][7][0]["bag"], again.value[2]["rows"][7][0]["bag"]), again.message)
	checks.same_bytes("and written again", bytes, classes.encode(again.value) if again.is_ok() else PackedByteArray())
	rows.append(rows)
	checks.same_int("a list in itself", FastVariantCodec.TOO_DEEP, classes.try_encode(rows).error)
	rows.clear()
	var nested: Variant = Hero.Bag.new()
	for _level in 50:
		nested = [nested]
	checks.truth("a key that is too deep", "nested deeper than 49 levels" in classes.try_encode({nested: 1}).message)
	return true


func test_hostile_forms() -> bool:
	checks.subject(TYPE_OBJECT, "hostile forms")
	var classes := _classes()
	var objects_before := object_count()
	for case: Array in [
		[{&"@objects": [{&"@class": "Watched"}], "value": 1}, "unreferenced object in \"@objects\"; expected a reference from the value"],
		[{&"@objects": [{&"@class": "Bag", "items": [{&"@ref": 1}]}, {&"@class": "Bag", "items": [{&"@ref": 0}]}], "value": []}, "unreferenced object in \"@objects\"; expected a reference from the value"],
		[{&"@dictionary": ["float", ""], "values": {&"@dictionary": ["float", ""], "values": {}}}, "unexpected tag \"@dictionary\""],
		[{&"@array": "int", "values": {&"@array": "int", "values": []}}, "unexpected tag \"@array\""],
	]:
		var message := classes.try_from_plain(case[0]).message
		checks.truth(case[1], case[1] in message, message)
	checks.same_int("objects", objects_before, object_count())
	var root := {}
	for _level in 2:
		root = {"children": [{"parent": root}, {"parent": root}]}
	var cycle := {}
	cycle["children"] = [{"parent": cycle}, {"parent": cycle}]
	checks.same_int("a cycle", FastVariantCodec.TOO_DEEP, classes.try_encode(cycle).error)
	cycle.clear()
	return true


## Properties added by a newer game are written back.
func test_unknown_properties_are_kept() -> bool:
	checks.subject(TYPE_OBJECT, "unknown properties")
	var classes := _versioned({"keep_unknown": true, "properties": ["items"]})
	var plain := {&"@class": "Bag", "items": [1], "more": {&"@class": "Bag", "items": []}, "and": {&"@plain": {"@x": 1}}}
	var read := classes.try_from_plain(plain)
	checks.truth("read", read.is_ok() and read.value.items == [1], read.message)
	checks.same_bytes("written back", var_to_bytes(plain), classes.encode(read.value))
	checks.truth("of the target", classes.try_decode_into(read.value, var_to_bytes({&"@class": "Bag", "items": []})).is_ok())
	checks.same_value("are replaced", {&"@class": "Bag", "items": []}, classes.to_plain(read.value))
	checks.truth("not unless asked for", not _versioned({}).try_from_plain(plain).is_ok())
	var twice := var_to_bytes({&"@class": "Bag", "@clasz": "Hero"})
	twice[twice.rfind("z".unicode_at(0))] = "s".unicode_at(0)
	checks.truth("no tags", "unexpected tag \"@class\"" in classes.try_decode(twice).message, classes.try_decode(twice).message)
	read.value.set_meta(&"_fast_variant_unknown", {"@class": 1})
	checks.truth("nor in metadata", "has the key \"@class\"" in classes.try_encode(read.value).message)
	return true


## A variable that the class no longer has: its data is ignored, and so are the objects in it.
func test_unknown_properties_are_ignored() -> bool:
	checks.subject(TYPE_OBJECT, "ignored properties")
	var classes := _versioned({"ignore_unknown": true})
	classes.register(Watched, "W")
	Watched.seen.clear()
	var orphans := Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT)
	var plain := {&"@class": "Bag", "gone": [{&"@class": "W", "title": "x", "other": {&"@class": "W"}}], "items": [1], "too": 2}
	var read := classes.try_from_plain(plain)
	checks.truth("read", read.is_ok() and read.value.items == [1], read.message)
	checks.same_value("nothing is set", "init init", " ".join(Watched.seen))
	checks.same_int("and the Nodes are freed", int(orphans), int(Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT)))
	checks.truth("nothing is kept", not classes.to_plain(read.value).has("gone"))
	checks.truth("also after upgrade", _versioned({"version": 2, "ignore_unknown": true, "upgrade": func(data: Dictionary, _from: int) -> Dictionary: return data}).try_from_plain({&"@class": "Bag", "gone": 1}).is_ok())
	var named := _versioned({}).try_from_plain(plain)
	# A Node in an ignored property and elsewhere keeps its properties; one that only ignored properties refer to is freed.
	classes = FastVariantClasses.new()
	classes.register(Hero.Bag, "Bag").ignore_unknown = true
	classes.register(Watched, "W")
	for item: Dictionary in [{&"@ref": 1}, {"x": [{&"@ref": 1}]}]:
		var shared := {&"@objects": [{&"@class": "Bag", "gone": item, "items": []}, {&"@class": "W", "title": "kept"}], "value": [{&"@ref": 0}, {&"@ref": 1}]}
		read = classes.try_from_plain(shared)
		checks.truth("shared", read.is_ok() and read.value[1].title == "kept", read.message)
		read.value[1].free()
	Watched.seen.clear()
	read = classes.try_from_plain({&"@objects": [{&"@class": "W", "title": "x", "other": {&"@class": "W"}}], "value": {&"@class": "Bag", "gone": [{&"@ref": 0}, {&"@ref": 0}]}})
	checks.truth("only ignored", read.is_ok(), read.message)
	checks.same_value("is not set", "init init", " ".join(Watched.seen))
	checks.same_int("and freed, too", int(orphans), int(Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT)))
	checks.truth("the error names the option", "no property \"gone\"; name it in `renamed`, set `ignore_unknown`, or" in named.message, named.message)
	return true


class Item1:
	var title := ""
	var amount := "1"


class Bag1:
	var things: Array = []


class Hero1:
	var label := ""
	var bag: Bag1


class Item3:
	var id := &""
	var count := 1


class Bag3:
	var items: Array[Item3] = []


class Hero3:
	var name := ""
	var bag: Bag3
	var level := 1


class Endless:
	static var hook := Callable()
	var number := 0:
		set(value):
			number = value
			if hook.is_valid():
				hook.call()


func _upgrade_item(data: Dictionary, from: int) -> Dictionary:
	if from < 2:
		data["id"] = StringName(data["title"].to_snake_case())
		data.erase("title")
	if from < 3:
		data["count"] = int(data["amount"])
		data.erase("amount")
	return data


## Version 3 reads a save of version 1 with three classes in other scripts, but only if no upgrade step is missing.
func test_versions_of_several_classes() -> bool:
	checks.subject(TYPE_OBJECT, "version 1 in version 3")
	var old := FastVariantClasses.new()
	for registered: Array in [[Item1, "Item"], [Bag1, "Bag"], [Hero1, "Hero"]]:
		old.callv(&"register", registered)
	var heroes: Array[Hero1] = [Hero1.new(), Hero1.new()]
	heroes[0].label = "Ren"
	heroes[0].bag = Bag1.new()
	heroes[1].bag = heroes[0].bag
	heroes[0].bag.things = [Item1.new()]
	heroes[0].bag.things[0].title = "Red Potion"
	heroes[0].bag.things[0].amount = "12"
	checks.truth("save", old.save_batch(FILE, [heroes]).is_ok())
	var steps: Dictionary[String, Array] = {
		"Item": [Item3, {"version": 3, "upgrade": _upgrade_item}, "class \"Item\" has no property \"title\""],
		"Bag": [Bag3, {"renamed": {"things": "items"}}, "class \"Bag\" has no property \"things\""],
		"Hero": [Hero3, {"renamed": {"label": "name"}}, "class \"Hero\" has no property \"label\""],
	}
	for missing: String in ["", "Item", "Bag", "Hero"]:
		var classes := FastVariantClasses.new()
		for registered in steps:
			var options: Dictionary = {} if registered == missing else steps[registered][1]
			_register(classes, steps[registered][0], registered, options)
		var read := classes.load_batch(FILE)
		if missing:
			checks.truth("without %s" % missing, steps[missing][2] in read.message and read.value.is_empty(), read.message)
			continue
		checks.truth("with every step", read.is_ok(), read.message)
		var hero: Hero3 = read.value[0][0]
		checks.truth("typed", read.value[0].get_typed_script() == Hero3)
		checks.truth("one bag", hero.name == "Ren" and hero.level == 1 and is_same(hero.bag, read.value[0][1].bag))
		checks.same_value("its item", [&"red_potion", 12], [hero.bag.items[0].id, hero.bag.items[0].count])
	return true


func _versioned(options: Dictionary) -> FastVariantClasses:
	var classes := FastVariantClasses.new()
	_register(classes, Hero.Bag, "Bag", options)
	return classes


func test_decode_into() -> bool:
	checks.subject(TYPE_OBJECT, "decode_into")
	var classes := _classes()
	var hero := Hero.new()
	hero.title = "Ren"
	hero.friends = [hero]
	var target := Hero.new()
	target.hp = 99
	var read := classes.try_decode_into(target, classes.encode(hero))
	checks.truth("the target", is_same(read.value, target) and target.title == "Ren" and target.hp == 10, read.message)
	checks.truth("a cycle through it", is_same(target.friends[0], target))
	var friend := Hero.new()
	var hero_with_friend := Hero.new()
	friend.bag = Hero.Bag.new()
	hero_with_friend.bag = friend.bag
	hero_with_friend.friends = [friend]
	read = classes.try_decode_into(target, classes.encode(hero_with_friend))
	checks.truth("an object in two places", is_same(read.value, target) and target.bag != null, read.message)
	checks.truth("is one", is_same(target.bag, target.friends[0].bag))
	read = classes.try_decode_into(Mage.new(), classes.encode(hero))
	checks.truth("another class", "expected data of the target's class, \"Mage\"; found class \"SuiteHero\"" in read.message, read.message)
	checks.truth("null", not classes.try_decode_into(null, classes.encode(hero)).is_ok())
	# JSON has no ints.
	var plain: Dictionary = classes.to_plain(hero)
	checks.same_value("a reference", {&"@ref": 0}, plain["value"])
	plain["value"]["@ref"] = 0.0
	read = classes.try_decode_into(target, FastVariantCodec.encode(plain))
	checks.truth("a reference in JSON", is_same(read.value, target), read.message)
	for other: Variant in [5, [hero], {&"@x": hero}, {"a": friend, "b": friend, "@ref": 0}]:
		read = classes.try_decode_into(target, classes.encode(other))
		checks.truth("data of no object", "expected data of an object for the target" in read.message, read.message)
	read = classes.try_decode_into(target, FastVariantCodec.encode({&"@class": "SuiteHero", "hp": 5, "title": 1}))
	checks.same_int("nothing is set if a value is wrong", 10, target.hp)
	_unlink([hero, target])
	checks.subject(TYPE_OBJECT, "decode_into over a typed container in an untyped property")
	var loose := FastVariantClasses.new()
	_register(loose, Exported, "E", {"properties": ["mixed"]})
	var used := Exported.new()
	used.mixed = [1] as Array[int]
	for values: Array in [["x", 1.0], [1.0]]:
		var bytes := FastVariantCodec.encode({&"@class": "E", "mixed": values})
		read = loose.try_decode_into(used, bytes)
		checks.truth("is read", read.is_ok(), read.message)
		checks.no_problem("as by decode", _difference(loose.try_decode(bytes).value, used))
	return true


func test_batches() -> bool:
	checks.subject(TYPE_OBJECT, "batches")
	var classes := _classes()
	var items: Array = [Hero.new(), [Mage.new(), 5], "text"]
	checks.truth("append_batch", classes.save_batch(FILE, items.slice(0, 1)).is_ok() and classes.append_batch(FILE, items.slice(1)).is_ok())
	checks.no_problem("load_batch", _difference(items, classes.load_batch(FILE).value))
	checks.truth("save_batch_async", classes.save_batch_async(FILE, items).wait_to_finish().is_ok())
	checks.no_problem("load_batch after it", _difference(items, classes.load_batch(FILE).value))
	var limits := FastVariantLimits.for_save_files()
	limits.max_elements = 10
	checks.same_int("limits", FastVariantCodec.MAX_ELEMENTS_EXCEEDED, classes.load_batch(FILE, limits).error)
	return true


## The order in which game code runs, and the calls that it may make.
func test_game_code() -> bool:
	checks.subject(TYPE_OBJECT, "game code")
	var classes := _classes()
	var plain := {&"@objects": [{&"@class": "Watched", "title": "a", "other": {&"@class": "Watched", "title": "b", "other": {&"@ref": 0}}}], "value": [{&"@ref": 0}]}
	var order: Array[String] = ["init", "init", "set b", "set a", "loaded b", "loaded a"]
	Watched.seen.clear()
	var read := classes.try_from_plain(plain)
	checks.same_value("the order", order, Watched.seen.duplicate())
	_unlink(read.value)
	Watched.seen.clear()
	checks.truth("a fault at the end", not classes.try_from_plain([plain["@objects"], {&"@class": "None"}]).is_ok())
	checks.same_value("runs no setter", ["init", "init"] as Array[String], Watched.seen.duplicate())
	var bytes := FastVariantCodec.encode(plain)
	read = null
	var objects_before := object_count()
	for meddling: Callable in [
		func(_node: Node) -> void: classes.encode(5),
		func(_node: Node) -> void: classes.allow_resources("res://suites", ["Script"]),
		func(node: Node) -> void: node.set_meta(&"x", classes.try_decode(bytes.slice(0, 9))),
	]:
		_meanwhile(meddling, classes, bytes)
	for meddling: Callable in [
		func(node: Node) -> void: node.free(),
		func(node: Node) -> void:
			_nodes.append(node)
			if is_instance_valid(node.other):
				node.other.free(),
	]:
		read = _meanwhile(meddling, classes, bytes)
		checks.truth("a setter that frees objects", read.is_ok() or "freed" in read.message, read.message)
	Engine.print_error_messages = false
	Watched.meanwhile = func(node: Node) -> void: node.free()
	read = classes.try_from_plain({&"@class": "Watched", "title": "x"})
	Watched.meanwhile = Callable()
	Engine.print_error_messages = true
	checks.truth("a setter of the last property that frees its object", "a setter freed an object" in read.message, read.message)
	classes.register(Endless, "Endless")
	var refusals: Array[String] = []
	Endless.hook = func() -> void:
		var inner := classes.try_from_plain({&"@class": "Endless", "number": 1})
		if not inner.is_ok():
			refusals.append(inner.message)
	read = classes.try_from_plain({&"@class": "Endless", "number": 2})
	Endless.hook = Callable()
	checks.truth("a setter that decodes without end", read.is_ok() and refusals.size() == 1 and "64 nested calls" in refusals[0], str(refusals))
	read = null
	_free_nodes()
	checks.same_int("objects", objects_before, object_count())
	Watched.seen.clear()
	return true


## Decodes while setters call `meddling`, encodes the result while getters call `meddling`, and frees the
## result.
func _meanwhile(meddling: Callable, classes: FastVariantClasses, bytes: PackedByteArray) -> FastVariantResult:
	var is_running := [false]
	Watched.meanwhile = func(node: Node) -> void:
		if not is_running[0]:
			is_running[0] = true
			meddling.call(node)
			is_running[0] = false
	var read := classes.try_decode(bytes)
	if read.value is Array:
		classes.try_encode(read.value)
	Watched.meanwhile = Callable()
	_unlink(read.value)
	return read


## Changed bytes give an error or objects of registered classes, and nothing else.
func test_mutations() -> bool:
	checks.subject(TYPE_OBJECT, "mutated bytes")
	var classes := _classes()
	var random := seeded("mutated classes")
	var objects := _graph(random, 12)
	var bytes := classes.encode(objects)
	var objects_before := object_count()
	for _round in MUTATED:
		var mutated := bytes.duplicate()
		for _change in random.randi_range(1, 3):
			mutated[random.randi() % mutated.size()] = random.randi() % 256
		var read := classes.try_decode(mutated)
		if read.is_ok():
			checks.no_problem("what was made", _stranger(read.value, classes))
			_unlink(read.value)
		read = null
	checks.same_int("objects left", objects_before, object_count())
	_unlink(objects)
	return true


## The message about the first object that is neither of a registered class nor an allowed resource; empty if
## there is none.
func _stranger(value: Variant, classes: FastVariantClasses) -> String:
	var written := classes.try_encode(value)
	return "" if written.is_ok() or written.error != FastVariantCodec.OBJECT_REFUSED else written.message
