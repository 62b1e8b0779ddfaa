"""Writes godot-project/suites/fixtures/messages.json: the official implementation's results for the messages of
message_suite.gd. Run it with a Python that has the packages in requirements.txt."""

import json
import math
import os
import pathlib
import sys
import tempfile

# The implementation that writes map entries in the order of their keys.
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"

import google.protobuf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_tools import protoc

FIXTURES = pathlib.Path(__file__).parents[2] / "godot-project" / "suites" / "fixtures"
FILES = ["everything.proto", "old.proto"]

INTS = {
    "int32": [0, 1, -1, 127, 128, -128, 2**31 - 1, -(2**31)],
    "int64": [0, 1, -1, 2**35, 2**63 - 1, -(2**63)],
    "uint32": [0, 1, 300, 2**32 - 1],
    "uint64": [0, 1, 2**63 - 1, 2**63, 2**64 - 1],
    "fixed32": [0, 1, 2**32 - 1],
    "fixed64": [0, 1, 2**64 - 1],
}
VALUES = {
    **INTS,
    "sint32": INTS["int32"],
    "sint64": INTS["int64"],
    "sfixed32": INTS["int32"],
    "sfixed64": INTS["int64"],
    "double": [0.0, -0.0, 0.1, 1.5, math.inf, -math.inf, 0.0009765625, 1.7976931348623157e308],
    "float": [0.0, -0.0, 0.5, 1.5, math.inf, -math.inf, 2.0**-149, 33554432.0],
    "bool": [False, True],
    "string": ["", "a", "Grüße, 世界 🐉", "x" * 127, "y" * 128, "z" * 300],
    "bytes": [b"", b"\0", bytes(range(256)), b"\x80" * 300],
    "kind": [0, 1, 2, -1, 77],
}


def pool(folder):
    out = str(pathlib.Path(folder) / "set")
    arguments = ["protoc", f"-I{FIXTURES / 'messages'}", f"-I{protoc_include()}", "--include_imports"]
    if protoc.main([*arguments, f"--descriptor_set_out={out}", *FILES]) != 0:
        sys.exit("protoc has failed")
    described = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out).read_bytes())
    found = descriptor_pool.DescriptorPool()
    for file in described.file:
        found.Add(file)
    return found, pathlib.Path(out).read_bytes()


def protoc_include():
    import grpc_tools

    return pathlib.Path(grpc_tools.__file__).parent / "_proto"


def in_gdscript(value):
    """The value as text for GDScript's str_to_var.

    VALUES contains no very small doubles, because str_to_var reads them as zero.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            # Unsigned 64-bit numbers keep their bits as signed numbers.
            return str(value - 2**64 if value >= 2**63 else value)
        case float():
            return "inf" if value == math.inf else "inf_neg" if value == -math.inf else repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case bytes():
            return f"PackedByteArray({', '.join(map(str, value))})"
        case list():
            return f"[{', '.join(map(in_gdscript, value))}]"
        case dict():
            return f"{{{', '.join(f'{in_gdscript(k)}: {in_gdscript(v)}' for k, v in value.items())}}}"
    raise TypeError(value)


def cases():
    for kind, values in VALUES.items():
        for value in values:
            yield "Everything", {f"f_{kind}": value}
        yield "Everything", {f"r_{kind}": values}
        yield "Everything", {f"r_{kind}": values[1:2]}
        yield "Everything", {f"r_{kind}": []}
    point = {"x": 1.0, "z": -2.5}
    yield from (("Everything", value) for value in [
        {},
        {"f_point": {}},
        {"f_point": point},
        {"f_optional": 0},
        {"f_optional": 5},
        {"f_time": {"seconds": 1_700_000_000, "nanos": 5}},
        {"f_inner": {"f_inner": {"f_inner": {"f_string": "deep"}}}},
        {"by_number": 0},
        {"by_name": "hp"},
        {"r_point": [point, {}, point]},
        {"r_unpacked": [1, -1, 300]},
        {"m_string": {"b": 2, "a": 1, "": 0, "ä": 3}},
        {"m_int32": {5: "five", -1: "minus one", 0: ""}},
        {"m_bool": {True: point, False: {}}},
        {"m_uint64": {1: b"one", 2**64 - 1: b"most"}},
        {"m_sint64": {-1: 1, 3: 2, 0: 0}},
        {"far_away": 1},
        {"f_string": "x", "f_int32": 7, "far_away": 3, "r_int32": [1], "f_double": 0.5},
        {"f_inner": {"r_string": ["s" * 20] * 10}},
    ])
    yield "Demand", {"many": [{"f_int32": n, "f_string": "n" * n, "f_point": point} for n in range(40)]}
    yield from (("Old", value) for value in [
        {"needed": 0},
        {"needed": 1, "with_default": 7},
        {"needed": 1, "with_default": 0, "choice": 5},
        {"needed": -1, "loose": [1, 2, 3], "packed": [1, 2, 3]},
        {"needed": 1, "part": {"x": 0, "piece": [{"name": "a"}, {}]}},
    ])


def filled(message, value):
    for name, content in value.items():
        field = message.DESCRIPTOR.fields_by_name[name]
        target = getattr(message, name)
        if field.message_type and field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].message_type:
                for key, entry in content.items():
                    filled(target[key], entry)
            else:
                target.update(content)
        elif field.message_type and isinstance(content, list):
            for element in content:
                filled(target.add(), element)
        elif field.message_type:
            target.SetInParent()
            filled(target, content)
        elif isinstance(content, list):
            target.extend(content)
        else:
            setattr(message, name, content)
    return message


def main():
    with tempfile.TemporaryDirectory() as folder:
        found, described = pool(folder)
    packages = {"Everything": "suite", "Demand": "suite", "Old": "suite.old"}
    rows = []
    for name, value in cases():
        descriptor = found.FindMessageTypeByName(f"{packages[name]}.{name}")
        message = filled(message_factory.GetMessageClass(descriptor)(), value)
        written = message.SerializeToString(deterministic=True)
        rows.append({"message": name, "value": in_gdscript(value), "bytes": written.hex()})
    written = {"by": f"protobuf {google.protobuf.__version__} for Python", "rows": rows}
    (FIXTURES / "messages.json").write_text(json.dumps(written, ensure_ascii=False, indent=0) + "\n")
    (FIXTURES / "messages" / "everything.binpb").write_bytes(described)


if __name__ == "__main__":
    main()
