extends Node
## Saves and loads a game in numbered slots: atomic files, backups, autosave, a menu with pictures.
##
## To use it, copy this script into your project and add it under Project > Project Settings > Globals. Register your
## classes once with `classes.register`, and keep everything to be saved in one object or Dictionary, the state. Each
## message for the player is one sentence, and a key for your translations.

## Emitted when an autosave has ended. `problem` is a message for the player, or empty after a success.
signal autosaved(slot: int, problem: String)

## Increase this if the state changes in a way that `upgrade` and `renamed` of a FastVariantClass cannot express.
const VERSION := 1
## The endings of a slot's files, the newest first. A save is written as "new", and renamed when it is complete, so that
## a failed save changes no file.
const ENDINGS: PackedStringArray = ["new", "save", "backup_1", "backup_2"]
## These errors say nothing about the content of a file.
const SYSTEM_ERRORS: Array[int] = [FastVariantCodec.FILE_ERROR, FastVariantCodec.OUT_OF_MEMORY]

var folder := "user://saves"
var classes := FastVariantClasses.new()
## The last autosave, which may still be writing a file. A job made with `new` is completed.
var _job := FastVariantJob.new()
## Slots whose save was written or loaded without an error. It is not read again before it becomes a backup.
var _good: Dictionary[int, bool] = {}


func _init() -> void:
	classes.compress = true


## Saves the state, which must not be null, and `summary` for the menu. The manager adds "version", "time" and "picture"
## to the summary. Returns a message for the player, or an empty text after a success.
func save_game(slot: int, state: Variant, summary: Dictionary, picture: Image = null) -> String:
	var problem := _prepare(slot, state)
	return problem if problem else _finish(slot, classes.save(path_of(slot, "new"), state, _completed(summary, picture)))


## Saves in the background and emits `autosaved`. Returns false if the last autosave is still being written.
func autosave(slot: int, state: Variant, summary: Dictionary, picture: Image = null) -> bool:
	if not _job.is_completed():
		return false
	var problem := _prepare(slot, state)
	if problem:
		autosaved.emit.call_deferred(slot, problem)
		return true
	# The call encodes the state, so the game may change it at once. Only the writing happens in the background.
	_job = classes.save_async(path_of(slot, "new"), state, _completed(summary, picture))
	_job.completed.connect(func(result: FastVariantResult) -> void: autosaved.emit(slot, _finish(slot, result)))
	return true


## Loads a slot. "state" of the result is null if nothing can be loaded. "problem" is a message for the player if the
## newest save cannot be loaded, even if an older one was loaded instead; otherwise it is empty.
func load_game(slot: int) -> Dictionary:
	_job.wait_to_finish()
	var problem := ""
	for path in _files_of(slot):
		if _is_newer(path):
			return {"state": null, "problem": tr("This save is from a newer version of the game.")}
		var result := classes.load(path)
		_good[slot] = result.is_ok() and path == path_of(slot)
		if result.is_ok() and result.value != null:
			return {"state": result.value, "problem": tr("The save cannot be read: an older one was loaded.") if problem else ""}
		push_warning(result.message)
		problem = problem if problem else problem_of(result)
	return {"state": null, "problem": problem if problem else tr("This slot is empty.")}


## The summaries of all saves, by slot. "picture" is an Image, if there is one. "problem" is empty, or a message for the
## player if the newest save cannot be loaded; the rest is then from an older one, if there is any.
func list_saves() -> Dictionary[int, Dictionary]:
	var saves: Dictionary[int, Dictionary] = {}
	for file in DirAccess.get_files_at(folder) if DirAccess.dir_exists_absolute(folder) else PackedStringArray():
		var slot := file.get_slice("_", 1).to_int()
		if not saves.has(slot) and folder.path_join(file) in _files_of(slot):
			saves[slot] = _summary_of(slot)
	return saves


func delete(slot: int) -> void:
	_job.wait_to_finish()
	for path in _files_of(slot):
		DirAccess.remove_absolute(path)


func path_of(slot: int, ending := "save") -> String:
	return folder.path_join("slot_%d.%s" % [slot, ending])


## A message for the player after a failed load. The result's message is for your log.
func problem_of(result: FastVariantResult) -> String:
	if result.error in SYSTEM_ERRORS:
		return tr("This save cannot be read: it may be missing or in use, or there is not enough memory.")
	if result.error == FastVariantCodec.OBJECT_REFUSED:
		return tr("This save does not fit this version of the game.")
	return tr("This save is damaged.")


func _prepare(slot: int, state: Variant) -> String:
	_job.wait_to_finish()
	if state == null:
		push_error("The state of slot %d is null." % slot)
		return tr("The game cannot be saved because of a bug; please report it.")
	DirAccess.make_dir_recursive_absolute(folder)
	# If the game quits during an autosave, the new file is completed, but not renamed.
	_finish(slot, FastVariantCodec.load(path_of(slot, "new")))
	return tr("This save is from a newer version of the game.") if Array(_files_of(slot)).any(_is_newer) else ""


## The summary with the manager's entries. It is untyped, because a typed one could refuse some of them.
func _completed(summary: Dictionary, picture: Image) -> Dictionary:
	var own := {"version": VERSION, "time": int(Time.get_unix_time_from_system())}
	if picture:
		own["picture"] = picture.save_webp_to_buffer(true)
	return {}.merged(summary).merged(own, true)


## Makes the new file the save, and the save a backup, unless it is damaged. Returns a message for the player.
func _finish(slot: int, result: FastVariantResult) -> String:
	if result.error in SYSTEM_ERRORS:
		return tr("The game could not be saved: the disk may be full, or the file in use.")
	if not result.is_ok():
		return tr("The game cannot be saved because of a bug; please report it.")
	if FileAccess.file_exists(path_of(slot, "new")):
		var save := path_of(slot)
		var is_kept: bool = FileAccess.file_exists(save) and (_good.get(slot, false) or FastVariantCodec.load(save).is_ok())
		for index in range(ENDINGS.size() - 1 if is_kept else 1, 0, -1):
			DirAccess.rename_absolute(path_of(slot, ENDINGS[index - 1]), path_of(slot, ENDINGS[index]))
		_good[slot] = true
	return ""


## The files of a slot, the newest first. If only backups are left, the list starts with the missing save.
func _files_of(slot: int) -> PackedStringArray:
	var files := PackedStringArray()
	for ending in ENDINGS:
		if FileAccess.file_exists(path_of(slot, ending)):
			files.append(path_of(slot, ending))
	if files and files[0].get_extension().begins_with("backup"):
		files.insert(0, path_of(slot))
	return files


func _summary_of(slot: int) -> Dictionary:
	var problem := ""
	for path in _files_of(slot):
		var result := classes.load_summary(path)
		if result.is_ok():
			var picture := Image.new()
			var bytes: Variant = result.value.get("picture")
			var has_picture := bytes is PackedByteArray and picture.load_webp_from_buffer(bytes) == OK
			return {}.merged(result.value).merged({"picture": picture if has_picture else null, "problem": problem}, true)
		problem = problem if problem else problem_of(result)
	return {"problem": problem}


func _is_newer(path: String) -> bool:
	var summary: Variant = classes.load_summary(path).value
	var is_newer: bool = summary is Dictionary and summary.get("version") is int and summary["version"] > VERSION
	return is_newer and FastVariantCodec.load(path).is_ok()     # A damaged summary may have any version.
