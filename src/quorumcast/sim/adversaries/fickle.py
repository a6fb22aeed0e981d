"""Fickle: withholds for a while, then alters, then tells two stories, and begins again.

A liar that keeps to one habit is easy to tell. This one looks correct in each respect for most of
the time, and leaves its victims with the remains of its other habits.
"""

from __future__ import annotations

from quorumcast.core.ids import Party
from quorumcast.core.machine import Machine
from quorumcast.core.messages import Message
from quorumcast.sim.adversaries.alter import Alter
from quorumcast.sim.adversaries.equivocate import Equivocate
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Plot
from quorumcast.sim.adversaries.withhold import Withhold

PHASE_SECONDS = 1.0


class Fickle(Liar):
    """Wears one of three faces at a time, all before the same correct machine."""

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._faces: list[Liar] = []
        for maker in (Withhold, Alter, Equivocate):
            # A face learns what the machine stores before it is shown: the forger's ledger is
            # the one that this wrapper fills.
            face = maker(inner, plot)
            face.ledger.streams = self.ledger.streams
            face.ledger.bodies = self.ledger.bodies
            face._also = self._also
            self._faces.append(face)

    @property
    def _face(self) -> Liar:
        return self._faces[int(self.now / PHASE_SECONDS) % len(self._faces)]

    def step(self, sender: Party, message: Message) -> None:
        """What the face of the hour does with a message."""
        self._face.step(sender, message)

    def say(self, receiver: Party, message: Message) -> list[Message]:
        """What the face of the hour says."""
        return self._face.say(receiver, message)
