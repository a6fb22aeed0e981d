"""The publisher machine: publications in, sessions with all replicas out.

A session names the incarnations of the replicas. When one of them changes, or a replica closed
the stream, a new session is opened: after the old one is confirmed or a time has passed, so
that order survives, with a backoff per replica, and while fewer than M are unconfirmed.

Upon f+1 equal REJECTED in a session: what waits for a position is refused for good, and the session
is left. What has a position may be held by a quorum: its outcome is unknown. The next publication
opens another session.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any

from quorumcast.auth import certificate as certificates
from quorumcast.auth.digests import session_of
from quorumcast.client.means import Means
from quorumcast.client.session import Session
from quorumcast.core.channel import Channel
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import FIRST, Cluster, Incarnation, Lane, Opening, Party, Stream
from quorumcast.core.limits import (
    BODY_BYTES,
    HANDOVER_SECONDS,
    HEADS_MOST_SECONDS,
    OPEN_BACKOFF_MOST_SECONDS,
    OPEN_BACKOFF_SECONDS,
    REPEAT_SECONDS,
    SESSION_QUIET_SECONDS,
    SESSIONS_UNCONFIRMED,
)
from quorumcast.core.machine import Agenda, Out, Ready
from quorumcast.core.messages import (
    AskBodies,
    ConfirmedUpTo,
    Credit,
    HeldUpTo,
    Hello,
    Message,
    Status,
)
from quorumcast.core.outcomes import OutcomeUnknown, Refused, Ticket
from quorumcast.core.records import Loaded, Read, SessionEnded, SessionOpened, SessionState

_ATTEMPTS = 4
"""After so many fruitless attempts to get credit from a quorum, places are given up for a while:
others may be short of just these."""


class LaneState:
    """One lane of one channel: what waits, the session in use, and those left behind."""

    def __init__(self, channel: Channel, lane: Lane) -> None:
        self.channel = channel
        self.lane = lane
        self.waiting: deque[bytes] = deque()
        self.tickets = 0
        self.placed = 0
        """Tickets up to here have a position in a session, or were refused."""
        self.session: Session | None = None
        self.left: dict[Session, float] = {}
        """Sessions left before they were confirmed, and when they stop counting."""
        self.leaving_since: float | None = None
        self.refused: str | None = None
        """What f+1 replicas said of the session in use, in this turn."""
        self.attempts = 0
        """How often credit was asked for again."""


class Publisher:
    """Publishes on any channel of a cluster; drive it as `core.machine` says.

    `entropy` gives 64 random bits at each call; `sign` signs with the publisher's Ed25519 key and
    is needed on signed channels only.

    >>> cluster = Cluster(bytes(32), 1, ("r1", "r2", "r3", "r4"), 1, bytes(32))
    >>> publisher = Publisher("probe", cluster, [Channel("alerts")], b"", lambda: 7, None)
    >>> publisher.publish("alerts", b"disk failing").number
    1
    """

    def __init__(
        self,
        me: Party,
        cluster: Cluster,
        channels: Iterable[Channel],
        certificate: bytes,
        entropy: Callable[[], int],
        sign: Callable[[bytes], bytes] | None,
        *,
        journal: bool = False,
    ) -> None:
        self.me = me
        self.out = Out()
        self.agenda = Agenda()
        self._cluster = cluster
        self._channels = {channel.name: channel.check(cluster) for channel in channels}
        self._certificate = certificate
        self._entropy = entropy
        self._sign = sign
        self._key = b""
        """The public key that goes with `sign`, where a channel is signed."""
        if any(channel.signed for channel in self._channels.values()):
            self._key = certificates.check(certificate, cluster.operator, cluster.id).keys.sign
        self._journal = journal
        self._now = 0.0
        self._means = Means()
        self._live: dict[Party, None] = {}
        self._hellos: dict[Party, Hello] = {}
        self._shown: dict[Party, Incarnation] = {}
        self._named: tuple[Incarnation, ...] = ()
        self._lanes: dict[tuple[str, Lane], LaneState] = {}
        self._sessions: dict[Stream, tuple[LaneState, Session]] = {}
        self._backoff: dict[Party, tuple[float, float]] = {}
        """Per replica that made us open a session: the last pause, and until when it lasts."""
        self._handlers: dict[type, Callable[[Session, Party, Any], None]] = {
            Status: self._status,
            Credit: lambda session, sender, message: session.credit(sender, message.through),
            HeldUpTo: lambda session, sender, message: session.held(sender, message),
            ConfirmedUpTo: lambda session, sender, message: session.confirm(sender, message),
            AskBodies: lambda session, sender, message: session.serve(sender, message),
        }

    # -- local calls ---------------------------------------------------------------------------

    def publish(self, channel: str, body: bytes, lane: Lane = Lane.NORMAL) -> Ticket:
        """Publish a body; what becomes of it comes in `Ready.acknowledgements`."""
        if channel not in self._channels:
            known = ", ".join(sorted(self._channels)) or "none"
            raise ConfigError(f"there is no channel {channel}; there are: {known}")
        if len(body) > BODY_BYTES:
            raise ConfigError(
                f"a body of {len(body)} bytes is too large: use at most {BODY_BYTES}, or several"
            )
        state = self._lane(channel, lane)
        state.waiting.append(body)
        state.tickets += 1
        return Ticket(channel, lane, state.tickets)

    def resume(self, sessions: Iterable[SessionState]) -> None:
        """Finish the sessions that a journal kept, before new ones are opened."""
        assert self._journal, "only a publisher with a journal has sessions to finish"
        for kept in sessions:
            state = self._lane(kept.stream.channel, Lane(kept.stream.lane))
            session = self._session(state, kept.opening, kept.stream)
            session.tickets = state.placed - kept.confirmed.seq
            session.resume(kept.confirmed, kept.bodies)
            state.tickets += len(kept.bodies)
            state.placed += len(kept.bodies)
            if state.session is not None:
                state.left[state.session] = self._now + SESSION_QUIET_SECONDS
            state.session, state.leaving_since = session, self._now

    def _lane(self, channel: str, lane: Lane) -> LaneState:
        state = self._lanes.get((channel, lane))
        if state is None:
            state = self._lanes[channel, lane] = LaneState(self._channels[channel], lane)
        return state

    # -- the machine ---------------------------------------------------------------------------

    def at(self, now: float) -> None:
        """The time of this turn."""
        self._now = self._means.now = now

    def linked(self, party: Party) -> None:
        """A link to a replica is up: resume there."""
        self.unlinked(party)
        self._live[party] = None
        for _, session in self._sessions.values():
            session.open(party)

    def unlinked(self, party: Party) -> None:
        """A link is gone."""
        self._live.pop(party, None)
        self._hellos.pop(party, None)
        self._name()
        for _, session in self._sessions.values():
            session.unlinked(party)

    def step(self, sender: Party, message: Message) -> None:
        """A message from a replica."""
        if sender not in self._cluster.replicas:
            self.out.reject(sender, "not a replica")
        elif isinstance(message, Hello):
            self._hellos[sender] = message
            self._shown[sender] = message.incarnation
            self._name()
        else:
            handler = self._handlers.get(type(message))
            if handler is None:
                self.out.reject(sender, f"{type(message).__name__} is not for a publisher")
                return
            stream: Stream = getattr(message, "stream")  # noqa: B009  every handled kind has one
            known = self._sessions.get(stream)
            if known is not None:
                handler(known[1], sender, message)

    def tick(self) -> None:
        """Repeat what had no answer; try again to open."""
        for key in self.agenda.due(self._now):
            if isinstance(key, Session):
                pause = key.repeat(self._live) if key.stream in self._sessions else None
                if pause is not None:
                    self.agenda.set(key, self._now + pause)
            elif isinstance(key, LaneState):
                self._urge(key)

    def loaded(self, request: Read, result: Loaded) -> None:
        """A publisher reads nothing."""

    def ready(self) -> Ready:
        """All that follows from this turn."""
        for state in self._lanes.values():
            self._settle(state)
        return self.out.take(self.agenda.next)

    def _urge(self, state: LaneState) -> None:
        """Publications wait: ask for credit again; short of a quorum, give way and come back."""
        session = state.session
        if session is None or not state.waiting:
            return
        state.attempts += 1
        if session.crowded_out and state.attempts % _ATTEMPTS == 0:
            session.release(self._live)
            pause = min(2.0 ** (state.attempts // _ATTEMPTS), HEADS_MOST_SECONDS)
            pause *= 0.5 + self._entropy() % 1024 / 1024  # so that two do not collide for ever
        else:
            pause = session.urge(self._live)
        self.agenda.set(state, self._now + pause)

    # -- lanes ---------------------------------------------------------------------------------

    def _settle(self, state: LaneState) -> None:
        if state.refused is not None:
            self._refuse(state, state.refused)
        session = state.session
        for left, until in list(state.left.items()):
            if left.done or self._now >= until:
                del state.left[left]
                self._give_up(state, left)
                self._end(left)
            else:
                left.pump(self._live)
                self.agenda.once(left, self._now + REPEAT_SECONDS)
                self.agenda.soon((left, "left"), until)
        if session is not None and (state.leaving_since is not None or self._outdated(session)):
            session = self._leave(state, session)
        if session is None and state.waiting:
            session = self._open(state)
        if session is None:
            return
        self._place(state, session)
        session.pump(self._live)
        if not session.done:
            arm = self.agenda.soon if session.moved else self.agenda.once
            arm(session, self._now + REPEAT_SECONDS)
        if state.waiting:
            self.agenda.once(state, self._now + REPEAT_SECONDS)

    def _place(self, state: LaneState, session: Session) -> None:
        """Give positions to what waits, as far as Q replicas have credit."""
        if state.leaving_since is not None:
            return
        count = min(len(state.waiting), session.room)
        if count > 0:
            session.add([state.waiting.popleft() for _ in range(count)])
            state.placed += count

    def _name(self) -> None:
        """Each replica's incarnation: the last shown here, or what f+1 report alike, if higher."""
        need = self._cluster.faults + 1
        names: list[Incarnation] = []
        for index, replica in enumerate(self._cluster.replicas):
            shown = self._shown.get(replica, FIRST)
            reports = Counter(
                each.known[index] for each in self._hellos.values() if index < len(each.known)
            )
            alike = [each for each, count in reports.items() if count >= need]
            names.append(max([shown, *alike]))
        self._named = tuple(names)

    def _open(self, state: LaneState) -> Session | None:
        quorum = state.channel.quorum(self._cluster)
        if len(self._hellos) < quorum.votes or len(state.left) >= SESSIONS_UNCONFIRMED - 1:
            return None
        opening = Opening(self.me, self._entropy(), self._named)
        key = self._key if state.channel.signed else b""
        session = session_of(self._cluster.id, self._cluster.epoch, opening, key)
        stream = Stream(state.channel.name, self.me, session, state.lane)
        state.session = self._session(state, opening, stream)
        if self._journal:
            self.out.record(SessionOpened(stream, opening))
        return state.session

    def _session(self, state: LaneState, opening: Opening, stream: Stream) -> Session:
        session = Session(
            self._cluster,
            state.channel,
            self.out,
            opening,
            stream,
            self._certificate,
            self._sign,
            state.placed,
            self._means,
            journal=self._journal,
        )
        self._sessions[stream] = (state, session)
        for replica in self._live:
            session.open(replica)
        return session

    def _outdated(self, session: Session) -> bool:
        """Whether a replica's change calls for a new session, and its backoff allows it."""
        if session.closed_by is None and self._named == session.opening.incarnations:
            return False
        causes = [
            replica
            for index, replica in enumerate(self._cluster.replicas)
            if self._named[index] > session.opening.incarnations[index]
        ]
        if session.closed_by is not None:
            causes.append(session.closed_by)
        for replica in causes:
            _, until = self._backoff.get(replica, (0.0, 0.0))
            if self._now >= until:
                return True
            self.agenda.soon("backoff", until)
        return False

    def _leave(self, state: LaneState, session: Session) -> Session | None:
        """Leave a session: once it is confirmed, or after a time with the rest unknown."""
        if state.leaving_since is None:
            state.leaving_since = self._now
        until = state.leaving_since + HANDOVER_SECONDS
        if not session.done and self._now < until:
            self.agenda.soon("handover", until)
            return session
        self._give_up(state, session)
        self._back_off(session)
        self._left(state, session)
        return None

    def _refuse(self, state: LaneState, reason: str) -> None:
        """Nothing that waits is ever published; of what has a position nobody knows."""
        session, state.refused = state.session, None
        assert session is not None, "it is the session in use that is refused"
        first, last = state.placed + 1, state.tickets
        self.out.acknowledge(Refused(state.channel.name, state.lane, reason, first, last))
        state.waiting.clear()
        state.placed = state.tickets
        self.agenda.cancel(state)
        if session.end == 0:
            session.release(self._live)
        self._give_up(state, session)
        self._left(state, session)

    def _left(self, state: LaneState, session: Session) -> None:
        """The session in use is no longer in use; what is not confirmed in it is finished."""
        state.leaving_since = None
        state.session = None
        if session.done:
            self._end(session)
        else:
            state.left[session] = self._now + SESSION_QUIET_SECONDS

    def _give_up(self, state: LaneState, session: Session) -> None:
        """Tell the user, once, of what was not acknowledged in a session."""
        if session.acknowledged < session.end and not session.given_up:
            session.given_up = True
            first, last = session.acknowledged + 1, session.end
            tickets = session.tickets
            self.out.acknowledge(
                OutcomeUnknown(state.channel.name, state.lane, tickets + first, tickets + last)
            )

    def _end(self, session: Session) -> None:
        del self._sessions[session.stream]
        if self._journal:
            self.out.record(SessionEnded(session.stream))

    def _back_off(self, session: Session) -> None:
        for index, replica in enumerate(self._cluster.replicas):
            changed = self._named[index] > session.opening.incarnations[index]
            if changed or session.closed_by == replica:
                pause, _ = self._backoff.get(replica, (0.0, 0.0))
                pause = min(max(2 * pause, OPEN_BACKOFF_SECONDS), OPEN_BACKOFF_MOST_SECONDS)
                self._backoff[replica] = (pause, self._now + pause)

    def _status(self, session: Session, sender: Party, message: Status) -> None:
        reason = session.status(sender, message)
        state = self._sessions[session.stream][0]
        if reason is not None and session is state.session:  # one that was left harms no other
            state.refused = reason
