"""Bugs in publishers and subscribers."""

from __future__ import annotations

from typing import Any

from quorumcast.core.limits import CANDIDATE_STREAMS
from quorumcast.core.messages import ConfirmedUpTo


def publisher_sends_once(_right: Any) -> Any:
    """A publisher does not send again what was not acknowledged."""

    def repeat(self: Any, live: Any) -> None:
        return None

    return repeat


def subscriber_waits(_right: Any) -> Any:
    """A subscriber that is behind waits instead of asking."""

    def pull(self: Any) -> None:
        return None

    return pull


def chain_taken_on_trust(right: Any) -> Any:
    """A subscriber believes a confirmation without computing the chain digest itself."""

    def confirmed_upto(self: Any) -> int:
        words = sorted((each.seq for each in self.tally.confirmed.high.values()), reverse=True)
        need = self.reading.quorum.one_correct
        return max(right(self), words[need - 1] if len(words) >= need else 0)

    return confirmed_upto


def unconfirmed_floor_confirms(_right: Any) -> Any:
    """A floor that went by age counts as CONFIRMED there."""

    def floor(self: Any, replica: str, message: Any) -> None:
        self.announce(replica, message.position)
        self.anchor.floor(replica, message)
        said = ConfirmedUpTo(self.stream, message.position, message.chain)
        self.confirmed(replica, said)

    return floor


def body_taken_on_trust(_right: Any) -> Any:
    """A subscriber delivers the first body that it is sent, without computing its digest."""

    def checked(self: Any, position: int, last: int) -> list[bytes]:
        copies = self.copies.runs(position, last)
        return copies[0][1] if copies else []

    return checked


def asks_once(right: Any) -> Any:
    """A subscriber asks once for what it lacks, and waits for ever if that is lost."""

    def pull(self: Any) -> None:
        if not getattr(self, "was_run", False):
            self.was_run = True
            right(self)

    return pull


def certain_in_the_middle(_right: Any) -> Any:
    """Q+f votes confirm a position above one that is not confirmed."""

    def confirmed_upto(self: Any) -> int:
        if not self.reading.chained:
            return 0
        tally, quorum = self.tally, self.reading.quorum
        return max(
            tally.confirmed.by(quorum.one_correct),
            tally.ready.by(quorum.ready),
            tally.held_by(quorum.certain),
        )

    return confirmed_upto


def resting_forgotten(_right: Any) -> Any:
    """One replica's word on a stream at rest, once dropped, makes a subscriber begin again."""

    def abandon(self: Any, subscription: Any, replica: str, stream: Any) -> None:
        follower = subscription.followers.get(stream)
        if follower is None or follower.believed:
            return
        follower.forget(replica)
        if not follower.announcers:
            self._drop(follower)
            del subscription.followers[stream]

    return abandon


def listing_pushed_out(right: Any) -> Any:
    """A replica's later pages push out its earlier ones, before others have listed the same."""

    def add(self: Any, replica: str, head: Any) -> Any:
        found = right(self, replica, head)
        if len(self._heads[replica]) > CANDIDATE_STREAMS:
            self._heads[replica].popitem(last=False)
        return found

    return add


def copies_without_bound(_right: Any) -> Any:
    """A subscriber keeps every body that it is sent."""

    def add(self: Any, replica: str, position: int, body: bytes, most: int) -> bool:
        self.keep(replica, position, body)
        return True

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
