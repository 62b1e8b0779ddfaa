## Files: what FileAccess.store_var writes and get_var reads, and what becomes of broken ones.
extends "res://suites/suite.gd"

const FOLDER := "user://file_suite"
const PATH := FOLDER + "/records.dat"
const WRITERS: Array[String] = ["save_batch", "append_batch"]
## rw-r-----
const PERMISSIONS := 0x1a0

var _values: Array


func test_begin() -> bool:
	DirAccess.make_dir_recursive_absolute(FOLDER)
	var random := seeded("files")
	for case in values.cases:
		var bytes := var_to_bytes(case.value)
		# Not what strict reading refuses, and not what differs with each reading, such as ids of objects.
		if FastVariantCodec.validate(bytes).is_ok() and bytes == var_to_bytes(bytes_to_var(bytes)):
			_values.append(case.value)
	for index in 200:
		_values.append({"id": index, "at": Vector3(index, 0, 1), "name": "n".repeat(random.randi_range(0, 40))})
	return true


func test_files_are_those_of_store_var() -> bool:
	checks.subject(checks.MIXED, "files")
	checks.same_int("save_batch", OK, FastVariantCodec.save_batch(PATH, _values))
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


func test_appending() -> bool:
	checks.subject(checks.MIXED, "appending")
	var path := FOLDER + "/appended.dat"
	DirAccess.remove_absolute(path)
	var expected: Array = []
	for count: int in [0, 1, 3, 0, 200]:
		var added := _values.slice(0, count)
		checks.same_int("append_batch of %d" % count, OK, FastVariantCodec.append_batch(path, added))
		expected.append_array(added)
		checks.same_bytes("the file then", Wire.framed(expected), FileAccess.get_file_as_bytes(path))
	var file := FileAccess.open(path, FileAccess.READ_WRITE)
	file.seek_end()
	file.store_var("by the engine")
	file.close()
	checks.same_int("behind what the engine added", OK, FastVariantCodec.append_batch(path, ["by us"]))
	expected.append_array(["by the engine", "by us"])
	checks.same_bytes("the file", Wire.framed(expected), FileAccess.get_file_as_bytes(path))
	checks.same_int("what the engine reads", expected.size(), _read_by_engine(path).size())
	return true


func test_empty_batches() -> bool:
	checks.subject(TYPE_ARRAY, "no values")
	checks.same_int("save_batch", OK, FastVariantCodec.save_batch(PATH, []))
	checks.same_int("bytes", 0, FileAccess.get_file_as_bytes(PATH).size())
	var loaded := FastVariantCodec.load_batch(PATH)
	checks.truth("load_batch", loaded.is_ok() and loaded.value == [], loaded.message)
	return true


## A file cut off at any byte: the records before are there, and the message says where it ends.
func test_torn_files() -> bool:
	checks.subject(checks.MIXED, "torn files")
	var items: Array = [1, "two", [3, 3, 3], {"four": 4.5}, PackedByteArray([5])]
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
			checks.truth("cut at %d: message" % length, loaded.message.begins_with("%s: record %d: " % [PATH, good]),
					loaded.message)
			checks.same_int("cut at %d: append_batch" % length, ERR_FILE_CORRUPT,
					_write_silently("append_batch", PATH, [6]))
			checks.same_bytes("cut at %d: it is as it was" % length, whole.slice(0, length),
					FileAccess.get_file_as_bytes(PATH))
	_write(PATH, whole.slice(0, ends[2]) + Wire.word(4) + Wire.header(39) + whole.slice(ends[2]))
	var broken := FastVariantCodec.load_batch(PATH)
	checks.same_value("a bad record: values", items.slice(0, 2), broken.value)
	checks.same_int("a bad record: offset", ends[2] + 4, broken.offset)
	return true


func test_paths() -> bool:
	checks.subject(checks.MIXED, "paths")
	var paths := PackedStringArray([FOLDER + "/../file_suite/x", FOLDER + "/ü ✓.dat"])
	if OS.has_feature("template"):
		checks.same_int("save_batch into an exported game", ERR_FILE_BAD_PATH,
				_write_silently("save_batch", "res://file_suite.dat", [1]))
	else:
		paths.append("res://.godot/file_suite.dat")
	for path in paths:
		checks.same_int("save_batch to %s" % path, OK, FastVariantCodec.save_batch(path, [path]))
		checks.same_value("what the engine reads there", [path], _read_by_engine(path))
		DirAccess.remove_absolute(ProjectSettings.globalize_path(path))
	for path: String in ["", "user://", FOLDER, FOLDER + "/", "user://no such folder/x", "https://example.org/x", "uid://x"]:
		for writer: String in WRITERS:
			checks.truth("%s to \"%s\" fails" % [writer, path], _write_silently(writer, path, [1]) != OK)
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
		checks.same_int(writer, ERR_INVALID_DATA, _write_silently(writer, PATH, [1, endless, 3]))
		checks.same_value("the old content", ["old"], _read_by_engine(PATH))
	endless.clear()
	if FileAccess.file_exists("/dev/full"):
		checks.same_int("a full disk", ERR_FILE_CANT_WRITE, _write_silently("append_batch", "/dev/full", ["x"]))
	return true


func test_links_and_permissions_stay() -> bool:
	checks.subject(checks.MIXED, "links and permissions")
	if OS.get_name() not in ["Linux", "macOS", "FreeBSD"]:
		return true
	var folder := DirAccess.open(FOLDER)
	var target := FOLDER + "/target.dat"
	FastVariantCodec.save_batch(target, ["old"])
	FileAccess.set_unix_permissions(target, PERMISSIONS)
	folder.create_link(ProjectSettings.globalize_path(target), "link.dat")
	checks.same_int("save_batch to a link", OK, FastVariantCodec.save_batch(FOLDER + "/link.dat", ["new"]))
	checks.truth("it is still one", folder.is_link("link.dat"))
	checks.same_value("what it leads to", ["new"], _read_by_engine(target))
	checks.same_int("its permissions", PERMISSIONS, FileAccess.get_unix_permissions(target))
	return true


## What a save leaves behind that was killed is removed by a later one, unless it may still be at work.
func test_remains_are_removed() -> bool:
	checks.subject(checks.MIXED, "remains")
	if OS.get_name() != "Linux":
		return true
	for file_name: String in [".records.dat.aB3dE9", ".records.dat.young1", ".records.dat.longer7", ".records.old", "aB3dE9"]:
		_write(FOLDER + "/" + file_name, PackedByteArray([1]))
		if not file_name.contains("young"):
			OS.execute("touch", ["-d", "2 hours ago", ProjectSettings.globalize_path(FOLDER + "/" + file_name)])
	checks.same_int("save_batch", OK, FastVariantCodec.save_batch(PATH, [1]))
	for file_name: String in [".records.dat.young1", ".records.dat.longer7", ".records.old", "aB3dE9"]:
		checks.truth("%s stays" % file_name, FileAccess.file_exists(FOLDER + "/" + file_name))
		DirAccess.remove_absolute(FOLDER + "/" + file_name)
	checks.truth("the remains are gone", not FileAccess.file_exists(FOLDER + "/.records.dat.aB3dE9"))
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
	checks.same_int("save_batch", OK, FastVariantCodec.save_batch(PATH, [theme], true))
	checks.same_int("append_batch", OK, FastVariantCodec.append_batch(PATH, [theme], true))
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


func test_nothing_is_left_over() -> bool:
	checks.subject(checks.MIXED, "files in the folder")
	var names := DirAccess.open(FOLDER)
	names.include_hidden = true
	for file_name in names.get_files():
		checks.truth("%s was asked for" % file_name, file_name in [
			"records.dat", "stored.dat", "appended.dat", "target.dat", "link.dat",
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


func _write(path: String, bytes: PackedByteArray) -> void:
	FileAccess.open(path, FileAccess.WRITE).store_buffer(bytes)


func _write_silently(writer: String, path: String, batch: Array) -> Error:
	Engine.print_error_messages = false
	var code := FastVariantCodec.save_batch(path, batch) if writer == "save_batch" \
			else FastVariantCodec.append_batch(path, batch)
	Engine.print_error_messages = true
	return code
