"""Uses the package as a program with types does; only mypy reads it."""

from typing import assert_type

import godot_variant as gv

vector = gv.Vector3(1, 2.5, 3)
assert_type(vector.x, float)
assert_type(gv.Vector2i(1, 2)[0], int)
assert_type(list(vector), list[float])
assert_type(gv.PackedVector3Array([vector])[0], gv.Vector3)
assert_type(gv.PackedFloat32Array(b"")[1:], gv.PackedFloat32Array)
assert_type(gv.encode({"at": vector}), bytes)
names: gv.TypedArray[str] = gv.TypedArray(["a"], "String")
error: str = gv.VariantError("message").code
