"""Validity: after healing, what a correct publisher published is at every matching subscriber.

A publisher that runs to the end has everything acknowledged; of one that died, what was
acknowledged counts. It may say that an outcome is unknown only of a session that it left after
the time for that, and that did not name all replicas which kept their votes: in any other session
those finish the work. On a crash channel what a surviving replica holds counts too.

Where a subscriber begins is said in `Case.asked`. One that asked for the latest is owed what
follows the first position that it got, and all that was published after it got anything.
"""

from __future__ import annotations

from quorumcast.core.ids import Opening, Stream
from quorumcast.core.limits import HANDOVER_SECONDS
from quorumcast.core.outcomes import OutcomeUnknown, Refused, SubscriptionRefused
from quorumcast.core.records import Accepted, Opened
from quorumcast.sim.checkers.case import Case, Sent, Violation
from quorumcast.sim.checkers.gaps import Gaps, gaps_of
from quorumcast.sim.checkers.promises import promise_of
from quorumcast.sim.network import TICKS_PER_SECOND

RULE = "validity"

HANDOVER_TICKS = int(0.95 * HANDOVER_SECONDS * TICKS_PER_SECOND)
"""How long a publisher tries at least before it gives an outcome up; clocks drift."""


def check(case: Case) -> list[Violation]:
    """Compare what was published with what was acknowledged, and that with what arrived."""
    if not case.judged:
        return []
    found = _refused(case) + _unacknowledged(case)
    owed = _owed(case)
    for life in sorted(case.live & set(case.trace.subscribed)):
        found += _missing(case, life, owed)
    return found


def _refused(case: Case) -> list[Violation]:
    told = [*case.trace.outcomes.items(), *case.trace.delivered.items()]
    return [
        Violation(RULE, f"{life} was refused: {each.what.reason}")
        for life, outcomes in told
        for each in outcomes
        if isinstance(each.what, Refused | SubscriptionRefused)
    ]


# -- acknowledgements --------------------------------------------------------------------------


def _unacknowledged(case: Case) -> list[Violation]:
    unknown = {
        (life, told.what.channel, told.what.lane, number): told.tick
        for life, outcomes in case.trace.outcomes.items()
        for told in outcomes
        if isinstance(told.what, OutcomeUnknown)
        for number in range(told.what.first, told.what.last + 1)
    }
    sessions = _sessions(case) if unknown else {}
    found: list[Violation] = []
    for sent in case.sent:
        mine = sent.published
        if not promise_of(case.channels[mine.channel]).validity or mine.life not in case.live:
            continue
        told = unknown.get((mine.life, mine.channel, mine.lane, mine.number))
        fault = ""
        if told is None:
            fault = "was never acknowledged" if sent.stream is None else ""
        elif sent.stream is not None and sent.tick <= told:
            fault = "was acknowledged, and then its outcome was called unknown"
        elif told - mine.tick < HANDOVER_TICKS:
            fault = "was given up too early"
        elif sent.stream is None and not _incomplete(case, sessions.get(mine.body)):
            fault = "was given up, though its session named all replicas that stayed"
        if fault:
            lane = mine.lane.name.lower()
            what = f"publication {mine.number} of {mine.life} on {mine.channel} ({lane})"
            found.append(Violation(RULE, f"{what} {fault}"))
    return found


def _sessions(case: Case) -> dict[bytes, Opening]:
    """The opening of the session in which a correct replica took a body."""
    openings: dict[Stream, Opening] = {}
    found: dict[bytes, Opening] = {}
    for replica in case.replicas:
        for each in case.trace.stored.get(replica, ()):
            record = each.record
            if isinstance(record, Opened):
                openings[record.stream] = record.opening
            elif isinstance(record, Accepted) and record.stream in openings:
                found |= dict.fromkeys(record.bodies, openings[record.stream])
    return found


def _incomplete(case: Case, opening: Opening | None) -> bool:
    """Whether a session does not name some correct replica that kept its votes all the time."""
    if opening is None:
        return False
    for index, name in enumerate(case.cluster.replicas):
        stored = case.trace.stored.get(name, [])
        if name in case.replicas and name not in case.lost and stored:
            named = opening.incarnations[index : index + 1]
            if named != (stored[0].incarnation,):
                return True
    return False


# -- deliveries --------------------------------------------------------------------------------


def _owed(case: Case) -> dict[Stream, list[Sent]]:
    """What must be delivered of each stream of correct publishers."""
    owed: dict[Stream, list[Sent]] = {}
    crash: set[str] = set()
    for name, channel in case.channels.items():
        if promise_of(channel).validity and not channel.byzantine:
            crash.add(name)
    held = _held(case, crash) if crash else {}
    for sent in case.sent:
        channel = case.channels[sent.published.channel]
        if not promise_of(channel).validity:
            continue
        stream, position = held.get(sent.published.body, (sent.stream, sent.position))
        survives = sent.published.body in held or channel.deliver == "safe"
        if stream is not None and survives:
            owed.setdefault(stream, []).append(sent._replace(stream=stream, position=position))
    return owed


def _held(case: Case, channels: set[str]) -> dict[bytes, tuple[Stream, int]]:
    """What replicas that lost nothing hold on crash channels, by body: bodies are unique."""
    held: dict[bytes, tuple[Stream, int]] = {}
    for replica in case.replicas:
        if replica in case.lost:
            continue
        for each in case.trace.stored.get(replica, ()):
            record = each.record
            if isinstance(record, Accepted) and record.stream.channel in channels:
                for position, body in enumerate(record.bodies, record.first):
                    held[body] = (record.stream, position)
    return held


def _missing(case: Case, life: str, owed: dict[Stream, list[Sent]]) -> list[Violation]:
    got = case.got(life)
    gaps = gaps_of(case, life)
    found: list[Violation] = []
    for stream, publications in owed.items():
        have = got.get(stream, set[int]())
        lacking = sorted(
            sent.position
            for sent in publications
            if sent.position not in have and _is_owed(case, life, stream, sent, have, gaps)
        )
        if lacking:
            found.append(
                Violation(
                    RULE,
                    f"{life} never got {len(lacking)} publications of {stream} that it is owed, "
                    f"the first at position {lacking[0]}",
                )
            )
    return found


def _is_owed(case: Case, life: str, stream: Stream, sent: Sent, have: set[int], gaps: Gaps) -> bool:
    asked = case.asked(life, stream)
    if asked is None or gaps.covers(stream, sent.position):
        return False
    if asked.first is not None:
        return sent.position >= asked.first
    if have and sent.position > min(have):
        return True
    return sent.published.tick > _settled(case, life, stream.channel, asked.latest)


def _settled(case: Case, life: str, channel: str, latest: int) -> int:
    """When a life that asked for the latest certainly knew where that begins."""
    seen = case.seen.get(life, ())
    ticks = (each.tick for each in seen if each.stream.channel == channel and each.tick >= latest)
    return next(ticks, 2**62)
