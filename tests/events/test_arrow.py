"""pyarrow is there when it is needed, and only then; what we say of its classes is true."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa
import pytest

from quorumcast.events import arrow
from quorumcast.events.values import TYPES

ROOT = Path(__file__).resolve().parents[2]

ONE_EVENT = """
import sys
from quorumcast.events import Schema, build_event, read
schema = Schema.parse({"severity": "int8", "host": "string"})
body = build_event(schema, b"abc", timestamp=1, key="k", severity=5, host="db-3")
event = read(schema, body)[0]
assert (event.payload, event["severity"], event["host"]) == (b"abc", 5, "db-3")
assert "pyarrow" not in sys.modules
assert read(schema, body).batch.num_rows == 1
assert "pyarrow" in sys.modules
"""


def test_single_events_need_no_pyarrow() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ONE_EVENT],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_an_arrow_type_of_its_width(name: str) -> None:
    found: Any = arrow.arrow_type(name)
    bits = TYPES[name].bits
    if bits:
        assert found.bit_width == bits
    else:
        assert found.num_buffers == 3  # validity, offsets of 32 bits, data
        assert found in (pa.string(), pa.binary())
    assert arrow.arrow_type(name) is found


@pytest.mark.parametrize(
    ("protocol", "object_"),
    [
        (arrow.PyArrow, pa),
        (arrow.ArrowSchema, pa.schema([("a", pa.int8())])),
        (arrow.ArrowField, pa.field("a", pa.int8())),
        (arrow.ArrowBuffer, pa.py_buffer(b"a")),
        (arrow.ArrowScalar, pa.scalar({"a": 1})),
        (arrow.ArrowArray, pa.array([1])),
        (arrow.ArrowBatch, pa.record_batch({"a": [1]})),
        (arrow.ArrowTable, pa.table({"a": [1]})),
    ],
)
def test_what_we_say_of_pyarrows_classes_is_there(protocol: type, object_: Any) -> None:
    arrow.pyarrow()
    names = {*get_type_hints(protocol), *vars(protocol)} - {"__getattr__", "dictionary_decode"}
    said = [name for name in names if not name.startswith("_")]
    assert len(said) > 0
    assert [name for name in said if not hasattr(object_, name)] == []


def test_dictionaries_decode() -> None:
    assert hasattr(pa.array(["a"]).dictionary_encode(), "dictionary_decode")
    assert not hasattr(pa.array(["a"]), "dictionary_decode")
