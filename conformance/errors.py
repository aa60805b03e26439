"""Errors named after what went wrong, each tied to one exit status of a run."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit statuses of a conformance run. They are public: pipelines branch on them."""

    CONFORMS = 0
    DOES_NOT_CONFORM = 1
    INTERRUPTED = 2
    SUITE_FAULT = 3
    USAGE = 4
    NOTHING_EXECUTED = 5
    COULD_NOT_RUN = 6
    BELOW_REQUIRED_LEVEL = 7


class ConformanceError(Exception):
    """Base of the suite's own errors; never raised for what a server did wrong."""


@dataclass
class UsageProblem(ConformanceError):
    """A wrong option, file or key: says what, where, and what to do."""

    what: str
    where: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.remedy}"


@dataclass
class CouldNotRun(ConformanceError):
    """The target or its test control cannot be used, so nothing can be said about conformance."""

    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}. {self.remedy}"


@dataclass
class NotReplayable(CouldNotRun):
    """A replay lacks something without which the case cannot be judged against the server of now."""


@dataclass
class SuiteFault(ConformanceError):
    """The suite contradicts itself; the result of the run cannot be trusted."""

    what: str

    def __str__(self) -> str:
        return f"fault of the suite itself: {self.what}"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return advice that names the known word closest to ``word``, or all of them when none is close."""
    choices = sorted(known)
    close = difflib.get_close_matches(word, choices, n=1, cutoff=0.5)
    return f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(choices)}."
