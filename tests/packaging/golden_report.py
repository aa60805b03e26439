"""Writes ``reports/golden/report.json``: a quick run against the reference server, address and duration made equal.

Run ``python tests/packaging/golden_report.py`` after a change of the report's shape or of the checks.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
_ADDRESS = "http://127.0.0.1:8000"
_SHOWN = 10


def main() -> int:
    """Run the suite and write the report; return the suite's exit status."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--profile", "quick", "--seed", "1"]
        command += [f"--report-dir={folder}", "conformance/checks"]
        status = subprocess.run(command, cwd=CHECKOUT, check=False).returncode  # noqa: S603  our own command
        report = json.loads((Path(folder) / "report.json").read_text(encoding="utf-8"))
    report["target"]["address"] = _ADDRESS
    report["duration_s"] = 5.0
    report["started_at"] = "2026-11-30T12:00:00Z"
    # What changes with every run is made equal, and of what is long the beginning is enough.
    report["case_outcomes"] = report["case_outcomes"][:_SHOWN]
    report["timings"]["slowest"] = report["timings"]["slowest"][:1]
    for timed in (*report["case_outcomes"], *report["timings"]["slowest"], *report["timings"]["by_family"]):
        timed["seconds"] = 0.1
    golden = CHECKOUT / "reports" / "golden" / "report.json"
    golden.parent.mkdir(exist_ok=True)
    golden.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
