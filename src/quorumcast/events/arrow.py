"""What we use of pyarrow, with types; pyarrow comes without any.

pyarrow is imported on first use: whoever handles compact records alone does not pay for it.
The protocols below say of pyarrow's classes what this room calls, and nothing else checks them
against pyarrow but the tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Protocol, cast


class ArrowType(Protocol):
    """A `pyarrow.DataType`."""

    value_type: ArrowType
    tz: str | None


class ArrowField(Protocol):
    """A `pyarrow.Field`."""

    name: str
    type: ArrowType
    nullable: bool


class ArrowSchema(Protocol):
    """A `pyarrow.Schema`."""

    names: list[str]
    types: list[ArrowType]

    def field(self, at: int | str, /) -> ArrowField:
        """One of its fields."""
        ...


class ArrowBuffer(Protocol):
    """A `pyarrow.Buffer`."""

    address: int
    size: int

    def __buffer__(self, flags: int, /) -> memoryview: ...
    def slice(self, offset: int, length: int | None = None, /) -> ArrowBuffer:
        """A part of it, without a copy."""
        ...


class ArrowScalar(Protocol):
    """A `pyarrow.Scalar`."""

    def as_py(self) -> Any:
        """Its Python value."""
        ...

    def __getitem__(self, key: str, /) -> ArrowScalar: ...


class ArrowArray(Protocol):
    """A `pyarrow.Array`."""

    type: ArrowType
    null_count: int

    def __len__(self) -> int: ...
    def __getitem__(self, at: int, /) -> ArrowScalar: ...
    def buffers(self) -> list[ArrowBuffer | None]:
        """Its buffers, validity first."""
        ...

    def cast(self, target: ArrowType | None = None, *, options: Any = None) -> ArrowArray:
        """The same values as another type."""
        ...

    def dictionary_decode(self) -> ArrowArray:
        """Plain values instead of a dictionary's indices."""
        ...

    def slice(self, offset: int, length: int | None = None) -> ArrowArray:
        """A part of it, without a copy."""
        ...

    def to_pylist(self) -> list[Any]:
        """Its Python values."""
        ...

    def validate(self, *, full: bool = False) -> None:
        """Raise unless its buffers make sense."""
        ...

    def view(self, target: ArrowType) -> ArrowArray:
        """The same buffers as another type."""
        ...


class ArrowBatch(Protocol):
    """A `pyarrow.RecordBatch`; everything else that it can do is there too."""

    schema: ArrowSchema
    num_rows: int
    nbytes: int
    columns: list[ArrowArray]

    def __getattr__(self, name: str) -> Any: ...
    def column(self, at: int | str, /) -> ArrowArray:
        """One of its columns."""
        ...

    def serialize(self) -> ArrowBuffer:
        """Its IPC message."""
        ...

    def slice(self, offset: int, length: int | None = None) -> ArrowBatch:
        """Some of its rows, without a copy."""
        ...

    def validate(self, *, full: bool = False) -> None:
        """Raise unless its buffers make sense."""
        ...


class ArrowTable(Protocol):
    """A `pyarrow.Table`; everything else that it can do is there too."""

    schema: ArrowSchema
    num_rows: int

    def __getattr__(self, name: str) -> Any: ...
    def combine_chunks(self) -> ArrowTable:
        """The same rows in as few chunks as possible."""
        ...

    def to_batches(self, max_chunksize: int | None = None) -> list[ArrowBatch]:
        """Its rows as batches, without a copy."""
        ...


class PyArrow(Protocol):
    """The module."""

    ArrowException: type[Exception]
    RecordBatch: Any
    Table: Any
    Array: Any
    ipc: Any
    types: Any
    compute: Any

    def array(self, values: Iterable[Any], kind: ArrowType, /) -> ArrowArray:
        """Values as an array."""
        ...

    def chunked_array(self, arrays: Sequence[ArrowArray], /) -> ArrowArray:
        """Arrays one behind the other, without a copy."""
        ...

    def concat_tables(self, tables: Iterable[ArrowTable]) -> ArrowTable:
        """Tables one below the other, without a copy."""
        ...

    def field(self, name: str, kind: ArrowType, nullable: bool, /) -> ArrowField:
        """A column's name and type."""
        ...

    def nulls(self, size: int, kind: ArrowType, /) -> ArrowArray:
        """So many nulls."""
        ...

    def py_buffer(self, data: bytes) -> ArrowBuffer:
        """Bytes as a buffer, without a copy."""
        ...

    def repeat(self, value: Any, size: int) -> ArrowArray:
        """One value so many times."""
        ...

    def scalar(self, value: Any, kind: ArrowType, /) -> ArrowScalar:
        """A value of a type."""
        ...

    def schema(self, fields: Sequence[ArrowField]) -> ArrowSchema:
        """Columns as a schema."""
        ...

    def timestamp(self, unit: str, tz: str) -> ArrowType:
        """A type of timestamps."""
        ...


@cache
def pyarrow() -> PyArrow:
    """The module, imported when it is first asked for.

    >>> pyarrow().nulls(2, arrow_type("int8")).to_pylist()
    [None, None]
    """
    import pyarrow as module  # pyright: ignore[reportMissingTypeStubs]
    from pyarrow import compute, ipc  # pyright: ignore[reportMissingTypeStubs]

    del compute, ipc  # attributes of the module once they are imported
    return cast(PyArrow, module)


@cache
def arrow_type(name: str) -> ArrowType:
    """The Arrow type of an attribute's type.

    >>> print(arrow_type("timestamp"))
    timestamp[us, tz=UTC]
    """
    pa = pyarrow()
    if name == "timestamp":
        return pa.timestamp("us", "UTC")
    return getattr(pa, "bool_" if name == "bool" else name)()
