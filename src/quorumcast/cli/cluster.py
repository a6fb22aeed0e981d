"""`quorumcast init`, `channels`, `channel` and `keys`: a cluster's folder and what stands in it.

Channels and revoked names that they sign are brought to the replicas that run, here and on other
hosts; clients and replicas that come later learn them from those.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorumcast.cli.called import called
from quorumcast.cli.channel import (
    ADD_EXAMPLES,
    CHANNELS_EXAMPLES,
    SIGN_EXAMPLES,
    channel_add,
    channel_sign,
    channels,
    spread_json,
)
from quorumcast.cli.completing import identity_names
from quorumcast.cli.folders import Json, Where, as_json, folder_ending, run
from quorumcast.core.errors import ConfigError
from quorumcast.runtime.files import CLIENT_SUFFIX
from quorumcast.runtime.finding import LOCAL, find_cluster

if TYPE_CHECKING:
    from quorumcast.runtime.settings import ClusterFile

INIT_EXAMPLES = """
Examples:

quorumcast init demo

quorumcast init demo --replicas 7 --faults 2

quorumcast init demo --hosts a.example:7400,b.example:7400,c.example:7400,d.example:7400

quorumcast init lab --lab
"""
KEYS_EXAMPLES = """
Examples:

quorumcast keys add probe-7

quorumcast keys add probe-7 --out /media/stick

quorumcast keys revoke probe-7
"""


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    app.command(epilog=INIT_EXAMPLES)(init)
    app.command(epilog=CHANNELS_EXAMPLES)(channels)
    channel = typer.Typer(no_args_is_help=True, help="Add a channel, or sign edited ones.")
    channel.command("add", epilog=ADD_EXAMPLES)(channel_add)
    channel.command("sign", epilog=SIGN_EXAMPLES)(channel_sign)
    app.add_typer(channel, name="channel", epilog=ADD_EXAMPLES)
    keys = typer.Typer(no_args_is_help=True, help="Add and revoke the identities of clients.")
    keys.command("add", epilog=KEYS_EXAMPLES)(keys_add)
    keys.command("revoke", epilog=KEYS_EXAMPLES)(keys_revoke)
    app.add_typer(keys, name="keys", epilog=KEYS_EXAMPLES)


# -- init ------------------------------------------------------------------------------------------


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or an empty folder.")],
    *,
    replicas: Annotated[
        int | None, typer.Option(help="n, the number of replicas; 4 if not given.")
    ] = None,
    faults: Annotated[
        int | None,
        typer.Option(help="f, how many may lie at the same time; the most for n if not given."),
    ] = None,
    lab: Annotated[
        bool, typer.Option("--lab", help="For experiments: safety may be switched off in it.")
    ] = False,
    hosts: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT,...", help="A replica on each of these; makes a folder for each."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What the cluster is called; as its folder if not given.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a cluster: cluster.toml, keys, example channels, and the identity `local`."""
    from quorumcast.runtime.folder import make_cluster
    from quorumcast.runtime.places import host_addresses

    with folder_ending():
        addresses = [] if hosts is None else host_addresses(hosts)
        count = replicas if replicas is not None else len(addresses) or 4
        if addresses and len(addresses) != count:
            raise ConfigError(
                f"--replicas {count} with {len(addresses)} hosts: name a host for each"
            )
        cluster = make_cluster(
            folder,
            replicas=count,
            faults=max((count - 1) // 3, 0) if faults is None else faults,
            lab=lab,
            name=name,
            addresses=addresses,
            spread=hosts is not None,
        )
        made = _made(folder, cluster, spread=hosts is not None)
        print(as_json(made)) if json else _tell(folder, cluster, made)


def _made(folder: Path, cluster: ClusterFile, *, spread: bool) -> dict[str, Any]:
    from quorumcast.runtime.folder import host_folder

    addresses = cluster.addresses
    return {
        "cluster": cluster.name,
        "id": cluster.manifest.cluster_id.hex(),
        "folder": str(folder),
        "lab": cluster.manifest.lab,
        "n": len(addresses),
        "f": cluster.manifest.faults,
        "replicas": [
            {
                "name": each,
                "address": addresses[each],
                "folder": str(host_folder(folder, addresses[each]) if spread else folder),
            }
            for each in addresses
        ],
        "channels": [each.name for each in cluster.settings],
        "identity": str(folder / f"{LOCAL}{CLIENT_SUFFIX}"),
    }


def _tell(folder: Path, cluster: ClusterFile, made: dict[str, Any]) -> None:
    n, f = made["n"], made["f"]
    print(f"Made the cluster {cluster.name} in {folder}: {n} replicas, of which {f} may be faulty.")
    for each in cluster.settings:
        print(f"  channel {each.name} ({each.channel.protocol})")
    if not any(each.channel.byzantine for each in cluster.settings):
        print(
            f"  Channels that tolerate lies (ab, bracha) need {3 * f + 1} replicas for {f} faults."
        )
    print(f"  identity {LOCAL}, which may use them: {made['identity']}")
    print("  operator.key adds identities and channels: keep it safe, it need not stay there.")
    if made["replicas"][0]["folder"] == str(folder):
        print(f"\nNext:\n  {called(f'quorumcast up {folder}')}")
        return
    print("\nNext: copy each host's folder to it, and start its replica there:")
    for each in made["replicas"]:
        print(f"  {each['folder']}   # {each['name']}, {each['address']}")
    print("  quorumcast replica   # in the copied folder")


# -- keys ------------------------------------------------------------------------------------------


def keys_add(
    name: Annotated[str, typer.Argument(help="What the client is called.")],
    *,
    out: Annotated[
        Path | None, typer.Option(help="Where to write it; NAME.qc in the cluster's folder.")
    ] = None,
    cluster: Where = None,
    json: Json = False,
) -> None:
    """Make an identity for a client: one file NAME.qc, all that another host needs."""
    from quorumcast.runtime.folder import add_client

    with folder_ending():
        path, client = add_client(find_cluster(cluster), name, out=out)
        may = {
            "publishes": [each.name for each in client.channels if each.admits_publisher(name)],
            "subscribes": [each.name for each in client.channels if each.admits_subscriber(name)],
        }
        if json:
            print(as_json({"name": name, "file": str(path), **may}))
            return
        print(f"Wrote {path}: whoever has this file speaks as {name}.")
        for verb, names in (("publish", may["publishes"]), ("subscribe to", may["subscribes"])):
            print(f"It may {verb}: {', '.join(names) or 'nothing, as channels are now'}.")


def keys_revoke(
    name: Annotated[str, typer.Argument(help="The client's name.", autocompletion=identity_names)],
    *,
    cluster: Where = None,
    json: Json = False,
) -> None:
    """Revoke a client's name, for ever: replicas refuse whoever comes under it."""
    from quorumcast.runtime.changing import revoke
    from quorumcast.runtime.spreading import spread

    with folder_ending():
        found, changed = revoke(find_cluster(cluster), name)
        version = found.charter.version
        known = run(spread(found))
        if json:
            made = {"name": name, "version": version, "changed": changed}
            print(as_json({**made, **spread_json(known)}))
            return
        said = f"Revoked {name}: {found.path} is version {version}."
        print(said if changed else f"{name} is revoked already, in version {version} or before.")
        print(known.text())
