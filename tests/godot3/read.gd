# Reads Godot 4's values with get_var, describes them, and rewrites them with store_var:
# godot3-server --path tests/godot3 -s res://read.gd --folder DIR
extends SceneTree

const Describe := preload("res://describe.gd")
const Options := preload("res://options.gd")


func _init() -> void:
	OS.exit_code = 1  # The exit code if a script error ends this function early.
	var folder := Options.read("folder")
	var data := File.new()
	var again := File.new()
	var texts := File.new()
	data.open(folder.plus_file("from4.dat"), File.READ)
	again.open(folder.plus_file("back4.dat"), File.WRITE)
	texts.open(folder.plus_file("back4.txt"), File.WRITE)
	while data.get_position() < data.get_len():
		var value = data.get_var()
		again.store_var(value)
		texts.store_line(Describe.of(value))
	again.close()
	texts.close()
	quit(0)
