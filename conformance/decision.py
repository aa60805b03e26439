"""Decides about a run: from the facts and the ledger to the verdict, what is out of date, and the exit status."""

from __future__ import annotations

from conformance.contract import Contract
from conformance.gate import staleness
from conformance.ledger import Ledger
from conformance.report.json_report import Decided
from conformance.requirements import Registry, RequirementSet
from conformance.run import RunFacts
from conformance.verdict import decide, exit_status


def decided(
    contract: Contract,
    registry: Registry,
    facts: RunFacts,
    ledger: Ledger,
    *,
    complete: bool,
) -> Decided:
    """Return the run with all that follows from it."""
    from conformance.checks.declare import checked_requirements  # noqa: PLC0415 - imports every check

    verdict = decide(registry, frozen_set(registry, contract), checked_requirements(contract), ledger, facts)
    stale = staleness(verdict, ledger, facts)
    problems = (*facts.problems, *stale.problems())
    status = exit_status(verdict, ledger, facts, problems)
    return Decided(facts, ledger, verdict, stale, problems, status, complete)


def frozen_set(registry: Registry, contract: Contract) -> RequirementSet:
    """Return the contract version's frozen set; a bundle that has none is judged by every requirement it has."""
    for frozen in registry.requirement_sets:
        if frozen.version == contract.version:
            return frozen
    return RequirementSet(contract.name, contract.version, frozenset(registry.by_id))
