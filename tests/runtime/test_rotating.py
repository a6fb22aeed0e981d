"""Incarnations last a day: then a replica begins another one, and what it said stays valid."""

from __future__ import annotations

import asyncio
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


def test_a_life_that_begun_in_the_future_is_no_longer_than_others() -> None:
    """It was born while the host's clock ran ahead."""

    async def work() -> None:
        with short_folder() as folder:
            place = folder / "c"
            make_cluster(place, replicas=1, faults=0, addresses=[f"unix://{folder}/r1"])
            server = Server(place, "r1")
            await server.start()
            try:
                server._rotate_later(time.time() + 30 * module.LIFE_SECONDS)
                assert server._rotating is not None
                wait = server._rotating.when() - asyncio.get_running_loop().time()
                assert wait <= module.LIFE_SECONDS + 0.001
            finally:
                await server.stop()

    run(work)


class Ending:
    """A link that takes its time to end, or fails to."""

    def __init__(self, others: asyncio.Barrier, error: Exception | None = None) -> None:
        self._others = others
        self._error = error

    async def close(self) -> None:
        await self._others.wait()
        if self._error is not None:
            raise self._error


def test_links_end_together_and_the_journal_is_closed_whatever_happens() -> None:
    async def work() -> None:
        with short_folder() as folder:
            place = folder / "c"
            make_cluster(place, replicas=1, faults=0, addresses=[f"unix://{folder}/r1"])
            server = Server(place, "r1")
            await server.start()
            together = asyncio.Barrier(3)  # each ends only when all are ending
            errors = (None, OSError("it fails"), None)
            server._dialled += [Ending(together, each) for each in errors]  # type: ignore[list-item]
            with pytest.raises(OSError, match="it fails"):
                await server.stop()
            again = Server(place, "r1")  # the journal has one owner at a time
            await again.start()
            await again.stop()

    run(work)
