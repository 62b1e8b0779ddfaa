"""Unusual bytes for a message: valid encodings that no program writes, and invalid encodings."""

from random import Random

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from messages import TYPES, is_map
from schemas import EXTENSION

VARINT, I64, LEN, START, END, I32 = range(6)
PACKED = {"double": I64, "fixed64": I64, "sfixed64": I64, "float": I32, "fixed32": I32, "sfixed32": I32}
# The maximum number of bytes in the varint of a tag or length, which have 32 bits.
TAG = 5
UNPACKABLE = ("string", "bytes", "message", "group")
# A field's number, its wire type, and its payload: a number for varints, a group's records, or bytes.
Record = tuple[int, int, int | bytes]


def wire_type(field: FieldDescriptor) -> int:
    """The wire type of a single value."""
    kind = TYPES[field.type]
    return START if kind == "group" else LEN if kind in UNPACKABLE else PACKED.get(kind, VARINT)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def read_records(data: bytes) -> list[Record]:
    """The records of a message."""
    records: list[Record] = []
    at = 0
    while at < len(data):
        record, at = read_record(data, at)
        records.append(record)
    return records


def read_record(data: bytes, at: int) -> tuple[Record, int]:
    tag, at = read_varint(data, at)
    number, wire = tag >> 3, tag & 7
    if wire == VARINT:
        value, at = read_varint(data, at)
        return (number, wire, value), at
    if wire == START:
        start = at
        while True:
            end, (tag, at) = at, read_varint(data, at)
            if tag & 7 == END:
                return (number, wire, data[start:end]), at
            _, at = read_record(data, end)
    length, at = read_varint(data, at) if wire == LEN else (8 if wire == I64 else 4, at)
    return (number, wire, data[at : at + length]), at + length


def varint(value: int, extra: int = 0) -> bytes:
    """The varint, with `extra` superfluous bytes."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F)
    groups += [0] * extra
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


class Speller:
    """Re-encodes messages. Their meaning may change, and invalid encodings are rare."""

    def __init__(self, rng: Random):
        self.rng = rng
        self.restraint = rng.choice([2, 6, 20])

    def sometimes(self) -> bool:
        return self.rng.randrange(self.restraint) == 0

    def varint(self, value: int, most: int = 10) -> bytes:
        """The varint, sometimes with superfluous bytes: up to `most`, and very rarely one more."""
        room = most - len(varint(value)) + (self.rng.random() < 0.02)
        return varint(value, self.rng.randint(0, room) if room > 0 and self.sometimes() else 0)

    def write(self, records: list[Record]) -> bytes:
        out = bytearray()
        for number, wire, payload in records:
            out += self.varint(number << 3 | wire, TAG)
            if isinstance(payload, int):
                out += self.varint(payload)
                continue
            out += self.varint(len(payload), TAG) if wire == LEN else b""
            out += payload
            out += self.varint(number << 3 | END, TAG) if wire == START else b""
        return bytes(out)

    def message(self, descriptor: Descriptor, data: bytes, donor: bytes = b"") -> bytes:
        """The re-encoded message, sometimes with records of another message of its type."""
        rng = self.rng
        records: list[Record] = []
        source = read_records(data)
        if self.sometimes():
            source += read_records(donor)
        if source and self.sometimes():
            source.append(rng.choice(source))
        for record in source:
            records += self.record(descriptor, record)
        if self.sometimes():
            rng.shuffle(records)
        # Implementations read map entries with unknown fields differently.
        while not descriptor.GetOptions().map_entry and self.sometimes():
            records.insert(rng.randint(0, len(records)), self.stranger(descriptor))
        return self.write(records)

    def record(self, descriptor: Descriptor, record: Record) -> list[Record]:
        rng = self.rng
        number, wire, payload = record
        field = descriptor.fields_by_number.get(number)
        if field is None:
            return [record]
        kind = TYPES[field.type]
        if self.sometimes() and self.sometimes() and not descriptor.GetOptions().map_entry:
            return [self.stranger(descriptor, number)]
        if kind in ("message", "group") and isinstance(payload, bytes):
            if self.sometimes() and self.sometimes() and not is_map(field):
                # Unknown to readers: a group where a message is expected, or the reverse.
                return [(number, LEN + START - wire, payload)]
            if self.sometimes() and not is_map(field):
                inner = read_records(payload)
                middle = rng.randint(0, len(inner))
                parts = [inner[:middle], inner[middle:]]
                return [(number, wire, self.write(part)) for part in parts]
            return [(number, wire, self.message(field.message_type, payload))]
        if isinstance(payload, int) and self.sometimes():
            # Readers drop the upper bits of a number that is wider than the type.
            payload = rng.choice([payload | rng.getrandbits(32) << 32, rng.getrandbits(64), 2, 1 << 32])
        if not field.is_repeated or kind in UNPACKABLE or not self.sometimes():
            return [(number, wire, payload)]
        if wire != LEN:
            value = self.varint(payload) if isinstance(payload, int) else payload
            return [(number, LEN, value)]
        assert isinstance(payload, bytes)
        items = self.items(kind, payload)
        if rng.random() < 0.5:
            return [(number, wire_type(field), item) for item in items]
        middle = rng.randint(0, len(items))
        return [(number, LEN, self.pack(part)) for part in (items[:middle], items[middle:])]

    def items(self, kind: str, payload: bytes) -> list[int | bytes]:
        if kind in PACKED:
            width = 8 if PACKED[kind] == I64 else 4
            return [payload[at : at + width] for at in range(0, len(payload), width)]
        items: list[int | bytes] = []
        at = 0
        while at < len(payload):
            value, at = read_varint(payload, at)
            items.append(value)
        return items

    def pack(self, items: list[int | bytes]) -> bytes:
        return b"".join(self.varint(item) if isinstance(item, int) else item for item in items)

    def stranger(self, descriptor: Descriptor, number: int | None = None) -> Record:
        """A record of any wire type, for the field `number` or, without it, for a field that the message lacks."""
        rng, known = self.rng, descriptor.fields_by_number
        number = number or rng.choice([n for n in [*range(1, 30), 5000, 19000, EXTENSION, 2**29 - 1] if n not in known])
        wire = rng.choice([VARINT, VARINT, I64, LEN, START, I32])
        if wire == VARINT:
            return number, wire, rng.choice([0, 1, rng.getrandbits(64)])
        if wire == START:
            inner = [self.stranger(descriptor) for _ in range(rng.choice([0, 0, 1, 2]))]
            return number, wire, self.write(inner)
        length = {I64: 8, I32: 4}.get(wire, rng.choice([0, 1, 5, 12]))
        return number, wire, rng.randbytes(length)


def mutate(rng: Random, data: bytes, other: bytes) -> bytes:
    """The bytes after a little damage, with pieces of other bytes."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randint(0, len(out))
        match rng.randrange(7):
            case 0 if at < len(out):
                out[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(out):
                out[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            case 2:
                del out[at : at + rng.choice([1, 2, 5, len(out)])]
            case 3:
                out[at:at] = rng.choice([b"\x80", b"\xff" * 10, b"\xff" * 5, b"\x0b", b"\x0c", rng.randbytes(3)])
            case 4:
                start = rng.randint(0, len(other))
                out[at:at] = other[start : start + rng.randint(1, 20)]
            case 5:
                out[at:at] = out[rng.randint(0, at) : at]
            case _:
                out[at : at + 1] = varint(rng.getrandbits(rng.choice([3, 7, 14, 32, 64])))
    return bytes(out)
