"""The top of the page: the verdict, what was assessed and what was not, and what was tested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.report.html.markup import Html, code, counted, cut, facts, folded, items, joined, prose, tag
from conformance.report.html.outcomes import OUTCOMES, counts, entries, kind

_MEANINGS = {
    "conforms": ("good", "\u2713", "Every assessed requirement holds."),
    "does not conform": ("bad", "\u2717", "At least one requirement is broken."),
    "incomplete": ("open", "?", "All that ran passed, but not every check was run or came to an end."),
    "not run": ("open", "?", "Nothing was executed."),
}
_LEVELS = {
    "none": "The run supports no claim about the server as a whole.",
    "schema": "The claim covers the strictness of inputs and the schemas of answers, and not what needs test control.",
    "behaviour": "The claim covers every requirement that has a check and that this transport can show.",
    "full": "The claim covers every requirement, over every transport that the target offers.",
}
_ALWAYS = ("pass", "fail", "not assessed")
_MOST_GLANCED = 10


def banner(document: Mapping[str, Any]) -> Html:
    """Return the heading of the page: the verdict in colour and in words."""
    verdict = str(document.get("verdict", "not run"))
    tone, sign, meaning = _MEANINGS.get(verdict, ("open", "?", ""))
    level = str(document.get("level", "")) or "none"
    required = str(document.get("required_level") or "")
    claim = [tag("b", f"Level: {cut(level, 40)}. "), _LEVELS.get(level, "")]
    if required:
        claim.append(f" The level {cut(required, 40)} is required.")
    if document.get("fail_on", "derived") != "derived":
        firm = cut(document["fail_on"], 40)
        claim.append(f" Only breaches of what stands on the basis \u201c{firm}\u201d or a firmer one fail the run.")
    parts = [
        tag(
            "p",
            f"Conformance report: {cut(document.get('contract', 'contract'), 100)} ",
            _version(document),
            class_="what",
        ),
        tag("h1", tag("span", sign, aria_hidden="true"), f" {cut(verdict[:1].upper() + verdict[1:], 60)}"),
        tag("p", meaning),
        tag("p", *claim),
    ]
    if document.get("complete", True) is False:
        cut_off = "The run was interrupted or cut off, or still goes on. What follows is what was known by then."
        parts.append(tag("p", tag("b", cut_off)))
    return tag("header", *parts, class_=f"banner {tone}")


def assessed(document: Mapping[str, Any]) -> Html:
    """Return how many requirements came to what, which were not assessed and why, and what else failed the run."""
    requirements = entries(document, "requirements")
    cells = [
        tag(
            "li",
            tag("b", f"{count:,}"),
            " ",
            OUTCOMES.get(outcome, (outcome, ""))[0],
            class_=kind(outcome) if count else False,
        )
        for outcome, count in sorted(counts(requirements).items(), key=lambda each: each[0] not in _ALWAYS)
        if count or outcome in _ALWAYS
    ]
    parts = [
        tag("h2", "What was assessed, and what was not", id="assessed"),
        tag("p", f"{counted(len(requirements), 'requirement')} in the requirement set:"),
        tag("ul", *cells, class_="grid"),
        *_problems(document),
        *_glance(document),
        *_not_assessed(document, requirements),
    ]
    return tag("section", *parts, aria_labelledby="assessed")


def tested(document: Mapping[str, Any]) -> Html:
    """Return what was tested, how and when."""
    target: Mapping[str, Any] = document.get("target") or {}
    name = " ".join(filter(None, (str(target.get(key) or "") for key in ("vendor", "name", "version"))))
    spoken = f"{document.get('transport', '')} {document.get('mcp_revision', '')}".strip()
    cases: Mapping[str, int] = document.get("cases") or {}
    shards: Mapping[str, Any] = document.get("shards") or {}
    present = ", ".join(str(each) for each in shards.get("present") or ()) or "none"
    pairs = (
        ("Target", cut(name) or ("the reference server of the suite" if target.get("embedded") else "")),
        ("Address", code(target["address"]) if target.get("address") else ""),
        ("Build", code(target["build_digest"]) if target.get("build_digest") else ""),
        ("Transport", cut(spoken)),
        ("Tier", cut(document.get("tier", ""))),
        ("Test control offers", cut(", ".join(map(str, document.get("capabilities") or ())))),
        ("Contract", cut(f"{document.get('contract', '')} {document.get('contract_version', '')}".strip())),
        ("Requirement set", cut(document.get("requirement_set", ""))),
        ("Suite", cut(document.get("suite_version", ""))),
        ("Seed and profile", cut(f"{document.get('seed', '')} {document.get('profile', '')}".strip())),
        ("Started", cut(document.get("started_at", ""))),
        ("Took", f"{float(document['duration_s']):.1f} s" if "duration_s" in document else ""),
        ("Cases", ", ".join(f"{int(count):,} {key.replace('_', ' ')}" for key, count in cases.items() if count)),
        ("Exchanges", f"{int(document.get('exchanges') or 0):,}; each one is in exchanges.jsonl"),
        ("Shards", f"{present} of {shards.get('of')}" if shards else ""),
        ("Exit status", str(document.get("exit_status", ""))),
    )
    return tag("section", tag("h2", "What was tested", id="tested"), facts(pairs), aria_labelledby="tested")


def _version(document: Mapping[str, Any]) -> str:
    return cut(document.get("contract_version", ""), 40)


def _problems(document: Mapping[str, Any]) -> list[Html]:
    problems = [prose(each, 600) for each in document.get("problems") or ()]
    return [tag("h3", "Problems of the run"), items(problems, 100)] if problems else []


def _glance(document: Mapping[str, Any]) -> list[Html]:
    findings = entries(document, "findings")
    if not findings:
        return [tag("p", "No finding.")]
    shown = [
        joined(
            [
                tag("a", code(each.get("requirement", ""), 80), href=f"#finding-{number}"),
                ": ",
                prose(each.get("summary", ""), 300),
            ]
        )
        for number, each in ranked(findings)[:_MOST_GLANCED]
    ]
    rest = len(findings) - len(shown)
    more = [tag("p", tag("a", f"and {counted(rest, 'more finding')}", href="#findings"))] if rest > 0 else []
    return [tag("h3", counted(len(findings), "finding")), tag("ul", *(tag("li", each) for each in shown)), *more]


def ranked(findings: list[Mapping[str, Any]]) -> list[tuple[int, Mapping[str, Any]]]:
    """Return findings with their numbers, those first that fail the run."""
    order = ("fail", "warning", "known", "waived")
    numbered = [(int(each.get("number") or index), each) for index, each in enumerate(findings, 1)]
    return sorted(numbered, key=lambda each: order.index(o) if (o := str(each[1].get("outcome", ""))) in order else 0)


def _not_assessed(document: Mapping[str, Any], requirements: list[Mapping[str, Any]]) -> list[Html]:
    parts: list[Html] = []
    for outcome, heading in (
        ("not assessed", "Not assessed"),
        ("no check yet", "Without a check in this version"),
        ("not applicable", "Not applicable"),
    ):
        by_reason: dict[str, list[str]] = {}
        for each in requirements:
            if each.get("outcome") == outcome:
                by_reason.setdefault(str(each.get("reason") or ""), []).append(str(each.get("id", "")))
        for reason, identifiers in list(by_reason.items())[:50]:
            what = f"{heading}: {counted(len(identifiers), 'requirement')}"
            summary = f"{what} - {cut(reason, 400)}" if reason else what
            parts.append(folded(summary, items([code(identifier, 80) for identifier in identifiers])))
    by_reason = {}
    for case in entries(document, "case_outcomes"):
        if case.get("outcome") in ("could not run", "error"):
            by_reason.setdefault(f"{case['outcome']}: {case.get('reason') or 'no reason'}", []).append(
                str(case.get("case", ""))
            )
    for reason, identifiers in list(by_reason.items())[:50]:
        what = f"{counted(len(identifiers), 'case')} {cut(reason, 400)}"
        parts.append(folded(what, items([code(identifier, 300) for identifier in identifiers], 50)))
    return [tag("h3", "Left out of the verdict"), *parts] if parts else []
