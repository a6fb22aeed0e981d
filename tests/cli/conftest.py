"""One cluster of real processes for the tests of the commands that talk to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quorumcast.runtime.folder import make_cluster
from tests.cli.shell import Shell
from tests.cluster.fire import port


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A cluster in the background; tests leave all its replicas running."""
    folder = tmp_path_factory.mktemp("shell") / "cluster"
    make_cluster(folder, first_port=port())
    shell = Shell(folder, folder.parent)
    shell("channel", "add", "typed", "--publishers", "*", "--schema", TYPED)
    shell("up", "--detach")
    try:
        yield shell
    finally:
        shell("down")


TYPED = "flag=bool,severity=int8,load=float64,short=float32,host=string,raw=binary,seen=timestamp"
