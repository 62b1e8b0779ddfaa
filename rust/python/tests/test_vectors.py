"""The vectors that the engine wrote: read, written back, cut off and damaged."""

import unittest
from collections import Counter

import godot_variant as gv
from vectors import rows

ALL = gv.Limits.files(allow_trailing_bytes=True)


class Vectors(unittest.TestCase):
    def test_values_of_the_engine_come_back_as_the_same_bytes(self) -> None:
        canonical = 0
        for row in rows():
            if row.is_written(row.data):
                try:
                    value = gv.decode(row.data, limits=gv.Limits.files())
                except gv.VariantError as error:
                    # The codec refuses what scripts would read as another type.
                    self.assertEqual(error.code, "WRONG_ELEMENT_TYPE", row.label)
                    continue
                self.assertEqual(gv.encode(value), row.data, row.label)
                canonical += 1
        self.assertGreater(canonical, 300)

    def test_lenient_reading_differs_from_the_engine_only_on_purpose(self) -> None:
        differences: Counter[str] = Counter()
        for row in rows():
            try:
                value = gv.decode(row.data, limits=ALL, lenient=True)
            except gv.VariantError as error:
                if row.written is not None:
                    differences[error.code] += 1
                continue
            self.assertIsNotNone(row.written, f"{row.label}: read, but the engine refuses it")
            try:
                written = gv.encode(value)
            except gv.VariantError as error:
                # Text that would not come back: the engine writes it.
                differences[error.code] += 1
                continue
            if not row.is_written(written):
                differences[self.reason(row.data, value)] += 1
        self.assertEqual(dict(differences), EXPECTED)

    def reason(self, data: bytes, value: object) -> str:
        if "Pairs(" in repr(value) or "nan" in repr(value):
            return "equal keys, which the engine merges"
        if "double=True" in repr(value):
            return "double precision, which this engine narrows"
        if "Typed" in repr(value):
            return "elements of another type, which the engine converts or drops"
        return f"{data.hex()}: {value!r}"

    def test_damaged_bytes_are_values_or_errors(self) -> None:
        for row in rows():
            # A view, so that each attempt has bytes of its own.
            for end in range(len(row.data)):
                self.attempt(row.data[:end])
            damaged = bytearray(row.data)
            for bit in range(len(damaged) * 8):
                damaged[bit >> 3] ^= 1 << (bit & 7)
                self.attempt(bytes(damaged))
                damaged[bit >> 3] ^= 1 << (bit & 7)

    def attempt(self, data: bytes) -> None:
        for lenient in (False, True):
            try:
                value = gv.decode(data, limits=ALL if lenient else gv.Limits.network(), lenient=lenient)
            except gv.VariantError as error:
                self.assertLessEqual(error.offset or 0, len(data))
                self.assertNotEqual(error.code, "INTERNAL_ERROR")
            else:
                # Older engines leave the padding of NodePaths as it was in memory. Where objects are not allowed,
                # typed containers of objects become those of the objects' ids.
                if not lenient and not any(name in repr(value) for name in ("NodePath", "EncodedObjectAsID")):
                    self.assertEqual(gv.encode(value), data)


# The number of rows that each reason explains. After the vectors change, look at the rows, then correct the numbers.
EXPECTED = {
    "INVALID_TEXT": 5,
    "WRONG_ELEMENT_TYPE": 10,
    "double precision, which this engine narrows": 15,
    "elements of another type, which the engine converts or drops": 7,
    "equal keys, which the engine merges": 8,
}

if __name__ == "__main__":
    unittest.main()
