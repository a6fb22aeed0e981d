"""Commands that run replicas: `replica`, `up`, `down`, `start`, `stop`, `status`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorumcast.cli.completing import replica_names
from quorumcast.cli.ending import FAILED
from quorumcast.cli.folders import Json, Where, as_json, folder_ending, run
from quorumcast.core.errors import ConfigError
from quorumcast.runtime.files import CLUSTER_FILE
from quorumcast.runtime.finding import current_folder, find_cluster, remember_up
from quorumcast.runtime.units import parse_duration

if TYPE_CHECKING:
    from quorumcast.runtime.local import LocalCluster

NEW_FOLDER = "cluster"
"""Where `up` makes a cluster, if it finds none and is told no other place."""

Names = Annotated[
    str,
    typer.Argument(
        metavar="REPLICA", help="A replica's name, such as r2.", autocompletion=replica_names
    ),
]

UP_EXAMPLES = """
Examples:

quorumcast up                 # the cluster here, or a new one in ./cluster; Ctrl-C stops it

quorumcast up demo --detach   # in the background; quorumcast down stops it

quorumcast up --for 30s
"""
DOWN_EXAMPLES = """
Examples:

quorumcast down

quorumcast down --cluster demo --json
"""
STATUS_EXAMPLES = """
Examples:

quorumcast status

quorumcast status --cluster demo --json | jq .faults_left
"""
START_EXAMPLES = """
Examples:

quorumcast stop r2

quorumcast start r2
"""
REPLICA_EXAMPLES = """
Examples:

quorumcast replica                       # in a folder that init --hosts made for this host

quorumcast replica r1 --cluster demo
"""


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=UP_EXAMPLES)(up)
    app.command(epilog=DOWN_EXAMPLES)(down)
    app.command(epilog=STATUS_EXAMPLES)(status)
    app.command(epilog=START_EXAMPLES)(start)
    app.command(epilog=START_EXAMPLES)(stop)
    app.command(epilog=REPLICA_EXAMPLES)(replica)


# -- one replica -----------------------------------------------------------------------------------


def replica(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[REPLICA]",
            help="Its name; not needed where the folder has one replica's keys.",
            autocompletion=replica_names,
        ),
    ] = None,
    *,
    attached: Annotated[bool, typer.Option("--attached", hidden=True)] = False,
    cluster: Where = None,
) -> None:
    """Run one replica in the foreground: what `up` does for each, and what a service runs."""
    from quorumcast.cli.serving import serve

    with folder_ending():
        if not run(serve(find_cluster(cluster), name, attached=attached)):
            raise typer.Exit(FAILED)


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
    json: Json = False,
) -> None:
    """Run the replicas of a cluster on this host; make the cluster first where there is none."""
    with folder_ending():
        seconds = None if time_ is None else parse_duration(time_)
        if detach and seconds is not None:
            raise ConfigError("--detach leaves it running and --for stops it: use one of the two")
        if folder is not None and cluster is not None:
            raise ConfigError(f"{folder} and --cluster {cluster} name two folders: use one of them")
        place = _place(folder, cluster, json=json)
        from quorumcast.cli.supervising import supervise
        from quorumcast.runtime.local import LocalCluster

        local = LocalCluster(place)
        remember_up(place)
        if not run(supervise(local, detach=detach, seconds=seconds, json=json)):
            raise typer.Exit(FAILED)


def _place(folder: Path | None, cluster: Path | None, *, json: bool) -> Path:
    if folder is None:
        try:
            return find_cluster(cluster)
        except ConfigError:
            if cluster is not None:
                raise
            folder = current_folder() / NEW_FOLDER
    if folder.name == CLUSTER_FILE and folder.is_file():
        folder = folder.parent
    if not (folder / CLUSTER_FILE).is_file():
        from quorumcast.runtime.folder import make_cluster

        made = make_cluster(folder)
        if not json:
            print(f"made a cluster of {len(made.manifest.replicas)} replicas in {folder}")
    return folder


def down(cluster: Where = None, *, json: Json = False) -> None:
    """Stop the replicas of a cluster that run on this host."""
    with folder_ending():
        local = _local(cluster)
        _tell_stopped(run(local.stop()), local.killed, "nothing was running", json=json)


def stop(name: Names, cluster: Where = None, *, json: Json = False) -> None:
    """Stop one replica of this host."""
    with folder_ending():
        local = _local(cluster)
        stopped = run(local.stop([local.check(name)]))
        _tell_stopped(stopped, local.killed, f"{name} was not running", json=json)


def _tell_stopped(stopped: list[str], killed: list[str], none: str, *, json: bool) -> None:
    if json:
        print(as_json({"stopped": stopped, "killed": killed}))
        return
    print(f"stopped {', '.join(stopped)}" if stopped else none)
    if killed:
        print(f"{', '.join(killed)} did not end when told to, and had to be killed")


def start(name: Names, cluster: Where = None, *, json: Json = False) -> None:
    """Start one replica of this host again, in the background."""
    with folder_ending():
        local = _local(cluster)
        report = run(_start(local, local.check(name)))
        from quorumcast.runtime.survey import quorum

        state, need = report["state"], quorum(local.cluster)
        if json:
            print(as_json({"started": [name], "state": state}))
        elif report["connected"] < need:
            n = len(local.cluster.manifest.replicas)
            print(f"{name} runs and waits for others: {need} of {n} are needed")
        else:
            print(f"{name} is {state}")


async def _start(local: LocalCluster, name: str) -> dict[str, Any]:
    if await local.ask(name) is not None:
        raise ConfigError(f"{name} runs already: quorumcast status shows how it is")
    local.start([name], detached=True)
    return await local.wait_up(name)


def status(*, json: Json = False, cluster: Where = None) -> None:
    """What the replicas say of themselves; those of other hosts say it to the operator alone."""
    with folder_ending():
        found = run(_local(cluster, anywhere=True).status())
        if json:
            print(as_json(found))
            return
        from quorumcast.cli.looking import show_status

        show_status(found)


def _local(cluster: Path | None, *, anywhere: bool = False) -> LocalCluster:
    folder = find_cluster(cluster)
    from quorumcast.runtime.local import LocalCluster

    return LocalCluster(folder, anywhere=anywhere)
