## Files: the codec is compatible with FileAccess.store_var and get_var, and handles broken files.
extends "res://suites/suite.gd"

const Meddler := preload("res://suites/fixtures/meddling_resource.gd")
const Watchdog := preload("res://suites/watchdog.gd")

const FOLDER := "user://file_suite"
const PATH := FOLDER + "/records.dat"
const WRITERS: Array[String] = ["save_batch", "append_batch"]

## A block of 7 and of an unknown type, from tests/frames.rs.
const BAD_VALUE := "800000001b0000000400000015000000070000007265636f726473000200000002000000150000000400000073697a650200000014000000150000000300000073756d0002000000a3a0f5451500000005000000407a7374640000001d0000001d00000028b52ffd2014a100000800000002000000070000000400000063000000000000"

const LONGEST_CALL_MS := 30000
## The shell commands that make files and folders of different kinds. A key names the kind and, after ": ",
## the path relative to the folder in which the command runs.
const PLACES: Dictionary[String, String] = {
	"new file: x": ":",
	"file: x": "printf '' > x; chmod 640 x",
	"executable file: x": "printf '' > x; chmod 755 x",
	"read-only file: x": "printf '' > x; chmod 444 x",
	"file that is only written: x": "printf '' > x; chmod 200 x",
	"link to a file: x": "printf '' > to; chmod 600 to; ln -s to x",
	"link to a file of another folder: x": "mkdir f; printf '' > f/to; ln -s '{folder}/f/to' x",
	"dangling link: x": "ln -s to x",
	"dangling link with a whole path: x": "ln -s '{folder}/to' x",
	"dangling link with detours: x": "mkdir f g; ln -s ../g/../to f/y; ln -s f/y x",
	"dangling chain: x": "ln -s to 1; ln -s 1 2; ln -s 2 3; ln -s 3 x",
	"link into no folder: x": "ln -s f/to x",
	"loop: x": "ln -s x x",
	"loop of two: x": "ln -s y x; ln -s x y",
	"by way of a loop: x/y": "ln -s x x",
	"link to a folder: x": "mkdir f; ln -s f x",
	"by way of a link to a folder: x/y": "mkdir f; ln -s f x",
	"by way of a dangling link: x/y": "ln -s f x",
	"folder: x": "mkdir x",
	"full folder: x": "mkdir x; printf '' > x/y",
	"folder with a slash: x/": "mkdir x",
	"new file with a slash: x/": ":",
	"file with a slash: x/": "printf '' > x",
	"in a file: x/y": "printf '' > x",
	"in no folder: x/y": ":",
	"backslash: x\\y": "mkdir x",
	"two dots: f/../x": "mkdir f",
	"read-only folder: f/x": "mkdir f; chmod 555 f",
	"FIFO: x": "mkfifo x",
	"link to a FIFO: x": "mkfifo to; ln -s to x",
	"device: x": "ln -s /dev/full x",
	"terminal: x": "ln -s /dev/tty x",
	"pipe: x": "ln -s /proc/self/fd/0 x",
	"250 bytes: *": ":",
	"255 bytes: *": ":",
	"256 bytes: *": ":",
	"file of /proc: x": "ln -s /proc/self/comm x",
	"file of a read-only folder: f/x": "mkdir f; printf '' > f/x; chmod 555 f",
}
## The entries of PLACES to which the engine may write, but the listed methods may not, because the file
## cannot be synced to disk or only root can replace it.
const REFUSED: Dictionary[String, Array] = {
	"file of /proc: x": ["save_batch", "append_batch"],
	"file of a read-only folder: f/x": ["save_batch"],
}

var _values: Array


func test_begin() -> bool:
	DirAccess.make_dir_recursive_absolute(FOLDER)
	var random := seeded("files")
	for case in values.cases:
		var bytes := var_to_bytes(case.value)
		# Excludes values that strict reading refuses, that differ with each reading, or that are not saved.
		if Oracle.is_repeatable(bytes) and not Oracle.is_lost(case.value):
			_values.append(case.value)
	for index in 200:
		_values.append({"id": index, "at": Vector3(index, 0, 1), "name": "n".repeat(random.randi_range(0, 40))})
	return true


func test_files_are_those_of_store_var() -> bool:
	checks.subject(checks.MIXED, "files")
	checks.truth("save_batch", FastVariantCodec.save_batch(PATH, _values).is_ok())
	var saved := FileAccess.get_file_as_bytes(PATH)
	var read := _read_by_engine(PATH)
	checks.same_int("values that get_var reads", _values.size(), read.size())
	var stored := FOLDER + "/stored.dat"
	_store_by_engine(stored, _values)
	checks.same_bytes("the file", FileAccess.get_file_as_bytes(stored), saved)
	for path: String in [PATH, stored, ProjectSettings.globalize_path(PATH)]:
		var loaded := FastVariantCodec.load_batch(path)
		checks.truth("load_batch(%s) is ok" % path.get_file(), loaded.is_ok(), loaded.message)
		checks.same_int("bytes read", saved.size(), loaded.bytes_read)
		checks.same_bytes("what was loaded", saved, Wire.framed(loaded.value))
		for index in mini(read.size(), loaded.value.size()):
			checks.same_bytes("value %d" % index, var_to_bytes(read[index]), var_to_bytes(loaded.value[index]))
	return true


## Values that would be read as other values, or not at all, are refused, and the file stays unchanged.
func test_values_that_come_back_as_others_are_refused() -> bool:
	checks.subject(checks.MIXED, "values that differ after reading")
	var freed: Array[Node] = [Node.new(), Node.new()]
	var keys := {freed[0]: 1, freed[1]: 2}
	var keys_that_hold := {[freed[0]]: 1, [freed[1]]: 2}
	var first := [1]
	var ints := PackedInt32Array([1])
	var changed := {first: 1, [1, 2]: 2}
	var changed_ints := {"in": {ints: 1, PackedInt32Array([1, 2]): 2}}
	first.append(2)
	changed_ints["in"].keys()[0].append(2)
	var keys_in_keys := {{freed[0]: 1}: 1, {freed[1]: 1}: 2}
	freed[0].free()
	freed[1].free()
	var nodes: Array[Node] = []
	# A literal would not work, because exporting drops byte-order marks from texts in scripts.
	var mark := String.chr(0xfeff)
	checks.truth("before", FastVariantCodec.save_batch(PATH, [1]).is_ok())
	Engine.print_error_messages = false
	for value: Variant in [keys, keys_that_hold, keys_in_keys, changed, changed_ints, mark + "text", {"a": [mark + "b"]}, nodes,
			{} as Dictionary[int, Resource]]:
		var saving := FastVariantCodec.save_batch_async(PATH, [value]).wait_to_finish()
		checks.truth("save_batch_async", not saving.is_ok())
		for tried: FastVariantResult in [
			FastVariantCodec.save_batch(PATH, [value]), FastVariantCodec.append_batch(PATH, [value]),
		]:
			checks.same_value("in the foreground", [saving.error, saving.message, saving.failed], [tried.error, tried.message, tried.failed])
	# Each key is read as a separate object, so the keys stay different, even if all properties are null.
	var in_key := FastVariantCodec.try_encode({[StandardMaterial3D.new()]: 1, [StandardMaterial3D.new()]: 2}, true)
	checks.truth("objects in keys with full objects", in_key.is_ok(), in_key.message)
	for value: Variant in [test_appending, {"signal": (self as RefCounted).script_changed}, Values.PlainData, Engine]:
		checks.truth("with full objects", not FastVariantCodec.save_batch(PATH, [value], true).is_ok())
		checks.truth("try_encode with full objects", not FastVariantCodec.try_encode(value, true).is_ok())
	Engine.print_error_messages = true
	checks.same_value("the file", [1], FastVariantCodec.load_batch(PATH).value)
	return true


func test_results_of_writing() -> bool:
	checks.subject(checks.MIXED, "results of writing")
	var classes := FastVariantClasses.new()
	for writer: Object in [FastVariantCodec, classes]:
		for method: StringName in [&"save_batch", &"append_batch"]:
			var saved: FastVariantResult = writer.call(method, PATH, [1, 2])
			checks.same_value("done", [FastVariantCodec.OK, null], [saved.error, saved.value])
			var size := FastVariantCodec.pack_batch([1, 2]).size()
			checks.same_int("offset: the bytes written", size, saved.offset)
			checks.truth("what it shows", str(saved).ends_with(" ok: 2 records, %d bytes written to %s>" % [size, PATH]), str(saved))
			Engine.print_error_messages = false
			var failed: FastVariantResult = writer.call(method, "user://", [1])
			Engine.print_error_messages = true
			checks.same_value("file error", [FastVariantCodec.FILE_ERROR, true], [failed.error, failed.message.begins_with("user://: ")])
	checks.same_value("saved, then appended", [1, 2, 1, 2], FastVariantCodec.load_batch(PATH).value)
	return true


## Blocks of compressed records: the same values, also for plain GDScript, which finds no block that is not one.
func test_compressed_records() -> bool:
	checks.subject(checks.MIXED, "compressed records")
	var large := seeded("blocks")
	var values_of_blocks := _values.duplicate()
	# Several fit into one block, or only one does.
	for size: int in [400_000, 400_000, 400_000, 3_000_000, 10]:
		values_of_blocks.append(range(size / 8).map(func(_index: int) -> int: return large.randi() % 1000))
	var classes := FastVariantClasses.new()
	var buffers := values_of_blocks.map(func(value: Variant) -> PackedByteArray: return var_to_bytes(value))
	var expected := Wire.framed(values_of_blocks)
	for write: Callable in [
		func() -> FastVariantResult: return FastVariantCodec.save_batch(PATH, values_of_blocks, false, true),
		func() -> FastVariantResult: return FastVariantCodec.save_batch_async(PATH, values_of_blocks, false, true).wait_to_finish(),
		func() -> FastVariantResult: return FastVariantCodec.append_batch_async(PATH, values_of_blocks, false, true).wait_to_finish(),
		func() -> FastVariantResult: return FastVariantCodec.append_encoded_async(PATH, buffers, true).wait_to_finish(),
	]:
		DirAccess.remove_absolute(PATH)
		var written: FastVariantResult = write.call()
		checks.truth("written", written.is_ok(), written.message)
		checks.truth("smaller", FileAccess.open(PATH, FileAccess.READ).get_length() < expected.size() / 2)
		var file := FileAccess.get_file_as_bytes(PATH)
		for loaded: FastVariantResult in [
			FastVariantCodec.load_batch(PATH), FastVariantCodec.load_batch_async(PATH).wait_to_finish(),
			FastVariantCodec.unpack_batch(file),
		]:
			checks.truth("loaded", loaded.is_ok(), loaded.message)
			checks.same_bytes("what was loaded", expected, Wire.framed(loaded.value))
			checks.same_int("bytes read", file.size(), loaded.bytes_read)
	checks.same_bytes("plain GDScript", expected, Wire.framed(_read_blocks_by_engine(PATH)))
	checks.truth("one value", "use `load_batch`" in FastVariantCodec.load(PATH).message)
	# Plain and compressed records in one file, and values that look like a block.
	FastVariantCodec.save_batch(PATH, [1, 2])
	var looks := {&"records": 1, &"size": 8, &"sum": 0, &"@zstd": PackedByteArray([1])}
	FastVariantCodec.append_batch(PATH, ["three", looks, {"@zstd": 5}, "six"])
	FastVariantCodec.append_batch(PATH, [7, {"eight": 8}], false, true)
	var mixed: Array = [1, 2, "three", looks, {"@zstd": 5}, "six", 7, {"eight": 8}]
	checks.same_value("mixed records", mixed, FastVariantCodec.load_batch(PATH).value)
	checks.same_value("mixed records in plain GDScript", mixed, _read_blocks_by_engine(PATH))
	checks.same_value("packed records", mixed, FastVariantCodec.unpack_batch(FastVariantCodec.pack_batch(mixed)).value)
	for compress: bool in [false, true]:
		classes.compress = compress
		checks.truth("classes", classes.save_batch(PATH, mixed.slice(0, 4)).is_ok() and classes.append_batch(PATH, mixed.slice(4)).is_ok())
		checks.same_value("mixed records of classes", mixed, classes.load_batch(PATH).value)
	FastVariantCodec.append_encoded_async(PATH, [var_to_bytes(looks)]).wait_to_finish()
	checks.same_value("an encoded value", looks, FastVariantCodec.load_batch(PATH).value[-1])
	FastVariantCodec.save_batch(PATH, [{"hp": 1}, 2], false, true)
	checks.truth("for Godot 3", FastGodot3Codec.convert_file_back(PATH, PATH).is_ok())
	checks.same_value("records of Godot 3", [{"hp": 1}, 2], FastVariantView.open_file(PATH, null, true).fetch(""))
	return true


## The reader in docs/saves.md, without the addon.
func _read_blocks_by_engine(path: String) -> Array:
	var read: Array = []
	for record: Variant in _read_by_engine(path):
		if record is Dictionary and not record.is_typed() and record.has(&"@zstd"):
			var block := StreamPeerBuffer.new()
			block.data_array = record[&"@zstd"].decompress(record[&"size"], FileAccess.COMPRESSION_ZSTD)
			for index: int in record[&"records"]:
				read.append(block.get_var())
		else:
			read.append(record)
	return read


## Each length, and each bit of a block: the records before the damage, or an error, also in a view.
func test_damaged_blocks() -> bool:
	checks.subject(checks.MIXED, "damaged blocks")
	var path := FOLDER + "/blocks.dat"
	var records: Array = [1, {"a": "one"}, "two", {"b": range(20)}, 5, "six"]
	FastVariantCodec.save_batch(path, records.slice(0, 1))
	var ends: Array[int] = [0, FileAccess.get_file_as_bytes(path).size()]
	for part: Array in [records.slice(1, 4), records.slice(4)]:
		FastVariantCodec.append_batch(path, part, false, true)
		ends.append(FileAccess.get_file_as_bytes(path).size())
	var whole := FileAccess.get_file_as_bytes(path)
	var before: Array[int] = [0, 1, 4, 6]
	for length in whole.size() + 1:
		_write(path, whole.slice(0, length))
		var count := before[ends.filter(func(end: int) -> bool: return end <= length).size() - 1]
		var loaded := FastVariantCodec.load_batch(path)
		checks.same_value("%d bytes" % length, [length in ends, records.slice(0, count)], [loaded.is_ok(), loaded.value])
		if count > 0:
			checks.same_value("a view of %d bytes" % length, records.slice(0, count), FastVariantView.open_file(path).fetch(""))
	var head := ends[1] + 4
	for at in range(head, ends[2] - 3):
		for bit in 8:
			var flipped := whole.duplicate()
			flipped[at] ^= 1 << bit
			_write(path, flipped)
			var loaded := FastVariantCodec.load_batch(path)
			checks.same_value("bit %d of byte %d" % [bit, at], [FastVariantCodec.BAD_SAVE, records.slice(0, 1), head, [1]],
					[loaded.error, loaded.value, loaded.offset, Array(loaded.failed)])
			var view := FastVariantView.open_file(path)
			var viewed := view.try_fetch(1)
			checks.same_value("in a view", [FastVariantCodec.BAD_SAVE, head, "[1]"], [viewed.error, viewed.offset, viewed.path])
			checks.same_value("the record before it", 1, view.fetch(0))
			viewed = view.try_columns("", {"a": TYPE_STRING})
			checks.same_value("in columns", [FastVariantCodec.BAD_SAVE, head, "[1]"], [viewed.error, viewed.offset, viewed.path])
	# A damaged value in a whole block has the offset of the block.
	_write(path, whole.slice(0, ends[1]) + BAD_VALUE.hex_decode())
	for found: FastVariantResult in [FastVariantCodec.load_batch(path), FastVariantView.open_file(path).try_fetch(2)]:
		checks.same_value("a damaged value", [FastVariantCodec.UNKNOWN_TYPE, head], [found.error, found.offset])
	# Numbers that no block has cost neither memory nor time.
	for numbers_of_block: Array in [
		[0, 8], [2, 8], [1 << 30, 1 << 30], [2, (1 << 20) + 1], [1, -1], [-1, 8], [1, 0], [1 << 17, 1 << 20], [1, 1 << 30],
	]:
		var block: Dictionary = bytes_to_var(whole.slice(head, ends[2]))
		block.merge({&"records": numbers_of_block[0], &"size": numbers_of_block[1]}, true)
		_write(path, whole.slice(0, ends[1]) + Wire.framed([block]))
		for found: FastVariantResult in [FastVariantCodec.load_batch(path), FastVariantView.open_file(path).try_fetch(1)]:
			checks.same_value(str(numbers_of_block), [FastVariantCodec.BAD_SAVE, head], [found.error, found.offset])
	DirAccess.remove_absolute(path)
	return true


func test_limits_of_blocks() -> bool:
	checks.subject(checks.MIXED, "limits of blocks")
	var records: Array = [1, "x".repeat(1000), "y".repeat(100_000)]
	FastVariantCodec.save_batch(PATH, records.slice(0, 1))
	FastVariantCodec.append_batch(PATH, records.slice(1), false, true)
	var limits := FastVariantLimits.for_save_files()
	limits.max_bytes = Wire.framed(records).size()
	limits.max_elements = records.size()
	checks.same_value("as much as allowed", records, FastVariantCodec.load_batch(PATH, limits).value)
	limits.max_elements -= 1
	checks.same_int("a record more", FastVariantCodec.MAX_ELEMENTS_EXCEEDED, FastVariantCodec.load_batch(PATH, limits).error)
	limits = FastVariantLimits.for_save_files()
	limits.max_bytes = Wire.framed(records).size() - 1
	checks.same_int("a byte more", FastVariantCodec.MAX_BYTES_EXCEEDED, FastVariantCodec.load_batch(PATH, limits).error)
	limits.max_bytes = var_to_bytes(records[2]).size()
	checks.same_value("a view limits each record", records[2], FastVariantView.open_file(PATH, limits).fetch(2))
	limits.max_bytes -= 1
	checks.same_int("in a view", FastVariantCodec.MAX_BYTES_EXCEEDED, FastVariantView.open_file(PATH, limits).try_fetch(2).error)
	limits = FastVariantLimits.for_save_files()
	limits.max_memory = 100_000
	var rows := FastVariantView.open_file(PATH, limits).try_columns("", {"": TYPE_STRING})
	checks.same_value("what a call decompresses", [FastVariantCodec.MAX_MEMORY_EXCEEDED, "[1]"], [rows.error, rows.path])
	limits = FastVariantLimits.for_save_files()
	limits.max_bytes = var_to_bytes(records[2]).size() - 1
	FastVariantCodec.save_batch(PATH, records.slice(2), false, true)
	checks.same_int("the only record", FastVariantCodec.MAX_BYTES_EXCEEDED, FastVariantView.open_file(PATH, limits).try_fetch(0).error)
	return true


func test_appending() -> bool:
	checks.subject(checks.MIXED, "appending")
	var path := FOLDER + "/appended.dat"
	DirAccess.remove_absolute(path)
	var expected: Array = []
	for count: int in [0, 1, 3, 0, 200]:
		var added := _values.slice(0, count)
		checks.truth("append_batch of %d" % count, FastVariantCodec.append_batch(path, added).is_ok())
		expected.append_array(added)
		checks.same_bytes("the file then", Wire.framed(expected), FileAccess.get_file_as_bytes(path))
		checks.same_int("values in it", expected.size(), FastVariantCodec.load_batch(path).value.size())
	var file := FileAccess.open(path, FileAccess.READ_WRITE)
	file.seek_end()
	file.store_var("by the engine")
	file.close()
	checks.truth("behind what the engine added", FastVariantCodec.append_batch(path, ["by us"]).is_ok())
	expected.append_array(["by the engine", "by us"])
	checks.same_bytes("the file", Wire.framed(expected), FileAccess.get_file_as_bytes(path))
	checks.same_int("what the engine reads", expected.size(), _read_by_engine(path).size())
	return true


## If a file is truncated at any byte, the complete records are read, and the error names the truncated record
## and its offset.
func test_torn_files() -> bool:
	checks.subject(checks.MIXED, "torn files")
	var items: Array = ["one", 2, [3, 3, 3], {"four": 4.5}, PackedByteArray([5])]
	var whole := Wire.framed(items)
	var ends := PackedInt32Array([0])
	for item: Variant in items:
		ends.append(ends[-1] + 4 + var_to_bytes(item).size())
	for length in whole.size():
		_write(PATH, whole.slice(0, length))
		var good := 0
		while good + 1 < ends.size() and ends[good + 1] <= length:
			good += 1
		var torn := ends[good] != length
		var loaded := FastVariantCodec.load_batch(PATH)
		checks.truth("cut at %d: is it ok" % length, loaded.is_ok() != torn, loaded.message)
		checks.same_value("cut at %d: values" % length, items.slice(0, good), loaded.value)
		checks.same_int("cut at %d: bytes read" % length, ends[good], loaded.bytes_read)
		if torn:
			checks.same_value("cut at %d: failed" % length, PackedInt32Array([good]), loaded.failed)
			checks.same_int("cut at %d: offset" % length, ends[good], loaded.offset)
			checks.truth("cut at %d: get_error" % length, loaded.get_item_error(good) != "" and loaded.get_item_error(good + 1) == "")
			checks.truth("cut at %d: message" % length, loaded.message.begins_with("%s: record %d: " % [PATH, good]),
					loaded.message)
			checks.truth("cut at %d: append_batch" % length, "truncated" in _write_silently("append_batch", PATH, [6]))
			checks.same_bytes("cut at %d: it is as it was" % length, whole.slice(0, length),
					FileAccess.get_file_as_bytes(PATH))
	var zeros := PackedByteArray()
	zeros.resize(4096)
	_write(PATH, whole + zeros)
	var lost_power := FastVariantCodec.load_batch(PATH)
	checks.same_value("zeros at the end: values", items, lost_power.value)
	checks.same_value("zeros at the end: failed", PackedInt32Array([items.size()]), lost_power.failed)
	checks.truth("zeros at the end: append_batch", "empty record" in _write_silently("append_batch", PATH, [6]))
	var view := FastVariantView.open_file(PATH)
	checks.same_value("zeros at the end: a view", items, view.slice("", 0, items.size()))
	checks.truth("zeros at the end: all of a view", "record of 0 bytes" in view.try_fetch("").message)
	# If the first record is empty, the rest is not read: the size of this file alone would exceed the memory below.
	for path: String in [PATH, "res://file_suite_large.dat"]:
		FileAccess.open(path, FileAccess.WRITE).resize(1 << 32)
		var peak := OS.get_static_memory_peak_usage()
		for call: Callable in [
			func() -> FastVariantResult: return FastVariantCodec.load_batch(path),
			func() -> FastVariantResult: return FastVariantCodec.load_batch_async(path).wait_to_finish(),
			func() -> FastVariantResult: return FastGodot3Codec.convert_file(path, FOLDER + "/converted.dat"),
			func() -> FastVariantResult: return FastVariantView.open_file(path).try_fetch("0"),
		]:
			var message: String = call.call().message
			checks.truth("only zeros: %s" % path, "record of 0 bytes" in message, message)
		checks.truth("only zeros: memory", OS.get_static_memory_peak_usage() - peak <= 1 << 26)
		DirAccess.remove_absolute(path)
	_write(PATH, whole.slice(0, ends[2]) + Wire.word(4) + Wire.header(39) + whole.slice(ends[2]))
	var broken := FastVariantCodec.load_batch(PATH)
	checks.same_value("a bad record: values", items.slice(0, 2), broken.value)
	checks.same_int("a bad record: offset", ends[2] + 4, broken.offset)
	return true


func test_paths() -> bool:
	checks.subject(checks.MIXED, "paths")
	var paths := PackedStringArray([FOLDER + "/../file_suite/x", FOLDER + "/ü ✓.dat"])
	if not FileAccess.file_exists("res://project.godot"):
		checks.truth("save_batch into an exported game", "use user://" in _write_silently("save_batch", "res://file_suite.dat", [1]))
	else:
		paths.append("res://.godot/file_suite.dat")
	for path in paths:
		checks.truth("save_batch to %s" % path, FastVariantCodec.save_batch(path, [path]).is_ok())
		checks.same_value("what the engine reads there", [path], _read_by_engine(path))
		DirAccess.remove_absolute(ProjectSettings.globalize_path(path))
	for path: String in [FOLDER + "/new/", FOLDER + "/new/.", FOLDER + "/new/.."]:
		checks.truth("the engine writes no " + path, FileAccess.open(path, FileAccess.WRITE) == null)
		checks.truth("save_batch to %s" % path, "path of a folder" in _write_silently("save_batch", path, [1]))
	# A temporary file that a killed save leaves. The next save removes it.
	var remains := FOLDER + "/.fast-variant-codec-ABCDEFGH12345678.tmp"
	for path: String in ["", "user://", remains, FOLDER, FOLDER + "/", "user://no such folder/x", "https://example.org/x", "uid://x"]:
		for writer: String in WRITERS:
			checks.truth("%s to \"%s\" fails" % [writer, path], _write_silently(writer, path, [1]) != "")
	for path: String in ["", FOLDER, "user://no such file", "https://example.org/x"]:
		var loaded := FastVariantCodec.load_batch(path)
		checks.same_int("load_batch from \"%s\"" % path, FastVariantCodec.FILE_ERROR, loaded.error)
		checks.truth("it names the path", loaded.message.begins_with(path + ": ") and loaded.value == null, loaded.message)
	return true


func test_what_cannot_be_written() -> bool:
	checks.subject(checks.MIXED, "failing values")
	FastVariantCodec.save_batch(PATH, ["old"])
	var endless: Array = []
	endless.append(endless)
	for writer: String in WRITERS:
		checks.truth(writer, _write_silently(writer, PATH, [1, endless, 3]).begins_with("1 item failed, at index 1; "))
		checks.same_value("the old content", ["old"], _read_by_engine(PATH))
	endless.clear()
	return true


## Makes each kind of file or folder twice: for the engine's FileAccess and for the codec. The codec follows
## links and refuses paths as the engine does. Afterwards, both folders have the same names, kinds, links,
## permissions and contents.
func test_places_are_as_with_the_engine() -> bool:
	checks.subject(checks.MIXED, "places")
	if OS.get_name() != "Linux":
		return true
	for place: String in PLACES:
		for writer: String in WRITERS:
			var folders := PackedStringArray()
			for who: String in ["engine", "codec"]:
				var folder := ProjectSettings.globalize_path(FOLDER.path_join(who))
				_remove(folder)
				DirAccess.make_dir_absolute(folder)
				checks.same_int("%s: set up" % place, 0, _shell("cd '{folder}' && { %s; }" % PLACES[place], folder))
				folders.append(folder)
			var path := place.get_slice(": ", 1).replace("*", "n".repeat(place.to_int()))
			var before := _listed(folders[1])
			var by_engine := _engine_writes(folders[0].path_join(path), writer == "append_batch")
			var problem := _write_silently(writer, folders[1].path_join(path), ["new"])
			var case := "%s, %s" % [place, writer]
			if writer in REFUSED.get(place, []) and (problem or place.begins_with("file of /proc")):
				checks.truth("%s: refused" % case, problem != "")
				checks.same_value("%s: as it was" % case, before, _listed(folders[1]))
				continue
			checks.truth("%s: done or not, as by the engine" % case, (problem == "") == by_engine,
					"%s, and the engine %s" % [problem, "did" if by_engine else "did not"])
			checks.same_value("%s: what is there" % case, _listed(folders[0]), _listed(folders[1]))
			if problem:
				checks.same_value("%s: as it was" % case, before, _listed(folders[1]))
	for who: String in ["engine", "codec"]:
		_remove(ProjectSettings.globalize_path(FOLDER.path_join(who)))
	return true


## Scripts that run during a call may use the same file in another call.
func test_scripts_that_use_the_same_file() -> bool:
	checks.subject(TYPE_OBJECT, "getters and setters")
	var limits := FastVariantLimits.for_save_files()
	limits.allow_objects = true
	var plain := [1, 2]
	var deeds: Dictionary[String, Callable] = {
		"load_batch": func() -> bool: return FastVariantCodec.load_batch(PATH, limits).error != FastVariantCodec.FILE_ERROR,
		"load_batch_async": func() -> bool:
			return FastVariantCodec.load_batch_async(PATH).wait_to_finish().error != FastVariantCodec.FILE_ERROR,
		"save_batch": func() -> bool: return FastVariantCodec.save_batch(PATH, plain).is_ok(),
		"save_batch_async": func() -> bool: return FastVariantCodec.save_batch_async(PATH, plain).wait_to_finish().is_ok(),
		"append_batch": func() -> bool: return FastVariantCodec.append_batch(PATH, plain).is_ok(),
		"convert_file_to_godot3": func() -> bool:
			return FastGodot3Codec.convert_file_back(PATH, PATH).error != FastVariantCodec.FILE_ERROR,
		"convert_godot3_file": func() -> bool:
			return FastGodot3Codec.convert_file(PATH, PATH).error != FastVariantCodec.FILE_ERROR,
	}
	if has_threads():
		deeds["append_batch of a thread that is waited for"] = func() -> bool:
			var thread := Thread.new()
			thread.start(func() -> bool: return FastVariantCodec.append_batch(PATH, plain).is_ok())
			return thread.wait_to_finish()
	var meddler := Meddler.new()
	var calls: Dictionary[String, Callable] = {
		"load_batch": func() -> bool: return FastVariantCodec.load_batch(PATH, limits).is_ok(),
		"load_batch_async": func() -> bool: return FastVariantCodec.load_batch_async(PATH, limits).wait_to_finish().is_ok(),
		"save_batch": func() -> bool: return FastVariantCodec.save_batch(PATH, [meddler], true).is_ok(),
		"save_batch_async": func() -> bool: return FastVariantCodec.save_batch_async(PATH, [meddler], true).wait_to_finish().is_ok(),
		"append_batch": func() -> bool: return FastVariantCodec.append_batch(PATH, [meddler], true).is_ok(),
	}
	for call_name in calls:
		for deed_name in deeds:
			var case := "%s during %s" % [deed_name, call_name]
			FastVariantCodec.save_batch(PATH, [meddler], true)
			var done: Array[bool] = []
			Meddler.deed = func() -> void: done.append(deeds[deed_name].call())
			var watchdog := Watchdog.new(case, LONGEST_CALL_MS)
			checks.truth(case, calls[call_name].call())
			watchdog.stop()
			checks.same_value("%s: what it says" % case, [true] as Array[bool], done)
	return true


func test_limits() -> bool:
	checks.subject(checks.MIXED, "limits")
	FastVariantCodec.save_batch(PATH, range(1000))
	var limits := FastVariantLimits.new()
	limits.max_bytes = 11999
	checks.same_int("a file one byte too long", FastVariantCodec.MAX_BYTES_EXCEEDED,
			FastVariantCodec.load_batch(PATH, limits).error)
	limits.max_bytes = 12000
	checks.same_value("a file as long as it may be", range(1000), FastVariantCodec.load_batch(PATH, limits).value)
	limits.max_elements = 999
	checks.same_int("a record too many", FastVariantCodec.MAX_ELEMENTS_EXCEEDED,
			FastVariantCodec.load_batch(PATH, limits).error)
	return true


func test_objects() -> bool:
	checks.subject(TYPE_OBJECT, "objects")
	var theme := Gradient.new()
	theme.offsets = PackedFloat32Array([0.25, 0.5])
	theme.colors = PackedColorArray([Color.RED, Color.BLUE])
	checks.truth("save_batch", FastVariantCodec.save_batch(PATH, [theme], true).is_ok())
	checks.truth("append_batch", FastVariantCodec.append_batch(PATH, [theme], true).is_ok())
	var file := FileAccess.open(PATH, FileAccess.READ)
	checks.same_value("what the engine reads", theme.offsets, file.get_var(true).offsets)
	file.close()
	checks.same_int("not by default", FastVariantCodec.OBJECTS_NOT_ALLOWED, FastVariantCodec.load_batch(PATH).error)
	var limits := FastVariantLimits.for_save_files()
	limits.allow_objects = true
	var loaded := FastVariantCodec.load_batch(PATH, limits)
	checks.truth("load_batch", loaded.is_ok() and loaded.value.size() == 2, loaded.message)
	checks.same_value("what it read", theme.colors, loaded.value[1].colors)
	return true


## On the web, files are in memory. The engine copies them to the browser's storage after its own writes, or on request.
## Saved files must survive a reload of the page.
func test_a_page_that_is_opened_again() -> bool:
	checks.subject(checks.MIXED, "opened again")
	if OS.get_name() != "Web":
		return true
	var bridge := Engine.get_singleton(&"JavaScriptBridge")
	const REPLACED := "user://opened_again.dat"
	const APPENDED := "user://opened_again.log"
	if bridge.call(&"eval", "sessionStorage.saved") != "1":
		bridge.call(&"eval", "sessionStorage.saved = 1")
		for path: String in [REPLACED, APPENDED]:
			DirAccess.remove_absolute(path)
		await _frames(60)
		checks.truth("save", FastVariantCodec.save_batch(REPLACED, ["kept", 1]).is_ok())
		checks.truth("append", FastVariantCodec.append_batch(APPENDED, [2]).is_ok())
		await _frames(60)
		checks.truth("save again", FastVariantCodec.save_batch(REPLACED, ["kept", 2]).is_ok())
		await _frames(60)
		bridge.call(&"eval", "location.reload()")
		await _frames(600)
		checks.fail("reload", "the page was not loaded again")
		return true
	checks.same_value("replaced", ["kept", 2], FastVariantCodec.load_batch(REPLACED).value)
	checks.same_value("appended", [2], FastVariantCodec.load_batch(APPENDED).value)
	return true


## Values that lose their contents are refused, alone and inside other values, and the file stays unchanged.
func test_nothing_is_lost_in_silence() -> bool:
	checks.subject(TYPE_OBJECT, "objects without their contents")
	FastVariantCodec.save_batch(PATH, [1])
	var before := FileAccess.get_file_as_bytes(PATH)
	for lost: Variant in [RefCounted.new(), checks, func() -> void: pass, script_changed]:
		for value: Variant in [lost, [{"a": [lost]}], {lost: 1}, range(100_000) + [lost]]:
			Engine.print_error_messages = false
			for tried: FastVariantResult in [
				FastVariantCodec.save_batch(PATH, [1, value]), FastVariantCodec.append_batch(PATH, [1, value]),
				FastVariantCodec.save_batch_async(PATH, [1, value]).wait_to_finish(),
			]:
				checks.same_int(type_string(typeof(value)), FastVariantCodec.OBJECT_REFUSED, tried.error)
			Engine.print_error_messages = true
			checks.same_int("try_encode", FastVariantCodec.OBJECT_REFUSED, FastVariantCodec.try_encode(value).error)
	checks.same_bytes("the file", before, FileAccess.get_file_as_bytes(PATH))
	return true


func test_other_formats() -> bool:
	checks.subject(checks.MIXED, "other formats")
	var zip := ZIPPacker.new()
	var config := ConfigFile.new()
	config.set_value("player", "hp", 1)
	var made: Dictionary[String, Callable] = {
		"encrypted.dat": func(path: String) -> void: FileAccess.open_encrypted_with_pass(path, FileAccess.WRITE, "x").store_var([1]),
		"compressed.dat": func(path: String) -> void: FileAccess.open_compressed(path, FileAccess.WRITE).store_var([1]),
		"binary resource.res": func(path: String) -> void: ResourceSaver.save(Gradient.new(), path),
		"binary.res": func(path: String) -> void: ResourceSaver.save(Gradient.new(), path, ResourceSaver.FLAG_COMPRESS),
		"text resource.tres": func(path: String) -> void: ResourceSaver.save(Gradient.new(), path),
		"PNG.png": func(path: String) -> void: Image.create_empty(1, 1, false, Image.FORMAT_L8).save_png(path),
		"ZIP.zip": func(path: String) -> void: checks.same_value("ZIP", [0, 0, 0, 0],
				[zip.open(path), zip.start_file("x"), zip.close_file(), zip.close()]),
		"text, not encoded values.json": func(path: String) -> void: _write(path, JSON.stringify([{"a": 1}]).to_utf8_buffer()),
		"text, not.txt": func(path: String) -> void: _write(path, var_to_str({"hp": 87, "at": Vector2(3, 4)}).to_utf8_buffer()),
		"text.cfg": func(path: String) -> void: config.save(path),
		# The magic bytes and the mode of Godot 3's FileAccessEncrypted.
		"file encrypted by Godot 3.dat": func(path: String) -> void: _write(path, "GDEC".to_ascii_buffer() + PackedInt32Array([1, 0, 0, 0]).to_byte_array()),
	}
	for file_name in made:
		var path := FOLDER.path_join(file_name)
		made[file_name].call(path)
		var inspected: String = FastVariantInspector.inspect(FileAccess.get_file_as_bytes(path))["message"]
		checks.truth("inspect: %s" % file_name, inspected.begins_with(file_name.get_basename()), inspected)
		var contents := FileAccess.get_file_as_bytes(path)
		for refused: FastVariantResult in [
			FastVariantCodec.try_decode(contents), FastVariantCodec.validate(contents), FastGodot3Codec.try_decode(contents),
			FastVariantView.open(contents).try_fetch("hp"),
		]:
			checks.same_value("bytes: %s" % file_name, [FastVariantCodec.UNKNOWN_TYPE, inspected], [refused.error, refused.message])
		_check_format(path, inspected)
		var converted := FastGodot3Codec.convert_file(path, FOLDER + "/converted.dat")
		checks.truth("convert_godot3_file: %s" % file_name, inspected in converted.message, converted.message)
		DirAccess.remove_absolute(path)
	for value: Variant in _values:
		var bytes := var_to_bytes(value)
		if bytes != Wire.framed(FastVariantCodec.unpack_batch(bytes).value):
			_write(PATH, bytes)
			_check_format(PATH, "one encoded value, not records: read all bytes and use `try_decode` (at byte 0)")
	for value: Variant in [{"day": 1}, [1, 2], {"long": "x".repeat(100_000)}]:
		_write(PATH, Wire.behind_lengths(FastGodot3Codec.encode_batch([value, 1])))
		_check_format(PATH, "records of Godot 3: convert them with `FastGodot3Codec.convert_file` (at byte 0)")
	# The first record has the same bytes in both formats.
	_write(PATH, Wire.behind_lengths(FastGodot3Codec.encode_batch([2, {"day": 1}])))
	checks.truth("append_batch", "records of Godot 3" in _write_silently("append_batch", PATH, [6]))
	checks.truth("load_batch", "records of Godot 3" in FastVariantCodec.load_batch(PATH).message)
	# The first record is also a Transform3D of Godot 4.
	_write(PATH, Wire.behind_lengths(FastGodot3Codec.encode_batch([{"score": 1, "gold": 2}, {"day": 1}])))
	_check_format(PATH, "records of Godot 3: convert them with `FastGodot3Codec.convert_file` (at byte 0)")
	# Records may be padded, if `allow_trailing_bytes` is set.
	var padded := var_to_bytes({"day": 1})
	padded.resize(padded.size() + 12)
	_write(PATH, Wire.behind_lengths([padded]))
	checks.truth("append_batch to padded records", FastVariantCodec.append_batch(PATH, [6]).is_ok())
	# After a power failure, the file may end in zeros.
	_write(PATH, FastVariantCodec.pack_batch(["one"]) + PackedByteArray([0, 0, 0, 0, 0, 0, 0, 0]))
	checks.truth("zeros", "empty record at byte 16;" in _write_silently("append_batch", PATH, [6]))
	# Truncated inside the last record, this file is also one Array that starts with a Basis.
	_write(PATH, FastVariantCodec.pack_batch(["Chapter 1: Forest", {"hp": 87, "pos": Vector2(3, 4)}]).slice(0, 76))
	checks.same_value("load_batch of a truncated file", ["Chapter 1: Forest"], FastVariantCodec.load_batch(PATH).value)
	# Truncated inside the last record, this file is also one PackedFloat32Array.
	_write(PATH, FastVariantCodec.pack_batch([{"k": "day0"}, {"k": "day1"}, {"k": "day2"}, {"k": "day3"}]).slice(0, 116))
	checks.truth("append_batch to a truncated file", "truncated" in _write_silently("append_batch", PATH, [6]))
	checks.same_value("a view of it", {"k": "day2"}, FastVariantView.open_file(PATH).fetch(2))
	checks.same_int("load_batch of it", 3, FastVariantCodec.load_batch(PATH).value.size())
	return true


func _check_format(path: String, message: String) -> void:
	checks.truth("append_batch: %s" % path, message.get_slice(" (at byte", 0) in _write_silently("append_batch", path, [1]))
	var loaded := FastVariantCodec.load_batch(path)
	checks.same_value("load_batch: %s" % path, ["%s: %s" % [path, message], []], [loaded.message, loaded.value])
	checks.same_value("open_file: %s" % path, message, FastVariantView.open_file(path).try_fetch(0).message)


func test_nothing_is_left_over() -> bool:
	checks.subject(checks.MIXED, "files in the folder")
	var names := DirAccess.open(FOLDER)
	names.include_hidden = true
	for file_name in names.get_files():
		checks.truth("%s was asked for" % file_name, file_name in [
			"records.dat", "stored.dat", "appended.dat",
		])
		names.remove(file_name)
	DirAccess.remove_absolute(FOLDER)
	return true


func _read_by_engine(path: String) -> Array:
	var read: Array = []
	var file := FileAccess.open(path, FileAccess.READ)
	while file.get_position() < file.get_length():
		read.append(file.get_var())
	return read


func _store_by_engine(path: String, stored: Array) -> void:
	var file := FileAccess.open(path, FileAccess.WRITE)
	for value: Variant in stored:
		file.store_var(value)


## Runs a shell command, in which `{folder}` stands for `folder`. The engine quotes the command, but does not
## escape double quotes in it.
func _shell(command: String, folder: String, output: Array = []) -> int:
	return OS.execute("sh", ["-c", command.format({"folder": folder})], output)


func _remove(folder: String) -> void:
	_shell("[ ! -e '{folder}' ] || { chmod -R u+w '{folder}'; rm -r '{folder}'; }", folder)


## The contents of a folder: kinds, permissions, names, targets of links within it, and checksums.
func _listed(folder: String) -> PackedStringArray:
	var output: Array = []
	_shell("cd '{folder}' && find . -printf '%y %m %p %l\\n' && find . -type f -exec cksum {} +", folder, output)
	var lines: PackedStringArray = output[0].replace(folder, "").split("\n")
	lines.sort()
	return lines


func _engine_writes(path: String, at_end: bool) -> bool:
	var mode := FileAccess.READ_WRITE if at_end and FileAccess.file_exists(path) else FileAccess.WRITE
	var file := FileAccess.open(path, mode)
	if not file:
		return false
	file.seek_end()
	file.store_var("new")
	return true


func _write(path: String, bytes: PackedByteArray) -> void:
	FileAccess.open(path, FileAccess.WRITE).store_buffer(bytes)


## Returns the reason why nothing was written; empty if it was.
func _write_silently(writer: String, path: String, batch: Array) -> String:
	Engine.print_error_messages = false
	var result := FastVariantCodec.save_batch(path, batch) if writer == "save_batch" \
			else FastVariantCodec.append_batch(path, batch)
	Engine.print_error_messages = true
	return result.message


func _frames(count: int) -> void:
	for i in count:
		await (Engine.get_main_loop() as SceneTree).process_frame
