## Takes a picture of the demo after a while, on a display or under Xvfb:
## godot --path godot-project --rendering-driver opengl3 --resolution 1280x720 --script res://demo/picture.gd -- FILE
extends SceneTree

const SECONDS := 16.0


func _initialize() -> void:
	change_scene_to_file("res://demo/demo.tscn")
	create_timer(SECONDS).timeout.connect(_save)


func _save() -> void:
	await RenderingServer.frame_post_draw
	var file := OS.get_cmdline_user_args()[0]
	quit(0 if root.get_texture().get_image().save_png(file) == OK else 1)
