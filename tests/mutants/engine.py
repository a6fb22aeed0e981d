"""Bugs in votes and READY: who casts them, when, and what becomes of them."""

from __future__ import annotations

from typing import Any

import msgspec

from quorumcast.core.ids import Position
from quorumcast.core.messages import SIGNATURE_BYTES as S
from quorumcast.core.records import MadeReady


def second_vote(right: Any) -> Any:
    """A replica votes again when its publisher sends an id with other content."""

    def compare(self: Any, message: Any) -> None:
        right(self, message)
        stream = self._stream
        base = stream.path.base.seq
        index = stream.head - message.first
        if stream.head > base and 0 <= index < len(message.bodies):
            body = message.bodies[index]
            if stream.digester.digest(stream.head, body) != stream.path.digest(stream.head):
                del stream.path.chains[-1:], stream.path.digests[-32:]
                stream.sizes.pop()
                stream.vote(stream.digester.digest(stream.head + 1, body), [body], b"")

    return compare


def votes_forgotten(right: Any) -> Any:
    """Votes are not read back after a restart."""

    def restore(self: Any, state: Any, sign_key: bytes) -> None:
        right(self, msgspec.structs.replace(state, votes=b"", signatures=b""), sign_key)

    return restore


def lost_body_frees_its_vote(_right: Any) -> Any:
    """A replica whose votes lost their bodies in a restart votes for something else there."""

    def agree(self: Any, first: int, digests: bytes) -> int:
        return len(digests) // 32

    return agree


def ready_forgotten(right: Any) -> Any:
    """READY is not read back after a restart."""

    def restore(self: Any, state: Any, sign_key: bytes) -> None:
        forgotten = Position(0, bytes(32))
        right(self, msgspec.structs.replace(state, ready=forgotten), sign_key)

    return restore


def ready_not_stored(right: Any) -> Any:
    """READY leaves without a record of it."""

    def make_ready(self: Any, path: Any, upto: int) -> None:
        right(self, path, upto)
        kept = [each for each in self.context.out.records if not isinstance(each, MadeReady)]
        self.context.out.records[:] = kept

    return make_ready


def votes_in_any_incarnation(_right: Any) -> Any:
    """A replica that lost its votes goes on voting in sessions of its former life."""

    def may_vote(self: Any, opening: Any) -> bool:
        return True

    return may_vote


def incarnation_ignored(_right: Any) -> Any:
    """A publisher stays in its session when a replica's incarnation changes."""

    def outdated(self: Any, session: Any) -> bool:
        return False

    return outdated


def no_limit(_right: Any) -> Any:
    """Votes go on without end while nothing is confirmed."""

    def limit(self: Any) -> int:
        return self.head + self.context.channel.window

    return limit


def later_votes_dropped(right: Any) -> Any:
    """When confirmed content replaces a slot, the votes above it are forgotten."""

    def install(self: Any, truth: Any, found: Any) -> None:
        if self.path.end > truth.end:
            count = truth.end - self.path.base.seq
            self.path = self.path.upto(truth.end)
            while len(self.sizes) > count:
                self.in_flight -= self.sizes.pop()
        right(self, truth, found)

    return install


def slots_not_replaced(_right: Any) -> Any:
    """A replica whose vote was otherwise never takes over what is confirmed."""

    def install(self: Any, truth: Any, found: Any) -> None:
        return None

    return install


def taint_forgotten(_right: Any) -> Any:
    """A publisher that f+1 replicas contradict is listened to all the same."""

    def taint(self: Any) -> None:
        return None

    return taint


def early_ones_voted(_right: Any) -> Any:
    """A publication that comes before its predecessors is voted for at once, in their place."""

    def wait(self: Any, first: int, bodies: Any, signatures: bytes) -> None:
        self._vote(bodies, signatures[: len(bodies) * S])

    return wait


def order_by_arrival(_right: Any) -> Any:
    """Publications stand where they arrived, not where their publisher put them."""

    def publish(self: Any, message: Any, limit: int) -> str | None:
        return self._vote(message.bodies, message.signatures)

    return publish


def ready_without_digests(right: Any) -> Any:
    """READY is stated, and its digests are not kept."""

    def make_ready(self: Any, path: Any, upto: int) -> None:
        right(self, path, upto)
        self.truth = None

    return make_ready


def new_life_cancels_nothing(_right: Any) -> Any:
    """What a replica stated counts although it lost its memory since."""

    def forget(self: Any, peer: str) -> None:
        return None

    return forget


def rotated_from_birth(_right: Any) -> Any:
    """A rotated incarnation is void when it is old, not when it has been out of use for long."""

    def renew(self: Any, incarnation: Any, now: float, age_seconds: float) -> None:
        kept = [life for life in self._valid if now - life[1] <= age_seconds]
        self._valid = (*kept, (incarnation, now))
        self._replicas.valid = {each for each, _ in self._valid}
        self._seen[self._replicas.index] = incarnation
        self._store()

    return renew


def vote_released(_right: Any) -> Any:
    """A stream that is released in the turn of its first vote is forgotten with the vote."""

    def unhear(self: Any, party: str, stream: Any) -> None:
        self.hearsay.drop(party, stream)
        entry = self.entries.get(stream)
        if entry is None or entry.stored or entry.active is None:
            return
        entry.active.forget(party)
        if not self.hearsay.known(stream):
            self.remove(entry)

    return unhear


def adopts_without_rights(right: Any) -> Any:
    """On a signed channel one replica brings in a publisher that may not publish there."""

    def opening(self: Any, active: Any, sender: str, message: Any) -> None:
        channel = self._context.channel
        self._context.channel = msgspec.structs.replace(channel, publishers=("*",))
        right(self, active, sender, message)
        self._context.channel = channel

    return opening
