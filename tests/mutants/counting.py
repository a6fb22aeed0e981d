"""Bugs in counting: thresholds, senders, contents, prefixes."""

from __future__ import annotations

from typing import Any

import msgspec

from quorumcast.broadcast.tally import Tally
from quorumcast.broadcast.weigh import agreed
from quorumcast.core.ids import Position
from quorumcast.core.quorum import Quorum


def any_content_counts(_right: Any) -> Any:
    """Votes are counted whatever their content is."""

    def common_digests(left: bytes, right: bytes) -> int:
        return min(len(left), len(right)) // 32

    return common_digests


def messages_count(right: Any) -> Any:
    """READY and CONFIRMED messages are counted, not their distinct senders."""

    def state(self: Any, path: Any, sender: str, statement: Position) -> Any:
        again = sender in self.on
        clash = right(self, path, sender, statement)
        if again:
            self.on[f"{sender} again"] = self.on[sender]
        return clash

    return state


def votes_are_2f_plus_1(right: Any) -> Any:
    """2f+1 votes deliver, also where n > 3f+1."""

    def byzantine(cls: type[Quorum], n: int, f: int) -> Quorum:
        return msgspec.structs.replace(right(cls, n, f), votes=2 * f + 1)

    return byzantine


def certain_at_q_plus_f_minus_1(right: Any) -> Any:
    """Q+f-1 votes confirm at once."""

    def byzantine(cls: type[Quorum], n: int, f: int) -> Quorum:
        quorum = right(cls, n, f)
        return msgspec.structs.replace(quorum, certain=quorum.certain - 1)

    return byzantine


def one_word_is_enough(right: Any) -> Any:
    """One replica's word is adopted, amplified and believed."""

    def byzantine(cls: type[Quorum], n: int, f: int) -> Quorum:
        return msgspec.structs.replace(right(cls, n, f), one_correct=1)

    return byzantine


def confirmed_at_f_plus_1_ready(right: Any) -> Any:
    """f+1 READY confirm."""

    def byzantine(cls: type[Quorum], n: int, f: int) -> Quorum:
        return msgspec.structs.replace(right(cls, n, f), ready=f + 1)

    return byzantine


def two_f_plus_1_replicas_suffice(right: Any) -> Any:
    """A Byzantine cluster of 2f+1 replicas is accepted."""

    def byzantine(cls: type[Quorum], n: int, f: int) -> Quorum:
        if n >= 2 * f + 1 and n < 3 * f + 1:
            return right(cls, 3 * f + 1, f)
        return right(cls, n, f)

    return byzantine


def gap_on_f_plus_1_floors(right: Any) -> Any:
    """A gap is accepted on f+1 floors."""

    def byzantine(cls: type[Quorum], n: int, f: int) -> Quorum:
        return msgspec.structs.replace(right(cls, n, f), floors=f + 1)

    return byzantine


def confirmed_is_not_ready(_right: Any) -> Any:
    """CONFIRMED does not count as its author's HELD and READY."""

    def imply(self: Tally, sender: str) -> None:
        return None

    return imply


def ready_without_prefix(right: Any) -> Any:
    """A statement covers a position whether or not the contents below it are those of the path."""

    def chain(self: Any, position: int) -> bytes | None:
        found = right(self, position)
        return _Anything(found) if found is not None else None

    return chain


class _Anything(bytes):
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0


def last_vote_counts(right: Any) -> Any:
    """A later vote of a sender replaces its earlier one."""

    def merge(self: Any, first: int, digests: bytes) -> int | None:
        if right(self, first, digests) is not None:
            self.first, self.digests = first, bytearray(digests)
        return None

    return merge


def adopted_on_one_word(_right: Any) -> Any:
    """A replica adopts what one other replica says that it holds."""

    def adoptable(self: Any, first: int) -> bytes:
        return agreed(self._stream.tally, None, 1, first)

    return adoptable


def floor_of_one_replica(_right: Any) -> Any:
    """A replica takes over a floor, and all below it as confirmed, from one other."""

    def take(self: Any) -> bool:
        for floor in self._floors.values():
            if floor.seq > self._stream.confirmed.seq:
                self._stream.take_floor(floor)
                return True
        return False

    return take


def base_of_one_replica(right: Any) -> Any:
    """A subscriber begins in the middle of a stream with one replica's chain digest."""

    def agreed_at(self: Any, position: int) -> Position | None:
        for words in self._words.values():
            if position in words:
                return Position(position, words[position])
        return right(self, position)

    return agreed_at
