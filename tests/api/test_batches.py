"""Batches: those that make themselves by acknowledgements, and those that users bring."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from quorumcast.api import (
    ConfigError,
    Event,
    Publisher,
)
from tests.api.bench import (
    SCHEMA,
    LocalCluster,
    channel,
    receive,
    run,
    turns,
)

# -- batching ----------------------------------------------------------------------------------


async def places(publisher: Publisher, *groups: list[bytes]) -> list[tuple[int, int]]:
    """Send groups of events, some turns of the loop apart; returns each event's seq and row."""
    handles = []
    for group in groups:
        handles += [await publisher.send(payload) for payload in group]
        await turns()
    return [(ack.id.seq, ack.row) for ack in [await handle for handle in handles]]


def test_what_gathers_while_a_publication_is_in_flight_is_the_next_one() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            alerts = await qc.publisher("alerts")
            events = await qc.subscribe("alerts").ready()
            found = await places(alerts, [b"a"], [b"b", b"c"], [b"d"])
            assert found == [(1, 0), (2, 0), (2, 1), (2, 2)]
            received = await receive(events, 4)
            assert [event.payload for event in received] == [b"a", b"b", b"c", b"d"]
            assert [event.rows for event in received] == [1, 3, 3, 3]

    run(scenario)


def test_events_of_one_turn_of_the_loop_are_one_publication() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            alerts = await qc.publisher("alerts")
            found = await places(alerts, [b"%d" % number for number in range(500)])
            assert found == [(1, row) for row in range(500)]

    run(scenario)


def test_single_publications_are_pipelined() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            alerts = await qc.publisher("alerts", batch_events=1)
            found = await places(alerts, [b"a", b"b"], [b"c"], [b"d"])
            assert found == [(1, 0), (2, 0), (3, 0), (4, 0)]

    run(scenario)


def test_a_batch_is_cut_at_its_number_of_events_and_at_its_bytes() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            few = await qc.publisher("alerts", batch_events=2)
            assert await places(few, [b"a"] * 5) == [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0)]
            small = await qc.publisher("alerts", batch_bytes=300)
            assert await places(small, [bytes(100)] * 4) == [(4, 0), (4, 1), (5, 0), (5, 1)]
            assert await places(small, [b"a", bytes(5000), b"b"]) == [(6, 0), (7, 0), (8, 0)]

    run(scenario)


def test_with_linger_an_idle_publisher_waits_for_more() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            alerts = await qc.publisher("alerts", linger_ms=30)
            assert await places(alerts, [b"a"], [b"b"], [b"c"]) == [(1, 0), (1, 1), (1, 2)]
            patient = await qc.publisher("alerts", linger_ms=60_000)
            sent = await patient.send(b"d")
            await patient.flush()
            assert (await sent).id.seq == 2

    run(scenario)


def test_an_event_that_does_not_fit_is_refused_at_once_and_alone() -> None:
    async def scenario() -> None:
        async with LocalCluster(channel(schema=SCHEMA)).client() as qc:
            alerts = await qc.publisher("alerts")
            events = await qc.subscribe("alerts").ready()
            good = await alerts.send(b"a", severity=1)
            with pytest.raises(ConfigError, match="severity"):
                await alerts.send(b"b", severity=1000)
            with pytest.raises(ConfigError, match="'hots' is not an attribute"):
                await alerts.send(b"b", hots="x")
            with pytest.raises(ConfigError, match="payload"):
                await alerts.send("text")  # type: ignore[arg-type]
            with pytest.raises(ConfigError, match="too long"):
                await alerts.send(bytes(9_000_000))
            other = await alerts.send(b"c", host="h")
            assert (await good).id == (await other).id
            received = await receive(events, 2)
            assert [(each["severity"], each["host"]) for each in received] == [
                (1, None),
                (None, "h"),
            ]

    run(scenario)


@pytest.mark.parametrize("setting", ["linger_ms", "batch_bytes", "batch_events", "buffer_bytes"])
def test_settings_out_of_range_are_refused(setting: str) -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            settings: dict[str, Any] = {setting: -1}
            with pytest.raises(ConfigError, match=f"{setting} = -1 is out of range"):
                await qc.publisher("alerts", **settings)

    run(scenario)


# -- batches of the user's ---------------------------------------------------------------------


class Frame:
    """What a data frame of any library shows: a stream of Arrow batches, and a length."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


TABLE = pa.table({"payload": [b"a", b"b", b"c"], "severity": [1, None, 3]})
ROWS = [{"payload": b"a", "severity": 1}, {"payload": b"b"}, {"payload": b"c", "severity": 3}]
EVENTS = [
    Event(row["payload"], timestamp=7, attributes={"severity": row.get("severity")}) for row in ROWS
]


@pytest.mark.parametrize(
    "data",
    [TABLE, TABLE.to_batches()[0], Frame(TABLE), ROWS, EVENTS],
    ids=["table", "batch", "frame", "dicts", "events"],
)
def test_a_batch_is_published_as_one_publication(data: Any) -> None:
    async def scenario() -> None:
        async with LocalCluster(channel(schema=SCHEMA)).client() as qc:
            alerts = await qc.publisher("alerts")
            events = await qc.subscribe("alerts").ready()
            (ack,) = await alerts.publish_batch(data)
            assert (ack.id.seq, ack.row, ack.rows) == (1, 0, 3)
            received = await receive(events, 3)
            assert [each.payload for each in received] == [b"a", b"b", b"c"]
            assert [each["severity"] for each in received] == [1, None, 3]
            assert len({each.timestamp for each in received}) == 1

    run(scenario)


def test_a_batch_that_is_too_large_for_one_publication_is_several() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            alerts = await qc.publisher("alerts")
            table = pa.table({"payload": [bytes(1_000_000)] * 20})
            acks = await alerts.publish_batch(table)
            assert len(acks) > 1
            assert sum(ack.rows for ack in acks) == 20
            assert [ack.id.seq for ack in acks] == list(range(1, len(acks) + 1))

    run(scenario)


def test_a_batch_comes_after_what_was_sent_before() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            alerts = await qc.publisher("alerts")
            events = await qc.subscribe("alerts").ready()
            await alerts.send(b"a")
            handles = await alerts.send_batch([{"payload": b"b"}, {"payload": b"c"}])
            await alerts.send(b"d")
            assert (await handles[0]).rows == 2
            assert [each.payload for each in await receive(events, 4)] == [b"a", b"b", b"c", b"d"]
            assert await alerts.publish_batch([]) == []

    run(scenario)


def test_what_is_no_batch_is_refused_with_what_would_be() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            alerts = await qc.publisher("alerts")
            with pytest.raises(ConfigError, match="int is no batch: use a pyarrow Table"):
                await alerts.publish_batch(5)

    run(scenario)
