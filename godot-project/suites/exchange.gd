## The Godot 4 side of an exchange of files with Godot 3, for `cargo xtask exchange`: godot --headless --path godot-project
## --script res://suites/exchange.gd -- --folder DIR --seed S --values N
##
## Reads what Godot 3 wrote (`from3.dat`), says what it is (`back3.txt`) and writes it again (`back3.dat`); the same by way of a
## converted file that the engine reads (`converted3.txt`). Writes values of its own for Godot 3 (`from4.dat`, `from4.txt`), once
## more by converting a file that the engine wrote (`converted4.dat`). What is in these files is for others to compare; here it
## is checked that every form of a call does the same, and that what Godot 3 cannot hold is refused.
extends SceneTree

const Checks := preload("res://suites/checks.gd")
const Extension := preload("res://suites/extension.gd")
const Godot3 := preload("res://suites/godot3.gd")
const Godot3Random := preload("res://suites/godot3_random.gd")
const Options := preload("res://suites/options.gd")
const Values := preload("res://suites/values.gd")

## Texts of larger values take long, and of deeper ones too much of the stack.
const MOST_BYTES := 5000

var _options := {"folder": "", "seed": 0, "values": 0}
var _checks := Checks.new()


func _initialize() -> void:
	quit(1)  # Stands if a script error ends this function early.
	if not Extension.is_loaded() or not Options.read(_options, get_script()):
		return
	_checks.begin_test("exchange")
	_read()
	_convert()
	_write()
	print("%d passed, %d failed" % [_checks.passed, _checks.failed])
	quit(0 if _checks.failed == 0 else 1)


func _read() -> void:
	var buffers := _frames("from3.dat")
	var values: Array = []
	var again: Array[PackedByteArray] = []
	for at in buffers.size():
		_checks.subject(Checks.MIXED, "value %d of from3.dat" % at)
		var value: Variant = FastVariantCodec.decode_godot3(buffers[at])
		var text := Godot3.text_of(value)
		var tried := FastVariantCodec.try_decode_godot3(buffers[at])
		_checks.truth("try_decode_godot3 accepts it", tried.is_ok(), tried.message)
		_checks.truth("try_decode_godot3 gives the same", Godot3.text_of(tried.value) == text)
		values.append(value)
		again.append(FastVariantCodec.encode_godot3(value))
	_store_frames("back3.dat", again)
	_store_texts("back3.txt", values)
	_checks.subject(Checks.MIXED, "all of from3.dat")
	var batch := FastVariantCodec.decode_godot3_batch(buffers)
	_checks.truth("decode_godot3_batch gives the same", Godot3.text_of(batch) == Godot3.text_of(values))
	_checks.truth("encode_godot3_batch gives the same", FastVariantCodec.encode_godot3_batch(values) == again)


## The save of Godot 3 becomes one that the engine reads.
func _convert() -> void:
	var converted := FastVariantCodec.convert_godot3_file(_path("from3.dat"), _path("converted3.dat"))
	_checks.truth("convert_godot3_file", converted.is_ok(), converted.message)
	var file := FileAccess.open(_path("converted3.dat"), FileAccess.READ)
	var values: Array = []
	while file.get_position() < file.get_length():
		values.append(file.get_var())
	_store_texts("converted3.txt", values)


func _write() -> void:
	var values: Array = []
	var edges := Values.new()
	for case in edges.cases:
		if var_to_bytes(case.value).size() > MOST_BYTES:
			continue
		_checks.subject(case.type, case.name)
		var tried := FastVariantCodec.try_encode_godot3(case.value)
		var has := Godot3.has(case.value)
		# An object has a number, but here it says something else than there.
		if typeof(case.value) != TYPE_OBJECT and not _holds_objects(case.value):
			_checks.truth("it is accepted where Godot 3 has one like it", tried.is_ok() == has, tried.message)
		if has and tried.is_ok():
			values.append(case.value)
	var generator := RandomNumberGenerator.new()
	generator.seed = _options["seed"]
	var random := Godot3Random.new(generator)
	for at: int in _options["values"]:
		values.append(random.nested())
	var buffers: Array[PackedByteArray] = []
	for at in values.size():
		_checks.subject(typeof(values[at]), "value %d of from4.dat" % at)
		var bytes := FastVariantCodec.encode_godot3(values[at])
		var tried := FastVariantCodec.try_encode_godot3(values[at])
		_checks.truth("try_encode_godot3 gives the same", tried.is_ok() and tried.value == bytes, tried.message)
		buffers.append(bytes)
	_checks.subject(Checks.MIXED, "all of from4.dat")
	_checks.truth("encode_godot3_batch gives the same", FastVariantCodec.encode_godot3_batch(values) == buffers)
	_store_frames("from4.dat", buffers)
	_store_texts("from4.txt", values)
	var native := FileAccess.open(_path("native4.dat"), FileAccess.WRITE)
	for value: Variant in values:
		native.store_var(value)
	native.close()
	edges.release()
	var converted := FastVariantCodec.convert_file_to_godot3(_path("native4.dat"), _path("converted4.dat"))
	_checks.truth("convert_file_to_godot3", converted.is_ok(), converted.message)


func _holds_objects(value: Variant) -> bool:
	match typeof(value):
		TYPE_OBJECT:
			return is_instance_valid(value)
		TYPE_ARRAY:
			return value.any(_holds_objects)
		TYPE_DICTIONARY:
			return value.keys().any(_holds_objects) or value.values().any(_holds_objects)
	return false


## What is behind each length.
func _frames(file_name: String) -> Array[PackedByteArray]:
	var file := FileAccess.open(_path(file_name), FileAccess.READ)
	var frames: Array[PackedByteArray] = []
	while file.get_position() < file.get_length():
		frames.append(file.get_buffer(file.get_32()))
	return frames


func _store_frames(file_name: String, frames: Array[PackedByteArray]) -> void:
	var file := FileAccess.open(_path(file_name), FileAccess.WRITE)
	for frame in frames:
		file.store_32(frame.size())
		file.store_buffer(frame)


func _store_texts(file_name: String, values: Array) -> void:
	var file := FileAccess.open(_path(file_name), FileAccess.WRITE)
	for value: Variant in values:
		file.store_line(Godot3.text_of(value))


func _path(file_name: String) -> String:
	return _options["folder"].path_join(file_name)
