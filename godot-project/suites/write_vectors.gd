## Prints test vectors of the engine between "@@ begin" and "@@ end": lines with the engine's version and the columns,
## and tab-separated rows.
##
## The rows are the hand-made inputs and the bytes of small edge values. Some edge values also occur truncated
## by one byte, and with bit 16 flipped. Instance ids differ between runs, so re-encoded values contain <ID64>
## in place of them.
extends SceneTree

const Crafted := preload("res://suites/crafted.gd")
const Extension := preload("res://suites/extension.gd")
const Oracle := preload("res://suites/oracle.gd")
const Values := preload("res://suites/values.gd")

const MAX_BYTES := 160
const HEADER := "mode\tinput_hex\tresult\tconsumed\treencoded_hex\tlabel"

var _engine_version: String = Engine.get_version_info()["string"].get_slice("-", 0)
var _printed: Dictionary[PackedByteArray, bool] = {}


func _initialize() -> void:
	quit(1)  # The exit code if a script error ends this function early.
	if not Extension.is_loaded():
		return
	print("@@ begin\nGodot %s\n%s" % [_engine_version, HEADER])
	for input_name in Crafted.INPUTS:
		_print_row(Crafted.INPUTS[input_name].hex_decode(), input_name)
	var values := Values.new()
	for case in values.cases:
		_print_case(case)
	values.release()
	print("@@ end")
	quit(0)


func _print_case(case: Values.Case) -> void:
	var bytes := Oracle.engine_encode(case.value)
	if bytes.is_empty() or bytes.size() > MAX_BYTES or _holds_live_ids(case.value):
		return
	var label := "%s: %s" % [type_string(case.type), case.name]
	_print_row(bytes, label)
	if case.name in ["counting", "1 element", "every type", "entity"] or case.type in [TYPE_INT, TYPE_NODE_PATH, TYPE_RID]:
		_print_row(bytes.slice(0, -1), label + ", cut by one byte")
		var flagged := bytes.duplicate()
		flagged[2] ^= 1
		_print_row(flagged, label + ", bit 16 flipped")


## Returns whether a value contains instance ids of this run; such values are not vectors.
func _holds_live_ids(value: Variant) -> bool:
	var pending: Array = [value]
	while not pending.is_empty():
		var current: Variant = pending.pop_back()
		match typeof(current):
			TYPE_OBJECT:
				if is_instance_valid(current):
					return true
			TYPE_SIGNAL:
				# The ids of reference-counted objects are negative, even if the objects are freed.
				if current.get_object_id() < 0 or Oracle.engine_knows_id(current.get_object_id()):
					return true
			TYPE_ARRAY:
				pending.append_array(current)
			TYPE_DICTIONARY:
				pending.append_array(current.keys() + current.values())
	return false


func _print_row(bytes: PackedByteArray, label: String) -> void:
	if _printed.has(bytes):
		return
	_printed[bytes] = true
	var row := PackedStringArray(["plain", bytes.hex_encode()])
	if Oracle.engine_accepts(bytes):
		row.append_array(["ok", str(Oracle.engine_consumed(bytes)), _reencoded(bytes)])
	else:
		row.append_array(["error", "", ""])
	row.append(label.c_escape())
	print("\t".join(row))


## The decoded value's bytes with masked ids: an object decoded by id has the id of a new wrapper. A second decoding has
## different wrappers, which shows where the ids are.
func _reencoded(bytes: PackedByteArray) -> String:
	var first: Variant = Oracle.engine_decode(bytes)
	var second: Variant = Oracle.engine_decode(bytes)
	var hex := Oracle.engine_encode(first).hex_encode()
	var other := Oracle.engine_encode(second).hex_encode()
	if hex == other:
		return hex
	var masked := ""
	var at := 0
	while at < hex.length():
		var header := hex.substr(at, 8)
		masked += header
		at += 8
		if header == "18000100" and hex.substr(at, 16) != other.substr(at, 16):
			masked += "<ID64>"
			at += 16
	return masked
