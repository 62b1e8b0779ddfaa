extends Node
## Saves and loads a game in numbered slots: atomic files, backups, autosave, a menu with pictures.
##
## To use it, copy this script into your project and add it under Project > Project Settings > Globals. Register your
## classes once with `classes.register`, and keep everything to be saved in one object or Dictionary, the state. The
## messages for the player can be translated: they are the keys.

## Emitted when an autosave has ended. `problem` is a message for the player, or empty after a success.
signal autosaved(slot: int, problem: String)

## Increase this if the state changes in a way that `upgrade` and `renamed` of a FastVariantClass cannot express.
const VERSION := 1
## The number of backups of each slot.
const BACKUPS := 2
## The keys of a summary that the manager sets.
const OWN_KEYS: PackedStringArray = ["version", "time", "picture", "problem"]

var folder := "user://saves"
var classes := FastVariantClasses.new()

var _job: FastVariantJob
## Slots whose file was written or read without an error.
var _good: Dictionary[int, bool] = {}
## Slots whose newest backup is a copy of the file.
var _has_backup: Dictionary[int, bool] = {}


func _init() -> void:
	classes.compress = true


## Saves the state, which must not be null, and `summary` for the menu. Returns a message for the player, or an empty
## text after a success. The keys in OWN_KEYS are for the manager alone.
func save_game(slot: int, state: Variant, summary: Dictionary, picture: Image = null) -> String:
	var problem := _prepare(slot, state)
	return problem if problem else _saved(slot, classes.save(path_of(slot), state, _completed(summary, picture)))


## Saves in the background and emits `autosaved`. Returns false if the last autosave is still being written.
func autosave(slot: int, state: Variant, summary: Dictionary, picture: Image = null) -> bool:
	if _job and not _job.is_completed():
		return false
	var problem := _prepare(slot, state)
	if problem:
		autosaved.emit.call_deferred(slot, problem)
		return true
	# The call encodes the state, so the game may change it at once. Only the writing happens in the background.
	_job = classes.save_async(path_of(slot), state, _completed(summary, picture))
	_job.completed.connect(func(result: FastVariantResult) -> void: autosaved.emit(slot, _saved(slot, result)))
	return true


## Loads a slot. Returns a Dictionary. "state" is null if nothing can be loaded. "problem" is a message for the player if
## the save cannot be loaded, even if a backup was loaded instead; otherwise it is empty.
func load_game(slot: int) -> Dictionary:
	_wait()
	var problem := ""
	for path in _files_of(slot):
		var summary: Variant = classes.load_summary(path).value
		if summary is Dictionary and summary.get("version") is int and summary["version"] > VERSION:
			return {"state": null, "problem": tr("This save is from a newer version of the game.")}
		var result := classes.load(path)
		if result.is_ok() and result.value != null:
			_good[slot] = path == path_of(slot)
			return {"state": result.value, "problem": "%s %s" % [problem, tr("An older one was loaded.")] if problem else ""}
		push_warning(result.message)
		problem = problem if problem else problem_of(result)
	return {"state": null, "problem": problem if problem else tr("This slot is empty.")}


## The summaries of all saves, by slot, with "time" and, if there is one, "picture". If a save is missing or cut off, the
## result has "problem", and the summary of a backup if there is a whole one.
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
func problem_of(result: FastVariantResult) -> String:
	match result.error:
		FastVariantCodec.FILE_ERROR:
			return tr("The file cannot be read or written. Is it missing or in use, or is the disk full?")
		FastVariantCodec.OUT_OF_MEMORY:
			return tr("There is not enough memory.")
		FastVariantCodec.OBJECT_REFUSED:
			return tr("This save does not fit this version of the game.")
	return tr("This save is damaged.")


## The summary with the keys of the manager. It is untyped, because a typed one could refuse some of their values.
func _completed(summary: Dictionary, picture: Image) -> Dictionary:
	var all := {}.merged(summary)
	for key in OWN_KEYS:
		if all.erase(key):
			push_warning("The key \"%s\" of the summary is ignored: choose another name." % key)
	all.merge({"version": VERSION, "time": int(Time.get_unix_time_from_system())})
	if picture:
		all["picture"] = picture.save_webp_to_buffer(true)
	return all


## Notes whether a save succeeded, and returns a message for the player. The save has printed its error.
func _saved(slot: int, result: FastVariantResult) -> String:
	_good[slot] = result.is_ok()
	if result.is_ok():
		_has_backup[slot] = false
		return ""
	var is_file := result.error in [FastVariantCodec.FILE_ERROR, FastVariantCodec.OUT_OF_MEMORY]
	return problem_of(result) if is_file else tr("The game cannot be saved. Please report this bug.")


## Waits for the autosave, which may still be writing a file.
func _wait() -> void:
	if _job and not _job.is_completed():
		_job.wait_to_finish()


## Keeps a backup of the save that a new one replaces. Returns a message for the player, or an empty text if the new one
## may be written.
func _prepare(slot: int, state: Variant) -> String:
	DirAccess.make_dir_recursive_absolute(folder)
	if state == null:
		push_error("The state of slot %d is null." % slot)
		return tr("The game cannot be saved. Please report this bug.")
	if _has_backup.get(slot, false) or not FileAccess.file_exists(path_of(slot)):
		return ""
	# The file is not read if this run of the game has written or loaded it without an error.
	if not _good.get(slot, false):
		var result := FastVariantCodec.load(path_of(slot))
		if result.error in [FastVariantCodec.FILE_ERROR, FastVariantCodec.OUT_OF_MEMORY]:
			push_error(result.message)
			return problem_of(result)
		if not result.is_ok():
			return ""                                   # A damaged save replaces no backup.
	_keep_backup(slot)
	return ""


## Copies the save of a slot, unless it is already copied. Failed saves must not use up the backups.
func _keep_backup(slot: int) -> void:
	# An earlier run may have made the backup, and then failed to save.
	var may_be_kept := not _has_backup.has(slot) and FileAccess.file_exists(path_of(slot, 1))
	var newest := FileAccess.get_sha256(path_of(slot, 1)) if may_be_kept else ""
	_has_backup[slot] = newest != "" and newest == FileAccess.get_sha256(path_of(slot))
	if _has_backup[slot]:
		return
	var copy := path_of(slot, BACKUPS + 1)
	# On a full disk, the copy is shorter.
	if DirAccess.copy_absolute(path_of(slot), copy) != OK or FileAccess.get_sha256(copy) != FileAccess.get_sha256(path_of(slot)):
		DirAccess.remove_absolute(copy)
		return
	for backup in range(BACKUPS, 1, -1):
		if FileAccess.file_exists(path_of(slot, backup - 1)):
			DirAccess.rename_absolute(path_of(slot, backup - 1), path_of(slot, backup))
	DirAccess.rename_absolute(copy, path_of(slot, 1))
	_has_backup[slot] = true


## The save of a slot and its backups, the newest first. Includes a missing file if an older one exists, so that reading it
## reports the problem.
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
		var result := classes.load_summary(path)
		if not result.is_ok():
			problem = problem if problem else problem_of(result)
			continue
		var summary := {}.merged(result.value)
		var picture := Image.new()
		if summary.get("picture") is PackedByteArray and picture.load_webp_from_buffer(summary["picture"]) == OK:
			summary["picture"] = picture
		else:
			summary.erase("picture")
		if problem:
			summary["problem"] = problem
		return summary
	return {"title": problem, "problem": problem}
