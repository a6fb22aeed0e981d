"""What a soak does: pieces of work by their number, the same for one number wherever it is done.

- seeds: runs of the simulator over all protocols, sizes and adversaries;
- twins: schedules of two replicas with one identity, n = 4;
- messages: inputs to the decoder, made from messages of every type;
- bodies: inputs to the reader of publication bodies.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from quorumcast.core.channel import Channel
from quorumcast.sim.adversaries import REGISTRY
from quorumcast.sim.checkers import promise_of
from quorumcast.sim.run import run
from quorumcast.sim.scenario import PROTOCOLS, Scenario
from tests.sim import matrix
from tests.sim.matrix import REPLICAS, verdict
from tests.wire import fuzz
from tests.wire.vectors import VECTORS

ROOT = Path(__file__).parent.parent.parent

MESSAGE_TYPES: tuple[type[Any], ...] = tuple(
    {type(vector.message): None for vector in VECTORS.values()}
)


class Piece(NamedTuple):
    """What came of a piece of work."""

    done: int
    vacuous: int = 0
    """Runs of it that had nothing to judge: crashes may leave nobody to publish anything."""
    failure: str = ""


class Work(NamedTuple):
    """A kind of work: `total` pieces' contents, of which `piece(first, count)` does some."""

    name: str
    unit: str
    total: int
    chunk: int
    share: float
    """The part of the time that it gets."""
    piece: Callable[[int, int], Piece]


# -- runs of the simulator ---------------------------------------------------------------------


def scenario(seed: int) -> Scenario:
    """A run drawn from its seed: any cell of the table, any size."""
    draws = Random(f"soak {seed}")
    protocol = draws.choice((*PROTOCOLS, "ab"))
    confirm = False if protocol == "ab" and draws.random() < 0.2 else draws.choice((1, 2, 5, 10))
    replicas = draws.choice(REPLICAS)
    lies = promise_of(Channel("any", protocol=protocol)).lies
    most = (replicas - 1) // (3 if lies else 2)
    return Scenario(
        protocol=protocol,
        replicas=replicas,
        faults=draws.choice((most, most, draws.randrange(1, most + 1))),
        publishers=draws.choice((1, 2, 3)),
        subscribers=draws.choice((2, 3, 5)),
        confirm=confirm,
        adversary=draws.choice(("none", *REGISTRY)) if lies else "none",
        byzantine_publisher=lies and draws.random() < 0.5,
        loss=draws.choice((0.0, 0.02, 0.1, 0.3)) if confirm else draws.choice((0.0, 0.01)),
        publications=draws.choice((5, 20, 60)),
        signed=draws.random() < 0.3,
        faulty_ticks=draws.choice((2_000, 6_000)),
        seed=seed,
    )


def _runs(scenarios: Iterable[Scenario]) -> Piece:
    done = vacuous = 0
    for each in scenarios:
        report = run(each)
        done += 1
        if report.violations:
            return Piece(done, vacuous, verdict(report))
        vacuous += report.vacuous
    return Piece(done, vacuous)


def seeds(first: int, count: int) -> Piece:
    """Runs by their seeds."""
    return _runs(map(scenario, range(first, first + count)))


def twins(first: int, count: int) -> Piece:
    """Schedules of twins by their seeds."""
    return _runs(map(matrix.twins, range(first, first + count)))


# -- decoders ----------------------------------------------------------------------------------


def messages(first: int, count: int) -> Piece:
    """Inputs made from messages: the types take turns, a piece each."""
    turn = first // count
    type_, seed = MESSAGE_TYPES[turn % len(MESSAGE_TYPES)], 1 + turn // len(MESSAGE_TYPES)
    try:
        fuzz.fuzz(type_, count, seed)
    except AssertionError as error:
        again = f"from tests.wire.fuzz import fuzz; fuzz({type_.__name__}, {count}, {seed})"
        source = f"from quorumcast.core.messages import {type_.__name__}; {again}"
        return Piece(count, 0, f'{error}\nreplay with: python -c "{source}"')
    return Piece(count)


def bodies(first: int, count: int) -> Piece:
    """Publication bodies, in a process of their own: a wrong one may end it."""
    command = [sys.executable, "-m", "tests.events.fuzz", str(count), str(first)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return Piece(count)
    numbers = [line for line in done.stderr.splitlines() if line.isdigit()]
    number = numbers[-1] if numbers else str(first)
    last = (done.stderr.splitlines() or [""])[-1]
    what = f"body {number} ended its reader with exit code {done.returncode}: {last}"
    return Piece(count, 0, f"{what}\nreplay with: python -m tests.events.fuzz 1 {number}")


WORKS = (
    Work("seeds", "runs", 100_000, 1, 0.5, seeds),
    Work("twins", "schedules", 65_536, 8, 0.2, twins),
    Work("messages", "inputs", 1_000_000 * len(MESSAGE_TYPES), 5_000, 0.2, messages),
    Work("bodies", "inputs", 1_000_000, 2_000, 0.1, bodies),
)
"""All that a whole soak does."""


def at_most(work: Work, count: int) -> Work:
    """The same kind of work, with fewer runs or inputs (for messages: per type)."""
    kinds = len(MESSAGE_TYPES) if work.name == "messages" else 1
    total = min(work.total, count * kinds)
    return work._replace(total=total, chunk=min(work.chunk, max(1, total // kinds)))
