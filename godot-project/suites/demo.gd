## Runs the demo for a few hundred frames in each manner, and compares its snapshots with the engine:
## godot --headless --fixed-fps 60 --path godot-project --script res://suites/demo.gd
extends SceneTree

const Checks := preload("res://suites/checks.gd")
const Messages := preload("res://demo/messages.gd")
const Extension := preload("res://suites/extension.gd")

const FRAMES := 240
const MANNERS: PackedStringArray = ["engine", "codec", "in turn"]

var _checks := Checks.new()
var _demo: Variant
var _taken := 0
var _ill := 0


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
	print("%d passed, %d failed" % [_checks.passed, _checks.failed])
	_demo.free()
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


func _press(key: Key) -> void:
	var event := InputEventKey.new()
	event.keycode = key
	event.pressed = true
	root.push_input(event)
