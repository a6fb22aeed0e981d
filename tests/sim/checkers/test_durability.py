"""Durability: an acknowledgement stands on disks, before it is given and ever after."""

from __future__ import annotations

from typing import Any

import pytest

from quorumcast.core.records import Floored, Forgotten
from tests.sim.checkers.story import ACKNOWLEDGED, Story, told

BODIES = [b"p1/1", b"p1/2"]


def kept_by(*replicas: str, late: tuple[str, ...] = (), **settings: Any) -> Story:
    """p1's publications are at these replicas when it is told so, and at the late ones after."""
    story = Story(**settings)
    story.subscribe("s1", "s2")
    story.publish(2)
    stream = story.stream()
    for replica in (*replicas, *late):
        tick = ACKNOWLEDGED + (1 if replica in late else 0)
        story.store(replica, story.opened(stream), story.accepted(stream, BODIES), tick=tick)
    story.acknowledge(2)
    for life in ("s1", "s2"):
        story.deliver(life, BODIES)
    return story


def test_all_but_the_liars_of_a_quorum_is_right() -> None:
    assert kept_by("r1", "r3").broken() == {}
    assert kept_by("r1", "r3", "r4", liars=0).broken() == {}
    assert kept_by("r1", "r3", confirm=False).broken() == {}


@pytest.mark.parametrize("settings", [{}, {"confirm": False}, {"protocol": "bracha"}])
def test_too_few_disks_are_seen(settings: dict[str, object]) -> None:
    broken = kept_by("r1", **settings).broken()
    assert set(broken) == {"durability"}
    assert "when 1 correct replicas had stored it, not 2" in broken["durability"]


def test_a_disk_that_stored_it_after_the_acknowledgement_does_not_count() -> None:
    assert set(kept_by("r1", late=("r2",)).broken()) == {"durability"}


def test_without_liars_all_of_the_quorum_has_it() -> None:
    assert set(kept_by("r1", "r2", liars=0).broken()) == {"durability"}


def test_a_crash_channel_asks_for_one_more_than_may_crash() -> None:
    assert kept_by("r1", "r2", liars=0, protocol="plain").broken() == {}
    assert set(kept_by("r1", liars=0, protocol="plain").broken()) == {"durability"}
    assert kept_by("r1", liars=0, protocol="plain", deliver="first").broken() == {}


def test_other_content_at_the_position_does_not_count() -> None:
    story = kept_by("r1")
    stream = story.stream()
    story.store("r2", story.opened(stream), story.accepted(stream, [b"p1/1", b"other"]))
    assert set(story.broken()) == {"durability"}


def test_a_replica_that_has_it_no_more_is_seen() -> None:
    story = kept_by("r1", "r3")
    story.store("r3", Forgotten(story.stream()), tick=ACKNOWLEDGED + 9)
    broken = story.broken()
    assert set(broken) == {"durability"}
    assert "publication 1 of p1 was acknowledged, and r3 has it no more" in broken["durability"]


def test_other_content_in_its_place_is_seen() -> None:
    story = kept_by("r1", "r3")
    story.store("r3", story.installed(story.stream(), [b"other"], 2), tick=ACKNOWLEDGED + 9)
    assert set(story.broken()) == {"durability"}


def test_a_replica_that_lost_its_disk_is_among_the_faulty() -> None:
    story = kept_by("r1", "r3")
    story.store("r3", None, tick=ACKNOWLEDGED + 9)
    story.lost.add("r3")
    assert story.broken() == {}


def test_what_retention_dropped_is_not_missing() -> None:
    story = told()
    stream = story.stream()
    chain = story.chain(stream, [b"p1/1", b"p1/2", b"p1/3"])
    story.store("r1", Floored(stream, 3, chain, True), tick=ACKNOWLEDGED + 9)
    assert story.broken() == {}
