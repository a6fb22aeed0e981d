"""`quorumcast demo`: a simulated minute with a liar in it, as a table for newcomers."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from quorumcast.cli.called import called
from quorumcast.cli.ending import FAILED, ending
from quorumcast.sim.adversaries import adversary_named
from quorumcast.sim.minute import Detected, Minute, play

SEED = 7

NEXT = (
    ("quorumcast sim --protocol ab,bracha --adversary all --seeds 20", "try to break it"),
    (
        "quorumcast sim --protocol ab --adversary equivocate --byzantine 2 --seeds 50",
        "one liar too many",
    ),
)

WORDS = {
    "withholds": ("withheld", "messages that {who} kept to itself"),
    "alters": ("altered", "messages that {who} changed before it sent them"),
    "serves": ("forged", "times {who} answered with bodies that nobody published"),
    "tells": ("two stories", "messages that said one thing here and another there"),
}
"""How the lies of the usual adversary are told; others are told as they are named."""

WEIGHTS = {
    "proof": "anybody can check it",
    "local": "it contradicted itself, or what is known",
    "suspicion": "one of them, and it cannot be told which",
}


def demo(
    *,
    seed: Annotated[int, typer.Option(help="Another minute.")] = SEED,
    adversary: Annotated[
        str, typer.Option(help="Another kind of liar; a wrong name lists them.")
    ] = "fickle",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
) -> None:
    """A simulated minute of four replicas, one of them lying: what came of it."""
    with ending():
        adversary_named(adversary)
        minute = play(seed, adversary)
        if json:
            print(msgspec.json.encode(minute).decode())
        else:
            show(minute, Console(highlight=False))
        if minute.violations:
            raise typer.Exit(FAILED)


def show(minute: Minute, console: Console) -> None:
    """Print a minute."""
    scenario = minute.scenario
    who = ", ".join(minute.liars)
    console.print(
        f"A simulated minute: {scenario.replicas} replicas carry the events of "
        f"{scenario.publishers} publishers to {scenario.subscribers} subscribers over a network "
        f"that loses {scenario.loss:.0%}. {_liars(minute, who)}\n"
    )
    console.print(_table(minute, who))
    console.print()
    if minute.violations:
        console.print(f"A promise was broken: {minute.violations[0]}.")
    else:
        console.print(_moral(minute))
    console.print("\nNext:")
    for command, why in NEXT:
        console.print(f"  {called(command)}   # {why}", soft_wrap=True)


def _liars(minute: Minute, who: str) -> str:
    adversary = adversary_named(minute.scenario.adversary)
    if adversary is None:
        return "Nobody lies."
    return f"{who} {'lie' if len(minute.liars) > 1 else 'lies'}: {adversary.does}."


def _table(minute: Minute, who: str) -> Table:
    table = Table("", "how many", "what that means", title_justify="left")
    table.columns[1].justify = "right"
    add = table.add_row
    add("published", f"{sum(minute.published.values()):,}", _each(minute.published, "events by"))
    add("acknowledged", f"{minute.acknowledged:,}", "publishers know that these are safe")
    add("delivered", f"{sum(minute.delivered.values()):,}", _each(minute.delivered, "events to"))
    add("lost", f"{sum(minute.lost.values()):,}", "published, and missing at a subscriber")
    add("falsified", f"{sum(minute.altered.values()):,}", "delivered, and never published so")
    table.add_section()
    for name, times, text in _lies(minute, who):
        add(name, f"{times:,}", text)
    add("lost on the way", f"{minute.lost_messages:,}", "messages that the network dropped")
    table.add_section()
    for each in minute.detected:
        add(f"detected: {each.weight}", f"{each.times:,}", _against(each))
    if not minute.detected:
        add("detected", "0", "nobody contradicted himself or what is known")
    for party, times in minute.refused.items():
        add("refused", f"{times:,}", f"messages of {party} that others did not accept")
    return table


def _each(counts: dict[str, int], what: str) -> str:
    if len(set(counts.values())) == 1:
        return f"{next(iter(counts.values())):,} {what} each of {', '.join(counts)}"
    return f"{what} " + ", ".join(f"{name}: {count:,}" for name, count in counts.items())


def _lies(minute: Minute, who: str) -> list[tuple[str, int, str]]:
    groups: Counter[str] = Counter()
    for kind, times in minute.lies.items():
        verb = kind.split()[0]
        groups[verb if verb in WORDS else kind] += times
    rows: list[tuple[str, int, str]] = []
    for kind, times in groups.most_common():
        name, text = WORDS.get(kind, ("lies", f"times {who} {kind}"))
        rows.append((name, times, text.format(who=who)))
    return rows


def _against(each: Detected) -> str:
    return f"against {' or '.join(each.against)}: {WEIGHTS[each.weight]} (by {', '.join(each.by)})"


def _moral(minute: Minute) -> str:
    lies = sum(minute.lies.values())
    start = f"{lies:,} lies later" if lies else "In the end"
    return (
        f"{start}, every subscriber has every event, in order, once and unaltered: an "
        "event counts only when three of the four replicas vouch for the same bytes, and a replica "
        "that missed one fetches it from the others."
    )
