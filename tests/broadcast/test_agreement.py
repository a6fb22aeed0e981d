"""Correct replicas and subscribers that count as the rules say never differ, whoever lies to them.

Here nobody loses messages and all digests are known: what remains is the counting alone. Liars say
to each receiver what suits them, correct replicas what they voted and concluded.
"""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from quorumcast.broadcast.tally import Tally
from quorumcast.broadcast.weigh import Weigher, agreed
from quorumcast.core.quorum import Quorum
from tests.broadcast.brute import all_texts, text_of
from tests.broadcast.cast import digests, path

TEXTS = [text for text in all_texts("ab", 3) if text]
PATHS = [path(text) for text in TEXTS]
ROUNDS = 4


class Party:
    """A correct replica, or a subscriber, which has no votes."""

    def __init__(self, votes: str) -> None:
        self.votes = votes
        self.tally = Tally(path(votes), 8)
        self.ready = ""
        self.confirmed = ""
        self.delivered = ""

    def hear(self, sender: str, held: str, ready: str, confirmed: str) -> None:
        if held:
            self.tally.held(sender, 1, digests(held))
        if ready:
            self.tally.ready_at(sender, path(ready).tip)
        if confirmed:
            self.tally.confirmed_at(sender, path(confirmed).tip)

    def conclude(self, quorum: Quorum) -> None:
        own = self.tally.path if self.votes else None
        ready, confirmed, _ = Weigher(self.tally, quorum, own, PATHS).weigh()
        if ready.end > len(self.ready) and text_of(ready).startswith(self.ready):
            self.ready = text_of(ready)
        if confirmed.end > len(self.confirmed):
            self.confirmed = text_of(confirmed)
        quorate = agreed(self.tally, own, quorum.votes, 1)
        if len(quorate) // 32 > len(self.delivered):
            self.delivered = bytes(quorate[::32]).decode()


def quarrel(parties: list[Party]) -> bool:
    """Whether two conclusions are not prefixes of one sequence."""
    texts = [text for each in parties for text in (each.ready, each.confirmed, each.delivered)]
    return any(
        not longer.startswith(shorter)
        for shorter in texts
        for longer in texts
        if len(shorter) <= len(longer)
    )


def play(draws: Random, quorum: Quorum, liars: int) -> bool:
    """One run; returns whether somebody came to something else than somebody else."""
    one, other = draws.sample(TEXTS, 2)
    replicas = {
        f"r{number}": Party(draws.choice((one, other))) for number in range(quorum.n - liars)
    }
    readers = [Party(""), Party("")]
    everybody = [*replicas.values(), *readers]
    sides = {id(party): draws.choice((one, other, draws.choice(TEXTS))) for party in everybody}
    for _ in range(ROUNDS):
        for party in everybody:
            for name, replica in replicas.items():
                if replica is not party and draws.random() < 0.7:
                    party.hear(name, replica.votes, replica.ready, replica.confirmed)
            for liar in range(liars):
                side = sides[id(party)]
                said = [draws.choice((side, side, "", draws.choice(TEXTS))) for _ in range(3)]
                party.hear(f"liar{liar}", *said)
        for party in everybody:
            party.conclude(quorum)
    return quarrel(everybody)


SIZES = [(4, 1), (5, 1), (6, 1), (7, 2)]


@pytest.mark.parametrize(("n", "f"), SIZES)
def test_f_liars_never_make_two_parties_differ(n: int, f: int) -> None:
    quorum = Quorum.byzantine(n, f)
    for seed in range(120):
        assert not play(Random(seed), quorum, liars=f), f"seed {seed}"


@pytest.mark.parametrize(("n", "f"), SIZES)
def test_f_plus_1_liars_do_on_some_run(n: int, f: int) -> None:
    """This shows that the test above can see."""
    quorum = Quorum.byzantine(n, f)
    assert any(play(Random(seed), quorum, liars=f + 1) for seed in range(60))


@pytest.mark.parametrize(
    ("n", "f", "weaker"),
    [
        (4, 1, {"votes": 2}),
        (6, 1, {"votes": 3}),  # 2f+1, which is Q at n = 3f+1 only
        (4, 1, {"one_correct": 1}),
    ],
)
def test_weaker_thresholds_do_on_some_run(n: int, f: int, weaker: dict[str, int]) -> None:
    quorum = msgspec.structs.replace(Quorum.byzantine(n, f), **weaker)
    assert any(play(Random(seed), quorum, liars=f) for seed in range(200))
