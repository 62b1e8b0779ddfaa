## Runs all cases; see src/cases.rs.
extends SceneTree


func _initialize() -> void:
	var failed: PackedStringArray = ClassDB.instantiate(&"Misuse").call(&"failed")
	for line in failed:
		print(line)
	var cases: int = ClassDB.instantiate(&"Misuse").call(&"cases")
	print("%d passed, %d failed" % [cases - failed.size(), failed.size()])
	quit(0 if failed.is_empty() else 1)
