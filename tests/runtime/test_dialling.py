"""Keeping a link up: late servers, lost links, refusals, pauses between attempts."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest

from quorumcast.auth.handshake import Denied
from quorumcast.core.errors import AuthError
from quorumcast.core.messages import AskHeads
from quorumcast.runtime.addresses import Address, Tcp
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.dialling import Backoff, Dialling
from quorumcast.runtime.listening import Listening
from tests.runtime.kit import (
    LOOPS,
    PLACES,
    Heard,
    Loops,
    Signal,
    addresses,
    credentials,
    entropy,
    run,
)


def listen(
    address: Address, sink: Heard, name: str = "r1", revoked: Callable[[str], bool] | None = None
) -> Listening:
    return Listening(
        address,
        credentials(name),
        sink,
        loop=asyncio.get_running_loop(),
        entropy=entropy(name),
        revoked=revoked or (lambda party: False),
    )


class Failures(Signal):
    """What a dialling says of its attempts."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[Exception] = []

    def __call__(self, party: str, error: Exception) -> None:
        assert party == "r1"
        self.errors.append(error)
        self.changed()


def dial(
    address: Address,
    sink: Heard,
    failures: Failures | None = None,
    bounds: Bounds | None = None,
) -> Dialling:
    made = Dialling(
        address,
        "r1",
        credentials("probe-1"),
        sink,
        loop=asyncio.get_running_loop(),
        entropy=entropy("dial"),
        bounds=bounds or Bounds(backoff_seconds=0.001),
    )
    if failures is not None:
        made.on_failure = failures
    made.start()
    return made


@LOOPS
@PLACES
def test_a_link_that_is_lost_comes_back(loops: Loops, place: str) -> None:
    async def work() -> None:
        with addresses(place) as (address,):
            there, here, failures = Heard(), Heard(), Failures()
            listening = listen(address, there)
            await listening.start()
            dialling = dial(listening.address, here, failures)
            for count in range(1, 6):
                await here.until(lambda count=count: len(here.up) == count)
                await there.until(lambda count=count: len(there.up) == count)
                here.up[-1].send([AskHeads("alerts", count)])
                await there.until(lambda count=count: len(there.said) == count)
                assert there.said[-1] == ("probe-1", AskHeads("alerts", count))
                if count % 2:
                    assert dialling.link is not None
                    dialling.link.abort()
                else:
                    there.up[-1].close()
                await here.until(lambda count=count: len(here.down) == count)
            await here.until(lambda: len(here.up) == 6)
            assert len(failures.errors) == 5
            await dialling.close()
            assert dialling.link is None
            await there.until(lambda: len(there.down) == 6)
            assert len(here.up) == 6
            await listening.close()

    run(work, loops)


@LOOPS
@PLACES
def test_a_server_that_comes_later_is_found(loops: Loops, place: str) -> None:
    async def work() -> None:
        with addresses(place) as (address,):
            there, here, failures = Heard(), Heard(), Failures()
            listening = listen(address, there)
            if isinstance(address, Tcp):  # a port that was free a moment ago
                await listening.start()
                await listening.close()
            dialling = dial(listening.address, here, failures)
            await failures.until(lambda: len(failures.errors) >= 3)
            assert all(isinstance(error, OSError) for error in failures.errors)
            assert dialling.failure is failures.errors[-1]
            await listening.start()
            await here.until(lambda: here.up)
            assert here.up[0].party == "r1"
            assert dialling.failure is None
            await dialling.close()
            await listening.close()

    run(work, loops)


def test_what_was_sent_arrives_before_a_link_is_closed() -> None:
    async def work() -> None:
        with addresses("tcp") as (address,):
            there, here = Heard(), Heard()
            listening = listen(address, there)
            await listening.start()
            dialling = dial(listening.address, here)
            await here.until(lambda: here.up)
            here.up[0].send([AskHeads("alerts", number) for number in range(1000)])
            await dialling.close()
            await there.until(lambda: there.down)
            assert len(there.said) == 1000
            await listening.close()

    run(work)


def test_a_refusal_is_reported_and_tried_again() -> None:
    async def work() -> None:
        with addresses("tcp") as (address,):
            there, here, failures = Heard(), Heard(), Failures()
            revoked = {"probe-1"}
            listening = listen(address, there, revoked=revoked.__contains__)
            await listening.start()
            dialling = dial(listening.address, here, failures)
            await failures.until(lambda: len(failures.errors) >= 2)
            assert isinstance(dialling.failure, Denied)
            assert "r1 does not let probe-1 in: this name is revoked" in str(dialling.failure)
            assert here.up == []
            revoked.clear()
            await here.until(lambda: here.up)
            await dialling.close()
            await listening.close()

    run(work)


def test_another_party_at_the_address_is_not_taken_for_the_replica() -> None:
    async def work() -> None:
        with addresses("tcp") as (address,):
            there, here, failures = Heard(), Heard(), Failures()
            listening = listen(address, there, "r2")
            await listening.start()
            dialling = dial(listening.address, here, failures)
            await failures.until(lambda: failures.errors)
            assert isinstance(failures.errors[0], AuthError)
            assert "another party answers" in str(failures.errors[0])
            assert (here.up, there.up) == ([], [])
            await dialling.close()
            await listening.close()

    run(work)


def test_a_server_that_accepts_and_says_nothing_is_left_in_time() -> None:
    async def work() -> None:
        here, failures = Heard(), Failures()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = Tcp("127.0.0.1", silent.getsockname()[1])
            bounds = Bounds(backoff_seconds=0.001, handshake_seconds=0.05)
            dialling = dial(address, here, failures, bounds)
            await failures.until(lambda: failures.errors)
            assert "no handshake within 0.05 seconds" in str(failures.errors[0])
            await dialling.close()

    run(work)


def test_pauses_double_up_to_a_bound_and_differ_by_chance() -> None:
    bounds = Bounds(backoff_seconds=1.0, backoff_most_seconds=60.0)
    most = [1, 2, 4, 8, 16, 32, 60, 60]
    backoff = Backoff(bounds, entropy("pauses"))
    shares = [backoff.pause() / each for each in most]
    assert all(0.5 <= share < 1 for share in shares)
    assert len(set(shares)) == len(most)
    highest = Backoff(bounds, lambda count: b"\xff" * count)
    assert [round(highest.pause(), 6) for _ in most] == most


@pytest.mark.parametrize("steady_seconds", [0.0, 60.0])
def test_only_a_link_that_stood_for_a_while_starts_with_the_shortest_pause(
    steady_seconds: float,
) -> None:
    async def work() -> None:
        with addresses("tcp") as (address,):
            there, here = Heard(), Heard()
            listening = listen(address, there)
            await listening.start()
            bounds = Bounds(
                backoff_seconds=0.002, backoff_most_seconds=60.0, steady_seconds=steady_seconds
            )
            dialling = dial(listening.address, here, bounds=bounds)
            pauses: list[float] = []
            loop = asyncio.get_running_loop()
            for count in range(1, 9):
                await here.until(lambda count=count: len(here.up) == count)
                assert dialling.link is not None
                dialling.link.abort()
                lost = loop.time()
                await here.until(lambda count=count: len(here.up) > count)
                pauses.append(loop.time() - lost)
            # The seventh and eighth doubled pause are 64 ms at least; the first is 2 ms at most.
            assert (min(pauses[-2:]) >= 0.06) is (steady_seconds > 0)
            await dialling.close()
            await listening.close()

    run(work)
