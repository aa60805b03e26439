"""Several workers (pytest-xdist): what the controller tells them, and what it learns from them at their end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import pytest

from conformance.run import RunFacts
from conformance.target import Target

COUNTED: Final = ("selected", "deselected", "elsewhere")
"""Numbers of cases that a worker counts and the controller takes over."""


@dataclass(frozen=True)
class WorkerInput:
    """What the controller tells a worker process beyond the command line."""

    worker: str
    seed: int
    url: str
    command: str
    control_url: str
    started_at: str


def told_to(config: pytest.Config) -> WorkerInput | None:
    """Return what the controller told this process, or ``None`` where it is no worker."""
    values: dict[str, Any] | None = getattr(config, "workerinput", None)
    return None if values is None else WorkerInput(worker=values["workerid"], **values["conformance"])


class ControlledRun(Protocol):
    """What the controller has to know of a run."""

    target: Target

    @property
    def facts(self) -> RunFacts:
        """The facts of the run."""


class Controller:
    """Tells xdist's workers what the controller decided."""

    def __init__(self, run: ControlledRun) -> None:
        self._run = run

    def pytest_configure_node(self, node: Any) -> None:
        """Pass on the seed and the address of the embedded server."""
        target, facts = self._run.target, self._run.facts
        node.workerinput["conformance"] = {
            "seed": facts.seed,
            "url": target.url,
            "command": target.command,
            "control_url": target.control_url,
            "started_at": facts.started_at,
        }

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take over how many cases there were; every worker has collected the same ones."""
        counts = getattr(node, "workeroutput", {}).get("conformance", {"selected": int(bool(error))})
        for name in COUNTED:
            setattr(self._run, name, max(getattr(self._run, name), counts.get(name, 0)))
