## The calls that bytes of strangers are given to, with the limits for the network: what they take.
extends RefCounted

const CostlyMessages := preload("res://suites/costly_messages.gd")

const NAMES: Array[String] = [
	"try_decode", "validate", "unpack_batch", "try_decode_godot3", "messages", "inspect", "describe",
]
## Those that give values, whose memory is charged.
const CHARGED: Array[String] = ["try_decode", "unpack_batch", "try_decode_godot3", "messages"]
## What searches have found: entry point, how many bytes there may be, tree of generators.
const FOUND := "res://suites/fixtures/found.json"
## What a call takes beside what it is charged, docs/security.md says: pages of the engine's pools, and its own.
const MARGIN := 2 << 20

var limits := FastVariantLimits.for_network()

var _schema := FastProtobufCodec.load_schema(CostlyMessages.SCHEMA)


## The rows of FOUND.
static func found() -> Array:
	return (load(FOUND) as JSON).data


## Adds a row to FOUND.
static func keep(entry: String, most_bytes: int, input: Dictionary) -> void:
	var rows := found() + [[entry, most_bytes, input]]
	var lines := rows.map(func(row: Array) -> String: return JSON.stringify(row))
	FileAccess.open(FOUND, FileAccess.WRITE).store_string("[\n%s\n]\n" % ",\n".join(lines))


## What the entry point makes of the bytes: a FastVariantResult, or what inspect and describe give.
func ask(entry: String, bytes: PackedByteArray, with := limits) -> Variant:
	match entry:
		"validate":
			return FastVariantCodec.validate(bytes, with)
		"unpack_batch":
			return FastVariantCodec.unpack_batch(bytes, with)
		"try_decode_godot3":
			return FastVariantCodec.try_decode_godot3(bytes, with)
		"messages":
			return _schema.try_decode(CostlyMessages.MESSAGE, bytes, with)
		"inspect":
			return FastVariantCodec.inspect(bytes)
		"describe":
			return FastVariantCodec.describe(bytes)
		_:
			return FastVariantCodec.try_decode(bytes, with)


## The microseconds that this thread has had a processor, where the system tells: other programs do not count. Else those
## that have passed.
static func now() -> int:
	var file := FileAccess.open("/proc/thread-self/schedstat", FileAccess.READ)
	return file.get_line().get_slice(" ", 0).to_int() / 1000 if file else Time.get_ticks_usec()


## The least time of so many calls, with freeing what they give.
func milliseconds(entry: String, bytes: PackedByteArray, runs: int) -> float:
	var least := INF
	for run in runs:
		var started := now()
		ask(entry, bytes)
		least = minf(least, (now() - started) / 1000.0)
	return least


## How many bytes the engine takes for the value, and how many are charged; nothing where there is none.
func memory(entry: String, bytes: PackedByteArray) -> PackedInt64Array:
	# The engine keeps pages of its pools, and names, for the next time.
	if not ask(entry, bytes).is_ok():
		return []
	return [taken(entry, bytes), charged(entry, bytes)]


## How many bytes the engine takes for what the entry point gives.
func taken(entry: String, bytes: PackedByteArray) -> int:
	var before := OS.get_static_memory_usage()
	var _outcome: Variant = ask(entry, bytes)
	return OS.get_static_memory_usage() - before


## The least max_memory with which the bytes are accepted.
func charged(entry: String, bytes: PackedByteArray) -> int:
	var narrow: FastVariantLimits = limits.duplicate()
	var least := 0
	var enough := limits.max_memory
	while least < enough:
		narrow.max_memory = (least + enough) / 2
		if ask("validate" if entry == "try_decode" else entry, bytes, narrow).is_ok():
			enough = narrow.max_memory
		else:
			least = narrow.max_memory + 1
	return least
