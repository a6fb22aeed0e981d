"""What a link gives to its transport, and when: on a transport that only keeps it."""

from __future__ import annotations

import asyncio
from typing import Any

from quorumcast.auth.handshake import Initiator, Responder
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.messages import AskHeads, Message, Publish
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.link import Link
from quorumcast.runtime.outbox import Outbox
from quorumcast.wire.frames import LENGTH, Framer
from quorumcast.wire.link import Opener
from tests.runtime.kit import Heard, credentials, run

BIG = Publish(Stream("alerts", "probe-1", bytes(32), Lane.NORMAL), 1, (bytes(2**20),), b"")


class Paper(asyncio.Transport):
    """Keeps each write by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closed = False
        self.reader: Link | None = None
        """Whom each write tells that this is enough for now."""

    def write(self, data: Any) -> None:
        self.writelines([data])

    def writelines(self, list_of_data: Any) -> None:
        self.writes.append(b"".join(list_of_data))
        if self.reader is not None:
            self.reader.pause_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high == Bounds().pause_bytes

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        """Nothing is read from paper."""

    def resume_reading(self) -> None:
        """Nothing is read from paper."""

    def take(self) -> list[bytes]:
        taken, self.writes = self.writes, []
        return taken


class Desk:
    """Keeps one link of r1's, with the peer's part of the handshake done by hand."""

    def __init__(self) -> None:
        self.sink = Heard()
        self.paper = Paper()
        self.responder = Responder(credentials("r1"), b"r" * 32)
        self.link = Link(
            self,
            self.sink,
            loop=asyncio.get_running_loop(),
            bounds=Bounds(),
            outbox=Outbox(Bounds().all_unsent_bytes),
        )
        self.link.connection_made(self.paper)
        initiator = Initiator(credentials("probe-1"), "r1", b"i" * 32)
        message = initiator.hello
        while initiator.established is None:
            arrives(self.link, LENGTH.pack(len(message)) + message)
            (answer,) = self.paper.take()
            message = initiator.receive(answer[4:])
        self.opener = Opener(initiator.established.receive_key)
        self.ends = 0

    def greet(self, link: Link, transport: asyncio.Transport) -> Responder:
        return self.responder

    def greeted(self, link: Link) -> None:
        assert not link.established

    def up(self, link: Link) -> None:
        assert link.party == "probe-1"

    def ended(self, link: Link) -> None:
        self.ends += 1

    def open(self, write: bytes) -> list[list[Message]]:
        return [self.opener.open(frame) for frame in Framer().feed(write)]


def arrives(link: Link, data: bytes) -> None:
    """As a loop hands over what it read."""
    link.get_buffer(-1)[: len(data)] = data
    link.buffer_updated(len(data))


def ask(number: int) -> AskHeads:
    return AskHeads("alerts", number)


def test_all_that_is_sent_in_a_turn_of_the_loop_is_one_write() -> None:
    async def work() -> None:
        desk = Desk()
        for number in range(5):
            desk.link.send([ask(number)])
        assert desk.paper.writes == []
        await asyncio.sleep(0)
        (write,) = desk.paper.take()
        assert desk.open(write) == [[ask(number)] for number in range(5)]
        desk.link.send([ask(7), ask(8)])
        await asyncio.sleep(0)
        (write,) = desk.paper.take()
        assert desk.open(write) == [[ask(7), ask(8)]]
        await asyncio.sleep(0)
        assert desk.paper.writes == []
        desk.link.connection_lost(None)

    run(work)


def test_closing_writes_first() -> None:
    async def work() -> None:
        desk = Desk()
        desk.link.send([ask(1)])
        desk.link.close()
        (write,) = desk.paper.take()
        assert desk.open(write) == [[ask(1)]]
        assert desk.paper.closed
        desk.link.send([ask(2)])
        await asyncio.sleep(0)
        assert desk.paper.writes == []
        desk.link.connection_lost(None)
        assert desk.ends == 1
        assert desk.sink.down == [desk.link]

    run(work)


def test_nothing_is_written_on_a_connection_that_is_gone() -> None:
    async def work() -> None:
        desk = Desk()
        desk.link.send([ask(1)])
        desk.link.connection_lost(None)
        desk.link.send([ask(2)])
        await asyncio.sleep(0)
        assert desk.paper.writes == []
        desk.link.close()
        desk.link.abort()
        assert desk.ends == 1

    run(work)


def test_nothing_is_said_before_the_handshake_is_over() -> None:
    async def work() -> None:
        desk = Desk()
        link = Link(
            desk,
            desk.sink,
            loop=asyncio.get_running_loop(),
            bounds=Bounds(),
            outbox=Outbox(Bounds().all_unsent_bytes),
        )
        paper = Paper()
        link.send([ask(1)])
        link.connection_made(paper)
        link.send([ask(1)])
        await asyncio.sleep(0)
        assert paper.writes == []
        for each in (link, desk.link):
            each.connection_lost(None)
        assert desk.sink.down == [desk.link]

    run(work)


def test_a_transport_that_has_enough_is_given_no_more() -> None:
    async def work() -> None:
        desk = Desk()
        desk.paper.reader = desk.link
        desk.link.send([BIG] * 12)
        (written,) = desk.paper.take()
        assert len(written) == 2**20
        assert desk.link.unsent() > 11 * 2**20
        desk.link.send([ask(1)])
        desk.link.close()
        whole = len(written) + desk.link.unsent()
        desk.link.send([ask(2)])
        while not desk.paper.closed:
            assert desk.paper.writes == []
            desk.link.resume_writing()
            await asyncio.sleep(0)
            (part,) = desk.paper.take()
            assert len(part) <= 2**20
            written += part
        assert len(written) == whole
        heard = [message for messages in desk.open(written) for message in messages]
        assert heard == [*[BIG] * 12, ask(1)]
        desk.link.connection_lost(None)

    run(work)


def test_what_one_turn_says_is_bounded_before_its_end() -> None:
    async def work() -> None:
        desk = Desk()
        desk.paper.reader = desk.link
        for _ in range(200):
            desk.link.send([BIG])
        assert desk.paper.closed
        assert desk.link.unsent() < Bounds().unsent_bytes + 2 * 2**20
        assert "bytes unread" in str(desk.link.error)
        desk.link.connection_lost(None)
        assert desk.link.unsent() == 0

    run(work)


def test_why_a_link_ended_is_kept_without_what_it_held() -> None:
    """A traceback's frames hold buffers, and the link, and this the error."""

    async def work() -> None:
        desk = Desk()
        link = desk.link
        size = (2**20).to_bytes(4, "big")
        arrives(link, size + bytes(1000))
        while not desk.paper.closed:  # its tag is wrong
            room = link.get_buffer(-1)
            room[:] = bytes(len(room))
            link.buffer_updated(len(room))
        assert "is not of this link" in str(link.error)
        each: BaseException | None = link.error
        while each is not None:
            assert each.__traceback__ is None
            each = each.__cause__ or each.__context__

        gone = OSError("the connection is gone")
        try:
            raise gone from ValueError("why")
        except OSError:
            assert gone.__traceback__ is not None
        other = Desk()
        other.link.connection_lost(gone)
        assert other.link.error is gone
        assert gone.__traceback__ is None
        link.connection_lost(None)

    run(work)
