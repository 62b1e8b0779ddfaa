@tool
extends Control
## Bars for what was measured: encoding, decoding and size, each of the engine and of the codec.

const Benchmark := preload("benchmark.gd")

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


## The results as a table of tab-separated columns.
func as_text() -> String:
	var lines := PackedStringArray(["workload\titems\tbytes\tidentical\tencode engine ms\tencode codec ms\tdecode engine ms\tdecode codec ms"])
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
		NOTIFICATION_FOCUS_ENTER, NOTIFICATION_FOCUS_EXIT:
			queue_redraw()
		NOTIFICATION_DRAW:
			_draw_all()
			if has_focus():
				draw_style_box(get_theme_stylebox(&"focus", &"Tree"), Rect2(Vector2.ZERO, size))


func _fit() -> void:
	custom_minimum_size.y = _line * 1.25 + rows.size() * _row_height() if rows else 0.0
	queue_redraw()


func _row_height() -> float:
	return 2.5 * _line


## Where the columns start: the workload, three with bars, and the end.
func _column(index: int) -> float:
	var first := minf(_width_of("100,000 numbers, one value") + _line, size.x / 4)
	return 0.0 if index == 0 else first + (index - 1) * (size.x - first) / 3


func _draw_all() -> void:
	if rows.is_empty():
		return
	var titles: PackedStringArray = ["Workload", "Encode", "Decode", "Size"]
	for index in titles.size():
		_draw_text(titles[index], Rect2(_column(index), 0, _column(index + 1) - _column(index), _line),
				Color(get_theme_color(&"font_color", &"Label"), 0.75))
	for index in rows.size():
		_draw_row(rows[index], _line * 1.25 + index * _row_height())


func _draw_row(row: Benchmark.Row, top: float) -> void:
	var color := get_theme_color(&"font_color", &"Label")
	var width := _column(1) - _line / 2
	_draw_text(row.title, Rect2(0, top, width, _line), color)
	_draw_text("identical" if row.is_identical else "NOT IDENTICAL", Rect2(0, top + _line, width, _line),
			Color(color, 0.75) if row.is_identical else get_theme_color(&"error_color", &"Editor"))
	var sizes: Dictionary[String, float] = {"engine": row.bytes, "codec": row.bytes}
	_draw_bars(row.encode, _milliseconds, 1, top)
	_draw_bars(row.decode, _milliseconds, 2, top)
	_draw_bars(sizes, func(bytes: float) -> String: return String.humanize_size(int(bytes)), 3, top)


## One bar for the engine, and one for the codec below it.
func _draw_bars(values: Dictionary[String, float], format: Callable, column: int, top: float) -> void:
	var color := get_theme_color(&"font_color", &"Label")
	var names: Dictionary[String, String] = {"engine": "Engine", "codec": "Codec"}
	var left := _column(column) + _width_of("Engine ")
	var room := _column(column + 1) - left - _width_of(" 0000.00 ms, 00.0 × ")
	var longest := maxf(maxf(values["engine"], values["codec"]), 0.001)
	for key: String in names:
		var is_codec := key == "codec"
		var y := top + (_line if is_codec else 0.0)
		var text: String = format.call(values[key])
		if is_codec and column < 3:
			text += ", %.1f ×" % (values["engine"] / maxf(values["codec"], 0.001))
		_draw_text(names[key], Rect2(_column(column), y, left - _column(column), _line), color)
		var bar := Rect2(left, y + _line * 0.2, maxf(1, room * values[key] / longest), _line * 0.6)
		draw_rect(bar, get_theme_color(&"accent_color", &"Editor") if is_codec else Color(color, 0.4))
		_draw_text(text, Rect2(bar.end.x + _width_of(" "), y, _column(column + 1) - bar.end.x, _line), color)


func _draw_text(text: String, area: Rect2, color: Color) -> void:
	var baseline := area.position.y + (_line - _font.get_height(_font_size)) / 2 + _font.get_ascent(_font_size)
	draw_string(_font, Vector2(area.position.x, baseline), text, HORIZONTAL_ALIGNMENT_LEFT, area.size.x, _font_size, color,
			TextServer.JUSTIFICATION_NONE)


func _width_of(text: String) -> float:
	return _font.get_string_size(text, HORIZONTAL_ALIGNMENT_LEFT, -1, _font_size).x


static func _milliseconds(time: float) -> String:
	return "%.2f ms" % time


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
