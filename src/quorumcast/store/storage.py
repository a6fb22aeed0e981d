"""What a driver asks of a store."""

from __future__ import annotations

from typing import Protocol

from quorumcast.core.records import Incarnated, Loaded, Read, Record


class Storage(Protocol):
    """Keeps a replica's records, and hands them back as `core.records` says.

    >>> from quorumcast.store.journal import Journal
    >>> all(hasattr(Journal, name) for name in ("commit", "read", "close"))
    True
    """

    life: Incarnated | None
    """The incarnations that were stored last."""

    def commit(self, records: list[Record]) -> None:
        """Store a turn's records in order, all or none; `StorageError`: none of them."""
        ...

    def read(self, request: Read) -> Loaded:
        """The answer to one of `Ready.reads`."""
        ...

    def close(self) -> None:
        """Make everything durable and let go of it; nothing may be asked afterwards."""
        ...
