"""Order does not matter: backwards and shuffled, the cases come to the same as forwards."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from suite_run import Ended, run_pytest

ORDERING = '''
"""Turns the order of the cases round, or shuffles them."""
import random
def pytest_addoption(parser):
    parser.addoption("--case-order", default="forwards")
def pytest_collection_modifyitems(config, items):
    order = config.getoption("--case-order")
    if order == "backwards":
        items.reverse()
    elif order == "shuffled":
        random.Random(5).shuffle(items)
'''


def run_in(order: str, folder: Path) -> Ended:
    """Run the quick profile with its cases in that order."""
    (folder / "ordering.py").write_text(ORDERING, encoding="utf-8")
    options = ("-q", "--profile=quick", "--seed=17", f"--report-dir={folder / order}")
    return run_pytest("-p", "ordering", f"--case-order={order}", *options, PYTHONPATH=str(folder))


@pytest.mark.parametrize("order", ["backwards", pytest.param("shuffled", marks=pytest.mark.thorough)])
def test_the_verdict_does_not_depend_on_the_order(order: str, tmp_path: Path) -> None:
    """Every requirement comes to the same, and so does the run."""
    forwards, turned = run_in("forwards", tmp_path), run_in(order, tmp_path)
    assert forwards.report is not None, forwards.last_words
    assert turned.report is not None, turned.last_words
    assert forwards.report["verdict"] == turned.report["verdict"]
    assert outcomes(forwards.report) == outcomes(turned.report)


def outcomes(report: Mapping[str, Any]) -> dict[str, str]:
    """Return what became of each requirement."""
    return {each["id"]: each["outcome"] for each in report["requirements"]}
