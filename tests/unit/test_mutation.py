"""The mutation-testing tool: what tests notice is killed, what they do not survives, and excuses cannot go stale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "mutation" / "mutate_judge.py"
TOY = """
LIMITS = (1, 2)

def is_even(number: int) -> bool:
    return number % 2 == 0

def is_small(number: int) -> bool:
    return number < 10

def nobody_calls_this() -> bool:
    return True
"""
TEST = """
import pytest
from toy.rules import LIMITS, is_even, is_small

def test_rules():
    assert [True, False] == [is_even(4), is_even(5)]
    assert [True, False] == [is_small(9), is_small(11)]
    assert 2 in LIMITS
"""
SURVIVING = "rules:is_small | neighbour | number < 10"


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """Return a folder with a package and its test, which checks all but a few things."""
    package = tmp_path / "toy"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "rules.py").write_text(TOY)
    (tmp_path / "test_toy.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    return tmp_path


def run(toy: Path, *excused: str) -> tuple[int, list[str]]:
    """Return the exit status and the lines that the tool prints."""
    names = "".join(f"'{name}'," for name in excused)
    (toy / "equivalent.toml").write_text(f"[[equivalent]]\nreason = 'a test'\nmutants = [{names}]\n")
    command = [sys.executable, str(TOOL), "--source", "toy", "--package", "toy", "--equivalent", "equivalent.toml"]
    ended = subprocess.run([*command, "test_toy.py"], cwd=toy, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603  our own tool
    return ended.returncode, ended.stdout.splitlines()


def test_what_no_test_notices_survives(toy: Path) -> None:
    """A boundary, an element of a constant and a function without a test are told; everything else is killed."""
    status, lines = run(toy)
    assert 1 == status
    assert {
        f"survived: rules:8:12 {SURVIVING}",
        "survived: rules:2:11 rules: | without element | 1",
        "survived: rules:2:11 rules: | one more | 1",
        "survived: rules:8:21 rules:is_small | one more | 10",
        "reached by no test: rules:11:5 rules:nobody_calls_this | opposite | return True",
    } == {line for line in lines if line.startswith(("survived", "reached"))}
    assert "| all | 12 | 7 | 0 | 0 | 5 |" in lines


def test_an_excuse_must_be_needed(toy: Path) -> None:
    """A survivor that is listed is no failure; one that is killed, or is not there, is."""
    killed = "rules:is_even | opposite | return number % 2 == 0"
    status, lines = run(toy, SURVIVING, killed, "rules:gone | opposite | return True")
    assert 1 == status
    assert not any(SURVIVING in line for line in lines)
    assert [
        "is listed, but does not exist: rules:gone | opposite | return True",
        f"is listed, but a test notices it: {killed}",
    ] == [line for line in lines if line.startswith("is listed")]
