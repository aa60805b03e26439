"""Whether a run that is said to conform had every case: one that found a fault could be left out without a gap."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from conformance.recorded.tape import short_case
from conformance.report import case_log
from conformance.report.case_log import StoredRun


def missing_cases(stored: StoredRun, contract_dir: Path) -> Iterator[str]:
    """Yield a sentence for each case of a run over that transport, in that profile, that is not among the stored ones.

    Which cases there are is asked of pytest, in a process of its own. A run that does not conform may have left out
    what its user chose; its verdict stands on what it found.
    """
    facts = stored.facts
    with tempfile.TemporaryDirectory() as place:
        command = [
            sys.executable, "-m", "pytest", "--pyargs", "conformance", "--collect-only", "-q", "-p", "no:cacheprovider",
            "-p", "no:xdist", "--rootdir", place, "--profile", facts.profile, "--transport", facts.transport,
            "--contract-dir", str(contract_dir.resolve()),
        ]  # fmt: skip
        ended = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    cases = [short_case(line) for line in ended.stdout.splitlines() if "::" in line]
    if ended.returncode or not cases:
        yield f"Which cases such a run has cannot be told: the suite does not load (status {ended.returncode})."
        return
    known = {short_case(record.case) for record in stored.ledger.records}
    for case in cases:
        if case not in known:
            yield f"The case {case} belongs to such a run, and {case_log.NAME} does not have it."
