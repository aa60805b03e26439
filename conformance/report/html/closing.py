"""What follows the findings: coverage, the ledger of what is left open, waivers and baseline, cases and timings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from conformance.report.html.markup import Html, code, counted, cut, folded, items, joined, prose, table, tag
from conformance.report.html.outcomes import case_badge, entries

_MOST = 300
_MOST_OPERATIONS = 50
_MOST_CHOICES = 12
_CASE_OUTCOMES = ("passed", "failed", "not assessed", "could not run", "error")


def coverage_html(document: Mapping[str, Any]) -> Html:
    """Return how much of each output schema the results exercised."""
    operations = entries(document, "coverage")[:_MOST_OPERATIONS]
    parts: list[Html] = [tag("h2", "Coverage of the schemas' assertions", id="coverage")]
    if not operations:
        parts.append(tag("p", "No result was judged by a schema."))
    else:
        explained = (
            "A point is a bound or a choice of a schema, which results exercise; seeding cannot reach all of them."
        )
        parts.append(tag("p", explained))
        parts.append(
            table(
                "Points of each output schema",
                ("Operation", "Exercised", "Missed", "Out of reach"),
                map(_operation, operations),
                (1, 2, 3),
            )
        )
    for each in operations:
        for key, what in (("missing", "missed"), ("out_of_reach", "out of reach of seeding")):
            points = [code(point, 300) for point in each.get(key) or ()]
            if points:
                parts.append(
                    folded(
                        f"{cut(each.get('operation', ''), 100)}: {counted(len(points), 'point')} {what}", items(points)
                    )
                )
    return tag("section", *parts, aria_labelledby="coverage")


def ledger_html(document: Mapping[str, Any]) -> Html:
    """Return what the contract leaves open, and which choice this server took how often."""
    taken: Mapping[str, Mapping[str, int]] = document.get("left_open") or {}
    statements: Mapping[str, str] = document.get("left_open_statements") or {}
    evidence: Mapping[str, str] = document.get("left_open_evidence") or {}
    parts: list[Html] = [tag("h2", "Left open by the contract, and what this server does", id="ledger")]
    if taken:
        parts.append(tag("p", "None of this counts for or against the server."))
        rows = [
            (
                joined(
                    [
                        code(name, 100),
                        tag("p", prose(statements[name], 400)) if name in statements else "",
                        folded("Seen in", tag("p", code(evidence[name], 300))) if name in evidence else "",
                    ]
                ),
                _choices(choices),
            )
            for name, choices in list(taken.items())[:_MOST]
        ]
        parts.append(table("The ledger of choices", ("What is left open", "Choice, and how often"), rows))
    else:
        parts.append(tag("p", "No choice was seen."))
    return tag("section", *parts, aria_labelledby="ledger")


def accepted_html(document: Mapping[str, Any]) -> Html:
    """Return waivers and baseline; nothing where there are none."""
    waivers, baseline = entries(document, "waivers"), document.get("baseline") or {}
    parts: list[Html] = []
    if waivers:
        rows = [
            (
                code(each.get("requirement", ""), 100),
                cut(each.get("state") or "", 20),
                cut(each.get("until", ""), 40),
                cut(each.get("owner", ""), 100),
                prose(each.get("reason", ""), 400),
            )
            for each in waivers[:_MOST]
        ]
        parts.append(table("Waivers of the target file", ("Requirement", "State", "Until", "Owner", "Reason"), rows))
    known = [(each, state) for state in ("known", "stale") for each in baseline.get(state) or ()]
    if known:
        lines = [
            (
                code(each.get("requirement", ""), 100),
                state,
                cut(each.get("operation", ""), 100),
                prose(each.get("summary", ""), 300),
            )
            for each, state in known[:_MOST]
        ]
        parts.append(table("Findings of the baseline", ("Requirement", "State", "Operation", "Finding"), lines))
    if not parts:
        return Html()
    return tag("section", tag("h2", "Waivers and baseline", id="accepted"), *parts, aria_labelledby="accepted")


def cases_html(document: Mapping[str, Any]) -> Html:
    """Return what the cases came to and how long they took, by family, and the slowest ones."""
    timings: Mapping[str, Any] = document.get("timings") or {}
    by_family = _by_family(document)
    parts: list[Html] = [tag("h2", "Cases and timings", id="timings")]
    if "duration_s" in document:
        made = counted(int(document.get("exchanges") or 0), "exchange")
        took = f"The run took {float(document['duration_s']):.1f} s and made {made}"
        parts.append(tag("p", f"{took}; exchanges.jsonl has each of them."))
    families = {str(each.get("family", "")): each for each in entries(timings, "by_family")}
    names = sorted({*by_family, *families})[:_MOST]
    if names:
        rows = [
            (
                cut(name, 100),
                *(f"{by_family.get(name, Counter())[outcome] or '-'}" for outcome in _CASE_OUTCOMES),
                f"{int(families.get(name, {}).get('exchanges') or 0):,}",
                f"{float(families.get(name, {}).get('seconds') or 0):.2f}",
            )
            for name in names
        ]
        heads = ("Family", *(outcome.capitalize() for outcome in _CASE_OUTCOMES), "Exchanges", "Seconds")
        parts.append(table("Cases by family", heads, rows, range(1, len(heads))))
    slowest = [
        (
            code(each.get("case", ""), 300),
            f"{float(each.get('seconds') or 0):.2f}",
            f"{int(each.get('exchanges') or 0):,}",
        )
        for each in entries(timings, "slowest")[:20]
    ]
    if slowest:
        parts.append(
            folded("The slowest cases", table("The slowest cases", ("Case", "Seconds", "Exchanges"), slowest, (1, 2)))
        )
    parts += _not_passed(document)
    return tag("section", *parts, aria_labelledby="timings")


def _operation(each: Mapping[str, Any]) -> tuple[str, ...]:
    points, reached = int(each.get("points") or 0), int(each.get("reached") or 0)
    bar = tag(
        "svg",
        tag("rect", x="0", y="0", width=f"{100 * reached / points if points else 0:.1f}", height="10"),
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
        focusable="false",
    )
    shown = joined([f"{reached} of {points}", tag("span", bar, class_="bar")])
    return (
        code(each.get("operation", ""), 100),
        shown,
        *(str(len(each.get(key) or ())) for key in ("missing", "out_of_reach")),
    )


def _choices(choices: Mapping[str, int]) -> Html:
    shown = sorted(choices.items(), key=lambda choice: -int(choice[1]))
    lines = [tag("span", cut(name, 200), f" ({int(count):,})", class_="line") for name, count in shown[:_MOST_CHOICES]]
    rest = len(shown) - len(lines)
    return joined([*lines, *([f"and {counted(rest, 'more choice')}"] if rest > 0 else [])])


def _by_family(document: Mapping[str, Any]) -> dict[str, Counter[str]]:
    """Return what the cases came to, by the family of the requirement that each is named after."""
    family = {str(each.get("id")): str(each.get("family") or "other") for each in entries(document, "requirements")}
    found: dict[str, Counter[str]] = {}
    for case in entries(document, "case_outcomes"):
        tried = case.get("requirements") or [""]
        found.setdefault(family.get(str(tried[0]), "other"), Counter())[str(case.get("outcome", ""))] += 1
    return found


def _not_passed(document: Mapping[str, Any]) -> list[Html]:
    cases = [each for each in entries(document, "case_outcomes") if each.get("outcome") != "passed"]
    if not cases:
        return []
    rows = [
        (code(each.get("case", ""), 300), case_badge(str(each.get("outcome", ""))), cut(each.get("reason") or "", 300))
        for each in cases[:_MOST]
    ]
    more = f", the first {_MOST} of them" if len(cases) > _MOST else ""
    caption = f"Cases that did not pass{more}"
    return [
        folded(f"{counted(len(cases), 'case')} did not pass{more}", table(caption, ("Case", "Outcome", "Reason"), rows))
    ]
