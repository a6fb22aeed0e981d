"""A client's links over sockets: one to each replica, dialled again when it is lost."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable, Mapping

from quorumcast.auth.handshake import Credentials
from quorumcast.core.ids import Party
from quorumcast.runtime.addresses import parse_address
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.dialling import Dialling
from quorumcast.runtime.driver import Driver
from quorumcast.runtime.keyfiles import ClientFile


class DialledLinks:
    """Links to the replicas that a client's file names."""

    def __init__(self, client: ClientFile, bounds: Bounds | None = None) -> None:
        self._client = client
        self._bounds = bounds
        self._dialled: dict[Party, Dialling] = {}

    def start(self, driver: Driver, failed: Callable[[], None]) -> None:
        """Dial all replicas, and keep at it."""
        client, loop = self._client, asyncio.get_running_loop()
        me = Credentials(client.name, client.identity, client.manifest, client.certificate)
        for replica in client.manifest.replicas:
            dialling = self._dialled[replica.name] = Dialling(
                parse_address(client.addresses[replica.name]),
                replica.name,
                me,
                driver,
                loop=loop,
                entropy=os.urandom,
                bounds=self._bounds,
                tls=_pinned(replica.tls) if replica.tls else None,
            )
            dialling.on_failure = lambda party, error: failed()
            dialling.start()

    def failures(self) -> Mapping[Party, Exception]:
        """Why there is no link to a replica now, where that is known."""
        return {
            name: each.failure for name, each in self._dialled.items() if each.failure is not None
        }

    async def close(self) -> None:
        """Hand out what was sent, then end all links."""
        await asyncio.gather(*(dialling.close() for dialling in self._dialled.values()))


def _pinned(certificate: bytes) -> ssl.SSLContext:
    from quorumcast.runtime.server import pinned  # clients without TLS need none of it

    return pinned(certificate)
