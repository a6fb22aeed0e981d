"""Which checkers judge a run follows from what its channels promise."""

from __future__ import annotations

import pytest

from quorumcast.broadcast.registry import Totality, find
from quorumcast.core.channel import Channel
from quorumcast.sim.checkers import CHECKERS, checkers_for, judge, promise_of
from quorumcast.sim.checkers.promises import PROMISES, SAFETY
from tests.sim.checkers.story import CHANNEL, Story, told

OWED = {"validity", "fairness"}
ROWS = [
    ("plain", True, {*SAFETY, "chains", "totality", *OWED}),
    ("ab", False, {*SAFETY}),
    ("ab", True, {*SAFETY, "chains", "totality", *OWED}),
    ("bracha", True, {*SAFETY, "chains", "totality", *OWED}),
]


@pytest.mark.parametrize(("protocol", "confirm", "names"), ROWS)
def test_a_channels_checkers(protocol: str, confirm: bool, names: set[str]) -> None:
    found = checkers_for(Channel("c", protocol=protocol, confirm=confirm))
    assert len(found) == len(set(found))
    assert set(found) == names


def test_every_checker_judges_some_channel_and_is_known_by_its_rule() -> None:
    used = {name for protocol, confirm, _ in ROWS for name in _for(protocol, confirm)}
    assert used == set(CHECKERS)


def _for(protocol: str, confirm: bool) -> tuple[str, ...]:
    return checkers_for(Channel("c", protocol=protocol, confirm=confirm))


@pytest.mark.parametrize(("protocol", "confirm"), [row for row in PROMISES if row[0] != "plain"])
def test_the_table_says_what_the_registry_of_protocols_says(protocol: str, confirm: bool) -> None:
    promise = promise_of(Channel("c", protocol=protocol, confirm=confirm))
    known = find(protocol, confirm=confirm)
    same = {
        "all": Totality.ALL_OR_NONE,
        "window": Totality.WITHIN,
        "none": Totality.NONE,
    }
    assert same[promise.totality] is known.totality
    assert promise.validity is known.delivers_all_of_correct
    assert promise.lies is (known.model == "byzantine")
    assert (promise.faulty_publisher == "all or none") is (known.totality is Totality.ALL_OR_NONE)


def test_plain_promises_nothing_to_a_byzantine_publishers_readers() -> None:
    promise = promise_of(Channel("c", protocol="plain"))
    assert (promise.faulty_publisher, promise.lies) == ("nothing", False)
    assert find("plain").totality is Totality.CRASH


def test_every_channel_is_judged_by_its_own_promise() -> None:
    story = told()
    story.channels["lab"] = Channel("lab", confirm=False)
    story.publish(1, "p2", channel="lab")
    story.live.add("p2")
    assert story.broken() == {}, "what a lab channel does not promise is not missed there"
    story.publish(1, "p2")
    assert set(story.broken()) == {"validity"}


def test_a_run_without_anything_breaks_nothing() -> None:
    story = Story()
    assert judge(story.case()) == []
    assert list(story.channels) == [CHANNEL]
