"""Draws the pictures in docs/pictures from the short descriptions below.

Run it after a change: `python tools/pictures.py`. A test compares the files with what it draws.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"

INK, SOFT, GOOD, BAD, PAPER = "#1f2933", "#7b8794", "#0b6e4f", "#b3261e", "#ffffff"


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
    title: str, parties: list[str], arrows: list[Arrow], notes: list[Note], liars: list[str]
) -> str:
    """A diagram with a line per party from left to right, and time downwards."""
    left, gap, top, step = 105, 130, 70, 46
    last = max([arrow.end for arrow in arrows] + [note.at for note in notes])
    width = left * 2 + gap * (len(parties) - 1)
    height = int(top + step * (last + 1))
    place = {party: left + gap * index for index, party in enumerate(parties)}
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="Helvetica, Arial, sans-serif" '
        f'role="img" aria-label="{escape(title)}">',
        "<defs>",
    ]
    out += [
        f'<marker id="tip{colour[1:]}" viewBox="0 0 10 10" refX="9" refY="5" '
        'markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
        f'<path d="M0 0L10 5L0 10z" fill="{colour}"/></marker>'
        for colour in (INK, SOFT, GOOD, BAD)
    ]
    out.append("</defs>")
    out.append(f'<rect width="{width}" height="{height}" fill="{PAPER}"/>')
    out.append(
        f'<text x="{width / 2}" y="22" font-size="15" font-weight="bold" fill="{INK}" '
        f'text-anchor="middle">{escape(title)}</text>'
    )
    for party, x in place.items():
        colour = BAD if party in liars else INK
        dash = ' stroke-dasharray="4 4"' if party in liars else ""
        out.append(
            f'<text x="{x}" y="48" font-size="13" fill="{colour}" font-weight="bold" '
            f'text-anchor="middle">{escape(party)}</text>'
        )
        out.append(
            f'<line x1="{x}" y1="56" x2="{x}" y2="{height - 8}" stroke="{colour}" '
            f'stroke-opacity="0.45"{dash}/>'
        )
    for arrow in arrows:
        out += _arrow(arrow, place, top, step)
    for note in notes:
        out += _note(note, place, top, step)
    out.append("</svg>")
    return "\n".join(out) + "\n"


def _arrow(arrow: Arrow, place: dict[str, int], top: int, step: int) -> list[str]:
    x1, x2 = place[arrow.sender], place[arrow.receiver]
    y1, y2 = top + step * arrow.start, top + step * arrow.end
    if arrow.lost:
        x2, y2 = x1 + (x2 - x1) * 0.6, y1 + (y2 - y1) * 0.6
    inset = 3 if x2 > x1 else -3
    dash = ' stroke-dasharray="3 3"' if arrow.lost else ""
    drawn = [
        f'<line x1="{x1 + inset}" y1="{y1:.0f}" x2="{x2 - inset:.0f}" y2="{y2:.0f}" '
        f'stroke="{arrow.colour}" stroke-width="1.4"{dash} '
        f'marker-end="url(#tip{arrow.colour[1:]})"/>'
    ]
    if arrow.lost:
        drawn.append(
            f'<text x="{x2:.0f}" y="{y2 + 4:.0f}" font-size="15" fill="{BAD}" '
            'text-anchor="middle">×</text>'
        )
    if arrow.text:
        along = min(0.5, 65 / abs(x2 - x1))  # in the first gap, where arrows lie apart
        middle = x1 + (x2 - x1) * along
        height = y1 + (y2 - y1) * along - 4
        size = len(arrow.text) * 6.2 + 6
        drawn.append(
            f'<rect x="{middle - size / 2:.0f}" y="{height - 11:.0f}" width="{size:.0f}" '
            f'height="14" fill="{PAPER}" fill-opacity="0.85"/>'
        )
        drawn.append(
            f'<text x="{middle:.0f}" y="{height:.0f}" font-size="11" fill="{arrow.colour}" '
            f'text-anchor="middle">{escape(arrow.text)}</text>'
        )
    return drawn


def _note(note: Note, place: dict[str, int], top: int, step: int) -> list[str]:
    x, y = place[note.party], top + step * note.at
    size = len(note.text) * 6.4 + 14
    return [
        f'<rect x="{x - size / 2:.0f}" y="{y - 11:.0f}" width="{size:.0f}" height="20" rx="10" '
        f'fill="{PAPER}" stroke="{note.colour}"/>',
        f'<text x="{x}" y="{y + 3:.0f}" font-size="11" fill="{note.colour}" '
        f'text-anchor="middle">{escape(note.text)}</text>',
    ]


def votes() -> str:
    """Delivery on Q equal votes, one replica lying."""
    replicas = ["r1", "r2", "r3", "r4"]
    arrows = [Arrow("publisher", r, "", 0, 0.9) for r in replicas]
    arrows += [
        Arrow("r1", "subscriber", "HELD A", 1.7, 3.4),
        Arrow("r2", "subscriber", "HELD A", 1.7, 3.1),
        Arrow("r3", "subscriber", "HELD A", 1.7, 2.8),
        Arrow("r4", "subscriber", "HELD B", 1.7, 2.5, BAD),
    ]
    notes = [
        Note("publisher", "publishes A", 0.0),
        *(Note(r, "stores A, votes", 1.3) for r in replicas[:3]),
        Note("subscriber", "3 equal votes: delivers A", 3.8),
    ]
    parties = ["publisher", *replicas, "subscriber"]
    return sequence(
        "ab: Q equal votes deliver, whatever a liar says", parties, arrows, notes, ["r4"]
    )


def confirmation() -> str:
    """HELD, READY, CONFIRMED among replicas."""
    arrows = [
        Arrow("r1", "r2", "HELD 1..k", 0, 0.8),
        Arrow("r2", "r3", "HELD 1..k", 0.2, 1.0),
        Arrow("r3", "r2", "", 0.6, 1.4),
        Arrow("r2", "r1", "HELD 1..k", 0.9, 1.7),
        Arrow("r1", "r2", "READY k", 2.2, 3.0),
        Arrow("r2", "r3", "READY k", 2.4, 3.2),
        Arrow("r3", "r2", "", 2.8, 3.6),
        Arrow("r2", "r1", "READY k", 3.1, 3.9),
        Arrow("r2", "subscriber", "CONFIRMED k", 4.6, 5.6, GOOD),
        Arrow("r3", "subscriber", "CONFIRMED k", 4.4, 5.2, GOOD),
    ]
    notes = [
        Note("r2", "Q hold it: READY", 1.9),
        Note("r2", "2f+1 are READY: CONFIRMED", 4.2),
        Note("subscriber", "f+1 say so: certain", 6.0),
    ]
    parties = ["r1", "r2", "r3", "r4", "subscriber"]
    return sequence(
        "Confirmation: Bracha's thresholds over whole runs", parties, arrows, notes, ["r4"]
    )


def loss() -> str:
    """How plain AB loses a publication."""
    arrows = [
        Arrow("publisher", "r1", "", 0, 0.8),
        Arrow("publisher", "r2", "", 0, 0.8),
        Arrow("publisher", "r3", "", 0, 1.3, BAD, lost=True),
        Arrow("publisher", "r4", "", 0, 0.8),
        Arrow("r4", "publisher", "acknowledged", 1.2, 2.4, BAD),
        Arrow("r1", "subscriber", "HELD A", 2.6, 3.9),
        Arrow("r2", "subscriber", "HELD A", 2.6, 3.6),
        Arrow("r4", "subscriber", "withheld", 2.6, 3.3, BAD, lost=True),
    ]
    notes = [
        Note("publisher", "publishes A", 0.0),
        Note("r1", "votes A", 1.2),
        Note("r2", "votes A", 1.2),
        Note("publisher", "3 acknowledge: leaves", 2.7),
        Note("subscriber", "2 votes, for ever", 4.3, BAD),
    ]
    parties = ["publisher", "r1", "r2", "r3", "r4", "subscriber"]
    return sequence("Without confirmation: acknowledged, and lost", parties, arrows, notes, ["r4"])


def repair() -> str:
    """How repair brings it back."""
    arrows = [
        Arrow("r1", "r3", "HELD A", 0, 0.9),
        Arrow("r2", "r3", "HELD A", 0.2, 1.0),
        Arrow("r3", "r2", "send A", 1.7, 2.4),
        Arrow("r2", "r3", "body of A", 2.6, 3.3),
        Arrow("r3", "subscriber", "HELD A", 4.0, 5.0),
    ]
    notes = [
        Note("r3", "f+1 hold what I lack", 1.4),
        Note("r3", "stores, votes A", 3.7),
        Note("subscriber", "the third vote: delivers A", 5.4),
    ]
    parties = ["r1", "r2", "r3", "r4", "subscriber"]
    return sequence("With confirmation, replicas repair each other", parties, arrows, notes, ["r4"])


def equivocation() -> str:
    """A publisher that lies, and what becomes of it."""
    arrows = [
        Arrow("publisher", "r1", "", 0, 0.7),
        Arrow("publisher", "r2", "", 0, 0.7),
        Arrow("publisher", "r3", "", 0, 0.7, BAD),
        Arrow("r1", "s1", "HELD A", 1.5, 3.0),
        Arrow("r2", "s1", "HELD A", 1.5, 2.7),
        Arrow("r4", "s1", "HELD A", 1.5, 2.3, BAD),
        Arrow("r3", "s2", "HELD B", 2.6, 3.9),
        Arrow("r4", "s2", "HELD B", 2.6, 3.5, BAD),
        Arrow("r1", "s2", "HELD A", 2.6, 4.3),
    ]
    notes = [
        Note("publisher", "lies", 0.0, BAD),
        Note("r1", "votes A", 1.1),
        Note("r2", "votes A", 1.1),
        Note("r3", "votes B", 1.1, BAD),
        Note("s1", "3 votes: delivers A", 3.3),
        Note("s2", "B cannot get 3: waits", 4.7, SOFT),
        Note("r3", "A confirmed: replaces B", 5.3),
        Note("s2", "CONFIRMED: delivers A", 5.9),
    ]
    parties = ["publisher", "r1", "r2", "r3", "r4", "s1", "s2"]
    return sequence(
        "A lying publisher and a lying replica: nobody delivers B",
        parties,
        arrows,
        notes,
        ["publisher", "r4"],
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
