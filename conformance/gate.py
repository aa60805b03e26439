"""What a gate holds against a run beside its findings: waivers and known faults that are out of date."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.errors import UsageProblem
from conformance.ledger import Ledger, finding_key
from conformance.run import FindingKey, RunFacts
from conformance.verdict import Verdict

_OPTION = "--baseline"


def read_baseline(path: Path) -> tuple[FindingKey, ...]:
    """Return the faults that a previous ``report.json`` lists.

    Raises:
        UsageProblem: it cannot be read, or is no report.
    """
    remedy = "Give the report.json of an earlier run."
    try:
        document: Any = json.loads((path / "report.json" if path.is_dir() else path).read_bytes())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageProblem(f"{path} cannot be read ({reason})", _OPTION, remedy) from None
    except ValueError as error:
        raise UsageProblem(f"{path} is not JSON ({error})", _OPTION, remedy) from None
    try:
        return tuple(sorted({finding_key(finding) for finding in document["findings"]}))
    except (KeyError, TypeError):
        raise UsageProblem(f"{path} is no report of a run", _OPTION, remedy) from None


@dataclass(frozen=True)
class Staleness:
    """What is out of date: requirements whose waiver is not needed any more, and known faults that are gone."""

    waivers: tuple[str, ...]
    known: tuple[FindingKey, ...]

    def problems(self) -> Iterator[str]:
        """Yield a sentence for each."""
        for requirement in self.waivers:
            yield f"The waiver of {requirement} is stale: the requirement holds now. Remove it from the target file."
        for requirement, operation, summary in self.known:
            where = f" [{operation}]" if operation else ""
            yield (
                f"The baseline is stale: {requirement}{where}, {summary!r}, is not found any more. Write the baseline "
                "again, so that it cannot come back unseen."
            )


def staleness(verdict: Verdict, ledger: Ledger, facts: RunFacts) -> Staleness:
    """Return what is out of date. Only a run that left nothing out can tell that a fault is gone."""
    if facts.unexecuted or verdict.overall in ("not run", "incomplete"):
        return Staleness((), ())
    holds = {result.requirement.id for result in verdict.results if result.outcome == "pass"}
    judged = {result.requirement.id for result in verdict.results if result.passed or result.failed}
    found = {finding_key(group.first) for group in ledger.findings()}
    gone = (key for key in facts.gate.baseline or () if key not in found and key[0] in judged)
    waived = (waiver.requirement for waiver in facts.waivers if waiver.requirement in holds)
    return Staleness(tuple(sorted(waived)), tuple(sorted(gone)))
