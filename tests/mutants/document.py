"""The catalogue as docs/mutants.md shows it."""

from __future__ import annotations

from pathlib import Path

from tests.mutants.catalogue import MUTANTS
from tests.mutants.sources import MISTAKES, PAPERS, RULES

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "mutants.md"

_OPENING = """\
# Known bugs that the tests kill

A test suite that passes shows little until it has been seen to fail. So every mistake that we know
of is kept as a mutant: a wrong version of one named function. Some are mistakes of published
systems that this one is built on; some have killed systems of this kind again and again; the rest
are what breaks when one of the [protocol's rules](rules.md) is left out. `make mutants` puts one
after the other in place, runs the test that is to see it, prints killed or survived, and fails if
one survives. A mutant that merely breaks down, with a wrong call for instance, is not counted as
killed.

{count} mutants are here, and none survives. The test suite runs them all and compares this page
with them; `python -m tests.mutants --table` writes it anew, and `python -m tests.mutants NAME
--show` shows how a test fails.
"""


def _list(title: str, text: str, sources: dict[str, str]) -> str:
    rows = "".join(f"| {name} | {what} |\n" for name, what in sources.items())
    return f"\n## {title}\n\n{text}\n\n| name | what is wrong |\n| --- | --- |\n{rows}"


def document() -> str:
    """The whole page."""
    rows = "".join(
        f"| `{each.name}` | {each.source} | {each.mistake} | `{each.target}` | `{each.killer}` |\n"
        for each in MUTANTS.values()
    )
    return (
        _OPENING.format(count=len(MUTANTS))
        + "\n## The mutants\n\n"
        + "| mutant | whose mistake | what is wrong | replaced | seen by |\n"
        + "| --- | --- | --- | --- | --- |\n"
        + rows
        + _list(
            "What was published",
            "Systems and papers that this one learned from, where they must not be followed.",
            PAPERS,
        )
        + _list("What has killed such systems", "Mistakes that are made anew.", MISTAKES)
        + _list(
            "What the rules warn of", "In short; [the rules](rules.md) have these numbers.", RULES
        )
    )
