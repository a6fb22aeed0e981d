"""All streams of a journal in memory, and the commit that is under way.

A commit changes memory as it goes, and keeps what it needs to undo it: `write` gathers what the
disk has to know, and then either `settle` or `undo` ends the commit.
"""

from __future__ import annotations

import lmdb

from quorumcast.core.ids import Position, Stream
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.records import (
    Accepted,
    Closed,
    Confirmed,
    Floored,
    Forgotten,
    Installed,
    MadeReady,
    Opened,
    Record,
    Tainted,
)
from quorumcast.store import cells
from quorumcast.store.kept import KeptStream, Saved
from quorumcast.store.runs import Run
from quorumcast.store.window import Window


class Book:
    """Streams in the order in which they were first recorded.

    >>> Book(bytes(32), {}, 0, 1000).streams
    {}
    """

    def __init__(
        self,
        cluster: bytes,
        streams: dict[Stream, KeptStream],
        last_number: int,
        window_bytes: int,
    ) -> None:
        self.streams = streams
        self._cluster = cluster
        self._last_number = last_number
        self._window_bytes = window_bytes
        self._windows: dict[str, Window] = {}
        self._commits = 0
        self._saved: dict[KeptStream, Saved] = {}
        self._born: list[KeptStream] = []
        self._gone: list[KeptStream] = []
        self._pruned: list[tuple[KeptStream, int]] = []

    def used_bytes(self, channel: str) -> int:
        """What the bodies of a channel take."""
        window = self._windows.get(channel)
        return window.used_bytes if window is not None else 0

    # -- one commit ----------------------------------------------------------------------------

    def apply(self, record: Record, writing: lmdb.Transaction) -> None:
        """Take in one record."""
        if type(record) is Accepted or type(record) is Installed:
            self._put(record, writing)
        elif isinstance(record, Opened):
            self._open(record, writing)
        elif isinstance(record, Forgotten):
            self._forget(record.stream, writing)
        else:
            self._mark(record, writing)

    def _touch(self, stream: Stream) -> KeptStream:
        kept = self.streams.get(stream)
        assert kept is not None, f"{stream} was not opened"
        if kept not in self._saved:
            self._saved[kept] = kept.save()
        return kept

    def _put(self, record: Accepted | Installed, writing: lmdb.Transaction) -> None:
        kept = self._touch(record.stream)
        digests, signatures = record.digests, record.signatures
        assert len(digests) == D * len(record.bodies), "a digest for every body"
        run = Run(record.first, digests, record.bodies, signatures)
        if run.last <= kept.marks.base.seq:
            return
        if type(record) is Accepted:
            clash = kept.clash(run)
            if clash is not None:  # whatever the interpreter's options: no second vote
                raise AssertionError(f"{record.stream}: a second vote for position {clash}")
        kept.put(run)
        kept.touched = self._commits
        kept.serial += 1
        kept.stored.append((kept.serial, run.last))
        key = cells.votes_key(kept.number, cells.VOTES, kept.serial)
        writing.put(key, cells.seal(key, cells.pack_votes(run.first, digests, signatures)))

    def _open(self, record: Opened, writing: lmdb.Transaction) -> None:
        if record.stream in self.streams:
            kept = self._touch(record.stream)
            kept.opening, kept.certificate = record.opening, record.certificate
        else:
            self._last_number += 1
            kept = KeptStream(
                self._last_number,
                self._cluster,
                record.stream,
                record.opening,
                record.certificate,
            )
            self.streams[record.stream] = kept
            self._born.append(kept)
            self._saved[kept] = kept.save()
            _write_marks(kept, writing)
        key = cells.key_of(kept.number, cells.OPENING)
        value = cells.Opened(record.stream, record.opening, record.certificate)
        writing.put(key, cells.seal(key, cells.pack(value)))

    def _forget(self, stream: Stream, writing: lmdb.Transaction) -> None:
        if stream not in self.streams:
            return
        kept = self._touch(stream)
        del self.streams[stream]
        self._gone.append(kept)
        prefix = cells.key_of(kept.number, 0)[:-1]
        cursor = writing.cursor()
        more = cursor.set_range(prefix)
        while more and bytes(cursor.key()).startswith(prefix):
            more = cursor.delete()

    def _mark(self, record: Record, writing: lmdb.Transaction) -> None:
        match record:
            case MadeReady(stream, position, chain, first, digests):
                kept = self._touch(stream)
                kept.marks.ready = Position(position, chain)
                kept.marks.ready_first = first
                self._ready_digests(kept, digests, writing)
            case Confirmed(stream, position, chain):
                marks = self._touch(stream).marks
                assert position >= marks.confirmed.seq, "CONFIRMED only grows"
                marks.confirmed = Position(position, chain)
            case Floored():
                self._touch(record.stream).drop(record)
            case Tainted():
                self._touch(record.stream).marks.tainted = True
            case Closed():
                self._touch(record.stream).marks.closed = True
            case _:
                raise AssertionError(f"a record that a replica's journal does not keep: {record}")

    def _ready_digests(self, kept: KeptStream, digests: bytes, writing: lmdb.Transaction) -> None:
        key = cells.key_of(kept.number, cells.READY)
        if digests:
            writing.put(key, cells.seal(key, digests))
        elif kept.ready_digests:
            writing.delete(key)
        kept.ready_digests = digests

    def write(self, writing: lmdb.Transaction) -> None:
        """Write what changed in the marks, and let votes go that are confirmed."""
        for kept, saved in self._saved.items():
            if self.streams.get(kept.stream) is not kept or kept.marks == saved.marks:
                continue
            _write_marks(kept, writing)
            confirmed = kept.marks.confirmed.seq
            count = 0
            for serial, last in kept.stored:
                if last > confirmed:
                    break
                writing.delete(cells.votes_key(kept.number, cells.VOTES, serial))
                count += 1
            if count:
                self._pruned.append((kept, count))

    def undo(self) -> None:
        """The commit failed: everything is as before."""
        for kept, saved in self._saved.items():
            kept.undo(saved)
        self._last_number -= len(self._born)
        for kept in self._born:
            if self.streams.get(kept.stream) is kept:
                del self.streams[kept.stream]
        back = [kept for kept in self._gone if kept not in self._born]
        if back:
            everything = sorted([*self.streams.values(), *back], key=_number)
            self.streams = {kept.stream: kept for kept in everything}
        self._clear()

    def settle(self) -> None:
        """The commit is stored."""
        full: dict[str, Window] = {}
        for kept, count in self._pruned:
            del kept.stored[:count]
        for kept in self._gone:
            kept.slots.cut_below(kept.slots.last)
        for kept, saved in self._saved.items():
            kept.settle()
            channel = kept.stream.channel
            window = self._windows.get(channel)
            if window is None:
                window = self._windows[channel] = Window(self._window_bytes)
            window.used_bytes += kept.slots.size - saved.slots[2]
            if kept.marks.confirmed.seq > saved.marks.confirmed.seq:
                window.confirmed(kept)
            if window.used_bytes > window.most_bytes:
                full[channel] = window
        for channel, window in full.items():
            window.enforce(each for each in self.streams.values() if each.stream.channel == channel)
        self._commits += 1
        self._clear()

    def _clear(self) -> None:
        self._saved.clear()
        self._born.clear()
        self._gone.clear()
        self._pruned.clear()


def _write_marks(kept: KeptStream, writing: lmdb.Transaction) -> None:
    key = cells.key_of(kept.number, cells.MARKS)
    writing.put(key, cells.seal(key, cells.pack(kept.marks)))


def _number(kept: KeptStream) -> int:
    return kept.number
