"""`quorumcast up`: the replicas of this host from their start to their end."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import Any

from quorumcast.cli.called import called
from quorumcast.cli.ending import say
from quorumcast.cli.folders import as_json
from quorumcast.core.errors import ConfigError
from quorumcast.runtime.finding import LOCAL, find_cluster
from quorumcast.runtime.local import LOG_FILE, LocalCluster

_LOOK_SECONDS = 0.25
"""How soon a replica that ended is told of."""


async def supervise(
    local: LocalCluster, *, detach: bool, seconds: float | None, json: bool
) -> bool:
    """Start the replicas; unless they are detached, stay with them. Says whether they end well."""
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    # They stay in force while we stop: another Ctrl-C then does no harm.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, over.set)
    names = await _missing(local)
    local.start(names, detached=detach)
    try:
        is_ready = await _unless(over, local.wait_ready(names))
    except BaseException:
        await local.stop(names)
        raise
    if not is_ready:
        await local.stop(names)
        raise KeyboardInterrupt
    if json:
        print(as_json(_object(local, names)))
    else:
        _greet(local, names, await local.running())
    sys.stdout.flush()
    if detach:
        return True
    well = await _watch(over, local, names, seconds)
    await local.stop(names)
    if not json:
        print("stopped" if len(names) == len(local.names) else f"stopped {', '.join(names)}")
    return well


async def _missing(local: LocalCluster) -> list[str]:
    """Those to start; `ConfigError` if all run."""
    present = await local.present()
    if missing := [name for name in local.names if name not in present]:
        return missing
    verb, they, them = ("runs", "it is", "it") if len(present) == 1 else ("run", "they are", "them")
    raise ConfigError(
        f"{', '.join(present)} of this cluster {verb} already: quorumcast status shows how {they}, "
        f"quorumcast down stops {them}"
    )


async def _unless(over: asyncio.Event, work: Awaitable[None]) -> bool:
    """Wait for work; false if a signal came first."""
    ready, told = asyncio.ensure_future(work), asyncio.ensure_future(over.wait())
    try:
        await asyncio.wait([ready, told], return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            ready.result()
        return ready.done()
    finally:
        for each in (ready, told):
            each.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await each


async def _watch(
    over: asyncio.Event, local: LocalCluster, names: list[str], seconds: float | None
) -> bool:
    """Until a signal, the end of the time, or of all replicas; one that ends is told of, once."""
    told: set[str] = set()
    loop = asyncio.get_running_loop()
    end = float("inf") if seconds is None else loop.time() + seconds
    while not over.is_set() and loop.time() < end:
        with suppress(TimeoutError):
            async with asyncio.timeout(min(_LOOK_SECONDS, end - loop.time())):
                await over.wait()
        for name in sorted(set(local.ended()) - told):
            told.add(name)
            _tell_ended(local, name)
        if len(told) == len(names) and not set(names) & set(await local.running()):
            all_ = len(names) == len(local.names)
            say(f"no replica {'' if all_ else 'that was started here '}runs any more")
            return all(local.exit_code(name) == 0 for name in told)
    return True


def _tell_ended(local: LocalCluster, name: str) -> None:
    code = local.exit_code(name)
    back = f"quorumcast start {name} brings it back"
    if code == 0:
        say(f"{name} was stopped: {back}")
    else:
        how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        say(f"{name} ended {how}: see {local.folder / name / LOG_FILE}; {back}")


# -- what is said when they are ready --------------------------------------------------------------


def _object(local: LocalCluster, names: list[str]) -> dict[str, Any]:
    manifest = local.cluster.manifest
    return {
        "cluster": local.cluster.name,
        "folder": str(local.folder),
        "lab": manifest.lab,
        "n": len(manifest.replicas),
        "f": manifest.faults,
        "started": names,
        "channels": [each.name for each in local.cluster.channels],
    }


def _greet(local: LocalCluster, names: list[str], running: list[str]) -> None:
    channels = local.cluster.channels
    n, f = len(local.cluster.manifest.replicas), local.cluster.manifest.faults
    lab = "  LAB" if local.cluster.manifest.lab else ""
    if len(running) == n:
        ready = f"{n} replicas are ready, {f} of them may lie"
    else:
        verb = "runs" if len(running) == 1 else "run"
        ready = f"{len(running)} of {n} replicas {verb} here: {', '.join(running)}"
        ready += f"; {f} of {n} may lie"
    print(f"{local.cluster.name}: {ready}{lab}")
    if others := [name for name in local.names if name not in names]:
        print(f"started {', '.join(names)}; {', '.join(others)} ran already")
    if not local.folder.resolve().is_relative_to(Path.cwd()):  # found elsewhere, or named
        print(f"its folder: {local.folder}; quorumcast up DIR for another cluster")
    print(f"channels: {', '.join(each.name for each in channels) or 'none'}")
    usable = [
        each.name
        for each in channels
        if each.admits_publisher(LOCAL) and each.admits_subscriber(LOCAL)
    ]
    if not usable:
        print("try: quorumcast channel add NAME --publishers '*'")
        return
    where = "" if _is_found(local) else f" --cluster {shlex.quote(str(local.folder))}"
    print("try, each in a terminal of its own:")
    print(f"  {called(f'quorumcast sub {usable[0]} --from earliest{where}')}")
    print(f"  {called(f'quorumcast pub {usable[0]} hello{where}')}")


def _is_found(local: LocalCluster) -> bool:
    """Whether commands given here find this cluster without being told."""
    try:
        return find_cluster().resolve() == local.folder.resolve()
    except ConfigError:
        return False
