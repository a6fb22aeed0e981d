"""A channel's schema: the names and types of its events' attributes, and their layouts.

Every event has `FIELDS`; a schema adds attributes to them. Attributes may be null, as may the
key; timestamp, urgent and payload may not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from struct import Struct
from typing import Any
from zlib import crc32

from quorumcast.core.errors import ConfigError
from quorumcast.core.limits import NAME_BYTES
from quorumcast.events.arrow import ArrowSchema, arrow_type, pyarrow
from quorumcast.events.values import TYPES, Column

ATTRIBUTES = 256
"""Attributes of a schema: each is a column that every reader allocates for every body."""

FIELDS = (
    Column("timestamp", TYPES["timestamp"], nullable=False),
    Column("key", TYPES["string"]),
    Column("urgent", TYPES["bool"], nullable=False),
    Column("payload", TYPES["binary"], nullable=False),
)
"""What every event has, in the order of the columns of a batch."""

RESERVED = frozenset(column.name for column in FIELDS) | {
    "attributes",
    # what a data frame of events says of an event besides its own content
    "channel",
    "publisher",
    "session",
    "lane",
    "seq",
    "row",
    "offset",
    "votes",
    "error",
}
"""Names that no attribute may have, in any case: Spark takes `Offset` for `offset`."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Schema:
    """The attributes of a channel's events, in order; `Schema()` has none.

    >>> schema = Schema.parse({"severity": "int8", "host": "string"})
    >>> schema
    Schema(severity: int8, host: string)
    >>> [column.name for column in schema.columns]
    ['timestamp', 'key', 'urgent', 'payload', 'severity', 'host']
    """

    __slots__ = ("_arrow", "attributes", "by_name", "check", "columns", "fixed")

    attributes: tuple[Column, ...]
    by_name: Mapping[str, Column]
    """Attributes by name, in order."""
    columns: tuple[Column, ...]
    """The columns of a batch: every event's fields, then the attributes."""
    fixed: Struct
    """Those attributes whose values have a fixed length, as a compact record packs them."""
    check: int
    """A checksum of names and types. Bodies carry it, so that a schema that was changed by
    mistake makes bodies unreadable instead of wrong; it does not protect from malice."""

    def __init__(self, attributes: tuple[Column, ...] = ()) -> None:
        self.attributes = attributes
        self.by_name = {column.name: column for column in attributes}
        self.columns = FIELDS + attributes
        self.fixed = Struct("<" + "".join(column.type.code for column in attributes))
        self.check = crc32(repr(self).encode())
        self._arrow: ArrowSchema | None = None

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Schema:
        """The schema that a channel's table describes, or a `ConfigError` that names the key.

        >>> Schema.parse({"severity": "int9"})
        Traceback (most recent call last):
        ...
        quorumcast.core.errors.ConfigError: schema.severity: 'int9' is not a type: use "bool", ...
        """
        if not isinstance(table, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(
                f"schema: {table!r} is not a table: "
                'use names and types, such as { severity = "int8" }'
            )
        if len(table) > ATTRIBUTES:
            raise ConfigError(
                f"schema: {len(table)} attributes are too many: use at most {ATTRIBUTES}, "
                "and the payload for the rest"
            )
        seen: dict[str, str] = {}
        for name, kind in table.items():
            _check_name(name, seen)
            if not isinstance(kind, str) or kind not in TYPES:
                names = ", ".join(f'"{each}"' for each in TYPES)
                raise ConfigError(f"schema.{name}: {kind!r} is not a type: use {names}")
        return cls(tuple(Column(name, TYPES[kind]) for name, kind in table.items()))

    def table(self) -> dict[str, str]:
        """The table that `parse` makes this schema of.

        >>> Schema.parse({"severity": "int8"}).table()
        {'severity': 'int8'}
        """
        return {column.name: column.type.name for column in self.attributes}

    @property
    def arrow(self) -> ArrowSchema:
        """The `pyarrow.Schema` of a batch of events.

        >>> Schema.parse({"host": "string"}).arrow.names
        ['timestamp', 'key', 'urgent', 'payload', 'host']
        """
        if self._arrow is None:
            pa = pyarrow()
            self._arrow = pa.schema(
                [
                    pa.field(column.name, arrow_type(column.type.name), column.nullable)
                    for column in self.columns
                ]
            )
        return self._arrow

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._items() == other._items()

    def __hash__(self) -> int:
        return hash(self._items())

    def __repr__(self) -> str:
        return f"Schema({', '.join(f'{name}: {kind}' for name, kind in self._items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema.parse, (self.table(),)

    def _items(self) -> tuple[tuple[str, str], ...]:
        return tuple((column.name, column.type.name) for column in self.attributes)

    def unknown(self, name: object, row: int | None = None) -> ConfigError:
        """The error for a name that is neither a field nor an attribute.

        >>> str(Schema.parse({"host": "string"}).unknown("hots"))
        "'hots' is not an attribute of this channel: use host"
        """
        known = ", ".join(self.by_name) or "payload (its schema has no attributes)"
        where = "" if row is None else f"row {row}: "
        return ConfigError(f"{where}{name!r} is not an attribute of this channel: use {known}")


def _check_name(name: object, seen: dict[str, str]) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > NAME_BYTES:
        raise ConfigError(
            f"schema: {name!r} is not a name: use a letter or _, then letters, digits and _, "
            f"at most {NAME_BYTES} in all"
        )
    folded = name.lower()
    if folded in RESERVED:
        raise ConfigError(
            f"schema.{name}: every event has {folded!r} already: use another name, "
            f"such as event_{folded}"
        )
    if folded in seen:
        raise ConfigError(
            f"schema.{name}: {seen[folded]} differs from it by case alone, which Spark does not "
            "see: rename one of them"
        )
    seen[folded] = name
