"""Messages, records, outcomes and evidence in one line each, for transcripts.

A stream is named by channel, publisher and the first bytes of its session; a digest or chain by its
first two bytes, enough to see who speaks of the same content and who does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quorumcast.core import messages as said
from quorumcast.core import outcomes as told
from quorumcast.core import records as kept
from quorumcast.core.evidence import Evidence
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.messages import DIGEST_BYTES

SHOWN = 3
"""Digests, names and streams that a line shows; of more it says how many."""


def name(stream: Stream) -> str:
    """A stream, shortly.

    >>> name(Stream("alerts", "p1", bytes(32), Lane.URGENT))
    'alerts/p1/0000/urgent'
    """
    lane = "/urgent" if stream.lane == Lane.URGENT else ""
    return f"{stream.channel}/{stream.publisher}/{stream.session[:2].hex()}{lane}"


def span(first: int, count: int) -> str:
    """Consecutive positions.

    >>> span(3, 1), span(3, 4), span(3, 0)
    ('3', '3-6', 'nothing')
    """
    if count < 1:
        return "nothing"
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return " ".join(names[:SHOWN]) + more


def _run(first: int, digests: bytes) -> str:
    """Positions with the digests that are claimed for them."""
    at = range(0, len(digests), DIGEST_BYTES)
    return f"{span(first, len(at))} [{_some([digests[i : i + 2].hex() for i in at])}]"


def _upto(what: Any) -> str:
    return f"{name(what.stream)} to {what.position} [{what.chain[:2].hex()}]"


def _bodies(what: Any) -> str:
    signed = ", signed" if getattr(what, "signatures", b"") else ""
    return f"{name(what.stream)} {span(what.first, len(what.bodies))}{signed}"


def _reason(text: str) -> str:
    return f": {text}" if text else ""


def _heads(what: said.Heads) -> str:
    heads = [f"{name(head.stream)} to {head.last}" for head in what.heads]
    return f"HEADS {what.channel} at {what.counter}: {_some(heads) or 'nothing new'}"


_MESSAGES: dict[type, Callable[[Any], str]] = {
    said.Hello: lambda m: f"HELLO, incarnation {m.incarnation.counter}",
    said.Open: lambda m: f"OPEN {name(m.stream)}",
    said.Release: lambda m: f"RELEASE {name(m.stream)}",
    said.Publish: lambda m: f"PUBLISH {_bodies(m)}",
    said.Status: lambda m: f"{m.code.name} {name(m.stream)} at {m.position}{_reason(m.reason)}",
    said.Credit: lambda m: f"CREDIT {name(m.stream)} to {m.through}",
    said.HeldUpTo: lambda m: f"HELD {_upto(m)}",
    said.Held: lambda m: f"HELD {name(m.stream)} {_run(m.first, m.digests)}",
    said.ReadyUpTo: lambda m: f"READY {_upto(m)}",
    said.ConfirmedUpTo: lambda m: f"CONFIRMED {_upto(m)}",
    said.FloorAt: lambda m: f"FLOOR {_upto(m)}",
    said.AskOpening: lambda m: f"which opening has {name(m.stream)}?",
    said.OpeningOf: lambda m: f"opening of {name(m.stream)}",
    said.AskVotes: lambda m: f"votes of {name(m.stream)} from {m.first}?",
    said.AskConfirmed: lambda m: f"confirmed {name(m.stream)} at {m.position}?",
    said.AskDigests: lambda m: (
        f"digests of {name(m.stream)} {span(m.first, m.last - m.first + 1)}?"
    ),
    said.Digests: lambda m: f"digests {name(m.stream)} {_run(m.first, m.digests)}",
    said.AskBodies: lambda m: f"bodies of {name(m.stream)} {_run(m.first, m.digests)}?",
    said.Bodies: lambda m: f"bodies {_bodies(m)}",
    said.AskHeads: lambda m: f"heads of {m.channel} since {m.since}?",
    said.Heads: _heads,
    said.Subscribe: lambda m: (
        f"SUBSCRIBE {m.channel} v{m.version} {_some(list(m.patterns))}"
        f"{' and blocks' if m.blocks else ''}"
    ),
    said.Follow: lambda m: f"FOLLOW {name(m.stream)} v{m.version} {m.first} to {m.through}",
    said.Unsubscribe: lambda m: f"UNSUBSCRIBE {m.channel} v{m.version}",
    said.SubscribeStatus: lambda m: (
        f"subscription {m.channel} v{m.version} "
        f"{'in force' if m.accepted else 'refused'}{_reason(m.reason)}"
    ),
    said.CharterAt: lambda m: f"charter, version {m.version}",
    said.CharterIs: lambda m: f"charter of {len(m.packed)} bytes",
    said.AskReport: lambda m: "report?",
    said.Report: lambda m: f"report of {len(m.text)} bytes",
}

_RECORDS: dict[type, Callable[[Any], str]] = {
    kept.Opened: lambda r: f"{name(r.stream)} is open",
    kept.Accepted: lambda r: f"votes {name(r.stream)} {_run(r.first, r.digests)}",
    kept.Installed: lambda r: f"puts in {name(r.stream)} {_run(r.first, r.digests)}",
    kept.MadeReady: lambda r: f"READY {_upto(r)}",
    kept.Confirmed: lambda r: f"CONFIRMED {_upto(r)}",
    kept.Tainted: lambda r: f"{name(r.stream)} is tainted",
    kept.Closed: lambda r: f"{name(r.stream)} is closed",
    kept.Floored: lambda r: f"floor {_upto(r)}",
    kept.Forgotten: lambda r: f"forgets {name(r.stream)}",
    kept.Incarnated: lambda r: f"incarnation {r.valid[-1][0].counter}",
}

_OUTCOMES: dict[type, Callable[[Any], str]] = {
    told.Delivery: lambda o: (
        f"delivers {_bodies(o)} ({'confirmed' if o.confirmed else f'{o.votes} votes'})"
    ),
    told.Gap: lambda o: f"has a gap in {name(o.stream)} {span(o.first, o.last - o.first + 1)}",
    told.SubscriptionRefused: lambda o: f"may not subscribe to {o.channel}: {o.reason}",
    told.Acknowledged: lambda o: (
        f"has {span(o.first, o.last - o.first + 1)} acknowledged at {name(o.stream)} {o.position}"
        f"{', confirmed' if o.confirmed else f' by {o.replicas}'}"
    ),
    told.OutcomeUnknown: lambda o: (
        f"does not know the outcome of {span(o.first, o.last - o.first + 1)} on {o.channel}"
    ),
    told.Refused: lambda o: f"is refused on {o.channel}: {o.reason}",
}


def _say(table: dict[type, Callable[[Any], str]], what: object) -> str:
    wording = table.get(type(what))
    return type(what).__name__ if wording is None else wording(what)


def message(what: said.Message) -> str:
    """What a message says.

    >>> message(said.Held(Stream("alerts", "p1", bytes(32), Lane.NORMAL), 4, bytes(64)))
    'HELD alerts/p1/0000 4-5 [0000 0000]'
    """
    return _say(_MESSAGES, what)


def record(what: kept.Record) -> str:
    """What a record makes durable.

    >>> record(kept.Tainted(Stream("alerts", "p1", bytes(32), Lane.NORMAL)))
    'alerts/p1/0000 is tainted'
    """
    return _say(_RECORDS, what)


def outcome(what: object) -> str:
    """What a user was told.

    >>> outcome(told.SubscriptionRefused("alerts", "not allowed"))
    'may not subscribe to alerts: not allowed'
    """
    return _say(_OUTCOMES, what)


def evidence(what: Evidence) -> str:
    """Whom evidence names, and why.

    >>> from quorumcast.core.evidence import Weight
    >>> evidence(Evidence(Weight.LOCAL, frozenset({"r4"}), "r4 voted twice", None, None, None))
    'has local evidence against r4: r4 voted twice'
    """
    kinds = {"proof": "proof against", "local": "local evidence against", "suspicion": "suspects"}
    has = "" if what.weight.value == "suspicion" else "has "
    return f"{has}{kinds[what.weight.value]} {', '.join(sorted(what.parties))}: {what.reason}"
