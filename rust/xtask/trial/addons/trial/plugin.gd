@tool
extends EditorPlugin
## Says whether the addon is enabled and its class known, once the editor has settled.

var _frames := 0


func _process(_delta: float) -> void:
	_frames += 1
	if _frames != 100:
		return
	var enabled := EditorInterface.is_plugin_enabled("fast_variant_codec")
	var known := ClassDB.class_exists(&"FastVariantCodec")
	print("trial: plugin enabled: %s, class known: %s" % [enabled, known])
