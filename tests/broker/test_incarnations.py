"""Lives of replicas: who has shown itself, what a new life cancels, how lives rotate."""

from __future__ import annotations

from quorumcast.core.channel import Retention
from quorumcast.core.ids import Incarnation, Opening
from quorumcast.core.messages import (
    AskVotes,
    ConfirmedUpTo,
    Held,
    Hello,
    Status,
    StatusCode,
)
from quorumcast.core.records import Accepted, Confirmed, Incarnated
from tests.broadcast.cast import said, statements, stored
from tests.broker.bench import LIVES, Bench
from tests.scenarios.story import Story

NEW = Incarnation(2, 77)


def test_client_that_says_hello_is_rejected() -> None:
    bench = Bench()
    bench.link("probe")
    ready = bench.say("probe", Hello(NEW, ()))
    assert [each.reason for each in ready.rejections] == ["only replicas say Hello"]
    assert not ready.records


def test_first_life_shown_by_a_peer_is_stored_and_reported() -> None:
    bench = Bench(link="")
    ready = bench.link("r2")
    (record,) = stored(ready, Incarnated)
    assert record.valid == ((LIVES[0], 0.0),)
    assert record.seen[:2] == LIVES[:2]
    (hello, *_) = said(bench.link("r3"), Hello, "r3")
    assert hello.known[:2] == (LIVES[0], LIVES[1])


def test_peers_word_does_not_count_before_its_hello() -> None:
    bench = Bench(link="r3")
    story = bench.opens()
    bench.say("probe", story.publish("A"))
    bench.replica.linked("r2")
    bench.say("r2", story.confirmed("A"))
    bench.say("r3", story.confirmed("A"))
    assert bench.store.streams[story.stream].confirmed.seq == 0
    bench.say("r2", bench.hello("r2"), story.confirmed("A"))
    assert bench.store.streams[story.stream].confirmed.seq == 1


def test_peer_has_to_show_itself_on_every_link() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("A"))
    bench.unlink("r2")
    bench.replica.linked("r2")
    bench.say("r2", story.confirmed("A"))
    bench.say("r3", story.confirmed("A"))
    assert bench.store.streams[story.stream].confirmed.seq == 0


def test_new_life_cancels_what_the_peer_stated() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("A"))
    bench.say("r2", story.confirmed("A"))
    bench.now = 5.0
    bench.say("r2", Hello(NEW, LIVES[:4]))
    ready = bench.say("r3", story.confirmed("A"))
    assert not stored(ready, Confirmed)
    assert stored(bench.say("r2", story.confirmed("A")), Confirmed)


def test_new_life_is_told_everything_again() -> None:
    bench = Bench(protocol="bracha")
    story = bench.past("probe", 1, "AB")
    bench.until(30.0)
    bench.say("r2", Hello(NEW, LIVES[:4]))
    ready = bench.until(31.0)
    assert story.confirmed("AB") in statements(ready, "r2")
    assert not statements(ready, "r3")


def test_old_or_equal_life_changes_nothing() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("A"))
    bench.say("r2", story.confirmed("A"))
    bench.now = 5.0
    for life in (LIVES[1], Incarnation(0, 5)):
        ready = bench.say("r2", Hello(life, LIVES[:4]))
        assert not ready.records
    assert stored(bench.say("r3", story.confirmed("A")), Confirmed)


def test_lives_change_once_a_second_at_most() -> None:
    bench = Bench()
    bench.now = 10.0
    records = [
        *bench.say("r4", Hello(Incarnation(2, 1), LIVES[:4])).records,
        *bench.say("r4", Hello(Incarnation(3, 1), LIVES[:4])).records,
    ]
    assert len(records) == 1
    bench.now = 11.5
    assert len(bench.say("r4", Hello(Incarnation(4, 1), LIVES[:4])).records) == 1


def test_change_of_life_is_reported_to_everybody() -> None:
    bench = Bench()
    bench.link("probe")
    bench.now = 5.0
    ready = bench.say("r2", Hello(NEW, LIVES[:4]))
    for party in ("r2", "r3", "r4", "probe"):
        (hello,) = said(ready, Hello, party)
        assert hello.known[1] == NEW


# -- rotation ----------------------------------------------------------------------------------


def test_rotation_is_stored_and_shown() -> None:
    bench = Bench()
    bench.link("probe")
    bench.replica.renew(NEW)
    ready = bench.turn()
    (record,) = stored(ready, Incarnated)
    assert [life for life, _ in record.valid] == [LIVES[0], NEW]
    assert said(ready, Hello, "probe")[0].incarnation == NEW
    bench.restart()
    assert said(bench.link("screen"), Hello, "screen")[0].incarnation == NEW


def test_votes_go_on_in_sessions_of_a_rotated_life() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("A"))
    bench.replica.renew(NEW)
    bench.turn()
    assert stored(bench.say("probe", story.publish("B", first=2)), Accepted)
    late = bench.opens("probe", 2)
    assert stored(bench.say("probe", late.publish("A")), Accepted)


def test_rotated_life_is_valid_until_the_retention_age() -> None:
    bench = Bench(retention=Retention(age_seconds=100.0))
    bench.until(50.0)
    bench.replica.renew(NEW)
    bench.turn()
    bench.until(160.0)
    bench.replica.renew(Incarnation(3, 5))
    (record,) = stored(bench.turn(), Incarnated)
    assert LIVES[0] not in [life for life, _ in record.valid]
    story = bench.story()
    bench.link("probe")
    (status,) = said(bench.say("probe", story.open()), Status, "probe")
    assert status.code is StatusCode.WAIT


def test_what_was_stated_before_a_rotation_is_stated_again() -> None:
    bench = Bench(protocol="bracha")
    story = bench.opens()
    bench.say("probe", story.publish("A"))
    bench.until(300.0)
    bench.replica.renew(NEW)
    bench.turn()
    ready = bench.until(301.0)
    assert said(ready, Held, "r2")[0] == story.held("A")


# -- no vote in a session of another life ------------------------------------------------------


def foreign_life() -> tuple[Bench, Story]:
    """A session that names a life which this replica no longer lives."""
    bench = Bench()
    story = Story(bench.cluster, Opening("probe", 1, (Incarnation(0, 9), *bench.lives[1:])))
    bench.link("probe")
    bench.say("probe", story.open())
    return bench, story


def test_no_new_vote_but_ready_and_confirmed() -> None:
    bench, story = foreign_life()
    bench.say("probe", story.publish("AB"))
    bench.say("r2 r3 r4", story.held("AB"))
    ready = bench.until(1.0)
    assert story.ready("AB") in statements(ready, "r2")
    assert not said(ready, Held)
    bench.say("r2 r3", story.ready("AB"), story.confirmed("AB"))
    bench.until(2.0)
    ready = bench.say("r2", story.bodies("AB"))
    assert said(ready, ConfirmedUpTo, "r3") == [story.confirmed("AB")]
    assert not stored(ready, Accepted)
    assert bench.holds(story) == "AB"


def test_heads_of_peers_are_looked_into_all_the_same() -> None:
    bench, story = foreign_life()
    ready = bench.say("r2", story.held("A"))
    assert not ready.records
    bench.say("r3", story.held("AB"))
    ready = bench.until(1.0)
    assert not said(ready, AskVotes, "r2")
    assert not bench.holds(story)
