## Exchanges files with Godot 3.
##
## Reads Godot 3's values (`from3.dat`), describes them (`back3.txt`) and rewrites them (`back3.dat`). Converts the
## file and describes the values that this engine reads from it (`converted3.txt`). Writes values for Godot 3 (`from4.dat`, `from4.txt`), also by
## converting a file that this engine wrote (`converted4.dat`). `cargo xtask soak` compares these files. Here,
## all forms of a call must agree, and must refuse values without a counterpart. A case makes one random
## value.
extends "res://suites/soak/activity.gd"

const Godot3 := preload("res://suites/godot3.gd")
const Godot3Random := preload("res://suites/godot3_random.gd")

## The maximum size of a value in bytes. Describing larger values takes long, and describing deeper values
## needs too much stack.
const MOST_BYTES := 5000

var _values: Array = []
var _random := Godot3Random.new(generator)
var _edges := Values.new()


func begin() -> bool:
	_read()
	_convert()
	_add_edge_values()
	return true


func run_case() -> int:
	_values.append(_random.nested())
	return 1


func _read() -> void:
	var buffers := _frames("from3.dat")
	var values: Array = []
	var again: Array[PackedByteArray] = []
	for at in buffers.size():
		var value: Variant = FastVariantCodec.decode_godot3(buffers[at])
		var text := Godot3.text_of(value)
		var tried := FastVariantCodec.try_decode_godot3(buffers[at])
		check("try_decode_godot3 accepts it", tried.is_ok(), tried.message)
		check("try_decode_godot3 gives the same", Godot3.text_of(tried.value) == text)
		values.append(value)
		again.append(FastVariantCodec.encode_godot3(value))
	_store_frames("back3.dat", again)
	_store_texts("back3.txt", values)
	var batch := FastVariantCodec.decode_godot3_batch(buffers)
	check("decode_godot3_batch gives the same", Godot3.text_of(batch) == Godot3.text_of(values))
	check("encode_godot3_batch gives the same", FastVariantCodec.encode_godot3_batch(values) == again)


## Converts Godot 3's save to a save that the engine reads.
func _convert() -> void:
	var converted := FastVariantCodec.convert_godot3_file(path("from3.dat"), path("converted3.dat"))
	check("convert_godot3_file", converted.is_ok(), converted.message)
	var file := FileAccess.open(path("converted3.dat"), FileAccess.READ)
	var values: Array = []
	while file.get_position() < file.get_length():
		values.append(file.get_var())
	_store_texts("converted3.txt", values)


func _add_edge_values() -> void:
	for edge in _edges.cases:
		if var_to_bytes(edge.value).size() > MOST_BYTES:
			continue
		var tried := FastVariantCodec.try_encode_godot3(edge.value)
		var has := Godot3.has(edge.value)
		# Objects have an id, but it means something else in Godot 3.
		if typeof(edge.value) != TYPE_OBJECT and not _holds_objects(edge.value):
			check(edge.name + " is accepted where Godot 3 has one like it", tried.is_ok() == has, tried.message)
		if has and tried.is_ok():
			_values.append(edge.value)


func end() -> void:
	var buffers: Array[PackedByteArray] = []
	for value: Variant in _values:
		var bytes := FastVariantCodec.encode_godot3(value)
		var tried := FastVariantCodec.try_encode_godot3(value)
		check("try_encode_godot3 gives the same", tried.is_ok() and tried.value == bytes, tried.message)
		buffers.append(bytes)
	check("encode_godot3_batch gives the same", FastVariantCodec.encode_godot3_batch(_values) == buffers)
	_store_frames("from4.dat", buffers)
	_store_texts("from4.txt", _values)
	var native := FileAccess.open(path("native4.dat"), FileAccess.WRITE)
	for value: Variant in _values:
		native.store_var(value)
	native.close()
	_edges.release()
	var converted := FastVariantCodec.convert_file_to_godot3(path("native4.dat"), path("converted4.dat"))
	check("convert_file_to_godot3", converted.is_ok(), converted.message)


func _holds_objects(value: Variant) -> bool:
	match typeof(value):
		TYPE_OBJECT:
			return is_instance_valid(value)
		TYPE_ARRAY:
			return value.any(_holds_objects)
		TYPE_DICTIONARY:
			return value.keys().any(_holds_objects) or value.values().any(_holds_objects)
	return false


func _frames(file_name: String) -> Array[PackedByteArray]:
	var file := FileAccess.open(path(file_name), FileAccess.READ)
	var frames: Array[PackedByteArray] = []
	while file.get_position() < file.get_length():
		frames.append(file.get_buffer(file.get_32()))
	return frames


func _store_frames(file_name: String, frames: Array[PackedByteArray]) -> void:
	FileAccess.open(path(file_name), FileAccess.WRITE).store_buffer(Wire.behind_lengths(frames))


func _store_texts(file_name: String, values: Array) -> void:
	var file := FileAccess.open(path(file_name), FileAccess.WRITE)
	for value: Variant in values:
		file.store_line(Godot3.text_of(value))
