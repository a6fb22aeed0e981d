"""Messages and records are values: typed, compared by content, never changed once said."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from quorumcast.core import records
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.messages import AskReport, Held, Message, Publish, ReadyUpTo
from quorumcast.core.outcomes import Delivery
from tests.wire.vectors import VECTORS

STREAM = Stream("alerts", "probe-7", bytes(32), Lane.NORMAL)
TYPES = [*get_args(Message), *get_args(records.Record)]


@pytest.mark.parametrize("type_", TYPES, ids=lambda type_: type_.__name__)
def test_what_was_said_cannot_be_changed(type_: type[Any]) -> None:
    assert issubclass(type_, msgspec.Struct)
    assert type_.__struct_config__.frozen
    assert type_.__struct_fields__ or type_ is AskReport


def test_no_message_names_its_sender() -> None:
    """The link says who speaks; a field that says so could lie."""
    fields = {field for type_ in get_args(Message) for field in type_.__struct_fields__}
    assert fields.isdisjoint({"sender", "source", "replica", "party", "author", "me", "who"})


def test_messages_are_equal_by_content_and_type() -> None:
    said = [vector.message for vector in VECTORS.values()]
    for at, one in enumerate(said):
        assert [other == one for other in said].index(True) == at
        assert len({one, msgspec.structs.replace(one)}) == 1
    assert Held(STREAM, 1, bytes(32)) != Publish(STREAM, 1, (bytes(32),))
    assert ReadyUpTo(STREAM, 1, bytes(32)) != ReadyUpTo(STREAM, 2, bytes(32))


def test_lanes_are_streams_of_their_own() -> None:
    assert STREAM._replace(lane=Lane.URGENT) != STREAM
    assert len({STREAM, STREAM._replace(lane=Lane.URGENT), Stream(*STREAM)}) == 2


def test_a_delivery_ends_with_its_last_body() -> None:
    for count in (1, 2, 7):
        assert Delivery(STREAM, 5, (b"x",) * count, 3, False).last == 4 + count
