## Takes a picture of a demo after a while, on a display or under Xvfb:
## godot --path godot-project --rendering-driver opengl3 --resolution 1280x720 --script res://demo/picture.gd -- FILE [SCENE]
## SCENE is demo or netcode, in which 20 % of the packets are lost. With --fixed-fps 60, a slow machine shows every tick.
extends SceneTree

const SECONDS := 16.0


func _initialize() -> void:
	var arguments := OS.get_cmdline_user_args()
	var scene: Node = load("res://demo/%s.tscn" % (arguments[1] if arguments.size() > 1 else "demo")).instantiate()
	root.add_child(scene)
	create_timer(SECONDS).timeout.connect(_save.bind(arguments[0]))
	await process_frame
	if scene.has_node("%Loss"):
		scene.get_node("%Loss").value = 20.0


func _save(file: String) -> void:
	await RenderingServer.frame_post_draw
	quit(0 if root.get_texture().get_image().save_png(file) == OK else 1)
