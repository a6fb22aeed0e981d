"""What clients say to a replica about a channel: publishers and subscribers."""

from __future__ import annotations

from quorumcast.broker.admission import Admission
from quorumcast.broker.serving import Serving
from quorumcast.broker.shelf import Entry, Shelf
from quorumcast.broker.subscriptions import Subscriptions
from quorumcast.core.ids import Party
from quorumcast.core.messages import (
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskHeads,
    AskOpening,
    AskVotes,
    Credit,
    Follow,
    Open,
    Publish,
    Release,
    Status,
    StatusCode,
)


class Clients:
    """One handler per message of a client; replicas ask the same questions."""

    def __init__(
        self,
        shelf: Shelf,
        admission: Admission,
        serving: Serving,
        subscriptions: Subscriptions,
    ) -> None:
        self._shelf = shelf
        self._out = shelf.context.out
        self._admission = admission
        self._serving = serving
        self._subscriptions = subscriptions

    # -- publishers ----------------------------------------------------------------------------

    def open(self, sender: Party, message: Open) -> None:
        """A publisher opens a stream, or resumes in it."""
        stream = message.stream
        refusal = self._admission.refusal(sender, message)
        if refusal is not None:
            self._out.send(sender, Status(stream, StatusCode.REJECTED, 0, refusal))
            self._out.reject(sender, refusal)
            return
        full = self._admission.full(sender, stream)
        if full is not None:
            self._out.send(sender, Status(stream, StatusCode.WAIT, 0, full))
            return
        entry = self._shelf.heard_of(stream, sender)
        if entry is None:
            reason = "too much is heard of sessions under this name; try again"
            self._out.send(sender, Status(stream, StatusCode.WAIT, 0, reason))
            return
        active = entry.active
        if active is None:
            self._shelf.load(entry, sender, message)
            return
        if active.opening is None:
            key = self._shelf.sign_key(stream, message.certificate) or b""
            active.open(message.opening, message.certificate, key)
        self._admission.opened(entry, active)

    def release(self, sender: Party, message: Release) -> None:
        """A publisher gives up a place that it did not use."""
        if message.stream.publisher == sender and self._shelf.release(message.stream, sender):
            self._admission.released(message.stream)

    def publish(self, sender: Party, message: Publish) -> None:
        """A publisher's publications, under its own name."""
        stream = message.stream
        entry = self._shelf.entries.get(stream)
        if entry is None or (entry.active is not None and entry.active.opening is None):
            self._out.send(sender, Status(stream, StatusCode.WAIT, 0, "open the stream first"))
        elif entry.active is None:
            self._shelf.load(entry, sender, message)
        else:
            self._admission.publish(entry, entry.active, message)

    # -- subscribers ---------------------------------------------------------------------------

    def follow(self, sender: Party, message: Follow) -> None:
        """A subscriber names where a stream begins for it."""
        entry = self._shelf.entries.get(message.stream)
        if entry is not None:
            self._subscriptions.follow(sender, entry, message)

    def credit(self, sender: Party, message: Credit) -> None:
        """A subscriber takes more."""
        entry = self._shelf.entries.get(message.stream)
        if entry is not None:
            self._subscriptions.credit(sender, entry, message)

    # -- questions -----------------------------------------------------------------------------

    def ask_heads(self, sender: Party, message: AskHeads) -> None:
        """Which streams are there?"""
        if self._serving.allowed(sender):
            self._serving.heads(sender, message)

    def _asked(
        self,
        sender: Party,
        message: AskVotes | AskConfirmed | AskDigests | AskBodies | AskOpening,
    ) -> Entry | None:
        """The stream that a question is about, unless it is unknown or the asker asks too much."""
        if not self._serving.allowed(sender):
            return None
        entry = self._shelf.entries.get(message.stream)
        if entry is None or entry.active is not None:
            return entry
        if entry.loading is not None or (
            entry.unfinished and isinstance(message, AskVotes | AskDigests)
        ):
            self._shelf.load(entry, sender, message)
            return None
        return entry

    def ask_votes(self, sender: Party, message: AskVotes) -> None:
        """What do you state?"""
        entry = self._asked(sender, message)
        if entry is not None:
            self._serving.votes(sender, entry, message)

    def ask_confirmed(self, sender: Party, message: AskConfirmed) -> None:
        """Is this position confirmed?"""
        entry = self._asked(sender, message)
        if entry is not None:
            self._serving.confirmed(sender, entry, message)

    def ask_digests(self, sender: Party, message: AskDigests) -> None:
        """Which digests stand under your statement?"""
        entry = self._asked(sender, message)
        if entry is not None:
            self._serving.digests(sender, entry, message)

    def ask_bodies(self, sender: Party, message: AskBodies) -> None:
        """Send these bodies."""
        entry = self._asked(sender, message)
        if entry is not None:
            self._serving.bodies(sender, entry, message)

    def ask_opening(self, sender: Party, message: AskOpening) -> None:
        """What is the session the hash of?"""
        entry = self._asked(sender, message)
        if entry is None:
            return
        if entry.active is None:
            self._shelf.load(entry, sender, message)
        else:
            self._serving.opening(sender, entry.active, message)
