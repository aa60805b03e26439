"""The reference page names every option, exit status, verdict, level and file, and no other ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from conformance.errors import ExitStatus
from conformance.plugin import OPTIONS
from conformance.run_keeping import WRITTEN
from conformance.verdict import LEVELS, Overall

PAGE = (Path(__file__).parents[2] / "reports" / "README.md").read_text(encoding="utf-8")


def first_cells(title: str) -> list[str]:
    """Return the first cell of each row in the tables below a heading."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)
    return [cell.strip("`") for cell in cells if cell.startswith("`") or cell.isdigit()]


def test_every_option_is_there() -> None:
    """In any order."""
    assert sorted(OPTIONS) == sorted(cell.split()[0] for cell in first_cells("Options of a run"))


def test_every_exit_status_is_there() -> None:
    """Each with what it means."""
    assert [str(int(status)) for status in ExitStatus] == first_cells("Exit statuses")


def test_every_verdict_and_level_is_there() -> None:
    """Levels from the most to the least."""
    assert [*get_args(Overall), *reversed(LEVELS)] == first_cells("Verdicts")


def test_every_file_is_there() -> None:
    """And the one that pytest writes."""
    assert sorted([*WRITTEN, "junit.xml"]) == sorted(first_cells("Files of a run"))
