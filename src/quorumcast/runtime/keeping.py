"""The newest charter that a replica adopted, in its own folder.

`cluster.toml` can be put back by hand to what it once was; what a replica once adopted it does not
forget by that: no revoked name comes back, and no channel's name comes to mean something else.
Beside the charter stand the tables of channels that are there no more.

Upon a start the newer of the file and the own copy counts. A file that is newer and changes what
cannot change is an error: nothing starts with it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import msgspec

from quorumcast.auth.manifest import Manifest
from quorumcast.core.errors import ConfigError, QuorumcastError
from quorumcast.runtime.charter import Charter, fixed_fault, unpack
from quorumcast.runtime.files import read_secret, write_file
from quorumcast.runtime.settings import ClusterFile, read_text
from quorumcast.runtime.tables import parse

CHARTER_FILE = "charter"

PAST = 4096
"""Channels that are there no more and that are remembered; then the first of them is forgotten."""


class _Stored(msgspec.Struct):
    charter: str
    past: dict[str, dict[str, Any]] = {}


class Keeping:
    """A replica's own copy of the charter; `path` is its file."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self._path = path
        self.charter: Charter | None = None
        """The newest that was adopted; None before the first."""
        self._tables: dict[str, dict[str, Any]] = {}
        """Channels as they are, or were when there last was such a channel."""
        if path.exists():
            self._load(manifest)

    def _load(self, manifest: Manifest) -> None:
        try:
            found = msgspec.json.decode(read_secret(self._path), type=_Stored)
            charter = unpack(b64decode(found.charter, validate=True), manifest)
        except (ValueError, QuorumcastError) as error:
            raise ConfigError(
                f"{self._path}: not the charter that was stored there ({error}): remove it, and "
                "see that cluster.toml is the newest one"
            ) from None
        self.charter = charter
        self._tables = {**found.past, **{each.name: each.table() for each in charter.settings}}

    def newest(self, cluster: ClusterFile) -> ClusterFile:
        """The cluster with the newer of its file's charter and the own copy, which it is then."""
        if self.charter is None or cluster.charter.newer(self.charter):
            fault = fixed_fault(self._tables, cluster.charter)
            if fault is not None:
                number, key, why = fault
                _, source = parse(read_text(cluster.path), str(cluster.path))
                raise source.fault(("channel", number, key), why)
            self.store(cluster.charter)
            return cluster
        return msgspec.structs.replace(cluster, charter=self.charter)

    def check(self, charter: Charter) -> None:
        """Raise `ConfigError` if it changes what cannot change."""
        fault = fixed_fault(self._tables, charter)
        if fault is not None:
            raise ConfigError(fault[2])

    def store(self, charter: Charter) -> None:
        """Make it the own copy; it is there, whole, when this returns."""
        known = {each.name: each.table() for each in charter.settings}
        past = {name: table for name, table in self._tables.items() if name not in known}
        while len(past) > PAST:
            del past[next(iter(past))]
        stored = _Stored(b64encode(charter.pack()).decode(), past)
        write_file(self._path, msgspec.json.encode(stored).decode(), secret=True)
        self.charter, self._tables = charter, {**past, **known}
