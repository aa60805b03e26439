"""Runs pytest with the suite as a command of its own, as a user does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[2]
INPUT_CHECKS = "conformance/checks/test_input.py"
SECONDS = 240
ONE_CASE = f"{INPUT_CHECKS}::test_invalid_input_is_refused[INPUT-WELL-FORMED-conversations_get-two-documents]"
FEW = "conversations_get and (two-documents or trailing-comma or input-unknown-null)"
"""Selects three cases of one operation."""


@dataclass(frozen=True)
class Ended:
    """A run that has ended: its exit status, everything that it printed, and its report if it wrote one."""

    status: int
    output: str
    report: Mapping[str, Any] | None = None

    @property
    def last_words(self) -> str:
        """What was printed last, for assertions."""
        return self.output[-3000:]


def run_pytest(*arguments: str, folder: Path = CHECKOUT, **environment: str) -> Ended:
    """Run pytest in ``folder`` with these arguments, and these variables beside those of this process.

    A folder given with ``--report-dir=`` is read back.
    """
    ended = subprocess.run(  # noqa: S603 - our own command
        command(*arguments), cwd=folder, env=clean_environment(**environment), capture_output=True, check=False,
        timeout=SECONDS,
    )  # fmt: skip
    output = (ended.stdout + ended.stderr).decode("utf-8", "backslashreplace")
    written = [Path(each.partition("=")[2]) / "report.json" for each in arguments if each.startswith("--report-dir=")]
    report = json.loads(written[0].read_text(encoding="utf-8")) if written and written[0].exists() else None
    return Ended(ended.returncode, output, report)


def command(*arguments: str) -> list[str]:
    """Return the command line of such a run; it keeps no cache unless it says where."""
    without_cache = () if any("cache_dir" in each for each in arguments) else ("-p", "no:cacheprovider")
    return [sys.executable, "-m", "pytest", *without_cache, *arguments]


def clean_environment(**more: str) -> dict[str, str]:
    """Return this process's environment without what this very test run has put there."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "SOSOAPI_"))}
    return {**kept, "COLUMNS": "200", **more}


def assert_readable(ended: Ended) -> None:
    """See that nothing in what was printed is a traceback of ours, or anything that a terminal would act on."""
    assert "Traceback" not in ended.output, ended.last_words
    assert "INTERNALERROR" not in ended.output, ended.last_words
    unwanted = re.findall(
        r"[^\n\t\x20-\x7e\xa0-\u200a\u2010-\u2027\u2030-\u205f\u2070-\ufefe\uff00-\uffff]", ended.output
    )
    assert [] == unwanted
