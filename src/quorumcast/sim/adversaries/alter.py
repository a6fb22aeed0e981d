"""Alter: changes one field of a publication or statement, as Freeman's listing 6.14 does.

The six alterations there, and what they are here:
0. the publication's number: the position, one too high;
1. the publisher: another one's name in the stream;
2. the broker: a replica cannot say who it is but by its keys, so it lies about the others: the
   incarnations that it reports of them;
3. the topic: another channel in the stream;
4. the contents: bad bytes in the body, or their digest in the vote;
5. the tags of the chain: signatures left out, or the chain digest replaced by zeros.
"""

from __future__ import annotations

from typing import Any

import msgspec

from quorumcast.core.ids import Incarnation, Party, Stream
from quorumcast.core.messages import (
    DIGEST_BYTES,
    Bodies,
    ConfirmedUpTo,
    Digests,
    Held,
    HeldUpTo,
    Hello,
    Message,
    ReadyUpTo,
)
from quorumcast.sim.adversaries.liar import Liar

PERCENT = 50
"""How many of the messages are altered; Freeman's command line argument."""

BAD_MESSAGE = b"bad message"

Statement = HeldUpTo | Held | ReadyUpTo | ConfirmedUpTo | Digests | Bodies


class Alter(Liar):
    """Alters a share of the statements, bodies and greetings."""

    def say(self, receiver: Party, message: Message) -> list[Message]:
        """Perhaps another message in its place."""
        if not isinstance(message, Statement | Hello):
            return [message]
        number = self.draws.randrange(100)
        kind = self.draws.randrange(6)
        if number >= PERCENT:
            return [message]
        altered = alter(kind, message, self._other_publisher(message))
        if altered == message or not self.act(f"alters {type(message).__name__} to {receiver}"):
            return [message]
        return [altered]

    def _other_publisher(self, message: Message) -> Party:
        names = sorted({stream.publisher for stream in self.ledger.streams})
        mine: Stream | None = getattr(message, "stream", None)
        others = [name for name in names if mine is None or name != mine.publisher]
        return others[0] if others else "p999"


def alter(kind: int, message: Any, other: Party) -> Any:
    """One of the six alterations of a message; the message itself where it has no such field.

    >>> stream = Stream("alerts", "p1", bytes(32), 0)
    >>> alter(0, HeldUpTo(stream, 4, bytes(32)), "p2").position
    5
    >>> alter(1, HeldUpTo(stream, 4, bytes(32)), "p2").stream.publisher
    'p2'
    """
    replace = msgspec.structs.replace
    if isinstance(message, Hello):
        if kind != 2:
            return message
        known = tuple(Incarnation(each.counter + 1, each.nonce) for each in message.known)
        return replace(message, known=known)
    stream: Stream = message.stream
    if kind == 1:
        return replace(message, stream=stream._replace(publisher=other))
    if kind == 3:
        topic = "metrics" if stream.channel == "alerts" else "alerts"
        return replace(message, stream=stream._replace(channel=topic))
    if isinstance(message, Held | Digests | Bodies):
        return _alter_run(kind, message)
    if kind == 0:
        return replace(message, position=message.position + 1)
    return replace(message, chain=bytes(DIGEST_BYTES)) if kind == 5 else message


def _alter_run(kind: int, message: Held | Digests | Bodies) -> Message:
    replace = msgspec.structs.replace
    if kind == 0:
        return replace(message, first=message.first + 1)
    if kind == 4 and isinstance(message, Bodies):
        return replace(message, bodies=(BAD_MESSAGE, *message.bodies[1:]))
    if kind == 4 and not isinstance(message, Bodies):
        flipped = bytes(byte ^ 0xFF for byte in message.digests[:DIGEST_BYTES])
        return replace(message, digests=flipped + message.digests[DIGEST_BYTES:])
    if kind == 5 and not isinstance(message, Digests) and message.signatures:
        return replace(message, signatures=b"")
    return message
