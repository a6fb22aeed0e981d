"""Publications that arrived in one turn, gathered into runs before they are looked at.

A publisher that sends each publication by itself costs a replica one vote, one record and one
statement per turn all the same: what arrived in order is one run.
"""

from __future__ import annotations

from collections.abc import Callable

from quorumcast.core.ids import Lane, Party, Stream
from quorumcast.core.limits import GATHERED_BYTES, GATHERED_PUBLICATIONS
from quorumcast.core.machine import Out
from quorumcast.core.messages import Publish


class Arrivals:
    """Gathers runs by stream, and hands them on at the end of the turn, urgent lanes first."""

    def __init__(self, out: Out, take: Callable[[Party, Publish], None]) -> None:
        self._out = out
        self._take = take
        self._gathered: dict[Stream, list[Publish]] = {}
        self._bytes: dict[Stream, int] = {}

    def add(self, sender: Party, message: Publish) -> None:
        """A run, which only the stream's publisher may send."""
        if message.stream.publisher != sender:
            self._out.reject(sender, "a publication under another's name")
            return
        stream = message.stream
        gathered = self._gathered.setdefault(stream, [])
        gathered.append(message)
        size = self._bytes.get(stream, 0) + sum(map(len, message.bodies))
        self._bytes[stream] = size
        if len(gathered) >= GATHERED_PUBLICATIONS or size >= GATHERED_BYTES:
            del self._gathered[stream], self._bytes[stream]
            self._hand_on(gathered)

    def flush(self) -> None:
        """The turn ends: hand everything on."""
        if not self._gathered:
            return
        arrived, self._gathered, self._bytes = self._gathered, {}, {}
        for stream in sorted(arrived, key=lambda stream: stream.lane != Lane.URGENT):
            self._hand_on(arrived[stream])

    def _hand_on(self, gathered: list[Publish]) -> None:
        head = gathered[0]
        stream, publisher = head.stream, head.stream.publisher
        first, bodies, signatures = head.first, head.bodies, head.signatures
        if len(gathered) == 1:
            self._take(publisher, head)
            return
        run, signed = list(bodies), [signatures]
        for message in gathered[1:]:
            if message.first != first + len(run):
                self._take(publisher, Publish(stream, first, tuple(run), b"".join(signed)))
                first, run, signed = message.first, [], []
            run += message.bodies
            signed.append(message.signatures)
        self._take(publisher, Publish(stream, first, tuple(run), b"".join(signed)))
