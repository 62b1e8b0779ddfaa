## A server and its client in one window: how many bytes a moving world takes in three ways, and what the client sees if
## packets are lost.
extends Control

const Link := preload("res://demo/netcode_link.gd")
const World := preload("res://demo/world.gd")

const TICKS_PER_SECOND := 30
## The number of ticks between two updates of the figures.
const WINDOW := 15
## The client shows a tick of the past, so that it can interpolate if the next ones are lost.
const TICKS_BEHIND := 3.0
## A unit that moves farther between two ticks was born elsewhere.
const JUMP := 40.0
## The radians by which a creature can turn in a second.
const TURN := 1.5
## The bytes of a packet that ENet sends in one datagram.
const DATAGRAM := 1364.0
const HOW: PackedStringArray = [
	"An Array of Dictionaries, by var_to_bytes",
	"Packed arrays, by FastVariantPatch.diff from the newest acknowledged tick",
	"Dictionaries, by FastSnapshotWriter from acknowledged ticks",
]
const TEXT := Color("93a1c4")

var link := Link.new()

## The ticks that the client has received and still shows, the oldest first: each with its units by id.
var _received: Array[Array] = []
## The client's estimate of the server's tick.
var _clock := 0.0
var _until_tick := 0.0
var _bytes: Array[int] = [0, 0, 0]
var _arrived := 0
## The mean size of a packet, for each way.
var _sizes: Array[float] = [0.0, 0.0, 0.0]

@onready var _server: World = %Server
@onready var _client: World = %Client
@onready var _figures: Control = %Figures
@onready var _buttons: Array[Button] = [%Variants, %Differences, %Snapshots]


func _ready() -> void:
	for way in _buttons.size():
		_buttons[way].pressed.connect(set_way.bind(way))
	set_way(link.way)
	%Loss.value_changed.connect(_on_loss_changed)
	_on_loss_changed(%Loss.value)
	%Count.value_changed.connect(_on_count_changed)
	_on_count_changed(%Count.value)
	%Back.pressed.connect(get_tree().change_scene_to_file.bind("res://demo/demo.tscn"))
	_server.get_parent().resized.connect(_fit_worlds)
	_figures.draw.connect(_draw_figures)
	link.sent.connect(_on_sent)
	link.received.connect(_on_received)
	DisplayServer.window_set_vsync_mode(DisplayServer.VSYNC_ENABLED)


func _process(delta: float) -> void:
	_move_server(minf(delta, 0.1))
	_until_tick -= delta
	if _until_tick <= 0.0:
		_until_tick = maxf(_until_tick + 1.0 / TICKS_PER_SECOND, 0.0)
		link.send(_units())
	link.advance(delta)
	_show_client(delta)


func _unhandled_key_input(event: InputEvent) -> void:
	var way := (event as InputEventKey).keycode - KEY_1
	if event.is_pressed() and way in Link.Way.values():
		set_way(way as Link.Way)


func set_way(to: Link.Way) -> void:
	link.way = to
	_buttons[to].button_pressed = true


## Each kind of creature follows a current of its own, so that all of them keep turning.
func _move_server(delta: float) -> void:
	for creature: Dictionary in _server.state["creatures"]:
		var velocity: Vector2 = creature["velocity"]
		var turn := velocity.angle_to(_current(creature["position"], World.KINDS.find(creature["kind"])))
		creature["velocity"] = velocity.rotated(clampf(turn, -TURN * delta, TURN * delta))
	_server.advance(delta)
	_server.draw_all()


## The direction of a current that changes with time and leads along the borders.
func _current(position_in_world: Vector2, kind: int) -> Vector2:
	var time: float = _server.state["time"]
	var at := position_in_world / World.SIZE * PI
	var wide := sin(time * 0.23 + kind * 1.7)
	var high := cos(time * 0.31 + kind * 2.9)
	return Vector2(
		wide * sin(at.x * 2.0) * cos(at.y) + high * 2.0 * sin(at.x) * cos(at.y * 2.0),
		wide * -2.0 * cos(at.x * 2.0) * sin(at.y) - high * cos(at.x) * sin(at.y * 2.0),
	)


## The server's creatures, with the fields that the client needs.
func _units() -> Dictionary[int, Dictionary]:
	var units: Dictionary[int, Dictionary] = {}
	for creature: Dictionary in _server.state["creatures"]:
		units[creature["id"]] = {
			"id": creature["id"], "kind": World.KINDS.find(creature["kind"]), "position": creature["position"],
			"rotation": creature["velocity"].angle(), "hp": int(creature["hp"]),
		}
	return units


## Shows the units between two received ticks.
func _show_client(delta: float) -> void:
	_clock += delta * TICKS_PER_SECOND
	var shown := _clock - TICKS_BEHIND
	while _received.size() > 2 and _received[1][0] <= shown:
		_received.pop_front()
	if _received.size() < 2:
		return
	var weight := clampf(inverse_lerp(_received[0][0], _received[1][0], shown), 0.0, 1.0)
	var creatures: Array[Dictionary] = []
	for id: int in _received[1][1]:
		var newer: Dictionary = _received[1][1][id]
		var older: Dictionary = _received[0][1].get(id, newer)
		if newer["position"].distance_to(older["position"]) > JUMP:
			older = newer
		creatures.append({
			"id": id, "kind": World.KINDS[newer["kind"]], "hp": newer["hp"],
			"position": older["position"].lerp(newer["position"], weight),
			"velocity": Vector2.from_angle(lerp_angle(older["rotation"], newer["rotation"], weight)),
		})
	_client.state = {"time": shown / TICKS_PER_SECOND, "creatures": creatures}
	_client.draw_all()


func _on_sent(tick: int, _units_sent: Dictionary, packets: Array[PackedByteArray]) -> void:
	for way in _bytes.size():
		_bytes[way] += packets[way].size()
	if tick % WINDOW > 0:
		return
	for way in _bytes.size():
		_sizes[way] = float(_bytes[way]) / WINDOW
		_bytes[way] = 0
	%Tick.text = "tick %d" % tick
	%Arrived.text = "%d %% of the ticks arrive: %.1f KB/s on the wire" % [
		mini(100 * _arrived / WINDOW, 100), link.pop_received_bytes() / WINDOW * TICKS_PER_SECOND / 1000.0,
	]
	_arrived = 0
	_figures.queue_redraw()


func _on_received(tick: int, units: Array[Dictionary]) -> void:
	_arrived += 1
	_clock = clampf(_clock, tick, tick + 2.0)
	_received.append([tick, units[link.way]])


func _on_loss_changed(percent: float) -> void:
	link.loss = percent / 100.0
	%LossLabel.text = "%d %% loss" % percent


func _on_count_changed(count: float) -> void:
	_server.populate(int(count))
	%CountLabel.text = "%d units" % count


func _fit_worlds() -> void:
	var room: Vector2 = _server.get_parent().size / World.SIZE
	_server.scale = Vector2.ONE * minf(room.x, room.y)
	_client.scale = _server.scale


## Draws a bar beside the button of each way, with its figures.
func _draw_figures() -> void:
	var width := _figures.size.x
	for way in _buttons.size():
		var top := _buttons[way].position.y
		var datagrams := ceili(_sizes[way] / DATAGRAM)
		_write("%.1f KB/s" % (_sizes[way] * TICKS_PER_SECOND / 1000.0), top + 22.0, 22, Color.WHITE)
		_write("%.1f bytes for a unit and tick, %d datagram%s" % [
			_sizes[way] / %Count.value, datagrams, "" if datagrams == 1 else "s",
		], top + 22.0, 14, TEXT, HORIZONTAL_ALIGNMENT_RIGHT)
		_figures.draw_rect(Rect2(0, top + 33.0, width, 18), Color(TEXT, 0.08))
		var bar := width * _sizes[way] / maxf(_sizes.max(), 1.0)
		_figures.draw_rect(Rect2(0, top + 33.0, bar, 18), _buttons[way].self_modulate)
		_write(HOW[way], top + 72.0, 14, TEXT)


func _write(text: String, y: float, font_size: int, color: Color, alignment := HORIZONTAL_ALIGNMENT_LEFT) -> void:
	_figures.draw_string(get_theme_default_font(), Vector2(0, y), text, alignment, _figures.size.x, font_size, color)
