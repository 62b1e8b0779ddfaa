## FastVariantLimits: each limit is enforced and has its own error code, and `max_memory` covers the memory
## that the engine takes.
extends "res://suites/suite.gd"

const Costly := preload("res://suites/costly.gd")

const Entries := preload("res://suites/entries.gd")
const Generators := preload("res://suites/generators.gd")
const Refusals := preload("res://suites/refusals.gd")

const SIZE := 1 << 18

## The number and the size of generated inputs for each entry point.
const GENERATED := 4
const GENERATED_BYTES := 1 << 16

## Memory that the engine keeps for later values: a page of each of its pools.
const POOL_PAGES := 1 << 19


func test_each_limit_has_its_code() -> bool:
	var two_nils := var_to_bytes([null, null])
	var entries := var_to_bytes({1: 2, 3: 4})
	var object := var_to_bytes_with_objects(RefCounted.new())
	var trusting := FastVariantLimits.for_save_files()
	trusting.allow_objects = true
	# The columns: property, bytes, sufficient limit, insufficient limit, error code, offset.
	var rows := [
		["max_bytes", two_nils, 16, 15, FastVariantCodec.MAX_BYTES_EXCEEDED, 0],
		["max_depth", two_nils, 1, 0, FastVariantCodec.MAX_DEPTH_EXCEEDED, 8],
		["max_elements", two_nils, 3, 2, FastVariantCodec.MAX_ELEMENTS_EXCEEDED, 4],
		["max_memory", two_nils, 1000, 50, FastVariantCodec.MAX_MEMORY_EXCEEDED, 4],
		["allow_trailing_bytes", two_nils + Wire.word(0), true, false, FastVariantCodec.TRAILING_BYTES, 16],
		["allow_objects", object, true, false, FastVariantCodec.OBJECTS_NOT_ALLOWED, 0],
		["max_key_comparisons", entries, 4, 3, FastVariantCodec.MAX_KEY_COMPARISONS_EXCEEDED, 4],
		["allowed_types", two_nils, 1 << TYPE_ARRAY | 1 << TYPE_NIL, 1 << TYPE_ARRAY, FastVariantCodec.TYPE_NOT_ALLOWED, 8],
	]
	for odd in OTHER_WRITERS:
		if OTHER_WRITERS[odd]:
			rows.append(["allow_non_canonical", odd.hex_decode(), true, false, FastVariantCodec.NOT_CANONICAL, -1])
	_check_complete(rows, ["allowed_classes", "allowed_scripts", "lost_objects_as_null"])
	for row: Array in rows:
		checks.subject(checks.MIXED, row[0])
		var limits := FastVariantLimits.for_save_files()
		limits.set(row[0], row[2])
		checks.same_value("enough", "", FastVariantCodec.try_decode(row[1], limits).message)
		limits.set(row[0], row[3])
		_check_refused(row[1], limits, row[4], row[0], row[5])
	checks.subject(TYPE_OBJECT, "allowed_classes")
	trusting.allowed_classes = ["RefCounted"]
	checks.truth("a class that is listed", FastVariantCodec.try_decode(object, trusting).value is RefCounted)
	trusting.allowed_classes = ["Resource"]
	_check_refused(object, trusting, FastVariantCodec.CLASS_NOT_ALLOWED, "allowed_classes", 0)
	var scripted := var_to_bytes_with_objects(checks)
	trusting.allowed_classes = []
	trusting.allowed_scripts = [checks.get_script().resource_path]
	checks.truth("a script that is listed", FastVariantCodec.try_decode(scripted, trusting).value.get_script() == checks.get_script())
	trusting.allowed_scripts = ["res://suites/other.gd"]
	_check_refused(scripted, trusting, FastVariantCodec.SCRIPT_NOT_ALLOWED, "allowed_scripts", 36)
	return true


func test_presets() -> bool:
	checks.subject(checks.MIXED, "presets")
	var network := FastVariantLimits.for_network()
	var saves := FastVariantLimits.for_save_files()
	var rows := [
		["max_bytes", 1 << 20, 0x7fffffff],
		["max_depth", 32, 1024],
		["max_elements", 100_000, -1],
		["max_memory", 16 << 20, -1],
		["allow_trailing_bytes", false, false],
		["allow_non_canonical", false, false],
		["max_key_comparisons", 5_000_000, -1],
		["lost_objects_as_null", false, false],
		["allow_objects", false, false],
		["allowed_classes", PackedStringArray(), PackedStringArray()],
		["allowed_scripts", PackedStringArray(), PackedStringArray()],
		["allowed_types", (1 << TYPE_MAX) - 1, (1 << TYPE_MAX) - 1],
	]
	_check_complete(rows, [])
	for row: Array in rows:
		checks.same_value("%s for the network" % row[0], row[1], network.get(row[0]))
		checks.same_value("%s for save files" % row[0], row[2], saves.get(row[0]))
		checks.same_value("%s of a new one" % row[0], row[2], FastVariantLimits.new().get(row[0]))
	saves.allow_only([TYPE_ARRAY, TYPE_INT, TYPE_MAX, -1, 1000])
	checks.same_int("allow_only", 1 << TYPE_ARRAY | 1 << TYPE_INT, saves.allowed_types)
	var path := "user://limits.tres"
	network.max_depth = 7
	checks.same_int("saved", OK, ResourceSaver.save(network, path))
	checks.same_int("and loaded", 7, ResourceLoader.load(path, "", ResourceLoader.CACHE_MODE_IGNORE).max_depth)
	DirAccess.remove_absolute(path)
	return true


func test_values_out_of_range() -> bool:
	checks.subject(checks.MIXED, "limits out of range")
	const LIMITS: PackedStringArray = ["max_bytes", "max_depth", "max_elements", "max_memory", "max_key_comparisons"]
	for number: int in [-1, 9223372036854775807]:
		var limits := FastVariantLimits.new()
		for property in LIMITS:
			limits.set(property, number)
		for bytes in [var_to_bytes({1: [2]}), Oracle.engine_encode(Values.nested_arrays(1000))]:
			checks.same_value("%d" % number, "", FastVariantCodec.try_decode(bytes, limits).message)
	# Floats outside of int's range become the lowest int on x86, and the nearest int on ARM.
	for number: Variant in [-2, -9223372036854775808, NAN, 1e300, -INF]:
		for property in LIMITS:
			var limits := FastVariantLimits.new()
			limits.set(property, number)
			var result := FastVariantCodec.try_decode(var_to_bytes({1: [2]}), limits)
			if int(number) == 9223372036854775807:
				checks.truth("%s %s allows everything" % [property, number], result.is_ok(), result.message)
				continue
			checks.truth("%s %s allows nothing" % [property, number], not result.is_ok(), result.message)
			checks.truth("and says so", str(limits).contains(property), str(limits))
	return true


func test_memory_is_not_underestimated() -> bool:
	if not OS.is_debug_build():
		return true
	for case in values.cases:
		var bytes := Oracle.engine_encode(case.value)
		if bytes and FastVariantCodec.try_decode(bytes).is_ok():
			checks.subject(case.type, case.name)
			_check_memory(bytes, 0)
	var costly := Costly.inputs(SIZE)
	for input in costly:
		checks.subject(checks.MIXED, input)
		_check_memory(costly[input], POOL_PAGES)
	return true


## Input accepted for the network never exceeds the memory limit, and refused input leaves nothing allocated.
func test_network_limits_hold() -> bool:
	var network := FastVariantLimits.for_network()
	var costly := Costly.inputs(network.max_bytes)
	for input in costly:
		checks.subject(checks.MIXED, input)
		# The first call is not measured, because the engine keeps pages of its pools for the next call.
		FastVariantCodec.try_decode(costly[input], network)
		var before := OS.get_static_memory_usage()
		var outcome := FastVariantCodec.try_decode(costly[input], network)
		if outcome.is_ok():
			checks.truth("accepted within its memory",
					OS.get_static_memory_usage() - before <= network.max_memory + POOL_PAGES)
		else:
			checks.truth("has a code", outcome.error != FastVariantCodec.OK and outcome.value == null)
		_check_validate(costly[input], network, outcome)
		outcome = null
		checks.truth("gives all back", OS.get_static_memory_usage() - before <= POOL_PAGES)
	return true


## Typical packets of games need few comparisons.
func test_usual_keys_pass() -> bool:
	var network := FastVariantLimits.for_network()
	network.max_bytes = -1
	network.max_memory = -1
	var generator := seeded("keys")
	var families: Dictionary[String, Callable] = {
		"ints": func(i: int) -> Variant: return i,
		"large ints": func(i: int) -> Variant: return i << 40,
		"negative ints": func(i: int) -> Variant: return -i * 1000,
		"floats": func(i: int) -> Variant: return i * 0.25,
		"numbered texts": func(i: int) -> Variant: return "item_%d" % i,
		"numbered texts of one length": func(i: int) -> Variant: return "%08d" % i,
		"paths": func(i: int) -> Variant: return "res://levels/%d/room_%d.tscn" % [i / 100, i % 100],
		"coordinates as text": func(i: int) -> Variant: return "(%d, %d)" % [i / 100, i % 100],
		"coordinates": func(i: int) -> Variant: return Vector2i(i / 100, i % 100),
		"coordinates in space": func(i: int) -> Variant: return Vector3i(i / 400, i / 20 % 20, i % 20),
		"positions": func(i: int) -> Variant: return Vector2(i / 100, i % 100) * 16.0,
		"letters": func(i: int) -> Variant: return char(97 + i / 676) + char(97 + i / 26 % 26) + char(97 + i % 26),
		"hexadecimal": func(i: int) -> Variant: return "%08x-%04x" % [hash(i), i],
		"packed ints": func(i: int) -> Variant: return PackedInt32Array([i, i / 7]),
		"random texts": func(_i: int) -> Variant: return str(generator.randi()) + str(generator.randi()),
	}
	for family in families:
		checks.subject(TYPE_DICTIONARY, family)
		var made := {}
		for i in 2000:
			made[families[family].call(i)] = null
		checks.same_value("as keys", "", FastVariantCodec.try_decode(var_to_bytes(made), network).message)
		var names: Array = made.keys().map(func(key: Variant) -> Variant: return StringName(str(key)))
		checks.same_value("as names", "", FastVariantCodec.try_decode(var_to_bytes(names), network).message)
		var paths: Array = made.keys().map(func(key: Variant) -> Variant: return NodePath(str(key)))
		checks.same_value("in paths", "", FastVariantCodec.try_decode(var_to_bytes(paths), network).message)
	network.max_elements = -1
	var fields := {}
	for i in 20:
		fields["field_%d" % i] = i
		fields[StringName("name_%d" % i)] = i
		checks.subject(TYPE_DICTIONARY, "entities of %d fields" % fields.size())
		if fields.size() == 20:
			var state := {}
			for id in 2000:
				state[id] = fields
			checks.same_value("2,000 by id", "", FastVariantCodec.try_decode(var_to_bytes(state), network).message)
			var rows: Array = []
			rows.resize(10_000)
			rows.fill(fields)
			checks.same_value("10,000 in an Array", "", FastVariantCodec.try_decode(var_to_bytes(rows), network).message)
	return true


## The engine hashes and compares containers level by level, so they are refused as keys.
func test_containers_as_keys() -> bool:
	var network := FastVariantLimits.for_network()
	for value: Variant in [{[1]: 2}, [{{}: 1}], {{[]: 1}: 2}]:
		checks.subject(TYPE_DICTIONARY, str(value))
		var bytes := var_to_bytes(value)
		var decoded := FastVariantCodec.try_decode(bytes, network)
		_check_validate(bytes, network, decoded)
		checks.truth("the message names the limit", "`max_key_comparisons`" in decoded.message, decoded.message)
		for refused: FastVariantResult in [
			decoded, FastVariantCodec.unpack_batch(Wire.word(bytes.size()) + bytes, network),
			FastGodot3Codec.try_decode(FastGodot3Codec.encode(value), network),
			FastVariantCodec.decode_batch_async([bytes], network).wait_to_finish(),
		]:
			checks.same_int("refused", FastVariantCodec.MAX_KEY_COMPARISONS_EXCEEDED, refused.error)
		checks.same_value("without a limit", value, FastVariantCodec.try_decode(bytes).value)
	return true


## With `lost_objects_as_null`, each reader gives the engine's value with null in the place of each EncodedObjectAsID.
func test_lost_objects() -> bool:
	var object := RefCounted.new()
	var limits := FastVariantLimits.for_save_files()
	limits.lost_objects_as_null = true
	var path := "user://lost_objects.bin"
	var many: Array = range(20_000).map(func(index: int) -> Variant: return object if index % 3 == 0 else {"id": index})
	for value: Variant in [
		object, [object, 1], {"a": {"b": object}}, {object: "key"}, {"k": [{&"n": [object]}]}, [object] as Array[RefCounted],
		{"x": object} as Dictionary[String, RefCounted], {[object]: 1}, many,
	]:
		checks.subject(TYPE_OBJECT, "lost objects in %s" % str(value).left(30))
		var bytes := var_to_bytes(value)
		var expected: Variant = _without_lost(bytes_to_var(bytes))
		var framed := Wire.word(bytes.size()) + bytes
		FileAccess.open(path, FileAccess.WRITE).store_buffer(framed)
		var job := FastVariantCodec.load_batch_async(path, limits)
		var loaded := FastVariantCodec.load_batch(path, limits)
		for read: Array in [
			["try_decode", FastVariantCodec.try_decode(bytes, limits).value],
			["unpack_batch", FastVariantCodec.unpack_batch(framed, limits).value[0]],
			["load_batch", loaded.value[0]],
			["load_batch_async", job.wait_to_finish().value[0]],
			["decode_batch_async", FastVariantCodec.decode_batch_async([bytes], limits).wait_to_finish().value[0]],
			["a view", FastVariantView.open(bytes, limits).try_fetch("").value],
			["a view of a file", FastVariantView.open_file(path, limits).try_fetch(0).value],
			["classes", FastVariantClasses.new().decode(bytes, limits)],
		]:
			checks.same_value(read[0], expected, read[1])
		checks.truth("validate", FastVariantCodec.validate(bytes, limits).is_ok())
		Engine.print_error_messages = false
		checks.truth("refused otherwise", not FastVariantCodec.save_batch(path, FastVariantCodec.unpack_batch(framed).value).is_ok())
		Engine.print_error_messages = true
		checks.truth("can be saved again", FastVariantCodec.save_batch(path, loaded.value).is_ok())
		checks.same_value("and loaded", expected, FastVariantCodec.load_batch(path).value[0])
	checks.subject(TYPE_OBJECT, "lost objects elsewhere")
	var rows := FastVariantView.open(var_to_bytes([{"at": object}, {"at": 1}]), limits)
	checks.same_value("rows", PackedInt64Array([0]), PackedInt64Array(Array(rows.rows("", "at", "==", null))))
	checks.same_value("column", [null, null], rows.columns("", {"at": TYPE_OBJECT})["at"])
	var godot_3 := Wire.header(17, 1) + Wire.word(7) + Wire.word(0)
	checks.same_value("Godot 3's format", null, FastGodot3Codec.try_decode(godot_3, limits).value)
	var same_id := Wire.header(TYPE_DICTIONARY) + Wire.word(2)
	for key in 2:
		same_id += var_to_bytes(object) + var_to_bytes(null)
	var with_same_id := FastVariantCodec.try_decode(same_id)
	checks.same_int("two keys with one id", bytes_to_var(same_id).size(), with_same_id.value.size())
	_check_validate(same_id, null, with_same_id)
	var two := var_to_bytes({object: 1, RefCounted.new(): 2})
	checks.same_int("two keys that become one", FastVariantCodec.NOT_CANONICAL, FastVariantCodec.try_decode(two, limits).error)
	_check_validate(two, limits, FastVariantCodec.try_decode(two, limits))
	limits.allow_objects = true
	var full := var_to_bytes_with_objects({RefCounted.new(): 1, Resource.new(): 2})
	checks.truth("objects in keys", FastVariantCodec.validate(full, limits).is_ok())
	DirAccess.remove_absolute(path)
	return true


## Encodings that other programs write but Godot does not: hexadecimal bytes → whether allow_non_canonical
## accepts them. They cover the rows of docs/format.md, chapter 13. The engine reads all of them.
const OTHER_WRITERS: Dictionary[String, bool] = {
	"0100000002000000": true,
	"020001000500000000000000": true,
	"03000100000000000000f83f": true,
	"030000000000c07f": true,
	"040000000100000061000001": true,
	"1d0000000100000001000001": true,
	"1d0000000100000001": true,
	"0400000004000000efbbbf61": true,
	"22000000010000000100000061000000": true,
	"220000000200000000000000": false,
	"22000000020000000000000002000000c3a90000": true,
	"1c000000010000800200000001000000": true,
	"1b0000000100008002000000010000000200000002000000": true,
	"180001000000000000000000": true,
	"1c00010000000000010000000200000001000000": true,
	"0000ffff": false,
	"04000000020000006100000000000000": false,
	"040000000200000061000000": false,
	"22000000ffffffff": false,
	"16000000000000800000000004000000": false,
	"1b00000002000000020000000100000000000000020000000100000000000000": false,
	"1c00010002000000010000000300000000000000": false,
}


func test_other_writers() -> bool:
	var lenient := FastVariantLimits.for_network()
	lenient.allow_non_canonical = true
	var path := "user://other_writers.bin"
	for hex in OTHER_WRITERS:
		checks.subject(checks.MIXED, "other writers: %s" % hex)
		var bytes := hex.hex_decode()
		var expected: Variant = Oracle.engine_decode(bytes)
		var code := FastVariantCodec.OK
		if not OTHER_WRITERS[hex]:
			var refused := FastVariantCodec.try_decode(bytes, FastVariantLimits.for_network())
			code = refused.error
			checks.truth("has a code", code != FastVariantCodec.OK)
			checks.truth("no setting helps", "allow_non_canonical" not in refused.message, refused.message)
		else:
			checks.truth("refused otherwise", not FastVariantCodec.try_decode(bytes).is_ok())
		var outcome := FastVariantCodec.try_decode(bytes, lenient)
		checks.same_int("try_decode", code, outcome.error)
		_check_validate(bytes, lenient, outcome)
		if code == FastVariantCodec.OK:
			checks.same_value("as the engine", expected, outcome.value)
		var framed := Wire.word(bytes.size()) + bytes
		var batch := FastVariantCodec.unpack_batch(framed, lenient)
		checks.same_value("unpack_batch", [code, [expected] if code == 0 else []], [batch.error, batch.value])
		FileAccess.open(path, FileAccess.WRITE).store_buffer(framed)
		checks.same_int("load_batch", code, FastVariantCodec.load_batch(path, lenient).error)
		for job: FastVariantJob in [
			FastVariantCodec.load_batch_async(path, lenient), FastVariantCodec.decode_batch_async([bytes], lenient),
		]:
			var result := job.wait_to_finish()
			checks.same_value("in the background", [code, expected if code == 0 else null],
					[result.error, result.value[0] if result.value else null])
	DirAccess.remove_absolute(path)
	return true


## Inputs that `bench/search.gd` found are now refused, or take no more memory than they are charged.
func test_what_searches_found() -> bool:
	var entries := Entries.new()
	for row: Array in Entries.found():
		checks.subject(checks.MIXED, "found in %s" % row[0])
		_check_charge(entries, row[0], Generators.new(0, row[1]).bytes_of(row[2], row[0]))
	return true


## A short search without a clock. Generated inputs take no more memory than they are charged, and `validate` agrees.
func test_generated_inputs() -> bool:
	var entries := Entries.new()
	for entry in Entries.CHARGED:
		checks.subject(checks.MIXED, "generated for %s" % entry)
		var generators := Generators.new(hash([run_seed, entry]), GENERATED_BYTES)
		var inputs := Generators.known_inputs(entry)
		var known := inputs.size()
		for index in GENERATED:
			inputs.append(generators.mutated(inputs[index % inputs.size()], inputs[index % known], entry))
		for input in inputs:
			_check_charge(entries, entry, generators.bytes_of(input, entry))
	return true


## Key comparisons are counted over all records of a file, even if the game loads a few records at a time.
func test_key_comparisons_are_counted_over_a_file() -> bool:
	checks.subject(TYPE_DICTIONARY, "keys in many records")
	var records: Array = []
	records.resize(3000)
	records.fill({1: null, 2: null, 3: null})
	var path := "user://compared.bin"
	checks.truth("saved", FastVariantCodec.save_batch(path, records).is_ok())
	var limits := FastVariantLimits.for_save_files()
	limits.max_key_comparisons = 3000 * 9
	checks.same_value("accepted", "", FastVariantCodec.load_batch(path, limits).message)
	limits.max_key_comparisons -= 1
	checks.same_int("refused", FastVariantCodec.MAX_KEY_COMPARISONS_EXCEEDED, FastVariantCodec.load_batch(path, limits).error)
	# With objects, the job works in slices between frames.
	for allow_objects: bool in [false, true]:
		limits.allow_objects = allow_objects
		var job := FastVariantCodec.load_batch_async(path, limits)
		var result: FastVariantResult = await job.completed
		checks.same_int("in the background", FastVariantCodec.MAX_KEY_COMPARISONS_EXCEEDED, result.error)
	DirAccess.remove_absolute(path)
	return true


## Encodings by other programs in large values and in large batches, which several threads read.
func test_other_writers_at_length() -> bool:
	checks.subject(checks.MIXED, "other writers, at length")
	var lenient := FastVariantLimits.for_save_files()
	lenient.allow_non_canonical = true
	for hex in OTHER_WRITERS:
		# An encoding without padding can only be the last value.
		if not OTHER_WRITERS[hex] or hex.length() % 8:
			continue
		var value := hex.hex_decode()
		var element := Wire.header(TYPE_ARRAY) + Wire.word(2) + value + value
		var bytes := Wire.header(TYPE_ARRAY) + Wire.word(30_000) + Wire.repeated(element, 30_000)
		var outcome := FastVariantCodec.try_decode(bytes, lenient)
		checks.truth("as the engine: %s" % hex, outcome.is_ok()
				and var_to_bytes(outcome.value) == var_to_bytes(bytes_to_var(bytes)), outcome.message)
		bytes = Wire.header(TYPE_ARRAY) + Wire.word(30_000) + Wire.repeated(value, 30_000)
		outcome = FastVariantCodec.try_decode(bytes, lenient)
		checks.truth("in a row: %s" % hex, outcome.is_ok()
				and var_to_bytes(outcome.value) == var_to_bytes(bytes_to_var(bytes)), outcome.message)
	return true


func test_names_are_counted_over_a_batch() -> bool:
	checks.subject(TYPE_STRING_NAME, "names in many records")
	var names: Array = Costly.colliding_texts(5000).map(func(text: String) -> StringName: return StringName(text))
	var limits := FastVariantLimits.for_save_files()
	var packed := FastVariantCodec.pack_batch(names)
	checks.truth("accepted for save files", FastVariantCodec.unpack_batch(packed, limits).is_ok())
	limits.max_key_comparisons = FastVariantLimits.for_network().max_key_comparisons
	checks.same_int("refused", FastVariantCodec.MAX_KEY_COMPARISONS_EXCEEDED, FastVariantCodec.unpack_batch(packed, limits).error)
	return true


class Tags:
	var tags: Array[StringName]


func test_names_of_classes_and_properties() -> bool:
	var limits := FastVariantLimits.for_network()
	limits.allow_objects = true
	var texts := Costly.colliding_texts(5000)
	var arrays := Wire.header(TYPE_ARRAY) + Wire.word(5000)
	var object := Wire.header(TYPE_OBJECT) + Wire.text("RefCounted") + Wire.word(5000)
	for text: String in texts:
		arrays += Wire.header(TYPE_ARRAY, 2) + Wire.text(text) + Wire.word(0)
		object += Wire.text("metadata/" + text) + Wire.header(TYPE_NIL)
	for bytes: PackedByteArray in [arrays, object]:
		checks.subject(bytes.decode_u32(8) & 0xff, "names of classes and properties")
		var decoded := FastVariantCodec.try_decode(bytes, limits)
		checks.same_int("refused", FastVariantCodec.MAX_KEY_COMPARISONS_EXCEEDED, decoded.error)
		_check_validate(bytes, limits, decoded)
	checks.subject(TYPE_STRING_NAME, "names converted from Strings")
	var classes := FastVariantClasses.new()
	classes.register(Tags, "Tags")
	for count: int in [1000, 5000]:
		var tagged := var_to_bytes({"@class": "Tags", "tags": texts.slice(0, count)})
		checks.same_int("%d" % count, FastVariantCodec.OK if count == 1000 else FastVariantCodec.MAX_KEY_COMPARISONS_EXCEEDED,
				classes.try_decode(tagged, FastVariantLimits.for_network()).error)
	var path := "user://names.dat"
	var records: Array[PackedByteArray] = []
	for i in 5:
		records.append(var_to_bytes({"@class": "Tags", "tags": texts.slice(i * 1000, i * 1000 + 1000)}))
	FileAccess.open(path, FileAccess.WRITE).store_buffer(Wire.behind_lengths(records))
	checks.same_int("in all records together", FastVariantCodec.MAX_KEY_COMPARISONS_EXCEEDED,
			classes.load_batch(path, FastVariantLimits.for_network()).error)
	DirAccess.remove_absolute(path)
	return true


func test_limits_hold_for_a_batch_as_a_whole() -> bool:
	checks.subject(checks.MIXED, "limits of a batch")
	var numbers: Array = range(1000, 1100)
	var packed := FastVariantCodec.pack_batch(numbers)
	# The size of a Variant in the engine.
	var slot := 40 if OS.has_feature("double") else 24
	# The columns: property, sufficient limit, insufficient limit, error code, number of values before the
	# error.
	for row: Array in [
		["max_bytes", packed.size(), packed.size() - 1, FastVariantCodec.MAX_BYTES_EXCEEDED, 0],
		["max_elements", 100, 40, FastVariantCodec.MAX_ELEMENTS_EXCEEDED, 40],
		["max_memory", 100 * slot, 40 * slot, FastVariantCodec.MAX_MEMORY_EXCEEDED, 40],
	]:
		var limits := FastVariantLimits.for_save_files()
		limits.set(row[0], row[1])
		checks.same_value("enough %s" % row[0], numbers, FastVariantCodec.unpack_batch(packed, limits).value)
		limits.set(row[0], row[2])
		var outcome := FastVariantCodec.unpack_batch(packed, limits)
		checks.same_int("code of %s" % row[0], row[3], outcome.error)
		checks.same_value("values before", numbers.slice(0, row[4]), outcome.value)
	return true


## The value with null in the place of each EncodedObjectAsID. Containers keep their types.
static func _without_lost(value: Variant) -> Variant:
	if value is EncodedObjectAsID:
		return null
	if value is Array:
		var copy: Array = value.duplicate()
		for index: int in copy.size():
			copy[index] = _without_lost(copy[index])
		return copy
	if value is Dictionary:
		var copy: Dictionary = value.duplicate()
		copy.clear()
		for key: Variant in value:
			copy[_without_lost(key)] = _without_lost(value[key])
		return copy
	return value


func _check_refused(
		bytes: PackedByteArray, limits: FastVariantLimits, code: int, property: String, offset: int) -> void:
	var outcome := FastVariantCodec.try_decode(bytes, limits)
	checks.same_int("code", code, outcome.error)
	if offset >= 0:
		checks.same_int("offset", offset, outcome.offset)
	checks.truth("the message names the limit", outcome.message.contains("`%s`" % property), outcome.message)
	checks.truth("no value", outcome.value == null and outcome.bytes_read == 0)
	_check_validate(bytes, limits, outcome)


func _check_validate(bytes: PackedByteArray, limits: FastVariantLimits, decoded: FastVariantResult) -> void:
	var outcome := FastVariantCodec.validate(bytes, limits)
	checks.same_value("validate says the same", [decoded.error, decoded.message, decoded.offset, decoded.bytes_read],
			[outcome.error, outcome.message, outcome.offset, outcome.bytes_read])
	checks.truth("validate gives no value", outcome.value == null)


func _check_charge(entries: Entries, entry: String, bytes: PackedByteArray) -> void:
	var outcome: Variant = entries.ask(entry, bytes)
	if entry == "try_decode":
		_check_validate(bytes, entries.limits, outcome)
	if entry not in Entries.CHARGED or not OS.is_debug_build() or not outcome.is_ok():
		return
	outcome = null
	var taken := entries.taken(entry, bytes)
	if taken > POOL_PAGES:
		var less: FastVariantLimits = entries.limits.duplicate()
		less.max_memory = taken - POOL_PAGES - 1
		checks.same_int("%d bytes, of which %d are taken" % [bytes.size(), taken], FastVariantCodec.MAX_MEMORY_EXCEEDED,
				entries.ask(entry, bytes, less).error)


## Checks that the value is refused if `max_memory` is more than `slack` bytes below the engine's allocation,
## and accepted with 59 bytes of memory per byte of input.
func _check_memory(bytes: PackedByteArray, slack: int) -> void:
	var value: Variant
	var before := OS.get_static_memory_usage()
	value = FastVariantCodec.decode(bytes)
	var taken := OS.get_static_memory_usage() - before
	var limits := FastVariantLimits.new()
	limits.max_memory = maxi(0, taken - slack - 1)
	Oracle.release(value)
	checks.same_int("%d bytes" % limits.max_memory, FastVariantCodec.MAX_MEMORY_EXCEEDED,
			FastVariantCodec.validate(bytes, limits).error)
	limits.max_memory = bytes.size() * 59
	checks.same_value("59 for each of its bytes", "", FastVariantCodec.validate(bytes, limits).message)


## Keys that the engine cannot compare without an error are refused, by strict encoding and by decoding. Other keys are
## written and read.
func test_keys_that_are_too_deep() -> bool:
	for levels: int in [1, 49, 50, 51, 52, 101, 102, 200]:
		var key: Variant = 1
		for level in levels:
			key = [key]
		# The engine prints an error when it hashes a key of over 101 levels.
		Engine.print_error_messages = false
		var value := {key: [levels]}
		var bytes := Oracle.engine_encode(value)
		var read := FastVariantCodec.try_decode(bytes)
		var written := FastVariantCodec.try_encode(value)
		Engine.print_error_messages = true
		checks.subject(checks.MIXED, "a key of %d levels" % levels)
		checks.truth("is read", read.is_ok() == (levels <= Refusals.DEEPEST_KEY))
		checks.same_int("written as it is read", read.error, written.error)
	return true


## Checks that the rows and `others` name every existing limit.
func _check_complete(rows: Array, others: PackedStringArray) -> void:
	checks.subject(checks.MIXED, "all limits")
	var named := Array(others) + rows.map(func(row: Array) -> String: return row[0])
	for property: Dictionary in ClassDB.class_get_property_list("FastVariantLimits", true):
		if property["usage"] & PROPERTY_USAGE_STORAGE:
			checks.truth("%s has a row" % property["name"], named.has(property["name"]), str(named))
