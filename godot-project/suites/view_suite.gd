## FastVariantView on the engine's values and columns: arguments, errors, files, threads. tests/views.rs tests the rules
## of paths and bytes.
extends "res://suites/suite.gd"

const Costly := preload("res://suites/costly.gd")
const RandomValues := preload("res://suites/random_values.gd")

const PATH := "user://view_suite.dat"
## The maximum length of a path whose inner values the test visits; at a longer path, it only compares the value.
const DEEPEST := 30
## The number of rows of each random table.
const ROWS := 40
const COLUMN_TYPES: Dictionary[int, int] = {
	TYPE_INT: TYPE_PACKED_INT64_ARRAY, TYPE_FLOAT: TYPE_PACKED_FLOAT64_ARRAY, TYPE_STRING: TYPE_PACKED_STRING_ARRAY,
	TYPE_STRING_NAME: TYPE_PACKED_STRING_ARRAY, TYPE_VECTOR2: TYPE_PACKED_VECTOR2_ARRAY,
	TYPE_VECTOR3: TYPE_PACKED_VECTOR3_ARRAY, TYPE_VECTOR4: TYPE_PACKED_VECTOR4_ARRAY, TYPE_COLOR: TYPE_PACKED_COLOR_ARRAY,
	TYPE_BOOL: TYPE_ARRAY, TYPE_DICTIONARY: TYPE_ARRAY, TYPE_NODE_PATH: TYPE_ARRAY, TYPE_TRANSFORM3D: TYPE_ARRAY,
}
const FIELDS: Array[String] = ["id", "hp", "name", "position", "tag", "with/slash", "", "ünïcode"]


## Writes like `FileAccess.store_var`, and so accepts values that would be read as other values. Saving refuses
## these.
func _store(records: Array) -> void:
	FileAccess.open(PATH, FileAccess.WRITE).store_buffer(FastVariantCodec.pack_batch(records))


func test_every_place_of_every_value() -> bool:
	for case in values.cases:
		var bytes := Oracle.engine_encode(case.value)
		if Oracle.is_repeatable(bytes):
			checks.subject(case.type, case.name)
			_check_places(bytes, Oracle.engine_decode(bytes))
	return true


func test_random_columns_and_rows() -> bool:
	var generator := seeded("columns")
	var random := RandomValues.new(generator)
	for i in maxi(random_count / 200, 3):
		var table := _random_table(random, generator)
		checks.subject(TYPE_ARRAY, "random columns")
		var bytes := var_to_bytes({"rows": table})
		var framed := FastVariantCodec.pack_batch(table)
		_store(table)
		for views: Array in [
			[FastVariantView.open(bytes), "rows"], [FastVariantView.open_records(framed), ""],
			[FastVariantView.open_file(PATH), []],
		]:
			_check_table(views[0], views[1], bytes_to_var(bytes)["rows"], generator)
	return true


func test_paths() -> bool:
	checks.subject(TYPE_STRING, "paths")
	var value := {"players": [{"hp": 1}, {"hp": 2}], 7: "seven", "8": "text eight", 8: "eight", "a/b": 1, &"name": "StringName"}
	var view := FastVariantView.open(var_to_bytes(value))
	for expected: Array in [
		["players/1/hp", 2], [7, "seven"], [[8], "eight"], [["8"], "text eight"], [["a/b"], 1], ["a/b", null], ["name", "StringName"],
		[[&"players", 0, &"hp"], 1], ["players/2/hp", null], [NodePath("players/0/hp"), 1], [&"7", "seven"],
	]:
		checks.same_value("fetch %s" % [expected[0]], expected[1], view.fetch(expected[0]))
		checks.truth("has %s" % [expected[0]], view.has(expected[0]) == (expected[1] != null))
	checks.same_int("size of a number", 0, view.size_of("players/0/hp"))
	checks.same_int("size of nothing", -1, view.size_of("nowhere"))
	checks.same_int("type of nothing", -1, view.type_of("nowhere"))
	var result := view.try_fetch(["players", 2])
	checks.same_value("error", [FastVariantCodec.NOT_FOUND, ".\"players\""], [result.error, result.path])
	checks.truth("message", "no element 2" in result.message, result.message)
	checks.same_int("bytes", var_to_bytes({"hp": 2}).size(), view.try_fetch("players/1").bytes_read)
	# No encoder writes a lone surrogate, so no key is equal to one.
	var surrogate := PackedByteArray([0, 0xD8]).get_string_from_utf16()
	checks.truth("a surrogate", not FastVariantView.open(var_to_bytes({"\uFFFD": 1})).try_fetch([surrogate]).is_ok())
	return true


func test_records_and_files() -> bool:
	var records: Array = [{"id": 0}, [1, 2, 3], "text", null, PackedInt32Array([4, 5])]
	var bytes := FastVariantCodec.pack_batch(records)
	FastVariantCodec.save_batch(PATH, records)
	for view: FastVariantView in [FastVariantView.open_records(bytes), FastVariantView.open_file(PATH)]:
		checks.subject(TYPE_ARRAY, "records")
		checks.same_value("all", records, view.fetch([]))
		checks.same_int("size", records.size(), view.size_of(""))
		checks.same_int("type", TYPE_ARRAY, view.type_of([]))
		checks.same_value("range of all", PackedInt64Array([0, bytes.size()]), FastVariantInspector.byte_range(view, ""))
		for index in records.size():
			checks.same_value("record %d" % index, records[index], view.fetch(index))
			checks.same_value("record %d from the end" % index, records[-1 - index], view.fetch([-1 - index]))
			var place := FastVariantInspector.byte_range(view, index)
			checks.same_bytes("its bytes", var_to_bytes(records[index]), bytes.slice(place[0], place[1]))
		checks.same_value("in a record", [3, 5], [view.fetch([1, -1]), view.view(4).fetch("1")])
		checks.same_value("range in a record", FastVariantInspector.byte_range(view.view(1), 2), FastVariantInspector.byte_range(view, [1, 2]))
		checks.same_value("slices", [records.slice(-2, 99), records.slice(2)], [view.slice("", -2, 99), view.slice([], 2)])
		checks.same_int("a record that is not there", FastVariantCodec.NOT_FOUND, view.try_fetch(5).error)
		checks.same_int("one before the first", FastVariantCodec.NOT_FOUND, view.try_fetch(-6).error)
	return true


## Records in blocks have the indexes that they have without blocks, also while blocks are appended.
func test_blocks_in_files() -> bool:
	checks.subject(TYPE_ARRAY, "blocks")
	var generator := seeded("blocks")
	var records: Array = []
	FastVariantCodec.save_batch(PATH, [])
	var view := FastVariantView.open_file(PATH)
	for part in 12:
		var added: Array = []
		for index in generator.randi_range(1, 30):
			added.append({"id": records.size() + index, "at": Vector2(index, part), "text": "t".repeat(generator.randi_range(0, 9) ** 5)})
		FastVariantCodec.append_batch(PATH, added, false, part % 4 != 1)
		records.append_array(added)
		checks.same_int("size of a file that grows", records.size(), view.size_of(""))
		checks.same_value("its last record", records[-1], view.fetch(-1))
		checks.same_value("its first record", records[0], view.fetch(0))
	for of: FastVariantView in [view, FastVariantView.open_file(PATH), FastVariantView.open_records(FileAccess.get_file_as_bytes(PATH))]:
		for times in 100:
			var index := generator.randi_range(-records.size(), records.size() - 1)
			checks.same_value("record %d" % index, records[index], of.fetch(index))
			checks.same_value("a part of record %d" % index, records[index]["id"], of.view(index).fetch("id"))
			var begin := posmod(index, records.size())
			var end := begin + generator.randi_range(0, 40)
			checks.same_value("slice %d to %d" % [begin, end], records.slice(begin, end), of.slice("", begin, end))
		checks.same_value("all", records, of.fetch(""))
		checks.same_value("rows", range(100, records.size()), Array(of.rows("", "id", ">=", 100)))
		checks.same_value("columns", range(records.size()), Array(of.columns("", {"id": TYPE_INT})["id"]))
		checks.same_int("none behind the last", FastVariantCodec.NOT_FOUND, of.try_fetch(records.size()).error)
	# A value in a block has the range of the block.
	var bytes := FileAccess.get_file_as_bytes(PATH)
	var place := FastVariantInspector.byte_range(view, [-1, "id"])
	checks.same_value("the range of a value", [bytes.size(), true], [place[1], bytes_to_var(bytes.slice(place[0])).has(&"@zstd")])
	checks.same_value("the end of it", bytes.size(), view.try_fetch(-1).offset)
	# A writer may not have completed the last block yet.
	var file := FileAccess.open(PATH, FileAccess.READ_WRITE)
	FastVariantCodec.append_batch(PATH, ["one", "two"], false, true)
	checks.same_value("two more", ["one", "two"], view.slice("", -2))
	file.resize(file.get_length() - 5)
	file.close()
	for of: FastVariantView in [view, FastVariantView.open_file(PATH)]:
		checks.same_value("a block that is cut off", [records.size(), records[-1]], [of.size_of(""), of.fetch(-1)])
	return true


func test_files_that_change() -> bool:
	checks.subject(checks.MIXED, "files that change")
	FastVariantCodec.save_batch(PATH, [1, {"hp": 2}])
	var view := FastVariantView.open_file(PATH)
	checks.same_int("records", 2, view.size_of(""))
	FastVariantCodec.append_batch(PATH, ["three"])
	checks.same_int("records after one was appended", 3, view.size_of(""))
	checks.same_value("that one", "three", view.fetch(-1))
	var file := FileAccess.open(PATH, FileAccess.READ_WRITE)
	file.resize(file.get_length() - 6)
	file.close()
	for of_file: FastVariantView in [view, FastVariantView.open_file(PATH)]:
		checks.same_int("records without one that is cut off", 2, of_file.size_of(""))
		checks.same_value("all of them", [1, {"hp": 2}], of_file.fetch(""))
		checks.same_int("that one", FastVariantCodec.NOT_FOUND, of_file.try_fetch(2).error)
	var result := FastVariantView.open_records(FileAccess.get_file_as_bytes(PATH)).try_columns("", {"hp": TYPE_INT})
	checks.same_value("columns of a buffer that is cut off", [FastVariantCodec.UNEXPECTED_END, "[2]"], [result.error, result.path])
	FileAccess.open(PATH, FileAccess.READ_WRITE).resize(3)
	checks.same_value("no record is whole", "[0]", FastVariantView.open_file(PATH).try_fetch("").path)
	FastVariantCodec.save_batch(PATH, [1])
	view = FastVariantView.open_file(PATH)
	checks.same_value("a record", 1, view.fetch(0))
	FileAccess.open(PATH, FileAccess.READ_WRITE).resize(0)
	checks.same_int("records of an emptied file", 0, view.size_of(""))
	FastVariantCodec.append_batch(PATH, ["other", 2])
	checks.same_value("the record in its place", "other", view.fetch(0))
	# Record n has the value n and ends at byte 12 * (n + 1).
	FastVariantCodec.save_batch(PATH, [0])
	view = FastVariantView.open_file(PATH)
	var writer := Thread.new()
	writer.start(func() -> void:
		for n in 200:
			FastVariantCodec.append_batch(PATH, [n + 1]))
	var mixed := 0
	while writer.is_alive():
		result = view.try_fetch(-1)
		mixed += int(result.offset != 12 * (result.value + 1))
		result = view.try_fetch("")
		mixed += int(result.offset != 12 * result.value.size())
	writer.wait_to_finish()
	checks.same_int("values with the range of another", 0, mixed)
	return true


func test_files_that_cannot_be_opened() -> bool:
	for path: String in ["user://nowhere.dat", "user://", "res://nowhere.dat", "https://example.org"]:
		checks.subject(checks.MIXED, "view of %s" % path)
		var view := FastVariantView.open_file(path)
		for step: Variant in ["", 0, "0/title"]:
			var result := view.try_fetch(step)
			checks.same_value("try_fetch(%s)" % var_to_str(step), [FastVariantCodec.FILE_ERROR, FastVariantCodec.load_batch(path).message],
					[result.error, result.message])
		checks.same_int("try_columns", FastVariantCodec.FILE_ERROR, view.try_columns("", {"hp": TYPE_INT}).error)
		Engine.print_error_messages = false
		checks.same_value("the others", ["?", false, -1, -1, [], [], {}, PackedInt64Array(), PackedInt64Array()], [
			view.fetch("0/title", "?"), view.has(""), view.type_of(""), view.size_of(""), view.keys(""), view.slice("", 0),
			view.columns("", {"hp": TYPE_INT}), FastVariantInspector.byte_range(view, ""),
			view.rows("", "hp", "<", 1),
		])
		Engine.print_error_messages = true
	return true


class Item:
	var id := ""
	var owner: RefCounted


class Hero:
	var hp := 0
	var items: Array[Item] = []
	var any: Variant
	var by_name: Variant
	var own := {}


## Returns a hero and its item.
static func _hero(hp: int, is_shared: bool) -> Array:
	var hero := Hero.new()
	var item := Item.new()
	hero.hp = hp
	item.id = "rope"
	item.owner = hero if is_shared else null
	hero.items = [item]
	if is_shared:
		hero.any = hero.items
		hero.by_name = {"first": item, "@ref": item} as Dictionary[String, Item]
	else:
		hero.any = [{"id": "rope"}]
		hero.by_name = {"first": {"id": "rope"}, "@ref": {"id": "rope"}}
	hero.own = {"@ref": 5, "x": {"@plain": {"y": 2}}}
	return [hero, item]


## The path of a value is the same, whether its object is shared or not.
func test_paths_through_objects() -> bool:
	var classes := FastVariantClasses.new()
	classes.register(Hero, "Hero")
	classes.register(Item, "Item")
	for is_shared: bool in [false, true]:
		checks.subject(TYPE_OBJECT, "paths through %s objects" % ("shared" if is_shared else "single"))
		var objects := _hero(77, is_shared) + _hero(5, is_shared)
		var heroes: Array = [objects[0], objects[2]]
		classes.save_batch(PATH, heroes)
		for view: FastVariantView in [
			FastVariantView.open(classes.encode(heroes)), FastVariantView.open_file(PATH),
			FastVariantView.open_records(FileAccess.get_file_as_bytes(PATH)),
		]:
			for expected: Array in [
				["0/hp", 77], ["1/hp", 5], ["-1/items/0/id", "rope"], ["0/any/0/id", "rope"], ["0/by_name/first/id", "rope"],
				["0/by_name/@ref/id", "rope"], ["0/own/x", {"@plain": {"y": 2}}], ["0/own/@ref", 5], ["0/own/x/@plain/y", 2], ["0/@class", "Hero"],
			]:
				checks.same_value(expected[0], expected[1], view.fetch(expected[0]))
				checks.same_int("type of " + expected[0], typeof(expected[1]), view.type_of(expected[0]))
				checks.truth("has " + expected[0], view.has(expected[0]))
			checks.same_value("sizes", [2, 6, 1, 1, 2, 2, 3], ["", 0, "0/items", "0/any", "0/by_name", "0/own", "0/items/0"].map(view.size_of))
			checks.same_value("keys", [&"@class", "hp", "items", "any", "by_name", "own"], view.keys(0))
			checks.same_value("keys of a Dictionary", ["first", "@ref"], Array(view.keys("0/by_name"), TYPE_NIL, &"", null))
			checks.same_int("elements", 1, view.slice("0/any", 0).size())
			checks.same_value("a part", [5, "rope", 2], [view.view("0/own").fetch("@ref"), view.view("0/items/0").fetch("id"), view.view("0/own").size_of("")])
			checks.same_value("a column", PackedInt64Array([77, 5]), view.columns("", {"hp": TYPE_INT})["hp"])
			checks.same_value("columns", {"items/0/id": PackedStringArray(["rope", "rope"]), ["own", "@ref"]: PackedInt64Array([5, 5])},
					view.columns("", {"items/0/id": TYPE_STRING, ["own", "@ref"]: TYPE_INT}))
			checks.same_value("rows", PackedInt64Array([1]), view.rows("", "hp", "<", 10))
			checks.same_value("a column of a part", PackedStringArray(["rope"]), view.columns("1/any", {"id": TYPE_STRING})["id"])
			if is_shared:
				checks.same_value("back", 77, view.fetch("0/items/0/owner/hp"))
				checks.same_value("a column of references", PackedInt64Array([77]), view.columns("0/items", {"owner/hp": TYPE_INT})["owner/hp"])
		for index: int in [1, 3]:
			objects[index].owner = null
	return true


## The loader refuses these references, too.
func test_references_that_lead_nowhere() -> bool:
	checks.subject(TYPE_DICTIONARY, "references")
	var classes := FastVariantClasses.new()
	classes.register(Item, "Item")
	var item := {&"@class": "Item", "id": "rope"}
	for case: Array in [
		["itself", [{&"@ref": 0}], 0], ["in a circle", [{&"@ref": 1}, {&"@ref": 0}], 0], ["too large", [item], 1],
		["negative", [item], -1], ["a text", [item], "0"], ["a fraction", [item], 0.5], ["no object", [7], 0],
	]:
		var bytes := var_to_bytes({&"@objects": case[1], "value": [{&"@ref": case[2]}]})
		checks.truth("%s: loaded" % case[0], not classes.try_decode(bytes).is_ok())
		for path: String in ["0", "0/id"]:
			checks.same_int("%s: %s" % [case[0], path], FastVariantCodec.OBJECT_REFUSED, FastVariantView.open(bytes).try_fetch(path).error)
		checks.same_int("%s: a column" % case[0], FastVariantCodec.OBJECT_REFUSED,
				FastVariantView.open(bytes).try_columns("", {"id": TYPE_STRING}).error)
	var json := var_to_bytes(JSON.to_native(JSON.parse_string(JSON.stringify(
			JSON.from_native({"@objects": [item], "value": [{"@ref": 0}]})))))
	checks.same_value("of JSON", "rope", FastVariantView.open(json).fetch("0/id"))
	json = var_to_bytes(JSON.parse_string('{"@objects": [{"@class": "Item", "id": "rope"}], "value": [{"@ref": 0}]}'))
	checks.same_value("of plain JSON", "rope", FastVariantView.open(json).fetch("0/id"))
	# A user's own Dictionaries, which are no tags: no table, another size, another type.
	for own: Dictionary in [
		{"@ref": 0}, {"@ref": 0, "x": 1}, {"@plain": 1}, {"@array": "Item", "values": 1}, {"@dictionary": [], "value": {}},
		{"@objects": 1, "value": 2}, {"@objects": [], "values": 2}, {"@other": 1},
	]:
		for key: String in own:
			checks.same_value("own %s" % own, own[key], FastVariantView.open(var_to_bytes(own)).fetch(key))
			checks.same_value("in %s" % own, own[key], FastVariantView.open(var_to_bytes([own])).fetch([0, key]))
	return true


## A column that no row has is an error, unless a default says what such rows get.
func test_columns_by_path() -> bool:
	checks.subject(TYPE_ARRAY, "columns by path")
	var rows := [
		{"pos": PackedVector2Array([Vector2(1, 2), Vector2(3, 4)]), "a/b": 1, "list": [{"x": 1}, {"x": 2}], "hp": 1.5},
		{"pos": PackedVector2Array([Vector2(5, 6), Vector2(7, 8)]), "a/b": 2, "list": [{"x": 3}], 7: 8, "hp": 2.5},
	]
	FastVariantCodec.save_batch(PATH, rows)
	for view: FastVariantView in [FastVariantView.open(var_to_bytes(rows)), FastVariantView.open_file(PATH)]:
		for case: Array in [
			["pos/1", TYPE_VECTOR2, [0, 1]], ["pos/-2", TYPE_VECTOR2, [0, 1]], [["pos", 0], TYPE_VECTOR2, [0, 1]],
			["list/0/x", TYPE_INT, [0, 1]], ["list/1/x", TYPE_INT, [0]], [["a/b"], TYPE_INT, [0, 1]], [7, TYPE_INT, [1]], ["7", TYPE_INT, [1]],
			["", TYPE_DICTIONARY, [0, 1]], ["list", TYPE_ARRAY, [0, 1]], ["pos/5", TYPE_VECTOR2, []], ["a/b", TYPE_INT, []],
			["no such", TYPE_DICTIONARY, []], ["pos", TYPE_VECTOR2, []], ["hp", TYPE_INT, []], ["hp/x", TYPE_INT, []],
		]:
			var path: Variant = case[0]
			var default: Variant = type_convert(null, case[1])
			var expected: Array = [0, 1].map(func(row: int) -> Variant:
				var found: Variant = view.view(row).fetch(path, default)
				return found if row in case[2] else default)
			expected = Array(type_convert(expected, COLUMN_TYPES.get(case[1], TYPE_ARRAY)))
			var what := "column %s" % [path]
			checks.same_value("%s with a default" % what, expected, Array(view.columns("", {path: case[1]}, {path: default})[path]))
			var result := view.try_columns("", {path: case[1]})
			if case[2].is_empty():
				checks.same_int(what, FastVariantCodec.NOT_FOUND, result.error)
			else:
				checks.same_value(what, expected, Array(result.value[path]))
				checks.same_value("%s: rows without" % what, PackedInt64Array([0, 1].filter(func(row: int) -> bool: return row not in case[2])), result.incomplete_rows)
		checks.same_value("two fields of one value", {"list/0/x": PackedInt64Array([1, 3]), "pos/0": PackedVector2Array([Vector2(1, 2), Vector2(5, 6)]),
				"pos/1": PackedVector2Array([Vector2(3, 4), Vector2(7, 8)])}, view.columns("", {"list/0/x": TYPE_INT, "pos/0": TYPE_VECTOR2, "pos/1": TYPE_VECTOR2}))
		checks.same_value("rows", PackedInt64Array([1]), view.rows("", "list/0/x", ">", 1))
		checks.same_value("rows of a later field", PackedInt64Array([1]), view.rows("", 7, "==", 8))
		checks.truth("message", 'no row with int at ."hp", but row 0 has float; ' in view.try_columns("", {"hp": TYPE_INT}).message,
				view.try_columns("", {"hp": TYPE_INT}).message)
		Engine.print_error_messages = false
		checks.same_value("no such column", [{}, PackedInt64Array()], [view.columns("", {"no such": TYPE_INT}), view.rows("", "no such", "==", 1)])
		Engine.print_error_messages = true
	checks.same_value("no rows", PackedInt64Array(), FastVariantView.open(var_to_bytes([])).columns("", {"hp": TYPE_INT})["hp"])
	return true


func test_objects_are_not_created() -> bool:
	checks.subject(TYPE_OBJECT, "views of objects")
	var resource := Resource.new()
	resource.resource_name = "by name"
	resource.set_meta(&"hp", 7)
	var bytes := var_to_bytes_with_objects([resource, {"again": resource}])
	var limits := FastVariantLimits.for_save_files()
	limits.allow_objects = true
	for view: FastVariantView in [FastVariantView.open(bytes), FastVariantView.open(bytes, limits)]:
		checks.same_value("property", "by name", view.fetch("0/resource_name"))
		checks.same_value("property of another", "by name", view.fetch([1, "again", &"resource_name"]))
		checks.same_int("type", TYPE_OBJECT, view.type_of(0))
		checks.truth("names", view.keys(0).has(&"resource_name"), str(view.keys(0)))
		checks.same_int("size", view.keys(0).size(), view.size_of(0))
		checks.same_value("behind it", 2, view.size_of(""))
	checks.same_int("the object", FastVariantCodec.OBJECTS_NOT_ALLOWED, FastVariantView.open(bytes).try_fetch(0).error)
	for path: Variant in [0, ""]:
		var result := FastVariantView.open(bytes, limits).try_fetch(path)
		checks.same_int("the object, allowed", FastVariantCodec.OBJECT_REFUSED, result.error)
		checks.truth("what to do", "a view creates no objects" in result.message, result.message)
	return true


func test_views_of_godot3() -> bool:
	checks.subject(TYPE_ARRAY, "Godot 3")
	var table := [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Mia"}]
	var view := FastVariantView.open(FastGodot3Codec.encode(table), null, true)
	checks.same_value("all", table, view.fetch(""))
	checks.same_value("a part", "Mia", view.fetch("1/name"))
	checks.same_value("columns", {"id": PackedInt64Array([1, 2])}, view.columns("", {"id": TYPE_INT}))
	checks.same_value("rows", PackedInt64Array([1]), view.rows("", "name", ">", "Bob"))
	# In Godot 4's format, the whole file would be one value.
	for records: Array in [[[], null], [{}, null]]:
		var framed := PackedByteArray()
		for record: Variant in records:
			var bytes := FastGodot3Codec.encode(record)
			framed.append_array([bytes.size(), 0, 0, 0])
			framed.append_array(bytes)
		checks.same_value("records %s" % [records], records, FastVariantView.open_records(framed, null, true).fetch(""))
	var nested: Array = bytes_to_var("1c00000001000000".repeat(90).hex_decode() + PackedByteArray([0, 0, 0, 0]))
	checks.same_value("nested Arrays", PackedInt64Array(), FastVariantView.open(var_to_bytes([[nested]])).rows("", 0, "<", nested))
	return true


## The errors are the same as when everything is decoded.
func test_errors() -> bool:
	checks.subject(TYPE_DICTIONARY, "errors of views")
	var value := {"players": [{"hp": 1.0, "alive": true}]}
	var bytes := var_to_bytes(value)
	bytes[-4] = 2
	var expected := FastVariantCodec.try_decode(bytes)
	checks.same_int("the bool", FastVariantCodec.NOT_CANONICAL, expected.error)
	var view := FastVariantView.open(bytes)
	for path: String in ["", "players", "players/0", "players/0/alive"]:
		_check_error(path, expected, view.try_fetch(path))
	_check_error("a column", expected, view.try_columns("players", {"hp": TYPE_FLOAT, "alive": TYPE_BOOL}))
	var batch := FastVariantCodec.pack_batch([value, value])
	batch[-4] = 2
	expected = FastVariantCodec.unpack_batch(batch)
	var records := FastVariantView.open_records(batch)
	_check_error("a record", expected, records.try_fetch([1, "players", 0, "alive"]), "[1]")
	_check_error("a whole record", expected, records.try_fetch(1), "[1]")
	_check_error("all records", expected, records.try_fetch(""), "[1]")
	var truncated := FastVariantCodec.pack_batch([1, 2, 3])
	truncated.encode_u32(16, 99)
	truncated.resize(truncated.size() - 2)
	checks.same_value("damage before the end", "[1]", FastVariantView.open_records(truncated).try_fetch("").path)
	var trailing := FastVariantCodec.pack_batch([1])
	trailing.encode_u32(0, 12)
	trailing.append_array(PackedByteArray([0, 0, 0, 0]))
	_check_error("a record with more bytes", FastVariantCodec.unpack_batch(trailing),
			FastVariantView.open_records(trailing).try_fetch(0), "[0]")
	return true


## In a view, records are elements. [method FastVariantCodec.unpack_batch] names the record in the message, not in the
## path.
func _check_error(what: String, expected: FastVariantResult, found: FastVariantResult, record := "") -> void:
	checks.same_value(what, [expected.error, expected.offset, record + expected.path], [found.error, found.offset, found.path])
	if not record:
		checks.same_value("%s: the message" % what, expected.message, found.message)


func test_limits() -> bool:
	checks.subject(checks.MIXED, "limits of views")
	var bytes := var_to_bytes({"small": 1, "many": range(100)})
	for property: String in ["max_bytes", "max_depth", "max_elements", "max_memory", "max_key_comparisons", "allowed_types"]:
		var none := FastVariantLimits.for_save_files()
		none.set(property, 0)
		_check_error(property, FastVariantCodec.try_decode(bytes, none), FastVariantView.open(bytes, none).try_fetch(""))
	var limits := FastVariantLimits.for_network()
	# Rows that share a value share the limits.
	var shared := {&"@class": "Item", "id": "x".repeat(200_000), "list": range(20_000)}
	var references := range(20_000).map(func(_index: int) -> Dictionary: return {&"@ref": 0})
	var of_shared := FastVariantView.open(var_to_bytes({&"@objects": [shared], "value": references}), limits)
	for type: int in [TYPE_STRING, TYPE_ARRAY, TYPE_DICTIONARY]:
		var path: String = {TYPE_STRING: "id", TYPE_ARRAY: "list", TYPE_DICTIONARY: ""}[type]
		checks.truth("shared %s" % path, of_shared.try_columns("", {path: type}).error in [
				FastVariantCodec.MAX_MEMORY_EXCEEDED, FastVariantCodec.MAX_ELEMENTS_EXCEEDED], of_shared.try_columns("", {path: type}).message)
	checks.same_int("elements of shared values", 20_000, of_shared.columns("", {"list/19999": TYPE_INT})["list/19999"].size())
	# So do the rows of one call: here names of 40 records, and Dictionaries of one entry, which take 500 bytes each.
	var names := Costly.colliding_texts(20_000)
	var rows := []
	for start in range(0, names.size(), 40):
		rows.append(names.slice(start, start + 40).map(func(text: String) -> StringName: return StringName(text)))
	var of_names := FastVariantView.open_records(FastVariantCodec.pack_batch(rows), limits)
	checks.same_int("names of all rows", FastVariantCodec.MAX_KEY_COMPARISONS_EXCEEDED, of_names.try_columns("", {"": TYPE_ARRAY}).error)
	var small := range(65_000).map(func(_index: int) -> Dictionary: return {null: null})
	for of_small: FastVariantView in [FastVariantView.open(var_to_bytes(small), limits),
			FastVariantView.open_records(FastVariantCodec.pack_batch(small), limits)]:
		checks.truth("memory of all rows", of_small.try_columns("", {"": TYPE_DICTIONARY}).error in [
				FastVariantCodec.MAX_MEMORY_EXCEEDED, FastVariantCodec.MAX_ELEMENTS_EXCEEDED])
	var texts := range(200_000).map(func(index: int) -> String: return "text %d" % index)
	checks.same_int("texts of all rows", FastVariantCodec.MAX_MEMORY_EXCEEDED,
			FastVariantView.open_records(FastVariantCodec.pack_batch(texts), limits).try_columns("", {"": TYPE_STRING}).error)
	limits.max_elements = 50
	var view := FastVariantView.open(bytes, limits)
	checks.same_value("within", 1, view.fetch("small"))
	checks.same_value("a part within", [3, 4], view.slice("many", 3, 5))
	Engine.print_error_messages = false
	checks.same_int("too many of a slice", 0, view.slice("many", 0).size())
	Engine.print_error_messages = true
	limits.max_bytes = 8
	checks.same_value("limits are those of the opening", 1, view.fetch("small"))
	var records := FastVariantView.open_records(FastVariantCodec.pack_batch([1, "longer than that"]), limits)
	checks.same_value("a short record", 1, records.fetch(0))
	checks.same_int("a long one", FastVariantCodec.MAX_BYTES_EXCEEDED, records.try_fetch(1).error)
	return true


func test_typed_paths_and_names() -> bool:
	checks.subject(TYPE_ARRAY, "typed paths")
	var view := FastVariantView.open(var_to_bytes({"players": [{"name": &"Ada"}, {}]}))
	var names: Array[String] = ["players"]
	checks.same_int("of Strings", 2, view.size_of(names))
	var indexes: Array[int] = [0]
	checks.same_value("of ints", {"name": &"Ada"}, view.view("players").fetch(indexes))
	checks.same_value("a StringName for a default", PackedStringArray(["Ada", "none"]),
			view.columns("players", {"name": TYPE_STRING_NAME}, {"name": &"none"})["name"])
	checks.same_value("an int for a float", PackedFloat64Array([7, 7]), view.columns("players", {"hp": TYPE_FLOAT}, {"hp": 7})["hp"])
	return true


func test_wrong_arguments() -> bool:
	checks.subject(checks.MIXED, "wrong arguments")
	var view := FastVariantView.open(var_to_bytes({"rows": [{"id": 1}], "number": 1}))
	for path: Variant in [null, 1.5, {}, RefCounted.new(), Vector2(), PackedStringArray(["rows"])]:
		checks.same_int("path %s" % [path], FastVariantCodec.BAD_ARGUMENT, view.try_fetch(path).error)
	checks.same_int("no type", FastVariantCodec.BAD_ARGUMENT, view.try_columns("rows", {"id": TYPE_MAX}).error)
	checks.same_int("a name for a type", FastVariantCodec.BAD_ARGUMENT, view.try_columns("rows", {"id": "int"}).error)
	checks.same_int("a default of another type", FastVariantCodec.BAD_ARGUMENT,
			view.try_columns("rows", {"id": TYPE_INT}, {"id": "none"}).error)
	checks.same_int("no rows", FastVariantCodec.BAD_ARGUMENT, view.try_columns("number", {"id": TYPE_INT}).error)
	checks.same_int("nowhere", FastVariantCodec.NOT_FOUND, view.try_columns("nowhere", {"id": TYPE_INT}).error)
	Engine.print_error_messages = false
	checks.same_value("an operator that is none", PackedInt64Array(), view.rows("rows", "id", "~", 1))
	checks.truth("a view of nothing", view.view("nowhere") == null)
	checks.same_value("a column of nothing", {}, view.columns("nowhere", {"id": TYPE_INT}))
	checks.same_value("the range of nothing", PackedInt64Array(), FastVariantInspector.byte_range(view, "nowhere"))
	checks.same_value("the range in no view", PackedInt64Array(), FastVariantInspector.byte_range(null, ""))
	var empty := FastVariantView.new()
	checks.same_value("a view that a script made", "default", empty.fetch("", "default"))
	checks.same_int("its error", FastVariantCodec.BAD_ARGUMENT, empty.try_fetch("").error)
	Engine.print_error_messages = true
	return true


func test_views_on_threads() -> bool:
	checks.subject(checks.MIXED, "views on threads")
	var table: Array = []
	for index in 2000:
		table.append({"id": index, "name": "n%d" % index, "tags": ["a", "b", str(index)]})
	_store(table)
	var views: Array[FastVariantView] = [
		FastVariantView.open(var_to_bytes(table)), FastVariantView.open_records(FastVariantCodec.pack_batch(table)),
		FastVariantView.open_file(PATH),
	]
	for view in views:
		var threads: Array[Thread] = []
		for salt in 4:
			var thread := Thread.new()
			thread.start(_read_at_random.bind(view, table, salt))
			threads.append(thread)
		for thread in threads:
			checks.same_value("what a thread found wrong", "", thread.wait_to_finish())
	return true


func _read_at_random(view: FastVariantView, table: Array, salt: int) -> String:
	var generator := RandomNumberGenerator.new()
	generator.seed = salt
	for i in 300:
		var index := generator.randi() % table.size()
		if view.fetch([index, "tags", 2]) != str(index) or view.fetch([index, "name"]) != "n%d" % index:
			return "row %d" % index
		if i % 100 == 0 and view.columns("", {"id": TYPE_INT})["id"].size() != table.size():
			return "column"
	return ""


static func _is_list(value: Variant) -> bool:
	return typeof(value) >= TYPE_ARRAY


func _check_places(bytes: PackedByteArray, value: Variant) -> void:
	var view := FastVariantView.open(bytes)
	var open: Array = [[[], value]]
	while not open.is_empty():
		var place: Array = open.pop_back()
		var path: Array = place[0]
		var expected: Variant = place[1]
		checks.same_value("fetch %s" % [path], expected, view.fetch(path))
		checks.same_int("type_of %s" % [path], typeof(expected), view.type_of(path))
		checks.same_value("view %s" % [path], expected, view.view(path).fetch(""))
		checks.same_int("offset of %s" % [path], FastVariantInspector.byte_range(view, path)[1], view.try_fetch(path).offset)
		if path.size() > DEEPEST:
			continue
		if expected is Dictionary:
			checks.same_int("size_of %s" % [path], expected.size(), view.size_of(path))
			checks.same_value("keys %s" % [path], expected.keys(), view.keys(path))
			for key: Variant in expected:
				if not Compare.holds_objects(key):
					open.append([path + [key], expected[key]])
		elif _is_list(expected):
			checks.same_int("size_of %s" % [path], expected.size(), view.size_of(path))
			checks.same_value("slice %s" % [path], Array(expected), view.slice(path, 0))
			for index: int in expected.size():
				if index < 3 or index == expected.size() - 1:
					open.append([path + [index], expected[index]])


## Returns a table in which most rows have the same fields.
static func _random_table(random: RandomValues, generator: RandomNumberGenerator) -> Array:
	var types := {}
	for field in FIELDS:
		types[field] = COLUMN_TYPES.keys()[generator.randi() % COLUMN_TYPES.size()]
	var table: Array = []
	for i in ROWS:
		var row := {}
		var fields := FIELDS.duplicate()
		if generator.randi() % 8 == 0:
			fields.reverse()
		for field in fields:
			if generator.randi() % 16:
				var type: int = types[field] if generator.randi() % 16 else generator.randi() % TYPE_CALLABLE
				var value: Variant = random.of_type(type, 4)
				if not Compare.holds_objects(value):
					row[field] = value
		table.append(row if generator.randi() % 32 else random.of_type(generator.randi() % TYPE_CALLABLE, 4))
	return table.filter(func(row: Variant) -> bool: return not Compare.holds_objects(row) and Oracle.is_repeatable(var_to_bytes(row)))


func _check_table(view: FastVariantView, path: Variant, table: Array, generator: RandomNumberGenerator) -> void:
	var types := {}
	var defaults := {}
	for name in FIELDS:
		types[[name]] = COLUMN_TYPES.keys()[generator.randi() % COLUMN_TYPES.size()]
		if types[[name]] == TYPE_INT and generator.randi() % 2:
			defaults[[name]] = 77
	var expected := {}
	var incomplete := {}
	for name in FIELDS:
		# As a path in text, some names would be several steps.
		var field := [name]
		var type: int = types[field]
		var has := func(row: Variant) -> bool: return row is Dictionary and row.has(name) and typeof(row[name]) == type
		if not table.any(has):
			checks.same_int("no column %s" % name, FastVariantCodec.NOT_FOUND, view.try_columns(path, {field: type}).error)
			if not defaults.has(field):
				var default: Variant = _default(type)
				defaults[field] = "none" if default == null else default
		var cells: Array = []
		for index in table.size():
			if has.call(table[index]):
				cells.append(table[index][name])
			else:
				incomplete[index] = true
				cells.append(defaults.get(field, _default(type)))
		expected[field] = type_convert(cells, COLUMN_TYPES[type])
	var result := view.try_columns(path, types, defaults)
	checks.truth("columns are ok", result.is_ok(), result.message)
	checks.same_value("columns", expected, result.value)
	var rows: Array = incomplete.keys()
	rows.sort()
	checks.same_value("incomplete rows", PackedInt64Array(rows), result.incomplete_rows)
	var field := FIELDS[generator.randi() % FIELDS.size()]
	var cells: Array = table.filter(func(row: Variant) -> bool: return row is Dictionary and row.has(field))
	if cells.is_empty():
		return
	var wanted: Variant = cells[generator.randi() % cells.size()][field]
	for operator: String in ["==", "!=", "<", "<=", ">", ">=", "in"]:
		var other: Variant = [wanted] if operator == "in" else wanted
		var found := PackedInt64Array()
		for index in table.size():
			var row: Variant = table[index]
			if row is Dictionary and row.has(field) and _compares(row[field], operator, other):
				found.append(index)
		checks.same_value("rows %s %s" % [field, operator], found, view.rows(path, [field], operator, other))


static func _default(type: int) -> Variant:
	if COLUMN_TYPES[type] == TYPE_ARRAY:
		return null
	return "" if COLUMN_TYPES[type] == TYPE_PACKED_STRING_ARRAY else type_convert(null, type)


## The result of the engine's comparison; false if the engine reports an error.
static func _compares(a: Variant, operator: String, b: Variant) -> bool:
	var expression := Expression.new()
	expression.parse("a %s b" % operator, ["a", "b"])
	var result: Variant = expression.execute([a, b], null, false)
	return not expression.has_execute_failed() and result == true
