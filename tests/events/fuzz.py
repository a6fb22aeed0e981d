"""Mutated bodies, read in a process of their own: `python -m tests.events.fuzz CASES [FIRST]`.

Whatever passes is used in every way that readers use it. Prints how many passed and the most
memory that Arrow took; before each case its number goes to the error stream, so that the last one
there names the case of a crash, and `case(number)` makes it again.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from random import Random
from struct import calcsize, pack_into, unpack_from

from quorumcast.events import BadPublication, Event, Schema, build_batch, build_event, read
from quorumcast.events.arrow import pyarrow
from quorumcast.events.record import RECORD
from tests.events import bounds

SCHEMAS = (
    Schema(),
    Schema.parse({"severity": "int8", "host": "string"}),
    Schema.parse(
        {
            "flag": "bool",
            "small": "int16",
            "mid": "int32",
            "large": "int64",
            "ratio": "float32",
            "exact": "float64",
            "raw": "binary",
            "seen": "timestamp",
            "name": "string",
        }
    ),
)
NUMBERS = (0, 1, -1, 7, 8, 2**15, 2**31 - 1, -(2**31), 2**32, 2**40, 2**62, 2**63 - 1, -(2**63))


def event(random: Random, schema: Schema) -> Event:
    make = {
        "bool": lambda: random.random() < 0.5,
        "float32": lambda: 1.5,
        "float64": lambda: random.random(),
        "string": lambda: "é" * random.randrange(5),
        "binary": lambda: bytes(random.randrange(9)),
    }
    attributes = {
        column.name: make.get(column.type.name, lambda: random.randrange(100))()
        for column in schema.attributes
        if random.random() < 0.8
    }
    payload = random.randbytes(random.choice((0, 5, 56)))
    key = random.choice((None, "", "db-3", "k" * 300))
    return Event(payload, random.randrange(2**50), key, random.random() < 0.5, attributes)


def original(random: Random) -> tuple[Schema, bytes]:
    schema = random.choice(SCHEMAS)
    rows = random.choice((1, 2, 3, 9, 40))
    (body,) = build_batch(schema, [event(random, schema) for _ in range(rows)])
    return schema, body


def overwrite(data: bytearray, at: int, form: str, number: int) -> None:
    """Put a number where one of its size may stand."""
    at -= at % calcsize(form)
    if at + calcsize(form) <= len(data):
        pack_into(form, data, at, number)


def mutated(random: Random, body: bytes) -> bytes:
    data = bytearray(body)
    metadata = 16 + unpack_from("<i", body, 12)[0] if body[0] != RECORD else len(body)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        if not data:
            break
        reach = min(len(data), metadata) if random.random() < 0.6 else len(data)
        at = random.randrange(reach)
        match random.randrange(8):
            case 0:
                data[at] = random.randrange(256)
            case 1:
                data[at] ^= 1 << random.randrange(8)
            case 2:
                overwrite(data, at, "<q", random.choice(NUMBERS))
            case 3:
                overwrite(data, at, "<I", random.choice(NUMBERS) & 0xFFFFFFFF)
            case 4:
                overwrite(data, at, "<H", random.choice((0, 4, 8, 16, 65_535)))
            case 5:
                del data[at : at + random.choice((1, 8, 64))]
            case 6:
                data[at:at] = random.randbytes(random.choice((1, 8, 64)))
            case _:
                to = random.randrange(reach) & ~7
                data[to : to + 8] = data[at & ~7 : (at & ~7) + 8]
    return bytes(data)


def case(number: int) -> tuple[Schema, bytes]:
    random = Random(number)
    schema, body = original(random)
    return schema, mutated(random, body)


def judge(schema: Schema, body: bytes) -> str:
    """Read a body and everything in it: why it was refused, or nothing."""
    found = read(schema, body)
    if isinstance(found, BadPublication):
        assert found.body is body
        assert 0 < len(found.reason) <= 512
        return found.reason
    events = list(found)
    assert len(events) == len(found) > 0
    assert repr(found[0]) == repr(events[0])
    assert repr(found[-1]) == repr(events[-1])
    if body[0] == RECORD:
        one = events[0]
        again = build_event(
            schema,
            one.payload,
            timestamp=one.timestamp,
            key=one.key,
            urgent=one.urgent,
            **one.attributes,
        )
        assert again == body
    else:
        in_bounds = bounds.values(schema, found.batch, body)
        assert repr(in_bounds) == repr(bounds.columns(schema, events))
    assert len(found.batch.to_pylist()) == len(found)
    assert found.table.sort_by("timestamp").num_rows == len(found)
    assert list(map(repr, _again(schema, events))) == list(map(repr, events))
    return ""


def _again(schema: Schema, events: list[Event]) -> list[Event]:
    """The same events after another publisher published them."""
    bodies = build_batch(schema, events)
    found = [read(schema, body) for body in bodies]
    return [each for part in found if not isinstance(part, BadPublication) for each in part]


def main(cases: int, first: int = 0) -> None:
    reasons: Counter[str] = Counter()
    for number in range(first, first + cases):
        os.write(2, b"%d\n" % number)
        reason = judge(*case(number))
        reasons["".join(each for each in reason if not each.isdigit())] += 1
    peak = pyarrow().default_memory_pool().max_memory()  # type: ignore[attr-defined]
    print(json.dumps({"passed": reasons.pop("", 0), "peak": peak, "reasons": reasons}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
