"""The journal answers as the model in memory does, whatever the records; and over restarts."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from quorumcast.auth.digests import Digester
from quorumcast.core.ids import FIRST, Incarnation, Opening, Position, Stream
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.records import (
    Accepted,
    Closed,
    Confirmed,
    Floored,
    Forgotten,
    Incarnated,
    Installed,
    MadeReady,
    Opened,
    ReadRange,
    ReadStream,
    ReadStreams,
    Record,
    Tainted,
)
from quorumcast.sim.store import Store, StoredStream
from tests.store.making import CLUSTER, COUNT, again, fresh, stream_of

STREAMS = [stream_of(number) for number in range(3)]
SIGNED = STREAMS[2]
KINDS = ("open accept accept accept install confirm confirm floor jump age ready taint close") + (
    " forget live reopen"
)


class Oracle:
    """The model, and what was voted for."""

    def __init__(self) -> None:
        self.store = Store(CLUSTER)
        self.store.life = Incarnated(((FIRST, 0.0),), (FIRST,) * COUNT)
        self.bodies: dict[tuple[Stream, int], bytes] = {}
        """What stands, or stood, at a position, with its body."""

    def commit(self, records: list[Record]) -> None:
        self.store.apply(records)
        for record in records:
            if isinstance(record, (Accepted, Installed)):
                for index, body in enumerate(record.bodies):
                    self.bodies[record.stream, record.first + index] = body

    def restart(self) -> None:
        """Bodies go: what is confirmed is a floor, votes above it are pledged."""
        self.store.apply(self.store.without_bodies())
        self.store.strip()


class Story:
    """Draws records that a replica could write, and compares."""

    def __init__(self, data: st.DataObject, path: Path) -> None:
        self.data = data
        self.path = path
        self.oracle = Oracle()
        self.journal = fresh(path)

    def draw(self, low: int, high: int) -> int:
        return self.data.draw(st.integers(low, max(low, high)))

    def known(self) -> StoredStream | None:
        streams = list(self.oracle.store.streams.values())
        return self.data.draw(st.sampled_from(streams)) if streams else None

    def step(self) -> None:
        records: list[Record] = []
        for _ in range(self.draw(1, 3)):
            kind = self.data.draw(st.sampled_from(KINDS.split()))
            if kind == "reopen":
                self.commit(records)
                records = []
                self.journal.close()
                self.journal = again(self.path)
                self.oracle.restart()
                continue
            made = self.make(kind)
            self.oracle.commit(made)  # what comes next in this commit depends on it
            records += made
        self.commit(records)
        self.compare()

    def commit(self, records: list[Record]) -> None:
        self.journal.commit(records)

    def make(self, kind: str) -> list[Record]:
        if kind == "open":
            stream = self.data.draw(st.sampled_from(STREAMS))
            certificate = bytes([self.draw(0, 3)]) * 40
            return [Opened(stream, Opening("p1", self.draw(0, 9), (FIRST,) * 4), certificate)]
        if kind == "live":
            life = (Incarnation(self.draw(1, 99), 5), 1.5)
            return [Incarnated((life,), (FIRST,) * COUNT)]
        stored = self.known()
        if stored is None:
            return []
        stream = stored.stream
        marks: dict[str, list[Record]] = {
            "taint": [Tainted(stream)],
            "close": [Closed(stream)],
            "forget": [Forgotten(stream)],
        }
        if kind in marks:
            return marks[kind]
        return getattr(self, kind)(stored)

    def run(self, stream: Stream, first: int, *, anew: bool) -> tuple[bytes, tuple[bytes, ...]]:
        """Bodies with digests; what was voted for already, unless it is installed anew."""
        bodies: list[bytes] = []
        for position in range(first, first + self.draw(1, 4)):
            body = self.oracle.bodies.get((stream, position), b"")
            if anew or position not in self.oracle.store.streams[stream].slots:
                body = bytes([self.draw(0, 2)]) * self.draw(1, 40)
            bodies.append(body)
        return Digester(CLUSTER, stream).digests(first, bodies), tuple(bodies)

    def accept(self, stored: StoredStream) -> list[Record]:
        first = self.draw(max(1, stored.head - 2), stored.head + 3)
        digests, bodies = self.run(stored.stream, first, anew=False)
        return [Accepted(stored.stream, first, digests, bodies, self.sign(stored, bodies))]

    def install(self, stored: StoredStream) -> list[Record]:
        low = max(stored.confirmed.seq, stored.base.seq) + 1
        first = self.draw(low, stored.head + 2)
        digests, bodies = self.run(stored.stream, first, anew=True)
        return [Installed(stored.stream, first, digests, bodies, self.sign(stored, bodies))]

    def sign(self, stored: StoredStream, bodies: tuple[bytes, ...]) -> bytes:
        if stored.stream != SIGNED:
            return b""
        return b"".join([bytes([self.draw(1, 9)]) * 64 for _ in bodies])

    def confirm(self, stored: StoredStream) -> list[Record]:
        low = max(stored.confirmed.seq, stored.base.seq)
        if low > stored.head:
            return []
        position = self.draw(low, stored.head)
        return [Confirmed(stored.stream, position, stored.chain(position))]

    def floor(self, stored: StoredStream) -> list[Record]:
        position = self.draw(0, min(stored.confirmed.seq, stored.head))
        chain = stored.chain(position) if position >= stored.base.seq else bytes(32)
        return [Floored(stored.stream, position, chain, confirmed=True)]

    def jump(self, stored: StoredStream) -> list[Record]:
        """A floor of others, above what this replica confirmed."""
        place = Position(max(stored.confirmed.seq, stored.head) + self.draw(0, 2), b"j" * 32)
        if place.seq <= stored.confirmed.seq:
            return []
        return [
            Confirmed(stored.stream, *place),
            Floored(stored.stream, *place, confirmed=True),
        ]

    def age(self, stored: StoredStream) -> list[Record]:
        position = self.draw(1, stored.head + 1)
        return [Floored(stored.stream, position, bytes(32), confirmed=False)]

    def ready(self, stored: StoredStream) -> list[Record]:
        first = stored.confirmed.seq + 1
        position = self.draw(first, stored.head + 2)
        digests = self.data.draw(st.sampled_from([b"", b"r" * D * (position + 1 - first)]))
        return [MadeReady(stored.stream, position, b"k" * 32, first, digests)]

    def compare(self) -> None:
        store, journal = self.oracle.store, self.journal
        assert journal.life == store.life
        for page in (ReadStreams(0, 10), ReadStreams(1, 1), ReadStreams(2, 5)):
            assert journal.read(page) == store.read(page)
        for stream in STREAMS:
            assert journal.read(ReadStream(stream)) == store.read(ReadStream(stream))
            first = self.draw(1, 12)
            for most in (0, 30, 10**6):
                request = ReadRange(stream, first, first + self.draw(0, 9), most)
                assert journal.read(request) == store.read(request)


@given(st.data())
@settings(max_examples=250)
def test_the_journal_answers_as_the_model_does(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        story = Story(data, Path(folder) / "journal")
        for _ in range(story.draw(1, 12)):
            story.step()
        story.journal.close()
