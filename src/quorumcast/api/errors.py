"""What can go wrong for a user of the client, and what to do then.

All derive from `QuorumcastError`, as do `ConfigError` (a file or an argument is wrong) and
`AuthError` (somebody is not who they say). A body that cannot be read is no error: it is delivered
as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from quorumcast.core.errors import QuorumcastError
from quorumcast.core.ids import Party, Stream


class NotAllowed(QuorumcastError):
    """The cluster's rules do not let this identity do that.

    >>> issubclass(NotAllowed, QuorumcastError)
    True
    """


class Rejected(QuorumcastError):
    """Enough replicas refuse, for a reason that trying again does not change.

    >>> issubclass(Rejected, NotAllowed)
    False
    """


class NoQuorum(QuorumcastError):
    """Too few replicas answered in time. What was published has an unknown outcome.

    >>> raise NoQuorum("2 of 4 replicas answer, 3 are needed")
    Traceback (most recent call last):
    ...
    quorumcast.api.errors.NoQuorum: 2 of 4 replicas answer, 3 are needed
    """


class Closed(QuorumcastError):
    """The client, publisher or subscription was closed.

    >>> issubclass(Closed, QuorumcastError)
    True
    """


class Gap(QuorumcastError):
    """Publications that retention dropped before this subscriber read them.

    Reading may go on: the next event is the first one after the gap. With `ended`, nothing more
    of this stream can be read.

    >>> from quorumcast.core.ids import Lane
    >>> gap = Gap(Stream("alerts", "probe-7", bytes(32), Lane.NORMAL), 3, 9, ended=False)
    >>> print(gap)
    alerts/probe-7/00000000/normal: publications 3 to 9 are gone from the replicas: ...
    """

    def __init__(self, stream: Stream, first: int, last: int, *, ended: bool) -> None:
        self.stream = stream
        self.first = first
        self.last = last
        self.ended = ended
        text = (
            f"{stream!r}: publications {first} to {last} are gone from the replicas: read on for "
            'what follows, use on_gap="continue" to skip gaps, or a longer retention to avoid them'
        )
        super().__init__(text)


def refusal(reason: str, party: Party, what: str) -> QuorumcastError:
    """The error for what f+1 replicas refuse; `what` is "publish on alerts" or the like.

    >>> type(refusal("probe-7 may not publish on alerts", "probe-7", "publish on alerts"))
    <class 'quorumcast.api.errors.NotAllowed'>
    """
    if reason == f"{party} may not {what}":
        return NotAllowed(
            f"{reason}: ask the operator to name {party} in the channel's table, "
            "or use another identity"
        )
    return Rejected(f"cannot {what}: {reason}")


def not_subscribed(reason: str, party: Party, channel: str) -> QuorumcastError:
    """The error for a subscription that f+1 replicas refuse.

    >>> type(not_subscribed("screen may not block alerts", "screen", "alerts"))
    <class 'quorumcast.api.errors.NotAllowed'>
    """
    if reason == f"{party} may not block {channel}":
        return may_not_block(party, channel)
    return refusal(reason, party, f"subscribe to {channel}")


def may_not_block(party: Party, channel: str) -> NotAllowed:
    """The error for who wants publishers to wait, and is not trusted with that.

    >>> print(may_not_block("screen", "alerts"))
    screen may not subscribe to alerts with overflow = "block": use "lag", or ask the operator ...
    """
    return NotAllowed(
        f'{party} may not subscribe to {channel} with overflow = "block": use "lag", or ask the '
        f"operator to name {party} in the channel's trusted_subscribers"
    )


def no_quorum(
    what: str,
    need: int,
    replicas: tuple[Party, ...],
    reached: frozenset[Party],
    reasons: Mapping[Party, str],
) -> NoQuorum:
    """The error for a time that passed in vain, with what is known about each replica.

    >>> print(no_quorum("no answer", 3, ("r1", "r2"), frozenset({"r1"}), {"r2": "refused"}))
    no answer: 1 of 2 replicas is reached and 3 are needed (r2: refused); ...
    """
    said = {name: reasons[name] for name in replicas if name in reached & reasons.keys()}
    if len(said) == len(reached) >= need and len(set(said.values())) == 1:
        (reason,) = set(said.values())
        return NoQuorum(f"{what}: {reason} ({', '.join(said)}); try again, or allow more time")
    missing = {name: reasons.get(name, "no link") for name in replicas if name not in reached}
    told: dict[str, list[Party]] = {}
    for name, reason in (*missing.items(), *said.items()):
        told.setdefault(reason, []).append(name)
    details = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in told.items())
    verb = "is" if len(reached) == 1 else "are"
    return NoQuorum(
        f"{what}: {len(reached)} of {len(replicas)} replicas {verb} reached and {need} are needed"
        f"{f' ({details})' if details else ''}; see that enough replicas run, or allow more time"
    )
