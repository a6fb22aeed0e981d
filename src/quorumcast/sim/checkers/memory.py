"""Memory: whatever peers send, a correct machine stays under its cap."""

from __future__ import annotations

import gc
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType

from quorumcast.sim.checkers.case import Case, Violation

RULE = "memory"


def check(case: Case) -> list[Violation]:
    """Compare the largest measured size of every correct machine with the cap."""
    return [
        Violation(RULE, f"{party} held {size} bytes; its cap is {case.cap_bytes}")
        for party, size in sorted(case.trace.sizes.items())
        if size > case.cap_bytes
    ]


def measure(root: object) -> int:
    """The bytes of an object and of everything that only data leads to from it.

    >>> measure([b"x" * 1000]) > 1000
    True
    """
    code = (type, ModuleType, FunctionType, BuiltinFunctionType)
    seen: set[int] = {id(root)}
    level: list[object] = [root]
    total = 0
    while level:
        total += sum(map(sys.getsizeof, level))
        reached: list[object] = []
        for each in gc.get_referents(*level):
            if id(each) not in seen and not isinstance(each, code):
                seen.add(id(each))
                reached.append(each)
        level = reached
    return total
