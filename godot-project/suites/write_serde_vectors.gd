## Prints the engine's bytes for tests/serde.rs, one tab-separated row each, between "@@ begin" and "@@ end".
extends SceneTree

const HEADER := "engine\tname\tbytes_hex"

## The value that a script would save for the Rust type with this name.
static var values: Dictionary[String, Variant] = {
	"bool": true,
	"i8": -5,
	"i64": -9223372036854775808,
	"i64 of 32 bits": -2147483648,
	"u32": 4294967295,
	"f32": PackedFloat32Array([0.1])[0],
	"f32 of a half": 0.5,
	"f64": 0.1,
	"f64 without a fraction": 7.0,
	"char": "é",
	"text": "größer",
	"bytes": PackedByteArray([1, 2, 255]),
	"unit": null,
	"none": null,
	"some": 7,
	"unit struct": null,
	"newtype struct": 3,
	"tuple": [1, "a", 0.5],
	"tuple struct": [1, 2],
	"sequence": [1, 2, 3],
	"empty sequence": [],
	"nested options": [null, 1, null],
	"map of texts": {"a": 1, "b": 2},
	"map of ints": {-1: "a", 7: "b"},
	"map of tuples": {[1, 2]: true},
	"empty map": {},
	"unit variant": "Idle",
	"newtype variant": {"Walk": 3},
	"newtype variant of a struct": {"Own": {"x": 1, "y": 2}},
	"tuple variant": {"Jump": [1, 2.5]},
	"struct variant": {"Attack": {"target": "orc", "damage": 5}},
	"variants": ["Idle", {"Walk": 1}, {"Jump": [2, 0.5]}, {"Attack": {"target": "", "damage": 0}}],
	"objects of classes": [
		{&"@class": "Hero", "name": "Ren", "bag": {&"@class": "Bag", "items": [1, 2]}},
		{&"@class": "Hero", "@version": 2, "name": "Mia", "bag": {&"@ref": 0}},
	],
	"string_name": &"idle",
	"node_path": ^"/root/Player:position:x",
	"node_path of names": ^"a/../b",
	"node_path of a property": ^":hp",
	"node_path of the root": ^"/",
	"node_path with empty names": NodePath("a//b/"),
	"node_path with a colon at its end": NodePath("a:b:"),
	"vector2": Vector2(1.5, -2),
	"vector2i": Vector2i(1, -2),
	"rect2": Rect2(1, 2, 3, 4),
	"rect2i": Rect2i(1, 2, 3, 4),
	"vector3": Vector3(1, 2, 3),
	"vector3i": Vector3i(1, 2, 3),
	"transform2d": Transform2D(Vector2(1, 2), Vector2(3, 4), Vector2(5, 6)),
	"vector4": Vector4(1, 2, 3, 4),
	"vector4i": Vector4i(1, 2, 3, 4),
	"plane": Plane(0, 1, 0, 5),
	"quaternion": Quaternion(0, 0, 0, 1),
	"aabb": AABB(Vector3(1, 2, 3), Vector3(4, 5, 6)),
	"basis": Basis(Vector3(1, 4, 7), Vector3(2, 5, 8), Vector3(3, 6, 9)),
	"transform3d": Transform3D(Basis(Vector3(1, 4, 7), Vector3(2, 5, 8), Vector3(3, 6, 9)), Vector3(10, 11, 12)),
	"projection": Projection(Vector4(1, 2, 3, 4), Vector4(5, 6, 7, 8), Vector4(9, 10, 11, 12), Vector4(13, 14, 15, 16)),
	"color": Color(1, 0.5, 0.25, 0.1),
	"byte_array": PackedByteArray([1, 2, 3]),
	"int32_array": PackedInt32Array([1, -2]),
	"int64_array": PackedInt64Array([1, -9223372036854775808]),
	"float32_array": PackedFloat32Array([0.1, 2]),
	"float64_array": PackedFloat64Array([0.1, 2]),
	"string_array": PackedStringArray(["a", "größer"]),
	"vector2_array": PackedVector2Array([Vector2(1, 2), Vector2(3, 4)]),
	"vector3_array": PackedVector3Array([Vector3(1, 2, 3)]),
	"vector4_array": PackedVector4Array([Vector4(1, 2, 3, 4)]),
	"color_array": PackedColorArray([Color(1, 0.5, 0.25, 0.1)]),
	"no vector": null,
	"save": {
		"name": "Ada", "hp": 87, "position": Vector2(3, 4), "transform": Transform2D(0, Vector2(1, 2)),
		"spawn": ^"/root/World/Spawn", "state": {"Attack": {"target": "orc", "damage": 5}}, "animation": &"run",
		"inventory": [{"id": 1, "count": 3, "tint": null}, {"id": 2, "count": 1, "tint": Color(1, 0, 0, 1)}],
		"visited": {"cave": true, "lake": false}, "icon": PackedByteArray([137, 80]), "score": 0.1, "parent": null,
	},
}


func _initialize() -> void:
	print("@@ begin\n" + HEADER)
	var version: String = Engine.get_version_info()["string"].get_slice("-", 0)
	for row in values:
		print("\t".join([version, row, var_to_bytes(values[row]).hex_encode()]))
	print("@@ end")
	quit(0)
