"""What processes say to each other beside the protocol: the operator's charter, and reports.

When a link comes up both ends announce the version that they know, and again when it changes.
Upon an announcement of an older one, the newer one is handed on: once for each link and version of
one's own. Upon a charter that was announced and is newer: the operator's signature is checked; if
it is his, it is adopted, and announced on all links. So it reaches whoever is connected to anybody
who has it, and one liar keeps nobody from it.

What a liar says costs others nothing: a link holds two announcements, whatever is announced. A
charter other than the one announced, or not the operator's, ends its link; for a time after that
no charter is taken from that party, so that it cannot have signatures checked without end.

A replica reports on itself to the operator alone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from quorumcast.auth.manifest import Manifest
from quorumcast.auth.names import OPERATOR
from quorumcast.core.errors import AuthError, QuorumcastError
from quorumcast.core.ids import Party
from quorumcast.core.messages import AskReport, CharterAt, CharterIs, Message, Report
from quorumcast.runtime.around import Outbound
from quorumcast.runtime.charter import Charter, announced, unpack

BAN_SECONDS = 60.0
"""How long no charter is taken from a party that handed on a false one."""

BANNED = 1024
"""Parties that this is remembered of; the operator certified each of them."""

LINKS_PER_TURN = 32
"""Links that a change is told on in one turn of the loop: ten thousand at once would stop it."""

_log = logging.getLogger(__name__)

At = tuple[int, bytes]
"""A version and the digest of its content."""


class _Peer:
    """What is known of the party at the other end of a link."""

    __slots__ = ("given", "said", "told", "tried")

    def __init__(self) -> None:
        self.said: At | None = None
        """What it announced last."""
        self.tried: At | None = None
        """Which one it handed on; it is not looked at again on this link."""
        self.told: At | None = None
        """What was announced to it."""
        self.given: At | None = None
        """Which one was handed on to it."""


class Steward:
    """Knows the newest charter, and hands it on over all links of a process.

    `apply` makes a charter take effect; it may raise `QuorumcastError`, and then the charter is not
    adopted. With `report`, the operator may ask for one.
    """

    def __init__(
        self,
        manifest: Manifest,
        charter: Charter,
        *,
        loop: asyncio.AbstractEventLoop,
        apply: Callable[[Charter], None],
        report: Callable[[], bytes] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.on_change: Callable[[], None] = lambda: None
        """Told when some party announced another version than before."""
        self._manifest = manifest
        self._replicas = frozenset(each.name for each in manifest.replicas)
        self._loop = loop
        self._apply = apply
        self._report = report
        self._clock = clock
        self._peers: dict[Outbound, _Peer] = {}
        self._untold: dict[Outbound, None] = {}
        self._banned: dict[Party, float] = {}
        self._refused: At | None = None
        """A charter of the operator's that cannot take effect here: it is not tried again."""
        self._take(charter)

    def _take(self, charter: Charter) -> None:
        self.charter = charter
        """The newest one."""
        packed = charter.pack()
        self._at = announced(packed)
        self._announcement = CharterAt(*self._at)
        self._whole = CharterIs(packed)

    # -- what is known -------------------------------------------------------------------------

    def have(self) -> frozenset[Party]:
        """The linked replicas that announced the charter which is known here, or a newer one."""
        return frozenset(
            link.party
            for link, peer in self._peers.items()
            if link.party in self._replicas and peer.said is not None and not self._lacks(peer.said)
        )

    @property
    def outdated(self) -> bool:
        """Whether so many replicas announced a newer version that one of them is correct.

        One that cannot take effect here does not count: nothing is to be waited for.
        """
        mine = self._at[0]
        ahead = {
            link.party
            for link, peer in self._peers.items()
            if link.party in self._replicas
            and peer.said not in (None, self._refused)
            and peer.said[0] > mine
        }
        return len(ahead) > self._manifest.faults

    def adopt(self, charter: Charter) -> bool:
        """Take effect of a charter that is known to be the operator's, if it is newer."""
        if not charter.newer(self.charter):
            return False
        self._apply(charter)
        self._take(charter)
        first = sorted(self._peers, key=lambda link: link.party not in self._replicas)
        if not self._untold:
            self._loop.call_soon(self._tell_some)
        self._untold = dict.fromkeys(first)
        return True

    # -- links ---------------------------------------------------------------------------------

    def linked(self, link: Outbound) -> None:
        """A link is up: announce what is known."""
        self._peers[link] = _Peer()
        self._tell(link)

    def unlinked(self, link: Outbound) -> None:
        """A link is gone."""
        self._peers.pop(link, None)
        self._untold.pop(link, None)

    def received(self, link: Outbound, message: Message) -> None:
        """The party at the other end says this."""
        peer = self._peers.get(link)
        if peer is None:
            return
        if isinstance(message, CharterAt):
            peer.said = (message.version, message.digest)
            self._tell(link)
            self.on_change()
        elif isinstance(message, CharterIs):
            self._handed_on(link, peer, message.packed)
        elif isinstance(message, AskReport) and self._report is not None:
            if link.party == OPERATOR:
                link.send([Report(self._report())])
            else:
                link.give_up("only the operator may ask for a report")
        else:
            link.give_up(f"{type(message).__name__} where nobody asked for it")

    # -- telling -------------------------------------------------------------------------------

    def _lacks(self, said: At) -> bool:
        """Whether who announced this should have what is known here."""
        return said[0] < self._at[0] or (said[0] == self._at[0] and said[1] != self._at[1])

    def _tell(self, link: Outbound) -> None:
        peer, said = self._peers[link], list[Message]()
        if peer.told != self._at:
            peer.told = self._at
            said.append(self._announcement)
        if peer.said is not None and self._lacks(peer.said) and peer.given != self._at:
            peer.given = self._at
            said.append(self._whole)
        if said:
            link.send(said)

    def _tell_some(self) -> None:
        for _ in range(min(LINKS_PER_TURN, len(self._untold))):
            link = next(iter(self._untold))
            del self._untold[link]
            self._tell(link)
        if self._untold:
            self._loop.call_soon(self._tell_some)

    # -- what is handed on ---------------------------------------------------------------------

    def _handed_on(self, link: Outbound, peer: _Peer, packed: bytes) -> None:
        if peer.said is None or peer.said == peer.tried or self._is_banned(link.party):
            return
        if peer.said[0] < self._at[0] or peer.said in (self._at, self._refused):
            return  # somebody else was quicker
        peer.tried = peer.said
        if announced(packed) != peer.said:
            self._fault(link, "it hands on another charter than it announced")
            return
        try:
            self.adopt(unpack(packed, self._manifest))
        except AuthError as error:
            self._fault(link, str(error))
        except QuorumcastError as error:
            self._refused = peer.said
            _log.error("the operator's version %d is not adopted: %s", peer.said[0], error)
            self.on_change()

    def _fault(self, link: Outbound, why: str) -> None:
        if len(self._banned) >= BANNED:
            del self._banned[next(iter(self._banned))]
        self._banned[link.party] = self._clock() + BAN_SECONDS
        _log.warning("%s: %s", link.party, why)
        link.give_up(why)

    def _is_banned(self, party: Party) -> bool:
        until = self._banned.get(party)
        if until is not None and self._clock() >= until:
            del self._banned[party]
            until = None
        return until is not None
