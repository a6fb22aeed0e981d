"""One replica as a process: its journal, its machine, its links, and an ear for its operator."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from quorumcast.auth.handshake import Credentials
from quorumcast.broker.replica import Replica
from quorumcast.core.errors import ConfigError, QuorumcastError
from quorumcast.core.evidence import Evidence
from quorumcast.core.ids import Incarnation, Party
from quorumcast.runtime.addresses import parse_address
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.changing import adopt
from quorumcast.runtime.charter import Charter
from quorumcast.runtime.control import Control, control_path
from quorumcast.runtime.dialling import Dialling, dials, pinned
from quorumcast.runtime.driver import Driver
from quorumcast.runtime.files import Busy
from quorumcast.runtime.folder import (
    JOURNAL_FOLDER,
    TLS_FILE,
    replica_folder,
    replica_identity,
)
from quorumcast.runtime.keeping import CHARTER_FILE, Keeping
from quorumcast.runtime.listening import Listening
from quorumcast.runtime.report import Suspects, packed_report, replica_report
from quorumcast.runtime.settings import load_cluster
from quorumcast.runtime.steward import Steward
from quorumcast.store import Journal, boot_id

FILES = 65_536
"""Open files that a replica asks for: ten thousand clients, and room."""

WRITING_SECONDS = 0.1
"""Between two attempts to write `cluster.toml` while another process of this host is at it."""

WRITING_ATTEMPTS = 50

LIFE_SECONDS = 86_400.0
"""How long an incarnation lasts; then the replica draws another one."""

_log = logging.getLogger(__name__)


def wall_clock() -> Callable[[], float]:
    """Seconds since 1970 that never go backwards: incarnations outlive a process."""
    start, began = time.time(), time.monotonic()
    return lambda: start + time.monotonic() - began


class Server:
    """A replica of the cluster in a folder, from `start` to `stop`."""

    def __init__(self, folder: Path, name: Party) -> None:
        self.name = name
        self._folder = folder
        found = load_cluster(folder)
        self._identity = replica_identity(folder, name)
        self._keeping = Keeping(replica_folder(folder, name) / CHARTER_FILE, found.manifest)
        self.cluster = self._keeping.newest(found)
        self._file_is_old = self.cluster.charter.newer(found.charter)
        self._revoked = frozenset(self.cluster.revoked)
        self._began = time.time()
        self._suspects = Suspects(name)
        self._dialled: list[Dialling] = []
        self._driver: Driver | None = None
        self._journal: Journal | None = None
        self._listening: Listening | None = None
        self._control: Control | None = None
        self._steward: Steward | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._rotating: asyncio.TimerHandle | None = None
        self.over = asyncio.Event()
        """Set when somebody asked it to stop, or the machine failed."""

    # -- life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Open the journal, listen, and connect to the peers that this replica dials."""
        loop = asyncio.get_running_loop()
        manifest = self.cluster.manifest
        names = [replica.name for replica in manifest.replicas]
        self._journal = journal = Journal(
            replica_folder(self._folder, self.name) / JOURNAL_FOLDER,
            manifest.cluster_id,
            names.index(self.name),
            len(names),
            boot=boot_id(),
            now_ms=int(time.time() * 1000),
            entropy=os.urandom,
        )
        if journal.reborn:
            _log.warning("%s begins a new incarnation: %s", self.name, journal.reborn)
        assert journal.life is not None, "a journal that is open has a life"
        machine = Replica(self.name, manifest.cluster(), self.cluster.channels, journal.life)
        driver = self._driver = Driver(machine, loop=loop, storage=journal, clock=wall_clock())
        driver.on_evidence = self._note
        driver.call(machine.start)
        driver.aside = self._steward = Steward(
            manifest, self.cluster.charter, loop=loop, apply=self._apply, report=self._packed_report
        )
        if self._file_is_old:
            self._write_file()
        await self._listen(loop, driver)
        self._dial(loop, driver)
        self._control = Control(control_path(manifest.cluster_id, self.name), self._order)
        await self._control.start()
        self._watch = loop.create_task(self._until_it_fails(driver))
        self._rotate_later(self._replica.incarnations.born or self._began)

    def _rotate_later(self, since: float) -> None:
        """A life lasts a day, counted from this start for the one that a replica was born with."""
        now = time.time()
        since = min(since, now)  # a clock that ran ahead once makes no life longer
        wait = max(0.0, since + LIFE_SECONDS - now)
        self._rotating = asyncio.get_running_loop().call_later(wait, self._rotate)

    def _rotate(self) -> None:
        """Begin a new life; what was said in the old one stays valid."""
        assert self._driver is not None
        now = time.time()
        if self._driver.failure is None:
            counter = max(self._replica.incarnations.current.counter + 1, int(now * 1000))
            nonce = int.from_bytes(os.urandom(8), "big")
            self._driver.call(self._replica.renew, Incarnation(counter, nonce))
        self._rotate_later(now)

    async def _listen(self, loop: asyncio.AbstractEventLoop, driver: Driver) -> None:
        tls, shown = self._tls_of_mine()
        self._listening = Listening(
            parse_address(self.cluster.addresses[self.name]),
            Credentials(self.name, self._identity, self.cluster.manifest),
            driver,
            loop=loop,
            entropy=os.urandom,
            bounds=Bounds.within(raise_file_limit()),
            revoked=lambda party: party in self._revoked,
            tls=tls,
            tls_certificate=shown,
        )
        await self._listening.start()

    def _dial(self, loop: asyncio.AbstractEventLoop, driver: Driver) -> None:
        manifest = self.cluster.manifest
        for peer in manifest.replicas:
            if dials(manifest, self.name, peer.name):
                dialling = Dialling(
                    parse_address(self.cluster.addresses[peer.name]),
                    peer.name,
                    Credentials(self.name, self._identity, manifest),
                    driver,
                    loop=loop,
                    entropy=os.urandom,
                    tls=pinned(peer.tls) if peer.tls else None,
                )
                dialling.start()
                self._dialled.append(dialling)

    def _tls_of_mine(self) -> tuple[ssl.SSLContext | None, bytes]:
        entry = self.cluster.manifest.replica(self.name)
        if entry is None or not entry.tls:
            return None, b""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        path = replica_folder(self._folder, self.name) / TLS_FILE
        try:
            context.load_cert_chain(path)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"{path}: {error}: restore the file that init wrote") from error
        return context, entry.tls

    async def _until_it_fails(self, driver: Driver) -> None:
        with suppress(Exception):  # it is logged, and stands in `failure`
            await driver.wait()
        self.over.set()

    async def stop(self) -> None:
        """Finish the turn, hand out what was said, close the journal: nothing is lost."""
        for timer in (self._writing, self._rotating):
            if timer is not None:
                timer.cancel()
        try:
            if self._driver is not None:
                self._driver.stop()
            ends: list[Dialling | Listening] = [*self._dialled]
            if self._listening is not None:
                ends.append(self._listening)
            done = await asyncio.gather(*(end.close() for end in ends), return_exceptions=True)
            if self._control is not None:  # the last: while it answers, this replica runs
                await self._control.close()
            for error in done:
                if error is not None:
                    raise error
        finally:
            if self._journal is not None:
                self._journal.close()

    @property
    def failure(self) -> Exception | None:
        """What stopped the machine, if something did."""
        return self._driver.failure if self._driver is not None else None

    # -- what the operator signed --------------------------------------------------------------

    def _apply(self, charter: Charter) -> None:
        """A newer charter: from now on it is in force, also after a restart."""
        assert self._driver is not None
        self._keeping.check(charter)
        self._keeping.store(charter)
        self.cluster = msgspec.structs.replace(self.cluster, charter=charter)
        self._revoked = frozenset(charter.revoked)
        self._driver.call(self._replica.learn, charter.channels)
        if self._listening is not None:
            self._listening.expel()
        self._write_file()
        _log.info("%s adopts version %d of the operator's channels", self.name, charter.version)

    def _write_file(self, attempts: int = WRITING_ATTEMPTS) -> None:
        """Bring `cluster.toml` up to date: for people, and for clients that are made from it."""
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None
        try:
            adopt(self.cluster, self.cluster.charter)
        except Busy:
            if attempts > 0:
                loop = asyncio.get_running_loop()
                again = attempts - 1
                self._writing = loop.call_later(WRITING_SECONDS, self._write_file, again)
        except (QuorumcastError, OSError) as error:
            _log.warning("%s is not brought up to date: %s", self.cluster.path, error)

    def _learn(self) -> dict[str, int]:
        """The operator changed the file."""
        assert self._steward is not None
        found = load_cluster(self._folder)
        if found.manifest != self.cluster.manifest:
            raise ConfigError(f"{found.path}: is of another cluster or epoch: restart {self.name}")
        self._steward.adopt(found.charter)
        return {"version": self._steward.charter.version}

    # -- its operator --------------------------------------------------------------------------

    @property
    def _replica(self) -> Replica:
        assert self._driver is not None
        assert isinstance(self._driver.machine, Replica)
        return self._driver.machine

    def _report(self) -> dict[str, Any]:
        assert self._driver is not None
        links = set(self._driver.links)
        return replica_report(self._replica, self.cluster, links, self._suspects)

    def _packed_report(self) -> bytes:
        return packed_report(self._report())

    def _note(self, evidence: Evidence) -> None:
        self._suspects.note(evidence, time.time())

    def _order(self, order: str) -> object:
        """An order that came over the control socket."""
        if order == "stop":
            asyncio.get_running_loop().call_soon(self.over.set)
            return {"stopping": self.name}
        if order == "status":
            return self._report()
        if order == "learn":
            return self._learn()
        raise ConfigError(f"there is no order {order}; there are: learn, status, stop")


def raise_file_limit() -> int:
    """As many open files as this process may have: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    while wanted > soft:  # some systems take less than they say
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            break
        except (OSError, ValueError):
            wanted //= 2
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
