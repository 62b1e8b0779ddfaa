## Searches for inputs that make an entry point slow, or take more engine memory than is charged, within the
## limits of FastVariantLimits.for_network(). Mutates trees of generators (suites/generators.gd), and
## continues from the costliest ones.
## godot --headless --path godot-project --script res://bench/search.gd -- --seconds 60 --seed 1 --entry -1
##
## Adds the inputs that it finds to suites/fixtures/found.json, and then fails.
extends SceneTree

const Entries := preload("res://suites/entries.gd")
const Extension := preload("res://suites/extension.gd")
const Generators := preload("res://suites/generators.gd")
const Options := preload("res://suites/options.gd")
const Wire := preload("res://suites/wire.gd")

## The number of trees that the search keeps.
const KEPT := 12
## The maximum time of a call. The search reports slower inputs.
const MOST_MILLISECONDS := 100.0
## The time in milliseconds above which the search reports an input without measuring again.
const FAR_TOO_MANY := 1000.0
## The number of further measurements of a slow call. The shortest time counts, because noise only makes calls
## longer.
const RUNS := 7
## The input size for a first estimate of the time.
const SMALL_BYTES := 1 << 16
## The input size when measuring memory, and `Entries.MARGIN` scaled to this size.
const MEMORY_BYTES := 1 << 18
const MARGIN := Entries.MARGIN * MEMORY_BYTES / (1 << 20)

## The entry points that receive a pair of values.
const COMPARISONS: Array[String] = ["diff", "differences", "apply"]

var _entries := Entries.new()
var _generators: Generators
var _random := RandomNumberGenerator.new()
var _found := 0


func _initialize() -> void:
	quit(1)  # The exit code if a script error ends this function early.
	var options: Dictionary[String, int] = {"seconds": 60, "seed": int(Time.get_unix_time_from_system()), "entry": -1}
	if not Extension.is_loaded() or not Options.read(options, get_script()):
		return
	print("Seed %d, %d seconds for each entry point." % [options["seed"], options["seconds"]])
	for index in Entries.NAMES.size():
		if options["entry"] in [-1, index]:
			_random.seed = hash([options["seed"], index])
			var entry := Entries.NAMES[index]
			var is_charged := entry in Entries.CHARGED
			var seconds := options["seconds"] / (2.0 if is_charged else 1.0)
			_search(entry, seconds, _entries.limits.max_bytes, "ms", _milliseconds)
			if is_charged:
				_search(entry, seconds, MEMORY_BYTES, "of the charge", _share)
	for index in COMPARISONS.size():
		if options["entry"] in [-1, Entries.NAMES.size() + index]:
			_random.seed = hash([options["seed"], COMPARISONS[index]])
			_search_pairs(COMPARISONS[index], options["seconds"])
	if _found == 0:
		print("Found nothing over %d ms or %d uncharged bytes of %d."  % [MOST_MILLISECONDS, MARGIN, MEMORY_BYTES])
		quit(0)
	else:
		printerr("Found %d, added to %s." % [_found, Entries.FOUND])


## Spends `seconds` seconds on finding inputs with ever larger results of `measure`. The arguments of
## `measure` are an entry point, bytes and a number of runs.
func _search(entry: String, seconds: float, most_bytes: int, unit: String, measure: Callable) -> void:
	var until := Time.get_ticks_msec() + seconds * 1000.0
	_generators = Generators.new(_random.randi(), most_bytes)
	var pool: Array[Array] = []
	var tried := 0
	var known := Generators.known_inputs(entry)
	while Time.get_ticks_msec() < until:
		tried += 1
		var input: Dictionary
		if known:
			input = known.pop_back()
		elif pool.size() < KEPT / 2 or _random.randf() < 0.05:
			input = _generators.random_input(entry)
		else:
			# Prefers costly inputs: `pool` is sorted, the costliest first.
			var first := mini(_random.randi() % pool.size(), _random.randi() % pool.size())
			input = _generators.mutated(pool[first][1], pool[_random.randi() % pool.size()][1], entry)
		# Gives numbers the types that they would have if the input were read from the file.
		input = JSON.parse_string(JSON.stringify(input))
		var worst_kept: float = pool[-1][0] if pool.size() == KEPT else -INF
		if unit == "ms":
			_generators.most = SMALL_BYTES
			var hint: float = measure.call(entry, _generators.bytes_of(input, entry), 1)
			_generators.most = most_bytes
			if hint * most_bytes / SMALL_BYTES < worst_kept / 2:
				continue
		var bytes := _generators.bytes_of(input, entry)
		if bytes.size() > _entries.limits.max_bytes:
			continue
		var badness: float = measure.call(entry, bytes, 1)
		if badness <= worst_kept:
			continue
		# Repeats the measurement, so that the search does not follow noise.
		var is_sure := unit == "ms" and badness > FAR_TOO_MANY
		if not is_sure:
			badness = minf(badness, measure.call(entry, bytes, 2))
		if badness <= worst_kept:
			continue
		if is_sure or _is_too_much(unit, entry, bytes):
			_keep(entry, input, most_bytes, "%.1f %s, %d bytes" % [badness, unit, bytes.size()])
			return
		pool.append([badness, input])
		pool.sort_custom(func(a: Array, b: Array) -> bool: return a[0] > b[0])
		pool.resize(mini(pool.size(), KEPT))
	if pool:
		var worst := pool[0]
		print("%-18s %6d tried, at most %.2f %s: %s" % [entry, tried, worst[0], unit, JSON.stringify(worst[1])])


## Spends `seconds` seconds on finding slow comparisons. A pair is two lists. Each list of trees becomes one Array,
## which joins the elements of all Arrays that the trees produce.
func _search_pairs(entry: String, seconds: float) -> void:
	var until := Time.get_ticks_msec() + seconds * 1000.0
	_generators = Generators.new(_random.randi(), _entries.limits.max_bytes / 2)
	var pool: Array[Array] = []
	var tried := 0
	while Time.get_ticks_msec() < until:
		tried += 1
		var pair: Array
		if pool.size() < KEPT / 2 or _random.randf() < 0.1:
			var old := [_random_array(), _random_array()]
			pair = [old, old.duplicate(true) if _random.randf() < 0.7 else [_random_array()]]
		else:
			pair = pool[mini(_random.randi() % pool.size(), _random.randi() % pool.size())][1].duplicate(true)
		for change in _random.randi() % 4:
			var list: Array = pair[_random.randi() % 2]
			var at := _random.randi() % list.size()
			match _random.randi() % 4:
				0:
					list.insert(at, _random_array())
				1:
					list.insert(at, list[_random.randi() % list.size()])
				2 when list.size() > 1:
					list.remove_at(at)
				_:
					list[at] = _generators.mutated(list[at], list[_random.randi() % list.size()], entry)
		pair = JSON.parse_string(JSON.stringify(pair))
		var badness := _milliseconds_of_pair(entry, pair, 1)
		if pool.size() == KEPT and badness <= pool[-1][0]:
			continue
		badness = minf(badness, _milliseconds_of_pair(entry, pair, 2))
		if badness > MOST_MILLISECONDS and _milliseconds_of_pair(entry, pair, RUNS) > MOST_MILLISECONDS:
			_found += 1
			print("FOUND %.1f ms: %s %s" % [badness, entry, JSON.stringify(pair)])
			return
		pool.append([badness, pair])
		pool.sort_custom(func(a: Array, b: Array) -> bool: return a[0] > b[0])
		pool.resize(mini(pool.size(), KEPT))
	print("%-18s %6d tried, at most %.2f ms: %s" % [entry, tried, pool[0][0], JSON.stringify(pool[0][1])])


func _random_array() -> Dictionary:
	var array := {"is": "array", "n": 1 + _random.randi() % 40_000, "of": _generators.random_value(9), "shared": false, "type": 0}
	return {"is": "input", "of": array, "fill": false}


func _list_of(trees: Array, entry: String) -> PackedByteArray:
	var count := 0
	var elements := PackedByteArray()
	for tree: Dictionary in trees:
		var bytes := _generators.bytes_of(tree, entry)
		if bytes.size() > 8 and bytes.decode_u32(0) == TYPE_ARRAY and elements.size() + bytes.size() < _entries.limits.max_bytes:
			count += bytes.decode_u32(4)
			elements += bytes.slice(8)
	return Wire.header(TYPE_ARRAY) + Wire.word(count) + elements


## The shortest time of `runs` calls; 0 for refused pairs.
func _milliseconds_of_pair(entry: String, pair: Array, runs: int) -> float:
	var old := _list_of(pair[0], entry)
	var new := _list_of(pair[1], entry)
	if not FastVariantCodec.validate(old, _entries.limits).is_ok() or not FastVariantCodec.validate(new, _entries.limits).is_ok():
		return 0.0
	var patch := FastVariantPatch.diff(old, new, _entries.limits) if entry == "apply" else PackedByteArray()
	var least := INF
	for run in runs:
		var started := Entries.now()
		match entry:
			"diff":
				FastVariantPatch.diff(old, new, _entries.limits)
			"differences":
				FastVariantPatch.differences(old, new, 1, _entries.limits)
			"apply":
				FastVariantPatch.apply(old, patch, _entries.limits)
		least = minf(least, (Entries.now() - started) / 1000.0)
	return least


func _is_too_much(unit: String, entry: String, bytes: PackedByteArray) -> bool:
	if unit == "ms":
		return _entries.milliseconds(entry, bytes, 1) > MOST_MILLISECONDS and _entries.milliseconds(entry, bytes, RUNS) > MOST_MILLISECONDS
	var memory := _entries.memory(entry, bytes)
	return memory.size() > 0 and memory[0] > memory[1] + MARGIN


func _keep(entry: String, input: Dictionary, most_bytes: int, what: String) -> void:
	_found += 1
	print("FOUND %s: %s %s" % [what, entry, JSON.stringify(input)])
	Entries.keep(entry, most_bytes, input)


func _milliseconds(entry: String, bytes: PackedByteArray, runs: int) -> float:
	return _entries.milliseconds(entry, bytes, runs)


## The share of the charged memory that the engine takes; −1 for small or refused inputs.
func _share(entry: String, bytes: PackedByteArray, _runs: int) -> float:
	var memory := _entries.memory(entry, bytes)
	return float(memory[0]) / memory[1] if memory and bytes.size() * 4 > MEMORY_BYTES else -1.0
