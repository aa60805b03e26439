"""Keeps what a run finds in its report folder from the first exchange on: nothing is lost when it is cut off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.contract import Contract
from conformance.errors import ExitStatus, UsageProblem
from conformance.gate import Staleness
from conformance.ledger import CaseRecord, Ledger
from conformance.redaction import Redaction
from conformance.report import case_log, exchange_log
from conformance.report.case_log import CaseLog
from conformance.report.exchange_log import ExchangeLog
from conformance.report.joined_log import put_together
from conformance.report.json_report import Decided, report_document, write_json
from conformance.requirements import Registry
from conformance.run import RunFacts
from conformance.verdict import Verdict

WRITTEN = ("report.json", "report.html", "summary.md", case_log.NAME, exchange_log.NAME)
"""What a run writes into its folder, beside pytest's ``junit.xml``."""
CLAIM = "claim.json"
"""What ``attest`` writes there, unless it is told otherwise."""


def must_not_be_claimed(folder: Path, option: str) -> None:
    """See that what is about to be written into a folder takes no run away from its claim.

    Raises:
        UsageProblem: the folder has a claim; ``option`` has named it.
    """
    if (folder / CLAIM).exists():
        raise UsageProblem(
            f"{folder} has a signed claim, which is worth nothing without the run that it is about",
            option,
            f"Name another folder, or take {CLAIM} away if that run is not needed any more.",
        )


class Keeping:
    """The report folder of one run. With several workers each writes its exchanges, and the controller all else."""

    def __init__(self, folder: Path, contract: Contract, registry: Registry) -> None:
        self._folder = folder
        self._contract = contract
        self._registry = registry
        self._cases: CaseLog | None = None
        self._exchanges: ExchangeLog | None = None

    def exchanges(
        self, facts: RunFacts, redaction: Redaction, worker: str, description: Mapping[str, Any]
    ) -> ExchangeLog:
        """Begin the log of this process's exchanges, with what describes the target."""
        self._exchanges = ExchangeLog(self._folder / _log_of(worker), facts, redaction, worker, description)
        return self._exchanges

    def begin(self, facts: RunFacts) -> None:
        """Write a report that says that the run goes on, and begin the stored result."""
        begun = _nothing(facts, ExitStatus.INTERRUPTED)
        write_json(self._folder, report_document(self._contract, self._registry, begun))
        self._cases = CaseLog(self._folder, facts)

    def not_begun(self, facts: RunFacts, problem: str) -> None:
        """Write reports of a run that could not begin, with the sentence that says why."""
        self.begin(facts)
        self.end(_nothing(replace(facts, problems=(problem,)), ExitStatus.COULD_NOT_RUN))

    def add(self, record: CaseRecord) -> None:
        """Store what a case came to."""
        if self._cases is not None:
            self._cases.add(record)

    def close(self, *, complete: bool) -> None:
        """Close the log of this process's exchanges."""
        if self._exchanges is not None:
            self._exchanges.end(complete=complete)

    def end(self, run: Decided) -> None:
        """Close the stored result and write all reports; those of workers have closed their logs already."""
        if self._cases is None:
            return  # the run has been reported already, as one that could not begin
        self._cases.end(run.facts, complete=run.complete)
        self._cases = None
        self.close(complete=run.complete)
        whole = self._folder / exchange_log.NAME
        parts = sorted(self._folder.glob(_log_of("gw*")), key=lambda path: (len(path.name), path.name))
        if parts:
            own = self._folder / _log_of("main-part")
            whole.replace(own)
            put_together(whole, [own, *parts], run.facts, complete=run.complete)
            for part in (own, *parts):
                part.unlink()
        from conformance.report.rendering import render  # noqa: PLC0415 - not every run has a report

        render(self._folder, self._contract, self._registry, run)


def _nothing(facts: RunFacts, status: ExitStatus) -> Decided:
    """Return a run that has found nothing yet."""
    nothing, fresh = Verdict("not run", "none", ()), Staleness((), ())
    return Decided(facts, Ledger(), nothing, fresh, facts.problems, status, complete=False)


def _log_of(worker: str) -> str:
    name, _, ending = exchange_log.NAME.partition(".")
    return exchange_log.NAME if worker == "main" else f"{name}.{worker}.{ending}"
