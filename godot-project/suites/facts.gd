## Prints the facts about engine memory that `cargo xtask test` falsifies: godot --headless --path godot-project
## --script res://suites/facts.gd
extends SceneTree

const ReportSuite := preload("res://suites/report_suite.gd")


func _initialize() -> void:
	print("@@ begin")
	for fact: String in ReportSuite.facts():
		print(fact)
	print("@@ end")
	quit()
