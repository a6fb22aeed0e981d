"""Rule 20: urgent overtakes only within its publisher's fair share."""

from __future__ import annotations

from quorumcast.core.ids import Lane
from quorumcast.core.limits import BODY_BYTES, SHARE_BYTES
from quorumcast.core.messages import Bodies, Held, HeldUpTo, Publish, StatusCode
from quorumcast.core.messages import Status as StatusMessage
from tests.scenarios.stage import Stage
from tests.scenarios.story import Story

LARGE = bytes(BODY_BYTES)


def fill(stage: Stage, publisher: str, story: Story, count: int) -> None:
    """Publish so many bodies of the largest size at r1."""
    for seq in range(1, count + 1):
        stage.say(publisher, "r1", Publish(story.stream, seq, (LARGE,)))
    stage.flush()


def head(stage: Stage, story: Story) -> int:
    stored = stage.stores["r1"].streams.get(story.stream)
    return stored.head if stored is not None else 0


def test_urgent_lane_has_no_share_of_its_own() -> None:
    stage = Stage(alpha=50, within_seconds=60.0)
    normal = stage.opens("P", 1)
    urgent = stage.opens("P", 2, lane=Lane.URGENT)
    fill(stage, "P", normal, SHARE_BYTES // BODY_BYTES)
    stage.say("P", "r1", urgent.publish("U"))
    stage.flush()
    assert head(stage, urgent) == 0
    codes = [
        each.code
        for each in stage.heard("P", StatusMessage, "r1")
        if each.stream == urgent.stream and each.code is not StatusCode.OK
    ]
    assert codes == [StatusCode.WAIT]


def test_urgent_flood_takes_nothing_from_another_publisher() -> None:
    stage = Stage(alpha=50, within_seconds=60.0)
    flood = stage.opens("P", 1, lane=Lane.URGENT)
    fill(stage, "P", flood, 2 * SHARE_BYTES // BODY_BYTES)
    assert head(stage, flood) <= SHARE_BYTES // BODY_BYTES
    calm = stage.opens("Q", 1)
    stage.say("Q", "r1", calm.publish("A"))
    stage.flush()
    assert head(stage, calm) == 1

    before = head(stage, flood)
    stage.say("P", "r1", Publish(flood.stream, before + 1, (LARGE,)))
    stage.flush()
    assert head(stage, flood) == before


def test_urgent_is_told_before_normal_that_came_with_it() -> None:
    stage = Stage(alpha=50, protocol="bracha")
    normal = stage.opens("P", 1)
    urgent = stage.opens("P", 2, lane=Lane.URGENT)
    stage.heard_by.clear()
    stage.say("P", "r1", normal.publish("ABC"), urgent.publish("U"))
    stage.flush()
    to_peer = [each.stream for each in stage.heard("r4", Held, "r1")]
    to_publisher = [each.stream for each in stage.heard("P", HeldUpTo, "r1")]
    assert to_peer == to_publisher == [urgent.stream, normal.stream]


def test_urgent_is_sent_to_subscribers_before_normal_that_came_with_it() -> None:
    stage = Stage(alpha=50)
    stage.subscriber("S1")
    normal = stage.opens("P", 1)
    urgent = stage.opens("P", 2, lane=Lane.URGENT)
    stage.say("P", "r1 r2 r3", normal.publish("ABC"), urgent.publish("U"))
    stage.flush()
    assert [each.stream for each in stage.said("r1", "S1", Bodies)] == [
        urgent.stream,
        normal.stream,
    ]
    assert stage.read("S1") == "UABC"


def test_urgent_passes_a_normal_lane_that_is_blocked() -> None:
    stage = Stage(alpha=2)
    stage.subscriber("S1")
    stuck = stage.opens("P", 1)
    stage.say("P", "r1", stuck.publish("ABCDEF"))
    stage.say("P", "r2", stuck.publish("XYZ"))
    stage.run(1.0)
    urgent = stage.opens("P", 2, lane=Lane.URGENT)
    stage.say("P", "r1 r2 r3", urgent.publish("U"))
    stage.run(2.0)
    assert stage.read("S1") == "U"


def test_publisher_with_a_waiting_backlog_sends_urgent_at_once() -> None:
    stage = Stage(alpha=2)
    stage.subscriber("S1")
    stage.publisher("p")
    stage.hold("r1 r2 r3", "r1 r2 r3")  # nothing is confirmed: 2α, and no more
    stage.publish("p", "abcdefghijkl")
    stage.run(1.0)
    assert stage.read("S1") == "abcd"
    stage.publish("p", "UV", lane=Lane.URGENT)
    stage.run(1.0)
    assert stage.read("S1") == "abcdUV"

    stage.heal()
    stage.run(20.0)
    assert sorted(stage.read("S1")) == sorted("abcdefghijklUV")
    normal = stage.read("S1").replace("U", "").replace("V", "")
    assert normal == "abcdefghijkl"
