## Writes objects with class and properties: `--script res://objects.gd -- OUTPUT`.
##
## Each record of the output file is a value's bytes after their length (u32).
extends SceneTree

const Thing := preload("res://thing.gd")
const CLASSES: Array[StringName] = [
	&"RefCounted", &"Resource", &"EncodedObjectAsID", &"RandomNumberGenerator", &"AStar2D", &"Curve", &"Curve2D",
	&"Gradient", &"Animation", &"Image", &"StandardMaterial3D", &"ArrayMesh", &"BoxShape3D", &"InputEventKey",
	&"Theme", &"TileSet", &"Environment", &"Object", &"Node", &"Node2D", &"Node3D", &"Label", &"Timer", &"Camera3D",
]

var _output: FileAccess


func _initialize() -> void:
	quit(1)  # Stands if a script error ends this function early.
	_output = FileAccess.open(OS.get_cmdline_user_args()[0], FileAccess.WRITE)
	for type in CLASSES:
		var object: Object = ClassDB.instantiate(type)
		_write(object)
		_write([object, {object: object}])
		if object is not RefCounted:
			object.free()
	var thing := Thing.new()
	thing.inner = Thing.new()
	thing.others = [Thing.new(), null, Gradient.new()]
	thing.by_name = {&"a": Thing.new(), &"nothing": null}
	thing.set_meta("note", [1, NAN])
	var things: Array[Thing] = [thing, null]
	var numbers: Dictionary[Thing, int] = {thing: 1}
	var named: Dictionary[String, Thing] = {"thing": thing}
	var resources: Dictionary[Resource, Node] = {thing: null}
	for value: Variant in [thing, things, numbers, named, resources]:
		_write(value)
	_output.close()
	quit(0)


func _write(value: Variant) -> void:
	var bytes := var_to_bytes_with_objects(value)
	_output.store_32(bytes.size())
	_output.store_buffer(bytes)
