"""What a mutant is, and how it is put in place."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import quorumcast


class Mutant(NamedTuple):
    """One seeded bug: which function is replaced, by what, and which test sees it."""

    name: str
    source: str
    """Who made the mistake, or which rule warns of it; several with semicolons between."""
    target: str
    """`module:function` or `module:Class.method`, below `quorumcast`."""
    make: Callable[[Any], Any]
    """From the right function to the wrong one."""
    killer: str
    """The test that sees it, as pytest names it."""

    @property
    def sources(self) -> list[str]:
        """Everybody who made it."""
        return self.source.split("; ")

    @property
    def mistake(self) -> str:
        """What is wrong, in one sentence: the wrong function's docstring."""
        text = self.make.__doc__ or ""
        return " ".join(text.split())


def load_everything() -> None:
    """Import every module, so that names imported from one another can be replaced too."""
    for module in pkgutil.walk_packages(quorumcast.__path__, "quorumcast."):
        importlib.import_module(module.name)


def seed(mutant: Mutant) -> None:
    """Replace the function everywhere; this process is of no other use afterwards."""
    load_everything()
    path, _, dotted = mutant.target.partition(":")
    owner: Any = importlib.import_module(f"quorumcast.{path}")
    *outer, name = dotted.split(".")
    for part in outer:
        owner = getattr(owner, part)
    kept = vars(owner)[name]
    right = kept.__func__ if isinstance(kept, classmethod | staticmethod) else kept
    wrong = mutant.make(right.fget if isinstance(right, property) else right)
    if isinstance(kept, classmethod | staticmethod):
        setattr(owner, name, type(kept)(wrong))
    elif isinstance(kept, property):
        setattr(owner, name, property(wrong))
    else:
        setattr(owner, name, wrong)
    if not outer:
        _replace_imported(right, wrong)


def _replace_imported(right: object, wrong: object) -> None:
    for module in list(sys.modules.values()):
        if module is not None and getattr(module, "__name__", "").startswith("quorumcast"):
            for name, value in list(vars(module).items()):
                if value is right:
                    setattr(module, name, wrong)
