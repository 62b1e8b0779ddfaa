## Measures one workload in this process, for `cargo xtask bench`, which explains the options and reads the lines `@@ …`.
##
## godot --headless --path godot-project res://bench/main.tscn -- --kind ints --count 1000 --form value \
##     --pairs 15 --seconds 1
## A scene and not a script with --script: release templates run no scripts from the command line.
extends Node

const Data := preload("res://bench/data.gd")
const Forms := preload("res://bench/forms.gd")
const Measure := preload("res://bench/measure.gd")
const Memory := preload("res://bench/memory.gd")


func _ready() -> void:
	get_tree().quit(0 if _run(_options()) else 1)


func _run(options: Dictionary) -> bool:
	var value: Variant
	if options.has("document"):
		value = JSON.parse_string(FileAccess.get_file_as_string(options["document"]))
	else:
		value = Data.make(options["kind"], int(options["count"]))
	if value == null and options.get("kind") != "nil":
		printerr("There is no such input: %s" % options)
		return false
	var form := Forms.make(options["form"], value)
	var missing: String = form.missing()
	if missing:
		_report({"skipped": "this library has no %s" % missing})
		return true
	if options.has("memory"):
		_report(Memory.of(form, options["memory"], options["op"]))
		return true
	var difference: String = form.difference()
	if difference:
		printerr("The codec differs from the engine: %s" % difference)
		return false
	for op: String in ["encode", "decode"]:
		var samples := Measure.of(form, op, int(options["pairs"]), float(options["seconds"]), options.has("others"))
		samples["op"] = op
		samples["bytes"] = form.bytes.size()
		samples["codec_bytes"] = form.codec_bytes()
		_report(samples)
	return true


func _report(line: Dictionary) -> void:
	print("@@ ", JSON.stringify(line))


## `--name value` pairs.
func _options() -> Dictionary:
	var arguments := OS.get_cmdline_user_args()
	var options := {}
	for i in range(0, arguments.size() - 1, 2):
		options[arguments[i].trim_prefix("--")] = arguments[i + 1]
	return options
