"""`pytest tests/wire --fuzz N` judges N mutated payloads of every message type."""

from __future__ import annotations

import pytest

FUZZ_CASES = 2000
"""What a change must pass; the long run has a million."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz", type=int, default=FUZZ_CASES, help="mutations per message type")


@pytest.fixture
def fuzz_cases(request: pytest.FixtureRequest) -> int:
    # The option is known only where this folder is named on the command line.
    return request.config.getoption("--fuzz", default=None) or FUZZ_CASES
