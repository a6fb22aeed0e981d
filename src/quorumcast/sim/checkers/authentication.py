"""Authentication: what is delivered under a correct publisher's name, that publisher published.

Of a Byzantine publisher there is nothing to ask but that its name is its own: a stream under a
correct publisher's name must be one that this publisher spoke in. Frames that the link layer must
refuse, replayed or damaged, count here too.
"""

from __future__ import annotations

from quorumcast.sim.checkers.case import Case, Violation

RULE = "authentication"


def check(case: Case) -> list[Violation]:
    """Look up every body under its publisher's name, channel and lane."""
    published = {(p.party, p.channel, p.lane, p.body) for p in case.trace.published}
    found = [Violation(RULE, breach) for breach in case.trace.breaches]
    for life, seen in case.seen.items():
        for each in seen:
            stream = each.stream
            if stream.publisher not in case.publishers:
                continue
            key = (stream.publisher, stream.channel, stream.lane, each.body)
            if key not in published:
                found.append(
                    Violation(
                        RULE,
                        f"{life} delivered {each.body!r:.40} at position {each.position} of "
                        f"{stream}, which {stream.publisher} never published there",
                    )
                )
    return found
