"""The token bucket that limits what one party may ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.core.rates import Bucket


def test_burst_at_once_then_the_rate() -> None:
    bucket = Bucket(rate=2.0, burst=3)
    assert [bucket.take("a", 0.0) for _ in range(4)] == [True, True, True, False]
    assert [bucket.take("a", 1.0) for _ in range(3)] == [True, True, False]


def test_tokens_do_not_pile_up_beyond_the_burst() -> None:
    bucket = Bucket(rate=10.0, burst=2)
    bucket.take("a", 0.0)
    assert [bucket.take("a", 1000.0) for _ in range(3)] == [True, True, False]


def test_parties_have_buckets_of_their_own() -> None:
    bucket = Bucket(rate=1.0, burst=1)
    assert bucket.take("a", 0.0)
    assert not bucket.take("a", 0.0)
    assert bucket.take("b", 0.0)


def test_refused_question_costs_nothing() -> None:
    bucket = Bucket(rate=1.0, burst=2)
    assert not bucket.take("a", 0.0, cost=3.0)
    assert bucket.take("a", 0.0, cost=2.0)


def test_forgotten_party_begins_anew() -> None:
    bucket = Bucket(rate=1.0, burst=1)
    bucket.take("a", 0.0)
    bucket.forget("a")
    assert bucket.take("a", 0.0)


@given(st.lists(st.floats(0.0, 2.0), min_size=1, max_size=60))
def test_never_more_than_burst_and_rate_allow(pauses: list[float]) -> None:
    bucket, now, taken = Bucket(rate=3.0, burst=5), 0.0, 0
    for pause in pauses:
        now += pause
        taken += bucket.take("a", now)
    assert taken <= 5 + 3.0 * now + 1e-6


@pytest.mark.parametrize("rate", [0.5, 100.0])
def test_steady_asker_within_the_rate_is_never_refused(rate: float) -> None:
    bucket = Bucket(rate=rate, burst=1)
    assert all(bucket.take("a", number / rate * 1.001) for number in range(50))
