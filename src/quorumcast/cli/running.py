"""Commands that run replicas: `replica`, `up`, `down`, `start`, `stop`, `status`."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from quorumcast.cli.called import called
from quorumcast.cli.ending import FAILED
from quorumcast.cli.folders import Json, Where, folder_ending, run
from quorumcast.core.errors import ConfigError
from quorumcast.runtime.finding import find_cluster, remember_up
from quorumcast.runtime.folder import make_cluster
from quorumcast.runtime.local import LocalCluster
from quorumcast.runtime.memory import keep_memory
from quorumcast.runtime.server import Server
from quorumcast.runtime.settings import CLUSTER_FILE
from quorumcast.runtime.units import parse_duration

NEW_FOLDER = "cluster"
"""Where `up` makes a cluster, if it finds none and is told no other place."""

Names = Annotated[str, typer.Argument(metavar="REPLICA", help="A replica's name, such as r2.")]

_UP = """Examples:

quorumcast up                 # the cluster here, or a new one in ./cluster; Ctrl-C stops it

quorumcast up demo --detach   # in the background; quorumcast down stops it

quorumcast up --for 30s
"""


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=_UP)(up)
    for command in (down, status, start, stop, replica):
        app.command()(command)


# -- one replica -----------------------------------------------------------------------------------


def replica(name: Names, cluster: Where = None) -> None:
    """Run one replica in the foreground: what `up` does for each, and what a service runs."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    with folder_ending():
        if not run(_serve(find_cluster(cluster), name)):
            raise typer.Exit(FAILED)


async def _serve(folder: Path, name: str) -> bool:
    """Until a signal or an order ends it; says whether it ended well."""
    keep_memory()
    server = Server(folder, name)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.over.set)
    try:
        await server.start()
        print(f"{name} of {server.cluster.name} runs at {server.cluster.addresses[name]}")
        sys.stdout.flush()
        await server.over.wait()
    finally:
        await server.stop()
    return server.failure is None


# -- the replicas of this host ---------------------------------------------------------------------


def up(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="The cluster's folder.")
    ] = None,
    *,
    detach: Annotated[bool, typer.Option("--detach", help="Leave it in the background.")] = False,
    time_: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="Stop after a time, e.g. 30s.")
    ] = None,
    cluster: Where = None,
) -> None:
    """Run the replicas of a cluster on this host; make the cluster first where there is none."""
    with folder_ending():
        seconds = None if time_ is None else parse_duration(time_)
        if detach and seconds is not None:
            raise ConfigError("--detach leaves it running and --for stops it: use one of the two")
        place = _place(folder, cluster)
        local = LocalCluster(place)
        remember_up(place)
        run(_up(local, detach=detach, seconds=seconds))


def _place(folder: Path | None, cluster: Path | None) -> Path:
    if folder is None:
        try:
            return find_cluster(cluster)
        except ConfigError:
            if cluster is not None:
                raise
            folder = Path(NEW_FOLDER)
    if not (folder / CLUSTER_FILE).is_file():
        made = make_cluster(folder)
        print(f"made a cluster of {len(made.manifest.replicas)} replicas in {folder}")
    return folder


async def _up(local: LocalCluster, *, detach: bool, seconds: float | None) -> None:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    if running := await local.running():
        raise ConfigError(
            f"{', '.join(running)} of this cluster run already: use quorumcast status, or down"
        )
    local.start(detached=detach)
    try:
        await local.wait_ready()
    except BaseException:
        await local.stop()
        raise
    _greet(local)
    if not detach:
        await _until(over, local, seconds)
        await local.stop()
        print("stopped")


def _greet(local: LocalCluster) -> None:
    channels = ", ".join(channel.name for channel in local.cluster.channels)
    n, f = len(local.cluster.manifest.replicas), local.cluster.manifest.faults
    lab = "  LAB" if local.cluster.manifest.lab else ""
    print(f"{local.cluster.name}: {n} replicas are ready, {f} of them may lie{lab}")
    print(f"channels: {channels}")
    where = f" --cluster {local.folder}"
    print("try, each in a terminal of its own:")
    print(f"  {called('quorumcast sub events --from earliest' + where)}")
    print(f"  {called('quorumcast pub events hello' + where)}")
    sys.stdout.flush()


async def _until(over: asyncio.Event, local: LocalCluster, seconds: float | None) -> None:
    """Until a signal, or the time is over; a replica that ends is told of, once."""
    told: set[str] = set()
    loop = asyncio.get_running_loop()
    end = None if seconds is None else loop.time() + seconds
    while not over.is_set() and (end is None or loop.time() < end):
        pause = 0.5 if end is None else min(0.5, max(0.0, end - loop.time()))
        try:
            async with asyncio.timeout(pause):
                await over.wait()
        except TimeoutError:
            pass
        for name in set(local.ended()) - told:
            told.add(name)
            print(f"{name} ended; quorumcast start {name} brings it back", file=sys.stderr)


def down(cluster: Where = None) -> None:
    """Stop the replicas of a cluster that run on this host."""
    with folder_ending():
        local = LocalCluster(find_cluster(cluster))
        stopped = run(local.stop())
        print(f"stopped {', '.join(stopped)}" if stopped else "nothing was running")


def stop(name: Names, cluster: Where = None) -> None:
    """Stop one replica of this host."""
    with folder_ending():
        local = LocalCluster(find_cluster(cluster))
        stopped = run(local.stop([local.check(name)]))
        print(f"stopped {name}" if stopped else f"{name} was not running")


def start(name: Names, cluster: Where = None) -> None:
    """Start one replica of this host again, in the background."""
    with folder_ending():
        local = LocalCluster(find_cluster(cluster))
        run(_start(local, local.check(name)))
        print(f"{name} is ready")


async def _start(local: LocalCluster, name: str) -> None:
    if await local.ask(name) is not None:
        raise ConfigError(f"{name} runs already")
    local.start([name], detached=True)
    await local.wait_ready([name])


# -- status ----------------------------------------------------------------------------------------


def status(*, json: Json = False, cluster: Where = None) -> None:
    """What the replicas say of themselves; those of other hosts say it to the operator alone."""
    with folder_ending():
        local = LocalCluster(find_cluster(cluster), anywhere=True)
        found = run(local.status())
        if json:
            print(msgspec.json.encode(found).decode())
        else:
            _show(found)


def _show(found: dict[str, Any]) -> None:
    console = Console(highlight=False)
    lab = ", LAB" if found["lab"] else ""
    left = found["faults_left"]
    more = f"{left} more may fail" if left >= 0 else f"{-left} too many are gone"
    console.print(
        f"{found['cluster']}: {found['n']} replicas, {found['f']} may be faulty, a quorum is "
        f"{found['quorum']}; {more}{lab}"
    )
    if left < 0:
        console.print("more are gone than may fail: what is published may wait until they are back")
    table = Table("replica", "state", "address", "pid", "clients", "memory")
    for each in found["replicas"]:
        memory = each.get("rss_bytes")
        table.add_row(
            each["name"],
            each["state"],
            each["address"],
            str(each["pid"] or ""),
            str(each.get("clients", "")),
            f"{memory / 2**20:.0f} MiB" if memory else "",
        )
    console.print(table)
    console.print("each line is that replica's own statement")
    for each in found["suspected"]:
        who, by = " or ".join(each["parties"]), ", ".join(each["seen_by"])
        console.print(f"{each['grade']}: {who}: {each['kind']} ({each['count']} times, by {by})")
