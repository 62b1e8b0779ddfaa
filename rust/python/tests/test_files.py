"""Files of records, saves and views."""

import tempfile
import unittest
from pathlib import Path
from typing import Any

import godot_variant as gv


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "file.dat"

    def refused(self, code: str, call: Any, *arguments: Any, **options: Any) -> gv.VariantError:
        with self.assertRaises(gv.VariantError) as raised:
            call(*arguments, **options)
        self.assertEqual(raised.exception.code, code, raised.exception)
        return raised.exception

    def test_records(self) -> None:
        values = [{"id": index, "name": "x" * (index % 50)} for index in range(20_000)]
        gv.append(self.path, values[:5])
        gv.append(str(self.path), values[5:])
        self.assertEqual(list(gv.records(self.path)), values)
        self.assertEqual(list(gv.records(self.path.read_bytes(), start=7, stop=9)), values[7:9])
        self.assertEqual(list(gv.records(self.path, start=19_999)), values[19_999:])
        self.assertEqual(list(gv.records(self.path, start=20_000)), [])
        self.assertEqual(gv.decode_batch(self.path.read_bytes()), values)
        self.assertEqual(gv.encode_batch(values), self.path.read_bytes())
        self.assertEqual(sum(1 for _ in zip(gv.records(self.path), range(3))), 3)

    def test_records_before_damage_come_first(self) -> None:
        data = bytearray(gv.encode_batch(["one", "two", "three"]))
        data[20] = 99
        self.path.write_bytes(data)
        found = gv.records(self.path)
        self.assertEqual(next(found), "one")
        error = self.refused("UNKNOWN_TYPE", next, found)
        self.assertEqual((error.record, error.offset, error.file), (1, 20, str(self.path)))
        self.assertEqual(next(found, None), None)
        self.path.write_bytes(gv.encode_batch([1, 2])[:-1])
        error = self.refused("UNEXPECTED_END", list, gv.records(self.path))
        self.assertEqual((error.record, error.offset), (1, 12))
        self.refused("UNEXPECTED_END", gv.append, self.path, [3])

    def test_records_in_blocks(self) -> None:
        # Only a block can hold a value that looks like one.
        gv.append(self.path, [1, {"@zstd": 2}, "x"])
        self.assertEqual(list(gv.records(self.path)), [1, {"@zstd": 2}, "x"])
        self.assertEqual(list(gv.records(self.path, start=1, stop=2)), [{"@zstd": 2}])
        self.assertEqual(gv.View(self.path)[1]["@zstd"], 2)
        with self.assertRaisesRegex(IndexError, r"view\[0\]"):
            gv.View(self.path)["@zstd"]
        self.assertEqual(gv.View(self.path).value(), [1, {"@zstd": 2}, "x"])
        data = bytearray(self.path.read_bytes())
        data[-24] ^= 1
        self.path.write_bytes(data)
        self.refused("BAD_SAVE", list, gv.records(self.path))

    def test_saves(self) -> None:
        value = {"gold": 99, "map": gv.PackedByteArray(bytes(5000))}
        for compress in (False, True):
            gv.save(self.path, value, summary={"day": 3}, compress=compress)
            self.assertEqual(gv.load(self.path), value)
            self.assertEqual(gv.load(self.path.read_bytes()), value)
            self.assertEqual(gv.load_summary(self.path), {"day": 3})
            self.assertEqual(gv.View(self.path)["gold"], 99)
            self.assertEqual(self.path.stat().st_size < 1000, compress)
            data = bytearray(self.path.read_bytes())
            for damaged in (data[:-1], data[:60] + bytes([data[60] ^ 1]) + data[61:]):
                self.path.write_bytes(damaged)
                error = self.refused("BAD_SAVE", gv.load, self.path)
                self.assertEqual(error.file, str(self.path))
        self.refused("BAD_SAVE", gv.View, self.path)
        gv.save(self.path, {gv.StringName("@zstd"): 7})
        self.assertEqual(gv.load(self.path), {"@zstd": 7})
        self.refused("UNKNOWN_TYPE", gv.append, self.path, [1])
        # A value that `load` would refuse does not replace a save.
        for unreadable in (gv.TypedArray([1, 2], "float"), gv.Pairs([("a", 1), ("a", 2)])):
            for call, value in ((gv.save, unreadable), (gv.append, [unreadable])):
                with self.assertRaises(gv.VariantError):
                    call(self.path, value)
        self.assertEqual(gv.load(self.path), {"@zstd": 7})

    def test_other_files(self) -> None:
        self.path.write_bytes(gv.encode({"one": "value"}))
        self.assertEqual(gv.load(self.path), {"one": "value"})
        self.refused("UNKNOWN_TYPE", gv.records, self.path)
        gv.append(self.folder / "record.dat", ["only"])
        self.assertEqual(gv.load(self.folder / "record.dat"), "only")
        gv.append(self.folder / "record.dat", ["another"])
        self.refused("BAD_ARGUMENT", gv.load, self.folder / "record.dat")
        self.refused("BAD_ARGUMENT", gv.load_summary, self.folder / "record.dat")
        self.path.write_text('{"json": true}')
        for call in (gv.load, gv.records, gv.View):
            self.assertIn("JSON", str(self.refused("UNKNOWN_TYPE", call, self.path)))
        self.refused("FILE_ERROR", gv.load, self.folder / "missing.dat")
        self.refused("FILE_ERROR", gv.records, self.folder)
        self.refused("FILE_ERROR", gv.save, self.folder / "missing" / "file.dat", 1)


class Views(unittest.TestCase):
    VALUE = {
        "players": [{"hp": 7, "at": gv.Vector2(1, 2)}, {"hp": 9}],
        "points": gv.PackedVector2Array([(1, 2)]),
        3: ["x"],
        gv.Vector2i(1, 2): "vector",
        True: "bool",
    }

    def test_parts(self) -> None:
        view = gv.View(gv.encode(self.VALUE))
        self.assertEqual(view.value(), self.VALUE)
        self.assertEqual((len(view), view.keys(), list(view)), (5, list(self.VALUE), list(self.VALUE)))
        self.assertEqual((view["players"][-1]["hp"], view[3][0], view[gv.Vector2i(1, 2)]), (9, "x", "vector"))
        self.assertEqual((view[True], view.get(1)), ("bool", None))
        self.assertEqual(view["points"], self.VALUE["points"])
        self.assertEqual([row["hp"] for row in view["players"]], [7, 9])
        self.assertEqual((view.type, view["players"].type, repr(view[3])), ("Dictionary", "Array", "<View of Array>"))
        self.assertTrue("players" in view and "x" not in view and 1 in view["players"])
        self.assertEqual((view.get("x"), view.get("x", 5), view.get(3).value()), (None, 5, ["x"]))
        self.assertEqual(list(gv.View(gv.encode(gv.PackedInt32Array([7, 8])))), [7, 8])
        self.assertRaises(KeyError, lambda: view["x"])
        self.assertRaises(IndexError, lambda: view["players"][2])

    def test_columns(self) -> None:
        players = gv.View(gv.encode(self.VALUE))["players"]
        self.assertEqual(players.column("hp"), [7, 9])
        self.assertEqual(players.column("at", "hp", default=0), [[gv.Vector2(1, 2), 0], [7, 9]])
        self.assertRaises(gv.VariantError, players.column)

    def test_only_what_is_read_is_checked(self) -> None:
        data = bytearray(gv.encode({"good": 1, "bad": ["text"]}))
        data[-4] = 0xFF
        view = gv.View(data)
        self.assertEqual(view["good"], 1)
        with self.assertRaises(gv.VariantError) as raised:
            view["bad"][0]
        self.assertEqual((raised.exception.code, raised.exception.offset), ("INVALID_TEXT", len(data) - 8))


if __name__ == "__main__":
    unittest.main()
