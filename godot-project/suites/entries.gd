## The calls that accept untrusted bytes. Measures their time and memory, with the limits for the network.
extends RefCounted

const NAMES: Array[String] = [
	"try_decode", "validate", "unpack_batch", "try_decode_godot3", "messages", "inspect", "describe",
]
## The entry points that return values, whose memory is charged.
const CHARGED: Array[String] = ["try_decode", "unpack_batch", "try_decode_godot3", "messages"]
## The file of costly inputs that `bench/search.gd` found. A row has an entry point, the maximum number of bytes, and a
## tree of generators.
const FOUND := "res://suites/fixtures/found.json"
## The memory that a call may take in addition to its charge, according to docs/security.md: for itself, and
## for pages of the engine's pools.
const MARGIN := 2 << 20
const SCHEMA := "res://suites/fixtures/messages/everything.proto"

var limits := FastVariantLimits.for_network()

var _schema := FastProtobufSchema.load_file(SCHEMA)


static func found() -> Array:
	return (load(FOUND) as JSON).data


static func keep(entry: String, most_bytes: int, input: Dictionary) -> void:
	var rows := found() + [[entry, most_bytes, input]]
	var lines := rows.map(func(row: Array) -> String: return JSON.stringify(row))
	FileAccess.open(FOUND, FileAccess.WRITE).store_string("[\n%s\n]\n" % ",\n".join(lines))


## The result of the entry point for these bytes: a FastVariantResult, or the result of inspect or describe.
func ask(entry: String, bytes: PackedByteArray, with := limits) -> Variant:
	match entry:
		"validate":
			return FastVariantCodec.validate(bytes, with)
		"unpack_batch":
			return FastVariantCodec.unpack_batch(bytes, with)
		"try_decode_godot3":
			return FastGodot3Codec.try_decode(bytes, with)
		"messages":
			return _schema.try_decode("Everything", bytes, with)
		"inspect":
			return FastVariantInspector.inspect(bytes)
		"describe":
			return FastVariantInspector.describe(bytes)
		_:
			return FastVariantCodec.try_decode(bytes, with)


## The processor time of this thread in microseconds, so that other programs do not count. The elapsed time if the
## system does not report processor times.
static func now() -> int:
	var file := FileAccess.open("/proc/thread-self/schedstat", FileAccess.READ)
	return file.get_line().get_slice(" ", 0).to_int() / 1000 if file else Time.get_ticks_usec()


## The shortest time of `runs` calls, including freeing the results.
func milliseconds(entry: String, bytes: PackedByteArray, runs: int) -> float:
	var least := INF
	for run in runs:
		var started := now()
		ask(entry, bytes)
		least = minf(least, (now() - started) / 1000.0)
	return least


## The bytes that the engine allocates for the value, and the bytes charged; empty if there is no value.
func memory(entry: String, bytes: PackedByteArray) -> PackedInt64Array:
	# The first call is not measured, because the engine keeps names and pages of its pools for the next call.
	if not ask(entry, bytes).is_ok():
		return []
	return [taken(entry, bytes), charged(entry, bytes)]


## The bytes that the engine allocates for the result of the entry point.
func taken(entry: String, bytes: PackedByteArray) -> int:
	var before := OS.get_static_memory_usage()
	var _outcome: Variant = ask(entry, bytes)
	return OS.get_static_memory_usage() - before


## The smallest max_memory that accepts the bytes.
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
