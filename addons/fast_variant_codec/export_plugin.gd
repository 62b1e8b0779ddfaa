@tool
extends EditorExportPlugin
## Exports the .proto files of the project, so that FastProtobufSchema finds them in a game. Leaves out the addon's
## editor scripts.

## Editor scripts, which exported games do not need. self_check.gd is not in the list, because games may use it.
const EDITOR_ONLY: Array[String] = ["panel/", "inspector/", "plugin.gd", "export_plugin.gd", "check.gd"]

var _added: Dictionary[String, bool] = {}


## The engine calls the plugins in the order of their names. This plugin must precede "GDScript", which packs
## scripts.
func _get_name() -> String:
	return "FastVariantCodec"


func _export_begin(_features: PackedStringArray, _is_debug: bool, _path: String, _flags: int) -> void:
	_added.clear()
	_add_from(EditorInterface.get_resource_filesystem().get_filesystem())


## Skips editor scripts. Also skips .proto files that the preset's filters include, because _export_begin has
## added them.
func _export_file(path: String, _type: String, _features: PackedStringArray) -> void:
	var in_addon := path.trim_prefix(get_script().resource_path.get_base_dir() + "/")
	if _added.has(path) or EDITOR_ONLY.any(func(start: String) -> bool: return in_addon.begins_with(start)):
		skip()


## Adds the .proto files of a folder and of its subfolders. The engine's list omits ignored folders, such as
## other projects.
func _add_from(folder: EditorFileSystemDirectory) -> void:
	for file in DirAccess.get_files_at(folder.get_path()):
		if file.get_extension().to_lower() == "proto":
			var path := folder.get_path().path_join(file)
			add_file(path, FileAccess.get_file_as_bytes(path), false)
			_added[path] = true
	for index in folder.get_subdir_count():
		_add_from(folder.get_subdir(index))
