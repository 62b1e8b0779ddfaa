extends Node
## The exported game: release templates run no --script.

## All that is part of the project; not what lies in folders that the engine ignores.
const SCHEMAS: PackedStringArray = ["res://UPPER.PROTO", "res://messages/number.proto", "res://messages/snapshot.proto"]


func _ready() -> void:
	var schemas := _schemas_in("res://")
	schemas.sort()
	if schemas != SCHEMAS:
		push_error("The game contains the schemas %s." % ", ".join(schemas))
	get_tree().quit(preload("res://compare.gd").run())


func _schemas_in(folder: String) -> PackedStringArray:
	var found := PackedStringArray()
	for file in DirAccess.get_files_at(folder):
		if file.get_extension().to_lower() == "proto":
			found.append(folder.path_join(file))
	for inner in DirAccess.get_directories_at(folder):
		found.append_array(_schemas_in(folder.path_join(inner)))
	return found
