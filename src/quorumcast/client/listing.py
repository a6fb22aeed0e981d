"""Streams that replicas list and that are not followed yet.

One replica's word makes no stream: f+1 have to list it. Replicas answer one after another, each at
its own pace, so what one lists is kept until the others have spoken. That is a stream's name and
three numbers, bounded per replica.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from quorumcast.broadcast.tally import kth
from quorumcast.core.ids import Party, Stream
from quorumcast.core.limits import LISTED_STREAMS
from quorumcast.core.messages import Head


class Listing:
    """What each replica lists, until `need` of them list it.

    >>> from quorumcast.core.ids import Lane
    >>> listing = Listing(need=2)
    >>> head = Head(Stream("c", "p", bytes(32), Lane.NORMAL), 0, 3, 1)
    >>> listing.add("r1", head), sorted(listing.add("r2", head))
    ({}, ['r1', 'r2'])
    """

    def __init__(self, need: int) -> None:
        self._need = need
        self._heads: dict[Party, OrderedDict[Stream, Head]] = {}

    def add(self, replica: Party, head: Head) -> dict[Party, Head]:
        """A replica lists a stream; returns who lists it and how, once these are enough."""
        listed = self._heads.setdefault(replica, OrderedDict())
        listed.pop(head.stream, None)
        listed[head.stream] = head
        if len(listed) > LISTED_STREAMS:
            listed.popitem(last=False)
        return self._listers(head.stream)

    def _listers(self, stream: Stream) -> dict[Party, Head]:
        listers = {r: heads[stream] for r, heads in self._heads.items() if stream in heads}
        return listers if len(listers) >= self._need else {}

    def known(self) -> dict[Stream, dict[Party, Head]]:
        """Every stream that enough replicas list, with who lists it and how."""
        streams = dict.fromkeys(stream for heads in self._heads.values() for stream in heads)
        found = {stream: self._listers(stream) for stream in streams}
        return {stream: listers for stream, listers in found.items() if listers}

    def after_latest(self, replicas: Iterable[Party]) -> dict[Stream, int]:
        """The position after the need-th highest head that these replicas list, for each stream.

        A stream that fewer list has no such position: it begins at 1.
        """
        among = set(replicas)
        starts: dict[Stream, int] = {}
        for stream, listers in self.known().items():
            heads = [head.last for replica, head in listers.items() if replica in among]
            if len(heads) >= self._need:
                starts[stream] = kth(heads, self._need) + 1
        return starts

    def take(self, stream: Stream) -> None:
        """A stream is followed now: it need not be listed any more."""
        for heads in self._heads.values():
            heads.pop(stream, None)

    def forget(self, replica: Party) -> None:
        """A replica's link is gone; it lists anew when it is back."""
        self._heads.pop(replica, None)
