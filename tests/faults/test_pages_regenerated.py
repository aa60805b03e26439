"""The pages of the requirement families are what would be written now, exchanges included."""

from __future__ import annotations

import subprocess
import sys

import pytest
from suite_run import CHECKOUT, clean_environment

SECONDS = 3600


def changed(*families: str) -> list[str]:
    """Return what would be written otherwise."""
    ended = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "conformance.requirement_pages", "--check", *families],
        cwd=CHECKOUT, env=clean_environment(), capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert ended.returncode in (0, 1), ended.stderr
    return [line for line in ended.stdout.splitlines() if line.startswith("stale: ")]


def test_a_page_is_the_same_again() -> None:
    """The same seed, the same cases and the same instant make the same page."""
    assert [] == changed("late")


@pytest.mark.thorough
def test_all_pages_are_the_same_again() -> None:
    """After a change of a check, a fault or the reference server: ``python -m conformance.requirement_pages``."""
    assert [] == changed()
