"""The verdict: a pure function of what the cases came to. It never says more than what ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from conformance.errors import ExitStatus
from conformance.ledger import CaseRecord, Ledger, finding_key, reasons
from conformance.requirements import Registry, Requirement, RequirementSet
from conformance.run import RunFacts

Outcome = Literal["pass", "fail", "warning", "not applicable", "not assessed", "no check yet", "waived", "known"]
Overall = Literal["conforms", "does not conform", "incomplete", "not run"]
ClaimLevel = Literal["none", "schema", "behaviour", "full"]

LEVELS: Final[tuple[ClaimLevel, ...]] = get_args(ClaimLevel)
"""From the least to the most that a verdict can claim."""
_BASES: Final = ("schema", "documented", "derived")


@dataclass(frozen=True)
class RequirementResult:
    """What became of one requirement. ``known`` is a failure of which the baseline has every finding.

    ``reason`` says why it was not assessed; ``missing`` is true when the target lacks what it takes, and false when
    its cases were not selected or did not come to an end.
    """

    requirement: Requirement
    outcome: Outcome
    passed: int
    failed: int
    reason: str = ""
    missing: bool = False


@dataclass(frozen=True)
class Verdict:
    """The overall verdict, the level of the claim, and each requirement's part in it."""

    overall: Overall
    level: ClaimLevel
    results: tuple[RequirementResult, ...]

    def family_counts(self) -> Mapping[str, Counter[str]]:
        """Return how many requirements of each family came to what."""
        counts: dict[str, Counter[str]] = {}
        for result in self.results:
            counts.setdefault(result.requirement.family, Counter())[result.outcome] += 1
        return counts


def decide(
    registry: Registry, frozen: RequirementSet, checked: Collection[str], ledger: Ledger, facts: RunFacts
) -> Verdict:
    """Return the verdict over the requirements of ``frozen``; ``checked`` are those that the suite has checks for."""
    by_requirement = _by_requirement(ledger)
    results = tuple(
        _result(requirement, checked, by_requirement.get(requirement.id, ()), facts)
        for requirement in registry.requirements
        if requirement.id in frozen.requirements
    )
    overall = _overall(registry, results, ledger, facts)
    level = min(_level(results, facts), facts.at_most, key=LEVELS.index) if overall == "conforms" else "none"
    return Verdict(overall, level, results)


def _by_requirement(ledger: Ledger) -> Mapping[str, list[CaseRecord]]:
    """Return the cases that concern each requirement: they put it to the test, or found it broken."""
    found: dict[str, list[CaseRecord]] = {}
    for record in ledger.records:
        for identifier in {*record.requirements, *(finding["requirement"] for finding in record.findings)}:
            found.setdefault(identifier, []).append(record)
    return found


def _result(
    requirement: Requirement, checked: Collection[str], concerned: Sequence[CaseRecord], facts: RunFacts
) -> RequirementResult:
    passed = sum(record.outcome == "passed" for record in concerned)
    failed = sum(any(finding["requirement"] == requirement.id for finding in record.findings) for record in concerned)
    if failed:
        waived = requirement.basis == "derived" and requirement.id in {waiver.requirement for waiver in facts.waivers}
        outcome: Outcome = "waived" if waived else "fail" if requirement.level == "MUST" else "warning"
        if outcome == "fail" and _all_known(requirement, concerned, facts):
            outcome = "known"
        return RequirementResult(requirement, outcome, passed, failed)
    if set(facts.transports).isdisjoint(requirement.transports):
        return RequirementResult(
            requirement, "not applicable", passed, 0, f"not judged over {' or '.join(facts.transports)}"
        )
    if passed:
        return _shown(requirement, passed, facts)
    if requirement.id not in checked:
        return RequirementResult(requirement, "no check yet", 0, 0, "this version of the suite has no check for it")
    return _not_assessed(requirement, concerned)


def _all_known(requirement: Requirement, concerned: Sequence[CaseRecord], facts: RunFacts) -> bool:
    found = {finding_key(finding) for record in concerned for finding in record.findings}
    return {key for key in found if key[0] == requirement.id} <= set(facts.gate.baseline or ())


def _not_assessed(requirement: Requirement, concerned: Sequence[CaseRecord]) -> RequirementResult:
    skipped = [record for record in concerned if record.outcome == "not assessed"]
    if concerned and len(skipped) == len(concerned):
        return RequirementResult(requirement, "not assessed", 0, 0, "; ".join(reasons(skipped)), missing=True)
    unfinished = [record for record in concerned if record.outcome in ("could not run", "error")]
    reason = "; ".join(reasons(unfinished)) or "its checks were not selected or did not come to an end"
    return RequirementResult(requirement, "not assessed", 0, 0, reason)


def _shown(requirement: Requirement, passed: int, facts: RunFacts) -> RequirementResult:
    """Return what passed cases show; where nothing is stored they run for what else they put to the test."""
    beyond = sorted(set(requirement.needs) - {"token"}) if facts.tier == "bare" else []
    if facts.tier == "control":
        beyond = sorted(set(requirement.needs) & {"seed"} - set(facts.capabilities))
    if beyond:
        reason = f"needs test control ({', '.join(beyond)})"
        return RequirementResult(requirement, "not assessed", 0, 0, reason, missing=True)
    return RequirementResult(requirement, "pass", passed, 0)


def _overall(registry: Registry, results: tuple[RequirementResult, ...], ledger: Ledger, facts: RunFacts) -> Overall:
    if not ledger.count("passed") and not ledger.count("failed"):
        return "not run"
    outcomes = {result.outcome for result in results}
    # What a bundle without a registry finds stands under no requirement, and counts all the same.
    stray = any(group.first["requirement"] not in registry.by_id for group in ledger.findings())
    if outcomes & {"fail", "known"} or stray:
        return "does not conform"
    unfinished = any(result.outcome == "not assessed" and not result.missing for result in results)
    broken = ledger.count("could not run") or ledger.count("error") or facts.unexecuted
    judged = any(result.outcome == "pass" for result in results)
    return "incomplete" if unfinished or broken or not judged else "conforms"


def _level(results: tuple[RequirementResult, ...], facts: RunFacts) -> ClaimLevel:
    """Return what was assessed as a whole; the surface of MCP, and other transports, are no part of the behaviour."""
    open_results = [result for result in results if result.outcome == "not assessed"]
    if any(result.requirement.family == "input" and "seed" not in result.requirement.needs for result in open_results):
        return "none"
    beyond = ("discovery", "protocol", "second transport")
    open_behaviour = [
        result for result in open_results if not {result.requirement.family, *result.requirement.needs} & set(beyond)
    ]
    if facts.tier != "control" or open_behaviour:
        return "schema"
    is_full = facts.profile == "certify" and not open_results and set(facts.offered) <= set(facts.transports)
    return "full" if is_full else "behaviour"


def exit_status(verdict: Verdict, ledger: Ledger, facts: RunFacts, problems: Collection[str] = ()) -> ExitStatus:
    """Return the exit status of a run that was neither interrupted nor refused for its usage.

    A fault of the suite comes before all else, since nothing can be relied on then; a finding stands even when the
    run could not be finished. ``problems`` are what ``conformance.gate`` found. A run in which the user chose some of
    the checks and all of them passed ends with 0, though its verdict is ``incomplete``.
    """
    if ledger.count("error"):
        return ExitStatus.SUITE_FAULT
    if problems or decisive(verdict, ledger, facts):
        return ExitStatus.DOES_NOT_CONFORM
    if ledger.count("could not run"):
        return ExitStatus.COULD_NOT_RUN
    if verdict.overall == "not run":
        return ExitStatus.NOTHING_EXECUTED
    if facts.gate.required and LEVELS.index(verdict.level) < LEVELS.index(facts.gate.required):
        return ExitStatus.BELOW_REQUIRED_LEVEL
    return ExitStatus.CONFORMS


def decisive(verdict: Verdict, ledger: Ledger, facts: RunFacts) -> frozenset[str]:
    """Return the broken requirements that the gate does not let pass."""
    judged = {result.requirement.id: result for result in verdict.results}
    counted = _BASES[: _BASES.index(facts.gate.fail_on) + 1]
    broken = {result.requirement.id for result in verdict.results if result.outcome == "fail"}
    let_pass = {identifier for identifier in broken if judged[identifier].requirement.basis not in counted}
    stray = {group.first["requirement"] for group in ledger.findings()} - judged.keys()
    return frozenset(broken - let_pass | (stray if verdict.overall == "does not conform" else frozenset()))
