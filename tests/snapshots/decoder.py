"""A second decoder of snapshots, written from docs/snapshot_format.md alone: a reference for clients in other languages.

Each line of input is a question in JSON, and each line of output is an answer.

    {"schema": FIELDS, "hash": HASH}   starts again; returns the bytes that HASH, if it is not null, must be the hash of
    {"row": HEX}                       the values of a packed row
    {"series": HEX}                    the values of each row of a series
    {"snapshot": HEX}                  the state after this snapshot, and the acknowledgement
    {"try": HEX}                       the same, but nothing changes
    {"acknowledgement": HEX}           the ticks that it acknowledges, the newest first

FIELDS are those of a FastSnapshotSchema. The answer for bytes that cannot be read is {"error": TEXT}. Variants stay bytes.
"""

import json
import math
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

VERSION = 1
MAX_FRAMES = 32
MAX_ENTITIES = 65536
MAX_NUMBERS = 1 << 20
MAX_MASKS = 15

# The lanes of a field: numbers, or the bytes of a Variant.
Lanes = tuple[int, ...] | bytes
Row = list[Lanes]
State = dict[int, Row]


class Bits:
    """The bits of a packet, from the lowest bit of each byte on."""

    def __init__(self, data: bytes):
        self.data, self.position = data, 0

    def take(self, count: int) -> int:
        start, self.position = self.position, self.position + count
        if self.position > 8 * len(self.data):
            raise ValueError("truncated")
        taken = int.from_bytes(self.data[start // 8 : (self.position + 7) // 8], "little")
        return taken >> start % 8 & (1 << count) - 1

    def ones(self, limit: int) -> int:
        """The number of ones before a zero. No zero follows `limit` ones."""
        count = 0
        while count < limit and self.take(1):
            count += 1
        return count

    def below(self, values: int) -> int:
        width = (values - 1).bit_length()
        short = (1 << width) - values
        if short == 0:
            return self.take(width)
        number = self.take(width - 1)
        return number if number < short else 2 * number + self.take(1) - short

    def gamma(self) -> int:
        width = self.ones(32)
        if width == 32:
            raise ValueError("a number of over 32 bits")
        return 1 << width | self.take(width)

    def ids(self, most: int, end: int = (1 << 32) - 1) -> list[int]:
        ids, last = [], -2
        for _ in range(self.gamma() - 1):
            # Between runs is at least one other id.
            first = last + 1 + self.gamma()
            count = self.gamma()
            last = first + count - 1
            if last >= end or len(ids) + count > most:
                raise ValueError("an id is too large, or there are too many")
            ids.extend(range(first, last + 1))
        return ids

    def flags(self, ids: list[int]) -> list[int]:
        """Those of `ids` whose flags are set."""
        if self.take(1):
            return [ids[place] for place in self.ids(len(ids), end=len(ids))]
        return [id for id in ids if self.take(1)]

    def version(self) -> None:
        if self.take(3) != VERSION:
            raise ValueError("another version")

    def end(self) -> None:
        rest = 8 * len(self.data) - self.position
        if rest >= 8 or self.take(rest):
            raise ValueError("bits after the end")


class Field:
    """A field that is sent in full whenever it changes. Each kind also has the methods `full` and `value`."""

    zero: Lanes = (0,)
    lanes = 1
    # The number of lanes that have a parameter.
    parameters = 0

    def changed(self, bits: Bits, predicted: Lanes, parameters: list[int]) -> Lanes:
        return self.full(bits)

    def predict(self, base: Lanes, earlier: Lanes, ahead: int, span: int) -> Lanes:
        """The lanes `ahead` ticks after `base`, which is `span` ticks after `earlier`."""
        return base


class Bool(Field):
    def full(self, bits):
        return (bits.take(1),)

    def changed(self, bits, predicted, parameters):
        return (1 - predicted[0],)

    def value(self, lanes):
        return lanes[0] == 1


class WideInt(Field):
    """An int with two lanes, which are one number here."""

    lanes = 2

    def __init__(self, min: int, max: int):
        self.min, self.last = min, max - min

    def full(self, bits):
        return (checked(bits.take(self.last.bit_length()), self.last),)

    def value(self, lanes):
        return self.min + lanes[0]


class Variant(Field):
    zero = b""

    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes

    def full(self, bits):
        length = checked(bits.take(self.max_bytes.bit_length()), self.max_bytes)
        return bits.take(8 * length).to_bytes(length, "little")

    def value(self, lanes):
        return lanes.hex()


class Numbers(Field):
    """Number lanes. The largest number is `last`."""

    def __init__(self, lanes: int, last: int):
        self.zero, self.parameters, self.last, self.values = (0,) * lanes, lanes, last, last + 1
        self.lanes = lanes

    def full(self, bits):
        return tuple(bits.below(self.values) for _ in range(self.parameters))

    def changed(self, bits, predicted, parameters):
        return tuple(self.lane(bits, *each) for each in zip(predicted, parameters))

    def lane(self, bits: Bits, predicted: int, parameter: int) -> int:
        if parameter == 15 or (ones := bits.ones(16)) == 16:
            return bits.below(self.values)
        number = (ones << parameter) + bits.take(parameter) + (self.parameters == 1)
        return self.moved(predicted, number // 2 if number % 2 == 0 else -(number // 2) - 1)

    def moved(self, lane: int, difference: int) -> int:
        return checked(lane + difference, self.last)

    def extend(self, base: int, earlier: int, ahead: int, span: int) -> int:
        return max(0, min(base + ahead_of(base - earlier, ahead, span), self.last))


class NarrowInt(Numbers):
    """An int with one lane."""

    def __init__(self, min: int, max: int):
        super().__init__(1, max - min)
        self.min = min

    def value(self, lanes):
        return self.min + lanes[0]


class Floats(Numbers):
    """A float or a vector."""

    def __init__(self, lanes: int, min: float, max: float, step: float):
        steps = (float(max) - float(min)) / float(step)
        # Python's `round` rounds halves to even numbers.
        super().__init__(lanes, math.floor(steps) + (steps % 1 >= 0.5))
        self.min, self.step = float(min), float(step)

    def predict(self, base, earlier, ahead, span):
        return tuple(self.extend(*each, ahead, span) for each in zip(base, earlier))

    def value(self, lanes):
        values = [self.min + lane * self.step for lane in lanes]
        return values[0] if len(values) == 1 else values


class Angle(Numbers):
    def __init__(self, bits: int):
        super().__init__(1, (1 << bits) - 1)

    def signed(self, lane: int) -> int:
        return (lane + self.values // 2) % self.values - self.values // 2

    def moved(self, lane, difference):
        return (lane + difference) % self.values

    def predict(self, base, earlier, ahead, span):
        return (self.moved(base[0], ahead_of(self.signed(base[0] - earlier[0]), ahead, span)),)

    def value(self, lanes):
        return self.signed(lanes[0]) * (math.tau / self.values)


class Quaternion(Numbers):
    """The index of the largest component, and the other components."""

    def __init__(self, bits: int):
        super().__init__(3, (1 << bits) - 2)
        self.values, self.half = 1 << bits, (1 << bits - 1) - 1
        self.zero, self.lanes = (3, self.half, self.half, self.half), 4

    def full(self, bits):
        return self.rotation(bits.take(2), super().full(bits))

    def changed(self, bits, predicted, parameters):
        if not bits.take(1):
            return self.full(bits)
        return self.rotation(predicted[0], super().changed(bits, predicted[1:], parameters))

    def rotation(self, largest: int, others: tuple[int, ...]) -> Lanes:
        if max(others) > self.last or self.rest(self.components(others)) < 0:
            raise ValueError("no rotation")
        return (largest, *others)

    def components(self, others: Iterable[int]) -> list[float]:
        step = math.sqrt(0.5) / self.half
        return [(lane - self.half) * step for lane in others]

    def rest(self, components: list[float]) -> float:
        x, y, z = components
        return 1 - (x * x + y * y + z * z)

    def predict(self, base, earlier, ahead, span):
        if base[0] != earlier[0]:
            return base
        others = [self.extend(*each, ahead, span) for each in zip(base[1:], earlier[1:])]
        return base if self.rest(self.components(others)) < 0 else (base[0], *others)

    def value(self, lanes):
        components = self.components(lanes[1:])
        components.insert(lanes[0], math.sqrt(max(0.0, self.rest(components))))
        return components


def checked(number: int, last: int) -> int:
    if not 0 <= number <= last:
        raise ValueError("a number is outside its range")
    return number


def ahead_of(change: int, ahead: int, span: int) -> int:
    """The change in `ahead` ticks, if it is `change` in `span` ticks."""
    return (2 * change * ahead + span) // (2 * span)


# The class of each type, and its arguments with their format in the hash. The index of a type is its number there.
TYPES = {
    "bool": (Bool, "", ()),
    "int": (lambda min, max: (NarrowInt if max - min < 1 << 32 else WideInt)(min, max), "<qq", ("min", "max")),
    "float": (partial(Floats, 1), "<ddd", ("min", "max", "step")),
    "vector2": (partial(Floats, 2), "<ddd", ("min", "max", "step")),
    "vector3": (partial(Floats, 3), "<ddd", ("min", "max", "step")),
    "angle": (Angle, "<B", ("bits",)),
    "quaternion": (Quaternion, "<B", ("bits",)),
    "variant": (Variant, "<I", ("max_bytes",)),
}


@dataclass
class Mask:
    """Which fields differ, and the number of rows so far."""

    fields: tuple[int, ...]
    rows: int = 0


class Schema:
    """The fields of an entity."""

    def __init__(self, descriptions: list[dict[str, Any]], hash: int | None = None):
        self.fields, self.names = [], []
        self.hash, self.hashed = hash, bytes([VERSION])
        for description in descriptions:
            make, format, keys = TYPES[description["type"]]
            arguments = [description[key] for key in keys]
            self.fields.append(make(*arguments))
            self.names.append(description["name"])
            name, number = description["name"].encode(), list(TYPES).index(description["type"])
            self.hashed += bytes([len(name)]) + name + bytes([number]) + struct.pack(format, *arguments)

        # Any Variant counts as a number.
        self.max_entities = min(MAX_ENTITIES, MAX_NUMBERS // max(1, sum(field.lanes for field in self.fields)))

    def values(self, row: Row) -> dict[str, Any]:
        return {name: field.value(lanes) for name, field, lanes in zip(self.names, self.fields, row)}

    def full(self, bits: Bits) -> Row:
        return [field.full(bits) for field in self.fields]

    def unpack(self, data: bytes) -> Row:
        bits = Bits(data)
        row = self.full(bits)
        bits.end()
        return row

    def unpack_series(self, data: bytes) -> list[Row]:
        bits = Bits(data)
        others = bits.take(8)
        rows = [self.full(bits)]
        for _ in range(others):
            rows.append([field.full(bits) if bits.take(1) else lanes for field, lanes in zip(self.fields, rows[-1])])
        bits.end()
        return rows

    def rows(self, bits: Bits, predictions: Iterable[Row], all_differ: bool) -> Iterator[Row]:
        """The rows with these predictions."""
        has_parameters = bits.take(1)
        parameters = [[bits.take(4) if has_parameters else 2 for _ in range(f.parameters)] for f in self.fields]
        masks: list[Mask] = []
        for prediction in predictions:
            mask = self.mask(bits, masks)
            if all_differ and not any(mask):
                raise ValueError("a changed row is as predicted")
            fields = zip(self.fields, prediction, parameters, mask)
            yield [f.changed(bits, lanes, each) if is_changed else lanes for f, lanes, each, is_changed in fields]


    def mask(self, bits: Bits, masks: list[Mask]) -> tuple[int, ...]:
        """The next mask, after `masks`."""
        place = bits.ones(16)
        if place > len(masks):
            raise ValueError("a mask is not in the list")
        if place == len(masks):
            del masks[MAX_MASKS - 1 :]
            place = len(masks)
            masks.append(Mask(tuple(bits.take(1) for _ in self.fields)))
        mask = masks[place]
        mask.rows += 1
        # The sort is stable: the mask moves before those with fewer rows.
        masks.sort(key=lambda mask: -mask.rows)
        return mask.fields


class Reader:
    """What was received of a session."""

    def __init__(self, schema: Schema):
        self.schema, self.session = schema, 0
        # The last frames by ticks, the newest last.
        self.frames: dict[int, State] = {}
        # The newest state of each entity.
        self.newest: State = {}

    def copy(self) -> "Reader":
        copy = Reader(self.schema)
        copy.session, copy.frames, copy.newest = self.session, dict(self.frames), self.newest
        return copy

    def read(self, data: bytes) -> tuple[int, State]:
        """The tick of a snapshot, and the newest state of each entity by its id."""
        bits = Bits(data)
        bits.version()
        newest = next(reversed(self.frames), -1)
        base, earlier, ahead, span = {}, {}, 0, 0
        session = self.session
        if bits.take(1):
            session, tick = bits.take(32), bits.take(32)
            if bits.take(32) != self.schema.hash is not None:
                raise ValueError("another schema")
        else:
            if bits.take(8) != session % 256:
                raise ValueError("another session")
            # The tick with these bits that is closest to the newest one.
            tick = newest + (bits.take(16) - newest + (1 << 15)) % (1 << 16) - (1 << 15)
            ahead = bits.gamma()
            base = self.frame(tick, ahead)
            if bits.take(1):
                span = bits.gamma()
                earlier = self.frame(tick - ahead, span)
        if tick >= 1 << 32 or tick <= newest and session == self.session:
            raise ValueError("not newer than the last snapshot")
        state, waiting = self.state(bits, base, earlier, ahead, span)
        bits.end()
        if session != self.session:
            self.session, self.frames = session, {}
        self.frames[tick] = state
        if len(self.frames) > MAX_FRAMES:
            del self.frames[next(old for old in self.frames if old != tick - ahead)]
        known = self.newest
        self.newest = {id: known[id] if id in waiting else row for id, row in state.items() if id in known or id not in waiting}
        return tick, self.newest

    def frame(self, tick: int, distance: int) -> State:
        if distance >= 1 << 15 or tick - distance not in self.frames:
            raise ValueError("unknown baseline")
        return self.frames[tick - distance]

    def state(self, bits: Bits, base: State, earlier: State, ahead: int, span: int) -> tuple[State, set[int]]:
        """The state, and the entities that wait."""
        fields = self.schema.fields
        removed, added = bits.ids(len(base)), bits.ids(self.schema.max_entities)
        if not base.keys() >= set(removed) or not base.keys().isdisjoint(added):
            raise ValueError("a removed entity is not in the baseline, or an added one is")
        if len(base) - len(removed) + len(added) > self.schema.max_entities:
            raise ValueError("too many entities")
        state = {id: base[id] for id in sorted(base.keys() - set(removed))}
        new, waiting = {}, set()
        if added:
            template = self.schema.full(bits) if bits.take(1) else [field.zero for field in fields]
            new = dict(zip(added, self.schema.rows(bits, [template] * len(added), all_differ=False)))
        if state:
            some_wait = bits.take(1)
            changed = dict.fromkeys(bits.flags(list(state)))
            if some_wait:
                waiting = set(bits.flags([id for id in state if id not in changed]))
            for id in state:
                if id in earlier and id not in waiting:
                    state[id] = [f.predict(*lanes, ahead, span) for f, *lanes in zip(fields, base[id], earlier[id])]
            if changed:
                predictions = [state[id] for id in changed]
                state.update(zip(changed, self.schema.rows(bits, predictions, all_differ=True)))
        return state | new, waiting

    def acknowledgement(self) -> bytes:
        if not self.frames:
            return bytes([VERSION])
        *others, newest = self.frames
        received = sum(1 << newest - tick - 1 for tick in others if newest - tick <= 32)
        return (VERSION | 1 << 3 | self.session << 4 | newest << 36 | received << 68).to_bytes(13, "little")


def read_acknowledgement(data: bytes) -> list[int]:
    """The ticks that were received, the newest first."""
    bits = Bits(data)
    bits.version()
    ticks = []
    if bits.take(1):
        bits.take(32)
        newest = bits.take(32)
        ticks = [newest, *(newest - i - 1 for i in range(32) if bits.take(1))]
    bits.end()
    return ticks


def answer(reader: Reader, question: dict[str, Any]) -> dict[str, Any]:
    schema = reader.schema
    data = bytes.fromhex(next(iter(question.values())))
    match next(iter(question)):
        case "row":
            return {"values": schema.values(schema.unpack(data))}
        case "series":
            return {"values": [schema.values(row) for row in schema.unpack_series(data)]}
        case "snapshot":
            tick, state = reader.read(data)
            entities = {id: schema.values(row) for id, row in state.items()}
            return {"tick": tick, "entities": entities, "acknowledgement": reader.acknowledgement().hex()}
        case "try":
            return answer(reader.copy(), {"snapshot": question["try"]})
        case "acknowledgement":
            return {"ticks": read_acknowledgement(data)}
    raise ValueError("unknown question")


def main() -> None:
    reader = Reader(Schema([]))
    for line in sys.stdin:
        question = json.loads(line)
        if "schema" in question:
            reader = Reader(Schema(question["schema"], question["hash"]))
            reply = {"hashed": reader.schema.hashed.hex()}
        else:
            try:
                reply = answer(reader, question)
            except ValueError as error:
                reply = {"error": str(error)}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
