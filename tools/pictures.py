"""Draws the pictures in docs/pictures from the short descriptions below.

Run it after a change: `python tools/pictures.py`. A test compares the files with what it draws.
"""

from __future__ import annotations

from html import escape
from math import atan2, degrees, hypot
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"

INK, SOFT, GOOD, BAD, PAPER = "#1f2933", "#616e7c", "#0b6e4f", "#b3261e", "#ffffff"

LEFT, GAP, TOP, STEP = 105, 140, 84, 46
"""Pixels: margin, between two parties, above time 0, for a unit of time."""

LETTER = 6.9
"""Pixels of a letter of the small text in the widest of the usual fonts."""


class Arrow(NamedTuple):
    """A message from one party to another, drawn at a time."""

    sender: str
    receiver: str
    text: str
    start: float
    end: float
    colour: str = INK
    lost: bool = False


class Note(NamedTuple):
    """A word on a party's line at a time."""

    party: str
    text: str
    at: float
    colour: str = GOOD


def sequence(
    title: str, parties: list[str], arrows: list[Arrow], notes: list[Note], faulty: dict[str, str]
) -> str:
    """A diagram with a line per party from left to right, and time downwards.

    `faulty` says of some parties what is wrong with them.
    """
    last = max([arrow.end for arrow in arrows] + [note.at for note in notes])
    width = LEFT * 2 + GAP * (len(parties) - 1)
    height = int(TOP + STEP * (last + 0.7))
    place = {party: LEFT + GAP * index for index, party in enumerate(parties)}
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="Helvetica, Arial, sans-serif" '
        f'role="img" aria-label="{escape(title)}">',
        "<defs>",
    ]
    out += [
        f'<marker id="tip{colour[1:]}" viewBox="0 0 10 10" refX="9" refY="5" '
        'markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L10 5L0 10z" fill="{colour}"/></marker>'
        for colour in (INK, GOOD, BAD)
    ]
    out.append("</defs>")
    out.append(f'<rect width="{width}" height="{height}" fill="{PAPER}"/>')
    out.append(_text(title, width / 2, 22, INK, size=15, bold=True))
    for party, x in place.items():
        out += _party(party, x, height, faulty.get(party))
    for arrow in arrows:
        out += _arrow(arrow, place)
    # Above all arrows, so that none crosses a word.
    for arrow in arrows:
        out += _label(arrow, place)
    for note in notes:
        out += _note(note, place)
    out.append("</svg>")
    return "\n".join(out) + "\n"


def _text(
    text: str,
    x: float,
    y: float,
    colour: str,
    *,
    size: int = 11,
    bold: bool = False,
    turn: str = "",
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    halo = f' stroke="{PAPER}" stroke-width="3" paint-order="stroke"'
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}"{weight} fill="{colour}"{halo} '
        f'text-anchor="middle"{turn}>{escape(text)}</text>'
    )


def _party(party: str, x: int, height: int, fault: str | None) -> list[str]:
    colour, dash = (INK, "") if fault is None else (BAD, ' stroke-dasharray="4 4"')
    drawn = [
        _text(party, x, 46, colour, size=13, bold=True),
        f'<line x1="{x}" y1="66" x2="{x}" y2="{height - 8}" stroke="{colour}" '
        f'stroke-opacity="0.4"{dash}/>',
    ]
    if fault is not None:
        drawn.append(_text(fault, x, 60, colour))
    return drawn


class _Line(NamedTuple):
    x1: float
    y1: float
    x2: float
    y2: float


def _line(arrow: Arrow, place: dict[str, int]) -> _Line:
    x1, x2 = float(place[arrow.sender]), float(place[arrow.receiver])
    y1, y2 = TOP + STEP * arrow.start, TOP + STEP * arrow.end
    inset = 3 if x2 > x1 else -3
    x1, x2 = x1 + inset, x2 - inset
    if arrow.lost:  # it ends in the last gap before its receiver
        part = 1 - 0.45 * GAP / abs(x2 - x1)
        x2, y2 = x1 + (x2 - x1) * part, y1 + (y2 - y1) * part
    return _Line(x1, y1, x2, y2)


def _arrow(arrow: Arrow, place: dict[str, int]) -> list[str]:
    line = _line(arrow, place)
    dash = ' stroke-dasharray="3 3"' if arrow.lost else ""
    tip = "" if arrow.lost else f' marker-end="url(#tip{arrow.colour[1:]})"'
    drawn = [
        f'<line x1="{line.x1:.0f}" y1="{line.y1:.0f}" x2="{line.x2:.0f}" y2="{line.y2:.0f}" '
        f'stroke="{arrow.colour}" stroke-width="1.4"{dash}{tip}/>'
    ]
    if arrow.lost:
        drawn.append(_text("✕", line.x2, line.y2 + 5, BAD, size=14, bold=True))
    return drawn


def _label(arrow: Arrow, place: dict[str, int]) -> list[str]:
    """The arrow's word, along it and above it, in the first gap, where arrows lie apart."""
    if not arrow.text:
        return []
    x1, y1, x2, y2 = _line(arrow, place)
    along = min(0.5, 0.5 * GAP / abs(x2 - x1))
    length = hypot(x2 - x1, y2 - y1)
    sign = 1 if x2 > x1 else -1
    x = x1 + (x2 - x1) * along + sign * 6 * (y2 - y1) / length
    y = y1 + (y2 - y1) * along - sign * 6 * (x2 - x1) / length
    angle = degrees(atan2(sign * (y2 - y1), sign * (x2 - x1)))
    turn = f' transform="rotate({angle:.1f} {x:.0f} {y:.0f})"'
    return [_text(arrow.text, x, y, arrow.colour, turn=turn)]


def _note(note: Note, place: dict[str, int]) -> list[str]:
    x, y = place[note.party], TOP + STEP * note.at
    size = len(note.text) * LETTER + 14
    return [
        f'<rect x="{x - size / 2:.0f}" y="{y - 11:.0f}" width="{size:.0f}" height="20" rx="10" '
        f'fill="{PAPER}" stroke="{note.colour}"/>',
        _text(note.text, x, y + 3, note.colour),
    ]


# -- the pictures ------------------------------------------------------------------------------


def votes() -> str:
    """Delivery on Q equal votes, one replica lying."""
    replicas = ["r1", "r2", "r3", "r4"]
    arrows = [Arrow("publisher", r, "", 0.2, 1.0) for r in replicas]
    arrows += [
        Arrow("r1", "subscriber", "HELD A", 1.7, 3.5),
        Arrow("r2", "subscriber", "HELD A", 1.7, 3.2),
        Arrow("r3", "subscriber", "HELD A", 1.7, 2.9),
        Arrow("r4", "subscriber", "HELD B", 1.7, 2.6, BAD),
    ]
    notes = [
        Note("publisher", "publishes A", 0.0),
        *(Note(r, "stores A, votes", 1.35) for r in replicas[:3]),
        Note("subscriber", "3 equal votes: delivers A", 4.0),
    ]
    parties = ["publisher", *replicas, "subscriber"]
    return sequence(
        "ab: Q equal votes deliver, whatever a liar says", parties, arrows, notes, {"r4": "lies"}
    )


def confirmation() -> str:
    """HELD, READY, CONFIRMED among replicas."""
    replicas = ["r1", "r2", "r3"]
    arrows = [
        Arrow(one, other, "", at, at + 1.0)
        for at in (0.3, 2.0)
        for one in replicas
        for other in replicas
        if one != other
    ]
    arrows += [
        Arrow(r, "subscriber", "", 3.7, 5.0 - 0.35 * place, GOOD)
        for place, r in enumerate(replicas)
    ]
    notes = [
        *(Note(r, "voted: HELD 1..k", 0.0, INK) for r in replicas),
        *(Note(r, "Q hold: READY k", 1.7, INK) for r in replicas),
        *(Note(r, "2f+1: CONFIRMED k", 3.4) for r in replicas),
        Note("subscriber", "f+1 say so: certain", 5.5),
    ]
    parties = [*replicas, "r4", "subscriber"]
    return sequence(
        "Confirmation: Bracha's thresholds over whole runs",
        parties,
        arrows,
        notes,
        {"r4": "silent"},
    )


def loss() -> str:
    """How plain AB loses a publication."""
    arrows = [
        Arrow("publisher", "r1", "", 0.2, 0.8),
        Arrow("publisher", "r2", "", 0.2, 0.8),
        Arrow("publisher", "r3", "", 0.2, 0.8, BAD, lost=True),
        Arrow("publisher", "r4", "", 0.2, 0.8),
        Arrow("r1", "publisher", "acknowledged", 1.5, 2.1),
        Arrow("r2", "publisher", "acknowledged", 1.5, 2.3),
        Arrow("r4", "publisher", "acknowledged", 1.5, 2.5, BAD),
        Arrow("r1", "subscriber", "HELD A", 2.8, 4.1),
        Arrow("r2", "subscriber", "HELD A", 2.8, 3.8),
        Arrow("r4", "subscriber", "HELD A", 2.8, 3.4, BAD, lost=True),
    ]
    notes = [
        Note("publisher", "publishes A", 0.0),
        Note("r1", "votes A", 1.15),
        Note("r2", "votes A", 1.15),
        Note("r3", "misses A", 1.15, SOFT),
        Note("publisher", "3 acknowledge: leaves", 3.0),
        Note("subscriber", "2 votes, for ever", 4.6, BAD),
    ]
    parties = ["publisher", "r1", "r2", "r3", "r4", "subscriber"]
    return sequence(
        "Without confirmation: acknowledged, and lost", parties, arrows, notes, {"r4": "withholds"}
    )


def repair() -> str:
    """How repair brings it back."""
    arrows = [
        Arrow("r1", "r3", "HELD A", 0.4, 1.4),
        Arrow("r2", "r3", "HELD A", 0.4, 1.0),
        Arrow("r3", "r2", "send A", 2.1, 2.7),
        Arrow("r2", "r3", "body of A", 2.8, 3.4),
        Arrow("r3", "subscriber", "HELD A", 4.1, 4.9),
    ]
    notes = [
        Note("r1", "voted A", 0.0),
        Note("r2", "voted A", 0.0),
        Note("r3", "missed A", 0.0, SOFT),
        Note("r3", "f+1 hold what I lack", 1.8),
        Note("r3", "stores, votes A", 3.75),
        Note("subscriber", "the third vote: delivers A", 5.4),
    ]
    parties = ["r1", "r2", "r3", "r4", "subscriber"]
    return sequence(
        "With confirmation, replicas repair each other", parties, arrows, notes, {"r4": "withholds"}
    )


def equivocation() -> str:
    """A publisher that lies, and what becomes of it."""
    arrows = [
        Arrow("publisher", "r1", "", 0.2, 0.8),
        Arrow("publisher", "r2", "", 0.2, 0.8),
        Arrow("publisher", "r3", "", 0.2, 0.8, BAD),
        Arrow("r1", "s1", "HELD A", 1.5, 2.9),
        Arrow("r2", "s1", "HELD A", 1.5, 2.6),
        Arrow("r4", "s1", "HELD A", 1.5, 2.2, BAD),
        Arrow("r1", "s2", "HELD A", 3.9, 5.5),
        Arrow("r3", "s2", "HELD B", 3.9, 5.1),
        Arrow("r4", "s2", "HELD B", 3.9, 4.7, BAD),
        Arrow("r1", "r3", "CONFIRMED A", 5.4, 6.4, GOOD),
        Arrow("r2", "r3", "CONFIRMED A", 5.4, 6.0, GOOD),
        Arrow("r1", "s2", "CONFIRMED A", 7.4, 8.7, GOOD),
        Arrow("r2", "s2", "CONFIRMED A", 7.4, 8.4, GOOD),
    ]
    notes = [
        Note("publisher", "A to two, B to one", 0.0, BAD),
        Note("r1", "votes A", 1.15),
        Note("r2", "votes A", 1.15),
        Note("r3", "votes B", 1.15),
        Note("s1", "3 votes: delivers A", 3.35),
        Note("s2", "B has only 2: waits", 5.95, SOFT),
        Note("r3", "puts A for B", 6.8),
        Note("s2", "f+1 say so: delivers A", 9.15),
    ]
    parties = ["publisher", "r1", "r2", "r3", "r4", "s1", "s2"]
    return sequence(
        "A lying publisher and a lying replica: nobody delivers B",
        parties,
        arrows,
        notes,
        {"publisher": "lies", "r4": "lies"},
    )


def pictures() -> dict[str, str]:
    """Every picture by its file name."""
    return {
        "votes.svg": votes(),
        "confirmation.svg": confirmation(),
        "loss.svg": loss(),
        "repair.svg": repair(),
        "equivocation.svg": equivocation(),
    }


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
