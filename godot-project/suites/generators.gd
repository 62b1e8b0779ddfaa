## Inputs as trees of generators. A tree fits into a line of text, and a search can change it in small steps.
##
## A generator is a Dictionary: "is" names the kind of output, and the other entries are its parameters. Its
## output depends on a number, so that keys and names can differ. The outermost generator determines the
## format of the bytes.
extends RefCounted

const Costly := preload("res://suites/costly.gd")
const Wire := preload("res://suites/wire.gd")

## The number of known ints with the same hash.
const KNOWN := 4096
## The number of values that are made one by one; larger outputs repeat them.
const PIECES := 60_000
## The maximum depth of trees.
const DEEPEST := 12
const COUNTS: Array[int] = [0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 32, 45, 64, 65, 100, 290, 1000, 2000, 10_000, 40_000, 100_000]
const LENGTHS: Array[int] = [0, 1, 3, 4, 16, 32, 33, 100, 1000, 10_000, 100_000, 900_000]
## The ways in which texts and ints differ from one another.
const FAMILIES: Array[String] = ["same", "numbered", "colliding", "crowded", "random"]
const LEAVES: Array[int] = [
	TYPE_NIL, TYPE_BOOL, TYPE_INT, TYPE_FLOAT, TYPE_STRING, TYPE_VECTOR2, TYPE_VECTOR2I, TYPE_VECTOR3I, TYPE_TRANSFORM3D,
	TYPE_PROJECTION, TYPE_COLOR, TYPE_STRING_NAME, TYPE_NODE_PATH, TYPE_RID, TYPE_OBJECT, TYPE_CALLABLE, TYPE_SIGNAL,
	TYPE_PACKED_BYTE_ARRAY, TYPE_PACKED_INT32_ARRAY, TYPE_PACKED_INT64_ARRAY, TYPE_PACKED_STRING_ARRAY,
	TYPE_PACKED_VECTOR3_ARRAY, TYPE_PACKED_VECTOR4_ARRAY,
]
## The id in Godot 3 of each generated type that exists there.
const GODOT_3: Dictionary[int, int] = {
	TYPE_NIL: 0, TYPE_BOOL: 1, TYPE_INT: 2, TYPE_FLOAT: 3, TYPE_STRING: 4, TYPE_VECTOR2: 5, TYPE_TRANSFORM3D: 13, TYPE_COLOR: 14,
	TYPE_NODE_PATH: 15, TYPE_OBJECT: 17, TYPE_DICTIONARY: 18, TYPE_ARRAY: 19, TYPE_PACKED_BYTE_ARRAY: 20,
	TYPE_PACKED_INT32_ARRAY: 21, TYPE_PACKED_STRING_ARRAY: 23, TYPE_PACKED_VECTOR3_ARRAY: 25,
}
## Fields of fixtures/messages/everything.proto, in hexadecimal, including nested and unknown ones.
const FIELDS: Array[String] = [
	"1801", "2001", "7200", "72016a", "a80101", "b20100", "8a0100", "a20100", "a201021801", "880201", "8a020101", "fa0200", "e20200",
	"9a0300", "9a03020801", "a20300", "a2030408011200", "b20300", "a01f01", "a31fa41f", "aa1f00", "9203020101", "18ffffffffffffffffff01",
	"a31fa31fa31fa31fa31fa31fa31fa31fa41fa41fa41fa41fa41fa41fa41fa41f",
]
const MAP_TEXTS := 51
const MAP_NUMBERS := 54

## The maximum number of bytes of a text, and of the whole input.
var most: int

var _random := RandomNumberGenerator.new()
var _godot_3 := false
## The number of values made so far for the current input.
var _pieces := 0
var _colliding := Costly.colliding_ints(KNOWN)
var _crowded := Costly.crowded_ints(300, 389)


func _init(random_seed: int, most_bytes: int) -> void:
	_random.seed = random_seed
	most = most_bytes


## Initial trees: inputs that are known to be expensive.
static func known_inputs(entry: String) -> Array[Dictionary]:
	var all: Array[Dictionary] = []
	if entry == "messages":
		for field in [MAP_TEXTS, MAP_NUMBERS]:
			all.append(_filled_with([{"is": "map", "field": field, "n": 2000, "by": "colliding", "length": 0}]))
			all.append(_filled_with([{"is": "map", "field": field, "n": 16, "by": "colliding", "length": 100}]))
		all.append(_filled_with([{"is": "field", "hex": "fa0200", "n": 1000, "inside": 1}]))
		return all
	var number := {"is": "leaf", "type": TYPE_INT, "n": 0, "by": "colliding"}
	var text := {"is": "leaf", "type": TYPE_STRING, "n": 0, "by": "colliding"}
	var nil := {"is": "leaf", "type": TYPE_NIL, "n": 0, "by": "same"}
	for keys: Dictionary in [number, text]:
		all.append({"is": "input", "of": {"is": "dictionary", "n": 2000, "keys": keys, "of": nil, "shared": true, "type": 0}, "fill": false})
	for count: int in [16, 45]:
		all.append(_filled_with({"is": "dictionary", "n": count, "keys": text, "of": nil, "shared": true, "type": 0}))
	var crowded := {"is": "leaf", "type": TYPE_INT, "n": 0, "by": "crowded"}
	all.append(_filled_with({"is": "dictionary", "n": 290, "keys": crowded, "of": nil, "shared": true, "type": 0}))
	var bools := {"is": "array", "n": 90_000, "of": {"is": "leaf", "type": TYPE_BOOL, "n": 0, "by": "same"}, "shared": false, "type": 0}
	all.append({"is": "input", "of": {"is": "chain", "n": 30, "by": "key", "of": bools}, "fill": false})
	all.append({"is": "input", "of": {"is": "chain", "n": 1, "by": "key", "of": bools}, "fill": false})
	for type: int in [TYPE_STRING_NAME, TYPE_NODE_PATH, TYPE_SIGNAL, TYPE_OBJECT, TYPE_PACKED_STRING_ARRAY, TYPE_PACKED_VECTOR4_ARRAY]:
		all.append(_filled_with({"is": "leaf", "type": type, "n": 4, "by": "numbered"}))
	return all


static func _filled_with(value: Variant) -> Dictionary:
	return {"is": "input", "of": value, "fill": true}


func random_input(entry: String) -> Dictionary:
	var input := {"is": "input", "of": random_fields() if entry == "messages" else random_value(0), "fill": _random.randf() < 0.5}
	if _random.randf() < 0.1:
		input["torn"] = 1 + _random.randi() % 40
	return input


func mutated(input: Dictionary, other: Dictionary, entry: String) -> Dictionary:
	var changed: Dictionary = input.duplicate(true)
	for change in 1 + _random.randi() % 3:
		if _random.randf() < 0.15:
			_change_input(changed)
		elif entry == "messages":
			_change_fields(changed, other)
		else:
			_change_value(changed, other)
	return changed


func bytes_of(input: Dictionary, entry: String) -> PackedByteArray:
	_godot_3 = entry == "try_decode_godot3"
	_pieces = 0
	var room := most - 16
	var bytes := PackedByteArray()
	if entry == "messages":
		bytes = _message(input["of"], room)
		if input["fill"] and bytes:
			bytes = Wire.repeated(bytes, maxi(1, room / bytes.size()))
	elif entry == "unpack_batch":
		var index := 0
		while bytes.size() < room and (index == 0 or input["fill"]) and _pieces < PIECES:
			var value := _value(input["of"], index, room - bytes.size())
			bytes.append_array(Wire.word(value.size()) + value)
			index += 1
		if input["fill"]:
			bytes = Wire.repeated(bytes, maxi(1, room / bytes.size()))
	elif input["fill"]:
		var first := _value(input["of"], 0, room)
		var count := maxi(1, mini(100_000, room / maxi(4, first.size())))
		bytes = _array({"n": count, "of": input["of"], "shared": false, "type": 0}, 0, room)
	else:
		bytes = _value(input["of"], 0, room)
	for change: Array in input.get("noise", []):
		if bytes:
			bytes[int(change[0] * (bytes.size() - 1))] = int(change[1])
	return bytes.slice(0, bytes.size() - int(input["torn"])) if input.has("torn") else bytes


func random_value(depth: int) -> Dictionary:
	var choice := _random.randf()
	if depth >= DEEPEST or choice < 0.35:
		return random_leaf()
	if choice < 0.6:
		return {"is": "array", "n": _pick(COUNTS), "of": random_value(depth + 1), "shared": _random.randf() < 0.3, "type": 0}
	if choice < 0.9:
		return {
			"is": "dictionary", "n": _pick(COUNTS), "keys": random_value(depth + 1), "of": random_value(depth + 1),
			"shared": _random.randf() < 0.5, "type": 0,
		}
	return {"is": "chain", "n": 1 + _random.randi() % 31, "by": _pick(["array", "key", "value"]), "of": random_value(depth + 1)}


func random_leaf() -> Dictionary:
	return {"is": "leaf", "type": _pick(LEAVES), "n": _pick(LENGTHS), "by": _pick(FAMILIES)}


func random_fields() -> Array:
	var fields: Array = []
	for index in 1 + _random.randi() % 4:
		fields.append(random_field())
	return fields


func random_field() -> Dictionary:
	if _random.randf() < 0.3:
		return {"is": "map", "field": _pick([MAP_TEXTS, MAP_NUMBERS]), "n": _pick(COUNTS), "by": _pick(FAMILIES), "length": _pick(LENGTHS)}
	return {"is": "field", "hex": _pick(FIELDS), "n": _pick(COUNTS), "inside": _random.randi() % 3}


func _pick(choices: Array) -> Variant:
	return choices[_random.randi() % choices.size()]


func _change_input(input: Dictionary) -> void:
	match _random.randi() % 4:
		0:
			input["fill"] = not input["fill"]
		1:
			input["torn"] = 1 + _random.randi() % 40
		2:
			input.erase("torn")
			input.erase("noise")
		3:
			var noise: Array = input.get("noise", [])
			input["noise"] = noise + [[_random.randf(), _random.randi() % 256]]


func _change_fields(input: Dictionary, other: Dictionary) -> void:
	var fields: Array = input["of"]
	match _random.randi() % 4:
		0:
			fields.append(random_field() if _random.randf() < 0.5 else _pick(other["of"]).duplicate(true))
		1:
			fields.remove_at(_random.randi() % fields.size())
			if fields.is_empty():
				fields.append(random_field())
		2:
			_pick(fields)["n"] = _pick(COUNTS)
		3:
			var field: Dictionary = _pick(fields)
			if field["is"] == "map":
				field["by"] = _pick(FAMILIES)
				field["length"] = _pick(LENGTHS)
			else:
				field["inside"] = _random.randi() % 6


func _change_value(input: Dictionary, other: Dictionary) -> void:
	var places := _places(input, "of")
	var place: Array = _pick(places)
	var node: Dictionary = place[0][place[1]]
	match _random.randi() % 8:
		0:
			place[0][place[1]] = random_value(places.size() / 2)
		1:
			var others := _places(other, "of")
			var taken: Array = _pick(others)
			place[0][place[1]] = taken[0][taken[1]].duplicate(true)
		2:
			place[0][place[1]] = {
				"is": "dictionary", "n": 1 + _random.randi() % 20, "keys": node, "of": random_leaf(), "shared": true, "type": 0,
			}
		3:
			place[0][place[1]] = {"is": "chain", "n": 1 + _random.randi() % 31, "by": _pick(["array", "key", "value"]), "of": node}
		4:
			if node.has("of"):
				place[0][place[1]] = node.get("keys", node["of"]) if _random.randf() < 0.5 else node["of"]
		5:
			if node.has("by") and node["is"] == "leaf":
				node["by"] = _pick(FAMILIES)
				node["type"] = _pick(LEAVES) if _random.randf() < 0.5 else node["type"]
			elif node.has("shared"):
				node["shared"] = not node["shared"]
		6:
			if node.has("type") and node["is"] != "leaf":
				node["type"] = _pick(LEAVES + [TYPE_ARRAY, TYPE_DICTIONARY])
		7:
			var count := int(node["n"])
			node["n"] = _pick([count * 2, count / 2, count + 1, maxi(0, count - 1), _pick(COUNTS)])


## For each generator of the tree, the Dictionary that contains the generator, and the key of the generator.
static func _places(holder: Dictionary, key: String) -> Array:
	var places := [[holder, key]]
	var node: Dictionary = holder[key]
	for below: String in ["of", "keys"]:
		if node.has(below):
			places += _places(node, below)
	return places


func _header(type: int, flags := 0) -> PackedByteArray:
	return Wire.word(GODOT_3.get(type, 0) | (flags << 16 if type <= TYPE_FLOAT or type == TYPE_OBJECT else 0)) if _godot_3 else Wire.header(type, flags)


func _value(node: Dictionary, index: int, room: int) -> PackedByteArray:
	_pieces += 1
	match node["is"]:
		"array":
			return _array(node, index, room)
		"dictionary":
			return _dictionary(node, index, room)
		"chain":
			return _chain(node, index, room)
		_:
			return _leaf(node, index, room)


func _array(node: Dictionary, index: int, room: int) -> PackedByteArray:
	var type := int(node["type"])
	var start := _header(TYPE_ARRAY)
	if type and not _godot_3:
		start = _header(TYPE_ARRAY, 1) + Wire.word(type)
	var bytes := PackedByteArray()
	var count := mini(int(node["n"]), maxi(0, room - 16) / 4)
	var made := 0
	if _is_constant(node["of"]) and count > 0:
		var element := _value(node["of"], 0, room)
		made = clampi(maxi(0, room - 16) / maxi(4, element.size()), 0, count)
		return start + Wire.word(made) + Wire.repeated(element, made)
	while made < count and bytes.size() < room - 16 and (made == 0 or _pieces < PIECES):
		var element := _value(node["of"], _below(node, index, made), room - 16 - bytes.size())
		if made > 0 and bytes.size() + element.size() > room:
			break
		bytes.append_array(element)
		made += 1
	if made > 0 and made < count:
		var times := clampi(room / bytes.size(), 1, count / made)
		return start + Wire.word(made * times) + Wire.repeated(bytes, times)
	return start + Wire.word(made) + bytes


func _dictionary(node: Dictionary, index: int, room: int) -> PackedByteArray:
	var type := int(node["type"])
	var start := _header(TYPE_DICTIONARY)
	if type and not _godot_3:
		start = _header(TYPE_DICTIONARY, 1) + Wire.word(type)
	var bytes := PackedByteArray()
	var count := mini(int(node["n"]), maxi(0, room - 16) / 8)
	var made := 0
	while made < count and bytes.size() < room - 16 and (made == 0 or _pieces < PIECES):
		var key := _value(node["keys"], _below(node, index, made), room - 20 - bytes.size())
		var value := _value(node["of"], made, room - 20 - bytes.size() - key.size())
		if made > 0 and bytes.size() + key.size() + value.size() > room:
			break
		bytes.append_array(key + value)
		made += 1
	return start + Wire.word(made) + bytes


## The number that determines the output for the element at `at`. If values are shared, all elements but the
## last are the same in every container.
static func _below(node: Dictionary, index: int, at: int) -> int:
	var count := int(node["n"])
	if node["shared"]:
		return at if at < count - 1 else at + index
	return index * count + at


func _chain(node: Dictionary, index: int, room: int) -> PackedByteArray:
	var levels := int(node["n"])
	var nil := _header(TYPE_NIL)
	var start := _header(TYPE_ARRAY) + Wire.word(1)
	var end := PackedByteArray()
	if node["by"] != "array":
		start = _header(TYPE_DICTIONARY) + Wire.word(1) + (PackedByteArray() if node["by"] == "key" else nil)
		end = nil if node["by"] == "key" else PackedByteArray()
	var value := _value(node["of"], index, room - levels * 16)
	return Wire.repeated(start, levels) + value + Wire.repeated(end, levels)


static func _is_constant(node: Dictionary) -> bool:
	return node["is"] == "leaf" and (node["by"] == "same" or int(node["type"]) in [TYPE_NIL, TYPE_CALLABLE])


func _number(family: String, index: int) -> int:
	match family:
		"same":
			return 1
		"colliding":
			return _colliding[index % _colliding.size()]
		"crowded":
			return _crowded[index % _crowded.size()]
		"random":
			return hash(index) << 31 ^ hash(-index)
		_:
			return index


func _text(family: String, index: int, length: int) -> String:
	var content := ""
	match family:
		"same":
			content = "a"
		"colliding":
			for bit in 14:
				content += Costly.EQUAL_PAIRS[index >> bit & 1]
		"crowded":
			content = "(%d, %d)" % [index / 100, index % 100]
		"random":
			content = "%x" % (hash(index) << 31 ^ hash(-index))
		_:
			content = str(index)
	return "x".repeat(maxi(0, length - content.length())) + content


func _leaf(node: Dictionary, index: int, room: int) -> PackedByteArray:
	var type := int(node["type"])
	if _godot_3 and not GODOT_3.has(type):
		type = TYPE_INT
	var family: String = node["by"]
	var length := clampi(int(node["n"]), 0, maxi(0, room - 32))
	var number := _number(family, index)
	match type:
		TYPE_NIL:
			return _header(type)
		TYPE_BOOL:
			return _header(type) + Wire.word(number & 1)
		TYPE_INT:
			return _header(type, 1) + _long(number) if number != int(number << 32 >> 32) else _header(type) + Wire.word(number)
		TYPE_FLOAT:
			return _header(type) + Wire.word(number & 0x7f7fffff)
		TYPE_STRING, TYPE_STRING_NAME:
			return _header(type) + Wire.text(_text(family, index, length))
		TYPE_NODE_PATH:
			var names := mini(length, 1000)
			var path := _header(type) + Wire.word(names | 1 << 31) + Wire.word(0) + Wire.word(0)
			for part in names:
				path.append_array(Wire.text(_text(family, index * names + part, 0)))
				_pieces += 1
				if path.size() > room or _pieces > PIECES:
					return _header(TYPE_NIL)
			return path
		TYPE_SIGNAL:
			return _header(type) + Wire.text(_text(family, index, mini(length, 64))) + _long(number)
		TYPE_OBJECT:
			return _header(type, 1) + _long(maxi(1, absi(number)))
		TYPE_RID:
			return _header(type) + _long(absi(number))
		TYPE_CALLABLE:
			return _header(type)
		TYPE_PACKED_STRING_ARRAY:
			var texts := mini(length, 20_000)
			var element := Wire.sized((_text(family, index, mini(length, 32)) + "\\").to_utf8_buffer() + PackedByteArray([0]))
			texts = clampi(texts, 0, maxi(0, room) / element.size())
			return _header(type) + Wire.word(texts) + Wire.repeated(element, texts)
		TYPE_PACKED_BYTE_ARRAY:
			return _header(type) + Wire.sized(_filled(length, index))
		TYPE_PACKED_INT32_ARRAY:
			return _header(type) + Wire.word(length / 4) + _filled(length / 4 * 4, index)
		TYPE_PACKED_INT64_ARRAY:
			return _header(type) + Wire.word(length / 8) + _filled(length / 8 * 8, index)
		TYPE_PACKED_VECTOR3_ARRAY:
			return _header(type) + Wire.word(length / 12) + _filled(length / 12 * 12, index)
		TYPE_PACKED_VECTOR4_ARRAY:
			return _header(type) + Wire.word(length / 16) + _filled(length / 16 * 16, index)
		_:
			var lanes := var_to_bytes(type_convert(null, type))
			for at in range(4, lanes.size(), 4):
				lanes.encode_u32(at, number & 0x7f7fffff)
			return _header(type) + lanes.slice(4)


static func _filled(length: int, index: int) -> PackedByteArray:
	var bytes := PackedByteArray()
	bytes.resize(length)
	if length >= 4:
		bytes.encode_u32(length - 4, index & 0x7f7fffff)
	return bytes


static func _long(number: int) -> PackedByteArray:
	var bytes := PackedByteArray()
	bytes.resize(8)
	bytes.encode_s64(0, number)
	return bytes


func _message(fields: Array, room: int) -> PackedByteArray:
	var bytes := PackedByteArray()
	for field: Dictionary in fields:
		var left := room - bytes.size()
		if left <= 0:
			break
		if field["is"] == "map":
			bytes.append_array(_map(field, left))
			continue
		var piece: PackedByteArray = (field["hex"] as String).hex_decode()
		for level in int(field["inside"]):
			piece = PackedByteArray([0xa2, 1]) + _varint(piece.size()) + piece
		bytes.append_array(Wire.repeated(piece, clampi(int(field["n"]), 1, maxi(1, left / piece.size()))))
	return bytes


func _map(field: Dictionary, room: int) -> PackedByteArray:
	var bytes := PackedByteArray()
	var count := int(field["n"])
	for index in count:
		var key := PackedByteArray([8]) + _varint(_number(field["by"], index))
		if int(field["field"]) == MAP_TEXTS:
			var content := _text(field["by"], index, mini(int(field["length"]), room / 4)).to_utf8_buffer()
			key = PackedByteArray([10]) + _varint(content.size()) + content
		var entry := _varint(int(field["field"]) << 3 | 2) + _varint(key.size()) + key
		_pieces += 1
		if bytes.size() + entry.size() > room or _pieces > PIECES:
			break
		bytes.append_array(entry)
	return bytes


static func _varint(number: int) -> PackedByteArray:
	var bytes := PackedByteArray()
	var left := number
	while left < 0 or left > 127:
		bytes.append(left & 127 | 128)
		left = left >> 7 & ((1 << 57) - 1)
	bytes.append(left)
	return bytes
