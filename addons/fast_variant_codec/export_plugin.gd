@tool
extends EditorExportPlugin
## Adds the .proto files of the project to what is exported, so that FastProtobufCodec finds them in a game.


func _get_name() -> String:
	return "FastVariantCodec"


func _export_begin(_features: PackedStringArray, _is_debug: bool, _path: String, _flags: int) -> void:
	_add_from("res://")


func _add_from(folder: String) -> void:
	# As the engine has it: nothing in folders that it ignores is part of the project.
	if FileAccess.file_exists(folder.path_join(".gdignore")):
		return
	for file in DirAccess.get_files_at(folder):
		if file.get_extension() == "proto":
			var path := folder.path_join(file)
			add_file(path, FileAccess.get_file_as_bytes(path), false)
	for inner in DirAccess.get_directories_at(folder):
		if not inner.begins_with("."):
			_add_from(folder.path_join(inner))
