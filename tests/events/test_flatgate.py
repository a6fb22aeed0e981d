"""The gate before Arrow: one thing wrong at a time, in messages written by hand.

What it lets pass, Arrow must read without a crash; what Arrow would choke on must not pass.
"""

from __future__ import annotations

from struct import pack
from typing import Any

import pyarrow as pa
import pytest

from quorumcast.events import BadPublication, Event, Publication, Schema, build_batch, read
from quorumcast.events.flatgate import check, metadata_bytes
from quorumcast.events.foreign import BodyError
from tests.events.flat import Message, body_of, message_of

SCHEMA = Schema.parse({"severity": "int8", "host": "string"})
EVENTS = [
    Event(b"abc", 1, "k", True, {"severity": 5, "host": "db"}),
    Event(b"", 2, None, False, {"severity": None, "host": None}),
    Event(b"xyz", 3, "", False, {"severity": -1, "host": "é"}),
]


def batch_of(events: list[Event]) -> Any:
    (body,) = build_batch(SCHEMA, events)
    found = read(SCHEMA, body)
    assert not isinstance(found, BadPublication)
    return found.batch


GOOD = message_of(batch_of(EVENTS))
NODES, BUFFERS = list(GOOD.nodes or ()), list(GOOD.buffers or ())
TIME, KEY, URGENT, PAYLOAD, SEVERITY, HOST = range(6)
# in the order of the columns: validity, then data, or offsets and data
FIRST = {TIME: 0, KEY: 2, URGENT: 5, PAYLOAD: 7, SEVERITY: 10, HOST: 12}


def reason(message: Message) -> str:
    found = read(SCHEMA, body_of(SCHEMA, message.bytes()))
    assert isinstance(found, BadPublication)
    return found.reason


def node(column: int, rows: int, nulls: int) -> list[tuple[int, int]]:
    return [*NODES[:column], (rows, nulls), *NODES[column + 1 :]]


def buffer(at: int, offset: int | None = None, size: int | None = None) -> list[tuple[int, int]]:
    old = BUFFERS[at]
    new = (old[0] if offset is None else offset, old[1] if size is None else size)
    return [*BUFFERS[:at], new, *BUFFERS[at + 1 :]]


def test_a_message_in_another_layout_than_arrows_passes() -> None:
    body = body_of(SCHEMA, GOOD.bytes())
    found = read(SCHEMA, body)
    assert isinstance(found, Publication)
    assert list(found) == EVENTS
    assert check(SCHEMA.columns, body, 8) == 3


def test_vtables_may_end_with_fields_that_are_absent() -> None:
    found = read(SCHEMA, body_of(SCHEMA, GOOD.but(message_extra=(0,), batch_extra=(0, 0)).bytes()))
    assert isinstance(found, Publication)
    assert list(found) == EVENTS


BATCH_AT, NODES_AT = 64, 124
"""Where the hand-written metadata have the batch's table and the vector of nodes."""

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another mark": ({"mark": 0}, "does not begin with a continuation mark"),
    "version 4": ({"version": 3}, "metadata version 4: use 5"),
    "no version": ({"version": None}, "metadata version 1: use 5"),
    "a schema": ({"kind": 1}, "message is of type 1"),
    "a dictionary": ({"kind": 2}, "message is of type 2: use a record batch, 3"),
    "a tensor": ({"kind": 4}, "message is of type 4"),
    "no kind": ({"kind": None}, "message is of type 0"),
    "no header": ({"header": False}, "message has no header"),
    "custom metadata": ({"message_extra": (24,)}, "message has custom metadata: not allowed here"),
    "a later field": ({"message_extra": (0, 24)}, "message has a field of a later version"),
    "compression": ({"batch_extra": (24,)}, "batch has compression: not allowed here"),
    "variadic buffers": ({"batch_extra": (0, 24)}, "batch has variadic buffers: not allowed here"),
    "no body length": ({"body_length": None}, "message claims a body of 0 bytes"),
    "a longer body": ({"body_length": len(GOOD.body) + 8}, "and has"),
    "a shorter body": ({"body_length": len(GOOD.body) - 8}, "and has"),
    "a negative body": ({"body_length": -1}, "message claims a body of -1 bytes"),
    "no rows": ({"rows": None}, "batch claims 0 rows"),
    "minus one rows": ({"rows": -1}, "batch claims -1 rows"),
    "more rows than bytes": ({"rows": 2**62}, f"batch claims {2**62} rows in"),
    "one row more": ({"rows": 4}, "timestamp has 3 rows, the batch 4"),
    "no nodes": ({"nodes": None}, "batch has no nodes"),
    "no buffers": ({"buffers": None}, "batch has no buffers"),
    "a node too few": ({"nodes": NODES[:-1]}, "batch has 5 nodes: the schema has 6"),
    "a node too many": ({"nodes": [*NODES, (3, 0)]}, "batch has 7 nodes: the schema has 6"),
    "a buffer too few": ({"buffers": BUFFERS[:-1]}, "batch has 14 buffers: the schema has 15"),
    "a buffer too many": ({"buffers": [*BUFFERS, (0, 0)]}, "batch has 16 buffers"),
    "a column of other length": ({"nodes": node(HOST, 2, 1)}, "host has 2 rows, the batch 3"),
    "nulls of a payload": ({"nodes": node(PAYLOAD, 3, 1)}, "payload has 1 nulls among 3 rows"),
    "nulls of a timestamp": ({"nodes": node(TIME, 3, 3)}, "timestamp has 3 nulls"),
    "minus one nulls": ({"nodes": node(HOST, 3, -1)}, "host has -1 nulls among 3 rows"),
    "more nulls than rows": ({"nodes": node(HOST, 3, 4)}, "host has 4 nulls among 3 rows"),
    "nulls without validity": (
        {"buffers": buffer(FIRST[HOST], size=0)},
        "host has 0 bytes of validity for 3 rows",
    ),
    "timestamps cut short": (
        {"buffers": buffer(FIRST[TIME] + 1, size=23)},
        "timestamp has 23 bytes for 3 rows: use 24",
    ),
    "offsets cut short": (
        {"buffers": buffer(FIRST[PAYLOAD] + 1, size=15)},
        "payload has 15 bytes for 3 rows: use 16",
    ),
    "no offsets": (
        {"buffers": buffer(FIRST[PAYLOAD] + 1, size=0)},
        "payload has 0 bytes for 3 rows: use 16",
    ),
    "bools cut short": ({"buffers": buffer(FIRST[URGENT] + 1, size=0)}, "urgent has 0 bytes"),
    "a misaligned buffer": ({"buffers": buffer(1, offset=4)}, "buffer of 24 bytes at 4"),
    "a negative buffer": ({"buffers": buffer(1, offset=-8)}, "buffer of 24 bytes at -8"),
    "a negative size": ({"buffers": buffer(1, size=-8)}, "buffer of -8 bytes"),
    "a buffer behind the body": ({"buffers": buffer(14, offset=2**40)}, f"bytes at {2**40}"),
    "a buffer beyond the body": ({"buffers": buffer(14, size=2**40)}, f"buffer of {2**40} bytes"),
    "a sum that overflows": ({"buffers": buffer(14, size=2**63 - 1)}, "within the body"),
    "buffers that overlap": ({"buffers": buffer(FIRST[HOST] + 2, offset=0)}, "at 0: use a mult"),
    "a root outside": ({"patches": {0: pack("<I", 2**20)}}, "offset of message leaves"),
    "a root at itself": ({"patches": {0: pack("<I", 0)}}, "offset of message leaves"),
    "a misaligned root": ({"patches": {0: pack("<I", 10)}}, "offset of message leaves"),
    "a vtable before the metadata": (
        {"patches": {8: pack("<i", 1000)}},
        "vtable of message is outside",
    ),
    "a vtable behind the metadata": (
        {"patches": {8: pack("<i", -(2**20))}},
        "vtable of message is outside",
    ),
    "a long vtable": ({"patches": {48: pack("<H", 65_534)}}, "vtable of message leaves"),
    "an odd vtable": ({"patches": {48: pack("<H", 13)}}, "vtable of message leaves"),
    "a vtable of nothing": ({"patches": {48: pack("<H", 2)}}, "vtable of message leaves"),
    "a long table": ({"patches": {50: pack("<H", 65_535)}}, "table of message leaves"),
    "a field behind its table": (
        {"patches": {52: pack("<H", 40)}},
        "version of message is misplaced",
    ),
    "a field on the vtable's offset": (
        {"patches": {52: pack("<H", 2)}},
        "version of message is misplaced",
    ),
    "a misaligned field": ({"patches": {58: pack("<H", 17)}}, "body length of message is misplac"),
    "a header outside": ({"patches": {16: pack("<I", 2**31)}}, "offset of header leaves"),
    "a header that points back": ({"patches": {16: pack("<I", 0)}}, "offset of header leaves"),
    "nodes outside": ({"patches": {BATCH_AT + 16: pack("<I", 2**30)}}, "offset of nodes leaves"),
    "misaligned nodes": (
        {"patches": {BATCH_AT + 16: pack("<I", 64), 144: pack("<I", 6)}},
        "nodes of batch are misplaced",
    ),
    "a count that no message holds": (
        {"patches": {NODES_AT: pack("<I", 2**32 - 1)}},
        "batch has 4294967295 nodes",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_one_thing_wrong_is_refused_by_name(what: str) -> None:
    changes, text = WRONG[what]
    assert text in reason(GOOD.but(**changes))


def test_metadata_have_a_bound_and_whole_words() -> None:
    body = body_of(SCHEMA, GOOD.bytes())
    most = metadata_bytes(len(SCHEMA.columns))
    for size in (-8, -1, 0, 4, 12, most + 8, 2**31 - 1):
        with pytest.raises(BodyError, match=f"metadata of {size} bytes"):
            check(SCHEMA.columns, body[:12] + pack("<i", size) + body[16:] + bytes(most), 8)
    behind = (len(body) - 16) // 8 * 8 + 8
    with pytest.raises(BodyError, match=f"metadata of {behind} bytes"):
        check(SCHEMA.columns, body[:12] + pack("<i", behind) + body[16:], 8)


def test_a_message_shorter_than_its_prefix() -> None:
    with pytest.raises(BodyError, match="shorter than its prefix"):
        check(SCHEMA.columns, bytes(15), 8)


# -- why there is a gate: what Arrow itself does with such messages -------------------------------


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_buffers_do_not_pass_though_arrow_reads_them(codec: str) -> None:
    options = pa.ipc.IpcWriteOptions(compression=codec)
    events = [Event(b"a" * 1000, row, attributes={"host": "db"}) for row in range(100)]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA.arrow, options=options) as writer:
        writer.write_batch(batch_of(events))
    stream = pa.BufferReader(sink.getvalue())
    pa.ipc.read_message(stream)  # the schema
    message = pa.ipc.read_message(stream)
    assert pa.ipc.read_record_batch(message, SCHEMA.arrow).num_rows == 100
    found = read(SCHEMA, body_of(SCHEMA, bytes(message.serialize())))
    assert isinstance(found, BadPublication)
    assert found.reason == "batch has compression: not allowed here"


def test_a_short_buffer_is_refused_before_arrow_sees_it() -> None:
    """Arrow's reader hands out an array of a million rows over eight bytes."""
    short = GOOD.but(rows=2**20, nodes=[(2**20, 0)] * 6)
    message = pa.py_buffer(short.bytes())
    assert pa.ipc.read_record_batch(message, SCHEMA.arrow).num_rows == 2**20
    assert "batch claims 1048576 rows" in reason(short)


def test_dictionary_batches_do_not_pass() -> None:
    column = pa.array(["a", "b", "a"]).dictionary_encode()
    batch = pa.RecordBatch.from_arrays([column], ["host"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    stream = pa.BufferReader(sink.getvalue())
    pa.ipc.read_message(stream)
    dictionary, rows = pa.ipc.read_message(stream), pa.ipc.read_message(stream)
    assert dictionary.type == "dictionary"
    for message in (dictionary, rows):
        found = read(SCHEMA, body_of(SCHEMA, bytes(message.serialize())))
        assert isinstance(found, BadPublication)


def test_batches_of_another_schema_do_not_pass_under_this_ones_check() -> None:
    others: list[dict[str, Any]] = [
        {"timestamp": pa.array([1, 2], pa.timestamp("us", "UTC"))},
        {name: pa.array([1, 2]) for name in SCHEMA.arrow.names},
        {name: pa.array([["x"], []]) for name in SCHEMA.arrow.names},
        {name: pa.array(["x", None]) for name in SCHEMA.arrow.names},
    ]
    for columns in others:
        batch = pa.RecordBatch.from_pydict(columns)
        found = read(SCHEMA, body_of(SCHEMA, bytes(batch.serialize())))
        assert isinstance(found, BadPublication)
