"""A pytest plugin: `-p tests.mutants.plugin --mutant NAME` seeds one bug before any test runs."""

from __future__ import annotations

import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import seed


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the name of the bug."""
    parser.addoption("--mutant", default=None, help="the bug to seed")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Seed it before test modules import anything."""
    name = config.getoption("--mutant")
    if name is not None:
        seed(MUTANTS[name])
