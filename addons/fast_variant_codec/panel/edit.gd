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


static func is_editable(contents: Contents, node: int) -> bool:
	return node >= 0 and contents.nodes[node]["is_complete"] and contents.nodes[node]["type"] in TYPES


## The value of a node as text, in GDScript's notation.
static func text_of(contents: Contents, node: int) -> String:
	var offset: int = contents.nodes[node]["offset"]
	return var_to_str(FastVariantCodec.decode(contents.bytes.slice(offset, contents.end_of(node))))


## The bytes of the file with another value for a node; empty if `text` is not a value of its type.
static func changed(contents: Contents, node: int, text: String) -> PackedByteArray:
	var type: int = contents.nodes[node]["type"]
	var value: Variant = str_to_var(text)
	if typeof(value) == TYPE_INT and type == TYPE_FLOAT:
		value = float(value)
	if typeof(value) != type and type in [TYPE_STRING, TYPE_STRING_NAME, TYPE_NODE_PATH]:
		# Accepts text without quotes.
		value = type_convert(text, type)
	if typeof(value) != type:
		return PackedByteArray()
	var encoded := FastVariantCodec.encode(value)
	var start: int = contents.nodes[node]["offset"]
	var end := contents.end_of(node)
	var bytes := contents.bytes.slice(0, start) + encoded + contents.bytes.slice(end)
	if contents.has_records:
		var at := contents.record_starts[contents.record_starts.bsearch(start, false) - 1]
		bytes.encode_u32(at, bytes.decode_u32(at) + encoded.size() - (end - start))
	return bytes


## Replaces the contents of a file, unless it has changed. Returns the reason if it fails; otherwise, an empty text.
static func write(path: String, old: Contents, bytes: PackedByteArray) -> String:
	if FileAccess.get_file_as_bytes(path) != old.bytes:
		return "%s has changed since it was opened. Open it again." % path
	if old.has_records:
		var records := FastVariantCodec.unpack_batch(bytes)
		# Saves with the codec if it writes exactly these bytes.
		if records.is_ok() and FastVariantCodec.pack_batch(records.value) == bytes:
			return FastVariantCodec.try_save_batch(path, records.value).message
	# Replaces the file that a link leads to, not the link.
	var folder := DirAccess.open(path.get_base_dir())
	while folder and folder.is_link(path):
		var target := folder.read_link(path)
		path = target if target.is_absolute_path() else path.get_base_dir().path_join(target).simplify_path()
		folder = DirAccess.open(path.get_base_dir())
	var beside := path + ".new"
	while FileAccess.file_exists(beside):
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
	var error := ERR_FILE_CANT_WRITE
	if FileAccess.get_file_as_bytes(beside) == bytes:
		error = DirAccess.rename_absolute(beside, path)
	if error != OK:
		DirAccess.remove_absolute(beside)
		return "Cannot write %s: %s" % [path, error_string(error)]
	return ""
