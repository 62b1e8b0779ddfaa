@tool
extends EditorPlugin
## The editor side of the addon. The class FastVariantCodec itself comes from the library in bin/ and works without it.


func _enter_tree() -> void:
	if ClassDB.class_exists(&"FastVariantCodec"):
		return
	push_error(
		"FastVariantCodec: no library for %s (%s) in res://addons/fast_variant_codec/bin/. "
		% [OS.get_name(), Engine.get_architecture_name()]
		+ "Install the released addon, which contains it, or run `cargo xtask build` in its repository; "
		+ "then restart the editor."
	)
