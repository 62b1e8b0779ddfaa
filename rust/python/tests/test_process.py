"""Memory, threads, other processes and interpreters; the documentation and the types."""

import doctest
import gc
import importlib
import inspect
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any

import godot_variant as gv
from vectors import rows

VALUE = {
    "name": gv.StringName("Ada"),
    "at": [gv.Vector3(1, 2, 3), gv.NodePath("/root/A:b")],
    "packed": gv.PackedFloat32Array([1, 2]),
    "typed": gv.TypedArray([1], "int"),
    "pairs": gv.Pairs([(1, 2), (1.0, 3)]),
    "ids": (gv.RID(1), gv.ObjectId(2), gv.Signal("x", 3), gv.Callable(), gv.PackedStringArray(["x"])),
}


class Process(unittest.TestCase):
    def test_thousands_of_rounds_leave_nothing(self) -> None:
        data = gv.encode(VALUE)
        batch = gv.encode_batch([VALUE] * 3)
        damaged = [row.data for row in rows() if row.written is None]

        def rounds(count: int) -> tuple[int, int]:
            for index in range(count):
                value = gv.decode(data)
                gv.encode(value)
                list(gv.records(batch))
                gv.View(data)["at"][0]
                gv.read_table(batch, on_error="report", mixed="json").__arrow_c_stream__()
                for bad in (damaged[index % len(damaged)], data[: index % len(data)]):
                    try:
                        gv.decode(bad)
                    except gv.VariantError:
                        pass
            del value
            gc.collect()
            return sys.getallocatedblocks(), resident()

        rounds(1000)
        before = rounds(300)
        references = [sys.getrefcount(part) for part in (None, True, gv.StringName, gv.TypedArray, gv.VariantError)]
        after = rounds(2000)
        # The interpreter allocates for itself, too, but not in each round.
        self.assertLess(after[0] - before[0], 1000)
        self.assertLess(after[1] - before[1], 512 << 10)
        now = [sys.getrefcount(part) for part in (None, True, gv.StringName, gv.TypedArray, gv.VariantError)]
        self.assertLess(max(abs(one - other) for one, other in zip(references, now)), 100)

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_fork_amid_decoding_has_a_collector(self) -> None:
        data = gv.encode([gv.TypedArray([1], "int"), bytes(64 << 10)])
        statuses = []

        def init(self: Any, values: Any = (), element: Any = None) -> None:
            if (child := os.fork()) == 0:
                os._exit(0 if gc.isenabled() else 1)
            statuses.append((gc.isenabled(), os.waitpid(child, 0)[1]))

        before = gv.TypedArray.__init__
        try:
            gv.TypedArray.__init__ = init  # type: ignore[method-assign]
            gv.decode(data, limits=gv.Limits.files())
        finally:
            gv.TypedArray.__init__ = before  # type: ignore[method-assign]
        self.assertEqual(statuses, [(False, 0)])

    def test_threads(self) -> None:
        data = gv.encode([VALUE, [f"key {index}" for index in range(200)]])
        deep: Any = []
        for _ in range(500):
            deep = [deep]
        nested, failures = gv.encode(deep), []

        def work() -> None:
            try:
                for _ in range(200):
                    assert gv.encode(gv.decode(data)) == data
                assert gv.encode(gv.decode(nested, limits=gv.Limits.files())) == nested
            except BaseException as failure:
                failures.append(failure)

        previous = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(previous)
        self.assertEqual(failures, [])

    def test_the_garbage_collector_is_left_as_it_was(self) -> None:
        data = gv.encode([[index] for index in range(10_000)])
        for is_enabled in (True, False):
            (gc.enable if is_enabled else gc.disable)()
            gv.decode(data)
            self.assertEqual(gc.isenabled(), is_enabled)
            self.assertRaises(gv.VariantError, gv.decode, data[:-1])
            self.assertEqual(gc.isenabled(), is_enabled)
        gc.enable()

    def test_small_stacks(self) -> None:
        deep: Any = 1
        for _ in range(500):
            deep = [{"k": deep}]
        data, failures = gv.encode(deep), []
        limits = gv.Limits.files()

        def work() -> None:
            try:
                assert gv.encode(gv.decode(data, limits=limits)) == data
                assert gv.encode(gv.View(data)[0]["k"].value()) == gv.encode(deep[0]["k"])
            except BaseException as failure:
                failures.append(failure)

        previous = threading.stack_size(512 << 10)
        try:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        finally:
            threading.stack_size(previous)
        self.assertEqual(failures, [])

    def test_code_that_changes_a_container(self) -> None:
        held: dict[str, Any] = {}

        class Number:
            def __index__(self) -> int:
                held["more"] = 1
                return 7

        held.update(first=Number(), second=2)
        with self.assertRaisesRegex(gv.VariantError, "changed while"):
            gv.encode(held)
        numbers: list[Any] = []

        class Clears:
            def __index__(self) -> int:
                numbers.clear()
                return 7

        numbers += [Clears(), 2, 3]
        with self.assertRaisesRegex(gv.VariantError, "changed while"):
            gv.encode(numbers)

    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_fork(self) -> None:
        data = gv.encode(VALUE)
        child = os.fork()
        if child == 0:
            os._exit(0 if gv.encode(gv.decode(data)) == data else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_another_interpreter_is_refused(self) -> None:
        name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
        interpreters = importlib.import_module(name)
        script = f"import sys\nsys.path[:] = {sys.path!r}\ntry:\n    import godot_variant\nexcept ImportError: pass\n"
        script += "else:\n    raise AssertionError('it was imported')"
        other = interpreters.create()
        try:
            error = interpreters.run_string(other, script)
        finally:
            interpreters.destroy(other)
        self.assertIsNone(error)


def resident() -> int:
    """The memory of this process in bytes; 0 where the system does not tell it."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.is_file() else 0


class Documentation(unittest.TestCase):
    def test_examples(self) -> None:
        parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
        public = {name: part for name, part in vars(gv).items() if not name.startswith("_")}
        with tempfile.TemporaryDirectory() as folder:
            for name, part in [("godot_variant", gv), *public.items()]:
                for file in Path(folder).iterdir():
                    file.unlink()
                scope = {**public, "path": str(Path(folder) / "file.dat")}
                runner.run(parser.get_doctest(inspect.getdoc(part) or "", scope, name, None, None))
        self.assertEqual(runner.summarize(verbose=False).failed, 0)
        self.assertGreater(runner.tries, 20)

    def test_everything_has_help(self) -> None:
        for name in dir(gv):
            if not name.startswith("_"):
                self.assertTrue(inspect.getdoc(getattr(gv, name)), name)

    def test_types(self) -> None:
        package = Path(gv.__file__).parent
        command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", os.devnull]
        command += [str(package), str(Path(__file__).with_name("typed.py"))]
        checked = subprocess.run(command, capture_output=True, text=True, cwd=package.parent)
        self.assertEqual((checked.stdout, checked.returncode), ("", 0))
        # The stubs name what the module has.
        stubs = (package / "_native.pyi").read_text()
        for name in dir(gv._native):  # type: ignore[attr-defined]
            if not name.startswith("__") and name != "Records":
                self.assertRegex(stubs, rf"(class|def) {name}\b")


if __name__ == "__main__":
    unittest.main()
