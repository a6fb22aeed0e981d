"""A replica's socket: who gets in, how many, and how it ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest

from quorumcast.auth.handshake import Denied
from quorumcast.core.errors import AuthError, ConfigError
from quorumcast.core.messages import AskHeads
from quorumcast.runtime.addresses import Address, Tcp, Unix
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.listening import Listening
from tests.runtime.kit import (
    LOOPS,
    PLACES,
    Heard,
    Loops,
    Stranger,
    addresses,
    credentials,
    entropy,
    run,
)


def listen(
    address: Address,
    sink: Heard,
    bounds: Bounds | None = None,
    revoked: Callable[[str], bool] = lambda party: False,
) -> Listening:
    return Listening(
        address,
        credentials("r1"),
        sink,
        loop=asyncio.get_running_loop(),
        entropy=entropy("r1"),
        bounds=bounds,
        revoked=revoked,
    )


async def enter(listening: Listening, name: str) -> Stranger:
    stranger = await Stranger.at(listening.address)
    await stranger.shake(credentials(name), "r1", os.urandom(32))
    return stranger


@LOOPS
@PLACES
def test_it_listens_and_leaves_nothing_behind(loops: Loops, place: str) -> None:
    async def work() -> None:
        with addresses(place) as (address,):
            sink = Heard()
            listening = listen(address, sink)
            await listening.start()
            if isinstance(listening.address, Tcp):
                assert listening.address.port != 0
            await enter(listening, "probe-1")
            await listening.close()
            assert [link.party for link in sink.down] == ["probe-1"]
            assert listening.links == set()
            with pytest.raises(OSError, match=".*"):
                await Stranger.at(listening.address)
            if isinstance(address, Unix):
                assert os.listdir(address.path.rpartition("/")[0]) == []

    run(work, loops)


@LOOPS
def test_a_socket_that_a_dead_process_left_is_taken_over(loops: Loops) -> None:
    async def work() -> None:
        with addresses("unix") as (address,):
            assert isinstance(address, Unix)
            dead = await asyncio.start_unix_server(lambda reader, writer: None, address.path)
            for each in dead.sockets:
                os.close(os.dup(each.fileno()))
            dead.close()
            listening = listen(address, Heard())
            await listening.start()
            await enter(listening, "probe-1")
            await listening.close()

    run(work, loops)


def test_an_address_that_cannot_be_had_is_named() -> None:
    async def work() -> None:
        first = listen(Tcp("127.0.0.1", 0), Heard())
        await first.start()
        second = listen(first.address, Heard())
        with pytest.raises(ConfigError, match=f"r1 cannot listen at {first.address}: "):
            await second.start()
        await first.close()
        nowhere = listen(Unix("/nonexistent/r1.sock"), Heard())
        with pytest.raises(ConfigError, match="cannot listen at unix:///nonexistent/r1.sock"):
            await nowhere.start()

    run(work)


@LOOPS
def test_of_too_many_strangers_the_oldest_goes(loops: Loops) -> None:
    async def work() -> None:
        sink = Heard()
        listening = listen(Tcp("127.0.0.1", 0), sink, Bounds(strangers=3))
        await listening.start()
        strangers = [await Stranger.at(listening.address) for _ in range(40)]
        for stranger in strangers[:37]:
            assert await stranger.ended() == b""
        assert listening.strangers == 3
        # In spite of them somebody who is quick comes in, and those who came stay in.
        for name in ("probe-1", "probe-2", "screen-1"):
            await enter(listening, name)
        strangers = [await Stranger.at(listening.address) for _ in range(10)]
        await strangers[6].ended()
        assert {link.party for link in listening.links} == {"probe-1", "probe-2", "screen-1"}
        assert sink.down == []
        await listening.close()
        assert listening.strangers == 0

    run(work, loops)


def test_of_too_many_clients_the_last_is_told_so_and_replicas_come_in() -> None:
    async def work() -> None:
        sink = Heard()
        listening = listen(Tcp("127.0.0.1", 0), sink, Bounds(connections=2))
        await listening.start()
        await enter(listening, "probe-1")
        second = await enter(listening, "probe-2")
        with pytest.raises(Denied, match="it serves as many clients as it can"):
            await enter(listening, "screen-1")
        await enter(listening, "r2")
        await enter(listening, "probe-1")  # it may come anew
        second.close()
        await sink.until(lambda: sink.down)
        for link in [link for link in listening.links if link.party == "probe-1"]:
            link.close()
        await sink.until(lambda: len(sink.down) == 3)
        await enter(listening, "screen-1")
        await listening.close()

    run(work)


def test_a_revoked_name_stays_out_and_goes_when_it_is_in() -> None:
    async def work() -> None:
        sink = Heard()
        revoked: set[str] = {"probe-2"}
        listening = listen(Tcp("127.0.0.1", 0), sink, revoked=revoked.__contains__)
        await listening.start()
        first = await enter(listening, "probe-1")
        with pytest.raises(Denied, match="this name is revoked"):
            await enter(listening, "probe-2")
        assert [link.party for link in sink.up] == ["probe-1"]
        other = await enter(listening, "screen-1")
        revoked.add("probe-1")
        listening.expel()
        await first.ended()
        await sink.until(lambda: sink.down)
        with pytest.raises(AuthError):
            await enter(listening, "probe-1")
        other.say(other.sealer.seal([AskHeads("alerts", 1)]))
        await sink.until(lambda: sink.said)
        await listening.close()

    run(work)
