## A value's counterpart in Godot 3: whether there is one, and its text, as `tests/godot3/describe.gd` prints it.
extends RefCounted

## The types that have no counterpart in Godot 3.
const ONLY_HERE: Array[int] = [
	TYPE_VECTOR4, TYPE_VECTOR4I, TYPE_PROJECTION, TYPE_CALLABLE, TYPE_SIGNAL, TYPE_PACKED_VECTOR4_ARRAY,
]

## Pairs of types whose values are different keys in Godot 4, but may be equal keys in Godot 3.
const ALIKE: Array[Array] = [
	[TYPE_VECTOR2I, TYPE_VECTOR2], [TYPE_RECT2I, TYPE_RECT2], [TYPE_VECTOR3I, TYPE_VECTOR3],
	[TYPE_PACKED_INT64_ARRAY, TYPE_ARRAY], [TYPE_PACKED_FLOAT64_ARRAY, TYPE_ARRAY],
	[TYPE_PACKED_INT64_ARRAY, TYPE_PACKED_FLOAT64_ARRAY],
]

## The number up to which every integer fits in a 32-bit float.
const EXACT := 1 << 24


## Returns whether Godot 3 can represent every number and character of the value. Returns false for objects
## and for valid RIDs, which cannot be compared.
static func has(value: Variant) -> bool:
	match typeof(value):
		TYPE_STRING, TYPE_STRING_NAME:
			return is_text(value)
		TYPE_NODE_PATH:
			return is_text(str(value)) and path(value) != "NodePath(absolute )"
		TYPE_PACKED_STRING_ARRAY:
			return Array(value).all(is_text)
		TYPE_VECTOR2I, TYPE_VECTOR3I:
			return are_exact(lanes(value))
		TYPE_RECT2I:
			return are_exact(lanes(value.position) + lanes(value.size))
		TYPE_RID:
			return not value.is_valid()
		TYPE_OBJECT:
			return not is_instance_valid(value)
		TYPE_DICTIONARY:
			return value.keys().all(has) and value.values().all(has) and not _may_merge(value.keys())
		TYPE_ARRAY:
			return value.all(has)
	return typeof(value) not in ONLY_HERE


## Returns whether keys that differ in Godot 4 may be equal in Godot 3.
static func _may_merge(keys: Array) -> bool:
	return ALIKE.any(func(types: Array) -> bool: return _hold(keys, types[0]) and _hold(keys, types[1]))


## Returns whether a value of this type is among `values` or inside them.
static func _hold(values: Array, type: int) -> bool:
	for value: Variant in values:
		if typeof(value) == type:
			return true
		if value is Array and _hold(value, type) or value is Dictionary and _hold(value.keys() + value.values(), type):
			return true
	return false


## Returns whether the text contains only valid characters that readers keep.
static func is_text(text: String) -> bool:
	if text.begins_with(char(0xfeff)):
		return false
	for at in text.length():
		var character := text.unicode_at(at)
		if character > 0x10ffff or (character & 0xfffff800) == 0xd800:
			return false
	return true


static func are_exact(numbers: Array) -> bool:
	return numbers.all(func(number: int) -> bool: return number == int(PackedFloat32Array([number])[0]))


static func text_of(value: Variant) -> String:
	match typeof(value):
		TYPE_BOOL:
			return "true" if value else "false"
		TYPE_INT:
			return str(value)
		TYPE_FLOAT:
			return "float" + numbers([value])
		TYPE_STRING, TYPE_STRING_NAME:
			return characters(value)
		TYPE_VECTOR2, TYPE_VECTOR2I:
			return "Vector2" + numbers(lanes(value))
		TYPE_RECT2, TYPE_RECT2I:
			return "Rect2" + numbers(lanes(value.position) + lanes(value.size))
		TYPE_VECTOR3, TYPE_VECTOR3I:
			return "Vector3" + numbers(lanes(value))
		TYPE_TRANSFORM2D:
			return "Transform2D" + numbers(lanes(value.x) + lanes(value.y) + lanes(value.origin))
		TYPE_PLANE:
			return "Plane" + numbers(lanes(value.normal) + [value.d])
		TYPE_QUATERNION:
			return "Quaternion" + numbers([value.x, value.y, value.z, value.w])
		TYPE_AABB:
			return "AABB" + numbers(lanes(value.position) + lanes(value.size))
		TYPE_BASIS:
			return "Basis" + numbers(lanes(value.x) + lanes(value.y) + lanes(value.z))
		TYPE_TRANSFORM3D:
			var basis: Basis = value.basis
			return "Transform3D" + numbers(lanes(basis.x) + lanes(basis.y) + lanes(basis.z) + lanes(value.origin))
		TYPE_COLOR:
			return "Color" + numbers([value.r, value.g, value.b, value.a])
		TYPE_NODE_PATH:
			return path(value)
		TYPE_RID:
			return "RID(%d)" % value.get_id()
		TYPE_OBJECT when is_instance_valid(value):
			return "Object(%d)" % value.object_id
		TYPE_DICTIONARY:
			var entries := PackedStringArray()
			for key: Variant in value:
				entries.append(text_of(key) + ": " + text_of(value[key]))
			return "{" + ", ".join(entries) + "}"
		TYPE_ARRAY, TYPE_PACKED_INT64_ARRAY, TYPE_PACKED_FLOAT64_ARRAY:
			return "[" + texts_of(value) + "]"
		TYPE_PACKED_BYTE_ARRAY:
			return "PackedByteArray(" + value.hex_encode() + ")"
		TYPE_PACKED_INT32_ARRAY, TYPE_PACKED_FLOAT32_ARRAY, TYPE_PACKED_STRING_ARRAY, TYPE_PACKED_VECTOR2_ARRAY, \
		TYPE_PACKED_VECTOR3_ARRAY, TYPE_PACKED_COLOR_ARRAY:
			return type_string(typeof(value)) + "(" + texts_of(value) + ")"
	return "nil"


static func texts_of(values: Variant) -> String:
	var texts := PackedStringArray()
	for value: Variant in values:
		texts.append(text_of(value))
	return ", ".join(texts)


static func numbers(values: Array) -> String:
	var bits := PackedStringArray()
	for value: float in values:
		bits.append(var_to_bytes(value).slice(4).hex_encode())
	return "(" + " ".join(bits) + ")"


static func lanes(vector: Variant) -> Array:
	return [vector.x, vector.y] if typeof(vector) in [TYPE_VECTOR2, TYPE_VECTOR2I] else [vector.x, vector.y, vector.z]


static func characters(text: String) -> String:
	var numbers_of := PackedStringArray()
	for at in text.length():
		numbers_of.append("%x" % text.unicode_at(at))
	return "'" + " ".join(numbers_of) + "'"


static func path(value: NodePath) -> String:
	var parts := PackedStringArray()
	for at in value.get_name_count():
		parts.append("/" + characters(value.get_name(at)))
	for at in value.get_subname_count():
		parts.append(":" + characters(value.get_subname(at)))
	return "NodePath(%s%s)" % ["absolute " if value.is_absolute() else "", "".join(parts)]
