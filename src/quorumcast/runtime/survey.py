"""What the reports of replicas say together about their cluster.

Each replica's part is its own statement. What runs through a channel is what f+1 replicas say at
least, so that no lie makes it more. A replica counts as gone that is stopped, or that was asked and
did not answer; one that could not be asked does not, if one that answers has a link to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quorumcast.broadcast.tally import kth
from quorumcast.core.ids import Party
from quorumcast.runtime.settings import ClusterFile

LIVE = ("streams", "held", "confirmed", "floor", "publishers", "subscribers")
"""What only running replicas know of a channel; the last two are those connected now."""

_PART = dict.fromkeys(
    (
        "name",
        "address",
        "pid",
        "state",
        "progress",
        "abstaining_streams",
        "rss_bytes",
        "metrics",
        "statement_of",
    )
)
"""A replica's part: each key is there, and null where nothing is known."""

Reports = Mapping[Party, Mapping[str, Any] | None]


def flowing(reports: Reports, need: int) -> dict[str, dict[str, int]]:
    """What runs through each channel, as so many replicas say at least; nothing where fewer do.

    >>> one, two = ({"channels": [{"name": "a", **dict.fromkeys(LIVE, n)}]} for n in (1, 2))
    >>> flowing({"r1": one, "r2": two, "r3": None}, 2)["a"]["held"]
    1
    """
    said: dict[str, list[dict[str, int]]] = {}
    for report in reports.values():
        named = {each["name"]: each for each in report["channels"]} if report is not None else {}
        for name, channel in named.items():
            said.setdefault(name, []).append(channel)
    return {
        name: {field: kth([each[field] for each in all_], need) for field in LIVE}
        for name, all_ in said.items()
        if len(all_) >= need
    }


def quorum(cluster: ClusterFile) -> int:
    """How many replicas the most demanding channel needs."""
    known = cluster.manifest.cluster()
    return max((each.quorum(known).votes for each in cluster.channels), default=1)


def surveyed(
    cluster: ClusterFile, here: Mapping[Party, int | None], reports: Reports, *, asked: bool
) -> dict[str, Any]:
    """The whole status; `asked` says whether replicas of other hosts could be.

    `here` are this host's replicas, with the processes of those that run and do not answer.
    """
    manifest = cluster.manifest
    replicas: list[dict[str, Any]] = []
    suspected: list[dict[str, Any]] = []
    linked = {
        name for report in reports.values() if report is not None for name in report["linked"]
    }
    not_asked: list[Party] = []
    gone = 0
    for entry in manifest.replicas:
        report = reports[entry.name]
        if report is not None:
            rest = {key: value for key, value in report.items() if key != "suspected"}
            replicas.append({**_PART, **rest, "statement_of": entry.name})
            suspected += report["suspected"]
            continue
        pid = here.get(entry.name)
        known = {
            "name": entry.name,
            "address": cluster.addresses[entry.name],
            "pid": pid,
            "state": "stopped" if entry.name in here and pid is None else "unreachable",
        }
        replicas.append({**_PART, **known})
        if entry.name not in here and not asked:
            not_asked.append(entry.name)
        gone += entry.name in here or asked or entry.name not in linked
    return {
        "cluster": cluster.name,
        "folder": str(cluster.path.parent),
        "epoch": manifest.epoch,
        "lab": manifest.lab,
        "n": len(manifest.replicas),
        "f": manifest.faults,
        "quorum": quorum(cluster),
        "faults_left": manifest.faults - gone,
        "not_asked": not_asked,
        "replicas": replicas,
        "suspected": _joined(suspected),
    }


def _joined(suspected: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reports of several replicas about the same parties, as one."""
    joined: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {}
    for each in suspected:
        key = (tuple(each["parties"]), each["grade"])
        known = joined.setdefault(key, {**each, "count": 0, "seen_by": []})
        known["count"] += each["count"]
        known["first"] = min(known["first"], each["first"])
        known["last"] = max(known["last"], each["last"])
        known["seen_by"] = sorted({*known["seen_by"], *each["seen_by"]})
    return list(joined.values())
