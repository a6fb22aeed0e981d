"""Publications as they come: in order, once, within the limit, and signed where they must be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.auth.signatures import check_proof
from quorumcast.broadcast import context
from quorumcast.broadcast import intake as module
from quorumcast.core.evidence import Weight
from quorumcast.core.records import Accepted
from tests.broadcast.cast import OPERATOR, Bench, stored


def test_what_is_next_is_voted_for_and_what_was_is_not_again() -> None:
    bench = Bench()
    bench.publish("abc")
    bench.publish("abcd")
    bench.publish("bc", first=2)
    records = stored(bench.turn(), Accepted)
    assert [(each.first, each.bodies) for each in records] == [
        (1, (b"a", b"b", b"c")),
        (4, (b"d",)),
    ]


def test_what_comes_early_waits_for_its_predecessors() -> None:
    bench = Bench()
    bench.publish("cd", first=3)
    assert not bench.turn().records
    assert not bench.intake.idle
    bench.publish("a")
    assert bench.stream.head == 1
    bench.publish("b", first=2)
    assert bench.stream.head == 4
    assert bench.intake.idle
    assert bench.stream.path.run(1, 4) == bench.digests("abcd")


@given(st.permutations([(1, "abc"), (4, "de"), (6, "f"), (7, "gh"), (2, "bcd")]))
def test_any_order_gives_the_same_votes(parts: list[tuple[int, str]]) -> None:
    bench = Bench()
    for first, text in parts:
        assert bench.publish(text, first=first) is None
    assert bench.stream.path.run(1, 8) == bench.digests("abcdefgh")
    assert bench.intake.idle
    assert not bench.context.early


def test_nothing_above_the_limit_is_taken_nor_kept() -> None:
    bench = Bench()
    bench.publish("abcdef", limit=4)
    assert bench.stream.head == 4
    bench.publish("z", first=9, limit=4)
    bench.publish("fg", first=6, limit=6)
    assert list(bench.intake._early) == [6]


def test_early_bodies_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "EARLY_BYTES", 10)
    bench = Bench()
    for first in range(2, 200):
        bench.publish("x", first=first)
    assert len(bench.intake._early) == 5
    bench.publish("a")
    assert bench.stream.head == 6
    assert not bench.context.early


def test_early_bodies_without_a_byte_are_bounded_by_the_limit() -> None:
    bench = Bench()
    for first in range(2, 100):
        bench.intake.publish(module.Publish(bench.id, first, (b"",)), limit=bench.stream.limit)
    assert len(bench.intake._early) <= bench.channel.window


def test_what_waited_and_was_adopted_meanwhile_is_dropped() -> None:
    bench = Bench()
    bench.publish("b", first=2)
    bench.stream.vote(bench.digests("ax"), [b"a", b"x"], b"")
    bench.publish("c", first=3)
    assert bench.intake.idle
    assert not bench.context.early
    assert bench.stream.path.run(1, 3) == bench.digests("axc")


# -- a publisher that lies -------------------------------------------------------------------------


def test_another_content_for_an_id_is_noted_and_changes_nothing() -> None:
    bench = Bench()
    bench.publish("abc")
    bench.turn()
    bench.publish("axc")
    ready = bench.turn()
    assert not ready.records
    (evidence,) = ready.evidence
    assert evidence.weight is Weight.LOCAL
    assert evidence.parties == {"probe"}
    assert bench.stream.path.run(1, 3) == bench.digests("abc")


def test_a_liar_repeats_itself_and_the_report_does_not() -> None:
    bench = Bench()
    bench.publish("a")
    for _ in range(50):
        bench.publish("x")
    assert len(bench.turn().evidence) == 8


def test_two_signed_contents_are_a_proof_for_anybody() -> None:
    bench = Bench(signed=True)
    bench.publish("ab", signatures=bench.signatures("ab"))
    bench.publish("ax", signatures=bench.signatures("ax"))
    (evidence,) = bench.turn().evidence
    assert evidence.weight is Weight.PROOF
    assert check_proof(evidence, bench.cluster)


def test_an_unsigned_second_content_proves_nothing() -> None:
    """Anybody could have made it up."""
    bench = Bench(signed=True)
    bench.publish("ab", signatures=bench.signatures("ab"))
    bench.publish("ax", signatures=bench.signatures("ax", by=OPERATOR))
    assert not bench.turn().evidence


@pytest.mark.parametrize("signatures", [b"", b"s" * 64, b"s" * 128, b"s" * 192])
def test_without_its_publishers_signature_nothing_is_taken(signatures: bytes) -> None:
    bench = Bench(signed=True)
    assert bench.publish("ab", signatures=signatures) is not None
    assert not bench.turn().records
    assert bench.stream.head == 0


def test_a_signature_for_another_position_does_not_serve() -> None:
    bench = Bench(signed=True)
    fault = bench.publish("aa", signatures=bench.signatures("a") * 2)
    assert fault is not None
    assert "position 2" in fault
    assert bench.stream.head == 0


def test_an_early_body_with_a_false_signature_is_thrown_away_when_its_turn_comes() -> None:
    bench = Bench(signed=True)
    bench.publish("b", first=2, signatures=b"s" * 64)
    assert bench.publish("a", signatures=bench.signatures("a")) is not None
    assert bench.stream.head == 1
    assert bench.intake.idle
    assert bench.publish("b", first=2, signatures=bench.signatures("b", 2)) is None
    assert bench.stream.head == 2


def test_signatures_on_an_unsigned_channel_are_not_kept() -> None:
    bench = Bench()
    bench.publish("ab", signatures=b"s" * 128)
    assert stored(bench.turn(), Accepted)[0].signatures == b""
