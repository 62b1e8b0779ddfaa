"""Reads the files of `godot-project/suites/python_values.gd` and writes them again: `exchange.py FILE OTHER`."""

import sys

import godot_variant as gv

written, returned = sys.argv[1:]
# Leniently, and without `append`: the engine writes several Callables as equal keys, which nobody reads strictly.
with open(returned, "wb") as file:
    for value in gv.records(written, limits=gv.Limits.files(allow_objects=True), lenient=True):
        record = gv.encode(value)
        file.write(len(record).to_bytes(4, "little") + record)
gv.append(f"{returned}.rows", gv.records(f"{written}.blocks"))
gv.save(f"{returned}.save", gv.load(f"{written}.save"), summary=gv.load_summary(f"{written}.save"), compress=True)
