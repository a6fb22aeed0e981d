"""Streams in which this replica has no vote, on the account of the party that spoke of them.

A party has a bounded account, and within it a bounded number of streams per publisher and lane. Of
live streams the latest replaces the oldest. A stream that a party says is confirmed is being caught
up with: it keeps its place until it is stored here, and the next one has to wait.
"""

from __future__ import annotations

from collections import OrderedDict

from quorumcast.core.ids import Lane, Party, Stream
from quorumcast.core.limits import FOREIGN_STREAMS_PER_PEER, SESSIONS_UNCONFIRMED


class _Account:
    __slots__ = ("lanes", "streams")

    def __init__(self) -> None:
        self.streams: OrderedDict[Stream, None] = OrderedDict()
        self.lanes: dict[tuple[Party, Lane], dict[Stream, bool]] = {}
        """Per publisher and lane the streams in the order in which they were heard of last, and
        whether each is said to be confirmed."""


class Hearsay:
    """Who spoke of which streams.

    >>> hearsay = Hearsay()
    >>> streams = [Stream("c", "p", bytes((n,)) * 32, Lane.NORMAL) for n in range(5)]
    >>> [hearsay.add("r2", stream, settled=False) for stream in streams][-1] == streams[:1]
    True
    """

    def __init__(self) -> None:
        self._accounts: dict[Party, _Account] = {}
        self.missed: dict[Party, None] = {}
        """Parties of which something could not be kept: they have to be asked again."""

    def add(self, party: Party, stream: Stream, *, settled: bool) -> list[Stream] | None:
        """Note that a party speaks of a stream; returns those that lose their place on its account.

        None: there is no place for this one.
        """
        account = self._accounts.setdefault(party, _Account())
        lane = account.lanes.setdefault((stream.publisher, stream.lane), {})
        if stream not in lane and len(lane) >= SESSIONS_UNCONFIRMED and all(lane.values()):
            self.missed[party] = None
            return None
        settled = lane.pop(stream, False) or settled
        lane[stream] = settled
        account.streams.pop(stream, None)
        account.streams[stream] = None
        gone: list[Stream] = []
        if len(lane) > SESSIONS_UNCONFIRMED:
            live = [other for other, done in lane.items() if not done and other != stream]
            gone.append(live[0])
        if len(account.streams) - len(gone) > FOREIGN_STREAMS_PER_PEER:
            gone.append(next(iter(account.streams)))
        if gone:
            self.missed[party] = None
        return gone

    def drop(self, party: Party, stream: Stream) -> None:
        """A party's word on a stream is forgotten."""
        account = self._accounts.get(party)
        if account is None or stream not in account.streams:
            return
        del account.streams[stream]
        key = (stream.publisher, stream.lane)
        del account.lanes[key][stream]
        if not account.lanes[key]:
            del account.lanes[key]
        if not account.streams:
            del self._accounts[party]

    def of(self, party: Party) -> list[Stream]:
        """The streams on a party's account."""
        account = self._accounts.get(party)
        return list(account.streams) if account is not None else []

    def speaks(self, party: Party, stream: Stream) -> bool:
        """Whether a stream is on a party's account."""
        account = self._accounts.get(party)
        return account is not None and stream in account.streams

    def known(self, stream: Stream) -> bool:
        """Whether a stream is on anybody's account."""
        return any(stream in account.streams for account in self._accounts.values())

    def settle(self, stream: Stream) -> None:
        """The stream is stored here: it is on nobody's account any more."""
        for party in [p for p, account in self._accounts.items() if stream in account.streams]:
            self.drop(party, stream)
