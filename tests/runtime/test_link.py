"""One connection: a handshake first, then frames; a peer's fault ends it and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from quorumcast.auth.handshake import Initiator
from quorumcast.core.errors import AuthError
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.messages import AskHeads, Message, Publish
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.link import Link
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

BIG = Publish(Stream("alerts", "probe-1", bytes(32), Lane.NORMAL), 1, (bytes(2**20),), b"")


class Place:
    """A replica's socket with a sink behind it that a test looks into."""

    def __init__(self, listening: Listening, sink: Heard) -> None:
        self.listening = listening
        self.sink = sink

    async def stranger(self) -> Stranger:
        return await Stranger.at(self.listening.address)

    async def client(self, name: str, nonce: bytes = b"n" * 32) -> tuple[Stranger, Link]:
        """A connection that proved its name, and the replica's end of it."""
        stranger = await self.stranger()
        await stranger.shake(credentials(name), "r1", nonce)
        await self.sink.until(lambda: self.sink.up and self.sink.up[-1].party == name)
        link = self.sink.up[-1]
        assert isinstance(link, Link)
        return stranger, link

    async def lost(self, link: Link) -> str:
        """Wait until the link is gone; says why."""
        await self.sink.until(lambda: link in self.sink.down)
        return str(link.error)


@asynccontextmanager
async def at_r1(place: str = "tcp", **bounds: float) -> AsyncIterator[Place]:
    with addresses(place) as (address,):
        sink = Heard()
        listening = Listening(
            address,
            credentials("r1"),
            sink,
            loop=asyncio.get_running_loop(),
            entropy=entropy("r1"),
            bounds=Bounds(**bounds),  # type: ignore[arg-type]
        )
        await listening.start()
        try:
            yield Place(listening, sink)
        finally:
            await listening.close()


def asks(first: int, count: int) -> list[Message]:
    return [AskHeads("alerts", number) for number in range(first, first + count)]


@LOOPS
@PLACES
def test_messages_go_both_ways_in_order(loops: Loops, place: str) -> None:
    async def work() -> None:
        async with at_r1(place) as here:
            peer, link = await here.client("probe-1")
            assert (link.party, link.is_replica, link.established) == ("probe-1", False, True)
            for at in range(0, 300, 3):
                peer.say(peer.sealer.seal(asks(at, 3)))
            sink = here.sink
            await sink.until(lambda: len(sink.said) >= 300)
            assert sink.said == [("probe-1", each) for each in asks(0, 300)]
            for at in range(0, 300, 3):
                link.send(asks(at, 3))
            heard: list[Message] = []
            while len(heard) < 300:
                size = await peer.reader.readexactly(4)
                rest = await peer.reader.readexactly(int.from_bytes(size, "big"))
                heard += peer.opener.open(size + rest)
            assert heard == asks(0, 300)

    run(work, loops)


def test_frames_may_arrive_byte_by_byte() -> None:
    async def work() -> None:
        async with at_r1() as here:
            stranger = await here.stranger()
            initiator = Initiator(credentials("r2"), "r1", b"n" * 32)
            message = initiator.hello
            while initiator.established is None:
                for byte in len(message).to_bytes(4, "big") + message:
                    stranger.say(bytes((byte,)))
                    await stranger.writer.drain()
                message = initiator.receive(await stranger.greeting())
            await here.sink.until(lambda: here.sink.up)
            assert here.sink.up[0].party == "r2"

    run(work)


@LOOPS
def test_closing_hands_out_what_was_sent(loops: Loops) -> None:
    async def work() -> None:
        async with at_r1() as here:
            peer, link = await here.client("screen-1")
            link.send([BIG] * 4)
            link.send(asks(0, 5))
            link.close()
            link.send(asks(5, 5))  # too late: nobody hears it
            data = await peer.ended()
            heard: list[Message] = []
            while data:
                end = 4 + int.from_bytes(data[:4], "big")
                heard += peer.opener.open(data[:end])
                data = data[end:]
            assert heard == [*[BIG] * 4, *asks(0, 5)]
            assert await here.lost(link) == "None"

    run(work, loops)


def test_a_link_that_is_closed_and_not_read_ends_nevertheless() -> None:
    async def work() -> None:
        async with at_r1("unix", close_seconds=0.05) as here:
            _, link = await here.client("screen-1")
            link.send([BIG] * 12)
            link.close()
            await here.lost(link)

    run(work)


# -- before the handshake is over ----------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\nHost: r1\r\n\r\n",
        b"\xff\xff\xff\xff",
        (4097).to_bytes(4, "big"),
        (0).to_bytes(4, "big"),
        (5).to_bytes(4, "big") + b"hello",
        bytes(100_000),
    ],
    ids=["http", "huge", "too long", "empty", "text", "zeros"],
)
@LOOPS
def test_what_is_no_handshake_ends_the_connection(loops: Loops, said: bytes) -> None:
    async def work() -> None:
        async with at_r1() as here:
            stranger = await here.stranger()
            stranger.say(said)
            assert await stranger.ended() == b""
            assert here.sink.up == []
            assert here.sink.down == []

    run(work, loops)


def test_who_speaks_before_its_turn_is_not_heard() -> None:
    async def work() -> None:
        async with at_r1() as here:
            stranger = await here.stranger()
            initiator = Initiator(credentials("probe-1"), "r1", b"n" * 32)
            stranger.greet(initiator.hello)
            stranger.greet(initiator.hello)
            # The challenge may still come, but it leads nowhere.
            await stranger.ended()
            assert here.sink.up == []

    run(work)


def test_messages_before_the_last_proof_are_not_heard() -> None:
    async def work() -> None:
        async with at_r1() as here:
            stranger = await here.stranger()
            initiator = Initiator(credentials("probe-1"), "r1", b"n" * 32)
            stranger.greet(initiator.hello)
            await stranger.greeting()
            stranger.say(stranger.sealer.seal(asks(0, 1)))
            await stranger.ended()
            assert here.sink.said == []
            assert here.sink.up == []

    run(work)


@pytest.mark.parametrize("said", [b"", b"\0\0\1"], ids=["nothing", "half a length"])
def test_who_says_nothing_is_ended_in_time(said: bytes) -> None:
    async def work() -> None:
        async with at_r1(handshake_seconds=0.05) as here:
            stranger = await here.stranger()
            stranger.say(said)
            assert await stranger.ended() == b""
            assert here.listening.strangers == 0

    run(work)


def test_a_refused_party_is_told_why() -> None:
    async def work() -> None:
        async with at_r1() as here:
            stranger = await here.stranger()
            initiator = Initiator(credentials("probe-1"), "r2", b"n" * 32)
            stranger.greet(initiator.hello)
            with pytest.raises(AuthError, match="another party answers at this address"):
                initiator.receive(await stranger.greeting())
            assert await stranger.ended() == b""

    run(work)


# -- faults of a peer that is known ----------------------------------------------------------------


def wrong_tag(peer: Stranger) -> bytes:
    frame = bytearray(peer.sealer.seal(asks(7, 1)))
    frame[20] ^= 1
    return bytes(frame)


def again(peer: Stranger) -> bytes:
    frame = peer.sealer.seal(asks(1, 1))
    return frame + frame


FAULTS = {
    "wrong tag": (wrong_tag, "tag is not of this link", 0),
    "a frame again": (again, "frame 2 on a link whose next frame is 3", 1),
    "huge length": (lambda peer: b"\x7f\xff\xff\xff", "are possible", 0),
    "short length": (lambda peer: b"\0\0\0\1?", "are possible", 0),
    "good, then garbage": (
        lambda peer: peer.sealer.seal(asks(1, 2)) + b"\xff" * 40,
        "are possible",
        2,
    ),
    "another's frame": (
        lambda peer: type(peer.sealer)(b"k" * 32).seal(asks(1, 1)),
        "tag is not of this link",
        0,
    ),
}


@pytest.mark.parametrize("fault", list(FAULTS))
@LOOPS
def test_a_fault_ends_its_own_link_alone(loops: Loops, fault: str) -> None:
    make, says, heard = FAULTS[fault]

    async def work() -> None:
        async with at_r1() as here:
            good, _ = await here.client("probe-1")
            bad, link = await here.client("probe-2")
            bad.say(bad.sealer.seal(asks(0, 1)))
            bad.say(make(bad))
            await bad.ended()
            assert says in await here.lost(link)
            wanted = [("probe-2", each) for each in asks(0, 1 + heard)]
            assert here.sink.said == wanted
            good.say(good.sealer.seal(asks(9, 1)))
            await here.sink.until(lambda: len(here.sink.said) > len(wanted))
            assert here.sink.said[-1] == ("probe-1", AskHeads("alerts", 9))

    run(work, loops)


def test_a_frame_longer_than_this_process_takes_is_a_fault() -> None:
    async def work() -> None:
        async with at_r1(frame_bytes=1000) as here:
            peer, link = await here.client("probe-1")
            peer.say(peer.sealer.seal([BIG])[:100])
            await peer.ended()
            assert "32 to 1000 are possible" in await here.lost(link)

    run(work)


def test_half_a_frame_is_no_message() -> None:
    async def work() -> None:
        async with at_r1() as here:
            peer, link = await here.client("probe-1")
            peer.say(peer.sealer.seal(asks(0, 2))[:-1])
            await peer.writer.drain()
            peer.writer.write_eof()
            await here.lost(link)
            assert here.sink.said == []

    run(work)


# -- peers that do not read: on Unix sockets, where the kernel takes little on their behalf --------


@LOOPS
def test_a_peer_that_leaves_too_much_unread_is_ended(loops: Loops) -> None:
    async def work() -> None:
        async with at_r1("unix", unsent_bytes=8 * 2**20) as here:
            _, link = await here.client("screen-1")
            link.send([BIG] * 40)
            assert "bytes unread" in await here.lost(link)

    run(work, loops)


@LOOPS
def test_a_peer_that_reads_nothing_for_a_time_is_ended(loops: Loops) -> None:
    async def work() -> None:
        async with at_r1("unix", stall_seconds=0.1) as here:
            _, link = await here.client("r2")
            link.send([BIG] * 12)
            assert "read nothing for 0.1 seconds" in await here.lost(link)

    run(work, loops)


@pytest.mark.parametrize(("name", "is_heard"), [("screen-1", False), ("r2", True)])
@LOOPS
def test_a_client_that_does_not_read_is_not_read_a_replica_is(
    loops: Loops, name: str, is_heard: bool
) -> None:
    async def work() -> None:
        async with at_r1("unix", pause_bytes=2**16) as here:
            peer, link = await here.client(name)
            other, _ = await here.client("probe-1")
            link.send([BIG] * 12)
            await asyncio.sleep(0)  # the flush of this turn
            peer.say(peer.sealer.seal(asks(0, 1)))
            await peer.writer.drain()
            # What was said later, by another, is heard: so this peer's word was passed over.
            sink = here.sink
            for number in range(1, 6):
                other.say(other.sealer.seal(asks(number, 1)))
                wanted = ("probe-1", AskHeads("alerts", number))
                await sink.until(lambda wanted=wanted: wanted in sink.said)
            assert ((name, AskHeads("alerts", 0)) in sink.said) is is_heard
            size = 0
            while size < 12 * 2**20:
                size += len(await peer.reader.read(2**20))
            await sink.until(lambda: (name, AskHeads("alerts", 0)) in sink.said)

    run(work, loops)


def test_all_that_waits_together_is_bounded() -> None:
    async def work() -> None:
        async with at_r1("unix", all_unsent_bytes=24 * 2**20) as here:
            small, few = await here.client("screen-1")
            _, many = await here.client("screen-2")
            replica, most = await here.client("r2")
            few.send([BIG] * 6)
            many.send([BIG] * 12)
            await asyncio.sleep(0)  # the flush of this turn
            most.send([BIG] * 16)
            assert "too many for others" in await here.lost(many)
            assert here.sink.down == [many]
            for peer, count in ((small, 6), (replica, 16)):
                size = 0
                while size < count * 2**20:
                    size += len(await peer.reader.read(2**20))

    run(work)
