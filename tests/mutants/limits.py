"""Bugs in who may do what, and how much of it."""

from __future__ import annotations

from typing import Any


def sender_not_compared(right: Any) -> Any:
    """A publication is believed to come from whom it names."""

    def add(self: Any, sender: str, message: Any) -> None:
        right(self, message.stream.publisher, message)

    return add


def clients_vote(right: Any) -> Any:
    """Statements are taken from anybody."""

    def step(self: Any, sender: str, message: Any) -> None:
        handler = self._of_peers.get(type(message))
        if handler is not None:
            handler(sender, message)
        else:
            right(self, sender, message)

    return step


def busy_for_everybody(_right: Any) -> Any:
    """While one publisher has something in flight, all others wait."""

    def share(self: Any, publisher: str) -> int:
        return 0 if any(name != publisher for name in self._flight) else 1 << 60

    return share


def streams_without_bound(right: Any) -> Any:
    """Whatever a peer speaks of is kept."""

    def heard_of(self: Any, stream: Any, peer: str) -> Any:
        entry = self.entries.get(stream)
        return entry if entry is not None else self.add(stream)

    return heard_of


def sessions_without_bound(_right: Any) -> Any:
    """A publisher may have any number of unconfirmed sessions."""

    def counts(self: Any, active: Any) -> bool:
        return True

    return counts


def early_without_bound(_right: Any) -> Any:
    """Whatever arrives early is kept."""

    def wait(self: Any, first: int, bodies: Any, signatures: bytes) -> None:
        for index, body in enumerate(bodies):
            self._early[first + index] = (body, b"")

    return wait


def questions_without_bound(_right: Any) -> Any:
    """A party may ask for as much as it likes."""

    def take(self: Any, party: str, now: float, cost: float = 1.0) -> bool:
        return True

    return take


def nothing_forgotten(_right: Any) -> Any:
    """What was confirmed stays in memory."""

    def trim(self: Any, position: int) -> None:
        return None

    return trim


def copies_without_bound(_right: Any) -> Any:
    """A subscriber keeps every body that it is sent."""

    def add(
        self: Any, replica: str, position: int, body: bytes, most: int, next_position: int
    ) -> None:
        self._bodies.setdefault(position, {}).setdefault(replica, body)
        self._sizes[replica] = self._sizes.get(replica, 0) + len(body)

    return add


def one_replica_announces(_right: Any) -> Any:
    """A stream exists for a subscriber when one replica says so."""

    def believed(self: Any) -> bool:
        return True

    return believed


def one_rejection_is_final(right: Any) -> Any:
    """One replica's REJECTED stops a publisher."""

    def status(self: Any, replica: str, message: Any) -> str | None:
        right(self, replica, message)
        return message.reason if message.code.name == "REJECTED" else None

    return status
