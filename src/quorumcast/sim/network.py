"""The network: loses, repeats, replays, damages, reorders, delays, cuts; and heals.

It decides the fate of a frame; the world seals, queues and opens it. Times are in ticks of a
millisecond, so that frames meet at a node and make one turn together. Each direction of each link
draws from a source of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from random import Random

import msgspec

from quorumcast.core.errors import ConfigError

TICKS_PER_SECOND = 1000


class Copy(IntEnum):
    """How a further copy of a frame travels.

    >>> Copy.RESEALED.name
    'RESEALED'
    """

    RESEALED = 0
    """The same messages in a new frame: they arrive twice, and are taken twice."""
    REPLAYED = 1
    """The same bytes again: the receiver must refuse them."""
    DAMAGED = 2
    """The same bytes with one changed: the receiver must refuse them."""


class Weather(msgspec.Struct, frozen=True):
    """How badly the network behaves; probabilities are per frame, delays in ticks.

    >>> Weather(loss=0.3).loss
    0.3
    """

    loss: float = 0.0
    repeat: float = 0.0
    replay: float = 0.0
    damage: float = 0.0
    stray: float = 0.0
    """How often a frame takes a long way, and others overtake it."""
    least_ticks: int = 1
    most_ticks: int = 3
    stray_ticks: int = 120

    def check(self) -> Weather:
        """Return the weather, or raise `ConfigError` naming what is out of range.

        >>> Weather(loss=1.5).check()
        Traceback (most recent call last):
        ...
        quorumcast.core.errors.ConfigError: loss = 1.5 is out of range: use 0 to 0.9
        """
        for name in ("loss", "repeat", "replay", "damage", "stray"):
            value: float = getattr(self, name)
            if not 0.0 <= value <= 0.9:
                raise ConfigError(f"{name} = {value:g} is out of range: use 0 to 0.9")
        if not 1 <= self.least_ticks <= self.most_ticks:
            raise ConfigError(
                f"delays from {self.least_ticks} to {self.most_ticks} ticks: "
                "use 1 or more, the least first"
            )
        return self

    @property
    def copies(self) -> bool:
        """Whether frames may arrive more than once."""
        return self.repeat > 0.0 or self.replay > 0.0 or self.damage > 0.0


CALM = Weather()
"""Nothing is lost or repeated; frames may still overtake each other by a tick or two."""


class Network:
    """The fate of frames between named nodes.

    >>> network = Network(Weather(loss=0.5))
    >>> network.cut(["r1"], ["r2"])
    >>> network.delay(Random(1), "r1", "r2", 3)
    >>> network.lost
    3
    """

    def __init__(self, weather: Weather = CALM) -> None:
        self.weather = weather.check()
        self._cuts: dict[tuple[str, str], int] = {}
        self._slow: dict[str, int] = {}
        self.lost = 0
        """Messages in frames that never arrived."""

    def delay(self, draws: Random, sender: str, receiver: str, messages: int) -> int | None:
        """Ticks until a frame with so many messages arrives; None if it is lost."""
        weather = self.weather
        if self._cuts and (sender, receiver) in self._cuts:
            self.lost += messages
            return None
        if weather.loss and draws.random() < weather.loss:
            self.lost += messages
            return None
        least, most = weather.least_ticks, weather.most_ticks
        ticks = least + int(draws.random() * (most - least + 1))
        if weather.stray and draws.random() < weather.stray:
            ticks += int(draws.random() * weather.stray_ticks)
        if self._slow:
            ticks += self._slow.get(sender, 0)
        return ticks

    def copies(self, draws: Random) -> list[tuple[Copy, int]]:
        """Further copies of a frame that arrived, each with ticks after it."""
        weather = self.weather
        copies: list[tuple[Copy, int]] = []
        for copy, chance in (
            (Copy.RESEALED, weather.repeat),
            (Copy.REPLAYED, weather.replay),
            (Copy.DAMAGED, weather.damage),
        ):
            if chance and draws.random() < chance:
                copies.append((copy, 1 + int(draws.random() * weather.stray_ticks)))
        return copies

    def cut(self, senders: Iterable[str], receivers: Iterable[str]) -> None:
        """Nothing passes from these to those, until as many `join` as `cut` were called."""
        receivers = list(receivers)
        for sender in senders:
            for receiver in receivers:
                if sender != receiver:
                    pair = (sender, receiver)
                    self._cuts[pair] = self._cuts.get(pair, 0) + 1

    def join(self, senders: Iterable[str], receivers: Iterable[str]) -> None:
        """Undo one `cut`."""
        receivers = list(receivers)
        for sender in senders:
            for receiver in receivers:
                pair = (sender, receiver)
                count = self._cuts.get(pair, 0) - 1
                if count > 0:
                    self._cuts[pair] = count
                else:
                    self._cuts.pop(pair, None)

    def is_cut(self, sender: str, receiver: str) -> bool:
        """Whether nothing passes from one to the other now."""
        return (sender, receiver) in self._cuts

    def slow(self, sender: str, ticks: int) -> None:
        """Everything this node sends takes so many ticks more; 0 ends it."""
        if ticks:
            self._slow[sender] = ticks
        else:
            self._slow.pop(sender, None)

    def heal(self) -> None:
        """From now on nothing is lost, cut, damaged or slowed."""
        self._cuts.clear()
        self._slow.clear()
        self.weather = CALM
