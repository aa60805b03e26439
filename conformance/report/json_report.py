"""Builds ``report.json`` from what a run has stored. Its schema is published as ``reports/report.schema.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from conformance.contract import Contract
from conformance.coverage_summary import summarise
from conformance.errors import ExitStatus
from conformance.gate import Staleness
from conformance.ledger import CaseRecord, Ledger
from conformance.requirements import Registry
from conformance.run import FindingKey, RunFacts
from conformance.verdict import Verdict

REPORT_VERSION: Final = 2
NAME: Final = "report.json"
_SLOWEST: Final = 20


@dataclass(frozen=True)
class Decided:
    """A run and what was decided about it; ``complete`` is false while it goes on, or when it was interrupted."""

    facts: RunFacts
    ledger: Ledger
    verdict: Verdict
    stale: Staleness
    problems: tuple[str, ...]
    status: ExitStatus
    complete: bool


def report_document(contract: Contract, registry: Registry, run: Decided) -> dict[str, Any]:
    """Return the report as plain JSON values."""
    facts, ledger, verdict = run.facts, run.ledger, run.verdict
    return {
        "report_version": REPORT_VERSION,
        "verdict": verdict.overall,
        "level": verdict.level,
        "complete": run.complete,
        "exit_status": int(run.status),
        "required_level": facts.gate.required,
        "fail_on": facts.gate.fail_on,
        "problems": list(run.problems),
        "target": {"address": facts.address, **asdict(facts.implementation), "embedded": facts.embedded},
        "suite_version": facts.suite_version,
        "contract": facts.contract,
        "contract_version": facts.contract_version,
        "requirement_set": facts.requirement_set,
        "seed": facts.seed,
        "profile": facts.profile,
        "tier": facts.tier,
        "transport": facts.transport,
        "mcp_revision": facts.mcp_revision,
        "transports_offered": list(facts.offered),
        "capabilities": sorted(facts.capabilities),
        "started_at": facts.started_at,
        "duration_s": round(facts.duration, 3),
        "requirements": _requirements(verdict),
        "findings": _findings(run),
        **_left_open(registry, ledger),
        "coverage": [
            {
                "operation": each.operation,
                "points": each.points,
                "reached": each.reached,
                "missing": list(each.missing),
                "out_of_reach": list(each.out_of_reach),
            }
            for each in summarise(contract, ledger)
        ],
        "waivers": _waivers(run),
        "baseline": _baseline(run),
        "shards": _shards(run),
        "cases": {
            "passed": ledger.count("passed"),
            "failed": ledger.count("failed"),
            "not_assessed": ledger.count("not assessed"),
            "could_not_run": ledger.count("could not run"),
            "error": ledger.count("error"),
        },
        "exchanges": ledger.exchanges,
        "timings": _timings(registry, ledger),
        "case_outcomes": [
            {
                "case": record.case,
                "outcome": record.outcome,
                "requirements": list(record.requirements),
                "seconds": round(record.seconds, 4),
                "exchanges": record.exchanges,
                "reason": record.reason,
            }
            for record in ledger.records
        ],
    }


def _requirements(verdict: Verdict) -> list[dict[str, Any]]:
    return [
        {
            "id": result.requirement.id,
            "family": result.requirement.family,
            "level": result.requirement.level,
            "basis": result.requirement.basis,
            "statement": " ".join(result.requirement.statement.split()),
            "transports": list(result.requirement.transports),
            "outcome": result.outcome,
            "cases": {"passed": result.passed, "failed": result.failed},
            "reason": result.reason,
        }
        for result in verdict.results
    ]


def _findings(run: Decided) -> list[dict[str, Any]]:
    outcomes = {result.requirement.id: result.outcome for result in run.verdict.results}
    return [
        {
            "number": number,
            "outcome": outcomes.get(group.first["requirement"], "fail"),
            **group.first,
            "cases": list(group.cases),
        }
        for number, group in enumerate(run.ledger.findings(), 1)
    ]


def _left_open(registry: Registry, ledger: Ledger) -> dict[str, Any]:
    """Return what the target did with each freedom, what each leaves open, and a case that showed it."""
    choices = ledger.freedoms()
    statements = {name: registry.freedoms_by_id[name].statement for name in choices if name in registry.freedoms_by_id}
    shown: dict[str, str] = {}
    for record in ledger.records:
        for name, _ in record.freedoms:
            shown.setdefault(name, record.case)
    return {
        "left_open": {name: dict(counts) for name, counts in choices.items()},
        "left_open_statements": {name: " ".join(statement.split()) for name, statement in statements.items()},
        "left_open_evidence": dict(sorted(shown.items())),
    }


def _waivers(run: Decided) -> list[dict[str, Any]]:
    return [
        {
            **asdict(waiver),
            "until": waiver.until.isoformat(),
            "state": "stale" if waiver.requirement in run.stale.waivers else "used",
        }
        for waiver in run.facts.waivers
    ]


def _baseline(run: Decided) -> dict[str, Any] | None:
    if run.facts.gate.baseline is None:
        return None
    known = [key for key in run.facts.gate.baseline if key not in run.stale.known]
    return {"known": [*map(_key, known)], "stale": [*map(_key, run.stale.known)]}


def _key(key: FindingKey) -> dict[str, str]:
    return dict(zip(("requirement", "operation", "summary"), key, strict=True))


def _shards(run: Decided) -> dict[str, Any] | None:
    shard = run.facts.shard
    return None if shard is None else {"of": shard.of, "present": list(run.facts.present or (shard.number,))}


def _timings(registry: Registry, ledger: Ledger) -> dict[str, Any]:
    families: dict[str, list[CaseRecord]] = {}
    for record in ledger.records:
        first = registry.by_id.get(record.requirements[0]) if record.requirements else None
        families.setdefault(first.family if first else "others", []).append(record)
    slowest = sorted(ledger.records, key=lambda record: -record.seconds)[:_SLOWEST]
    return {
        "slowest": [
            {"case": each.case, "seconds": round(each.seconds, 4), "exchanges": each.exchanges} for each in slowest
        ],
        "by_family": [
            {
                "family": name,
                "seconds": round(sum(each.seconds for each in records), 3),
                "exchanges": sum(each.exchanges for each in records),
                "cases": len(records),
            }
            for name, records in sorted(families.items())
        ],
    }


def exchange_ids(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids of all exchanges that the findings of a report show."""
    for finding in document["findings"]:
        for exchange in finding["exchanges"]:
            yield exchange["id"]


def write_json(folder: Path, document: Mapping[str, Any]) -> Path:
    """Write the report into ``folder``, whole or not at all, and return its path.

    Raises:
        OSError: it cannot be written.
    """
    new = folder / f".{NAME}.new"
    new.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8", newline="\n")
    return new.replace(folder / NAME)
