## Measures snapshots beside what games use without them, for `cargo xtask bench --snapshots`, which reads the lines `@@ …`.
##
## godot --headless --path godot-project res://bench/snapshots/main.tscn -- --ticks 3000
## Every snapshot is compared with the world that it describes, outside of the measured time.
extends Node

const ByHand := preload("res://bench/snapshots/by_hand.gd")
const OverEnet := preload("res://bench/snapshots/over_enet.gd")
const Options := preload("res://suites/options.gd")
const Unit := preload("res://bench/snapshots/unit.gd")
const Ways := preload("res://bench/snapshots/ways.gd")

## The first ticks do not count: nothing is acknowledged yet, and few units move.
const FIRST_COUNTED := 100
## Computing a patch takes long, so only some ticks have one.
const PATCHED := 10
const ON_CHANGE := "MultiplayerSynchronizer, on change"

var _options := {"ticks": 3000}
var _random := RandomNumberGenerator.new()
var _units: Dictionary[int, Unit] = {}


func _ready() -> void:
	if not Options.read(_options, get_script()):
		get_tree().quit(1)
		return
	_random.seed = 1
	_units = Unit.world(_random)
	var ticks: int = _options["ticks"]
	var holds := _measure(ticks)
	var over_enet := OverEnet.new()
	add_child(over_enet)
	var sent := await over_enet.run(_units, _random, ticks / 5)
	for link in sent:
		if sent[link][0] == 0.0:
			printerr("ENet, %s: the client's world is not the server's" % link)
			holds = false
		_row("ENet: %s, from the server" % link, sent[link][0], "bytes", sent[ON_CHANGE][0], INF, 0.08 if "snapshots" in link else INF)
		# The other clients only keep the connection.
		if sent[link][1] > 0.1:
			_row("ENet: %s, from the client" % link, sent[link][1], "bytes")
	get_tree().quit(0 if holds else 1)


## Returns whether every snapshot described the world.
func _measure(ticks: int) -> bool:
	var schema := Unit.schema()
	var by_hand := Ways.ByHandWay.new(_units)
	var ways: Array[Ways.Way] = [by_hand, Ways.DictionaryWay.new(_units), Ways.ObjectWay.new(_units), Ways.ColumnWay.new(_units)]
	var encoded: Array[PackedByteArray] = []
	var plain := PackedInt64Array()
	var patches := PackedInt64Array()
	var full := PackedInt64Array()
	var moving := 0
	var holds := true
	for tick in ticks:
		var rows := []
		var expected := {}
		for id in _units:
			_units[id].step(_random)
			moving += int(_units[id].is_moving())
			rows.append(_units[id].to_dictionary().merged({"id": id}))
			expected[id] = schema.quantized(_units[id])
		for way in ways:
			way.run(tick)
			if holds and way.seen() != expected:
				printerr("%s, tick %d: the client's world is not the server's" % [way.name, tick])
				holds = false
		encoded.append(FastVariantCodec.encode(rows))
		if tick >= FIRST_COUNTED and tick % PATCHED == 0:
			plain.append(encoded[-1].size())
			patches.append(FastVariantPatch.diff(encoded[0], encoded[-1]).size())
			var late := FastSnapshotWriter.new()
			late.schema = schema
			full.append(late.write(tick, _units).size())
		if encoded.size() > Ways.LATE:
			encoded.pop_front()

	_row("units that move", moving / float(ticks * Unit.COUNT), "of all")
	_row("bytes: Array of Dictionaries, var_to_bytes", _mean(plain), "bytes")
	_row("bytes: the same, FastVariantPatch.diff", _mean(patches), "bytes")
	var hand := _mean(by_hand.sizes.slice(FIRST_COUNTED))
	_row("bytes: by hand", hand, "bytes", hand)
	_row("bytes: FastSnapshotWriter, full", _mean(full), "bytes", NAN, 6.5)
	_row("bytes: FastSnapshotWriter, difference", _mean(ways[1].sizes.slice(FIRST_COUNTED)), "bytes", hand, 2.1, 0.3)
	for way in ways:
		_row("write: " + way.name, _median(way.writing), "ns", _median(by_hand.writing), way.goal, way.share_goal)
		_row("read: " + way.name, _median(way.reading), "ns", _median(by_hand.reading), way.goal, way.share_goal)
	return holds


## Prints a row of the table: a figure, its share of a rival's, and the goals that both should not exceed.
func _row(what: String, figure: float, unit: String, rival := NAN, goal := INF, share_goal := INF) -> void:
	var share := figure / rival
	var goals := PackedStringArray()
	if goal < INF:
		goals.append("≤ %s %s%s" % [String.num(goal), unit, ", missed" if figure > goal else ""])
	if share_goal < INF:
		goals.append("≤ %s ×%s" % [share_goal, ", missed" if share > share_goal else ""])
	print("@@ ", JSON.stringify([
		what, "%.*f %s" % [0 if unit == "ns" else 2, figure, unit], "" if is_nan(rival) else "%.3f ×" % share, "; ".join(goals),
	]))


## The mean size for a unit.
func _mean(sizes: PackedInt64Array) -> float:
	return Array(sizes).reduce(func(sum: int, size: int) -> int: return sum + size, 0) / float(sizes.size() * Unit.COUNT)


## The median time for a unit, in nanoseconds.
func _median(microseconds: PackedInt64Array) -> float:
	var sorted := microseconds.slice(FIRST_COUNTED)
	sorted.sort()
	return sorted[sorted.size() / 2] * 1000.0 / Unit.COUNT
