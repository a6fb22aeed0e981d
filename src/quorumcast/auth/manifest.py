"""The fixed part of a cluster's manifest, its digests, and the cluster's name.

- cluster id = H("quorumcast cluster 1", operator's key, lab flag, nonce)
- table "cluster" = H("quorumcast manifest cluster 1", cluster id, epoch, f, operator's key,
  number of replicas)
- table "replica NAME" = H("quorumcast manifest replica 1", place, name, both keys, TLS certificate)
- digest = H("quorumcast manifest 1", the tables' digests, in order)

The cluster id outlives changes of the replica set and of the epoch: streams and certificates of
one cluster stay its own. It covers the lab flag, so that a lab cluster, where safety may be
switched off, can never pass for another one. Addresses say where to knock and not who answers:
they may differ from host to host, and no digest covers them.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from blake3 import blake3

from quorumcast.auth.certificate import Certificate, check, issue
from quorumcast.auth.digests import lengths
from quorumcast.auth.identity import Identity, PublicKeys, sign_key_fault
from quorumcast.auth.names import OPERATOR, name_fault
from quorumcast.core.errors import AuthError, ConfigError
from quorumcast.core.ids import Cluster, Party
from quorumcast.core.limits import REPLICAS
from quorumcast.core.quorum import Quorum

_CLUSTER = b"quorumcast cluster 1\0"
_CLUSTER_TABLE = b"quorumcast manifest cluster 1\0"
_REPLICA_TABLE = b"quorumcast manifest replica 1\0"
_MANIFEST = b"quorumcast manifest 1\0"

_NONCE_BYTES = 32
_INTEGERS = 2**63  # what a TOML integer can hold


class ReplicaEntry(msgspec.Struct, frozen=True):
    """A replica in the manifest: who it is, and where it may be found.

    >>> ReplicaEntry("r1", PublicKeys(bytes(32), bytes(32)), ("127.0.0.1:7000",)).name
    'r1'
    """

    name: Party
    keys: PublicKeys
    addresses: tuple[str, ...] = ()
    tls: bytes = b""
    """The TLS certificate that its links show; empty where links have none."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What every party of a cluster must have equal; checked when it is made.

    >>> Manifest(nonce=bytes(32), operator=b"o" * 32, faults=0, replicas=())
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: manifest: 0 replicas: use 1 to 64
    """

    nonce: bytes
    """32 random bytes, drawn once when the cluster is created."""
    operator: bytes
    """The Ed25519 public key under which client certificates are signed."""
    faults: int
    replicas: tuple[ReplicaEntry, ...]
    """In the order that openings and authenticators follow."""
    epoch: int = 1
    lab: bool = False

    def __post_init__(self) -> None:
        if len(self.nonce) != _NONCE_BYTES:
            raise ConfigError(f"manifest: nonce has {len(self.nonce)} bytes: use {_NONCE_BYTES}")
        if (fault := sign_key_fault(self.operator)) is not None:
            raise ConfigError(f"manifest: the operator's {fault}")
        if not 1 <= self.epoch < _INTEGERS:
            raise ConfigError(f"manifest: epoch {self.epoch} is out of range: use 1 and upwards")
        if not 1 <= len(self.replicas) <= REPLICAS:
            raise ConfigError(f"manifest: {len(self.replicas)} replicas: use 1 to {REPLICAS}")
        _check_replicas(self.replicas, self.operator)
        # The least that any channel asks for; each channel's own check asks for what it needs.
        Quorum.crash(len(self.replicas), self.faults, first=True)

    @property
    def cluster_id(self) -> bytes:
        """The cluster's name for ever: the same in all epochs and for all replica sets.

        >>> keys = Identity.from_seeds(b"s" * 32, b"a" * 32).public
        >>> one = Manifest(
        ...     nonce=bytes(32), operator=b"o" * 32, faults=0, replicas=(ReplicaEntry("r1", keys),)
        ... )
        >>> two = Manifest(
        ...     nonce=bytes(32), operator=b"o" * 32, faults=0, replicas=one.replicas, epoch=2
        ... )
        >>> one.cluster_id == two.cluster_id, one.digest() == two.digest()
        (True, False)
        """
        return blake3(_CLUSTER + self.operator + bytes((self.lab,)) + self.nonce).digest()

    def table_digests(self) -> dict[str, bytes]:
        """A digest per table, so that two parties that differ can say in what.

        The keys are "cluster" and "replica NAME" for each replica, in order.
        """
        counts = (self.epoch, self.faults, len(self.replicas))
        numbers = b"".join(count.to_bytes(8, "big") for count in counts)
        cluster = _CLUSTER_TABLE + self.cluster_id + self.operator + numbers
        tables = {"cluster": blake3(cluster).digest()}
        for place, replica in enumerate(self.replicas):
            keys = replica.keys
            fields = lengths(replica.name.encode(), keys.sign, keys.agree, replica.tls)
            data = _REPLICA_TABLE + place.to_bytes(4, "big") + fields
            tables[f"replica {replica.name}"] = blake3(data).digest()
        return tables

    def digest(self) -> bytes:
        """One digest of the whole fixed part, compared at connect."""
        return blake3(_MANIFEST + b"".join(self.table_digests().values())).digest()

    def difference(self, theirs: Mapping[str, bytes]) -> tuple[str, ...]:
        """The tables in which another party's `table_digests` differ from these, by name.

        >>> keys = Identity.from_seeds(b"s" * 32, b"a" * 32).public
        >>> mine = Manifest(
        ...     nonce=bytes(32), operator=b"o" * 32, faults=0, replicas=(ReplicaEntry("r1", keys),)
        ... )
        >>> mine.difference({**mine.table_digests(), "replica r1": bytes(32)})
        ('replica r1',)
        """
        mine = self.table_digests()
        tables = (*mine, *(name for name in theirs if name not in mine))
        return tuple(name for name in tables if mine.get(name) != theirs.get(name))

    def check_tables(self, theirs: Mapping[str, bytes]) -> None:
        """Raise `AuthError` that names the tables in which another party's manifest differs.

        >>> keys = Identity.from_seeds(b"s" * 32, b"a" * 32).public
        >>> mine = Manifest(
        ...     nonce=bytes(32), operator=b"o" * 32, faults=0, replicas=(ReplicaEntry("r1", keys),)
        ... )
        >>> mine.check_tables({**mine.table_digests(), "replica r1": bytes(32)})
        Traceback (most recent call last):
        ...
        quorumcast.core.errors.AuthError: manifests differ in: replica r1; ...
        """
        if differing := self.difference(theirs):
            raise AuthError(
                f"manifests differ in: {', '.join(differing)}; "
                "give both parties the same cluster file"
            )

    def cluster(self) -> Cluster:
        """What machines know of the cluster."""
        names = tuple(replica.name for replica in self.replicas)
        return Cluster(self.cluster_id, self.epoch, names, self.faults, self.operator, self.lab)

    def replica(self, name: Party) -> ReplicaEntry | None:
        """The replica of that name, if there is one."""
        return next((replica for replica in self.replicas if replica.name == name), None)

    def certify(self, operator: Identity, name: Party, keys: PublicKeys) -> bytes:
        """A certificate for a client of this cluster, whose name must not be a replica's."""
        if operator.public.sign != self.operator:
            raise ConfigError("this is not the operator's key that the manifest names")
        if self.replica(name) is not None:
            raise ConfigError(f"name {name} is a replica's: choose another one for a client")
        return issue(operator, self.cluster_id, name, keys)

    def check_client(self, data: bytes) -> Certificate:
        """A client's certificate, or `AuthError`; a replica's name is never a client's."""
        certificate = check(data, self.operator, self.cluster_id)
        if self.replica(certificate.name) is not None:
            raise AuthError(f"certificate: {certificate.name} is a replica's name")
        return certificate


def _check_replicas(replicas: tuple[ReplicaEntry, ...], operator: bytes) -> None:
    owners: dict[bytes, str] = {operator: "the operator"}
    names: set[Party] = set()
    for replica in replicas:
        name, keys = replica.name, replica.keys
        if (fault := name_fault(name)) is not None:
            raise ConfigError(f"manifest: replica name {name!r} {fault}")
        if name == OPERATOR:
            raise ConfigError(f"manifest: replica name {name} is the operator's own: use another")
        if name in names:
            raise ConfigError(f"manifest: two replicas are named {name}: use a name once")
        names.add(name)
        if (fault := keys.fault()) is not None:
            raise ConfigError(f"manifest: replica {name}: {fault}")
        # One key under two names would let one party vote twice.
        for key in (keys.sign, keys.agree):
            if key in owners:
                raise ConfigError(
                    f"manifest: replica {name} has a key of {owners[key]}: make keys for each"
                )
            owners[key] = f"replica {name}"
