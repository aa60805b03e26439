"""Shows what changed between two runs, as text, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Final

from conformance.printable import printable
from conformance.report.difference import Change, Difference, Fault
from conformance.report.markdown_text import clipped, prose

_MOST_LINES: Final = 50
_LONGEST_LINE: Final = 400


def as_text(found: Difference) -> str:
    """Return the difference for a terminal: what makes the runs hard to compare first, the conclusion last."""
    lines: list[str] = []
    for title, every in _sections(found):
        lines += [f"{title}:", *(f"  {printable(clipped(line, _LONGEST_LINE))}" for line in _bounded(every)), ""]
    return "\n".join([*lines, _conclusion(found)]) + "\n"


def as_markdown(found: Difference) -> str:
    """Return the difference for a pull request: the conclusion first; text of a target never acts in it."""
    lines = [f"## {_conclusion(found)}", ""]
    for title, every in _sections(found):
        lines += [f"### {title}", "", *(f"- {prose(line, _LONGEST_LINE)}" for line in _bounded(every)), ""]
    return "\n".join(lines)


def as_json(found: Difference) -> str:
    """Return the difference as JSON, all of it: the fields of ``Difference``, ``worse`` and ``steps_back``."""
    steps_back = found.steps_back()
    return json.dumps({"worse": bool(steps_back), "steps_back": steps_back, **asdict(found)}, indent=2) + "\n"


def _conclusion(found: Difference) -> str:
    return "Something got worse" if found.steps_back() else "Nothing got worse"


def _sections(found: Difference) -> Iterator[tuple[str, list[str]]]:
    """Yield a title and lines for everything of which there is some."""
    every: tuple[tuple[str, Iterable[str]], ...] = (
        ("Judged by other rules, so the rest is only part of the story", map(_change, found.ground)),
        ("Worse than before", found.steps_back()),
        ("Result", map(_change, found.result)),
        ("Run otherwise", map(_change, found.facts)),
        ("New findings", map(_fault, found.new)),
        ("Findings that are gone", map(_fault, found.gone)),
        ("Findings that are still there", map(_fault, found.still)),
        ("Requirements with another outcome", map(_change, sorted(found.outcomes, key=lambda each: not each.worse))),
        ("Cases executed before and not now", found.lost.cases),
        ("Fewer cases than before", map(_change, found.lost.fewer_cases)),
        ("Cases that are new", [f"{found.gained_cases} cases"] if found.gained_cases else []),
        ("Left open by the contract, and decided otherwise now", map(_change, found.freedoms)),
        ("New problems", found.new_problems),
        ("Problems that are gone", found.gone_problems),
    )
    for title, lines in every:
        shown = [*lines]
        if shown:
            yield title, shown


def _bounded(lines: list[str]) -> list[str]:
    rest = len(lines) - _MOST_LINES
    return lines if rest <= 0 else [*lines[:_MOST_LINES], f"and {rest} more; --format json has them all"]


def _change(change: Change) -> str:
    step = " (worse)" if change.worse else ""
    return f"{change.what}: {change.before or 'none'}, now {change.after or 'none'}{step}"


def _fault(fault: Fault) -> str:
    where = f" [{fault.operation}]" if fault.operation else ""
    return f"{fault.requirement}{where}: {fault.summary}"
