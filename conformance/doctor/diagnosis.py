"""One line of the doctor: what was looked at, how it is, and what that costs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from conformance.errors import ExitStatus

State: TypeAlias = Literal["ok", "missing", "broken", "untried"]
"""*missing* is not offered, *broken* does not work, *untried* builds on what does not work or was not asked for."""

WIDTH = 80
_STATE_COLUMN, _SUBJECT_COLUMN = 9, 17


@dataclass(frozen=True)
class Diagnosis:
    """What was found of one thing. ``cost`` says what is not assessed for it, and is empty where nothing is lost."""

    subject: str
    state: State
    sentence: str
    cost: str = ""

    def lines(self) -> list[str]:
        """Return it as text of at most 80 columns, unless a word is longer."""
        indent = " " * (_STATE_COLUMN + _SUBJECT_COLUMN)
        first = f"{self.state:<{_STATE_COLUMN}}{self.subject:<{_SUBJECT_COLUMN - 1}} "
        found = _wrapped(self.sentence, first, indent)
        return [*found, *_wrapped(self.cost, indent, indent)] if self.cost else found


def _wrapped(text: str, first: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def rendered(found: Iterable[tuple[str, Diagnosis]]) -> Iterator[str]:
    """Yield the lines of all diagnoses, each with the title of its part; a new title begins a new paragraph."""
    last = ""
    for title, diagnosis in found:
        if title != last:
            yield from (["", title] if last else [title])
            last = title
        yield from diagnosis.lines()


def exit_status(found: Iterable[Diagnosis], *, anything_reached: bool) -> ExitStatus:
    """Return what the command ends with: something broken, nothing reached, or neither."""
    if not anything_reached:
        return ExitStatus.COULD_NOT_RUN
    is_broken = any(diagnosis.state == "broken" for diagnosis in found)
    return ExitStatus.DOES_NOT_CONFORM if is_broken else ExitStatus.CONFORMS
