"""Schemas, and events that fit them, for property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from quorumcast.events import Event, Schema
from quorumcast.events.values import TIMESTAMP_LEAST, TIMESTAMP_MOST, TYPES

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    **{
        f"int{bits}": st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        for bits in (8, 16, 32, 64)
    },
    "float32": st.floats(width=32, allow_nan=False),
    "float64": st.floats(allow_nan=False),
    "string": st.text(max_size=12) | st.just("é" * 200),
    "binary": st.binary(max_size=12) | st.just(bytes(300)),
    "timestamp": st.integers(TIMESTAMP_LEAST, TIMESTAMP_MOST),
}
"""Values by the name of their type; NaN, which equals nothing, has tests of its own."""

_names = st.text("aZ_09", max_size=4).map(lambda rest: "a" + rest)


def schemas(most: int = 8) -> st.SearchStrategy[Schema]:
    pairs = st.tuples(_names, st.sampled_from(list(TYPES)))
    tables = st.lists(pairs, max_size=most, unique_by=lambda pair: pair[0].lower())
    return tables.map(lambda table: Schema.parse(dict(table)))


def events(schema: Schema) -> st.SearchStrategy[Event]:
    attributes = st.fixed_dictionaries(
        {column.name: st.none() | VALUES[column.type.name] for column in schema.attributes}
    )
    return st.builds(
        Event,
        payload=VALUES["binary"],
        timestamp=VALUES["timestamp"],
        key=st.none() | VALUES["string"],
        urgent=st.booleans(),
        attributes=attributes,
    )


def schema_and_events(least: int, most: int) -> st.SearchStrategy[tuple[Schema, list[Event]]]:
    return schemas().flatmap(
        lambda schema: st.tuples(
            st.just(schema), st.lists(events(schema), min_size=least, max_size=most)
        )
    )
