"""Which cases are part of a run, those that make sense over its transport and in its profile, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.requirements import Registry
from conformance.run import Shard
from conformance.target import TRANSPORTS

_CHECKS = Path(__file__).resolve().parent / "checks"
_SOONEST_FIRST = (
    "authentication", "reads", "access", "archive", "revision", "replay", "late_results", "privacy", "http", "races",
    "discovery", "protocol", "state_machine", "output", "expiry",
)  # fmt: skip
"""The checks that find most in a second come first, so that a developer hears soon; those not named come last."""


def is_check(item: pytest.Item) -> bool:
    """Tell whether an item is a case of the suite, and not of somebody else's tests in the same run."""
    return item.path.is_relative_to(_CHECKS)


def belongs(item: pytest.Item, registry: Registry, transport: str, profile: str) -> bool:
    """Tell whether a case is part of runs over that transport, in that profile; what is no case of ours always is."""
    if not is_check(item):
        return True
    is_left_out = profile == "quick" and item.get_closest_marker("thorough") is not None
    return transport in _transports(item, registry) and not is_left_out


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the items with the suite's own cases in the order that tells soonest; all others keep their places."""
    checks = iter(sorted(filter(is_check, items), key=_rank))
    return [next(checks) if is_check(item) else item for item in items]


def in_shard(items: list[pytest.Item], shard: Shard) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return the items of one shard and those of all others; every n-th case, so that each shard has of everything."""
    checks = [item for item in items if is_check(item)]
    elsewhere = {item for index, item in enumerate(checks) if index % shard.of != shard.number - 1}
    return [item for item in items if item not in elsewhere], [item for item in checks if item in elsewhere]


def _rank(item: pytest.Item) -> int:
    name = item.path.stem.removeprefix("test_")
    return next((rank for rank, first in enumerate(_SOONEST_FIRST) if name.startswith(first)), len(_SOONEST_FIRST))


def _transports(item: pytest.Item, registry: Registry) -> set[str]:
    """Return over which transports a case makes sense: those of its first requirement and of its own marks."""
    first = next((str(mark.args[0]) for mark in item.iter_markers("requirement")), "")
    requirement = registry.by_id.get(first)
    transports: set[str] = set(requirement.transports) if requirement else set(TRANSPORTS)
    for mark in item.iter_markers("over"):
        transports &= set(mark.args)
    return transports
