"""Changing what the operator signs: channels, and revoked names.

A change is a new version under the operator's signature. The file is edited in place: comments and
whatever else a person wrote in it stay. The edited text is read again before it is written, and if
it does not say exactly what it should, the file is written anew from what it should say.

A change begins from the newest charter that can be found in the folder, which may be newer than
the file if an old copy of it was put back: else the next version would undo what came between.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from quorumcast.auth.identity import Identity
from quorumcast.auth.manifest import Manifest
from quorumcast.auth.names import OPERATOR
from quorumcast.core.errors import AuthError, ConfigError, QuorumcastError
from quorumcast.core.ids import Party
from quorumcast.runtime.channels import ChannelSettings, read_channel
from quorumcast.runtime.charter import (
    CHANNELS,
    REVOKED,
    VERSIONS,
    Charter,
    fixed_fault,
    revocation_fault,
)
from quorumcast.runtime.files import (
    CLIENT_SUFFIX,
    CLUSTER_FILE,
    NotPermitted,
    only_one,
    write_file,
)
from quorumcast.runtime.keeping import CHARTER_FILE, Keeping
from quorumcast.runtime.keyfiles import load_client, load_keys, save_client
from quorumcast.runtime.scanner import scan
from quorumcast.runtime.settings import (
    ClusterFile,
    load_cluster,
    parse_cluster,
    read_text,
    signed_text,
)
from quorumcast.runtime.tables import Source, parse, written

OPERATOR_FILE = "operator.key"
HOSTS_FOLDER = "hosts"


def load_operator(folder: Path, cluster: ClusterFile) -> Identity:
    """The operator's keys, or `NotPermitted` where they are not kept."""
    path = folder / OPERATOR_FILE
    if not path.exists():
        raise NotPermitted(
            f"{path}: missing: only the operator may do this; do it in the folder that init made, "
            f"where {OPERATOR_FILE} is"
        )
    identity = load_keys(path, OPERATOR, cluster.manifest).identity()
    if identity.public.sign != cluster.manifest.operator:
        raise NotPermitted(f"{path}: not the key of the operator that {cluster.path} names")
    return identity


def add_channel(folder: Path, values: Mapping[str, Any]) -> tuple[ClusterFile, ChannelSettings]:
    """Add the channel that this table describes, as it would stand in `cluster.toml`."""
    with only_one(folder):
        cluster = newest(folder, load_cluster(folder))
        settings = read_channel(dict(values), cluster.manifest.cluster(), Source(""))
        if any(each.name == settings.name for each in cluster.settings):
            raise ConfigError(
                f"channel {settings.name}: there is one already: use another name, or edit "
                f"{cluster.path} and sign it with quorumcast channel sign"
            )
        if len(cluster.settings) >= CHANNELS:
            raise ConfigError(f"{len(cluster.settings)} channels: use at most {CHANNELS}")
        charter = msgspec.structs.replace(cluster.charter, settings=(*cluster.settings, settings))
        return _change(folder, cluster, charter), settings


def revoke(folder: Path, name: Party) -> tuple[ClusterFile, bool]:
    """Revoke a client's name for ever; False if it was revoked already."""
    with only_one(folder):
        cluster = newest(folder, load_cluster(folder))
        if (fault := revocation_fault(name, cluster.manifest)) is not None:
            raise ConfigError(f"name {name!r} {fault}")
        if name in cluster.revoked:
            return cluster, False
        if len(cluster.revoked) >= REVOKED:
            raise ConfigError(f"{len(cluster.revoked)} names are revoked: use at most {REVOKED}")
        charter = msgspec.structs.replace(cluster.charter, revoked=(*cluster.revoked, name))
        return _change(folder, cluster, charter), True


def sign_again(folder: Path) -> tuple[ClusterFile, bool]:
    """Sign what was edited by hand; False if the signature there is good already."""
    with only_one(folder):
        cluster = load_cluster(folder, signed=False)
        manifest = cluster.manifest
        if cluster.charter.counts(manifest.operator, manifest.cluster_id):
            return cluster, False
        return _change(folder, cluster, _edited_by_hand(folder, cluster)), True


def adopt(cluster: ClusterFile, charter: Charter) -> ClusterFile:
    """The cluster with a charter that somebody handed on, if it is newer; the file as well."""
    manifest = cluster.manifest
    if not charter.counts(manifest.operator, manifest.cluster_id):
        raise AuthError("charter: this cluster's operator did not sign it")
    with only_one(cluster.path.parent):
        current = load_cluster(cluster.path)
        if not charter.newer(current.charter):
            return current
        text = with_charter(read_text(cluster.path), current, charter)
        write_file(cluster.path, text)
        return msgspec.structs.replace(current, charter=charter)


def with_charter(text: str, cluster: ClusterFile, charter: Charter) -> str:
    """A cluster's file with another charter, and as little else changed as possible."""
    wanted = msgspec.structs.replace(cluster, charter=charter)
    with suppress(ConfigError):
        edited = _edited(text, cluster.charter, charter)
        if parse_cluster(edited, cluster.path) == wanted:
            return edited
    return wanted.text()


# -- what is known ---------------------------------------------------------------------------------


def known_charters(folder: Path, manifest: Manifest) -> list[Charter]:
    """The charters that the operator signed and that lie in this folder, the newest last."""
    found: list[Charter] = []
    for path in (*_copies(folder), *folder.glob(f"*{CLIENT_SUFFIX}")):
        with suppress(QuorumcastError):  # a file that cannot be used is for its owner to see
            client = path.suffix == CLIENT_SUFFIX
            copy = load_client(path).cluster if client else load_cluster(path)
            if copy.manifest == manifest:
                found.append(copy.charter)
    for path in folder.glob(f"*/{CHARTER_FILE}"):
        with suppress(QuorumcastError):
            own = Keeping(path, manifest).charter
            found += [own] if own is not None else []
    return sorted(found, key=lambda each: (each.version, each.content()))


def newest(folder: Path, cluster: ClusterFile) -> ClusterFile:
    """The cluster with the newest charter that lies in its folder."""
    known = known_charters(folder, cluster.manifest)
    if known and known[-1].newer(cluster.charter):
        return msgspec.structs.replace(cluster, charter=known[-1])
    return cluster


def _edited_by_hand(folder: Path, cluster: ClusterFile) -> Charter:
    """What is to be signed of an edited file, unless it undoes what cannot be undone."""
    charter, path = cluster.charter, cluster.path
    known = known_charters(folder, cluster.manifest)
    if not known:
        return charter
    newest = known[-1]
    if charter.version == 0:  # [signed] is gone, and with it the revoked names
        charter = msgspec.structs.replace(charter, version=newest.version, revoked=newest.revoked)
    if charter.version < newest.version:
        raise ConfigError(
            f"{path}: made from version {charter.version}, and version {newest.version} is in "
            "force: an old copy was put back; take a newer one (a replica that is started writes "
            "it, once the edits are undone), and edit that"
        )
    if gone := [name for name in newest.revoked if name not in charter.revoked]:
        raise ConfigError(f"{path}: {gone[0]} was revoked, for ever: put it back into revoked")
    fault = fixed_fault({each.name: each.table() for each in newest.settings}, charter)
    if fault is not None:
        number, key, why = fault
        _, source = parse(read_text(path), str(path))
        raise source.fault(("channel", number, key), why)
    return charter


# -- changing --------------------------------------------------------------------------------------


def _change(folder: Path, cluster: ClusterFile, charter: Charter) -> ClusterFile:
    """Sign this as the next version and write it wherever this folder keeps the cluster's file."""
    operator = load_operator(folder, cluster)
    if charter.version >= VERSIONS:
        raise ConfigError(f"{cluster.path}: version {charter.version} is the last one")
    unsigned = msgspec.structs.replace(charter, version=charter.version + 1, signature=b"")
    signed = unsigned.signed(operator, cluster.manifest.cluster_id)
    # All texts are made before the first is written, so that a wrong copy stops all of it.
    texts = {
        path: with_charter(read_text(path), load_cluster(path, signed=False), signed)
        for path in (*_copies(folder), cluster.path)
    }
    for path, text in texts.items():
        write_file(path, text)
    changed = msgspec.structs.replace(cluster, charter=signed)
    for path in sorted(folder.glob(f"*{CLIENT_SUFFIX}")):
        _refresh(path, changed)
    return changed


def _copies(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{HOSTS_FOLDER}/*/{CLUSTER_FILE}"))


def _refresh(path: Path, cluster: ClusterFile) -> None:
    """Bring a client's file in this folder up to date; elsewhere they learn it at connect."""
    with suppress(QuorumcastError):  # a file that cannot be used is left for its owner to see
        client = load_client(path)
        if client.manifest == cluster.manifest:
            newer = msgspec.structs.replace(client.cluster, charter=cluster.charter)
            save_client(path, msgspec.structs.replace(client, cluster=newer))


def _edited(text: str, old: Charter, new: Charter) -> str:
    marks = scan(text)
    values = {
        "version": written(new.version),
        "revoked": written(new.revoked),
        "signature": written(new.signature.hex()),
    }
    if ("signed",) not in marks:
        text = f"{text.rstrip()}\n\n{signed_text(new)}\n"
    else:
        spans = [(marks[("signed", key)], key) for key in values if ("signed", key) in marks]
        for mark, key in sorted(spans, reverse=True):
            text = text[: mark.start] + values[key] + text[mark.end :]
    names = {each.name for each in old.settings}
    added = [each.text() for each in new.settings if each.name not in names]
    return "\n\n".join([text.rstrip(), *added]) + "\n"
