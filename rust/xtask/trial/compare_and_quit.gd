extends SceneTree
## Run with --script.


func _initialize() -> void:
	quit(preload("res://compare.gd").run())
