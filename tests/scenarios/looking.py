"""What a scenario sees of its stage: deliveries, acknowledgements, words, stores."""

from __future__ import annotations

from typing import Any, TypeVar

from quorumcast.core.evidence import Evidence
from quorumcast.core.ids import Party, Stream
from quorumcast.core.machine import Rejection
from quorumcast.core.messages import Message, Open
from quorumcast.core.outcomes import Acknowledged, Delivery, Gap
from quorumcast.sim.store import Store
from tests.scenarios.rules import ANY
from tests.scenarios.story import Story

M = TypeVar("M")


class Looking:
    """Everything that happened on a stage, and questions about it."""

    def __init__(self) -> None:
        self.transcript: list[tuple[float, Party, Party, Message]] = []
        """What machines said: when, who, to whom."""
        self.heard_by: dict[Party, list[tuple[Party, Message]]] = {}
        """What scripted parties heard, from whom."""
        self.outcomes: dict[Party, list[Any]] = {}
        """What client machines told their users, in order."""
        self.evidence: dict[Party, list[Evidence]] = {}
        self.rejections: dict[Party, list[Rejection]] = {}
        self.stores: dict[Party, Store] = {}

    def read(self, name: Party, story: Story | None = None) -> str:
        """What a subscriber delivered: of one stream, or of all in the order of arrival."""
        return "".join(
            body.decode()
            for outcome in self.outcomes.get(name, [])
            if isinstance(outcome, Delivery) and (story is None or outcome.stream == story.stream)
            for body in outcome.bodies
        )

    def gaps(self, name: Party) -> list[Gap]:
        """The gaps that a subscriber was told of."""
        return [each for each in self.outcomes.get(name, []) if isinstance(each, Gap)]

    def acknowledged(self, name: Party, *, confirmed: bool = False) -> int:
        """Up to which ticket a publisher's publications are acknowledged, or confirmed."""
        tickets = [
            each.last
            for each in self.outcomes.get(name, [])
            if isinstance(each, Acknowledged) and (each.confirmed or not confirmed)
        ]
        return max(tickets, default=0)

    # -- looking -------------------------------------------------------------------------------

    def said(self, sender: Party, receiver: str, kind: type[M], since: float = 0.0) -> list[M]:
        """What a machine said to others, in order."""
        return [
            message
            for time, by, to, message in self.transcript
            if by == sender
            and (receiver == ANY or to in receiver.split())
            and isinstance(message, kind)
            and time >= since
        ]

    def sessions(self, publisher: Party) -> dict[Stream, float]:
        """The streams that a correct publisher opened, and when."""
        opened: dict[Stream, float] = {}
        for time, by, _, message in self.transcript:
            if by == publisher and isinstance(message, Open):
                opened.setdefault(message.stream, time)
        return opened

    def heard(self, name: Party, kind: type[M], sender: Party = ANY) -> list[M]:
        """What a scripted party heard, in order."""
        return [
            message
            for by, message in self.heard_by.get(name, [])
            if isinstance(message, kind) and (sender == ANY or by == sender)
        ]

    def holds(self, name: Party, story: Story) -> str:
        """What stands in a replica's slots; a dot where the body is gone."""
        stored = self.stores[name].streams.get(story.stream)
        if stored is None:
            return ""
        slots = [stored.slots[each] for each in range(stored.base.seq + 1, stored.head + 1)]
        return "".join(slot.body.decode() if slot.body is not None else "." for slot in slots)

    def confirmed(self, name: Party, story: Story) -> int:
        """Up to which position a replica has stored CONFIRMED."""
        stored = self.stores[name].streams.get(story.stream)
        return stored.confirmed.seq if stored is not None else 0

    def ready(self, name: Party, story: Story) -> int:
        """Up to which position a replica has stored READY."""
        stored = self.stores[name].streams.get(story.stream)
        return max(stored.ready.seq, stored.confirmed.seq) if stored is not None else 0
