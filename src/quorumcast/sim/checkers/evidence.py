"""Evidence: no correct party is convicted, whatever others say of it.

PROOF and LOCAL evidence name who is at fault; a correct replica that lost nothing and a correct
publisher are never among them. Suspicion names a set, in which there may be correct ones; but never
correct ones alone.
"""

from __future__ import annotations

from quorumcast.core.evidence import Weight
from quorumcast.sim.checkers.case import Case, Violation

RULE = "evidence"


def check(case: Case) -> list[Violation]:
    """Look for correct parties among those that correct parties accuse."""
    correct = (frozenset(case.replicas) - case.lost) | case.publishers
    found: dict[str, Violation] = {}
    for _, party, evidence in case.trace.evidence:
        innocent = evidence.parties & correct
        if evidence.weight is Weight.SUSPICION and evidence.parties - correct:
            continue
        if innocent:
            names = ", ".join(sorted(innocent))
            text = f"{party} holds {names} at fault ({evidence.weight.value}): {evidence.reason}"
            found.setdefault(text, Violation(RULE, text))
    return list(found.values())
