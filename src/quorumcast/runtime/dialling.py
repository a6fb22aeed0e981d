"""Keeps a link to one replica up: connects, proves who we are, and does so again when it is lost.

After each attempt that led nowhere the pause doubles, up to a bound, and each is made shorter by a
random part, so that those who lost a replica together do not come back together. A link that stood
for a while starts with the shortest pause again.

Between two replicas one of them dials: the later one in the manifest (`dials`). A newer link
replaces an older one, so if both dialled they could go on replacing each other's.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

from quorumcast.auth.handshake import Credentials, Initiator, binding_of
from quorumcast.auth.keys import NONCE_BYTES
from quorumcast.auth.manifest import Manifest
from quorumcast.core.ids import Party
from quorumcast.runtime.addresses import Address, Tcp
from quorumcast.runtime.around import Sink
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.link import Link
from quorumcast.runtime.outbox import Outbox

_JITTER_BYTES = 4


def dials(manifest: Manifest, me: Party, peer: Party) -> bool:
    """Whether `me` connects to the replica `peer`, and not the other way round.

    >>> from quorumcast.auth.identity import Identity
    >>> from quorumcast.auth.manifest import ReplicaEntry
    >>> a, b = (Identity.from_seeds(seed * 32, seed * 32).public for seed in (b"a", b"b"))
    >>> replicas = (ReplicaEntry("r1", a), ReplicaEntry("r2", b))
    >>> manifest = Manifest(nonce=bytes(32), operator=b"o" * 32, faults=0, replicas=replicas)
    >>> dials(manifest, "r2", "r1"), dials(manifest, "r1", "r2"), dials(manifest, "probe", "r2")
    (True, False, True)
    """
    names = [replica.name for replica in manifest.replicas]
    return me != peer and (me not in names or names.index(me) > names.index(peer))


def pinned(certificate: bytes) -> ssl.SSLContext:
    """A context that takes one certificate alone, whoever signed it and whatever it names."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.load_verify_locations(cadata=ssl.DER_cert_to_PEM_cert(certificate))
    return context


class Backoff:
    """The pauses between attempts, each drawn from its upper half.

    >>> backoff = Backoff(Bounds(backoff_seconds=1.0, backoff_most_seconds=3.0), bytes)
    >>> [backoff.pause() for _ in range(4)]
    [0.5, 1.0, 1.5, 1.5]
    >>> backoff.reset(); backoff.pause()
    0.5
    """

    def __init__(self, bounds: Bounds, entropy: Callable[[int], bytes]) -> None:
        self._first = bounds.backoff_seconds
        self._most = bounds.backoff_most_seconds
        self._next = self._first
        self._entropy = entropy

    def pause(self) -> float:
        """Seconds to wait before the next attempt."""
        drawn = int.from_bytes(self._entropy(_JITTER_BYTES), "big")
        pause = self._next * (0.5 + drawn / 2 ** (8 * _JITTER_BYTES + 1))
        self._next = min(2 * self._next, self._most)
        return pause

    def reset(self) -> None:
        """An attempt led somewhere: begin with the shortest pause again."""
        self._next = self._first


class Dialling:
    """Keeps one link to `peer` up, from `start` to `close`.

    `entropy` gives as many random bytes as it is asked for. `on_up` hears that the link stands,
    `on_failure` why an attempt led nowhere or a link was lost; the next attempt follows.
    """

    def __init__(
        self,
        address: Address,
        peer: Party,
        me: Credentials,
        sink: Sink,
        *,
        loop: asyncio.AbstractEventLoop,
        entropy: Callable[[int], bytes],
        bounds: Bounds | None = None,
        outbox: Outbox | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.address = address
        """Where to connect next."""
        self.peer = peer
        self.link: Link | None = None
        """The link, while it stands."""
        self.failure: Exception | None = None
        """Why there is no link, as far as it is known."""
        self.on_up: Callable[[Party], None] = lambda party: None
        self.on_failure: Callable[[Party, Exception], None] = lambda party, error: None
        self._me = me
        self._sink = sink
        self._loop = loop
        self._entropy = entropy
        self._bounds = bounds or Bounds()
        self._outbox = outbox or Outbox(self._bounds.all_unsent_bytes)
        self._tls = tls
        self._over: asyncio.Event = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._up_since: float | None = None

    def start(self) -> None:
        """Begin to connect."""
        assert self._task is None, "it dials already"
        self._task = self._loop.create_task(self._keep())

    async def close(self) -> None:
        """End the link, once what was sent on it is out, and do not come back."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self.link is not None:
            self.link.close()
            await self._over.wait()

    # -- attempts ------------------------------------------------------------------------------

    async def _keep(self) -> None:
        steady = self._bounds.steady_seconds
        backoff = Backoff(self._bounds, self._entropy)
        while True:
            self._up_since = None
            await self._attempt()
            since = self._up_since
            if since is not None and self._loop.time() - since >= steady:
                backoff.reset()
            await asyncio.sleep(backoff.pause())

    async def _attempt(self) -> None:
        """Connect, and stay until the connection is gone."""
        link = Link(self, self._sink, loop=self._loop, bounds=self._bounds, outbox=self._outbox)
        self._over.clear()
        try:
            async with asyncio.timeout(self._bounds.connect_seconds):
                await self._connect(link)
        except TimeoutError:
            seconds = self._bounds.connect_seconds
            self._failed(ConnectionError(f"{self.peer}: no connection within {seconds:g} seconds"))
            return
        except OSError as error:
            self._failed(error)
            return
        try:
            await self._over.wait()
        except asyncio.CancelledError:
            if not link.established:
                link.abort()
            raise
        self._failed(link.error or ConnectionError(f"{self.peer} ended the connection"))

    async def _connect(self, link: Link) -> None:
        address, loop = self.address, self._loop
        name = "" if self._tls is not None else None
        if isinstance(address, Tcp):
            await loop.create_connection(
                lambda: link, address.host, address.port, ssl=self._tls, server_hostname=name
            )
        else:
            await loop.create_unix_connection(
                lambda: link, address.path, ssl=self._tls, server_hostname=name
            )

    def _failed(self, error: Exception) -> None:
        self.failure = error
        self.on_failure(self.peer, error)

    # -- the link ------------------------------------------------------------------------------

    def greet(self, link: Link, transport: asyncio.Transport) -> Initiator:
        """A connection is there."""
        seen = transport.get_extra_info("ssl_object")
        certificate = seen.getpeercert(binary_form=True) if seen is not None else None
        binding = binding_of(certificate or b"") if seen is not None else b""
        return Initiator(self._me, self.peer, self._entropy(NONCE_BYTES), binding)

    def greeted(self, link: Link) -> None:
        """The other end goes on with the handshake."""

    def up(self, link: Link) -> None:
        """The link stands."""
        self.link = link
        self.failure = None
        self._up_since = self._loop.time()
        self.on_up(self.peer)

    def ended(self, link: Link) -> None:
        """The connection is gone."""
        self.link = None
        self._over.set()
