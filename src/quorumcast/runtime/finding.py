"""Finding a cluster and an identity, so that a command rarely needs to be told.

- a cluster: what is given (`--cluster`), `QUORUMCAST_CLUSTER`, the current folder and its parents,
  the cluster that was last brought up
- an identity: what is given (`--as`), `QUORUMCAST_IDENTITY`, the cluster's own `local`

What is given and wrong is an error: nothing else is tried in its place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from quorumcast.core.errors import ConfigError, QuorumcastError
from quorumcast.runtime.files import CLIENT_SUFFIX, CLUSTER_FILE, write_file

CLUSTER_VARIABLE = "QUORUMCAST_CLUSTER"
IDENTITY_VARIABLE = "QUORUMCAST_IDENTITY"
STATE_VARIABLE = "QUORUMCAST_STATE"
"""The folder for what is remembered between commands; for tests and unusual homes."""

LOCAL = "local"

_LAST = "last-up"


def find_cluster(
    given: str | Path | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    here: Path | None = None,
) -> Path:
    """The folder of the cluster that is meant, or `ConfigError` that says how to name one."""
    environment = os.environ if environment is None else environment
    named = environment.get(CLUSTER_VARIABLE)
    if given is not None:
        return _folder(Path(given), "--cluster")
    if named:
        return _folder(Path(named), CLUSTER_VARIABLE)
    here = current_folder() if here is None else here.absolute()
    for folder in (here, *here.parents):
        if (folder / CLUSTER_FILE).is_file():
            return folder
    last = last_up(environment)
    if last is not None and (last / CLUSTER_FILE).is_file():
        return last
    raise ConfigError(
        f"no cluster: there is no {CLUSTER_FILE} in {here} or above it: use --cluster DIR or "
        f"{CLUSTER_VARIABLE}, or make one with quorumcast init DIR"
    )


def find_identity(
    given: str | None, folder: Path | None, *, environment: Mapping[str, str] | None = None
) -> Path:
    """The client's file that is meant: a path, or a name whose file is in the cluster's folder."""
    environment = os.environ if environment is None else environment
    named = environment.get(IDENTITY_VARIABLE)
    wanted, option = (given, "--as") if given is not None else (named, IDENTITY_VARIABLE)
    if not wanted:
        wanted, option = LOCAL, "--as"
    path = Path(wanted)
    if _is_path(wanted):
        if path.is_file():
            return path
        raise ConfigError(f"{option} {wanted}: there is no such file: use one of keys add")
    if folder is not None and (beside := folder / f"{wanted}{CLIENT_SUFFIX}").is_file():
        return beside
    where = f"{folder} has" if folder is not None else "without a cluster's folder there is"
    known = sorted(each.stem for each in folder.glob(f"*{CLIENT_SUFFIX}")) if folder else []
    there = f" (there are: {', '.join(known)})" if known else ""
    raise ConfigError(
        f"{option} {wanted}: {where} no such identity{there}: use the path of a "
        f"{CLIENT_SUFFIX} file, or make one with quorumcast keys add {wanted}"
    )


def find_client(given: str | None, cluster: str | Path | None) -> Path:
    """The client's file that is meant; a path needs no cluster's folder on this host.

    >>> find_client("nowhere/probe-7.qc", None)
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: --as nowhere/probe-7.qc: there is no such file: ...
    """
    wanted = given if given is not None else os.environ.get(IDENTITY_VARIABLE)
    alone = cluster is None and wanted is not None and _is_path(wanted)
    return find_identity(given, None if alone else find_cluster(cluster))


def remember_up(folder: Path, environment: Mapping[str, str] | None = None) -> None:
    """Note the cluster that was just brought up, for commands given elsewhere."""
    # A home that is not there or cannot be written costs a convenience, not the cluster.
    with suppress(OSError, RuntimeError, QuorumcastError):
        path = _last_path(os.environ if environment is None else environment)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(path, f"{folder.resolve()}\n")


def last_up(environment: Mapping[str, str] | None = None) -> Path | None:
    """The folder of the cluster that was last brought up, if one is remembered."""
    try:
        path = _last_path(os.environ if environment is None else environment)
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, RuntimeError, UnicodeDecodeError):
        return None
    return Path(text) if text else None


def _is_path(wanted: str) -> bool:
    return wanted.endswith(CLIENT_SUFFIX) or "/" in wanted


def current_folder() -> Path:
    """Where commands are given, or `ConfigError` if it was removed.

    >>> current_folder() == Path.cwd()
    True
    """
    try:
        return Path.cwd()
    except OSError:
        raise ConfigError(
            "the current folder is gone: change to one that is there, or use --cluster DIR"
        ) from None


def _folder(path: Path, option: str) -> Path:
    folder = path.parent if path.name == CLUSTER_FILE and not path.is_dir() else path
    if not (folder / CLUSTER_FILE).is_file():
        raise ConfigError(
            f"{option} {path}: there is no {CLUSTER_FILE}: use a cluster's folder, "
            "or make one with quorumcast init DIR"
        )
    return folder


def _last_path(environment: Mapping[str, str]) -> Path:
    if given := environment.get(STATE_VARIABLE):
        return Path(given) / _LAST
    base = environment.get("XDG_STATE_HOME", "")
    # A relative path in it is to be ignored, by the specification of these variables.
    folder = Path(base) if base.startswith("/") else Path("~/.local/state").expanduser()
    return folder / "quorumcast" / _LAST
