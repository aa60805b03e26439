"""Requirements, cases and runs made by hand, for tests of what is decided about them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from conformance.ledger import CaseOutcome, CaseRecord, Ledger
from conformance.requirements import Registry, Requirement, RequirementSet
from conformance.run import RunFacts
from conformance.target import Implementation
from conformance.verdict import Verdict, decide

Level = Literal["MUST", "SHOULD"]
Basis = Literal["schema", "documented", "derived"]

FACTS = RunFacts(
    suite_version="1", contract="c", contract_version="1", requirement_set="1", address="a",
    implementation=Implementation(), embedded=False, transport="rest", mcp_revision="", tier="control",
    capabilities=("seed",), seed=1, profile="quick", offered=("rest",),
)  # fmt: skip


def requirement(identifier: str, family: str = "read", level: Level = "MUST", basis: Basis = "derived") -> Requirement:
    """Return a requirement that is judged over rest."""
    return Requirement(identifier, family, level, basis, "A statement.", (), (), ("rest",))


def case(
    outcome: CaseOutcome, *ids: str, broken: Collection[str] = (), reason: str = "", number: int = 1
) -> CaseRecord:
    """Return what a case came to; ``broken`` are the requirements that its findings name."""
    findings: tuple[dict[str, Any], ...] = tuple(
        {"requirement": each, "operation": "o", "summary": "s", "exchanges": []} for each in broken
    )
    return CaseRecord(f"test.py::{outcome}-{number}", ids, outcome, reason, findings, exchanges=1)


def ledger_of(records: Collection[CaseRecord]) -> Ledger:
    """Return a ledger of these cases."""
    ledger = Ledger()
    for record in records:
        ledger.add(record)
    return ledger


def run_of(
    records: Collection[CaseRecord],
    *requirements: Requirement,
    facts: RunFacts = FACTS,
    checked: Collection[str] | None = None,
) -> tuple[Verdict, Ledger]:
    """Decide over these requirements."""
    ids = [each.id for each in requirements]
    ledger, registry = ledger_of(records), Registry({}, requirements, (), ())
    frozen = RequirementSet("c", "1", frozenset(ids))
    return decide(registry, frozen, ids if checked is None else checked, ledger, facts), ledger
