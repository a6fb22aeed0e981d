"""Which test sees which mutant."""

from __future__ import annotations

KILLERS: dict[str, str] = {}
