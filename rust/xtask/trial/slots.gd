extends RefCounted
## Tests the addon's example: saves and loads in slots, as its buttons do.

const SCENE := "res://addons/fast_variant_codec/examples/save_slots/save_slots.tscn"

static var _failed: int


## Returns the number of failed checks.
static func run(tree: SceneTree) -> int:
	_failed = 0
	# Waits, because a game's first scene may still be entering the tree.
	await tree.process_frame
	# Debian's release template prints an error whenever a Container loses a child.
	var prints := not OS.has_feature("template")
	Engine.print_error_messages = prints
	var example: Control = load(SCENE).instantiate()
	tree.root.add_child(example)
	await tree.process_frame
	var saves: Node = example.saves
	for slot in example.SLOTS:
		saves.delete(slot)
	_same("an empty slot", "This slot is empty.", saves.load_game(1)["problem"])
	# Saves one slot three times: each save except the last becomes a backup.
	for count in [1, 2, 3]:
		example.pick_up()
		example.hero.position = Vector2(count, 0)
		example.save_to(1)
		_same("status", "Saved in slot 1.", example.status.text)
	_same("files", ["slot_1.backup_1", "slot_1.backup_2", "slot_1.save"], Array(DirAccess.get_files_at(saves.folder)))
	_same("the menu", "Ren, level 4", saves.list_saves()[1]["title"])
	example.pick_up()
	example.load_from(1)
	_same("loaded", ["Loaded slot 1.", Vector2(3, 0), 3], [example.status.text, example.hero.position, example.hero.items.size()])
	_same("the item in hand is one of the items", example.hero.items[2], example.hero.in_hand)

	example.hero.name = "Mia"
	_same("an autosave starts", true, saves.autosave(0, example.hero, example._summary()))
	example.hero.name = "changed meanwhile"
	_same("an autosave", [0, ""], await saves.autosaved)
	_same("autosaved", ["Autosaved.", "Mia"], [example.status.text, saves.load_game(0)["state"].name])

	var file := FileAccess.open(saves.path_of(1), FileAccess.READ_WRITE)
	file.resize(file.get_length() - 9)
	file.close()
	Engine.print_error_messages = false
	example.load_from(1)
	_same("damaged", ["This save is damaged. An older one was loaded.", 2], [example.status.text, example.hero.items.size()])
	example.save_to(1)
	Engine.print_error_messages = prints
	_same("a damaged save replaces no backup", Vector2(2, 0), saves.classes.load(saves.path_of(1, 1)).value.position)
	Engine.print_error_messages = false
	for attempt in 3:
		saves.save_game(1, RefCounted.new(), {})
	Engine.print_error_messages = prints
	_same("failed saves keep the backups", Vector2(2, 0), saves.classes.load(saves.path_of(1, 2)).value.position)
	for state in [1, 2, 3]:
		saves.save_game(2, [state], {})
	Engine.print_error_messages = false
	for other_run in 2:
		var others: Node = saves.get_script().new()
		others.folder = saves.folder
		others.load_game(2)
		others.save_game(2, RefCounted.new(), {})
		others.free()
	Engine.print_error_messages = prints
	_same("failed saves in two other runs use up one backup", [2], saves.classes.load(saves.path_of(2, 2)).value)
	saves.delete(2)
	file = FileAccess.open(saves.path_of(1), FileAccess.WRITE)
	file.store_buffer([4, 0, 0, 0, 255, 0, 0, 0])
	file.close()
	var summary: Dictionary = saves.list_saves()[1]
	_same("the menu shows the backup", ["Ren, level 3", "This save is damaged."], [summary["title"], summary["problem"]])
	Engine.print_error_messages = false
	_same("a bug", "The game cannot be saved. Please report this bug.", saves.save_game(3, RefCounted.new(), {}))
	FileAccess.open(saves.path_of(1), FileAccess.WRITE).close()
	_same("an empty file", "This save is damaged. An older one was loaded.", saves.load_game(1)["problem"])
	DirAccess.remove_absolute(saves.path_of(1))
	var missing := "The file cannot be read or written. Is it missing or in use, or is the disk full?"
	_same("a missing file", [missing + " An older one was loaded.", missing],
			[saves.load_game(1)["problem"], saves.list_saves()[1].get("problem")])
	FastVariantCodec.save(saves.path_of(3, 1), 1, {"version": 2})
	_same("a newer backup", "This save is from a newer version of the game.", saves.load_game(3)["problem"])
	Engine.print_error_messages = prints
	var typed: Dictionary[String, String] = {"title": "typed"}
	_same("a typed summary", ["", "typed", [1, 2]], [saves.save_game(2, [1, 2], typed), saves.list_saves()[2]["title"],
			saves.load_game(2)["state"]])
	FastVariantCodec.save(saves.path_of(2), 1, {"time": "noon"})
	example._show_saves()
	saves.autosave(1, example.hero, {})
	saves.delete(1)
	await saves.autosaved
	_same("deleted during an autosave", "This slot is empty.", saves.load_game(1)["problem"])
	FastVariantCodec.save(saves.path_of(2), 1, {"version": 2})
	_same("newer", "This save is from a newer version of the game.", saves.load_game(2)["problem"])
	for slot in example.SLOTS:
		example.delete(slot)
	_same("deleted", [{}, PackedStringArray()], [saves.list_saves(), DirAccess.get_files_at(saves.folder)])
	example.queue_free()
	await tree.process_frame
	Engine.print_error_messages = true
	return _failed


static func _same(what: String, expected: Variant, found: Variant) -> void:
	if expected != found:
		_failed += 1
		print("save_slots: %s: expected %s, found %s" % [what, expected, found])
