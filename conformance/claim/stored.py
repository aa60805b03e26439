"""The stored run that a claim is about: read, decided again, and held against its own report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance import __version__
from conformance.claim.envelope import strict_json
from conformance.claim.log_chain import log_problems
from conformance.claim.refused import ClaimRefused
from conformance.contract import Contract
from conformance.decision import decided, frozen_set
from conformance.report import case_log, exchange_log, json_report
from conformance.report.case_log import StoredRun, read_run
from conformance.report.json_report import Decided, report_document
from conformance.report_command import must_be_of
from conformance.requirements import Registry, RequirementSet, load_registry


@dataclass(frozen=True)
class Ground:
    """What is judged by: the contract with its registry, and the frozen set that a claim must be complete against."""

    contract: Contract
    registry: Registry
    frozen: RequirementSet

    @classmethod
    def of(cls, contract: Contract) -> Ground:
        """Read the registry of a contract.

        Raises:
            UsageProblem: it cannot be read.
        """
        registry = load_registry(contract)
        return cls(contract, registry, frozen_set(registry, contract))


@dataclass(frozen=True)
class DecidedAgain:
    """A stored run and what follows from its cases."""

    stored: StoredRun
    run: Decided


def decide_again(folder: Path, ground: Ground) -> DecidedAgain:
    """Read a stored run and decide about it with the rules of this version.

    Raises:
        UsageProblem: there is no stored run, or it is of another contract.
        ClaimRefused: it cannot be decided about.
    """
    stored = read_run(folder)
    must_be_of(ground.contract, stored)
    try:
        run = decided(ground.contract, ground.registry, stored.facts, stored.ledger, complete=stored.complete)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ClaimRefused(f"{case_log.NAME} has values that no run writes ({error}).") from None
    return DecidedAgain(stored, run)


def run_refusals(again: DecidedAgain, ground: Ground) -> Iterator[str]:
    """Yield why nobody can attest to a single run."""
    facts = again.run.facts
    if facts.shard or facts.present:
        yield "The run is a shard, or was put together of shards; a claim needs whole runs, made without --shard."
        return
    if facts.merged:
        yield "It was put together of several runs itself."
        return
    yield from of_no_use(again)
    if not (again.stored.folder / exchange_log.NAME).is_file():
        yield f"The folder has no {exchange_log.NAME}."
        return
    yield from log_problems(again.stored)
    yield from _report_problems(again, ground)


def of_no_use(again: DecidedAgain) -> Iterator[str]:
    """Yield why a result, of one run or of several, is nothing that a claim could be about."""
    facts, run = again.run.facts, again.run
    if not run.complete:
        yield "The run was interrupted or cut off."
    if run.verdict.overall in ("not run", "incomplete"):
        yield f"The verdict of the run is {run.verdict.overall!r}, which is nothing to attest."
    if run.ledger.count("error"):
        yield "The suite itself had a fault in the run, so that nothing of it can be relied on."
    if facts.suite_version != __version__:
        yield f"The run was made by version {facts.suite_version} of the suite, and this is {__version__}."


def _report_problems(again: DecidedAgain, ground: Ground) -> Iterator[str]:
    """Yield what ``report.json`` says otherwise than the log of the cases."""
    name = json_report.NAME
    try:
        report = strict_json((again.stored.folder / name).read_bytes(), name)
    except OSError as error:
        yield f"{name} cannot be read ({(error.strerror or str(error)).lower()})."
        return
    except ClaimRefused as refused:
        yield refused.sentence
        return
    expected = report_document(ground.contract, ground.registry, again.run)
    if not isinstance(report, dict):
        yield f"{name} is no report."
        return
    # Somebody else's tests in the same pytest run can have failed, which is no matter of conformance.
    differing = [each for each in expected if each != "exit_status" and report.get(each) != expected[each]]
    differing += sorted(report.keys() - expected.keys())
    if differing:
        yield f"{name} does not agree with {case_log.NAME}: {', '.join(differing)}."


def libraries_of(folder: Path) -> Mapping[str, str]:
    """Return the versions of the libraries with which a run was made; none where its log does not tell.

    Raises:
        ClaimRefused: the log has no such header.
    """
    try:
        description = exchange_log.read_header(folder / exchange_log.NAME)["target"]
        return dict(description["libraries"]) if description else {}
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ClaimRefused(f"The header of {exchange_log.NAME} cannot be read ({error}).") from None
