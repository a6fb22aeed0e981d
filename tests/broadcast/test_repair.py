"""How a replica catches up: whom it asks, what it believes, and what it never takes over."""

from __future__ import annotations

import pytest

from quorumcast.core.evidence import Weight
from quorumcast.core.ids import Position
from quorumcast.core.limits import REPEAT_MOST_SECONDS
from quorumcast.core.machine import Ready
from quorumcast.core.messages import (
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskOpening,
    AskVotes,
    Held,
    ReadyUpTo,
)
from quorumcast.core.records import Accepted, Confirmed, Floored, Installed, MadeReady, Tainted
from tests.broadcast.cast import OPERATOR, Bench, said, stored


def behind(*peers: str, text: str = "ab", **how: object) -> Bench:
    """A replica without votes hears of those of some peers, and is told nothing more."""
    bench = Bench(protocol="bracha", **how)  # type: ignore[arg-type]
    for peer in peers:
        bench.held(peer, text)
    bench.turn()
    return bench


def give(bench: Bench, peer: str, text: str, first: int = 1, signatures: bytes = b"") -> Ready:
    """A peer sends bodies."""
    bench.stream.repair.bodies(peer, first, bench.bodies(text), signatures)
    return bench.turn()


# -- adoption ------------------------------------------------------------------------------------


def test_what_f_plus_1_peers_hold_equally_is_fetched_and_voted_for() -> None:
    bench = behind("r2", "r3")
    asked = said(bench.at(1.0), AskBodies)
    assert asked[0] == AskBodies(bench.id, 1, bench.digests("ab"))
    ready = give(bench, "r2", "ab")
    assert stored(ready, Accepted) == [
        Accepted(bench.id, 1, bench.digests("ab"), (b"a", b"b"), b"")
    ]
    assert said(ready, Held, "r4") == [Held(bench.id, 1, bench.digests("ab"))]


def test_one_replicas_word_is_not_adopted() -> None:
    bench = behind("r2")
    ready = bench.at(30.0)
    assert not said(ready, AskBodies)
    assert not stored(give(bench, "r2", "ab"), Accepted)


def test_two_that_disagree_are_not_adopted_beyond_what_they_share() -> None:
    bench = behind("r2")
    bench.held("r3", "ax")
    bench.turn()
    assert said(bench.at(1.0), AskBodies)[0].digests == bench.digests("a")
    ready = give(bench, "r3", "ab")
    assert [each.bodies for each in stored(ready, Accepted)] == [(b"a",)]


def test_votes_are_cast_in_order_though_bodies_come_otherwise() -> None:
    bench = behind("r2", "r3", text="abc")
    bench.at(1.0)
    assert not stored(give(bench, "r2", "c", first=3), Accepted)
    assert stored(give(bench, "r2", "ab"), Accepted)[0].bodies == (b"a", b"b", b"c")


def test_a_false_body_is_rejected_and_the_state_stays() -> None:
    bench = behind("r2", "r3")
    bench.at(1.0)
    ready = give(bench, "r3", "xb")
    assert [each.sender for each in ready.rejections] == ["r3"]
    assert not ready.records
    assert bench.stream.head == 0
    assert stored(give(bench, "r2", "ab"), Accepted)


def test_bodies_that_nobody_asked_for_are_not_kept() -> None:
    bench = Bench(protocol="bracha")
    give(bench, "r2", "abc")
    assert not bench.stream.repair._found
    assert bench.stream.head == 0


def test_another_holder_is_asked_when_one_does_not_answer() -> None:
    bench = behind("r2", "r3")
    asked = [
        peer
        for _ in range(6)
        for peer, messages in bench.at(bench.agenda.next or 0.0).messages.items()
        if any(isinstance(each, AskBodies) for each in messages)
    ]
    assert {"r2", "r3"} <= set(asked)


def test_the_publisher_is_asked_too_while_it_is_there() -> None:
    bench = behind("r2", "r3")
    bench.replicas.live["probe"] = 9
    asked = bench.at(5.0).messages
    assert any(isinstance(each, AskBodies) for each in asked["probe"])


def test_fruitless_attempts_back_off() -> None:
    """A stream that cannot advance costs a question every few seconds at most."""
    bench = behind("r2", "r3")
    bench.at(60.0)
    asked = said(bench.at(160.0), AskBodies)
    assert 1 <= len(asked) <= 100 / REPEAT_MOST_SECONDS + 1
    assert bench.stream.repair.exhausted


def test_adoption_stops_2_alpha_beyond_the_confirmed_position() -> None:
    bench = behind("r2", "r3", text="abcdef", alpha=2)
    bench.at(1.0)
    give(bench, "r2", "abcdef")
    assert bench.stream.head == 4


def test_a_closed_stream_adopts_nothing() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("a")
    bench.turn()
    bench.stream.cut(Position(1, bytes(32)), confirmed=False)
    for peer in ("r2", "r3"):
        bench.held(peer, "ab")
    bench.turn()
    bench.at(2.0)
    assert not stored(give(bench, "r2", "b", first=2), Accepted)


def test_on_a_signed_channel_one_holder_with_the_signature_is_enough() -> None:
    bench = behind("r2", signed=True)
    bench.at(1.0)
    false = give(bench, "r2", "ab", signatures=bench.signatures("ab", by=OPERATOR))
    assert [each.sender for each in false.rejections] == ["r2"]
    assert not stored(false, Accepted)
    ready = give(bench, "r2", "ab", signatures=bench.signatures("ab"))
    assert stored(ready, Accepted)[0].signatures == bench.signatures("ab")


def test_on_a_crash_channel_one_holder_is_enough() -> None:
    bench = Bench(3, 1, protocol="plain")
    bench.held("r3", "ab")
    bench.turn()
    assert said(bench.at(1.0), AskBodies, "r3")
    assert stored(give(bench, "r3", "ab"), Accepted)


# -- asking ----------------------------------------------------------------------------------------


def test_a_peer_that_spoke_of_more_is_asked_for_its_votes() -> None:
    bench = Bench(protocol="bracha")
    bench.stream.tally.heard("r3", 7)
    bench.stream.touch()
    bench.turn()
    asked = bench.at(1.0)
    assert said(asked, AskVotes, "r3")[0] == AskVotes(bench.id, 1)
    assert not said(asked, AskVotes, "r2")


def test_a_peer_far_ahead_is_asked_for_confirmed_within_reach() -> None:
    bench = Bench(protocol="bracha", alpha=2)
    bench.held("r3", "ab" * 20)
    bench.turn()
    assert said(bench.at(1.0), AskConfirmed, "r3")[0] == AskConfirmed(bench.id, 4)


def test_without_an_opening_the_opening_is_asked_for_and_nothing_else() -> None:
    bench = Bench(protocol="bracha")
    bench.fresh()
    bench.held("r2", "ab")
    bench.ready("r3", "ab")
    bench.turn()
    asked = bench.at(1.0)
    assert set(asked.messages) == {"r2", "r3"}
    assert {type(each) for each in asked.messages["r2"]} == {AskOpening}


def test_nobody_without_a_link_is_asked() -> None:
    bench = Bench(protocol="bracha")
    del bench.replicas.live["r2"]
    for peer in ("r2", "r3"):
        bench.held(peer, "ab")
    bench.turn()
    assert "r2" not in bench.at(10.0).messages


# -- statements that do not lie on the own path ----------------------------------------------------


def test_the_author_of_an_unknown_ready_is_asked_for_its_digests() -> None:
    bench = Bench(protocol="bracha")
    bench.ready("r2", "xy")
    bench.turn()
    assert said(bench.at(1.0), AskDigests, "r2")[0] == AskDigests(bench.id, 1, 2)


def test_digests_count_only_if_they_end_in_what_was_stated() -> None:
    """Votes are nobody's here: two READYs with their digests make this replica READY."""
    bench = Bench(protocol="bracha")
    for peer in ("r2", "r3"):
        bench.ready(peer, "xy")
    bench.turn()
    bench.at(1.0)
    bench.stream.repair.digests("r2", 1, bench.digests("xx"))
    assert not stored(bench.turn(), MadeReady)
    bench.at(2.0)
    bench.stream.repair.digests("r4", 1, bench.digests("xy"))  # was not asked
    assert not stored(bench.turn(), MadeReady)
    bench.stream.repair.digests("r3", 1, bench.digests("xy"))
    ready = bench.turn()
    assert stored(ready, MadeReady) == [
        MadeReady(bench.id, *bench.tip("xy"), 1, bench.digests("xy"))
    ]
    assert said(ready, ReadyUpTo, "r4") == [ReadyUpTo(bench.id, *bench.tip("xy"))]


def test_a_confirmed_path_is_fetched_and_installed_over_the_own_vote() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("abz")
    for peer in ("r2", "r3"):
        bench.held(peer, "xb")
        bench.confirmed(peer, "xb")
    bench.turn()
    asked = bench.at(1.0)
    assert said(asked, AskBodies)[0] == AskBodies(bench.id, 1, bench.digests("x"))
    assert not stored(give(bench, "r2", "q"), Installed)
    ready = give(bench, "r3", "x")
    assert [each.bodies for each in stored(ready, Installed)] == [(b"x",)]
    assert stored(ready, Confirmed) == [Confirmed(bench.id, *bench.tip("xb"))]
    assert bench.stream.path.run(3, 3) == bench.digests("z", 3)


def test_confirmations_whose_digests_are_known_on_request_only() -> None:
    bench = Bench(protocol="bracha")
    for peer in ("r2", "r3"):
        bench.confirmed(peer, "xy")
    bench.turn()
    bench.at(1.0)
    bench.stream.repair.digests("r2", 1, bench.digests("xy"))
    asked = bench.turn()
    assert said(asked, AskBodies)[0] == AskBodies(bench.id, 1, bench.digests("xy"))
    ready = give(bench, "r2", "xy")
    assert stored(ready, Confirmed) == [Confirmed(bench.id, *bench.tip("xy"))]


def test_f_plus_1_votes_against_its_own_end_the_trust_in_the_publisher() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("ab")
    bench.held("r2", "ax")
    bench.turn()
    assert not stored(bench.at(1.0), Tainted)
    bench.held("r3", "ax")
    bench.turn()
    ready = bench.at(10.0)
    assert stored(ready, Tainted) == [Tainted(bench.id)]
    assert bench.stream.votes_here  # adoption goes on


def test_who_votes_otherwise_is_suspected_together_with_the_publisher() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("ab")
    bench.held("r2", "ax")
    bench.turn()
    ready = bench.at(100.0)
    assert ready.evidence
    assert {each.weight for each in ready.evidence} == {Weight.SUSPICION}
    assert {each.parties for each in ready.evidence} == {frozenset({"r2", "probe"})}
    assert len(ready.evidence) <= 8


def test_a_new_life_takes_back_what_was_said_and_shown() -> None:
    bench = behind("r2", "r3")
    bench.stream.repair.floors.floor("r3", Position(1, b"q" * 32))
    bench.stream.forget("r3")
    bench.turn()
    assert not said(bench.at(5.0), AskBodies)
    assert not bench.stream.repair.floors.known


# -- floors ----------------------------------------------------------------------------------------


def floors(bench: Bench, **said_by: str) -> None:
    """Peers dropped what is confirmed up to 3, and name this chain there."""
    for peer, letter in said_by.items():
        bench.stream.confirmed_at(peer, Position(3, letter.encode() * 32))
        bench.stream.repair.floors.floor(peer, Position(3, letter.encode() * 32))
    bench.turn()


def test_a_floor_that_f_plus_1_name_alike_is_taken_once_nothing_else_helps() -> None:
    bench = Bench(protocol="bracha")
    floors(bench, r2="q", r3="q")
    assert not stored(bench.at(0.1), Floored)
    ready = bench.at(5.0)
    assert stored(ready, Floored) == [Floored(bench.id, 3, b"q" * 32, confirmed=True)]
    assert bench.stream.head == 3


@pytest.mark.parametrize("said_by", [{"r2": "q"}, {"r2": "q", "r3": "z"}])
def test_one_liars_floor_is_not_taken(said_by: dict[str, str]) -> None:
    bench = Bench(protocol="bracha")
    floors(bench, **said_by)
    assert not stored(bench.at(60.0), Floored)
    assert bench.stream.head == 0


def test_of_different_floors_the_one_that_a_correct_replica_reached_is_taken() -> None:
    """r4 says 9; r2 says 3, and r3 knows c there: 9 is one replica's word."""
    bench = Bench(protocol="bracha")
    floors(bench, r2="q")
    bench.stream.repair.floors.floor("r4", Position(9, b"w" * 32))
    bench.stream.confirmed_at("r3", Position(3, b"q" * 32))
    bench.turn()
    ready = bench.at(5.0)
    assert [each.position for each in stored(ready, Floored)] in ([], [3])
    asked = {each.position for each in said(ready, AskConfirmed)}
    bench.stream.confirmed_at("r3", Position(3, b"q" * 32))
    bench.turn()
    bench.at(15.0)
    assert bench.stream.floor.seq == 3
    assert 9 not in asked
