"""`cluster.toml`: the manifest, where replicas are found, and what the operator signed.

Nothing in the file is secret. `[cluster]` and `[[replica]]` are the manifest's fixed part, equal
for all parties; addresses may differ from host to host. `[signed]` and `[[channel]]` are the
operator's charter: whoever edits them by hand signs them again. A wrong file gives one
`ConfigError` that names file, line and key, and nothing of it is used.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec
from cryptography import x509

from quorumcast.auth.identity import KEY_BYTES, PublicKeys, sign_key_fault
from quorumcast.auth.manifest import Manifest, ReplicaEntry
from quorumcast.auth.names import name_fault
from quorumcast.core.channel import Channel
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Party
from quorumcast.core.limits import REPLICAS
from quorumcast.core.messages import SIGNATURE_BYTES
from quorumcast.core.quorum import Quorum
from quorumcast.runtime.addresses import PATH_BYTES, Tcp, parse_address
from quorumcast.runtime.channels import ChannelSettings
from quorumcast.runtime.charter import (
    REVOKED,
    VERSIONS,
    Charter,
    read_channels,
    revocation_fault,
)
from quorumcast.runtime.files import CLUSTER_FILE
from quorumcast.runtime.tables import Source, Table, array, parse, written

TLS_BYTES = 4096
"""A replica's TLS certificate: self-signed, without anything that makes one long."""

TABLES = ("cluster", "replica", "signed", "channel")

# A host's name is also that of a folder: it begins with no dot.
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_ADDRESSES = f"use tcp://HOST:PORT, or unix:///PATH of at most {PATH_BYTES} bytes"
_INTEGERS = 2**63 - 1
_NONCE_BYTES = 32
_ID_BYTES = 32


class ClusterFile(msgspec.Struct, frozen=True, kw_only=True):
    """What `cluster.toml` says; `path` is where it stands."""

    name: str
    manifest: Manifest
    addresses: dict[Party, str]
    """Where each replica listens: "tcp://127.0.0.1:7400" or "unix:///path"."""
    charter: Charter
    path: Path

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels as machines need them."""
        return self.charter.channels

    @property
    def settings(self) -> tuple[ChannelSettings, ...]:
        """The channels with what clients need as well."""
        return self.charter.settings

    @property
    def revoked(self) -> tuple[Party, ...]:
        """Names that are nobody's any more."""
        return self.charter.revoked

    def text(self) -> str:
        """The file that says all this."""
        charter = self.charter
        tables = [_CLUSTER.format(name=self.name) + _cluster_text(self.name, self.manifest)]
        tables += [_replica_text(each, self.addresses) for each in self.manifest.replicas]
        tables.append(_SIGNED + signed_text(charter))
        tables += [each.text() for each in charter.settings]
        return "\n\n".join(tables) + "\n"


def load_cluster(path: Path, *, signed: bool = True) -> ClusterFile:
    """What a cluster's file says, or `ConfigError`; `path` may be the folder that it stands in.

    With `signed` false the operator's signature may be missing or of something else: for who is
    about to sign.
    """
    path = path / CLUSTER_FILE if path.is_dir() else path
    return parse_cluster(read_text(path), path, signed=signed)


def parse_cluster(text: str, path: Path, *, signed: bool = True) -> ClusterFile:
    """What a text in the form of `cluster.toml` says; `path` is what errors call it."""
    values, source = parse(text, str(path))
    Table(source, (), values, "", TABLES)
    return read_cluster(values, source, path, signed=signed)


def read_text(path: Path) -> str:
    """A file's text, or `ConfigError`."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}:{line}: not UTF-8: save it as UTF-8 text") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


# -- reading ---------------------------------------------------------------------------------------


def read_cluster(
    values: dict[str, Any], source: Source, path: Path, *, signed: bool = True
) -> ClusterFile:
    """The cluster of these tables, which may stand in a client's file beside others."""
    known = ("name", "id", "nonce", "epoch", "faults", "lab", "operator")
    table = _single(values, source, "cluster", known)
    name = table.text("name", example="demo")
    if (fault := name_fault(name)) is not None:
        raise table.wrong("name", f"{fault}: use a name such as demo")
    operator = table.hexadecimal("operator", KEY_BYTES)
    if (fault := sign_key_fault(operator)) is not None:
        raise table.fault("operator", f"is wrong: {fault}: use the public key that init wrote")
    replicas = _replicas(values, source, operator)
    faults = table.whole("faults", None, 0, REPLICAS)
    table.checked("faults", lambda: Quorum.crash(len(replicas), faults, first=True))
    nonce, lab = table.hexadecimal("nonce", _NONCE_BYTES), table.flag("lab", False)
    epoch = table.whole("epoch", 1, 1, _INTEGERS)
    manifest = table.checked(
        None,
        lambda: Manifest(
            nonce=nonce, operator=operator, faults=faults, replicas=replicas, epoch=epoch, lab=lab
        ),
    )
    if table.hexadecimal("id", _ID_BYTES) != manifest.cluster_id:
        raise table.fault(
            "id",
            "does not fit operator, lab and nonce, which never change in a cluster: restore them, "
            "or make another cluster with quorumcast init",
        )
    return ClusterFile(
        name=name,
        manifest=manifest,
        addresses={each.name: each.addresses[0] for each in replicas},
        charter=_charter(values, source, manifest, signed=signed),
        path=path,
    )


def address_fault(address: str) -> str | None:
    """What is wrong with an address; None if nothing is.

    >>> address_fault("tcp://127.0.0.1:7400") is None
    True
    >>> address_fault("127.0.0.1:7400")
    'is not an address: use tcp://HOST:PORT, or unix:///PATH of at most 100 bytes'
    """
    try:
        found = parse_address(address)
    except ConfigError:
        return f"is not an address: {_ADDRESSES}"
    if isinstance(found, Tcp) and (found.port == 0 or not _is_host(found.host)):
        return f"has no host or no port from 1 to 65535: {_ADDRESSES}"
    return None


def _is_host(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return _HOST.fullmatch(host) is not None
    return True


def _single(values: dict[str, Any], source: Source, key: str, known: tuple[str, ...]) -> Table:
    outer = Table(source, (), {key: values.get(key)}, "", (key,))
    if key not in values:
        raise outer.fault(None, f"[{key}] is missing: it is in every file that init wrote")
    inner = outer.mapping(key, f"[{key}]")
    return Table(source, (key,), inner, key, known)


def _replicas(values: dict[str, Any], source: Source, operator: bytes) -> tuple[ReplicaEntry, ...]:
    tables = array(values, source, "replica")
    if not 1 <= len(tables) <= REPLICAS:
        place = ("replica", REPLICAS) if tables else ()
        raise source.fault(place, f"{len(tables)} [[replica]] tables: use 1 to {REPLICAS}")
    owners: dict[bytes | str, str] = {operator: "the operator"}
    return tuple(_replica(source, number, table, owners) for number, table in enumerate(tables))


def _replica(
    source: Source, number: int, values: dict[str, Any], owners: dict[bytes | str, str]
) -> ReplicaEntry:
    """One replica; `owners` says whose each name, key and address is that came before."""
    named = values.get("name")
    title = f"replica {named}" if isinstance(named, str) else "replica"
    known = ("name", "address", "sign", "agree", "tls")
    table = Table(source, ("replica", number), values, title, known)
    name = table.text("name", example=f"r{number + 1}")
    if (fault := name_fault(name)) is not None:
        raise table.wrong("name", f"{fault}: use a name such as r{number + 1}")
    address = table.text("address", example="tcp://127.0.0.1:7400")
    if (fault := address_fault(address)) is not None:
        raise table.wrong("address", fault)
    sign, agree = (table.hexadecimal(key, KEY_BYTES) for key in ("sign", "agree"))
    keys = PublicKeys(sign, agree)
    if (fault := keys.fault()) is not None:
        key = "sign" if fault.startswith("signing") else "agree"
        raise table.fault(key, f"is wrong: {fault}: use the public key that init wrote")
    for key, value in (("name", name), ("address", address), ("sign", sign), ("agree", agree)):
        if value in owners:
            raise table.fault(key, f"is that of {owners[value]} too: each has its own")
        owners[value] = title
    return ReplicaEntry(name, keys, (address,), _tls(table))


def _tls(table: Table) -> bytes:
    encoded = table.text("tls", "", example="the certificate's DER in base64")
    if not encoded:
        return b""
    try:
        data = b64decode(encoded, validate=True)
        x509.load_der_x509_certificate(data)
    except ValueError:
        raise table.fault("tls", "is not a certificate: use DER in base64, as init does") from None
    if len(data) > TLS_BYTES:
        raise table.fault("tls", f"has {len(data)} bytes: use at most {TLS_BYTES}")
    return data


def _charter(
    values: dict[str, Any], source: Source, manifest: Manifest, *, signed: bool
) -> Charter:
    settings = read_channels(array(values, source, "channel"), manifest, source)
    if "signed" not in values and not signed:
        return Charter(0, settings)
    table = _single(values, source, "signed", ("version", "revoked", "signature"))

    def fault(name: str) -> str | None:
        return revocation_fault(name, manifest)

    charter = Charter(
        table.whole("version", None, 1, VERSIONS),
        settings,
        table.texts("revoked", (), fault, REVOKED, "probe-9"),
        table.hexadecimal("signature", SIGNATURE_BYTES),
    )
    if signed and not charter.counts(manifest.operator, manifest.cluster_id):
        raise table.fault(
            "signature",
            "is not the operator's for these channels and revoked names: restore them, or sign "
            "them where operator.key is, with quorumcast channel sign",
        )
    return charter


# -- writing ---------------------------------------------------------------------------------------

_CLUSTER = """\
# The cluster "{name}": who its replicas are, where they listen, and its channels.
# Every party has this file; nothing in it is secret. Addresses may differ from host to host, the
# rest of [cluster] and [[replica]] may not.

"""

_SIGNED = """\
# Channels and revoked names are under the operator's signature, and the highest version counts.
# quorumcast channel add, keys revoke: change and sign them. After an edit by hand:
# quorumcast channel sign.

"""


def signed_text(charter: Charter) -> str:
    """The table `[signed]` of a charter."""
    return _table(
        "[signed]",
        version=charter.version,
        revoked=charter.revoked,
        signature=charter.signature.hex(),
    )


def _cluster_text(name: str, manifest: Manifest) -> str:
    return _table(
        "[cluster]",
        name=name,
        id=manifest.cluster_id.hex(),
        nonce=manifest.nonce.hex(),
        epoch=manifest.epoch,
        faults=manifest.faults,
        lab=manifest.lab,
        operator=manifest.operator.hex(),
    )


def _replica_text(replica: ReplicaEntry, addresses: dict[Party, str]) -> str:
    keys = {"sign": replica.keys.sign.hex(), "agree": replica.keys.agree.hex()}
    tls = {"tls": b64encode(replica.tls).decode()} if replica.tls else {}
    address = addresses[replica.name]
    return _table("[[replica]]", name=replica.name, address=address, **keys, **tls)


def _table(header: str, **values: object) -> str:
    return "\n".join([header, *(f"{key} = {written(value)}" for key, value in values.items())])
