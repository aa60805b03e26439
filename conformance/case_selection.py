"""Which cases are part of a run: those that make sense over its transport, and that its profile does not leave out."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.requirements import Registry
from conformance.target import TRANSPORTS

_CHECKS = Path(__file__).resolve().parent / "checks"


def is_check(item: pytest.Item) -> bool:
    """Tell whether an item is a case of the suite, and not of somebody else's tests in the same run."""
    return item.path.is_relative_to(_CHECKS)


def belongs(item: pytest.Item, registry: Registry, transport: str, profile: str) -> bool:
    """Tell whether a case is part of runs over that transport, in that profile; what is no case of ours always is."""
    if not is_check(item):
        return True
    is_left_out = profile == "quick" and item.get_closest_marker("thorough") is not None
    return transport in _transports(item, registry) and not is_left_out


def _transports(item: pytest.Item, registry: Registry) -> set[str]:
    """Return over which transports a case makes sense: those of its first requirement and of its own marks."""
    first = next((str(mark.args[0]) for mark in item.iter_markers("requirement")), "")
    requirement = registry.by_id.get(first)
    transports: set[str] = set(requirement.transports) if requirement else set(TRANSPORTS)
    for mark in item.iter_markers("over"):
        transports &= set(mark.args)
    return transports
