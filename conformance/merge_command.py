"""``sosoapi-conformance merge``: puts the shards of a run together, and runs over several transports."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from conformance.contract import Contract, load_contract
from conformance.decision import decided
from conformance.errors import UsageProblem
from conformance.ledger import Ledger
from conformance.report import exchange_log
from conformance.report.case_log import CaseLog, StoredRun, read_run
from conformance.report.exchange_log import put_together
from conformance.report.json_report import Decided
from conformance.report.rendering import render
from conformance.report_command import must_be_of
from conformance.requirements import Registry, load_registry
from conformance.run import RequiredLevel
from conformance.verdict import LEVELS

_ALIKE: Final = (
    "suite_version", "contract", "contract_version", "requirement_set", "implementation", "tier", "seed", "profile",
    "waivers", "offered",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="folder of a shard, or of a whole run")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the result")
    parser.add_argument("--require", choices=LEVELS[1:], metavar="LEVEL", help="schema, behaviour or full")
    parser.add_argument("--contract-dir", type=Path, metavar="DIR", help="the contract bundle of the runs")


def run(namespace: argparse.Namespace) -> int:
    """Write the result and all reports, print the verdict, and return the exit status of the whole.

    Raises:
        UsageProblem: a folder has no stored result, or the runs do not belong together.
    """
    contract = load_contract(namespace.contract_dir)
    runs = [read_run(folder) for folder in namespace.folders]
    for stored in runs:
        must_be_of(contract, stored)
    _must_belong_together(runs)
    if namespace.out.resolve() in {folder.resolve() for folder in namespace.folders}:
        raise UsageProblem("the result would overwrite a part", "--out", "Name another folder.")
    registry = load_registry(contract)
    whole = merged(contract, registry, runs, namespace.require or "")
    namespace.out.mkdir(parents=True, exist_ok=True)
    _store(namespace.out, runs, whole)
    render(namespace.out, contract, registry, whole)
    for problem in whole.problems:
        sys.stdout.write(f"problem: {problem}\n")
    sys.stdout.write(f"verdict: {whole.verdict.overall} (level: {whole.verdict.level})\n")
    sys.stdout.write(f"report: {namespace.out / 'report.html'}\n")
    return int(whole.status)


def merged(contract: Contract, registry: Registry, runs: Sequence[StoredRun], required: RequiredLevel) -> Decided:
    """Return the runs as one. A shard that is missing leaves it incomplete; every transport must reach the level."""
    by_transport: dict[str, list[StoredRun]] = {}
    for stored in runs:
        by_transport.setdefault(stored.facts.transport, []).append(stored)
    each = [_of_one_transport(contract, registry, parts) for parts in by_transport.values()]
    first = runs[0].facts
    facts = replace(
        each[0].facts,
        offered=first.offered,
        merged=tuple(by_transport),
        duration=sum(part.facts.duration for part in each),
        unexecuted=sum(part.facts.unexecuted for part in each),
        at_most=min((part.verdict.level for part in each), key=LEVELS.index),
        problems=tuple(problem for part in each for problem in part.facts.problems),
        gate=replace(first.gate, required=required),
    )
    return decided(contract, registry, facts, _together(runs), complete=all(part.complete for part in each))


def _of_one_transport(contract: Contract, registry: Registry, parts: Sequence[StoredRun]) -> Decided:
    first, missing = parts[0].facts, tuple(_missing(parts))
    facts = replace(
        first,
        duration=sum(part.facts.duration for part in parts),
        # What is left out of one shard is in another one; what the user left out is left out of all.
        unexecuted=sum(part.facts.unexecuted - part.facts.elsewhere for part in parts) + len(missing),
        elsewhere=0,
        present=tuple(sorted(part.facts.shard.number for part in parts if part.facts.shard)),
        problems=missing,
        # Whether all transports were tested is for the whole to say.
        offered=(first.transport,),
    )
    complete = not missing and all(part.complete for part in parts)
    return decided(contract, registry, facts, _together(parts), complete=complete)


def _missing(parts: Sequence[StoredRun]) -> Iterator[str]:
    """Yield a sentence for each shard that is not there."""
    shards = [part.facts.shard for part in parts if part.facts.shard]
    if not shards:
        return
    present = {shard.number for shard in shards}
    for number in range(1, shards[0].of + 1):
        if number not in present:
            yield f"Shard {number}/{shards[0].of} over {parts[0].facts.transport} is missing: its cases were not run."


def _together(runs: Sequence[StoredRun]) -> Ledger:
    ledger = Ledger()
    for stored in runs:
        for record in stored.ledger.records:
            ledger.add(record)
    return ledger


def _must_belong_together(runs: Sequence[StoredRun]) -> None:
    first = runs[0]
    seen: dict[tuple[str, int], Path] = {}
    for stored in runs:
        for name in _ALIKE:
            if getattr(stored.facts, name) != getattr(first.facts, name):
                raise UsageProblem(
                    f"its {name.replace('_', ' ')} is not that of {first.folder}",
                    str(stored.folder),
                    "Put together only runs of one server, with one seed and one profile.",
                )
        shard = stored.facts.shard
        if (shard and shard.of) != (first.facts.shard and first.facts.shard.of):
            raise UsageProblem("the runs were shared out differently", str(stored.folder), "Use one N in --shard I/N.")
        part = stored.facts.transport, shard.number if shard else 0
        if part in seen:
            raise UsageProblem(
                f"it is the same part as {seen[part]}", str(stored.folder), "Name each shard and transport once."
            )
        seen[part] = stored.folder


def _store(folder: Path, runs: Sequence[StoredRun], whole: Decided) -> None:
    """Write what the whole is made of, so that it can be reported again."""
    log = CaseLog(folder, whole.facts)
    for record in whole.ledger.records:
        log.add(record)
    log.end(whole.facts, complete=whole.complete)
    parts = [stored.folder / exchange_log.NAME for stored in runs]
    there = [part for part in parts if part.is_file()]
    put_together(folder / exchange_log.NAME, there, whole.facts, complete=whole.complete and len(there) == len(parts))
