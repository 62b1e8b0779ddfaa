@tool
extends Control
## Shows bytes in rows: offset, hexadecimal, characters. Draws only the visible rows.
##
## The colour of a byte and the line below it show its role. Selected bytes have a background colour. A byte with a
## problem has a box, and an icon beside its row.

## Emitted when the user moves to a byte.
signal byte_selected(byte: int)

const Contents := preload("contents.gd")

const KIND_COLORS: Dictionary[Contents.Kind, StringName] = {
	Contents.Kind.CONTENT: &"text_color", Contents.Kind.HEADER: &"function_color",
	Contents.Kind.ELEMENT_TYPE: &"base_type_color", Contents.Kind.COUNT: &"number_color",
	Contents.Kind.PADDING: &"comment_color", Contents.Kind.UNREAD: &"unread_color",
}
## The possible numbers of bytes per row. The view uses the first number that fits.
const COLUMNS: PackedInt32Array = [16, 8]
## The number of bytes between wider gaps.
const GROUP := 4

var contents: Contents
## The byte that the keyboard moves from; −1 if there is none.
var caret := -1

var _selection_start := 0
var _selection_end := 0
var _columns := 16
var _scroll := VScrollBar.new()
var _font: Font
var _font_size := 14
## The size of one character.
var _cell := Vector2.ONE
var _colors: Dictionary[StringName, Color] = {}


func _init() -> void:
	focus_mode = Control.FOCUS_ALL
	clip_contents = true
	set(&"accessibility_name", "Bytes in hexadecimal")
	_scroll.set_anchors_and_offsets_preset(Control.PRESET_RIGHT_WIDE)
	_scroll.grow_horizontal = Control.GROW_DIRECTION_BEGIN
	_scroll.step = 1
	_scroll.focus_mode = Control.FOCUS_NONE
	_scroll.value_changed.connect(func(_row: float) -> void: queue_redraw())
	add_child(_scroll)


func show_contents(shown: Contents) -> void:
	contents = shown
	caret = -1
	_selection_start = 0
	_selection_end = 0
	_scroll.value = 0
	_layout()


## Highlights bytes and scrolls to the caret. A caret outside these bytes moves to the first of them.
func select(start: int, end: int) -> void:
	_selection_start = start
	_selection_end = end
	if caret < start or caret >= end:
		caret = start
	reveal(caret)
	queue_redraw()


func selected_bytes() -> PackedByteArray:
	return contents.bytes.slice(_selection_start, _selection_end) if contents else PackedByteArray()


## The offset of the first highlighted byte, and the offset after the last one.
func selection() -> Vector2i:
	return Vector2i(_selection_start, _selection_end)


func copy() -> void:
	DisplayServer.clipboard_set(selected_bytes().hex_encode())


## The centre of the two digits of a visible byte.
func position_of(byte: int) -> Vector2:
	return _hex_rect(byte).get_center()


func color_of(kind: Contents.Kind) -> Color:
	return _colors[KIND_COLORS[kind]]


## Draws the line below bytes of a kind, starting at `from` and `width` long.
static func draw_cue(canvas: CanvasItem, kind: Contents.Kind, from: Vector2, width: float, color: Color) -> void:
	var scale := EditorInterface.get_editor_scale()
	var to := from + Vector2(width, 0)
	match kind:
		Contents.Kind.HEADER:
			canvas.draw_line(from, to, color, 2 * scale)
		Contents.Kind.ELEMENT_TYPE:
			canvas.draw_line(from - Vector2(0, scale), to - Vector2(0, scale), color, scale)
			canvas.draw_line(from + Vector2(0, scale), to + Vector2(0, scale), color, scale)
		Contents.Kind.COUNT:
			canvas.draw_dashed_line(from, to, color, 2 * scale, 3 * scale)
		Contents.Kind.PADDING:
			canvas.draw_dashed_line(from, to, color, scale, scale)


## One of the script editor's colours, which suit every theme.
static func text_editor_color(color_name: StringName) -> Color:
	return EditorInterface.get_editor_settings().get_setting("text_editor/theme/highlighting/%s" % color_name)


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_THEME_CHANGED:
			_read_theme()
			_layout()
		NOTIFICATION_RESIZED:
			_layout()
			if caret >= 0:
				reveal(caret)
		NOTIFICATION_FOCUS_ENTER, NOTIFICATION_FOCUS_EXIT:
			queue_redraw()
		NOTIFICATION_DRAW:
			_draw_all()


func _read_theme() -> void:
	if not is_inside_tree():
		return
	_font = get_theme_font(&"source", &"EditorFonts")
	_font_size = get_theme_font_size(&"source_size", &"EditorFonts")
	_cell = Vector2(_font.get_string_size("0", HORIZONTAL_ALIGNMENT_LEFT, -1, _font_size).x, _font.get_height(_font_size))
	_cell.y = ceilf(_cell.y + 5 * EditorInterface.get_editor_scale())
	for color_name: StringName in [
		&"background_color", &"text_color", &"function_color", &"base_type_color", &"number_color", &"comment_color",
		&"line_number_color", &"selection_color", &"caret_color",
	]:
		_colors[color_name] = text_editor_color(color_name)
	_colors[&"unread_color"] = _colors[&"text_color"].lerp(_colors[&"background_color"], 0.4)
	_colors[&"error_color"] = get_theme_color(&"error_color", &"Editor")
	_colors[&"warning_color"] = get_theme_color(&"warning_color", &"Editor")


func width_of(columns: int) -> float:
	return _text_x(columns) + (columns + 1) * _cell.x + _scroll.get_combined_minimum_size().x


func _layout() -> void:
	_columns = COLUMNS[-1]
	for columns in COLUMNS:
		if width_of(columns) <= size.x:
			_columns = columns
			break
	var rows := ceili(contents.bytes.size() / float(_columns)) if contents else 0
	_scroll.max_value = rows
	_scroll.page = mini(rows, _visible_rows())
	_scroll.visible = rows > _visible_rows()
	queue_redraw()


func _visible_rows() -> int:
	return maxi(1, int((size.y - _margin()) / _cell.y))


## The space above the first row.
func _margin() -> float:
	return 3 * EditorInterface.get_editor_scale()


func _first_byte() -> int:
	return int(_scroll.value) * _columns


## Scrolls to a byte if it is not visible.
func reveal(byte: int) -> void:
	var row := byte / _columns
	if row < int(_scroll.value):
		_scroll.value = row
	elif row >= int(_scroll.value) + _visible_rows():
		_scroll.value = row - _visible_rows() / 2


func _offset_digits() -> int:
	return maxi(4, "%x".length() if contents == null else ("%x" % contents.bytes.size()).length())


func _sign_width() -> float:
	return _cell.y


func _hex_x(column: int) -> float:
	return _sign_width() + (_offset_digits() + 2 + column * 3 + column / GROUP) * _cell.x


func _text_x(columns: int) -> float:
	return _hex_x(columns) + _cell.x


func _row_y(byte: int) -> float:
	return _margin() + (byte / _columns - int(_scroll.value)) * _cell.y


func _hex_rect(byte: int) -> Rect2:
	return Rect2(_hex_x(byte % _columns), _row_y(byte), 2 * _cell.x, _cell.y)


func _text_rect(byte: int) -> Rect2:
	return Rect2(_text_x(_columns) + (byte % _columns) * _cell.x, _row_y(byte), _cell.x, _cell.y)


## The byte at a position; −1 if there is none.
func _byte_at(place: Vector2) -> int:
	if contents == null:
		return -1
	var row := int(_scroll.value) + int(maxf(0, place.y - _margin()) / _cell.y)
	var column := int((place.x - _text_x(_columns)) / _cell.x)
	if place.x < _text_x(_columns):
		column = 0
		while column + 1 < _columns and place.x >= _hex_x(column + 1) - _cell.x / 2:
			column += 1
		if place.x < _hex_x(0) - _cell.x:
			return -1
	var byte := row * _columns + column
	return byte if column < _columns and byte < contents.bytes.size() else -1


func _draw_all() -> void:
	draw_rect(Rect2(Vector2.ZERO, size), _colors[&"background_color"])
	if contents:
		var last := mini(contents.bytes.size(), _first_byte() + (_visible_rows() + 1) * _columns)
		for row in range(_first_byte(), last, _columns):
			_draw_selection(row, mini(row + _columns, last))
		for row in range(_first_byte(), last, _columns):
			_draw_row(row, mini(row + _columns, last))
		_draw_problems(_first_byte(), last)
		_draw_caret(last)
	if has_focus():
		draw_style_box(get_theme_stylebox(&"focus", &"Tree"), Rect2(Vector2.ZERO, size))


func _draw_row(first: int, end: int) -> void:
	var scale := EditorInterface.get_editor_scale()
	var ascent := (_cell.y - _font.get_height(_font_size)) / 2 + _font.get_ascent(_font_size)
	var offset := ("%x" % first).lpad(_offset_digits(), "0")
	var baseline := _row_y(first) + ascent
	_draw_text(offset, _sign_width(), baseline, _colors[&"line_number_color"])
	for byte in range(first, end):
		var kind := contents.kind_of(byte)
		var color := color_of(kind)
		var hex := _hex_rect(byte)
		var text := _text_rect(byte)
		var value := contents.bytes[byte]
		var character := char(value) if value > 0x20 and value < 0x7f else "·"
		_draw_text("%02x" % value, hex.position.x, baseline, color)
		_draw_text(character, text.position.x, baseline, color)
		var joins := byte + 1 < end and byte % GROUP != GROUP - 1 and contents.kind_of(byte + 1) == kind
		draw_cue(self, kind, Vector2(hex.position.x, hex.end.y - 2.5 * scale), hex.size.x + (_cell.x if joins else 0.0), color)


func _draw_text(text: String, x: float, baseline: float, color: Color) -> void:
	draw_string(_font, Vector2(x, baseline), text, HORIZONTAL_ALIGNMENT_LEFT, -1, _font_size, color)


func _draw_caret(end: int) -> void:
	if caret < _first_byte() or caret >= end:
		return
	var scale := EditorInterface.get_editor_scale()
	for rect: Rect2 in [_hex_rect(caret), _text_rect(caret)]:
		draw_rect(rect.grow_individual(2 * scale, 0, 2 * scale, 0), _colors[&"caret_color"], false, scale)


func _draw_selection(first: int, end: int) -> void:
	var from := maxi(first, _selection_start)
	var to := mini(end, _selection_end) - 1
	if from > to:
		return
	for rect: Rect2 in [
		_hex_rect(from).merge(_hex_rect(to)).grow_individual(_cell.x / 2, 0, _cell.x / 2, 0),
		_text_rect(from).merge(_text_rect(to)),
	]:
		draw_rect(rect, _colors[&"selection_color"])


func _draw_problems(first: int, end: int) -> void:
	var scale := EditorInterface.get_editor_scale()
	# Draws warnings first, so that the icon of an error covers the icon of a warning in the same row.
	for is_error: bool in [false, true]:
		var color := _colors[&"error_color" if is_error else &"warning_color"]
		var icon := get_theme_icon(&"StatusError" if is_error else &"StatusWarning", &"EditorIcons")
		for problem in contents.problems:
			# Missing bytes at the end are marked at the last byte.
			var byte := mini(problem.offset, contents.bytes.size() - 1)
			if problem.is_error != is_error or byte < first or byte >= end:
				continue
			for rect: Rect2 in [_hex_rect(byte), _text_rect(byte)]:
				draw_rect(rect.grow_individual(2 * scale, 0, 2 * scale, 0), Color(color, 0.25))
				draw_rect(rect.grow_individual(2 * scale, 0, 2 * scale, 0), color, false, 2 * scale)
			var side := minf(_cell.y - 4 * scale, icon.get_size().y)
			draw_texture_rect(icon, Rect2((_sign_width() - side) / 2, _row_y(byte) + (_cell.y - side) / 2, side, side), false)


func _get_tooltip(at: Vector2) -> String:
	var byte := _byte_at(at)
	if byte < 0:
		return ""
	var problem := contents.problem_at(byte)
	var words := contents.byte_in_words(byte)
	return "%s\n%s" % [words, problem.message] if problem else words


func _gui_input(event: InputEvent) -> void:
	if contents == null or contents.bytes.is_empty():
		return
	var button := event as InputEventMouseButton
	if button and button.pressed:
		match button.button_index:
			MOUSE_BUTTON_WHEEL_UP:
				_scroll.value -= 3
				accept_event()
			MOUSE_BUTTON_WHEEL_DOWN:
				_scroll.value += 3
				accept_event()
			MOUSE_BUTTON_LEFT:
				grab_focus()
				var byte := _byte_at(button.position)
				if byte >= 0:
					_move_to(byte)
				accept_event()
	elif event.is_action_pressed(&"ui_copy"):
		copy()
		accept_event()
	else:
		_move_by_key(event)


func _move_by_key(event: InputEvent) -> void:
	var page := _visible_rows() * _columns
	var last := contents.bytes.size() - 1
	for move: Array in [
		[&"ui_left", caret - 1], [&"ui_right", caret + 1], [&"ui_up", caret - _columns], [&"ui_down", caret + _columns],
		[&"ui_page_up", caret - page], [&"ui_page_down", caret + page], [&"ui_home", 0], [&"ui_end", last],
	]:
		if event.is_action_pressed(move[0], true):
			_move_to(clampi(move[1], 0, last))
			accept_event()
			return


func _move_to(byte: int) -> void:
	caret = byte
	reveal(byte)
	queue_redraw()
	byte_selected.emit(byte)
