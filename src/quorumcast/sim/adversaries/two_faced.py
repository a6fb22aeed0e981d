"""Two-faced publisher: sends one content to some replicas and another to the rest.

It opens sessions like any publisher. For each position it draws who gets A, who gets B, and who
gets nothing; sometimes all get A, so that the stream moves on. It resends to each what that one
got, and serves whichever body is asked for. Byzantine replicas know both contents and who got what.
Of two twins one gets A and the other B, whichever it talks to.
"""

from __future__ import annotations

from quorumcast.auth.digests import Digester
from quorumcast.auth.signatures import sign_publication
from quorumcast.core.ids import Incarnation, Lane, Opening, Party, Stream
from quorumcast.core.machine import Machine, Ready
from quorumcast.core.messages import AskBodies, Bodies, HeldUpTo, Hello, Message, Open, Publish
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Plot

PAUSE_SECONDS = 0.12
PER_SESSION = 30
SESSIONS = 3
RESENT = 6


class TwoFaced(Liar):
    """A publisher whose streams have more than one content at some positions."""

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._shown: dict[Party, Incarnation] = {}
        self._sessions = 0
        self._stream: Stream | None = None
        self._opening: Opening | None = None
        self._digester: Digester | None = None
        self._positions = 0
        self._faces: dict[Party, dict[int, bytes]] = {}
        self._held: dict[Party, int] = {}
        self._next = 0.0

    # -- what it hears -------------------------------------------------------------------------

    def step(self, sender: Party, message: Message) -> None:
        """Learn incarnations and who holds how much; serve bodies."""
        if isinstance(message, Hello):
            self._shown[sender] = message.incarnation
        elif isinstance(message, HeldUpTo) and message.stream == self._stream:
            known = 0 if self._twinned(sender) else self._held.get(sender, 0)
            self._held[sender] = max(known, message.position)
        elif isinstance(message, AskBodies) and message.stream == self._stream:
            self._serve(sender, message)

    def _serve(self, sender: Party, message: AskBodies) -> None:
        assert self._digester is not None
        for index in range(len(message.digests) // 32):
            position = message.first + index
            digest = message.digests[index * 32 : index * 32 + 32]
            for body in self.plot.variants.get((message.stream, position), ()):
                if self._digester.digest(position, body) == digest:
                    signature = self._sign(message.stream, position, body)
                    self.also(sender, Bodies(message.stream, position, (body,), signature))

    # -- what it says --------------------------------------------------------------------------

    def ready(self) -> Ready:
        """Nothing of the correct machine: this one speaks for itself."""
        if self.now >= self._next and len(self._shown) > self.plot.cluster.faults:
            self._next = self.now + PAUSE_SECONDS
            if self._stream is None or self._positions >= PER_SESSION:
                self._open()
            else:
                self._split()
            self._resend()
        ready = Ready()
        for receiver, message in self._also:
            ready.messages.setdefault(receiver, []).append(message)
        self._also.clear()
        if self._sessions < SESSIONS or self._positions < PER_SESSION:
            ready.timer = max(self._next, self.now)
        return ready

    def _open(self) -> None:
        if self._sessions >= SESSIONS:
            return
        self._sessions += 1
        nobody = Incarnation(0, 0)
        named = tuple(self._shown.get(name, nobody) for name in self.plot.cluster.replicas)
        opening = Opening(self.me, self.draws.getrandbits(64), named)
        session = self.plot.session(opening)
        self._opening = opening
        self._stream = Stream(self.plot.channels[0].name, self.me, session, Lane.NORMAL)
        self._digester = Digester(self.plot.cluster.id, self._stream)
        self._positions = 0
        self._faces = {}
        self._held = {}

    def _split(self) -> None:
        """Decide about the next position: who gets which content."""
        assert self._stream is not None
        self._positions += 1
        position = self._positions
        one = b"%s/%d/%d/A" % (self.me.encode(), self._sessions, position)
        other = b"%s/%d/%d/B" % (self.me.encode(), self._sessions, position)
        way = self.draws.random()
        drawn = {name: self.draws.random() for name in self.plot.cluster.replicas}
        split = way < 0.6 and self.act(f"sends two contents for position {position}")
        self.plot.variants[self._stream, position] = (one, other) if split else (one,)
        for name, chance in drawn.items():
            face = one
            if split and chance < 0.45:
                face = other
            elif split and chance > 0.85:
                continue
            self._faces.setdefault(name, {})[position] = face

    def _resend(self) -> None:
        """Send to each replica what it was meant to get and does not hold."""
        if self._stream is None or self._opening is None:
            return
        certificate = self.plot.certificates.get(self.me, b"")
        for name in self.plot.cluster.replicas:
            self.also(name, Open(self._stream, self._opening, certificate))
            held = self._held.get(name, 0)
            for position in range(held + 1, min(held + RESENT, self._positions) + 1):
                body = self._face(name, position)
                if body is not None:
                    signature = self._sign(self._stream, position, body)
                    self.also(name, Publish(self._stream, position, (body,), signature))

    def _twinned(self, name: Party) -> bool:
        """Whether a name stands for two replicas, of which the last to speak is meant."""
        return self.plot.side is not None and name in self.plot.members

    def _face(self, name: Party, position: int) -> bytes | None:
        assert self._stream is not None
        variants = self.plot.variants[self._stream, position]
        if self.plot.side is not None and self._twinned(name) and len(variants) > 1:
            return variants[self.plot.side(self.me)]
        return self._faces.get(name, {}).get(position)

    def _sign(self, stream: Stream, position: int, body: bytes) -> bytes:
        identity = self.plot.identities.get(self.me)
        if not self.plot.channels[0].signed or identity is None or self._digester is None:
            return b""
        digest = self._digester.digest(position, body)
        return sign_publication(identity, self.plot.cluster.id, stream, position, digest)
