"""A client's links over sockets: one to each replica, dialled again when it is lost."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping

from quorumcast.api.hub import Learn
from quorumcast.auth.handshake import Credentials
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Party
from quorumcast.runtime.addresses import parse_address
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.charter import Charter, fixed_fault
from quorumcast.runtime.dialling import Dialling, pinned
from quorumcast.runtime.driver import Driver
from quorumcast.runtime.keyfiles import ClientFile
from quorumcast.runtime.steward import Steward


class DialledLinks:
    """Links to the replicas that a client's file names."""

    def __init__(self, client: ClientFile, bounds: Bounds | None = None) -> None:
        self._client = client
        self._bounds = bounds
        self._dialled: dict[Party, Dialling] = {}
        self._steward: Steward | None = None
        self._tables = {each.name: each.table() for each in client.settings}
        """Channels as they are, or were when there last was such a channel."""

    def start(self, driver: Driver, changed: Callable[[], None], learn: Learn) -> None:
        """Dial all replicas, and keep at it."""
        client, loop = self._client, asyncio.get_running_loop()
        me = Credentials(client.name, client.identity, client.manifest, client.certificate)

        def apply(charter: Charter) -> None:
            fault = fixed_fault(self._tables, charter)
            if fault is not None:
                raise ConfigError(fault[2])
            self._tables |= {each.name: each.table() for each in charter.settings}
            learn(charter.settings)

        driver.aside = self._steward = Steward(
            client.manifest, client.cluster.charter, loop=loop, apply=apply
        )
        self._steward.on_change = changed
        for replica in client.manifest.replicas:
            dialling = self._dialled[replica.name] = Dialling(
                parse_address(client.addresses[replica.name]),
                replica.name,
                me,
                driver,
                loop=loop,
                entropy=os.urandom,
                bounds=self._bounds,
                tls=pinned(replica.tls) if replica.tls else None,
            )
            dialling.on_failure = lambda party, error: changed()
            dialling.start()

    @property
    def outdated(self) -> bool:
        """Whether f+1 replicas know newer channels: then they are on their way."""
        return self._steward is not None and self._steward.outdated

    def failures(self) -> Mapping[Party, Exception]:
        """Why there is no link to a replica now, where that is known."""
        return {
            name: each.failure for name, each in self._dialled.items() if each.failure is not None
        }

    async def close(self) -> None:
        """Hand out what was sent, then end all links."""
        await asyncio.gather(*(dialling.close() for dialling in self._dialled.values()))
