@tool
extends RefCounted
## The data that the benchmark encodes and decodes.

const Contents := preload("contents.gd")

const WORDS: PackedStringArray = [
	"příliš", "žluťoučký", "kůň", "the", "quick", "brown", "fox", "straße", "быстрая", "лиса", "日本", "竜の洞窟", "🐎",
]


## Named values that are made on demand.
class Workload:
	extends RefCounted
	var title: String
	## Whether the values are one batch; otherwise, each has a call of its own.
	var is_batch: bool
	## Returns the values, or a message that says why there are none.
	var make: Callable

	func _init(shown: String, batch: bool, maker: Callable) -> void:
		title = shown
		is_batch = batch
		make = maker


static func built_in() -> Array[Workload]:
	return [
		Workload.new("10,000 messages, single calls", false, _filled.bind(10_000, _message)),
		Workload.new("10,000 entities, one value", false, func() -> Array: return [_filled(10_000, _entity)]),
		Workload.new("10,000 entities, one batch", true, _filled.bind(10_000, _entity)),
		Workload.new("100,000 numbers, one value", false, func() -> Array: return [_filled(100_000, _number)]),
		Workload.new("20,000 texts, one value", false, func() -> Array: return [_filled(20_000, _text)]),
		Workload.new("64 meshes, one batch", true, _filled.bind(64, _mesh)),
	]


## The entries of a JSON document, or the records of a file, as one batch.
static func of_file(path: String) -> Workload:
	return Workload.new(path.get_file(), true, _read.bind(path))


static func _read(path: String) -> Variant:
	var refusal := Contents.refusal_of(path)
	if refusal:
		return refusal
	var bytes := FileAccess.get_file_as_bytes(path)
	if bytes.is_empty():
		return "%s is empty." % path
	if path.get_extension().to_lower() == "json":
		var json := JSON.new()
		if json.parse(bytes.get_string_from_utf8()) != OK:
			return "%s is not JSON: line %d: %s" % [path.get_file(), json.get_error_line() + 1, json.get_error_message()]
		return _entries(json.data)
	var records := FastVariantCodec.unpack_batch(bytes)
	if records.is_ok() and not (records.value as Array).is_empty():
		return records.value
	var value := FastVariantCodec.try_decode(bytes)
	if value.is_ok():
		return [value.value]
	return "%s contains neither records nor a single value: %s" % [path.get_file(), value.message]


## The elements of all lists at the top level of a document, or the document itself if there are none.
static func _entries(document: Variant) -> Array:
	var entries: Array = []
	for list: Variant in (document.values() if document is Dictionary else [document]):
		if list is Array:
			entries.append_array(list)
	return entries if entries else [document]


static func _filled(count: int, make: Callable) -> Array:
	return range(count).map(make)


static func _message(i: int) -> Dictionary:
	return {"type": "move", "player": i % 64, "position": Vector3(i, 2.5, -3)}


static func _entity(i: int) -> Dictionary:
	return {
		"id": i, "name": "entity_%d" % i, "hp": 100.0 - i % 97, "alive": i % 5 != 0,
		"position": Vector3(i % 640, 1.5, i / 640.0), "tint": Color.from_hsv(i % 100 / 100.0, 0.5, 1.0),
		"tags": ["enemy", "boss"] if i % 50 == 0 else ["enemy"],
	}


static func _number(i: int) -> Variant:
	return i * 37 - 500_000 if i % 2 == 0 else i * 0.1


static func _text(i: int) -> String:
	return "%s %s %d" % [WORDS[i % WORDS.size()], WORDS[(i / 7) % WORDS.size()], i]


static func _mesh(i: int) -> Dictionary:
	var vertices := PackedVector3Array()
	var uvs := PackedVector2Array()
	vertices.resize(2000)
	uvs.resize(2000)
	vertices.fill(Vector3(i, 0.5, -i))
	uvs.fill(Vector2(0.25, i / 64.0))
	return {"vertices": vertices, "uvs": uvs, "indices": PackedInt32Array(range(6000)), "pixels": vertices.to_byte_array()}
