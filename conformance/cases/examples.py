"""Runs a property over random examples: the same ones for the same seed, shrunk only after a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, strategies
from hypothesis.errors import FlakyFailure

from conformance.errors import CouldNotRun
from conformance.judge.finding import NonConformance

_Example = TypeVar("_Example")


def run_examples(
    strategy: strategies.SearchStrategy[_Example], judge: Callable[[_Example], None], *, seed: int, count: int
) -> None:
    """Call ``judge`` on ``count`` examples of ``strategy``; raise what it raises on the smallest failing one.

    A target that fails an example once and then no more is judged by what it did: the first finding stands.
    """
    first: NonConformance | None = None

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        # Examples talk to a server: slow ones and a shared session are what is expected here.
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        print_blob=False,
        verbosity=hypothesis.Verbosity.quiet,
        report_multiple_bugs=False,
    )
    @hypothesis.given(strategy)
    def examples(example: _Example) -> None:
        nonlocal first
        try:
            judge(example)
        except CouldNotRun as problem:
            raise _StopNow(problem) from None
        except NonConformance as finding:
            first = first or finding
            raise

    try:
        examples()
    except _StopNow as stop:
        raise stop.problem from None
    except FlakyFailure:
        if first is None:
            raise
        raise first from None


class _StopNow(BaseException):
    """Leaves Hypothesis at once: there is nothing to shrink when the target is gone."""

    def __init__(self, problem: CouldNotRun) -> None:
        super().__init__(str(problem))
        self.problem = problem
