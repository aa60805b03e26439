"""The text of a page, and what of it follows from the registry alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from conformance.report.markdown_text import fenced
from conformance.requirement_pages.example import Example, Line
from conformance.requirement_pages.showing import answer_text, request_text, settled
from conformance.requirements import Registry, Requirement

FOLDER: Final = "pages"
_EXAMPLE: Final = re.compile(r"^(?:Request|Another request|Wrong)\b", re.MULTILINE)
_AT_THE_SAME_TIME: Final = re.compile(r"^case: .*/(?:test_races\.py|.*in_flight)", re.MULTILINE)
_NOTE: Final = """\
Written by `python -m conformance.requirement_pages` from the registry and the catalogue of faults: do not edit. Each
wrong answer is that of the reference server with one seeded fault, each right one comes in the same exchange of the
same case without it. Long bodies are cut to where the finding is; `...` stands for what was left out."""
_PAGES: Final = {"all": "each tool page", "interface": "target interface", "mcp": "MCP specification"}


def page(registry: Registry, family: str, examples: Mapping[str, Example]) -> str:
    """Return the page of a family; ``examples`` are by requirement."""
    lines = [f"# {family}: {registry.families[family]}", "", _NOTE, ""]
    for requirement in registry.requirements:
        if requirement.family == family:
            lines += [head(requirement), "", *_shown(examples[requirement.id])]
    return "\n".join(lines).rstrip() + "\n"


def head(requirement: Requirement) -> str:
    """Return what a page says of a requirement before its example: all that the registry knows of it."""
    lines = [f"## {requirement.id}", "", requirement.statement, ""]
    lines += [
        f"- level {requirement.level}, basis {requirement.basis}",
        f"- needs {', '.join(requirement.needs) or 'nothing but the target'}",
        f"- over {', '.join(requirement.transports)}",
    ]
    for evidence in requirement.evidence:
        named = _PAGES.get(evidence.page, f"page {evidence.page}")
        quoted = f': "{evidence.quote}"' if evidence.quote else ""
        lines.append(f"- evidence: {named}, {evidence.place}{quoted}")
    return "\n".join(lines)


def comparable(text: str) -> str:
    """Return what must be the same whenever a page is written: what calls at the same time come to need not be."""
    sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    return "".join(_EXAMPLE.split(each)[0] if _AT_THE_SAME_TIME.search(each) else each for each in sections)


def families(registry: Registry) -> list[str]:
    """Return the families that have a requirement, and so a page."""
    return list(dict.fromkeys(requirement.family for requirement in registry.requirements))


def stale(registry: Registry, folder: Path) -> Iterable[str]:
    """Yield a sentence for each page that does not say what the registry does; nothing is run for it."""
    wanted = {f"{family}.md": family for family in families(registry)}
    there = {path.name for path in folder.glob("*.md")}
    yield from (f"{name} is missing" for name in sorted(wanted.keys() - there))
    yield from (f"{name} is no page of a family" for name in sorted(there - wanted.keys()))
    for name in sorted(wanted.keys() & there):
        text = (folder / name).read_text(encoding="utf-8")
        own = [each for each in registry.requirements if each.family == wanted[name]]
        if re.findall(r"^## (\S+)$", text, re.MULTILINE) != [each.id for each in own]:
            yield f"{name} has other requirements than the registry, or in another order"
        yield from (f"{name} says something else of {each.id}" for each in own if f"{head(each)}\n\n" not in text)


def _shown(example: Example) -> list[str]:
    over = "" if example.transport == "rest" else f" over {example.transport}"
    fault = f"with the fault `{example.fault}`: {example.fault_summary.rstrip('.')}."
    lines = []
    asked = [None if line is None else request_text(line) for line in (example.right, example.wrong)]
    if asked[0] is not None:
        lines += [f"Request{over}:", "", *fenced(asked[0]), "", "Right:", ""]
        lines += [*fenced(answer_text(_there(example.right), example.place)), ""]
    if asked[1] is not None and asked[1] != asked[0]:
        lines += [f"Another request{over}, {fault}", "", *fenced(asked[1]), "", "Wrong:", ""]
    else:
        lines += [f"Wrong, {fault}", ""]
    if example.right is not None and _alike(example):
        lines += ["The answer to this request is the same.", ""]
    elif asked[1] is not None:
        lines += [*fenced(answer_text(_there(example.wrong), example.place)), ""]
    if example.reported_as != example.requirement:
        lines += [f"A run reports this breach under the name {example.reported_as}.", ""]
    said = [f"{settled(example.summary).rstrip('.')}."]
    parts = {"place": example.place, "expected": example.expected, "found": example.found, "case": example.case}
    said += [f"{name + ':':<9} {settled(value)}" for name, value in parts.items() if value]
    return [*lines, "What a run says of it:", "", *fenced("\n".join(said)), ""]


def _alike(example: Example) -> bool:
    """Tell whether the breach is not in this exchange itself, but beside it, or between several."""
    right, wrong = _there(example.right), example.wrong
    if wrong is None:
        return False
    return (request_text(right), answer_text(right, "")) == (request_text(wrong), answer_text(wrong, ""))


def _there(line: Line | None) -> Line:
    assert line is not None
    return line
