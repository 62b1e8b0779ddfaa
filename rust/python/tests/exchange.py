"""Reads the files of `godot-project/suites/python_values.gd` and writes them again: `exchange.py FILE OTHER`."""

import sys

import godot_variant as gv

written, returned = sys.argv[1:]
# Leniently: the engine writes several Callables as equal keys, which it would not read as several.
gv.append(returned, gv.records(written, limits=gv.Limits.files(allow_objects=True), lenient=True))
gv.append(f"{returned}.rows", gv.records(f"{written}.blocks"))
gv.save(f"{returned}.save", gv.load(f"{written}.save"), summary=gv.load_summary(f"{written}.save"), compress=True)
