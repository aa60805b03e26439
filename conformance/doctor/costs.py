"""What each missing thing costs: the requirements of which nothing can be said then, counted from the checks."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from conformance.contract import Contract
from conformance.control.http import HttpControl
from conformance.control.interface import CAPABILITIES, Capabilities
from conformance.doctor.needed import Needed
from conformance.requirements import Registry
from conformance.stage import Stage
from conformance.target import Target

_MOST_FAMILIES: Final = 4
_SOME_CONTROL: Final = HttpControl("http://localhost", None)
"""A stage asks only whether there is test control; this one is never called."""


@dataclass(frozen=True)
class Costs:
    """Asks stages that have, or lack, one thing which requirements they can serve.

    ``offered`` are the capabilities that test control names, or ``None`` where there is no test control; ``needed`` is
    what the checks over the target's transport need.
    """

    contract: Contract
    registry: Registry
    target: Target
    offered: frozenset[str] | None
    needed: tuple[Needed, ...]

    def without_capability(self, name: str) -> str:
        """Return what is not assessed where test control lacks a capability, the others as they are."""
        others = self.offered or frozenset()
        return self._said(name, self._stage(self.target, others | {name}), self._stage(self.target, others - {name}))

    def without_control(self) -> str:
        """Return what is not assessed without test control and would be with all of it."""
        everything = frozenset(CAPABILITIES)
        return self._said("test control", self._stage(self.target, everything), self._stage(self.target, None))

    def without(self, what: str, having: Target, lacking: Target) -> str:
        """Return what is not assessed on the target ``lacking`` and would be on ``having``."""
        return self._said(what, self._stage(having, self.offered), self._stage(lacking, self.offered))

    def assessable(self, working: Collection[str]) -> tuple[int, int]:
        """Return how many requirements can be assessed with the capabilities that work, and how many there are."""
        stage = self._stage(self.target, None if self.offered is None else frozenset(working))
        return len(self._served(stage)), len(self._known)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(each.id for each in self.registry.requirements if self.target.transport in each.transports)

    def _stage(self, target: Target, names: frozenset[str] | None) -> Stage:
        control = None if names is None else _SOME_CONTROL
        capabilities = Capabilities(names or frozenset())
        drawing = random.Random(0)  # noqa: S311 - nothing secret is drawn, nor anything at all
        return Stage(self.contract, replace(target, transport=self.target.transport), control, capabilities, drawing)

    def _served(self, stage: Stage) -> frozenset[str]:
        served = (each.requirements for each in self.needed if stage.lacks(sorted(each.needs)) is None)
        return frozenset[str]().union(*served) & self._known

    def _said(self, what: str, having: Stage, lacking: Stage) -> str:
        lost = self._served(having) - self._served(lacking)
        if not lost:
            return ""
        word = "requirement is" if len(lost) == 1 else "requirements are"
        return f"without {what}: {len(lost)} {word} not assessed ({self._families(lost)})"

    def _families(self, lost: Iterable[str]) -> str:
        counted = Counter(self.registry.by_id[name].family for name in sorted(lost)).most_common()
        shown = [f"{count} {family}" for family, count in counted[:_MOST_FAMILIES]]
        rest = sum(count for _, count in counted[_MOST_FAMILIES:])
        return ", ".join([*shown, f"{rest} of other families"] if rest else shown)
