## Saves and restores a whole world every second, with the engine's functions or with the codec, and shows the effect on
## the frame time.
extends Control

const Graph := preload("res://demo/graph.gd")
const World := preload("res://demo/world.gd")

enum Manner { ENGINE, CODEC, IN_TURN }

const SECONDS_BETWEEN := 1.0
## The number of kept snapshots, and of measurements per median.
const KEPT := 5
const COUNT_STEP := 1000.0
## The health below which a creature is ill.
const ILL := 50.0


## The times of the snapshots of one kind, in milliseconds.
class Times:
	extends RefCounted
	var save := PackedFloat64Array()
	var restore := PackedFloat64Array()
	var find := PackedFloat64Array()

	func add(save_usec: int, restore_usec: int, find_usec: int) -> void:
		save = _added(save, save_usec)
		restore = _added(restore, restore_usec)
		find = _added(find, find_usec)

	static func _added(times: PackedFloat64Array, usec: int) -> PackedFloat64Array:
		times.append(usec / 1000.0)
		return times.slice(-KEPT)

	static func typical(times: PackedFloat64Array) -> float:
		if times.is_empty():
			return 0.0
		var sorted := times.duplicate()
		sorted.sort()
		return sorted[sorted.size() / 2]


## Emitted after the world was saved to bytes and restored from them.
signal snapshot_taken(by: Manner, bytes: PackedByteArray)

var manner := Manner.IN_TURN: set = set_manner

var _times: Dictionary[Manner, Times] = {Manner.ENGINE: Times.new(), Manner.CODEC: Times.new()}
var _snapshots: Array[PackedByteArray] = []
var _until_snapshot := SECONDS_BETWEEN
var _last_by := Manner.ENGINE
var _work := Graph.Work.NONE
var _frame_started := Time.get_ticks_usec()

@onready var world: World = %World
@onready var _ground: Control = %Ground
@onready var _graph: Graph = %Graph
@onready var _count: HSlider = %Count
@onready var _buttons: Array[Button] = [%ByEngine, %ByCodec, %InTurn]
@onready var _pause: Button = %Pause


func _ready() -> void:
	for index in _buttons.size():
		_buttons[index].pressed.connect(set_manner.bind(index))
	_count.value_changed.connect(_on_count_changed)
	_ground.resized.connect(_fit_world)
	_fit_world()
	%Back.pressed.connect(go_back)
	%Netcode.pressed.connect(get_tree().change_scene_to_file.bind("res://demo/netcode.tscn"))
	_on_count_changed(_count.value)
	_buttons[manner].grab_focus()
	# The frame time should show the work, not the wait for the screen.
	DisplayServer.window_set_vsync_mode(DisplayServer.VSYNC_DISABLED)


func _process(delta: float) -> void:
	var now := Time.get_ticks_usec()
	_graph.add((now - _frame_started) / 1e6, _work)
	_frame_started = now
	_work = Graph.Work.NONE
	if _pause.button_pressed:
		return
	world.advance(minf(delta, 0.1))
	_until_snapshot -= delta
	if _until_snapshot <= 0.0:
		_until_snapshot += SECONDS_BETWEEN
		take_snapshot()


func _unhandled_key_input(event: InputEvent) -> void:
	if not event.is_pressed():
		return
	match (event as InputEventKey).keycode:
		KEY_1, KEY_2, KEY_3:
			manner = ((event as InputEventKey).keycode - KEY_1) as Manner
		KEY_B:
			go_back()
		KEY_P:
			_pause.button_pressed = not _pause.button_pressed
		KEY_PLUS, KEY_EQUAL, KEY_KP_ADD:
			_count.value += COUNT_STEP
		KEY_MINUS, KEY_KP_SUBTRACT:
			_count.value -= COUNT_STEP


func set_manner(to: Manner) -> void:
	manner = to
	if is_node_ready():
		_buttons[to].button_pressed = true


## Saves the world to bytes and restores it from them.
func take_snapshot() -> void:
	var by := manner
	if manner == Manner.IN_TURN:
		by = Manner.CODEC if _last_by == Manner.ENGINE else Manner.ENGINE
	_last_by = by
	var with_codec := by == Manner.CODEC
	_work = Graph.Work.CODEC if with_codec else Graph.Work.ENGINE
	var started := Time.get_ticks_usec()
	var bytes := FastVariantCodec.encode(world.state) if with_codec else var_to_bytes(world.state)
	var saved := Time.get_ticks_usec()
	var restored: Variant = FastVariantCodec.decode(bytes) if with_codec else bytes_to_var(bytes)
	var ended := Time.get_ticks_usec()
	var ill := find_ill_in_bytes(bytes) if with_codec else find_ill(bytes_to_var(bytes))
	var found := Time.get_ticks_usec()
	world.state = restored
	_snapshots = _snapshots.slice(1 - KEPT) + ([bytes] as Array[PackedByteArray])
	_times[by].add(saved - started, ended - saved, found - ended)
	_show_times(bytes, ill.size())
	snapshot_taken.emit(by, bytes)


static func find_ill(state: Dictionary) -> PackedInt64Array:
	var ill := PackedInt64Array()
	var creatures: Array = state["creatures"]
	for index in creatures.size():
		if creatures[index]["hp"] < ILL:
			ill.append(index)
	return ill


## The indices that `find_ill` returns, found without decoding the snapshot.
static func find_ill_in_bytes(snapshot: PackedByteArray) -> PackedInt64Array:
	return FastVariantView.open(snapshot).rows("creatures", "hp", "<", ILL)


## Restores the oldest of the kept snapshots.
func go_back() -> void:
	if _snapshots.is_empty():
		return
	world.state = FastVariantCodec.decode(_snapshots[0])
	_snapshots.clear()
	world.draw_all()
	var creatures: Array = world.state["creatures"]
	_count.set_value_no_signal(creatures.size())
	_show_count(creatures.size())


func _fit_world() -> void:
	var room := _ground.size / World.SIZE
	world.scale = Vector2.ONE * minf(room.x, room.y)


func _on_count_changed(count: float) -> void:
	world.populate(int(count))
	_show_count(int(count))
	for by in _times:
		_times[by] = Times.new()


func _show_count(count: int) -> void:
	%CountLabel.text = "%d creatures" % count


func _show_times(bytes: PackedByteArray, ill: int) -> void:
	var engine := _times[Manner.ENGINE]
	var codec := _times[Manner.CODEC]
	for row: Array in [
		[engine.save, codec.save, %EngineSave, %CodecSave, %SaveRatio],
		[engine.restore, codec.restore, %EngineRestore, %CodecRestore, %RestoreRatio],
		[engine.find, codec.find, %EngineFind, %CodecFind, %FindRatio],
	]:
		var by_engine := Times.typical(row[0])
		var by_codec := Times.typical(row[1])
		row[2].text = "%.2f ms" % by_engine if by_engine > 0.0 else "–"
		row[3].text = "%.2f ms" % by_codec if by_codec > 0.0 else "–"
		row[4].text = "%.1f ×" % (by_engine / by_codec) if by_engine > 0.0 and by_codec > 0.0 else "–"
	%Size.text = "%s, the same bytes from both\n%d creatures are ill" % [String.humanize_size(bytes.size()), ill]
