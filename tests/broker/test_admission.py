"""What a replica takes from publishers: rights, sessions, shares, and the status that says so."""

from __future__ import annotations

import pytest

from quorumcast.core.channel import Retention
from quorumcast.core.ids import Incarnation, Opening
from quorumcast.core.machine import Ready
from quorumcast.core.messages import (
    ConfirmedUpTo,
    Credit,
    HeldUpTo,
    Open,
    Publish,
    Release,
    Status,
    StatusCode,
)
from quorumcast.core.records import Accepted, Tainted
from tests.broadcast.cast import said, stored
from tests.broker.bench import LIVES, Bench, status
from tests.scenarios.story import Story

TWENTY = "ABCDEFGHIJKLMNOPQRST"


def reason(ready: Ready, to: str = "probe") -> str:
    """Why a turn's status is what it is."""
    (message,) = said(ready, Status, to)
    return message.reason


# -- OPEN --------------------------------------------------------------------------------------


def test_open_is_answered_with_ok_and_credit_and_stores_nothing() -> None:
    bench = Bench()
    story = bench.story()
    bench.link("probe")
    ready = bench.say("probe", story.open())
    assert ready.messages["probe"] == [
        Status(story.stream, StatusCode.OK, 0),
        Credit(story.stream, 20),
    ]
    assert not ready.records


def test_open_again_says_where_the_stream_stands() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("ABC"))
    bench.confirm(story, "AB")
    for _ in range(2):
        ready = bench.say("probe", story.open())
        assert ready.messages["probe"] == [
            Status(story.stream, StatusCode.OK, 3),
            story.held_up_to("ABC"),
            story.confirmed("AB"),
            Credit(story.stream, 22),
        ]
        assert not ready.records


@pytest.mark.parametrize(
    ("channel", "sender", "wrong", "why"),
    [
        ({}, "mallory", {}, "own name only"),
        ({}, "probe", {"nonce": 2}, "not the hash"),
        ({}, "probe", {"incarnations": LIVES[:3]}, "every replica"),
        ({"publishers": ("sensor-*",)}, "probe", {}, "may not publish"),
        ({"signed": True}, "probe", {}, "certificate"),
    ],
)
def test_open_that_can_never_be_accepted_is_rejected_with_the_reason(
    channel: dict[str, object], sender: str, wrong: dict[str, object], why: str
) -> None:
    bench = Bench(**channel)
    story = bench.story()
    named = {"publisher": "probe", "nonce": 1, "incarnations": bench.lives, **wrong}
    bench.link(sender)
    message = Open(story.stream, Opening(**named), b"")  # type: ignore[arg-type]
    ready = bench.say(sender, message)
    assert status(ready, sender) == (StatusCode.REJECTED, 0)
    assert why in reason(ready, sender)
    assert [each.sender for each in ready.rejections] == [sender]
    assert bench.entry(story) is None


def test_opening_of_too_few_replicas_is_rejected_although_its_hash_fits() -> None:
    bench = Bench()
    story = Story(bench.cluster, Opening("probe", 1, LIVES[:3]))
    bench.link("probe")
    ready = bench.say("probe", story.open())
    assert status(ready)[0] is StatusCode.REJECTED


def test_open_on_a_channel_that_is_not_there() -> None:
    bench = Bench()
    story = bench.story(channel="weather")
    bench.link("probe")
    ready = bench.say("probe", story.open())
    assert status(ready) == (StatusCode.REJECTED, 0)
    assert reason(ready) == "there is no channel weather"


def test_signed_channel_takes_the_publishers_own_certificate_alone() -> None:
    bench = Bench(signed=True)
    story, other = bench.story(), bench.story("other")
    bench.link("probe")
    borrowed = Open(story.stream, story.opening, other.certificate)
    assert status(bench.say("probe", borrowed))[0] is StatusCode.REJECTED
    assert status(bench.say("probe", story.open()))[0] is StatusCode.OK


def test_session_of_an_earlier_life_is_told_to_wait_and_gets_no_vote() -> None:
    bench = Bench()
    lives = (Incarnation(0, 5), *bench.lives[1:])
    story = Story(bench.cluster, Opening("probe", 1, lives))
    bench.link("probe")
    ready = bench.say("probe", story.open())
    assert status(ready) == (StatusCode.WAIT, 0)
    assert "earlier incarnation" in reason(ready)
    assert not said(ready, Credit)
    assert not bench.say("probe", story.publish("A")).records


# -- limits on streams ---------------------------------------------------------------------------


def test_max_publishers_lets_the_next_wait_until_one_is_released() -> None:
    bench = Bench(max_publishers=2)
    first = bench.opens("a")
    bench.opens("b")
    third = bench.story("c")
    bench.link("c")
    ready = bench.say("c", third.open())
    assert status(ready, "c") == (StatusCode.WAIT, 0)
    assert "takes 2 publishers" in reason(ready, "c")
    assert status(bench.say("a", bench.story("a", 2).open()), "a")[0] is StatusCode.OK

    bench.say("a", Release(first.stream), Release(bench.story("a", 2).stream))
    assert status(bench.say("c", third.open()), "c")[0] is StatusCode.OK


def test_sessions_of_one_publisher_are_limited_and_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quorumcast.broker.admission.STREAMS_PER_PUBLISHER", 3)
    bench = Bench()
    for nonce in range(3):
        bench.past("probe", nonce)
    ready = bench.say("probe", bench.story("probe", 9).open())
    assert status(ready) == (StatusCode.WAIT, 0)
    assert "wait for retention" in reason(ready)
    assert status(bench.say("probe", bench.story("probe", 0).open()))[0] is StatusCode.OK
    bench.link("other")
    assert status(bench.say("other", bench.story("other").open()), "other")[0] is StatusCode.OK


def test_sessions_of_a_channel_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorumcast.broker.admission.STREAMS_PER_CHANNEL", 2)
    bench = Bench()
    bench.past("a", 1)
    bench.past("b", 1)
    bench.link("c")
    ready = bench.say("c", bench.story("c").open())
    assert status(ready, "c") == (StatusCode.WAIT, 0)


def test_release_drops_an_empty_stream_of_its_sender_alone() -> None:
    bench = Bench()
    story = bench.opens()
    bench.link("mallory")
    bench.say("mallory", Release(story.stream))
    assert bench.entry(story) is not None
    bench.say("probe", Release(story.stream))
    assert bench.entry(story) is None

    used = bench.opens("probe", 2)
    bench.say("probe", used.publish("A"))
    bench.say("probe", Release(used.stream))
    assert bench.entry(used) is not None


# -- PUBLISH -----------------------------------------------------------------------------------


def test_publication_is_stored_and_acknowledged() -> None:
    bench = Bench()
    story = bench.opens()
    ready = bench.say("probe", story.publish("AB"))
    assert [each.bodies for each in stored(ready, Accepted)] == [(b"A", b"B")]
    assert said(ready, HeldUpTo, "probe") == [story.held_up_to("AB")]


def test_publication_before_open_waits_for_it() -> None:
    bench = Bench()
    story = bench.story()
    bench.link("probe")
    ready = bench.say("probe", story.publish("A"))
    assert status(ready) == (StatusCode.WAIT, 0)
    assert reason(ready) == "open the stream first"
    assert not ready.records


def test_publication_in_a_stream_known_from_a_peer_waits_for_open() -> None:
    bench = Bench()
    story = bench.story()
    bench.link("probe")
    bench.say("r2", story.held("A"))
    assert status(bench.say("probe", story.publish("A"))) == (StatusCode.WAIT, 0)


def test_publication_under_anothers_name_is_rejected() -> None:
    bench = Bench()
    story = bench.opens()
    bench.link("mallory")
    ready = bench.say("mallory", story.publish("A"))
    assert [each.sender for each in ready.rejections] == ["mallory"]
    assert not ready.records
    assert bench.holds(story) == ""


def test_resend_changes_nothing_and_is_acknowledged_again() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    bench.confirm(story, "A")
    ready = bench.say("probe", story.publish("AB"))
    assert not ready.records
    assert ready.messages["probe"][:2] == [story.held_up_to("AB"), story.confirmed("A")]


def test_new_link_is_told_all_again() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    bench.unlink("probe")
    assert "probe" not in bench.confirm(story, "AB").messages
    bench.link("probe")
    ready = bench.say("probe", story.open())
    assert said(ready, HeldUpTo, "probe") == [story.held_up_to("AB")]
    assert said(ready, ConfirmedUpTo, "probe") == [story.confirmed("AB")]


def test_blocked_2_alpha_beyond_the_confirmed_position() -> None:
    bench = Bench()
    story = bench.opens()
    ready = bench.say("probe", story.publish(TWENTY + "UVWXY"))
    assert status(ready) == (StatusCode.BLOCKED, 20)
    assert bench.holds(story) == TWENTY

    ready = bench.confirm(story, TWENTY[:15])
    assert said(ready, Credit, "probe") == [Credit(story.stream, 35)]
    assert not said(bench.say("probe", story.publish("UVWXY", first=21)), Status)
    assert bench.holds(story) == TWENTY + "UVWXY"


def test_crash_channel_has_no_2_alpha_limit() -> None:
    bench = Bench(3, 1, protocol="plain")
    story = bench.opens()
    for first in range(1, 101, 20):
        ready = bench.say("probe", story.publish(TWENTY, first))
        assert not said(ready, Status)
    entry = bench.entry(story)
    assert entry is not None
    assert entry.head == 100


def test_credit_comes_in_steps_and_not_with_every_publication() -> None:
    bench = Bench()
    story = bench.opens()
    given: list[int] = []
    for at in range(1, 13):
        for ready in (
            bench.say("probe", story.publish(TWENTY[at - 1], at)),
            bench.confirm(story, TWENTY[:at]),
        ):
            given += [each.through for each in said(ready, Credit, "probe")]
    assert given == [29]


def test_signed_channel_rejects_what_is_unsigned_or_signed_by_another() -> None:
    bench = Bench(signed=True)
    story = bench.opens()
    bare = Publish(story.stream, 1, (b"A",))
    assert status(bench.say("probe", bare)) == (StatusCode.REJECTED, 0)
    forged = Publish(story.stream, 1, (b"A",), story.signatures("B"))
    ready = bench.say("probe", forged)
    assert status(ready) == (StatusCode.REJECTED, 0)
    assert "signature at position 1" in reason(ready)
    assert bench.holds(story) == ""
    bench.say("probe", story.publish("A"))
    assert bench.holds(story) == "A"


def test_tainted_stream_takes_nothing_more_from_its_publisher() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("A"))
    bench.say("r2 r3", story.held("B"))
    assert stored(bench.until(1.0), Tainted) == [Tainted(story.stream)]
    assert not stored(bench.say("probe", story.publish("C", first=2)), Accepted)
    bench.restart()
    bench.link("probe")
    bench.say("probe", story.open())
    assert not stored(bench.say("probe", story.publish("C", first=2)), Accepted)


def test_closed_stream_says_so_to_open_and_publish() -> None:
    bench = Bench(retention=Retention(age_seconds=60.0))
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    bench.until(80.0)
    for message in (story.open(), story.publish("C", first=3)):
        ready = bench.say("probe", message)
        assert status(ready) == (StatusCode.CLOSED, 2)
        assert not stored(ready, Accepted)
