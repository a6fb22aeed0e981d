"""Private keys in files: an operator's, a replica's, and a client's whole `NAME.qc`.

All are TOML of mode 0600. A client's file holds all that another host needs: its keys, the
operator's certificate for them, and the cluster's file as it was when the client was added; newer
channels are handed on at connect.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from quorumcast.auth.identity import KEY_BYTES, Identity
from quorumcast.auth.manifest import Manifest
from quorumcast.core.channel import Channel
from quorumcast.core.errors import AuthError, ConfigError
from quorumcast.core.ids import Party
from quorumcast.core.limits import CERTIFICATE_BYTES
from quorumcast.runtime.channels import ChannelSettings
from quorumcast.runtime.files import read_secret, write_file
from quorumcast.runtime.settings import TABLES, ClusterFile, read_cluster
from quorumcast.runtime.tables import Source, Table, parse, written

_KEYS = ("name", "cluster", "sign", "agree")


class Seeds:
    """The two secrets that make an identity; they go into files, and never into a message or log.

    >>> Seeds(b"s" * 32, b"a" * 32)
    Seeds(...)
    """

    __slots__ = ("agree", "sign")

    def __init__(self, sign: bytes, agree: bytes) -> None:
        self.sign = sign
        self.agree = agree

    @classmethod
    def drawn(cls, entropy: Callable[[int], bytes]) -> Seeds:
        """New ones, from a source of random bytes."""
        return cls(entropy(KEY_BYTES), entropy(KEY_BYTES))

    def identity(self) -> Identity:
        """The identity that they make."""
        return Identity.from_seeds(self.sign, self.agree)

    def __repr__(self) -> str:
        return "Seeds(...)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seeds) and (self.sign, self.agree) == (other.sign, other.agree)

    def __hash__(self) -> int:
        return hash(self.identity().public.sign)


class ClientFile(msgspec.Struct, frozen=True, kw_only=True):
    """What `NAME.qc` holds."""

    name: Party
    seeds: Seeds
    certificate: bytes
    cluster: ClusterFile
    """The cluster as it was when this file was written; its `path` is this file's."""

    @property
    def identity(self) -> Identity:
        """The client's keys."""
        return self.seeds.identity()

    @property
    def manifest(self) -> Manifest:
        """The fixed part of the cluster's manifest."""
        return self.cluster.manifest

    @property
    def addresses(self) -> dict[Party, str]:
        """Where replicas listen."""
        return self.cluster.addresses

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels as machines need them."""
        return self.cluster.channels

    @property
    def settings(self) -> tuple[ChannelSettings, ...]:
        """The channels with what clients need as well."""
        return self.cluster.settings

    def text(self) -> str:
        """The file that says all this."""
        keys = {
            "name": self.name,
            "sign": self.seeds.sign.hex(),
            "agree": self.seeds.agree.hex(),
            "certificate": self.certificate.hex(),
        }
        lines = [f"{key} = {written(value)}" for key, value in keys.items()]
        head = f"# The identity {self.name}: whoever has this file speaks in its name.\n"
        return "\n".join([head, "[identity]", *lines, "", self.cluster.text()])


def save_client(path: Path, client: ClientFile) -> None:
    """Write `NAME.qc`, for its owner's eyes."""
    write_file(path, client.text(), secret=True)


def load_client(path: Path) -> ClientFile:
    """What a client's file holds, or `ConfigError`: its certificate is checked as replicas do."""
    text = read_secret(path)
    values, source = parse(text, str(path))
    Table(source, (), values, "", ("identity", *TABLES))
    if not isinstance(values.get("identity"), dict):
        raise ConfigError(
            f"{path}: [identity] is missing: use a file that quorumcast keys add wrote"
        )
    cluster = read_cluster(values, source, path)
    known = ("name", "sign", "agree", "certificate")
    table = Table(source, ("identity",), values["identity"], "identity", known)
    seeds = Seeds(table.hexadecimal("sign", KEY_BYTES), table.hexadecimal("agree", KEY_BYTES))
    certificate = _certificate(table)
    try:
        certified = cluster.manifest.check_client(certificate)
    except AuthError as error:
        raise table.fault("certificate", f"counts for nothing: {error}") from None
    name = table.text("name", example="probe-7")
    if certified.name != name:
        raise table.wrong("name", f'is not the certified name: use "{certified.name}"')
    if certified.keys != seeds.identity().public:
        raise table.fault("certificate", "is for other keys: use the file as keys add wrote it")
    return ClientFile(name=name, seeds=seeds, certificate=certificate, cluster=cluster)


def _certificate(table: Table) -> bytes:
    text = table.text("certificate", example="hexadecimal digits")
    size = len(text) // 2
    if not 0 < size <= CERTIFICATE_BYTES:
        raise table.fault("certificate", f"has {size} bytes: use the file as keys add wrote it")
    return table.hexadecimal("certificate", size)


# -- the operator's and replicas' keys -------------------------------------------------------------


def save_keys(path: Path, name: str, manifest: Manifest, seeds: Seeds) -> None:
    """Write the private keys of a replica or of the operator."""
    values = {
        "name": name,
        "cluster": manifest.cluster_id.hex(),
        "sign": seeds.sign.hex(),
        "agree": seeds.agree.hex(),
    }
    head = f"# The private keys of {name}: whoever has them speaks in its name.\n"
    lines = [f"{key} = {written(value)}" for key, value in values.items()]
    write_file(path, "\n".join([head, *lines, ""]), secret=True)


def load_keys(path: Path, name: str, manifest: Manifest) -> Seeds:
    """The private keys of that party in that cluster, or `ConfigError`."""
    values, source = parse(read_secret(path), str(path))
    return _read_keys(values, source, name, manifest)


def _read_keys(values: dict[str, Any], source: Source, name: str, manifest: Manifest) -> Seeds:
    table = Table(source, (), values, "", _KEYS)
    found = table.text("name", example=name)
    if found != name:
        raise table.wrong("name", f"is somebody else: use the key file of {name}")
    if table.hexadecimal("cluster", KEY_BYTES) != manifest.cluster_id:
        raise table.fault("cluster", f"is another cluster: use the key file of {name} in this one")
    return Seeds(table.hexadecimal("sign", KEY_BYTES), table.hexadecimal("agree", KEY_BYTES))
