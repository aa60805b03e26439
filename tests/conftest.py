"""What every test of the suite itself may use, and the option for those that take long."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# Test folders are no packages; their shared helpers lie in one folder that is put on the path here.
sys.path.insert(0, str(Path(__file__).parent / "support"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option with which everything is run."""
    parser.addoption("--thorough", action="store_true", help="run the longest tests too, as tox -e thorough does")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the project's own tests that are marked as thorough."""
    if not config.getoption("--thorough", default=False):
        long = [item for item in items if _is_long(item)]
        items[:] = [item for item in items if not _is_long(item)]
        config.hook.pytest_deselected(items=long)


def _is_long(item: pytest.Item) -> bool:
    return item.path.is_relative_to(Path(__file__).parent) and item.get_closest_marker("thorough") is not None
