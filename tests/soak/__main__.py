"""`python -m tests.soak [KIND...] [--minutes M] [--seeds N] [--first SEED] [--workers W]`.

Kinds are seeds, twins, messages and bodies; all of them, if none is named. `--minutes` bounds the
time of all together, `--seeds` the runs or inputs of each. Exit code 1 with the first failure.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from os import cpu_count

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.soak.running import Result, soak
from tests.soak.work import WORKS, Work, at_most


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    names = [work.name for work in WORKS]
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(names))
    parser.add_argument("--minutes", type=float, default=60.0, help="for all kinds together")
    parser.add_argument("--seeds", type=int, default=None, help="runs or inputs of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=cpu_count() or 1)
    found = parser.parse_args(arguments)
    unknown = [name for name in found.kinds if name not in names]
    if unknown:
        parser.error(f"there is no kind {unknown[0]}; there are: {', '.join(names)}")
    return found


def soak_all(works: list[Work], workers: int, minutes: float, first: int) -> list[Result]:
    """Do one work after the other, with progress on the terminal; a failure ends it."""
    results: list[Result] = []
    shares = sum(work.share for work in works)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:9}"), BarColumn(), MofNCompleteColumn())
    with (
        Progress(*columns, TimeElapsedColumn(), console=console) as progress,
        ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool,
    ):
        for work in works:
            task = progress.add_task(work.name, total=work.total)
            results.append(
                soak(
                    work,
                    pool,
                    workers,
                    60.0 * minutes * work.share / shares,
                    time.monotonic,
                    lambda _, done, task=task: progress.advance(task, done),
                    first,
                )
            )
            if results[-1].failure:
                break
    return results


def main(arguments: list[str]) -> int:
    """Soak, print what was done, and the first failure."""
    asked = _arguments(arguments)
    works = [work for work in WORKS if not asked.kinds or work.name in asked.kinds]
    if asked.seeds is not None:
        works = [at_most(work, asked.seeds) for work in works]
    results = soak_all(works, max(1, asked.workers), asked.minutes, asked.first)
    console = Console()
    table = Table("soak", "done", "of", "nothing to judge", "")
    for work, done, vacuous, failure in results:
        verdict = "[red]failed[/]" if failure else "[green]passed[/]"
        table.add_row(work.name, f"{done:,}", f"{work.total:,} {work.unit}", str(vacuous), verdict)
    console.print(table)
    failures = [result.failure for result in results if result.failure]
    for failure in failures:
        console.print(escape(failure), soft_wrap=True, highlight=False)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
