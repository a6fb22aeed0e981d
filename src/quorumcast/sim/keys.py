"""Everybody's keys, drawn from the seed: real identities, certificates, manifest, link keys."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from quorumcast.auth.certificate import issue
from quorumcast.auth.identity import Identity
from quorumcast.auth.keys import connection_key, pair_key
from quorumcast.auth.manifest import Manifest, ReplicaEntry
from quorumcast.core.ids import Cluster, Party
from quorumcast.sim.draws import derive


@lru_cache(maxsize=4096)
def identity_of(seed: int, party: Party) -> Identity:
    """The key pairs of one party in the world of one seed.

    >>> identity_of(1, "r1").public == identity_of(1, "r1").public
    True
    """
    draws = derive(seed, "keys", party)
    return Identity.from_seeds(draws.randbytes(32), draws.randbytes(32))


@lru_cache(maxsize=8192)
def _pair_key(seed: int, cluster: bytes, epoch: int, sender: Party, receiver: Party) -> bytes:
    peer = identity_of(seed, receiver).public.agree
    return pair_key(identity_of(seed, sender), peer, cluster, epoch, sender, receiver)


class Keyring:
    """The keys of a cluster and its clients.

    >>> ring = Keyring(1, ["r1", "r2", "r3", "r4"], ["p1"], faults=1)
    >>> ring.cluster.replicas
    ('r1', 'r2', 'r3', 'r4')
    >>> ring.link("r1", "p1", bytes(32), bytes(32)) == ring.link("p1", "r1", bytes(32), bytes(32))
    False
    """

    def __init__(
        self,
        seed: int,
        replicas: Iterable[Party],
        clients: Iterable[Party],
        faults: int,
        *,
        lab: bool = False,
    ) -> None:
        self._seed = seed
        self.operator = identity_of(seed, "operator")
        self.manifest = Manifest(
            nonce=derive(seed, "cluster").randbytes(32),
            operator=self.operator.public.sign,
            faults=faults,
            replicas=tuple(ReplicaEntry(name, identity_of(seed, name).public) for name in replicas),
            lab=lab,
        )
        self.cluster: Cluster = self.manifest.cluster()
        self.certificates: dict[Party, bytes] = {name: self._certify(name) for name in clients}

    def _certify(self, name: Party) -> bytes:
        return issue(self.operator, self.cluster.id, name, self.identity(name).public)

    def identity(self, party: Party) -> Identity:
        """A party's private keys; only its own machine and adversary see them."""
        return identity_of(self._seed, party)

    def link(self, sender: Party, receiver: Party, mine: bytes, theirs: bytes) -> bytes:
        """The key of one direction of one link, from both ends' nonces."""
        cluster = self.cluster
        pair = _pair_key(self._seed, cluster.id, cluster.epoch, sender, receiver)
        return connection_key(pair, mine, theirs)
