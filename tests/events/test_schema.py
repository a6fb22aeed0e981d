"""A channel's schema: what it accepts, what its error names, and that its check sees a change."""

from __future__ import annotations

import pickle
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from quorumcast.core.errors import ConfigError
from quorumcast.core.limits import NAME_BYTES
from quorumcast.events import Schema
from quorumcast.events.schema import ATTRIBUTES, FIELDS, RESERVED
from quorumcast.events.values import TYPES
from tests.events.strategies import schemas


@given(schemas())
def test_a_schema_comes_back_from_its_table_and_from_a_pickle(schema: Schema) -> None:
    again = Schema.parse(schema.table())
    assert again == schema == pickle.loads(pickle.dumps(schema))
    assert hash(again) == hash(schema)
    assert again.check == schema.check
    assert repr(again) == repr(schema)


def test_columns_are_every_events_fields_and_then_the_attributes() -> None:
    schema = Schema.parse({"b": "int8", "a": "string"})
    assert schema.columns == FIELDS + schema.attributes
    assert list(schema.by_name) == ["b", "a"]  # in the order of the table, not of the alphabet
    assert [column.nullable for column in schema.columns] == [False, True, False, False, True, True]


def test_the_arrow_schema_has_the_types_that_the_names_say() -> None:
    schema = Schema.parse({f"a_{name}": name for name in TYPES})
    expected = {
        "bool": pa.bool_(),
        "int8": pa.int8(),
        "int16": pa.int16(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "float32": pa.float32(),
        "float64": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "timestamp": pa.timestamp("us", "UTC"),
    }
    assert set(expected) == set(TYPES)
    for name, kind in expected.items():
        assert schema.arrow.field(f"a_{name}").type == kind
        assert schema.arrow.field(f"a_{name}").nullable
    assert [str(schema.arrow.field(at).type) for at in range(4)] == [
        "timestamp[us, tz=UTC]",
        "string",
        "bool",
        "binary",
    ]
    assert schema.arrow is schema.arrow  # made once


def test_any_change_of_names_types_or_order_changes_the_check() -> None:
    tables: list[dict[str, str]] = [
        {},
        {"a": "int8"},
        {"a": "int16"},
        {"b": "int8"},
        {"a": "int8", "b": "int8"},
        {"b": "int8", "a": "int8"},
    ]
    for one, other in combinations(map(Schema.parse, tables), 2):
        assert one != other
        assert one.check != other.check


def test_a_schema_is_equal_to_schemas_alone() -> None:
    assert Schema() != {}
    assert Schema() != "Schema()"


BAD: list[tuple[Any, str]] = [
    ([], "schema: [] is not a table"),
    ("severity", "is not a table"),
    ({"severity": "int9"}, "schema.severity: 'int9' is not a type: use \"bool\""),
    ({"severity": int}, "schema.severity: <class 'int'> is not a type"),
    ({"severity": None}, "schema.severity: None is not a type"),
    ({"severity": "Int8"}, "'Int8' is not a type"),
    ({"": "int8"}, "schema: '' is not a name"),
    ({"9th": "int8"}, "schema: '9th' is not a name"),
    ({"a b": "int8"}, "schema: 'a b' is not a name"),
    ({"a\n": "int8"}, "is not a name"),
    ({"größe": "int8"}, "schema: 'größe' is not a name"),
    ({7: "int8"}, "schema: 7 is not a name"),
    ({"x" * (NAME_BYTES + 1): "int8"}, "is not a name"),
    ({"host": "string", "Host": "string"}, "schema.Host: host differs from it by case alone"),
    ({f"a{number}": "bool" for number in range(ATTRIBUTES + 1)}, "257 attributes are too many"),
]


@pytest.mark.parametrize(("table", "text"), BAD)
def test_what_is_no_schema_is_refused_by_key(table: Any, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Schema.parse(table)
    assert text in str(caught.value)
    assert "use" in str(caught.value) or "rename" in str(caught.value)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_names_that_events_have_already_are_refused_in_any_case(name: str) -> None:
    for spelled in (name, name.upper(), name.title()):
        with pytest.raises(ConfigError, match=f"schema.{spelled}: .*: use another name"):
            Schema.parse({spelled: "int8"})


def test_as_many_attributes_as_are_allowed() -> None:
    schema = Schema.parse({f"a{number}": "int8" for number in range(ATTRIBUTES)})
    assert len(schema.attributes) == ATTRIBUTES
    assert Schema.parse({"x" * NAME_BYTES: "bool"}).attributes[0].name == "x" * NAME_BYTES
