"""Who is at the other end: both ends prove it before either says anything else.

The initiator is a client or a replica, the responder a replica that the initiator means to reach.
Four messages go back and forth; each end sends its next one only upon the other's:

1. HELLO, from the initiator: its role and name, whom it means, its nonce, cluster and epoch, the
   digests of its manifest's tables, what it knows the channel by, and a client's certificate.
2. CHALLENGE, from the responder: its nonce, and its proof over both messages so far.
3. PROOF, from the initiator: over all of them.
4. VERDICT, from the responder: whether it lets the initiator in, and a proof over that, too.

Upon a HELLO that cannot lead anywhere the responder sends REFUSAL instead: a number for what is
wrong, and the digests of its own tables if it is these. A refusal comes from somebody unknown; it
can only end what would not begin.

Rules of trust:

1. A proof is keyed BLAKE3 under a key that only the two ends can compute, from both long-term keys,
   both names, cluster, epoch and both nonces. Each direction has its own, so that what comes back
   to its maker proves nothing, and a fresh nonce of one's own makes every older proof worthless.
2. Every proof is over every byte of all messages before it: role, names, certificate, tables and
   binding are what both ends saw.
3. A replica's keys are those in the manifest, and it shows no certificate. A client's keys are
   those that the operator certified for its name, which is no replica's.
4. Whether a name is revoked is answered to its owner alone, after it proved to be that.
5. The keys of the link that follows are made from all of this, and are used for nothing else.

What either end is told about a fault concerns itself: never who else there is.
"""

from __future__ import annotations

from collections.abc import Callable
from hmac import compare_digest
from typing import NamedTuple, NoReturn

import msgspec
from blake3 import blake3

from quorumcast.auth.digests import lengths
from quorumcast.auth.greetings import (
    BINDING_BYTES,
    DIGEST_BYTES,
    REFUSALS,
    VERDICTS,
    Hello,
    Kind,
    OtherVersion,
    Refusal,
    Role,
    Verdict,
    fields_of,
    kind_of,
    message,
)
from quorumcast.auth.identity import Identity
from quorumcast.auth.keys import NONCE_BYTES, connection_key, pair_key
from quorumcast.auth.manifest import Manifest
from quorumcast.core.errors import AuthError, ConfigError, ProtocolError
from quorumcast.core.ids import Party
from quorumcast.core.limits import REPLICAS

_PROOF = b"quorumcast link proof 1\0"
_LINK = b"quorumcast link key 1\0"
_BINDING = b"quorumcast link binding 1\0"

Judge = Callable[[Party, bool], Verdict]
"""Whether to let in a party that has proven its name; the flag says if it is a replica."""


class Denied(AuthError):
    """A replica that proved to be itself does not let us in, though we proved to be ourselves.

    >>> Denied("no", Verdict.REVOKED).verdict == Verdict.REVOKED
    True
    """

    def __init__(self, said: str, verdict: int = Verdict.ADMITTED) -> None:
        super().__init__(said)
        self.verdict = verdict
        """Its reason, a `Verdict` if it is one that we know."""


class Established(NamedTuple):
    """Who is at the other end, and the keys of the two directions.

    >>> Established("r1", True, bytes(32), bytes(32)).party
    'r1'
    """

    party: Party
    is_replica: bool
    send_key: bytes
    receive_key: bytes


class Credentials(msgspec.Struct, frozen=True):
    """What a party brings to its handshakes; a replica has no certificate.

    >>> from quorumcast.auth.manifest import ReplicaEntry
    >>> r1 = Identity.from_seeds(b"s" * 32, b"a" * 32)
    >>> manifest = Manifest(
    ...     nonce=bytes(32), operator=b"o" * 32, faults=0, replicas=(ReplicaEntry("r1", r1.public),)
    ... )
    >>> Credentials("r1", r1, manifest).role.name
    'REPLICA'
    """

    name: Party
    identity: Identity
    manifest: Manifest
    certificate: bytes = b""

    def __post_init__(self) -> None:
        if self.certificate:
            try:
                certified = self.manifest.check_client(self.certificate)
            except AuthError as error:
                raise ConfigError(f"{self.name}: {error}") from None
            name, keys = certified.name, certified.keys
        else:
            entry = self.manifest.replica(self.name)
            if entry is None:
                raise ConfigError(f"{self.name} is no replica of the manifest: use a certificate")
            name, keys = entry.name, entry.keys
        if name != self.name or keys != self.identity.public:
            raise ConfigError(f"the keys at hand are not those of {self.name}: use its key file")

    @property
    def role(self) -> Role:
        """What this party is."""
        return Role.CLIENT if self.certificate else Role.REPLICA


def binding_of(certificate: bytes) -> bytes:
    """What a TLS channel is known by: the certificate that its server shows, hashed.

    >>> len(binding_of(b"certificate"))
    32
    """
    return blake3(_BINDING + certificate).digest()


class _Keys(NamedTuple):
    """The keys of one connection: towards the peer, and from it."""

    out: bytes
    into: bytes

    @classmethod
    def of(cls, me: Credentials, peer: Party, agree: bytes, mine: bytes, theirs: bytes) -> _Keys:
        cluster, epoch = me.manifest.cluster_id, me.manifest.epoch
        out = pair_key(me.identity, agree, cluster, epoch, me.name, peer)
        into = pair_key(me.identity, agree, cluster, epoch, peer, me.name)
        return cls(connection_key(out, mine, theirs), connection_key(into, theirs, mine))

    def established(self, party: Party, is_replica: bool, script: list[bytes]) -> Established:
        data = _LINK + lengths(*script)
        out, into = (blake3(data, key=key).digest() for key in self)
        return Established(party, is_replica, out, into)


def _proof(key: bytes, script: list[bytes]) -> bytes:
    return blake3(_PROOF + lengths(*script), key=key).digest()


def _proves(key: bytes, script: list[bytes], proof: bytes) -> bool:
    return compare_digest(_proof(key, script), proof)


def _tables(manifest: Manifest) -> bytes:
    return b"".join(manifest.table_digests().values())


def _check_tables(manifest: Manifest, theirs: bytes) -> None:
    """Name the tables that differ by their names here: the other's are its own affair."""
    names = list(manifest.table_digests())
    count = len(theirs) // DIGEST_BYTES
    names += [f"replica number {place}" for place in range(len(names), count)]
    digests = [theirs[at : at + DIGEST_BYTES] for at in range(0, len(theirs), DIGEST_BYTES)]
    manifest.check_tables(dict(zip(names, digests, strict=False)))


def _go_on(over: bool) -> None:
    if over:
        raise ProtocolError("handshake: a message after the last one")


class Initiator:
    """The end that connects: send `hello`, then what `receive` returns upon each message.

    `binding` is what the channel is known by, from what was seen of it; empty without TLS.

    >>> from quorumcast.auth.manifest import ReplicaEntry
    >>> r1 = Identity.from_seeds(b"s" * 32, b"a" * 32)
    >>> r2 = Identity.from_seeds(b"t" * 32, b"b" * 32)
    >>> replicas = (ReplicaEntry("r1", r1.public), ReplicaEntry("r2", r2.public))
    >>> manifest = Manifest(nonce=bytes(32), operator=b"o" * 32, faults=0, replicas=replicas)
    >>> one = Initiator(Credentials("r1", r1, manifest), "r2", b"1" * 32)
    >>> other = Responder(Credentials("r2", r2, manifest), b"2" * 32)
    >>> one.receive(other.receive(one.receive(other.receive(one.hello))))
    b''
    >>> one.established.send_key == other.established.receive_key
    True
    """

    def __init__(self, me: Credentials, peer: Party, nonce: bytes, binding: bytes = b"") -> None:
        entry = me.manifest.replica(peer)
        if entry is None:
            raise ConfigError(f"{peer} is no replica of the manifest")
        assert len(nonce) == NONCE_BYTES, f"a nonce of {len(nonce)} bytes"
        assert len(binding) <= BINDING_BYTES, f"a binding of {len(binding)} bytes"
        self._me = me
        self._peer = peer
        self._agree = entry.keys.agree
        self._nonce = nonce
        manifest = me.manifest
        self.hello = Hello(
            me.role,
            me.name,
            peer,
            nonce,
            manifest.cluster_id,
            manifest.epoch,
            _tables(manifest),
            binding,
            me.certificate,
        ).encode()
        self._script = [self.hello]
        self._keys: _Keys | None = None
        self._over = False
        self.established: Established | None = None
        """Who it is, once both ends have proven themselves and the responder agreed."""
        self.farewell = b""
        """Nothing: an initiator that finds a fault just goes."""

    def receive(self, data: bytes) -> bytes:
        """What to send upon this message; `AuthError` or `ProtocolError` ends the handshake."""
        _go_on(self._over)
        self._over = True  # unless this message is good, and not the last
        if kind_of(data) == Kind.REFUSAL:
            self._refused(data)
        keys = self._keys
        answer = self._challenged(data) if keys is None else self._judged(data, keys)
        self._over = self.established is not None
        return answer

    def _challenged(self, data: bytes) -> bytes:
        nonce, proof = fields_of(Kind.CHALLENGE, data, 2)
        if len(nonce) != NONCE_BYTES:
            raise ProtocolError(f"handshake: nonce of {len(nonce)} bytes instead of {NONCE_BYTES}")
        keys = _Keys.of(self._me, self._peer, self._agree, self._nonce, nonce)
        if not _proves(keys.into, [*self._script, nonce], proof):
            raise AuthError(f"handshake: whoever answers does not prove to be {self._peer}")
        self._keys = keys
        self._script.append(data)
        answer = message(Kind.PROOF, _proof(keys.out, self._script))
        self._script.append(answer)
        return answer

    def _judged(self, data: bytes, keys: _Keys) -> bytes:
        verdict, proof = fields_of(Kind.VERDICT, data, 2)
        if not _proves(keys.into, [*self._script, verdict], proof):
            raise AuthError(f"handshake: this verdict is not {self._peer}'s")
        if verdict == bytes((Verdict.ADMITTED,)):
            self._script.append(data)
            self.established = keys.established(self._peer, True, self._script)
            return b""
        number = int.from_bytes(verdict, "big")
        why = VERDICTS.get(number, "for a reason that we do not know")
        raise Denied(f"{self._peer} does not let {self._me.name} in: {why}", number)

    def _refused(self, data: bytes) -> NoReturn:
        code, tables = fields_of(Kind.REFUSAL, data, 2)
        if len(tables) % DIGEST_BYTES or len(tables) > (REPLICAS + 1) * DIGEST_BYTES:
            raise ProtocolError(f"handshake: {len(tables)} bytes are no digests of tables")
        refusal = int.from_bytes(code, "big")
        if refusal == Refusal.TABLES and tables:
            _check_tables(self._me.manifest, tables)
        why = REFUSALS.get(refusal, "for a reason that we do not know")
        raise AuthError(f"who answers for {self._peer} refuses: {why}")


class Responder:
    """The end that is connected to: a replica; send what `receive` returns upon each message.

    When `receive` raises, `farewell` is what to send before the connection is closed, if anything.
    `judge` decides on those who have proven their name; the default lets everybody in.

    >>> from quorumcast.auth.manifest import ReplicaEntry
    >>> r1 = Identity.from_seeds(b"s" * 32, b"a" * 32)
    >>> replicas = (ReplicaEntry("r1", r1.public),)
    >>> manifest = Manifest(nonce=bytes(32), operator=b"o" * 32, faults=0, replicas=replicas)
    >>> Responder(Credentials("r1", r1, manifest), b"1" * 32).receive(b"hello")
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ProtocolError: handshake: 5 bytes that are no message of a handshake
    """

    def __init__(
        self,
        me: Credentials,
        nonce: bytes,
        judge: Judge = lambda party, is_replica: Verdict.ADMITTED,
        binding: bytes = b"",
    ) -> None:
        assert me.role is Role.REPLICA, f"{me.name} is a client: nobody connects to it"
        assert len(nonce) == NONCE_BYTES, f"a nonce of {len(nonce)} bytes"
        self._me = me
        self._nonce = nonce
        self._judge = judge
        self._binding = binding
        self._hello: Hello | None = None
        self._keys: _Keys | None = None
        self._script: list[bytes] = []
        self._over = False
        self.established: Established | None = None
        """Who it is, once both ends have proven themselves and `judge` agreed."""
        self.farewell = b""

    def receive(self, data: bytes) -> bytes:
        """What to send upon this message; `AuthError` or `ProtocolError` ends the handshake."""
        _go_on(self._over)
        self._over = True  # unless this message is good, and not the last
        if self._hello is None or self._keys is None:
            answer = self._greeted(data)
        else:
            answer = self._answered(data, self._hello, self._keys)
        self._over = self.established is not None
        return answer

    def _greeted(self, data: bytes) -> bytes:
        try:
            hello = Hello.decode(data)
        except OtherVersion:
            self._refuse(Refusal.VERSION)
            raise
        agree = self._check(hello)
        keys = _Keys.of(self._me, hello.name, agree, self._nonce, hello.nonce)
        self._hello, self._keys = hello, keys
        proof = _proof(keys.out, [data, self._nonce])
        answer = message(Kind.CHALLENGE, self._nonce, proof)
        self._script = [data, answer]
        return answer

    def _check(self, hello: Hello) -> bytes:
        """The initiator's agreement key, if its HELLO can lead anywhere."""
        manifest = self._me.manifest
        if hello.cluster != manifest.cluster_id:
            raise self._fault(Refusal.CLUSTER, "it is of another cluster")
        if hello.epoch != manifest.epoch:
            raise self._fault(
                Refusal.EPOCH, f"it is in epoch {hello.epoch}, this is {manifest.epoch}"
            )
        if hello.tables != _tables(manifest):
            self._refuse(Refusal.TABLES, _tables(manifest))
            _check_tables(manifest, hello.tables)
        if hello.addressee != self._me.name:
            raise self._fault(Refusal.ADDRESSEE, f"it means {hello.addressee}")
        if hello.binding != self._binding:
            raise self._fault(Refusal.BINDING, "it sees another channel than this one")
        if hello.role is Role.REPLICA:
            entry = manifest.replica(hello.name)
            if entry is None or hello.certificate or hello.name == self._me.name:
                raise self._fault(Refusal.IDENTITY, f"{hello.name} is no other replica of this one")
            return entry.keys.agree
        try:
            certificate = manifest.check_client(hello.certificate)
        except AuthError as error:
            raise self._fault(Refusal.IDENTITY, str(error)) from None
        if certificate.name != hello.name:
            raise self._fault(Refusal.IDENTITY, "the certificate is of another name")
        return certificate.keys.agree

    def _answered(self, data: bytes, hello: Hello, keys: _Keys) -> bytes:
        (proof,) = fields_of(Kind.PROOF, data, 1)
        if not _proves(keys.into, self._script, proof):
            raise self._fault(Refusal.PROOF, f"it does not prove to be {hello.name}")
        self._script.append(data)
        is_replica = hello.role is Role.REPLICA
        verdict = self._judge(hello.name, is_replica)
        code = bytes((verdict,))
        answer = message(Kind.VERDICT, code, _proof(keys.out, [*self._script, code]))
        if verdict is not Verdict.ADMITTED:
            self.farewell = answer
            raise AuthError(f"handshake: {hello.name} is not let in: {verdict.name.lower()}")
        self._script.append(answer)
        self.established = keys.established(hello.name, is_replica, self._script)
        return answer

    def _refuse(self, refusal: Refusal, tables: bytes = b"") -> None:
        self.farewell = message(Kind.REFUSAL, bytes((refusal,)), tables)

    def _fault(self, refusal: Refusal, what: str) -> AuthError:
        self._refuse(refusal)
        return AuthError(f"handshake: {what}")
