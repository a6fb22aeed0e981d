"""Clusters made up for tests: keys from counters, no randomness, few fsyncs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path

import msgspec
from blake3 import blake3

from quorumcast.auth.identity import Identity
from quorumcast.auth.manifest import Manifest, ReplicaEntry
from quorumcast.core.channel import Channel
from quorumcast.runtime.channels import ChannelSettings
from quorumcast.runtime.charter import Charter
from quorumcast.runtime.settings import ClusterFile

PATH = Path("cluster.toml")


def entropy(seed: int = 0) -> Callable[[int], bytes]:
    """Bytes that look random and are the same in every run."""
    counter = count()

    def draw(size: int) -> bytes:
        return blake3(f"{seed} {next(counter)}".encode()).digest(size)

    return draw


def identity(name: str) -> Identity:
    seeds = (blake3(f"{kind} {name}".encode()).digest() for kind in ("sign", "agree"))
    return Identity.from_seeds(*seeds)


OPERATOR = identity("operator")


@cache
def manifest(replicas: int = 4, faults: int = 1, *, lab: bool = False) -> Manifest:
    return Manifest(
        nonce=bytes(range(32)),
        operator=OPERATOR.public.sign,
        faults=faults,
        replicas=tuple(
            ReplicaEntry(f"r{i}", identity(f"r{i}").public, (f"tcp://127.0.0.1:{7400 + i}",))
            for i in range(1, replicas + 1)
        ),
        lab=lab,
    )


def cluster(
    *settings: ChannelSettings,
    revoked: tuple[str, ...] = (),
    version: int = 1,
    of: Manifest | None = None,
) -> ClusterFile:
    of = of or manifest()
    charter = Charter(version, settings or (ChannelSettings(Channel("alerts")),), revoked)
    return ClusterFile(
        name="demo",
        manifest=of,
        addresses={each.name: each.addresses[0] for each in of.replicas},
        charter=charter.signed(OPERATOR, of.cluster_id),
        path=PATH,
    )


def at(made: ClusterFile, path: Path) -> ClusterFile:
    """The same cluster, as if it had been read from there."""
    return msgspec.structs.replace(made, path=path)
