"""One stream at one replica: what it votes, states and stores, and on whose word."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorumcast.core.ids import Incarnation, Position
from quorumcast.core.machine import Ready
from quorumcast.core.messages import ConfirmedUpTo, Held, ReadyUpTo
from quorumcast.core.records import (
    Accepted,
    Closed,
    Confirmed,
    Floored,
    Installed,
    MadeReady,
    Opened,
    Tainted,
)
from tests.broadcast.cast import Bench, said, statements, stored

# -- votes -------------------------------------------------------------------------------------


def test_the_first_vote_stores_the_opening_then_body_and_vote() -> None:
    bench = Bench()
    bench.publish("ab")
    ready = bench.turn()
    assert ready.records == [
        Opened(bench.id, bench.opening, bench.stream.certificate),
        Accepted(bench.id, 1, bench.digests("ab"), (b"a", b"b"), b""),
    ]
    bench.publish("c", first=3)
    assert [type(each) for each in bench.turn().records] == [Accepted]


def test_no_second_vote_on_an_id_whoever_brings_it() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("ab")
    bench.turn()
    bench.publish("xyc")
    for peer in ("r2", "r3", "r4"):
        bench.held(peer, "xyz")
    bench.turn()
    bench.at(30.0)
    assert bench.stream.path.run(1, 2) == bench.digests("ab")
    assert bench.store.streams[bench.id].slots[1].digest == bench.digests("a")


def test_a_session_that_names_another_life_gets_no_vote_but_all_else() -> None:
    bench = Bench(protocol="bracha", names=Incarnation(1, 8))
    assert not bench.stream.votes_here
    with pytest.raises(AssertionError, match="right"):
        bench.publish("a")
    for peer in ("r2", "r3", "r4"):
        bench.held(peer, "a")
    bench.turn()
    ready = bench.at(1.0)
    assert said(ready, ReadyUpTo, "r2")[0] == ReadyUpTo(bench.id, *bench.tip("a"))
    assert not stored(ready, Accepted)
    assert not said(ready, Held)


def test_without_an_opening_nothing_is_stated() -> None:
    bench = Bench(protocol="bracha")
    bench.fresh()
    for peer in ("r2", "r3", "r4"):
        bench.held(peer, "a")
        bench.ready(peer, "a")
        bench.confirmed(peer, "a")
    bench.turn()
    ready = bench.at(3.0)
    assert not ready.records
    assert not any(statements(ready, peer) for peer in ("r2", "r3", "r4"))


# -- READY and CONFIRMED -------------------------------------------------------------------------

SIZES = [(4, 1), (5, 1), (6, 1), (7, 1), (7, 2)]


@pytest.mark.parametrize(("n", "f"), SIZES)
def test_ready_on_q_votes_its_own_among_them(n: int, f: int) -> None:
    bench, q = Bench(n, f), -(-(n + f + 1) // 2)
    bench.publish("ab")
    for number in range(2, q):
        bench.held(f"r{number}", "ab")
    assert not said(bench.turn(), ReadyUpTo)
    bench.held(f"r{q}", "a")
    ready = bench.turn()
    assert said(ready, ReadyUpTo, "r2") == [ReadyUpTo(bench.id, *bench.tip("a"))]
    assert stored(ready, MadeReady) == [MadeReady(bench.id, *bench.tip("a"), 1, b"")]


@pytest.mark.parametrize(("n", "f"), SIZES)
def test_ready_on_f_plus_1_readies(n: int, f: int) -> None:
    bench = Bench(n, f)
    bench.publish("ab")
    for number in range(2, 2 + f):
        bench.ready(f"r{number}", "ab")
    assert not stored(bench.turn(), MadeReady)
    bench.ready(f"r{2 + f}", "ab")
    assert stored(bench.turn(), MadeReady) == [MadeReady(bench.id, *bench.tip("ab"), 1, b"")]


@pytest.mark.parametrize(("n", "f"), SIZES)
def test_confirmed_on_q_plus_f_votes_and_not_on_one_less(n: int, f: int) -> None:
    bench, certain = Bench(n, f), -(-(n + f + 1) // 2) + f
    bench.publish("ab")
    for number in range(2, certain):
        bench.held(f"r{number}", "ab")
    ready = bench.turn()
    assert said(ready, ReadyUpTo)
    assert not said(ready, ConfirmedUpTo)
    bench.held(f"r{certain}", "ab")
    ready = bench.turn()
    assert said(ready, ConfirmedUpTo, "r2") == [ConfirmedUpTo(bench.id, *bench.tip("ab"))]
    assert stored(ready, Confirmed) == [Confirmed(bench.id, *bench.tip("ab"))]


@pytest.mark.parametrize(("n", "f"), SIZES)
def test_confirmed_on_2f_plus_1_readies_its_own_among_them(n: int, f: int) -> None:
    bench = Bench(n, f)
    bench.publish("ab")
    for number in range(2, 2 * f + 1):
        bench.ready(f"r{number}", "ab")
    assert not stored(bench.turn(), Confirmed)
    bench.ready(f"r{2 * f + 1}", "ab")
    assert stored(bench.turn(), Confirmed) == [Confirmed(bench.id, *bench.tip("ab"))]


@pytest.mark.parametrize(("n", "f"), SIZES)
def test_confirmed_on_f_plus_1_confirmations_and_not_on_f(n: int, f: int) -> None:
    bench = Bench(n, f)
    bench.publish("ab")
    for number in range(2, 2 + f):
        bench.confirmed(f"r{number}", "ab")
    assert not stored(bench.turn(), Confirmed)
    bench.confirmed(f"r{2 + f}", "a")
    assert stored(bench.turn(), Confirmed) == [Confirmed(bench.id, *bench.tip("a"))]


def test_without_faults_a_dissenter_does_not_confirm_its_own_vote() -> None:
    """n=3, f=0, a faulty publisher: r1 voted b, and is READY for the others' a. Its READY is for a,
    and makes nobody confirm b."""
    bench = Bench(3, 0, protocol="bracha")
    bench.publish("b")
    for peer in ("r2", "r3"):
        bench.held(peer, "a")
        bench.ready(peer, "a")
    bench.turn()
    bench.at(5.0)
    assert bench.stream.ready == bench.tip("a")
    assert bench.stream.confirmed.seq == 0 or bench.stream.confirmed == bench.tip("a")


def test_ready_for_what_it_did_not_vote_stores_the_digests() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("ab")
    for peer in ("r2", "r3", "r4"):
        bench.held(peer, "xb")
    bench.turn()
    ready = bench.at(1.0)
    made = stored(ready, MadeReady)
    assert made == [MadeReady(bench.id, *bench.tip("xb"), 1, bench.digests("xb"))]
    assert said(ready, ReadyUpTo, "r2")[0].chain == bench.tip("xb").chain
    assert stored(ready, Tainted) == [Tainted(bench.id)]


def test_on_a_crash_channel_holders_confirm_and_nobody_is_ready() -> None:
    bench = Bench(3, 1, protocol="plain")
    bench.publish("ab")
    assert not stored(bench.turn(), Confirmed)
    bench.held("r2", "a")
    ready = bench.turn()
    assert stored(ready, Confirmed) == [Confirmed(bench.id, *bench.tip("a"))]
    assert not stored(ready, MadeReady)
    assert not said(ready, ReadyUpTo)


def test_with_confirm_false_replicas_tell_each_other_nothing() -> None:
    bench = Bench(lab=True, confirm=False)
    bench.publish("ab")
    for peer in ("r2", "r3", "r4"):
        bench.held(peer, "ab")
    ready = bench.turn()
    assert {type(each) for each in ready.records} == {Opened, Accepted}
    assert not ready.messages
    assert not bench.stream.path.digests  # and keep nothing for it


@pytest.mark.parametrize("settings", [{"protocol": "plain"}, {"confirm": False, "lab": True}])
def test_without_the_limit_of_2_alpha_memory_is_bounded_all_the_same(
    settings: dict[str, object],
) -> None:
    bench = Bench(**settings)  # type: ignore[arg-type]
    for first in range(1, 400, 4):
        bench.publish("abcd", first=first)
        bench.turn()
        assert len(bench.stream.path.chains) <= bench.channel.window
        assert len(bench.stream.sizes) <= bench.channel.window + 4
    assert bench.stream.head == 400


# -- confirmed contents that are not this replica's votes ------------------------------------------


def disagree(bench: Bench) -> Ready:
    """r1 voted abc, the others have confirmed xb; their bodies come when asked for."""
    bench.publish("abc")
    bench.turn()
    for peer in ("r2", "r3", "r4"):
        bench.held(peer, "xbd")
        bench.confirmed(peer, "xb")
    bench.turn()
    bench.at(1.0)
    bench.stream.repair.bodies("r2", 1, (b"x",), b"")
    return bench.turn()


def test_confirmed_content_replaces_a_slot_and_later_votes_stay() -> None:
    bench = Bench(protocol="bracha")
    ready = disagree(bench)
    assert stored(ready, Installed) == [Installed(bench.id, 1, bench.digests("x"), (b"x",), b"")]
    assert stored(ready, Confirmed)[-1] == Confirmed(bench.id, *bench.tip("xb"))
    assert said(ready, ConfirmedUpTo, "r3") == [ConfirmedUpTo(bench.id, *bench.tip("xb"))]
    assert bench.stream.path.run(3, 3) == bench.digests("c", 3)
    slots = bench.store.streams[bench.id].slots
    assert [slots[at].body for at in (1, 2, 3)] == [b"x", b"b", b"c"]


def test_confirmed_waits_for_the_bodies() -> None:
    bench = Bench(protocol="bracha")
    for peer in ("r2", "r3"):
        bench.confirmed(peer, "ab")
        bench.held(peer, "ab")
    bench.turn()
    ready = bench.at(3.0)
    assert not said(ready, ConfirmedUpTo)
    assert not stored(ready, Confirmed)


def test_replaced_bodies_count_in_what_retention_sees() -> None:
    """Bytes that were installed are stored like any others: they are released when confirmed."""
    bench = Bench(protocol="bracha")
    for peer in ("r2", "r3"):
        bench.held(peer, "ab")
        bench.confirmed(peer, "ab")
    bench.turn()
    bench.at(1.0)
    bench.stream.repair.bodies("r2", 1, (b"a", b"b"), b"")
    bench.turn()
    assert bench.stream.confirmed == bench.tip("ab")
    assert bench.stream.released == 2


# -- floors --------------------------------------------------------------------------------------


def test_a_floor_of_others_is_taken_over_and_votes_above_it_stay() -> None:
    bench = Bench()
    bench.publish("abcd")
    bench.turn()
    bench.stream.take_floor(Position(2, b"q" * 32))
    ready = bench.turn()
    floor = (2, b"q" * 32)
    assert ready.records == [
        Confirmed(bench.id, *floor),
        Floored(bench.id, *floor, confirmed=True),
    ]
    assert bench.stream.path.base == Position(*floor)
    assert bench.stream.path.run(3, 4) == bench.digests("cd", 3)
    assert bench.stream.head == 4


def test_a_floor_never_moves_down() -> None:
    """Bodies up to 4 went by age; the confirmed floor 2 of others does not bring them back."""
    bench = Bench()
    bench.publish("abcd")
    bench.turn()
    bench.stream.cut(Position(4, bytes(32)), confirmed=False)
    bench.turn()
    bench.stream.take_floor(Position(2, b"q" * 32))
    bench.turn()
    assert bench.stream.floor.seq == 4
    assert bench.stream.confirmed == Position(2, b"q" * 32)


def test_a_stream_that_is_closed_by_age_casts_no_vote_and_states_on() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("ab")
    bench.turn()
    bench.stream.cut(Position(2, bytes(32)), confirmed=False)
    ready = bench.turn()
    assert ready.records == [
        Closed(bench.id),
        Floored(bench.id, 2, bytes(32), confirmed=False),
    ]
    with pytest.raises(AssertionError, match="right"):
        bench.publish("c", first=3)
    for peer in ("r2", "r3"):
        bench.held(peer, "ab")
    ready = bench.turn()
    assert said(ready, ReadyUpTo, "r4") == [ReadyUpTo(bench.id, *bench.tip("ab"))]


# -- restarts ------------------------------------------------------------------------------------


def test_after_a_restart_votes_and_ready_count_and_are_repeated() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("abc")
    bench.held("r2", "ab")
    bench.held("r3", "ab")
    bench.turn()
    bench.restart()
    ready = bench.turn()
    assert not ready.records
    ready.messages |= bench.at(1.0).messages
    assert Held(bench.id, 1, bench.digests("abc")) in ready.messages["r2"]
    assert ReadyUpTo(bench.id, *bench.tip("ab")) in ready.messages["r2"]
    bench.ready("r2", "ab")
    bench.ready("r3", "ab")
    assert stored(bench.turn(), Confirmed) == [Confirmed(bench.id, *bench.tip("ab"))]


def test_after_a_restart_a_ready_for_others_contents_is_still_named() -> None:
    bench = Bench(protocol="bracha")
    bench.publish("ab")
    for peer in ("r2", "r3", "r4"):
        bench.held(peer, "xb")
    bench.turn()
    bench.at(1.0)
    bench.restart()
    bench.turn()
    truth = bench.stream.truth
    assert truth is not None
    assert truth.tip == bench.stream.ready == bench.tip("xb")
    assert bench.stream.path.run(1, 2) == bench.digests("ab")
    assert bench.stream.tainted


letters = st.sampled_from(("", "a", "ab", "abc", "b", "ba", "x", "aab"))
inputs = st.tuples(
    st.sampled_from(("publish", "held", "ready", "confirmed", "bodies", "wait", "restart")),
    st.sampled_from(("r2", "r3", "r4")),
    letters,
)


@given(st.lists(inputs, max_size=25), st.sampled_from(("ab", "bracha")))
@settings(max_examples=250)
def test_nothing_is_stated_before_it_is_stored_and_no_vote_changes(
    plan: list[tuple[str, str, str]], protocol: str
) -> None:
    """Whatever peers and publisher say, and whenever the process dies: what leaves is what the
    store has, votes stay, READY and CONFIRMED only grow along one chain."""
    bench = Bench(protocol=protocol)
    votes: dict[int, bytes] = {}
    for what, peer, text in plan:
        whole = Ready()
        if what == "wait":
            whole = bench.at(bench.replicas.now + 0.3)
        elif what == "restart" and bench.stream.recorded:
            bench.restart()
        elif what == "bodies":
            bench.stream.repair.bodies(peer, 1, bench.bodies(text), b"")
        elif what == "publish" and text:
            bench.publish(text, limit=bench.stream.limit)
        elif what in ("held", "ready", "confirmed") and text:
            getattr(bench, what)(peer, text)
        for ready in (whole, bench.turn()):
            for record in stored(ready, Accepted):
                for index in range(len(record.bodies)):
                    digest = record.digests[index * 32 : index * 32 + 32]
                    assert votes.setdefault(record.first + index, digest) == digest
            check_stated(bench, ready)


def check_stated(bench: Bench, ready: Ready) -> None:
    """All that was said is in the store."""
    for message in said(ready, Held):
        kept = bench.store.streams[bench.id]
        for index in range(len(message.digests) // 32):
            at = message.first + index
            assert kept.slots[at].digest == message.digests[index * 32 : index * 32 + 32]
    for message in said(ready, ReadyUpTo):
        kept = bench.store.streams[bench.id]
        assert max(kept.ready.seq, kept.confirmed.seq) >= message.position
        assert message.position != kept.ready.seq or message.chain == kept.ready.chain
    for message in said(ready, ConfirmedUpTo):
        kept = bench.store.streams[bench.id]
        assert kept.confirmed.seq >= message.position
        assert kept.chain(message.position) == message.chain
