"""Puts the shards of a run together, and runs over several transports; of the latter each is kept beside the whole."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from conformance.contract import Contract
from conformance.decision import decided
from conformance.errors import UsageProblem
from conformance.ledger import Ledger
from conformance.report import case_log, exchange_log, json_report
from conformance.report.case_log import CaseLog, StoredRun, read_run
from conformance.report.joined_log import named_id, put_together
from conformance.report.json_report import Decided
from conformance.requirements import Registry
from conformance.run import RequiredLevel
from conformance.run_keeping import must_not_be_claimed
from conformance.verdict import LEVELS

PARTS: Final = "parts"
"""Folder of a merged result that has the run over each transport, in a folder of the transport's name."""
_KEPT: Final = (case_log.NAME, exchange_log.NAME, json_report.NAME)
_ALIKE: Final = (
    "suite_version", "contract", "contract_version", "requirement_set", "implementation", "tier", "seed", "profile",
    "waivers",
)  # fmt: skip


def must_belong_together(runs: Sequence[StoredRun]) -> None:
    """See that the runs are parts of one whole, and each another one.

    Raises:
        UsageProblem: they are not.
    """
    first = runs[0]
    seen: dict[tuple[str, int], Path] = {}
    for stored in runs:
        if stored.facts.merged:
            raise UsageProblem(
                "it was put together already", str(stored.folder), "Name the folders of the runs that it was made of."
            )
        for name in _ALIKE:
            if getattr(stored.facts, name) != getattr(first.facts, name):
                raise _other(name.replace("_", " "), stored, first)
        # Each run names the transport first that it was over.
        if set(stored.facts.offered) != set(first.facts.offered):
            raise _other("list of transports that the target offers", stored, first)
        shard = stored.facts.shard
        if (shard and shard.of) != (first.facts.shard and first.facts.shard.of):
            raise UsageProblem("the runs were shared out differently", str(stored.folder), "Use one N in --shard I/N.")
        part = stored.facts.transport, shard.number if shard else 0
        if part in seen:
            raise UsageProblem(
                f"it is the same part as {seen[part]}", str(stored.folder), "Name each shard and transport once."
            )
        seen[part] = stored.folder


def _other(what: str, stored: StoredRun, first: StoredRun) -> UsageProblem:
    return UsageProblem(
        f"its {what} is not that of {first.folder}",
        str(stored.folder),
        "Put together only runs of one server, with one seed and one profile.",
    )


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
        started_at=min(stored.facts.started_at for stored in runs),
        duration=sum(part.facts.duration for part in each),
        unexecuted=sum(part.facts.unexecuted for part in each),
        at_most=min((part.verdict.level for part in each), key=LEVELS.index),
        problems=tuple(problem for part in each for problem in part.facts.problems),
        gate=replace(first.gate, required=required),
    )
    return decided(contract, registry, facts, _together(runs), complete=all(part.complete for part in each))


def store(folder: Path, runs: Sequence[StoredRun], whole: Decided) -> None:
    """Write what the whole is made of, so that it can be reported again; the same runs give the same bytes."""
    log = CaseLog(folder, whole.facts)
    for record in whole.ledger.records:
        log.add(record)
    log.end(whole.facts, complete=whole.complete)
    there = [stored for stored in runs if (stored.folder / exchange_log.NAME).is_file()]
    put_together(
        folder / exchange_log.NAME,
        [stored.folder / exchange_log.NAME for stored in there],
        whole.facts,
        complete=whole.complete and len(there) == len(runs),
        names=[_name(stored) for stored in there],
    )


def make_room(out: Path, runs: Sequence[StoredRun]) -> None:
    """Remove the runs that an earlier merge into this folder has kept.

    Raises:
        UsageProblem: the folder has a claim, one of the runs to be merged lies where they are kept, or what lies there
            is not of a merge.
    """
    must_not_be_claimed(out, "--out")
    kept = out / PARTS
    folders = {stored.folder.resolve() for stored in runs}
    if out.resolve() in folders or any(kept.resolve() in (folder, *folder.parents) for folder in folders):
        raise UsageProblem("the result would overwrite a part", "--out", "Name another folder.")
    if not kept.exists():
        return
    if not (out / case_log.NAME).is_file() or not read_run(out).facts.merged:
        raise UsageProblem(f"{kept} is there, and no merge has made it", "--out", "Name another folder.")
    shutil.rmtree(kept)


def keep_parts(out: Path, runs: Sequence[StoredRun]) -> None:
    """Copy what whole runs have stored into the folder of the result, each under its transport; shards are no such."""
    if any(stored.facts.shard for stored in runs):
        return
    for stored in runs:
        place = out / PARTS / stored.facts.transport
        place.mkdir(parents=True)
        for name in _KEPT:
            if (stored.folder / name).is_file():
                shutil.copyfile(stored.folder / name, place / name)


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
    """Return the cases of all; the exchanges that their findings show have the ids of the log that is put together."""
    ledger = Ledger()
    for stored in runs:
        for record in stored.ledger.records:
            findings = tuple(_with_ids(finding, _name(stored)) for finding in record.findings)
            ledger.add(replace(record, findings=findings))
    return ledger


def _name(stored: StoredRun) -> str:
    """Return what tells the exchanges of a run from those of the others, which have been counted in the same way."""
    facts = stored.facts
    return f"{facts.transport}-{facts.shard.number}" if facts.shard else facts.transport


def _with_ids(finding: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    shown = [{**each, "id": named_id(each["id"], name)} for each in finding["exchanges"]]
    return {**finding, "exchanges": shown}
