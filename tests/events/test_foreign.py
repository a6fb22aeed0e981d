"""Bytes that no correct publisher sends: a `BadPublication` with them, and nothing else, ever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.events import BadPublication, Schema, build_batch, read
from quorumcast.events.foreign import BodyError
from tests.events import fuzz

ROOT = Path(__file__).resolve().parents[2]
CASES = 2500
"""What a change must pass; the long run has a million."""


def test_mutated_bodies_are_refused_or_used_to_the_last_byte() -> None:
    """In a process of its own, so that a crash is a failure with the number of its case."""
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    done = subprocess.run(
        [sys.executable, "-m", "tests.events.fuzz", str(CASES)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["passed"] + sum(found["reasons"].values()) == CASES
    # the mutations reach both answers, and rules of each kind
    assert found["passed"] > CASES // 20
    assert len(found["reasons"]) > 40
    assert any(reason.startswith("Arrow: ") for reason in found["reasons"])
    # nothing in a body of a few kilobytes makes Arrow allocate more than a few of them
    assert found["peak"] < 256 * 1024


@pytest.mark.parametrize("schema", fuzz.SCHEMAS)
@given(body=st.binary(max_size=400), form=st.sampled_from([0, 1, 2, 3, 255]))
def test_any_bytes_are_refused_or_used(schema: Schema, body: bytes, form: int) -> None:
    fuzz.judge(schema, body)
    fuzz.judge(schema, bytes((form,)) + body)
    check = schema.check.to_bytes(4, "little")
    fuzz.judge(schema, b"\1\4" + body[:8].ljust(8, b"\0") + check + body)
    fuzz.judge(schema, b"\2\0\0\0" + check + b"\xff\xff\xff\xff" + body)


@pytest.mark.parametrize("schema", fuzz.SCHEMAS)
@pytest.mark.parametrize("rows", [1, 3])
def test_every_beginning_of_a_body_is_refused_or_used(schema: Schema, rows: int) -> None:
    random = Random(7)
    (body,) = build_batch(schema, [fuzz.event(random, schema) for _ in range(rows)])
    for size in range(len(body)):
        reason = fuzz.judge(schema, body[:size])
        assert reason or rows == 1  # a record may end anywhere in its payload, a batch nowhere
    assert fuzz.judge(schema, body) == ""


def test_every_altered_byte_of_a_batch_is_refused_or_used() -> None:
    schema = fuzz.SCHEMAS[1]
    random = Random(8)
    (body,) = build_batch(schema, [fuzz.event(random, schema) for _ in range(3)])
    refused = 0
    for at in range(len(body)):
        for change in (0x01, 0x80, 0xFF):
            altered = body[:at] + bytes((body[at] ^ change,)) + body[at + 1 :]
            refused += fuzz.judge(schema, altered) != ""
    assert refused > len(body)


def test_a_reason_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wordy:
        def __init__(self, schema: Schema, body: bytes) -> None:
            raise BodyError("because " * 1000)

    monkeypatch.setitem(sys.modules["quorumcast.events.publication"].__dict__["_FORMS"], 1, Wordy)
    found = read(Schema(), b"\1")
    assert isinstance(found, BadPublication)
    assert len(found.reason) == 512
    assert found.body == b"\1"
