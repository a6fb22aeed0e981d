"""Forged certificates: speaks under names, and with certificates and signatures, that are not its.

As a publisher: opens streams under another's name, with another's certificate, with one that it
signed itself, with a damaged one; its signatures are noise. As a replica: hands on openings with
forged certificates, and statements with forged signatures.
"""

from __future__ import annotations

import msgspec

from quorumcast.auth.certificate import issue
from quorumcast.core.ids import Incarnation, Lane, Opening, Party, Stream
from quorumcast.core.machine import Machine, Ready
from quorumcast.core.messages import Bodies, Held, Hello, Message, Open, OpeningOf, Publish
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Plot

PAUSE_SECONDS = 0.1
ATTEMPTS = 60


class Forged(Liar):
    """Forges names, certificates and signatures."""

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._shown: dict[Party, Incarnation] = {}
        self._next = 0.0
        self._attempts = 0

    def step(self, sender: Party, message: Message) -> None:
        """Learn the incarnations, so that nothing but the forgery is wrong."""
        if isinstance(message, Hello):
            self._shown[sender] = message.incarnation
        super().step(sender, message)

    def say(self, receiver: Party, message: Message) -> list[Message]:
        """As a replica: forged certificates and signatures on their way through."""
        noise = self.draws.randbytes(64)
        forged: Message = message
        if isinstance(message, OpeningOf):
            forged = msgspec.structs.replace(message, certificate=self._certificate("p1", 1))
        elif isinstance(message, Held | Bodies) and message.signatures:
            signatures = noise + message.signatures[64:]
            forged = msgspec.structs.replace(message, signatures=signatures)
        if forged is message or not self.act(f"forges for {receiver}"):
            return [message]
        return [forged]

    def twist(self, ready: Ready) -> Ready:
        """As a publisher: one forged session after the other."""
        ready = super().twist(ready)
        if self.is_replica(self.me) or self._attempts >= ATTEMPTS or not self._shown:
            return ready
        if self.now >= self._next:
            self._next = self.now + PAUSE_SECONDS
            self._attempts += 1
            kind = self._attempts % 4
            name = "p1" if kind < 2 else self.me
            if self.act(f"opens a forged session as {name}"):
                self._open(name, kind)
        return self.sooner(ready, self._next)

    def _open(self, name: Party, kind: int) -> None:
        nobody = Incarnation(0, 0)
        named = tuple(self._shown.get(each, nobody) for each in self.plot.cluster.replicas)
        opening = Opening(name, self.draws.getrandbits(64), named)
        session = self.plot.session(opening)
        stream = Stream("alerts", name, session, Lane.NORMAL)
        body = b"forged/%d" % self._attempts
        for replica in self.plot.cluster.replicas:
            self.also(replica, Open(stream, opening, self._certificate(name, kind)))
            self.also(replica, Publish(stream, 1, (body,), self.draws.randbytes(64)))

    def _certificate(self, name: Party, kind: int) -> bytes:
        mine = self.plot.certificates.get(self.me, b"")
        identity = self.plot.identities[self.me]
        if kind == 0:  # its own certificate for another's name
            return mine
        if kind == 1:  # signed by itself instead of the operator
            return issue(identity, self.plot.cluster.id, name, identity.public)
        if kind == 2 and mine:  # damaged
            return mine[:-1] + bytes((mine[-1] ^ 1,))
        return mine  # its own name and certificate, but signatures that are noise
