"""What a replica keeps over a restart: the vote journal, and a window of bodies in memory.

- `storage`: what a driver asks of any store
- `journal`: the journal; votes, statements, floors and the replica's life in LMDB
- `place`, `salvage`: the journal's folder, its lock and mark, and what is done after a crash
- `life`: incarnations: the first one, and new ones
- `cells`, `loading`: records as they stand on the disk, and how they are read at start
- `kept`, `runs`, `window`: streams in memory, and how many bytes of bodies they may have

Files, locks and processes are used here; time, randomness and the machine's boot id come in as
arguments. Of Quorumcast, only `core`, `auth` and `wire` may be imported here.
"""

from quorumcast.store.errors import DamagedRecord, JournalInUse, StorageError, StorageFull
from quorumcast.store.journal import Journal, create
from quorumcast.store.life import boot_id
from quorumcast.store.storage import Storage

__all__ = [
    "DamagedRecord",
    "Journal",
    "JournalInUse",
    "Storage",
    "StorageError",
    "StorageFull",
    "boot_id",
    "create",
]
