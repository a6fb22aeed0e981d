"""The scanner knows the line and the span of everything that `tomllib` reads."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from quorumcast.runtime.scanner import Place, scan
from quorumcast.runtime.tables import written

TEXT = """\
# a comment with [brackets] and = signs
top = 1  # another

[cluster]
name = "a # b"
"quoted key" = 'it = "is"'
dotted . "in side" = 2
long = \"\"\"
[not.a.table]
x = "y\\\\"\"\"\"
raw = '''
# no comment'''''
last = 3

[[channel]]
name = "one"
confirm = { every = 5, within = "250ms", deep = { er = [1, 2] } }

[channel.queue]
events = 7

[[channel]]
name = "two"
publishers = [
  "a",  # why
  "b#c",

  "d",
]
when = 1979-05-27 07:32:00  # a space inside

[[channel.inner]]
x = 1
[[channel.inner]]
x = 2
[a.b.c]
y = true
"""

LINES = {
    ("top",): 2,
    ("cluster",): 4,
    ("cluster", "name"): 5,
    ("cluster", "quoted key"): 6,
    ("cluster", "dotted"): 7,
    ("cluster", "dotted", "in side"): 7,
    ("cluster", "long"): 8,
    ("cluster", "raw"): 11,
    ("cluster", "last"): 13,
    ("channel",): 15,
    ("channel", 0): 15,
    ("channel", 0, "name"): 16,
    ("channel", 0, "confirm"): 17,
    ("channel", 0, "confirm", "every"): 17,
    ("channel", 0, "confirm", "within"): 17,
    ("channel", 0, "confirm", "deep"): 17,
    ("channel", 0, "confirm", "deep", "er"): 17,
    ("channel", 0, "confirm", "deep", "er", 0): 17,
    ("channel", 0, "confirm", "deep", "er", 1): 17,
    ("channel", 0, "queue"): 19,
    ("channel", 0, "queue", "events"): 20,
    ("channel", 1): 22,
    ("channel", 1, "name"): 23,
    ("channel", 1, "publishers"): 24,
    ("channel", 1, "publishers", 0): 25,
    ("channel", 1, "publishers", 1): 26,
    ("channel", 1, "publishers", 2): 28,
    ("channel", 1, "when"): 30,
    ("channel", 1, "inner"): 32,
    ("channel", 1, "inner", 0): 32,
    ("channel", 1, "inner", 0, "x"): 33,
    ("channel", 1, "inner", 1): 34,
    ("channel", 1, "inner", 1, "x"): 35,
    ("a",): 36,
    ("a", "b"): 36,
    ("a", "b", "c"): 36,
    ("a", "b", "c", "y"): 37,
}


def places(value: Any, place: Place = ()) -> dict[Place, Any]:
    """Every key, table and element of a value, with what is there."""
    found = {place: value} if place else {}
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in inside:
        found |= places(each, (*place, key))
    return found


def test_every_line_of_a_text_with_everything_in_it() -> None:
    assert {place: mark.line for place, mark in scan(TEXT).items()} == LINES
    assert set(LINES) == set(places(tomllib.loads(TEXT)))


def test_the_span_of_a_value_is_the_value() -> None:
    values, marks = places(tomllib.loads(TEXT)), scan(TEXT)
    scalars = [place for place in values if not isinstance(values[place], dict | list)]
    assert len(scalars) > 20
    for place in scalars:
        mark = marks[place]
        assert tomllib.loads(f"v = {TEXT[mark.start : mark.end]}")["v"] == values[place]


def test_windows_line_ends_count_once() -> None:
    marks = scan("a = 1\r\n\r\n[b]\r\nc = '''x\r\ny'''\r\nd = [\r\n 1,\r\n]\r\n")
    lines = [marks[place].line for place in (("a",), ("b",), ("b", "c"), ("b", "d"), ("b", "d", 0))]
    assert lines == [1, 3, 4, 6, 7]


def test_strings_that_end_in_quotes() -> None:
    text = 'a = """x\\""""""\nb = """"""\nc = "\\\\"\nd = \'\'\'\'x\'\'\'\'\'\ne = 1'
    values, marks = tomllib.loads(text), scan(text)
    assert values["a"] == 'x"""'
    assert [marks[(key,)].line for key in "abcde"] == [1, 2, 3, 4, 5]


# -- any text --------------------------------------------------------------------------------------

SCALARS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
)
KEYS = st.text(st.characters(exclude_categories=("Cs",)), min_size=0, max_size=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
BLANKS = st.sampled_from(["", "\n", "  # [x] = 'y'\n", "\n\t\n", "\r\n"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[Place, int]]:
    """A text and, by how it was written, the line of each key and table in it."""
    text, lines = "", dict[Place, int]()

    def put(line: str, place: Place) -> None:
        nonlocal text
        text += draw(BLANKS)
        lines[place] = text.count("\n") + 1
        text += draw(st.sampled_from(["", " ", "\t"])) + line + draw(BLANKS)
        text = text if text.endswith("\n") else text + "\n"

    for key, value in draw(st.dictionaries(KEYS, VALUES, max_size=3)).items():
        put(f"{written(key)}={written(value)}", (key,))
    taken = {place[0] for place in lines}
    for name in draw(st.lists(st.sampled_from("xyz"), unique=True)):
        if name in taken:
            continue
        for number in range(draw(st.integers(1, 2))):
            put(f"[[{name}]]", (name, number))
            for key, value in draw(st.dictionaries(KEYS, VALUES, max_size=2)).items():
                put(f"{written(key)} = {written(value)}", (name, number, key))
    return text, lines


@settings(max_examples=150, deadline=None)
@example(("", {}))
@given(documents())
def test_any_text_that_the_library_accepts(document: tuple[str, dict[Place, int]]) -> None:
    text, lines = document
    values, marks = places(tomllib.loads(text)), scan(text)
    assert set(marks) == set(values)
    assert {place: marks[place].line for place in lines} == lines
    for place, value in values.items():
        mark = marks[place]
        if not isinstance(value, dict | list):
            assert tomllib.loads(f"v = {text[mark.start : mark.end]}")["v"] == value
