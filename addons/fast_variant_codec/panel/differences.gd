@tool
extends RefCounted
## The differences between the contents of two files, for the panel.

const Contents := preload("contents.gd")

const MOST := 1000
## The maximum number of characters of a value, or of a key in a path.
const PREVIEW := 120
## The size of the header and count of the Array that the records are joined into.
const HEAD := 8


class Difference:
	extends RefCounted
	var place: String
	## The old and the new value; empty if there is none.
	var old: String
	var new: String
	## The start and end of the bytes of each value; both are 0 if there is none.
	var old_bytes: Vector2i
	var new_bytes: Vector2i


var found: Array[Difference] = []
## The reason why the files cannot be compared; empty if they can.
var refusal := ""
var has_more := false


## Any thread may call this.
func compare(old: Contents, new: Contents) -> void:
	if old.has_records != new.has_records:
		refusal = "One file holds records, the other one value; choose the same for both"
		return
	var limits := FastVariantLimits.for_save_files()
	limits.allow_objects = true
	var starts := [PackedInt64Array(), PackedInt64Array()]
	var values: Array[PackedByteArray] = []
	for side: Array in [["The first file", old], ["The second file", new]]:
		var reason := _refusal_of(side[1], limits)
		if reason.is_empty():
			values.append(_joined(side[1], starts[values.size()]))
			reason = FastVariantCodec.validate(values[-1], limits).message
		if reason:
			refusal = "%s cannot be compared: %s" % [side[0], reason]
			return
	for difference in FastVariantPatch.differences(values[0], values[1], MOST + 1, limits):
		if found.size() == MOST:
			has_more = true
			return
		var one := Difference.new()
		one.place = place_of(difference["path"])
		one.old = preview_of(difference["old"]) if difference.has("old") else ""
		one.new = preview_of(difference["new"]) if difference.has("new") else ""
		one.old_bytes = _in_file(difference.get("old_range", PackedInt64Array()), starts[0])
		one.new_bytes = _in_file(difference.get("new_range", PackedInt64Array()), starts[1])
		found.append(one)


## A path in GDScript notation.
static func place_of(path: Array) -> String:
	var place := ""
	for step: Variant in path:
		if (step is String or step is StringName) and (step as String).is_valid_ascii_identifier():
			place += "." + step
		elif step is String or step is StringName:
			place += "[\"%s\"]" % (step as String).left(PREVIEW)
		else:
			place += "[%s]" % str(step).left(PREVIEW)
	return place.trim_prefix(".") if place else "the whole value"


static func preview_of(value: Variant) -> String:
	match typeof(value):
		TYPE_STRING, TYPE_STRING_NAME:
			var text := value as String
			return "\"%s\"%s" % [text.left(PREVIEW).c_escape(), "…" if text.length() > PREVIEW else ""]
		TYPE_DICTIONARY:
			if value.get("@class") is String or value.get("@class") is StringName:
				return "%s (v%s)" % [value["@class"], value["@version"]] if value.has("@version") else str(value["@class"])
			return "Dictionary, 1 entry" if value.size() == 1 else "Dictionary, %d entries" % value.size()
	if typeof(value) >= TYPE_ARRAY:
		return "%s, %d elements" % [type_string(typeof(value)), value.size()]
	return str(value).left(PREVIEW)


## The reason why contents cannot be joined; empty if they can.
static func _refusal_of(contents: Contents, limits: FastVariantLimits) -> String:
	if contents.problems.any(func(problem: Contents.Problem) -> bool: return problem.is_error):
		return "it is damaged"
	# Refuses bytes after the value of a record: in the joined Array, they would be read as the next
	# element.
	for record in contents.record_count:
		var bytes := contents.bytes.slice(contents.record_starts[record] + Contents.FRAME, contents.end_of_record(record))
		var verdict := FastVariantCodec.validate(bytes, limits)
		if not verdict.is_ok():
			return "record %d: %s" % [record, verdict.message]
	return ""


## The contents as one encoded value: records become an Array of their values. `starts` receives the offset of
## each record in the Array.
static func _joined(contents: Contents, starts: PackedInt64Array) -> PackedByteArray:
	if not contents.has_records:
		return contents.bytes
	var joined := PackedByteArray([TYPE_ARRAY, 0, 0, 0, 0, 0, 0, 0])
	joined.encode_u32(4, contents.record_count)
	var at := 0
	for record in contents.record_count:
		var length := contents.bytes.decode_u32(at)
		starts.append(joined.size())
		at += Contents.FRAME
		joined.append_array(contents.bytes.slice(at, at + length))
		at += length
	return joined


## Maps a byte range of the joined value to the file.
static func _in_file(place: PackedInt64Array, starts: PackedInt64Array) -> Vector2i:
	if place.is_empty():
		return Vector2i()
	# In the file, this record and each one before it have a length prefix.
	var record := starts.bsearch(place[0], false)
	var moved := record * Contents.FRAME - HEAD if record > 0 else 0
	return Vector2i(place[0] + moved, place[1] + moved)
