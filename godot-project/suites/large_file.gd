## Tests FastVariantView.open_file on a file of records larger than 4 GiB, and its memory use, for `cargo xtask test`.
## Linux only: the file is sparse, and /proc reports the memory.
extends SceneTree

const Checks := preload("res://suites/checks.gd")
const Extension := preload("res://suites/extension.gd")
const Memory := preload("res://bench/memory.gd")
const FILE := "user://large_file"
const MOST_MEMORY := 200_000_000
## The number of groups of records. A group is one record with a blob of zeros, and SMALL records without a
## blob.
const GROUPS := 513
const SMALL := 150
const BLOB := 1 << 23
## An upper bound for the size of a record with a blob, excluding the blob.
const HEAD := 128

var _checks := Checks.new()
var _at_first := Memory.bytes("VmRSS")
## The offset and the size of each record.
var _starts := PackedInt64Array()
var _sizes := PackedInt64Array()


func _initialize() -> void:
	quit(1)  # The exit code if a script error ends this function early.
	if not Extension.is_loaded():
		return
	_make()
	_checks.subject(TYPE_ARRAY, "a file of more than 4 GiB")
	_check()
	DirAccess.remove_absolute(FILE)
	var most := Memory.bytes("VmHWM")
	_checks.truth("memory of this process", most > 0 and most <= MOST_MEMORY, str(most))
	print("%d records in %d bytes: %d bytes of memory at most, %d at the start" % [
		_starts.size(), _starts[-1] + _sizes[-1], most, _at_first,
	])
	print("\n%d passed, %d failed" % [_checks.passed, _checks.failed])
	quit(0 if _checks.failed == 0 else 1)


## Writes the small records with the engine. Writes only the first HEAD bytes and the last byte of a record with a
## blob, so that the file is sparse.
func _make() -> void:
	var file := FileAccess.open(FILE, FileAccess.WRITE)
	var blob := PackedByteArray()
	blob.resize(BLOB)
	for group in GROUPS:
		var record := _record(_starts.size())
		record["blob"] = blob
		var bytes := var_to_bytes(record)
		_add(file.get_position() + 4, bytes.size())
		file.store_32(bytes.size())
		file.store_buffer(bytes.slice(0, HEAD))
		file.seek(_starts[-1] + bytes.size() - 1)
		file.store_8(0)
		for i in SMALL:
			var start := file.get_position() + 4
			file.store_var(_record(_starts.size()))
			_add(start, file.get_position() - start)


func _add(start: int, size: int) -> void:
	_starts.append(start)
	_sizes.append(size)


static func _record(id: int) -> Dictionary:
	return {"id": id, "hp": 100.0 - id % 97, "name": "entity_%d" % id}


func _check() -> void:
	var count := _starts.size()
	_checks.truth("the file has more than 4 GiB", _starts[-1] > 1 << 32)
	var view := FastVariantView.open_file(FILE)
	_checks.same_int("size", count, view.size_of([]))
	var file := FileAccess.open(FILE, FileAccess.READ)
	var picked: Array[int] = [0, 1, SMALL, SMALL + 1, SMALL + 2, count / 2, count - SMALL - 1, count - 1]
	for index in picked:
		file.seek(_starts[index] - 4)
		var expected: Dictionary = file.get_var()
		_checks.same_value("record %d, hp" % index, expected["hp"], view.fetch([index, "hp"]))
		_checks.same_value("record %d from the end, name" % index, expected["name"], view.fetch([index - count, "name"]))
		var place := PackedInt64Array([_starts[index], _starts[index] + _sizes[index]])
		_checks.same_value("range of %d" % index, place, FastVariantInspector.byte_range(view, [index]))
		if "blob" not in expected:
			_checks.same_value("record %d" % index, expected, view.fetch([index]))
	_checks.same_value("slice", range(count - 5, count).map(_record), view.slice([], count - 5, count))

	var ids := PackedInt64Array(range(count))
	var hp := PackedFloat64Array(range(count).map(func(id: int) -> float: return _record(id)["hp"]))
	_checks.same_value("column", ids, view.columns([], {"id": TYPE_INT})["id"])
	var columns := view.columns([], {"id": TYPE_INT, "hp": TYPE_FLOAT})
	_checks.same_value("columns: id", ids, columns.get("id"))
	_checks.same_value("columns: hp", hp, columns.get("hp"))
	var weak := PackedInt64Array(range(count).filter(func(id: int) -> bool: return hp[id] < 10.0))
	_checks.same_value("rows", weak, view.rows([], "hp", "<", 10.0))
