"""What each channel promises, in one table; which checkers judge a run follows from it."""

from __future__ import annotations

from typing import Literal

import msgspec

from quorumcast.core.channel import Channel


class Promise(msgspec.Struct, frozen=True):
    """What a channel promises to correct parties, with at most f faulty replicas.

    >>> promise_of(Channel("alerts")).totality
    'window'
    """

    totality: Literal["all", "window", "none"]
    """After healing: exact; within 2α a stream of a faulty publisher; or none at all."""
    validity: bool
    """Whether everything of a correct publisher arrives."""
    faulty_publisher: Literal["all or none", "agreement", "nothing"]
    """What holds in the streams of a Byzantine publisher."""
    lies: bool
    """Whether its replicas may lie; else they only crash."""


PROMISES: dict[tuple[str, bool], Promise] = {
    # (protocol, confirm): totality, validity, with a Byzantine publisher, replicas may lie
    ("plain", True): Promise("all", True, "nothing", False),
    ("plain", False): Promise("none", False, "nothing", False),
    ("ab", False): Promise("none", False, "agreement", True),
    ("ab", True): Promise("window", True, "agreement", True),
    ("bracha", True): Promise("all", True, "all or none", True),
}


def promise_of(channel: Channel) -> Promise:
    """The row of a channel.

    >>> promise_of(Channel("alerts", protocol="bracha")).totality
    'all'
    """
    return PROMISES[channel.protocol, channel.confirm]


SAFETY = (
    "agreement",
    "authentication",
    "durability",
    "evidence",
    "fifo",
    "memory",
    "relevance",
    "uniqueness",
    "votes",
)
"""What every channel promises at all times."""


def checkers_for(channel: Channel) -> tuple[str, ...]:
    """The names of the checkers that judge a channel.

    >>> "validity" in checkers_for(Channel("lab", confirm=False))
    False
    """
    promise = promise_of(channel)
    confirming = ("chains",) if channel.confirm else ()
    owed = ("validity", "fairness") if promise.validity else ()
    total = ("totality",) if promise.totality != "none" else ()
    return (*SAFETY, *confirming, *owed, *total)
