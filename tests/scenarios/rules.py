"""What the network of a stage does to messages on their way: hold, lose, change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quorumcast.core.ids import Party
from quorumcast.core.messages import Message

ANY = "*"


class Rule:
    """Something the network does to messages on their way, until it is lifted."""

    def __init__(
        self,
        rules: Rules,
        senders: str,
        receivers: str,
        kinds: tuple[type, ...],
        where: Callable[[Any], bool] | None,
        change: Callable[[Any], Message | None] | None,
    ) -> None:
        self._owner = rules
        self._senders = senders.split()
        self._receivers = receivers.split()
        self._kinds = kinds
        self._where = where
        self.change = change
        """What becomes of a message; None where it is held back."""
        self.held: list[tuple[Party, Party, Message]] = []
        self.hits = 0

    def applies(self, sender: Party, receiver: Party, message: Message) -> bool:
        """Whether the rule is about this message."""
        return (
            (ANY in self._senders or sender in self._senders)
            and (ANY in self._receivers or receiver in self._receivers)
            and (not self._kinds or isinstance(message, self._kinds))
            and (self._where is None or self._where(message))
        )

    def lift(self) -> None:
        """End the rule; what it held back is sent now."""
        self._owner.rules.remove(self)
        for sender, receiver, message in self.held:
            self._owner.send(sender, receiver, [message])
        self.held = []


class Rules:
    """The rules in force on a network."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []

    def send(self, sender: Party, receiver: Party, messages: list[Message]) -> None:
        """Put a frame on its way."""
        raise NotImplementedError

    def hold(
        self,
        senders: str,
        receivers: str,
        *kinds: type,
        where: Callable[[Any], bool] | None = None,
    ) -> Rule:
        """Hold such messages back until the rule is lifted."""
        return self._rule(senders, receivers, kinds, where, None)

    def drop(
        self,
        senders: str,
        receivers: str,
        *kinds: type,
        where: Callable[[Any], bool] | None = None,
    ) -> Rule:
        """Lose such messages."""
        return self._rule(senders, receivers, kinds, where, lambda _: None)

    def alter(
        self, senders: str, receivers: str, kind: type, change: Callable[[Any], Message | None]
    ) -> Rule:
        """Change such messages: the sender's machine is correct, its party lies."""
        return self._rule(senders, receivers, (kind,), None, change)

    def cut(self, name: Party) -> tuple[Rule, Rule]:
        """Lose everything from and to a party."""
        return self.drop(name, ANY), self.drop(ANY, name)

    def heal(self) -> None:
        """Lift every rule."""
        for rule in list(self.rules):
            rule.lift()

    def _rule(
        self,
        senders: str,
        receivers: str,
        kinds: tuple[type, ...],
        where: Callable[[Any], bool] | None,
        change: Callable[[Any], Message | None] | None,
    ) -> Rule:
        rule = Rule(self, senders, receivers, kinds, where, change)
        self.rules.append(rule)
        return rule

    def ruled(self, sender: Party, receiver: Party, messages: list[Message]) -> list[Message]:
        """What is left of a frame under the rules."""
        passed: list[Message] = []
        for original in messages:
            message: Message | None = original
            for rule in self.rules:
                if message is not None and rule.applies(sender, receiver, message):
                    rule.hits += 1
                    if rule.change is None:
                        rule.held.append((sender, receiver, message))
                    message = rule.change(message) if rule.change is not None else None
            if message is not None:
                passed.append(message)
        return passed
