## Saves and appends until the process is killed. The next run first checks the files; with `--count 0`, a run
## only checks them.
##
## Prints "@@ found VERSION COUNT" and "@@ writing", or "@@ broken REASON".
extends "res://suites/soak/activity.gd"

const RECORDS := 3000

var _version := 0
var _appended := 0


func begin() -> bool:
	cases = 1 << 62
	_version = _saved_version()
	_appended = _appended_count()
	if _version < 0 or _appended < 0:
		return false
	print("@@ found %d %d" % [_version, _appended])
	print("@@ writing")
	return true


func run_case() -> int:
	_version += 1
	var records := _records(_version)
	var compress := _version % 4 < 2
	if _version % 2 == 0:
		FastVariantCodec.save(path("saved.dat"), records, {"version": _version}, compress)
	else:
		FastVariantCodec.save_async(path("saved.dat"), records, {"version": _version}, compress)
	FastVariantCodec.append_batch(path("appended.dat"), range(_appended, _appended + 100))
	_appended += 100
	return 1


func _records(version: int) -> Array:
	var records: Array = []
	for index in RECORDS:
		records.append({"version": version, "index": index, "text": "x".repeat(version * index % 97)})
	return records


## The version of the saved file; 0 if there is none, −1 if it is incomplete. The engine reads the file.
func _saved_version() -> int:
	if not FileAccess.file_exists(path("saved.dat")):
		return 0
	var file := FileAccess.open(path("saved.dat"), FileAccess.READ)
	var version: int = file.get_var()[&"@save"]["version"]
	var value: Variant = file.get_var()
	if value is Dictionary:
		value = bytes_to_var(value[&"@zstd"].decompress(value[&"size"], FileAccess.COMPRESSION_ZSTD))
	file.get_var()
	if value != _records(version) or file.get_position() != file.get_length():
		return _broken("the saved file is neither the old nor the new one")
	var loaded := FastVariantCodec.load(path("saved.dat"))
	return version if loaded.is_ok() else _broken("the saved file is not loaded: %s" % loaded.message)


## The number of appended records; −1 if they are not 0, 1, 2 and so on. A torn record is removed.
func _appended_count() -> int:
	if not FileAccess.file_exists(path("appended.dat")):
		return 0
	var loaded := FastVariantCodec.load_batch(path("appended.dat"))
	if loaded.value != range(loaded.value.size()):
		return _broken("records of the appended file are lost")
	if loaded.is_ok():
		return loaded.value.size()
	if loaded.failed != PackedInt32Array([loaded.value.size()]):
		return _broken("the torn record of the appended file is not named: %s" % loaded.message)
	if not FastVariantCodec.save_batch(path("appended.dat"), loaded.value).is_ok():
		return _broken("what is whole of the appended file cannot be saved")
	return loaded.value.size()


func _broken(reason: String) -> int:
	print("@@ broken %s" % reason)
	return -1
