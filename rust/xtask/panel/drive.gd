@tool
extends RefCounted
## Operates the panel by mouse and keyboard, and compares what it shows with the engine's results.
##
## Arguments: --pictures DIR saves a picture of each tab in DIR.

const ADDON := "fast_variant_codec"
const LONGEST_WAIT_MSEC := 60_000
## The height of the panel in pictures, as a share of its default height.
const PICTURE_HEIGHT := 1.3

var _plugin: EditorPlugin
var _panel: Control
var _pictures := ""
var _passed := 0
var _failed := 0


func run(plugin: EditorPlugin) -> void:
	_plugin = plugin
	var arguments := OS.get_cmdline_user_args()
	if arguments.size() == 2 and arguments[0] == "--pictures":
		_pictures = arguments[1]
	# Makes the editor draw every frame, even if nothing has changed.
	OS.low_processor_usage_mode = false
	_panel = _find_panel()
	_check("the panel is there", _panel != null)
	if _panel:
		_plugin.make_bottom_panel_item_visible(_panel)
		if _pictures:
			# For the pictures, shows the empty 2D editor, and makes the panel taller.
			EditorInterface.set_main_screen_editor("2D")
			_panel.custom_minimum_size.y *= PICTURE_HEIGHT
		await _frames(3)
		await _inspect_folded()
		await _inspect_value()
		await _inspect_damaged()
		await _inspect_records()
		await _inspect_many_problems()
		await _inspect_newest()
		await _inspect_empty()
		await _inspect_words()
		await _inspect_saves()
		await _inspect_edit()
		await _inspect_edit_refused()
		await _inspect_edit_texts()
		await _inspect_large()
		await _inspect_comparison()
		await _paste()
		await _benchmark()
		await _conformance()
		await _limits()
		await _disable()
	print("%d passed, %d failed" % [_passed, _failed])
	_plugin.get_tree().quit(0 if _failed == 0 else 1)


## Tests the panel in a small and in a larger window: the bytes give way to the values, and return on request.
func _inspect_folded() -> void:
	var tab: Control = _panel.inspect
	var window := EditorInterface.get_base_control().get_window()
	var size := window.size
	# The editor chooses the scale 0.75 on a small screen.
	var scale := EditorInterface.get_editor_scale() / 0.75
	await _open("records.bin", FastVariantCodec.pack_batch(range(20)))
	window.size = Vector2i(Vector2(1280, 800) * scale)
	await _frames(10)
	var height := _panel.custom_minimum_size.y
	if _pictures:
		_panel.custom_minimum_size.y /= PICTURE_HEIGHT
	await _frames(5)
	var tree: Tree = tab.tree
	var head: float = tree.get_item_area_rect(tree.get_root().get_first_child(), 0).position.y + tree.get_scroll().y
	var row: float = tree.get_item_area_rect(tree.get_root().get_first_child(), 0).size.y
	_panel.custom_minimum_size.y = height
	await _frames(5)
	_check("eight rows are visible", tree.size.y - head >= 8 * row, "%s, rows of %s below %s" % [tree.size.y, row, head])
	_check("the bytes are beside the values in a large window", tab.hex.is_visible_in_tree(), str(tab.size))
	window.size = Vector2i(Vector2(1024, 600) * scale)
	await _frames(10)
	_check("and give way in a small one", not tab.hex.is_visible_in_tree() and not tab._bytes_toggle.button_pressed, str(tab.size))
	tab._bytes_toggle.button_pressed = true
	await _frames(3)
	_check("a button unfolds them", tab.hex.is_visible_in_tree())
	window.size = size
	await _frames(10)


func _inspect_value() -> void:
	var value := {
		"name": "Ren", "level": 42, "hp": 87.5, "alive": true, "position": Vector3(1.5, 0, -3), "tint": Color.TOMATO,
		"path": ^"/root/World/Ren:position", "scores": Array([3, 1 << 40, -7], TYPE_INT, &"", null),
		"items": [{"item": &"sword", "count": 1}, {"item": &"potion", "count": 12}],
		"journal": PackedStringArray(["Day 1", "It rained."]), "image": PackedByteArray([137, 80, 78, 71, 13]),
	}
	var bytes := var_to_bytes(value)
	await _open("save_game.bin", bytes)
	var tab: Control = _panel.inspect
	_check("one value", not tab.contents.has_records and tab.problems.item_count == 0)
	_check("the first value of the tree is the whole", tab.tree.get_root().get_child_count() == 1)
	# Moves down the tree by keyboard. Each line must highlight exactly the bytes from which the engine decodes
	# its value.
	tab.tree.grab_focus()
	var found_values: Array = []
	for step in 12:
		await _press(KEY_DOWN)
		var node: int = tab.tree.selected_node()
		var place: Vector2i = tab.hex.selection()
		_check("line %d highlights its bytes" % step, place.x == tab.contents.nodes[node]["offset"]
				and place.y - place.x == bytes.decode_var_size(place.x))
		found_values.append(bytes.decode_var(place.x))
	var scores: Array = value["scores"]
	_check("each entry has one line", found_values == [value] + value.values().slice(0, 8) + [scores[0], scores[1], scores[2]],
			str(found_values))
	var top: TreeItem = tab.tree.get_root().get_first_child()
	_check("the line of an entry has its key", top.get_child(0).get_text(0) == "\"name\"", top.get_child(0).get_text(0))
	_check("the preview of a container begins with what it holds",
			top.get_text(1).begins_with("{ \"name\": \"Ren\", \"level\": 42, ") and top.get_text(1).ends_with(", … }"), top.get_text(1))
	# Clicks on the bytes of the text "Ren". This must select the line of its value.
	var at := bytes.hex_encode().find("Ren".to_utf8_buffer().hex_encode()) / 2
	await _click_byte(at)
	var found: Dictionary = tab.contents.nodes[tab.tree.selected_node()]
	_check("a click on a byte selects the innermost value", found["preview"] == "\"Ren\"", str(found))
	_check("and highlights it", bytes_to_var(tab.hex.selected_bytes()) == "Ren")
	_check("and says what it is", tab.words.text.contains("content") and tab.words.text.contains("is 52"), tab.words.text)
	_check("the bytes have the focus", tab.hex.has_focus())
	await _press(KEY_RIGHT)
	_check("the arrows move on", tab.hex.caret == at + 1)
	await _press(KEY_C, true)
	if DisplayServer.get_name() != "headless":
		_check("Ctrl+C copies", DisplayServer.clipboard_get() == var_to_bytes("Ren").hex_encode())
	await _press(KEY_END)
	_check("End goes to the last byte", tab.hex.caret == bytes.size() - 1)
	await _press(KEY_HOME)
	_check("Home goes to the first, which is the whole value's", tab.tree.selected_node() == 0)
	await _click_byte(bytes.hex_encode().find("1c000100") / 2)
	_check("a typed Array is selected", bytes_to_var(tab.hex.selected_bytes()) == value["scores"])
	await _picture("inspect")


func _inspect_damaged() -> void:
	var bytes := var_to_bytes({"name": "Ren", "hp": 87.5, "items": ["sword", "potion", "rope"], "level": 42})
	var bad := bytes.hex_encode().find("potion".to_utf8_buffer().hex_encode()) / 2 - 4
	bytes.encode_u32(bad, 4_000_000)
	# A padding byte that is not zero, which no encoder writes.
	var odd := bytes.hex_encode().find("Ren".to_utf8_buffer().hex_encode()) / 2 + 3
	bytes[odd] = 1
	await _open("damaged.bin", bytes)
	var tab: Control = _panel.inspect
	var errors: Array = tab.contents.problems.filter(func(problem: RefCounted) -> bool: return problem.is_error)
	Engine.print_error_messages = false
	_check("the engine refuses the bytes", not bytes.has_encoded_var(0))
	Engine.print_error_messages = true
	_check("one byte is bad", errors.size() == 1)
	_check("it is the count", errors[0].offset == bad, str(errors[0].offset))
	_check("odd bytes are noted", tab.contents.problems.size() == 2)
	_check("both stand in the list", tab.problems.is_visible_in_tree() and tab.problems.item_count == 2)
	var lines: Array = [tab.tree.get_root().get_first_child()]
	lines.append_array(lines[0].get_children())
	lines.append_array(lines[3].get_children())
	var red: Color = tab.get_theme_color(&"error_color", &"Editor")
	var marked := lines.filter(func(line: TreeItem) -> bool: return line.get_custom_color(0) == red and line.get_icon(1) != null)
	_check("the rows around it are marked, and no other row", marked.map(func(line: TreeItem) -> String: return line.get_text(0))
			== ["Value", "\"items\"", "[1]"], str(marked.map(func(line: TreeItem) -> String: return line.get_text(0))))
	_check("with the reason", tab.problems.get_item_text(1).contains("4000000"), tab.problems.get_item_text(1))
	tab.problems.grab_focus()
	tab.problems.select(0)
	await _press(KEY_DOWN)
	_check("choosing it moves there", tab.hex.caret == bad)
	_check("the value around it is selected", tab.contents.nodes[tab.tree.selected_node()]["role"] == "element")
	await _picture("inspect_damaged")


func _inspect_records() -> void:
	var path := "res://replay.bin"
	var file := FileAccess.open(path, FileAccess.WRITE)
	for i in 40:
		file.store_var({"frame": i, "input": Vector2(i, -i), "fire": i % 3 == 0})
	file.close()
	var tab: Control = _panel.inspect
	tab.open_file(path)
	await _until(func() -> bool: return tab.contents.record_count == 40)
	_check("records are told from a value", tab.contents.has_records)
	_check("each has a line", tab.tree.get_root().get_child_count() == 40)
	_check("nothing is wrong", tab.problems.item_count == 0)
	tab.tree.grab_focus()
	await _press(KEY_DOWN)
	await _press(KEY_DOWN)
	await _press(KEY_RIGHT)
	await _press(KEY_DOWN)
	_check("a record unfolds", tab.contents.nodes[tab.tree.selected_node()]["role"] == "value")
	await _press(KEY_LEFT)
	_check("a record includes its length", tab.hex.selected_bytes().decode_u32(0) == tab.hex.selected_bytes().size() - 4)
	await _picture("inspect_records")
	for records: Array in [[1, null], [true, null], [[], null], [{1: 2}, {}], [[[], []], [[], []], [[], []], [[], []]]]:
		await _open("records.bin", FastVariantCodec.pack_batch(records))
		_check("%s are records" % [records], tab.contents.record_count == records.size())
	await _open("godot3.bin", PackedByteArray([24, 0, 0, 0]) + FastGodot3Codec.encode([1, 2]))
	_check("records of Godot 3 are named", tab._title.text.begins_with("godot3.bin: records of Godot 3: "), tab._title.text)
	var torn := FileAccess.get_file_as_bytes(path).slice(0, -3)
	tab.show_bytes(torn, "torn.bin")
	await _until(func() -> bool: return tab.contents.bytes == torn)
	_check("a torn record is bad", tab.contents.record_count == 40 and tab.contents.is_torn and tab.problems.item_count == 1)
	_check("its values are shown", tab.contents.outline_of_record(39)["nodes"].size() > 4)
	var framing: OptionButton = tab.find_children("*", "OptionButton", true, false)[0]
	framing.select(1)
	framing.item_selected.emit(1)
	await _until(func() -> bool: return not tab.contents.has_records)
	_check("the user may take it for one value, which it is not", tab.problems.get_item_text(0).begins_with("Byte 0: "))
	# The next file is recognised again.
	for target: Control in [tab.tree, tab.hex]:
		await _drop(target, path)
		await _until(func() -> bool: return tab.contents.record_count == 40)
		tab.show_bytes(torn, "torn.bin")
		await _until(func() -> bool: return tab.contents.bytes == torn)


## Checks that the panel keeps a limited number of nodes and problems, for any number of bad records.
func _inspect_many_problems() -> void:
	const LISTED := 1000
	var tab: Control = _panel.inspect
	var sizes: Array[Array] = []
	for damaged: int in [100_000, 200_000]:
		# One good record; the others have an unknown type.
		var words := PackedInt32Array()
		words.resize(2 * (1 + damaged))
		for index in 1 + damaged:
			words[2 * index] = 4
			words[2 * index + 1] = TYPE_NIL if index == 0 else 0xff
		var bytes := words.to_byte_array()
		await _open("damaged.bin", bytes)
		var records := 1 + damaged
		_check("all records are counted", tab.contents.has_records and tab.contents.record_count == records)
		_check("the errors listed are bounded", tab.problems.item_count == LISTED + 1, str(tab.problems.item_count))
		var rest: String = tab.problems.get_item_text(tab.problems.item_count - 1)
		_check("and counted", rest == "… and %d more errors" % (damaged - LISTED), rest)
		sizes.append([tab.contents.nodes, tab.contents.problems, tab.contents._chunks].map(
				func(list: Variant) -> int: return list.size()))
		var last: TreeItem = tab.tree.get_root().get_child(-1)
		while last.get_first_child():
			last.collapsed = false
			last = last.get_child(-1)
		_check("the last record can be seen", last.get_text(0) == "Record %d: damaged" % (records - 1), last.get_text(0))
	_check("no list grows with the file", sizes[0] == sizes[1], str(sizes))
	var zeros := PackedByteArray([4, 0, 0, 0])
	zeros.resize(400_000)
	await _open("zeros.bin", zeros)
	_check("zeros after a power failure are one error", tab.contents.record_count == 1 and tab.problems.item_count == 1)
	# 3000 records, each a bool with the value 7, then a record of an unknown type.
	var odd := PackedByteArray()
	for i in 3000:
		odd.append_array([8, 0, 0, 0, TYPE_BOOL, 0, 0, 0, 7, 0, 0, 0])
	odd.append_array([4, 0, 0, 0, 255, 0, 0, 0])
	await _open("odd.bin", odd)
	var errors: Array = tab.contents.problems.filter(func(problem: RefCounted) -> bool: return problem.is_error)
	_check("an error is listed behind many notes", errors.size() == 1 and errors[0].offset == odd.size() - 4)
	_check("the notes are bounded", tab.problems.item_count == LISTED + 2, str(tab.problems.item_count))
	var notes: String = tab.problems.get_item_text(tab.problems.item_count - 1)
	_check("and counted", notes == "… and %d more non-canonical encodings" % (3000 - LISTED), notes)
	# A damaged record after 30,000 good ones.
	var many := FastVariantCodec.pack_batch(range(30_000).map(func(id: int) -> Dictionary: return {"id": id}))
	var bad := many.size() + 4
	await _open("many.bin", many + PackedByteArray([4, 0, 0, 0, 255, 0, 0, 0]) + FastVariantCodec.pack_batch([{"id": "last"}]))
	_check("damage behind many records is found", tab.problems.item_count == 1
			and tab.problems.get_item_text(0).begins_with("Byte %d: " % bad), tab.problems.get_item_text(0))
	await _click_byte(bad + 4 + 4 + 4 + 4 + 4 + 4)
	_check("and so are values behind it", tab.words.text.ends_with("\"id\": String") or tab.words.text.contains("the key \"id\""), tab.words.text)
	_check("with their lines", tab.tree.get_selected().get_text(0) == "\"id\""
			and tab.tree.get_selected().get_parent().get_text(0) == "Record 30001", tab.tree.get_selected().get_text(0))
	var group: TreeItem = tab.tree.get_selected().get_parent()
	while group.get_parent() != tab.tree.get_root():
		group = group.get_parent()
	_check("the group with a damaged record is marked", group.get_icon(1) != null
			and tab.tree.get_root().get_first_child().get_icon(1) == null, group.get_text(0))
	# A value that follows more values than the panel inspects at once.
	await _open("list.bin", var_to_bytes([range(30_000), {"place": "needle"}]))
	await tab.find("needle")
	_check("and a value behind a long list", tab.tree.get_selected().get_text(0) == "\"place\"",
			tab.tree.get_selected().get_text(0) if tab.tree.get_selected() else "nothing")


## Requests another file while one is being read.
func _inspect_newest() -> void:
	var tab: Control = _panel.inspect
	var asked := Semaphore.new()
	var slow: Dictionary[String, bool] = {"started": false, "asked": false, "ended": false}
	# Simulates a slow disk: this read ends when the next file has been requested, or after 10 seconds.
	tab._read(func() -> PackedByteArray:
		slow["started"] = true
		for attempt in 1000:
			slow["asked"] = asked.try_wait()
			if slow["asked"]:
				break
			OS.delay_msec(10)
		slow["ended"] = true
		return var_to_bytes("slow"), "slow.bin")
	await _until(func() -> bool: return slow["started"])
	var bytes := var_to_bytes("newest")
	tab.show_bytes(bytes, "newest.bin")
	asked.post()
	await _until(func() -> bool: return slow["ended"] and tab.contents.bytes == bytes)
	_check("asking does not wait for what is being read", slow["asked"])
	await _frames(20)
	_check("the newest is shown", tab.contents.bytes == bytes and tab._title.text.begins_with("newest.bin, "), tab._title.text)


func _inspect_empty() -> void:
	var zeros := PackedByteArray()
	zeros.resize(64)
	await _open("zeros.bin", zeros)
	var tab: Control = _panel.inspect
	_check("zeros are no value", tab.problems.item_count == 1 and tab.problems.get_item_text(0).contains("record of 0 bytes"))
	await _open("empty.bin", PackedByteArray())
	_check("an empty file has no records", tab.problems.item_count == 1 and tab._title.text == "empty.bin, 0 bytes, 0 records", tab._title.text)
	tab.problems.grab_focus()
	await _press(KEY_DOWN)
	tab.hex.grab_focus()
	await _press(KEY_DOWN)
	_check("and has no bytes", tab.hex.selected_bytes().is_empty())
	tab.open_file("res://none.bin")
	_check("a missing file is said", tab.find_children("*", "Label", true, false).any(
			func(label: Label) -> bool: return label.text.begins_with("Cannot open ") and label.text.ends_with(" empty.bin is still shown.")))
	if OS.get_name() == "Linux":
		tab.open_file("/proc/self/status")
		_check("a special file is said", tab._title.text.contains("/proc/self/status: it is a special file"), tab._title.text)
	for button: Button in tab.find_children("*", "Button", true, false):
		if button.text == "Open…":
			button.pressed.emit()
	await _frames(2)
	var dialog: Window = tab.find_children("*", "EditorFileDialog", true, false)[0]
	_check("the button asks for a file", dialog.visible)
	_check("in the folder of the saves", dialog.get("current_dir") == ProjectSettings.globalize_path("user://").trim_suffix("/"),
			str(dialog.get("current_dir")))
	dialog.hide()


## Tests how the rows name types, objects, times and sizes.
func _inspect_words() -> void:
	var tab: Control = _panel.inspect
	await _open("words.bin", var_to_bytes({
		"player": {"@class": &"Player", "@version": 2, "hp": 87.5}, "item": {&"@class": &"Item"}, "saved_at": 1764300000,
		"playTime": 1764300000.5, "chatty": 1764300000, "time": 42, "big": PackedByteArray(range(70_000)),
	}))
	var top: TreeItem = tab.tree.get_root().get_first_child()
	var previews: Array = top.get_children().map(func(line: TreeItem) -> String: return line.get_text(1))
	_check("objects are named by their class and version, and times by their date", previews.slice(0, 6) == [
		"Player (v2) { \"hp\": 87.5 }", "Item", "1764300000 (2025-11-28 03:20 UTC)", "1764300000.5 (2025-11-28 03:20 UTC)",
		"1764300000", "42",
	], str(previews.slice(0, 6)))
	_check("an icon, not a word, shows the type", top.get_children().all(func(line: TreeItem) -> bool:
			return line.get_icon(0) != null and not line.get_text(0).contains(":")))
	_check("a size has a unit", top.get_child(6).get_text(3) == "68 KiB" and tab._title.text.begins_with("words.bin, 69 KiB, "),
			"%s, %s" % [top.get_child(6).get_text(3), tab._title.text])
	_check("units grow with the size", [0, 1023, 1024, 69_206_016, 1 << 31].map(tab.Contents.size_in_words)
			== ["0 bytes", "1023 bytes", "1 KiB", "66 MiB", "2 GiB"],
			str([0, 1023, 1024, 69_206_016, 1 << 31].map(tab.Contents.size_in_words)))


func _inspect_saves() -> void:
	var tab: Control = _panel.inspect
	DirAccess.make_dir_recursive_absolute("user://saves")
	FastVariantCodec.save_batch("user://saves/slot_1.save", [{"title": "Day 1"}, [1, 2, 3]])
	tab._list_saves()
	var popup: PopupMenu = tab._saves.get_popup()
	_check("saves are listed", popup.get_item_text(0).begins_with("saves/slot_1.save  "), popup.get_item_text(0))
	popup.id_pressed.emit(popup.get_item_id(0))
	await _until(func() -> bool: return tab.contents.record_count == 2)
	_check("the path of the file is shown", tab._path.text == "user://saves/slot_1.save", tab._path.text)
	FastVariantCodec.save_batch("user://saves/slot_2.save", [1])
	tab._path.text = "user://saves/slot_2.save"
	tab._path.text_submitted.emit(tab._path.text)
	await _until(func() -> bool: return tab.contents.record_count == 1)
	FileAccess.open_encrypted_with_pass("user://saves/slot_3.save", FileAccess.WRITE, "secret").store_var(1)
	tab.open_file("user://saves/slot_3.save")
	await _until(func() -> bool: return tab._title.text.begins_with("slot_3.save: encrypted file: "))
	# A backup may be newer than its save.
	var backups: PackedStringArray = ["slot_1.backup_1", "slot_1.backup_2", "slot_2.save.bak", "slot_2.backup", "slot_3.save~", "lone.bak"]
	for name in backups:
		FastVariantCodec.save_batch("user://saves/" + name, [1])
	tab._list_saves()
	var listed := range(popup.item_count).map(func(index: int) -> String: return popup.get_item_text(index))
	for backup in backups:
		var above := listed.find_custom(func(text: String) -> bool: return text.contains("saves/" + backup))
		var is_indented: bool = listed[above].begins_with(" ")
		_check("%s is indented if it has a save" % backup, is_indented != (backup == "lone.bak"), str(listed))
		while listed[above].begins_with(" "):
			above -= 1
		_check("%s stands below its save" % backup, listed[above].begins_with("saves/%s" % backup.get_slice(".", 0)), str(listed))
	for name in PackedStringArray(["slot_1.save", "slot_2.save", "slot_3.save"]) + backups:
		DirAccess.remove_absolute("user://saves/" + name)


func _inspect_edit() -> void:
	var tab: Control = _panel.inspect
	var path := "user://edited.save"
	var records: Array = [{"title": "Day 1"}, {"bag": ["rope", "potion"], "hp": 87.5}, {"title": "the end"}]
	FastVariantCodec.save_batch(path, records)
	tab.open_file(path)
	await _until(func() -> bool: return tab.contents.record_count == 3 and tab._title.text.begins_with("edited.save, "))
	await tab.find("2")
	_check("a record is found by its number", tab.tree.get_selected().get_text(0) == "Record 2")
	await tab.find("potion")
	_check("a text is found, from the start again", tab.tree.get_selected().get_text(0) == "[1]", tab.tree.get_selected().get_text(0))
	await tab.find("0x4")
	_check("a byte is found", tab.hex.caret == 4)
	await tab.find("87.5")
	_check("a number is found", tab.tree.get_selected().get_text(0) == "\"hp\"", tab.tree.get_selected().get_text(0))
	await tab.find("nowhere")
	_check("what is not there is said", tab._title.text == "\"nowhere\" is not in edited.save.", tab._title.text)
	await tab.find("3")
	_check("and the records that are there", tab._title.text == "\"3\" is not in edited.save. Its records are 0 to 2.", tab._title.text)
	for wanted: Array in [["potion", "a much longer potion"], ["hp", "12"]]:
		await tab.find(wanted[0])
		_check("what is found can be edited", not tab._edit.disabled, tab.words.text)
		tab._edit.pressed.emit()
		if wanted[0] == "hp":
			tab._edit_text.text = "[1]"
			tab._edit_dialog.confirmed.emit()
			_check("other types are refused", tab._edit_problem.text == "Write a value of type float, such as 87.5",
					tab._edit_problem.text)
		tab._edit_dialog.confirmed.emit()
		_check("and the dialog stays", tab._edit_dialog.visible)
		tab._edit_text.text = wanted[1]
		tab._edit_dialog.confirmed.emit()
		_check("until the value is another one", not tab._edit_dialog.visible)
		await _until(func() -> bool: return tab._write.visible)
		var line: TreeItem = tab.tree.get_selected()
		_check("the row of an edit is marked, with the former value", line.get_icon(1) != null and line.get_text(1).contains(" (was ")
				and line.get_custom_color(0) == tab.get_theme_color(&"accent_color", &"Editor"), line.get_text(1))
		if wanted[0] == "hp":
			await _picture("inspect_edit")
		await _click(tab._compare)
		tab.difference_tree.get_root().get_first_child().select(0)
		await _frames(3)
		for hex: Control in [tab.hex, tab.other_hex]:
			_check("the changed bytes are visible", hex.position_of(hex.selection().x).y < hex.size.y)
		_check("one difference is shown", tab.difference_tree.get_root().get_child_count() == 1)
		_check("before it is written", FastVariantCodec.load_batch(path).value == records)
		tab._write.pressed.emit()
		records[1]["bag"][1] = "a much longer potion"
		if wanted[0] == "hp":
			records[1]["hp"] = 12.0
		await _until(func() -> bool: return tab._title.text == "Written to user://edited.save.")
		var file := FileAccess.open(path, FileAccess.READ)
		_check("the engine reads what was written", [file.get_var(), file.get_var(), file.get_var()] == records)
	await _inspect_edits(path, records)
	await tab.find("Day 1")
	_check("quotes are part of the notation", tab.edit("\"Day 1\"").begins_with("This is the value "))
	tab.edit("\"Day 2\"")
	await _until(func() -> bool: return tab._write.visible)
	FastVariantCodec.append_batch(path, ["more"])
	tab._write.pressed.emit()
	_check("a file that others have changed is not replaced", tab._title.text.begins_with("user://edited.save has changed "), tab._title.text)
	_check("and stays as it is", FastVariantCodec.load_batch(path).value == records + ["more"])
	tab._cancel.pressed.emit()
	var save := "user://one_value.save"
	FastVariantCodec.save(save, {"gold": 99}, {"day": 3})
	tab.open_file(save)
	await _until(func() -> bool: return tab._title.text.begins_with("one_value.save, "))
	await tab.find("gold")
	tab.edit("100")
	await _until(func() -> bool: return tab._write.visible)
	tab._write.pressed.emit()
	await _until(func() -> bool: return tab._title.text == "Written to %s." % save)
	var loaded := FastVariantCodec.load(save)
	_check("an edited save has the right sum", loaded.is_ok() and loaded.value == {"gold": 100}, loaded.message)
	FileAccess.open(path, FileAccess.WRITE).store_buffer(var_to_bytes({"at": Vector2(1, 2)}))
	tab.open_file(path)
	await _until(func() -> bool: return not tab.contents.has_records)
	await tab.find("at")
	tab.edit("Vector2(3, 4)")
	await _until(func() -> bool: return tab._write.visible)
	tab._write.pressed.emit()
	await _until(func() -> bool: return not tab._write.visible and tab.tree.is_visible_in_tree())
	_check("one value is written as well", bytes_to_var(FileAccess.get_file_as_bytes(path)) == {"at": Vector2(3, 4)})
	# Writes a file that only its owner may read. A link to a missing file already has the name that the panel
	# would give the new file.
	FileAccess.set_unix_permissions(path, FileAccess.UNIX_READ_OWNER | FileAccess.UNIX_WRITE_OWNER)
	var folder := DirAccess.open("user://")
	folder.create_link("edited.save", "linked.save")
	folder.create_link("missing.save", "edited.save.new")
	var edits: Dictionary[String, String] = {"edited.save": "Vector2(5, 6)", "linked.save": "Vector2(7, 8)"}
	for name in edits:
		tab.open_file("user://" + name)
		await _until(func() -> bool: return tab._title.text.begins_with(name + ", "))
		await tab.find("at")
		tab.edit(edits[name])
		await _until(func() -> bool: return tab._write.visible)
		tab._write.pressed.emit()
		await _until(func() -> bool: return not tab._title.text.ends_with("not written yet"))
	_check("a link is refused with its target", tab._title.text == "user://linked.save is a link to edited.save. Open that file to edit it.",
			tab._title.text)
	_check("links stay", folder.is_link("linked.save") and folder.is_link("edited.save.new") and not folder.file_exists("missing.save"))
	_check("a file is replaced", bytes_to_var(FileAccess.get_file_as_bytes(path)) == {"at": Vector2(5, 6)})
	_check("and keeps its permissions", FileAccess.get_unix_permissions(path)
			== FileAccess.UNIX_READ_OWNER | FileAccess.UNIX_WRITE_OWNER)
	tab._cancel.pressed.emit()
	for name: String in ["edited.save.new", "linked.save", "edited.save"]:
		folder.remove(name)


## Makes several edits before one write, and cancels them.
func _inspect_edits(path: String, records: Array) -> void:
	var tab: Control = _panel.inspect
	var bytes := FileAccess.get_file_as_bytes(path)
	var edits: Array = [["a much longer potion", "tea"], ["hp", "13"], ["the end", "the very end"], ["hp", "14"]]
	for is_cancelled: bool in [true, false]:
		for edit: Array in edits:
			var before: RefCounted = tab.contents
			await tab.find(edit[0])
			tab.edit(edit[1])
			await _until(func() -> bool: return tab.contents != before)
		_check("edits are counted", tab._title.text.ends_with("; 3 edits not written yet"), tab._title.text)
		var marks: Dictionary = {}
		for text: String in ["tea", "hp", "the very end"]:
			await tab.find(text)
			marks[tab.tree.get_selected().get_text(0)] = tab.tree.get_selected().get_text(1)
		_check("each keeps its mark", marks == {
			"[1]": "\"tea\" (was \"a much longer potion\")", "\"hp\"": "14.0 (was 12.0)",
			"\"title\"": "\"the very end\" (was \"the end\")",
		}, str(marks))
		tab.open_file("res://replay.bin")
		_check("no other file is opened meanwhile", tab._title.text == "edited.save has edits: press Write or Cancel first.", tab._title.text)
		if is_cancelled:
			tab.edit("an edit that is not shown yet")
			_check("edits wait for each other", tab.edit("another one") == "The panel is still reading. Try again.")
		_check("nothing is written yet", FileAccess.get_file_as_bytes(path) == bytes)
		await _click(tab._cancel if is_cancelled else tab._write)
		if is_cancelled:
			_check("Cancel undoes all edits", tab.contents.bytes == bytes and FileAccess.get_file_as_bytes(path) == bytes
					and not tab._write.visible and not tab._cancel.visible)
			await _frames(20)
			_check("and the one that was not shown yet", tab.contents.bytes == bytes)
	await _until(func() -> bool: return tab._title.text == "Written to user://edited.save.")
	records[1]["bag"][1] = "tea"
	records[1]["hp"] = 14.0
	records[2]["title"] = "the very end"
	_check("Write writes all edits at once", FastVariantCodec.load_batch(path).value == records)
	var shown: PackedByteArray = tab.contents.bytes
	for hp: String in ["15", "14"]:
		var before: RefCounted = tab.contents
		await tab.find("hp")
		tab.edit(hp)
		await _until(func() -> bool: return tab.contents != before)
	_check("an edit back to the former value is none", tab.contents.bytes == shown and not tab._write.visible, tab._title.text)


## Checks that the panel refuses to write an edit that makes a key repeat another key.
func _inspect_edit_refused() -> void:
	var tab: Control = _panel.inspect
	await _open("keys.save", FastVariantCodec.pack_batch([{[1]: 1, [2]: 2}]))
	tab._on_byte_selected(tab.contents.nodes[5]["offset"])
	tab.edit("1")
	await _until(func() -> bool: return tab._title.text.contains(" cannot be compared: "))
	_check("a refused edit changes nothing", tab.contents.bytes == FileAccess.get_file_as_bytes("res://keys.save"))
	_check("a refused edit is not offered", not tab._write.visible, tab._title.text)
	await _compare_with("other.save", FastVariantCodec.pack_batch([{[1]: 1, [2]: 3}]))
	_check("nor after the next comparison", tab._title.text.ends_with("1 difference") and not tab._write.visible, tab._title.text)
	tab._on_compare_pressed()


## Tests which texts the panel accepts as the new value of each type.
func _inspect_edit_texts() -> void:
	var edit: RefCounted = load("res://addons/fast_variant_codec/panel/edit.gd").new()
	for value: Variant in [
		true, -5, 9223372036854775807, -9223372036854775807 - 1, 1.5, 1e300, INF, "a \"b\" \\n \n\v", &"a\t", ^"a/b:c", Vector2(1.5, -2),
		Vector2i(3, -4), Rect2(1, 2, 3, 4), AABB(Vector3.ONE, Vector3.ONE), Plane(1, 2, 3, 4), Color.TOMATO,
	]:
		await _open("value.bin", var_to_bytes(value))
		var text: String = edit.text_of(_panel.inspect.contents, 0)
		_check("%s is the value it shows" % text, var_to_bytes(edit.value_of(text, typeof(value))) == var_to_bytes(value))
	for refused: Array in [
		[true, "true false"], [5, "0x10"], [5, "1+1"], [5, "9223372036854775808"], [5, ""], [1.5, "1,5"], [1.5, "1e400"],
		["a", "\"a\" b"], [&"a", "&\"a"], [Vector2(), "Vector2(1, 2) 3"], [Vector2(), "Vector2(1)"], [Vector2i(), "Vector2i(1.5, 2)"],
	]:
		_check("%s is refused" % refused[1], edit.value_of(refused[1], typeof(refused[0])) == null)
	await _open("value.bin", var_to_bytes("a"))
	var contents: RefCounted = _panel.inspect.contents
	var text := "Object(Node,\"name\":\"x\")"
	_check("a text is no expression", bytes_to_var(edit.changed(contents, 0, text)) == text)
	_check("a text that readers refuse is not written", edit.changed(contents, 0, "\ufeffa").is_empty())
	# The int 5 with 64 bits, which no encoder writes.
	await _open("value.bin", "020001000500000000000000".hex_decode())
	contents = _panel.inspect.contents
	_check("the same text changes no byte", edit.changed(contents, 0, "5") == contents.bytes)


func _inspect_large() -> void:
	var tab: Control = _panel.inspect
	var bytes := var_to_bytes(range(1_000_000))
	tab.show_bytes(bytes, "large.bin")
	_check("opening does not wait", tab.contents.bytes.size() != bytes.size())
	await _until(func() -> bool: return tab.contents.bytes.size() == bytes.size())
	var last_line: String = tab.tree.get_root().get_first_child().get_child(-1).get_text(0)
	_check("what is left out is said", last_line == "… and 990001 more", last_line)
	var whole: TreeItem = tab.tree.get_root().get_first_child()
	for round in 2:
		whole.get_child(-1).collapsed = false
		await _frames(3)
	last_line = whole.get_child(-1).get_text(0)
	_check("more is shown when it is unfolded", last_line == "… and 970003 more", last_line)
	var group: TreeItem = whole.get_child(-2)
	group.collapsed = false
	var shown: TreeItem = group.get_child(-1)
	_check("as what it is", shown.get_text(0) == "[29996]" and shown.get_text(1) == "29996", "%s %s" % [shown.get_text(0), shown.get_text(1)])
	tab.hex.grab_focus()
	await _press(KEY_END)
	_check("the last byte is visible", tab.hex.get_rect().size.y > tab.hex.position_of(bytes.size() - 1).y)
	_check("it lies in what is left out", tab.contents.nodes[tab.contents.node_at(bytes.size() - 1)]["role"] == "root")
	await _click_byte(8 + 5000 * 8)
	_check("values in groups are found", tab.tree.selected_node() == 5001 and bytes_to_var(tab.hex.selected_bytes()) == 5000)
	var deep: Array = []
	for level in 1000:
		deep = [deep]
	await _open("deep.bin", var_to_bytes(deep))
	await _click_byte(8007)
	_check("deep values are found", tab.contents.nodes.size() == 1001 and tab.tree.selected_node() == 1000)


func _inspect_comparison() -> void:
	var tab: Control = _panel.inspect
	var before := {"name": "Ren", "hp": 87.5, "items": ["sword", "rope", "map"], "position": Vector2(3, 4), "old": 1}
	var after := {"name": "Ren", "hp": 80.0, "items": ["sword", "map", "key"], "position": Vector2(3, 4), "new": [1, 2]}
	var expected := FastVariantPatch.differences(var_to_bytes(before), var_to_bytes(after))
	await _open("save_1.bin", var_to_bytes(before))
	await _compare_with("save_2.bin", var_to_bytes(after))
	var list: Tree = tab.difference_tree
	_check("files of one second have no age", tab._ages_of("res://save_2.bin", "res://save_2.bin") == PackedStringArray(["", ""]))
	OS.delay_msec(1100)
	await _compare_with("save_2.bin", var_to_bytes(after))
	_check("the older and the newer file are named", list.get_column_title(1) == "Older" and list.get_column_title(2) == "Newer"
			and tab._title.text.begins_with("save_1.bin (older) → save_2.bin (newer): "), tab._title.text)
	_check("objects are named by their class", tab.Differences.preview_of({&"@class": "Player", "@version": 2, "hp": 1}) == "Player (v2)")
	_check("in any order", tab._ages_of("res://save_2.bin", "res://save_1.bin") == PackedStringArray(["newer", "older"]))
	_check("each difference has a line", list.get_root().get_child_count() == expected.size(), str(expected))
	_check("the title counts them", tab._title.text.contains("%d differences" % expected.size()), tab._title.text)
	_check("the values give way", list.is_visible_in_tree() and not tab.tree.is_visible_in_tree() and tab.other_hex.is_visible_in_tree())
	list.grab_focus()
	for index in expected.size():
		await _press(KEY_DOWN)
		var difference: Dictionary = expected[index]
		_check("line %d is selected" % index, list.get_selected() == list.get_root().get_child(index))
		for side: Array in [["old", tab.hex], ["new", tab.other_hex]]:
			var bytes: PackedByteArray = side[1].selected_bytes()
			var is_there := difference.has(side[0])
			_check("line %d highlights what is %s" % [index, side[0]], bytes.is_empty() != is_there
					and (not is_there or bytes_to_var(bytes) == difference[side[0]]), str(difference))
		if index == 0:
			await _picture("inspect_compare")
	await _click(tab._compare)
	_check("it ends", tab.tree.is_visible_in_tree() and not tab.other_hex.is_visible_in_tree())
	var records: Array = [{"frame": 0}, {"frame": 1, "fire": true}, {"frame": 2}]
	await _open("replay_1.bin", FastVariantCodec.pack_batch(records))
	records[1]["fire"] = false
	records.remove_at(0)
	records.append({"frame": 3})
	await _compare_with("replay_2.bin", FastVariantCodec.pack_batch(records))
	_check("records are compared", list.get_root().get_child_count() == 3)
	list.grab_focus()
	var found: Array = []
	for index in 3:
		await _press(KEY_DOWN)
		var sides: Array = [tab.hex, tab.other_hex].map(func(view: Control) -> Variant:
			return bytes_to_var(view.selected_bytes()) if view.selected_bytes() else "nothing")
		found.append([list.get_selected().get_text(0)] + sides)
	_check("in their bytes", found == [
		["[0]", {"frame": 0}, "nothing"], ["[1].fire", true, false], ["[2]", "nothing", {"frame": 3}],
	], str(found))
	await _compare_with("same.bin", tab.contents.bytes)
	_check("equal files have no difference", tab._title.text.ends_with("no difference"), tab._title.text)
	# {"hp": 5} with a 64-bit 5, which no encoder writes, and a record with bytes after its value.
	var number := "1b00000001000000040000000200000068700000020001000500000000000000".hex_decode()
	var trailing := PackedByteArray([16, 0, 0, 0]) + var_to_bytes(5) + var_to_bytes(7) + FastVariantCodec.pack_batch(["x"])
	for odd: Array in [[number, "non-canonical encoding"], [trailing, "record 0: 8 trailing bytes"]]:
		await _open("odd.bin", odd[0])
		await _compare_with("other.bin", var_to_bytes({"hp": 6}) if odd[0] == number else FastVariantCodec.pack_batch([5, 7]))
		_check("a file that no encoder writes is refused", tab._title.text.begins_with(
				"The first file cannot be compared: " + odd[1]), tab._title.text)
	await _open("records.bin", FastVariantCodec.pack_batch(records))
	DirAccess.make_dir_recursive_absolute("user://beside")
	FastVariantCodec.save_batch("user://beside/a.save", [1, 2, 3, 4, 5])
	tab.open_file("user://beside/a.save")
	await _until(func() -> bool: return tab.contents.record_count == 5)
	tab._compare.pressed.emit()
	await _frames(3)
	_check("the second file is looked for beside the first", tab._dialog.visible
			and tab._dialog.current_dir == ProjectSettings.globalize_path("user://beside"), tab._dialog.current_dir)
	tab._dialog.hide()
	DirAccess.remove_absolute("user://beside/a.save")
	DirAccess.remove_absolute("user://beside")
	await _open("records.bin", FastVariantCodec.pack_batch(records))
	await _compare_with("other.bin", var_to_bytes(records))
	_check("a value and records are not compared", tab._title.text.begins_with("One file holds records"), tab._title.text)


func _compare_with(file_name: String, bytes: PackedByteArray) -> void:
	var path := "res://" + file_name
	var file := FileAccess.open(path, FileAccess.WRITE)
	file.store_buffer(bytes)
	file.close()
	_panel.inspect.compare_with(path)
	await _until(func() -> bool: return not _panel.inspect._title.text.begins_with("Comparing with"))


func _paste() -> void:
	var tab: Control = _panel.inspect
	var bytes := var_to_bytes([1, "two"])
	for text: String in [
		bytes.hex_encode(), " ".join(Array(bytes).map(func(byte: int) -> String: return "0x%02X" % byte)), str(bytes),
		bytes.hex_encode().insert(8, "\n"), str(Array(bytes).map(func(byte: int) -> float: return byte)),
	]:
		_check("bytes are read from %s" % text.left(20), tab.bytes_of(text) == bytes)
	for text: String in ["", "no digits", "abc", "+abc", "[1, 256]", "[1, \"x\"]", "[1, x]", "[1]]", "[]", "[-1]", "[1.5]", "[1e999]",
			"[%s]" % "9".repeat(30)]:
		_check("no bytes are read from \"%s\"" % text, tab.bytes_of(text).is_empty())
	if DisplayServer.get_name() != "headless":
		DisplayServer.clipboard_set(bytes.hex_encode())
		tab.paste()
		await _until(func() -> bool: return tab.contents.bytes == bytes)
		_check("pasted bytes are shown", tab.contents.nodes.size() == 3)
		# Drops files from outside the editor: the window calls the panel's method for any position of the mouse.
		for target: Control in [EditorInterface.get_base_control(), tab]:
			var is_outside := target != tab
			tab.get_viewport().warp_mouse(Vector2(5, 5) if is_outside else tab.get_global_rect().get_center())
			await _frames(3)
			tab._on_files_dropped(PackedStringArray(["res://replay.bin"]))
			if is_outside:
				await _frames(30)
				_check("what is dropped elsewhere is not opened", tab.contents.bytes == bytes)
			else:
				await _until(func() -> bool: return tab.contents.record_count == 40)
		# Moves the mouse to a corner, so that no tooltip covers later clicks.
		tab.get_viewport().warp_mouse(Vector2(5, 5))
		await _frames(3)


func _benchmark() -> void:
	var tab: Control = _panel.benchmark
	_panel.current_tab = tab.get_index()
	await _frames(2)
	var file := FileAccess.open("res://quests.json", FileAccess.WRITE)
	var quests := range(500).map(func(i: int) -> Dictionary: return {"id": i, "name": "Quest %d" % i})
	file.store_string(JSON.stringify({"quests": quests}))
	file.close()
	tab.run_file("res://quests.json")
	_check("it runs in the background", tab.is_running())
	await _until(func() -> bool: return not tab.is_running())
	_check("a JSON document is measured", tab.chart.rows.size() == 1 and tab.chart.rows[0].items == 500)
	tab.run_file("res://replay.bin")
	await _until(func() -> bool: return not tab.is_running())
	_check("a file of records is measured", tab.chart.rows.size() == 1 and tab.chart.rows[0].items == 40)
	await _drop(tab.chart, "res://quests.json")
	await _until(func() -> bool: return not tab.is_running())
	_check("so is one that is dropped", tab.chart.rows.size() == 1 and tab.chart.rows[0].items == 500)
	tab.run_file("res://damaged.bin")
	await _until(func() -> bool: return not tab.is_running())
	_check("a damaged file is refused with a reason", tab.chart.rows.is_empty() and tab.status.text.contains("damaged.bin"))
	var refused: Dictionary[String, String] = {
		"res://empty.bin": "empty.bin is empty.", "res://none.bin": "Cannot open res://none.bin: ",
	}
	if OS.get_name() == "Linux":
		refused["/proc/self/status"] = "/proc/self/status: it is a special file"
	for path in refused:
		tab.run_file(path)
		await _until(func() -> bool: return not tab.is_running())
		_check("%s is refused with a reason" % path, tab.status.text.contains(refused[path]), tab.status.text)
	var built_in: Button = tab.find_children("*", "Button", true, false)[0]
	built_in.grab_focus()
	await _press(KEY_SPACE)
	_check("the button starts it", tab.is_running())
	await _frames(3)
	tab.cancel()
	await _until(func() -> bool: return not tab.is_running())
	_check("it can be cancelled", tab.chart.rows.size() < 6 and tab.status.text.contains("Cancelled"), tab.status.text)
	# Drawing would slow down the measurements.
	OS.low_processor_usage_mode = true
	built_in.grab_focus()
	await _press(KEY_SPACE)
	await _until(func() -> bool: return not tab.is_running())
	_check("all built-in data are measured", tab.chart.rows.size() == 6)
	OS.low_processor_usage_mode = false
	for row: RefCounted in tab.chart.rows:
		_check("%s: identical" % row.title, row.is_identical)
		_check("%s: took time" % row.title, row.encode["codec"] > 0 and row.decode["engine"] > 0)
	await _picture("benchmark")


func _conformance() -> void:
	var tab: Control = _panel.conformance
	_panel.current_tab = tab.get_index()
	await _frames(2)
	var button: Button = tab.find_children("*", "Button", true, false)[0]
	button.grab_focus()
	await _press(KEY_SPACE)
	_check("there is a line for each type", tab.table.get_root().get_child_count() == TYPE_MAX)
	_check("nothing differs", tab.verdict.text.ends_with(" 0 failed"), tab.verdict.text)
	for item: TreeItem in tab.table.get_root().get_children():
		_check("%s was checked" % item.get_text(0), item.get_text(1).to_int() > 0 and item.get_text(4) == "identical")
	await _picture("conformance")
	var report := FastVariantInspector.get_engine_report()
	_check("the access path in use is said, and why", tab.environment.text.contains(
			"%s access: %s" % [report["access_path"], report["access_reason"]]), tab.environment.text)
	_check("the whole report is at hand", report.keys().all(func(key: String) -> bool:
			return tab.environment.tooltip_text.contains("%s: %s" % [key, report[key]])))
	await _click(tab.copy_report)
	if DisplayServer.get_name() != "headless":
		_check("and can be copied", DisplayServer.clipboard_get() == tab.environment.tooltip_text)
	var check: RefCounted = load("res://addons/fast_variant_codec/self_check.gd").new()
	check.run()
	check.rows[TYPE_INT].check("encode", false, 7)
	tab.show_check(check)
	var line: TreeItem = tab.table.get_root().get_child(TYPE_INT)
	_check("a difference is shown", line.get_text(4) == "differs" and line.get_first_child().get_text(0) == "encode: 7")
	_check("and counted", tab.verdict.text.ends_with(" 1 failed"), tab.verdict.text)


## Tests the inspector of limits: the presets, and the check boxes of the types.
func _limits() -> void:
	const ALL := (1 << TYPE_MAX) - 1
	var limits := FastVariantLimits.new()
	EditorInterface.edit_resource(limits)
	await _frames(10)
	var inspector := EditorInterface.get_inspector()
	var bar: Control = inspector.find_children("*", "VBoxContainer", true, false).filter(
			func(found: Control) -> bool: return found.get("buttons") is Dictionary)[0]
	_check("a new resource says what it is", bar.words.text.begins_with("The limits are those of for_save_files(), as in a new resource"),
			bar.words.text)
	await _click(bar.buttons["Network"])
	if _pictures:
		inspector.custom_minimum_size.x = 380
		await _picture("limits", inspector.get_parent_control())
	_check("a preset sets all limits", limits.max_bytes == FastVariantLimits.for_network().max_bytes and limits.max_depth == 32)
	_check("and is named", bar.words.text.begins_with("The limits are those of for_network()."), bar.words.text)
	limits.max_depth = 7
	await _frames(2)
	_check("other limits are custom ones", bar.words.text.begins_with("Custom limits."), bar.words.text)
	limits.max_depth = 32
	_history(limits).undo()
	await _frames(2)
	_check("undo brings the former limits back", limits.max_bytes == FastVariantLimits.new().max_bytes, str(limits.max_bytes))
	var editors := inspector.find_children("*", "EditorProperty", true, false).filter(
			func(editor: EditorProperty) -> bool: return editor.get_edited_property() == &"allowed_types")
	_check("there is one editor of types", editors.size() == 1 and editors[0].get("boxes") is Array)
	var editor: EditorProperty = editors[0]
	_check("a box for each type", editor.boxes.size() == TYPE_MAX)
	_check("all are ticked", editor.boxes.all(func(box: CheckBox) -> bool: return box.button_pressed))
	_check("and said to be", editor.summary.text == "All types", editor.summary.text)
	_check("they are folded", not editor.list.is_visible_in_tree())
	await _click(editor.summary)
	_check("and unfold", editor.list.is_visible_in_tree())
	_check("no name is cut off", editor.boxes.all(func(box: CheckBox) -> bool: return box.size.x >= box.get_minimum_size().x))
	for type: int in [TYPE_INT, TYPE_NIL, TYPE_PACKED_VECTOR4_ARRAY]:
		var box: CheckBox = editor.boxes[type]
		_check("box %d has the type's name" % type, box.text == type_string(type))
		await _click(box)
		_check("a click forbids %s" % box.text, limits.allowed_types == ALL & ~(1 << type), str(limits.allowed_types))
		_check("which is said", editor.summary.text == "%d of %d types" % [TYPE_MAX - 1, TYPE_MAX], editor.summary.text)
		var refused := FastVariantCodec.try_decode(var_to_bytes(type_convert(null, type)), limits)
		_check("and the codec refuses them", refused.error == FastVariantCodec.TYPE_NOT_ALLOWED, refused.message)
		_history(limits).undo()
		await _frames(3)
		_check("undo allows %s" % box.text, limits.allowed_types == ALL and box.button_pressed)
	await _click(editor.presets["None"])
	_check("none", limits.allowed_types == 0 and editor.summary.text == "No type", editor.summary.text)
	for type: int in [TYPE_DICTIONARY, TYPE_STRING, TYPE_VECTOR2]:
		await _click(editor.boxes[type])
	var same := FastVariantLimits.new()
	same.allow_only([TYPE_DICTIONARY, TYPE_STRING, TYPE_VECTOR2])
	_check("some", editor.boxes[TYPE_STRING].button_pressed and not editor.boxes[TYPE_INT].button_pressed)
	_check("by name", editor.summary.text == "String, Vector2, Dictionary", editor.summary.text)
	_check("the same as allow_only", limits.allowed_types == same.allowed_types)
	if _pictures:
		inspector.custom_minimum_size.x = 380
		await _frames(5)
	inspector.ensure_control_visible(editor.boxes[-1])
	await _frames(3)
	inspector.scroll_vertical -= 100
	await _picture("allowed_types", inspector.get_parent_control())
	await _click(editor.presets["Plain Data"])
	for type in TYPE_MAX:
		var is_reference := type in [TYPE_RID, TYPE_OBJECT, TYPE_CALLABLE, TYPE_SIGNAL]
		_check("plain data: %s" % type_string(type), editor.boxes[type].button_pressed != is_reference)
	# The editor would otherwise merge quick successive changes into one undo step.
	_history(limits).clear_history()
	await _click(editor.presets["All"])
	_check("all", limits.allowed_types == ALL)
	_history(limits).undo()
	await _frames(3)
	_check("undo", editor.summary.text == "%d of %d types" % [TYPE_MAX - 4, TYPE_MAX], editor.summary.text)
	EditorInterface.inspect_object(null)
	await _frames(3)


func _history(object: Object) -> UndoRedo:
	var manager := _plugin.get_undo_redo()
	return manager.get_history_undo_redo(manager.get_object_history_id(object))


func _disable() -> void:
	_panel.benchmark.run_file("res://replay.bin")
	EditorInterface.set_plugin_enabled(ADDON, false)
	await _frames(3)
	_check("a disabled plugin takes its panel away", _find_panel() == null and not is_instance_valid(_panel))
	EditorInterface.set_plugin_enabled(ADDON, true)
	await _frames(3)
	_check("and brings it back", _find_panel() != null)


func _open(file_name: String, bytes: PackedByteArray) -> void:
	var path := "res://" + file_name
	var file := FileAccess.open(path, FileAccess.WRITE)
	file.store_buffer(bytes)
	file.close()
	var tab: Control = _panel.inspect
	tab.open_file(path)
	await _until(func() -> bool: return tab.contents != null and tab.contents.bytes == bytes)
	await _frames(2)


func _find_panel() -> Control:
	for container in _plugin.get_tree().root.find_children("*", "TabContainer", true, false):
		if container.get_script() and container.get_script().resource_path.ends_with("codec_panel.gd"):
			return container
	return null


func _check(what: String, holds: bool, detail := "") -> void:
	if holds:
		_passed += 1
	else:
		_failed += 1
		print("FAILED %s %s" % [what, detail])


func _press(key: Key, ctrl := false) -> void:
	for pressed: bool in [true, false]:
		var event := InputEventKey.new()
		event.keycode = key
		event.physical_keycode = key
		event.ctrl_pressed = ctrl
		event.pressed = pressed
		_panel.get_viewport().push_input(event)
	await _frames(1)


## Clicks on a control. Scrolls the inspector to it if necessary.
func _click(control: Control) -> void:
	if EditorInterface.get_inspector().is_ancestor_of(control):
		EditorInterface.get_inspector().ensure_control_visible(control)
		await _frames(3)
	_click_at(control.get_global_rect().get_center())
	await _frames(3)


func _click_byte(byte: int) -> void:
	var hex: Control = _panel.inspect.hex
	hex.reveal(byte)
	_click_at(hex.get_global_transform() * hex.position_of(byte))
	await _frames(1)


func _click_at(at: Vector2) -> void:
	for pressed: bool in [true, false]:
		var event := InputEventMouseButton.new()
		event.button_index = MOUSE_BUTTON_LEFT
		event.position = at
		event.global_position = at
		event.pressed = pressed
		_panel.get_viewport().push_input(event, true)


## Drags a file from the FileSystem dock.
func _drop(target: Control, path: String) -> void:
	# Waits for the layout.
	await _frames(2)
	target.force_drag({"type": "files", "files": [path]}, null)
	# The visible part.
	var seen := target.get_global_rect().intersection(target.get_parent_control().get_global_rect())
	var at := seen.get_center()
	var motion := InputEventMouseMotion.new()
	motion.position = at
	motion.global_position = at
	motion.button_mask = MOUSE_BUTTON_MASK_LEFT
	_panel.get_viewport().push_input(motion, true)
	await _frames(1)
	var release := InputEventMouseButton.new()
	release.button_index = MOUSE_BUTTON_LEFT
	release.position = at
	release.global_position = at
	_panel.get_viewport().push_input(release, true)
	await _frames(1)


func _frames(count: int) -> void:
	for frame in count:
		await _plugin.get_tree().process_frame


func _until(holds: Callable) -> void:
	var started := Time.get_ticks_msec()
	while not holds.call() and Time.get_ticks_msec() - started < LONGEST_WAIT_MSEC:
		await _plugin.get_tree().process_frame
	_check("it is done in time", holds.call())


func _picture(picture_name: String, part: Control = EditorInterface.get_base_control()) -> void:
	if _pictures:
		await _frames(5)
		await RenderingServer.frame_post_draw
		var window := EditorInterface.get_base_control().get_viewport()
		window.get_texture().get_image().get_region(Rect2i(part.get_global_rect())).save_png(_pictures.path_join(picture_name + ".png"))
