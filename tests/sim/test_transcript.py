"""The transcript shows what happens, in a line each, the same in every run."""

from __future__ import annotations

import re

import pytest

from quorumcast.core import messages, outcomes, records
from quorumcast.core.evidence import Evidence, Weight
from quorumcast.core.ids import Incarnation, Lane, Opening, Stream
from quorumcast.core.machine import Ready, Rejection
from quorumcast.sim import wording
from quorumcast.sim.clocks import Clock
from quorumcast.sim.node import Node
from quorumcast.sim.scenario import Scenario
from quorumcast.sim.transcript import Transcript, transcribe

STREAM = Stream("alerts", "p1", bytes.fromhex("5f02") + bytes(30), Lane.NORMAL)
LIFE = Incarnation(1, 0)
ONE, TWO = b"\x01" * 32, b"\x02" * 32

SAID = {
    messages.Hello(LIFE, (LIFE,)): "HELLO, incarnation 1",
    messages.Open(STREAM, Opening("p1", 1, ()), b""): "OPEN alerts/p1/5f02",
    messages.Release(STREAM): "RELEASE alerts/p1/5f02",
    messages.Publish(STREAM, 1, (b"a", b"b")): "PUBLISH alerts/p1/5f02 1-2",
    messages.Publish(STREAM, 1, (b"a",), bytes(64)): "PUBLISH alerts/p1/5f02 1, signed",
    messages.Status(STREAM, messages.StatusCode.BLOCKED, 20): "BLOCKED alerts/p1/5f02 at 20",
    messages.Status(STREAM, messages.StatusCode.REJECTED, 2, "no"): (
        "REJECTED alerts/p1/5f02 at 2: no"
    ),
    messages.Credit(STREAM, 64): "CREDIT alerts/p1/5f02 to 64",
    messages.HeldUpTo(STREAM, 5, ONE): "HELD alerts/p1/5f02 to 5 [0101]",
    messages.Held(STREAM, 4, ONE + TWO): "HELD alerts/p1/5f02 4-5 [0101 0202]",
    messages.Held(STREAM, 1, ONE * 9): "HELD alerts/p1/5f02 1-9 [0101 0101 0101 and 6 more]",
    messages.ReadyUpTo(STREAM, 5, TWO): "READY alerts/p1/5f02 to 5 [0202]",
    messages.ConfirmedUpTo(STREAM, 5, TWO): "CONFIRMED alerts/p1/5f02 to 5 [0202]",
    messages.FloorAt(STREAM, 5, TWO, True): "FLOOR alerts/p1/5f02 to 5 [0202]",
    messages.AskOpening(STREAM): "which opening has alerts/p1/5f02?",
    messages.OpeningOf(STREAM, Opening("p1", 1, ()), b""): "opening of alerts/p1/5f02",
    messages.AskVotes(STREAM, 3): "votes of alerts/p1/5f02 from 3?",
    messages.AskConfirmed(STREAM, 3): "confirmed alerts/p1/5f02 at 3?",
    messages.AskDigests(STREAM, 3, 4): "digests of alerts/p1/5f02 3-4?",
    messages.Digests(STREAM, 3, ONE): "digests alerts/p1/5f02 3 [0101]",
    messages.AskBodies(STREAM, 3, ONE): "bodies of alerts/p1/5f02 3 [0101]?",
    messages.Bodies(STREAM, 3, (b"a",)): "bodies alerts/p1/5f02 3",
    messages.AskHeads("alerts", 3): "heads of alerts since 3?",
    messages.Heads("alerts", 7, (), False): "HEADS alerts at 7: nothing new",
    messages.Heads("alerts", 7, (messages.Head(STREAM, 0, 12, 10),), False): (
        "HEADS alerts at 7: alerts/p1/5f02 to 12"
    ),
    messages.Subscribe("alerts", 2, ("p*",), 0, 64): "SUBSCRIBE alerts v2 p*",
    messages.Subscribe("alerts", 2, ("p*",), 0, 64, True): "SUBSCRIBE alerts v2 p* and blocks",
    messages.Follow(STREAM, 2, 1, 64): "FOLLOW alerts/p1/5f02 v2 1 to 64",
    messages.Unsubscribe("alerts", 3): "UNSUBSCRIBE alerts v3",
    messages.SubscribeStatus("alerts", 2, True): "subscription alerts v2 in force",
    messages.SubscribeStatus("alerts", 2, False, "no"): "subscription alerts v2 refused: no",
    messages.CharterAt(7, bytes(32)): "charter, version 7",
    messages.CharterIs(b"abc"): "charter of 3 bytes",
    messages.AskReport(): "report?",
    messages.Report(b"{}"): "report of 2 bytes",
}


@pytest.mark.parametrize(("message", "text"), SAID.items(), ids=lambda each: type(each).__name__)
def test_every_message_in_words(message: messages.Message, text: str) -> None:
    assert wording.message(message) == text


def test_no_message_is_left_out() -> None:
    kinds = set(messages.Message.__args__)  # type: ignore[attr-defined]
    assert kinds == {type(message) for message in SAID}


def test_what_a_replica_stores_in_words() -> None:
    stored = {
        records.Accepted(STREAM, 1, ONE, (b"a",), b""): "votes alerts/p1/5f02 1 [0101]",
        records.Installed(STREAM, 1, TWO, (b"b",), b""): "puts in alerts/p1/5f02 1 [0202]",
        records.MadeReady(STREAM, 2, ONE, 1, b""): "READY alerts/p1/5f02 to 2 [0101]",
        records.Confirmed(STREAM, 2, ONE): "CONFIRMED alerts/p1/5f02 to 2 [0101]",
        records.Incarnated(((LIFE, 0.0),), ()): "incarnation 1",
    }
    assert [wording.record(each) for each in stored] == list(stored.values())


def test_what_users_are_told_in_words() -> None:
    told = {
        outcomes.Delivery(STREAM, 1, (b"a",), 3, False): "delivers alerts/p1/5f02 1 (3 votes)",
        outcomes.Delivery(STREAM, 1, (b"a",), 3, True): "delivers alerts/p1/5f02 1 (confirmed)",
        outcomes.Gap(STREAM, 1, 9, False): "has a gap in alerts/p1/5f02 1-9",
        outcomes.Acknowledged(STREAM, 5, 1, 5, 3, False): (
            "has 1-5 acknowledged at alerts/p1/5f02 5 by 3"
        ),
        outcomes.OutcomeUnknown("alerts", Lane.NORMAL, 4, 4): (
            "does not know the outcome of 4 on alerts"
        ),
        outcomes.Refused("alerts", Lane.NORMAL, "no", 1, 1): "is refused on alerts: no",
    }
    assert [wording.outcome(each) for each in told] == list(told.values())


def node(name: str) -> Node:
    def boot(_: Node) -> None:
        raise AssertionError("nothing runs here")

    return Node(name, name, Clock(), boot, None)  # type: ignore[arg-type]


def test_equal_words_to_several_are_one_line_with_those_they_never_reach() -> None:
    lines: list[str] = []
    transcript = Transcript(lines.append)
    publish: list[messages.Message] = [messages.Publish(STREAM, 1, (b"a",))]
    for receiver, arrival in (("r1", 105), ("r2", 104), ("r3", None)):
        transcript.sent(103, "p1", receiver, publish, arrival)
    transcript.sent(103, "p1", "r4", [messages.Release(STREAM)], None)
    transcript.turned(
        110,
        node("r1"),
        Ready(
            records=[records.Tainted(STREAM)],
            rejections=[Rejection("r4", "not a replica")],
            evidence=[
                Evidence(Weight.PROOF, frozenset({"q1"}), "signed twice", STREAM, None, None),
                Evidence(Weight.SUSPICION, frozenset({"r4", "q1"}), "differ", STREAM, None, None),
            ],
        ),
    )
    assert lines == [
        "   0.103  p1 -> r1 r2, lost: r3  PUBLISH alerts/p1/5f02 1",
        "   0.103  p1 -> nobody, lost: r4  RELEASE alerts/p1/5f02",
        "   0.110  r1 stores  alerts/p1/5f02 is tainted",
        "   0.110  r1 refuses what r4 says: not a replica",
        "   0.110  r1 has proof against q1: signed twice",
        "   0.110  r1 suspects q1, r4: differ",
    ]


def test_long_turns_are_cut_short() -> None:
    lines: list[str] = []
    transcript = Transcript(lines.append)
    transcript.sent(1, "r1", "r2", [messages.AskHeads("alerts", n) for n in range(9)], 2)
    transcript.close()
    assert lines[0].count("heads of alerts") == 6
    assert lines[0].endswith("; and 3 more")


def test_a_run_is_told_from_its_beginning_to_its_end() -> None:
    scenario = Scenario(adversary="alter", publications=8, seed=3)
    lines: list[str] = []
    report = transcribe(scenario, lines.append)
    assert report.passed
    text = "\n".join(lines)
    for part in (
        r"s1 subscribes to \* on alerts, earliest",
        r"p1 publishes \d on alerts",
        r"p1 -> r\d r\d.*PUBLISH alerts/p1/\w{4} 1",
        r", lost: r\d",
        r"r\d stores  .*votes alerts/p1/\w{4} 1",
        r"r\d alters Held",
        r"s1 delivers alerts/p1/\w{4} 1",
        r"p1 has 1.* acknowledged at alerts/p1/\w{4} \d+ by \d",
        r"the network heals",
    ):
        assert re.search(part, text), part
    assert len(lines) < 1.5 * report.deliveries, "what is said to many is one line"
    times = [float(line[:8]) for line in lines]
    assert times == sorted(times)
    assert text.count("alters") == report.adversary_actions


def test_equal_seeds_give_equal_transcripts_and_others_do_not() -> None:
    def text(seed: int) -> list[str]:
        lines: list[str] = []
        transcribe(Scenario(protocol="bracha", adversary="equivocate", seed=seed), lines.append)
        return lines

    first = text(4)
    assert first == text(4)
    assert first != text(5)


def test_crashes_and_cuts_are_told() -> None:
    lines: list[str] = []
    report = transcribe(Scenario(seed=0), lines.append)
    assert report.crashes > 0
    assert sum(line.endswith(" crashes") for line in lines) == report.crashes
    assert any("runs again" in line for line in lines)
    assert any("nothing passes from" in line for line in lines)
