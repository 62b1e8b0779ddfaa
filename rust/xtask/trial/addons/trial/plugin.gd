@tool
extends EditorPlugin
## Once the editor has settled, prints whether the addon is enabled and whether its class is known. On
## request, first reloads the addon or writes its help to a file.

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
		# The editor generates its help on threads, and does not report when the help is complete.
		await get_tree().create_timer(HELP_SECONDS).timeout
		preload("res://pages.gd").new().write(arguments[1])
		get_tree().quit.call_deferred()
	print("trial: plugin enabled: %s, class known: %s" % [enabled, known])
