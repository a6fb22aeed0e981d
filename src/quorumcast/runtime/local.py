"""The replicas of this host as processes: started, asked how they are, stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from quorumcast.broadcast.tally import kth
from quorumcast.core.errors import ConfigError, QuorumcastError
from quorumcast.core.ids import Party
from quorumcast.runtime.control import NotRunning, control_path, give_order
from quorumcast.runtime.folder import replica_folder, replicas_here
from quorumcast.runtime.settings import load_cluster

LOG_FILE = "replica.log"
READY_SECONDS = 20.0
"""How long replicas may take to find each other; on an idle machine it is well under two."""

STOP_SECONDS = 10.0

LIVE = ("streams", "held", "confirmed", "floor", "publishers", "subscribers")
"""What only running replicas know of a channel; the last two are those connected now."""

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
    to others as well, for they are found by their control sockets.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cluster = load_cluster(folder)
        self.names = replicas_here(self.cluster)
        self._processes: dict[Party, subprocess.Popen[bytes]] = {}
        if not self.names:
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
        """What a replica answers to an order; None if it does not run."""
        try:
            return await give_order(control_path(self.cluster.manifest.cluster_id, name), order)
        except NotRunning:
            return None

    async def running(self) -> list[Party]:
        """The replicas that answer."""
        return [name for name in self.names if await self.ask(name) is not None]

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

        A process of ours that does not end in time is killed: a replica survives that.
        """
        stopped: list[Party] = []
        for name in self.names if names is None else names:
            if await self.ask(name, "stop") is not None:
                stopped.append(name)
            elif name in self._processes and self._processes[name].poll() is None:
                self._processes[name].send_signal(signal.SIGTERM)
                stopped.append(name)
        until = time.monotonic() + STOP_SECONDS
        for name in stopped:
            while await self._is_up(name):
                if time.monotonic() > until and name in self._processes:
                    self.kill(name)
                elif time.monotonic() > until:
                    raise NotReady(f"{name} did not stop in time: see {self._log(name)}")
                await asyncio.sleep(_POLL_SECONDS)
        return stopped

    async def _is_up(self, name: Party) -> bool:
        process = self._processes.get(name)
        if process is not None:
            return process.poll() is None
        return await self.ask(name) is not None

    def kill(self, name: Party) -> None:
        """End a process that this object started, at once, as a crash does."""
        process = self._processes[name]
        process.kill()
        process.wait()

    async def channels(self) -> dict[str, dict[str, int]]:
        """What runs through each channel, as f+1 replicas say at least; nothing where fewer do."""
        need = self.cluster.manifest.faults + 1
        reports = [await self.ask(name) for name in self.names]
        said: dict[str, list[dict[str, int]]] = {}
        for report in reports:
            for channel in report["channels"] if report is not None else ():
                said.setdefault(channel["name"], []).append(channel)
        return {
            name: {field: kth([each[field] for each in all_], need) for field in LIVE}
            for name, all_ in said.items()
            if len(all_) >= need
        }

    async def status(self) -> dict[str, Any]:
        """What the replicas say of themselves, and what that means for the cluster."""
        manifest = self.cluster.manifest
        replicas: list[dict[str, Any]] = []
        suspected: list[dict[str, Any]] = []
        for entry in manifest.replicas:
            here = entry.name in self.names
            report = await self.ask(entry.name) if here else None
            if report is None:
                state = "stopped" if here else "unreachable"
                address = self.cluster.addresses[entry.name]
                report = {"name": entry.name, "address": address, "pid": None, "state": state}
            else:
                suspected += report.pop("suspected")
            replicas.append(report)
        channels = self.cluster.channels
        quorum = max((c.quorum(manifest.cluster()).votes for c in channels), default=1)
        down = sum(1 for each in replicas if each["state"] in ("stopped", "unreachable"))
        return {
            "cluster": self.cluster.name,
            "folder": str(self.folder),
            "epoch": manifest.epoch,
            "lab": manifest.lab,
            "n": len(manifest.replicas),
            "f": manifest.faults,
            "quorum": quorum,
            "faults_left": manifest.faults - down,
            "replicas": replicas,
            "suspected": _joined(suspected),
        }


def _joined(suspected: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reports of several replicas about the same parties, as one."""
    joined: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {}
    for each in suspected:
        key = (tuple(each["parties"]), each["grade"])
        known = joined.setdefault(key, {**each, "count": 0, "seen_by": []})
        known["count"] += each["count"]
        known["first"] = min(known["first"], each["first"])
        known["last"] = max(known["last"], each["last"])
        known["seen_by"] = sorted({*known["seen_by"], *each["seen_by"]})
    return list(joined.values())
