"""One seed, many sources of randomness: each component draws from its own, by name.

A component that draws once more does not shift what another one sees, so a schedule stays
recognisable while it is shrunk.
"""

from __future__ import annotations

from random import Random


def derive(seed: int, *names: str) -> Random:
    """The source of randomness of one component; equal names give equal draws.

    >>> derive(7, "network", "r1").random() == derive(7, "network", "r1").random()
    True
    >>> derive(7, "network", "r1").random() == derive(7, "network", "r2").random()
    False
    """
    # Seeding with text hashes it with SHA-512: the same in every process and on every machine.
    return Random("\0".join((str(seed), *names)))  # noqa: S311 (repeatable, not secret)
