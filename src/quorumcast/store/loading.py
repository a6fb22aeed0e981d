"""Reading a journal at start: every record is checked, and what is damaged is reported.

A damaged record of a stream whose opening is whole makes the replica silent in that stream: the
stream is closed, for it is not known what was voted there. Where it is not known whose a damaged
record was, or the life is damaged, votes are missing at an unknown place: the replica has to draw
a new incarnation, which voids them all.
"""

from __future__ import annotations

import sys
from itertools import groupby
from typing import Any

import lmdb
import msgspec

from quorumcast.core.ids import Stream
from quorumcast.core.records import Incarnated
from quorumcast.store import cells
from quorumcast.store.errors import DamagedRecord
from quorumcast.store.kept import KeptStream

_KINDS = {cells.OPENING: "opening", cells.MARKS: "state", cells.READY: "READY", cells.VOTES: "vote"}


class Contents:
    """What a journal was found to hold."""

    def __init__(self) -> None:
        self.header: cells.Header | None = None
        self.life: Incarnated | None = None
        self.streams: dict[Stream, KeptStream] = {}
        self.damage: list[DamagedRecord] = []
        self.void: list[bytes] = []
        """Keys of which it is not known whose they are; they go when a new life begins."""
        self.last_number = 0

    @property
    def voided(self) -> bool:
        """Whether something is damaged of which it is not known whose it was."""
        return any(each.stream is None for each in self.damage)


class _Loader:
    def __init__(self, cluster: bytes) -> None:
        self._cluster = cluster
        self._same: dict[Any, Any] = {}
        self.found = Contents()

    def own(self, records: list[tuple[bytes, bytes]]) -> None:
        """The journal's own records."""
        for key, data in records:
            value = cells.unseal(key, data)
            try:
                if value is not None and key == cells.HEADER_KEY:
                    self.found.header = cells.unpack_header(value)
                    continue
                if value is not None and key == cells.LIFE_KEY:
                    self.found.life = cells.unpack_life(value)
                    continue
            except msgspec.DecodeError:
                pass
            self.found.void.append(key)
            self.found.damage.append(DamagedRecord("a record of the journal itself is damaged"))

    def stream(self, number: int, records: list[tuple[bytes, bytes]]) -> None:
        """The records of one stream; its opening comes first."""
        kept: KeptStream | None = None
        votes: list[cells.Votes] = []
        marked = False
        for key, data in records:
            parts = cells.take_apart(key)
            if kept is not None and parts is not None:
                kept.serial = max(kept.serial, parts.serial)
            value = cells.unseal(key, data) if parts is not None else None
            try:
                if parts is None or value is None:
                    self._damaged(kept, parts)
                    if kept is None:
                        self.found.void.append(key)
                elif parts.kind == cells.OPENING:
                    kept = self._opened(number, value)
                elif kept is None:
                    self._damaged(None, parts)
                elif parts.kind == cells.MARKS:
                    kept.marks = cells.unpack_marks(value)
                    marked = True
                elif parts.kind == cells.READY:
                    kept.ready_digests = value
                else:
                    run = cells.unpack_votes(value)
                    votes.append(run)
                    last = run.first + len(run.digests) // 32 - 1
                    kept.stored.append((parts.serial, last))
            except msgspec.DecodeError:
                self._damaged(kept, parts)
        if kept is not None:
            self.found.last_number = number
            self._finish(kept, votes, marked=marked)
        else:
            self.found.void += [key for key, _ in records]

    def _opened(self, number: int, value: bytes) -> KeptStream:
        stream, opening, certificate = msgspec.structs.astuple(cells.unpack_opened(value))
        # Streams of one publisher share what they have in common.
        stream = stream._replace(
            channel=sys.intern(stream.channel), publisher=sys.intern(stream.publisher)
        )
        lives = self._same.setdefault(opening.incarnations, opening.incarnations)
        opening = msgspec.structs.replace(opening, incarnations=lives)
        certificate = self._same.setdefault(certificate, certificate)
        return KeptStream(number, self._cluster, stream, opening, certificate)

    def _finish(self, kept: KeptStream, votes: list[cells.Votes], *, marked: bool) -> None:
        damage = self.found.damage
        if not marked and not any(each.stream == kept.stream for each in damage):
            damage.append(DamagedRecord(f"{kept.stream}: its state is missing", kept.stream))
        if damage and any(each.stream == kept.stream for each in damage):
            kept.marks.closed = True
        kept.restarted(votes)
        self.found.streams[kept.stream] = kept

    def _damaged(self, kept: KeptStream | None, parts: cells.Key | None) -> None:
        what = _KINDS.get(parts.kind, "record") if parts is not None else "record"
        if kept is None:
            text, stream = f"a {what} record is damaged, and with it whose it is", None
        else:
            text = f"{kept.stream}: a {what} record is damaged; this replica is silent there"
            stream = kept.stream
        self.found.damage.append(DamagedRecord(text, stream))


def load(environment: lmdb.Environment, cluster: bytes) -> Contents:
    """Read and check everything."""
    loader = _Loader(cluster)
    with environment.begin() as reading:
        cells_read = ((bytes(key), bytes(value)) for key, value in reading.cursor())
        for number, group in groupby(cells_read, key=_number):
            if number == 0:
                loader.own(list(group))
            else:
                loader.stream(number, list(group))
    return loader.found


def _number(cell: tuple[bytes, bytes]) -> int:
    return int.from_bytes(cell[0][:8], "big")
