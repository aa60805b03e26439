"""The findings: each with its sentence and its evidence, as many in full as a page can hold."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final

from conformance.report.html.exchange import earlier_html, exchange_html
from conformance.report.html.markup import Html, code, counted, cut, facts, folded, items, joined, prose, table, tag
from conformance.report.html.outcomes import badge, entries
from conformance.report.html.story import story_html, timeline_html
from conformance.report.html.verdict import ranked

MOST_IN_FULL: Final = 100
LARGEST_IN_FULL: Final = 1_500_000
"""Bytes of all findings in full together."""
_MOST_IN_BRIEF = 500
_LARGEST_IN_BRIEF = 300_000
_MOST_EARLIER = 4
_MOST_OPEN = 5
_MOST_CASES = 50

Exchanges = Callable[[str], Mapping[str, Any] | None]


def findings_html(document: Mapping[str, Any], exchanges: Exchanges) -> tuple[Html, dict[str, list[int]]]:
    """Return the section, and the numbers of the findings on the page by their requirement."""
    findings = ranked(entries(document, "findings"))
    by_id = {str(each.get("id")): each for each in entries(document, "requirements")}
    parts: list[Html] = [tag("h2", f"Findings: {len(findings) or 'none'}", id="findings")]
    size = shown = 0
    for number, finding in findings[:MOST_IN_FULL]:
        article = _finding(number, finding, by_id, document, exchanges, is_open=shown < _MOST_OPEN)
        size += len(article.encode())
        if size > LARGEST_IN_FULL:
            break
        parts.append(article)
        shown += 1
    rest = findings[shown:]
    if rest:
        brief, listed = _in_brief(rest)
        parts.append(brief)
        shown += listed
    numbers: dict[str, list[int]] = {}
    for number, finding in findings[:shown]:
        numbers.setdefault(str(finding.get("requirement", "")), []).append(number)
    return tag("section", *parts, aria_labelledby="findings"), numbers


def _finding(
    number: int,
    finding: Mapping[str, Any],
    by_id: Mapping[str, Mapping[str, Any]],
    document: Mapping[str, Any],
    exchanges: Exchanges,
    *,
    is_open: bool,
) -> Html:
    identifier = str(finding.get("requirement", ""))
    requirement = by_id.get(identifier, {})
    outcome = str(finding.get("outcome") or requirement.get("outcome") or "fail")
    stands = ", ".join(str(requirement[key]) for key in ("level", "basis") if requirement.get(key))
    statement = str(requirement.get("statement") or "")
    heading = tag("h3", f"{number}. ", code(identifier, 100), " ", badge(outcome))
    asked = f" ({stands})" if stands else ""
    parts = [
        heading,
        tag("p", prose(finding.get("summary", "")), class_="summary"),
        tag("p", "Required: ", prose(statement, 600), asked, class_="quiet") if statement else "",
        facts((
            ("Operation", code(finding["operation"], 100) if finding.get("operation") else ""),
            *(
                (key.capitalize(), code(finding[key], 1000) if finding.get(key) else "")
                for key in ("place", "expected", "found")
            ),
        )),
        _evidence(number, finding, exchanges, is_open=is_open),
        _cases(finding, document),
    ]  # fmt: skip
    return tag("article", *parts, id=f"finding-{number}", class_="finding")


def _evidence(number: int, finding: Mapping[str, Any], exchanges: Exchanges, *, is_open: bool) -> Html:
    made = entries(finding, "exchanges")
    calls = entries(finding, "timeline")
    before = [
        timeline_html(calls, f"Timeline of finding {number}"),
        story_html(str(finding.get("story") or ""), is_told=bool(calls)),
    ]
    if not made and not any(before):
        return Html()
    shown: list[Html] = []
    if made:
        name = str(made[-1].get("id") or "")
        shown = [exchange_html(made[-1], exchanges(name) if name else None, finding)]
        shown.append(earlier_html(made[:-1], _MOST_EARLIER))
    return folded("Evidence: request and answer", *shown, *before, is_open=is_open)


def _cases(finding: Mapping[str, Any], document: Mapping[str, Any]) -> Html:
    cases = [str(each) for each in finding.get("cases") or ()]
    if not cases:
        return Html()
    words = ["pytest", shlex.quote(cases[0])]
    words += [f"--{key} {document[key]}" for key in ("seed", "profile") if key in document]
    target: Mapping[str, Any] = document.get("target") or {}
    note = "" if target.get("embedded") else ", with the options that name the target"
    again = tag("pre", tag("code", cut(" ".join(words), 600)), class_="command")
    shown = [tag("p", f"To run the case again{note}:"), again]
    if len(cases) > 1:
        shown.append(items([code(case, 300) for case in cases], _MOST_CASES))
    return folded(f"Shown by {counted(len(cases), 'case')}", *shown)


def _in_brief(findings: list[tuple[int, Mapping[str, Any]]]) -> tuple[Html, int]:
    """Return a table of findings, and how many of them there was room for."""
    rows: list[tuple[Html, ...]] = []
    room = _LARGEST_IN_BRIEF
    for number, finding in findings[:_MOST_IN_BRIEF]:
        identifier = tag("span", str(number), id=f"finding-{number}")
        row = (
            joined([identifier, " ", code(finding.get("requirement", ""), 100)]),
            code(finding.get("operation", ""), 100),
            prose(finding.get("summary", ""), 300),
            code(finding.get("place", ""), 200),
        )
        room -= sum(map(len, row))
        if room < 0:
            break
        rows.append(row)
    rest = len(findings) - len(rows)
    more = f" The last {rest:,} of them are not listed." if rest else ""
    note = f"{counted(len(findings), 'more finding')}: their evidence is in report.json and exchanges.jsonl.{more}"
    listed = table("Further findings", ("Finding", "Operation", "What is wrong", "Place"), rows)
    return joined([tag("p", note), listed]), len(rows)
