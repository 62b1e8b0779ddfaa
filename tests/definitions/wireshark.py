"""Tests docs/definitions/godot_variant.lua with tshark: python3 wireshark.py path/to/vectors.tsv

Sends the engine's vectors through the dissector as UDP datagrams and as a TCP stream. Then sends damaged and hostile
packets, and the exchange of two Godot processes recorded in exchange.pcapng. Needs tshark 4.0 or later. tshark 4.6
silently loads no Lua scripts as root, so run the test as another user.
"""

import random
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

HERE = Path(__file__).resolve().parent
PORT = 47000
NOT_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"  # tshark writes these characters nevertheless
TYPES = """Nil bool int float String Vector2 Vector2i Rect2 Rect2i Vector3 Vector3i Transform2D Vector4 Vector4i Plane
Quaternion AABB Basis Transform3D Projection Color StringName NodePath RID Object Callable Signal Dictionary Array
PackedByteArray PackedInt32Array PackedInt64Array PackedFloat32Array PackedFloat64Array PackedStringArray
PackedVector2Array PackedVector3Array PackedColorArray PackedVector4Array""".split()


# Packets


def packet(protocol, payload, number=0, flags=0x18):
    """An IPv4 packet that contains a UDP or TCP payload."""
    if protocol == 17:
        transport = struct.pack("!HHHH", 40000, PORT, 8 + len(payload), 0)
    else:
        transport = struct.pack("!HHIIBBHHH", 40000, PORT, number, 1, 5 << 4, flags, 65535, 0, 0)
    size = 20 + len(transport) + len(payload)
    address = bytes([127, 0, 0, 1])
    return struct.pack("!BBHHHBBH", 0x45, 0, size, 0, 0, 64, protocol, 0) + address * 2 + transport + payload


def write_capture(path, packets):
    raw_ip = 101
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, raw_ip))
        for data in packets:
            file.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)


def tshark(capture, *arguments):
    command = ["tshark", "-r", str(capture), "-X", f"lua_script:{HERE / '../../docs/definitions/godot_variant.lua'}"]
    command += ["-o", f"godot.udp_ports:{PORT}", "-o", f"godot_stream.tcp_ports:{PORT}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    for line in (done.stdout + done.stderr).splitlines():  # the text of an error is in a field
        assert "Lua Error" not in line and "Dissector bug" not in line, line
    return done.stdout


def fields(capture, names, *arguments):
    """The values of fields, a list of lists for each packet."""
    options = [option for name in names for option in ("-e", name)]
    output = tshark(capture, "-T", "fields", "-E", "aggregator=|", *options, *arguments)
    return [[cell.split("|") if cell else [] for cell in line.split("\t")] for line in output.split("\n")[:-1]]


BROKEN = ["_ws.lua.error", "_ws.malformed.expert"]


def send(payloads):
    """The result for each payload: '' if it is a value, otherwise 'malformed' or 'limited'."""
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "test.pcap"
        write_capture(capture, (packet(17, payload) for payload in payloads))
        rows = fields(capture, ["godot", "godot.malformed", "godot.limited", *BROKEN, "_ws.expert.message"])
    assert len(rows) == len(payloads)
    for (found, _, _, *broken, _), payload in zip(rows, payloads):
        assert found and not any(broken), (broken, payload.hex())
    return ["malformed" if malformed else "limited" if limited else "" for _, malformed, limited, *_ in rows]


def details(payloads):
    """The fields inside the protocol, for each payload."""
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "test.pcap"
        write_capture(capture, (packet(17, payload) for payload in payloads))
        xml = tshark(capture, "-T", "pdml")
    tree = ET.fromstring(re.sub(NOT_XML, "?", xml))
    return [[field for proto in frame.iter("proto") if proto.get("name") == "godot" for field in proto.iter("field")]
            for frame in tree.iter("packet")]


# Tests


def read_vectors(path):
    lines = Path(path).read_text(encoding="utf-8").rstrip("\n").split("\n")
    header = next(index for index, line in enumerate(lines) if "input_hex" in line)
    names = lines[header].split("\t")
    rows = [dict(zip(names, line.split("\t"))) for line in lines[header + 1:]]
    rows = [row for row in rows if row["input_hex"] and row.get("engine", "4").startswith("4")]
    assert len(rows) > 300, f"only {len(rows)} vectors"
    return rows


def test_vectors(rows):
    """The dissector reads each accepted vector to its end without an expert error, and marks each refused one."""
    tally = {"dissected": 0, "marked": 0, "objects that only the engine refuses": 0}
    inputs = [bytes.fromhex(row["input_hex"]) for row in rows]
    for row, data, found in zip(rows, inputs, details(inputs)):
        values = [field for field in found if field.get("name") == "godot.type"]
        bad = any(field.get("name") in ("godot.malformed", "godot.limited") for field in found)
        if row["result"] == "error":
            objects = any(field.get("show") == "24" for field in values)
            scripts = any("(script)" in (field.get("showname") or "") for field in found)
            assert bad or objects or scripts, row["label"]
            tally["marked" if bad else "objects that only the engine refuses"] += 1
            continue
        assert not bad, row["label"]
        consumed = min(int(row["consumed"]), len(data))
        assert int(values[0].get("show")) == data[0], row["label"]
        assert int(values[0].get("size")) == consumed, row["label"]
        trailing = any("after the value" in (field.get("show") or "") for field in found)
        assert trailing == (consumed < len(data)), row["label"]
        tally["dissected"] += 1
    return tally


EXAMPLES = [
    ("00000000", "Nil"),
    ("01000000 01000000", "bool: true"),
    ("02000100 ffffff7fffffffff", "int: -2147483649"),
    ("02000100 ffffffffffffff7f", "int: 9223372036854775807"),
    ("03000000 0000c03f", "float: 1.5"),
    ("03000100 9a9999999999b93f", "float: 0.1"),
    ("04000000 05000000 6162636465 000000", 'String: "abcde"'),
    ("04000000 02000000 c3a9 0000", 'String: "é"'),
    ("06000000 ffffffff02000000", "Vector2i: (-1, 2)"),
    ("05000100 000000000000f83f 0000000000000440", "Vector2: (1.5, 2.5)"),
    ("11000000 0000803f000080400000e040 000000400000a04000000041 000040400000c04000001041",
     "Basis: (1.0, 4.0, 7.0, 2.0, 5.0, 8.0, 3.0, 6.0, 9.0)"),
    ("16000000 02000080 01000000 01000000 04000000 726f6f74 01000000 61000000 01000000 62000000",
     'NodePath: "/root/a:b"'),
    ("17000000 8877665544332211", "RID: 1234605616436508552"),
    ("18000100 0500000000000080", "Object: id 9223372036854775813"),
    ("18000000 06000000 4f626a656374 0000 01000000 06000000 736372697074 0000 00000000", "Object: Object"),
    ("1a000000 03000000 666f6f00 8967452301000000", 'Signal: "foo" of object 4886718345'),
    ("1c000200 04000000 4e6f6465 01000000 00000000", "Array[Node], size 1"),
    ("1b000900 04000000 04000000 4e6f6465 01000000 040000000100000061000000 00000000",
     "Dictionary[String, Node], size 1"),
    ("1d000000 05000000 0102030405 000000", "PackedByteArray, size 5"),
    ("26000000 01000000 0000803f000000400000404000008040", "PackedVector4Array, size 1"),
]


def test_examples():
    for (_, expected), found in zip(EXAMPLES, details(bytes.fromhex(hex) for hex, _ in EXAMPLES)):
        value = next(field for field in found if field.get("name") == "godot.type")
        assert value.get("showname") == f"{expected} (byte 0)", value.get("showname")
    nested = bytes.fromhex("1b000000 01000000 04000000020000006870000002000000 07000000")
    shown = {(field.get("name"), field.get("show"), field.get("pos")) for field in details([nested])[0]}
    start = 28  # of the payload: after the headers of IPv4 and UDP
    for name, show, offset in [("godot.type", "4", 8), ("godot.string", "hp", 12), ("godot.int", "7", 24)]:
        assert (name, show, str(start + offset)) in shown, shown


def test_damage(values, chance):
    """Truncated, changed and random bytes cause no Lua error."""
    cut = [value[:size] for value in values for size in range(1, len(value))]
    results = send(cut)
    whole = [data for data, result in zip(cut, results) if not result]
    assert all(b"\x1d\0\0\0" in data for data in whole), "only the padding of a PackedByteArray may be missing"
    changed = []
    for _ in range(30000):
        data = bytearray(chance.choice(values))
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        changed.append(bytes(data))
    noise = [chance.randbytes(chance.randint(1, 300)) for _ in range(5000)]
    noise += [bytes([chance.randrange(39), 0, chance.choice([0, 1, 15]), 0]) + data for data in noise]
    send(changed + noise)
    return len(cut), len(changed) + len(noise)


def test_hostile():
    """Counts, sizes and nesting that are meant to exhaust a reader."""
    heads = ["04000000", "15000000", "16000000 ffffffff", "16000000 00000080", "1800000001000000 61000000", "1a000000"]
    heads += [f"{type_id:02x}000000" for type_id in range(27, 39)] + ["1c000100 02000000", "1c000200", "1b000500"]
    counts = ["ffffff7f", "fffffffe", "ffffff3f", "00000010"]
    huge = [bytes.fromhex(head + count) + bytes(2000) for head in heads for count in counts]
    assert all(result in ("", "malformed") for result in send(huge))
    array, dictionary = bytes.fromhex("1c00000001000000"), bytes.fromhex("1b00000001000000")
    nil = bytes(4)
    levels = (257, 1024, 1025, 5000)
    deep = [outer * level + nil * (level + 1) for outer in (array, dictionary) for level in levels]
    assert send(deep) == ["limited"] * len(deep)
    assert send([array * 256 + nil]) == [""]
    wide = bytes.fromhex("1c000000") + struct.pack("<I", 16000) + nil * 16000
    numbers = bytes.fromhex("20000000") + struct.pack("<I", 16000) + nil * 16000
    assert send([wide, numbers]) == ["", ""]


def stream(records, chance, largest, big_endian=False):
    """The records as segments of a TCP stream."""
    data = b"".join(struct.pack(">I" if big_endian else "<I", len(record)) + record for record in records)
    at, packets = 0, [packet(6, b"", flags=2)]  # 2 is SYN
    while at < len(data):
        size = chance.randint(1, largest)
        packets.append(packet(6, data[at:at + size], 1 + at))
        at += size
    return packets


def test_stream(values, chance):
    names = ["godot_stream.length", "godot.type", "godot.malformed", "godot.limited", "godot_stream.length.bad"]
    names += [*BROKEN, "_ws.expert.message"]

    def dissect(packets, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            capture = Path(folder) / "test.pcap"
            write_capture(capture, packets)
            rows = fields(capture, names, *arguments)
        columns = [[cell for row in rows for cell in row[index]] for index in range(len(names))]
        assert not any(columns[5:7]), columns[5:7]
        return columns[:5]

    for largest in (3, 40, 20000):
        for big_endian in (False, True):
            order = f"godot_stream.big_endian:{str(big_endian).upper()}"
            packets = stream(values, chance, largest, big_endian)
            lengths, types, *bad = dissect(packets, "-o", order)
            assert [int(length) for length in lengths] == [len(value) for value in values]
            assert len(types) >= len(values) and not any(bad)
    million = bytes.fromhex("1c000000") + struct.pack("<I", 1000000) + bytes(4000000)
    lengths, _, malformed, limited, _ = dissect(stream([million, values[0]], chance, 60000))
    assert len(lengths) == 2 and not malformed and len(limited) == 1
    for data in (struct.pack("<I", 0), struct.pack("<I", 0x7FFFFFFF) + bytes(40)):
        assert dissect([packet(6, b"", flags=2), packet(6, data, 1)])[4], "a bad length is marked"


EXCHANGE = [
    "int: 42",
    "int: 9876543210",
    "float: 0.1",
    'String: "hello, wörld"',
    "Vector3: (1.0, -2.5, 3.0)",
    "Dictionary, size 3",
    "Array[int], size 3",
    "Dictionary[String, float], size 1",
    "PackedVector4Array, size 1",
    "PackedStringArray, size 2",
]


def test_exchange():
    """The values of client.gd, in both directions, over both protocols."""
    capture = HERE / "exchange.pcapng"
    for protocol in ("udp", "tcp"):
        for port in ("srcport", "dstport"):
            select = f"godot && {protocol}.{port} == {PORT}"
            info = fields(capture, ["_ws.col.Info", "_ws.expert.severity"], "-Y", select)
            shown = [text for (texts, _) in info for text in texts[0].split("; ")]
            assert shown == EXCHANGE, shown
    no_ports = ["-o", "godot.udp_ports:", "-o", "godot_stream.tcp_ports:"]
    decode_as = ["-d", f"udp.port=={PORT},godot", "-d", f"tcp.port=={PORT},godot_stream"]
    choices = ([], no_ports, no_ports + decode_as)
    shown = [len(fields(capture, ["godot"], "-Y", "godot", *options)) for options in choices]
    assert shown[1] == 0 and shown[0] == shown[2] > 30, shown
    strings = fields(capture, ["godot.string"], "-Y", 'udp && godot.name == "root"')
    assert strings == [[["hp", "pos", "path"]]] * 2, strings


def main():
    rows = read_vectors(sys.argv[1])
    chance = random.Random(1)
    values = [bytes.fromhex(row["input_hex"]) for row in rows if row["input_hex"] == row["reencoded_hex"]]
    for what, count in test_vectors(rows).items():
        print(f"{count:6} vectors {what}")
    test_examples()
    print(f"{len(EXAMPLES):6} readable values")
    print("%6d cut and %d changed or random packets without a Lua error" % test_damage(values, chance))
    test_hostile()
    print("       hostile counts and nesting")
    test_stream(values, chance)
    print(f"{len(values):6} values in TCP streams")
    test_exchange()
    print(f"{4 * len(EXCHANGE):6} values exchanged by two Godot processes")


main()
