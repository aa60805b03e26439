"""Other people's pytest runs, with the plugin installed: it stays out of the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from suite_run import run_pytest

from conformance.embedded import start_reference_server

TEST = "def test_mine():\n    assert True\n"
FAILING = "def test_mine():\n    assert False\n"
MODULES = """
import sys

def test_nothing_heavy_is_imported():
    heavy = {"hypothesis", "hypothesis_jsonschema", "httpx", "jsonschema", "jsonschema_rs", "h11", "starlette"}
    assert not heavy & set(sys.modules), heavy & set(sys.modules)
    assert "conformance.plugin" in sys.modules
    assert "conformance.run_plugin" not in sys.modules
"""


def write(folder: Path, **files: str) -> None:
    """Write Python files of a project."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def test_an_unrelated_project_notices_nothing(tmp_path: Path) -> None:
    """Nothing of ours is collected, printed or imported, and no option is asked for."""
    write(tmp_path, test_mine=MODULES)
    ended = run_pytest("-p", "no:hypothesispytest", "-p", "no:schemathesis", folder=tmp_path)
    assert 0 == ended.status, ended.last_words
    assert "1 passed" in ended.output
    assert 1 == ended.output.count("conform"), "only pytest's own list of plugins names it"


@pytest.mark.parametrize(
    "arguments", [["--seed", "abc"], ["--profile", "fast"], ["--transport", "tcp"], ["--target", "x"]], ids=" ".join
)
def test_options_of_the_same_name_belong_to_whoever_has_them(tmp_path: Path, arguments: list[str]) -> None:
    """A conftest.py may add options that this suite has too, or that look like a misspelt one."""
    name, word = arguments
    write(
        tmp_path,
        conftest=f"def pytest_addoption(parser):\n    parser.addoption({name!r})\n",
        test_mine=f"def test_mine(request):\n    assert {word!r} == request.config.getoption({name!r})\n",
    )
    ended = run_pytest(*arguments, folder=tmp_path)
    assert 0 == ended.status, ended.last_words


def test_an_environment_inside_a_project_is_not_a_run_of_the_suite(tmp_path: Path) -> None:
    """Where the suite is installed below the folder that pytest is started in, nothing is started."""
    site = tmp_path / "venv" / "lib" / "site-packages"
    site.mkdir(parents=True)
    (site / "conformance").symlink_to(Path(__file__).parents[2] / "conformance")
    (site / "contracts").symlink_to(Path(__file__).parents[2] / "contracts")
    write(tmp_path, test_mine=TEST)
    ended = run_pytest(folder=tmp_path, PYTHONPATH=str(site))
    assert 0 == ended.status, ended.last_words
    assert 1 == ended.output.count("conform"), "only pytest's own list of plugins names it"


def test_a_failing_test_of_the_vendor_fails_the_run(tmp_path: Path) -> None:
    """Though everything of the suite's passes; and a passing one beside a target is no conformance."""
    write(tmp_path, test_mine=FAILING)
    case = "conformance/checks/test_input.py::test_invalid_input_is_refused[INPUT-OBJECT-conversations_get-empty-body]"
    ended = run_pytest(case, str(tmp_path / "test_mine.py"))
    assert 1 == ended.status, ended.last_words
    assert "1 failed, 1 passed" in ended.output


def test_a_target_without_checks_ends_with_status_5(tmp_path: Path) -> None:
    """Options of the suite are given, but only a test of the vendor's is selected."""
    server = start_reference_server()
    try:
        write(tmp_path, test_mine=TEST)
        ended = run_pytest("--target-url", server.url, folder=tmp_path)
    finally:
        server.stop()
    assert 5 == ended.status, ended.last_words
    assert "No conformance check was selected" in ended.output


CONTROL = """
from conformance.control.http import HttpControl

def pytest_conformance_control(config):
    print("test control from the vendor's conftest")
    return HttpControl({url!r}, None)
"""


def test_a_vendors_conftest_may_offer_test_control(tmp_path: Path) -> None:
    """The hook takes the place of a control URL."""
    server = start_reference_server()
    try:
        write(tmp_path, conftest=CONTROL.format(url=server.control_url), test_mine=TEST)
        case = "test_invalid_input_is_refused[INPUT-OBJECT-conversations_get-empty-body]"
        checks = Path(__file__).parents[2] / "conformance" / "checks" / "test_input.py"
        ended = run_pytest(
            "-s", "test_mine.py", f"{checks}::{case}", "--target-url", server.url,
            f"--report-dir={tmp_path / 'report'}", folder=tmp_path,
        )  # fmt: skip
    finally:
        server.stop()
    assert 0 == ended.status, ended.last_words
    assert ended.report is not None
    assert ("control", 1) == (ended.report["tier"], ended.report["cases"]["passed"])
