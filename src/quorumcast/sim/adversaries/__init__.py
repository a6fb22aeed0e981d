"""Byzantine behaviours, one a file: wrappers of a correct machine with the same interface.

`REGISTRY` has them by name, with the party that each one plays. May import what `sim` may.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from quorumcast.core.errors import ConfigError
from quorumcast.core.machine import Machine
from quorumcast.sim.adversaries.alter import Alter
from quorumcast.sim.adversaries.amnesiac import Amnesiac
from quorumcast.sim.adversaries.collude import Collude
from quorumcast.sim.adversaries.double_vote import DoubleVote
from quorumcast.sim.adversaries.equivocate import Equivocate
from quorumcast.sim.adversaries.fickle import Fickle
from quorumcast.sim.adversaries.flood import Flood
from quorumcast.sim.adversaries.forged import Forged
from quorumcast.sim.adversaries.greedy import Greedy
from quorumcast.sim.adversaries.mutate import Mutate
from quorumcast.sim.adversaries.partial import Partial
from quorumcast.sim.adversaries.plot import Deed, Plot
from quorumcast.sim.adversaries.replay import Replay
from quorumcast.sim.adversaries.silent import Silent
from quorumcast.sim.adversaries.slow import Slow
from quorumcast.sim.adversaries.state_aware import StateAware
from quorumcast.sim.adversaries.two_faced import TwoFaced
from quorumcast.sim.adversaries.withhold import Withhold
from quorumcast.sim.adversaries.wrong_chains import WrongChains

Maker = Callable[[Machine, Plot], Machine]


class Adversary(msgspec.Struct, frozen=True):
    """A behaviour by name: what it does, and which parties play it.

    >>> REGISTRY["greedy"].replica is None
    True
    """

    name: str
    does: str
    replica: Maker | None = None
    publisher: Maker | None = None
    subscriber: Maker | None = None
    twins: bool = False
    """Two correct machines with one identity instead of a wrapper."""
    signed: bool = False
    """Only signed channels give it something to attack."""

    @property
    def replicas_lie(self) -> bool:
        """Whether it plays replicas, and so counts among the f."""
        return self.replica is not None or self.twins


def _registry(*adversaries: Adversary) -> dict[str, Adversary]:
    return {adversary.name: adversary for adversary in adversaries}


REGISTRY: dict[str, Adversary] = _registry(
    Adversary("silent", "never says a word", Silent),
    Adversary("partial", "is correct to some and silent to others", Partial),
    Adversary("withhold", "acknowledges, and keeps publications to itself", Withhold),
    Adversary("alter", "changes numbers, names, channels, contents, chains", Alter),
    Adversary("equivocate", "tells two consistent stories to two halves", Equivocate),
    Adversary("fickle", "withholds, alters and equivocates by turns", Fickle),
    Adversary("double-vote", "votes for two contents of one id", DoubleVote),
    Adversary("amnesiac", "forgets its votes and keeps its incarnation", Amnesiac),
    Adversary("replay", "repeats old statements about other streams", Replay),
    Adversary("wrong-chains", "claims positions and chains that nobody has", WrongChains),
    Adversary("slow", "says everything seconds too late", Slow),
    Adversary("flood", "makes up streams, ids and questions without end", Flood, Flood),
    Adversary("greedy", "a subscriber that asks for everything for ever", subscriber=Greedy),
    Adversary("forged", "forges certificates and signatures", Forged, Forged, signed=True),
    Adversary("mutate", "changes one field or one delivery time", Mutate),
    Adversary("state-aware", "tells each victim the lie that it is open to", StateAware),
    Adversary("collude", "helps a two-faced publisher on both sides", Collude, TwoFaced),
    Adversary(
        "twins", "two correct replicas with one identity, each with its own part", twins=True
    ),
)


def adversary_named(name: str) -> Adversary | None:
    """The adversary of a name, or None for "none"; `ConfigError` lists those that exist.

    >>> adversary_named("sillent")
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: there is no adversary sillent; there are: none, ...
    """
    if name == "none":
        return None
    if name not in REGISTRY:
        raise ConfigError(
            f"there is no adversary {name}; there are: none, all, {', '.join(REGISTRY)}"
        )
    return REGISTRY[name]


__all__ = [
    "REGISTRY",
    "Adversary",
    "Deed",
    "Maker",
    "Plot",
    "TwoFaced",
    "adversary_named",
]
