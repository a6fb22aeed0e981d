"""The load's batches can be compared, before and after they went through a cluster."""

from __future__ import annotations

from quorumcast.api.feed import Part
from quorumcast.api.items import items_of
from quorumcast.api.tables import to_bodies, to_table
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.outcomes import Delivery
from quorumcast.events import Schema
from quorumcast.lab.ledger import Place
from quorumcast.lab.load import BATCH_EVENTS, EVENT_BYTES, batches_of, prepared

STREAM = Stream("load", "probe-load", bytes(32), Lane.NORMAL)


def test_no_two_events_are_alike() -> None:
    payloads = [
        payload
        for number in (1, 2)
        for batch in prepared(number, batches=2)
        for payload in batch.table.column("payload").to_pylist()
    ]
    assert {len(each) for each in payloads} == {EVENT_BYTES}
    assert len(set(payloads)) == len(payloads) == 4 * BATCH_EVENTS


def test_what_is_polled_is_taken_apart_by_publications() -> None:
    made = prepared(1, batches=3)
    bodies = [body for each in made for body in to_bodies(Schema(), each.table, each.timestamp)]
    assert len(bodies) == 3
    items = list(items_of(Schema(), Delivery(STREAM, 5, tuple(bodies), 4, True)))
    parts = [Part(item, 0, item.rows) for item in items]
    found = batches_of(to_table(Schema(), parts, float("-inf"), lambda *_: None), 7.0)
    assert [each.place for each in found] == [
        Place("load", "probe-load", "00" * 32, "normal", seq, 0) for seq in (5, 6, 7)
    ]
    assert [each.got.digest for each in found] == [each.digest for each in made]
    assert {(each.got.events, each.got.at, each.votes) for each in found} == {(1000, 7.0, 4)}
    assert batches_of(to_table(Schema(), [], float("-inf"), lambda *_: None), 7.0) == []
