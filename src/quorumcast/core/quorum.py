"""Every threshold of the protocols, for any n and f, by name.

Byzantine clusters need n >= 3f+1. Any two sets of `votes` replicas share at least f+1, hence a
correct one, which votes once: that is why two contents never both gather `votes`. 2f+1 has this
property only at n = 3f+1.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from quorumcast.core.errors import ConfigError

Model = Literal["byzantine", "crash"]


class Quorum(msgspec.Struct, frozen=True):
    """The thresholds of one channel in a cluster of `n` replicas of which `f` may fail.

    >>> q = Quorum.byzantine(6, 1)
    >>> q.votes, q.one_correct, q.ready, q.certain, q.floors
    (4, 2, 3, 5, 5)
    >>> Quorum.crash(3, 1).votes
    2
    """

    n: int
    f: int
    model: Model
    votes: int
    """Equal votes that deliver and acknowledge: two such sets share a correct replica."""
    one_correct: int
    """Equal words that include a correct replica's: adopt, amplify, believe CONFIRMED."""
    ready: int
    """READYs that confirm: f+1 of them are correct, and so everybody gets f+1 and amplifies."""
    certain: int
    """Votes of which `votes` are correct: nothing else can ever gather `votes`."""
    holders: int
    """Holders that confirm on a crash channel: one of them survives."""
    floors: int
    """Floors that make a gap: everybody who can still answer has dropped it."""

    @classmethod
    def byzantine(cls, n: int, f: int) -> Quorum:
        """Thresholds when up to `f` replicas may do anything.

        >>> Quorum.byzantine(4, 1).votes
        3
        """
        if f < 0 or n < 3 * f + 1:
            raise ConfigError(_impossible(n, f, "Byzantine", 3 * f + 1, (n - 1) // 3))
        votes = (n + f + 2) // 2  # ceil((n+f+1)/2)
        return cls(n, f, "byzantine", votes, f + 1, 2 * f + 1, votes + f, n + 1, n - f)

    @classmethod
    def crash(cls, n: int, f: int, *, first: bool = False) -> Quorum:
        """Thresholds when replicas only crash; with `first`, one copy is enough to deliver.

        >>> Quorum.crash(2, 1, first=True).votes
        1
        """
        least = f + 1 if first else 2 * f + 1
        if f < 0 or n < least:
            most = n - 1 if first else (n - 1) // 2
            raise ConfigError(_impossible(n, f, "crash", least, most))
        return cls(n, f, "crash", 1 if first else f + 1, 1, n + 1, n + 1, f + 1, n - f)


def _impossible(n: int, f: int, model: str, least: int, most: int) -> str:
    if f < 0:
        return f"{f} faults make no sense: use 0 or more"
    return (
        f"{n} replicas cannot tolerate {f} {model} faults: "
        f"use at least {least} replicas, or at most {max(most, 0)} faults"
    )
