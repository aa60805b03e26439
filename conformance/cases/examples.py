"""Runs a property over random examples: the same ones for the same seed, shrunk only after a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, strategies

_Example = TypeVar("_Example")


def run_examples(
    strategy: strategies.SearchStrategy[_Example], judge: Callable[[_Example], None], *, seed: int, count: int
) -> None:
    """Call ``judge`` on ``count`` examples of ``strategy``; raise what it raises on the smallest failing one."""

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
        judge(example)

    examples()
