extends SceneTree
## Compares the codec with the engine that runs it, on edge values of every type:
## godot --headless --script addons/fast_variant_codec/check.gd


func _initialize() -> void:
	if not ClassDB.class_exists(&"FastVariantCodec"):
		var was_opened := FileAccess.get_file_as_string("res://.godot/extension_list.cfg").contains("fast_variant_codec")
		printerr("FastVariantCodec is not loaded: %s." % (
			"there is no library for %s (%s) in addons/fast_variant_codec/bin" % [OS.get_name(), Engine.get_architecture_name()]
			if was_opened else "open the project once, with `godot --headless --editor --quit-after 400`"))
		quit(1)
		return
	var report: Dictionary = ClassDB.class_call_static(&"FastVariantInspector", &"get_engine_report")
	print("FastVariantCodec {addon_version}, Godot {engine_version}, {platform}, access path: {access_path}".format(report))
	# Not preloaded, because self_check.gd does not compile without the class.
	var check: RefCounted = load("res://addons/fast_variant_codec/self_check.gd").new()
	check.run()
	print("%d passed, %d failed" % [check.passed(), check.failed()])
	quit(mini(check.failed(), 1))
