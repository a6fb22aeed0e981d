"""One property a file, judged from outside: from users' calls, what they were told, and disks.

`promises` says in one table what each channel promises; `judge` runs the checkers that follow from
it. May import what `sim` may.
"""

from quorumcast.sim.checkers import (
    agreement,
    authentication,
    chains,
    durability,
    evidence,
    fairness,
    fifo,
    memory,
    relevance,
    totality,
    uniqueness,
    validity,
    votes,
)
from quorumcast.sim.checkers.case import Case, Checker, Violation
from quorumcast.sim.checkers.memory import measure
from quorumcast.sim.checkers.promises import Promise, checkers_for, promise_of

CHECKERS: dict[str, Checker] = {
    module.RULE: module.check
    for module in (
        agreement,
        authentication,
        chains,
        durability,
        evidence,
        fairness,
        fifo,
        memory,
        relevance,
        totality,
        uniqueness,
        validity,
        votes,
    )
}


def judge(case: Case) -> list[Violation]:
    """Everything that a run broke of what its channels promise."""
    names = sorted({name for channel in case.channels.values() for name in checkers_for(channel)})
    return [violation for name in names for violation in CHECKERS[name](case)]


__all__ = [
    "CHECKERS",
    "Case",
    "Checker",
    "Promise",
    "Violation",
    "checkers_for",
    "judge",
    "measure",
    "promise_of",
]
