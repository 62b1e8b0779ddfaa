@tool
extends Control
## A bar chart of the times of the engine and of the codec, for encoding and decoding.

const Benchmark := preload("benchmark.gd")
const EMPTY := "Run the built-in data, or drop a file here: a JSON document, or values written by FileAccess.store_var."

var rows: Array[Benchmark.Row] = []

var _font: Font
var _font_size := 14
var _line := 20.0


func _init() -> void:
	focus_mode = Control.FOCUS_ALL
	size_flags_horizontal = Control.SIZE_EXPAND_FILL
	set(&"accessibility_name", "Results of the benchmark")


func clear() -> void:
	rows.clear()
	_fit()


func add(row: Benchmark.Row) -> void:
	rows.append(row)
	_fit()


func as_text() -> String:
	var lines := PackedStringArray(["\t".join([
		"workload", "items", "bytes", "identical", "encode, engine, ms", "encode, codec, ms", "decode, engine, ms",
		"decode, codec, ms",
	])])
	for row in rows:
		lines.append("\t".join([
			row.title, str(row.items), str(row.bytes), "yes" if row.is_identical else "no", "%.3f" % row.encode["engine"],
			"%.3f" % row.encode["codec"], "%.3f" % row.decode["engine"], "%.3f" % row.decode["codec"],
		]))
	return "\n".join(lines)


func _notification(what: int) -> void:
	match what:
		NOTIFICATION_THEME_CHANGED:
			_font = get_theme_font(&"font", &"Label")
			_font_size = get_theme_font_size(&"font_size", &"Label")
			_line = _font.get_height(_font_size) + 3 * EditorInterface.get_editor_scale()
			_fit()
		NOTIFICATION_RESIZED:
			_fit()
		NOTIFICATION_FOCUS_ENTER, NOTIFICATION_FOCUS_EXIT:
			queue_redraw()
		NOTIFICATION_DRAW:
			_draw_all()
			if has_focus():
				draw_style_box(get_theme_stylebox(&"focus", &"Tree"), Rect2(Vector2.ZERO, size))


func _fit() -> void:
	custom_minimum_size.y = 1.25 * _line + rows.size() * _row_height()
	queue_redraw()


## Whether the chart is too narrow for titles beside the bars. The titles are then above the bars.
func _is_narrow() -> bool:
	return size.x < 5.5 * _width_of("100,000 numbers, one value")


func _row_height() -> float:
	return (3.5 if _is_narrow() else 2.5) * _line


## The horizontal position of a column: 0 has the titles, 1 and 2 have the bars, 3 is the right edge.
func _column(index: int) -> float:
	var first := 0.0 if _is_narrow() else _width_of("100,000 numbers, one value") + _line
	return 0.0 if index == 0 else first + (index - 1) * (size.x - first) / 2


func _draw_all() -> void:
	var color := get_theme_color(&"font_color", &"Label")
	if rows.is_empty():
		_draw_text(EMPTY, 0, 0, Color(color, 0.75))
		return
	var titles: PackedStringArray = ["Workload", "Encode", "Decode"]
	for column in titles.size():
		if column > 0 or not _is_narrow():
			_draw_text(titles[column], _column(column), 0, Color(color, 0.75))
	for index in rows.size():
		_draw_title(rows[index], 1.25 * _line + index * _row_height())
	for column in [1, 2]:
		_draw_bars(column)


func _draw_title(row: Benchmark.Row, top: float) -> void:
	var color := get_theme_color(&"font_color", &"Label")
	_draw_text(row.title, 0, top, color)
	_draw_text(
			"identical" if row.is_identical else "NOT IDENTICAL",
			_width_of(row.title + "   ") if _is_narrow() else 0.0, top if _is_narrow() else top + _line,
			Color(color, 0.75) if row.is_identical else get_theme_color(&"error_color", &"Editor"))


## Draws two bars for each workload: the engine's, and the codec's below it.
func _draw_bars(column: int) -> void:
	var color := get_theme_color(&"font_color", &"Label")
	var gap := _width_of(" ")
	var left := _column(column) + _width_of("Engine ")
	var text_width := 0.0
	for row in rows:
		for is_codec: bool in [false, true]:
			text_width = maxf(text_width, _width_of(_number(row, column, is_codec)))
	var room := maxf(0, _column(column + 1) - left - text_width - 4 * gap)
	for index in rows.size():
		var longest := maxf(_value(rows[index], column, false), _value(rows[index], column, true))
		var y := 1.25 * _line + index * _row_height() + (_line if _is_narrow() else 0.0)
		for is_codec: bool in [false, true]:
			_draw_text("Codec" if is_codec else "Engine", _column(column), y, color)
			var length := maxf(1, room * _value(rows[index], column, is_codec) / maxf(longest, 0.001))
			draw_rect(Rect2(left, y + 0.2 * _line, length, 0.6 * _line),
					get_theme_color(&"accent_color", &"Editor") if is_codec else Color(color, 0.4))
			_draw_text(_number(rows[index], column, is_codec), left + length + gap, y, color)
			y += _line


static func _value(row: Benchmark.Row, column: int, is_codec: bool) -> float:
	var who := "codec" if is_codec else "engine"
	return row.encode[who] if column == 1 else row.decode[who]


static func _number(row: Benchmark.Row, column: int, is_codec: bool) -> String:
	var value := _value(row, column, is_codec)
	var text := "%.2f ms" % value
	return text + ", %.1f ×" % (_value(row, column, false) / maxf(value, 0.001)) if is_codec else text


func _draw_text(text: String, x: float, y: float, color: Color) -> void:
	var baseline := y + (_line - _font.get_height(_font_size)) / 2 + _font.get_ascent(_font_size)
	draw_string(_font, Vector2(x, baseline), text, HORIZONTAL_ALIGNMENT_LEFT, -1, _font_size, color)


func _width_of(text: String) -> float:
	return _font.get_string_size(text, HORIZONTAL_ALIGNMENT_LEFT, -1, _font_size).x


func _gui_input(event: InputEvent) -> void:
	var scroll := get_parent() as ScrollContainer
	if event.is_action_pressed(&"ui_copy"):
		DisplayServer.clipboard_set(as_text())
		accept_event()
	elif event.is_action_pressed(&"ui_down", true):
		scroll.scroll_vertical += int(_line * 2)
		accept_event()
	elif event.is_action_pressed(&"ui_up", true) and scroll.scroll_vertical > 0:
		scroll.scroll_vertical -= int(_line * 2)
		accept_event()
