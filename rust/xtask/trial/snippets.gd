## Runs the snippets of the documentation one after the other, from the files that `cargo xtask test` has written.
extends SceneTree

const FOLDER := "res://snippets"


func _initialize() -> void:
	process_frame.connect(_run_all, CONNECT_ONE_SHOT)


func _run_all() -> void:
	for file in DirAccess.get_files_at(FOLDER):
		if file.ends_with(".gd") and not file.begins_with("whole_"):
			print("@@ begin ", file)
			await _run(load(FOLDER.path_join(file)))
			print("@@ end")
	quit()


func _run(script: GDScript) -> void:
	if not script.can_instantiate():
		return
	var node: Node = script.new()
	root.add_child(node)
	await node.call(&"run")
	node.free()
