"""Channels of all kinds, as a file can describe them."""

from __future__ import annotations

from hypothesis import strategies as st

from quorumcast.core.channel import Channel, Retention
from quorumcast.events.schema import Schema
from quorumcast.runtime.channels import COUNT, ChannelSettings, Queue

NAMES = st.from_regex(r"[a-zA-Zäß0-9.\"'\\#=_-]{1,12}", fullmatch=True)
PATTERNS = st.from_regex(r"[a-z0-9*?\[\]!_-]{1,8}", fullmatch=True)
LISTS = st.lists(PATTERNS, max_size=4, unique=True).map(tuple)
COUNTS = st.integers(0, COUNT)
SIZES = st.integers(1, 2**50)
SCHEMAS = st.dictionaries(
    st.from_regex(r"a_[a-z0-9_]{1,8}", fullmatch=True),
    st.sampled_from(["bool", "int8", "int64", "float64", "string", "binary", "timestamp"]),
    max_size=4,
).map(Schema.parse)


def durations(most_seconds: int) -> st.SearchStrategy[float]:
    return st.integers(1, most_seconds * 1_000_000).map(lambda micros: micros / 1_000_000)


@st.composite
def channels(draw: st.DrawFn, *, lab: bool = False) -> Channel:
    protocol = draw(st.sampled_from(["ab", "bracha", "plain"]))
    confirm = not lab or protocol == "bracha" or draw(st.booleans())
    timing = {
        "alpha": draw(st.integers(1, 32_768)),
        "within_seconds": draw(durations(3600)),
    }
    return Channel(
        draw(NAMES),
        protocol=protocol,
        confirm=confirm,
        **(timing if confirm else {}),
        deliver=draw(st.sampled_from(["safe", "first"])) if protocol == "plain" else "safe",
        publishers=draw(LISTS),
        subscribers=draw(LISTS),
        trusted_subscribers=draw(LISTS),
        max_publishers=draw(COUNTS),
        max_subscribers=draw(COUNTS),
        signed=draw(st.booleans()),
        retention=Retention(
            draw(st.integers(1, COUNT)), draw(durations(3650 * 86_400)), draw(SIZES)
        ),
    )


@st.composite
def all_settings(draw: st.DrawFn, *, lab: bool = False) -> ChannelSettings:
    channel = draw(channels(lab=lab))
    trusted = channel.trusted_subscribers
    policies = ["lag", "drop-oldest", "drop-newest", *(["block"] if trusted else [])]
    return ChannelSettings(
        channel,
        schema=draw(SCHEMAS),
        queue=Queue(draw(st.integers(1, COUNT)), draw(st.sampled_from(policies))),
        on_gap=draw(st.sampled_from(["fail", "continue"])),
        ttl_seconds=draw(st.none() | durations(3650 * 86_400)),
    )


def several(*, lab: bool = False) -> st.SearchStrategy[tuple[ChannelSettings, ...]]:
    lists = st.lists(all_settings(lab=lab), max_size=4, unique_by=lambda each: each.name)
    return lists.map(tuple)
