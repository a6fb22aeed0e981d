"""A bar for long work, on a terminal only."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich import progress as rich_progress
from rich.console import Console


class Progress:
    """A bar on standard error, on a terminal only; without a `total`, a count."""

    def __init__(self, total: int | None, what: str) -> None:
        console = Console(stderr=True)
        self._bar = rich_progress.Progress(
            rich_progress.SpinnerColumn(),
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TextColumn("{task.description}", markup=False),
            rich_progress.TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._what = what
        self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def show(self, done: int, *, failed: int = 0) -> None:
        """Show how far it is."""
        text = f"{self._what}, {failed} failed" if failed else self._what
        self._bar.update(self._task, completed=done, description=text)
