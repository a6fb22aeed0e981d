"""Publishing: what an acknowledgement says, and what others cannot change."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from quorumcast.core.ids import Lane
from tests.api.bench import (
    SCHEMA,
    LocalCluster,
    channel,
    receive,
    run,
)

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


@pytest.mark.parametrize("protocol", ["ab", "bracha", "plain"])
def test_a_handle_can_be_awaited_asked_and_confirmed(protocol: str) -> None:
    async def scenario() -> None:
        async with LocalCluster(channel(protocol=protocol)).client() as qc:
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
            assert alerts._normal._flights == {}, "nothing more is to be remembered of it"

    run(scenario)


def test_where_nothing_is_confirmed_nothing_is_waited_for() -> None:
    async def scenario() -> None:
        async with LocalCluster(channel(confirm=False)).client() as qc:
            alerts = await qc.publisher("alerts")
            await alerts.publish(b"one")
            assert alerts._normal._flights == {}

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
            accused = {name for each in reader.evidence for name in each.parties}
            assert accused <= {"r4"}
            if lie == "double-vote":
                assert accused
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
