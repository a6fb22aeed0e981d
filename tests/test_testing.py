"""The fixture that users' own tests take: a cluster that runs."""

from __future__ import annotations

import asyncio

import quorumcast
from quorumcast.testing import RunningCluster, quorumcast_cluster

__all__ = ["quorumcast_cluster"]


def test_an_event_goes_through_it(quorumcast_cluster: RunningCluster) -> None:
    async def scenario() -> None:
        async with quorumcast.connect(quorumcast_cluster.identity("probe")) as qc:
            subscription = await qc.subscribe("alerts").ready()
            publisher = await qc.publisher("alerts")
            ack = await publisher.publish(b"disk failing", key="db-3")
            event = await anext(subscription)
            assert (event.publisher, event.payload, event.key) == ("probe", b"disk failing", "db-3")
            assert ack.replicas >= 2

    asyncio.run(scenario())


def test_a_replica_may_crash(quorumcast_cluster: RunningCluster) -> None:
    quorumcast_cluster.kill("r2")
    with quorumcast.Client(quorumcast_cluster.identity("local")) as qc:
        assert qc.publisher("events").publish(b"on three of four").replicas >= 2
    quorumcast_cluster.start("r2")
    quorumcast_cluster.stop("r3")
    quorumcast_cluster.start("r3")


def test_names_are_looked_up_when_they_are_used() -> None:
    assert "connect" in dir(quorumcast)
    assert quorumcast.NoQuorum.__name__ == "NoQuorum"
    assert not hasattr(quorumcast, "nothing")
