"""Runs a property over random examples: the same ones for the same seed, shrunk only after a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import hypothesis
from hypothesis import strategies
from hypothesis.errors import FlakyFailure

from conformance.cases.drawing import DrawingStopped, drawing, undisturbed
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
    @drawing(max_examples=count)
    @hypothesis.given(strategy)
    def examples(example: _Example) -> None:
        nonlocal first
        try:
            judge(example)
        except CouldNotRun as problem:
            raise DrawingStopped(problem) from None
        except NonConformance as finding:
            first = first or finding
            raise

    try:
        with undisturbed():
            examples()
    except DrawingStopped as stop:
        raise stop.problem from None
    except FlakyFailure:
        if first is None:
            raise
        raise first from None
