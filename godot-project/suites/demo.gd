## Runs the demo for a few hundred frames in each manner, and compares its snapshots with the engine. Then, in the
## netcode demo, compares the client's units with the server's while packets are lost:
## godot --headless --fixed-fps 60 --path godot-project --script res://suites/demo.gd
extends SceneTree

const Checks := preload("res://suites/checks.gd")
const Messages := preload("res://demo/messages.gd")
const Extension := preload("res://suites/extension.gd")

const FRAMES := 240
const MANNERS: PackedStringArray = ["engine", "codec", "in turn"]
const WAYS: PackedStringArray = ["Variants", "differences", "snapshots"]
## The ticks that arrive in each way.
const TICKS := 160
const LOSS := 20.0

var _checks := Checks.new()
var _demo: Variant
var _taken := 0
var _ill := 0
var _netcode: Variant
## The units that the server has sent, by tick, and the bytes that they take, by way.
var _sent: Dictionary[int, Dictionary] = {}
var _bytes: Array[int] = [0, 0, 0]


func _initialize() -> void:
	if not Extension.is_loaded():
		quit(1)
		return
	_demo = (load("res://demo/demo.tscn") as PackedScene).instantiate()
	root.add_child(_demo)
	_demo.snapshot_taken.connect(_check_snapshot)
	process_frame.connect(_run, CONNECT_ONE_SHOT)


func _run() -> void:
	for manner in MANNERS.size():
		_checks.begin_test(MANNERS[manner])
		_press(KEY_1 + manner)
		_taken = 0
		for frame in FRAMES:
			await process_frame
		_checks.same_int("snapshots", FRAMES / 60, _taken)
		_checks.same_int("the button that is pressed", manner, _demo.manner)
	_checks.truth("somebody was ill", _ill > 0)
	_checks.begin_test("messages")
	var sizes := Messages.sizes_of(_demo.world.state)
	_checks.truth("the messages hold the world", sizes["protobuf"] > 0 and sizes["own wire"] > 0)
	_checks.truth("they are smaller", sizes["own wire"] <= sizes["protobuf"] and sizes["protobuf"] < sizes["Godot"], str(sizes))
	_checks.begin_test("keys")
	await _check_keys()
	_demo.get_node("%Netcode").pressed.emit()
	_demo.free()
	await _check_netcode()
	print("%d passed, %d failed" % [_checks.passed, _checks.failed])
	quit(0 if _checks.failed == 0 else 1)


## The restored world encodes to the snapshot, byte for byte, with both the engine and the codec.
func _check_snapshot(by: int, bytes: PackedByteArray) -> void:
	_taken += 1
	var state: Dictionary = _demo.world.state
	_checks.same_bytes("what was restored, by the engine", var_to_bytes(state), bytes)
	_checks.same_bytes("what was restored, by the codec", FastVariantCodec.encode(state), bytes)
	_checks.same_value("the engine's own", bytes_to_var(bytes), state)
	var ill: PackedInt64Array = _demo.find_ill(state)
	_checks.same_value("who is ill", ill, _demo.find_ill_in_bytes(bytes))
	_ill += ill.size()
	if _demo.manner != _demo.Manner.IN_TURN:
		_checks.same_int("by whom", _demo.manner, by)


func _check_keys() -> void:
	var oldest: PackedByteArray = _demo._snapshots[0]
	_press(KEY_B)
	_checks.same_bytes("back to the oldest snapshot", oldest, var_to_bytes(_demo.world.state))
	_press(KEY_P)
	for frame in 10:
		await process_frame
	_checks.same_bytes("nothing moves in a pause", oldest, var_to_bytes(_demo.world.state))
	_press(KEY_P)
	for frame in 10:
		await process_frame
	_checks.truth("it moves again", var_to_bytes(_demo.world.state) != oldest)
	var before: int = _demo.world.state["creatures"].size()
	_press(KEY_MINUS)
	_checks.same_int("fewer creatures", before - 1000, _demo.world.state["creatures"].size())
	_press(KEY_EQUAL)
	_checks.same_int("more creatures", before, _demo.world.multimesh.instance_count)


func _check_netcode() -> void:
	await process_frame
	await process_frame
	_netcode = current_scene
	_netcode.get_node("%Loss").value = LOSS
	# The first snapshots do not hold all units.
	for frame in FRAMES:
		await process_frame
	_netcode.link.sent.connect(_note_units)
	_netcode.link.received.connect(_check_units)
	for way in WAYS.size():
		_checks.begin_test(WAYS[way])
		_press(KEY_1 + way)
		var count := 300 - 50 * way
		_netcode.get_node("%Count").value = count
		_sent.clear()
		_taken = 0
		var frames := 0
		while _taken < TICKS and frames < 10 * TICKS:
			frames += 1
			await process_frame
		_checks.same_int("ticks that arrive", TICKS, _taken)
		# The last few are still under way.
		_checks.truth("many are lost", _sent.size() > TICKS + 10, str(_sent.size()))
		_checks.same_int("the way", way, _netcode.link.way)
		_checks.truth("the client shows them", _count_near() > count * 0.9, str(_count_near()))
	_checks.truth("differences are smaller", _bytes[1] * 5 < _bytes[0], str(_bytes))
	_checks.truth("snapshots are smaller still", _bytes[2] * 5 < _bytes[1], str(_bytes))
	_netcode.get_node("%Back").pressed.emit()
	await process_frame
	await process_frame
	_checks.same_value("back", "res://demo/demo.tscn", current_scene.scene_file_path)


## The number of creatures that the client shows near their place on the server. Those that have just died are elsewhere.
func _count_near() -> int:
	var near := 0
	for shown: Dictionary in _netcode._client.state["creatures"]:
		var creature: Dictionary = _netcode._server.state["creatures"][shown["id"]]
		near += int(shown["position"].distance_to(creature["position"]) < 30.0)
	return near


func _note_units(tick: int, units: Dictionary[int, Dictionary], packets: Array[PackedByteArray]) -> void:
	_sent[tick] = units
	for way in WAYS.size():
		_bytes[way] += packets[way].size()


## Each way has the server's units: exactly, with rotations of 32 bits, and in steps.
func _check_units(tick: int, units: Array[Dictionary]) -> void:
	if not _sent.has(tick):
		return
	_taken += 1
	var expected: Array[Dictionary] = [_sent[tick], {}, {}]
	for id: int in _sent[tick]:
		var unit: Dictionary = _sent[tick][id]
		expected[1][id] = unit.merged({"rotation": PackedFloat32Array([unit["rotation"]])[0]}, true)
		expected[2][id] = _netcode.link.schema.quantized(unit)
	for way in WAYS.size():
		_checks.truth("the units of tick %d, by %s" % [tick, WAYS[way]], expected[way] == units[way])


func _press(key: Key) -> void:
	var event := InputEventKey.new()
	event.keycode = key
	event.pressed = true
	root.push_input(event)
