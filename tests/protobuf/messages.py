"""Makes random messages, and describes messages."""

import math
import struct
from random import Random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import Message

MAP_KEY, MAP_VALUE = 1, 2
# The names of field types in schemas.
TYPES = {getattr(Field, name): name[5:].lower() for name in dir(Field) if name.startswith("TYPE_")}
TEXTS = ["", "a", "testing", "Größe", "日本語", "\U0001f600", "\0", "a\0b", "\x7f", "\u0080", "\uffff", "\ufeffx"]
TEXTS += ["x" * 127, "x" * 128]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, math.inf, -math.inf, math.nan, 5e-324, 2.0**-149, 1.7976931348623157e308]


def is_map(field: Field) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def random_int(rng: Random, low: int, high: int) -> int:
    """A number in the range, often a short number or a number at which a varint grows."""
    draw = rng.random()
    if draw < 0.3:
        return rng.choice([low, high, 0, 1, max(low, -1), low + 1, high - 1])
    if draw < 0.6:
        edge = 1 << rng.randint(0, high.bit_length())
        return min(max(rng.choice([edge, edge - 1, -edge]), low), high)
    return rng.randint(low, high) if draw < 0.8 else rng.randint(0, 200)


def random_scalar(rng: Random, field: Field) -> Any:
    """A value of the field's type. The type must not be a message."""
    kind = TYPES[field.type]
    if kind == "bool":
        return rng.random() < 0.5
    if kind in ("float", "double"):
        if rng.random() < 0.5:
            return rng.choice(FLOATS)
        format, size = ("<d", 8) if kind == "double" else ("<f", 4)
        (value,) = struct.unpack(format, rng.randbytes(size))
        # The implementation in Python does not keep the bits of a NaN.
        return math.nan if math.isnan(value) else value
    if kind == "string":
        return rng.choice(TEXTS) if rng.random() < 0.9 else "é" * rng.choice([64, 8191, 8192])
    if kind == "bytes":
        return rng.randbytes(rng.choice([0, 0, 1, 2, 3, 9, 127, 128, 300]))
    if kind == "enum":
        if field.enum_type.is_closed or rng.random() < 0.8:
            return rng.choice(field.enum_type.values).number
        return random_int(rng, -(2**31), 2**31 - 1)
    bits = 32 if "32" in kind else 64
    if kind.startswith(("u", "fixed")):
        return random_int(rng, 0, 2**bits - 1)
    return random_int(rng, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


class Filler:
    """Sets random fields, and all required fields."""

    def __init__(self, rng: Random):
        self.rng = rng
        # Bounds the number of messages, because messages may be recursive and contain several messages.
        self.messages_left = rng.choice([10, 100, 300])

    def fill(self, message: Message, depth: int = 0) -> Message:
        rng = self.rng
        density = rng.choice([0.1, 0.5, 0.9])
        self.messages_left -= 1
        for field in message.DESCRIPTOR.fields:
            if not field.is_required and rng.random() > density:
                continue
            is_message = field.message_type is not None and not is_map(field)
            if (is_message or field.is_repeated) and (depth > 4 or self.messages_left < 0):
                continue
            count = rng.choice([0, 1, 2, 3, 8]) if depth < 2 else rng.choice([0, 1, 1, 2])
            if is_map(field):
                self.fill_map(message, field, count, depth)
            elif field.is_repeated:
                items = getattr(message, field.name)
                for _ in range(count):
                    if is_message:
                        self.fill(items.add(), depth + 1)
                    else:
                        items.append(random_scalar(rng, field))
            elif is_message:
                getattr(message, field.name).SetInParent()
                self.fill(getattr(message, field.name), depth + 1)
            else:
                setattr(message, field.name, random_scalar(rng, field))
        return message

    def fill_map(self, message: Message, field: Field, count: int, depth: int) -> None:
        items = getattr(message, field.name)
        key, value = (field.message_type.fields_by_number[n] for n in (MAP_KEY, MAP_VALUE))
        for _ in range(count):
            if value.message_type is None:
                items[random_scalar(self.rng, key)] = random_scalar(self.rng, value)
            else:
                self.fill(items[random_scalar(self.rng, key)], depth + 1)


def describe(message: Message) -> list[list[Any]]:
    """Names and values of the fields that are set, in order of their numbers.

    Floats are described by their bits, bytes in hexadecimal, and maps as lists of keys and values, sorted by key.
    Strings with invalid UTF-8, which proto2 allows, raise a UnicodeError.
    """
    return [[field.name, describe_field(field, value)] for field, value in message.ListFields()]


def describe_field(field: Field, value: Any) -> Any:
    if is_map(field):
        key, inner = (field.message_type.fields_by_number[n] for n in (MAP_KEY, MAP_VALUE))
        keys = sorted(value, key=lambda k: (isinstance(k, bytes), k))
        return [[describe_one(key, k), describe_one(inner, value[k])] for k in keys]
    if field.is_repeated:
        return [describe_one(field, item) for item in value]
    return describe_one(field, value)


def describe_one(field: Field, value: Any) -> Any:
    kind = TYPES[field.type]
    if kind in ("message", "group"):
        return describe(value)
    if kind == "float":
        return struct.pack(">f", value).hex()
    if kind == "double":
        return struct.pack(">d", value).hex()
    if kind == "string" and isinstance(value, bytes):
        raise UnicodeError("a string that is not UTF-8 is read as bytes")
    return value.hex() if kind == "bytes" else value
