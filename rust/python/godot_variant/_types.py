"""The classes that are written in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from . import _native

__all__ = [
    "Callable",
    "ClassName",
    "NodePath",
    "Object",
    "ObjectId",
    "PackedStringArray",
    "Pairs",
    "RID",
    "ScriptPath",
    "Signal",
    "StringName",
    "TypedArray",
    "TypedDictionary",
    "VariantError",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class VariantError(ValueError):
    """Bytes that cannot be decoded, or a value that cannot be encoded.

    >>> try:
    ...     decode(encode({"hp": 7})[:-2])
    ... except VariantError as error:
    ...     error.code, error.offset, error.path
    ('UNEXPECTED_END', 24, '."hp"')

    `code` is the name of a constant of `FastVariantCodec.CodecError`. `offset` is that of a byte, `path` leads to the
    value, and `record` and `file` say which of several it is. The message has all of these.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "BAD_ARGUMENT",
        offset: int | None = None,
        path: str = "",
        record: int | None = None,
        file: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.offset = offset
        self.path = path
        self.record = record
        self.file = file


class _Name(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({super().__repr__()})"


class StringName(_Name):
    """Godot's `StringName`. It equals a `str` of the same text.

    >>> StringName("hp") == "hp", StringName("hp")
    (True, StringName('hp'))
    """

    __slots__ = ()


class ClassName(_Name):
    """The native class that a typed container declares for its elements."""

    __slots__ = ()


class ScriptPath(_Name):
    """The path of the script that a typed container declares for its elements."""

    __slots__ = ()


class TypedArray(list[T]):
    """A typed Array: a list with the type of its elements, a name such as "int", a `ClassName` or a `ScriptPath`.

    >>> decode(encode(TypedArray([1, 2], "int")))
    TypedArray([1, 2], 'int')

    Elements of another type are an error for `decode`, not here.
    """

    __slots__ = ("element",)

    def __init__(self, values: Iterable[T] = (), element: Any = None) -> None:
        super().__init__(values)
        self.element = element

    def __repr__(self) -> str:
        return f"TypedArray({super().__repr__()}, {self.element!r})"


class TypedDictionary(dict[K, V]):
    """A typed Dictionary: a dict with the types of its keys and values; None means any type.

    >>> decode(encode(TypedDictionary({"hp": 7}, "String", None)))
    TypedDictionary({'hp': 7}, 'String', None)
    """

    __slots__ = ("key", "value")

    def __init__(
        self, entries: Mapping[K, V] | Iterable[tuple[K, V]] = (), key: Any = None, value: Any = None
    ) -> None:
        super().__init__(entries)
        self.key = key
        self.value = value

    def __repr__(self) -> str:
        return f"TypedDictionary({super().__repr__()}, {self.key!r}, {self.value!r})"


class Pairs(list[tuple[Any, Any]]):
    """A Dictionary as a list of keys and values, for keys that no dict can hold.

    >>> decode(encode(Pairs([(1, "int"), (1.0, "float"), ([], "list")])), limits=Limits.files())
    Pairs([(1, 'int'), (1.0, 'float'), ([], 'list')], None, None)

    Of a typed Dictionary, it has the types of keys and values.
    """

    __slots__ = ("key", "value")

    def __init__(self, entries: Iterable[tuple[Any, Any]] = (), key: Any = None, value: Any = None) -> None:
        super().__init__(entries)
        self.key = key
        self.value = value

    def __repr__(self) -> str:
        return f"Pairs({super().__repr__()}, {self.key!r}, {self.value!r})"


class PackedStringArray(tuple[str, ...]):
    """Godot's `PackedStringArray`: a tuple of texts."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"PackedStringArray({list(self)!r})"


@dataclass(frozen=True, slots=True, init=False)
class NodePath:
    """Godot's `NodePath`, from text or in parts.

    >>> path = NodePath("/root/Player:position:x")
    >>> path.absolute, path.names, path.subnames
    (True, ('root', 'Player'), ('position', 'x'))
    """

    absolute: bool
    names: tuple[str, ...]
    subnames: tuple[str, ...]

    def __init__(self, path: str = "") -> None:
        absolute, names, subnames = _native._parse_node_path(path)
        self.__setstate__((absolute, tuple(names), tuple(subnames)))

    def __setstate__(self, parts: Iterable[Any]) -> None:
        for name, part in zip(("absolute", "names", "subnames"), parts):
            object.__setattr__(self, name, part)

    @classmethod
    def _of(cls, *parts: Any) -> NodePath:
        path = object.__new__(cls)
        path.__setstate__(parts)
        return path

    def __str__(self) -> str:
        subnames = "".join(f":{name}" for name in self.subnames)
        return ("/" if self.absolute else "") + "/".join(self.names) + subnames

    def __repr__(self) -> str:
        return f"NodePath({str(self)!r})"


@dataclass(frozen=True, slots=True)
class RID:
    """Godot's `RID`, which means something only in the process that wrote it."""

    id: int = 0


@dataclass(frozen=True, slots=True)
class ObjectId:
    """An object that was written as its instance id, as `EncodedObjectAsID`."""

    id: int


@dataclass(frozen=True, slots=True)
class Callable:
    """A Callable. The format keeps only its type."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A Signal: its name, and the instance id of its object."""

    name: str
    object: int


@dataclass(frozen=True, slots=True)
class Object:
    """An object with its native class and its properties, as `var_to_bytes_with_objects` writes it."""

    class_name: str
    properties: tuple[tuple[str, Any], ...] = ()

    def __getitem__(self, name: str) -> Any:
        """The value of a property. The property `script` has the path of the object's script."""
        return dict(self.properties)[name]
