## A small world: creatures that wander about and fall ill in a storm that crosses the land. Its state is plain
## Variants, and one call draws all creatures.
extends MultiMeshInstance2D

const SIZE := Vector2(872, 458)
const STORM_RADIUS := 95.0
const KINDS: Array[StringName] = [&"fox", &"hare", &"wolf", &"deer"]
const COLORS: Array[Color] = [Color("ffb454"), Color("8fd3ff"), Color("c3a6ff"), Color("9be28f")]
const ILL := Color("e8404f")
const THINGS: Array[StringName] = [&"apple", &"rope", &"map", &"lantern", &"key", &"coin"]

## The number of frames in which the health of every creature is updated once.
const TURNS := 8

## The number of floats for each instance in the engine's buffer: eight for the transform, four for the
## colour.
const FLOATS := 12

## How many times as large creatures are drawn.
@export var creature_scale := 1.0

## The contents of a snapshot: [code]time[/code] in seconds, and [code]creatures[/code].
var state := {"time": 0.0, "creatures": []}

var _buffer := PackedFloat32Array()
var _turn := 0


func _ready() -> void:
	multimesh.mesh = _arrow(creature_scale)


func populate(count: int) -> void:
	var creatures: Array = state["creatures"]
	while creatures.size() < count:
		creatures.append(_creature(creatures.size()))
	creatures.resize(count)
	draw_all()


func advance(delta: float) -> void:
	state["time"] += delta
	_turn = (_turn + 1) % TURNS
	var storm := storm_position()
	var creatures: Array = state["creatures"]
	for index in creatures.size():
		var creature: Dictionary = creatures[index]
		var velocity: Vector2 = creature["velocity"]
		var place: Vector2 = creature["position"] + velocity * delta
		if place.x < 0.0 or place.x > SIZE.x or place.y < 0.0 or place.y > SIZE.y:
			velocity = velocity.bounce(Vector2.RIGHT if place.x < 0.0 or place.x > SIZE.x else Vector2.DOWN)
			place = place.clamp(Vector2.ZERO, SIZE)
			creature["velocity"] = velocity
			_turn_to(index, velocity)
		creature["position"] = place
		_buffer[index * FLOATS + 3] = place.x
		_buffer[index * FLOATS + 7] = place.y
		if index % TURNS == _turn:
			_heal_or_harm(index, creature, storm, delta * TURNS)
	multimesh.buffer = _buffer
	queue_redraw()


## Redraws the state after it was replaced.
func draw_all() -> void:
	var creatures: Array = state["creatures"]
	multimesh.instance_count = creatures.size()
	_buffer.resize(creatures.size() * FLOATS)
	for index in creatures.size():
		var place: Vector2 = creatures[index]["position"]
		_buffer[index * FLOATS + 3] = place.x
		_buffer[index * FLOATS + 7] = place.y
		_turn_to(index, creatures[index]["velocity"])
		_paint(index, creatures[index])
	multimesh.buffer = _buffer
	queue_redraw()


func storm_position() -> Vector2:
	var time: float = state["time"]
	return SIZE * (Vector2(sin(time * 0.31), sin(time * 0.47 + 1.0)) * 0.38 + Vector2(0.5, 0.5))


func _draw() -> void:
	for ring in 6:
		draw_circle(storm_position(), STORM_RADIUS * (1.0 - ring * 0.12), Color(0.55, 0.65, 1.0, 0.05))


static func _arrow(size: float) -> ArrayMesh:
	var outline := PackedVector2Array([Vector2(5, 0), Vector2(-3, 3), Vector2(-1.5, 0), Vector2(-3, -3)])
	var arrays: Array = []
	arrays.resize(Mesh.ARRAY_MAX)
	arrays[Mesh.ARRAY_VERTEX] = Transform2D(0.0, Vector2.ONE * size, 0.0, Vector2.ZERO) * outline
	arrays[Mesh.ARRAY_INDEX] = PackedInt32Array([0, 1, 2, 0, 2, 3])
	var mesh := ArrayMesh.new()
	mesh.add_surface_from_arrays(Mesh.PRIMITIVE_TRIANGLES, arrays)
	return mesh


func _creature(id: int) -> Dictionary:
	var direction := Vector2.from_angle(randf() * TAU)
	return {
		"id": id, "kind": KINDS[id % KINDS.size()], "name": "%s %d" % [KINDS[id % KINDS.size()], id],
		"position": Vector2(randf(), randf()) * SIZE, "velocity": direction * randf_range(12.0, 45.0),
		"hp": randf_range(60.0, 100.0), "lives": 1,
		"inventory": [{"thing": THINGS[id % THINGS.size()], "count": 1 + id % 5}],
	}


func _heal_or_harm(index: int, creature: Dictionary, storm: Vector2, delta: float) -> void:
	var place: Vector2 = creature["position"]
	var before: float = creature["hp"]
	var harm := 45.0 if place.distance_squared_to(storm) < STORM_RADIUS * STORM_RADIUS else -8.0
	var hp := minf(before - harm * delta, 100.0)
	if hp == before:
		return
	if hp <= 0.0:
		# Another creature replaces the dead one, and inherits its inventory with one more thing.
		hp = 100.0
		creature["lives"] += 1
		creature["position"] = Vector2(randf(), randf()) * SIZE
		var inventory: Array = creature["inventory"]
		inventory.append({"thing": THINGS.pick_random(), "count": 1})
		if inventory.size() > 6:
			inventory.pop_front()
	creature["hp"] = hp
	_paint(index, creature)


func _turn_to(index: int, velocity: Vector2) -> void:
	var forward := velocity.normalized()
	_buffer[index * FLOATS] = forward.x
	_buffer[index * FLOATS + 1] = -forward.y
	_buffer[index * FLOATS + 4] = forward.y
	_buffer[index * FLOATS + 5] = forward.x


func _paint(index: int, creature: Dictionary) -> void:
	var color := ILL.lerp(COLORS[KINDS.find(creature["kind"])], creature["hp"] / 100.0)
	_buffer[index * FLOATS + 8] = color.r
	_buffer[index * FLOATS + 9] = color.g
	_buffer[index * FLOATS + 10] = color.b
	_buffer[index * FLOATS + 11] = color.a
