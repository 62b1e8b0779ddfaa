@tool
extends RefCounted
## The contents of encoded bytes, for the panel: the nodes of one value, or of length-prefixed records, as written by
## FileAccess.store_var and FastVariantCodec.pack_batch.

enum Framing { AUTOMATIC, ONE_VALUE, RECORDS }

## The role of a byte. The first five are the piece kinds of FastVariantInspector.inspect.
enum Kind { CONTENT, HEADER, ELEMENT_TYPE, COUNT, PADDING, UNREAD }

const KIND_NAMES: PackedStringArray = ["content", "header", "type", "count", "padding", "unread"]
const KIND_HELP: PackedStringArray = [
	"The value itself: numbers, text, ids.",
	"The type of a value, and its flags.",
	"The type that a typed container declares for its elements, keys or values.",
	"How many bytes, elements, entries or properties follow.",
	"Fills up to a multiple of 4 bytes.",
	"Bytes that were not decoded, or that follow the value.",
]
## The number of characters after which the preview of a container is truncated.
const PREVIEW := 60
## The maximum number of values inspected at once. Further values are inspected on demand.
const MAX_NODES := 10_000
## The number of values inspected for the line of a record.
const SHOWN_OF_RECORD := 8
## The maximum number of listed errors, and of listed non-canonical encodings.
const MAX_PROBLEMS := 1000
## The size of the smallest file that does not fit into a PackedByteArray.
const LARGEST := 1 << 31
## The size of the length prefix of a record.
const FRAME := 4
## The size of the header and the count of an Array.
const ARRAY_HEAD := 8
## The pattern of a key whose number is probably a Unix time, and the range of such times: the years 2000 to 2099.
const TIME_KEY := "(^|_)(\\w*time|date|timestamp|at)(_|$)"
const TIMES: PackedInt64Array = [946_684_800, 4_102_444_800]


## An error or a non-canonical encoding at a byte.
class Problem:
	extends RefCounted
	var offset: int
	var message: String
	var is_error: bool

	func _init(at: int, reason: String, bad: bool) -> void:
		offset = at
		message = reason
		is_error = bad


## Bytes that were inspected together: one value, one record, or more children of one value.
class Chunk:
	extends RefCounted
	var end: int
	## The index of the chunk's first node, and the offset of each of its nodes.
	var first: int
	var starts := PackedInt64Array()
	var piece_offsets := PackedInt64Array()
	var piece_kinds := PackedByteArray()


## Another thread sets this to cancel reading. The contents are then incomplete.
var is_cancelled := false
var bytes: PackedByteArray
var has_records: bool
## The nodes of FastVariantInspector.inspect, with offsets into `bytes`. Outermost nodes have no parent. Nodes are
## added on demand: see node_of_record and load_more.
var nodes: Array[Dictionary] = []
var problems: Array[Problem] = []
## The number of errors, and of non-canonical encodings, that `problems` omits.
var errors_left_out := 0
var notes_left_out := 0
## The offset of the length prefix of each record.
var record_starts := PackedInt64Array()
var record_count: int:
	get:
		return record_starts.size()

## Whether the last record is truncated.
var is_torn := false
## Another way to read the bytes, as FastVariantInspector.inspect names it; empty if there is none.
var other_contents := ""

## The codec's message about another format; empty if the bytes are records or the format is unknown.
var _other_format := ""
var _errors: Array[Problem] = []
var _notes: Array[Problem] = []
## The chunks, sorted by their start. A later chunk may lie inside an earlier one.
var _chunks: Array[Chunk] = []
var _chunk_starts := PackedInt64Array()
## The end of the last complete record.
var _records_end := 0


## The reason why a file cannot be read; empty if it can.
static func refusal_of(path: String) -> String:
	var file := FileAccess.open(path, FileAccess.READ)
	if file == null:
		return "Cannot open %s: %s." % [path, error_string(FileAccess.get_open_error())]
	if file.get_length() >= LARGEST:
		return "%s is larger than 2 GiB, the limit of a PackedByteArray." % path
	if file.get_length() == 0 and file.get_buffer(1):
		return "Cannot open %s: it is a special file, which has no size." % path
	return ""


## Reads the contents of the bytes that `load_bytes` returns.
func read(load_bytes: Callable, framing: Framing) -> void:
	if is_cancelled:
		return
	bytes = load_bytes.call()
	has_records = framing == Framing.RECORDS or (framing == Framing.AUTOMATIC and _are_records())
	if has_records:
		_add_records()
	else:
		_add_value()
	problems = _errors + _notes
	problems.sort_custom(func(a: Problem, b: Problem) -> bool: return a.offset < b.offset)


## The innermost node that contains a byte; −1 if there is none. Inspects the record around the byte.
func node_at(byte: int) -> int:
	var chunk := _chunk_at(byte)
	var index := -1 if chunk == null else chunk.first + chunk.starts.bsearch(byte, false) - 1
	if chunk and index < chunk.first:
		return -1
	while index >= 0 and byte >= end_of(index):
		index = nodes[index]["parent"]
	return index


## The outermost node of a record; −1 if it has none. Inspects the record.
func node_of_record(record: int) -> int:
	var start := record_starts[record]
	var at := _chunk_starts.bsearch(start)
	if at == _chunk_starts.size() or _chunk_starts[at] != start:
		_add_record(record)
	var chunk := _chunks[at]
	return chunk.first if chunk.starts else -1


## The result of FastVariantInspector.inspect for a record, limited to the values that its line shows.
func outline_of_record(record: int) -> Dictionary:
	return FastVariantInspector.inspect(bytes.slice(record_starts[record] + FRAME, end_of_record(record)), SHOWN_OF_RECORD)


func end_of_record(record: int) -> int:
	return record_starts[record + 1] if record + 1 < record_count else _records_end


## Whether load_more can inspect the omitted children of a node. It cannot in an object, where a name precedes
## each value.
func can_load_more(index: int) -> bool:
	return nodes[index].has("left_out") and nodes[index]["type"] != TYPE_OBJECT


## Inspects more of the omitted children of a node.
func load_more(index: int) -> void:
	var node := nodes[index]
	var start: int = node["left_out_offset"]
	var end: int = start + node["left_out_size"]
	var head := PackedByteArray()
	head.resize(ARRAY_HEAD)
	head.encode_u32(0, TYPE_ARRAY)
	head.encode_u32(4, node["left_out"])
	_add_outline(FastVariantInspector.inspect(head + bytes.slice(start, end), MAX_NODES), start - ARRAY_HEAD, start, end, index)


## The offset of a node; for a record, the offset of its length prefix.
func start_of(index: int) -> int:
	return nodes[index]["offset"] - (FRAME if nodes[index]["role"] == "record" else 0)


func end_of(index: int) -> int:
	return mini(nodes[index]["offset"] + nodes[index]["size"], bytes.size())


## A node and its siblings; only the node if it has no parent.
func siblings_of(index: int) -> PackedInt32Array:
	var parent: int = nodes[index]["parent"]
	return PackedInt32Array([index]) if parent < 0 else nodes[parent]["children"]


func kind_of(byte: int) -> Kind:
	var chunk := _chunk_at(byte)
	var piece := -1 if chunk == null else chunk.piece_offsets.bsearch(byte, false) - 1
	return chunk.piece_kinds[piece] as Kind if piece >= 0 else Kind.UNREAD


## The problem at a byte, preferably an error; null if there is none.
func problem_at(byte: int) -> Problem:
	var found: Problem = null
	for problem in problems:
		if problem.offset == byte and (found == null or problem.is_error):
			found = problem
	return found


## The siblings that have a line in a tree. A key without children has no line, because the line of its value
## names the key.
func lines_of(siblings: PackedInt32Array) -> PackedInt32Array:
	var lines := PackedInt32Array()
	for index in siblings:
		if line_of(index) == index:
			lines.append(index)
	return lines


## The node whose line shows this node: for a complete key without children, its value; otherwise the node
## itself.
func line_of(index: int) -> int:
	var node := nodes[index]
	if node["role"] != "key" or not node["is_complete"] or node["children"] or node.has("left_out"):
		return index
	var siblings := siblings_of(index)
	var after := siblings.bsearch(index) + 1
	return siblings[after] if after < siblings.size() else index


## A short form of a node: the first elements of a container, a number with its date if it is probably a Unix time.
func preview_of(index: int) -> String:
	var preview := preview_among(nodes, index)
	var date := _date_of(index)
	return "%s (%s)" % [preview, date] if date else preview


## The date in UTC that a number denotes; empty if its key or its value is not that of a Unix time.
func _date_of(index: int) -> String:
	var node := nodes[index]
	if node["type"] not in [TYPE_INT, TYPE_FLOAT] or node["role"] not in ["value", "property"]:
		return ""
	var key := _name_of(index).trim_prefix("\"").trim_suffix("\"").to_snake_case()
	var time := (node["preview"] as String).to_float()
	if time < TIMES[0] or time >= TIMES[1] or RegEx.create_from_string(TIME_KEY).search(key) == null:
		return ""
	return Time.get_datetime_string_from_unix_time(int(time), true).left(-3) + " UTC"


static func preview_among(nodes: Array[Dictionary], index: int) -> String:
	var node := nodes[index]
	var own: String = node["preview"]
	if is_object(nodes, index):
		return _preview_of_object(nodes, node)
	if node["children"].is_empty() or not own.left(1).is_valid_int():
		return own
	return _preview_of_children(nodes, node, node["children"])


static func _preview_of_children(nodes: Array[Dictionary], node: Dictionary, children: PackedInt32Array) -> String:
	var is_cut: bool = node.has("left_out")
	var parts := PackedStringArray()
	var length := 0
	for child in children:
		var part: String = nodes[child]["preview"]
		if nodes[child]["children"]:
			part = "{…}" if nodes[child]["type"] == TYPE_DICTIONARY else "[…]"
		if nodes[child]["role"] == "value" and parts:
			parts[-1] += ": " + part
		else:
			if length > PREVIEW:
				is_cut = true
				break
			parts.append(part)
		length += part.length()
	if is_cut and (parts.is_empty() or parts[-1] != "…"):
		parts.append("…")
	return ("{ %s }" if node["type"] == TYPE_DICTIONARY else "[%s]") % ", ".join(parts)


## Whether a node is the Dictionary that FastVariantClasses writes for an object.
static func is_object(nodes: Array[Dictionary], index: int) -> bool:
	var children: PackedInt32Array = nodes[index]["children"]
	return nodes[index]["type"] == TYPE_DICTIONARY and children.size() > 1 and (
			nodes[children[0]]["preview"] == "\"@class\"" and nodes[children[1]]["type"] in [TYPE_STRING, TYPE_STRING_NAME])


## The class of an object, its version if it has one, and its first properties.
static func _preview_of_object(nodes: Array[Dictionary], node: Dictionary) -> String:
	var children: PackedInt32Array = node["children"]
	var title: String = nodes[children[1]]["preview"].trim_prefix("\"").trim_suffix("\"")
	var first := 2
	if children.size() > 3 and nodes[children[2]]["preview"] == "\"@version\"":
		title += " (v%s)" % nodes[children[3]]["preview"]
		first = 4
	var properties := children.slice(first)
	return title if properties.is_empty() else "%s %s" % [title, _preview_of_children(nodes, node, properties)]


## The name of a node in its parent, and its type.
func title_of(index: int) -> String:
	var node := nodes[index]
	var type: String = node["type_name"]
	if node.has("element_types"):
		type += "[%s]" % ", ".join(node["element_types"])
	var own := _name_of(index)
	return "%s: %s" % [own, type] if own else type


## The name of a node in a line whose icon shows the type.
func label_of(index: int) -> String:
	var own := _name_of(index)
	return own if own else "Value"


## The name of a node in its parent; empty for the outermost value.
func _name_of(index: int) -> String:
	var node := nodes[index]
	match node["role"]:
		"record":
			return "Record %d" % node["index"]
		"element":
			return "[%d]" % node["index"]
		"key":
			return "Key %d" % node["index"]
		"value":
			return nodes[_key_of(index)]["preview"]
		"property":
			return node["name"]
	return ""


## A number of bytes in a unit that fits.
static func size_in_words(size: int) -> String:
	if size < 1024:
		return "%d bytes" % size
	var unit := 0
	var amount := float(size)
	while amount >= 1023.5 and unit < 3:
		amount /= 1024
		unit += 1
	return "%s %s" % [String.num(amount, 1 if amount < 9.95 else 0).trim_suffix(".0"), ["", "KiB", "MiB", "GiB"][unit]]


func byte_in_words(byte: int) -> String:
	var words := "Byte %d (0x%x) is %02x" % [byte, byte, bytes[byte]]
	var index := node_at(byte)
	var kind := kind_of(byte)
	if kind == Kind.UNREAD or index < 0:
		return "%s, not decoded" % words
	if byte < nodes[index]["offset"] and nodes[index]["role"] == "record":
		return "%s, length of record %d" % [words, nodes[index]["index"]]
	var is_key: bool = nodes[index]["role"] == "key"
	return "%s, %s of %s" % [words, KIND_NAMES[kind], "the key %s" % nodes[index]["preview"] if is_key else title_of(index)]


func _key_of(value: int) -> int:
	# Not `value - 1`, because the children of a container key come between the key and the value.
	var siblings := siblings_of(value)
	return siblings[siblings.bsearch(value) - 1]


## Whether the bytes are records, as the codec recognises them.
func _are_records() -> bool:
	var outline := FastVariantInspector.inspect(bytes, 1)
	other_contents = outline["other_contents"]
	if outline["contents"] not in ["records", "value"]:
		_other_format = outline["message"]
	return outline["contents"] == "records"


func _add_records() -> void:
	if bytes.is_empty():
		_add_problem(0, "0 bytes: no records; a full disk leaves such files, too", true)
	var at := 0
	while at < bytes.size() and not is_cancelled:
		var left := bytes.size() - at - FRAME
		var length := bytes.decode_u32(at) if left >= 0 else 0
		if length == 0 or length > left:
			_add_problem(at, (
				"truncated record length: need %d bytes, %d left" % [FRAME, left + FRAME] if left < 0
				else "record of 0 bytes, as after a power failure" if length == 0
				else "truncated record: need %d bytes, %d left" % [length, left]
			), true)
			if length == 0 or left <= 0:
				var torn := _add_chunk(at, bytes.size())
				torn.piece_offsets = [at, mini(at + FRAME, bytes.size())]
				torn.piece_kinds = [Kind.COUNT, Kind.UNREAD]
				return
			# The values before the end are shown.
			is_torn = true
			record_starts.append(at)
			_records_end = bytes.size()
			_add_record(record_count - 1)
			return
		record_starts.append(at)
		_records_end = at + FRAME + length
		# The limit counts records too, because a damaged record may have no nodes.
		if maxi(nodes.size(), record_count) <= MAX_NODES:
			_add_problems(_add_record(record_count - 1), at + FRAME)
		else:
			_add_problems(FastVariantInspector.inspect(bytes.slice(at + FRAME, _records_end), 1), at + FRAME)
		at = _records_end


## Inspects a record, adds its nodes, and returns the result of FastVariantInspector.inspect.
func _add_record(record: int) -> Dictionary:
	var start := record_starts[record]
	var end := end_of_record(record)
	var outline := FastVariantInspector.inspect(bytes.slice(start + FRAME, end), MAX_NODES)
	for node: Dictionary in outline["nodes"]:
		if node["parent"] < 0:
			node["role"] = "record"
			node["index"] = record
	var chunk := _add_outline(outline, start + FRAME, start, end)
	chunk.piece_offsets.insert(0, start)
	chunk.piece_kinds.insert(0, Kind.COUNT)
	return outline


func _add_value() -> void:
	if _other_format:
		_add_problem(0, _other_format, true)
		return
	var outline := FastVariantInspector.inspect(bytes, MAX_NODES)
	_add_outline(outline, 0, 0, bytes.size())
	_add_problems(outline, 0)


## Adds the nodes of an outline whose bytes start at `shift`. Skips the outermost node if there is a parent: that node
## is the Array that load_more puts around the children.
func _add_outline(outline: Dictionary, shift: int, start: int, end: int, parent := -1) -> Chunk:
	var chunk := _add_chunk(start, end)
	chunk.first = nodes.size()
	var found: Array[Dictionary] = outline["nodes"]
	var skipped := 1 if parent >= 0 else 0
	var base := nodes.size() - skipped
	var among := 0 if parent < 0 else (nodes[parent]["children"] as PackedInt32Array).size()
	for node in found.slice(skipped):
		node["offset"] += shift
		if node.has("left_out"):
			node["left_out_offset"] += shift
		if node["parent"] >= skipped:
			node["parent"] += base
		elif parent >= 0:
			node["parent"] = parent
			var is_entry: bool = nodes[parent]["type"] == TYPE_DICTIONARY
			node["role"] = "element" if not is_entry else "key" if among % 2 == 0 else "value"
			node["index"] = among / 2 if is_entry else among
			among += 1
			nodes[parent]["children"] += PackedInt32Array([nodes.size()])
		var children: PackedInt32Array = node["children"]
		for i in children.size():
			children[i] += base
		node["children"] = children
		chunk.starts.append(node["offset"])
		nodes.append(node)
	if chunk.starts and nodes[chunk.first]["role"] == "record":
		chunk.starts[0] -= FRAME
	if parent >= 0:
		for key: String in ["left_out", "left_out_offset", "left_out_size"]:
			nodes[parent].erase(key)
			if found[0].has(key):
				nodes[parent][key] = found[0][key] + (shift if key == "left_out_offset" else 0)
	var offsets: PackedInt64Array = outline["piece_offsets"]
	for i in offsets.size():
		# The header that load_more adds is not in the bytes.
		if shift + offsets[i] >= start:
			chunk.piece_offsets.append(shift + offsets[i])
			chunk.piece_kinds.append(outline["piece_kinds"][i])
	if shift + outline["end"] < end:
		chunk.piece_offsets.append(shift + outline["end"])
		chunk.piece_kinds.append(Kind.UNREAD)
	return chunk


func _add_chunk(start: int, end: int) -> Chunk:
	var chunk := Chunk.new()
	chunk.end = end
	var at := _chunk_starts.bsearch(start, false)
	_chunk_starts.insert(at, start)
	_chunks.insert(at, chunk)
	return chunk


## The innermost chunk around a byte; null if there is none. Inspects the record around the byte.
func _chunk_at(byte: int) -> Chunk:
	if has_records and byte < _records_end:
		node_of_record(record_starts.bsearch(byte, false) - 1)
	var at := _chunk_starts.bsearch(byte, false) - 1
	while at >= 0 and _chunks[at].end <= byte:
		at -= 1
	return _chunks[at] if at >= 0 else null


func _add_problems(outline: Dictionary, start: int) -> void:
	if outline["error"] != FastVariantCodec.OK:
		# Removes the offset, because the panel shows it separately, counted from the start of all bytes.
		var message: String = outline["message"]
		message = message.replace(" (at byte %d)" % outline["offset"], "")
		_add_problem(start + outline["offset"], message, true)
	for note: Dictionary in outline["notes"]:
		_add_problem(start + note["offset"], note["message"], false)
	notes_left_out += outline["notes_left_out"]


func _add_problem(offset: int, message: String, is_error: bool) -> void:
	var same: Array[Problem] = _errors if is_error else _notes
	if same.size() < MAX_PROBLEMS:
		same.append(Problem.new(offset, message, is_error))
	elif is_error:
		errors_left_out += 1
	else:
		notes_left_out += 1
