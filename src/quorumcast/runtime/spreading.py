"""A change that the operator signed, brought to the replicas that run: here, and on other hosts."""

from __future__ import annotations

from typing import NamedTuple

from quorumcast.core.errors import QuorumcastError
from quorumcast.runtime.changing import load_operator
from quorumcast.runtime.control import NotRunning, control_path, give_order
from quorumcast.runtime.errand import hand_on
from quorumcast.runtime.folder import replicas_here
from quorumcast.runtime.settings import ClusterFile


class Spread(NamedTuple):
    """How many replicas have a change, of those on this host and on others, and why one has not.

    >>> print(Spread(4, 4, 0, 0, ()).text())
    4 of 4 replicas on this host have it.
    """

    here: int
    of_here: int
    elsewhere: int
    of_elsewhere: int
    faults: tuple[str, ...]

    def text(self) -> str:
        """What a command says of it."""
        said: list[str] = []
        for count, of, where in (
            (self.here, self.of_here, "on this host"),
            (self.elsewhere, self.of_elsewhere, "on other hosts"),
        ):
            if of:
                noun, verb = "replica" if of == 1 else "replicas", "has" if count == 1 else "have"
                said.append(f"{count} of {of} {noun} {where} {verb} it")
        rest = self.of_here + self.of_elsewhere - self.here - self.elsewhere
        if rest and not self.faults:
            those = "the others" if rest < self.of_here + self.of_elsewhere else "they"
            said.append(f"{those} learn it when they start, or from each other")
        return "; ".join([*said, *self.faults]) + "."


async def spread(cluster: ClusterFile) -> Spread:
    """Tell the replicas; it is signed, and nothing fails if they cannot be reached."""
    here = replicas_here(cluster)
    version = cluster.charter.version
    have, faults = 0, list[str]()
    for name in here:
        try:
            answer = await give_order(control_path(cluster.manifest.cluster_id, name), "learn")
            have += answer["version"] >= version
        except NotRunning:
            pass
        except QuorumcastError as error:
            faults.append(f"{name}: {error}")
    others = [each.name for each in cluster.manifest.replicas if each.name not in here]
    reached = frozenset[str]()
    if others:
        try:
            operator = load_operator(cluster.path.parent, cluster)
            reached = await hand_on(cluster, operator, others)
        except (QuorumcastError, OSError) as error:
            faults.append(str(error))
    return Spread(have, len(here), len(reached), len(others), tuple(dict.fromkeys(faults)))
