"""What a replica takes from publishers: rights, sessions, credit, statuses.

Upon OPEN: check the name, the session's hash, the rights, and the limits; answer with the status,
what is held, and credit. OPEN is idempotent: it is how a publisher resumes after a lost link.
Upon PUBLISH: take what is next, within credit; say WAIT (no share left, or a trusted subscriber
lets publishers wait), BLOCKED (2α) or REJECTED.

Shares are fair between publishers: the bytes in flight at a channel are divided by those who have
any, so that a flooder fills its own part alone. An urgent lane shares its publisher's part.
"""

from __future__ import annotations

from quorumcast.broadcast.context import Context
from quorumcast.broadcast.notes import Said
from quorumcast.broadcast.stream import ReplicaStream
from quorumcast.broker.blocking import Blocking
from quorumcast.broker.shelf import Entry, Shelf
from quorumcast.core.ids import Lane, Party, Stream
from quorumcast.core.limits import (
    PUBLISHERS_IN_FLIGHT,
    SESSION_QUIET_SECONDS,
    SESSIONS_UNCONFIRMED,
    SHARE_BYTES,
    SHARE_LEAST_BYTES,
    STREAMS_PER_CHANNEL,
    STREAMS_PER_PUBLISHER,
)
from quorumcast.core.messages import (
    ConfirmedUpTo,
    Credit,
    HeldUpTo,
    Open,
    Publish,
    Status,
    StatusCode,
)

WAITS = "a trusted subscriber lets the channel wait"
"""Why a publisher gets no more credit. Whose doing it is does not concern publishers."""


class Admission:
    """The publishers of one channel at a replica."""

    def __init__(self, context: Context, shelf: Shelf, blocking: Blocking) -> None:
        self._context = context
        self._shelf = shelf
        self._blocking = blocking
        self._flight: dict[Party, int] = {}
        """Bytes of bodies voted for and not confirmed, by publisher; none are zero."""
        self._counted: dict[Stream, int] = {}
        self._unconfirmed: dict[tuple[Party, Lane], dict[Stream, None]] = {}
        self._present: dict[Party, dict[Stream, None]] = {}
        """The streams that publishers opened on the link that they have: only in these is anything
        taken from them, for only OPEN is checked against rights and limits."""

    # -- opening -------------------------------------------------------------------------------

    def refusal(self, sender: Party, message: Open) -> str | None:
        """Why this OPEN can never be accepted, if so."""
        stream, opening = message.stream, message.opening
        channel = self._context.channel
        if stream.publisher != sender or opening.publisher != sender:
            return "a publisher opens streams under its own name only"
        if not channel.admits_publisher(sender):
            return f"{sender} may not publish on {channel.name}"
        key = self._shelf.sign_key(stream, message.certificate)
        if key is None:
            return f"{channel.name} is signed, and the certificate does not serve"
        if len(opening.incarnations) != len(self._context.cluster.replicas):
            return "the opening does not name every replica"
        if not self._shelf.names(stream, opening, key):
            return "the session is not the hash of its opening in this epoch"
        return None

    def full(self, sender: Party, stream: Stream) -> str | None:
        """Why a new stream has to wait, if so."""
        shelf, channel = self._shelf, self._context.channel
        entry = shelf.entries.get(stream)
        if entry is not None and entry.stored:
            return None
        if shelf.per_publisher.get(sender, 0) >= STREAMS_PER_PUBLISHER:
            return f"{sender} has {STREAMS_PER_PUBLISHER} sessions here; wait for retention"
        if len(shelf.entries) >= STREAMS_PER_CHANNEL:
            return f"{channel.name} has {STREAMS_PER_CHANNEL} sessions; wait for retention"
        most = channel.max_publishers
        if most and sender not in self._present and len(self._present) >= most:
            return f"{channel.name} takes {most} publishers, and has them"
        return None

    def opened(self, entry: Entry, active: ReplicaStream) -> None:
        """Answer an OPEN: where the stream stands here, and how much may be sent."""
        stream, out = active.stream, self._context.out
        publisher = stream.publisher
        self._enter(stream)
        if active.closed:
            out.send(publisher, Status(stream, StatusCode.CLOSED, active.head, "aged out"))
        elif active.abstains:
            reason = "the session names an earlier incarnation"
            out.send(publisher, Status(stream, StatusCode.WAIT, active.head, reason))
        elif self._stopped(entry, active.head):
            out.send(publisher, Status(stream, StatusCode.WAIT, active.head, WAITS))
            self._blocking.remind(entry)
        else:
            out.send(publisher, Status(stream, StatusCode.OK, active.head))
        active.said = Said(0)
        self.acknowledge(entry, active)

    def learn(self) -> None:
        """Rights changed: who lost his is told, and nothing more is taken from him."""
        channel, entries = self._context.channel, self._shelf.entries
        publishers = {stream.publisher for stream in entries}
        barred = {each for each in publishers if not channel.admits_publisher(each)}
        for publisher in barred:
            self._present.pop(publisher, None)
        for entry in entries.values():
            if entry.active is not None and entry.stream.publisher in barred:
                self._bar(entry.active, f"{entry.stream.publisher} may not publish on ")

    def end(self) -> None:
        """The channel is gone: its publishers are told."""
        self._present.clear()
        for entry in self._shelf.entries.values():
            if entry.active is not None:
                self._bar(entry.active, "there is no channel ")

    def _bar(self, active: ReplicaStream, why: str) -> None:
        publisher = active.stream.publisher
        if publisher in self._context.replicas.live:
            reason = why + self._context.channel.name
            said = Status(active.stream, StatusCode.REJECTED, active.head, reason)
            self._context.out.send(publisher, said)

    # -- publishing ----------------------------------------------------------------------------

    def publish(self, entry: Entry, active: ReplicaStream, message: Publish) -> None:
        """Take a run of publications from the stream's publisher."""
        assert entry.intake is not None
        stream, out = message.stream, self._context.out
        publisher = stream.publisher
        if not self._is_open(stream):
            self._turn_away(active)
            return
        if active.closed:
            out.send(publisher, Status(stream, StatusCode.CLOSED, active.head, "aged out"))
            return
        if not active.votes_here or active.tainted:
            return
        last = message.first + len(message.bodies) - 1
        head, limit = active.head, self._through(entry, active)
        fault = entry.intake.publish(message, limit)
        if fault is not None:
            out.send(publisher, Status(stream, StatusCode.REJECTED, active.head, fault))
            out.reject(publisher, fault)
        elif last > limit:
            blocked = limit >= active.limit
            code = StatusCode.BLOCKED if blocked else StatusCode.WAIT
            reason = WAITS if not blocked and self._stopped(entry, limit) else ""
            out.send(publisher, Status(stream, code, limit, reason))
            active.said.credit = min(active.said.credit, limit)  # the publisher does the same
        if active.head == head and last <= head:  # a repetition: its answer may be lost
            active.said.held = active.said.confirmed = 0
            active.touch()
        self.count(active)

    def _through(self, entry: Entry, active: ReplicaStream) -> int:
        """The highest position that this replica takes from the publisher now."""
        through, stop = self._room(active), self._blocking.limit(entry)
        return through if stop is None else min(through, max(stop, active.head))

    def _stopped(self, entry: Entry, limit: int) -> bool:
        """Whether it is a subscriber that lets the publisher wait at this limit."""
        stop = self._blocking.limit(entry)
        return stop is not None and stop <= limit

    def _room(self, active: ReplicaStream) -> int:
        """How far the publisher's share, its sessions and the 2α limit let it."""
        if not active.votes_here or active.tainted:
            return 0
        publisher = active.stream.publisher
        if not self._is_open(active.stream):
            return 0
        flying = self._flight.get(publisher, 0)
        if flying >= self._share(publisher):
            return active.head
        if not self._counts(active):
            return active.head
        return active.limit

    def _share(self, publisher: Party) -> int:
        publishers = len(self._flight) + (publisher not in self._flight)
        if publishers > PUBLISHERS_IN_FLIGHT:
            return 0
        return max(SHARE_LEAST_BYTES, SHARE_BYTES // publishers)

    def _counts(self, active: ReplicaStream) -> bool:
        """Whether this session is, or may become, one of the M unconfirmed ones."""
        if not self._context.limited:
            return True
        stream = active.stream
        sessions = self._unconfirmed.get((stream.publisher, stream.lane), {})
        if stream in sessions or len(sessions) < SESSIONS_UNCONFIRMED:
            return True
        now = self._context.now
        for other in list(sessions):
            at_work = self._shelf.active(other)
            if at_work is None or now - at_work.active_at > SESSION_QUIET_SECONDS:
                del sessions[other]
        return len(sessions) < SESSIONS_UNCONFIRMED

    @property
    def present(self) -> int:
        """How many publishers are connected and have opened a stream."""
        return len(self._present)

    def _enter(self, stream: Stream) -> None:
        opened = self._present.setdefault(stream.publisher, {})
        opened.pop(stream, None)
        opened[stream] = None
        if len(opened) > STREAMS_PER_PUBLISHER:
            del opened[next(iter(opened))]

    def _is_open(self, stream: Stream) -> bool:
        """Whether its publisher opened a stream, as it had a right to, on the link that it has."""
        return stream in self._present.get(stream.publisher, ())

    def _turn_away(self, active: ReplicaStream) -> None:
        """A publication in a stream that was not opened."""
        publisher = active.stream.publisher
        if self._context.channel.admits_publisher(publisher):
            said = Status(active.stream, StatusCode.WAIT, active.head, "open the stream first")
            self._context.out.send(publisher, said)
        else:
            self._bar(active, f"{publisher} may not publish on ")

    def released(self, stream: Stream) -> None:
        """A publisher gave a place up: it is present no more, unless it has others."""
        opened = self._present.get(stream.publisher, {})
        opened.pop(stream, None)
        if not opened:
            self._present.pop(stream.publisher, None)

    def unlinked(self, party: Party) -> None:
        """A publisher's link is gone, and its place is free."""
        self._present.pop(party, None)

    def gone(self, stream: Stream) -> None:
        """A stream went to rest or was forgotten: nothing of it counts any more."""
        self._fly(stream, -self._counted.pop(stream, 0))
        key = (stream.publisher, stream.lane)
        if key in self._unconfirmed:
            self._unconfirmed[key].pop(stream, None)
            if not self._unconfirmed[key]:
                del self._unconfirmed[key]

    def _fly(self, stream: Stream, change: int) -> None:
        if not change:
            return
        flying = self._flight.get(stream.publisher, 0) + change
        if flying > 0:
            self._flight[stream.publisher] = flying
        else:
            self._flight.pop(stream.publisher, None)

    # -- after a turn --------------------------------------------------------------------------

    def count(self, active: ReplicaStream) -> None:
        """Take over a stream's bytes in flight, and whether it is unconfirmed."""
        stream = active.stream
        publisher = stream.publisher
        change = active.in_flight - self._counted.get(stream, 0)
        if change:
            self._fly(stream, change)
            if active.in_flight:
                self._counted[stream] = active.in_flight
            else:
                self._counted.pop(stream, None)
        key = (publisher, stream.lane)
        if active.head > active.confirmed.seq:
            if self._context.now - active.active_at <= SESSION_QUIET_SECONDS:
                self._unconfirmed.setdefault(key, {})[stream] = None
        elif key in self._unconfirmed:
            self._unconfirmed[key].pop(stream, None)
            if not self._unconfirmed[key]:
                del self._unconfirmed[key]

    def acknowledge(self, entry: Entry, active: ReplicaStream) -> None:
        """Tell the publisher, if it has a link, what is held, confirmed, and may be sent."""
        stream = active.stream
        publisher = stream.publisher
        if publisher not in self._context.replicas.live or active.opening is None:
            return
        out, link = self._context.out, self._context.replicas.live[publisher]
        said = active.said
        if said.link != link:  # what was said over an earlier link may be lost
            said = active.said = Said(link)
        tip, confirmed = active.path.tip, active.confirmed
        if tip.seq > said.held:
            out.send(publisher, HeldUpTo(stream, *tip))
            said.held = tip.seq
        if confirmed.seq > said.confirmed:
            out.send(publisher, ConfirmedUpTo(stream, *confirmed))
            said.confirmed = confirmed.seq
        through = self._through(entry, active)
        if through > said.credit <= tip.seq + self._context.channel.alpha:
            said.credit = through
            out.send(publisher, Credit(stream, through))
