"""Values of each type, as Python has them."""

import math
import pickle
import struct
import unittest
from typing import Any

import godot_variant as gv
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FILES = gv.Limits.files(allow_objects=True)


def back(value: Any) -> Any:
    """A value, encoded and decoded."""
    return gv.decode(gv.encode(value), limits=FILES)


# Text that comes back as it is: no surrogates, no NULs, no byte-order mark.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=12)
INTS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(width=32)
COUNTS = [("Vector2", 2), ("Rect2", 4), ("Vector3", 3), ("Transform2D", 6), ("Vector4", 4), ("Plane", 4)]
COUNTS += [("Quaternion", 4), ("AABB", 6), ("Basis", 9), ("Transform3D", 12), ("Projection", 16)]
INT_COUNTS = [("Vector2i", 2), ("Rect2i", 4), ("Vector3i", 3), ("Vector4i", 4)]
PACKED = ["Vector2", "Vector3", "Vector4"]


def components(name: str, count: int) -> st.SearchStrategy[Any]:
    ints = name in dict(INT_COUNTS)
    numbers = st.lists(st.integers(-(2**31), 2**31 - 1) if ints else FLOATS, min_size=count, max_size=count)
    cls = getattr(gv, name)
    return numbers.map(cls) if ints or name == "Color" else st.builds(cls, numbers, double=st.booleans())


VECTORS = {name: components(name, count) for name, count in [*COUNTS, *INT_COUNTS, ("Color", 4)]}
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    INTS,
    st.floats(),
    TEXT,
    TEXT.map(gv.StringName),
    st.lists(TEXT, max_size=3).map(gv.PackedStringArray),
    st.binary(max_size=9).map(gv.PackedByteArray),
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4).map(gv.PackedInt32Array),
    st.lists(INTS, max_size=4).map(gv.PackedInt64Array),
    st.lists(FLOATS, max_size=4).map(gv.PackedFloat32Array),
    st.lists(st.floats(), max_size=4).map(gv.PackedFloat64Array),
    st.lists(VECTORS["Color"], max_size=3).map(gv.PackedColorArray),
    *(
        st.builds(getattr(gv, f"Packed{name}Array"), st.lists(VECTORS[name], max_size=3), double=st.booleans())
        for name in PACKED
    ),
    st.sampled_from(["", "/", "a/b", "/root/A:b:c", ":x", "%A/../B"]).map(gv.NodePath),
    st.integers(0, 2**64 - 1).map(gv.RID),
    st.integers(1, 2**64 - 1).map(gv.ObjectId),
    st.just(gv.Callable()),
    st.builds(gv.Signal, TEXT, st.integers(0, 2**64 - 1)),
    *VECTORS.values(),
)
KEYS = st.one_of(TEXT, INTS, st.booleans(), st.floats(allow_nan=False), VECTORS["Vector2i"])


def containers(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(values, max_size=4),
        st.dictionaries(KEYS, values, max_size=4),
        st.lists(INTS, max_size=3).map(lambda ints: gv.TypedArray(ints, "int")),
        st.lists(st.none(), max_size=2).map(lambda objects: gv.TypedArray(objects, gv.ClassName("Node"))),
        st.dictionaries(TEXT, INTS, max_size=3).map(lambda held: gv.TypedDictionary(held, "String", "int")),
        st.builds(gv.Object, TEXT.filter(bool), st.lists(st.tuples(TEXT, values), max_size=3).map(tuple)),
    )


VALUES = st.recursive(LEAVES, containers, max_leaves=24)


class RoundTrips(unittest.TestCase):
    @settings(max_examples=1500, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(VALUES)
    def test_values_come_back(self, value: Any) -> None:
        data = gv.encode(value)
        read = gv.decode(data, limits=FILES)
        self.assertEqual(gv.encode(read), data)
        self.assertEqual(repr(read), repr(value))
        self.assertIs(type(read), type(value))
        again = pickle.loads(pickle.dumps(read))
        self.assertEqual(gv.encode(again), data)
        if "nan" not in repr(value):
            self.assertEqual(read, value)

    @settings(max_examples=500, deadline=None, derandomize=True)
    @given(st.binary(max_size=64), st.booleans())
    def test_any_bytes_are_a_value_or_an_error(self, data: bytes, lenient: bool) -> None:
        for head in range(40):
            try:
                gv.decode(struct.pack("<I", head) + data, lenient=lenient, limits=FILES)
            except gv.VariantError:
                pass

    def test_python_merges_keys(self) -> None:
        for entries in ([(1, "a"), (1.0, "b"), (True, "c")], [([1], "list")], [({}, "dict")], [(0.0, 1), (0, 2)]):
            pairs = gv.Pairs(entries)
            data = gv.encode(pairs)
            self.assertEqual(back(pairs), pairs)
            self.assertEqual(gv.encode(back(pairs)), data)
        self.assertEqual(back({math.nan: 1, 2: 3})[2], 3)
        self.assertEqual(type(back({True: 1, "x": 2})), dict)

    def test_repeated_keys_are_an_error(self) -> None:
        for key in ("hp", 7, gv.Vector2(1, 2), [1]):
            repeated = gv.encode(gv.Pairs([(key, 1), (key, 2)]))
            with self.assertRaisesRegex(gv.VariantError, "duplicate Dictionary key"):
                gv.decode(repeated, limits=FILES)
            # The codec keeps both, as it does for readers in Rust.
            self.assertEqual(gv.decode(repeated, limits=FILES, lenient=True), [(key, 1), (key, 2)])

    def test_other_types_of_python(self) -> None:
        class Point(tuple[int, int]):
            pass

        self.assertEqual(back((1, (2,))), [1, [2]])
        self.assertEqual(back(Point((1, 2))), [1, 2])
        for binary in (b"ab", bytearray(b"ab"), memoryview(b"ab")):
            self.assertEqual(back(binary), gv.PackedByteArray(b"ab"))
        scalars = back([np.int32(7), np.float32(0.5), np.float64(1.5), np.bool_(True)])
        self.assertEqual([(type(value), value) for value in scalars], [(int, 7), (float, 0.5), (float, 1.5), (bool, True)])
        for code in (">i4", "<i4", "=i4"):
            self.assertEqual(list(gv.PackedInt32Array(np.array([1, 2], code))), [1, 2])
        for value, reason in [
            ({1, 2}, "type set"),
            (2**63, "64 bits"),
            ("a\udead", "U+DEAD"),
            ("a\0", "U+0000"),
            (np.zeros(3), "type ndarray"),
            (np.datetime64("2020-01-01"), "type datetime64"),
        ]:
            with self.assertRaises(gv.VariantError) as raised:
                gv.encode({"a": [value]})
            self.assertIn(reason, str(raised.exception))
            self.assertEqual(raised.exception.path, '."a"[0]')


class Classes(unittest.TestCase):
    def test_components(self) -> None:
        vector = gv.Vector3(1, 2, 3)
        self.assertEqual((len(vector), vector[-1], vector[1:], vector.z), (3, 3.0, (2.0, 3.0), 3.0))
        self.assertEqual(gv.Vector3([1, 2, 3]), vector)
        self.assertEqual({vector: 1}[gv.Vector3(1, 2, 3)], 1)
        self.assertNotEqual(gv.Vector3(1, 2, 3), gv.Vector3i(1, 2, 3))
        self.assertEqual(gv.Vector2(), gv.Vector2(0, 0))
        self.assertEqual(gv.Transform3D(range(12)).basis.x, gv.Vector3(0, 3, 6))
        self.assertEqual(repr(gv.Vector2(0.1, 1e-20)), "Vector2(0.1, 1e-20)")
        self.assertEqual(repr(gv.Vector2(0.1, 1, double=True)), "Vector2(0.1, 1.0, double=True)")
        self.assertEqual(eval(repr(gv.Color(math.inf, 0, 0, 1)), vars(gv)), gv.Color(math.inf, 0, 0, 1))
        self.assertEqual(np.asarray(vector).dtype, np.float32)
        self.assertEqual(np.asarray(gv.Vector2i(1, 2), dtype=float).tolist(), [1.0, 2.0])
        for wrong in (
            lambda: gv.Vector2(1),
            lambda: gv.Vector2i(1, 2**31),
            lambda: gv.Vector2("ab", 1),
            lambda: np.asarray(vector, copy=False),
        ):
            self.assertRaises((TypeError, ValueError, OverflowError), wrong)
        with self.assertRaises(AttributeError):
            vector.x = 7  # type: ignore[misc]
        self.assertFalse(hasattr(vector, "w"))

    def test_packed_arrays_share_the_bytes(self) -> None:
        floats = np.arange(1 << 20, dtype=np.float32)
        data = gv.encode({"f": gv.PackedFloat32Array(floats)})
        found = gv.decode(data, limits=FILES)["f"]
        array = np.asarray(found)
        whole = np.frombuffer(data, np.uint8)
        self.assertTrue(np.shares_memory(array, whole))
        self.assertTrue(np.shares_memory(np.asarray(found.view()), whole))
        self.assertTrue((array == floats).all())
        self.assertFalse(array.flags.writeable)
        self.assertTrue(found.view().readonly)
        self.assertFalse(np.shares_memory(np.array(found), whole))

    def test_packed_arrays(self) -> None:
        points = back(gv.PackedVector3Array([(1, 2, 3), gv.Vector3(4, 5, 6)]))
        self.assertEqual(np.asarray(points).shape, (2, 3))
        self.assertEqual(points[1], gv.Vector3(4, 5, 6))
        self.assertEqual(list(points[1:]), [gv.Vector3(4, 5, 6)])
        self.assertEqual(gv.PackedVector3Array(np.asarray(points)), points)
        self.assertEqual(np.asarray(gv.PackedVector3Array()).shape, (0, 3))
        self.assertEqual(gv.PackedVector3Array().view().tolist(), [])
        self.assertEqual(gv.PackedByteArray(b"abc").view(), b"abc")
        self.assertEqual(hash(gv.PackedInt64Array([1])), hash(gv.PackedInt64Array([1])))
        self.assertEqual(repr(gv.PackedInt32Array(range(20)))[-9:], "11, ...])")
        self.assertRaises(IndexError, lambda: points[2])
        self.assertRaises(ValueError, lambda: points[::2])
        self.assertRaises(ValueError, gv.PackedVector2Array, [1, 2, 3])
        self.assertRaises(OverflowError, gv.PackedByteArray, [256])

    def test_node_paths(self) -> None:
        path = gv.NodePath("/root/A:b")
        self.assertEqual((str(path), repr(path)), ("/root/A:b", "NodePath('/root/A:b')"))
        self.assertEqual({path: 1}[gv.NodePath("/root/A:b")], 1)
        self.assertRaises(Exception, setattr, path, "names", ())


class Limits(unittest.TestCase):
    def test_depth(self) -> None:
        value: Any = []
        for _ in range(1024):
            value = [value]
        data = gv.encode(value)
        self.assertEqual(gv.encode(gv.decode(data, limits=FILES)), data)
        self.assertEqual(gv.encode(gv.View(data)[0].value()), gv.encode(value[0]))
        with self.assertRaises(gv.VariantError) as raised:
            gv.decode(data)
        self.assertEqual(raised.exception.code, "MAX_DEPTH_EXCEEDED")
        with self.assertRaises(gv.VariantError) as raised:
            gv.encode([value])
        self.assertEqual(raised.exception.code, "TOO_DEEP")

    def test_cycles(self) -> None:
        endless: Any = [1, {}]
        endless[1]["self"] = [endless, endless]
        with self.assertRaises(gv.VariantError) as raised:
            gv.encode(endless)
        self.assertEqual(raised.exception.code, "TOO_DEEP")

    def test_huge_counts_allocate_nothing(self) -> None:
        for head in (28, 27, 34, 29, 32, 36):
            with self.assertRaises(gv.VariantError) as raised:
                gv.decode(struct.pack("<II", head, 0x7FFF_FFFF) + bytes(64), limits=FILES)
            self.assertEqual(raised.exception.code, "BAD_COUNT")

    def test_errors_say_where(self) -> None:
        with self.assertRaises(gv.VariantError) as raised:
            gv.decode(gv.encode({"a": [1, 2]})[:-1])
        error = raised.exception
        self.assertEqual((error.code, error.path, error.offset), ("UNEXPECTED_END", '."a"[1]', 40))
        self.assertEqual(vars(pickle.loads(pickle.dumps(error))), vars(error))
        with self.assertRaises(gv.VariantError) as raised:
            gv.decode_batch(gv.encode_batch([1, "two", 3])[:-1])
        self.assertEqual((raised.exception.record, raised.exception.offset), (2, 28))

    def test_limits(self) -> None:
        limits = gv.Limits.network(max_bytes=7, allowed_types=["int"])
        self.assertEqual((limits.max_bytes, limits.allowed_types), (7, ["int"]))
        self.assertNotEqual(limits, gv.Limits.network())
        changes = {
            "max_bytes": 1, "max_depth": 2, "max_elements": 3, "max_memory": 4, "max_key_comparisons": 5,
            "allow_trailing_bytes": True, "allow_non_canonical": True, "allow_objects": True, "allowed_classes": ["A"],
            "allowed_scripts": ["res://a.gd"], "allowed_types": ["int", "Object"],
        }
        copy = pickle.loads(pickle.dumps(gv.Limits.network(**changes)))
        self.assertEqual({name: getattr(copy, name) for name in changes}, changes)
        self.assertRaises(TypeError, gv.Limits.network, max_byte=7)
        self.assertRaises(ValueError, gv.Limits.files, allowed_types=["integer"])
        data = gv.encode(gv.Object("Node", (("name", "Ada"),)))
        self.assertRaises(gv.VariantError, gv.decode, data)
        self.assertEqual(gv.decode(data, limits=FILES)["name"], "Ada")
        self.assertRaises(TypeError, gv.decode, "text")


if __name__ == "__main__":
    unittest.main()
