"""What can go wrong with a store; each error names the place and says what to do."""

from __future__ import annotations

from quorumcast.core.errors import QuorumcastError
from quorumcast.core.ids import Stream


class StorageError(QuorumcastError):
    """The disk or what stands on it does not serve; nothing of the commit was stored.

    >>> issubclass(StorageFull, StorageError)
    True
    """


class StorageFull(StorageError):
    """There is no room: on the disk, or in the journal's map.

    >>> raise StorageFull("r1/journal: no room")
    Traceback (most recent call last):
    ...
    quorumcast.store.errors.StorageFull: r1/journal: no room
    """


class JournalInUse(StorageError):
    """Another process has the journal open; two of them would vote twice.

    >>> issubclass(JournalInUse, StorageError)
    True
    """


class DamagedRecord(StorageError):
    """A record that is not what was written; `stream` is whose it was, as far as known.

    >>> DamagedRecord("the life is damaged").stream is None
    True
    """

    def __init__(self, what: str, stream: Stream | None = None) -> None:
        super().__init__(what)
        self.stream = stream
