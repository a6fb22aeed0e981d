"""What a replica says of itself when it is asked: its own statement, and no more than that."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec

from quorumcast.auth.names import OPERATOR
from quorumcast.broker.desk import Desk
from quorumcast.broker.replica import Replica
from quorumcast.core.errors import ProtocolError
from quorumcast.core.evidence import Evidence, Weight
from quorumcast.core.ids import Party
from quorumcast.core.limits import REPORT_BYTES
from quorumcast.runtime.settings import ClusterFile

GRADES = {Weight.PROOF: "proven", Weight.LOCAL: "observed", Weight.SUSPICION: "suspected"}

_SUSPECTS = 256
"""Parties and kinds of faults that are kept; a liar may not fill a report."""


class Suspects:
    """Evidence that a replica reported, counted by whom it names and how strong it is.

    >>> suspects = Suspects("r1")
    >>> suspects.note(Evidence(Weight.LOCAL, frozenset({"r4"}), "lies", None, None, None), 5.0)
    >>> suspects.listed()[0]["parties"], suspects.listed()[0]["grade"]
    (['r4'], 'observed')
    """

    def __init__(self, me: Party) -> None:
        self._me = me
        self._known: dict[tuple[tuple[Party, ...], str], dict[str, Any]] = {}

    def note(self, evidence: Evidence, now: float) -> None:
        """One more piece of evidence."""
        parties = tuple(sorted(evidence.parties))
        key = (parties, GRADES[evidence.weight])
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _SUSPECTS:
                return
            known = self._known[key] = {
                "parties": list(parties),
                "grade": key[1],
                "kind": evidence.reason,
                "count": 0,
                "first": now,
                "last": now,
                "seen_by": [self._me],
            }
        known["count"] += 1
        known["last"] = now

    def listed(self) -> list[dict[str, Any]]:
        """All of it, for JSON."""
        return list(self._known.values())


def replica_report(
    machine: Replica, cluster: ClusterFile, links: set[Party], suspects: Suspects
) -> dict[str, Any]:
    """A replica's own statement about itself and its channels."""
    channels = [_channel(desk) for desk in machine.desks.values()]
    abstaining = sum(channel["abstaining"] for channel in channels)
    behind = sum(channel["behind"] for channel in channels)
    peers = {replica.name for replica in cluster.manifest.replicas} - {machine.me}
    votes = max((desk.context.quorum.votes for desk in machine.desks.values()), default=1)
    connected = len(peers & links) + 1
    state = "ready" if connected >= votes and not behind else "catching-up"
    if state == "ready" and abstaining:
        state = "abstaining"
    return {
        "name": machine.me,
        "address": cluster.addresses[machine.me],
        "pid": os.getpid(),
        "state": state,
        "connected": connected,
        "linked": sorted(peers & links),
        "version": cluster.charter.version,
        "progress": {"streams_behind": behind},
        "abstaining_streams": abstaining,
        "rss_bytes": rss_bytes(),
        "metrics": None,
        "incarnation": machine.incarnations.current.counter,
        "clients": len(links - peers - {OPERATOR}),
        "channels": channels,
        "suspected": suspects.listed(),
    }


def _channel(desk: Desk) -> dict[str, Any]:
    entries = desk.shelf.entries.values()
    at_work = [entry.active for entry in entries if entry.active is not None]
    return {
        "name": desk.channel.name,
        "streams": len(desk.shelf.entries),
        "held": sum(entry.head for entry in entries),
        "confirmed": sum(entry.confirmed.seq for entry in entries),
        "floor": sum(entry.floor.seq for entry in entries),
        "publishers": desk.admission.present,
        "subscribers": desk.subscriptions.count,
        "abstaining": sum(1 for active in at_work if active.abstains),
        "behind": sum(1 for active in at_work if not active.repair.idle),
    }


# -- reports that come from elsewhere --------------------------------------------------------------


class _Suspected(msgspec.Struct):
    parties: list[str]
    grade: Literal["proven", "observed", "suspected"]
    kind: str
    count: int
    first: float
    last: float


class _Channel(msgspec.Struct):
    name: str
    streams: int
    held: int
    confirmed: int
    floor: int
    publishers: int
    subscribers: int
    abstaining: int
    behind: int


class _Report(msgspec.Struct):
    pid: int
    state: Literal["ready", "catching-up", "abstaining"]
    connected: int
    linked: list[str]
    version: int
    progress: dict[str, int]
    abstaining_streams: int
    rss_bytes: int
    metrics: str | None
    incarnation: int
    clients: int
    channels: list[_Channel]
    suspected: list[_Suspected]


def packed_report(report: dict[str, Any]) -> bytes:
    """A report as it is sent; one that is too long leaves out what it says of others.

    >>> packed_report({"pid": 7})
    b'{"pid":7}'
    """
    text = msgspec.json.encode(report)
    for part in ("suspected", "channels"):
        if len(text) > REPORT_BYTES:
            report = {**report, part: []}
            text = msgspec.json.encode(report)
    return text


def unpacked_report(text: bytes, name: Party, address: str) -> dict[str, Any]:
    """What a replica reported; `ProtocolError` if that is no report.

    Whatever it says, it says of itself, and a terminal can show it.
    """
    try:
        found = msgspec.json.decode(text, type=_Report)
    except (msgspec.DecodeError, RecursionError):
        raise ProtocolError(f"{name} sends what is no report") from None
    for each in found.suspected:
        each.kind = "".join(c if c.isprintable() else "?" for c in each.kind)
        if not all(party.isprintable() for party in each.parties):
            raise ProtocolError(f"{name} names parties that cannot be")
    report: dict[str, Any] = msgspec.to_builtins(found)
    for suspected in report["suspected"]:
        suspected["seen_by"] = [name]
    return {"name": name, "address": address, **report}


def rss_bytes() -> int:
    """What this process takes of the machine's memory now, or at most took where none tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
