from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Final, Generic, Literal, Self, TypedDict, TypeVar, Unpack, final, overload

from typing_extensions import Buffer

from ._types import VariantError

_Number = TypeVar("_Number", int, float, covariant=True)
_Element = TypeVar("_Element", covariant=True)
_Path = str | PathLike[str]
_Classes = Mapping[str, type] | Iterable[type]

class Components(Generic[_Number]):
    def __new__(cls, *components: float | Iterable[float], double: bool = False) -> Components[_Number]: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int) -> _Number: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[_Number, ...]: ...
    def __iter__(self) -> Iterator[_Number]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __hash__(self) -> int: ...

@final
class Vector2(Components[float]):
    def __new__(cls, *components: float | Iterable[float], double: bool = False) -> Vector2: ...
    x: Final[float]
    y: Final[float]

@final
class Vector2i(Components[int]):
    def __new__(cls, *components: int | Iterable[int]) -> Vector2i: ...
    x: Final[int]
    y: Final[int]

@final
class Rect2(Components[float]):
    def __new__(cls, *components: float | Iterable[float], double: bool = False) -> Rect2: ...
    position: Final[Vector2]
    size: Final[Vector2]

@final
class Rect2i(Components[int]):
    def __new__(cls, *components: int | Iterable[int]) -> Rect2i: ...
    position: Final[Vector2i]
    size: Final[Vector2i]

@final
class Vector3(Components[float]):
    def __new__(cls, *components: float | Iterable[float], double: bool = False) -> Vector3: ...
    x: Final[float]
    y: Final[float]
    z: Final[float]

@final
class Vector3i(Components[int]):
    def __new__(cls, *components: int | Iterable[int]) -> Vector3i: ...
    x: Final[int]
    y: Final[int]
    z: Final[int]

@final
class Transform2D(Components[float]):
    def __new__(cls, *components: float | Iterable[float], double: bool = False) -> Transform2D: ...
    x: Final[Vector2]
    y: Final[Vector2]
    origin: Final[Vector2]

@final
class Vector4(Components[float]):
    def __new__(cls, *components: float | Iterable[float], double: bool = False) -> Vector4: ...
    x: Final[float]
    y: Final[float]
    z: Final[float]
    w: Final[float]

@final
class Vector4i(Components[int]):
    def __new__(cls, *components: int | Iterable[int]) -> Vector4i: ...
    x: Final[int]
    y: Final[int]
    z: Final[int]
    w: Final[int]

@final
class Plane(Components[float]):
    def __new__(cls, *components: float | Iterable[float], double: bool = False) -> Plane: ...
    x: Final[float]
    y: Final[float]
    z: Final[float]
    d: Final[float]
    normal: Final[Vector3]

@final
class Quaternion(Components[float]):
    def __new__(cls, *components: float | Iterable[float], double: bool = False) -> Quaternion: ...
    x: Final[float]
    y: Final[float]
    z: Final[float]
    w: Final[float]

@final
class AABB(Components[float]):
    def __new__(cls, *components: float | Iterable[float], double: bool = False) -> AABB: ...
    position: Final[Vector3]
    size: Final[Vector3]

@final
class Basis(Components[float]):
    def __new__(cls, *components: float | Iterable[float], double: bool = False) -> Basis: ...
    x: Final[Vector3]
    y: Final[Vector3]
    z: Final[Vector3]

@final
class Transform3D(Components[float]):
    def __new__(cls, *components: float | Iterable[float], double: bool = False) -> Transform3D: ...
    basis: Final[Basis]
    origin: Final[Vector3]

@final
class Projection(Components[float]):
    def __new__(cls, *components: float | Iterable[float], double: bool = False) -> Projection: ...
    x: Final[Vector4]
    y: Final[Vector4]
    z: Final[Vector4]
    w: Final[Vector4]

@final
class Color(Components[float]):
    def __new__(cls, *components: float | Iterable[float]) -> Color: ...
    r: Final[float]
    g: Final[float]
    b: Final[float]
    a: Final[float]

class Packed(Generic[_Element]):
    def __new__(cls, values: Buffer | Iterable[Any] = (), *, double: bool = False) -> Self: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int) -> _Element: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __iter__(self) -> Iterator[_Element]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __hash__(self) -> int: ...
    def view(self) -> memoryview[Any]: ...

@final
class PackedByteArray(Packed[int]): ...
@final
class PackedInt32Array(Packed[int]): ...
@final
class PackedInt64Array(Packed[int]): ...
@final
class PackedFloat32Array(Packed[float]): ...
@final
class PackedFloat64Array(Packed[float]): ...
@final
class PackedVector2Array(Packed[Vector2]): ...
@final
class PackedVector3Array(Packed[Vector3]): ...
@final
class PackedVector4Array(Packed[Vector4]): ...
@final
class PackedColorArray(Packed[Color]): ...

class _Changes(TypedDict, total=False):
    max_bytes: int
    max_depth: int
    max_elements: int
    max_memory: int
    max_key_comparisons: int
    allow_trailing_bytes: bool
    allow_non_canonical: bool
    allow_objects: bool
    allowed_classes: list[str]
    allowed_scripts: list[str]
    allowed_types: list[str]

@final
class Limits:
    max_bytes: Final[int]
    max_depth: Final[int]
    max_elements: Final[int]
    max_memory: Final[int]
    max_key_comparisons: Final[int]
    allow_trailing_bytes: Final[bool]
    allow_non_canonical: Final[bool]
    allow_objects: Final[bool]
    allowed_classes: Final[list[str]]
    allowed_scripts: Final[list[str]]
    allowed_types: Final[list[str]]
    @staticmethod
    def network(**changes: Unpack[_Changes]) -> Limits: ...
    @staticmethod
    def files(**changes: Unpack[_Changes]) -> Limits: ...

@final
class View:
    def __new__(cls, data_or_path: Buffer | _Path, *, limits: Limits | None = None) -> View: ...
    @property
    def type(self) -> str: ...
    def value(self) -> Any: ...
    def get(self, key: Any, default: Any = None) -> Any: ...
    def keys(self) -> list[Any]: ...
    def column(self, *keys: str, default: Any = None) -> list[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __contains__(self, key: object) -> bool: ...
    def __iter__(self) -> Iterator[Any]: ...

def decode(
    data: Buffer, *, limits: Limits | None = None, lenient: bool = False, classes: _Classes | None = None
) -> Any: ...
def encode(value: Any, *, classes: _Classes | None = None) -> bytes: ...
def decode_batch(
    data: Buffer, *, limits: Limits | None = None, lenient: bool = False, classes: _Classes | None = None
) -> list[Any]: ...
def encode_batch(values: Iterable[Any], *, classes: _Classes | None = None) -> bytes: ...
def load(path: Buffer | _Path, *, limits: Limits | None = None, classes: _Classes | None = None) -> Any: ...
def load_summary(path: _Path, *, limits: Limits | None = None) -> Any: ...
def save(
    path: _Path,
    value: Any,
    *,
    summary: dict[Any, Any] | None = None,
    compress: bool = False,
    classes: _Classes | None = None,
) -> None: ...
def append(path: _Path, values: Iterable[Any], *, classes: _Classes | None = None) -> None: ...
def records(
    path: Buffer | _Path,
    *,
    start: int = 0,
    stop: int | None = None,
    limits: Limits | None = None,
    lenient: bool = False,
    classes: _Classes | None = None,
) -> Iterator[Any]: ...
@final
class Table:
    @property
    def damaged(self) -> list[VariantError]: ...
    @property
    def schema(self) -> Any: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def read_table(
    paths: Buffer | _Path | Iterable[Buffer | _Path],
    *,
    columns: Sequence[str] | None = None,
    schema: Any = None,
    rows: str | None = None,
    include_file_paths: str | None = None,
    mixed: Literal["raise", "json"] = "raise",
    on_error: Literal["raise", "report"] = "raise",
    threads: int | None = None,
    limits: Limits | None = None,
) -> Table: ...
def _parse_node_path(path: str) -> tuple[bool, list[str], list[str]]: ...
def _after_fork() -> None: ...
def _restore(data: bytes) -> Any: ...
