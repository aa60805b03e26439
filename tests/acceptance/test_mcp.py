"""The suite over MCP: whole runs on the reference server, one server over several transports, and wrong targets."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from raw_server import raw_server, response, sending
from suite_run import assert_readable, run_pytest

from conformance.embedded import EmbeddedServer, start_reference_server

SOME_CHECKS = tuple(
    f"conformance/checks/test_{name}.py" for name in ("discovery", "protocol", "archive", "replay", "authentication")
)


@pytest.mark.parametrize("transport", ["mcp-http", "mcp-stdio"])
def test_the_reference_server_conforms(transport: str, tmp_path: Path) -> None:
    """Everything that is judged over plain HTTP is judged over MCP too, and MCP itself; the revision is named."""
    ended = run_pytest("--profile=quick", "--seed=3", f"--transport={transport}", f"--report-dir={tmp_path}")
    assert_readable(ended)
    assert 0 == ended.status, ended.last_words
    assert "verdict: conforms" in ended.output
    assert "level: behaviour" in ended.output
    assert f"({transport} 2026-07-28, control tier)" in ended.output
    assert ended.report is not None
    assert (transport, "2026-07-28") == (ended.report["transport"], ended.report["mcp_revision"])
    outcomes = {each["id"]: each["outcome"] for each in ended.report["requirements"]}
    assert {"PROTOCOL-EQUIVALENCE"} == {name for name, outcome in outcomes.items() if outcome == "not assessed"}
    assert "not applicable" == outcomes["HTTP-WRONG-METHOD"]


@pytest.mark.parametrize(
    ("transport", "revision"),
    [
        ("mcp-http", "2025-06-18"),
        ("mcp-stdio", "2025-11-25"),
        pytest.param("mcp-http", "2025-11-25", marks=pytest.mark.thorough),
        pytest.param("mcp-stdio", "2025-06-18", marks=pytest.mark.thorough),
    ],
)
def test_it_conforms_in_the_earlier_revisions(transport: str, revision: str) -> None:
    """A revision is pinned by an option, and the run says so."""
    options = ("--profile=quick", "--seed=5", f"--transport={transport}", f"--mcp-revision={revision}")
    ended = run_pytest(*options, *SOME_CHECKS)
    assert_readable(ended)
    assert 0 == ended.status, ended.last_words
    assert f"({transport} {revision}, control tier)" in ended.output
    assert "nonconforming" not in ended.output


def target_file(folder: Path, server: EmbeddedServer) -> Path:
    """Write a target file that names all three transports of a server."""
    path = folder / "target.toml"
    path.write_text(
        f'[target]\nurl = "{server.url}"\n[control]\nurl = "{server.control_url}"\n'
        f'[target.also.mcp-http]\nurl = "{server.mcp_url}"\n'
        f"[target.also.mcp-stdio]\ncommand = '''{server.stdio_command}'''\n",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize(
    ("fault", "outcome"), [(None, "pass"), ("mcp-keys-of-its-own", "fail"), ("mcp-refusals-of-one-kind", "fail")]
)
def test_one_server_is_the_same_on_every_transport(fault: str | None, outcome: str, tmp_path: Path) -> None:
    """A target file that names several transports has them compared."""
    server = start_reference_server(*(("--fault", fault) if fault else ()))
    try:
        options = ("-q", "--seed=7", f"--target-config={target_file(tmp_path, server)}", f"--report-dir={tmp_path}")
        ended = run_pytest(*options, "conformance/checks/test_equivalence.py")
    finally:
        server.stop()
    assert_readable(ended)
    assert int(outcome == "fail") == ended.status, ended.last_words
    assert ended.report is not None
    failed = {each["id"]: each["outcome"] for each in ended.report["requirements"]}
    assert outcome == failed["PROTOCOL-EQUIVALENCE"]


def test_a_further_transport_over_which_nobody_answers(tmp_path: Path) -> None:
    """Status 6 and what to correct: a child that does not start says nothing about the server."""
    server = start_reference_server()
    path = tmp_path / "target.toml"
    nobody = shlex.join([sys.executable, "-c", "raise SystemExit(3)"])
    path.write_text(
        f'[target]\nurl = "{server.url}"\n[control]\nurl = "{server.control_url}"\n'
        f"[target.also.mcp-stdio]\ncommand = '''{nobody}'''\n",
        encoding="utf-8",
    )
    try:
        ended = run_pytest("-q", "--seed=7", f"--target-config={path}", "conformance/checks/test_equivalence.py")
    finally:
        server.stop()
    assert_readable(ended)
    assert 6 == ended.status, ended.last_words
    told = " ".join(ended.output.split())
    assert "no usable answer over mcp-stdio: the child has ended with status 3" in told
    assert "Correct [target.also.mcp-stdio] of the target file" in told


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise SystemExit(3)", "the child has ended with status 3 without an answer"),
        ("import nothing_there", "No module named 'nothing_there'"),
        ("print('Server ready.', flush=True); input(); input()", "it printed what is no message: 'Server ready.'"),
        ("import os, sys; os.close(1); sys.stdin.read()", "the child has closed its output"),
    ],
    ids=["ends", "cannot-start", "prints-rubbish", "closes-stdout"],
)
def test_a_child_that_is_no_server(program: str, said: str, tmp_path: Path) -> None:
    """Status 6, the reason, what the child said, and what to do."""
    path, target = tmp_path / "server.py", tmp_path / "target.toml"
    path.write_text(program, encoding="utf-8")
    target.write_text("[limits]\ncall_seconds = 1\n", encoding="utf-8")
    command = shlex.join([sys.executable, str(path)])
    ended = run_pytest("-q", f"--target-config={target}", f"--target-command={command}")
    assert 6 == ended.status, ended.last_words
    assert said in ended.output
    assert "Start the server, or correct --target-url or --target-command." in ended.output
    assert_readable(ended)


def test_a_command_that_is_not_there() -> None:
    """Status 6, and the command."""
    ended = run_pytest("-q", "--target-command=no-such-program --stdio")
    assert 6 == ended.status, ended.last_words
    assert "no-such-program --stdio: the command cannot be started (no such file or directory)" in ended.output
    assert_readable(ended)


def test_a_web_server_that_does_not_speak_mcp() -> None:
    """Status 6, and the status that it answered with."""
    with raw_server(sending(response(b"<html>", "200 OK"))) as server:
        ended = run_pytest("-q", f"--target-url={server.url}/mcp")
    assert 6 == ended.status, ended.last_words
    assert f"what answers at {server.url}/mcp does not speak MCP (200 OK)" in ended.output
    assert_readable(ended)
