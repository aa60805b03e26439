"""What changed between two runs: a pure function of their reports."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Report: TypeAlias = Mapping[str, Any]
"""A ``report.json`` as decoded, of version 1 or 2; what version 2 brought may be missing."""

_NOT_THERE: Final = "not in the set"
_GROUND: Final = ("contract", "contract_version", "requirement_set")
_FACTS: Final = (
    "suite_version", "transport", "mcp_revision", "tier", "profile", "seed", "required_level", "fail_on",
)  # fmt: skip
_TARGET_FACTS: Final = ("address", "vendor", "name", "version", "build_digest")
_VERDICTS: Final = ("conforms", "incomplete", "not run", "does not conform")
_LEVELS: Final = ("full", "behaviour", "schema", "none")
_JUDGED: Final = ("pass", "warning", "waived", "known", "fail")
"""What became of requirements that were put to the test, from the best to the worst."""


@dataclass(frozen=True)
class Change:
    """Something that both runs have, with another value in each; ``worse`` where that is a step back."""

    what: str
    before: str
    after: str
    worse: bool = False


@dataclass(frozen=True, order=True)
class Fault:
    """What makes two findings the same fault of a server."""

    requirement: str
    operation: str
    summary: str


@dataclass(frozen=True)
class Lost:
    """What was executed before and is not now.

    ``fewer_cases`` tells it where a report does not list its cases: how many there are in all, then by requirement.
    """

    requirements: tuple[str, ...]
    cases: tuple[str, ...]
    fewer_cases: tuple[Change, ...]


@dataclass(frozen=True)
class Difference:
    """What changed between two runs.

    ``ground`` is what both runs must share to be comparable in full: the contract and the requirement set. ``facts``
    are how and on what they were run, ``result`` the verdict, the level and whether the run came to its end.
    """

    ground: tuple[Change, ...]
    facts: tuple[Change, ...]
    result: tuple[Change, ...]
    outcomes: tuple[Change, ...]
    new: tuple[Fault, ...]
    gone: tuple[Fault, ...]
    still: tuple[Fault, ...]
    lost: Lost
    gained_cases: int
    freedoms: tuple[Change, ...]
    new_problems: tuple[str, ...]
    gone_problems: tuple[str, ...]

    def steps_back(self) -> tuple[str, ...]:
        """Return a sentence for each way in which the later run is worse; none where nothing got worse."""
        return tuple(_steps_back(self))


def difference(before: Report, after: Report) -> Difference:
    """Compare two reports.

    Identity of a finding is its requirement, operation and sentence. A requirement or case that does not apply over
    another transport is not missed; whatever else was executed before and is not now counts as a step back.
    """
    old, new = _faults(before), _faults(after)
    lost = _lost(before, after)
    old_problems, new_problems = ([str(each) for each in report.get("problems") or ()] for report in (before, after))
    return Difference(
        ground=tuple(_changed(before, after, _GROUND)),
        facts=tuple(_facts(before, after)),
        result=tuple(_result(before, after)),
        outcomes=tuple(_outcomes(before, after, lost.requirements)),
        new=tuple(sorted(new - old)),
        gone=tuple(sorted(old - new)),
        still=tuple(sorted(old & new)),
        lost=lost,
        gained_cases=len(_executed_cases(after).keys() - _executed_cases(before).keys()),
        freedoms=tuple(_freedoms(before, after)),
        new_problems=tuple(each for each in new_problems if each not in old_problems),
        gone_problems=tuple(each for each in old_problems if each not in new_problems),
    )


def _steps_back(found: Difference) -> Iterator[str]:
    for each in found.result:
        if each.worse:
            yield f"{each.what}: {each.before} before, {each.after} now"
    if found.new:
        yield f"new findings: {len(found.new)}"
    worse = sum(each.worse for each in found.outcomes)
    if worse:
        yield f"requirements with a worse outcome: {worse}, {len(found.lost.requirements)} of them not judged any more"
    if found.lost.cases:
        yield f"cases executed before and not now: {len(found.lost.cases)}"
    for each in found.lost.fewer_cases[:1]:
        yield f"{each.what}: {each.before} before, {each.after} now"


def _changed(before: Report, after: Report, names: Collection[str], prefix: str = "") -> Iterator[Change]:
    """Yield what both name and have different values for; what only one has is news of the format."""
    for name in names:
        if name in before and name in after and before[name] != after[name]:
            yield Change(f"{prefix}{name.replace('_', ' ')}", str(before[name]), str(after[name]))


def _facts(before: Report, after: Report) -> Iterator[Change]:
    yield from _changed(before.get("target") or {}, after.get("target") or {}, _TARGET_FACTS, "target ")
    yield from _changed(before, after, _FACTS)


def _result(before: Report, after: Report) -> Iterator[Change]:
    for name, order in (("verdict", _VERDICTS), ("level", _LEVELS)):
        old, new = str(before[name]), str(after[name])
        if old != new:
            yield Change(name, old, new, worse=_rank(new, order) > _rank(old, order))
    # Version 1 was written at the end of a run only.
    old_end, new_end = (report.get("complete", True) is not False for report in (before, after))
    if old_end != new_end:
        ends = {True: "came to its end", False: "was cut off"}
        yield Change("run", ends[old_end], ends[new_end], worse=old_end)


def _rank(word: str, order: Collection[str]) -> int:
    return list(order).index(word) if word in order else len(order)


def _outcomes(before: Report, after: Report, lost: Collection[str]) -> Iterator[Change]:
    old, new = _outcome_by_id(before), _outcome_by_id(after)
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name, _NOT_THERE), new.get(name, _NOT_THERE)
        if was != now:
            # One that was not judged before cannot have got worse, unless it is found broken now.
            rank = _rank(was, _JUDGED) if was in _JUDGED else 0
            yield Change(name, was, now, worse=name in lost or (now in _JUDGED and _rank(now, _JUDGED) > rank))


def _outcome_by_id(report: Report) -> dict[str, str]:
    return {str(each["id"]): str(each["outcome"]) for each in report["requirements"]}


def _faults(report: Report) -> set[Fault]:
    return {
        Fault(str(each["requirement"]), str(each.get("operation", "")), str(each["summary"]))
        for each in report["findings"]
    }


def _lost(before: Report, after: Report) -> Lost:
    old, new = _outcome_by_id(before), _outcome_by_id(after)
    elsewhere = before.get("transport") != after.get("transport")
    excused = {name for name, outcome in new.items() if elsewhere and outcome == "not applicable"}
    requirements = sorted(
        name
        for name, outcome in old.items()
        if outcome in _JUDGED and new.get(name) not in _JUDGED and name not in excused
    )
    if not (_lists_cases(before) and _lists_cases(after)):
        return Lost(tuple(requirements), (), tuple(_fewer_cases(before, after, {*requirements, *excused})))
    still = _executed_cases(after).keys()
    cases = sorted(
        case
        for case, concerned in _executed_cases(before).items()
        if case not in still and not (concerned and concerned <= excused)
    )
    return Lost(tuple(requirements), tuple(cases), ())


def _lists_cases(report: Report) -> bool:
    return "case_outcomes" in report


def _executed_cases(report: Report) -> dict[str, set[str]]:
    """Return the cases that were judged, with the requirements that each puts to the test."""
    return {
        str(each["case"]): {str(name) for name in each.get("requirements") or ()}
        for each in report.get("case_outcomes") or ()
        if each["outcome"] in ("passed", "failed")
    }


def _fewer_cases(before: Report, after: Report, apart: Collection[str]) -> Iterator[Change]:
    """Yield nothing unless there are fewer in all: a case that fails for one requirement counts for no other."""
    if "cases" not in before or "cases" not in after:
        return
    old_count, new_count = _executed_count(before), _executed_count(after)
    if old_count <= new_count:
        return
    yield Change("cases in all", str(old_count), str(new_count), worse=True)
    old, new = _case_counts(before), _case_counts(after)
    for name, count in old.items():
        if name in new and new[name] < count and name not in apart:
            yield Change(name, f"{count} cases", f"{new[name]} cases", worse=True)


def _executed_count(report: Report) -> int:
    return int(report["cases"]["passed"]) + int(report["cases"]["failed"])


def _case_counts(report: Report) -> dict[str, int]:
    return {
        str(each["id"]): int(each["cases"]["passed"]) + int(each["cases"]["failed"])
        for each in report["requirements"]
        if "cases" in each
    }


def _freedoms(before: Report, after: Report) -> Iterator[Change]:
    """Yield what the contract leaves open and both runs saw decided, in different ways."""
    old, new = before.get("left_open") or {}, after.get("left_open") or {}
    for name in sorted(old.keys() & new.keys()):
        if set(old[name]) != set(new[name]):
            yield Change(str(name), " and ".join(sorted(old[name])), " and ".join(sorted(new[name])))
