"""Where a replica is connected to: one socket, and the links that come in through it.

Whoever connects has to prove who it is within a time. So many may be at it at once; one more ends
the oldest of them, so that those who hold connections keep out nobody who is quick. Who has said a
HELLO that can lead somewhere is counted by itself: those who connect and say nothing, however many
they are, end only each other's connections.

Those who have proven it are bounded too; replicas and the operator are let in always, and who is
connected already may come anew, for then the older link goes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import stat
from collections.abc import Callable

from quorumcast.auth.greetings import Verdict
from quorumcast.auth.handshake import Credentials, Responder, binding_of
from quorumcast.auth.keys import NONCE_BYTES
from quorumcast.auth.names import OPERATOR
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Party
from quorumcast.core.rates import Bucket
from quorumcast.runtime.addresses import Address, Tcp
from quorumcast.runtime.around import Sink
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.inbox import Inbox
from quorumcast.runtime.link import Link
from quorumcast.runtime.memory import give_back_memory
from quorumcast.runtime.outbox import Outbox

_RELIEF_SECONDS = 1.0
"""How long after a flood of half frames its memory is given back: the links end meanwhile."""

_log = logging.getLogger(__name__)

_LINES = 100
_LINES_PER_SECOND = 1.0
"""Lines about links that end: so many at once, and so many a second. Strangers may not fill a
disk with what is said of them."""


class Listening:
    """Accepts links for a sink at one address.

    `entropy` gives as many random bytes as it is asked for. With `tls`, `tls_certificate` is the
    certificate that its links show (DER), to which every handshake is bound.
    """

    def __init__(
        self,
        address: Address,
        me: Credentials,
        sink: Sink,
        *,
        loop: asyncio.AbstractEventLoop,
        entropy: Callable[[int], bytes],
        revoked: Callable[[Party], bool] = lambda party: False,
        bounds: Bounds | None = None,
        outbox: Outbox | None = None,
        tls: ssl.SSLContext | None = None,
        tls_certificate: bytes = b"",
    ) -> None:
        self.address = address
        """Where it listens; with port 0 the port is known once it was started."""
        self.links: set[Link] = set()
        """Links to those who have proven who they are."""
        self._me = me
        self._sink = sink
        self._loop = loop
        self._entropy = entropy
        self._revoked = revoked
        self._bounds = bounds or Bounds()
        self._outbox = outbox or Outbox(self._bounds.all_unsent_bytes)
        self._tls = tls
        self._binding = binding_of(tls_certificate) if tls is not None else b""
        self._inbox = Inbox(self._bounds.all_unfinished_bytes)
        self._inbox.on_relief = lambda: loop.call_later(_RELIEF_SECONDS, give_back_memory)
        self._silent: dict[Link, None] = {}
        """Links on which nothing was said that leads anywhere, the oldest first."""
        self._greeted: dict[Link, None] = {}
        """Links on which a proof is awaited, the oldest first."""
        self._lines = Bucket(_LINES_PER_SECOND, _LINES)
        self._untold = 0
        """Links that ended since the last line about one."""
        self._closing: set[Link] = set()
        """Strangers that were ended, and links that were, until their connections are gone."""
        self._server: asyncio.Server | None = None
        self._file: tuple[int, int] | None = None
        self._empty = asyncio.Event()
        self._empty.set()

    async def start(self) -> None:
        """Listen; `ConfigError` says why this address cannot be had."""
        assert self._server is None, "it listens already"
        address, loop = self.address, self._loop
        try:
            if isinstance(address, Tcp):
                self._server = await loop.create_server(
                    self._link,
                    address.host,
                    address.port,
                    ssl=self._tls,
                    backlog=self._bounds.backlog,
                )
                port: int = self._server.sockets[0].getsockname()[1]
                self.address = address._replace(port=port)
            else:
                self._server = await loop.create_unix_server(
                    self._link, address.path, ssl=self._tls, backlog=self._bounds.backlog
                )
                self._file = _file_of(address.path)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else error
            raise ConfigError(
                f"{self._me.name} cannot listen at {address}: {why}: stop the program that listens "
                "there, or choose another address"
            ) from error

    async def close(self) -> None:
        """Accept nothing more; end all links once what was sent on them is out."""
        if self._server is not None:
            self._server.close()
            self._server = None
            self._unlink()
        for link in (*self._silent, *self._greeted):
            link.abort()
        for link in list(self.links):
            link.close()
        await self._empty.wait()

    def expel(self) -> None:
        """End the links of those whose names are revoked by now."""
        for link in [link for link in self.links if self._revoked(link.party)]:
            link.give_up("its name was revoked")

    # -- links ---------------------------------------------------------------------------------

    def _link(self) -> Link:
        return Link(
            self,
            self._sink,
            loop=self._loop,
            bounds=self._bounds,
            outbox=self._outbox,
            inbox=self._inbox,
        )

    def greet(self, link: Link, transport: asyncio.Transport) -> Responder:
        """Somebody connected."""
        self._add(self._silent, link)
        self._empty.clear()
        return Responder(self._me, self._entropy(NONCE_BYTES), self._judge, self._binding)

    def greeted(self, link: Link) -> None:
        """A stranger says who it is, and is asked to prove it."""
        if link in self._silent:
            del self._silent[link]
            self._add(self._greeted, link)

    def _add(self, links: dict[Link, None], link: Link) -> None:
        if len(links) >= self._bounds.strangers:
            oldest = next(iter(links))
            del links[oldest]
            self._closing.add(oldest)
            oldest.give_up("others want to come in")
        links[link] = None

    def _judge(self, party: Party, is_replica: bool) -> Verdict:
        if self._revoked(party):
            return Verdict.REVOKED
        full = len(self.links) >= self._bounds.connections
        known = is_replica or party == OPERATOR
        if full and not known and all(link.party != party for link in self.links):
            return Verdict.FULL
        return Verdict.ADMITTED

    def up(self, link: Link) -> None:
        """Somebody has proven who it is."""
        self._greeted.pop(link, None)
        self._closing.discard(link)
        self.links.add(link)

    def ended(self, link: Link) -> None:
        """A connection is gone."""
        self._silent.pop(link, None)
        self._greeted.pop(link, None)
        self._closing.discard(link)
        self.links.discard(link)
        if link.error is not None:
            self._tell(link.error)
        if not (self.links or self.strangers or self._closing):
            self._empty.set()

    def _tell(self, error: Exception) -> None:
        """Write why a link ended, unless much was written lately."""
        if not self._lines.take("", self._loop.time()):
            self._untold += 1
            return
        others = f" ({self._untold} others since the last line)" if self._untold else ""
        _log.info("%s: a link ends: %s%s", self._me.name, error, others)
        self._untold = 0

    @property
    def strangers(self) -> int:
        """How many are connected and have not proven who they are."""
        return len(self._silent) + len(self._greeted)

    def _unlink(self) -> None:
        """Remove the socket's file, if it still is ours."""
        address = self.address
        if self._file is not None and not isinstance(address, Tcp):
            if _file_of(address.path) == self._file:
                os.unlink(address.path)
            self._file = None


def _file_of(path: str) -> tuple[int, int] | None:
    """Which file, by device and number, is the socket at this path; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISSOCK(found.st_mode) else None
