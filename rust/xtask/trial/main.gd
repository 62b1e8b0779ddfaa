extends Node
## The main scene of the exported game, because release templates do not support --script.

## The schemas of the project, except those in ignored folders, and the addon's scripts, except those for the editor.
const FILES := "res://UPPER.PROTO, res://addons/fast_variant_codec/examples/save_slots/hero.gdc, res://addons/fast_variant_codec/examples/save_slots/item.gdc, res://addons/fast_variant_codec/examples/save_slots/save_manager.gdc, res://addons/fast_variant_codec/examples/save_slots/save_slots.gdc, res://addons/fast_variant_codec/self_check.gdc, res://messages/number.proto, res://messages/snapshot.proto"


func _ready() -> void:
	var files := _files_in("res://")
	files.sort()
	if ", ".join(files) != FILES:
		push_error("The game contains %s." % ", ".join(files))
	var failed: int = await preload("res://slots.gd").run(get_tree())
	get_tree().quit(preload("res://compare.gd").run() + failed)


func _files_in(folder: String) -> PackedStringArray:
	var found := PackedStringArray()
	for file in DirAccess.get_files_at(folder):
		if file.get_extension().to_lower() == "proto" or file.ends_with(".gdc") and "fast_variant" in folder:
			found.append(folder.path_join(file))
	for inner in DirAccess.get_directories_at(folder):
		found.append_array(_files_in(folder.path_join(inner)))
	return found
