extends SceneTree
## Tests the addon's example: saves and loads in slots, as its buttons do. As a main script, with --script, runs one of
## the misfortunes that need a process of their own.

const SCENE := "res://addons/fast_variant_codec/examples/save_slots/save_slots.tscn"
const MANAGER := preload("res://addons/fast_variant_codec/examples/save_slots/save_manager.gd")

const DAMAGED := "This save is damaged."
const UNREADABLE := "This save cannot be read: it may be missing or in use, or there is not enough memory."
const OLDER := "The save cannot be read: an older one was loaded."
const NEWER := "This save is from a newer version of the game."
const NOT_SAVED := "The game could not be saved: the disk may be full, or the file in use."
const BUG := "The game cannot be saved because of a bug; please report it."

static var _failed: int


## Returns the number of failed checks.
static func run(tree: SceneTree) -> int:
	_failed = 0
	# Waits, because a game's first scene may still be entering the tree.
	await tree.process_frame
	# Debian's release template prints an error whenever a Container loses a child.
	Engine.print_error_messages = not OS.has_feature("template")
	var example: Control = load(SCENE).instantiate()
	tree.root.add_child(example)
	await tree.process_frame
	await _play(example)
	# Each misfortune prints warnings or errors.
	Engine.print_error_messages = false
	await _suffer(example.saves)
	for slot in example.SLOTS:
		example.delete(slot)
	_same("deleted", [{}, PackedStringArray()],
			[example.saves.list_saves(), DirAccess.get_files_at(example.saves.folder)])
	example.queue_free()
	await tree.process_frame
	Engine.print_error_messages = true
	return _failed


static func _play(example: Control) -> void:
	var saves: Node = example.saves
	for slot in example.SLOTS:
		saves.delete(slot)
	_same("an empty slot", "This slot is empty.", saves.load_game(1)["problem"])
	# Saves one slot four times: each save except the last becomes a backup, and the oldest backup is removed.
	for count in [0, 1, 2, 3]:
		example.pick_up()
		example.hero.position = Vector2(count, 0)
		example.save_to(1)
		_same("status", "Saved in slot 1.", example.status.text)
	_same("files", ["slot_1.backup_1", "slot_1.backup_2", "slot_1.save"], Array(DirAccess.get_files_at(saves.folder)))
	_same("the menu", "Ren, level 5", saves.list_saves()[1]["title"])
	example.pick_up()
	example.load_from(1)
	_same("loaded", ["Loaded slot 1.", Vector2(3, 0), 4],
			[example.status.text, example.hero.position, example.hero.items.size()])
	_same("the item in hand is one of the items", example.hero.items[3], example.hero.in_hand)

	example.hero.name = "Mia"
	_same("an autosave starts", true, saves.autosave(0, example.hero, example._summary()))
	example.hero.name = "changed meanwhile"
	_same("an autosave", [0, ""], await saves.autosaved)
	_same("autosaved", ["Autosaved.", "Mia"], [example.status.text, saves.load_game(0)["state"].name])

	var typed: Dictionary[String, String] = {"title": "typed"}
	_same("a typed summary", ["", "typed", [1, 2]], [saves.save_game(2, [1, 2], typed), saves.list_saves()[2]["title"],
			saves.load_game(2)["state"]])
	FastVariantCodec.save(saves.path_of(2), 1, {"time": "noon", "picture": 7})
	example._show_saves()


## Each misfortune shows the player one sentence, and loses nothing that was saved.
static func _suffer(saves: MANAGER) -> void:
	var bytes := _saved_twice(saves)
	for length in [0, 1, 4, 8, bytes.size() / 2, bytes.size() - 9, bytes.size() - 1]:
		_write(saves.path_of(1), bytes.slice(0, length))
		_same("cut to %d bytes" % length, [DAMAGED, OLDER, 1], _shown(saves))
	for index in bytes.size():
		var flipped := bytes.duplicate()
		flipped[index] ^= 1 << index % 8
		_write(saves.path_of(1), flipped)
		_same("byte %d flipped" % index, [OLDER, 1], _shown(saves).slice(1))
	_same("a damaged save replaces no backup", ["", 1], [saves.save_game(1, 3, {}), _backup(saves)])
	_write(saves.path_of(1), bytes.slice(0, -1))
	_in_other_run(saves, func(others: MANAGER) -> void: others.save_game(1, 4, {}))
	_same("nor in another run", 1, _backup(saves))

	_saved_twice(saves)
	DirAccess.remove_absolute(saves.path_of(1))
	_same("missing", [UNREADABLE, OLDER, 1], _shown(saves))
	for ending in ["save", "backup_1"]:
		_write(saves.path_of(1, ending), PackedByteArray([4, 0, 0, 0, 255, 0, 0, 0]))
	_same("the only backup is damaged, too", [DAMAGED, DAMAGED, null], _shown(saves))
	FastVariantCodec.save(saves.path_of(1, "backup_2"), 0)
	_same("one of two backups is damaged", [OLDER, 0], _shown(saves).slice(1))

	for ending in ["save", "backup_1", "new"]:
		_saved_twice(saves)
		_write(saves.path_of(1), PackedByteArray())
		FastVariantCodec.save(saves.path_of(1, ending), 5, {"version": saves.VERSION + 1})
		_same("newer, as " + ending, [NEWER, null], _shown(saves).slice(1))
	_same("saved over a newer save", NEWER, saves.save_game(1, 6, {}))
	_same("an autosave over a newer save", [true, [1, NEWER]], [saves.autosave(1, 6, {}), await saves.autosaved])
	_same("a newer save is kept", 5, saves.classes.load(saves.path_of(1)).value)
	DirAccess.copy_absolute(saves.path_of(1), saves.path_of(1, "backup_1"))
	FileAccess.open(saves.path_of(1), FileAccess.WRITE).close()
	_same("saved over a damaged save with a newer backup", NEWER, saves.save_game(1, 6, {}))

	_saved_twice(saves)
	for other_run in 2:
		_in_other_run(saves, func(others: MANAGER) -> void:
				others.load_game(1)
				_same("an object that is not registered", BUG, others.save_game(1, RefCounted.new(), {}))
				_same("null", BUG, others.save_game(1, null, {})))
	DirAccess.make_dir_absolute(saves.path_of(1, "new"))
	_same("no file can be written", NOT_SAVED, saves.save_game(1, 3, {}))
	_same("an autosave without a file", [true, [1, NOT_SAVED]], [saves.autosave(1, 3, {}), await saves.autosaved])
	DirAccess.remove_absolute(saves.path_of(1, "new"))
	_same("failed saves keep the save and its backup", ["", "", 2], _shown(saves))
	_same("failed saves use up no backup", 1, _backup(saves))

	_same("two autosaves at once", [true, false], [saves.autosave(1, 3, {}), saves.autosave(1, 4, {})])
	_same("one is done", [1, ""], await saves.autosaved)
	_same("the first was saved", ["", "", 3], _shown(saves))
	saves.autosave(1, 4, {})
	_same("loaded during an autosave", {"state": 4, "problem": ""}, saves.load_game(1))
	_same("saved during an autosave", "", saves.save_game(1, 5, {}))
	await saves.autosaved
	_same("both are kept", [5, 4], [saves.load_game(1)["state"], _backup(saves)])
	saves.autosave(1, 6, {})
	saves.delete(1)
	await saves.autosaved
	_same("deleted during an autosave", "This slot is empty.", saves.load_game(1)["problem"])

	_saved_twice(saves)
	DirAccess.rename_absolute(saves.path_of(1), saves.path_of(1, "new"))
	_same("killed between two renames", ["", "", 2], _shown(saves))
	saves.save_game(1, 3, {})
	_same("its save becomes a backup", [3, 2], [saves.load_game(1)["state"], _backup(saves)])

	# Release templates do not support --script.
	if not OS.has_feature("template"):
		_saved_twice(saves)
		var printed := _in_process("", "quit")
		_same("null is logged", true, "The state of slot 1 is null." in printed)
		_same("quit during an autosave", ["", "", 3], _shown(saves))
		saves.save_game(1, 4, {})
		_same("the autosave becomes a backup", [4, 3], [saves.load_game(1)["state"], _backup(saves)])
		# No file can grow over 64 blocks, as on a full disk.
		if OS.get_name() in ["Linux", "macOS"]:
			_saved_twice(saves)
			_in_process("trap '' XFSZ; ulimit -f 64; ", "full")
			_same("a full disk", ["", "", 2], _shown(saves))

	var folder := saves.folder
	saves.delete(1)
	for file in DirAccess.get_files_at(folder):
		DirAccess.remove_absolute(folder.path_join(file))
	DirAccess.remove_absolute(folder)
	_same("no folder", ["This slot is empty.", {}], [saves.load_game(1)["problem"], saves.list_saves()])
	_same("a folder is created", ["", 1], [saves.save_game(1, 1, {}), saves.load_game(1)["state"]])
	saves.folder = saves.path_of(1).path_join("folder")
	_same("no folder can be created", [NOT_SAVED, {}], [saves.save_game(1, 2, {}), saves.list_saves()])
	saves.folder = folder
	_same("the other folder is as before", ["", "", 1], _shown(saves))


## Saves 1 and then 2 in slot 1, with no other backup. Returns the bytes of the save.
static func _saved_twice(saves: MANAGER) -> PackedByteArray:
	saves.delete(1)
	for state in [1, 2]:
		saves.save_game(1, state, {"title": "Day %d" % state})
	return FileAccess.get_file_as_bytes(saves.path_of(1))


## The messages for the player in the menu and after loading, and the loaded state.
static func _shown(saves: MANAGER) -> Array:
	var listed: String = saves.list_saves()[1]["problem"]
	var loaded := saves.load_game(1)
	return [listed, loaded["problem"], loaded["state"]]


static func _backup(saves: MANAGER) -> Variant:
	return saves.classes.load(saves.path_of(1, "backup_1")).value


static func _write(path: String, bytes: PackedByteArray) -> void:
	FileAccess.open(path, FileAccess.WRITE).store_buffer(bytes)


## Calls `play` with a new manager of the same folder, as another run of the game has.
static func _in_other_run(saves: MANAGER, play: Callable) -> void:
	var others := MANAGER.new()
	others.folder = saves.folder
	play.call(others)
	others.free()


## Runs a misfortune in a new process, after these commands of a shell if there are any. Returns its output.
static func _in_process(commands: String, misfortune: String) -> String:
	var project := ProjectSettings.globalize_path("res://")
	var arguments := ["--headless", "--path", project, "--script", "res://slots.gd", "--", misfortune]
	var program := OS.get_executable_path()
	if commands:
		arguments = ["-c", commands + "exec \"$0\" \"$@\"", program] + arguments
		program = "sh"
	var printed := []
	_same("failed checks in the process", 0, OS.execute(program, arguments, printed, true))
	return printed[0]


func _initialize() -> void:
	var saves := MANAGER.new()
	saves.folder = "user://save_slots_example"
	root.add_child(saves)
	match OS.get_cmdline_user_args()[0]:
		"quit":
			saves.save_game(1, null, {})
			saves.autosave(1, 3, {})
		"full":
			var large := Crypto.new().generate_random_bytes(1 << 20)
			_same("a full disk", NOT_SAVED, saves.save_game(1, large, {}))
			saves.autosave(1, large, {})
			_same("an autosave on a full disk", [1, NOT_SAVED], await saves.autosaved)
	quit(_failed)


static func _same(what: String, expected: Variant, found: Variant) -> void:
	if expected != found:
		_failed += 1
		print("save_slots: %s: expected %s, found %s" % [what, expected, found])
