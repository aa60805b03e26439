"""The whole runs on which a claim rests: the run itself, or one for each transport where several were merged."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.claim.digests import file_digest
from conformance.claim.refused import ClaimRefused
from conformance.claim.statement import LOGS
from conformance.claim.stored import DecidedAgain, Ground, decide_again, of_no_use, run_refusals
from conformance.errors import ConformanceError
from conformance.merging import PARTS, merged, must_belong_together, store
from conformance.report import case_log
from conformance.report.json_report import report_document, write_json
from conformance.target import TRANSPORTS


@dataclass(frozen=True)
class WholeRun:
    """A run over one transport; ``name`` is the transport where the run is one of several, and empty otherwise."""

    name: str
    again: DecidedAgain

    def told(self, sentences: Iterable[str]) -> Iterator[str]:
        """Yield the sentences, each with the part that it is about."""
        return (f"Part {self.name}: {each}" if self.name else each for each in sentences)


def whole_runs(again: DecidedAgain, ground: Ground) -> tuple[WholeRun, ...]:
    """Return the runs of a stored result; those that were merged are read from where ``merge`` has kept them.

    Raises:
        ClaimRefused: one of them is not there, cannot be read or is another one.
    """
    facts, kept = again.stored.facts, again.stored.folder / PARTS
    if not facts.merged or facts.shard or facts.present:
        return (WholeRun("", again),)
    for transport in facts.merged:
        if transport not in TRANSPORTS:
            raise ClaimRefused(f"The run is said to be merged of one over {transport!r}, which is no transport.")
    others = {path.parent.name for path in kept.glob(f"*/{case_log.NAME}")} - {*facts.merged}
    for name in sorted(others):
        raise ClaimRefused(f"The folder has {PARTS}/{name}, which is none of the runs that were merged.")
    return tuple(WholeRun(transport, _part(kept / transport, transport, ground)) for transport in facts.merged)


def _part(folder: Path, transport: str, ground: Ground) -> DecidedAgain:
    where = f"{PARTS}/{transport}"
    if not folder.is_dir():
        raise ClaimRefused(f"The folder has no {where}, which 'sosoapi-conformance merge' keeps: merge the runs again.")
    try:
        found = decide_again(folder, ground)
    except ConformanceError as problem:
        raise ClaimRefused(f"Part {transport}: {problem}") from None
    if found.run.facts.transport != transport:
        raise ClaimRefused(f"What the folder has as {where} is a run over {found.run.facts.transport}.")
    return found


def refusals(again: DecidedAgain, runs: Iterable[WholeRun], ground: Ground) -> Iterator[str]:
    """Yield why nobody can attest to what is stored in a folder, whose runs these are."""
    runs = tuple(runs)
    sentences = [sentence for each in runs for sentence in each.told(run_refusals(each.again, ground))]
    yield from sentences
    if any(each.name for each in runs):
        yield from of_no_use(again)
        if not sentences:
            yield from _unlike_its_parts(again, runs, ground)


def _unlike_its_parts(again: DecidedAgain, runs: Iterable[WholeRun], ground: Ground) -> Iterator[str]:
    """Yield each file of a merged result that does not come out when its parts are merged again."""
    parts, required = [each.again.stored for each in runs], again.stored.facts.gate.required
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        try:
            must_belong_together(parts)
            whole = merged(ground.contract, ground.registry, parts, required)
            store(place, parts, whole)
            write_json(place, report_document(ground.contract, ground.registry, whole))
            for file in LOGS:
                if file_digest(place / file) != file_digest(again.stored.folder / file):
                    yield f"{file} is not what comes out when the parts are merged again."
        except (ConformanceError, OSError, KeyError, TypeError, ValueError) as problem:
            yield f"The parts cannot be merged again: {problem}"
