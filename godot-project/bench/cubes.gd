## Records the scene of Glenn Fiedler's article "Snapshot Compression" with the engine's default physics (Godot
## Physics), for the example `cubes` of the crate variant_snapshot: the player's cube drives through 900 small
## ones and pulls some along.
## godot --headless --fixed-fps 60 --path godot-project --script res://bench/cubes.gd -- --file FILE
##
## The file has eight little-endian 32-bit floats for each tick and cube, the player's first: the position in
## metres, the quaternion, and 1 if the cube interacts with the player, otherwise 0. With --fixed-fps, the engine
## does not wait between ticks.
extends SceneTree

const Options := preload("res://suites/options.gd")

const TICKS := 1200
## The ticks before the recording, in which the new cubes settle and fall asleep.
const REST := 60
const SIDE := 30
## The edges of cubes.
const SMALL := 0.4
const LARGE := 1.4
## The player's acceleration and top speed.
const DRIVE := 14.0
const FASTEST := 6.0
## The acceleration of cubes within this distance from the player.
const PULL := 18.0
const REACH := 3.0

var _file: FileAccess
var _random := RandomNumberGenerator.new()
var _cubes: Array[RigidBody3D] = []
## The cubes that the player has touched or pulled, until they sleep.
var _interacting: Dictionary[Node3D, bool] = {}
var _goal := Vector3.ZERO
var _is_pulling := false
var _tick := -REST


func _initialize() -> void:
	var options := {"file": "", "seed": 1}
	if Options.read(options, get_script()):
		_file = FileAccess.open(options["file"], FileAccess.WRITE)
	if not _file:
		printerr("Nothing is recorded: expected --file and a path that can be written.")
		quit(1)
		return
	_random.seed = options["seed"]
	_add(StaticBody3D.new(), WorldBoundaryShape3D.new(), Vector3.ZERO)
	_add_cube(LARGE, Vector3(0, LARGE / 2, SIDE / 2.0 + 2))
	_cubes[0].can_sleep = false
	_cubes[0].contact_monitor = true
	_cubes[0].max_contacts_reported = 64
	for index in SIDE * SIDE:
		_add_cube(SMALL, Vector3(index % SIDE - (SIDE - 1) / 2.0, SMALL / 2, index / SIDE - (SIDE - 1) / 2.0))


func _add_cube(edge: float, at: Vector3) -> void:
	var cube := RigidBody3D.new()
	var box := BoxShape3D.new()
	box.size = Vector3.ONE * edge
	cube.mass = pow(edge / SMALL, 3)
	_add(cube, box, at)
	_cubes.append(cube)


func _add(body: PhysicsBody3D, shape: Shape3D, at: Vector3) -> void:
	var collision := CollisionShape3D.new()
	collision.shape = shape
	body.add_child(collision)
	body.position = at
	root.add_child(body)


func _physics_process(_delta: float) -> bool:
	if _tick >= 0:
		_record()
		_drive(_cubes[0])
	_tick += 1
	return _tick == TICKS


func _record() -> void:
	var floats := PackedFloat32Array()
	for cube in _cubes:
		var at := cube.position
		var turn := cube.quaternion
		floats.append_array([at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w, float(cube in _interacting)])
	_file.store_buffer(floats.to_byte_array())


## Drives to random places. On two of three ways, the player pulls.
func _drive(player: RigidBody3D) -> void:
	if _tick % 90 == 0:
		_goal = Vector3(_random.randf_range(-15, 15), 0, _random.randf_range(-15, 15))
		_is_pulling = _random.randi_range(0, 2) > 0
	if player.linear_velocity.length() < FASTEST:
		player.apply_central_force(player.position.direction_to(_goal) * DRIVE * player.mass)
	for body in player.get_colliding_bodies():
		_interacting[body] = true
	for cube in _cubes:
		if _is_pulling and cube != player and cube.position.distance_to(player.position) < REACH:
			cube.apply_central_force(cube.position.direction_to(player.position) * PULL * cube.mass)
			_interacting[cube] = true
		elif cube.sleeping:
			_interacting.erase(cube)
