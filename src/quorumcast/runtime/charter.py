"""What the operator may change while the cluster runs: its channels, and the revoked names.

Rules of trust:

1. A charter counts if the operator signed it for this cluster; of several, the highest version
   wins. Of two with one version, which only an operator can make who signs two copies of the file,
   all parties take the same one: that with the larger content.
2. The signature is over the values in effect, defaults filled in. So comments, order and spelling
   of a file are free, and a program whose defaults have changed notices instead of meaning
   something else than the operator did.
3. Nothing in it is read before its signature was checked.

- content = JSON of the channels' tables, all keys, and the revoked names
- message = "quorumcast charter 1" and a zero, cluster id (32), version (8), content
- packed  = version (8), signature (64), content
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from blake3 import blake3

from quorumcast.auth.identity import Identity, verify
from quorumcast.auth.manifest import Manifest
from quorumcast.auth.names import OPERATOR, name_fault
from quorumcast.core.channel import Channel
from quorumcast.core.errors import AuthError, ConfigError
from quorumcast.core.ids import Party
from quorumcast.core.limits import CHARTER_BYTES
from quorumcast.core.messages import SIGNATURE_BYTES
from quorumcast.runtime.channels import ChannelSettings, read_channel
from quorumcast.runtime.tables import Source, written

CHANNELS = 1024
"""Channels of a cluster: a replica keeps bounded state for each."""

FIXED = ("protection", "order", "protocol", "confirm", "deliver", "schema", "signed", "durability")
"""Keys of a channel that do not change while it exists; of `confirm`, all but `within`."""

REVOKED = 10_000
"""Revoked names; a cluster that revoked more gets a new operator's key and new identities."""

VERSIONS = 2**63 - 1
"""What a TOML integer can hold."""

_DOMAIN = b"quorumcast charter 1\0"
_CONTENT_AT = 8 + SIGNATURE_BYTES


class Charter(msgspec.Struct, frozen=True):
    """Channels and revoked names of one version, with the operator's signature.

    >>> Charter(3, (ChannelSettings(Channel("alerts")),), ("probe-9",)).channels[0].name
    'alerts'
    """

    version: int
    settings: tuple[ChannelSettings, ...] = ()
    revoked: tuple[Party, ...] = ()
    signature: bytes = b""

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels as machines need them."""
        return tuple(each.channel for each in self.settings)

    def content(self) -> bytes:
        """What is said, in the only bytes that say it."""
        tables = [each.table() for each in self.settings]
        return msgspec.json.encode({"channels": tables, "revoked": self.revoked})

    def message(self, cluster_id: bytes) -> bytes:
        """What the operator signs."""
        return _DOMAIN + cluster_id + self.version.to_bytes(8, "big") + self.content()

    def signed(self, operator: Identity, cluster_id: bytes) -> Charter:
        """This charter with the operator's signature.

        >>> operator = Identity.from_seeds(b"o" * 32, b"p" * 32)
        >>> charter = Charter(1).signed(operator, bytes(32))
        >>> charter.counts(operator.public.sign, bytes(32))
        True
        >>> charter.counts(operator.public.sign, bytes(31) + b"x")
        False
        """
        if len(self.content()) > CHARTER_BYTES - _CONTENT_AT:
            raise ConfigError(
                f"channels and revoked names need {len(self.content())} bytes: "
                f"use fewer, or shorter schemas, within {CHARTER_BYTES - _CONTENT_AT}"
            )
        signature = operator.sign(self.message(cluster_id))
        return msgspec.structs.replace(self, signature=signature)

    def counts(self, operator: bytes, cluster_id: bytes) -> bool:
        """Whether the operator of that cluster signed it."""
        return verify(operator, self.message(cluster_id), self.signature)

    def newer(self, other: Charter) -> bool:
        """Whether this one wins against another that counts as well."""
        if self.version != other.version:
            return self.version > other.version
        return self.content() > other.content()

    def digest(self) -> bytes:
        """What tells contents of one version apart, whatever their signatures."""
        return blake3(self.content()).digest()

    def pack(self) -> bytes:
        """The charter in bytes, to be handed on."""
        return self.version.to_bytes(8, "big") + self.signature + self.content()


def unpack(data: bytes, manifest: Manifest) -> Charter:
    """The charter that somebody handed on, or `AuthError` if the operator did not sign it.

    A `ConfigError` says that he did, and that this program cannot do what it says.
    """
    if not _CONTENT_AT < len(data) <= CHARTER_BYTES:
        raise AuthError(f"charter: {len(data)} bytes are not a charter")
    version, content = data[:8], data[_CONTENT_AT:]
    message = _DOMAIN + manifest.cluster_id + version + content
    if not verify(manifest.operator, message, data[8:_CONTENT_AT]):
        raise AuthError("charter: this cluster's operator did not sign it")
    number = int.from_bytes(version, "big")
    source = Source(f"the operator's settings, version {number}")
    try:
        said = msgspec.json.decode(content, type=_Content)
    except msgspec.DecodeError:
        raise ConfigError(
            f"{source.name}: not understood: use a newer version of this program"
        ) from None
    tables = [
        {key: value for key, value in table.items() if value is not None} for table in said.channels
    ]
    charter = Charter(
        number,
        read_channels(tables, manifest, source),
        said.revoked,
        data[8:_CONTENT_AT],
    )
    if charter.content() != content:  # it would be handed on under a signature of something else
        raise ConfigError(f"{source.name}: not understood: use a newer version of this program")
    return charter


def read_channels(
    tables: list[dict[str, Any]], manifest: Manifest, source: Source
) -> tuple[ChannelSettings, ...]:
    """The channels of a file or a charter, each with a name of its own."""
    if len(tables) > CHANNELS:
        raise source.fault(("channel", CHANNELS), f"{len(tables)} channels: use at most {CHANNELS}")
    cluster, names = manifest.cluster(), set[str]()
    found: list[ChannelSettings] = []
    for number, table in enumerate(tables):
        place = ("channel", number)
        settings = read_channel(table, cluster, source, place)
        if settings.name in names:
            raise source.fault(
                (*place, "name"), f"two channels are named {settings.name}: use a name once"
            )
        names.add(settings.name)
        found.append(settings)
    return tuple(found)


def announced(packed: bytes) -> tuple[int, bytes]:
    """Version and digest of a packed charter, whoever signed it.

    >>> charter = Charter(3, signature=bytes(64))
    >>> announced(charter.pack()) == (3, charter.digest())
    True
    """
    return int.from_bytes(packed[:8], "big"), blake3(packed[_CONTENT_AT:]).digest()


def fixed_fault(
    before: Mapping[str, Mapping[str, Any]], after: Charter
) -> tuple[int, str, str] | None:
    """The first channel that changes what cannot change while it exists: which, key, and why.

    `before` has the tables of channels as they are, or were when there last was such a channel.

    >>> table = ChannelSettings(Channel("alerts")).table()
    >>> later = ChannelSettings(Channel("alerts", protocol="bracha"))
    >>> fixed_fault({"alerts": table}, Charter(2, (later,)))
    (0, 'protocol', 'channel alerts: protocol cannot change from "ab" to "bracha": ...')
    """
    for number, settings in enumerate(after.settings):
        old, new = before.get(settings.name), settings.table()
        if old is None:
            continue
        for key in FIXED:
            was, now = _fixed(key, old[key]), _fixed(key, new[key])
            if was != now:
                said = (
                    f"channel {settings.name}: {key} cannot change from {written(was)} to "
                    f"{written(now)}: what was published goes by it; put it back, or use a "
                    "channel of another name"
                )
                return number, key, said
    return None


def _fixed(key: str, value: Any) -> Any:
    """The part of a setting that is fixed: of a confirmation all but the time."""
    return {"every": value["every"]} if key == "confirm" and value is not False else value


def revocation_fault(name: str, manifest: Manifest) -> str | None:
    """Why a name cannot be revoked, to follow the name; None if it can.

    >>> from quorumcast.auth.manifest import ReplicaEntry
    >>> replica = ReplicaEntry("r1", Identity.from_seeds(b"s" * 32, b"a" * 32).public)
    >>> cluster = Manifest(nonce=bytes(32), operator=b"o" * 32, faults=0, replicas=(replica,))
    >>> revocation_fault("r1", cluster)
    'is a replica: replicas leave with a new epoch, not by revocation'
    """
    if name == OPERATOR:
        return "is the operator's own: it cannot be revoked"
    if manifest.replica(name) is not None:
        return "is a replica: replicas leave with a new epoch, not by revocation"
    if (fault := name_fault(name)) is not None:
        return f"{fault}: use a client's name"
    return None


class _Content(msgspec.Struct, forbid_unknown_fields=True):
    channels: list[dict[str, Any]]
    revoked: tuple[str, ...]
