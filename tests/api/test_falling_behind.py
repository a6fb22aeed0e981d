"""A reader that is slow, late or overtaken: each policy, age, gaps."""

from __future__ import annotations

from typing import Any

import pytest

from quorumcast.api import (
    ConfigError,
    Gap,
    NoQuorum,
    NotAllowed,
)
from quorumcast.core.channel import Retention
from quorumcast.runtime.channels import Queue
from tests.api.bench import (
    LocalCluster,
    channel,
    hub_of,
    publish,
    run,
    texts,
    turns_until,
)

# -- falling behind ----------------------------------------------------------------------------


def test_a_slow_reader_lags_and_gets_everything_once() -> None:
    async def scenario() -> None:
        cluster = LocalCluster(channel(queue=Queue(events=20)))
        async with cluster.client("probe") as writer, cluster.client("screen") as reader:
            slow = await reader.subscribe("alerts").ready()
            await publish(writer, "x" * 50)
            assert slow.lagging
            before = slow.waiting
            publisher = await writer.publisher("alerts", batch_events=1)
            sent = [b"%d" % number for number in range(500)]
            for payload in sent:
                await publisher.publish(payload)
            assert slow.waiting == before, "replicas pause, and nobody else waits for it"
            assert await texts(slow, 50) == "x" * 50
            assert [(await anext(slow)).payload for _ in range(500)] == sent
            assert (slow.dropped, slow.waiting) == (0, 0)

    run(scenario)


def test_a_slow_reader_of_large_bodies_lags_before_it_has_many() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        async with cluster.client("probe") as writer, cluster.client("screen") as reader:
            slow = await reader.subscribe("alerts", queue_bytes=500_000).ready()
            publisher = await writer.publisher("alerts", batch_events=1)
            large = [bytes([number]) * 100_000 for number in range(30)]
            for payload in large:
                await publisher.publish(payload)
            assert slow.lagging
            assert slow.waiting < 10
            assert [event.payload for event in [await anext(slow) for _ in large]] == large
            assert (slow.dropped, slow.lagging) == (0, False)

    run(scenario)


def test_a_slow_reader_can_drop_the_oldest() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        async with cluster.client("probe") as writer, cluster.client("screen") as reader:
            events = reader.subscribe("alerts", queue_events=3, overflow="drop-oldest")
            await events.ready()
            await publish(writer, "abcdefgh")
            await turns_until(lambda: events.dropped == 5)
            assert await texts(events, 3) == "fgh"
            assert not events.lagging

    run(scenario)


def test_a_slow_reader_can_drop_the_newest() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        async with cluster.client("probe") as writer, cluster.client("screen") as reader:
            events = reader.subscribe("alerts", queue_events=3, overflow="drop-newest")
            await events.ready()
            await publish(writer, "abcdefgh")
            await turns_until(lambda: events.dropped == 5)
            assert await texts(events, 3) == "abc"
            await publish(writer, "i")
            assert await texts(events, 1) == "i"

    run(scenario)


def test_only_those_whom_the_channel_trusts_may_block_it() -> None:
    async def scenario() -> None:
        trusting = channel(trusted_subscribers=("scr*",))
        cluster = LocalCluster(trusting)
        async with cluster.client("screen") as reader, cluster.client("stranger") as other:
            reader.subscribe("alerts", overflow="block")
            with pytest.raises(NotAllowed, match='stranger may not .* use "lag", or ask'):
                other.subscribe("alerts", overflow="block")

    run(scenario)


def test_where_a_channel_says_block_those_who_may_not_lag() -> None:
    async def scenario() -> None:
        cluster = LocalCluster(channel(trusted_subscribers=("screen",), queue=Queue(5, "block")))
        async with cluster.client("probe") as writer, cluster.client("stranger") as other:
            slow = await other.subscribe("alerts").ready()
            await publish(writer, "abcdefghijklm")
            assert slow.lagging
            assert await texts(slow, 13) == "abcdefghijklm"

    run(scenario)


@pytest.mark.parametrize("bound", ["queue_events", "queue_bytes"])
def test_a_queue_has_room_for_something(bound: str) -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            nothing: dict[str, Any] = {bound: 0}
            with pytest.raises(ConfigError, match=f"{bound} = 0 is out of range: use 1 or more"):
                qc.subscribe("alerts", **nothing)

    run(scenario)


def test_replicas_refuse_to_wait_for_who_is_not_trusted_whatever_its_client_thinks() -> None:
    async def scenario() -> None:
        cluster = LocalCluster(channel(trusted_subscribers=("screen",)))
        other = cluster.client("stranger")
        mine = channel(trusted_subscribers=("*",))
        async with other:
            hub_of(other).settings["alerts"] = mine
            hub_of(other).learn([mine])
            events = other.subscribe("alerts", overflow="block")
            with pytest.raises(NotAllowed, match="stranger may not subscribe to alerts with over"):
                await events.ready()

    run(scenario)


def test_a_slow_reader_that_is_trusted_can_let_publishers_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quorumcast.client.reading.SUBSCRIBER_WINDOW", 50)
    monkeypatch.setattr("quorumcast.broker.subscriptions.READ_POSITIONS", 50)
    most = 20 + 2 * 50

    async def scenario() -> None:
        trusting = channel(trusted_subscribers=("screen",), queue=Queue(20, "block"))
        cluster = LocalCluster(trusting)
        async with cluster.client("probe") as writer, cluster.client("screen") as reader:
            slow = await reader.subscribe("alerts").ready()
            publisher = await writer.publisher(
                "alerts", batch_events=1, buffer_bytes=20_000, timeout=0.2
            )
            sent: list[bytes] = []

            async def send_all() -> None:
                for number in range(5000):
                    await publisher.send(b"%d" % number)
                    sent.append(b"%d" % number)

            with pytest.raises(NoQuorum, match="a trusted subscriber lets the channel wait"):
                await send_all()
            with pytest.raises(NoQuorum, match="a trusted subscriber lets the channel wait"):
                await publisher.flush()
            assert slow.lagging
            assert slow.waiting <= most
            got = [(await anext(slow)).payload for _ in sent]
            assert got == sent
            assert slow.dropped == 0
            await publisher.publish(b"after")
            with pytest.raises(NoQuorum) as caught:
                raise hub_of(writer).no_quorum("no answer", 3, "alerts")
            assert "trusted" not in str(caught.value), "it is over, and nobody is told of it"

    run(scenario)


def test_events_beyond_the_channels_ttl_are_passed_over() -> None:
    async def scenario() -> None:
        async with LocalCluster(channel(ttl_seconds=60.0)).client() as qc:
            events = await qc.subscribe("alerts").ready()
            await publish(qc, "a", timestamp=1)
            await publish(qc, "b")
            assert await texts(events, 1) == "b"
            assert events.expired == 1

    run(scenario)


@pytest.mark.parametrize("policy", ["fail", "continue"])
@pytest.mark.parametrize("start", ["earliest", "cursor"])
def test_a_gap_is_raised_or_skipped_as_the_subscription_says(policy: Any, start: str) -> None:
    """The earliest is what is there; who read the first event and comes back missed something."""

    async def scenario() -> None:
        short = channel(alpha=2, retention=Retention(events=4))
        cluster = LocalCluster(short)
        async with cluster.client("probe") as writer, cluster.client("screen") as reader:
            await publish(writer, "a")
            events = reader.subscribe("alerts", from_="earliest")
            assert await texts(events, 1) == "a"
            cursor = events.cursor
            await events.close()
            await publish(writer, "bcdefghijkl")
            for name in cluster.names:
                retention = cluster.replica(name).desks["alerts"].retention
                cluster.drivers[name].call(retention.enforce)
            from_ = cursor if start == "cursor" else start
            events = reader.subscribe("alerts", from_=from_, on_gap=policy)
            if policy == "fail" and start == "cursor":
                with pytest.raises(Gap, match="are gone from the replicas: read on") as caught:
                    await anext(events)
                assert caught.value.first == 2
            first = await anext(events)
            assert first.seq > 1
            rest = "abcdefghijkl"[first.seq :]
            assert await texts(events, len(rest)) == rest

    run(scenario)
