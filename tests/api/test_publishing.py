"""Publishing: acknowledgements, batches by acknowledgements, back-pressure, errors with advice."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from quorumcast.api import (
    Ack,
    Closed,
    ConfigError,
    Event,
    NoQuorum,
    NotAllowed,
    Publisher,
    Received,
    Subscription,
)
from quorumcast.core.ids import Lane
from tests.api.bench import SCHEMA, LocalCluster, channel, run


async def turns(count: int = 3) -> None:
    """Let the loop come round a few times."""
    for _ in range(count):
        await asyncio.sleep(0)


async def receive(subscription: Subscription, count: int) -> list[Received]:
    return [await anext(subscription) for _ in range(count)]


# -- acknowledgements --------------------------------------------------------------------------


def test_publish_returns_what_is_safe_where() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            alerts = await qc.publisher("alerts")
            first = await alerts.publish(b"one")
            second = await alerts.publish(b"two")
            assert (first.id.channel, first.id.publisher) == ("alerts", "probe")
            assert (first.id.lane, first.id.seq, first.row) == (Lane.NORMAL, 1, 0)
            assert second.id == first.id._replace(seq=2)
            assert first.replicas >= 3
            assert (first.level, first.rows) == ("memory", 1)

    run(scenario)


def test_a_handle_can_be_awaited_asked_and_confirmed() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            alerts = await qc.publisher("alerts")
            handle = await alerts.send(b"one")
            assert not handle.done
            assert handle.ack is None
            ack = await handle
            assert handle.done
            assert handle.ack == ack
            assert not ack.confirmed
            later = await handle.confirmed()
            assert later.confirmed
            assert later.id == ack.id

    run(scenario)


def test_urgent_events_have_a_lane_of_their_own() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            alerts = await qc.publisher("alerts")
            events = await qc.subscribe("alerts").ready()
            ack = await alerts.publish(b"now", urgent=True)
            assert (ack.id.lane, ack.id.seq) == (Lane.URGENT, 1)
            assert (await alerts.publish(b"later")).id.seq == 1
            received = {event.payload: event for event in await receive(events, 2)}
            assert received[b"now"].urgent
            assert not received[b"later"].urgent

    run(scenario)


def test_attributes_key_and_time_arrive_as_they_were_given() -> None:
    async def scenario() -> None:
        async with LocalCluster(channel(schema=SCHEMA)).client() as qc:
            alerts = await qc.publisher("alerts")
            events = await qc.subscribe("alerts").ready()
            at = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
            await alerts.publish(b"disk", key="db-3", timestamp=at, severity=5, host="db")
            (event,) = await receive(events, 1)
            assert (event.payload, event.key, event.time) == (b"disk", "db-3", at)
            assert (event["severity"], event["host"]) == (5, "db")
            assert (event.publisher, event.seq, event.row, event.rows) == ("probe", 1, 0, 1)
            assert event.votes >= 3
            assert event.error is None

    run(scenario)


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


# -- when it does not work ---------------------------------------------------------------------


def test_without_a_quorum_the_outcome_is_unknown_and_the_error_says_who_is_missing() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        qc = await cluster.client().start()
        alerts = await qc.publisher("alerts", timeout=0.1)
        await alerts.publish(b"a")
        cluster.stop("r1")
        cluster.stop("r3")
        with pytest.raises(NoQuorum, match="its outcome is unknown") as caught:
            await alerts.publish(b"b")
        text = str(caught.value)
        assert "2 of 4 replicas are reached and 3 are needed" in text
        assert "r1: connection refused; r3: connection refused" in text

        events = qc.subscribe("alerts", from_="earliest")
        cluster.start("r3")  # unknown means that it may happen still
        assert [each.payload for each in await receive(events, 2)] == [b"a", b"b"]
        await qc.close()

    run(scenario)


def test_send_waits_while_too_much_is_not_acknowledged() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        qc = await cluster.client().start()
        alerts = await qc.publisher("alerts", buffer_bytes=200, timeout=5.0)
        impatient = await qc.publisher("alerts", buffer_bytes=200, timeout=0.05)
        cluster.stop("r1")
        cluster.stop("r2")
        for _ in range(2):
            await alerts.send(bytes(100))
            await impatient.send(bytes(100))
        blocked = asyncio.ensure_future(alerts.send(b"third"))
        with pytest.raises(NoQuorum, match="no room came free in time"):
            await impatient.send(b"third")
        assert not blocked.done()
        cluster.start("r1")
        assert (await (await blocked)).replicas >= 3
        await qc.close()

    run(scenario)


def test_flush_waits_for_all_and_raises_the_first_failure() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        qc = await cluster.client().start()
        alerts = await qc.publisher("alerts", timeout=0.1)
        handles = [await alerts.send(b"%d" % number) for number in range(10)]
        await alerts.flush()
        assert all(handle.done for handle in handles)
        cluster.stop("r1")
        cluster.stop("r2")
        await alerts.send(b"late")
        with pytest.raises(NoQuorum, match="not everything is acknowledged in time"):
            await alerts.flush()
        await qc.close()

    run(scenario)


def test_who_may_not_publish_is_told_so_and_how_to_change_it() -> None:
    async def scenario() -> None:
        qc = await LocalCluster().client("stranger").start()
        alerts = await qc.publisher("alerts")
        with pytest.raises(
            NotAllowed, match="stranger may not publish on alerts: ask the operator"
        ):
            await alerts.publish(b"a")
        with pytest.raises(NotAllowed):  # and does not have to wait for it again
            await alerts.publish(b"b")
        await alerts.send(b"c")
        with pytest.raises(NotAllowed):
            await alerts.flush()
        await alerts.flush()  # a failure is raised once
        await qc.close()

    run(scenario)


def test_a_channel_that_is_full_is_named_when_time_is_over() -> None:
    async def scenario() -> None:
        cluster = LocalCluster(channel(max_publishers=1))
        async with cluster.client("probe") as one:
            await (await one.publisher("alerts")).publish(b"a")
            other = await cluster.client("other").start()
            late = await other.publisher("alerts", timeout=0.2)
            with pytest.raises(NoQuorum, match="alerts takes 1 publishers, and has them"):
                await late.publish(b"b")
            await other.close()

    run(scenario)


def test_an_unknown_channel_lists_those_that_exist() -> None:
    async def scenario() -> None:
        async with LocalCluster(channel("alerts"), channel("logs")).client() as qc:
            with pytest.raises(
                ConfigError, match="there is no channel alert; there are: alerts, logs"
            ):
                await qc.publisher("alert")

    run(scenario)


def test_after_the_end_nothing_is_taken() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            alerts = await qc.publisher("alerts")
            async with alerts:
                sent = await alerts.send(b"a")
            assert sent.done
            with pytest.raises(Closed, match="ask the client for another"):
                await alerts.send(b"b")
            again = await qc.publisher("alerts")
            await again.publish(b"c")
        with pytest.raises(Closed, match="the client probe is closed: connect again"):
            await again.publish(b"d")
        with pytest.raises(Closed):
            await qc.publisher("alerts")

    run(scenario)


def test_leaving_a_client_flushes_and_closing_one_does_not() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        async with cluster.client() as qc:
            alerts = await qc.publisher("alerts", linger_ms=60_000)
            sent = await alerts.send(b"a")
        assert isinstance(sent.ack, Ack)
        qc = await cluster.client().start()
        alerts = await qc.publisher("alerts", linger_ms=60_000)
        sent = await alerts.send(b"b")
        await qc.close()
        with pytest.raises(Closed, match="its outcome is unknown; flush before you close"):
            await sent

    run(scenario)


# -- what others do ----------------------------------------------------------------------------


@pytest.mark.parametrize("lie", ["alter", "withhold", "double-vote", "wrong-chains", "silent"])
def test_a_lying_replica_changes_nothing(lie: str) -> None:
    async def scenario() -> None:
        cluster = LocalCluster(liars={"r4": lie})
        async with cluster.client("probe") as writer, cluster.client("screen") as reader:
            alerts = await writer.publisher("alerts", batch_events=1)
            events = await reader.subscribe("alerts").ready()
            sent = [b"%d" % number for number in range(50)]
            for payload in sent:
                await alerts.publish(payload)
            assert [each.payload for each in await receive(events, 50)] == sent
        if lie != "silent":
            assert cluster.plot.actions > 0

    run(scenario)


def test_publishing_goes_on_while_replicas_come_and_go() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        async with cluster.client() as qc:
            alerts = await qc.publisher("alerts", batch_events=1)
            events = await qc.subscribe("alerts").ready()
            for name in ("r1", "r2", "r3", "r4"):
                cluster.stop(name)
                for number in range(5):
                    await alerts.publish(b"%s/%d" % (name.encode(), number))
                cluster.start(name)
            expected = [f"r{n}/{number}".encode() for n in range(1, 5) for number in range(5)]
            assert [each.payload for each in await receive(events, 20)] == expected

    run(scenario)
