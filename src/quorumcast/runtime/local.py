"""The replicas of this host as processes: started, asked how they are, stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from quorumcast.core.errors import ConfigError, ProtocolError, QuorumcastError
from quorumcast.core.ids import Party
from quorumcast.runtime.changing import OPERATOR_FILE, load_operator
from quorumcast.runtime.control import NotRunning, control_path, give_order
from quorumcast.runtime.errand import ask_reports
from quorumcast.runtime.folder import JOURNAL_FOLDER, replica_folder, replicas_here
from quorumcast.runtime.report import unpacked_report
from quorumcast.runtime.settings import load_cluster
from quorumcast.runtime.survey import flowing, quorum, surveyed

LOG_FILE = "replica.log"
READY_SECONDS = 20.0
"""How long replicas may take to find each other; on an idle machine it is well under two."""

ALONE_SECONDS = 3.0
"""How long one that runs may look for the others before that is told."""

ANSWER_SECONDS = 1.0
"""How long a replica of this host may take to answer; one that takes longer hangs."""

STOP_SECONDS = 10.0
"""How long a replica may take to end that answered to the order."""

HUNG_SECONDS = 3.0
"""How long one may take that did not answer, from SIGTERM to SIGKILL."""

_POLL_SECONDS = 0.02


@cache
def lifeline() -> int:
    """What replicas of this process read: nothing is written, and it ends when we do, even killed.

    >>> lifeline() == lifeline()
    True
    """
    reading, _writing = os.pipe()  # the writing end stays open for as long as this process lives
    return reading


class NotReady(QuorumcastError):
    """Replicas that were started did not become ready.

    >>> issubclass(NotReady, QuorumcastError)
    True
    """


class LocalCluster:
    """The replicas whose keys are in a cluster's folder.

    Processes that this object started end with this process, or when `stop` is called; it can speak
    to others as well, for they are found by their control sockets. With `anywhere` the folder may
    have no replica's keys: for who only asks how the cluster is.
    """

    def __init__(self, folder: Path, *, anywhere: bool = False) -> None:
        self.folder = folder
        self.cluster = load_cluster(folder)
        self.names = replicas_here(self.cluster)
        self.killed: list[Party] = []
        self._processes: dict[Party, subprocess.Popen[bytes]] = {}
        if not self.names and not anywhere:
            raise ConfigError(
                f"{folder} has no replica's keys: use the folder that init wrote for this host"
            )

    def check(self, name: Party) -> Party:
        """A replica's name, or `ConfigError` that lists those there are."""
        if name not in self.names:
            raise ConfigError(f"there is no replica {name} here: there are {', '.join(self.names)}")
        return name

    # -- starting ------------------------------------------------------------------------------

    def start(self, names: Iterable[Party] | None = None, *, detached: bool = False) -> None:
        """Start replicas, each as a process that writes to its own log.

        They end with this process, however it ends, unless they are detached from it.
        """
        for name in self.names if names is None else names:
            log = replica_folder(self.folder, name) / LOG_FILE
            command = [sys.executable, "-m", "quorumcast.cli", "replica", name]
            command += [] if detached else ["--attached"]
            with log.open("ab") as output:
                self._processes[name] = subprocess.Popen(  # noqa: S603 (our own program)
                    [*command, "--cluster", str(self.folder)],
                    stdin=subprocess.DEVNULL if detached else lifeline(),
                    stdout=output,
                    stderr=output,
                    start_new_session=True,  # a Ctrl-C is for us; we tell them
                )

    async def wait_ready(
        self, names: Iterable[Party] | None = None, seconds: float = READY_SECONDS
    ) -> None:
        """Until these replicas are ready; `NotReady` says which one is not, and where to look."""
        waiting = dict.fromkeys(self.names if names is None else names)
        until = time.monotonic() + seconds
        while waiting:
            for name in list(waiting):
                self._check_alive(name)
                report = await self.ask(name)
                if report is not None and report["state"] in ("ready", "abstaining"):
                    del waiting[name]
            if waiting and time.monotonic() > until:
                name = next(iter(waiting))
                raise NotReady(f"{name} was not ready in time: see {self._log(name)}")
            if waiting:
                await asyncio.sleep(_POLL_SECONDS)

    async def wait_up(self, name: Party) -> dict[str, Any]:
        """Until a replica is ready, or has run for a while and has too few others; its report."""
        until = time.monotonic() + READY_SECONDS
        alone_until = float("inf")
        while time.monotonic() < until:
            self._check_alive(name)
            report = await self.ask(name)
            now = time.monotonic()
            if report is not None:
                if report["state"] in ("ready", "abstaining"):
                    return report
                alone_until = min(alone_until, now + ALONE_SECONDS)
                if now >= alone_until and report["connected"] < quorum(self.cluster):
                    return report
            await asyncio.sleep(_POLL_SECONDS)
        raise NotReady(f"{name} was not ready in time: see {self._log(name)}")

    def _check_alive(self, name: Party) -> None:
        process = self._processes.get(name)
        if process is not None and process.poll() is not None:
            log = self._log(name)
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            last = lines[-1] if lines else f"exit code {process.returncode}"
            last = last.removeprefix("quorumcast: ")
            raise NotReady(f"{name} ended: {last} (see {log})")

    def _log(self, name: Party) -> Path:
        return replica_folder(self.folder, name) / LOG_FILE

    # -- asking --------------------------------------------------------------------------------

    async def ask(self, name: Party, order: str = "status") -> Any:
        """What a replica answers to an order; None if it does not run, or hangs."""
        path = control_path(self.cluster.manifest.cluster_id, name)
        try:
            return await give_order(path, order, ANSWER_SECONDS)
        except NotRunning:
            return None

    async def running(self) -> list[Party]:
        """The replicas that answer."""
        answers = await self._ask_all(self.names)
        return [name for name, answer in answers.items() if answer is not None]

    async def present(self) -> list[Party]:
        """The replicas that answer or whose processes live: these cannot be started."""
        answers = await self._ask_all(self.names)
        return [
            name
            for name, answer in answers.items()
            if answer is not None or self.pid(name) is not None
        ]

    async def _ask_all(self, names: Iterable[Party], order: str = "status") -> dict[Party, Any]:
        """At once: those that hang take their time together."""
        asked = list(names)
        answers = await asyncio.gather(*(self.ask(name, order) for name in asked))
        return dict(zip(asked, answers, strict=True))

    def pid(self, name: Party) -> int | None:
        """The process of a replica, whether or not it answers: it holds the journal's lock."""
        from quorumcast.store.place import holder  # LMDB is loaded by who needs it

        process = self._processes.get(name)
        if process is not None and process.poll() is None:
            return process.pid
        return holder(replica_folder(self.folder, name) / JOURNAL_FOLDER)

    def ended(self) -> list[Party]:
        """Replicas that this object started and that ended by themselves."""
        return [name for name, process in self._processes.items() if process.poll() is not None]

    def exit_code(self, name: Party) -> int | None:
        """How a process that this object started ended; below 0: by that signal."""
        process = self._processes.get(name)
        return None if process is None else process.poll()

    # -- stopping ------------------------------------------------------------------------------

    async def stop(self, names: Iterable[Party] | None = None) -> list[Party]:
        """Stop replicas, whoever started them; returns those that ran.

        A process that does not end in time is killed, and named in `killed`: a replica survives
        that.
        """
        until: dict[Party, float] = {}
        self.killed = []
        answers = await self._ask_all(self.names if names is None else names, "stop")
        for name, answer in answers.items():
            if answer is not None:
                until[name] = time.monotonic() + STOP_SECONDS
            elif self._signal(name, signal.SIGTERM):
                until[name] = time.monotonic() + HUNG_SECONDS
        for name, end in until.items():
            while await self._is_up(name):
                if time.monotonic() > end and name not in self.killed:
                    if not self._signal(name, signal.SIGKILL):
                        raise NotReady(f"{name} did not stop in time: see {self._log(name)}")
                    self.killed.append(name)
                await asyncio.sleep(_POLL_SECONDS)
        return list(until)

    def _signal(self, name: Party, number: signal.Signals) -> bool:
        """Whether there was a process to tell."""
        if (pid := self.pid(name)) is None:
            return False
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            raise NotReady(f"{name} is process {pid} of another user, who may stop it") from None
        return True

    async def _is_up(self, name: Party) -> bool:
        if self.pid(name) is not None:
            return True
        return name not in self._processes and await self.ask(name) is not None

    def kill(self, name: Party) -> None:
        """End a process that this object started, at once, as a crash does."""
        process = self._processes[name]
        process.kill()
        process.wait()

    # -- the whole cluster ---------------------------------------------------------------------

    async def reports(self) -> dict[Party, dict[str, Any] | None]:
        """What each replica of the cluster says of itself; None of those that do not answer.

        Those of other hosts are asked over links, if the operator's key is in this folder.
        """
        found: dict[Party, dict[str, Any] | None] = await self._ask_all(self.names)
        replicas = self.cluster.manifest.replicas
        elsewhere = [each.name for each in replicas if each.name not in found]
        if elsewhere and self.may_ask:
            operator = load_operator(self.folder, self.cluster)
            texts = await ask_reports(self.cluster, operator, elsewhere)
            for name, text in texts.items():
                with suppress(ProtocolError):
                    found[name] = unpacked_report(text, name, self.cluster.addresses[name])
        return {each.name: found.get(each.name) for each in replicas}

    @property
    def may_ask(self) -> bool:
        """Whether the operator's key is here: replicas of other hosts report to it alone."""
        return (self.folder / OPERATOR_FILE).exists()

    async def channels(self) -> dict[str, dict[str, int]]:
        """What runs through each channel, as f+1 replicas say at least; nothing where fewer do."""
        return flowing(await self.reports(), self.cluster.manifest.faults + 1)

    async def status(self) -> dict[str, Any]:
        """What the replicas say of themselves, and what that means for the cluster."""
        reports = await self.reports()
        here = {name: None if reports[name] else self.pid(name) for name in self.names}
        return surveyed(self.cluster, here, reports, asked=self.may_ask)
