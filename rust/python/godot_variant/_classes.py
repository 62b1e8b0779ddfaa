"""Objects of registered classes, as `FastVariantClasses` writes them, from and to dataclasses. See docs/classes.md.

`classes` are dataclasses by their registered names, or an iterable of dataclasses with these names. A class of another
version than 1 has `__godot_version__`, and `__godot_upgrade__(properties, version)`, a class method that returns the
properties of an older version as those of this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from ._native import Limits
from ._types import NodePath, Pairs, StringName, TypedArray, TypedDictionary, VariantError

Classes = Mapping[str, type] | Iterable[type]

# Objects at this level and below are in the table.
_INLINE_LEVELS = 16
_ARRAY = "Array"
_TYPES = frozenset(Limits.files().allowed_types)


def _by_name(classes: Classes) -> dict[str, type]:
    return dict(classes) if isinstance(classes, Mapping) else {found.__name__: found for found in classes}


def _refused(reason: str) -> VariantError:
    return VariantError(reason, code="OBJECT_REFUSED")


def _entries(dictionary: dict[Any, Any] | Pairs) -> Iterable[tuple[Any, Any]]:
    return dictionary if isinstance(dictionary, Pairs) else dictionary.items()


def untag(value: Any, classes: Classes) -> Any:
    """Makes objects of the tagged dicts in a decoded value."""
    try:
        return _Reader(_by_name(classes)).root(value)
    except RecursionError:
        raise VariantError("nesting exceeds what Python's recursion limit allows", code="TOO_DEEP") from None


def tag(value: Any, classes: Classes) -> Any:
    """Makes tagged dicts of the objects in a value."""
    try:
        return _Writer(_by_name(classes)).root(value)
    except RecursionError:
        raise VariantError("nesting exceeds what Python's recursion limit allows", code="TOO_DEEP") from None


def _tag_of(value: Any) -> str | None:
    """The first key of an untyped Dictionary, if it is like a tag."""
    key = next(iter(value), None) if type(value) is dict else None
    return key if isinstance(key, str) and key.startswith("@") else None


def _held(value: dict[Any, Any], key: str, *types: type) -> Any:
    """What a tagged dict has at a key, if it has one of these types."""
    found = value.get(key)
    if not isinstance(found, types) or isinstance(found, bool):
        expected = " or ".join(wanted.__name__ for wanted in types)
        raise _refused(f"expected {expected} at {key!r} of a tagged Dictionary, found {type(found).__name__}")
    return found


class _Reader:
    def __init__(self, classes: dict[str, type]) -> None:
        self.classes = classes
        self.objects: list[Any] | None = None
        self.made: list[Any] = []

    def root(self, value: Any) -> Any:
        if _tag_of(value) == "@objects" and len(value) == 2 and "value" in value:
            table = _held(value, "@objects", list)
            # The objects exist before their properties, which may refer to any of them.
            self.objects = [self.create(entry) for entry in table]
            for made, entry in zip(self.objects, table):
                self.fill(made, entry)
            value = value["value"]
        read = self.read(value)
        for made in reversed(self.made):
            if hasattr(made, "__post_init__"):
                made.__post_init__()
        return read

    def read(self, value: Any) -> Any:
        if isinstance(value, list) and not isinstance(value, Pairs):
            read = [self.read(element) for element in value]
            return TypedArray(read, value.element) if isinstance(value, TypedArray) else read
        if not isinstance(value, (dict, Pairs)):
            return value
        return self.tagged(value)

    def tagged(self, value: Any) -> Any:
        match _tag_of(value):
            case "@class":
                made = self.create(value)
                self.fill(made, value)
                return made
            case "@ref" if self.objects is not None and len(value) == 1:
                index = _held(value, "@ref", int)
                if not 0 <= index < len(self.objects):
                    raise _refused(f"reference to object {index}, but there are {len(self.objects)}")
                return self.objects[index]
            case "@plain" if len(value) == 1:
                return self.dictionary(_held(value, "@plain", dict, Pairs))
            case "@array" if len(value) == 2:
                elements = self.read(_held(value, "values", list))
                return TypedArray(elements, self.declared(_held(value, "@array", str)))
            case "@dictionary" if len(value) == 2:
                names = _held(value, "@dictionary", list)
                if len(names) != 2 or not all(isinstance(name, str) for name in names):
                    raise _refused("expected two names at '@dictionary' of a tagged Dictionary")
                types = [self.declared(name) for name in names]
                return self.dictionary(self.read(_held(value, "values", dict, Pairs)), *types)
        return self.dictionary(value)

    def dictionary(self, value: Any, *types: Any) -> Any:
        if types:
            return Pairs(value, *types) if isinstance(value, Pairs) else TypedDictionary(value, *types)
        read = [(self.read(key), self.read(held)) for key, held in _entries(value)]
        if isinstance(value, TypedDictionary):
            return TypedDictionary(read, value.key, value.value)
        if getattr(value, "key", None) is None and getattr(value, "value", None) is None:
            try:
                made = dict(read)
            except TypeError:
                # A key is an object without a hash.
                return Pairs(read)
            return made if len(made) == len(read) else Pairs(read)
        return Pairs(read, value.key, value.value)

    def declared(self, name: str) -> Any:
        if name == _ARRAY:
            return list
        return name if name in _TYPES else self.find(name) if name else None

    def find(self, name: str) -> type:
        if name not in self.classes:
            raise _refused(f"class {name!r} is not in `classes`")
        return self.classes[name]

    def create(self, value: Any) -> Any:
        if _tag_of(value) != "@class":
            raise _refused("an element of @objects is not an object")
        made: Any = object.__new__(self.find(_held(value, "@class", str)))
        self.made.append(made)
        return made

    def fill(self, made: Any, value: Any) -> None:
        cls = type(made)
        held = {name: self.read(part) for name, part in value.items() if name not in ("@class", "@version")}
        version = _held(value, "@version", int) if "@version" in value else 1
        known = getattr(cls, "__godot_version__", 1)
        if version > known or version < known and not hasattr(cls, "__godot_upgrade__"):
            raise _refused(f"class {value['@class']!r} has version {known}, the data {version}")
        if version < known:
            held = cls.__godot_upgrade__(held, version)
        for field in fields(cls):
            if field.name in held:
                part = held.pop(field.name)
            elif field.default is not MISSING:
                part = field.default
            elif field.default_factory is not MISSING:
                part = field.default_factory()
            else:
                raise _refused(f"an object of class {value['@class']!r} lacks {field.name!r}")
            # Also for frozen classes.
            object.__setattr__(made, field.name, part)
        if held:
            raise _refused(f"class {value['@class']!r} has no {', '.join(map(repr, held))}")


class _Writer:
    def __init__(self, classes: dict[str, type]) -> None:
        self.names = {found: name for name, found in classes.items()}
        # The objects in the order in which they are found, and those in the table.
        self.found: dict[int, Any] = {}
        self.shared: set[int] = set()
        self.slots: dict[int, int] = {}

    def root(self, value: Any) -> Any:
        self.walk(value)
        table = [made for made in self.found.values() if id(made) in self.shared]
        self.slots = {id(made): slot for slot, made in enumerate(table)}
        if not table:
            return self.write(value)
        return {StringName("@objects"): [self.object(made) for made in table], "value": self.write(value)}

    def walk(self, value: Any) -> None:
        visits = [(value, 0, False)]
        while visits:
            value, depth, in_key = visits.pop()
            if depth > 1024:
                raise VariantError("nesting exceeds 1024 levels, the engine's limit", code="TOO_DEEP")
            inner: Iterable[tuple[Any, int, bool]] = ()
            if type(value) in self.names:
                needs_table = in_key or depth >= _INLINE_LEVELS
                if needs_table or id(value) in self.found:
                    self.shared.add(id(value))
                if id(value) in self.found:
                    continue
                self.found[id(value)] = value
                start = 2 if needs_table else depth
                inner = [(getattr(value, field.name), start + 1, False) for field in fields(value)]
            elif isinstance(value, (dict, Pairs)):
                inner = [
                    visit
                    for key, held in _entries(value)
                    for visit in ((key, depth + 1, True), (held, depth + 1, in_key))
                ]
            elif isinstance(value, (list, tuple)):
                inner = [(element, depth + 1, in_key) for element in value]
            visits.extend(reversed(list(inner)))

    def write(self, value: Any) -> Any:
        if type(value) in self.names:
            slot = self.slots.get(id(value))
            return self.object(value) if slot is None else {StringName("@ref"): slot}
        if isinstance(value, (dict, Pairs)):
            return self.dictionary(value)
        if isinstance(value, TypedArray):
            written: Any = [self.write(element) for element in value]
            if isinstance(value.element, type):
                return {StringName("@array"): self.name(value.element), "values": written}
            return TypedArray(written, value.element)
        if type(value) in (list, tuple):
            return [self.write(element) for element in value]
        return value

    def object(self, made: Any) -> dict[str, Any]:
        cls = type(made)
        written: dict[str, Any] = {StringName("@class"): self.names[cls]}
        if getattr(cls, "__godot_version__", 1) != 1:
            written["@version"] = cls.__godot_version__
        for field in fields(made):
            written[field.name] = self.write(getattr(made, field.name))
        return written

    def dictionary(self, value: Any) -> Any:
        entries = [(self.write(key), self.write(held)) for key, held in _entries(value)]
        types = [getattr(value, "key", None), getattr(value, "value", None)]
        if any(isinstance(declared, type) for declared in types):
            names = [self.name(declared) for declared in types]
            return {StringName("@dictionary"): names, "values": self.plain(entries)}
        if types != [None, None]:
            return Pairs(entries, *types)
        return self.plain(entries)

    def plain(self, entries: list[tuple[Any, Any]]) -> Any:
        is_like_tag = any(isinstance(key, (str, NodePath)) and str(key).startswith("@") for key, _ in entries)
        return {StringName("@plain"): Pairs(entries)} if is_like_tag else Pairs(entries)

    def name(self, declared: Any) -> str:
        if declared is None or declared is list:
            return _ARRAY if declared is list else ""
        if isinstance(declared, str):
            return declared
        if declared not in self.names:
            raise _refused(f"class {declared!r} is not in `classes`")
        return self.names[declared]
