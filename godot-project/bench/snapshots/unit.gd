## A unit of the measured world: it walks to places, turning at up to 3 rad/s and accelerating at 8 m/s² up to 4 m/s, and
## rests in between. About two thirds of the units move. The crate's example `units` has the same rules.
extends RefCounted

const Unit := preload("res://bench/snapshots/unit.gd")

const COUNT := 120
const TICK := 1.0 / 30.0
const PROPERTIES: PackedStringArray = ["position", "velocity", "rotation", "hp", "state", "is_hit", "is_selected"]

var position := Vector2.ZERO
var velocity := Vector2.ZERO
var rotation := 0.0
var hp := 100
var state := 0
var is_hit := false
var is_selected := false
var _goal := Vector2.ZERO
var _speed := 0.0
## The seconds until the unit starts or stops walking.
var _left := 0.0


static func schema() -> FastSnapshotSchema:
	var made := FastSnapshotSchema.new()
	made.add_vector2("position", 0, 100, 0.01)
	made.add_vector2("velocity", -5, 5, 0.1)
	made.add_angle("rotation", 8)
	made.add_int("hp", 0, 100)
	made.add_int("state", 0, 7)
	made.add_bool("is_hit")
	made.add_bool("is_selected")
	return made


## The properties of units as Dictionaries.
static func dictionaries(units: Dictionary) -> Dictionary:
	var rows := {}
	for id: int in units:
		rows[id] = units[id].to_dictionary()
	return rows


## A packed array for each property.
static func columns(units: Dictionary) -> Dictionary:
	var made := {
		"position": PackedVector2Array(), "velocity": PackedVector2Array(), "rotation": PackedFloat64Array(),
		"hp": PackedInt64Array(), "state": PackedInt64Array(), "is_hit": PackedByteArray(), "is_selected": PackedByteArray(),
	}
	for property: String in made:
		for id: int in units:
			made[property].append(units[id].get(property))
	return made


static func world(random: RandomNumberGenerator) -> Dictionary[int, Unit]:
	var units: Dictionary[int, Unit] = {}
	for id in COUNT:
		units[id] = Unit.new()
		units[id]._start(random)
	return units


## A unit with these properties.
static func of(properties: Dictionary) -> Unit:
	var unit := Unit.new()
	for property: String in properties:
		unit.set(property, properties[property])
	return unit


func step(random: RandomNumberGenerator) -> void:
	_left -= TICK
	if _left < 0.0:
		state = 1 - state
		_left = 2.0 + random.randf() * (8.0 if state else 3.0)
		_goal = _place(random)
	if state:
		rotation += clampf(angle_difference(rotation, (_goal - position).angle()), -3.0 * TICK, 3.0 * TICK)
	_speed = clampf(_speed + (8.0 if state else -8.0) * TICK, 0.0, 4.0)
	velocity = Vector2.from_angle(rotation) * _speed
	position += velocity * TICK
	var hit := random.randi() % 300 == 0 and hp > 0
	hp -= int(hit)
	# A hit shows for 6 ticks; a tenth of the units are selected.
	is_hit = hit or is_hit and random.randi() % 6 > 0
	is_selected = random.randi() % 90 > 0 if is_selected else random.randi() % 810 == 0


func is_moving() -> bool:
	return _speed > 0.0


func to_dictionary() -> Dictionary:
	return {
		"position": position, "velocity": velocity, "rotation": rotation, "hp": hp, "state": state, "is_hit": is_hit,
		"is_selected": is_selected,
	}


func _start(random: RandomNumberGenerator) -> void:
	position = _place(random)
	_goal = _place(random)
	rotation = random.randf() * TAU
	state = int(random.randi() % 3 > 0)
	_left = random.randf() * 3.0


static func _place(random: RandomNumberGenerator) -> Vector2:
	return Vector2(random.randf(), random.randf()) * 100.0
