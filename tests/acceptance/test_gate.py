"""The gate of a pipeline, run as a pipeline runs it: the script, and the steps of the GitHub action."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from gate_files import SCRIPT, action_script
from suite_run import CHECKOUT, SECONDS, clean_environment

from conformance.errors import ExitStatus

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipelines with bash")

FEW = ("-p", "no:cacheprovider", "-p", "no:schemathesis", "-q", "--seed=7", "--profile=quick")
ONE_CASE = "INPUT-TYPE-conversations_archive-expected_revision-true"
FAULT = "input-boolean-as-integer"


@dataclass(frozen=True)
class Server:
    """A reference server that a gate is to start: its command and its two addresses."""

    command: str
    url: str
    control_url: str


def made_server(*options: str) -> Server:
    """Return a server on two ports that are free now."""
    with socket.socket() as first, socket.socket() as second:
        ports = []
        for each in (first, second):
            each.bind(("127.0.0.1", 0))
            ports.append(each.getsockname()[1])
    port, control = ports
    words = [sys.executable, "-m", "conformance.reference.serve", "--port", str(port), "--control-port", str(control)]
    # The path of the checkout, since the folder that a gate runs in is not it.
    command = f"cd {shlex.quote(str(CHECKOUT))} && {shlex.join([*words, *options])}"
    return Server(command, f"http://127.0.0.1:{port}", f"http://127.0.0.1:{control}")


def answers(url: str) -> bool:
    """Tell whether anything takes connections at an address."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.socket() as client:
        return client.connect_ex((host, int(port))) == 0


def run_gate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a folder."""
    return subprocess.run(  # noqa: S603 - our own script
        ["bash", str(SCRIPT), *arguments],  # noqa: S607 - whichever bash there is
        cwd=folder, env=clean_environment(PYTHON=sys.executable), capture_output=True, text=True, check=False,
        timeout=SECONDS,
    )  # fmt: skip


def run_step(
    folder: Path, name: str, inputs: Mapping[str, str], outputs: Mapping[str, str] | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a step of the action as the runner does, with ``folder`` for the files that it gives to a step."""
    text, own = action_script(name, inputs, outputs or {})
    script = folder / "step.sh"
    script.write_text(text, encoding="utf-8")
    files = {
        "RUNNER_TEMP": str(folder / "temp"),
        "GITHUB_ACTION_PATH": str(CHECKOUT),
        "GITHUB_OUTPUT": str(folder / "output.txt"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.txt"),
    }
    return subprocess.run(  # noqa: S603 - our own script
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],  # noqa: S607 - whichever bash there is
        cwd=folder, env=clean_environment(**files, **own, **variables), capture_output=True, text=True, check=False,
        timeout=SECONDS,
    )  # fmt: skip


def place_python(folder: Path) -> None:
    """Put this interpreter where the action's own installation would be."""
    programs = folder / "temp" / "sosoapi-conformance" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    (programs / "python").chmod(0o755)


@pytest.mark.parametrize(
    ("options", "status"), [((), ExitStatus.CONFORMS), (("--fault", FAULT), ExitStatus.DOES_NOT_CONFORM)]
)
def test_the_script_gates(options: tuple[str, ...], status: ExitStatus, tmp_path: Path) -> None:
    """It starts the server, waits for it, passes on the suite's status, and leaves nothing running."""
    server = made_server(*options)
    ended = run_gate(
        tmp_path, "--start", server.command, "--ready", f"{server.url}/", "--wait", "30",
        "--log", "new/server.log", "--", f"--target-url={server.url}", f"--control-url={server.control_url}",
        "--report-dir=reports", *FEW, "-k", ONE_CASE,
    )  # fmt: skip
    assert status == ended.returncode, ended.stdout + ended.stderr
    assert f"gate: the suite ended with status {int(status)}" in ended.stdout
    assert (tmp_path / "reports" / "report.json").is_file()
    assert server.url in (tmp_path / "new" / "server.log").read_text(encoding="utf-8")
    assert not answers(server.url)


def test_a_server_that_runs_already_is_only_waited_for(tmp_path: Path) -> None:
    """Whatever it answers, also a failure: it is there."""
    server = made_server()
    with subprocess.Popen(["bash", "-c", f"exec 0</dev/null; {server.command}"], start_new_session=True) as process:  # noqa: S603, S607
        try:
            ended = run_gate(tmp_path, "--ready", f"{server.url}/no/such/path", "--wait", "30", "--", "--version")
        finally:
            os.killpg(process.pid, 15)
    assert (0, True) == (ended.returncode, "pytest" in ended.stdout)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "echo '::error::boo'; echo ' ##[warning]boo'; printf '\\033[31m'; exit 3",
            "the server ended before it answered",
        ),
        ("sleep 60", "the server did not answer within 1 s"),
    ],
)
def test_a_server_that_does_not_come_is_told_apart_from_a_wrong_one(command: str, said: str, tmp_path: Path) -> None:
    """Status 6 and its last words, of which none is a command to a CI service or a terminal."""
    ended = run_gate(tmp_path, "--start", command, "--ready", made_server().url, "--wait", "1", "--", "--version")
    assert ExitStatus.COULD_NOT_RUN == ended.returncode
    assert f"gate: {said}" in ended.stderr
    lines = [line.strip() for line in (ended.stdout + ended.stderr).splitlines()]
    assert [] == [line for line in lines if "##[" in line or "\x1b" in line or line.startswith("::")][1:]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--wiat", "3"], "unknown option '--wiat'. What is meant for the suite comes after --."),
        (["--wait"], "--wait: a value is missing."),
        (["--wait", "soon"], "--wait: 'soon' is not a number of seconds."),
        (["--start", "true"], "--start: needs --ready, to know when the server is there."),
        (["--ready", "ftp://h/"], "--ready: 'ftp://h/' is not an http or https URL."),
    ],
)
def test_a_wrong_option_of_the_script_is_named(arguments: list[str], said: str, tmp_path: Path) -> None:
    """With the status that the suite has for it."""
    ended = run_gate(tmp_path, *arguments)
    assert (ExitStatus.USAGE, f"gate: {said}\n") == (ended.returncode, ended.stderr)


@pytest.mark.parametrize(
    ("options", "status", "verdict"), [((), 0, "incomplete"), (("--fault", FAULT), 1, "does not conform")]
)
def test_the_action_gates(options: tuple[str, ...], status: int, verdict: str, tmp_path: Path) -> None:
    """Its steps say what came of the run, show it in the summary of the job, and fail only at the end."""
    server = made_server(*options)
    place_python(tmp_path)
    inputs = {
        "start-command": server.command, "ready-url": f"{server.url}/", "ready-seconds": "30", "profile": "quick",
        "target-url": server.url, "control-url": server.control_url, "seed": "7", "report-dir": "my reports",
        "arguments": f"-p\nno:schemathesis\n-p\nno:cacheprovider\n\n-k\n{ONE_CASE}",
    }  # fmt: skip
    ended = run_step(tmp_path, "Run the suite", inputs)
    assert 0 == ended.returncode, ended.stdout + ended.stderr
    written = (tmp_path / "output.txt").read_text(encoding="utf-8")
    assert f"verdict={verdict}\nreport=my reports\nexit-status={status}\n" == written
    assert (tmp_path / "summary.txt").read_text(encoding="utf-8").startswith(f"## Conformance: {verdict}\n")
    assert (tmp_path / "my reports" / "server.log").is_file()
    assert status == run_step(tmp_path, "Decide", {}, {"exit-status": str(status)}).returncode
    assert not answers(server.url)


def test_the_log_of_the_action_gives_no_commands_to_the_runner(tmp_path: Path) -> None:
    """All that a server or the suite says stands between the two marks that stop and resume them."""
    place_python(tmp_path)
    inputs = {"start-command": "exit 1", "ready-url": made_server().url, "ready-seconds": "1"}
    lines = run_step(tmp_path, "Run the suite", inputs).stdout.splitlines()
    opening, mark = lines[0].rsplit("::", 1)
    assert ("::stop-commands", 32, f"::{mark}::") == (opening, len(mark), lines[-1])


def test_an_earlier_report_is_not_taken_for_this_run(tmp_path: Path) -> None:
    """Where nothing ran, the folder of an earlier run does not say otherwise."""
    place_python(tmp_path)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "report.json").write_text('{"verdict": "conforms"}', encoding="utf-8")
    inputs = {"start-command": "exit 1", "ready-url": made_server().url, "report-dir": "old"}
    run_step(tmp_path, "Run the suite", inputs)
    written = (tmp_path / "output.txt").read_text(encoding="utf-8")
    assert "verdict=not run\nreport=old\nexit-status=6\n" == written


def test_a_line_break_in_an_input_makes_no_output(tmp_path: Path) -> None:
    """Outputs are lines: what is given as a folder must not be able to write another one."""
    place_python(tmp_path)
    inputs = {"start-command": "exit 1", "ready-url": made_server().url, "report-dir": "a\nverdict=conforms\r\n"}
    run_step(tmp_path, "Run the suite", inputs)
    written = (tmp_path / "output.txt").read_text(encoding="utf-8").splitlines()
    assert ["verdict=not run", "report=averdict=conforms", "exit-status=6"] == written


@pytest.mark.parametrize(
    ("package", "wanted"), [("", f"{CHECKOUT}[schemathesis]"), ("suite==1; true", "suite==1; true")]
)
def test_the_action_installs_the_suite(package: str, wanted: str, tmp_path: Path) -> None:
    """Its own checkout, or what it is told to, as one word, in an environment of its own."""
    programs = tmp_path / "programs"
    programs.mkdir()
    log = tmp_path / "log.txt"
    # Stands in for Python: notes its arguments, and makes an environment of nothing but itself.
    text = f"""#!/bin/bash
        printf '%s\\n' "$@" >>{shlex.quote(str(log))}
        if [[ $2 == venv ]]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; fi
        """
    (programs / "python").write_text(text.replace("\n        ", "\n"), encoding="utf-8")
    (programs / "python").chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    ended = run_step(tmp_path, "Install the suite", {"package": package}, PATH=path)
    assert 0 == ended.returncode, ended.stderr
    words = log.read_text(encoding="utf-8").splitlines()
    assert ["-m", "venv", str(tmp_path / "temp" / "sosoapi-conformance")] == words[:3]
    assert ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--", wanted] == words[3:]
