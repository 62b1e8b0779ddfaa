# One text per value, identical in Godot 3 and Rust (tests/godot3.rs): numbers as bits, characters as numbers,
# and types by their Godot 4 names.
extends Object


static func of(value) -> String:
	match typeof(value):
		TYPE_BOOL:
			return "true" if value else "false"
		TYPE_INT:
			return str(value)
		TYPE_REAL:
			return "float" + numbers([value])
		TYPE_STRING:
			return text(value)
		TYPE_VECTOR2:
			return "Vector2" + numbers([value.x, value.y])
		TYPE_RECT2:
			return "Rect2" + numbers([value.position.x, value.position.y, value.size.x, value.size.y])
		TYPE_VECTOR3:
			return "Vector3" + numbers(lanes(value))
		TYPE_TRANSFORM2D:
			return "Transform2D" + numbers([value.x.x, value.x.y, value.y.x, value.y.y, value.origin.x, value.origin.y])
		TYPE_PLANE:
			return "Plane" + numbers(lanes(value.normal) + [value.d])
		TYPE_QUAT:
			return "Quaternion" + numbers([value.x, value.y, value.z, value.w])
		TYPE_AABB:
			return "AABB" + numbers(lanes(value.position) + lanes(value.size))
		TYPE_BASIS:
			return "Basis" + numbers(lanes(value.x) + lanes(value.y) + lanes(value.z))
		TYPE_TRANSFORM:
			var basis: Basis = value.basis
			return "Transform3D" + numbers(lanes(basis.x) + lanes(basis.y) + lanes(basis.z) + lanes(value.origin))
		TYPE_COLOR:
			return "Color" + numbers([value.r, value.g, value.b, value.a])
		TYPE_NODE_PATH:
			return path(value)
		TYPE_RID:
			return "RID(%d)" % value.get_id()
		TYPE_OBJECT:
			return object(value)
		TYPE_DICTIONARY:
			var entries := PoolStringArray()
			# Neither looks up a key nor steps from key to key, because a key that contains NaN is not found.
			var values: Array = value.values()
			for key in value.keys():
				entries.append(of(key) + ": " + of(values[entries.size()]))
			return "{" + entries.join(", ") + "}"
		TYPE_ARRAY:
			return "[" + all(value) + "]"
		TYPE_RAW_ARRAY:
			return "PackedByteArray(" + value.hex_encode() + ")"
		TYPE_INT_ARRAY:
			return "PackedInt32Array(" + all(value) + ")"
		TYPE_REAL_ARRAY:
			return "PackedFloat32Array(" + all(value) + ")"
		TYPE_STRING_ARRAY:
			return "PackedStringArray(" + all(value) + ")"
		TYPE_VECTOR2_ARRAY:
			return "PackedVector2Array(" + all(value) + ")"
		TYPE_VECTOR3_ARRAY:
			return "PackedVector3Array(" + all(value) + ")"
		TYPE_COLOR_ARRAY:
			return "PackedColorArray(" + all(value) + ")"
	return "nil"


static func all(values) -> String:
	var texts := PoolStringArray()
	for value in values:
		texts.append(of(value))
	return texts.join(", ")


static func numbers(values: Array) -> String:
	var bits := PoolStringArray()
	for value in values:
		bits.append(var2bytes(value).subarray(4, -1).hex_encode())
	return "(" + bits.join(" ") + ")"


static func lanes(vector: Vector3) -> Array:
	return [vector.x, vector.y, vector.z]


static func text(value: String) -> String:
	var characters := PoolStringArray()
	for i in value.length():
		characters.append("%x" % value.ord_at(i))
	return "'" + characters.join(" ") + "'"


static func path(value: NodePath) -> String:
	var parts := PoolStringArray()
	for i in value.get_name_count():
		parts.append("/" + text(value.get_name(i)))
	for i in value.get_subname_count():
		parts.append(":" + text(value.get_subname(i)))
	return "NodePath(%s%s)" % ["absolute " if value.is_absolute() else "", parts.join("")]


static func object(value) -> String:
	if value == null:
		return "nil"
	if value is EncodedObjectAsID:
		return "Object(%d)" % value.object_id
	var properties := PoolStringArray()
	for property in value.get_property_list():
		if property.usage & PROPERTY_USAGE_STORAGE:
			properties.append(text(property.name) + ": " + of(value.get(property.name)))
	return "Object(%s, %s)" % [value.get_class(), properties.join(", ")]
