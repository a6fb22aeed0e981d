"""The subscribers that the publishers of a channel wait for: `overflow = "block"`.

Upon anything that a publisher asks or sends: it gets credit, and is listened to, up to where the
slowest of these subscribers takes its stream, and never less than what is here already. A stream in
which nothing was published yet is taken as far as a subscription says for new ones.
Upon more credit from such a subscriber, its end, or the end of its link: publishers go on.
Upon a publisher that asks for credit and gets none: tell the subscriber what this replica has of
it. Its word may be lost, and it has no reason to repeat it while nothing comes; so whoever waits
is the one who asks.

Who has no cursor in a stream stops nobody there: it has not said where it begins, and reads from
the log when it does. Nothing else waits: repair, adoption and acknowledgements go on. As a
publisher counts credit at Q replicas, one that lies can neither stop a channel in a subscriber's
name nor let it go on.
"""

from __future__ import annotations

from quorumcast.broker.cursors import Subscription
from quorumcast.broker.shelf import Entry, Shelf
from quorumcast.core.ids import Party, Stream
from quorumcast.core.limits import REPEAT_SECONDS
from quorumcast.core.messages import Follow


class Blocking:
    """The subscriptions to one channel that may let publishers wait."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._context = shelf.context
        self._clients: dict[Party, Subscription] = {}

    # -- who -----------------------------------------------------------------------------------

    def begin(self, client: Subscription) -> None:
        """A subscription is in force."""
        if client.blocks:
            self._clients[client.party] = client

    def end(self, client: Subscription) -> None:
        """A subscription is not in force any more: publishers that waited for it go on."""
        if self._clients.pop(client.party, None) is not None:
            for stream in client.cursors:
                self._settle(stream)

    def moved(self, client: Subscription, stream: Stream) -> None:
        """A subscription takes more of a stream, or less, than it did."""
        if client.blocks:
            self._settle(stream)

    def _settle(self, stream: Stream) -> None:
        """The stream's publisher is told of its credit at the end of the turn.

        One whose stream is at rest asks again, for as long as it has something to publish.
        """
        active = self._shelf.active(stream)
        if active is not None:
            active.touch()

    # -- how far -------------------------------------------------------------------------------

    def limit(self, entry: Entry) -> int | None:
        """The last position that a stream's publisher is let to; None: as far as it likes."""
        if not self._clients:
            return None
        ends = [self._takes(client, entry) for client in self._clients.values()]
        return min([end for end in ends if end is not None], default=None)

    def _takes(self, client: Subscription, entry: Entry) -> int | None:
        cursor = client.cursors.get(entry.stream)
        if cursor is not None:
            return cursor.through
        if entry.head == 0 and client.begins(entry.stream, entry.created):
            return max(1, client.window)  # else it would never hear of the stream
        return None

    def remind(self, entry: Entry) -> None:
        """A publisher waits: tell those who let it wait what this replica has of them."""
        now = self._context.now
        for client in self._clients.values():
            cursor = client.cursors.get(entry.stream)
            if cursor is None or cursor.through > entry.head:
                continue
            if cursor.reminded_at is None or now - cursor.reminded_at >= REPEAT_SECONDS:
                cursor.reminded_at = now
                said = Follow(entry.stream, client.version, cursor.next, cursor.through)
                self._context.out.send(client.party, said)
