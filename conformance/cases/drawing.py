"""How Hypothesis draws for this suite: the same for the same seed, without a store, a deadline or words of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

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


@contextmanager
def undisturbed() -> Iterator[None]:
    """Draw without the constants that Hypothesis finds in whatever modules happen to be imported.

    It has no setting for that; with them the same seed draws something else beside a vendor's own modules.
    """
    usual = providers._get_local_constants, providers.CONSTANTS_CACHE  # noqa: SLF001 - see above
    providers._get_local_constants, providers.CONSTANTS_CACHE = Constants, _CONSTANTS  # noqa: SLF001
    try:
        yield
    finally:
        providers._get_local_constants, providers.CONSTANTS_CACHE = usual  # noqa: SLF001


_CONSTANTS: Final = type(providers.CONSTANTS_CACHE)(1024)


class DrawingStopped(BaseException):
    """Leaves Hypothesis at once: there is nothing to shrink when the target is gone."""

    def __init__(self, problem: CouldNotRun) -> None:
        super().__init__(str(problem))
        self.problem = problem
