## A live graph of frame times: one column for each sixtieth of a second, as high as its longest frame. The
## columns of frames with a snapshot are wider and coloured, and set the scale.
extends Control

## The kind of snapshot that is taken in a frame, if any.
enum Work { NONE, ENGINE, CODEC }

const COLORS: Dictionary[Work, Color] = {
	Work.NONE: Color("4b5876"), Work.ENGINE: Color("ff9f43"), Work.CODEC: Color("2ed8a7"),
}
const COLUMN_SECONDS := 1.0 / 60.0
const SPIKE_WIDTH := 5.0
const LEFT := 58.0
const TEXT := Color("93a1c4")
const FONT_SIZE := 13

var _times := PackedFloat32Array()
var _works := PackedByteArray()
var _longest := 0.0
var _work := Work.NONE
var _elapsed := 0.0
var _top := 20.0


func add(seconds: float, work: Work) -> void:
	if work != Work.NONE or (_work == Work.NONE and seconds > _longest):
		_longest = seconds
		_work = work
	_elapsed += seconds
	if _elapsed < COLUMN_SECONDS:
		return
	var columns := int(size.x - LEFT)
	while _elapsed >= COLUMN_SECONDS and columns > 0:
		_elapsed -= COLUMN_SECONDS
		_times.append(_longest * 1000.0)
		_works.append(_work)
	_longest = 0.0
	_work = Work.NONE
	if _times.size() > columns:
		_times = _times.slice(-columns)
		_works = _works.slice(-columns)
	queue_redraw()


func _draw() -> void:
	var highest := 0.0
	for index in _times.size():
		if _works[index] != Work.NONE:
			highest = maxf(highest, _times[index])
	_top = lerpf(_top, maxf(highest * 1.2, 20.0), 0.2)
	_draw_grid()
	var start := size.x - _times.size()
	for index in _times.size():
		if _works[index] == Work.NONE:
			_draw_column(start + index, 1.0, index)
	for index in _times.size():
		if _works[index] != Work.NONE:
			_draw_column(start + index - SPIKE_WIDTH, SPIKE_WIDTH, index)


func _draw_column(x: float, width: float, index: int) -> void:
	var height := minf(_times[index] / _top, 1.0) * size.y
	draw_rect(Rect2(x, size.y - height, width, height), COLORS[_works[index] as Work])


## Draws a line at each multiple of a sixtieth of a second, or fewer lines if these would be too close
## together.
func _draw_grid() -> void:
	var font := get_theme_default_font()
	var step := 1000.0 / 60.0
	while step / _top * size.y < 30.0:
		step *= 2.0
	var time := step
	while time < _top:
		var y := size.y - time / _top * size.y
		draw_line(Vector2(LEFT, y), Vector2(size.x, y), Color(TEXT, 0.18))
		draw_string(font, Vector2(0, y + 5), "%.0f ms" % time, HORIZONTAL_ALIGNMENT_RIGHT, LEFT - 8, FONT_SIZE, TEXT)
		time += step
	draw_line(Vector2(LEFT, size.y), size, Color(TEXT, 0.4))
