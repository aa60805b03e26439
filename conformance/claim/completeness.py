"""Whether a claim is whole and agrees with itself: every requirement has an outcome, and the verdict follows from them.

This needs no more than the claim and the contract: the outcomes are put through the verdict's own rules once more.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from conformance.claim.digests import value_digest
from conformance.claim.refused import ClaimRefused
from conformance.claim.statement import extension_of, part_of, subject, summary
from conformance.ledger import CaseRecord, Ledger
from conformance.requirements import Registry, RequirementSet
from conformance.run import FindingKey, Gate, RunFacts
from conformance.target import Implementation, Waiver
from conformance.verdict import decide, exit_status

_ROUNDED: Final = datetime.timedelta(seconds=2)
"""Times of a claim are in whole seconds."""


def missing_requirements(statement: Mapping[str, Any], frozen: RequirementSet) -> Iterator[str]:
    """Yield a sentence for each requirement of the set without exactly one outcome, and for each foreign one."""
    counts = Counter(each["id"] for each in extension_of(statement)["requirements"])
    for identifier in sorted(frozen.requirements - counts.keys()):
        yield f"The requirement {identifier} of set {frozen.version} is left out of the claim."
    for identifier in sorted(counts.keys() - frozen.requirements):
        yield f"The claim has the requirement {identifier}, which is not in set {frozen.version}."
    for identifier, count in counts.items():
        if count > 1:
            yield f"The requirement {identifier} has {count} outcomes in the claim."


def contradictions(
    statement: Mapping[str, Any], registry: Registry, frozen: RequirementSet, checked: Collection[str]
) -> Iterator[str]:
    """Yield a sentence for each thing that does not follow from the rest of the claim.

    ``checked`` are the requirements that the suite has checks for. The claim has each requirement of the set once.
    """
    claim = extension_of(statement)
    for name in ("lock", "settings"):
        part = part_of(statement, name)
        if part["digest"] != {"sha256": value_digest(part.get("annotations", {}))}:
            yield f"The digest of the part {name!r} of the claim is not that of what the part says."
    try:
        yield from _wrong_times(claim, part_of(statement, "settings")["annotations"])
        facts = _facts(statement)
    except ValueError as error:
        yield f"The claim has a date that is none ({error})."
        return
    yield from _wrong_subject(statement, facts)
    yield from _wrong_merge(facts)
    outcomes = ((each["id"], each["outcome"]) for each in claim["requirements"])
    for name, value in summary(claim["verdict"], outcomes).items():
        if statement["predicate"][name] != value:
            yield f"What the claim says as {name!r} does not follow from its outcomes."
    yield from _wrong_verdict(claim, facts, registry, frozen, checked)


def _wrong_verdict(
    claim: Mapping[str, Any], facts: RunFacts, registry: Registry, frozen: RequirementSet, checked: Collection[str]
) -> Iterator[str]:
    ledger = _ledger(claim, facts)
    verdict = decide(registry, frozen, checked, ledger, facts)
    outcomes = {result.requirement.id: result.outcome for result in verdict.results}
    for each in claim["requirements"]:
        if each["outcome"] != outcomes[each["id"]]:
            yield (
                f"The claim says {each['outcome']!r} of {each['id']}; by its own cases, tier, transport and waivers "
                f"that is {outcomes[each['id']]!r}."
            )
    found = {
        "verdict": verdict.overall,
        "level": verdict.level,
        "exit_status": int(exit_status(verdict, ledger, facts, claim["problems"])),
    }
    for name, value in found.items():
        if claim[name] != value:
            yield f"The claim says {name.replace('_', ' ')} {claim[name]!r}; its own outcomes come to {value!r}."


def _wrong_subject(statement: Mapping[str, Any], facts: RunFacts) -> Iterator[str]:
    try:
        described = subject(facts, part_of(statement, "suite")["digest"])
    except ClaimRefused as refused:
        yield refused.sentence
        return
    if statement["subject"] != [described]:
        yield "The subject of the claim is not the target that the claim itself describes."


def _wrong_merge(facts: RunFacts) -> Iterator[str]:
    if facts.transport not in facts.transports:
        yield f"The claim is about {facts.transport}, and that is none of the transports that it says were merged."
    if facts.at_most != "full" and not facts.merged:
        yield f"The claim says that a part came to {facts.at_most!r} at most, and it is about a single run."


def _wrong_times(claim: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[str]:
    # Runs that were put together may have gone on at the same time; one of them lasted as long as their mean at least.
    lasted = claim["duration_s"] / max(1, len(settings["transports_merged"]))
    started, attested = (datetime.datetime.fromisoformat(claim[name]) for name in ("started_at", "attested_at"))
    try:
        ended = started + datetime.timedelta(seconds=lasted)
    except OverflowError:
        yield "The claim says that its run lasted longer than there are dates."
        return
    if attested < ended - _ROUNDED:
        yield f"The claim says that it was attested at {claim['attested_at']}, before its run had ended."


def _facts(statement: Mapping[str, Any]) -> RunFacts:
    """Return the facts of the run, as far as the verdict depends on them.

    Raises:
        ValueError: a date is none.
    """
    claim, settings = extension_of(statement), part_of(statement, "settings")["annotations"]
    target, gate = claim["target"], claim["gate"]
    known = None if gate["baseline"] is None else tuple((a, b, c) for a, b, c in gate["baseline"])
    return RunFacts(
        suite_version=claim["suite_version"],
        contract=claim["contract"],
        contract_version=claim["contract_version"],
        requirement_set=claim["requirement_set"],
        address=target["address"],
        implementation=Implementation(target["name"], target["version"], target["vendor"], target["build_digest"]),
        embedded=target["embedded"],
        transport=settings["transport"],
        mcp_revision=settings["mcp_revision"],
        tier=settings["tier"],
        capabilities=tuple(settings["capabilities"]),
        seed=settings["seed"],
        profile=settings["profile"],
        waivers=tuple(
            Waiver(each["requirement"], each["reason"], each["owner"], datetime.date.fromisoformat(each["until"]))
            for each in claim["waivers"]
        ),
        unexecuted=claim["unexecuted"],
        offered=tuple(settings["transports_offered"]),
        merged=tuple(settings["transports_merged"]),
        at_most=settings["at_most"],
        gate=Gate(gate["required"], gate["fail_on"], known),
    )


def _ledger(claim: Mapping[str, Any], facts: RunFacts) -> Ledger:
    """Return cases that come to the outcomes of the claim, if anything does."""
    ledger = Ledger()
    for each in claim["requirements"]:
        of, known = (each["id"],), each["outcome"] == "known"
        if each["passed"]:
            ledger.add(CaseRecord("", of, "passed"))
        if each["failed"]:
            requirement, operation, summary_of = _finding(each["id"], facts, known=known)
            finding = {"requirement": requirement, "operation": operation, "summary": summary_of}
            ledger.add(CaseRecord("", of, "failed", findings=(finding,)))
        elif each["missing"]:
            ledger.add(CaseRecord("", of, "not assessed", each["reason"]))
    if claim["cases"]["could_not_run"]:
        ledger.add(CaseRecord("", (), "could not run"))
    if claim["cases"]["error"]:
        ledger.add(CaseRecord("", (), "error"))
    return ledger


def _finding(requirement: str, facts: RunFacts, *, known: bool) -> FindingKey:
    """Return a fault of the requirement that the baseline has, or one that it cannot have."""
    listed = [key for key in facts.gate.baseline or () if key[0] == requirement]
    return listed[0] if known and listed else (requirement, "", "")
