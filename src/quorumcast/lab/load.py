"""A generator of load: every second a burst of small events, as fast as the cluster takes them.

It is made-up content, and the demo says so. Events go in batches of a thousand, which is what a
busy publisher sends by itself.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any, NamedTuple

from quorumcast.events.arrow import ArrowTable, arrow_type, pyarrow
from quorumcast.lab.ledger import Got, Place, rows_digest

LOAD = "load"
PUBLISHER = "probe-load"

BATCH_EVENTS = 1000
BURST_BATCHES = 20
EVENT_BYTES = 56
EVERY_SECONDS = 1.0


class Prepared(NamedTuple):
    """One batch before it is published: a table, its timestamp, a digest of its content."""

    table: Any
    timestamp: int
    digest: bytes


def prepared(number: int, batches: int = BURST_BATCHES) -> list[Prepared]:
    """The batches of a burst, no two events of which are alike.

    >>> [each.table.num_rows for each in prepared(1, batches=2)]
    [1000, 1000]
    """
    pa = pyarrow()
    made: list[Prepared] = []
    for batch in range(batches):
        at = time.time_ns() // 1000
        head = b"burst %d batch %d event " % (number, batch)
        payloads = [(head + b"%d " % row).ljust(EVENT_BYTES, b".") for row in range(BATCH_EVENTS)]
        column = pa.array(payloads, arrow_type("binary"))
        table = pa.RecordBatch.from_arrays([column], names=["payload"])
        made.append(Prepared(table, at, rows_digest(payloads, [at] * BATCH_EVENTS)))
    return made


class Batch(NamedTuple):
    """One publication of the load as it was delivered."""

    place: Place
    got: Got
    votes: int


def batches_of(table: ArrowTable, at: float) -> list[Batch]:
    """The publications in a polled table."""
    compute = pyarrow().compute
    firsts = compute.indices_nonzero(compute.equal(table.column("row"), 0)).to_pylist()
    spans = pairwise([*firsts, table.num_rows])
    return [_batch(table.slice(first, end - first), at) for first, end in spans]


def _batch(rows: ArrowTable, at: float) -> Batch:
    first = rows.slice(0, 1).to_pylist()[0]
    place = Place(*(first[name] for name in Place._fields))
    times = rows.column("timestamp").cast(arrow_type("int64")).to_pylist()
    digest = rows_digest(rows.column("payload").to_pylist(), times)
    return Batch(place, Got(digest, rows.num_rows, at), first["votes"])
