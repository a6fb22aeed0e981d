"""Durations and sizes go to numbers and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.core.errors import ConfigError
from quorumcast.runtime.units import (
    LARGEST_BYTES,
    LONGEST_SECONDS,
    duration_text,
    parse_duration,
    parse_size,
    size_text,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("250ms", 0.25),
        ("1us", 0.000_001),
        ("0.5 s", 0.5),
        ("90s", 90.0),
        ("10m", 600.0),
        ("24h", 86_400.0),
        ("1.5d", 129_600.0),
        ("3650d", LONGEST_SECONDS),
        ("0s", 0.0),
    ],
)
def test_a_duration(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1GiB", 2**30),
        ("512MiB", 2**29),
        ("1.5KiB", 1536),
        ("10 MB", 10_000_000),
        ("2kB", 2000),
        ("7B", 7),
        ("1024TiB", LARGEST_BYTES),
    ],
)
def test_a_size(text: str, count: int) -> None:
    assert parse_size(text) == count


@pytest.mark.parametrize(
    "text",
    ["", "5", "ms", "-5s", "5 minutes", "5S", "1e3s", "0.1us", "5ss", " 5s", "1.s", ".5s", "٣s"],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a duration: use a number and one of us, ms"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["", "5", "GiB", "-1B", "1gib", "1Gig", "0.5B", "1KB", "1 G iB"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a size: use a number and one of B, kB"):
        parse_size(text)


def test_too_much() -> None:
    with pytest.raises(ConfigError, match="longer than ten years"):
        parse_duration("3651d")
    with pytest.raises(ConfigError, match="is more than"):
        parse_size("1025TiB")


@given(st.integers(0, round(LONGEST_SECONDS) * 1_000_000))
def test_every_duration_comes_back(micros: int) -> None:
    seconds = micros / 1_000_000
    assert parse_duration(duration_text(seconds)) == seconds


@given(st.integers(0, LARGEST_BYTES))
def test_every_size_comes_back(count: int) -> None:
    assert parse_size(size_text(count)) == count
