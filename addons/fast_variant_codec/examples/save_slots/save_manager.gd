extends Node
## Saves and loads a game in numbered slots: atomic files, backups, autosave, a menu with pictures.
##
## To use it, copy this script into your project and add it under Project > Project Settings > Globals. Register your
## classes once with `classes.register`, and keep everything to be saved in one object or Dictionary, the state.

## Emitted when an autosave has ended. `problem` is a message for the player, or empty after a success.
signal autosaved(slot: int, problem: String)

## Increase this if the state changes in a way that `upgrade` and `renamed` of FastVariantClasses cannot express.
const VERSION := 1
## The number of backups of each slot.
const BACKUPS := 2
const UNSAVABLE := "The game cannot be saved. Please report this bug."

var folder := "user://saves"
var classes := FastVariantClasses.new()

var _job: FastVariantJob
## Slots whose file was written or read without an error.
var _good: Dictionary[int, bool] = {}
## Slots whose newest backup is a copy of the file.
var _has_backup: Dictionary[int, bool] = {}


## Saves the state, which must not be null, and `summary` for the menu. Returns a message for the player, or an empty
## text after a success. The keys "version", "time", "picture" and "problem" of the summary are for the manager alone.
func save_game(slot: int, state: Variant, summary: Dictionary, picture: Image = null) -> String:
	var packed: Variant = _packed(state)
	var problem := _prepare(slot, packed)
	if problem:
		return problem
	return _saved(slot, classes.save_batch(path_of(slot), [_first_record(summary, picture), packed]))


## Saves in the background and emits `autosaved`. Returns false if the last autosave is still being written.
func autosave(slot: int, state: Variant, summary: Dictionary, picture: Image = null) -> bool:
	if _job and not _job.is_completed():
		return false
	var packed: Variant = _packed(state)
	var problem := _prepare(slot, packed)
	if problem:
		autosaved.emit.call_deferred(slot, problem)
		return true
	# The call encodes the state, so the game may change it at once. Only the writing happens in the
	# background.
	_job = classes.save_batch_async(path_of(slot), [_first_record(summary, picture), packed])
	_job.completed.connect(func(result: FastVariantResult) -> void: autosaved.emit(slot, _saved(slot, result)))
	return true


## Loads a slot. Returns a Dictionary. "state" is null if nothing can be loaded. "problem" is a message for
## the player if the save cannot be loaded, even if a backup was loaded instead; otherwise it is empty.
func load_game(slot: int) -> Dictionary:
	_wait()
	var problem := ""
	for path in _files_of(slot):
		var result := classes.load_batch(path)
		if _version_of(path, result) > VERSION:
			return {"state": null, "problem": "This save is from a newer version of the game."}
		var state: Variant = _state_of(result)
		if state != null:
			_good[slot] = path == path_of(slot)
			return {"state": state, "problem": problem + " An older one was loaded." if problem else ""}
		push_warning(_with_path(path, result.message if result.message else "records are missing or damaged"))
		problem = problem if problem else problem_of(result)
	return {"state": null, "problem": problem if problem else "This slot is empty."}


## The summaries of all saves, by slot, with "time" and, if there is one, "picture". If a summary is missing
## or damaged, the result has "problem", and the summary of a backup if there is a valid one. Reads only the
## summary in each file; only load_game finds damage elsewhere.
func list_saves() -> Dictionary[int, Dictionary]:
	var saves: Dictionary[int, Dictionary] = {}
	for file in DirAccess.get_files_at(folder) if DirAccess.dir_exists_absolute(folder) else PackedStringArray():
		var slot := file.get_slice("_", 1).to_int()
		if not saves.has(slot) and folder.path_join(file) in _files_of(slot):
			saves[slot] = _summary_of(slot)
	return saves


func delete(slot: int) -> void:
	_wait()
	# A game that is killed while it makes a backup leaves one more file.
	for backup in BACKUPS + 2:
		if FileAccess.file_exists(path_of(slot, backup)):
			DirAccess.remove_absolute(path_of(slot, backup))
	_has_backup.erase(slot)


func path_of(slot: int, backup := 0) -> String:
	return folder.path_join("slot_%d.save" % slot if backup == 0 else "slot_%d.backup_%d" % [slot, backup])


## A message for the player. The result's message is for your log.
static func problem_of(result: FastVariantResult) -> String:
	match result.error:
		FastVariantCodec.FILE_ERROR:
			return "The file cannot be read or written. Is it missing or in use, or is the disk full?"
		FastVariantCodec.OUT_OF_MEMORY:
			return "There is not enough memory."
		FastVariantCodec.OBJECT_REFUSED:
			return "This save does not fit this version of the game."
	return "This save is damaged."


## The first record of a file. The state is the second record.
func _first_record(summary: Dictionary, picture: Image) -> Dictionary:
	for key: String in ["version", "time", "picture", "problem"]:
		if summary.has(key):
			push_warning("The key \"%s\" of the summary is ignored: choose another name." % key)
	# Merged into an untyped Dictionary, because a typed summary could refuse some of these values.
	var first := {"version": VERSION, "time": int(Time.get_unix_time_from_system())}.merged(summary)
	first.erase("picture")
	first.erase("problem")
	if picture:
		first["picture"] = picture.save_webp_to_buffer(true)
	return first


## Notes whether a save succeeded, and returns a message for the player.
func _saved(slot: int, result: FastVariantResult) -> String:
	_good[slot] = result.is_ok()
	if result.is_ok():
		_has_backup[slot] = false
		return ""
	push_error(_with_path(path_of(slot), result.message))
	var is_file := result.error == FastVariantCodec.FILE_ERROR or result.error == FastVariantCodec.OUT_OF_MEMORY
	return problem_of(result) if is_file else UNSAVABLE


## Waits for the autosave, which may still be writing a file.
func _wait() -> void:
	if _job and not _job.is_completed():
		_job.wait_to_finish()


## The state as it is written to the file; null if it cannot be saved. To compress, encrypt or sign saves, override this
## function and `_unpacked`.
func _packed(state: Variant) -> Variant:
	return state


## The state from what `_packed` has returned; null if it is damaged. The manager then loads a backup.
func _unpacked(packed: Variant) -> Variant:
	return packed


## The state in a file; null if it is damaged or missing. An empty or truncated file may have fewer records.
func _state_of(result: FastVariantResult) -> Variant:
	return _unpacked(result.value[1]) if result.is_ok() and result.value.size() == 2 else null


## A message that names the file. Messages about the contents of a file already do.
func _with_path(path: String, message: String) -> String:
	return message if message.begins_with(path) else "%s: %s" % [path, message]


## Makes room for a save of `packed`. Returns a message for the player, or an empty text if the save may be written.
func _prepare(slot: int, packed: Variant) -> String:
	DirAccess.make_dir_recursive_absolute(folder)
	if packed == null:
		return UNSAVABLE
	if _has_backup.get(slot, false) or not FileAccess.file_exists(path_of(slot)):
		return ""
	# The file is not read if this run of the game has written or loaded it without an error.
	if not _good.get(slot, false):
		var result := FastVariantCodec.load_batch(path_of(slot))
		# Another process has locked the file, which may be good.
		if result.error == FastVariantCodec.FILE_ERROR or result.error == FastVariantCodec.OUT_OF_MEMORY:
			push_error(_with_path(path_of(slot), result.message))
			return problem_of(result)
		if _state_of(result) == null:
			return ""
	_keep_backup(slot)
	return ""


## Copies the save of a slot before a new save replaces it, unless it is already copied. Failed saves must not use up the
## backups.
func _keep_backup(slot: int) -> void:
	# An earlier run may have made the backup, and then failed to save.
	var is_first := not _has_backup.has(slot) and _size_of(path_of(slot, 1)) == _size_of(path_of(slot))
	var newest := FileAccess.get_sha256(path_of(slot, 1)) if is_first else ""
	_has_backup[slot] = newest != "" and newest == FileAccess.get_sha256(path_of(slot))
	if _has_backup[slot]:
		return
	var copy := path_of(slot, BACKUPS + 1)
	# On a full disk, the copy is shorter.
	if DirAccess.copy_absolute(path_of(slot), copy) != OK or _size_of(copy) != _size_of(path_of(slot)):
		DirAccess.remove_absolute(copy)
		return
	for backup in range(BACKUPS, 1, -1):
		if FileAccess.file_exists(path_of(slot, backup - 1)):
			DirAccess.rename_absolute(path_of(slot, backup - 1), path_of(slot, backup))
	DirAccess.rename_absolute(copy, path_of(slot, 1))
	_has_backup[slot] = true


func _size_of(path: String) -> int:
	var file := FileAccess.open(path, FileAccess.READ)
	return file.get_length() if file else -1


## The save of a slot and its backups, the newest first. Includes a missing file if an older one exists, so
## that reading it reports the problem.
func _files_of(slot: int) -> PackedStringArray:
	var files := PackedStringArray()
	for backup in range(BACKUPS, -1, -1):
		if files or FileAccess.file_exists(path_of(slot, backup)):
			files.append(path_of(slot, backup))
	files.reverse()
	return files


func _summary_of(slot: int) -> Dictionary:
	var problem := ""
	for path in _files_of(slot):
		var first := FastVariantView.open_file(path).try_fetch(0)
		if not first.is_ok() or not first.value is Dictionary:
			problem = problem_of(first)
			continue
		# An untyped copy, because a typed Dictionary could refuse the values set below.
		var summary := {}.merged(first.value)
		var picture := Image.new()
		if summary.get("picture") is PackedByteArray and picture.load_webp_from_buffer(summary["picture"]) == OK:
			summary["picture"] = picture
		else:
			summary.erase("picture")
		if problem:
			summary["problem"] = problem
		return summary
	return {"title": problem, "problem": problem}


## The version of a file. `result` is from loading the file, which may fail if the version is newer.
func _version_of(path: String, result: FastVariantResult) -> int:
	var is_loaded: bool = result.is_ok() and not result.value.is_empty()
	var first: Variant = result.value[0] if is_loaded else FastVariantView.open_file(path).try_fetch(0).value
	var version: Variant = first.get("version") if first is Dictionary else null
	return version if version is int else 0
