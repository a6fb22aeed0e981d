"""Any message, drawn by Hypothesis: for each type every field over its whole range."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy, binary, booleans, builds, integers

from quorumcast.core import messages as m
from quorumcast.core.ids import Incarnation, Lane, Opening, Stream

LAST = 2**63 - 1

_utf8 = st.characters(codec="utf-8")


def _text(least: int, most: int) -> SearchStrategy[str]:
    texts = st.text(_utf8, min_size=least, max_size=most)
    return texts.filter(lambda text: len(text.encode()) <= most)


def _several(values: SearchStrategy[Any], most: int = 5) -> SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, max_size=most).map(tuple)


u64 = integers(0, 2**64 - 1)
numbers = integers(0, LAST)
positions = integers(1, LAST)
names = st.one_of(_text(1, 20), _text(1, 128))
digests = binary(min_size=32, max_size=32)
reasons = _text(0, 512)
certificates = binary(max_size=1024)
streams = builds(Stream, names, names, digests, st.sampled_from(Lane))
incarnations = builds(Incarnation, u64, u64)
openings = builds(Opening, names, u64, _several(incarnations, 64))
heads = builds(m.Head, streams, numbers, numbers, numbers)


def _filled(size: int, fill: int) -> bytes:
    return bytes((fill,)) * size


_large = builds(_filled, integers(1020, 3000), integers(0, 255))
bodies = st.one_of(binary(max_size=80), _large)


@st.composite
def _runs(draw: st.DrawFn, type_: Any, *, digests_only: bool, signed: bool) -> Any:
    count = draw(integers(1, 6))
    stream, first = draw(streams), draw(integers(1, LAST - count + 1))
    if digests_only:
        content: Any = draw(binary(min_size=32 * count, max_size=32 * count))
    else:
        content = tuple(draw(st.lists(bodies, min_size=count, max_size=count)))
    if signed and draw(booleans()):
        return type_(stream, first, content, draw(binary(min_size=1, max_size=1)) * 64 * count)
    return type_(stream, first, content)


def _floor(stream: Stream, position: int, chain: bytes, confirmed: bool) -> m.FloorAt:
    return m.FloorAt(stream, position, chain if confirmed else bytes(32), confirmed)


def _range(stream: Stream, first: int, count: int) -> m.AskDigests:
    return m.AskDigests(stream, first, min(LAST, first + count - 1))


MESSAGES: dict[type[Any], SearchStrategy[Any]] = {
    m.Hello: builds(m.Hello, incarnations, _several(incarnations, 64)),
    m.Open: builds(m.Open, streams, openings, certificates),
    m.Release: builds(m.Release, streams),
    m.Publish: _runs(m.Publish, digests_only=False, signed=True),
    m.Status: builds(m.Status, streams, st.sampled_from(m.StatusCode), numbers, reasons),
    m.Credit: builds(m.Credit, streams, numbers),
    m.HeldUpTo: builds(m.HeldUpTo, streams, positions, digests),
    m.Held: _runs(m.Held, digests_only=True, signed=True),
    m.ReadyUpTo: builds(m.ReadyUpTo, streams, positions, digests),
    m.ConfirmedUpTo: builds(m.ConfirmedUpTo, streams, positions, digests),
    m.FloorAt: builds(_floor, streams, positions, digests, booleans()),
    m.AskOpening: builds(m.AskOpening, streams),
    m.OpeningOf: builds(m.OpeningOf, streams, openings, certificates),
    m.AskVotes: builds(m.AskVotes, streams, positions),
    m.AskConfirmed: builds(m.AskConfirmed, streams, positions),
    m.AskDigests: builds(_range, streams, positions, integers(1, 65_536)),
    m.Digests: _runs(m.Digests, digests_only=True, signed=False),
    m.AskBodies: _runs(m.AskBodies, digests_only=True, signed=False),
    m.Bodies: _runs(m.Bodies, digests_only=False, signed=True),
    m.AskHeads: builds(m.AskHeads, names, numbers),
    m.Heads: builds(m.Heads, names, numbers, _several(heads), booleans()),
    m.Subscribe: builds(
        m.Subscribe, names, numbers, _several(names, 64), numbers, numbers, booleans()
    ),
    m.Follow: builds(m.Follow, streams, numbers, positions, numbers),
    m.Unsubscribe: builds(m.Unsubscribe, names, numbers),
    m.SubscribeStatus: builds(m.SubscribeStatus, names, numbers, booleans(), reasons),
    m.CharterAt: builds(m.CharterAt, numbers, digests),
    m.CharterIs: builds(m.CharterIs, binary(max_size=300)),
    m.AskReport: builds(m.AskReport),
    m.Report: builds(m.Report, binary(max_size=300)),
}

any_message = st.one_of(*MESSAGES.values())
