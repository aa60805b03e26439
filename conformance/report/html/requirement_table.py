"""The table of requirements, filtered by style alone: two groups of inputs, and rules that hide rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from conformance.report.html.markup import Html, code, counted, cut, joined, prose, tag
from conformance.report.html.outcomes import LOOKED_AT, OUTCOMES, badge, counts, entries, kind

_MOST = 2000
_LONGEST_STATEMENT = 500


def requirements_html(document: Mapping[str, Any], findings: Mapping[str, list[int]]) -> Html:
    """Return the table with its filters; ``findings`` has the numbers of those that are shown, by requirement."""
    requirements = entries(document, "requirements")
    heading = tag("h2", "Requirements", id="requirements")
    if not requirements:
        return tag("section", heading, tag("p", "Nothing came of any requirement yet."), aria_labelledby="requirements")
    families = _families(requirements)
    rows = [_row(each, families, findings) for each in requirements[:_MOST]]
    top = tag("tr", *(tag("th", head, scope="col") for head in ("Requirement", "Outcome")))
    caption = "Every requirement of the set, and what became of it"
    whole = tag("table", tag("caption", caption), tag("thead", top), tag("tbody", *rows), class_="requirements")
    return tag("section", heading, _filters(requirements, families), whole, aria_labelledby="requirements")


def filter_rules(document: Mapping[str, Any]) -> str:
    """Return the rules that hide what a filter leaves out. Where a browser knows no ``:has`` everything is shown."""
    requirements = entries(document, "requirements")
    shown = [outcome for outcome, count in counts(requirements).items() if count and outcome in OUTCOMES]
    rules = [_rule("show-looked-at", "".join(f":not(.{kind(outcome)})" for outcome in LOOKED_AT))]
    rules += [_rule(f"show-{kind(outcome)}", f":not(.{kind(outcome)})") for outcome in shown]
    rules += [_rule(f"family-{number}", f":not(.of-{number})") for number in range(len(_families(requirements)))]
    return "\n".join(rules)


def _rule(chosen: str, hidden: str) -> str:
    return f"section:has(#{chosen}:checked) .requirements tbody tr{hidden} {{ display: none; }}"


def _families(requirements: list[Mapping[str, Any]]) -> list[str]:
    return sorted({str(each.get("family") or "other") for each in requirements})


def _filters(requirements: list[Mapping[str, Any]], families: list[str]) -> Html:
    found = counts(requirements)
    to_look_at = sum(found[outcome] for outcome in LOOKED_AT)
    choices = [("show-all", "all", len(requirements), not to_look_at)]
    if to_look_at:
        choices.insert(0, ("show-looked-at", "to look at", to_look_at, True))
    choices += [
        (f"show-{kind(outcome)}", OUTCOMES[outcome][0], count, False)
        for outcome, count in found.items()
        if count and outcome in OUTCOMES
    ]
    radios = [
        tag(
            "label",
            tag("input", type="radio", name="outcome", id=identifier, checked=is_checked),
            tag("span", f"{word} ({count:,})"),
        )
        for identifier, word, count, is_checked in choices
    ]
    of_family = Counter(str(each.get("family") or "other") for each in requirements)
    options = [tag("option", f"every family ({len(requirements):,})", id="family-all")]
    options += [
        tag("option", f"{cut(family, 60)} ({of_family[family]:,})", id=f"family-{number}")
        for number, family in enumerate(families)
    ]
    chosen = tag("label", "Family ", tag("select", *options, id="family"), class_="family", for_="family")
    outcome = tag("fieldset", tag("legend", "Show"), *radios)
    return tag("div", outcome, chosen, class_="filters")


def _row(requirement: Mapping[str, Any], families: list[str], findings: Mapping[str, list[int]]) -> Html:
    identifier, outcome = str(requirement.get("id", "")), str(requirement.get("outcome", ""))
    family = str(requirement.get("family") or "other")
    stands = [str(requirement[key]) for key in ("level", "basis", "family") if requirement.get(key)]
    numbers = findings.get(identifier, [])
    links = [joined([" ", tag("a", f"finding {number}", href=f"#finding-{number}")]) for number in numbers[:5]]
    if len(numbers) > 5:
        links.append(Html(f" and {counted(len(numbers) - 5, 'more')}"))
    reason = str(requirement.get("reason") or "")
    statement = str(requirement.get("statement") or "")
    cases: Mapping[str, int] = requirement.get("cases") or {}
    passed, failed = int(cases.get("passed") or 0), int(cases.get("failed") or 0)
    ran = [f"{count:,} {word}" for count, word in ((passed, "passed"), (failed, "failed")) if count]
    if ran:
        stands.append(f"cases: {' and '.join(ran)}")
    head = [
        code(identifier, 100),
        tag("p", prose(statement, _LONGEST_STATEMENT)) if statement else "",
        tag("p", cut(", ".join(stands), 200), *links, class_="quiet"),
        tag("p", f"Reason: {cut(reason, 400)}", class_="quiet") if reason else "",
    ]
    cells = [tag("th", *head, scope="row"), tag("td", badge(outcome))]
    return tag("tr", *cells, class_=f"{kind(outcome)} of-{families.index(family)}")
