"""`python -m tests.mutants [NAME...]`: seed every bug, and say which test sees it.

Exit code 1 if one survives, or if a test fails without any bug.

  --search       a bug that its own test does not see is run against all tests of the protocols
  --tests PATH   run these tests instead of the bugs' own
  --show         show how the tests fail
  --table        write docs/mutants.md instead
  --json         one line a bug: its name, whether it was seen, by which tests, a remark
"""

from __future__ import annotations

import argparse
import json
import sys
from os import cpu_count

from rich.console import Console
from rich.markup import escape
from rich.progress import track

from tests.mutants.catalogue import MUTANTS
from tests.mutants.document import DOCUMENT, document
from tests.mutants.mutant import Mutant
from tests.mutants.running import Outcome, attempts

EVERYWHERE = (
    "tests/core",
    "tests/auth",
    "tests/wire",
    "tests/broadcast",
    "tests/broker",
    "tests/client",
    "tests/scenarios",
)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--tests", metavar="PATH")
    for flag in ("search", "show", "table", "json"):
        parser.add_argument(f"--{flag}", action="store_true")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in MUTANTS]
    if unknown:
        parser.error(f"no mutant {unknown[0]}; there are: {', '.join(MUTANTS)}")
    return options


def _print(results: list[tuple[Mutant, Outcome]]) -> None:
    """Two lines a bug, however narrow the terminal: names of tests stay whole."""
    console = Console(soft_wrap=True, highlight=False)
    for mutant, outcome in results:
        verdict = "[green]killed  [/]" if outcome.killed else "[red]survived[/]"
        console.print(f"{verdict}  [bold]{mutant.name}[/]  {escape(mutant.mistake)}")
        for line in outcome.by or (outcome.remark or mutant.killer or "no test",):
            console.print(f"          {escape(line)}")


def main(arguments: list[str]) -> int:
    """Run the mutants, print the table."""
    options = _options(arguments)
    if options.table:
        DOCUMENT.write_text(document(), encoding="utf-8")
        return 0
    mutants = [MUTANTS[name] for name in options.names or MUTANTS]
    tests = {each.name: (options.tests or each.killer,) for each in mutants}
    jobs = cpu_count() or 1
    if not options.json:
        every = tuple(dict.fromkeys(path for paths in tests.values() for path in paths if path))
        (plain,) = attempts([(None, every)], first_only=False, show=options.show)
        if plain.failures or plain.trouble:
            print("without any bug:", plain.trouble, *(each.test for each in plain.failures))
            return 1
    found: dict[str, Outcome] = {}
    tried = attempts(
        [(each, tests[each.name]) for each in mutants],
        jobs=1 if options.json or options.show else jobs,
        show=options.show,
    )
    quiet = options.json or options.show
    for outcome in track(
        tried, "seeding bugs", len(mutants), console=Console(stderr=True, quiet=quiet)
    ):
        found[outcome.name] = outcome
        if options.json:
            print(json.dumps([outcome.name, outcome.killed, outcome.by, outcome.remark]))
    left = [each for each in mutants if not found[each.name].killed]
    if options.search:
        wide = [(each, EVERYWHERE) for each in left]
        found |= {each.name: each for each in attempts(wide, jobs=jobs, first_only=False)}
    survived = sum(not found[each.name].killed for each in mutants)
    if not options.json:
        _print([(each, found[each.name]) for each in mutants])
        print(f"{len(mutants) - survived} killed, {survived} survived")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
