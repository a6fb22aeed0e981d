"""Statements about streams: who may make them, what they prove, and which contradict each other."""

from __future__ import annotations

import pytest

from quorumcast.core.evidence import Evidence, Weight
from quorumcast.core.messages import (
    Bodies,
    Held,
    Message,
    OpeningOf,
    Status,
    StatusCode,
)
from quorumcast.core.records import Confirmed
from tests.broadcast.cast import stored
from tests.broker.bench import Bench
from tests.scenarios.story import Story


def published(text: str = "AB", **settings: object) -> tuple[Bench, Story]:
    """A replica with votes in one stream."""
    bench = Bench(**settings)
    story = bench.opens()
    bench.say("probe", story.publish(text))
    return bench, story


def accusation(evidence: list[Evidence]) -> tuple[Weight, frozenset[str]]:
    """The one accusation of a turn: its weight, and whom it names."""
    (found,) = evidence
    return found.weight, found.parties


# -- who may say what --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["held", "ready", "confirmed", "floor", "opening_of", "digests_under"]
)
def test_client_that_speaks_as_a_replica_is_rejected(kind: str) -> None:
    bench, story = published()
    make = getattr(story, kind)
    message = make() if kind == "opening_of" else make("AB")
    for client in ("probe", "screen"):
        ready = bench.say(client, message)
        assert [each.reason for each in ready.rejections] == [
            f"{type(message).__name__} from a client"
        ]
        assert not ready.records
        assert not ready.messages


def test_votes_of_clients_are_not_counted() -> None:
    bench, story = published()
    bench.say("r2", story.held("AB"))
    for client in ("a", "b", "c", "d"):
        bench.say(client, story.held("AB"), story.confirmed("AB"), story.ready("AB"))
    assert bench.store.streams[story.stream].ready.seq == 0


@pytest.mark.parametrize("sender", ["r2", "probe"])
def test_what_is_said_to_clients_is_not_for_a_replica(sender: str) -> None:
    bench, story = published()
    for message in (
        story.held_up_to("AB"),
        Status(story.stream, StatusCode.OK, 2),
    ):
        ready = bench.say(sender, message)
        name = type(message).__name__
        assert [each.reason for each in ready.rejections] == [f"{name} is not for a replica"]


def test_bodies_come_from_peers_and_the_streams_own_publisher() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("r2 r3", story.held("A"))
    bench.until(1.0)
    ready = bench.say("mallory", story.bodies("A"))
    assert [each.reason for each in ready.rejections] == ["bodies from a stranger"]
    assert bench.holds(story) == ""
    bench.say("probe", story.bodies("A"))
    assert bench.holds(story) == "A"


def test_body_that_is_not_the_one_asked_for_is_rejected() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("r2 r3", story.held("A"))
    bench.until(1.0)
    ready = bench.say("r4", story.bodies("X"))
    assert [each.sender for each in ready.rejections] == ["r4"]
    assert bench.holds(story) == ""


def test_bodies_that_nobody_asked_for_change_nothing() -> None:
    bench = Bench()
    story = bench.opens()
    ready = bench.say("r2", story.bodies("AB"), Bodies(story.stream, 2**40, (b"x",)))
    assert not ready.records
    assert bench.holds(story) == ""


def test_channel_without_repair_takes_no_statements() -> None:
    bench, story = published(confirm=False)
    ready = bench.say("r2 r3 r4", story.held("XY"), story.confirmed("XY"), story.bodies("XY"))
    assert not ready.records
    assert not ready.evidence
    assert bench.holds(story) == "AB"


# -- contradictions ----------------------------------------------------------------------------


def test_two_votes_on_one_position_are_local_evidence_with_both() -> None:
    bench, story = published()
    bench.say("r4", story.held("AB"))
    (found,) = bench.say("r4", story.held("AX")).evidence
    assert (found.weight, found.parties) == (Weight.LOCAL, frozenset({"r4"}))
    assert found.first == Held(story.stream, 2, story.digests("B", 2))
    assert found.second == Held(story.stream, 2, story.digests("X", 2))


@pytest.mark.parametrize("kind", ["ready", "confirmed"])
def test_two_chains_for_one_position_are_local_evidence_with_both(kind: str) -> None:
    bench, story = published()
    say = getattr(story, kind)
    assert not bench.say("r4", say("AX")).evidence
    (found,) = bench.say("r4", say("AY")).evidence
    assert (found.weight, found.parties) == (Weight.LOCAL, frozenset({"r4"}))
    assert (found.first, found.second) == (say("AX"), say("AY"))


def test_vote_against_ones_own_ready_or_confirmed_is_legal() -> None:
    bench, story = published()
    for message in (story.held("AX"), story.ready("AB"), story.confirmed("AB")):
        assert not bench.say("r4", message).evidence


def test_repetition_and_growth_are_legal() -> None:
    bench, story = published("ABCD")
    messages: tuple[Message, ...] = (
        story.held("AB"),
        story.held("ABC"),
        story.held("CD", first=3),
        story.ready("AB"),
        story.ready("ABC"),
        story.ready("AB"),
    )
    for message in messages:
        assert not bench.say("r4", message).evidence


def test_second_vote_is_not_counted() -> None:
    bench, story = published("A")
    bench.say("r4", story.held("X"))
    bench.say("r4", story.held("A"))
    bench.say("r2", story.held("A"))
    assert bench.store.streams[story.stream].ready.seq == 0
    bench.say("r3", story.held("A"))
    assert bench.store.streams[story.stream].ready.seq == 1


def test_evidence_is_limited_per_stream() -> None:
    bench, story = published()
    bench.say("r4", story.held("AB"))
    count = sum(len(bench.say("r4", story.held("XY")).evidence) for _ in range(50))
    assert 1 <= count <= 8


def test_unsigned_channel_suspects_and_convicts_nobody() -> None:
    bench, story = published("A")
    bench.say("r4", story.held("X"))
    evidence = bench.until(1.0).evidence
    assert evidence
    assert {(each.weight, each.parties) for each in evidence} == {
        (Weight.SUSPICION, frozenset({"r4", "probe"}))
    }


def test_publisher_that_sends_two_contents_is_noted_once_its_vote_stands() -> None:
    bench, story = published("A")
    ready = bench.say("probe", story.publish("X"))
    assert accusation(ready.evidence) == (Weight.LOCAL, frozenset({"probe"}))
    assert bench.holds(story) == "A"


# -- signed channels ---------------------------------------------------------------------------


def test_two_signatures_of_a_publisher_are_a_proof() -> None:
    bench, story = published(signed=True)
    (found,) = bench.say("r2", story.held("AX")).evidence
    assert (found.weight, found.parties) == (Weight.PROOF, frozenset({"probe"}))
    assert found.certificate == story.certificate


def test_vote_without_the_publishers_signature_convicts_the_replica() -> None:
    bench, story = published(signed=True)
    bare = Held(story.stream, 1, story.digests("X"), story.signatures("A"))
    ready = bench.say("r4", bare)
    assert accusation(ready.evidence) == (Weight.LOCAL, frozenset({"r4"}))


def test_honest_replica_that_forwards_the_signature_is_not_accused() -> None:
    bench, story = published(signed=True)
    assert not bench.say("r2", story.held("AB")).evidence


# -- openings ----------------------------------------------------------------------------------


def heard() -> tuple[Bench, Story]:
    """A stream known from peers alone, whose opening is not known."""
    bench = Bench()
    story = bench.story()
    bench.say("r2 r3", story.held("A"))
    return bench, story


def test_opening_proves_itself_by_its_hash() -> None:
    bench, story = heard()
    other = bench.story("probe", 2)
    ready = bench.say("r4", OpeningOf(story.stream, other.opening, b""))
    assert [each.reason for each in ready.rejections] == ["the opening is not the session's"]
    foreign = bench.story("mallory")
    assert bench.say("r4", OpeningOf(story.stream, foreign.opening, b"")).rejections
    assert not bench.say("r4", story.opening_of()).rejections
    bench.until(1.0)
    bench.say("r2", story.bodies("A"))
    assert bench.holds(story) == "A"


def test_opening_on_a_signed_channel_needs_a_certificate_that_serves() -> None:
    bench = Bench(signed=True)
    story = bench.story()
    bench.say("r2", story.held("A"))
    bad = OpeningOf(story.stream, story.opening, bench.story("other").certificate)
    assert [each.sender for each in bench.say("r4", bad).rejections] == ["r4"]
    assert not bench.say("r4", story.opening_of()).rejections


def test_nothing_is_stored_about_a_stream_without_its_opening() -> None:
    bench, story = heard()
    bench.say("r4", story.held("A"))
    ready = bench.say("r2 r3 r4", story.ready("A"), story.confirmed("A"))
    assert not ready.records
    assert not bench.until(5.0).records
    assert story.stream not in bench.store.streams


# -- floors ------------------------------------------------------------------------------------


def test_confirmed_floors_count_as_confirmed() -> None:
    bench, story = published()
    bench.say("r2", story.floor("AB"))
    ready = bench.say("r3", story.floor("AB"))
    assert [each.position for each in stored(ready, Confirmed)] == [2]


def test_open_floors_confirm_nothing() -> None:
    bench, story = published()
    bench.say("r2 r3 r4", story.open_floor(2))
    bench.until(30.0)
    assert bench.store.streams[story.stream].confirmed.seq == 0


def test_one_replicas_floor_is_not_believed() -> None:
    bench, story = published()
    bench.say("r4", story.floor("ABCDEFGHIJ"))
    bench.until(60.0)
    assert bench.store.streams[story.stream].confirmed.seq == 0
