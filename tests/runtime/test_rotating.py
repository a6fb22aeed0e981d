"""Incarnations last a day: then a replica begins another one, and what it said stays valid."""

from __future__ import annotations

import time

import pytest

from quorumcast.api.client import connect
from quorumcast.runtime import server as module
from quorumcast.runtime.folder import make_cluster
from quorumcast.runtime.server import Server
from tests.runtime.kit import run, short_folder

LIFE_SECONDS = 0.3


def valid(server: Server) -> set[int]:
    """The counters of the incarnations in whose sessions a replica votes."""
    return {each.counter for each in server._replica.replicas.valid}


def test_a_life_ends_after_its_time_and_old_sessions_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LIFE_SECONDS", LIFE_SECONDS)

    async def work() -> None:
        with short_folder() as folder:
            place = folder / "c"
            make_cluster(place, replicas=1, faults=0, addresses=[f"unix://{folder}/r1"])
            server = Server(place, "r1")
            await server.start()
            try:
                async with connect(place / "local.qc") as qc:
                    publisher = await qc.publisher("events")
                    begun = time.monotonic()
                    acks = [await publisher.publish(b"0")]
                    while len({ack.id.session for ack in acks}) < 2:
                        assert time.monotonic() - begun < 20.0
                        acks.append(await publisher.publish(b"%d" % len(acks)))
                    assert len(valid(server)) >= 2  # the earlier one is valid still
                    async with qc.subscribe("events", from_="earliest") as events:
                        got = [await anext(events) for _ in acks]
                    assert [each.payload for each in got] == [b"%d" % n for n in range(len(acks))]
            finally:
                await server.stop()
            before = valid(server)
            again = Server(place, "r1")
            await again.start()
            try:
                assert before <= valid(again)
            finally:
                await again.stop()

    run(work)
