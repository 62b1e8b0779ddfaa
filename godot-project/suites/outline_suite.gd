## Uses the engine to decode the range of each node of `inspect`, and compares the type, size and
## value.
extends "res://suites/suite.gd"

const PlainData := preload("res://suites/fixtures/plain_data.gd")

## The number of nodes of each value that are compared with the engine.
const NODES := 200


func test_ranges_hold_the_engines_values() -> bool:
	for case in values.cases:
		var bytes := Oracle.engine_encode(case.value)
		if bytes.is_empty():
			continue
		checks.subject(case.type, case.name)
		var outline := FastVariantCodec.inspect(bytes, NODES)
		checks.truth("is good if the engine says so", (outline["error"] == 0) == Oracle.engine_accepts(bytes))
		_check_notes(outline, bytes)
		if outline["error"] != 0:
			continue
		checks.same_int("end", bytes.size(), outline["end"])
		_check_nodes(outline["nodes"], bytes)
	return true


func test_properties_of_objects() -> bool:
	var object := PlainData.new()
	object.text = "größe"
	object.child = PlainData.new()
	checks.subject(TYPE_OBJECT, "an object in full")
	var bytes := var_to_bytes_with_objects(object)
	var outline := FastVariantCodec.inspect(bytes)
	var nodes: Array[Dictionary] = outline["nodes"]
	checks.same_int("error", 0, outline["error"])
	checks.same_int("size", bytes.size(), nodes[0]["size"])
	checks.same_int("properties", nodes[0]["count"], nodes[0]["children"].size())
	var seen := PackedStringArray()
	for child: int in nodes[0]["children"]:
		var node := nodes[child]
		seen.append(node["name"])
		checks.same_value("role", "property", node["role"])
		checks.same_int("size of %s" % node["name"], bytes.decode_var_size(node["offset"], true), node["size"])
		if node["name"] != "script" and node["name"] != "child":
			checks.same_value(node["name"], object.get(node["name"]), bytes_to_var(_range(node, bytes)))
	for property in ["script", "number", "text", "ratio", "child", "numbers", "table"]:
		checks.truth("%s is there" % property, seen.has(property), str(seen))
	return true


## The kinds are those in the help: content, header, declared type, count, padding. tests/outline.rs tests the rules.
func test_pieces() -> bool:
	var bytes := var_to_bytes({"hp": 7})
	checks.subject(TYPE_DICTIONARY, "pieces")
	checks.same_value("pieces", "hhhhnnnn" + "hhhhnnnnccpp" + "hhhhcccc", _pieces(FastVariantCodec.inspect(bytes), 0, bytes.size()))
	checks.subject(checks.MIXED, "pieces of few nodes")
	checks.truth("at most eight for each", FastVariantCodec.inspect(var_to_bytes(Values.filled(1000, "x")), 10)["piece_offsets"].size() <= 80)
	return true


## The limit on the number of nodes. tests/outline.rs tests which nodes are omitted.
func test_numbers_of_nodes() -> bool:
	checks.subject(TYPE_ARRAY, "20000 ints")
	var bytes := var_to_bytes(Values.filled(20000, 7))
	for most: int in [0, -1, -9223372036854775808]:
		checks.same_int("nodes of %d" % most, 1, FastVariantCodec.inspect(bytes, most)["nodes"].size())
	checks.same_int("nodes by default", 10000, FastVariantCodec.inspect(bytes)["nodes"].size())
	checks.same_int("nodes of all", 20001, FastVariantCodec.inspect(bytes, 9223372036854775807)["nodes"].size())
	checks.same_int("nodes at most", 100000, FastVariantCodec.inspect(var_to_bytes(Values.filled(200000, 7)), 1 << 40)["nodes"].size())
	checks.same_int("lines", 10002, FastVariantCodec.describe(bytes).split("\n", false).size())
	return true


## If try_decode refuses the bytes, the outline has an error or a note. Exceptions are repeated keys and
## objects that are not allowed, because the outline does not check them.
func _check_notes(outline: Dictionary, bytes: PackedByteArray) -> void:
	var strict := FastVariantCodec.try_decode(bytes)
	var is_odd: bool = outline["error"] != 0 or not outline["notes"].is_empty()
	if strict.is_ok():
		checks.truth("nothing is wrong or odd", not is_odd, outline["message"])
	elif strict.error != FastVariantCodec.OBJECTS_NOT_ALLOWED and not strict.message.contains("duplicate Dictionary key"):
		checks.truth("something is wrong or odd", is_odd, strict.message)


## The engine decodes each node's range to the same value as when it decodes all bytes.
func _check_nodes(nodes: Array[Dictionary], bytes: PackedByteArray) -> void:
	var engine_values: Dictionary[int, Variant] = {}
	for index in nodes.size():
		var node := nodes[index]
		var value: Variant = Oracle.engine_decode(_range(node, bytes))
		checks.same_int("type of node %d" % index, typeof(value), node["type"])
		checks.same_value("name of the type", type_string(typeof(value)), node["type_name"])
		checks.same_int("size of node %d" % index, bytes.decode_var_size(node["offset"]), node["size"])
		checks.truth("node %d is complete" % index, node["is_complete"])
		if index == 0:
			checks.same_int("parent", -1, node["parent"])
		else:
			checks.same_value("value of node %d" % index, engine_values[index], value)
		if not node["children"].is_empty():
			_find_children(node, index, nodes, value, engine_values)


## Stores each element, key and value of a container in `found`, under the index of its node.
func _find_children(node: Dictionary, index: int, nodes: Array[Dictionary], value: Variant, found: Dictionary) -> void:
	var keys: Array = value.keys() if value is Dictionary else []
	var held: Array = value.values() if value is Dictionary else value
	checks.same_int("count of node %d" % index, held.size(), node["count"])
	var end: int = node["offset"] + 4
	for child: int in node["children"]:
		var inner := nodes[child]
		checks.truth("node %d lies behind what stands before it" % child, inner["offset"] >= end)
		end = inner["offset"] + inner["size"]
		checks.same_int("parent of node %d" % child, index, inner["parent"])
		found[child] = keys[inner["index"]] if inner["role"] == "key" else held[inner["index"]]
	checks.truth("children lie in node %d" % index, end <= node["offset"] + node["size"])


## The kinds of bytes, as one letter per byte.
func _pieces(outline: Dictionary, start: int, count: int) -> String:
	var offsets: PackedInt64Array = outline["piece_offsets"]
	var letters := ""
	for at in range(start, start + count):
		letters += "chtnp"[outline["piece_kinds"][offsets.bsearch(at, false) - 1]]
	return letters


func _range(node: Dictionary, bytes: PackedByteArray) -> PackedByteArray:
	return bytes.slice(node["offset"], node["offset"] + node["size"])
