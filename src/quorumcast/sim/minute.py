"""A minute in the life of a small cluster, one of whose replicas lies; counted from outside.

What was published and delivered comes from users' calls and from what their machines told them,
what was detected from the evidence that correct machines reported. Only the lies are counted where
they are made.
"""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from quorumcast.core.ids import Lane, Party
from quorumcast.sim.checkers import Case, Violation
from quorumcast.sim.network import TICKS_PER_SECOND
from quorumcast.sim.run import Run
from quorumcast.sim.scenario import CHANNELS, Scenario
from quorumcast.sim.schedule import Decision, Publish, Resubscribe

MINUTE_TICKS = 60 * TICKS_PER_SECOND
PAUSE_TICKS = 200
"""Between two publications of one publisher."""

BODY_BYTES = 56


class Detected(msgspec.Struct, frozen=True):
    """Evidence of one weight against the same parties, and who reported it."""

    weight: str
    against: tuple[Party, ...]
    times: int
    by: tuple[Party, ...]
    example: str


class Minute(msgspec.Struct, frozen=True):
    """What came of a minute."""

    scenario: Scenario
    liars: tuple[Party, ...]
    seconds: float
    """Virtual time until everything had arrived, or nobody waited any longer."""
    published: dict[Party, int]
    acknowledged: int
    delivered: dict[Party, int]
    lost: dict[Party, int]
    """Published, and never delivered to this subscriber."""
    altered: dict[Party, int]
    """Delivered to this subscriber in a correct publisher's name, which did not publish it."""
    lies: dict[str, int]
    """What the adversary did, by kind, the most frequent first."""
    detected: tuple[Detected, ...]
    refused: dict[Party, int]
    """Messages that correct parties refused, by who had sent them."""
    lost_messages: int
    violations: tuple[Violation, ...]


def scenario_of(seed: int, adversary: str) -> Scenario:
    """The scenario of a minute: four replicas, two publishers, three subscribers.

    >>> scenario_of(1, "alter").replicas
    4
    """
    return Scenario(
        adversary=adversary,
        seed=seed,
        loss=0.02,
        crashes=False,
        faulty_ticks=MINUTE_TICKS,
        publications=MINUTE_TICKS // PAUSE_TICKS,
    )


def steady(scenario: Scenario) -> list[Decision]:
    """Everybody subscribes to everything, and each publisher publishes all the time.

    >>> sum(isinstance(each, Publish) for each in steady(scenario_of(1, "alter")))
    600
    """
    channel, decisions = CHANNELS[0], list[Decision]()
    for name in scenario.subscriber_names:
        decisions.append(Resubscribe(5, name, channel, ("*",), "earliest"))
    for index, name in enumerate(scenario.publisher_names):
        first = 20 + index * PAUSE_TICKS // scenario.publishers
        for number in range(scenario.publications):
            tick = first + number * PAUSE_TICKS
            decisions.append(Publish(tick, name, channel, Lane.NORMAL, 1, BODY_BYTES))
    return sorted(decisions, key=lambda decision: decision.tick)


def play(seed: int, adversary: str) -> Minute:
    """Run a minute, and count."""
    scenario = scenario_of(seed, adversary)
    run = Run(scenario, steady(scenario))
    report = run.execute()
    rig, trace = run.rig, run.rig.trace
    case = rig.case(judged=True, cap_bytes=2**62, patience_ticks=2**62)
    published = Counter(each.party for each in trace.published)
    owed = {(each.party, each.body) for each in trace.published}
    got = {name: _got(case, name) for name in scenario.subscriber_names}
    return Minute(
        scenario=run.scenario,
        liars=rig.plot.members,
        seconds=run.world.now / TICKS_PER_SECOND,
        published=dict(published),
        acknowledged=sum(1 for sent in case.sent if sent.stream is not None),
        delivered={name: len(seen) for name, seen in got.items()},
        lost={name: len(owed.difference(seen)) for name, seen in got.items()},
        altered={name: sum(each not in owed for each in seen) for name, seen in got.items()},
        lies=dict(Counter(kind(deed.what) for deed in rig.plot.deeds).most_common()),
        detected=_detected(run),
        refused=_refused(run),
        lost_messages=report.lost_messages,
        violations=report.failures[0].violations if report.failures else (),
    )


def kind(deed: str) -> str:
    """A deed without the particulars of whom and where.

    >>> kind("alters Held to s1"), kind("tells r2 another story")
    ('alters Held', 'tells another story')
    >>> kind("sends two contents for position 12")
    'sends two contents'
    """
    deed = re.sub(r"^round \d+:.*", "splits the world between its twins", deed)
    deed = re.sub(r" (?:to|from|with) [prqst]\d+\b", "", deed)
    deed = re.sub(r" [prqst]\d+\b", "", deed)
    return re.sub(r" (?:for|at|up to) (?:position )?\d+\b", "", deed)


def _got(case: Case, life: str) -> list[tuple[Party, bytes]]:
    """What a subscriber delivered in the name of correct publishers."""
    return [
        (each.stream.publisher, each.body)
        for each in case.seen.get(life, ())
        if each.stream.publisher in case.publishers
    ]


def _detected(run: Run) -> tuple[Detected, ...]:
    groups: dict[tuple[str, tuple[Party, ...]], list[tuple[Party, str]]] = {}
    for _, witness, evidence in run.rig.trace.evidence:
        key = (evidence.weight.value, tuple(sorted(evidence.parties)))
        groups.setdefault(key, []).append((witness, evidence.reason))
    found = [
        Detected(weight, against, len(said), tuple(sorted({who for who, _ in said})), said[0][1])
        for (weight, against), said in groups.items()
    ]
    order = ("proof", "local", "suspicion")
    return tuple(sorted(found, key=lambda each: (order.index(each.weight), -each.times)))


def _refused(run: Run) -> dict[Party, int]:
    refused: Counter[Party] = Counter()
    for (_, sender), times in sorted(run.rig.trace.rejections.items()):
        refused[sender] += times
    return dict(refused.most_common())
