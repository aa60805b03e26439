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
        self._left: list[str] = []
        self._households: dict[str, _Household] = {}
        self._lent: dict[str, int] = {}

    def workspace(self) -> str:
        """Return a workspace that no example has used."""
        if not self._left:
            workspaces = tuple(str(uuid.UUID(int=self._rng.getrandbits(128), version=4)) for _ in range(WORKSPACES))
            household = _Household(workspaces, self._create(workspaces, "owner"))
            self._households.update(dict.fromkeys(workspaces, household))
            self._left = list(reversed(workspaces))
        return self._left.pop()

    def has(self, workspace_id: str) -> bool:
        """Tell whether the workspace is one that was lent."""
        return workspace_id in self._households

    def member(self, workspace_id: str, label: str) -> Principal | None:
        """Return a member of a workspace that was lent, each time another one, the owner first."""
        household = self._households.get(workspace_id)
        if household is None:
            return None
        number = self._lent.get(workspace_id, 0)
        self._lent[workspace_id] = number + 1
        if number == 0:
            return replace(household.owner, label=label)
        if number > len(household.others):
            household.others.append(self._create(household.workspaces, label))
        return replace(household.others[number - 1], label=label)
