"""For tests of programs that use Quorumcast: a running cluster as a pytest fixture.

Put this into a `conftest.py`, and take `quorumcast_cluster` as an argument of a test:

    from quorumcast.testing import quorumcast_cluster

    def test_alarm(quorumcast_cluster):
        with quorumcast.Client(quorumcast_cluster.identity("local")) as qc:
            ...

It is made and started once for all tests of a session, as real processes on free ports of this
machine, and stopped at the end.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorumcast.runtime.folder import add_client, make_cluster
from quorumcast.runtime.local import LocalCluster

_PORTS = 15_000
"""Below those that systems give to whoever connects: a replica that comes back finds its own."""
_WORKERS = 1_000
"""Processes of one test run look for ports in places of their own."""


class RunningCluster:
    """A cluster of four replicas that runs; one of them may fail, and tests may make it."""

    def __init__(self, local: LocalCluster) -> None:
        self._local = local
        self.folder: Path = local.folder
        """The cluster's folder, for `--cluster` and `QUORUMCAST_CLUSTER`."""
        self.replicas: tuple[str, ...] = local.names

    def identity(self, name: str = "local") -> Path:
        """The key file of a client of this name, which is made where there is none."""
        path = self.folder / f"{name}.qc"
        return path if path.exists() else add_client(self.folder, name)[0]

    def stop(self, replica: str) -> None:
        """Stop a replica in order."""
        asyncio.run(self._local.stop([self._local.check(replica)]))

    def kill(self, replica: str) -> None:
        """End a replica's process at once, as a crash does."""
        self._local.kill(self._local.check(replica))

    def start(self, replica: str) -> None:
        """Start a replica again, and wait until it is ready."""
        self._local.start([self._local.check(replica)])
        asyncio.run(self._local.wait_ready([replica]))


@pytest.fixture(scope="session")
def quorumcast_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    """A running cluster with the channels `events`, `alerts` and `metrics`."""
    folder = tmp_path_factory.mktemp("quorumcast") / "cluster"
    make_cluster(folder, first_port=_PORTS + os.getpid() % _WORKERS * 16)
    local = LocalCluster(folder)
    local.start()
    try:
        asyncio.run(local.wait_ready())
        yield RunningCluster(local)
    finally:
        asyncio.run(local.stop())
