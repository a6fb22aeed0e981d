"""Reading for `sub`: what it shows, when it says that it waits, and how far it came."""

from __future__ import annotations

import asyncio
import os
import select
import stat
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from quorumcast.api.client import AsyncClient
from quorumcast.api.cursor import Cursor
from quorumcast.api.received import Received
from quorumcast.api.subscribing import Subscription
from quorumcast.cli.showing import event_line, event_object
from quorumcast.core.errors import ConfigError
from quorumcast.runtime.files import write_file

PAGE = 1000
"""Events that are printed at once."""

WAITED_SECONDS = 1.0
"""Who has seen nothing for so long is told that we wait."""

LOOK_SECONDS = 0.25
"""How often it is looked whether somebody still reads our pipe."""

CURSOR_SECONDS = 1.0
"""A busy subscriber's cursor is written so often; an idle one's at once."""


class Wish(NamedTuple):
    """What `sub` is to show, and how."""

    channel: str
    start: str | datetime | Cursor
    publishers: tuple[str, ...]
    most: int | None
    seconds: float | None
    skip_gaps: bool
    json: bool
    cursor: Path | None


def beginning(text: str, file: Path | None) -> str | datetime | Cursor:
    """Where to begin: where the cursor in a file stands, or else what `--from` says.

    >>> beginning("earliest", None)
    'earliest'
    """
    stored = None if file is None else _stored(file)
    return _start(text) if stored is None else stored


def _start(text: str) -> str | datetime | Cursor:
    if text in ("earliest", "latest"):
        return text
    try:
        if text.startswith("{"):
            return Cursor.parse(text)
        at = datetime.fromisoformat(text)
        return at if at.tzinfo is not None else at.astimezone()
    except (ValueError, OverflowError, ConfigError):
        raise ConfigError(
            f"--from {text}: use earliest, latest, a time such as 2026-03-01T12:00:00Z, or a "
            "cursor as it was written"
        ) from None


def _stored(path: Path) -> Cursor | None:
    """The cursor in a file; None while there is none."""
    try:
        return Cursor.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"--cursor {path}: {error.strerror}: name a file") from None
    except (ConfigError, UnicodeDecodeError):
        raise ConfigError(
            f"--cursor {path}: this file holds no cursor: name another one, or remove it to begin "
            "with --from"
        ) from None


class Reader:
    """One run of `sub`; how much was shown can be asked at any time."""

    def __init__(self, wish: Wish) -> None:
        self.shown = 0
        self.unwanted = False
        """Whether nobody reads our output any more."""
        self._wish = wish
        self._at: Cursor | None = None
        """Behind what was shown, unless that is written down already."""
        self._written_seconds = float("-inf")

    async def read(self, client: AsyncClient) -> None:
        """Show events until there are enough, or none comes for too long."""
        wish = self._wish
        async with client:
            subscription = client.subscribe(
                wish.channel,
                from_=wish.start,
                publishers=wish.publishers,
                on_gap="continue" if wish.skip_gaps else None,
            )
            await subscription.ready()
            self._at = subscription.cursor
            self._keep()
            forget = self._watch_output()
            try:
                await self._show(subscription)
            except asyncio.CancelledError:
                if not self.unwanted:
                    raise
                raise BrokenPipeError from None
            finally:
                forget()
                self._keep()

    async def _show(self, subscription: Subscription) -> None:
        wish = self._wish
        while wish.most is None or self.shown < wish.most:
            page = PAGE if wish.most is None else min(PAGE, wish.most - self.shown)
            events = await self._take(subscription, page)
            if not events:
                return
            self._print(events)
            self._at = subscription.cursor
            if not subscription.waiting or self._is_old():
                self._keep()

    async def _take(self, subscription: Subscription, page: int) -> list[Received]:
        """Events, or none when it was silent for too long; says once that we wait."""
        left = self._wish.seconds
        if self.shown == 0 and (left is None or left > WAITED_SECONDS):
            if events := await subscription.take(page, WAITED_SECONDS):
                return events
            self._say_waiting()
            left = None if left is None else left - WAITED_SECONDS
        return await subscription.take(page, left)

    def _say_waiting(self) -> None:
        if self._wish.json and not sys.stderr.isatty():
            return
        latest = self._wish.start == "latest"
        hint = "; --from earliest shows those that are there" if latest else ""
        print(f"waiting for events on {self._wish.channel}{hint}; Ctrl-C ends", file=sys.stderr)

    def _print(self, events: list[Received]) -> None:
        show = event_object if self._wish.json else event_line
        sys.stdout.write("".join(f"{show(event)}\n" for event in events))
        sys.stdout.flush()
        self.shown += len(events)

    # -- who reads it --------------------------------------------------------------------------

    def _watch_output(self) -> Callable[[], object]:
        """End when whoever reads our pipe is gone, and not at the next event alone."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        file = sys.stdout.fileno()
        if task is None or not stat.S_ISFIFO(os.fstat(file).st_mode):
            return lambda: None

        # Not by the loop's own means: it would make the pipe one whose writes do not wait, for us
        # and for all who share it.
        def look() -> None:
            nonlocal timer
            if _is_broken(file):
                self.unwanted = True
                task.cancel()
            else:
                timer = loop.call_later(LOOK_SECONDS, look)

        timer = loop.call_later(LOOK_SECONDS, look)

        def leave() -> None:
            timer.cancel()

        return leave

    # -- where it stands -----------------------------------------------------------------------

    def _is_old(self) -> bool:
        return time.monotonic() - self._written_seconds > CURSOR_SECONDS

    def _keep(self) -> None:
        """Write down behind what was shown: what was not will be shown again."""
        if self._wish.cursor is None or self._at is None:
            return
        write_file(self._wish.cursor, f"{self._at}\n")
        self._at = None
        self._written_seconds = time.monotonic()


def _is_broken(pipe: int) -> bool:
    poll = select.poll()
    poll.register(pipe, 0)  # errors are always told
    return any(told & (select.POLLERR | select.POLLHUP) for _, told in poll.poll(0))
