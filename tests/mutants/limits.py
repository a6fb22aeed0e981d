"""Bugs in who may do what, and how much of it."""

from __future__ import annotations

from typing import Any

from quorumcast.core.evidence import Evidence, Weight
from quorumcast.core.limits import EVIDENCE_PER_STREAM


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


def streams_without_bound(_right: Any) -> Any:
    """Whatever a peer speaks of is kept."""

    def heard_of(self: Any, stream: Any, party: str, *, settled: bool = False) -> Any:
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
            self._early[first + index] = (body, signatures[index * 64 :][:64])

    return wait


def taken_without_open(_right: Any) -> Any:
    """Rights and limits are checked when a stream is opened, and publications need no OPEN."""
    return lambda self, stream: True


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


def kept_for_ever(_right: Any) -> Any:
    """What is confirmed is never dropped, however old and however much it is."""

    def enforce(self: Any) -> None:
        return None

    return enforce


def evidence_without_bound(_right: Any) -> Any:
    """Every lie of a party is reported, however often it lies."""

    def accuse(
        self: Any, weight: Any, parties: Any, reason: str, stream: Any, first: Any, second: Any
    ) -> None:
        proof = stream.certificate if weight is Weight.PROOF else b""
        found = Evidence(weight, parties, reason, stream.stream, first, second, proof)
        self.out.accuse(found)

    return accuse


def evidence_crowded_out(right: Any) -> Any:
    """Many suspicions leave no room for a proof."""

    def accuse(
        self: Any, weight: Any, parties: Any, reason: str, stream: Any, first: Any, second: Any
    ) -> None:
        if sum(stream.accusations.values()) < EVIDENCE_PER_STREAM:
            right(self, weight, parties, reason, stream, first, second)

    return accuse


def credit_ignores_blockers(_right: Any) -> Any:
    """Publishers get credit whatever a trusted subscriber takes."""

    def limit(self: Any, entry: Any) -> None:
        return None

    return limit


def anybody_blocks(_right: Any) -> Any:
    """Whoever asks for it may let publishers wait."""

    def trusts_subscriber(self: Any, name: str) -> bool:
        return True

    return trusts_subscriber


def dead_ones_block(right: Any) -> Any:
    """A subscriber whose link is gone lets publishers wait for ever."""

    def end(self: Any, client: Any) -> None:
        if client.party in self._context.replicas.live:
            right(self, client)

    return end


def waits_in_silence(_right: Any) -> Any:
    """Credit of a trusted subscriber that was lost is never asked for again."""

    def remind(self: Any, entry: Any) -> None:
        return None

    return remind


def credit_given_once(right: Any) -> Any:
    """After WAIT a replica thinks that its publisher still has the credit that it gave before."""

    def publish(self: Any, entry: Any, active: Any, message: Any) -> None:
        before = active.said.credit
        right(self, entry, active, message)
        active.said.credit = before

    return publish
