"""Godot's values in Python: reads and writes what the engine's `var_to_bytes` and `store_var` write, without an engine.

>>> import godot_variant as gv
>>> packet = gv.encode({"position": gv.Vector3(1, 2, 3), "items": ["rope", "torch"]})
>>> gv.decode(packet)["position"].y
2.0

`None`, `bool`, `int`, `float`, `str`, `list` and `dict` are Godot's types of these kinds. All others have classes here:

- `Vector2` … `Projection`, `Color`: sequences of numbers.
- `PackedByteArray` … `PackedVector4Array`: views of the encoded bytes, which NumPy shares. `bytes` are encoded as a
  PackedByteArray, too.
- `StringName`, `NodePath`, `RID`, `Signal`, `Callable`, `ObjectId`, `Object`.
- `TypedArray` and `TypedDictionary`: a list and a dict with the types that Godot declares for them.
- `Pairs`: a Dictionary with keys that Python takes for one, such as 1 and 1.0, or cannot hash, as a list of pairs.

For all bytes that an engine writes, `encode(decode(data)) == data`. All classes can be pickled.

Files: `load` and `save` for saves, `records` and `append` for records, and `View` for parts of either.
"""

import os as _os

from . import _native
from ._native import *
from ._types import *

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_native._after_fork)
