"""One connection between two parties: first a handshake, then sealed frames.

Upon bytes from the peer a link cuts frames, opens each and hands the messages to its sink. What
the sink sends in one turn of the loop goes out in one write. Before both ends have proven who
they are (`auth.handshake`) nothing is handed on and nothing is sent; a peer has a limited time and
few bytes for it, and speaks only when it is its turn.

A client whose words take long to handle is not read from for a while, so that others are heard in
time whatever it says. Replicas are always read from.

A peer's fault ends its link and touches nothing else. What is good before the fault counts.

Output that the peer does not read is bounded: from a client nothing more is read meanwhile, and
above a bound, or when not one byte was taken for a time, the link ends. The machines repeat on
the next link what was lost with this one. What its transport does not take waits here, where it
is counted: a transport with TLS says of nothing it has handed on whether it was written.
"""

from __future__ import annotations

import asyncio
import time
from typing import cast

from quorumcast.auth.greetings import HANDSHAKE_BYTES
from quorumcast.auth.handshake import Initiator, Responder
from quorumcast.core.errors import ProtocolError, QuorumcastError
from quorumcast.core.ids import Party
from quorumcast.core.messages import Message
from quorumcast.runtime.around import Keeper, Sink, without_frames
from quorumcast.runtime.backlog import AT_ONCE_BYTES, Backlog
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.inbox import Inbox
from quorumcast.runtime.outbox import Outbox
from quorumcast.runtime.sockets import client_buffer, keep_alive, read_buffer, read_spares
from quorumcast.wire.codec import Memo
from quorumcast.wire.frames import LENGTH, Frame, Framer
from quorumcast.wire.link import Opener, Sealer

_UNREAD = 1
_GREEDY = 2
_ENDING = 4
"""Why nothing is read from a peer: it does not read, what it says takes too long, or the link was
closed and the rest of what was sent is being handed out."""


class Link(asyncio.BufferedProtocol):
    """One end of a connection; `party` is empty until it is proven."""

    __slots__ = (
        "_alarm",
        "_backlog",
        "_bounds",
        "_early",
        "_framer",
        "_handshake",
        "_inbox",
        "_keeper",
        "_loop",
        "_opener",
        "_outbox",
        "_paused",
        "_rest",
        "_sealer",
        "_sink",
        "_stall",
        "_stall_seen",
        "_takes_long",
        "_to_frame",
        "_transport",
        "error",
        "is_replica",
        "party",
    )

    def __init__(
        self,
        keeper: Keeper,
        sink: Sink,
        *,
        loop: asyncio.AbstractEventLoop,
        bounds: Bounds,
        outbox: Outbox,
        inbox: Inbox | None = None,
    ) -> None:
        self.party: Party = ""
        self.is_replica = False
        self.error: Exception | None = None
        """Why the link ended, if not by `close` of either end."""
        self._keeper = keeper
        self._sink = sink
        self._loop = loop
        self._bounds = bounds
        self._outbox = outbox
        self._inbox = inbox
        """Where unfinished frames are counted; None where the peer can only be a replica."""
        self._transport: asyncio.Transport | None = None
        self._handshake: Initiator | Responder | None = None
        self._early = b""
        self._framer: Framer | None = None
        self._opener: Opener | None = None
        self._sealer: Sealer | None = None
        self._backlog = Backlog()
        self._alarm: asyncio.TimerHandle | None = None
        """Ends a handshake that takes too long, later a close that does."""
        self._stall: asyncio.TimerHandle | None = None
        self._rest: asyncio.TimerHandle | None = None
        """Ends the time in which nothing is read from a client that takes too long."""
        self._paused = 0
        self._stall_seen = 0
        self._to_frame = False
        """Whether the peer's next bytes are read to the frame that they belong to."""
        self._takes_long = False
        """Whether this client's words took too long once: then less of them is read at a time."""

    @property
    def established(self) -> bool:
        """Whether both ends have proven who they are."""
        return self._opener is not None

    # -- the connection ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake, and the time for it."""
        transport = cast(asyncio.Transport, transport)  # uvloop's are not derived from it
        self._transport = transport
        bounds = self._bounds
        transport.set_write_buffer_limits(high=bounds.pause_bytes)
        keep_alive(transport)
        self._alarm = self._loop.call_later(bounds.handshake_seconds, self._too_late)
        handshake = self._handshake = self._keeper.greet(self, transport)
        if isinstance(handshake, Initiator):
            self._write_greeting(handshake.hello)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes are to be read to: the rest of a long frame to its own place."""
        framer = self._framer
        room = framer.room() if framer is not None else None
        self._to_frame = room is not None
        if room is not None:
            return room
        return client_buffer() if self._takes_long else read_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """Hand on what the peer says."""
        transport = self._transport
        if transport is None or transport.is_closing() or self._paused & _ENDING:
            return
        try:
            if self._to_frame:
                assert self._framer is not None
                self._open_all(self._framer, self._framer.filled(nbytes))
                return
            data = read_buffer()[:nbytes]
            if self._handshake is not None:
                data = memoryview(self._greeted(self._handshake, bytes(data)))
            if data and self._framer is not None:
                self._open_all(self._framer, self._framer.feed(data))
        except ProtocolError as error:
            self._fault(error)

    def pause_writing(self) -> None:
        """The peer does not read: give it time, but let a client ask no more meanwhile."""
        self._backlog.full = True
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if self._reads_only_if_read:
            self._stop_reading(transport, _UNREAD)
        if self._stall is None:
            self._stall_seen = self._taken()
            self._stall = self._loop.call_later(self._bounds.stall_seconds, self._stalled)

    def resume_writing(self) -> None:
        """The peer reads again."""
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
        self._backlog.full = False
        if self._backlog.size:
            self._loop.call_soon(self.flush)  # not from within the transport's own work
        else:
            self._read_on(_UNREAD)

    def _stop_reading(self, transport: asyncio.Transport, why: int) -> None:
        if not self._paused:
            transport.pause_reading()
        self._paused |= why

    def _read_on(self, why: int) -> None:
        transport = self._transport
        if self._paused & why and transport is not None and not transport.is_closing():
            self._paused &= ~why
            if not self._paused:
                transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell those who keep and use this link."""
        for timer in (self._alarm, self._stall, self._rest):
            if timer is not None:
                timer.cancel()
        self._alarm = self._stall = self._rest = None
        if self.error is None:
            self.error = without_frames(exc)
        self._backlog.clear()
        self._outbox.note(self, 0)
        if self._inbox is not None:
            self._inbox.note(self, 0)
        self._transport = None
        self._keeper.ended(self)
        if self.established:
            self._sink.unlinked(self)

    # -- the handshake -------------------------------------------------------------------------

    def _greeted(self, handshake: Initiator | Responder, data: bytes) -> bytes:
        """Go on with the handshake; returns what came behind its last message."""
        early = self._early + data
        if len(early) < LENGTH.size:
            self._early = early
            return b""
        (size,) = LENGTH.unpack_from(early)
        if size > HANDSHAKE_BYTES:
            raise ProtocolError(
                f"handshake: a message of {size} bytes, more than {HANDSHAKE_BYTES}"
            )
        end = LENGTH.size + size
        if len(early) < end:
            self._early = early
            return b""
        self._early = b""
        try:
            answer = handshake.receive(early[LENGTH.size : end])
        except ProtocolError:
            if handshake.farewell:
                self._write_greeting(handshake.farewell)
            raise
        if answer:
            self._write_greeting(answer)
        if handshake.established is not None:
            self._establish(handshake)
        elif len(early) > end:
            raise ProtocolError("handshake: bytes before their turn")
        else:
            self._keeper.greeted(self)
        return early[end:]

    def _establish(self, handshake: Initiator | Responder) -> None:
        established = handshake.established
        assert established is not None
        self.party, self.is_replica = established.party, established.is_replica
        self._sealer = Sealer(established.send_key)
        self._opener = Opener(established.receive_key)
        self._framer = Framer(self._bounds.frame_bytes, read_spares())
        self._handshake = None
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._keeper.up(self)
        self._sink.linked(self)

    def _write_greeting(self, message: bytes) -> None:
        assert self._transport is not None
        self._transport.write(LENGTH.pack(len(message)) + message)

    def _too_late(self) -> None:
        self._alarm = None
        self.give_up(f"no handshake within {self._bounds.handshake_seconds:g} seconds")

    # -- messages ------------------------------------------------------------------------------

    def _open_all(self, framer: Framer, frames: list[Frame]) -> None:
        if self.is_replica:
            self._hand_on(framer, frames)
            return
        if self._inbox is not None:
            self._inbox.note(self, framer.held)
        began = time.thread_time()  # of this thread: what other processes take is nobody's fault
        self._hand_on(framer, frames)
        took, bounds = time.thread_time() - began, self._bounds
        transport = self._transport
        if took > bounds.slice_seconds and transport is not None and not transport.is_closing():
            self._takes_long = True
            self._stop_reading(transport, _GREEDY)
            self._rest = self._loop.call_later(took * bounds.slice_rest, self._rested)

    def _rested(self) -> None:
        self._rest = None
        self._read_on(_GREEDY)

    def _hand_on(self, framer: Framer, frames: list[Frame]) -> None:
        opener = self._opener
        assert opener is not None
        messages: list[Message] = []
        try:
            for frame in frames:
                messages += opener.open(frame)
            framer.done()
        finally:  # a fault does not undo what was said before it
            if messages:
                self._sink.received(self, messages)
        if framer.fault is not None:
            raise ProtocolError(framer.fault)

    def send(self, messages: list[Message], memo: Memo | None = None) -> None:
        """Say this; all of a turn of the loop goes out in one write."""
        transport, sealer = self._transport, self._sealer
        if sealer is None or transport is None or transport.is_closing() or self._paused & _ENDING:
            return
        if not self._backlog.size:
            self._loop.call_soon(self.flush)
        self._backlog.add(sealer.seal_pieces(messages, memo))
        if self._backlog.size > AT_ONCE_BYTES:
            self.flush()  # a turn may say more than may wait

    def flush(self) -> None:
        """Write what was said, as much of it as the transport takes."""
        backlog, transport = self._backlog, self._transport
        if not backlog.size or transport is None or transport.is_closing():
            return
        backlog.hand_over(transport)
        waiting = self.unsent()
        if waiting > self._bounds.unsent_bytes:
            self.give_up(f"it leaves {waiting} bytes unread")
            return
        if waiting:
            self._outbox.note(self, waiting)
        if backlog.size:
            return
        if self._paused & _ENDING:
            self._end(transport)
        elif not backlog.full:
            self._read_on(_UNREAD)

    # -- output that nobody reads --------------------------------------------------------------

    @property
    def _reads_only_if_read(self) -> bool:
        return self.established and not self.is_replica

    def unsent(self) -> int:
        """Bytes that wait to be written."""
        if self._transport is None:
            return 0
        return self._backlog.size + self._transport.get_write_buffer_size()

    def _taken(self) -> int:
        """Bytes that the peer, or the kernel on its behalf, has taken."""
        return self._backlog.said - self.unsent()

    def _stalled(self) -> None:
        self._stall = None
        taken = self._taken()
        if taken == self._stall_seen:
            self.give_up(f"it has read nothing for {self._bounds.stall_seconds:g} seconds")
        else:
            self._stall_seen = taken
            self._stall = self._loop.call_later(self._bounds.stall_seconds, self._stalled)

    # -- the end -------------------------------------------------------------------------------

    def close(self) -> None:
        """Hand out what was sent, then end the connection."""
        transport = self._transport
        if transport is None or transport.is_closing() or self._paused & _ENDING:
            return
        self.flush()
        if self._backlog.size:
            self._stop_reading(transport, _ENDING)  # `flush` goes on
        else:
            self._end(transport)
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._loop.call_later(self._bounds.close_seconds, self.abort)

    def _end(self, transport: asyncio.Transport) -> None:
        if self._paused:
            transport.resume_reading()  # nobody listens, but TLS cannot end before all is read
        transport.close()

    def abort(self) -> None:
        """End the connection at once; what waits is lost."""
        if self._transport is not None:
            self._transport.abort()

    def give_up(self, why: str) -> None:
        """End the connection at once, for this fault of the peer."""
        who = self.party or "a stranger"
        self.error = self.error or ProtocolError(f"{who}: {why}")
        self.abort()

    def _fault(self, error: QuorumcastError) -> None:
        """The peer said what no correct peer says."""
        self.error = without_frames(error)
        if self.established:
            self.abort()
        else:
            self.close()  # with the word of farewell, if there is one
