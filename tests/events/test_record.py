"""The compact record: its bytes, that it has no others, and what is refused."""

from __future__ import annotations

from math import isnan, nan
from struct import pack
from typing import Any

import pytest
from hypothesis import given

from quorumcast.core.errors import ConfigError
from quorumcast.core.limits import BODY_BYTES
from quorumcast.events import Event, Schema, build_event, read
from quorumcast.events.foreign import BadPublication, BodyError
from quorumcast.events.record import decode, encode, encode_event
from quorumcast.events.values import TIMESTAMP_LEAST, TIMESTAMP_MOST, TYPES
from tests.events.strategies import schema_and_events

PLAIN = Schema()
SCHEMA = Schema.parse({"severity": "int8", "host": "string", "flag": "bool", "ratio": "float32"})
CHECK = pack("<I", SCHEMA.check)


def test_a_payload_of_56_bytes_makes_a_record_of_66() -> None:
    assert len(build_event(PLAIN, bytes(56), timestamp=1_700_000_000_000_000)) == 66


def test_the_bytes_are_those_that_the_module_describes() -> None:
    assert encode(PLAIN, b"abc", 7) == b"\1\0" + pack("<q", 7) + b"abc"
    assert encode(PLAIN, b"abc", -7, "db-3", True) == (
        b"\1\3" + pack("<q", -7) + b"\4db-3" + b"abc"
    )
    attributes = {"severity": -5, "host": "é", "ratio": 1.5}
    fixed = b"\xfb" + b"\0" + pack("<f", 1.5)
    assert encode(SCHEMA, b"abc", 7, None, False, attributes) == (
        b"\1\4" + pack("<q", 7) + CHECK + b"\x0b" + fixed + b"\2\xc3\xa9" + b"abc"
    )


@pytest.mark.parametrize("size", [0, 254, 255, 256, 70_000])
def test_lengths_take_one_byte_or_five(size: int) -> None:
    body = encode(PLAIN, b"p", 1, "k" * size)
    prefix = bytes((size,)) if size < 255 else b"\xff" + pack("<I", size)
    assert body == b"\1\2" + pack("<q", 1) + prefix + b"k" * size + b"p"
    assert decode(PLAIN, body).key == "k" * size


@given(schema_and_events(1, 1))
def test_an_event_comes_back_as_it_was(drawn: tuple[Schema, list[Event]]) -> None:
    schema, (event,) = drawn
    body = encode_event(schema, event, BODY_BYTES, row=0)
    assert decode(schema, body).event(schema, body) == event


@given(schema_and_events(1, 1))
def test_a_record_is_the_only_one_of_its_event(drawn: tuple[Schema, list[Event]]) -> None:
    """No byte can be changed so that the same event comes out."""
    schema, (event,) = drawn
    body = encode_event(schema, event, BODY_BYTES, row=0)
    for at in range(min(len(body), 120)):
        changed = body[:at] + bytes((body[at] ^ 1,)) + body[at + 1 :]
        found = read(schema, changed)
        assert isinstance(found, BadPublication) or repr(found[0]) != repr(event)


@given(schema_and_events(1, 1))
def test_the_short_way_makes_the_same_bytes(drawn: tuple[Schema, list[Event]]) -> None:
    schema, (event,) = drawn
    bare = Event(event.payload, event.timestamp)
    for each in (event, bare):
        made = build_event(
            schema,
            each.payload,
            timestamp=each.timestamp,
            key=each.key,
            urgent=each.urgent,
            **each.attributes,
        )
        assert made == encode_event(schema, each, BODY_BYTES, row=0)


def test_attributes_that_are_all_null_take_no_room() -> None:
    without = encode(SCHEMA, b"abc", 7)
    assert encode(SCHEMA, b"abc", 7, attributes={"severity": None, "host": None}) == without
    assert decode(SCHEMA, without).values == (None,) * 4


def test_every_type_at_once() -> None:
    schema = Schema.parse({f"a_{name}": name for name in TYPES})
    values: dict[str, Any] = {
        "a_bool": True,
        "a_int8": -1,
        "a_int16": -2,
        "a_int32": -3,
        "a_int64": -(2**63),
        "a_float32": -0.5,
        "a_float64": 5e-324,
        "a_string": "",
        "a_binary": b"\0",
        "a_timestamp": TIMESTAMP_LEAST,
    }
    body = build_event(schema, b"", timestamp=TIMESTAMP_MOST, **values)
    assert dict(zip(values, decode(schema, body).values, strict=True)) == values


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_nan_comes_back_and_has_one_form(kind: str) -> None:
    schema = Schema.parse({"x": kind})
    body = build_event(schema, b"", timestamp=1, x=nan)
    assert build_event(schema, b"", timestamp=1, x=-nan) == body
    (value,) = decode(schema, body).values
    assert isinstance(value, float)
    assert isnan(value)
    with pytest.raises(BodyError, match="NaN in a form that no publisher writes"):
        decode(schema, body[:-1] + b"\xff")


HEAD = b"\1\0" + bytes(8)
KEYED = b"\1\2" + bytes(8)
FULL = b"\1\4" + bytes(8) + CHECK

REFUSED: list[tuple[str, bytes, str]] = [
    ("no head", HEAD[:-1], "record of 9 bytes is shorter than its head of 10"),
    ("a form alone", b"\1", "shorter than its head"),
    ("flag 8", b"\1\x08" + bytes(8), "unknown flags 8"),
    ("flag 128", b"\1\x80" + bytes(8), "unknown flags 128"),
    ("too early", b"\1\0" + pack("<q", TIMESTAMP_LEAST - 1), "outside the years 1 to 9999"),
    ("too late", b"\1\0" + pack("<q", TIMESTAMP_MOST + 1), "outside the years 1 to 9999"),
    ("no key", KEYED, "record ends within key"),
    ("half a key", KEYED + b"\5abcd", "record ends within key"),
    ("a key without its length", KEYED + b"\xff\0\0\0", "record ends within the length of key"),
    ("a key that is too long", KEYED + b"\xff" + b"\xff" * 4 + b"k", "record ends within key"),
    ("a short length, long", KEYED + b"\xff" + pack("<I", 254) + bytes(254), "takes five bytes"),
    ("latin-1", KEYED + b"\1\xe9", "key is not UTF-8"),
    ("a surrogate", KEYED + b"\3\xed\xa0\x80", "key is not UTF-8"),
    ("no check", b"\1\4" + bytes(8) + CHECK[:3], "record ends within its attributes"),
    ("another schema", b"\1\4" + bytes(8) + bytes(4) + b"\1" + bytes(6), "another schema"),
    ("no fixed part", FULL + b"\1" + bytes(5), "record ends within its attributes"),
    ("nothing present", FULL + b"\0" + bytes(6), "marks no attribute"),
    ("a fifth attribute", FULL + b"\x11" + b"\5" + bytes(5), "one that the schema lacks"),
    ("a null of 5", FULL + b"\4" + b"\5" + b"\1" + bytes(4), "in a form that no publisher writes"),
    ("a bool of 2", FULL + b"\4" + b"\0" + b"\2" + bytes(4), "in a form that no publisher writes"),
    ("no host", FULL + b"\2" + bytes(6), "record ends within host"),
    ("half a host", FULL + b"\2" + bytes(6) + b"\3db", "record ends within host"),
    ("a binary host", FULL + b"\2" + bytes(6) + b"\1\xff", "host is not UTF-8"),
]


@pytest.mark.parametrize(("body", "why"), [pytest.param(b, w, id=i) for i, b, w in REFUSED])
def test_what_no_publisher_writes_is_refused_by_name(body: bytes, why: str) -> None:
    with pytest.raises(BodyError, match=why):
        decode(SCHEMA, body)


def test_a_timestamp_among_the_attributes_has_the_same_bounds() -> None:
    schema = Schema.parse({"seen": "timestamp"})
    head = b"\1\4" + bytes(8) + pack("<I", schema.check) + b"\1"
    with pytest.raises(BodyError, match="seen 9223372036854775807 is outside the years"):
        decode(schema, head + pack("<q", 2**63 - 1))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"payload": "text"}, "payload: 'text' is not binary"),
        ({"payload": None}, "payload: None is not binary"),
        ({"timestamp": None}, "timestamp: None is not timestamp"),
        ({"key": b"k"}, "key: b'k' is not string"),
        ({"key": "\ud800"}, "key: '\\ud800' is not string"),
        ({"urgent": 1}, "urgent: 1 is not bool"),
        ({"severity": 128}, "severity: 128 is not int8"),
        ({"severity": "5", "host": "x"}, "severity: '5' is not int8"),
        ({"ratio": 1e39}, "ratio: 1e+39 is not float32"),
        ({"host": "\ud800"}, "host: '\\ud800' is not string"),
        ({"hots": "x"}, "'hots' is not an attribute of this channel: use severity, host,"),
    ],
)
def test_values_that_do_not_fit_are_named(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_event(SCHEMA, **{"payload": b"", "timestamp": 1, **changes})
    assert text in str(caught.value)


def test_an_event_longer_than_a_body_is_refused_and_one_as_long_is_not() -> None:
    body = build_event(PLAIN, bytes(BODY_BYTES - 10), timestamp=1)
    assert len(body) == BODY_BYTES
    with pytest.raises(ConfigError, match=f"an event of {BODY_BYTES + 1} bytes is too long"):
        build_event(PLAIN, bytes(BODY_BYTES - 9), timestamp=1)
    with pytest.raises(ConfigError, match="is too long"):
        build_event(PLAIN, b"", timestamp=1, key="k" * (BODY_BYTES + 1))
