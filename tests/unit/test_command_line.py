"""The command ``sosoapi-conformance``: subcommands, help, and wrong words."""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from conformance import __version__
from conformance.command_line import COMMANDS, main
from conformance.errors import ExitStatus, UsageProblem


def test_no_arguments_print_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Without arguments every subcommand is shown, and nothing has gone wrong."""
    assert main([]) == ExitStatus.CONFORMS
    shown = capsys.readouterr().out
    assert [name for name in COMMANDS if f"\n    {name}" not in shown] == []


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_ends_with_status_0(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The command and each subcommand explain themselves."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: sosoapi-conformance")


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    """``--version`` names the program and its version."""
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"sosoapi-conformance {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["srve"], "sosoapi-conformance: unknown command 'srve'. Did you mean 'serve'?"),
        (["--versoin"], "sosoapi-conformance: unknown option --versoin. Did you mean '--version'?"),
        (["serve", "--prot", "1"], "sosoapi-conformance serve: unknown option --prot. Did you mean '--port'?"),
        (["serve", "--databse=x"], "sosoapi-conformance serve: unknown option --databse. Did you mean '--database'?"),
        (["serve", "--fault", "nonsense"], "nonsense"),
        (["init", "--forse"], "sosoapi-conformance init: unknown option --forse. Did you mean '--force'?"),
        (["requirements", "INPUT-TYPO"], "Did you mean 'INPUT-TYPE'?"),
        (["serve", "--port", "x"], "argument --port: invalid int value: 'x'."),
        (["serve", "extra"], "sosoapi-conformance serve: unexpected argument 'extra'."),
    ],
)
def test_wrong_words_are_one_line_and_status_4(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong command, option or value is one line on stderr that names the nearest right one."""
    assert main(arguments) == ExitStatus.USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_options_are_not_abbreviated(capsys: pytest.CaptureFixture[str]) -> None:
    """A prefix of an option is refused, so that a later option can never change what a script means."""
    assert main(["serve", "--data", "memory"]) == ExitStatus.USAGE
    assert "unknown option --data" in capsys.readouterr().err


def test_usage_problems_of_a_subcommand_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A problem that a subcommand raises is shown like any other wrong word."""

    def run(namespace: argparse.Namespace) -> int:
        raise UsageProblem("is wrong", str(sorted(vars(namespace))), "Correct it.")

    module = SimpleNamespace(add_arguments=lambda _: None, run=run)
    monkeypatch.setattr(importlib, "import_module", lambda _: module)
    assert main(["serve"]) == ExitStatus.USAGE
    assert capsys.readouterr().err == "[]: is wrong. Correct it.\n"


def test_requirements_know_which_checks_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """The list of requirements is compared with the checks of the suite."""
    assert main(["requirements", "INPUT-TYPE", "--format", "json"]) == ExitStatus.CONFORMS
    assert json.loads(capsys.readouterr().out)["checked"] is True


def test_a_reader_that_stops_early_is_no_fault() -> None:
    """``sosoapi-conformance serve --list-faults | head`` ends without a traceback."""
    command = [sys.executable, "-m", "conformance.command_line", "serve", "--list-faults"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603  our own
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == ExitStatus.CONFORMS


def test_help_loads_nothing_heavy() -> None:
    """The command answers without loading pytest, a web framework or a schema library."""
    code = (
        "import sys; from conformance.command_line import main; main([]); "
        "print([name for name in ('pytest', 'starlette', 'hypothesis', 'jsonschema', 'httpx') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603  our own
    assert ended.stdout.splitlines()[-1] == "[]"
