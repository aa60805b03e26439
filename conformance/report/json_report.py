"""Writes ``report.json``. Its schema is published as ``reports/report.schema.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conformance.coverage_summary import OperationCoverage
from conformance.ledger import Ledger
from conformance.run import RunFacts
from conformance.verdict import Verdict

REPORT_VERSION = 1


def report_document(
    facts: RunFacts, verdict: Verdict, ledger: Ledger, coverage: Iterable[OperationCoverage]
) -> dict[str, Any]:
    """Return the report as plain JSON values."""
    return {
        "report_version": REPORT_VERSION,
        "verdict": verdict.overall,
        "level": verdict.level,
        "target": {
            "address": facts.address,
            "name": facts.implementation.name,
            "version": facts.implementation.version,
            "vendor": facts.implementation.vendor,
            "build_digest": facts.implementation.build_digest,
            "embedded": facts.embedded,
        },
        "suite_version": facts.suite_version,
        "contract": facts.contract,
        "contract_version": facts.contract_version,
        "requirement_set": facts.requirement_set,
        "seed": facts.seed,
        "profile": facts.profile,
        "tier": facts.tier,
        "transport": facts.transport,
        "mcp_revision": facts.mcp_revision,
        "capabilities": sorted(facts.capabilities),
        "requirements": [
            {
                "id": result.requirement.id,
                "level": result.requirement.level,
                "basis": result.requirement.basis,
                "outcome": result.outcome,
                "cases": {"passed": result.passed, "failed": result.failed},
                "reason": result.reason,
            }
            for result in verdict.results
        ],
        "findings": [{**group.first, "cases": list(group.cases)} for group in ledger.findings()],
        "left_open": {name: dict(choices) for name, choices in ledger.freedoms().items()},
        "coverage": [
            {
                "operation": each.operation,
                "points": each.points,
                "reached": each.reached,
                "missing": list(each.missing),
                "out_of_reach": list(each.out_of_reach),
            }
            for each in coverage
        ],
        "waivers": [
            {
                "requirement": waiver.requirement,
                "reason": waiver.reason,
                "owner": waiver.owner,
                "until": waiver.until.isoformat(),
            }
            for waiver in facts.waivers
        ],
        "cases": {
            "passed": ledger.count("passed"),
            "failed": ledger.count("failed"),
            "not_assessed": ledger.count("not assessed"),
            "could_not_run": ledger.count("could not run"),
            "error": ledger.count("error"),
        },
        "exchanges": ledger.exchanges,
        "duration_s": round(facts.duration, 3),
    }


def write_report(folder: Path, document: dict[str, Any]) -> Path:
    """Write the report into ``folder``, which is made where it is missing, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "report.json"
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return path
