## Encodes and decodes real input with the engine and with the codec, compares everything, and prints a table.
##
## godot --headless --path godot-project --script res://demo/compare.gd -- [--data DIR]
## DIR is a folder with your own JSON documents. Each becomes an item of one more batch.
extends SceneTree

const Extension := preload("res://suites/extension.gd")

const OWN_DATA := "res://demo/data"
const RUNS := 5
const ENTITIES := 50000
const ROW := "%-30s %7s %11s │ %8s %8s %7s │ %8s %8s %7s │ %s"

var _batches := 0
var _identical_batches := 0
var _total_items := 0
var _total_bytes := 0


## The times of one batch, in milliseconds, one per run.
class Times:
	extends RefCounted
	var engine := PackedFloat64Array()
	var codec := PackedFloat64Array()

	func cells() -> Array[String]:
		var engine_median := _median(engine)
		var codec_median := _median(codec)
		return [
			"%.2f" % engine_median, "%.2f" % codec_median, "%.1f ×" % (engine_median / maxf(codec_median, 0.001)),
		]

	static func _median(times: PackedFloat64Array) -> float:
		var sorted := times.duplicate()
		sorted.sort()
		return sorted[sorted.size() / 2]


func _initialize() -> void:
	quit(1)  # The exit code if a script error ends this function early.
	if not Extension.is_loaded():
		return
	var arguments := OS.get_cmdline_user_args()
	if not arguments.is_empty() and (arguments.size() != 2 or arguments[0] != "--data"):
		printerr("Usage: compare.gd -- [--data DIR], where DIR is a folder with JSON documents.")
		quit(2)
		return
	print("Each batch goes through the engine (a GDScript loop over var_to_bytes / bytes_to_var) and through one")
	print("call of the codec; every byte and value is compared. Times in ms, median of %d runs, %d processors.\n" % [
		RUNS, OS.get_processor_count(),
	])
	print(ROW % ["", "", "", "", "encode", "", "", "decode", "", ""])
	print(ROW % ["batch", "items", "bytes", "engine", "codec", "ratio", "engine", "codec", "ratio", "result"])
	var read_all := _measure_own_documents()
	_measure("%d entities" % ENTITIES, _entities())
	_measure("save game, 400 characters", _characters())
	_measure("packed arrays, 64 meshes", _meshes())
	if not arguments.is_empty():
		read_all = _measure_user_documents(arguments[1]) and read_all
	var all_identical := _identical_batches == _batches
	if not read_all:
		print("\nSome input could not be read; see above.")
	elif all_identical:
		print("\nAll %d items (%d bytes) are identical to the engine's, in bytes and in values." % [
			_total_items, _total_bytes,
		])
	else:
		print("\nDIFFERENT: at least one batch differs from the engine's; see the column \"result\".")
	quit(0 if all_identical and read_all else 1)


## Measures the entries of each bundled document as one batch. Returns whether all documents could be read.
func _measure_own_documents() -> bool:
	var read_all := true
	for file in DirAccess.get_files_at(OWN_DATA):
		if file.get_extension() != "json":
			continue
		var document: Variant = _parsed(OWN_DATA.path_join(file))
		if document == null:
			read_all = false
		else:
			_measure(file, _entries(document))
	return read_all


## Measures all documents of the user's folder as one batch. Returns whether all documents could be read.
func _measure_user_documents(folder: String) -> bool:
	var documents: Array = []
	for file in DirAccess.get_files_at(folder):
		if file.get_extension().to_lower() == "json":
			documents.append(_parsed(folder.path_join(file)))
	if documents.is_empty():
		print("There is no JSON document in \"%s\"." % folder)
		return false
	_measure("%s (%d documents)" % [folder.get_file() if folder.get_file() else folder, documents.size()], documents)
	return not documents.has(null)


## The parsed document, or null after printing the reason.
func _parsed(path: String) -> Variant:
	var json := JSON.new()
	if json.parse(FileAccess.get_file_as_string(path)) == OK:
		return json.data
	print("\"%s\" is not JSON: line %d: %s" % [path, json.get_error_line(), json.get_error_message()])
	return null


## The elements of a document's lists, or the whole document if there are none.
func _entries(document: Variant) -> Array:
	var entries: Array = []
	for list: Variant in (document.values() if document is Dictionary else [document]):
		if list is Array:
			entries.append_array(list)
	return entries if entries else [document]


func _measure(batch_name: String, batch: Array) -> void:
	_batches += 1  # Counted before anything can go wrong.
	var encode_times := Times.new()
	var decode_times := Times.new()
	var identical := true
	var bytes := 0
	for run in RUNS:
		var started := Time.get_ticks_usec()
		var expected: Array[PackedByteArray] = []
		for value: Variant in batch:
			expected.append(var_to_bytes(value))
		encode_times.engine.append((Time.get_ticks_usec() - started) / 1000.0)

		started = Time.get_ticks_usec()
		var buffers := FastVariantCodec.encode_batch(batch)
		encode_times.codec.append((Time.get_ticks_usec() - started) / 1000.0)

		started = Time.get_ticks_usec()
		var expected_values: Array = []
		for buffer in expected:
			expected_values.append(bytes_to_var(buffer))
		decode_times.engine.append((Time.get_ticks_usec() - started) / 1000.0)

		started = Time.get_ticks_usec()
		var values := FastVariantCodec.decode_batch(buffers)
		decode_times.codec.append((Time.get_ticks_usec() - started) / 1000.0)

		identical = identical and buffers == expected and _same_values(expected_values, values, expected)
		bytes = _size_of(expected)
	_identical_batches += 1 if identical else 0
	_total_items += batch.size()
	_total_bytes += bytes
	print(ROW % ([batch_name.left(30), str(batch.size()), str(bytes)] + encode_times.cells() + decode_times.cells()
			+ ["identical" if identical else "DIFFERENT"]))


## Returns whether values and their bytes are equal. The bytes distinguish -0.0 from 0.0 and String from StringName.
func _same_values(expected: Array, actual: Array, buffers: Array[PackedByteArray]) -> bool:
	if expected != actual:
		return false
	for i in actual.size():
		if var_to_bytes(actual[i]) != buffers[i]:
			return false
	return true


func _size_of(buffers: Array[PackedByteArray]) -> int:
	var size := 0
	for buffer in buffers:
		size += buffer.size()
	return size


func _entities() -> Array:
	var entities: Array = []
	for i in ENTITIES:
		entities.append({
			"id": i, "name": "entity_%d" % i, "hp": 100.0 - i % 97, "alive": i % 5 != 0,
			"position": Vector3(i % 640, 1.5, i / 640.0), "tint": Color.from_hsv(i % 100 / 100.0, 0.5, 1.0),
			"tags": ["enemy", &"boss"] if i % 50 == 0 else ["enemy"],
		})
	return entities


func _characters() -> Array:
	var characters: Array = []
	for i in 400:
		var inventory: Array[Dictionary] = []
		for slot in 30:
			inventory.append({"item": &"item_%d" % ((i + slot) % 220), "count": slot % 9, "wear": slot * 0.031})
		characters.append({
			"name": "Číslo %d" % i, "level": i % 60, "path": NodePath("/root/World/Characters/C%d:position" % i),
			"transform": Transform3D(Basis.from_euler(Vector3(0, i * 0.1, 0)), Vector3(i, 0, -i)),
			"inventory": inventory, "known_recipes": PackedInt32Array(range(i % 40)),
			"relations": {"friends": range(i % 12), "reputation": {"guild": i * 0.5, "town": -i}},
			"journal": PackedStringArray(["Day %d" % i, "It rained again.", "Found the old gate."]),
		})
	return characters


func _meshes() -> Array:
	var meshes: Array = []
	for i in 64:
		var vertices := PackedVector3Array()
		var uvs := PackedVector2Array()
		var indices := PackedInt32Array(range(6000))
		for v in 2000:
			vertices.append(Vector3(v % 50, sin(v * 0.1 + i), v / 50.0))
			uvs.append(Vector2(v % 50, v / 50.0) / 50.0)
		meshes.append({"vertices": vertices, "uvs": uvs, "indices": indices, "pixels": vertices.to_byte_array()})
	return meshes
