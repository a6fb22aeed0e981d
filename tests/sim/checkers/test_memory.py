"""Memory: a machine's size is measured by what its data leads to, and has a cap."""

from __future__ import annotations

import sys

from quorumcast.sim.checkers import measure
from tests.sim.checkers.story import told


def test_a_machine_within_its_cap_is_right() -> None:
    story = told()
    story.trace.sizes = {"r1": 1000, "r2": 1000}
    assert story.broken(cap_bytes=1000) == {}


def test_a_machine_beyond_its_cap_is_seen() -> None:
    story = told()
    story.trace.sizes = {"r1": 1000, "r2": 1001}
    assert story.broken(cap_bytes=1000) == {"memory": "r2 held 1001 bytes; its cap is 1000"}


class Holder:
    """Something with state, as a machine is."""

    def __init__(self, *held: object) -> None:
        self.held = held


def test_everything_that_data_leads_to_is_measured() -> None:
    small, large = Holder(), Holder({"a": [b"x" * 10_000]}, Holder(b"y" * 5_000))
    assert 15_000 < measure(large) - measure(small) < 17_000


def test_what_is_shared_or_circular_is_measured_once() -> None:
    body = b"x" * 10_000
    holder = Holder(body, [body, body])
    holder.held = (*holder.held, holder)
    assert sys.getsizeof(body) < measure(holder) < 12_000


def test_code_is_not_measured() -> None:
    assert measure(Holder(Holder, sys, len, told)) < 2_000
