# Prints test vectors of the engine: godot3-server --path tests/godot3 -s res://vectors.gd
#
# Each vector is a tab-separated row after "@@ row". The last line is "@@ end".
#
# The rows are the small edge values (some also truncated, extended or with other header bits), full objects
# and hand-made inputs. On refusal, the engine ends the calling function with a script error.
extends SceneTree

const Crafted := preload("res://crafted.gd")
const Describe := preload("res://describe.gd")
const Values := preload("res://values.gd")
const Wire := preload("res://wire.gd")

const MAX_BYTES := 160
const SCRIPT := "extends Reference\nvar number = 5\nvar inner = [1.5, null]\n"

var _printed := {}


func _init() -> void:
	OS.exit_code = 1  # The exit code if a script error ends this function early.
	for name in Crafted.INPUTS:
		_print_row("crafted", Wire.bytes(Crafted.INPUTS[name]), name)
	var values := Values.new()
	var types := {}
	for case in values.cases:
		var bytes := var2bytes(case[1])
		if bytes.size() > MAX_BYTES:
			continue
		_print_row("plain", bytes, case[0])
		# The padding of NodePaths differs each time.
		if types.get(bytes[0], 0) > 3 or typeof(case[1]) == TYPE_NODE_PATH:
			continue
		types[bytes[0]] = types.get(bytes[0], 0) + 1
		_print_row("crafted", bytes.subarray(0, -2), case[0] + ", cut by one byte")
		for place in [1, 2, 3]:
			var changed := bytes
			changed[place] = 1
			_print_row("crafted", changed, "%s, byte %d of the header is 1" % [case[0], place])
		_print_row("crafted", Wire.joined([bytes, Wire.word(0)]), case[0] + ", a word behind it")
	values.release()
	for object in _objects():
		_print_row("objects", var2bytes(object[1], true), object[0])
	# This object is not read again. Godot 3.6 would free the new object while setting its script, and crash.
	print("@@ row objects\t%s\twritten\t\t\tReference with a script" % var2bytes(_scripted(), true).hex_encode())
	print("@@ end")
	quit(0)


func _objects() -> Array:
	var noted := Reference.new()
	noted.set_meta("note", [1, {"a": Vector2(1, 2)}])
	var resource := Resource.new()
	resource.resource_name = "name"
	return [
		["Reference", Reference.new()], ["Reference with a note", noted], ["Resource", resource],
		["objects in containers", [Reference.new(), {"a": Reference.new()}, null]],
		["StyleBoxFlat", StyleBoxFlat.new()],
	]


func _scripted() -> Reference:
	var script := GDScript.new()
	script.source_code = SCRIPT
	script.reload()
	return script.new()


func _print_row(mode: String, bytes: PoolByteArray, label: String) -> void:
	if bytes in _printed:
		return
	_printed[bytes] = true
	var objects := mode == "objects"
	var row := PoolStringArray([mode, bytes.hex_encode()])
	var first = _read(bytes, objects)
	if first == null:
		row.append_array(["error", "", ""])
	else:
		row.append_array(["ok", _written(first[0], _read(bytes, objects)[0], objects), Describe.of(first[0])])
	row.append(label.c_escape())
	print("@@ row " + row.join("\t"))


# The value in an Array; null if the engine refuses.
func _read(bytes: PoolByteArray, objects: bool):
	var value = bytes2var(bytes, objects)
	return [value]


# The value's bytes with masked ids: an object decoded by id has the id of a new wrapper. `other`, a second
# decoding, shows where the ids are.
func _written(value, other, objects: bool) -> String:
	var hex := var2bytes(value, objects).hex_encode()
	var other_hex := var2bytes(other, objects).hex_encode()
	var masked := ""
	var at := 0
	while at < hex.length():
		var header := hex.substr(at, 8)
		masked += header
		at += 8
		if header == "11000100" and hex.substr(at, 16) != other_hex.substr(at, 16):
			masked += "<ID64>"
			at += 16
	return masked
