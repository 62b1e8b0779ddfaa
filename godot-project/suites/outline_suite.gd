## Uses the engine to decode the range of each node of `inspect`, and compares the type, size and
## value.
extends "res://suites/suite.gd"

const PlainData := preload("res://suites/fixtures/plain_data.gd")

## The number of nodes of each value that are compared with the engine.
const NODES := 200


## Files like those that people had, in hexadecimal: what they hold, and what else all of their bytes can be read as. The
## last one is the first one without its length prefix.
const FILES: Array[Array] = [
	["e80300001b000000020000001500000008000000406f626a656374731c000000040000001b0000000a000000150000000600000040636c61737300000400000006000000506c617965720000040000000b000000706c617965725f6e616d6500040000000300000052656e00040000000200000068700000020000000a00000004000000030000006a6f620002000000010000000400000009000000696e76656e746f72790000001c000000010000001b000000010000001500000004000000407265660200000001000000040000000500000073746174730000001b00050015000000030000000100000015000000030000007374720003000000000060400400000005000000736c6f74730000001b000100020000000100000002000000020000001b000000010000001500000004000000407265660200000001000000040000000600000071756573747300001c000000020000001b0000000100000015000000040000004072656602000000020000001b00000001000000150000000400000040726566020000000300000004000000090000006162696c69746965730000001c000000010000001b00000005000000150000000600000040636c617373000004000000070000004162696c6974790004000000050000007469746c6500000004000000080000004669726562616c6c0400000005000000706f776572000000030000000000803f040000000400000069636f6e000000000400000008000000636f6f6c646f776e02000000090000000400000004000000676f6c640400000003000000313030001b00000003000000150000000600000040636c617373000004000000040000004974656d0400000002000000696400001500000006000000706f74696f6e00000400000005000000636f756e7400000002000000040000001b00000004000000150000000600000040636c6173730000", "records", ""],
	["340000001200000002000000040000000200000068700000020000000500000004000000050000006c6576656c0000000200000003000000", "records of Godot 3", "records"],
	["380000001200000002000000040000000400000073697a6503000100000000000000454004000000040000006b696e64040000000400000063617270", "records of Godot 3", ""],
	["12000000020000000400000001000000610000000200000004000000040000000500000073746174650000000100000001000000", "value of Godot 3", "value"],
	["640000001b0000000200000004000000040000007469636b020000000000000004000000060000007061636b657400001d000000300000001c0000001b0000000100000004000000030000006869740002000000070000000c000000040000000300000062796500640000001b0000000200000004000000040000007469636b020000000100000004000000060000007061636b657400001d000000300000001c0000001b0000000100000004000000030000006869740002000000070000000c000000040000000300000062796500640000001b0000000200000044000000040000007469636b020000000200000004000000060000007061636b657400001d000000300000001c0000001b0000000100000004000000030000006869740002000000070000000c000000040000000300000062796500640000001b0000000200000004000000040000007469636b020000000300000004000000060000007061636b657400001d000000300000001c0000001b0000000100000004000000030000006869740002000000070000000c000000040000000300000062796500640000001b0000000200000004000000040000007469636b020000000400000004000000060000007061636b657400001d000000300000001c0000001b0000000100000004000000030000006869740002000000070000000c000000040000000300000062796500", "records", ""],
	["1b000000020000001500000008000000406f626a656374731c000000040000001b0000000a000000150000000600000040636c61737300000400000006000000506c617965720000040000000b000000706c617965725f6e616d6500040000000300000052656e00040000000200000068700000020000000a00000004000000030000006a6f620002000000010000000400000009000000696e76656e746f72790000001c000000010000001b000000010000001500000004000000407265660200000001000000040000000500000073746174730000001b00050015000000030000000100000015000000030000007374720003000000000060400400000005000000736c6f74730000001b000100020000000100000002000000020000001b000000010000001500000004000000407265660200000001000000040000000600000071756573747300001c000000020000001b0000000100000015000000040000004072656602000000020000001b00000001000000150000000400000040726566020000000300000004000000090000006162696c69746965730000001c000000010000001b00000005000000150000000600000040636c617373000004000000070000004162696c6974790004000000050000007469746c6500000004000000080000004669726562616c6c0400000005000000706f776572000000030000000000803f040000000400000069636f6e000000000400000008000000636f6f6c646f776e02000000090000000400000004000000676f6c640400000003000000313030001b00000003000000150000000600000040636c617373000004000000040000004974656d0400000002000000696400001500000006000000706f74696f6e00000400000005000000636f756e7400000002000000040000001b00000004000000150000000600000040636c6173730000", "value", ""],
]

func test_ranges_hold_the_engines_values() -> bool:
	for case in values.cases:
		var bytes := Oracle.engine_encode(case.value)
		if bytes.is_empty():
			continue
		checks.subject(case.type, case.name)
		var outline := FastVariantInspector.inspect(bytes, NODES)
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
	var outline := FastVariantInspector.inspect(bytes)
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
	checks.same_value("pieces", "hhhhnnnn" + "hhhhnnnnccpp" + "hhhhcccc", _pieces(FastVariantInspector.inspect(bytes), 0, bytes.size()))
	checks.subject(checks.MIXED, "pieces of few nodes")
	checks.truth("at most eight for each", FastVariantInspector.inspect(var_to_bytes(Values.filled(1000, "x")), 10)["piece_offsets"].size() <= 80)
	return true


## The limit on the number of nodes. tests/outline.rs tests which nodes are omitted.
func test_numbers_of_nodes() -> bool:
	checks.subject(TYPE_ARRAY, "20000 ints")
	var bytes := var_to_bytes(Values.filled(20000, 7))
	for most: int in [0, -1, -9223372036854775808]:
		checks.same_int("nodes of %d" % most, 1, FastVariantInspector.inspect(bytes, most)["nodes"].size())
	checks.same_int("nodes by default", 10000, FastVariantInspector.inspect(bytes)["nodes"].size())
	checks.same_int("nodes of all", 20001, FastVariantInspector.inspect(bytes, 9223372036854775807)["nodes"].size())
	checks.same_int("nodes at most", 100000, FastVariantInspector.inspect(var_to_bytes(Values.filled(200000, 7)), 1 << 40)["nodes"].size())
	checks.same_int("lines", 10002, FastVariantInspector.describe(bytes).split("\n", false).size())
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


func test_contents() -> bool:
	checks.subject(checks.MIXED, "contents of files")
	for file in FILES:
		var bytes: PackedByteArray = file[0].hex_decode()
		var outline := FastVariantInspector.inspect(bytes)
		checks.same_value("contents of %s" % file[0].left(32), [file[1], file[2]], [outline["contents"], outline["other_contents"]])
		var is_refused: bool = "records" not in [file[1], file[2]]
		var loaded := FastVariantCodec.unpack_batch(bytes)
		checks.same_int("unpack_batch", int(is_refused), int("one encoded value" in loaded.message or "Godot 3" in loaded.message))
		checks.truth("describe", FastVariantInspector.describe(bytes).begins_with("record 0, ") == (file[1] == "records"))
	var torn: PackedByteArray = FILES[0][0].hex_decode()
	checks.truth("a truncated record", "need 1000 bytes, 696 left" in FastVariantCodec.unpack_batch(torn).message)
	checks.truth("its values", FastVariantInspector.inspect(torn.slice(4))["nodes"].size() > 30)
	return true
