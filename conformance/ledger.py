"""What each case came to, in a form that travels between worker processes, and the sum of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from conformance.judge.finding import Finding
from conformance.report.curl import curl_command
from conformance.transport.exchange import Exchange

CaseOutcome = Literal["passed", "failed", "not assessed", "could not run", "error"]

_EXCERPT = 2000


@dataclass(frozen=True)
class CaseRecord:
    """One case: its test id, the requirements that it puts to the test, and what came of them."""

    case: str
    requirements: tuple[str, ...]
    outcome: CaseOutcome
    reason: str = ""
    findings: tuple[Mapping[str, Any], ...] = ()
    freedoms: tuple[tuple[str, str], ...] = ()
    exchanges: int = 0
    coverage: Mapping[str, list[str]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return plain lists, strings and numbers."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> CaseRecord:
        """Read what ``to_json`` wrote."""
        known = dict(values)
        known["requirements"] = tuple(known["requirements"])
        known["findings"] = tuple(known["findings"])
        known["freedoms"] = tuple((name, choice) for name, choice in known["freedoms"])
        return cls(**known)


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """Return the finding with its decisive exchange as a curl command and an excerpt of the answer."""
    return {
        "requirement": finding.requirement,
        "operation": finding.operation,
        "summary": finding.summary,
        "place": finding.place,
        "expected": finding.expected,
        "found": finding.found,
        "exchanges": [_exchange_to_json(exchange) for exchange in finding.exchanges],
    }


def _exchange_to_json(exchange: Exchange) -> dict[str, Any]:
    response = exchange.response
    answer: dict[str, Any] | None = None
    if response is not None:
        answer = {
            "status": response.status,
            "reason": response.reason,
            "content_type": response.header("Content-Type") or "",
            "bytes": len(response.body),
            "body": response.body[:_EXCERPT].decode("utf-8", "backslashreplace"),
        }
    return {
        "principal": exchange.principal,
        "curl": curl_command(exchange.request),
        "answer": answer,
        "failure": exchange.failure.message if exchange.failure else None,
    }


@dataclass(frozen=True)
class GroupedFinding:
    """One fault of the target, however many cases showed it; ``first`` is the evidence of the first."""

    first: Mapping[str, Any]
    cases: tuple[str, ...]


class Ledger:
    """Collects case records."""

    def __init__(self) -> None:
        self.records: list[CaseRecord] = []

    def add(self, record: CaseRecord) -> None:
        """Enter one case."""
        self.records.append(record)

    @property
    def exchanges(self) -> int:
        """How many requests went to the target."""
        return sum(record.exchanges for record in self.records)

    def count(self, outcome: CaseOutcome) -> int:
        """How many cases came to this."""
        return sum(record.outcome == outcome for record in self.records)

    def findings(self) -> tuple[GroupedFinding, ...]:
        """Return each fault once: same requirement, operation, sentence and kind of place."""
        groups: dict[tuple[str, ...], list[tuple[Mapping[str, Any], str]]] = {}
        for record in sorted(self.records, key=lambda record: record.case):
            for finding in record.findings:
                key = (finding["requirement"], finding["operation"], finding["summary"])
                groups.setdefault(key, []).append((finding, record.case))
        return tuple(
            GroupedFinding(entries[0][0], tuple(dict.fromkeys(case for _, case in entries)))
            for _, entries in sorted(groups.items())
        )

    def freedoms(self) -> Mapping[str, Mapping[str, int]]:
        """Return how often the target took which choice where the contract leaves one."""
        seen: dict[str, Counter[str]] = {}
        for record in self.records:
            for name, choice in record.freedoms:
                seen.setdefault(name, Counter())[choice] += 1
        return {name: dict(sorted(choices.items())) for name, choices in sorted(seen.items())}

    def coverage(self) -> Mapping[str, frozenset[str]]:
        """Return the points of each operation's output schema that results have exercised."""
        points: dict[str, set[str]] = {}
        for record in self.records:
            for operation, reached in record.coverage.items():
                points.setdefault(operation, set()).update(reached)
        return {operation: frozenset(reached) for operation, reached in points.items()}


def reasons(records: Iterable[CaseRecord]) -> tuple[str, ...]:
    """Return the distinct reasons of some records, in a stable order."""
    return tuple(sorted({record.reason for record in records if record.reason}))
