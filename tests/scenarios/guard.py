"""What every scenario watches, whatever it is about: votes, statements, agreement, order."""

from __future__ import annotations

from quorumcast.core.ids import Party, Stream
from quorumcast.core.messages import (
    DIGEST_BYTES,
    ConfirmedUpTo,
    Held,
    HeldUpTo,
    Message,
    ReadyUpTo,
)
from quorumcast.core.outcomes import Delivery, Gap
from quorumcast.core.records import Accepted, Record
from quorumcast.sim.store import Store

D = DIGEST_BYTES


class Guard:
    """Fails a scenario as soon as a correct machine breaks what no schedule may break."""

    def __init__(self) -> None:
        self._votes: dict[tuple[Party, int, Stream], dict[int, bytes]] = {}
        self._contents: dict[tuple[Stream, int], bytes] = {}
        self._read: dict[tuple[Party, Stream], int] = {}
        self.damaged: set[tuple[Party, Stream, int]] = set()
        """Bodies that a scenario took from a replica's disk after they were confirmed."""

    def recording(self, replica: Party, life: int, store: Store, records: list[Record]) -> None:
        """Records of one turn, about to be applied: one vote per id, cast in order."""
        ends: dict[Stream, int] = {}
        for record in records:
            if not isinstance(record, Accepted):
                continue
            stored = store.streams.get(record.stream)
            end = ends.get(
                record.stream, stored.state(whole=False).head if stored is not None else 0
            )
            assert record.first == end + 1, f"{replica} votes at {record.first} after {end}"
            if stored is not None:
                assert not stored.closed, f"{replica} votes in {record.stream}, which it closed"
                assert record.first > stored.floor.seq, f"{replica} votes below its floor"
            ends[record.stream] = end + len(record.bodies)
            votes = self._votes.setdefault((replica, life, record.stream), {})
            for index in range(len(record.bodies)):
                digest = record.digests[index * D : index * D + D]
                position = record.first + index
                voted = votes.setdefault(position, digest)
                assert voted == digest, f"{replica} votes twice at {record.stream} {position}"

    def stating(self, replica: Party, store: Store, message: Message) -> None:
        """A message of a replica, about to leave: what it states is stored."""
        if not isinstance(message, Held | HeldUpTo | ReadyUpTo | ConfirmedUpTo):
            return
        stored = store.streams.get(message.stream)
        assert stored is not None, f"{replica} speaks of {message.stream} and stored nothing"
        if isinstance(message, Held):
            for index in range(len(message.digests) // D):
                position = message.first + index
                if position > stored.base.seq:
                    digest = message.digests[index * D : index * D + D]
                    slot = stored.slots.get(position)
                    assert slot is not None, f"{replica} states an unstored vote at {position}"
                    assert slot.digest == digest, f"{replica} states another vote at {position}"
        elif isinstance(message, HeldUpTo):
            assert message.position <= stored.head, f"{replica} acknowledges what it lacks"
            if message.position >= stored.base.seq:
                assert stored.chain(message.position) == message.chain
        elif isinstance(message, ReadyUpTo):
            above = max(stored.ready.seq, stored.confirmed.seq)
            assert message.position <= above, f"{replica} states READY and did not store it"
        else:
            assert message.position <= stored.confirmed.seq, f"{replica} did not store CONFIRMED"
            for position in range(stored.base.seq + 1, message.position + 1):
                here = stored.slots[position].body is not None or position <= stored.floor.seq
                assert here or (replica, message.stream, position) in self.damaged

    def delivering(self, subscriber: Party, outcome: object) -> None:
        """A delivery or a gap: in order, once, and the same for everybody."""
        if isinstance(outcome, Delivery):
            key = (subscriber, outcome.stream)
            before = self._read.get(key)
            assert before is None or outcome.first == before + 1, f"{key}: {outcome} after {before}"
            self._read[key] = outcome.last
            for position, body in enumerate(outcome.bodies, outcome.first):
                known = self._contents.setdefault((outcome.stream, position), body)
                assert known == body, f"{subscriber} delivers {body!r}, another {known!r}"
        elif isinstance(outcome, Gap):
            self._read[subscriber, outcome.stream] = outcome.last

    def reset(self, subscriber: Party) -> None:
        """A subscriber begins anew: its order starts where it says."""
        for key in [key for key in self._read if key[0] == subscriber]:
            del self._read[key]
