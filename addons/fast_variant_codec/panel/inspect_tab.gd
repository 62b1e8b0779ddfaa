@tool
extends VBoxContainer
## Shows a tree of values beside their bytes, or the differences between two files beside the bytes of both. A
## selection on one side is highlighted on the other.

const Contents := preload("contents.gd")
const DifferenceTree := preload("difference_tree.gd")
const Differences := preload("differences.gd")
const Edit := preload("edit.gd")
const HexView := preload("hex_view.gd")
const Legend := preload("legend.gd")
const ValueTree := preload("value_tree.gd")

const PROBLEM_LINES := 3
## The number of bytes searched per frame.
const SEARCHED := 4 << 20
const MOST_SAVES := 30
## The levels of folders in user:// that are searched for saves.
const SAVE_LEVELS := 2
## The minimum width of the tree, as a share of the width of the bytes, and in units of the editor's scale.
const TREE_SHARE := 0.75
const TREE_WIDTH := 480.0
## The end of the name of a backup, as many programs and the addon's save manager write it.
const BACKUP := "(~|\\.(bak|backup)(_\\d+)?)$"

var tree := ValueTree.new()
var difference_tree := DifferenceTree.new()
var hex := HexView.new()
## The bytes of the second file.
var other_hex := HexView.new()
var problems := ItemList.new()
var words := Label.new()
var contents: Contents

var _source := ""
## The path of the shown file; empty if the bytes are not from a file.
var _file := ""
var _framing := OptionButton.new()
var _title := Label.new()
var _empty := Label.new()
var _compare := Button.new()
## Shows or folds the bytes.
var _bytes_toggle := Button.new()
## Whether the user has pressed _bytes_toggle. Until then, the bytes are folded if there is not enough width.
var _is_toggled := false
var _right := VBoxContainer.new()
var _divider := HSeparator.new()
var _split := HSplitContainer.new()
var _dialog: EditorFileDialog
## The path of the file, as typed or chosen.
var _path := LineEdit.new()
var _saves := MenuButton.new()
var _find := LineEdit.new()
var _edit := Button.new()
var _edit_dialog: ConfirmationDialog
var _edit_text: LineEdit
var _edit_problem: Label
## The contents of the file while `contents` has edits that are not written yet; null if there are none.
var _on_disk: Contents
## The former values of the edited nodes, by offset in `contents`.
var _edits: Dictionary[int, String] = {}
## The differences between `_on_disk` and `contents`.
var _changes: Differences
var _write := Button.new()
var _cancel := Button.new()
## Called with the path of the chosen file.
var _on_chosen: Callable
## The most recently requested contents.
var _wanted: Contents
## The background tasks, by the contents that they fill. Includes cancelled ones.
var _tasks: Dictionary[Contents, int] = {}


func _init() -> void:
	name = "Inspect"
	add_child(_make_toolbar())
	add_child(_make_status())
	_empty.text = (
		"Choose a save from Saves, open a file, drop one here, or paste hexadecimal digits.\n"
		+ "Supported: files written by FastVariantCodec, FastVariantClasses, FileAccess.store_var and var_to_bytes."
	)
	_empty.horizontal_alignment = HORIZONTAL_ALIGNMENT_CENTER
	_empty.vertical_alignment = VERTICAL_ALIGNMENT_CENTER
	_empty.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	_empty.size_flags_vertical = Control.SIZE_EXPAND_FILL
	add_child(_empty)
	add_child(_split)
	_split.size_flags_vertical = Control.SIZE_EXPAND_FILL
	_split.hide()
	var left := VBoxContainer.new()
	left.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	for list: Tree in [tree, difference_tree]:
		list.size_flags_vertical = Control.SIZE_EXPAND_FILL
		left.add_child(list)
	difference_tree.hide()
	_split.add_child(left)
	_right.add_theme_constant_override(&"separation", 0)
	_right.add_child(Legend.new(hex))
	hex.size_flags_vertical = Control.SIZE_EXPAND_FILL
	other_hex.size_flags_vertical = Control.SIZE_EXPAND_FILL
	_right.add_child(hex)
	_divider.hide()
	_right.add_child(_divider)
	_right.add_child(other_hex)
	other_hex.set(&"accessibility_name", "Bytes of the second file in hexadecimal")
	other_hex.hide()
	_split.add_child(_right)
	problems.hide()
	problems.set(&"accessibility_name", "Errors and non-canonical bytes")
	add_child(problems)
	for target: Control in [tree, hex, problems]:
		target.set_drag_forwarding(Callable(), _can_drop_data, _drop_data)
	tree.range_selected.connect(_on_range_selected)
	difference_tree.difference_selected.connect(_on_difference_selected)
	tree.copy_wanted.connect(hex.copy)
	hex.byte_selected.connect(_on_byte_selected)
	other_hex.byte_selected.connect(_on_other_byte_selected)
	problems.item_selected.connect(_on_problem_selected)


func open_file(path: String) -> void:
	if _has_edits():
		return
	_path.text = path
	var refusal := Contents.refusal_of(path)
	if refusal:
		_say(refusal + (" %s is still shown." % _source if contents else ""))
	else:
		# A reading chosen by hand holds for one file.
		_framing.select(Contents.Framing.AUTOMATIC)
		_read(func() -> PackedByteArray: return FileAccess.get_file_as_bytes(path), path.get_file(), path)


func show_bytes(bytes: PackedByteArray, source: String) -> void:
	if _has_edits():
		return
	_path.text = ""
	_framing.select(Contents.Framing.AUTOMATIC)
	_read(func() -> PackedByteArray: return bytes, source)


func compare_with(path: String) -> void:
	var refusal := Contents.refusal_of(path)
	if refusal:
		_say(refusal)
		return
	_say("Comparing with %s…" % path.get_file())
	var first := contents
	var differences := Differences.new()
	_start(func(second: Contents) -> void:
		second.read(func() -> PackedByteArray: return FileAccess.get_file_as_bytes(path), Contents.Framing.AUTOMATIC)
		differences.compare(first, second)
	, func(second: Contents) -> void:
		var ages := _ages_of(_file, path)
		if ages[0].is_empty():
			_show_comparison(first, second, differences, _source, path.get_file(), "Before", "After")
		else:
			_show_comparison(first, second, differences, "%s (%s)" % [_source, ages[0]], "%s (%s)" % [path.get_file(), ages[1]],
					ages[0].capitalize(), ages[1].capitalize()))


## The words for the older and the newer of two files; empty if the times are equal or unknown.
static func _ages_of(first: String, second: String) -> PackedStringArray:
	var times: Array = [first, second].map(func(path: String) -> int: return FileAccess.get_modified_time(path) if path else 0)
	if times[0] == times[1] or times.has(0):
		return ["", ""]
	return ["older", "newer"] if times[0] < times[1] else ["newer", "older"]


func paste() -> void:
	var text := DisplayServer.clipboard_get()
	var bytes := bytes_of(text)
	if bytes.is_empty():
		_say("No bytes in the clipboard: copy hexadecimal digits, or an array of numbers as print shows it.")
	else:
		show_bytes(bytes, "Pasted bytes")


## Selects a record by its number, a byte by its hexadecimal offset, or the next occurrence of a text, int, float or
## bool.
func find(text: String) -> void:
	if contents == null or contents.bytes.is_empty() or text.is_empty():
		return
	var at := -1
	var record := text.to_int() + (contents.record_count if text.to_int() < 0 else 0)
	if contents.has_records and text.is_valid_int() and record >= 0 and record < contents.record_count:
		at = contents.record_starts[record]
	elif text.begins_with("0x") and text.is_valid_hex_number(true):
		at = mini(text.hex_to_int(), contents.bytes.size() - 1)
	else:
		var searched := contents
		var distance := searched.bytes.size()
		var from := hex.caret + 1
		for wanted in _encodings(text):
			var place := await _place_of(wanted, from)
			if contents != searched:
				return
			if place >= 0 and posmod(place - from, searched.bytes.size()) < distance:
				at = place
				distance = posmod(place - from, searched.bytes.size())
	if at < 0:
		_say("\"%s\" is not in %s.%s" % [text, _source, (
				" Its records are 0 to %d." % (contents.record_count - 1) if contents.record_count and text.is_valid_int() else "")])
		return
	_select(at)


## The bytes to look for: the text itself, and the encoded number or bool that the text stands for.
static func _encodings(text: String) -> Array[PackedByteArray]:
	var encodings: Array[PackedByteArray] = [text.to_utf8_buffer()]
	for type: Variant.Type in [TYPE_BOOL, TYPE_INT, TYPE_FLOAT]:
		var value: Variant = Edit.value_of(text, type)
		if value != null:
			encodings.append(var_to_bytes(value))
	return encodings


## The offset of the first occurrence of `wanted` at or after `from`, or else anywhere. −1 if there is none, or if the
## panel switches to other contents meanwhile.
func _place_of(wanted: PackedByteArray, from: int) -> int:
	var searched := contents
	var digits := wanted.hex_encode()
	for part: Vector2i in [Vector2i(from, searched.bytes.size()), Vector2i(0, from + wanted.size())]:
		for start in range(part.x, part.y, SEARCHED):
			var text := searched.bytes.slice(start, mini(start + SEARCHED + wanted.size() - 1, part.y)).hex_encode()
			var at := text.find(digits)
			# Skips matches that start in the middle of a byte.
			while at % 2 == 1:
				at = text.find(digits, at + 1)
			if at >= 0:
				return start + at / 2
			if searched.bytes.size() > SEARCHED:
				await get_tree().process_frame
				if contents != searched:
					return -1
	return -1


## Parses bytes from hexadecimal digits in any grouping, or from an array such as `[27, 0]`. Returns no bytes if the
## text is neither.
static func bytes_of(text: String) -> PackedByteArray:
	var stripped := text.strip_edges()
	if stripped.begins_with("[") and stripped.ends_with("]"):
		return _bytes_of_numbers(stripped.substr(1, stripped.length() - 2).split(","))
	for separator: String in ["0x", "\\x", " ", "\t", "\r", "\n", ",", ":", "-", "_"]:
		stripped = stripped.replacen(separator, "")
	var is_hex := stripped.is_valid_hex_number() and stripped.length() % 2 == 0 and not stripped.begins_with("+")
	return stripped.hex_decode() if is_hex else PackedByteArray()


static func _bytes_of_numbers(numbers: PackedStringArray) -> PackedByteArray:
	var bytes := PackedByteArray()
	for number in numbers:
		# Longer numbers may not fit in 64 bits, and the engine would print a warning.
		var digits := number.strip_edges().trim_suffix(".0")
		if digits.length() > 3 or not digits.is_valid_int() or digits.to_int() != clampi(digits.to_int(), 0, 255):
			return PackedByteArray()
		bytes.append(digits.to_int())
	return bytes


func _make_toolbar() -> Control:
	var bar := HBoxContainer.new()
	_saves.text = "Saves"
	_saves.flat = false
	_saves.tooltip_text = "The files in this project's user:// folder, the newest first."
	_saves.about_to_popup.connect(_list_saves)
	_saves.get_popup().id_pressed.connect(func(id: int) -> void:
		open_file(_saves.get_popup().get_item_metadata(_saves.get_popup().get_item_index(id))))
	bar.add_child(_saves)
	var open := Button.new()
	open.text = "Open…"
	open.tooltip_text = "Open a file. Files can also be dropped here from the FileSystem dock."
	open.pressed.connect(_ask_for_file.bind("Open Encoded Values", open_file))
	bar.add_child(open)
	_path.placeholder_text = "user://save.dat"
	_path.tooltip_text = "Type a path and press Enter: user://, res:// or absolute."
	_path.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	_path.text_submitted.connect(open_file)
	bar.add_child(_path)
	_compare.text = "Compare…"
	_compare.tooltip_text = "Show what differs between this file and another one."
	_compare.disabled = true
	_compare.pressed.connect(_on_compare_pressed)
	bar.add_child(_compare)
	var paste_button := Button.new()
	paste_button.text = "Paste Hex"
	paste_button.tooltip_text = (
		"Show the bytes in the clipboard: hexadecimal digits, or an array of numbers as print shows it."
	)
	paste_button.pressed.connect(paste)
	bar.add_child(paste_button)
	for framing: String in ["Automatic", "One Value", "Records"]:
		_framing.add_item(framing)
	_framing.tooltip_text = (
		"One value, as written by var_to_bytes, or length-prefixed records, as written by FileAccess.store_var and "
		+ "FastVariantCodec.pack_batch."
	)
	_framing.item_selected.connect(_on_framing_selected)
	bar.add_child(_framing)
	_find.placeholder_text = "Find"
	_find.tooltip_text = (
		"Press Enter to find a text, an int, a float or a bool. With records, an int selects the record with this number. "
		+ "0x1f selects the byte at this offset."
	)
	_find.custom_minimum_size.x = 110 * EditorInterface.get_editor_scale()
	# Pressing Enter again then finds the next occurrence.
	_find.keep_editing_on_text_submit = true
	_find.text_submitted.connect(find)
	bar.add_child(_find)
	_bytes_toggle.text = "Bytes"
	_bytes_toggle.toggle_mode = true
	_bytes_toggle.tooltip_text = "Show the bytes beside the values."
	_bytes_toggle.toggled.connect(_on_bytes_toggled)
	bar.add_child(_bytes_toggle)
	return bar


func _make_status() -> Control:
	var bar := HBoxContainer.new()
	for label: Label in [_title, words]:
		label.size_flags_horizontal = Control.SIZE_EXPAND_FILL
		label.text_overrun_behavior = TextServer.OVERRUN_TRIM_ELLIPSIS
		label.mouse_filter = Control.MOUSE_FILTER_PASS
		bar.add_child(label)
	words.horizontal_alignment = HORIZONTAL_ALIGNMENT_RIGHT
	for button: Array in [
		[_edit, "Edit…", "Change the selected value: a number, text, vector or color. Write then replaces the file.", _on_edit_pressed],
		[_write, "Write", "Replace the file by the edited one.", _on_write_pressed],
		[_cancel, "Cancel", "Undo all edits that are not written yet.", _on_cancel_pressed],
	]:
		button[0].text = button[1]
		button[0].tooltip_text = button[2]
		button[0].pressed.connect(button[3])
		bar.add_child(button[0])
	_edit.disabled = true
	_write.hide()
	_cancel.hide()
	return bar


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_ENTER_TREE:
			get_window().files_dropped.connect(_on_files_dropped)
		NOTIFICATION_EXIT_TREE:
			get_window().files_dropped.disconnect(_on_files_dropped)
		NOTIFICATION_PREDELETE:
			if _wanted:
				_wanted.is_cancelled = true
			for task: int in _tasks.values():
				WorkerThreadPool.wait_for_task_completion(task)
		NOTIFICATION_RESIZED:
			_divide()
		NOTIFICATION_THEME_CHANGED:
			# Deferred, because the hex view must take the new font first.
			_divide.call_deferred()
			if contents:
				_show()


## Gives the hex view the most columns that leave enough width for the tree. If there are none, folds the bytes.
func _divide() -> void:
	var fits := false
	for columns in HexView.COLUMNS:
		var width := ceilf(hex.width_of(columns))
		hex.custom_minimum_size.x = width
		fits = size.x - width >= maxf(TREE_SHARE * width, TREE_WIDTH * EditorInterface.get_editor_scale())
		if fits:
			break
	if not _is_toggled:
		_bytes_toggle.set_pressed_no_signal(fits)
	_right.visible = _bytes_toggle.button_pressed
	words.visible = _right.visible


func _on_bytes_toggled(_is_on: bool) -> void:
	_is_toggled = true
	_divide()


func _ask_for_file(title: String, on_chosen: Callable, folder := "") -> void:
	if _dialog == null:
		_dialog = EditorFileDialog.new()
		_dialog.file_mode = EditorFileDialog.FILE_MODE_OPEN_FILE
		_dialog.access = EditorFileDialog.ACCESS_FILESYSTEM
		_dialog.add_filter("*", "All Files")
		_dialog.file_selected.connect(_on_file_selected)
		add_child(_dialog)
		_dialog.current_dir = EditorInterface.get_editor_settings().get_project_metadata(
				"fast_variant_codec", "folder", ProjectSettings.globalize_path("user://"))
	if folder:
		_dialog.current_dir = ProjectSettings.globalize_path(folder)
	_dialog.title = title
	_on_chosen = on_chosen
	_dialog.popup_centered_ratio(0.6)


func _on_file_selected(path: String) -> void:
	EditorInterface.get_editor_settings().set_project_metadata("fast_variant_codec", "folder", path.get_base_dir())
	_on_chosen.call(path)


func _list_saves() -> void:
	var popup := _saves.get_popup()
	popup.clear()
	var paths := _saves_in("user://", SAVE_LEVELS)
	for path: String in _newest_first(paths).slice(0, MOST_SAVES):
		var local: int = FileAccess.get_modified_time(path) + Time.get_time_zone_from_system()["bias"] * 60
		var age := Time.get_datetime_string_from_unix_time(local, true)
		var indent := "" if _save_of(path, paths) == path else "        "
		popup.add_item("%s%s    %s" % [indent, path.trim_prefix("user://"), age])
		popup.set_item_metadata(-1, path)
	if paths.is_empty():
		popup.add_item("No file in user://")
		popup.set_item_disabled(0, true)


## The newest save first, each followed by its backups.
static func _newest_first(paths: PackedStringArray) -> Array:
	var backups: Dictionary[String, Array] = {}
	for path in paths:
		var save := _save_of(path, paths)
		backups.get_or_add(save, [])
		if save != path:
			backups[save].append(path)
	var is_newer := func(a: String, b: String) -> bool: return FileAccess.get_modified_time(a) > FileAccess.get_modified_time(b)
	var saves := backups.keys()
	saves.sort_custom(is_newer)
	var sorted: Array = []
	for save: String in saves:
		backups[save].sort_custom(is_newer)
		sorted += [save] + backups[save]
	return sorted


## The save to which a backup belongs; the path itself if it is not the backup of any of the paths.
static func _save_of(path: String, paths: PackedStringArray) -> String:
	var backup := RegEx.create_from_string(BACKUP)
	var stem := backup.sub(path, "")
	if stem == path or paths.has(stem):
		return stem
	for save in paths:
		if save.get_basename() == stem and backup.search(save) == null:
			return save
	return path


## The files in a folder and its subfolders, except .log, .cfg and .import files, and the engine's caches.
static func _saves_in(folder: String, levels: int) -> PackedStringArray:
	var found := PackedStringArray()
	for file in DirAccess.get_files_at(folder):
		if file.get_extension() not in ["log", "cfg", "import"]:
			found.append(folder.path_join(file))
	for inner in DirAccess.get_directories_at(folder):
		if levels > 1 and inner not in ["logs", "shader_cache", "vulkan"]:
			found.append_array(_saves_in(folder.path_join(inner), levels - 1))
	return found


func _can_drop_data(_at: Vector2, data: Variant) -> bool:
	return data is Dictionary and data.get("type") == "files" and data["files"].size() == 1


func _drop_data(_at: Vector2, data: Variant) -> void:
	open_file(data["files"][0])


## Opens a file dropped from outside the editor. The editor also copies the file into the project.
func _on_files_dropped(files: PackedStringArray) -> void:
	if is_visible_in_tree() and get_global_rect().has_point(get_global_mouse_position()) and files.size() == 1:
		open_file(files[0])


## Loads and inspects bytes in the background, so that large files do not block the editor.
func _read(load_bytes: Callable, source: String, path := "", on_shown := Callable()) -> void:
	_say("Reading %s…" % source)
	var framing := _framing.selected as Contents.Framing
	_start(func(wanted: Contents) -> void: wanted.read(load_bytes, framing), func(read: Contents) -> void:
		contents = read
		_source = source
		_file = path
		_show()
		if on_shown:
			on_shown.call())


## Runs `work` in the background to fill contents, then `on_done` to show them. Cancels the previous request.
func _start(work: Callable, on_done: Callable) -> void:
	if _wanted:
		_wanted.is_cancelled = true
	var wanted := Contents.new()
	_wanted = wanted
	_tasks[wanted] = WorkerThreadPool.add_task(func() -> void:
		work.call(wanted)
		_on_read.call_deferred(wanted, on_done))


func _on_read(read: Contents, on_done: Callable) -> void:
	WorkerThreadPool.wait_for_task_completion(_tasks[read])
	_tasks.erase(read)
	if read == _wanted:
		on_done.call(read)


func _show() -> void:
	_empty.hide()
	_split.show()
	_set_comparing(false)
	_edit.disabled = true
	_compare.disabled = contents.bytes.is_empty()
	words.text = ""
	tree.show_contents(contents, _edits)
	hex.show_contents(contents)
	_title.text = "%s, %s, %s" % [_source, Contents.size_in_words(contents.bytes.size()), (
		"one value" if not contents.has_records
		else "1 record" if contents.record_count == 1 else "%d records" % contents.record_count)]
	if contents.is_torn:
		_title.text += ", the last one truncated"
	if contents.other_contents:
		_title.text += "; the bytes can also be read as %s" % contents.other_contents
	if _edits:
		_title.text += "; %s not written yet" % ("1 edit" if _edits.size() == 1 else "%d edits" % _edits.size())
	_title.tooltip_text = _title.text
	if contents.nodes.is_empty() and contents.problems and not contents.has_records:
		# The file has another format, which the message names.
		_say("%s: %s" % [_source, contents.problems[0].message])
	_show_problems()


## Shows the differences between two contents, in columns with short titles, which fit in a small window.
func _show_comparison(first: Contents, second: Contents, differences: Differences, old: String, new: String, old_title: String,
		new_title: String) -> void:
	if differences.refusal:
		_say(differences.refusal)
		return
	_set_comparing(true)
	problems.hide()
	words.text = ""
	hex.show_contents(first)
	other_hex.show_contents(second)
	difference_tree.show_differences(differences, old_title, new_title)
	var count := differences.found.size()
	var counted := "1 difference" if count == 1 else "%d%s differences" % [count, "+" if differences.has_more else ""]
	_say("%s → %s: %s" % [old, new, counted if count > 0 else "no difference"])


func _set_comparing(is_comparing: bool) -> void:
	tree.visible = not is_comparing
	difference_tree.visible = is_comparing
	_divider.visible = is_comparing
	other_hex.visible = is_comparing
	_compare.text = "End Comparison" if is_comparing else "Show Changes" if _on_disk else "Compare…"
	_edit.visible = not is_comparing
	_write.visible = _on_disk != null
	_cancel.visible = _on_disk != null
	_framing.disabled = _on_disk != null


func _on_compare_pressed() -> void:
	if difference_tree.visible:
		_show()
	elif _on_disk:
		_show_comparison(_on_disk, contents, _changes, _source, "not written yet", "File", "Edited")
	else:
		_ask_for_file("Compare With", compare_with, _file.get_base_dir())


func _on_edit_pressed() -> void:
	if _edit_dialog == null:
		_edit_dialog = ConfirmationDialog.new()
		_edit_dialog.ok_button_text = "Edit"
		_edit_dialog.dialog_hide_on_ok = false
		_edit_text = LineEdit.new()
		_edit_text.custom_minimum_size.x = 400 * EditorInterface.get_editor_scale()
		_edit_problem = Label.new()
		_edit_problem.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
		var box := VBoxContainer.new()
		box.add_child(_edit_text)
		box.add_child(_edit_problem)
		_edit_dialog.add_child(box)
		_edit_dialog.register_text_enter(_edit_text)
		_edit_dialog.confirmed.connect(_on_edited)
		add_child(_edit_dialog)
	_edit_dialog.title = contents.title_of(tree.selected_node())
	_edit_text.text = Edit.text_of(contents, tree.selected_node())
	_edit_problem.text = ""
	_edit_dialog.popup_centered()
	_edit_text.grab_focus()
	_edit_text.select_all()


func _on_edited() -> void:
	_edit_problem.text = edit(_edit_text.text)
	if _edit_problem.text.is_empty():
		_edit_dialog.hide()


## Replaces the selected value with a value in GDScript notation, without writing the file. Returns the reason if that
## is impossible; otherwise, an empty text.
func edit(text: String) -> String:
	var node := tree.selected_node()
	var bytes := Edit.changed(contents, node, text)
	if bytes.is_empty():
		return "Write a value of type %s, such as %s" % [contents.nodes[node]["type_name"], Edit.text_of(contents, node)]
	if bytes == contents.bytes:
		return "This is the value already. Write another one."
	if _tasks.has(_wanted):
		return "The panel is still reading. Try again."
	var first := _on_disk if _on_disk else contents
	var edits := _edits_after(node, bytes.size() - contents.bytes.size())
	var at: int = contents.nodes[node]["offset"]
	var framing := Contents.Framing.RECORDS if first.has_records else Contents.Framing.ONE_VALUE
	var differences := Differences.new()
	_start(func(second: Contents) -> void:
		second.read(func() -> PackedByteArray: return bytes, framing)
		differences.compare(first, second)
	, func(second: Contents) -> void:
		if differences.refusal:
			_say(differences.refusal)
			return
		contents = second
		_on_disk = first
		_edits = edits
		_changes = differences
		if second.bytes == first.bytes:
			_forget_edits()
		_show()
		_select(at))
	return ""


## The edits and their offsets after an edit of a node that makes the bytes `growth` longer.
func _edits_after(node: int, growth: int) -> Dictionary[int, String]:
	var at: int = contents.nodes[node]["offset"]
	var edits: Dictionary[int, String] = {}
	for offset in _edits:
		edits[offset + (growth if offset > at else 0)] = _edits[offset]
	if not edits.has(at):
		edits[at] = contents.nodes[node]["preview"]
	return edits


## Says that the file has edits, if it has, so that they are not lost.
func _has_edits() -> bool:
	if _on_disk:
		_say("%s has edits: press Write or Cancel first." % _source)
	return _on_disk != null


func _on_cancel_pressed() -> void:
	# An edit that is still being read must not come back.
	_wanted.is_cancelled = true
	_wanted = null
	contents = _on_disk
	_forget_edits()
	_show()


func _forget_edits() -> void:
	_on_disk = null
	_edits.clear()
	_changes = null


## Shows a byte and selects the innermost value around it.
func _select(byte: int) -> void:
	hex.caret = clampi(byte, 0, contents.bytes.size() - 1)
	tree.load_to(hex.caret)
	_on_byte_selected(hex.caret)


func _on_write_pressed() -> void:
	var problem := Edit.write(_file, _on_disk, contents.bytes)
	if problem:
		_say(problem)
		return
	_forget_edits()
	var path := _file
	var at := hex.caret
	_read(func() -> PackedByteArray: return FileAccess.get_file_as_bytes(path), path.get_file(), path, func() -> void:
		_select(at)
		_say("Written to %s." % path))


func _on_difference_selected(difference: Differences.Difference) -> void:
	for side: Array in [[hex, difference.old_bytes], [other_hex, difference.new_bytes]]:
		var view: HexView = side[0]
		var place: Vector2i = side[1]
		if place.x < place.y:
			view.caret = place.x
		view.select(place.x, place.y)
	words.text = difference.place
	words.tooltip_text = words.text


func _show_problems() -> void:
	problems.clear()
	for problem in contents.problems:
		problems.add_item("Byte %d: %s" % [problem.offset, problem.message], get_theme_icon(
				&"StatusError" if problem.is_error else &"StatusWarning", &"EditorIcons"))
		problems.set_item_tooltip(-1, "Decoding stopped here." if problem.is_error
				else "The engine decodes this, but no encoder writes it.")
	if contents.errors_left_out > 0:
		problems.add_item("… and %d more errors" % contents.errors_left_out, null, false)
	if contents.notes_left_out > 0:
		problems.add_item("… and %d more non-canonical encodings" % contents.notes_left_out, null, false)
	problems.visible = problems.item_count > 0
	problems.auto_height = problems.item_count <= PROBLEM_LINES
	problems.custom_minimum_size.y = 0 if problems.auto_height else PROBLEM_LINES * 26 * EditorInterface.get_editor_scale()


func _on_framing_selected(_index: int) -> void:
	if contents:
		var bytes := contents.bytes
		_read(func() -> PackedByteArray: return bytes, _source, _file)


func _on_range_selected(start: int, end: int) -> void:
	hex.caret = start
	hex.select(start, end)
	_describe(start)


func _on_other_byte_selected(byte: int) -> void:
	other_hex.select(byte, byte + 1)
	words.text = other_hex.contents.byte_in_words(byte)
	words.tooltip_text = words.text


func _on_byte_selected(byte: int) -> void:
	var node := contents.node_at(byte)
	if node >= 0:
		tree.select_node(node)
		hex.select(contents.start_of(node), contents.end_of(node))
	else:
		tree.deselect_all()
		hex.select(byte, byte + 1)
	_describe(byte)


func _on_problem_selected(index: int) -> void:
	if index < contents.problems.size() and not contents.bytes.is_empty():
		hex.caret = mini(contents.problems[index].offset, contents.bytes.size() - 1)
		_on_byte_selected(hex.caret)


func _describe(byte: int) -> void:
	_edit.disabled = _file.is_empty() or not Edit.is_editable(contents, tree.selected_node())
	words.text = contents.byte_in_words(byte)
	words.tooltip_text = words.text


func _say(message: String) -> void:
	_title.text = message
	_title.tooltip_text = message
