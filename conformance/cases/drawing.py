"""How Hypothesis draws for this suite: the same for the same seed, without a store, a deadline or words of its own."""

from __future__ import annotations

from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase

from conformance.errors import CouldNotRun


def drawing(**more: Any) -> hypothesis.settings:
    """Return the settings of everything that is drawn; ``more`` are those that the caller adds or changes."""
    usual: dict[str, Any] = {
        "database": None,
        "deadline": None,
        # What is drawn talks to a server: slow examples and a shared session are what is expected here.
        "suppress_health_check": list(HealthCheck),
        "phases": [Phase.generate, Phase.shrink],
        "print_blob": False,
        "verbosity": hypothesis.Verbosity.quiet,
        "report_multiple_bugs": False,
    }
    return hypothesis.settings(**(usual | more))


class DrawingStopped(BaseException):
    """Leaves Hypothesis at once: there is nothing to shrink when the target is gone."""

    def __init__(self, problem: CouldNotRun) -> None:
        super().__init__(str(problem))
        self.problem = problem
