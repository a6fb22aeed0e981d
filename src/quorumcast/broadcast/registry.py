"""The broadcast protocols: their bounds, their rounds, and what each promises.

The broker, the simulator and the lab find a protocol here by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import msgspec

from quorumcast.core.errors import ConfigError
from quorumcast.core.quorum import Model


class Totality(Enum):
    """How far correct subscribers end up with the same, whatever a faulty publisher does.

    >>> Totality.ALL_OR_NONE.value
    'all or none'
    """

    NONE = "none"
    CRASH = "if a holder survives"
    WITHIN = "within 2α a stream"
    ALL_OR_NONE = "all or none"


class Protocol(msgspec.Struct, frozen=True):
    """One protocol of fifo channels.

    `rounds` counts message delays from the publisher's send to a subscriber's delivery when nobody
    is faulty; `confirm_rounds` those until replicas have confirmed it.

    >>> find("bracha").least_replicas(1)
    4
    """

    name: str
    summary: str
    model: Model
    rounds: int
    confirm_rounds: int
    agreement: bool
    totality: Totality
    delivers_all_of_correct: bool
    """Whether every correct subscriber gets all that a correct publisher publishes."""
    lab_only: bool
    least: Callable[[int], int]

    def least_replicas(self, faults: int) -> int:
        """The smallest cluster that tolerates this many faults."""
        return self.least(faults)


def _crash(faults: int) -> int:
    return 2 * faults + 1


def _byzantine(faults: int) -> int:
    return 3 * faults + 1


_PROTOCOLS = (
    Protocol(
        name="plain",
        summary="f+1 copies deliver; replicas copy to each other what one of them lacks",
        model="crash",
        rounds=2,
        confirm_rounds=2,
        agreement=False,
        totality=Totality.CRASH,
        delivers_all_of_correct=True,
        lab_only=False,
        least=_crash,
    ),
    Protocol(
        name="ab",
        summary="Q equal votes deliver; replicas confirm every α publications and within a time",
        model="byzantine",
        rounds=2,
        confirm_rounds=3,
        agreement=True,
        totality=Totality.WITHIN,
        delivers_all_of_correct=True,
        lab_only=False,
        least=_byzantine,
    ),
    Protocol(
        name="bracha",
        summary="confirmation delivers; replicas exchange votes in every turn",
        model="byzantine",
        rounds=4,
        confirm_rounds=3,
        agreement=True,
        totality=Totality.ALL_OR_NONE,
        delivers_all_of_correct=True,
        lab_only=False,
        least=_byzantine,
    ),
    Protocol(
        name="ab-unconfirmed",
        summary="ab with confirm = false: Q equal votes deliver, and nobody repairs anything",
        model="byzantine",
        rounds=2,
        confirm_rounds=0,
        agreement=True,
        totality=Totality.NONE,
        delivers_all_of_correct=False,
        lab_only=True,
        least=_byzantine,
    ),
)

PROTOCOLS = {protocol.name: protocol for protocol in _PROTOCOLS}
"""All protocols by name; `ab-unconfirmed` is what `ab` is with `confirm = false`."""


def find(name: str, *, confirm: bool = True) -> Protocol:
    """The protocol of that name, as a channel with this `confirm` runs it.

    >>> find("ab", confirm=False).totality is Totality.NONE
    True
    >>> find("paxos")
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: there is no protocol paxos; there are: ab, bracha, plain
    """
    known = sorted(name for name in PROTOCOLS if name != "ab-unconfirmed")
    if name not in known:
        raise ConfigError(f"there is no protocol {name}; there are: {', '.join(known)}")
    return PROTOCOLS["ab-unconfirmed" if name == "ab" and not confirm else name]
