## Saves and appends until it is killed, for `cargo xtask kill`: godot --headless --path godot-project
## --script res://suites/save_until_killed.gd -- --folder DIR [--check]
##
## First it looks at what the run before left and prints "@@ found VERSION COUNT", or "@@ broken REASON" and ends with
## code 1. Then it prints "@@ writing" and goes on until it is killed; with --check it ends there.
extends SceneTree

const Options := preload("res://suites/options.gd")

const RECORDS := 3000

var _folder: String


func _initialize() -> void:
	var options := {"folder": "", "check": false}
	if not Options.read(options, get_script()):
		quit(1)
		return
	_folder = options["folder"]
	var version := _saved_version()
	var count := _appended_count()
	if version < 0 or count < 0:
		quit(1)
		return
	print("@@ found %d %d" % [version, count])
	if options["check"]:
		quit(0)
		return
	print("@@ writing")
	while true:
		version += 1
		var records := _records(version)
		if version % 2 == 0:
			FastVariantCodec.save_batch(_path("saved.dat"), records)
		else:
			FastVariantCodec.save_batch_async(_path("saved.dat"), records)
		FastVariantCodec.append_batch(_path("appended.dat"), range(count, count + 100))
		count += 100


func _records(version: int) -> Array:
	var records: Array = []
	for index in RECORDS:
		records.append({"version": version, "index": index, "text": "x".repeat(version * index % 97)})
	return records


## The version of the saved file, 0 if there is none, −1 if it is not a whole one. The engine reads it.
func _saved_version() -> int:
	if not FileAccess.file_exists(_path("saved.dat")):
		return 0
	var file := FileAccess.open(_path("saved.dat"), FileAccess.READ)
	var read: Array = []
	while file.get_position() < file.get_length():
		read.append(file.get_var())
	var version: int = read[0]["version"] if read else 0
	return version if read == _records(version) else _broken("the saved file is neither the old nor the new one")


## How many records were appended, −1 if they are not the first ones, in order. A torn one is cut off.
func _appended_count() -> int:
	if not FileAccess.file_exists(_path("appended.dat")):
		return 0
	var loaded := FastVariantCodec.load_batch(_path("appended.dat"))
	if loaded.value != range(loaded.value.size()):
		return _broken("records of the appended file are lost")
	if loaded.is_ok():
		return loaded.value.size()
	if loaded.failed != PackedInt32Array([loaded.value.size()]):
		return _broken("the torn record of the appended file is not named: %s" % loaded.message)
	if FastVariantCodec.save_batch(_path("appended.dat"), loaded.value) != OK:
		return _broken("what is whole of the appended file cannot be saved")
	return loaded.value.size()


func _path(file_name: String) -> String:
	return _folder.path_join(file_name)


func _broken(reason: String) -> int:
	print("@@ broken %s" % reason)
	return -1
