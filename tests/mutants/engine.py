"""Bugs in the stream engine, its durability and its liveness."""

from __future__ import annotations

from typing import Any

import msgspec

from quorumcast.core.ids import Position
from quorumcast.core.records import MadeReady


def second_vote(_right: Any) -> Any:
    """A replica votes again when its publisher sends an id with other content."""

    def compare(self: Any, message: Any) -> None:
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


def tail_never_told(_right: Any) -> Any:
    """After the last publication of a burst nothing is exchanged."""

    def due(self: Any) -> None:
        return None

    return due


def within_put_off(_right: Any) -> Any:
    """Every new publication puts the exchange off."""

    def tell_held(self: Any) -> bool:
        stream, context = self._stream, self._stream.context
        first = max(self._told, stream.path.base.seq) + 1
        untold = stream.head + 1 - first
        if untold <= 0:
            self._due = False
            return False
        if untold < context.channel.alpha and not self._due:
            if stream.head > getattr(self, "_seen_head", 0):
                self._seen_head = stream.head
                time = context.now + context.channel.within_seconds
                context.agenda.set((stream, "tell"), time)
            return False
        self._due = False
        context.to_peers(self.held(first, stream.head))
        self._told = stream.head
        return True

    return tell_held


def said_once(_right: Any) -> Any:
    """A statement is made once, and lost if its message is."""

    def repeat(self: Any) -> None:
        return None

    return repeat


def no_repair(_right: Any) -> Any:
    """A replica that missed a publication never asks for it."""

    def run(self: Any) -> None:
        return None

    return run


def early_ones_voted(_right: Any) -> Any:
    """A publication that comes before its predecessors is voted for at once, in their place."""

    def wait(self: Any, first: int, bodies: Any, signatures: bytes) -> None:
        self._vote(bodies, signatures)

    return wait


def adoption_waits_for_sessions(right: Any) -> Any:
    """Adoption waits while its publisher has too many unconfirmed sessions."""

    def want(self: Any) -> None:
        right(self)
        if self._certified is None and not self._stream.recorded:
            self._wanted.clear()

    return want


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
        from quorumcast.core.messages import ConfirmedUpTo

        self.announce(replica, message.position)
        self.anchor.floor(replica, message)
        said = ConfirmedUpTo(self.stream, message.position, message.chain)
        self.confirmed(replica, said)

    return floor


def order_by_arrival(_right: Any) -> Any:
    """Publications stand where they arrived, not where their publisher put them."""

    def publish(self: Any, message: Any, limit: int) -> None:
        self._vote(message.bodies, message.signatures)

    return publish
