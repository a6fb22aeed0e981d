"""Which names pass, and what is said of those that do not."""

from __future__ import annotations

import unicodedata
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.auth.names import name_fault


@pytest.mark.parametrize(
    "name",
    ["r1", "probe-7", "a.b_c:d@e", "søren", "探針", "]", "x" * 128, "é" * 64, "-", "..", "🙂"],
)
def test_good_names(name: str) -> None:
    assert name_fault(name) is None


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "is empty"),
        ("x" * 129, "has 129 bytes, more than 128"),
        ("é" * 65, "has 130 bytes, more than 128"),
        ("a/b", "contains a slash"),
        ("*", "contains one of"),
        ("probe-*", "contains one of"),
        ("probe-?", "contains one of"),
        ("probe[7]", "contains one of"),
        ("a b", "contains white space"),
        (" a", "contains white space"),
        ("a\n", "contains white space"),
        ("a\tb", "contains white space"),
        ("a\u00a0b", "contains white space"),
        ("a\u2028b", "contains white space"),
        ("a\u3000b", "contains white space"),
        ("a\0b", "contains a control character"),
        ("a\x1bb", "contains a control character"),
        ("a\x7fb", "contains a control character"),
        ("a\x9bb", "contains a control character"),
        ("a\u200bb", "contains a hidden mark"),
        ("a\u202eb", "contains a hidden mark"),
        ("\ufeffa", "contains a hidden mark"),
        ("a\ud800b", "is not text"),
    ],
)
def test_bad_names_and_why(name: str, fault: str) -> None:
    found = name_fault(name)
    assert found is not None
    assert found.startswith(fault)


def test_every_space_and_control_character_is_refused() -> None:
    for code in range(0x110000):
        character = chr(code)
        if character.isspace() or unicodedata.category(character) == "Cc":
            assert name_fault(f"a{character}") is not None, hex(code)


@given(st.text(max_size=150))
def test_a_good_name_matches_itself_alone_as_a_pattern(name: str) -> None:
    if name_fault(name) is None:
        assert 1 <= len(name.encode()) <= 128
        assert fnmatchcase(name, name)
        assert not fnmatchcase(name + "x", name)
