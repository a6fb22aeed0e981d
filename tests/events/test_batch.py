"""Batches: round trips, no copies, bodies that stay within their bound, and what is refused."""

from __future__ import annotations

from math import isnan, nan
from struct import pack

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.core.errors import ConfigError
from quorumcast.core.limits import BODY_BYTES
from quorumcast.events import BadPublication, Event, Publication, Schema, build_batch, read
from quorumcast.events.batch import BATCH, EVENTS_AT_ONCE, decode, from_record, time_range
from quorumcast.events.foreign import BodyError
from quorumcast.events.record import RECORD
from quorumcast.events.record import decode as decode_record
from quorumcast.events.schema import ATTRIBUTES
from quorumcast.events.values import TIMESTAMP_LEAST, TIMESTAMP_MOST, TYPES
from tests.events import bounds
from tests.events.strategies import schema_and_events

PLAIN = Schema()
SCHEMA = Schema.parse({"severity": "int8", "host": "string", "seen": "timestamp"})


def rows(count: int, size: int = 56) -> list[Event]:
    return [Event(bytes((row % 256,)) * size, timestamp=row) for row in range(count)]


def good(schema: Schema, body: bytes) -> Publication:
    found = read(schema, body)
    assert not isinstance(found, BadPublication), found.reason
    return found


# -- round trips ---------------------------------------------------------------------------------


@given(schema_and_events(2, 6))
def test_events_come_back_as_they_were(drawn: tuple[Schema, list[Event]]) -> None:
    schema, events = drawn
    (body,) = build_batch(schema, events)
    found = good(schema, body)
    assert body[0] == BATCH
    assert list(found) == events
    assert [found[row] for row in range(len(found))] == events
    assert bounds.values(schema, found.batch, body) == bounds.columns(schema, events)


@given(schema_and_events(2, 6))
def test_a_body_carries_no_schema_and_is_exact(drawn: tuple[Schema, list[Event]]) -> None:
    """The message is what pyarrow itself reads under the channel's schema, nothing before or
    behind it."""
    schema, events = drawn
    (body,) = build_batch(schema, events)
    assert body[:8] == pack("<B3xI", BATCH, schema.check)
    message = pa.ipc.read_message(body[8:])
    assert message.type == "record batch"
    assert pa.ipc.read_record_batch(message, schema.arrow).equals(good(schema, body).batch)
    for short in (body[:-1], body[:8], body[:16], body + b"\0"):
        assert isinstance(read(schema, short), BadPublication)


def test_every_type_with_and_without_nulls() -> None:
    schema = Schema.parse({f"a_{name}": name for name in TYPES})
    values = (True, 1, -2, 3, -4, 1.5, 2.5, "é", b"\0", TIMESTAMP_LEAST)
    full = Event(b"p", 1, "k", True, dict(zip(schema.by_name, values, strict=True)))
    bare = Event(b"", 2, None, False, dict.fromkeys(schema.by_name))
    for events in ([full, full], [bare, bare], [full, bare] * 9):
        (body,) = build_batch(schema, events)
        assert list(good(schema, body)) == events


def test_as_many_attributes_as_a_schema_may_have() -> None:
    schema = Schema.parse({f"a{number}": "string" for number in range(ATTRIBUTES)})
    events = [Event(b"", 1, attributes=dict.fromkeys(schema.by_name, "x"))] * 2
    (body,) = build_batch(schema, events)
    assert list(good(schema, body)) == events


def test_nan_and_the_edges_of_time_come_back() -> None:
    schema = Schema.parse({"x": "float64", "seen": "timestamp"})
    events = [
        Event(b"", TIMESTAMP_LEAST, attributes={"x": nan, "seen": TIMESTAMP_MOST}),
        Event(b"", TIMESTAMP_MOST, attributes={"x": 0.0, "seen": None}),
    ]
    (body,) = build_batch(schema, events)
    first, second = good(schema, body)
    assert isinstance(first["x"], float)
    assert isnan(first["x"])
    assert (first.timestamp, first["seen"]) == (TIMESTAMP_LEAST, TIMESTAMP_MOST)
    assert second == events[1]


@pytest.mark.parametrize("count", [EVENTS_AT_ONCE, EVENTS_AT_ONCE + 1, 3 * EVENTS_AT_ONCE + 7])
def test_iteration_in_pieces_loses_nothing(count: int) -> None:
    events = rows(count, size=3)
    (body,) = build_batch(PLAIN, events)
    assert list(good(PLAIN, body)) == events


# -- no copies -----------------------------------------------------------------------------------


def test_columns_stay_where_they_are_in_the_body() -> None:
    (body,) = build_batch(SCHEMA, [Event(b"abc", 1, "k", attributes={"host": "db"})] * 100)
    found = good(SCHEMA, body)
    before = pa.total_allocated_bytes()
    tables = [found.batch, found.table, found.batch.slice(10, 20)]
    assert pa.total_allocated_bytes() == before
    start = pa.py_buffer(body).address
    for column in found.batch.columns:
        for buffer in column.buffers():
            assert buffer is None or start <= buffer.address < start + len(body)
    assert [each.num_rows for each in tables] == [100, 100, 20]


def test_reading_takes_no_memory_of_arrow_however_large_the_body() -> None:
    (body,) = build_batch(PLAIN, rows(1000, size=4000))
    before = pa.total_allocated_bytes()
    found = good(PLAIN, body)
    assert pa.total_allocated_bytes() == before
    assert len(found) == 1000


def test_a_batch_outlives_its_body_and_publication() -> None:
    (body,) = build_batch(PLAIN, rows(50))
    batch = good(PLAIN, body).batch
    del body
    assert batch.column("payload").to_pylist() == [event.payload for event in rows(50)]


def test_the_payload_of_a_record_stays_where_it_is_too() -> None:
    (body,) = build_batch(PLAIN, [Event(b"abc" * 100, timestamp=1)])
    assert body[0] == RECORD
    batch = from_record(PLAIN, decode_record(PLAIN, body), body)
    payload = batch.column("payload").buffers()[2]
    assert payload is not None
    assert payload.address == pa.py_buffer(body).address + 10


@given(schema_and_events(1, 1))
def test_a_record_is_the_same_as_a_batch_of_one_row(drawn: tuple[Schema, list[Event]]) -> None:
    schema, events = drawn
    (body,) = build_batch(schema, events)
    found = good(schema, body)
    found.batch.validate(full=True)
    one = bytes(pack("<B3xI", BATCH, schema.check)) + bytes(found.batch.serialize())
    assert list(good(schema, one)) == events == list(found)


# -- sizes ---------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 700), min_size=1, max_size=60),
    st.sampled_from([800, 1000, 2000, 5000, 50_000]),
)
def test_bodies_stay_within_their_bound_and_keep_order(sizes: list[int], most: int) -> None:
    events = [Event(bytes((size % 256,)) * size, timestamp=row) for row, size in enumerate(sizes)]
    bodies = build_batch(PLAIN, events, max_bytes=most)
    assert all(0 < len(body) <= most for body in bodies)
    assert [event for body in bodies for event in good(PLAIN, body)] == events


def test_many_small_events_make_few_bodies() -> None:
    bodies = build_batch(PLAIN, rows(10_000), max_bytes=100_000)
    assert len(bodies) <= 1 + sum(map(len, bodies)) // 90_000
    assert [event for body in bodies for event in good(PLAIN, body)] == rows(10_000)


def test_one_event_that_fits_nowhere_is_named_by_its_row() -> None:
    events = rows(40)
    events[27] = Event(bytes(3000), timestamp=1)
    with pytest.raises(ConfigError, match="row 27: an event of 3010 bytes is too long: use at mos"):
        build_batch(PLAIN, events, max_bytes=2000)


def test_a_body_that_is_longer_than_allowed_is_bad() -> None:
    (body,) = build_batch(PLAIN, rows(2))
    found = read(PLAIN, body + bytes(BODY_BYTES))
    assert isinstance(found, BadPublication)
    assert found.reason == f"body of {len(body) + BODY_BYTES} bytes: use 1 to {BODY_BYTES}"


# -- what is refused -----------------------------------------------------------------------------

(BODY,) = build_batch(SCHEMA, [Event(b"abc", 1, "k", attributes={"host": "db", "seen": 5})] * 3)


def refused(body: bytes, schema: Schema = SCHEMA) -> str:
    with pytest.raises(BodyError) as caught:
        decode(schema, body)
    return str(caught.value)


def test_heads_that_nobody_writes() -> None:
    assert refused(BODY[:7]) == "batch of 7 bytes is shorter than its head of 8"
    for at in (1, 2, 3):
        assert "three bytes after its form" in refused(BODY[:at] + b"\1" + BODY[at + 1 :])
    assert "another schema" in refused(BODY[:4] + bytes(4) + BODY[8:])
    assert "another schema" in refused(BODY, PLAIN)


def test_what_arrows_own_validation_finds_is_refused() -> None:
    """The gate looks at metadata alone; contents are Arrow's to judge, before the first access."""
    at = BODY.rindex(b"kkk")
    assert "Invalid UTF8" in refused(BODY[:at] + b"\xff" + BODY[at + 1 :])
    offsets = pack("<4i", 0, 1, 2, 3)
    at = BODY.index(offsets)
    assert "Arrow: " in refused(BODY[:at] + pack("<4i", 0, 1, 2, 1000) + BODY[at + 16 :])
    assert "Arrow: " in refused(BODY[:at] + pack("<4i", 0, 2, 1, 3) + BODY[at + 16 :])
    assert "Arrow: " in refused(BODY[:at] + pack("<4i", -1, 1, 2, 3) + BODY[at + 16 :])


@pytest.mark.parametrize("late", [TIMESTAMP_MOST + 1, TIMESTAMP_LEAST - 1, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize(("time", "name"), [(1, "timestamp"), (5, "seen")])
def test_times_that_python_cannot_show_are_refused(late: int, time: int, name: str) -> None:
    at = BODY.index(pack("<3q", time, time, time))
    body = BODY[:at] + pack("<3q", time, late, time) + BODY[at + 24 :]
    assert refused(body).startswith(f"{name} from ")
    assert "outside the years 1 to 9999" in refused(body)


def test_the_range_of_times_without_any() -> None:
    assert time_range(pa.array([None, None], pa.timestamp("us", "UTC"))) == (None, None)
