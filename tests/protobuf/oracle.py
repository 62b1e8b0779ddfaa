"""The official implementation of protobuf, for the tests. Each line of input is a question in JSON, and each line of
output is an answer.

    {"ask": "schema", "seed": 7}                             a random schema, compiled by the official compiler
    {"ask": "schema", "text": TEXT}                          the schema with this text, compiled as well
    {"ask": "messages", "seed": 7, "count": 20, "kind": K}   random messages of that schema
    {"ask": "read", "inputs": [[MESSAGE, HEX], ...]}         the reading of these bytes as messages of that schema

The answer for a message is its type, its bytes, and the reading of these bytes. The reading is the value (see `describe`
in messages.py), the rewritten bytes, and the rewritten bytes with unknown fields. If reading fails, the reading is the
error. For texts with invalid UTF-8, which proto2 allows, the reading is a mark.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from google.protobuf import __version__, descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError, EncodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet
from grpc_tools import protoc

import schemas
from messages import MAP_KEY, MAP_VALUE, TYPES, Filler, describe, describe_one, is_map
from spellings import END, LEN, START, Speller, mutate, read_records, varint, wire_type


class Schema:
    """A compiled schema."""

    def __init__(self, files: dict[str, str]):
        self.files = files
        self.set = compile_files(self.files)
        pool = descriptor_pool.DescriptorPool()
        self.messages: list[Descriptor] = []
        # The compiler makes a oneof of each `optional` in proto3.
        self.alone: set[str] = set()
        for file in descriptor_pb2.FileDescriptorSet.FromString(self.set).file:
            remove_unknown(file, file.message_type)
            pool.Add(file)
            known = pool.FindFileByName(file.name).message_types_by_name
            found = [(known[proto.name], proto) for proto in file.message_type]
            while found:
                message, proto = found.pop()
                if not proto.options.map_entry:
                    self.messages.append(message)
                self.alone |= {f"{message.full_name}.{field.name}" for field in proto.field if field.proto3_optional}
                found += [(message.nested_types_by_name[inner.name], inner) for inner in proto.nested_type]
        self.classes = {m.full_name: message_factory.GetMessageClass(m) for m in self.messages}

    def answer(self) -> dict[str, Any]:
        return {
            "files": self.files,
            "set": self.set.hex(),
            "messages": {m.full_name: [self.about(field) for field in by_number(m)] for m in self.messages},
        }

    def about(self, field: Field) -> dict[str, Any]:
        """The properties of a field that the tests need to make messages."""
        entry = field.message_type.fields_by_number if is_map(field) else {}
        oneof = field.containing_oneof
        is_single = not field.is_repeated and field.message_type is None
        return {
            "name": field.name,
            "number": field.number,
            "type": TYPES[field.type].replace("group", "message"),
            "label": "map" if entry else "many" if field.is_repeated else "one",
            "presence": field.has_presence,
            "required": field.is_required,
            "oneof": oneof.name if oneof and field.full_name not in self.alone else None,
            "default": describe_one(field, field.default_value) if is_single else None,
            "message": field.message_type and field.message_type.full_name,
            "enum": field.enum_type and [[value.name, value.number] for value in field.enum_type.values],
            "closed": field.enum_type is not None and field.enum_type.is_closed,
            "entry": [self.about(entry[MAP_KEY]), self.about(entry[MAP_VALUE])] if entry else None,
        }

    def read(self, name: str, data: bytes) -> list[Any]:
        """The row for these bytes: type, bytes, and the reading or the error."""
        try:
            message = self.classes[name].FromString(data)
            with_unknown, entries = canonical(message).hex(), list(entries_aside(message))
            message.DiscardUnknownFields()
            read = {"value": describe(message), "bytes": canonical(message).hex(), "complete": message.IsInitialized()}
            read |= {"unknown_entries": not all(is_foreign(field, entry) for field, entry in entries)}
            read |= {} if entries else {"with_unknown": with_unknown}
        except (DecodeError, EncodeError) as error:
            read = {"error": str(error)}
        except UnicodeError:
            read = {"not_utf8": True}
        return [name, data.hex(), read]

    def random(self, rng: Random, kind: str) -> list[Any]:
        own = [m for m in self.messages if not m.full_name.startswith("google.")]
        descriptor = rng.choice(own if rng.random() < 0.9 else self.messages)
        make = self.classes[descriptor.full_name]
        data, other = (canonical(Filler(rng).fill(make())) for _ in range(2))
        match kind:
            case "respelled":
                data = Speller(rng).message(descriptor, data, other)
            case "damaged":
                if rng.random() < 0.5:
                    data = Speller(rng).message(descriptor, data, other)
                data = mutate(rng, data, other)
            case "deep":
                data = nest(rng, descriptor)
        return self.read(descriptor.full_name, data)


def canonical(message: Message) -> bytes:
    # Missing required fields do not matter here.
    return message.SerializePartialToString(deterministic=True)


def entries_aside(message: Message) -> Iterator[tuple[Field, bytes]]:
    """Map entries that are kept as unknown fields.

    These are entries with a number that their enum lacks. The implementation in C also sets aside all other entries
    with unknown contents.
    """
    maps = {field.number: field for field in message.DESCRIPTOR.fields if is_map(field)}
    for unknown in UnknownFieldSet(message):
        if unknown.field_number in maps and unknown.wire_type == LEN:
            yield maps[unknown.field_number], unknown.data
    for field, value in message.ListFields():
        for inner in inside(field, value):
            yield from entries_aside(inner)


def is_foreign(field: Field, entry: bytes) -> bool:
    """Whether the entry contains a number that its enum lacks, and nothing else that is unknown."""
    fields = field.message_type.fields_by_number
    records = read_records(entry)
    are_known = all(number in fields and wire == wire_type(fields[number]) for number, wire, _ in records)
    # With two values, one of them may be a number that the enum has.
    return are_known and sum(number == MAP_VALUE for number, _, _ in records) == 1


def inside(field: Field, value: Any) -> list[Message]:
    """The messages in the field's value."""
    inner = field.message_type.fields_by_number[MAP_VALUE] if is_map(field) else field
    if inner.message_type is None:
        return []
    return list(value.values() if is_map(field) else value if field.is_repeated else [value])


def remove_unknown(scope: Any, messages: Any) -> None:
    """Makes extensions unknown fields for the oracle, as they are for us."""
    scope.ClearField("extension")
    for message in messages:
        message.ClearField("extension_range")
        message.options.ClearField("message_set_wire_format")
        remove_unknown(message, message.nested_type)


def by_number(message: Descriptor) -> list[Field]:
    return sorted(message.fields, key=lambda field: field.number)


def compile_files(files: dict[str, str]) -> bytes:
    """protoc's descriptor set of these files and of all imported files."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = Path(folder, path)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        out = Path(folder, "set")
        known = Path(protoc.__file__).parent / "_proto"
        arguments = [f"-I{folder}", f"-I{known}", "--include_imports", f"--descriptor_set_out={out}", "main.proto"]
        if protoc.main(["protoc", *arguments]) != 0:
            raise SystemExit("protoc refuses:\n" + "\n".join(files.values()))
        return out.read_bytes()


def nest(rng: Random, descriptor: Descriptor) -> bytes:
    """Messages or unknown groups, nested about as deeply as the official implementation reads them."""
    levels = rng.randint(95, 105)
    recursive = [f for f in descriptor.fields if f.message_type == descriptor]
    if recursive and rng.random() < 0.7:
        field, data = rng.choice(recursive), b""
        tag = varint(field.number << 3 | wire_type(field))
        for _ in range(levels):
            is_group = wire_type(field) == START
            data = tag + (data + varint(field.number << 3 | END) if is_group else varint(len(data)) + data)
        return data
    number = 536870911 << 3
    return varint(number | START) * levels + varint(number | START + 1) * levels


def main() -> None:
    about_us = {"version": f"{__version__} ({api_implementation.Type()})", "python": sys.version.split()[0]}
    print(json.dumps(about_us), flush=True)
    schema: Schema | None = None
    for line in sys.stdin:
        question = json.loads(line)
        match question:
            case {"ask": "schema", "seed": seed}:
                schema = Schema(schemas.write(Random(seed)))
                answer: Any = schema.answer()
            case {"ask": "schema", "text": text}:
                schema = Schema({"main.proto": text})
                answer = schema.answer()
            case {"ask": "messages", "seed": seed, "count": count, "kind": kind} if schema:
                rng = Random(seed)
                answer = [schema.random(rng, kind) for _ in range(count)]
            case {"ask": "read", "inputs": inputs} if schema:
                answer = [schema.read(name, bytes.fromhex(data)) for name, data in inputs]
            case _:
                raise SystemExit(f"what is {line}")
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main()
