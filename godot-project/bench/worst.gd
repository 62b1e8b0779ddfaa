## How long the most costly packets take, with the limits of FastVariantLimits.for_network(), and what the same packets
## take without limits: godot --headless --path godot-project --script res://bench/worst.gd
extends SceneTree

const Costly := preload("res://suites/costly.gd")
const CostlyMessages := preload("res://suites/costly_messages.gd")
const Entries := preload("res://suites/entries.gd")
const Generators := preload("res://suites/generators.gd")
const Extension := preload("res://suites/extension.gd")

const RUNS := 5

var _network: FastVariantLimits
var _code_names := ClassDB.class_get_enum_constants(&"FastVariantCodec", &"CodecError")


func _initialize() -> void:
	quit(1)  # Stands if a script error ends this function early.
	if not Extension.is_loaded():
		return
	_network = FastVariantLimits.for_network()
	var inputs := Costly.inputs(_network.max_bytes)
	print("Medians of %d calls." % RUNS)
	print("%-30s %9s %12s %12s %12s  %s" % ["packet", "bytes", "try_decode", "validate", "decode", "for_network()"])
	var worst := 0.0
	for input in inputs:
		worst = maxf(worst, _measure(input, inputs[input]))
		var torn := inputs[input].slice(0, -4)
		worst = maxf(worst, _measure("%s, torn" % input, torn))
	worst = maxf(worst, _measure_messages())
	worst = maxf(worst, _measure_found())
	print("The longest that for_network() takes: %.1f ms" % worst)
	quit(0)


## The same for messages; nothing validates them without making them.
func _measure_messages() -> float:
	var worst := 0.0
	var schema := FastProtobufCodec.load_schema(CostlyMessages.SCHEMA)
	var inputs := CostlyMessages.inputs(_network.max_bytes)
	print("\n%-35s %9s %12s %12s  %s" % ["message", "bytes", "try_decode", "decode", "for_network()"])
	for input in inputs:
		var bytes := inputs[input]
		var limited := _milliseconds(func() -> void: schema.try_decode(CostlyMessages.MESSAGE, bytes, _network), RUNS)
		var unlimited := _milliseconds(func() -> void: schema.decode(CostlyMessages.MESSAGE, bytes), 1)
		var code: int = schema.try_decode(CostlyMessages.MESSAGE, bytes, _network).error
		print("%-35s %9d %9.1f ms %9.1f ms  %s" % [input, bytes.size(), limited, unlimited, _code_names[code]])
		worst = maxf(worst, limited)
	return worst


## What searches have found.
func _measure_found() -> float:
	var worst := 0.0
	var entries := Entries.new()
	print("\nFound by searches, and mended since (suites/fixtures/found.json):")
	for row: Array in Entries.found():
		var bytes := Generators.new(0, row[1]).bytes_of(row[2], row[0])
		var taken := entries.milliseconds(row[0], bytes, RUNS)
		print("%-30s %9d %9.1f ms" % [row[0], bytes.size(), taken])
		worst = maxf(worst, taken)
	return worst


## The milliseconds that the limited calls take at most.
func _measure(input: String, bytes: PackedByteArray) -> float:
	var limited := _milliseconds(func() -> void: FastVariantCodec.try_decode(bytes, _network), RUNS)
	var checked := _milliseconds(func() -> void: FastVariantCodec.validate(bytes, _network), RUNS)
	Engine.print_error_messages = false
	var unlimited := _milliseconds(func() -> void: FastVariantCodec.decode(bytes), 1)
	Engine.print_error_messages = true
	print("%-30s %9d %9.1f ms %9.1f ms %9.1f ms  %s" % [
		input, bytes.size(), limited, checked, unlimited,
		_code_names[FastVariantCodec.try_decode(bytes, _network).error],
	])
	return maxf(limited, checked)


## The median of so many calls, with freeing what they give.
static func _milliseconds(action: Callable, runs: int) -> float:
	var times := PackedInt64Array()
	for run in runs:
		var started := Time.get_ticks_usec()
		action.call()
		times.append(Time.get_ticks_usec() - started)
	times.sort()
	return times[runs / 2] / 1000.0
