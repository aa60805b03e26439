"""The words for what became of a requirement or a case, each with a sign, so that none is told by colour alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from conformance.report.html.markup import Html, cut, tag

OUTCOMES: Final[Mapping[str, tuple[str, str]]] = {
    "fail": ("failed", "\u2717"),
    "warning": ("warning", "!"),
    "known": ("known", "\u2248"),
    "waived": ("waived", "~"),
    "not assessed": ("not assessed", "?"),
    "no check yet": ("no check yet", "\u2026"),
    "pass": ("passed", "\u2713"),
    "not applicable": ("not applicable", "\u2013"),
}
"""What became of a requirement: the word and the sign for it, in the order in which a reader wants to know."""

LOOKED_AT: Final = ("fail", "warning", "known", "waived", "not assessed", "no check yet")
"""The outcomes that somebody has to look at."""

_CASES: Final = {
    "passed": "pass",
    "failed": "fail",
    "not assessed": "not assessed",
    "could not run": "not assessed",
    "error": "fail",
}


def badge(outcome: str) -> Html:
    """Return the outcome of a requirement in words and colour."""
    word, sign = OUTCOMES.get(outcome, (outcome, "?"))
    return tag("span", tag("span", sign, aria_hidden="true"), f" {cut(word, 40)}", class_=f"badge {kind(outcome)}")


def case_badge(outcome: str) -> Html:
    """Return the outcome of a case in words and colour."""
    as_requirement = _CASES.get(outcome, "not assessed")
    sign = OUTCOMES[as_requirement][1]
    return tag(
        "span", tag("span", sign, aria_hidden="true"), f" {cut(outcome, 40)}", class_=f"badge {kind(as_requirement)}"
    )


def kind(outcome: str) -> str:
    """Return the class of the style for an outcome of a requirement."""
    return f"is-{outcome.replace(' ', '-')}" if outcome in OUTCOMES else "is-other"


def entries(document: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return a list of the document, empty where it has none."""
    return list(document.get(key) or ())


def counts(requirements: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many requirements came to what, in the order of ``OUTCOMES``; those that none came to are 0."""
    found = [str(each.get("outcome", "")) for each in requirements]
    return {outcome: found.count(outcome) for outcome in (*OUTCOMES, *sorted(set(found) - OUTCOMES.keys()))}
