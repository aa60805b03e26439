"""``summary.md``: a run in Markdown, for a pull request or the summary of a job. It never exceeds what those take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from conformance.report.markdown_finding import finding_lines
from conformance.report.markdown_text import code, fenced, folded, prose

LONGEST: Final = 60_000
"""Bytes of a whole summary: GitHub refuses a comment of more than 65,536 characters."""
MOST_FINDINGS: Final = 20

_MEANINGS: Final = {
    "conforms": "Every assessed requirement holds.",
    "does not conform": "At least one requirement is broken.",
    "incomplete": "All that ran passed, but not every check was run.",
    "not run": "Nothing was executed.",
}
_OUTCOMES: Final = ("pass", "fail", "known", "waived", "warning", "not assessed", "not applicable", "no check yet")
_WORST_FIRST: Final = ("fail", "warning", "known", "waived")
_LONGEST_SECTION: Final = 5_000


def render_markdown(document: Mapping[str, Any]) -> str:
    """Return the summary of a report (``report.json`` as decoded; keys that version 2 brought may be missing).

    Text that came from the target is shown as code or as plain words and never acts: see ``markdown_text``. The result
    has at most ``LONGEST`` bytes; what is left out is counted, and is in ``report.json``.
    """
    opening = [*_verdict(document), *_not_assessed(document), *_problems(document)]
    closing = [*_waivers(document), *_baseline(document), *_left_open(document), *_repeat(document)]
    room = LONGEST - _size(opening) - _size(closing)
    return "\n".join([*opening, *_findings(document, room), *closing])


def _verdict(document: Mapping[str, Any]) -> list[str]:
    target = document["target"]
    verdict = str(document["verdict"])
    name = " ".join(str(target.get(key, "")) for key in ("vendor", "name", "version")).strip()
    who = "the reference server" if target.get("embedded") else name or "a server"
    spoken = f"{document['transport']} {document.get('mcp_revision', '')}".strip()
    level, required = str(document["level"]), str(document.get("required_level", ""))
    lines = [f"## Conformance: {prose(verdict)}", "", _MEANINGS.get(verdict, "")]
    if document.get("complete", True) is False:
        lines += ["", "**The run was interrupted or cut off.** What follows is what was known by then."]
    lines += [
        "",
        f"- Level: **{prose(level) or 'none'}**" + (f", and {code(required)} is required" if required else ""),
        f"- Target: {prose(who)} at {code(str(target['address']))}, {code(spoken)}, tier {code(str(document['tier']))}",
        (
            f"- Contract: {code(str(document['contract']))} {code(str(document['contract_version']))}, "
            f"requirement set {code(str(document['requirement_set']))}, suite {code(str(document['suite_version']))}"
        ),
        f"- Effort: {int(document['exchanges'])} exchanges in {float(document['duration_s']):.1f} s",
    ]
    if document.get("fail_on", "derived") != "derived":
        lines.append(f"- Only breaches of what stands on {code(str(document['fail_on']))} or firmer fail the run.")
    shards = document.get("shards")
    if shards:
        present = ", ".join(str(int(each)) for each in shards["present"])
        lines.append(f"- Shards: {present or 'none'} of {int(shards['of'])}")
    return [*lines, "", *_counts(document), ""]


def _counts(document: Mapping[str, Any]) -> list[str]:
    outcomes = [str(each["outcome"]) for each in document["requirements"]]
    cases = [f"{int(count)} {name.replace('_', ' ')}" for name, count in document["cases"].items() if count]
    shown = [name for name in _OUTCOMES if name in outcomes]
    table = [
        f"| requirements | {' | '.join(shown)} |",
        "|---|" + "---:|" * len(shown),
        f"| {len(outcomes)} | {' | '.join(str(outcomes.count(name)) for name in shown)} |",
        "",
    ]
    return [*(table if shown else ()), f"Cases: {prose(', '.join(cases)) or 'none'}."]


def _not_assessed(document: Mapping[str, Any]) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for each in document["requirements"]:
        if each["outcome"] == "not assessed":
            by_reason.setdefault(str(each["reason"]), []).append(str(each["id"]))
    if not by_reason:
        return []
    count = sum(map(len, by_reason.values()))
    lines = [f"**Not assessed: {_counted(count, 'requirement')}.** They count neither as passed nor as failed.", ""]
    lines += _bounded(
        f"- {len(identifiers)} since: {prose(reason, 400) or 'no reason was given'}"
        for reason, identifiers in by_reason.items()
    )
    each_one = _bounded(f"- {code(identifier)}" for identifiers in by_reason.values() for identifier in identifiers)
    return [*lines, "", *folded("Which ones", each_one)]


def _problems(document: Mapping[str, Any]) -> list[str]:
    problems = document.get("problems") or ()
    if not problems:
        return []
    return ["### Problems", "", *_bounded(f"- {prose(str(each))}" for each in problems), ""]


def _findings(document: Mapping[str, Any], room: int) -> list[str]:
    """Return the findings, the worst first, as far as there is room for them; ``room`` counts bytes."""
    requirements = {str(each["id"]): each for each in document["requirements"]}
    numbered = [
        {"number": number, "outcome": requirements.get(str(each["requirement"]), {}).get("outcome", "fail"), **each}
        for number, each in enumerate(document["findings"], 1)
    ]
    numbered.sort(key=lambda each: _rank(str(each["outcome"])))
    lines = [f"### Findings: {len(numbered) or 'none'}", ""]
    # Room for the lines that say what is left out.
    room -= _size(lines) + _LONGEST_SECTION
    shown = 0
    for each in numbered[:MOST_FINDINGS]:
        requirement = requirements.get(str(each["requirement"]), {})
        block = finding_lines(each, requirement)
        if _size(block) > room:
            block = finding_lines(each, requirement, with_story=False)
        if _size(block) > room:
            break
        room -= _size(block)
        lines += block
        shown += 1
    rest = numbered[shown:]
    if rest:
        lines += [f"**{_counted(len(rest), 'more finding')}**, in full in `report.json`:", ""]
        lines += [*_bounded(f"- {int(each['number'])}. {_named(each)}" for each in rest), ""]
    return lines


def _rank(outcome: str) -> int:
    return _WORST_FIRST.index(outcome) if outcome in _WORST_FIRST else 0


def _waivers(document: Mapping[str, Any]) -> list[str]:
    waivers = document.get("waivers") or ()
    stale = sum(each.get("state") == "stale" for each in waivers)
    lines = _bounded(_waiver(each) for each in waivers)
    return folded(f"Waivers: {len(waivers)}" + (f", {stale} of them stale" if stale else ""), lines)


def _waiver(waiver: Mapping[str, Any]) -> str:
    note = " **(stale: it holds now)**" if waiver.get("state") == "stale" else ""
    who = f"until {prose(str(waiver['until']))}, owner {prose(str(waiver['owner']), 100)}"
    return f"- {code(str(waiver['requirement']))}, {who}: {prose(str(waiver['reason']), 400)}{note}"


def _baseline(document: Mapping[str, Any]) -> list[str]:
    baseline = document.get("baseline")
    if not baseline:
        return []
    known, stale = baseline.get("known") or (), baseline.get("stale") or ()
    lines = _bounded([*(f"- {_named(each)}" for each in known), *(f"- {_named(each)} **(stale)**" for each in stale)])
    title = f"Baseline: {len(known)} known" + (f", {len(stale)} stale" if stale else "")
    return folded(title, lines or ["No known finding."])


def _left_open(document: Mapping[str, Any]) -> list[str]:
    decided = document.get("left_open") or {}
    statements = document.get("left_open_statements") or {}
    lines = _bounded(
        (
            f"- {code(name)}: "
            + ", ".join(f"{code(choice, 100)} ({int(count)})" for choice, count in sorted(choices.items())[:10])
            + (f". {prose(str(statements[name]), 300)}" if name in statements else "")
            for name, choices in sorted(decided.items())
        ),
        2 * _LONGEST_SECTION,
    )
    return folded(f"Left open by the contract, and what this server does: {len(decided)}", lines)


def _repeat(document: Mapping[str, Any]) -> list[str]:
    words = ["pytest --pyargs conformance", f"--seed {int(document['seed'])}", f"--profile {document['profile']}"]
    if not document["target"].get("embedded"):
        words.append("# and the options that name the target")
    elif document["transport"] != "rest":
        words.append(f"--transport {document['transport']}")
    return [
        "### Repeat",
        "",
        "The same seed and profile give the same cases; a case id in place of `--pyargs conformance` runs one of them.",
        "",
        *fenced(" ".join(words), "sh"),
        "",
    ]


def _named(finding: Mapping[str, Any]) -> str:
    where = f" on {code(str(finding['operation']), 100)}" if finding.get("operation") else ""
    return f"{code(str(finding['requirement']), 100)}{where}: {prose(str(finding['summary']), 200)}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _bounded(lines: Iterable[str], room: int = _LONGEST_SECTION) -> list[str]:
    """Return as many of the lines as there is room for (in bytes), and how many are left out."""
    every = list(lines)
    kept: list[str] = []
    for line in every:
        room -= _size([line])
        if room < 0:
            return [*kept, f"- and {len(every) - len(kept)} more, in `report.json`"]
        kept.append(line)
    return kept


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8", "surrogatepass")) + 1 for line in lines)
