"""Durations and sizes as people write them: "250ms", "24h", "1GiB".

Text goes to a number and back without loss: `duration_text(parse_duration(t))` means what `t`
means, which the operator's signature over a channel's settings relies on.
"""

from __future__ import annotations

import re

from quorumcast.core.errors import ConfigError

_MICROSECONDS = {
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1000,
    "us": 1,
}
_BYTES = {
    "TiB": 2**40,
    "GiB": 2**30,
    "MiB": 2**20,
    "KiB": 2**10,
    "TB": 10**12,
    "GB": 10**9,
    "MB": 10**6,
    "kB": 10**3,
    "B": 1,
}
_NUMBER = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,6}))? ?([A-Za-z]*)")

LONGEST_SECONDS = 3650 * 86_400.0
"""Ten years: further ahead nobody means what he writes."""

LARGEST_BYTES = 2**50
"""A pebibyte: more than a host's disks hold."""


def parse_duration(text: str) -> float:
    """The seconds that a duration stands for.

    >>> parse_duration("250ms"), parse_duration("1.5h")
    (0.25, 5400.0)
    >>> parse_duration("soon")
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: "soon" is not a duration: use ... such as "250ms" or "24h"
    """
    micros = _amount(text, _MICROSECONDS)
    if micros is None:
        raise ConfigError(
            f'"{text[:40]}" is not a duration: use a number and one of us, ms, s, m, h, d, '
            'such as "250ms" or "24h"'
        )
    seconds = micros / 1_000_000
    if seconds > LONGEST_SECONDS:
        raise ConfigError(f'"{text}" is longer than ten years: use "3650d" at most')
    return seconds


def duration_text(seconds: float) -> str:
    """A duration in the largest unit that needs no fraction.

    >>> duration_text(0.25), duration_text(5400.0), duration_text(86_400.0)
    ('250ms', '90m', '1d')
    """
    return _text(round(seconds * 1_000_000), _MICROSECONDS)


def parse_size(text: str) -> int:
    """The bytes that a size stands for.

    >>> parse_size("1GiB"), parse_size("1.5 kB")
    (1073741824, 1500)
    >>> parse_size("1 Gig")
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: "1 Gig" is not a size: use ... such as "512MiB" or "1GiB"
    """
    count = _amount(text, _BYTES)
    if count is None:
        raise ConfigError(
            f'"{text[:40]}" is not a size: use a number and one of B, kB, MB, GB, TB, KiB, MiB, '
            'GiB, TiB, such as "512MiB" or "1GiB"'
        )
    if count > LARGEST_BYTES:
        raise ConfigError(f'"{text}" is more than {LARGEST_BYTES} bytes: use "1024TiB" at most')
    return count


def size_text(count: int) -> str:
    """A size in the largest binary unit that needs no fraction.

    >>> size_text(2**30), size_text(1500)
    ('1GiB', '1500B')
    """
    return _text(count, {unit: size for unit, size in _BYTES.items() if size & (size - 1) == 0})


def _amount(text: str, units: dict[str, int]) -> int | None:
    """How many of the smallest unit; None if it is not a number of units, or no whole number."""
    found = _NUMBER.fullmatch(text)
    if found is None or found[3] not in units:
        return None
    whole, fraction = found[1], found[2] or ""
    scaled = int(whole + fraction) * units[found[3]]
    amount, rest = divmod(scaled, 10 ** len(fraction))
    return None if rest else amount


def _text(amount: int, units: dict[str, int]) -> str:
    unit = next(unit for unit, size in units.items() if amount % size == 0 or size == 1)
    return f"{amount // units[unit]}{unit}"
