"""The thresholds do what their names say, for every n up to 20 and every f that fits."""

from __future__ import annotations

import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.core.quorum import Quorum

SIZES = range(1, 21)
BYZANTINE = [(n, f) for n in SIZES for f in range((n - 1) // 3 + 1)]
CRASH = [(n, f) for n in SIZES for f in range((n - 1) // 2 + 1)]
FIRST = [(n, f) for n in SIZES for f in range(n)]


@pytest.mark.parametrize(("n", "f"), BYZANTINE)
class TestByzantine:
    def test_two_sets_of_votes_share_a_correct_replica(self, n: int, f: int) -> None:
        q = Quorum.byzantine(n, f)
        assert 2 * q.votes - n >= f + 1

    def test_votes_are_the_least_that_do_and_can_be_had(self, n: int, f: int) -> None:
        q = Quorum.byzantine(n, f)
        assert 2 * (q.votes - 1) - n < f + 1
        assert q.votes <= n - f

    def test_one_correct(self, n: int, f: int) -> None:
        assert Quorum.byzantine(n, f).one_correct == f + 1

    def test_what_confirms_makes_everybody_amplify(self, n: int, f: int) -> None:
        q = Quorum.byzantine(n, f)
        assert q.ready - f >= q.one_correct  # the correct READYs alone reach f+1
        assert q.ready <= n - f  # the correct replicas alone confirm

    def test_everything_ready_has_correct_holders(self, n: int, f: int) -> None:
        q = Quorum.byzantine(n, f)
        assert q.votes - f >= q.one_correct

    def test_certain_leaves_nothing_for_another_content(self, n: int, f: int) -> None:
        q = Quorum.byzantine(n, f)
        correct = q.certain - f
        assert correct >= q.votes
        # Everybody but those correct ones votes for something else, the liars too.
        assert n - correct < q.votes
        assert q.certain <= n

    def test_floors_are_all_who_can_be_waited_for(self, n: int, f: int) -> None:
        q = Quorum.byzantine(n, f)
        assert q.floors == n - f
        assert q.floors + q.one_correct > n  # f+1 holders, one of them correct, prevent a gap

    def test_holders_never_confirm(self, n: int, f: int) -> None:
        assert Quorum.byzantine(n, f).holders > n


@pytest.mark.parametrize(("n", "f"), CRASH)
class TestCrash:
    def test_a_holder_of_what_is_delivered_survives(self, n: int, f: int) -> None:
        q = Quorum.crash(n, f)
        assert q.votes - f >= 1
        assert q.holders - f >= 1
        assert q.votes <= n - f

    def test_nobody_lies_so_one_word_is_enough(self, n: int, f: int) -> None:
        assert Quorum.crash(n, f).one_correct == 1

    def test_there_is_no_ready_and_nothing_certain(self, n: int, f: int) -> None:
        q = Quorum.crash(n, f)
        assert q.ready > n
        assert q.certain > n


@pytest.mark.parametrize(("n", "f"), FIRST)
def test_the_first_copy_delivers(n: int, f: int) -> None:
    q = Quorum.crash(n, f, first=True)
    assert q.votes == 1
    assert q.holders == f + 1
    assert q.floors == n - f >= 1


@pytest.mark.parametrize("f", range(7))
def test_votes_are_2f_plus_1_at_3f_plus_1_alone(f: int) -> None:
    assert Quorum.byzantine(3 * f + 1, f).votes == 2 * f + 1
    assert Quorum.byzantine(3 * f + 3, f).votes == 2 * f + 2


def test_six_replicas_need_four_votes() -> None:
    """With 2f+1 = 3, two replicas for A, three for B and one for both deliver both."""
    assert Quorum.byzantine(6, 1).votes == 4


@pytest.mark.parametrize(
    ("n", "f", "text"),
    [
        (
            3,
            1,
            "3 replicas cannot tolerate 1 Byzantine faults: "
            "use at least 4 replicas, or at most 0 faults",
        ),
        (
            6,
            2,
            "6 replicas cannot tolerate 2 Byzantine faults: "
            "use at least 7 replicas, or at most 1 faults",
        ),
        (4, -1, "-1 faults make no sense: use 0 or more"),
    ],
)
def test_what_byzantine_clusters_cannot_tolerate(n: int, f: int, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Quorum.byzantine(n, f)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("n", "f", "first", "text"),
    [
        (
            4,
            2,
            False,
            "4 replicas cannot tolerate 2 crash faults: "
            "use at least 5 replicas, or at most 1 faults",
        ),
        (
            2,
            2,
            True,
            "2 replicas cannot tolerate 2 crash faults: "
            "use at least 3 replicas, or at most 1 faults",
        ),
        (3, -2, False, "-2 faults make no sense: use 0 or more"),
    ],
)
def test_what_crash_clusters_cannot_tolerate(n: int, f: int, first: bool, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Quorum.crash(n, f, first=first)
    assert str(caught.value) == text


def test_every_pair_that_does_not_fit_is_refused() -> None:
    for n in range(21):
        for f in range(22):
            if (n, f) not in BYZANTINE:
                with pytest.raises(ConfigError):
                    Quorum.byzantine(n, f)
            if (n, f) not in CRASH:
                with pytest.raises(ConfigError):
                    Quorum.crash(n, f)
            if (n, f) not in FIRST:
                with pytest.raises(ConfigError):
                    Quorum.crash(n, f, first=True)
