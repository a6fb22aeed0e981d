"""Arrow messages written by hand, so that one thing in them can be wrong.

The metadata's layout differs from the one that Arrow writes (tables before their vtables, other
gaps): what passes the gate must not depend on who wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from struct import pack

from quorumcast.events import Schema
from quorumcast.events.arrow import ArrowBatch


@dataclass(frozen=True)
class Message:
    """A record batch message; every field is written as it stands."""

    rows: int | None
    nodes: Sequence[tuple[int, int]] | None
    buffers: Sequence[tuple[int, int]] | None
    body: bytes
    body_length: int | None
    version: int | None = 4
    kind: int | None = 3
    header: bool = True
    message_extra: tuple[int, ...] = ()
    batch_extra: tuple[int, ...] = ()
    mark: int = 0xFFFFFFFF
    patches: dict[int, bytes] = field(default_factory=dict[int, bytes])
    """Bytes that replace those at a place of the metadata, once all is written."""

    def but(self, **changes: object) -> Message:
        return replace(self, **changes)  # type: ignore[arg-type]

    def metadata(self) -> bytes:
        # where the parts stand: root, message, its vtable, batch, its vtable, nodes, buffers
        message, message_v, batch, batch_v, nodes = 8, 48, 64, 104, 124
        nodes_bytes = self.nodes or ()
        buffers = nodes + 4 + 16 * len(nodes_bytes) + 4
        out = bytearray(buffers + 4 + 16 * len(self.buffers or ()))
        out += bytes(-len(out) % 8)
        _put(out, 0, "<I", message)
        fields = [
            _field(out, message, 4, "<h", self.version),
            _field(out, message, 6, "<B", self.kind),
            _field(out, message, 8, "<I", batch - message - 8 if self.header else None),
            _field(out, message, 16, "<q", self.body_length),
            *self.message_extra,
        ]
        _put(out, message, "<i", message - message_v)
        _put(out, message_v, f"<{2 + len(fields)}H", 4 + 2 * len(fields), 40, *fields)
        fields = [
            _field(out, batch, 8, "<q", self.rows),
            _field(out, batch, 16, "<I", None if self.nodes is None else nodes - batch - 16),
            _field(out, batch, 20, "<I", None if self.buffers is None else buffers - batch - 20),
            *self.batch_extra,
        ]
        _put(out, batch, "<i", batch - batch_v)
        _put(out, batch_v, f"<{2 + len(fields)}H", 4 + 2 * len(fields), 40, *fields)
        for at, pairs in ((nodes, self.nodes), (buffers, self.buffers)):
            _put(out, at, "<I", len(pairs or ()))
            for place, pair in enumerate(pairs or ()):
                _put(out, at + 4 + 16 * place, "<qq", *pair)
        for at, data in self.patches.items():
            out[at : at + len(data)] = data
        return bytes(out)

    def bytes(self) -> bytes:
        metadata = self.metadata()
        return pack("<Ii", self.mark, len(metadata)) + metadata + self.body


def _put(out: bytearray, at: int, form: str, *values: int) -> None:
    data = pack(form, *values)
    out[at : at + len(data)] = data


def _field(out: bytearray, table: int, offset: int, form: str, value: int | None) -> int:
    """Write a field; its offset for the vtable, or 0 where it is absent."""
    if value is None:
        return 0
    _put(out, table + offset, form, value)
    return offset


def body_of(schema: Schema, message: bytes) -> bytes:
    """A message as a publication's body."""
    return pack("<B3xI", 2, schema.check) + message


def message_of(batch: ArrowBatch) -> Message:
    """A batch as a message in our own layout."""
    nodes: list[tuple[int, int]] = []
    buffers: list[tuple[int, int]] = []
    body = bytearray()
    for column in batch.columns:
        nodes.append((len(column), column.null_count))
        for buffer in column.buffers():
            data = b"" if buffer is None else bytes(memoryview(buffer))
            buffers.append((len(body), len(data)))
            body += data + bytes(-len(data) % 8)
    return Message(batch.num_rows, nodes, buffers, bytes(body), len(body))
