"""Judges the stored exchanges of a run again, without the server, and compares what comes out with what was stored.

The cases are drawn anew from the stored seed, so a request that was left out, added or changed is noticed as well as
an answer that was.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance.errors import ExitStatus, UsageProblem
from conformance.ledger import CaseRecord
from conformance.libraries import versions
from conformance.recorded.tape import short_case
from conformance.report import exchange_log
from conformance.report.case_log import StoredRun, read_run

_MOST_SENTENCES = 40


def judge_again(folder: Path, contract_dir: Path | None = None) -> tuple[str, ...]:
    """Return a sentence for each thing that comes out otherwise than the folder says; none where all is the same.

    Raises:
        UsageProblem: the folder has no stored run.
    """
    stored = read_run(folder)
    with tempfile.TemporaryDirectory() as name:
        again = Path(name) / "again"
        command = [
            sys.executable, "-m", "pytest", "--pyargs", "conformance", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
            "--rootdir", name, "--recorded", str(folder.resolve()), "--report-dir", str(again),
        ]  # fmt: skip
        if contract_dir is not None:
            command += ["--contract-dir", str(contract_dir.resolve())]
        ended = subprocess.run(command, cwd=name, capture_output=True, text=True, check=False)  # noqa: S603 - our own
        try:
            new = read_run(again)
        except UsageProblem:
            return (_not_begun(ended), *_other_libraries(folder))
    found = [*_differences(stored, new), *new.facts.problems[len(stored.facts.problems) :]]
    if found:
        found += _other_libraries(folder)
    more = len(found) - _MOST_SENTENCES
    return (*found[:_MOST_SENTENCES], *([f"And {more} more differences."] if more > 0 else []))


def _not_begun(ended: subprocess.CompletedProcess[str]) -> str:
    said = [line for line in (ended.stdout + ended.stderr).splitlines() if line.strip()]
    sentence = " ".join(line.strip() for line in said[-4:])[:600]
    if ended.returncode in (ExitStatus.USAGE, ExitStatus.COULD_NOT_RUN):
        return f"The stored exchanges cannot be judged again: {sentence}"
    return f"Judging again failed in the suite itself (status {ended.returncode}): {sentence}"


def _differences(stored: StoredRun, new: StoredRun) -> Iterator[str]:
    before, after = _by_case(stored), _by_case(new)
    for case, record in before.items():
        other = after.get(case)
        if other is None:
            yield f"{case} is stored as {record.outcome}, and was not executed again."
        elif other.outcome != record.outcome:
            why = f": {other.reason}" if other.reason else ""
            yield f"{case} is stored as {record.outcome}, and is {other.outcome} when judged again{why}"
        elif (difference := _other_finding(record, other)) is not None:
            yield f"{case} {difference}"
        elif record.exchanges != other.exchanges:
            yield f"{case} is stored with {record.exchanges} exchanges, and has {other.exchanges} when judged again."
        elif sorted(record.freedoms) != sorted(other.freedoms):
            yield f"{case} is stored with other choices at what is left open than it shows when judged again."
        elif record.requirements != other.requirements:
            yield f"{case} is stored for other requirements than it puts to the test."


def _other_finding(record: CaseRecord, other: CaseRecord) -> str | None:
    stored, new = ([_essence(finding) for finding in each.findings] for each in (record, other))
    if stored == new:
        return None
    for before, after in zip(stored, new, strict=False):
        if before != after:
            return f"is stored with the finding {before!r}, and has {after!r} when judged again."
    return f"is stored with {len(stored)} findings, and has {len(new)} when judged again."


def _essence(finding: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a finding says, without the exchanges that it quotes."""
    return tuple(
        str(finding.get(name, "")) for name in ("requirement", "operation", "summary", "place", "expected", "found")
    )


def _by_case(run: StoredRun) -> dict[str, CaseRecord]:
    return {short_case(record.case): record for record in run.ledger.records}


def _other_libraries(folder: Path) -> list[str]:
    """Return a sentence for each library that draws or judges and is another version here."""
    try:
        then = exchange_log.read_header(folder / exchange_log.NAME)["target"]["libraries"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    here = versions()
    return [
        f"The run had {name} {version}, and here is {here.get(name, 'none')}; install that version to compare."
        for name, version in then.items()
        if here.get(name) != version
    ]
