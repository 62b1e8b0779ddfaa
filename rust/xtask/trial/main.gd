extends Node
## The exported game: release templates run no --script.


func _ready() -> void:
	get_tree().quit(preload("res://compare.gd").run())
