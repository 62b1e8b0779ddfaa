"""The values that the engine wrote and read, in tests/vectors."""

from pathlib import Path
from typing import NamedTuple

ID = "<ID64>"


class Row(NamedTuple):
    """An input, what the engine wrote after it read it (`None` if it refused it), and a description."""

    data: bytes
    written: str | None
    label: str

    def is_written(self, data: bytes) -> bool:
        """Whether the engine wrote these bytes, apart from the ids of objects."""
        if self.written is None:
            return False
        rest = data.hex()
        for index, part in enumerate(self.written.split(ID)):
            rest = rest[16:] if index else rest
            if not rest.startswith(part):
                return False
            rest = rest[len(part) :]
        return not rest


def rows() -> list[Row]:
    """All rows of the table."""
    table = Path(__file__).parents[3] / "tests/vectors/godot4.tsv"
    found = []
    for line in table.read_text(encoding="utf-8").splitlines()[2:]:
        _, data, result, _, written, label = line.split("\t")
        found.append(Row(bytes.fromhex(data), written if result == "ok" else None, label))
    return found
