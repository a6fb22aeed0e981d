"""What bodies cost to build and to read, in microseconds, beside plain pyarrow as a yardstick.

A body is read as every subscriber reads it: checked in full before the first access. Plain
pyarrow believes what it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from benchmarks.wire import cost
from quorumcast.events import (
    BadPublication,
    Event,
    Schema,
    build_batch,
    build_event,
    from_table,
    read,
)

PAYLOAD = b"x" * 56
NOW = 1_700_000_000_000_000
SIZES = (1000, 10_000)

PLAIN = Schema()
SCHEMA = Schema.parse({"severity": "int8", "host": "string"})


def _events(count: int) -> list[Event]:
    return [
        Event(PAYLOAD, NOW + row, None, False, {"severity": row % 8, "host": f"db-{row % 100}"})
        for row in range(count)
    ]


def _good(schema: Schema, body: bytes) -> Callable[[], object]:
    """Reading this body, which is good: what is measured must not be a refusal."""
    assert not isinstance(read(schema, body), BadPublication)
    return lambda: read(schema, body)


def _records() -> Iterator[tuple[str, float]]:
    bare = build_event(PLAIN, PAYLOAD, timestamp=NOW)
    full = build_event(SCHEMA, PAYLOAD, timestamp=NOW, key="db-3", severity=5, host="db-3")
    publication = read(PLAIN, bare)
    assert not isinstance(publication, BadPublication)
    yield (
        f"events: build a record of {len(bare)} bytes",
        cost(lambda: build_event(PLAIN, PAYLOAD, timestamp=NOW)),
    )
    yield f"events: read a record of {len(bare)} bytes", cost(_good(PLAIN, bare))
    yield "events: its event as a Python object", cost(lambda: publication[0])
    yield (
        "events: build a record with a key and two attributes",
        cost(
            lambda: build_event(SCHEMA, PAYLOAD, timestamp=NOW, key="db-3", severity=5, host="db-3")
        ),
    )
    yield "events: read a record with a key and two attributes", cost(_good(SCHEMA, full))


def _batches(rows: int) -> Iterator[tuple[str, float]]:
    events = _events(rows)
    (body,) = build_batch(SCHEMA, events)
    publication = read(SCHEMA, body)
    assert not isinstance(publication, BadPublication)
    batch = publication.batch
    table = pa.Table.from_batches([batch])
    message = pa.py_buffer(batch.serialize())
    name = f"{rows:,} rows"
    yield f"events: build a batch of {name} from events", cost(lambda: build_batch(SCHEMA, events))
    yield f"events: build a batch of {name} from a table", cost(lambda: from_table(SCHEMA, table))
    yield f"pyarrow alone: serialize {name}", cost(batch.serialize)
    yield f"events: check and read a foreign batch of {name}", cost(_good(SCHEMA, body))
    yield (
        f"pyarrow alone: read {name} unchecked",
        cost(lambda: pa.ipc.read_record_batch(message, SCHEMA.arrow)),
    )
    yield f"pyarrow alone: validate {name} in full", cost(lambda: batch.validate(full=True))
    yield f"events: {name} as Python objects", cost(lambda: list(publication))
    yield f"pyarrow alone: {name} as dictionaries", cost(batch.to_pylist)


def run() -> list[tuple[str, float]]:
    """Every figure, by what was measured."""
    figures = list(_records())
    for rows in SIZES:
        figures += _batches(rows)
    return figures
