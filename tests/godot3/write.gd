# Writes edge values and random values with store_var, and describes them:
# godot3-server --path tests/godot3 -s res://write.gd --folder DIR --seed S --values N
#
# `from3.dat` holds the values, `again3.dat` their rewritten forms, and `from3.txt` a name and a text for
# each. Objects come last, because their bytes differ between processes.
extends SceneTree

const Describe := preload("res://describe.gd")
const Options := preload("res://options.gd")
const Random := preload("res://random.gd")
const Values := preload("res://values.gd")

var _data := File.new()
var _again := File.new()
var _texts := File.new()


func _init() -> void:
	OS.exit_code = 1  # The exit code if a script error ends this function early.
	var folder := Options.read("folder")
	_data.open(folder.plus_file("from3.dat"), File.WRITE)
	_again.open(folder.plus_file("again3.dat"), File.WRITE)
	_texts.open(folder.plus_file("from3.txt"), File.WRITE)
	var values := Values.new()
	for case in values.cases:
		_write(case[0], case[1])
	values.release()
	var random := Random.new(int(Options.read("seed")))
	for i in int(Options.read("values")):
		_write("random %d" % i, random.nested())
	var reference := Reference.new()
	for value in [reference, [reference, {"a": reference}], Resource.new()]:
		_write("object", value)
	_data.close()
	_again.close()
	_texts.close()
	quit(0)


func _write(name: String, value) -> void:
	var read = bytes2var(var2bytes(value))
	_data.store_var(value)
	_again.store_var(read)
	_texts.store_line("%s\t%s" % [name.c_escape(), Describe.of(read)])
