"""Confirmed chains: every READY and CONFIRMED names what its replica has, and one chain for all."""

from __future__ import annotations

import pytest

from quorumcast.auth.digests import Digester
from quorumcast.core.records import Confirmed, Floored, MadeReady
from quorumcast.sim.checkers import chains
from tests.sim.checkers.story import Story, told

A, B = [b"A1", b"A2"], [b"A1", b"B2"]


def split(*contents: list[bytes]) -> Story:
    """Correct replicas confirm these contents of a stream of q1."""
    story = told()
    for replica, bodies in zip(story.replicas, contents, strict=False):
        story.keep(bodies, replica, stream=story.stream("q1"))
    return story


def test_one_chain_is_right() -> None:
    assert split(A, A, A).broken() == {}
    assert split(A, A[:1]).broken() == {}


def test_two_chains_are_seen() -> None:
    broken = split(A, B).broken()
    assert set(broken) == {"chains"}
    assert "r2 stored READY" in broken["chains"]
    assert "contradicts r1 at position 2" in broken["chains"]


def test_ready_for_what_others_confirm_otherwise_is_seen() -> None:
    story = split(A)
    stream = story.stream("q1")
    story.store("r2", story.opened(stream), story.accepted(stream, B), story.ready(stream, B))
    assert set(story.broken()) == {"chains"}


@pytest.mark.parametrize("kind", [Confirmed, MadeReady])
def test_a_statement_without_what_it_names_is_seen(kind: type) -> None:
    story = told()
    stream = story.stream("q1")
    chain = story.chain(stream, A)
    last = Confirmed(stream, 2, chain) if kind is Confirmed else MadeReady(stream, 2, chain, 1, b"")
    story.store("r1", story.opened(stream), story.accepted(stream, A[:1]), last)
    broken = story.broken()
    assert set(broken) == {"chains"}
    assert "without what it names" in broken["chains"]


def test_a_statement_with_a_wrong_chain_is_seen() -> None:
    story = told()
    stream = story.stream("q1")
    story.store("r1", story.opened(stream), story.accepted(stream, A), Confirmed(stream, 2, b"x"))
    assert set(story.broken()) == {"chains"}


def test_ready_may_name_others_contents_by_their_digests() -> None:
    story = split(A)
    stream = story.stream("q1")
    digests = Digester(story.cluster.id, stream).digests(1, A)
    ready = MadeReady(stream, 2, story.chain(stream, A), 1, digests)
    story.store("r2", story.opened(stream), story.accepted(stream, B), ready)
    assert story.broken() == {}


def test_confirmed_content_replaces_a_vote() -> None:
    story = split(A)
    stream = story.stream("q1")
    story.store(
        "r2",
        story.opened(stream),
        story.accepted(stream, B),
        story.installed(stream, A[1:], 2),
        story.confirmed(stream, A),
    )
    assert story.broken() == {}


def test_a_floor_of_others_is_taken_without_its_bodies() -> None:
    story = split(A)
    stream = story.stream("q1")
    chain = story.chain(stream, A)
    taken = (Confirmed(stream, 2, chain), Floored(stream, 2, chain, True))
    story.store("r2", story.opened(stream), *taken)
    assert story.broken() == {}


def test_a_floor_that_comes_later_excuses_nothing() -> None:
    story = split(A)
    stream = story.stream("q1")
    chain = story.chain(stream, A)
    story.store(
        "r2",
        story.opened(stream),
        Confirmed(stream, 2, chain),
        story.installed(stream, A),
        Floored(stream, 2, chain, True),
    )
    assert "r2 stored CONFIRMED" in story.broken()["chains"]


def test_confirmed_that_goes_back_is_seen() -> None:
    story = split(A)
    story.store("r1", story.confirmed(story.stream("q1"), A[:1]))
    broken = story.broken()
    assert set(broken) == {"chains"}
    assert "below 2" in broken["chains"]


def test_a_wiped_replica_begins_again() -> None:
    story = split(A)
    story.lost.add("r1")
    story.store("r1", None)
    story.keep(A[:1], "r1", stream=story.stream("q1"))
    assert chains.check(story.case()) == []


def test_a_subscriber_that_delivered_what_is_not_confirmed_is_seen() -> None:
    story = split(A, A, A)
    for life in ("s1", "s2"):
        story.deliver(life, A, story.stream("q1"))
    assert story.broken() == {}
    story = split(A, A, A)
    for life in ("s1", "s2"):
        story.deliver(life, B, story.stream("q1"))
    broken = story.broken()
    assert set(broken) == {"chains"}
    assert "s1 delivered at position 2" in broken["chains"]
