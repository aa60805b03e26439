"""People who are lent to example after example, where each of them costs the target a session or a child process.

Every example has a workspace of its own, and so a clock of its own and conversations that nobody else's example
touches; only the person is the same. Over plain HTTP a person costs nothing, and each example has fresh ones.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from conformance.control.interface import Principal

WORKSPACES: Final = 96
"""How many workspaces the people of one household share, one for each example in turn."""

CreatePerson = Callable[[tuple[str, ...], str], Principal]
"""Makes a person who is a member of the workspaces, for a label."""


@dataclass
class _Household:
    workspaces: tuple[str, ...]
    owner: Principal
    others: list[Principal] = field(default_factory=list)


class LentPeople:
    """Owners of conversations, and other members of their workspaces."""

    def __init__(self, create: CreatePerson, rng: random.Random) -> None:
        """``rng`` gives the ids of the workspaces."""
        self._create = create
        self._rng = rng
        self._left: dict[str, list[str]] = {}
        self._households: dict[str, _Household] = {}
        self._lent: dict[str, int] = {}

    def workspaces(self, count: int, circle: str = "") -> tuple[str, ...]:
        """Return workspaces that no example has used, all of one household; those of two circles share nobody."""
        left = self._left.setdefault(circle, [])
        if len(left) < count:
            ids = tuple(
                str(uuid.UUID(int=self._rng.getrandbits(128), version=4)) for _ in range(max(WORKSPACES, count))
            )
            household = _Household(ids, self._create(ids, "owner"))
            self._households.update(dict.fromkeys(ids, household))
            left[:] = reversed(ids)
        return tuple(left.pop() for _ in range(count))

    def has(self, workspace_id: str) -> bool:
        """Tell whether the workspace is one that was lent."""
        return workspace_id in self._households

    def member(self, workspace_ids: tuple[str, ...], label: str) -> Principal | None:
        """Return a member of lent workspaces of one household, each time another one, the owner first."""
        households = {id(household): household for each in workspace_ids if (household := self._households.get(each))}
        if len(households) != 1 or not all(map(self.has, workspace_ids)):
            return None
        (household,) = households.values()
        number = max(self._lent.get(each, 0) for each in workspace_ids)
        self._lent.update(dict.fromkeys(workspace_ids, number + 1))
        if number == 0:
            return replace(household.owner, label=label)
        if number > len(household.others):
            household.others.append(self._create(household.workspaces, label))
        return replace(household.others[number - 1], label=label)
