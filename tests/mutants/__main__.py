"""`python -m tests.mutants [NAME...]`: seed every bug, and say which test sees it.

Exit code 1 if one survives. With `--search`, a bug that its own test does not see is run against
all tests of the protocols.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count

from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.running import Outcome, attempt

EVERYWHERE = ("tests/auth", "tests/broadcast", "tests/broker", "tests/client", "tests/scenarios")


def _try(mutant: Mutant, *, search: bool) -> tuple[Mutant, Outcome]:
    outcome = attempt(mutant, mutant.killer) if mutant.killer else Outcome(False, (), "")
    if not outcome.killed and search:
        outcome = attempt(mutant, *EVERYWHERE, first_only=False)
    return mutant, outcome


def main(arguments: list[str]) -> int:
    """Run the mutants, print the table."""
    search = "--search" in arguments
    names = [name for name in arguments if not name.startswith("--")] or list(MUTANTS)
    unknown = [name for name in names if name not in MUTANTS]
    if unknown:
        print(f"no mutant {unknown[0]}; there are: {', '.join(MUTANTS)}", file=sys.stderr)
        return 2
    console = Console()
    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        tried = pool.map(lambda name: _try(MUTANTS[name], search=search), names)
        results = list(track(tried, "seeding bugs", len(names), console=Console(stderr=True)))
    table = Table("mutant", "mistake", "", "seen by", title="seeded bugs", title_justify="left")
    for mutant, outcome in results:
        verdict = "[green]killed[/]" if outcome.killed else "[red]survived[/]"
        table.add_row(mutant.name, mutant.mistake, verdict, "\n".join(outcome.by))
    console.print(table)
    survived = [mutant.name for mutant, outcome in results if not outcome.killed]
    console.print(f"{len(results) - len(survived)} killed, {len(survived)} survived")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
