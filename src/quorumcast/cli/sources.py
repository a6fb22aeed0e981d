"""Where the events of `pub` come from: arguments and files, lines as they come, or made up."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from quorumcast.core.errors import ConfigError
from quorumcast.core.limits import BODY_BYTES
from quorumcast.events.arrow import ArrowBatch, arrow_type, pyarrow
from quorumcast.events.schema import Schema

LINE_BYTES = BODY_BYTES // 2
"""A longer line is no event: without a bound, input that has no lines would fill the memory."""

_CHUNK = 65_536
_CHUNKS_READ = 4
"""Chunks of lines that wait to be sent while the next one is read."""

_SLICE = 1000
"""Made-up events between two looks at the clock."""


class Line(NamedTuple):
    """An event and where it stands in the input; `fault` is what is wrong with it."""

    payload: bytes
    name: str
    fault: str | None = None


def files(paths: list[Path]) -> list[Line]:
    """The events of files, or a `ConfigError` that names every one that cannot be read."""
    found: list[Line] = []
    faults: list[str] = []
    for path in paths:
        try:
            found.append(Line(path.read_bytes(), str(path)))
        except OSError as error:
            faults.append(f"{path}: {error.strerror}")
    if faults:
        raise ConfigError(f"{'; '.join(faults)}: name files that can be read")
    return found


# -- lines -----------------------------------------------------------------------------------------


class Splitter:
    r"""Lines out of chunks of bytes, with a bound on how long one may be.

    >>> splitter = Splitter()
    >>> [line.payload for line in splitter.feed(b"one\r\ntw")]
    [b'one']
    >>> [line.payload for line in splitter.feed(b"o\n")], splitter.rest()
    ([b'two'], [])
    """

    def __init__(self, most: int = LINE_BYTES) -> None:
        self._most = most
        self._begun: list[bytes] = []
        self._size = 0
        self._number = 0

    def feed(self, chunk: bytes) -> list[Line]:
        """The lines that end in this chunk."""
        first, *others = chunk.split(b"\n")
        self._begin(first)
        found: list[Line] = []
        for each in others:
            found.append(self._end())
            self._begin(each)
        return found

    def rest(self) -> list[Line]:
        """What stands behind the last end of a line."""
        return [self._end()] if self._size else []

    def _begin(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._most:
            self._begun.clear()  # it is told of, not kept
        elif piece:
            self._begun.append(piece)

    def _end(self) -> Line:
        self._number += 1
        payload, size = b"".join(self._begun).rstrip(b"\r"), self._size
        self._begun, self._size = [], 0
        name = f"line {self._number}"
        if size > self._most:
            return Line(b"", name, f"it has {size:,} bytes: use at most {self._most:,}")
        return Line(payload, name)


async def lines() -> AsyncIterator[list[Line]]:
    """Lines of standard input, as soon as they are there.

    A thread reads them, for the system has no way to wait for any kind of file at once; it ends
    with the process, since nothing can wake it while no input comes.
    """
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  (`<&-`)
        raise ConfigError("standard input is closed: name events, files or --count")
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[list[Line] | OSError | None] = asyncio.Queue()
    room = threading.Semaphore(_CHUNKS_READ)
    reading = threading.Thread(
        target=_read, args=(sys.stdin.fileno(), room, loop, queue.put_nowait), daemon=True
    )
    reading.start()
    while (found := await queue.get()) is not None:
        if isinstance(found, OSError):
            raise ConfigError(f"standard input: {found.strerror}: use lines of text")
        yield found
        room.release()


def _read(
    file: int,
    room: threading.Semaphore,
    loop: asyncio.AbstractEventLoop,
    put: Callable[[list[Line] | OSError | None], None],
) -> None:
    splitter = Splitter()
    with suppress(RuntimeError):  # the loop is closed: nobody wants more lines
        try:
            while chunk := os.read(file, _CHUNK):
                if found := splitter.feed(chunk):
                    room.acquire()
                    loop.call_soon_threadsafe(put, found)
        except OSError as error:
            loop.call_soon_threadsafe(put, error)
        if found := splitter.rest():
            loop.call_soon_threadsafe(put, found)
        loop.call_soon_threadsafe(put, None)


# -- made up ---------------------------------------------------------------------------------------


class Load(NamedTuple):
    """Events to make up: payloads are numbered, and as long as they should be.

    >>> Load(events=3, size=4).payload(12)
    b'12..'
    """

    events: int
    size: int
    rate: float = 0
    """Events a second; 0: all at once."""

    def payload(self, number: int) -> bytes:
        """The payload of one of them; the first is 1."""
        return (b"%d" % number).ljust(self.size, b".")[: self.size]

    async def slices(self) -> AsyncIterator[list[Line]]:
        """The events, so many at once as are due."""
        began, sent = time.monotonic(), 0
        while sent < self.events:
            due = min(self.events, sent + _SLICE)
            if self.rate:
                await self._until_due(began, sent)
                passed = time.monotonic() - began
                due = min(due, max(sent + 1, int(passed * self.rate) + 1))
            yield [Line(self.payload(number), "") for number in range(sent + 1, due + 1)]
            sent = due

    async def batches(
        self, rows: int, schema: Schema, constant: dict[str, Any]
    ) -> AsyncIterator[ArrowBatch]:
        """The same as Arrow data, `rows` events each, with these values in every row."""
        began = time.monotonic()
        for first in range(1, self.events + 1, rows):
            if self.rate:
                await self._until_due(began, first - 1)
            yield self.batch(first, min(rows, self.events + 1 - first), schema, constant)

    async def _until_due(self, began: float, sent: int) -> None:
        await asyncio.sleep(max(0.0, began + sent / self.rate - time.monotonic()))

    def batch(self, first: int, rows: int, schema: Schema, constant: dict[str, Any]) -> ArrowBatch:
        """Some of them as one batch; nothing is done in Python for each.

        >>> load = Load(events=9, size=3)
        >>> load.batch(9, 2, Schema(), {"key": "db-3"}).to_pydict()
        {'payload': [b'9..', b'10.'], 'key': ['db-3', 'db-3']}
        """
        pa = pyarrow()
        compute = pa.compute
        numbers = pa.array(range(first, first + rows), arrow_type("int64"))
        text = compute.utf8_rpad(numbers.cast(arrow_type("string")), self.size, ".")
        columns = {"payload": compute.utf8_slice_codeunits(text, 0, self.size)}
        columns["payload"] = columns["payload"].cast(arrow_type("binary"))
        kinds = {column.name: column.type.name for column in schema.columns}
        for name, value in constant.items():
            columns[name] = pa.repeat(pa.scalar(value, arrow_type(kinds[name])), rows)
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
