@tool
extends EditorPlugin
## Says whether the addon is enabled and its class known, once the editor has settled, and after it was reloaded or its help
## written to a file, if that is asked for.

const HELP_SECONDS := 3.0

var _frames := 0


func _process(_delta: float) -> void:
	_frames += 1
	if _frames != 100:
		return
	var enabled := EditorInterface.is_plugin_enabled("fast_variant_codec")
	var known := ClassDB.class_exists(&"FastVariantCodec")
	var arguments := OS.get_cmdline_user_args()
	if arguments.size() == 3 and arguments[0] == "--reload":
		preload("res://reload.gd").new().run(arguments[1], arguments[2])
	if arguments.size() == 2 and arguments[0] == "--pages":
		# The editor makes its help on threads, and does not say when it is there.
		await get_tree().create_timer(HELP_SECONDS).timeout
		preload("res://pages.gd").new().write(arguments[1])
		get_tree().quit.call_deferred()
	print("trial: plugin enabled: %s, class known: %s" % [enabled, known])
