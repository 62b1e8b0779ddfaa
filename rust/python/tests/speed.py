"""Measures the package beside other libraries, and prints a Markdown table: `speed.py FOLDER`.

The folder keeps a file of 120 MB. A figure is the best of several rounds, in which libraries that are compared take
turns. Of large inputs, it includes the time to make the results, not to free them. gdtype-python is no package of
PyPI: it is measured if its folder `src` is on PYTHONPATH.
"""

import colorsys
import gc
import platform
import sys
import timeit
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import godot_variant as gv
import numpy as np
import orjson
import pyarrow as pa

ENTITIES, FILE = 50_000, 120_000_000
LIMITS = gv.Limits.files()


def entity(index: int) -> dict[str, Any]:
    """The entity of the addon's benchmarks (`godot-project/bench/data.gd`)."""
    return {
        "id": index,
        "name": f"entity_{index}",
        "hp": 100.0 - index % 97,
        "alive": index % 5 != 0,
        "position": gv.Vector3(index % 640, 1.5, index / 640),
        "tint": gv.Color(*colorsys.hsv_to_rgb(index % 100 / 100, 0.5, 1), 1),
        "tags": ["enemy", "boss"] if index % 50 == 0 else ["enemy"],
    }


def plain(value: dict[str, Any]) -> dict[str, Any]:
    """An entity with lists for vectors."""
    return {key: list(part) if isinstance(part, gv.Components) else part for key, part in value.items()}


def best(*calls: Callable[[], Any], rounds: int = 9, collects: bool = False) -> Sequence[float]:
    """The shortest time of each call in seconds, with or without the garbage collector."""
    times = [float("inf")] * len(calls)
    for _ in range(rounds):
        for index, call in enumerate(calls):
            gc.collect()
            if not collects:
                gc.disable()
            start = perf_counter()
            result = call()
            times[index] = min(times[index], perf_counter() - start)
            del result
            gc.enable()
    return times


def repeated(*calls: Callable[[], Any]) -> Sequence[float]:
    """The shortest mean time of each call in seconds, of calls that follow each other and free their results."""
    timers = [timeit.Timer(call) for call in calls]
    numbers = [timer.autorange()[0] for timer in timers]
    times = [float("inf")] * len(calls)
    for _ in range(9):
        for index, (timer, number) in enumerate(zip(timers, numbers)):
            times[index] = min(times[index], timer.timeit(number) / number)
    return times


def row(work: str, measured: str, beside: str) -> None:
    print(f"| {work} | {measured} | {beside} |", flush=True)


def beside_orjson(entities: list[Any]) -> None:
    values = list(map(plain, entities))
    data, text = gv.encode(values), orjson.dumps(values)
    # For input of this size, `decode` pauses the garbage collector by itself.
    for collects in (False, True):
        name = f"{ENTITIES:,} entities, garbage collector {'on' if collects else 'off'}"
        pairs = [
            ("decode", lambda: gv.decode(data, limits=LIMITS), lambda: orjson.loads(text)),
            ("encode", lambda: gv.encode(values), lambda: orjson.dumps(values)),
        ]
        for work, ours, theirs in pairs:
            own, other = best(ours, theirs, collects=collects)
            row(f"{name}, {work}", f"{own * 1e3:.1f} ms", f"orjson {other * 1e3:.1f} ms")


def small_packet() -> None:
    move = {"type": "move", "player": 42, "position": gv.Vector3(1, 2.5, -3)}
    data, text = gv.encode(move), orjson.dumps(plain(move))
    own, other = repeated(lambda: gv.decode(data), lambda: orjson.loads(text))
    row("packet of 3 keys, decode", f"{own * 1e9:.0f} ns", f"orjson {other * 1e9:.0f} ns")


def beside_gdtype(entities: list[Any]) -> None:
    try:
        from gdtype import binaryapiv4 as gdtype
    except ImportError:
        return row("100 entities", "", "gdtype-python is not on PYTHONPATH")
    data = gv.encode(entities[:100])
    message = len(data).to_bytes(4, "little") + data
    values, same = gv.decode(data), gdtype.deserialize(message)
    # It writes 8 bytes for each float.
    assert gv.decode(gdtype.serialize(same)[4:], lenient=True) == values
    pairs = [
        ("decode", lambda: gv.decode(data), lambda: gdtype.deserialize(message)),
        ("encode", lambda: gv.encode(values), lambda: gdtype.serialize(same)),
    ]
    for work, ours, theirs in pairs:
        own, other = repeated(ours, theirs)
        row(f"100 entities, {work}", f"{own * 1e6:.0f} µs", f"gdtype-python {other * 1e6:,.0f} µs")


def tables(folder: Path, entities: list[Any]) -> None:
    path = folder / "speed.dat"
    if not path.exists() or path.stat().st_size < FILE:
        path.unlink(missing_ok=True)
        while not path.exists() or path.stat().st_size < FILE:
            gv.append(path, entities)
    size = path.stat().st_size / 1e9
    for columns in (None, ["id", "hp"]):
        calls = [lambda threads=threads: gv.read_table(path, columns=columns, threads=threads) for threads in (1, 2)]
        for threads, seconds in zip((1, 2), best(*calls)):
            work = f"file of {size * 1e3:.0f} MB to Arrow, {'two' if columns else 'all'} columns, `threads={threads}`"
            row(work, f"{seconds * 1e3:.0f} ms", f"{size / seconds:.2f} GB/s")
    data = gv.encode_batch(entities)
    own, other = best(
        lambda: pa.table(gv.read_table(data)),
        lambda: pa.Table.from_pylist(list(map(plain, gv.decode_batch(data, limits=LIMITS)))),
        rounds=5,
    )
    beside = f"`decode_batch`, then `pyarrow.Table.from_pylist` {other * 1e3:.0f} ms"
    row(f"{ENTITIES:,} entities to Arrow", f"{own * 1e3:.1f} ms", beside)


def to_numpy() -> None:
    data = gv.encode(gv.PackedFloat32Array(np.arange(25_000_000, dtype=np.float32)))
    array = np.asarray(gv.decode(data, limits=LIMITS))
    assert len(array) == 25_000_000 and array[-1] == np.float32(24_999_999)
    is_shared = np.shares_memory(array, np.frombuffer(data, np.uint8))
    (seconds,) = best(lambda: np.asarray(gv.decode(data, limits=LIMITS)))
    row("PackedFloat32Array of 100 MB to NumPy", f"{seconds * 1e6:.0f} µs", "no copy" if is_shared else "A COPY")


def main() -> None:
    print(f"CPython {platform.python_version()}, orjson {orjson.__version__}, pyarrow {pa.__version__}\n")
    print("| work | time | beside |\n|---|--:|---|")
    entities = list(map(entity, range(ENTITIES)))
    beside_orjson(entities)
    small_packet()
    beside_gdtype(entities)
    tables(Path(sys.argv[1]), entities)
    to_numpy()


main()
