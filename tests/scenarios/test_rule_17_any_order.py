"""Rule 17, `block`, whatever happens in whatever order: nothing is lost, nothing stays stuck."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorumcast.core.ids import Lane
from quorumcast.core.outcomes import Delivery, OutcomeUnknown
from tests.scenarios.blocking import ALL, LONG, blocker, hold, play, release, small_windows
from tests.scenarios.story import CHANNEL

_windows = pytest.fixture(autouse=True, scope="module")(small_windows)

REPLICAS = st.sampled_from(ALL.split())
STEPS = st.one_of(
    st.tuples(st.just("publish"), st.integers(1, 30), st.sampled_from(list(Lane))),
    st.just(("hold",)),
    st.just(("release",)),
    st.just(("slip",)),
    st.tuples(st.sampled_from(["cut", "join"]), st.sampled_from(["B", "p"]), REPLICAS),
    st.tuples(st.just("wait"), st.sampled_from([0.01, 0.3, 2.0, 15.0])),
    st.one_of(
        st.tuples(st.sampled_from(["end", "begin", "session", "crash", "heal"])),
        st.tuples(st.just("change"), st.sampled_from(["*", "p", "q"])),
        st.tuples(st.just("lose"), st.sampled_from([f"B {ALL}", f"p {ALL}", f"B p {ALL}"])),
    ),
)


class Troubled:
    """A stage on which B, p and their links do anything; replica r4 says nothing."""

    def __init__(self, scripted: str) -> None:
        self.stage = play(scripted)
        self.stage.subscriber("S1")
        self.published: dict[Lane, str] = dict.fromkeys(Lane, "")
        self.subscribed = True
        self.patterns = "*"
        self.held = False
        self.slips = False

    def step(self, what: str, *given: Any) -> None:
        """One step; what B says in it may be lost."""
        deaf, self.slips = self.slips, False
        loss = self.stage.drop("B", ALL) if deaf else None
        getattr(self, what)(*given)
        self.stage.flush()
        if loss is not None and loss in self.stage.rules:
            loss.lift()

    def slip(self) -> None:
        """The next words of B are lost."""
        self.slips = True

    def publish(self, number: int, lane: Lane) -> None:
        text = (LONG * 2)[len(self.published[lane]) % 26 :][:number]
        self.published[lane] += text
        self.stage.publish("p", text, lane=lane)

    def hold(self) -> None:
        hold(self.stage)
        self.held = self.subscribed

    def release(self) -> None:
        release(self.stage)
        self.held = False

    def end(self) -> None:
        self.stage._do("B", lambda machine: machine.unsubscribe(CHANNEL))
        self.subscribed = self.held = False

    def begin(self) -> None:
        if not self.subscribed:
            self.stage.guard.reset("B")
            self.stage.outcomes["B"] = []
            self.change("*")
            self.subscribed = True

    def change(self, patterns: str) -> None:
        self.patterns, chosen = patterns, tuple(patterns.split())
        if self.subscribed or patterns == "*":
            told = self.stage.outcomes.get("B", [])
            start = {each.stream: each.last + 1 for each in told if isinstance(each, Delivery)}
            self.stage._do(
                "B", lambda machine: machine.subscribe(CHANNEL, chosen, start, blocks=True)
            )

    def crash(self) -> None:
        """B dies, and comes back without a memory."""
        self.stage.stop("B")
        self.stage.guard.reset("B")
        self.stage.outcomes["B"] = []
        blocker(self.stage)
        self.subscribed, self.patterns, self.held = True, "*", False

    def session(self) -> None:
        """A replica draws an incarnation, and p a session."""
        self.stage.rotate("r1")

    def cut(self, party: str, replica: str) -> None:
        self.stage.unlink(party, replica)

    def join(self, party: str, replica: str) -> None:
        self.stage.link(party, replica)

    def lose(self, parties: str) -> None:
        self.stage.drop(parties, parties)

    def heal(self) -> None:
        self.stage.heal()

    def wait(self, seconds: float) -> None:
        self.stage.run(seconds)


@pytest.mark.parametrize("scripted", ["", "r4"])
@settings(max_examples=40, deadline=None)
@given(steps=st.lists(STEPS, max_size=20))
def test_whatever_happened_all_is_delivered_once_it_is_over(
    scripted: str, steps: list[tuple[Any, ...]]
) -> None:
    play = Troubled(scripted)
    for step in steps:
        before = play.stage.read("B") if play.held else None
        play.step(*step)
        if before is not None and play.held:
            assert play.stage.read("B") == before, "nothing is delivered to who does not read"
    play.stage.heal()
    for party in ("B", "p"):
        for replica in ALL.split():
            play.stage.link(party, replica)
    if play.subscribed and play.patterns != "*":
        play.change("*")
    play.release()
    play.publish(1, Lane.NORMAL)
    play.publish(1, Lane.URGENT)
    play.stage.run(120.0)
    whole = sum(map(len, play.published.values()))
    unknown = [each for each in play.stage.outcomes["p"] if isinstance(each, OutcomeUnknown)]
    left = sum(each.last + 1 - each.first for each in unknown)  # with a session that was given up
    read = sorted(play.stage.read("S1"))
    assert whole - left <= len(read) <= whole
    if play.subscribed:
        assert sorted(play.stage.read("B")) == read
