## One of several processes that use the same file.
##
## Roles: "append" and "save" write N times (`--number N`); "load" reads until the file "stop" exists. "check"
## and "check_saved" check the final file. "locked" uses a file that process PID has locked, "full" a file
## that cannot grow.
extends "res://suites/soak/activity.gd"

const TAIL := 50
const PAUSE_MS := 1
## The step between text sizes. Large records take a while to write, so that two writes overlap.
const STEP := 7919
const LONGEST := 100000
## More than the file size limit of the role "full".
const TOO_LARGE := 1 << 20

var _number: int


func run_case() -> int:
	_number = options["number"]
	call("_%s" % options["role"])
	return 1


## Appends records one by one. If a saver runs, continues until the saver is done, and then appends N more
## records.
func _append() -> void:
	_start()
	var number := 0
	var left: int = _number
	while left > 0:
		# Checks for the saver's end before it appends, because the last save removes all records appended
		# earlier.
		if not options["until"] or FileAccess.file_exists(path(options["until"])):
			left -= 1
		var appended := FastVariantCodec.append_batch(path("records.dat"), [_record(number)])
		_expect(appended.is_ok(), "append_batch of record %d: %s" % [number, appended.message])
		number += 1
	_say(options["name"] + ".done")


func _save() -> void:
	_start()
	var count: int = _number
	for number in count:
		# A record must be appended between the saves, however late the other process gets its turn.
		while number > 0 and number == count / 2 and FastVariantCodec.load_batch(path("records.dat")).value.size() < 2:
			OS.delay_msec(PAUSE_MS)
		var saved := FastVariantCodec.save_batch(path("records.dat"), [_record(number)])
		_expect(saved.is_ok(), "save_batch %d: %s" % [number, saved.message])
	_say(options["name"] + ".done")


## Every load and every view gives complete records.
func _load() -> void:
	_start()
	var loads := 0
	var view: FastVariantView
	while not FileAccess.file_exists(path("stop")):
		if FileAccess.file_exists(path("records.dat")):
			var loaded := FastVariantCodec.load_batch(path("records.dat"))
			_expect(loaded.is_ok(), "load %d: %s" % [loads, loaded.message])
			view = view if view else FastVariantView.open_file(path("records.dat"))
			var last := view.try_fetch(view.size_of("") - 1)
			_expect(last.is_ok() or last.error == FastVariantCodec.NOT_FOUND, "view %d: %s" % [loads, last.message])
			loads += 1
	_expect(loads > 0, "nothing was loaded")
	print("@@ %d" % loads)


## The engine checks the final file: it contains each record of each writer once and in order.
func _check() -> void:
	var next: Dictionary[String, int]
	for record: Dictionary in _read("records.dat"):
		var writer: String = record["by"]
		_expect(record["text"].length() == record["number"] * STEP % LONGEST, "the text of record %d" % record["number"])
		_expect(record["number"] == next.get(writer, 0), "record %d follows %d of %s" % [
			record["number"], next.get(writer, 0) - 1, writer,
		])
		next[writer] = next.get(writer, 0) + 1
	for writer in options["name"].split(","):
		_expect(next.get(writer, 0) == _number, "%s has %d records" % [writer, next.get(writer, 0)])
	print("@@ %d" % next.values().reduce(func(sum: int, count: int) -> int: return sum + count, 0))


## The file has the last save, followed by the records appended since, without a gap and up to the last one.
func _check_saved() -> void:
	var read := _read("records.dat")
	_expect(read[0]["by"] == "saver" and read[0]["number"] == _number - 1, "this is not the last save")
	for at in range(1, read.size()):
		_expect(read[at]["by"] == "adder", "record %d is not an added one" % at)
		_expect(at == 1 or read[at]["number"] == read[at - 1]["number"] + 1, "a gap before record %d" % at)
	_expect(read.size() > TAIL, "%d records are left" % read.size())
	_expect(read[-1]["number"] >= TAIL, "nothing was added between the saves")
	print("@@ %d of %d" % [read.size() - 1, read[-1]["number"] + 1])


## Another process has locked the file, and may be appending to it: nothing is written or read, and the message names
## the process.
func _locked() -> void:
	var path := path("records.dat")
	var before := FileAccess.get_file_as_bytes(path)
	Engine.print_error_messages = false
	var saving := FastVariantCodec.save_batch_async(path, ["new"]).wait_to_finish()
	var appending := FastVariantCodec.append_batch(path, ["new"])
	Engine.print_error_messages = true
	_expect(saving.error == FastVariantCodec.FILE_ERROR, "save_batch_async gave %d" % saving.error)
	var named := "process %s (" % options["pid"]
	_expect(OS.get_name() != "Linux" or saving.message.contains(named), "the message is: %s" % saving.message)
	_expect(appending.message == saving.message, "append_batch: %s" % appending.message)
	_expect(FileAccess.get_file_as_bytes(path) == before, "the file is not as it was")
	var loading := FastVariantCodec.load_batch(path)
	_expect(loading.error == FastVariantCodec.FILE_ERROR, "load_batch gave %d" % loading.error)
	_expect(OS.get_name() != "Linux" or loading.message.contains(named), "the message is: %s" % loading.message)
	print("@@ %s" % saving.message)


## No file can grow beyond a limit, and failed calls change nothing. New files get the engine's permissions.
func _full() -> void:
	var old := path("old.dat")
	_expect(FastVariantCodec.save_batch(old, ["old"]).is_ok(), "a small file cannot be saved")
	FileAccess.open(path("engine.dat"), FileAccess.WRITE).store_var("old")
	var rights := FileAccess.get_unix_permissions(path("engine.dat"))
	_expect(FileAccess.get_unix_permissions(old) == rights, "a saved file has the rights %o, not %o" % [
		FileAccess.get_unix_permissions(old), rights,
	])
	_expect(FastVariantCodec.append_batch(path("added.dat"), ["old"]).is_ok(), "a small file cannot be appended to")
	_expect(FileAccess.get_unix_permissions(path("added.dat")) == rights, "an appended file has other rights")
	var before := DirAccess.get_files_at(options["folder"])
	var large := ["x".repeat(TOO_LARGE)]
	for path: String in [old, path("new.dat"), path("added.dat")]:
		for method: String in ["save_batch", "append_batch"]:
			var content := FileAccess.get_file_as_bytes(path)
			Engine.print_error_messages = false
			var result := FastVariantCodec.save_batch(path, large) if method == "save_batch" \
					else FastVariantCodec.append_batch(path, large)
			Engine.print_error_messages = true
			_expect(result.error == FastVariantCodec.FILE_ERROR, "%s to %s: %s" % [method, path, result])
			_expect(FileAccess.get_file_as_bytes(path) == content, "%s has changed %s" % [method, path])
	var folder := DirAccess.open(options["folder"])
	folder.include_hidden = true
	_expect(folder.get_files() == before, "the folder has %s" % folder.get_files())


func _record(number: int) -> Dictionary:
	return {"by": options["name"], "number": number, "text": "x".repeat(number * STEP % LONGEST)}


func _read(file_name: String) -> Array:
	var file := FileAccess.open(path(file_name), FileAccess.READ)
	var read: Array = []
	while file.get_position() < file.get_length():
		read.append(file.get_var())
	return read


## Signals that this process is ready, and waits for the others.
func _start() -> void:
	_say(options["name"] + ".ready")
	while not FileAccess.file_exists(path("go")):
		OS.delay_msec(PAUSE_MS)


func _say(file_name: String) -> void:
	FileAccess.open(path(file_name), FileAccess.WRITE).close()


func _expect(holds: bool, otherwise: String) -> void:
	check(options["role"], holds, otherwise)
