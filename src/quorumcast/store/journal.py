"""The vote journal: what a replica said, in LMDB; the bodies it said it about, in memory.

Upon a commit: every record is noted in memory and written in one transaction, in order. If the
transaction fails, memory is as before. What was committed survives the end of the process at any
moment; a crash of the machine may lose it, and then the journal draws a new incarnation when it is
opened, as it does where it finds no life or cannot tell what is missing.

Votes stay on the disk until they are confirmed: after a restart no body is there, everything
confirmed is a confirmed floor, and no vote at or below it is ever cast again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

import lmdb

from quorumcast.core.ids import FIRST
from quorumcast.core.records import Incarnated, Loaded, Read, ReadStream, ReadStreams, Record
from quorumcast.store import cells
from quorumcast.store.book import Book
from quorumcast.store.errors import DamagedRecord, StorageError
from quorumcast.store.life import first_life, next_life
from quorumcast.store.loading import Contents, load
from quorumcast.store.place import MAP_BYTES, TORN, Mark, Place, trouble
from quorumcast.store.window import WINDOW_BYTES


def create(path: Path, replica_index: int, count: int) -> None:
    """Make the journal of a new replica, with the life that everybody takes it to live.

    This is for a new cluster alone: a replica whose journal is gone simply opens it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     create(Path(folder) / "journal", 0, 4)
    """
    assert 0 <= replica_index < count, "the replica is one of them"
    place = Place(path)
    try:
        if place.votes.exists() or place.mark() is not None:
            raise StorageError(f"{path} holds a journal already: it is not made anew")
        environment = place.open(MAP_BYTES)
        try:
            _write_own(environment, cells.Header(cells.FORMAT), first_life(count))
        except lmdb.Error as error:
            raise trouble(path, error) from error
        finally:
            environment.close()
        place.set_mark(Mark("", clean=True, highest=FIRST.counter))
    finally:
        place.release()


def _write_own(
    environment: lmdb.Environment,
    header: cells.Header,
    life: Incarnated,
    void: Iterable[bytes] = (),
) -> None:
    with environment.begin(write=True) as writing:
        for key in void:
            writing.delete(key)
        for key, value in ((cells.HEADER_KEY, header), (cells.LIFE_KEY, life)):
            writing.put(key, cells.seal(key, cells.pack(value)))
    environment.sync(True)


class Journal:
    """A replica's journal, open in this process alone; a `Storage`.

    `boot` names this run of the machine (`boot_id`), `now_ms` is the time, `entropy` gives so many
    random bytes: the last two serve a new incarnation. `window_bytes` is what a channel's bodies
    may take in memory.

    >>> from os import urandom
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "journal"
    ...     create(path, 0, 4)
    ...     journal = Journal(path, bytes(32), 0, 4, boot="b1", now_ms=1000, entropy=urandom)
    ...     journal.life.valid, journal.read(ReadStreams(0, 10))
    ...     journal.close()
    (((Incarnation(counter=1, nonce=0), 0.0),), [])
    """

    def __init__(
        self,
        path: Path,
        cluster: bytes,
        replica_index: int,
        count: int,
        *,
        boot: str,
        now_ms: int,
        entropy: Callable[[int], bytes],
        window_bytes: int = WINDOW_BYTES,
        map_bytes: int = MAP_BYTES,
    ) -> None:
        assert 0 <= replica_index < count, "the replica is one of them"
        self._cluster = cluster
        self._boot = boot
        self.reborn = ""
        """Why a new incarnation was drawn at this opening; empty where none was."""
        self._place = Place(path)
        self._environment: lmdb.Environment | None = None
        try:
            found = self._find(map_bytes)
            if self.reborn:
                old = self._highest
                found.life = next_life(found.life, old, replica_index, count, now_ms, entropy)
                self._begin(found.life, found.void)
            assert found.life is not None, "without a life one was drawn"
            self.life: Incarnated | None = found.life
            self._highest = max(self._highest, found.life.valid[-1][0].counter)
            self._place.set_mark(Mark(boot, clean=False, highest=self._highest))
        except BaseException:
            self._let_go()
            raise
        self._book = Book(cluster, found.streams, found.last_number, window_bytes)
        self.damage: tuple[DamagedRecord, ...] = tuple(found.damage)
        """What was found damaged at this opening."""

    # -- opening -------------------------------------------------------------------------------

    def _find(self, map_bytes: int) -> Contents:
        """Read what is there; sets `reborn` where votes may be missing."""
        mark = self._place.mark()
        self._highest = mark.highest if mark is not None else 0
        if mark is not None and not mark.clean and mark.boot != (self._boot or None):
            told = self._place.salvage(map_bytes)
            self.reborn = f"the machine stopped while the journal was open: {told}"
        try:
            found = self._load(map_bytes)
        except TORN as error:
            self._let_go_of_environment()
            told = self._place.salvage(map_bytes)
            self.reborn = f"the journal was damaged ({error}): {told}"
            found = self._load(map_bytes)
        if not self.reborn and found.life is None:
            self.reborn = "the journal was new or gone"
        if not self.reborn and found.voided:
            self.reborn = "records of the journal are damaged, and it is not known whose"
        if not self.reborn and mark is None:
            self.reborn = "the journal's mark was gone: how it was closed is not known"
        return found

    def _load(self, map_bytes: int) -> Contents:
        environment = self._environment = self._place.open(map_bytes)
        try:
            found = load(environment, self._cluster)
        except TORN:
            raise
        except lmdb.Error as error:
            raise trouble(self._place.path, error) from error
        header = found.header or cells.Header(cells.FORMAT)
        if header.format != cells.FORMAT:
            raise StorageError(
                f"{self._place.path} has format {header.format}, this version reads "
                f"{cells.FORMAT}: run the version that wrote it"
            )
        if header.cluster not in (b"", self._cluster):
            raise StorageError(f"{self._place.path} is the journal of a replica of another cluster")
        if header.cluster == b"" and found.life is not None:
            self._begin(found.life)
        return found

    def _begin(self, life: Incarnated, void: Iterable[bytes] = ()) -> None:
        """Write whose journal it is, and a life; the mark first has the highest counter."""
        assert self._environment is not None
        highest = max(self._highest, life.valid[-1][0].counter)
        if highest > self._highest:
            self._highest = highest
            self._place.set_mark(Mark("", clean=False, highest=highest))
        try:
            header = cells.Header(cells.FORMAT, self._cluster)
            _write_own(self._environment, header, life, void)
        except lmdb.Error as error:
            raise trouble(self._place.path, error) from error

    def _let_go_of_environment(self) -> None:
        if self._environment is not None:
            self._environment.close()
            self._environment = None

    def _let_go(self) -> None:
        self._let_go_of_environment()
        self._place.release()

    # -- working -------------------------------------------------------------------------------

    def commit(self, records: list[Record]) -> None:
        """Store a turn's records in order, all or none; `StorageError`: none of them."""
        if not records:
            return
        environment, book, life = self._environment, self._book, self.life
        assert environment is not None, "the journal is closed"
        try:
            with environment.begin(write=True) as writing:
                for record in records:
                    if isinstance(record, Incarnated):
                        life = record
                        self._live(record, writing)
                    else:
                        book.apply(record, writing)
                book.write(writing)
        except lmdb.Error as error:
            book.undo()
            raise trouble(self._place.path, error) from error
        except BaseException:
            book.undo()
            raise
        self.life = life
        book.settle()

    def _live(self, life: Incarnated, writing: lmdb.Transaction) -> None:
        """Write a life; the mark knows its counter before, for it must never be drawn again."""
        counter = life.valid[-1][0].counter
        if counter > self._highest:
            self._place.set_mark(Mark(self._boot, clean=False, highest=counter))
            self._highest = counter
        writing.put(cells.LIFE_KEY, cells.seal(cells.LIFE_KEY, cells.pack(life)))

    def read(self, request: Read) -> Loaded:
        """The answer to one of `Ready.reads`."""
        streams = self._book.streams
        if isinstance(request, ReadStreams):
            page = islice(streams.values(), request.after, request.after + request.limit)
            return [kept.state(whole=False) for kept in page]
        kept = streams.get(request.stream)
        if kept is None:
            return None
        if isinstance(request, ReadStream):
            return kept.state(whole=True)
        return kept.range(request)

    def used_bytes(self, channel: str) -> int:
        """What the bodies of a channel take in memory."""
        return self._book.used_bytes(channel)

    def close(self) -> None:
        """Sync everything, mark that nothing is missing, and let others open it."""
        if self._environment is None:
            return
        try:
            self._environment.sync(True)
            self._place.set_mark(Mark(self._boot, clean=True, highest=self._highest))
        except lmdb.Error as error:
            raise trouble(self._place.path, error) from error
        finally:
            self._let_go()
