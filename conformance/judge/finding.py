"""What a judge has to say: findings, each against one requirement, with the exchanges that show it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from conformance.transport.exchange import Exchange


@dataclass(frozen=True, slots=True)
class TimedCall:
    """A call of a race: who made it, what it was, what came of it, and when, in milliseconds from the first one.

    ``ended_ms`` is ``None`` for a call that did not return, or of which the answer does not matter.
    """

    client: str
    label: str
    outcome: str
    began_ms: float
    ended_ms: float | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which the target broke a requirement.

    ``summary`` is a sentence without ids or values, so that many cases of one fault read alike; ``place`` is a JSON
    Pointer or a few words; ``expected`` and ``found`` are short and printable. ``story`` is empty, or tells in lines
    what happened before, ending with a script that repeats it; ``timeline`` are the calls of a race.
    """

    requirement: str
    operation: str
    summary: str
    place: str = ""
    expected: str = ""
    found: str = ""
    exchanges: tuple[Exchange, ...] = ()
    story: str = ""
    timeline: tuple[TimedCall, ...] = ()

    def shown_by(self, *exchanges: Exchange) -> Finding:
        """Return the same finding with the exchanges that show it, the decisive one last."""
        return replace(self, exchanges=exchanges)


class NonConformance(AssertionError):
    """Raised by a check when the target broke a requirement; carries all findings of the case."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__("; ".join(f"{finding.requirement}: {finding.summary}" for finding in findings))
        self.findings = findings


def must_hold(*groups: Iterable[Finding]) -> None:
    """Raise ``NonConformance`` when any of the groups holds a finding."""
    findings = tuple(finding for group in groups for finding in group)
    if findings:
        raise NonConformance(findings)
