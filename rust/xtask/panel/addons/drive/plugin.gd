@tool
extends EditorPlugin
## Drives the panel once the editor has settled.

const SETTLED_FRAMES := 100

var _frames := 0
var _drive: RefCounted


func _process(_delta: float) -> void:
	_frames += 1
	if _frames == SETTLED_FRAMES:
		_drive = load("res://drive.gd").new()
		_drive.run(self)
