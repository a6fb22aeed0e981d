"""A cluster's folder: making it, and the keys in it.

```
DIR/cluster.toml      what every party has
DIR/operator.key      adds clients, signs channels; may be kept elsewhere
DIR/local.qc          a client that may use the example channels
DIR/r1/replica.key    a replica's private keys, and beside them
DIR/r1/journal        what it may never forget
DIR/r1/charter        the newest channels and revoked names that it knows
DIR/r1/tls.pem        its TLS key and certificate, where it is reached over a network
```

A cluster of several hosts has, instead of the replicas' folders, one folder per host in
``DIR/hosts``: it looks like this one, and holds the keys of that host's replicas alone.

A cluster is made in a hidden folder and moved into its place, `cluster.toml` last: whoever finds
that file finds all of it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_bytes

from quorumcast.auth.identity import Identity
from quorumcast.auth.manifest import Manifest, ReplicaEntry
from quorumcast.auth.names import OPERATOR, name_fault
from quorumcast.core.channel import Channel
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Party
from quorumcast.core.limits import REPLICAS
from quorumcast.core.quorum import Quorum
from quorumcast.runtime.changing import (
    HOSTS_FOLDER,
    OPERATOR_FILE,
    load_operator,
    newest,
)
from quorumcast.runtime.channels import ChannelSettings
from quorumcast.runtime.charter import Charter
from quorumcast.runtime.files import (
    CLIENT_SUFFIX,
    CLUSTER_FILE,
    only_one,
    sync_folder,
    unwritable,
    write_file,
)
from quorumcast.runtime.finding import LOCAL
from quorumcast.runtime.keyfiles import (
    ClientFile,
    Seeds,
    load_keys,
    save_client,
    save_keys,
)
from quorumcast.runtime.places import (
    FIRST_PORT,
    Certified,
    free_addresses,
    host_of,
    is_loopback,
    make_tls,
)
from quorumcast.runtime.settings import ClusterFile, address_fault, load_cluster

REPLICA_FILE = "replica.key"
JOURNAL_FOLDER = "journal"
TLS_FILE = "tls.pem"

_MAKING = ".making"
_UNNAMED = "cluster"

Entropy = Callable[[int], bytes]


def make_cluster(
    folder: Path,
    *,
    replicas: int = 4,
    faults: int = 1,
    lab: bool = False,
    name: str | None = None,
    addresses: Sequence[str] = (),
    spread: bool = False,
    first_port: int = FIRST_PORT,
    entropy: Entropy = token_bytes,
) -> ClusterFile:
    """Make a cluster in a new or empty folder, with its keys, channels and the client `local`.

    Without `addresses` its replicas listen on free ports of this host. With `spread` each host of
    the addresses has a folder of its own, to be copied there.
    """
    count = len(addresses) or replicas
    if not 1 <= count <= REPLICAS:
        raise ConfigError(f"{count} replicas: use 1 to {REPLICAS}")
    Quorum.crash(count, faults, first=True)
    _check_place(folder)
    addresses = addresses or free_addresses(count, first_port)
    _check_addresses(addresses)
    operator = Seeds.drawn(entropy)
    seeds = {f"r{number}": Seeds.drawn(entropy) for number in range(1, count + 1)}
    where = dict(zip(seeds, addresses, strict=True))
    tls = {each: make_tls(each) for each in seeds if not is_loopback(where[each])}
    manifest = Manifest(
        nonce=entropy(32),
        operator=operator.identity().public.sign,
        faults=faults,
        replicas=tuple(
            ReplicaEntry(
                each,
                seeds[each].identity().public,
                (where[each],),
                tls[each].certificate if each in tls else b"",
            )
            for each in seeds
        ),
        lab=lab,
    )
    charter = Charter(1, example_channels(manifest))
    cluster = ClusterFile(
        name=_name(folder, name),
        manifest=manifest,
        addresses=where,
        charter=charter.signed(operator.identity(), manifest.cluster_id),
        path=folder / CLUSTER_FILE,
    )
    local = _client(cluster, operator.identity(), LOCAL, entropy)

    def fill(making: Path) -> None:
        _fill(making, cluster, seeds, tls, spread=spread)
        save_keys(making / OPERATOR_FILE, OPERATOR, manifest, operator)
        save_client(making / f"{LOCAL}{CLIENT_SUFFIX}", local)

    _put(folder, fill)
    return cluster


def example_channels(manifest: Manifest) -> tuple[ChannelSettings, ...]:
    """The channels of a new cluster, as far as it has enough replicas for them.

    >>> from quorumcast.auth.manifest import ReplicaEntry
    >>> replica = ReplicaEntry("r1", Identity.from_seeds(b"s" * 32, b"a" * 32).public)
    >>> alone = Manifest(nonce=bytes(32), operator=b"o" * 32, faults=0, replicas=(replica,))
    >>> [each.name for each in example_channels(alone)]
    ['events', 'alerts', 'metrics']
    """
    n, f = len(manifest.replicas), manifest.faults
    deliver = "safe" if n >= 2 * f + 1 else "first"
    channels = (
        Channel("events", "ab", publishers=("*",)),
        Channel("alerts", "bracha", publishers=("*",)),
        Channel("metrics", "plain", publishers=("*",), deliver=deliver),
    )
    kept = [each for each in channels if n >= 3 * f + 1 or not each.byzantine]
    return tuple(ChannelSettings(each.check(manifest.cluster())) for each in kept)


def add_client(
    folder: Path, name: Party, *, out: Path | None = None, entropy: Entropy = token_bytes
) -> tuple[Path, ClientFile]:
    """Make an identity under the operator's signature, and write its file."""
    with only_one(folder):
        cluster = newest(folder, load_cluster(folder))
        if (fault := name_fault(name)) is not None:
            raise ConfigError(f"name {name!r} {fault}: use a name such as probe-7")
        if name == OPERATOR:
            raise ConfigError(f"name {name} is the operator's own: choose another one")
        if name in cluster.revoked:
            raise ConfigError(f"name {name} was revoked, for ever: choose another one")
        path = folder / f"{name}{CLIENT_SUFFIX}" if out is None else out
        if out is not None and out.is_dir():
            path = out / f"{name}{CLIENT_SUFFIX}"
        if path.exists():
            raise ConfigError(
                f"{path}: exists already: choose another name, or remove the file if its keys may "
                "be lost"
            )
        client = _client(cluster, load_operator(folder, cluster), name, entropy)
        save_client(path, client)
        return path, client


def replica_identity(folder: Path, name: Party) -> Identity:
    """A replica's private keys from its cluster's folder, or `ConfigError`."""
    cluster = load_cluster(folder)
    replica = cluster.manifest.replica(name)
    if replica is None:
        names = ", ".join(each.name for each in cluster.manifest.replicas)
        raise ConfigError(f"{cluster.path}: there is no replica {name}: there are {names}")
    path = replica_folder(folder, name) / REPLICA_FILE
    identity = load_keys(path, name, cluster.manifest).identity()
    if identity.public != replica.keys:
        raise ConfigError(
            f"{path}: not the keys that {cluster.path} has for {name}: restore the file that init "
            "wrote"
        )
    return identity


def replicas_here(cluster: ClusterFile) -> tuple[Party, ...]:
    """The replicas whose keys are in this folder: all of a local cluster, else this host's."""
    folder = cluster.path.parent
    return tuple(
        each.name
        for each in cluster.manifest.replicas
        if (replica_folder(folder, each.name) / REPLICA_FILE).exists()
    )


def replica_folder(folder: Path, name: Party) -> Path:
    """Where a replica keeps its keys and its journal.

    >>> replica_folder(Path("demo"), "r1").as_posix()
    'demo/r1'
    """
    return folder / name


def host_folder(folder: Path, address: str) -> Path:
    """The folder that is to be copied to the host of this address.

    >>> host_folder(Path("demo"), "tcp://[2001:db8::7]:7400").as_posix()
    'demo/hosts/2001-db8--7'
    """
    return folder / HOSTS_FOLDER / host_of(address).replace(":", "-")


# -- making ----------------------------------------------------------------------------------------


def _client(cluster: ClusterFile, operator: Identity, name: Party, entropy: Entropy) -> ClientFile:
    seeds = Seeds.drawn(entropy)
    certificate = cluster.manifest.certify(operator, name, seeds.identity().public)
    return ClientFile(name=name, seeds=seeds, certificate=certificate, cluster=cluster)


def _name(folder: Path, name: str | None) -> str:
    if name is None:
        found = folder.resolve().name
        return _UNNAMED if name_fault(found) is not None else found
    if (fault := name_fault(name)) is not None:
        raise ConfigError(f"cluster name {name!r} {fault}: use a name such as demo")
    return name


def _check_place(folder: Path) -> None:
    if (folder / CLUSTER_FILE).exists():
        raise ConfigError(f"{folder}: there is a cluster already: choose another folder")
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: not a folder: choose another name")
    if folder.is_dir() and any(folder.iterdir()):
        raise ConfigError(f"{folder}: not empty: choose a new or an empty folder")


def _check_addresses(addresses: Sequence[str]) -> None:
    for number, address in enumerate(addresses):
        if (fault := address_fault(address)) is not None:
            raise ConfigError(f"address {address!r} {fault}")
        if address in addresses[:number]:
            raise ConfigError(f"address {address} stands there twice: each replica has its own")


def _fill(
    making: Path,
    cluster: ClusterFile,
    seeds: dict[Party, Seeds],
    tls: dict[Party, Certified],
    *,
    spread: bool,
) -> None:
    from quorumcast.store import create  # LMDB is loaded by who needs it

    write_file(making / CLUSTER_FILE, cluster.text())
    for index, (name, secret) in enumerate(seeds.items()):
        home = making
        if spread:
            home = host_folder(making, cluster.addresses[name])
            home.mkdir(parents=True, exist_ok=True)
            write_file(home / CLUSTER_FILE, cluster.text())
        own = replica_folder(home, name)
        own.mkdir(mode=0o700)
        save_keys(own / REPLICA_FILE, name, cluster.manifest, secret)
        if name in tls:
            write_file(own / TLS_FILE, tls[name].pem, secret=True)
        create(own / JOURNAL_FOLDER, index, len(seeds))


def _put(folder: Path, fill: Callable[[Path], None]) -> None:
    """Fill a hidden folder and move what is in it into place; on any failure, leave no trace."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    making = folder / _MAKING
    moved: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        making.mkdir(mode=0o700)  # fails where somebody else is at it
        moved.append(making)
        fill(making)
        # cluster.toml comes last: it is what makes the folder a cluster.
        for path in sorted(making.iterdir(), key=lambda each: each.name == CLUSTER_FILE):
            os.rename(path, folder / path.name)
            moved.append(folder / path.name)
        making.rmdir()
        sync_folder(folder)
    except BaseException as error:
        for path in reversed(moved):
            _remove(path)
        for path in made:
            with suppress(OSError):
                path.rmdir()
        if isinstance(error, OSError):
            raise unwritable(folder, error) from None
        raise


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
