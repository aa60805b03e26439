"""What verifying makes of the part that judges again: its absence and its failures are refusals, never silence."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.claim.verifying import judged_again
from conformance.errors import UsageProblem

NAME = "conformance.rejudging"


@pytest.mark.parametrize("module", [None, SimpleNamespace()], ids=["no-module", "no-function"])
def test_without_that_part_nothing_is_verified(module: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation that cannot judge again says so."""
    monkeypatch.setitem(sys.modules, NAME, module)
    expected = "The stored exchanges cannot be judged again: this installation of the suite lacks that part."
    assert (expected,) == judged_again(Path(), Path())


def test_a_problem_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """As is everything that is different."""

    def judge_again(folder: Path, contract_dir: Path) -> tuple[str, ...]:
        raise UsageProblem("is wrong", f"{folder}", f"See {contract_dir}.")

    monkeypatch.setitem(sys.modules, NAME, SimpleNamespace(judge_again=judge_again))
    expected = "The stored exchanges cannot be judged again: a: is wrong. See b."
    assert (expected,) == judged_again(Path("a"), Path("b"))


def test_differences_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentence by sentence."""
    monkeypatch.setitem(sys.modules, NAME, SimpleNamespace(judge_again=lambda *_: ["One.", "Two."]))
    assert ("One.", "Two.") == judged_again(Path(), Path())
