"""The examples of docs/python.md, in order, in an empty folder."""

import ast
import os
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs/python.md"
NOT_INSTALLED = {"polars", "duckdb", "daft"}


class Page(unittest.TestCase):
    def test_examples(self) -> None:
        before = os.getcwd()
        folder = tempfile.TemporaryDirectory()
        os.chdir(folder.name)
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, before)
        names: dict[str, Any] = {"__name__": "page"}
        for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            try:
                self.run_block(block, names)
            except ModuleNotFoundError as error:
                self.assertIn(error.name, NOT_INSTALLED)

    def run_block(self, block: str, names: dict[str, Any]) -> None:
        lines = block.splitlines()
        for statement in ast.parse(block).body:
            line = lines[(statement.end_lineno or 0) - 1]
            comment = line[statement.end_col_offset or 0 :].strip().removeprefix("# ")
            if isinstance(statement, ast.Expr) and comment:
                found = eval(compile(ast.Expression(statement.value), PAGE.name, "eval"), names)
                self.assertIn(repr(found), (comment, comment.split(";")[0]), line)
            else:
                exec(compile(ast.Module([statement], []), PAGE.name, "exec"), names)


if __name__ == "__main__":
    unittest.main()
