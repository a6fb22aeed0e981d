"""A playground leaves no process and no file behind, however it ends."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.lab.playground import playground
from quorumcast.runtime.local import LocalCluster

CHANNEL = {"name": "readings", "publishers": ["probe-*"]}


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for all temporary files; short, since it is part of sockets' names."""
    with tempfile.TemporaryDirectory(prefix="qc") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
        yield Path(folder)


def files_in(place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if not path.is_dir()]


def processes_of(place: Path) -> list[int]:
    found = psutil.process_iter(["cmdline"])
    return [each.pid for each in found if any(str(place) in a for a in each.info["cmdline"] or ())]


async def use(local: LocalCluster, place: Path) -> None:
    assert await local.running() == ["r1", "r2", "r3", "r4"]
    assert len(processes_of(place)) == 4
    assert [each.name for each in local.cluster.channels][-1] == "readings"
    assert (local.folder / "probe-7.qc").is_file()


def test_at_its_end_everything_is_gone(place: Path) -> None:
    async def play() -> None:
        async with playground("demo", [CHANNEL], ["probe-7"]) as local:
            await use(local, place)
            local.kill("r2")

    asyncio.run(play())
    assert processes_of(place) == []
    assert files_in(place) == [], "the socket of a killed replica as well"
    assert not list(place.glob("qc-demo-*"))


def test_after_an_error_everything_is_gone(place: Path) -> None:
    async def play() -> None:
        async with playground("demo", [], []):
            raise ValueError("of whoever uses it")

    with pytest.raises(ValueError, match="of whoever"):
        asyncio.run(play())
    assert (processes_of(place), files_in(place)) == ([], [])


def test_whoever_cancels_while_it_starts_finds_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        started = asyncio.Event()

        async def wait(_: LocalCluster) -> None:
            assert len(processes_of(place)) == 4
            started.set()
            await asyncio.Event().wait()

        async def play() -> None:
            async with playground("demo", [], []):
                raise AssertionError("it is cancelled before")

        monkeypatch.setattr(LocalCluster, "wait_ready", wait)
        task = asyncio.create_task(play())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert (processes_of(place), files_in(place)) == ([], [])


def test_what_cannot_be_made_leaves_nothing(place: Path) -> None:
    async def play() -> None:
        async with playground("demo", [CHANNEL, CHANNEL], []):
            raise AssertionError("there are two channels of one name")

    with pytest.raises(ConfigError, match="readings: there is one already"):
        asyncio.run(play())
    assert list(place.iterdir()) == []
