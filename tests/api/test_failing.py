"""When publishing does not work: no quorum, no right, no room, no client any more."""

from __future__ import annotations

import asyncio

import pytest

from quorumcast.api import (
    Ack,
    Closed,
    ConfigError,
    NoQuorum,
    NotAllowed,
)
from quorumcast.core.ids import Lane
from tests.api.bench import (
    LocalCluster,
    channel,
    hub_of,
    receive,
    run,
    turns_until,
)

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
        assert "r1, r3: connection refused" in text

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


def test_what_was_refused_is_not_published_later_and_a_right_counts_without_newer_channels() -> (
    None
):
    """The client and two replicas know of its right already; the others learn it a moment later."""

    async def scenario() -> None:
        cluster = LocalCluster()
        allowed = channel(publishers=("stranger",)).channel

        def learn(*names: str) -> None:
            for name in names:
                cluster.drivers[name].call(cluster.replica(name).learn, [allowed])

        learn("r1", "r4")
        qc = await cluster.client("stranger").start()
        events = await qc.subscribe("alerts", from_="earliest").ready()
        alerts = await qc.publisher("alerts")
        lingering = await qc.publisher("alerts", linger_ms=60_000)
        gathered = await lingering.send(b"gathered")
        with pytest.raises(NotAllowed):
            await alerts.publish(b"refused")
        with pytest.raises(NotAllowed):
            await gathered
        learn("r2", "r3")
        tries = 0
        while True:
            try:
                await alerts.publish(b"%d" % tries)
                break
            except NotAllowed:  # who tries in a loop does not bother the replicas
                tries += 1
                await asyncio.sleep(0.01)
        assert tries > 10
        assert (await anext(events)).payload == b"%d" % tries
        await alerts.publish(b"last")
        assert (await anext(events)).payload == b"last"
        await qc.close()

    run(scenario)


def test_publications_under_way_when_a_right_is_taken_have_an_unknown_outcome() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        qc = await cluster.client().start()
        alerts = await qc.publisher("alerts", batch_events=1)
        await alerts.publish(b"before")
        lane = hub_of(qc)._party._publisher._lanes["alerts", Lane.NORMAL]
        under_way = await alerts.send(b"a")
        await turns_until(lambda: lane.placed == 2)
        cluster.stop("r1")  # before its acknowledgement arrives
        cluster.stop("r2")
        for name in ("r3", "r4"):
            replica = cluster.replica(name)
            cluster.drivers[name].call(replica.learn, [channel(publishers=("other",)).channel])
        with pytest.raises(NoQuorum, match="its outcome is unknown"):
            await under_way
        with pytest.raises(NotAllowed):
            await alerts.publish(b"b")
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
