"""What users import, and what that costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import quorumcast
from quorumcast import api


def modules_after(statement: str) -> set[str]:
    """The modules that are there after a statement in a fresh interpreter."""
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return set(done.stdout.split())


def test_whoever_imports_the_package_imports_no_client_and_no_arrow() -> None:
    found = modules_after("import quorumcast")
    assert "quorumcast" in found
    assert not found & {"quorumcast.api", "pyarrow", "asyncio"}


def test_a_client_imports_arrow_only_when_it_needs_tables() -> None:
    found = modules_after("import quorumcast; quorumcast.connect")
    assert "quorumcast.api.client" in found
    assert not found & {"pyarrow", "numpy", "lmdb", "rich", "typer"}


@pytest.mark.parametrize("name", api.__all__)
def test_the_package_has_all_names_of_the_client(name: str) -> None:
    assert getattr(quorumcast, name) is getattr(api, name)
    assert name in dir(quorumcast)


@pytest.mark.parametrize(
    "name", ["AuthError", "Closed", "ConfigError", "Gap", "NoQuorum", "NotAllowed", "Rejected"]
)
def test_every_error_is_one_that_a_user_can_catch_by_one_name(name: str) -> None:
    assert issubclass(getattr(quorumcast, name), quorumcast.QuorumcastError)
