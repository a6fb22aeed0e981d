"""Orders to a replica from its own host: a socket that its owner alone may use.

One line of JSON in, one line out, then the connection ends. The socket stands in a folder of the
user's own (0700), apart from the cluster's, whose path may be longer than a socket's can be.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from quorumcast.core.errors import ConfigError, QuorumcastError
from quorumcast.core.ids import Party

_LINE_BYTES = 16 * 2**20
_SECONDS = 5.0


class NotRunning(QuorumcastError):
    """Nobody listens for orders: the replica does not run on this host.

    >>> issubclass(NotRunning, QuorumcastError)
    True
    """


def control_path(cluster_id: bytes, name: Party) -> Path:
    """Where a replica of a cluster listens for orders.

    >>> control_path(bytes(32), "r1").name
    '000000000000-r1.sock'
    """
    given = os.environ.get("XDG_RUNTIME_DIR")
    home = Path(given) if given else Path(tempfile.gettempdir())
    return home / f"quorumcast-{os.getuid()}" / f"{cluster_id[:6].hex()}-{name}.sock"


def own_folder(folder: Path) -> None:
    """Make a folder that is this user's alone, or raise `ConfigError` if it is somebody else's."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ConfigError(f"{folder} is not yours alone: remove it, or chmod 700 {folder}")


class Control:
    """Answers orders by calling `order` with each; its result is what is answered."""

    def __init__(self, path: Path, order: Callable[[str], object]) -> None:
        self._path = path
        self._order = order
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen; what a crash left there is replaced."""
        own_folder(self._path.parent)
        with suppress(FileNotFoundError):
            self._path.unlink()
        self._server = await asyncio.start_unix_server(self._serve, self._path)
        self._path.chmod(0o600)

    async def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
            with suppress(FileNotFoundError):
                self._path.unlink()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                line = await reader.readline()
                writer.write(msgspec.json.encode(self._answer(line)) + b"\n")
                await writer.drain()
        except (OSError, TimeoutError, ValueError):
            pass  # whoever asked is gone, or is not one of ours
        finally:
            writer.close()

    def _answer(self, line: bytes) -> dict[str, object]:
        try:
            order = msgspec.json.decode(line, type=str)
            return {"answer": self._order(order)}
        except (msgspec.MsgspecError, QuorumcastError) as error:
            return {"error": str(error)}


async def give_order(path: Path, order: str, seconds: float = _SECONDS) -> Any:
    """Give an order, and return what is answered; `NotRunning` if nobody does in time."""
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_unix_connection(path, limit=_LINE_BYTES)
            try:
                writer.write(msgspec.json.encode(order) + b"\n")
                answer: Any = msgspec.json.decode(await reader.readline())
            finally:
                writer.close()
    except (OSError, TimeoutError, msgspec.MsgspecError) as error:
        raise NotRunning(f"nobody answers at {path}") from error
    if "error" in answer:
        raise QuorumcastError(answer["error"])
    return answer["answer"]
