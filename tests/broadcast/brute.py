"""READY and CONFIRMED by the letter of the rules, over all contents there could be.

A sender's votes are a text from the base on, where "." stands for a position without a vote; its
READY and its CONFIRMED are a text each.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from quorumcast.broadcast.path import Path
from quorumcast.broadcast.tally import Tally
from quorumcast.core.quorum import Quorum
from tests.broadcast.cast import ZERO, digests


def all_texts(alphabet: str, most: int) -> list[str]:
    """Every sequence of contents up to a length."""
    return ["".join(each) for count in range(most + 1) for each in product(alphabet, repeat=count)]


class Words:
    """What everybody said to one party."""

    def __init__(
        self, held: dict[str, str], ready: dict[str, str], confirmed: dict[str, str], own: str = ""
    ) -> None:
        self.held, self.ready, self.confirmed, self.own = held, ready, confirmed, own

    def tally(self, own: str, window: int = 8) -> Tally:
        """The same words, told to a tally that follows the path of `own`."""
        tally = Tally(Path(ZERO, digests(own)), window)
        for sender, text in self.held.items():
            start = len(text) - len(text.lstrip("."))
            if text[start:]:
                tally.held(sender, 1 + start, digests(text[start:]))
        for sender, text in self.ready.items():
            tally.ready_at(sender, Path(ZERO, digests(text)).tip)
        for sender, text in self.confirmed.items():
            tally.confirmed_at(sender, Path(ZERO, digests(text)).tip)
        return tally

    def _covering(self, said: dict[str, str], text: str) -> set[str]:
        return {sender for sender, stated in said.items() if stated.startswith(text)}

    def holders(self, text: str) -> int:
        """Who votes for the last content of a text, with CONFIRMED as votes for all below."""
        at = len(text) - 1
        votes = {**self.held, **({"me": self.own} if self.own else {})}
        voting = {each for each, votes in votes.items() if votes[at : at + 1] == text[at]}
        return len(voting | self._covering(self.confirmed, text))

    def readies(self, text: str) -> int:
        """Who is READY for a text; CONFIRMED counts."""
        return len(self._covering(self.ready, text) | self._covering(self.confirmed, text))

    def may_ready(self, quorum: Quorum, text: str) -> bool:
        """Rule 5, READY."""
        held = all(self.holders(text[:k]) >= quorum.votes for k in range(1, len(text) + 1))
        return held or self.readies(text) >= quorum.f + 1

    def may_confirm(self, quorum: Quorum, text: str) -> bool:
        """Rule 5, CONFIRMED."""
        need = quorum.votes + quorum.f
        return (
            all(self.holders(text[:k]) >= need for k in range(1, len(text) + 1))
            or self.readies(text) >= 2 * quorum.f + 1
            or len(self._covering(self.confirmed, text)) >= quorum.f + 1
        )

    def furthest_ready(self, quorum: Quorum, texts: Iterable[str]) -> int:
        """How far the best of some texts may be READY."""
        return max(_furthest(text, lambda part: self.may_ready(quorum, part)) for text in texts)

    def furthest_confirmed(self, quorum: Quorum, texts: Iterable[str]) -> int:
        """How far the best of some texts may be confirmed."""
        return max(_furthest(text, lambda part: self.may_confirm(quorum, part)) for text in texts)


def _furthest(text: str, holds) -> int:  # type: ignore[no-untyped-def]
    return max((k for k in range(1, len(text) + 1) if holds(text[:k])), default=0)


def text_of(path: Path) -> str:
    """The contents of a path of made-up digests."""
    return bytes(path.digests[::32]).decode()
