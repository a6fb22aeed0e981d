"""Authentication: what is delivered under a correct publisher's name, that publisher published.

In that channel and lane, before it was delivered, and at that position, if the publisher was told
one. Of a Byzantine publisher there is nothing to ask but that its name is its own. Frames that the
link layer must refuse, replayed or damaged, count here too.
"""

from __future__ import annotations

from quorumcast.sim.checkers.case import Case, Violation

RULE = "authentication"


def check(case: Case) -> list[Violation]:
    """Look up every body under its publisher's name, channel, lane, and position."""
    published = {(p.party, p.channel, p.lane, p.body): p.tick for p in case.trace.published}
    acknowledged = {
        (sent.stream, sent.position): sent.published.body for sent in case.sent if sent.stream
    }
    found = [Violation(RULE, breach) for breach in case.trace.breaches]
    for life, seen in case.seen.items():
        for each in seen:
            stream = each.stream
            if stream.publisher not in case.publishers:
                continue
            tick = published.get((stream.publisher, stream.channel, stream.lane, each.body))
            told = acknowledged.get((stream, each.position), each.body)
            fault = ""
            if tick is None:
                fault = f"which {stream.publisher} never published there"
            elif tick > each.tick:
                fault = f"before {stream.publisher} published it"
            elif told != each.body:
                fault = f"where {told!r:.40} was acknowledged"
            if fault:
                found.append(
                    Violation(
                        RULE,
                        f"{life} delivered {each.body!r:.40} at position {each.position} of "
                        f"{stream}, {fault}",
                    )
                )
    return found
