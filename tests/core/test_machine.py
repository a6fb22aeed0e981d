"""The outbox hands each turn out once; the agenda keeps one time per key."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quorumcast.core.evidence import Evidence, Weight
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.machine import Agenda, Out, Ready, Rejection
from quorumcast.core.messages import AskOpening
from quorumcast.core.records import ReadStream, Tainted

STREAM = Stream("alerts", "probe-7", bytes(32), Lane.NORMAL)


def test_a_turn_holds_everything_that_was_noted_in_its_order() -> None:
    out = Out()
    asked, other = AskOpening(STREAM), AskOpening(STREAM._replace(lane=Lane.URGENT))
    suspicion = Evidence(Weight.SUSPICION, frozenset({"r4"}), "why", None, None, None)
    out.record(Tainted(STREAM))
    out.send("r1", asked)
    out.send("r2", asked)
    out.send("r1", other)
    out.read(ReadStream(STREAM))
    out.deliver("delivery")
    out.acknowledge("acknowledgement")
    out.reject("r4", "no")
    out.accuse(suspicion)
    ready = out.take(2.5)
    assert ready.records == [Tainted(STREAM)]
    assert ready.messages == {"r1": [asked, other], "r2": [asked]}
    assert ready.reads == [ReadStream(STREAM)]
    assert ready.deliveries == ["delivery"]
    assert ready.acknowledgements == ["acknowledgement"]
    assert ready.timer == 2.5
    assert ready.rejections == [Rejection("r4", "no")]
    assert ready.evidence == [suspicion]


def test_a_turn_is_handed_out_once() -> None:
    out = Out()
    out.send("r1", AskOpening(STREAM))
    out.record(Tainted(STREAM))
    out.reject("r4", "no")
    first = out.take(1.0)
    assert out.take(None) == Ready()
    out.send("r2", AskOpening(STREAM))
    assert list(first.messages) == ["r1"]  # what was handed out does not change any more
    assert list(out.take(None).messages) == ["r2"]


def test_two_outboxes_share_nothing() -> None:
    one, other = Out(), Out()
    one.deliver("x")
    one.send("r1", AskOpening(STREAM))
    assert other.take(None) == Ready()


def test_keys_come_out_once_their_time_has_come_earliest_first() -> None:
    agenda = Agenda()
    for key, time in (("c", 3.0), ("a", 1.0), ("b", 2.0)):
        agenda.set(key, time)
    assert agenda.next == 1.0
    assert agenda.due(0.5) == []
    assert agenda.due(2.0) == ["a", "b"]
    assert agenda.due(2.0) == []
    assert agenda.next == 3.0
    assert agenda.due(9.0) == ["c"]
    assert agenda.next is None


def test_equal_times_come_out_in_the_order_in_which_they_were_set() -> None:
    agenda = Agenda()
    for key in ("b", "a", "c"):
        agenda.set(key, 1.0)
    assert agenda.due(1.0) == ["b", "a", "c"]


def test_a_key_has_one_time_the_last_one_set() -> None:
    agenda = Agenda()
    agenda.set("k", 1.0)
    agenda.set("k", 5.0)
    assert agenda.time("k") == 5.0
    assert agenda.next == 5.0
    assert agenda.due(4.0) == []
    agenda.set("k", 2.0)
    assert agenda.due(9.0) == ["k"]
    assert agenda.due(9.0) == []


def test_soon_only_brings_forward() -> None:
    agenda = Agenda()
    agenda.soon("k", 3.0)
    agenda.soon("k", 5.0)
    assert agenda.time("k") == 3.0
    agenda.soon("k", 2.0)
    assert agenda.time("k") == 2.0


def test_what_is_cancelled_does_not_come() -> None:
    agenda = Agenda()
    agenda.set("k", 1.0)
    agenda.cancel("k")
    agenda.cancel("never set")
    assert agenda.time("k") is None
    assert agenda.next is None
    assert agenda.due(9.0) == []
    agenda.set("k", 2.0)
    assert agenda.due(9.0) == ["k"]


def test_keys_need_no_order_among_them() -> None:
    agenda = Agenda()
    for key in ("text", 7, ("a", 1), STREAM):
        agenda.set(key, 1.0)
    assert agenda.due(1.0) == ["text", 7, ("a", 1), STREAM]


def test_times_that_keep_moving_do_not_pile_up() -> None:
    agenda = Agenda()
    for step in range(10_000):
        agenda.set("k", float(step))
        agenda.set("j", -float(step))
    assert len(agenda._heap) <= 64 + 4 * 2
    assert agenda.due(9_999.0) == ["j", "k"]


calls = st.lists(
    st.tuples(
        st.sampled_from(("set", "soon", "cancel", "due")),
        st.sampled_from("abc"),
        st.integers(0, 5).map(float),
    ),
    max_size=60,
)


@given(calls)
def test_the_agenda_does_what_a_plain_dictionary_would(
    steps: list[tuple[str, str, float]],
) -> None:
    agenda, model = Agenda(), dict[str, float]()
    for call, key, time in steps:
        if call == "set":
            agenda.set(key, time)
            model[key] = time
        elif call == "soon":
            agenda.soon(key, time)
            model[key] = min(time, model.get(key, time))
        elif call == "cancel":
            agenda.cancel(key)
            model.pop(key, None)
        else:
            ready = sorted((when, which) for which, when in model.items() if when <= time)
            found = agenda.due(time)
            assert sorted(found) == sorted(which for _, which in ready)
            assert [model[which] for which in found] == [when for when, _ in ready]
            for which in found:
                del model[which]
        assert agenda.next == min(model.values(), default=None)
        assert all(agenda.time(which) == model.get(which) for which in "abc")


def test_a_cancelled_time_does_not_come_back_when_it_is_set_again() -> None:
    agenda = Agenda()
    agenda.set("k", 1.0)
    agenda.set("j", 1.0)
    agenda.cancel("k")
    agenda.set("k", 1.0)
    assert agenda.due(1.0) == ["j", "k"]


def test_setting_and_cancelling_for_ever_keeps_nothing() -> None:
    agenda = Agenda()
    for _ in range(2000):
        agenda.set("k", 1.0)
        agenda.cancel("k")
    assert len(agenda._heap) < 100
    assert agenda.next is None
