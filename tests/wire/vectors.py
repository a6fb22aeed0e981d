"""One message or more of every kind, with fixed values: what `golden.json` pins the bytes of.

To add a vector, add a line here and run `python -m tests.wire.make_golden`. A line that has its
bytes in the file is never changed: new replicas must understand old ones, and their logs.
"""

from __future__ import annotations

from typing import NamedTuple

from quorumcast.core.ids import Incarnation, Lane, Opening, Stream
from quorumcast.core.messages import (
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskHeads,
    AskOpening,
    AskReport,
    AskVotes,
    Bodies,
    CharterAt,
    CharterIs,
    ConfirmedUpTo,
    Credit,
    Digests,
    FloorAt,
    Follow,
    Head,
    Heads,
    Held,
    HeldUpTo,
    Hello,
    Message,
    Open,
    OpeningOf,
    Publish,
    ReadyUpTo,
    Release,
    Report,
    Status,
    StatusCode,
    Subscribe,
    SubscribeStatus,
    Unsubscribe,
)

KEY = bytes(range(32))

SESSION = bytes(range(100, 132))
STREAM = Stream("alerts", "probe-7", SESSION, Lane.NORMAL)
URGENT = Stream("börse", "händler-α", SESSION[::-1], Lane.URGENT)
LONG = Stream("c" * 128, "é" * 64, b"\xff" * 32, Lane.NORMAL)
LIVES = (Incarnation(1, 7), Incarnation(2, 2**64 - 1), Incarnation(0, 0))
OPENING = Opening("probe-7", 2**64 - 2, LIVES)
LAST = 2**63 - 1

LARGE = bytes(range(256)) * 4 + b"!"
"""The smallest body that travels detached."""
OTHER = LARGE[::-1]
INLINE = LARGE[:1024]
"""The largest that does not."""


def digests(count: int) -> bytes:
    return b"".join(bytes((i,)) * 32 for i in range(1, count + 1))


def signatures(count: int) -> bytes:
    return b"".join(bytes((255 - i,)) * 64 for i in range(count))


class Vector(NamedTuple):
    description: str
    message: Message


C = digests(1)
VECTORS: dict[str, Vector] = {
    "hello": Vector("an incarnation and three known ones", Hello(LIVES[0], LIVES)),
    "hello-alone": Vector("knows nobody", Hello(Incarnation(2**64 - 1, 0), ())),
    "open": Vector("with a certificate", Open(STREAM, OPENING, b"certificate")),
    "open-bare": Vector("nothing named, no certificate", Open(URGENT, Opening("x", 0, ()), b"")),
    "publish-one": Vector("one body of one byte", Publish(STREAM, 1, (b"a",))),
    "publish-empty-body": Vector("bodies may be empty", Publish(STREAM, LAST - 1, (b"", b""))),
    "publish-signed": Vector(
        "two signed bodies", Publish(URGENT, 258, (b"one", b"three"), signatures(2))
    ),
    "publish-largest-inline": Vector("1,024 bytes stay inline", Publish(STREAM, 9, (INLINE,))),
    "publish-mixed": Vector(
        "inline, detached, empty, detached; signed",
        Publish(STREAM, 3, (b"in", LARGE, b"", OTHER), signatures(4)),
    ),
    "status-ok": Vector("nothing taken yet", Status(STREAM, StatusCode.OK, 0)),
    "status-rejected": Vector(
        "with a reason", Status(URGENT, StatusCode.REJECTED, 12, "nicht für dich")
    ),
    "status-closed": Vector("the last code", Status(LONG, StatusCode.CLOSED, LAST, "r" * 512)),
    "credit": Vector("up to 4,000", Credit(STREAM, 4000)),
    "credit-none": Vector("none", Credit(STREAM, 0)),
    "held-up-to": Vector("", HeldUpTo(STREAM, 5, C)),
    "held": Vector("three votes", Held(STREAM, 7, digests(3))),
    "held-signed": Vector("the last two positions", Held(URGENT, LAST - 1, C + C, signatures(2))),
    "ready-up-to": Vector("", ReadyUpTo(STREAM, 5, C)),
    "ready-up-to-long": Vector("longest names, last position", ReadyUpTo(LONG, LAST, C)),
    "confirmed-up-to": Vector("", ConfirmedUpTo(STREAM, 1, C)),
    "floor-at": Vector("confirmed", FloorAt(STREAM, 5, C, True)),
    "floor-at-unconfirmed": Vector("no chain digest", FloorAt(STREAM, 5, bytes(32), False)),
    "ask-opening": Vector("", AskOpening(URGENT)),
    "opening-of": Vector("", OpeningOf(STREAM, OPENING, b"c" * 1024)),
    "ask-votes": Vector("", AskVotes(STREAM, 77)),
    "ask-confirmed": Vector("", AskConfirmed(STREAM, 78)),
    "ask-digests": Vector("five", AskDigests(STREAM, 6, 10)),
    "ask-digests-most": Vector("as many as a run has", AskDigests(STREAM, 1, 65_536)),
    "digests": Vector("two", Digests(STREAM, 6, digests(2))),
    "ask-bodies": Vector("two", AskBodies(STREAM, 6, digests(2))),
    "bodies": Vector("three, unsigned", Bodies(STREAM, 4, (b"a", b"", b"ccc"))),
    "bodies-detached": Vector("one, signed", Bodies(STREAM, 4, (LARGE,), signatures(1))),
    "ask-heads": Vector("from the beginning", AskHeads("alerts", 0)),
    "heads": Vector(
        "two streams, more to come",
        Heads("alerts", 99, (Head(STREAM, 0, 12, 10), Head(URGENT, 3, 3, 3)), True),
    ),
    "heads-none": Vector("nothing changed", Heads("alerts", LAST, (), False)),
    "subscribe": Vector("two patterns", Subscribe("alerts", 1, ("probe-*", "ü?"), 0, 4096)),
    "subscribe-nothing": Vector("no pattern", Subscribe("c", LAST, (), LAST, 0)),
    "subscribe-blocks": Vector("blocks", Subscribe("alerts", 1, ("*",), 0, 4096, True)),
    "follow": Vector("", Follow(STREAM, 2, 13, 4096)),
    "unsubscribe": Vector("", Unsubscribe("alerts", 3)),
    "subscribe-status": Vector("in force", SubscribeStatus("alerts", 3, True)),
    "subscribe-status-refused": Vector("refused", SubscribeStatus("alerts", 3, False, "no")),
    "release": Vector("", Release(STREAM)),
    "charter-at": Vector("the seventh", CharterAt(7, C)),
    "charter-at-none": Vector("none yet", CharterAt(0, bytes(32))),
    "charter-is": Vector("more than a blob holds", CharterIs(bytes(range(256)) * 257)),
    "ask-report": Vector("", AskReport()),
    "report": Vector("", Report(b'{"state":"ready"}')),
}

FRAMES: dict[str, tuple[str, list[str]]] = {
    "frame-1": ("the first frame under KEY: two statements", ["ready-up-to", "confirmed-up-to"]),
    "frame-2": ("the second: detached bodies behind it", ["publish-mixed", "credit"]),
    "frame-3": ("the third: nothing", []),
}
"""Frames sealed one after the other, by the names of their messages."""
