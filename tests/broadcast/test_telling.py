"""When HELD, READY and CONFIRMED leave for the peers, how often again, and when no more."""

from __future__ import annotations

import pytest

from quorumcast.core.ids import Position
from quorumcast.core.limits import REPEAT_MOST_SECONDS, REPEAT_SECONDS, REPEATS
from quorumcast.core.machine import Ready
from quorumcast.core.messages import ConfirmedUpTo, Held, ReadyUpTo
from tests.broadcast.cast import Bench, said, statements

# -- the rhythm --------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["bracha", "plain"])
def test_votes_leave_in_every_turn(protocol: str) -> None:
    bench = Bench(protocol=protocol)
    bench.publish("a")
    assert said(bench.turn(), Held, "r2") == [Held(bench.id, 1, bench.digests("a"))]
    bench.publish("bc", first=2)
    assert said(bench.turn(), Held, "r3") == [Held(bench.id, 2, bench.digests("bc", 2))]
    assert not said(bench.turn(), Held)


def test_on_ab_votes_leave_when_alpha_of_them_are_untold() -> None:
    bench = Bench(alpha=3)
    bench.publish("ab")
    assert not said(bench.turn(), Held)
    bench.publish("c", first=3)
    assert said(bench.turn(), Held, "r2") == [Held(bench.id, 1, bench.digests("abc"))]
    bench.publish("d", first=4)
    assert not said(bench.turn(), Held)


def test_on_ab_votes_leave_within_a_time_that_newer_ones_do_not_put_off() -> None:
    bench = Bench(alpha=10, within_seconds=0.25)
    bench.publish("a")
    bench.turn()
    for step, letter in enumerate("bcd", 2):
        told = bench.at(0.1 * (step - 1))
        bench.publish(letter, first=step)
        bench.turn()
        if step < 4:
            assert not said(told, Held)
        else:
            assert said(told, Held, "r2")[0] == Held(bench.id, 1, bench.digests("abc"))
    assert said(bench.at(0.6), Held, "r2")[0] == Held(bench.id, 4, bench.digests("d", 4))


def test_on_ab_votes_for_large_bodies_do_not_wait_for_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quorumcast.broadcast.telling.TELL_BYTES", 3)
    bench = Bench(alpha=10)
    bench.publish("ab")
    assert not said(bench.turn(), Held)
    bench.publish("c", first=3)
    assert said(bench.turn(), Held, "r2") == [Held(bench.id, 1, bench.digests("abc"))]
    bench.publish("d", first=4)
    assert not said(bench.turn(), Held)


def test_only_peers_with_a_link_are_told() -> None:
    bench = Bench(protocol="bracha")
    del bench.replicas.live["r3"]
    bench.publish("a")
    assert set(bench.turn().messages) == {"r2", "r4"}
    assert "r3" not in bench.at(5.0).messages


def test_signatures_travel_with_the_votes_that_they_sign() -> None:
    bench = Bench(protocol="bracha", signed=True)
    bench.publish("ab", signatures=bench.signatures("ab"))
    told = said(bench.turn(), Held, "r2")
    assert told == [Held(bench.id, 1, bench.digests("ab"), bench.signatures("ab"))]
    bench.publish("c", first=3, signatures=bench.signatures("c", 3))
    assert said(bench.turn(), Held, "r2")[0].signatures == bench.signatures("c", 3)


def test_ready_and_confirmed_leave_at_once_whatever_the_rhythm() -> None:
    bench = Bench(alpha=10)
    bench.publish("ab")
    bench.held("r2", "a")
    bench.held("r3", "a")
    assert statements(bench.turn()) == [ReadyUpTo(bench.id, *bench.tip("a"))]
    bench.held("r4", "a")
    assert statements(bench.turn()) == [ConfirmedUpTo(bench.id, *bench.tip("a"))]


# -- repetition --------------------------------------------------------------------------------


def repetitions(bench: Bench, peer: str, upto: float) -> list[float]:
    """When a peer is told something again."""
    times: list[float] = []
    while (due := bench.agenda.next) is not None and due <= upto:
        if statements(bench.at(due), peer):
            times.append(due)
    return times


def test_statements_are_repeated_with_backoff_up_to_a_cap() -> None:
    """What was said a moment ago is left out of the first repetition, and comes with the next."""
    bench = Bench(protocol="bracha")
    bench.publish("a")
    bench.turn()
    times = repetitions(bench, "r2", 10_000.0)
    assert len(times) == REPEATS
    pauses = [later - earlier for earlier, later in zip([0.0, *times], times, strict=False)]
    expected = [2 * REPEAT_SECONDS]
    while len(expected) < REPEATS - 1:
        expected.append(min(2 * expected[-1], REPEAT_MOST_SECONDS))
    assert REPEAT_SECONDS <= pauses[0] <= 2 * REPEAT_SECONDS
    assert pauses[1:] == pytest.approx(expected)
    assert bench.stream.teller.exhausted


def test_a_repetition_says_everything_from_the_confirmed_position() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("abc")
    for peer in ("r2", "r3"):
        bench.confirmed(peer, "a")
        bench.held(peer, "b", first=2)
    bench.turn()
    again = bench.at(2 * REPEAT_SECONDS)
    assert statements(again, "r4") == [
        ConfirmedUpTo(bench.id, *bench.tip("a")),
        Held(bench.id, 2, bench.digests("bc", 2)),
        ReadyUpTo(bench.id, *bench.tip("ab")),
    ]


def test_repetition_ends_for_a_peer_that_confirms_and_goes_on_for_others() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("ab")
    bench.turn()
    bench.confirmed("r2", "a")
    bench.turn()
    assert statements(bench.at(2 * REPEAT_SECONDS), "r2")
    bench.confirmed("r2", "ab")
    bench.turn()
    again = bench.at(5.0)
    assert not statements(again, "r2")
    assert statements(again, "r3")


def test_when_all_have_confirmed_nothing_is_left_to_say() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("ab")
    bench.turn()
    for peer in ("r2", "r3", "r4"):
        bench.confirmed(peer, "ab")
    bench.turn()
    assert bench.stream.teller.idle
    assert not bench.at(100.0).messages
    assert bench.stream.settled


def test_something_new_starts_the_repetition_over() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("a")
    bench.turn()
    repetitions(bench, "r2", 10_000.0)
    bench.publish("b", first=2)
    bench.turn()
    assert repetitions(bench, "r2", bench.replicas.now + 1.0)


# -- answers -------------------------------------------------------------------------------------


def confirmed_bench() -> Bench:
    """A replica that has confirmed ab, and peers of which it has not heard that."""
    bench = Bench(protocol="bracha")
    bench.publish("ab")
    for peer in ("r2", "r3", "r4"):
        bench.held(peer, "ab")
    bench.turn()
    assert bench.stream.confirmed.seq == 2
    return bench


def test_a_statement_below_the_confirmed_position_is_answered_with_confirmed() -> None:
    said_so = ConfirmedUpTo(confirmed_bench().id, *confirmed_bench().tip("ab"))
    for kind in ("held", "ready", "confirmed"):
        bench = confirmed_bench()
        getattr(bench, kind)("r3", "a")
        ready = bench.turn()
        assert ready.messages == {"r3": [said_so]}, kind


def test_answers_do_not_answer_each_other() -> None:
    """Two replicas that have confirmed the same have nothing to say to each other."""
    bench = confirmed_bench()
    bench.confirmed("r3", "ab")
    bench.held("r3", "ab")
    assert not bench.turn().messages


def test_a_peer_with_a_new_life_is_told_all_again() -> None:
    bench = confirmed_bench()
    for peer in ("r2", "r3", "r4"):
        bench.confirmed(peer, "ab")
    bench.turn()
    bench.at(100.0)
    bench.stream.forget("r3")
    whole = bench.at(101.0)
    assert statements(whole, "r3")[0] == ConfirmedUpTo(bench.id, *bench.tip("ab"))
    assert not statements(whole, "r2")


def test_a_peer_that_claims_an_absurd_position_is_not_told_and_harms_nobody_else() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("ab")
    bench.stream.confirmed_at("r4", Position(2**60, b"q" * 32))
    ready = bench.turn()
    assert said(ready, Held, "r2")
    again = bench.at(1.0)
    assert statements(again, "r2")
    assert bench.stream.confirmed.seq == 0


def test_a_turn_without_news_says_nothing() -> None:
    bench = confirmed_bench()
    bench.stream.touch()
    assert bench.turn() == Ready(timer=bench.agenda.next)
