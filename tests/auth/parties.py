"""Identities and a manifest that tests of this folder share; all from fixed seeds."""

from __future__ import annotations

from blake3 import blake3

from quorumcast.auth.identity import Identity
from quorumcast.auth.manifest import Manifest, ReplicaEntry
from quorumcast.core.ids import Lane, Stream

CLUSTER = b"c" * 32
SESSION = b"s" * 32
STREAM = Stream("alerts", "probe-7", SESSION, Lane.NORMAL)


def identity(name: str) -> Identity:
    """One identity per name."""
    seeds = blake3(name.encode()).digest(length=64)
    return Identity.from_seeds(seeds[:32], seeds[32:])


OPERATOR = identity("operator")
PROBE = identity("probe-7")


def replicas(count: int) -> tuple[ReplicaEntry, ...]:
    """Replicas r1, r2, ... with their keys."""
    names = [f"r{number}" for number in range(1, count + 1)]
    return tuple(ReplicaEntry(name, identity(name).public) for name in names)


def manifest(count: int = 4, faults: int = 1, **changes: object) -> Manifest:
    """A good manifest, with what the test wants otherwise."""
    fields: dict[str, object] = {
        "nonce": b"n" * 32,
        "operator": OPERATOR.public.sign,
        "faults": faults,
        "replicas": replicas(count),
    }
    return Manifest(**{**fields, **changes})  # type: ignore[arg-type]
