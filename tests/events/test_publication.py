"""The way in: one event is a record, more are a batch, and what is read behaves as a sequence."""

from __future__ import annotations

import pytest

from quorumcast.core.body import LargeBody
from quorumcast.events import (
    BadPublication,
    Event,
    Publication,
    Schema,
    build_batch,
    build_event,
    from_table,
    publication,
    read,
)
from quorumcast.events.arrow import pyarrow
from quorumcast.events.batch import BATCH
from quorumcast.events.record import RECORD

SCHEMA = Schema.parse({"severity": "int8"})
EVENTS = [Event(bytes((row,)), row, attributes={"severity": row}) for row in range(5)]


def good(body: bytes, schema: Schema = SCHEMA) -> Publication:
    found = read(schema, body)
    assert isinstance(found, Publication)
    return found


@pytest.mark.parametrize("count", [1, 2, 5])
def test_one_event_is_a_record_and_more_are_a_batch(count: int) -> None:
    form = RECORD if count == 1 else BATCH
    (built,) = build_batch(SCHEMA, EVENTS[:count])
    (tabled,) = from_table(SCHEMA, good(built).table)
    assert built[0] == tabled[0] == form
    assert tabled == built


@pytest.mark.parametrize("count", [1, 5])
def test_a_publication_is_a_sequence_of_its_events(count: int) -> None:
    (body,) = build_batch(SCHEMA, EVENTS[:count])
    found = good(body)
    assert len(found) == count
    assert list(found) == list(found) == EVENTS[:count]  # it can be read again
    assert [found[row] for row in range(count)] == EVENTS[:count]
    assert [found[row] for row in range(-count, 0)] == EVENTS[:count]
    for row in (count, -count - 1, 2**70):
        with pytest.raises(IndexError):
            found[row]
    assert found.body is body
    assert found.schema is SCHEMA
    assert repr(found) == f"<Publication of {count} events in {len(body)} bytes>"


@pytest.mark.parametrize("count", [1, 5])
def test_columns_and_events_say_the_same(count: int) -> None:
    (body,) = build_batch(SCHEMA, EVENTS[:count])
    found = good(body)
    assert found.batch.schema.equals(SCHEMA.arrow)
    assert found.table.num_rows == found.batch.num_rows == count
    assert found.batch.column("severity").to_pylist() == [each["severity"] for each in found]
    found.batch.validate(full=True)


def test_a_body_that_came_detached_is_read_in_place() -> None:
    """Such a body is of a subclass of bytes; Arrow needs its buffers aligned."""
    (body,) = build_batch(SCHEMA, EVENTS * 100)
    large = LargeBody.of(memoryview(body), bytes(32))
    found = good(large)
    assert list(found) == EVENTS * 100
    assert found.body is large
    start = pyarrow().py_buffer(large).address
    timestamps = found.batch.column("timestamp").buffers()[1]
    assert timestamps is not None
    assert start < timestamps.address < start + len(large)
    assert timestamps.address % 8 == 0


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "body of 0 bytes: use 1 to 8388608"),
        (bytes(8 * 2**20 + 1), "body of 8388609 bytes: use 1 to 8388608"),
        (b"\0", "form 0 is unknown"),
        (b"\3" + bytes(100), "form 3 is unknown"),
        (b"\xff", "form 255 is unknown"),
        (b"\1", "record of 1 bytes is shorter than its head of 10"),
        (b"\2", "batch of 1 bytes is shorter than its head of 8"),
    ],
)
def test_what_is_no_body_comes_back_with_its_bytes_and_a_reason(body: bytes, reason: str) -> None:
    found = read(SCHEMA, body)
    assert isinstance(found, BadPublication)
    assert found.reason == reason
    assert found.body is body


def test_a_body_of_the_largest_size_is_read() -> None:
    body = build_event(Schema(), bytes(8 * 2**20 - 10), timestamp=1)
    assert len(body) == 8 * 2**20
    assert len(good(body, Schema())[0].payload) == 8 * 2**20 - 10


def test_a_table_larger_than_what_is_converted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same events, whatever the pieces: halves of halves of a piece of rows."""
    monkeypatch.setattr(publication, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(publication, "BYTES_AT_ONCE", 100)
    events = EVENTS * 10
    table = pyarrow().Table.from_pydict(
        {
            "timestamp": [each.timestamp for each in events],
            "payload": [each.payload for each in events],
            "severity": [each["severity"] for each in events],
        }
    )
    bodies = from_table(SCHEMA, table)
    assert len(bodies) > 8
    assert [event for body in bodies for event in good(body)] == events


def test_a_field_is_no_attribute() -> None:
    with pytest.raises(TypeError):
        build_event(SCHEMA, b"", timestamp=1, schema=5, payload=b"")  # type: ignore[misc]
