## Measures one workload in this process for `cargo xtask bench`, which explains the options and reads the lines `@@ …`.
##
## godot --headless --path godot-project res://bench/main.tscn -- --kind ints --count 1000 --form value \
##     --pairs 15 --seconds 1
## This is a scene, not a script for --script, because release templates run no scripts from the command line.
extends Node

const Data := preload("res://bench/data.gd")
const Forms := preload("res://bench/forms.gd")
const Measure := preload("res://bench/measure.gd")
const Options := preload("res://suites/options.gd")

var _options := {"kind": "", "count": 0, "document": "", "form": "", "pairs": 0, "seconds": 0.0}


func _ready() -> void:
	get_tree().quit(0 if Options.read(_options, get_script()) and _run(_options) else 1)


func _run(options: Dictionary) -> bool:
	var value: Variant
	if options["document"]:
		value = JSON.parse_string(FileAccess.get_file_as_string(options["document"]))
	else:
		value = Data.make(options["kind"], options["count"])
	if value == null:
		printerr("There is no such input: %s" % options)
		return false
	var form := Forms.make(options["form"], value)
	var difference: String = form.difference()
	if difference:
		printerr("The codec differs from the engine: %s" % difference)
		return false
	for op: String in form.operations():
		var samples := Measure.of(form, op, options["pairs"], options["seconds"])
		samples["op"] = op
		samples["bytes"] = form.bytes.size()
		samples["codec_bytes"] = form.codec_bytes()
		print("@@ ", JSON.stringify(samples))
	return true
