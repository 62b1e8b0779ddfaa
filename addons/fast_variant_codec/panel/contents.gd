@tool
extends RefCounted
## What bytes hold, for the panel: the nodes of one value, or of records that each stand behind their length, as
## FileAccess.store_var and FastVariantCodec.pack_batch write them.

enum Framing { AUTOMATIC, ONE_VALUE, RECORDS }

## What a byte is there for. The first five are those of FastVariantCodec.inspect.
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
## The preview of a container ends after so many characters.
const PREVIEW := 60
## Also the maximum of records that are decoded.
const MAX_NODES := 10_000
## The maximum of errors, and likewise of non-canonical encodings.
const MAX_PROBLEMS := 1000
## A file of this many bytes does not fit into one array.
const LARGEST := 1 << 31
## Bytes of the length in front of a record.
const FRAME := 4


## What is bad or odd about a byte.
class Problem:
	extends RefCounted
	var offset: int
	var message: String
	var is_error: bool

	func _init(at: int, reason: String, bad: bool) -> void:
		offset = at
		message = reason
		is_error = bad


## To be set from another thread when nobody wants the contents any more: reading ends soon, and leaves them incomplete.
var is_cancelled := false
var bytes: PackedByteArray
var has_records: bool
## As in FastVariantCodec.inspect, with places in all of the bytes. The outermost ones have no parent.
var nodes: Array[Dictionary] = []
var outermost := PackedInt32Array()
var problems: Array[Problem] = []
## Problems beyond the maximum, which `problems` does not hold.
var errors_left_out := 0
var notes_left_out := 0
var record_count := 0
## Records that are no nodes, and where they start.
var records_left_out := 0
var left_out_start := 0

var _errors: Array[Problem] = []
var _notes: Array[Problem] = []
var _starts := PackedInt64Array()
var _piece_offsets := PackedInt64Array()
var _piece_kinds := PackedByteArray()


## Why a file cannot be read; empty if it can.
static func refusal_of(path: String) -> String:
	var file := FileAccess.open(path, FileAccess.READ)
	if file == null:
		return "Cannot open %s: %s" % [path, error_string(FileAccess.get_open_error())]
	if file.get_length() >= LARGEST:
		return "%s is larger than 2 GiB, the limit of a PackedByteArray." % path
	if file.get_length() == 0 and file.get_buffer(1):
		return "Cannot open %s: it is a special file, which has no size." % path
	return ""


## Fills this with what the bytes hold that `load_bytes` gives.
func read(load_bytes: Callable, framing: Framing) -> void:
	if is_cancelled:
		return
	bytes = load_bytes.call()
	has_records = framing == Framing.RECORDS or (framing == Framing.AUTOMATIC and _looks_framed())
	if has_records:
		_add_records()
	else:
		_add_value(0, bytes.size())
	problems = _errors + _notes
	problems.sort_custom(func(a: Problem, b: Problem) -> bool: return a.offset < b.offset)


## The innermost node that holds a byte, −1 where there is none.
func node_at(byte: int) -> int:
	var index := _starts.bsearch(byte, false) - 1
	while index >= 0 and byte >= end_of(index):
		index = nodes[index]["parent"]
	return index


## Where a node starts; a record with its length.
func start_of(index: int) -> int:
	return _starts[index]


func end_of(index: int) -> int:
	return mini(nodes[index]["offset"] + nodes[index]["size"], bytes.size())


## The nodes that are held by what holds this one.
func siblings_of(index: int) -> PackedInt32Array:
	var parent: int = nodes[index]["parent"]
	return outermost if parent < 0 else nodes[parent]["children"]


func kind_of(byte: int) -> Kind:
	var piece := _piece_offsets.bsearch(byte, false) - 1
	return _piece_kinds[piece] as Kind if piece >= 0 else Kind.UNREAD


## The problem at a byte, a bad one before an odd one, or null.
func problem_at(byte: int) -> Problem:
	var found: Problem = null
	for problem in problems:
		if problem.offset == byte and (found == null or problem.is_error):
			found = problem
	return found


## The nodes that have a line in a tree, of those held by one: the line of an entry names its key, so a plain key has none.
func lines_of(siblings: PackedInt32Array) -> PackedInt32Array:
	var lines := PackedInt32Array()
	for index in siblings:
		if line_of(index) == index:
			lines.append(index)
	return lines


## The node whose line stands for this one: that of the value, for a plain key.
func line_of(index: int) -> int:
	var node := nodes[index]
	if node["role"] != "key" or not node["is_complete"] or node["children"] or node.has("left_out"):
		return index
	var siblings := siblings_of(index)
	var after := siblings.bsearch(index) + 1
	return siblings[after] if after < siblings.size() else index


## A node in short: for a container, what it begins with.
func preview_of(index: int) -> String:
	var node := nodes[index]
	var own: String = node["preview"]
	if node["children"].is_empty() or not own.left(1).is_valid_int():
		return own
	var parts := PackedStringArray()
	var length := 0
	for child: int in node["children"]:
		var part: String = nodes[child]["preview"]
		if nodes[child]["children"]:
			part = "{…}" if nodes[child]["type"] == TYPE_DICTIONARY else "[…]"
		if nodes[child]["role"] == "value" and parts:
			parts[-1] += ": " + part
		else:
			if length > PREVIEW:
				parts.append("…")
				break
			parts.append(part)
		length += part.length()
	return ("{ %s }" if node["type"] == TYPE_DICTIONARY else "[%s]") % ", ".join(parts)


## What a node is in the one that holds it, and its type.
func title_of(index: int) -> String:
	var node := nodes[index]
	var type: String = node["type_name"]
	if node.has("element_types"):
		type += "[%s]" % ", ".join(node["element_types"])
	match node["role"]:
		"record":
			return "Record %d: %s" % [node["index"], type]
		"element":
			return "[%d]: %s" % [node["index"], type]
		"key":
			return "Key %d: %s" % [node["index"], type]
		"value":
			return "%s: %s" % [nodes[_key_of(index)]["preview"], type]
		"property":
			return "%s: %s" % [node["name"], type]
	return type


## What a byte is, in words.
func byte_in_words(byte: int) -> String:
	var words := "Byte %d (0x%x) is %02x" % [byte, byte, bytes[byte]]
	var index := node_at(byte)
	var kind := kind_of(byte)
	if kind == Kind.UNREAD or index < 0:
		return "%s, not decoded" % words
	if byte < nodes[index]["offset"] and nodes[index]["role"] == "record":
		return "%s, length of record %d" % [words, nodes[index]["index"]]
	return "%s, %s of %s" % [words, KIND_NAMES[kind], title_of(index)]


func _key_of(value: int) -> int:
	# A key with nodes of its own stands in front of them.
	var siblings := siblings_of(value)
	return siblings[siblings.bsearch(value) - 1]


## Whether records are the better explanation: the bytes are not one whole value, and the first record is one, or each
## record ends where the next one starts.
func _looks_framed() -> bool:
	if bytes.size() < 2 * FRAME:
		return false
	var value := FastVariantCodec.inspect(bytes, 1)
	if value["error"] == FastVariantCodec.OK and value["end"] >= bytes.size():
		return false
	var length := bytes.decode_u32(0)
	if length < FRAME or length > bytes.size() - FRAME:
		return false
	var first := FastVariantCodec.inspect(bytes.slice(FRAME, FRAME + length), 1)
	if first["error"] == FastVariantCodec.OK and first["end"] == length:
		return true
	var at := 0
	while at + FRAME <= bytes.size() and bytes.decode_u32(at) > 0 and not is_cancelled:
		at += FRAME + bytes.decode_u32(at)
	return at == bytes.size() and length + FRAME < at


func _add_records() -> void:
	var at := 0
	while at < bytes.size() and not is_cancelled:
		var left := bytes.size() - at - FRAME
		var length := bytes.decode_u32(at) if left >= 0 else 0
		if length == 0 or length > left:
			_add_piece(at, Kind.COUNT)
			_add_piece(mini(at + FRAME, bytes.size()), Kind.UNREAD)
			_add_problem(at, (
				"truncated record length: need %d bytes, %d left" % [FRAME, left + FRAME] if left < 0
				else "record of 0 bytes, as after a power failure" if length == 0
				else "truncated record: need %d bytes, %d left" % [length, left]
			), true)
			return
		var end := at + FRAME + length
		# A damaged record may have no nodes.
		if maxi(nodes.size(), record_count) < MAX_NODES:
			_add_piece(at, Kind.COUNT)
			_add_value(at + FRAME, end)
		else:
			if records_left_out == 0:
				left_out_start = at
				_add_piece(at, Kind.UNREAD)
			records_left_out += 1
		record_count += 1
		at = end


func _add_value(start: int, end: int) -> void:
	var is_all := start == 0 and end == bytes.size()
	var outline := FastVariantCodec.inspect(bytes if is_all else bytes.slice(start, end), MAX_NODES - nodes.size())
	var base := nodes.size()
	for node: Dictionary in outline["nodes"]:
		node["offset"] += start
		if node.has("left_out"):
			node["left_out_offset"] += start
		if node["parent"] >= 0:
			node["parent"] += base
		else:
			outermost.append(nodes.size())
			if has_records:
				node["role"] = "record"
				node["index"] = record_count
		if base > 0:
			var children: PackedInt32Array = node["children"]
			for i in children.size():
				children[i] += base
			node["children"] = children
		_starts.append(start - FRAME if node["role"] == "record" else node["offset"])
		nodes.append(node)
	var offsets: PackedInt64Array = outline["piece_offsets"]
	var kinds: PackedByteArray = outline["piece_kinds"]
	for i in offsets.size():
		_add_piece(start + offsets[i], kinds[i] as Kind)
	if start + outline["end"] < end:
		_add_piece(start + outline["end"], Kind.UNREAD)
	if outline["error"] != FastVariantCodec.OK:
		# The place is told apart from the message, and counts from the start of all bytes.
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


func _add_piece(start: int, kind: Kind) -> void:
	_piece_offsets.append(start)
	_piece_kinds.append(kind)
