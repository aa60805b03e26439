"""What each case came to, in a form that travels between worker processes, and the sum of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from conformance.judge.finding import Finding
from conformance.redaction import without_token
from conformance.report.curl import bearer_token, curl_command
from conformance.run import FindingKey
from conformance.transport.exchange import Exchange

CaseOutcome = Literal["passed", "failed", "not assessed", "could not run", "error"]

_EXCERPT = 2000
_LONGEST_TOKEN = 4000


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
    seconds: float = 0.0
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


def finding_to_json(finding: Finding, named: Callable[[Exchange], str] = lambda _: "") -> dict[str, Any]:
    """Return the finding with its exchanges as curl commands and excerpts of the answers.

    ``named`` returns the id of an exchange in the log of the run, which is empty where there is none. A token that the
    target repeats is written as the variable that stands for it in the commands.
    """
    written: dict[str, Any] = {
        "requirement": finding.requirement,
        "operation": finding.operation,
        "summary": finding.summary,
        "place": finding.place,
        "expected": finding.expected,
        "found": finding.found,
        "story": finding.story,
    }
    for exchange in finding.exchanges:
        written = {name: _without_token(text, exchange) for name, text in written.items()}
    written["timeline"] = [asdict(call) for call in finding.timeline]
    written["exchanges"] = [{"id": named(exchange), **_exchange_to_json(exchange)} for exchange in finding.exchanges]
    return written


def _without_token(text: str, exchange: Exchange) -> str:
    return without_token(text, bearer_token(exchange.request))


def _exchange_to_json(exchange: Exchange) -> dict[str, Any]:
    response = exchange.response
    answer: dict[str, Any] | None = None
    if response is not None:
        excerpt = response.body[: _EXCERPT + _LONGEST_TOKEN].decode("utf-8", "backslashreplace")
        answer = {
            "status": response.status,
            "reason": _without_token(response.reason, exchange),
            "content_type": _without_token(response.header("Content-Type") or "", exchange),
            "bytes": len(response.body),
            "body": _without_token(excerpt, exchange)[:_EXCERPT],
        }
    return {
        "principal": exchange.principal,
        "curl": curl_command(exchange.request),
        "answer": answer,
        "failure": _without_token(exchange.failure.message, exchange) if exchange.failure else None,
    }


@dataclass(frozen=True)
class GroupedFinding:
    """One fault of the target, however many cases showed it; ``first`` is the evidence of the first."""

    first: Mapping[str, Any]
    cases: tuple[str, ...]


def finding_key(finding: Mapping[str, Any]) -> FindingKey:
    """Return what tells a fault of the target from others."""
    return finding["requirement"], finding["operation"], finding["summary"]


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
        """Return each fault once: same requirement, operation and sentence."""
        groups: dict[FindingKey, list[tuple[Mapping[str, Any], str]]] = {}
        for record in sorted(self.records, key=lambda record: record.case):
            for finding in record.findings:
                groups.setdefault(finding_key(finding), []).append((finding, record.case))
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
