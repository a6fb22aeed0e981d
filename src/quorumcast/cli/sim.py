"""`quorumcast sim`: run the whole system from seeds, with liars in it, and judge every run."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

import msgspec
import typer

from quorumcast.cli.ending import FAILED, ending
from quorumcast.cli.progress import Progress
from quorumcast.cli.telling import show_report, summary
from quorumcast.core.errors import ConfigError
from quorumcast.sim.campaign import campaign, spread
from quorumcast.sim.network import TICKS_PER_SECOND
from quorumcast.sim.report import Report
from quorumcast.sim.scenario import Scenario
from quorumcast.sim.shrink import Shrunk, shrink
from quorumcast.sim.transcript import transcribe

EXAMPLES = """
Examples:

quorumcast sim --protocol ab,bracha --adversary all --seeds 20

quorumcast sim --protocol ab --adversary equivocate --byzantine 2 --seeds 50

quorumcast sim --protocol bracha --adversary state-aware --seed 7 --transcript
"""

SEEDS = 20
RUNS_PER_WORKER = 8
"""Fewer runs than these are done before another process has started."""

_usual = Scenario()

Protocols = Annotated[str, typer.Option(help="ab, bracha or plain; several with commas.")]
Replicas = Annotated[int, typer.Option(help="n, the number of replicas.")]
Faults = Annotated[int, typer.Option(help="f, how many may be faulty.")]
Publishers = Annotated[int, typer.Option(help="Correct publishers.")]
Subscribers = Annotated[int, typer.Option(help="Correct subscribers.")]
Publications = Annotated[int, typer.Option(help="Publications of each correct publisher.")]
Confirm = Annotated[str, typer.Option(help="α in publications, or false: no confirmation.")]
AdversaryNames = Annotated[
    str, typer.Option(help="A name, several with commas, none, or all. A wrong name lists them.")
]
Byzantine = Annotated[
    int | None, typer.Option(help="How many parties the adversary plays; f if not given.")
]
TwoFacedPublisher = Annotated[
    bool, typer.Option("--byzantine-publisher", help="Add a publisher that sends two contents.")
]
Loss = Annotated[float, typer.Option(help="Share of messages that are lost, 0 to 0.9.")]
Signed = Annotated[bool, typer.Option("--signed", help="Publications are signed.")]
Crashes = Annotated[bool, typer.Option(help="Processes crash and come back.")]
Seconds = Annotated[float, typer.Option(help="Virtual seconds until the network heals.")]
Patience = Annotated[float, typer.Option(help="Virtual seconds after it for what is owed.")]
Seeds = Annotated[
    int | None, typer.Option(help=f"Run seeds 0 to N-1 of each kind; {SEEDS} if not given.")
]
Seed = Annotated[int | None, typer.Option(help="Run this seed alone, as a replay.")]
Transcripts = Annotated[
    bool, typer.Option("--transcript", help="With --seed: print everything that happens.")
]
Shrinking = Annotated[
    bool, typer.Option("--shrink/--no-shrink", help="Make the first violation small.")
]
Json = Annotated[bool, typer.Option("--json", help="End with one JSON object.")]
Jobs = Annotated[int | None, typer.Option(help="Processes; as many as cores if not given.")]


def sim(
    *,
    protocol: Protocols = "ab,bracha",
    replicas: Replicas = _usual.replicas,
    faults: Faults = _usual.faults,
    publishers: Publishers = _usual.publishers,
    subscribers: Subscribers = _usual.subscribers,
    publications: Publications = _usual.publications,
    confirm: Confirm = str(_usual.confirm),
    adversary: AdversaryNames = "none",
    byzantine: Byzantine = None,
    byzantine_publisher: TwoFacedPublisher = False,
    loss: Loss = _usual.loss,
    signed: Signed = False,
    crashes: Crashes = True,
    seconds: Seconds = _usual.faulty_ticks / TICKS_PER_SECOND,
    patience: Patience = _usual.healing_ticks / TICKS_PER_SECOND,
    seeds: Seeds = None,
    seed: Seed = None,
    transcript: Transcripts = False,
    shrinking: Shrinking = True,
    json: Json = False,
    jobs: Jobs = None,
) -> None:
    """Run clusters with liars in a deterministic world, and check every promise."""
    with ending():
        base = Scenario(
            replicas=replicas,
            faults=faults,
            publishers=publishers,
            subscribers=subscribers,
            publications=publications,
            confirm=_confirm(confirm),
            byzantine=byzantine,
            byzantine_publisher=byzantine_publisher,
            loss=loss,
            signed=signed,
            crashes=crashes,
            faulty_ticks=_ticks("--seconds", seconds),
            healing_ticks=_ticks("--patience", patience),
        )
        scenarios = spread(base, _names(protocol), _names(adversary), _seeds(seeds, seed))
        report = _transcript(scenarios, seed) if transcript else _report(scenarios, jobs)
        small = _shrunk(report) if shrinking else None
        if json:
            print(msgspec.json.encode(_object(report, small)).decode())
        else:
            show_report(report, scenarios, small)
        if not report.passed:
            raise typer.Exit(FAILED)


# -- arguments ---------------------------------------------------------------------------------


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] or [text]


def _confirm(text: str) -> int | Literal[False]:
    if text.lower() == "false":
        return False
    if not text.isdecimal():
        raise ConfigError(f"--confirm {text}: use a number of publications, or false")
    return int(text)


def _ticks(option: str, seconds: float) -> int:
    if not 1.0 <= seconds <= 86_400.0:
        raise ConfigError(f"{option} {seconds:g}: use 1 to 86400 virtual seconds")
    return round(seconds * TICKS_PER_SECOND)


def _seeds(count: int | None, seed: int | None) -> range:
    if count is not None and seed is not None:
        raise ConfigError("--seeds runs many and --seed replays one: use one of the two")
    if seed is not None:
        return range(seed, seed + 1)
    if count is not None and count < 1:
        raise ConfigError(f"--seeds {count}: use 1 or more")
    return range(SEEDS if count is None else count)


# -- running -----------------------------------------------------------------------------------


def _workers(runs: int, jobs: int | None) -> int:
    if jobs is not None and jobs < 1:
        raise ConfigError(f"--jobs {jobs}: use 1 or more")
    affinity = getattr(os, "sched_getaffinity", None)
    cores = os.cpu_count() or 1 if affinity is None else len(affinity(0))
    return min(jobs or cores, max(1, runs // RUNS_PER_WORKER))


def _report(scenarios: list[Scenario], jobs: int | None) -> Report:
    total = Report()
    with Progress(len(scenarios), "runs") as progress:
        for report in campaign(scenarios, _workers(len(scenarios), jobs)):
            total += report
            progress.show(total.runs, failed=len(total.failures))
    return total


def _transcript(scenarios: list[Scenario], seed: int | None) -> Report:
    if seed is None or len(scenarios) != 1:
        raise ConfigError(
            "--transcript shows one run: use it with --seed, one protocol and one adversary"
        )
    return transcribe(scenarios[0], print)


def _shrunk(report: Report) -> Shrunk | None:
    """The first violation, made small."""
    broken = [failure for failure in report.failures if failure.violations]
    if not broken:
        return None
    with Progress(None, "runs tried to shrink the first failure") as progress:
        return shrink(broken[0].scenario, progress=progress.show)


def _object(report: Report, small: Shrunk | None) -> dict[str, Any]:
    shrunk = {} if small is None else {"shrunk": small.text}
    failures = [
        {
            "seed": failure.scenario.seed,
            "rule": failure.violations[0].rule if failure.violations else "vacuous",
            "text": failure.text,
            "command": failure.command,
        }
        for failure in report.failures
    ]
    return {**summary(report), "failures": failures, **shrunk}
