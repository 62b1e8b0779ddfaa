@tool
extends RefCounted
## Changes one value in the bytes of a file, and writes the file back.

const Contents := preload("contents.gd")

## Types that can be edited as text. If the size of a value changes, only the length prefix of its record
## changes with it.
const TYPES: PackedInt32Array = [
	TYPE_BOOL, TYPE_INT, TYPE_FLOAT, TYPE_STRING, TYPE_STRING_NAME, TYPE_NODE_PATH, TYPE_VECTOR2, TYPE_VECTOR2I, TYPE_RECT2,
	TYPE_RECT2I, TYPE_VECTOR3, TYPE_VECTOR3I, TYPE_VECTOR4, TYPE_VECTOR4I, TYPE_PLANE, TYPE_QUATERNION, TYPE_AABB, TYPE_COLOR,
]
## The character before the quotes of a text, by type.
const SIGNS: Dictionary[int, String] = {TYPE_STRING: "", TYPE_STRING_NAME: "&", TYPE_NODE_PATH: "^"}
const ESCAPES: Dictionary[String, String] = {"\\": "\\\\", "\"": "\\\"", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
## The pattern of a number. For longer integers and larger exponents, the engine would print an error.
const NUMBER := "(?:-?\\d{1,18}(?:\\.\\d*)?(?:[eE][-+]?[0-3]?\\d{1,2})?|-?inf|inf_neg|nan)"


static func is_editable(contents: Contents, node: int) -> bool:
	return node >= 0 and contents.nodes[node]["is_complete"] and contents.nodes[node]["type"] in TYPES


## The value of a node as text, in GDScript's notation.
static func text_of(contents: Contents, node: int) -> String:
	var offset: int = contents.nodes[node]["offset"]
	var value: Variant = FastVariantCodec.decode(contents.bytes.slice(offset, contents.end_of(node)))
	if not SIGNS.has(typeof(value)):
		return var_to_str(value)
	var text := str(value)
	for character in ESCAPES:
		text = text.replace(character, ESCAPES[character])
	return "%s\"%s\"" % [SIGNS[typeof(value)], text]


## The value that `text` denotes in GDScript's notation; `null` if the whole text is not a value of `type`. A
## String, StringName or NodePath needs no quotes.
static func value_of(text: String, type: Variant.Type) -> Variant:
	match type:
		TYPE_BOOL:
			return {"true": true, "false": false}.get(text)
		TYPE_INT:
			# For larger numbers, to_int would print an error.
			var largest := "9223372036854775808" if text.begins_with("-") else "9223372036854775807"
			var digits := text.trim_prefix("-")
			var fits := digits.length() < largest.length() or (digits.length() == largest.length() and digits <= largest)
			if text.is_valid_int() and fits and str(text.to_int()) == text:
				return text.to_int()
			return null
		TYPE_STRING, TYPE_STRING_NAME, TYPE_NODE_PATH:
			var quoted := text.trim_prefix(SIGNS[type])
			if not quoted.begins_with("\""):
				return type_convert(text, type)
			# JSON.parse_string would print an error.
			var json := JSON.new()
			return type_convert(json.data, type) if json.parse(quoted) == OK else null
	# Checks the pattern first: str_to_var also accepts a text whose start is valid, and creates objects.
	var numbers := "%s(?:\\s*,\\s*%s)*" % [NUMBER, NUMBER]
	var pattern := NUMBER if type == TYPE_FLOAT else "\\s*%s\\(\\s*%s\\s*\\)\\s*" % [type_string(type), numbers]
	if RegEx.create_from_string("^%s$" % pattern).search(text) == null:
		return null
	var value: Variant = str_to_var(text)
	if type == TYPE_FLOAT and value is int:
		value = float(value)
	# Refuses numbers that do not fit.
	var written := var_to_str(value)
	var is_exact := written.count("inf") == text.count("inf")
	if type in [TYPE_VECTOR2I, TYPE_RECT2I, TYPE_VECTOR3I, TYPE_VECTOR4I]:
		is_exact = written.replace(" ", "") == text.replace(" ", "")
	return value if is_exact else null


## The bytes of the file with another value for a node; empty if `text` is not a value of the node's type.
## Returns the unchanged bytes if `text` is what text_of returns.
static func changed(contents: Contents, node: int, text: String) -> PackedByteArray:
	if text == text_of(contents, node):
		return contents.bytes
	var type: Variant.Type = contents.nodes[node]["type"]
	var value: Variant = value_of(text, type)
	var encoded := FastVariantCodec.encode(value)
	# The encoding of a text that starts with a byte-order mark is not valid.
	if typeof(value) != type or not FastVariantCodec.validate(encoded).is_ok():
		return PackedByteArray()
	var start: int = contents.nodes[node]["offset"]
	var end := contents.end_of(node)
	var bytes := contents.bytes.slice(0, start) + encoded + contents.bytes.slice(end)
	if contents.has_records:
		var at := contents.record_starts[contents.record_starts.bsearch(start, false) - 1]
		bytes.encode_u32(at, bytes.decode_u32(at) + encoded.size() - (end - start))
	return bytes


## Saves records. The records of a save of one value get a new sum.
static func _save(path: String, records: Array) -> FastVariantResult:
	var first: Variant = records[0] if records.size() == 3 else null
	if first is Dictionary and not first.is_typed() and first.has(&"@save"):
		return FastVariantCodec.save(path, records[1], first[&"@save"])
	return FastVariantCodec.save_batch(path, records)


## Replaces the contents of a file, unless the file has changed. Refuses a link, unless the codec saves the
## file: the codec replaces the file to which the link leads. Returns the reason for a failure, or an empty
## text after a success.
static func write(path: String, old: Contents, bytes: PackedByteArray) -> String:
	# Called as late as possible, because changes made to the file after this check are lost.
	var problem_of_change := func() -> String:
		var is_unchanged := FileAccess.get_file_as_bytes(path) == old.bytes
		return "" if is_unchanged else "%s has changed since it was opened. Open it again." % path
	var problem := ""
	if old.has_records:
		var records := FastVariantCodec.unpack_batch(bytes)
		# Saves with the codec if it writes exactly these bytes.
		if records.is_ok() and FastVariantCodec.pack_batch(records.value) == bytes:
			problem = problem_of_change.call()
			return problem if problem else _save(path, records.value).message
	var folder := DirAccess.open(path.get_base_dir())
	if folder and folder.is_link(path):
		return "%s is a link to %s. Open that file to edit it." % [path, folder.read_link(path)]
	var beside := path + ".new"
	while FileAccess.file_exists(beside) or (folder and folder.is_link(beside)):
		beside += "_"
	var file := FileAccess.open(beside, FileAccess.WRITE)
	if not file:
		return "Cannot write %s: %s" % [beside, error_string(FileAccess.get_open_error())]
	file.store_buffer(bytes)
	file.close()
	# The permissions are 0 on systems that have none.
	var permissions := FileAccess.get_unix_permissions(path)
	if permissions:
		FileAccess.set_unix_permissions(beside, permissions)
	# On a full disk, writing may fail only when the file is closed, and closing returns no error.
	var error := OK if FileAccess.get_file_as_bytes(beside) == bytes else ERR_FILE_CANT_WRITE
	problem = problem_of_change.call()
	if error == OK and problem.is_empty():
		error = DirAccess.rename_absolute(beside, path)
	if error != OK:
		problem = "Cannot write %s: %s" % [path, error_string(error)]
	if problem:
		DirAccess.remove_absolute(beside)
	return problem
