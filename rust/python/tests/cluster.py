"""Reads many files on the workers of Ray, and compares the rows and the damage with those of a single process.

    python cluster.py SEED

The recipe is `schema_of`, `read`, and either `with_tasks` or `with_data`. With the schema, the tables of all workers
have the same columns; keys that the sample lacks are not read. If a worker dies, Ray repeats its work on another.
"""

import os
import random
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Ray would report how it is used, and keep a token in the home folder.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)

import godot_variant as gv
import pyarrow as pa
import ray
import ray.data

FILES, PER_TASK = 200, 10


def schema_of(sample: list[str]) -> dict[str, Any]:
    return gv.read_table(sample, on_error="report").schema


def read(paths: list[str], schema: dict[str, Any]) -> tuple[pa.Table, list[gv.VariantError]]:
    table = gv.read_table(paths, schema=schema, on_error="report", include_file_paths="path")
    return pa.table(table), table.damaged


def with_tasks(paths: list[str], schema: dict[str, Any], reader: Any = read) -> tuple[pa.Table, list[gv.VariantError]]:
    """The rows and the damage, both in the order of the files."""
    task = ray.remote(reader)
    parts = [paths[start : start + PER_TASK] for start in range(0, len(paths), PER_TASK)]
    results = ray.get([task.remote(part, schema) for part in parts])
    return pa.concat_tables(rows for rows, _ in results), [error for _, damaged in results for error in damaged]


def with_data(paths: list[str], schema: dict[str, Any], reader: Any = read) -> ray.data.Dataset:
    """The rows, for further steps of Ray Data. The damage stays behind, since batches are only tables."""
    items = ray.data.from_items(paths, override_num_blocks=len(paths) // PER_TASK)
    return items.map_batches(lambda batch: reader(list(batch["item"]), schema)[0], batch_size=PER_TASK)


@contextmanager
def cluster(workers: int) -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:
        quiet: Any = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
        ray.init(num_cpus=workers, object_store_memory=100 << 20, _temp_dir=folder, **quiet)
        context = ray.data.DataContext.get_current()
        # The order of the files, for a comparison.
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        try:
            yield
        finally:
            ray.shutdown()
        # The processes of Ray end a moment later.
        deadline = time.monotonic() + 10
        while left := [line for line in processes() if folder in line]:
            assert time.monotonic() < deadline, left
            time.sleep(0.1)


def processes() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_text(errors="replace").replace("\0", " ")
        except OSError:
            pass  # It has ended.


def write(folder: Path, random: random.Random) -> list[str]:
    """Replays: a file each, with records that differ in their keys, and with one truncated record."""

    def record(tick: int) -> dict[str, Any]:
        found = {
            "tick": tick,
            "hp": random.choice([random.randrange(100), random.uniform(0, 100)]),
            "at": gv.Vector3(*(random.uniform(-100, 100) for _ in range(3))),
            "name": f"player {random.randrange(10)} ő",
            "tags": [f"tag {random.randrange(5)}" for _ in range(random.randrange(4))],
        }
        found.pop(random.choice([*found, None, None, None]), None)
        return found

    paths = [folder / f"{index:03}.dat" for index in range(FILES)]
    for path in paths:
        gv.append(path, map(record, range(random.randrange(20, 200))))
    # The length of a record is before it, in 4 bytes.
    *_, last = gv.records(victim := random.choice(paths))
    os.truncate(victim, victim.stat().st_size - random.randrange(1, 4 + len(gv.encode(last))))
    return [str(path) for path in paths]


def plain(damaged: list[gv.VariantError]) -> list[tuple[Any, ...]]:
    return [(error.file, error.record, error.offset, error.code, str(error)) for error in damaged]


def main(seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="replays-") as name:
        folder = Path(name)
        paths = write(folder, random.Random(seed))
        schema = schema_of(paths[:20])
        rows, damaged = read(paths, schema)
        assert len(damaged) == 1 and damaged[0].code == "UNEXPECTED_END", damaged
        middle = paths[FILES // 2]

        def read_and_die(some: list[str], schema: dict[str, Any]) -> Any:
            result, died = read(some, schema), folder / "died"
            if middle in some and not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        for workers, reader in [(1, read), (2, read), (2, read_and_die)]:
            with cluster(workers):
                found = with_tasks(paths, schema, reader)
                assert found[0].equals(rows, check_metadata=True) and plain(found[1]) == plain(damaged), found
                assert (folder / "died").exists() == (reader is read_and_die)
                (folder / "died").unlink(missing_ok=True)
                tables = ray.get(with_data(paths, schema, reader).to_arrow_refs())
                assert pa.concat_tables(tables).equals(rows), tables
                assert (folder / "died").exists() == (reader is read_and_die)
        print(f"{len(rows)} rows, {plain(damaged)[0][-1]}\n6 passed, 0 failed")


main(int(sys.argv[1]))
