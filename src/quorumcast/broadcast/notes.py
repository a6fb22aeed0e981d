"""Small notes that a stream keeps for those who speak to its clients."""

from __future__ import annotations


class Fresh:
    """What was voted for in this turn and is to be forwarded, from `first` on."""

    __slots__ = ("bodies", "digests", "first", "signatures")

    def __init__(self, first: int) -> None:
        self.first = first
        self.digests = bytearray()
        self.bodies: list[bytes] = []
        self.signatures = bytearray()


class Said:
    """What the publisher was told over one of its links, counted by `link`."""

    __slots__ = ("confirmed", "credit", "held", "link")

    def __init__(self, link: int) -> None:
        self.link = link
        self.held = 0
        self.confirmed = 0
        self.credit = 0
