"""A run as a text: who said what to whom and when, what was stored, delivered and acknowledged.

One line a turn and kind of thing; what a turn says to several receivers in equal words is one line,
with those it never reached. Equal scenarios give equal transcripts, byte by byte.

    0.103  p1 -> r1 r2 r4, lost: r3  PUBLISH alerts/p1/5f02 1
    0.105  r1 stores  votes alerts/p1/5f02 1 [c49e]
    0.106  r4 alters Held to s1
    0.108  s1 delivers alerts/p1/5f02 1 (3 votes)
"""

from __future__ import annotations

from collections.abc import Callable

from quorumcast.core.machine import Ready
from quorumcast.core.messages import Message
from quorumcast.sim import wording
from quorumcast.sim.network import TICKS_PER_SECOND
from quorumcast.sim.node import Node
from quorumcast.sim.report import Report
from quorumcast.sim.run import run
from quorumcast.sim.scenario import Scenario

PER_LINE = 6
"""Messages or records of a turn that a line shows; of more it says how many."""


class Transcript:
    """A watcher that writes a line at a time; `close` writes what is still to be written.

    >>> lines = []
    >>> transcript = Transcript(lines.append)
    >>> transcript.noted(1500, "r1 crashes")
    >>> lines
    ['   1.500  r1 crashes']
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._turn: tuple[int, str] | None = None
        self._said: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
        """What the turn at hand says, with those that it reaches and those that it does not."""

    def sent(
        self, tick: int, sender: str, receiver: str, messages: list[Message], arrival: int | None
    ) -> None:
        """Gather what a turn says, by its words."""
        if self._turn != (tick, sender):
            self.close()
            self._turn = (tick, sender)
        text = _listed([wording.message(message) for message in messages])
        reached, missed = self._said.setdefault(text, ({}, {}))
        (missed if arrival is None else reached)[receiver] = None

    def turned(self, tick: int, node: Node, ready: Ready) -> None:
        """What a turn stored, and what it told its user and its operator."""
        self.close()
        who = node.name
        if ready.records:
            stored = _listed([wording.record(record) for record in ready.records])
            self._line(tick, f"{who} stores  {stored}")
        for what in (*ready.deliveries, *ready.acknowledgements):
            self._line(tick, f"{who} {wording.outcome(what)}")
        for rejection in ready.rejections:
            self._line(tick, f"{who} refuses what {rejection.sender} says: {rejection.reason}")
        for evidence in ready.evidence:
            self._line(tick, f"{who} {wording.evidence(evidence)}")

    def noted(self, tick: int, text: str) -> None:
        """What happened to the world, and what the adversary did."""
        self.close()
        self._line(tick, text)

    def close(self) -> None:
        """Write what was gathered."""
        if self._turn is None:
            return
        tick, sender = self._turn
        for text, (reached, missed) in self._said.items():
            lost = f", lost: {' '.join(missed)}" if missed else ""
            receivers = " ".join(reached) or "nobody"
            self._line(tick, f"{sender} -> {receivers}{lost}  {text}")
        self._said.clear()
        self._turn = None

    def _line(self, tick: int, text: str) -> None:
        self._write(f"{tick / TICKS_PER_SECOND:8.3f}  {text}")


def _listed(texts: list[str]) -> str:
    more = [f"and {len(texts) - PER_LINE} more"] if len(texts) > PER_LINE else []
    return "; ".join([*texts[:PER_LINE], *more])


def transcribe(scenario: Scenario, write: Callable[[str], object]) -> Report:
    """Run a scenario and write its transcript, line by line.

    >>> lines = []
    >>> transcribe(Scenario(publications=1, crashes=False, seed=1), lines.append).passed
    True
    >>> any("p1 -> r1" in line for line in lines)
    True
    """
    transcript = Transcript(write)
    report = run(scenario, watcher=transcript)
    transcript.close()
    return report
