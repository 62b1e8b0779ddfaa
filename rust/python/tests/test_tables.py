"""Tables: pyarrow says whether they are valid, and `decode` what they hold."""

import pickle
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import godot_variant as gv
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from vectors import rows as vectors


def table(*arguments: Any, **options: Any) -> Any:
    found = pa.table(gv.read_table(*arguments, **options))
    found.validate(full=True)
    return found


def plain(value: Any) -> Any:
    """A value as pyarrow presents it."""
    match value:
        case gv.RID() | gv.ObjectId():
            return value.id
        case gv.NodePath():
            return str(value)
        case gv.PackedByteArray():
            return bytes(value)
        case gv.Components() | gv.Packed() | list() | tuple():
            return [plain(part) for part in value]
        case dict():
            return {key: plain(part) for key, part in value.items()}
        case str():
            return str(value)
    return value


def fixed(fields: dict[str, Any]) -> Any:
    """Dictionaries of which any field may be missing."""
    return st.fixed_dictionaries({}, optional=fields)


def by_int(values: Any) -> Any:
    return st.dictionaries(st.integers(-9, 9), values, min_size=1)


ints = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])).filter(lambda t: t[:1] != "\ufeff")
types: Any = st.recursive(
    st.sampled_from([
        st.none(), ints, st.floats(allow_nan=False), st.booleans(), texts, texts.map(gv.StringName), st.binary(),
        st.tuples(st.floats(width=32, allow_nan=False), st.floats(width=32, allow_nan=False)).map(gv.Vector2),
        st.lists(st.integers(-9, 9)).map(gv.PackedInt32Array), st.lists(texts).map(gv.PackedStringArray),
        st.lists(st.tuples(*[st.integers(-9, 9)] * 3)).map(gv.PackedVector3Array),
    ]),
    lambda inner: inner.map(st.lists) | st.dictionaries(texts, inner, min_size=1).map(fixed) | inner.map(by_int),
    max_leaves=6,
)


def fill(value: Any, ty: pa.DataType) -> Any:
    """A plain value with the nulls of missing keys."""
    if value is None:
        return None
    if pa.types.is_struct(ty):
        return {field.name: fill(value.get(field.name), field.type) for field in ty}
    if pa.types.is_map(ty):
        return [(key, fill(part, ty.item_type)) for key, part in value.items()]
    if pa.types.is_list(ty) or pa.types.is_fixed_size_list(ty):
        return [fill(part, ty.value_type) for part in value]
    return value


@dataclass(eq=False)
class Unit:
    hp: Any


class Tables(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "file.dat"

    def refused(self, code: str, *arguments: Any, **options: Any) -> gv.VariantError:
        with self.assertRaises(gv.VariantError) as raised:
            gv.read_table(*arguments, **options)
        self.assertEqual(raised.exception.code, code, raised.exception)
        return raised.exception

    @settings(deadline=None)
    @given(st.dictionaries(texts, types, min_size=1).map(fixed).flatmap(st.lists))
    def test_rows(self, rows: list[dict[str, Any]]) -> None:
        found = table(gv.encode_batch(rows))
        self.assertEqual(len(found), len(rows))
        expected = [{field.name: fill(plain(row).get(field.name), field.type) for field in found.schema} for row in rows]
        self.assertEqual(found.to_pylist(), expected)
        self.assertLessEqual({key for row in rows for key in row}, set(found.schema.names))

    def test_types(self) -> None:
        item = pa.field("item", pa.float32())
        for value, ty in (
            (True, pa.bool_()), (2**62, pa.int64()), (0.5, pa.float64()), ("a", pa.string()), (b"a", pa.binary()),
            (gv.StringName("a"), pa.string()), (gv.NodePath("/a:b"), pa.string()), (gv.RID(7), pa.uint64()),
            (gv.ObjectId(2**63), pa.uint64()), (gv.Vector3i(1, 2, 3), pa.list_(pa.field("item", pa.int32()), 3)),
            (gv.Vector2(1, 2), pa.list_(item, 2)), (gv.Transform3D(*range(12)), pa.list_(item, 12)),
            (gv.Vector2(1, 2, double=True), pa.list_(pa.field("item", pa.float64()), 2)),
            (gv.Color(1, 2, 3, 4), pa.list_(item, 4)), (gv.PackedFloat64Array([1]), pa.list_(pa.float64())),
            (gv.PackedColorArray([(1, 2, 3, 4)]), pa.list_(pa.list_(item, 4))), (["a"], pa.list_(pa.string())),
            (gv.PackedStringArray(["a"]), pa.list_(pa.string())), ({"a": 1}, pa.struct({"a": pa.int64()})),
            ({1: "a"}, pa.map_(pa.int64(), pa.string())), ({}, pa.map_(pa.string(), pa.null())), ([], pa.list_(pa.null())),
        ):
            rows = [{"value": value}, {}]
            found = table(gv.encode_batch(rows))
            self.assertEqual(found.schema.field("value").type, ty)
            self.assertEqual(found["value"].to_pylist(), [fill(plain(value), ty), None])
            metadata = found.schema.field("value").metadata
            if isinstance(value, (gv.Components, gv.Packed, gv.StringName, gv.NodePath, gv.RID)) and ty != pa.binary():
                self.assertEqual(metadata, {b"godot_type": type(value).__name__.encode()})
            else:
                self.assertIn(metadata, (None, {b"godot_type": b"Object"}))
            # The schema of one table gives another the same types.
            schema = gv.read_table(gv.encode_batch(rows)).schema
            if ty not in (pa.map_(pa.string(), pa.null()), pa.list_(pa.null())) and "double" not in str(ty):
                self.assertEqual(table([], schema=schema).schema, found.schema)
        self.assertEqual(table(gv.encode_batch([{"value": gv.Callable()}]))["value"].to_pylist(), [None])
        self.assertEqual(table(gv.encode_batch([{"value": gv.Signal("hit", 7)}]))["value"].to_pylist(), ["hit"])

    def test_types_that_unify(self) -> None:
        for values, ty in (
            ([1, 0.5, 2**53], pa.float64()), ([0.5, 1], pa.float64()), ([None, 1], pa.int64()),
            (["a", gv.StringName("b")], pa.string()), ([{}, {1: 2}], pa.map_(pa.int64(), pa.int64())),
            ([{}, {"a": 2}], pa.struct({"a": pa.int64()})), ([[], [1], [0.5]], pa.list_(pa.float64())),
            ([gv.Vector2(1, 2), gv.Vector2(0.1, 2, double=True)], pa.list_(pa.field("item", pa.float64()), 2)),
            ([gv.PackedVector2Array([(1, 2)], double=True), gv.PackedVector2Array([(1, 2)])],
             pa.list_(pa.list_(pa.field("item", pa.float64()), 2))),
        ):
            rows = [{"a": value} for value in values]
            # In one batch of rows, and in several.
            for source in (gv.encode_batch(rows), [gv.encode_batch([row]) for row in rows]):
                found = table(source)["a"]
                self.assertEqual((found.type, found.to_pylist()), (ty, [fill(plain(value), ty) for value in values]))

    def test_types_that_do_not_unify(self) -> None:
        for values in (
            [1, "a"], [True, 1], [2**53 + 1, 0.5], [0.5, -(2**60)], ["a", b"a"], [{"a": 1}, {1: "a"}], [{1: 2}, {"a": 1}],
            [[1], {"a": 1}], [{gv.NodePath("z"): 1}, {"a": 2}], [gv.Vector2(1, 2), gv.Vector2i(1, 2)], [gv.RID(1), gv.ObjectId(1)], [gv.PackedInt32Array([1]), [1]],
        ):
            rows = [{"x": {"y": [value]}} for value in values]
            first, second = (gv.encode_batch([row]) for row in rows)
            offset = len(first) + len(second) - 4 - len(gv.encode(values[1])) + 4
            for source, record, offset in ((first + second, 1, offset), ([first, second], 0, offset - len(first))):
                error = self.refused("BAD_ARGUMENT", source)
                self.assertEqual(error.record, record)
                self.assertTrue(error.path.startswith('."x"."y"[0]'), error)
                if isinstance(values[0], dict) != isinstance(values[1], dict) or not isinstance(values[1], dict):
                    self.assertEqual(error.offset, offset)
                found = gv.read_table(source, mixed="json")
                self.assertEqual(found.schema, {"x": {"y": list[Any]}})
                # The JSON is that of `gdvar json`, which restores the values.
                texts = [row["y"][0] for row in pa.table(found)["x"].to_pylist()]
                self.assertEqual(len(texts), 2)
                self.assertTrue(all(text[0] in '0123456789-"{[t' for text in texts), texts)
        error = self.refused("BAD_ARGUMENT", gv.encode_batch([{"a": {None: 1}}]))
        self.assertIn("Nil as a key", str(error))

    def test_json(self) -> None:
        rows = [{"a": 1, "b": 1}, {"a": "x", "b": 2}, {"a": gv.Vector2(1, 2)}, {"b": None}, {"a": {"k": [1, {}]}}, {"a": None}]
        found = table(gv.encode_batch(rows), mixed="json")
        expected = ["1", '"x"', '{"Vector2":[1.0,2.0]}', None, '{"k":[1,{}]}', None]
        self.assertEqual(found["a"].to_pylist(), expected)
        self.assertEqual(found["b"].to_pylist(), [1, 2, None, None, None, None])
        found = table(gv.encode_batch([{"a": [1]}, {"a": 2}]), schema={"a": Any})
        self.assertEqual(found["a"].to_pylist(), ["[1]", "2"])
        found = table(gv.encode_batch([{"a": 5}, {"a": [1]}]), schema={"a": list[Any]}, mixed="json")
        self.assertEqual(found["a"].to_pylist(), ["5", "[1]"])
        # Rows of several types are JSON themselves.
        found = table(gv.encode_batch([{"a": [1]}, 7]), mixed="json")
        self.assertEqual(found.to_pylist(), [{"value": '{"a":[1]}'}, {"value": "7"}])

    def test_rows_of_other_types(self) -> None:
        self.assertEqual(table(gv.encode_batch([1, 0.5, None]))["value"].to_pylist(), [1, 0.5, None])
        self.assertEqual(table(gv.encode_batch([[1], []]))["value"].to_pylist(), [[1], []])
        self.assertEqual(table(gv.encode_batch([{}, {"a": 1}, None]))["a"].to_pylist(), [None, 1, None])
        self.assertEqual(table(gv.encode_batch([{}, {}])).num_columns, 0)
        self.assertEqual(len(gv.read_table([])), 0)
        # The schema of one table reads another.
        objects = [gv.Object("Resource", (("a", 1),)), None, gv.Object("Resource", (("b", "x"),))]
        limits = gv.Limits.files(allow_objects=True)
        for rows, columns in (
            ([7, None, 8], None), ([[1], []], None), (["a"], None), ([gv.Vector2(1, 2)], None), ([b"ab"], None),
            ([gv.ObjectId(7)], None), ([{1: 2}, {3: 4}], None), ([None], None), ([{"a": [1]}, 7], None), ([{}, {}], None),
            (objects, ["@class", "b"]), ([{"value": 1}, {}], ["value"]),
        ):
            batch, options = gv.encode_batch(rows), {"limits": limits, "mixed": "json"}
            found = gv.read_table(batch, **options)
            again = gv.read_table(batch, schema=found.schema, **options)
            self.assertEqual((again.schema, pa.table(again)), (found.schema, pa.table(found)))
            if columns is not None:
                self.assertEqual(table(batch, columns=columns, **options), pa.table(found).select(columns))
        # Chosen columns need Dictionaries.
        for other in (7, [1], gv.ObjectId(7)):
            for mixed in ("raise", "json"):
                batch = gv.encode_batch([{"a": 1}, other])
                error = self.refused("BAD_ARGUMENT", batch, columns=["a"], on_error="report", mixed=mixed)
                self.assertEqual((error.record, error.offset), (1, 36))
        self.assertEqual(table(gv.encode_batch([7]), schema=float)["value"].to_pylist(), [7.0])
        self.refused("BAD_ARGUMENT", gv.encode_batch([7, "a"]), schema=int)

    def test_columns_and_schema(self) -> None:
        rows = [{"a": 1, "b": [1], "c": "x"}, {"c": gv.StringName("y"), "a": 2, "d": {1: 2}}, {"b": [0.5]}]
        batch = gv.encode_batch(rows)
        self.assertEqual(table(batch, columns=["b", "a"]), table(batch).select(["b", "a"]))
        found = table(batch, schema={"a": float, "d": dict[int, float], "e": str})
        self.assertEqual(found.to_pylist(), [
            {"a": 1.0, "d": None, "e": None}, {"a": 2.0, "d": [(1, 2.0)], "e": None}, {"a": None, "d": None, "e": None},
        ])
        self.assertEqual(table(batch, schema={"a": float, "b": None}, columns=["a"]).schema.names, ["a"])
        # Dictionaries with text keys fit in a map.
        found = table(gv.encode_batch([{"bag": {"rope": 1}}, {"bag": {"torch": 2}}]), schema={"bag": dict[str, int]})
        self.assertEqual(found["bag"].to_pylist(), [[("rope", 1)], [("torch", 2)]])
        error = self.refused("NOT_FOUND", batch, columns=["a", "z"])
        self.assertIn('"z"', str(error))
        self.refused("BAD_ARGUMENT", batch, schema={"a": str})
        self.refused("BAD_ARGUMENT", batch, schema={"b": list[int]})
        self.assertEqual(table(batch, schema={"b": list[None]})["b"].to_pylist(), [[1.0], None, [0.5]])
        self.assertEqual(table([], schema={"a": gv.PackedByteArray}), table([], schema={"a": bytes}))
        self.assertRaises(TypeError, gv.read_table, batch, schema={"a": 7})
        self.assertRaises(ValueError, gv.read_table, batch, schema=int, columns=["a"])
        self.assertRaises(TypeError, gv.read_table, batch, schema={1: int})
        self.assertRaises(ValueError, gv.read_table, batch, columns=["a", "a"])
        # Values of other columns are not checked.
        damaged = bytearray(gv.encode_batch([{"a": 1, "b": "text"}]))
        damaged[-4] = 0xFF
        self.assertEqual(table(damaged, columns=["a"])["a"].to_pylist(), [1])
        self.refused("INVALID_TEXT", damaged)

    def test_parts_of_saves(self) -> None:
        players = [{"name": "Ada", "hp": 87}, {"name": "Bob", "hp": 12}]
        gv.save(self.path, {"day": 3, "world": {"players": players}}, compress=True)
        found = table(self.path, rows="world/players", include_file_paths="save")
        self.assertEqual(found.to_pylist(), [player | {"save": str(self.path)} for player in players])
        self.assertEqual(table(self.path)["day"].to_pylist(), [3])
        self.path.write_bytes(gv.encode(players))
        self.assertEqual(table(self.path).to_pylist(), players)
        batch = gv.encode_batch([{"tick": 1, "units": players}, {"tick": 2, "units": []}, {"units": players[:1]}])
        self.assertEqual(table(batch, rows="units").to_pylist(), [*players, *players[:1]])
        self.refused("NOT_FOUND", self.path, rows="enemies")
        gv.save(self.path, {"day": {"n": 3}})
        error = self.refused("BAD_ARGUMENT", self.path, rows="day/n")
        self.assertIn("expected Array, found int", str(error))
        self.refused("BAD_ARGUMENT", gv.encode({"p": gv.PackedInt32Array([0, 0])}), rows="p")
        # Rows follow references of registered classes, as views do.
        ada, bob = Unit(5), Unit(6)
        shared = gv.encode({"units": [ada, bob, ada]}, classes=[Unit])
        self.assertEqual(table(shared, rows="units", columns=["hp"])["hp"].to_pylist(), [5, 6, 5])
        self.assertEqual(table(shared, rows="units")["hp"].to_pylist(), [5, 6, 5])
        shared = gv.encode([ada, bob, ada], classes=[Unit])
        self.assertEqual(table(shared)["hp"].to_pylist(), [5, 6, 5])
        large = gv.encode([Unit(list(range(100_000)))] * 20_000, classes=[Unit])
        self.refused("BAD_ARGUMENT", large)
        self.refused("BAD_ARGUMENT", self.path, include_file_paths="day")
        self.refused("BAD_ARGUMENT", [], schema={"day": int}, include_file_paths="day")
        error = self.refused("NOT_FOUND", gv.encode_batch([{"units": []}, {}]), rows="units")
        self.assertEqual(error.record, 1)
        error = self.refused("BAD_ARGUMENT", gv.encode_batch([{"u": []}, {"u": [{"a": 1}, {"a": "x"}]}]), rows="u")
        self.assertEqual((error.record, error.path), (1, '[1]."a"'))

    def test_long_files(self) -> None:
        # Files above 8 MiB are read in pieces of 4.
        rows = [{"id": index, "text": "x" * (index % 997)} for index in range(30_000)]
        rows[7]["text"] = "y" * (5 << 20)
        gv.append(self.path, rows)
        self.assertEqual(table(self.path, threads=2).to_pylist(), rows)
        self.assertEqual(table(self.path, columns=["id"], threads=1)["id"].to_pylist(), list(range(30_000)))
        data = self.path.read_bytes()
        for damaged in (data[:-1], data[: 9 << 20], data + bytes(64), data[: 7 << 20] + b"\xff" * 8 + data[(7 << 20) + 8 :]):
            self.path.write_bytes(damaged)
            found = gv.read_table(self.path, on_error="report")
            whole, records = [], gv.records(self.path)
            with self.assertRaises(gv.VariantError) as raised:
                whole.extend(iter(records))
            self.assertEqual(pa.table(found).to_pylist(), rows[: len(found)])
            self.assertEqual(pa.table(found), table(damaged, on_error="report").slice())
            [damage] = found.damaged
            for other in (raised.exception, self.refused(damage.code, self.path)):
                self.assertEqual(vars(damage), vars(other))
        # Blocks of compressed records are read as a whole.
        with self.path.open("wb") as file:
            file.write(data)
        gv.append(self.path, [{"@zstd": 2}])
        self.assertEqual(table(self.path)["@zstd"].to_pylist()[-1], 2)

    def test_damage(self) -> None:
        good = [{"a": index} for index in range(5)]
        paths = [self.folder / f"{name}.dat" for name in "abcde"]
        for path in paths[:3]:
            gv.append(path, good)
        whole = paths[1].read_bytes()
        paths[1].write_bytes(whole[:-2])
        paths[3].write_text("text, not values")
        self.refused("UNEXPECTED_END", paths)
        found = gv.read_table(iter(paths), on_error="report")
        self.assertEqual(pa.table(found)["a"].to_pylist(), [0, 1, 2, 3, 4, 0, 1, 2, 3, 0, 1, 2, 3, 4])
        places = [(error.file, error.record, error.code) for error in found.damaged]
        self.assertEqual(places, [
            (str(paths[1]), 4, "UNEXPECTED_END"), (str(paths[3]), None, "UNKNOWN_TYPE"), (str(paths[4]), None, "FILE_ERROR"),
        ])
        for error in found.damaged:
            copy = pickle.loads(pickle.dumps(error))
            self.assertEqual((str(copy), vars(copy)), (str(error), vars(error)))
        # A row that is only half there changes neither types nor columns.
        damaged = gv.encode_batch([{"a": 1}]) + gv.encode_batch([{"b": 0.5, "a": 0.5, "c": "x"}])[:-8] + b"\xff" * 8
        found = gv.read_table(damaged, on_error="report")
        self.assertEqual((found.schema, len(found), len(found.damaged)), ({"a": int}, 1, 1))
        # A value that a column cannot hold is no damage.
        self.refused("BAD_ARGUMENT", gv.encode_batch([{"a": 1}, {"a": "x"}]), on_error="report")

    def test_arguments(self) -> None:
        batch = gv.encode_batch([{"a": 1}])
        for options in ({"mixed": "x"}, {"on_error": "ignore"}, {"threads": 0}):
            self.assertRaises(ValueError, gv.read_table, batch, **options)
        for wrong in (None, 7, [7]):
            self.assertRaises(TypeError, gv.read_table, wrong)
        self.assertEqual(table([batch, bytearray(batch), memoryview(batch)])["a"].to_pylist(), [1, 1, 1])
        found = gv.read_table(batch)
        self.assertEqual((len(found), repr(found)), (1, "<Table of 1 rows and 1 columns>"))
        self.assertEqual(pa.schema(found), pa.table(found).schema)
        self.assertEqual(pa.table(found), pa.table(found))

    def test_hostile_inputs(self) -> None:
        # Many rows with many keys take more memory than all of them.
        sparse = gv.encode_batch([{f"key {index}": 1} for index in range(20_000)])
        error = self.refused("BAD_ARGUMENT", sparse, on_error="report")
        self.assertIn("columns", str(error))
        self.assertEqual(table(sparse, columns=["key 7"])["key 7"].null_count, 19_999)
        mixed = gv.encode_batch([{"a": {f"key {index}": 1}} for index in range(20_000)])
        self.assertEqual(len(table(mixed, schema={"a": dict[str, int]})), 20_000)
        self.refused("BAD_ARGUMENT", mixed)
        # The same from several inputs, each with its own keys.
        inputs = [gv.encode_batch([{f"{name} {index}": 1 for index in range(1000)}] + [{}] * 999) for name in range(20)]
        self.refused("BAD_ARGUMENT", inputs)
        self.refused("BAD_ARGUMENT", [gv.encode_batch([{f"key {index}": index}]) for index in range(2000)])
        wide = gv.Projection(*range(16), double=True)
        self.refused("BAD_ARGUMENT", gv.encode_batch([{}] * 6000 + [{f"key {index}": wide for index in range(6000)}]))
        deep: Any = 1
        for _ in range(60):
            deep = [deep]
        self.assertIn("30 levels", str(self.refused("BAD_ARGUMENT", gv.encode_batch([deep]))))
        form: Any = {}
        form["a"] = form
        self.assertRaises(TypeError, gv.read_table, b"", schema=form)
        twice = gv.encode_batch([gv.Pairs([("a", 1), ("a", 2)])])
        for options in ({}, {"columns": ["a"]}, {"schema": {"a": int}}):
            self.refused("NOT_CANONICAL", twice, **options)
        self.refused("NOT_CANONICAL", gv.encode_batch([{"m": gv.Pairs([(7, 1), (7, 2)])}]))

    def test_vectors(self) -> None:
        for row in vectors():
            if not row.data:
                continue  # The prefix alone is a value, Nil.
            for limits in (gv.Limits.files(), gv.Limits.files(allow_objects=True)):
                try:
                    value = gv.decode(row.data, limits=limits)
                except gv.VariantError:
                    value = Ellipsis
                # A value that is alone, so that the columns of damaged inputs are read, too.
                batch = len(row.data).to_bytes(4, "little") + row.data
                try:
                    found = table(batch, limits=limits, mixed="json")
                except gv.VariantError as error:
                    # Arrow has no nulls as keys, and keys that are equal for the engine are refused in a map.
                    is_stricter = "Nil as a key" in str(error) or "duplicate Dictionary key" in str(error)
                    self.assertTrue(value is Ellipsis or is_stricter, (row.label, error))
                else:
                    self.assertIsNot(value, Ellipsis, row.label)
                    self.assertEqual(len(found), 1)
                for bit in range(0, 8 * len(batch), 37):
                    flipped = bytearray(batch)
                    flipped[bit // 8] ^= 1 << bit % 8
                    try:
                        table(flipped, on_error="report")
                    except gv.VariantError as error:
                        self.assertEqual(error.code, "BAD_ARGUMENT", (row.label, error))


if __name__ == "__main__":
    unittest.main()
