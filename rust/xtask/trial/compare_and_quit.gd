extends SceneTree
## Runs the comparisons and quits, for use with --script.


func _initialize() -> void:
	var failed: int = await preload("res://slots.gd").run(self)
	quit(preload("res://compare.gd").run() + failed)
