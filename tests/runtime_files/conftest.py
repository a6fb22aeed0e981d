"""A cluster made once; each test has a copy of its folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from quorumcast.runtime.folder import make_cluster
from tests.runtime_files.made import entropy


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pattern") / "demo"
    make_cluster(folder, entropy=entropy())
    return folder


@pytest.fixture
def folder(pattern: Path, tmp_path: Path) -> Path:
    """A cluster's folder of four local replicas."""
    return Path(shutil.copytree(pattern, tmp_path / "demo"))


@pytest.fixture(scope="session")
def spread_pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pattern") / "demo"
    hosts = [f"tcp://{host}:7400" for host in ("a.example", "b.example", "10.0.0.3", "[::1]")]
    make_cluster(folder, addresses=hosts, spread=True, entropy=entropy(1))
    return folder


@pytest.fixture
def spread(spread_pattern: Path, tmp_path: Path) -> Path:
    """The operator's folder of a cluster on four hosts."""
    return Path(shutil.copytree(spread_pattern, tmp_path / "spread"))
