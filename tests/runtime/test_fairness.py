"""What many, or those who say much, may take from others: places, memory, time, lines in a log."""

from __future__ import annotations

import asyncio
import logging
import os
import time

import pytest

from quorumcast.auth.handshake import Initiator
from quorumcast.core.messages import AskHeads, Message
from quorumcast.runtime.addresses import Tcp
from quorumcast.runtime.around import Outbound
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.inbox import Inbox
from quorumcast.runtime.listening import Listening
from tests.runtime.kit import LOOPS, Heard, Loops, Stranger, credentials, entropy, run

BIG = 8 * 2**20


class Slow(Heard):
    """A sink whose work for some parties takes long."""

    def received(self, link: Outbound, messages: list[Message]) -> None:
        until = time.thread_time() + (0.03 if link.party in ("probe-1", "r2") else 0.0)
        while time.thread_time() < until:
            pass
        super().received(link, messages)


async def listen(sink: Heard, **bounds: float) -> Listening:
    listening = Listening(
        Tcp("127.0.0.1", 0),
        credentials("r1"),
        sink,
        loop=asyncio.get_running_loop(),
        entropy=entropy("r1"),
        bounds=Bounds(**bounds),  # type: ignore[arg-type]
    )
    await listening.start()
    return listening


async def enter(listening: Listening, name: str) -> Stranger:
    stranger = await Stranger.at(listening.address)
    await stranger.shake(credentials(name), "r1", os.urandom(32))
    return stranger


@LOOPS
def test_those_who_say_nothing_end_nobody_who_said_who_it_is(loops: Loops) -> None:
    async def work() -> None:
        listening = await listen(Heard(), strangers=3)
        slow = await Stranger.at(listening.address)
        initiator = Initiator(credentials("probe-1"), "r1", os.urandom(32))
        slow.greet(initiator.hello)
        challenge = await slow.greeting()
        silent = [await Stranger.at(listening.address) for _ in range(20)]
        for each in silent[:17]:
            assert await each.ended() == b""
        assert listening.strangers == 4
        slow.greet(initiator.receive(challenge))
        initiator.receive(await slow.greeting())
        assert initiator.established is not None
        # Of those who say who they are, and do not prove it, the oldest goes too.
        greeting: list[Stranger] = []
        for _ in range(5):
            greeting.append(await Stranger.at(listening.address))
            greeting[-1].greet(Initiator(credentials("probe-2"), "r1", os.urandom(32)).hello)
            await greeting[-1].greeting()
        for each in greeting[:2]:
            assert await each.ended() == b""
        await listening.close()

    run(work, loops)


def test_unfinished_frames_of_all_clients_are_bounded() -> None:
    async def work() -> None:
        sink = Heard()
        listening = await listen(sink, all_unfinished_bytes=3 * BIG)
        small = await enter(listening, "probe-1")
        small.say(small.sealer.seal([AskHeads("alerts", 1)])[:-1])
        half = (BIG - 4).to_bytes(4, "big") + bytes(BIG - 100)
        for name in ("probe-2", "screen-1"):
            (await enter(listening, name)).say(half)
        replica = await enter(listening, "r2")
        replica.say(half)
        (await enter(listening, "screen-2")).say(half)
        await sink.until(lambda: sink.down)
        assert [link.party for link in sink.down] == ["probe-2"]
        assert "are held of a frame that does not end" in str(sink.down[0].error)  # type: ignore[attr-defined]
        await listening.close()

    run(work)


class Ends:
    """A link that may be given up."""

    def __init__(self) -> None:
        self.why = ""

    def give_up(self, why: str) -> None:
        self.why = why


def test_whole_frames_are_held_for_nobody() -> None:
    inbox = Inbox(100)
    links = [Ends() for _ in range(3)]
    inbox.note(links[0], 10)
    inbox.note(links[1], 80)
    inbox.note(links[1], 0)
    inbox.note(links[2], 90)
    assert inbox.total == 100
    inbox.note(links[1], 5)
    assert [bool(link.why) for link in links] == [False, False, True]
    inbox.note(links[2], 0)
    assert inbox.total == 15


def test_when_a_flood_of_half_frames_is_over_it_is_told_once() -> None:
    told: list[int] = []
    inbox = Inbox(100)
    inbox.on_relief = lambda: told.append(inbox.total)
    links = [Ends() for _ in range(3)]
    for link, size in zip(links, (30, 30, 5), strict=True):
        inbox.note(link, size)
    assert told == []
    for link in links:
        inbox.note(link, 0)
    assert told == [5]


@pytest.mark.parametrize(("name", "is_paused"), [("probe-1", True), ("r2", False)])
@LOOPS
def test_who_takes_long_waits_for_others_unless_it_is_a_replica(
    loops: Loops, name: str, is_paused: bool
) -> None:
    async def work() -> None:
        sink = Slow()
        listening = await listen(sink, slice_seconds=0.02, slice_rest=20.0)
        greedy, other = await enter(listening, name), await enter(listening, "probe-2")
        greedy.say(greedy.sealer.seal([AskHeads("alerts", 0)]))
        await sink.until(lambda: sink.said)
        greedy.say(greedy.sealer.seal([AskHeads("alerts", 1)]))
        await greedy.writer.drain()
        for number in range(10):
            other.say(other.sealer.seal([AskHeads("alerts", number)]))
            wanted = ("probe-2", AskHeads("alerts", number))
            await sink.until(lambda wanted=wanted: wanted in sink.said)
        assert ((name, AskHeads("alerts", 1)) not in sink.said) is is_paused
        await sink.until(lambda: (name, AskHeads("alerts", 1)) in sink.said)
        await listening.close()

    run(work, loops)


def test_strangers_do_not_fill_a_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def work() -> None:
        listening = await listen(Heard())
        for _ in range(300):
            stranger = await Stranger.at(listening.address)
            stranger.say(b"\xff" * 8)
            await stranger.ended()
        await listening.close()

    run(work)
    assert 100 <= len(caplog.records) <= 130


def test_a_process_with_few_files_has_fewer_places_for_all() -> None:
    for files in (64, 256, 1024, 4096, 65_536):
        bounds = Bounds.within(files)
        used = bounds.connections + 2 * bounds.strangers + bounds.backlog
        assert used + min(128, files // 2) <= files
        assert bounds.connections >= files // 5 or bounds.connections == Bounds().connections
