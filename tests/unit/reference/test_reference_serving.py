"""The reference server over real sockets: as a thread of this process and as a command of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from reference_world import World, fresh

from conformance.errors import ExitStatus, UsageProblem
from conformance.reference.server import Settings, _bind, running

COMMAND = [sys.executable, "-m", "conformance.reference.serve"]


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    """Return a client that keeps connections."""
    with httpx.Client(trust_env=False) as made:
        yield made


@contextmanager
def command(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """Run the command and give the process and its two addresses."""
    with subprocess.Popen(  # noqa: S603  our own command
        [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        try:
            lines: list[str] = []
            while not lines or not lines[-1].startswith("control "):
                lines.append(process.stdout.readline())
            assert [line[:8] for line in lines] in (
                ["target  ", "mcp     ", "stdio   ", "control "],
                ["target  ", "mcp     ", "control "],
                ["target  ", "control "],
            )
            yield process, lines[0][8:].strip(), lines[-1][8:].strip()
        finally:
            process.kill()


def ended_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)  # noqa: S603  our own


def seed(client: httpx.Client, control: str) -> tuple[dict[str, str], str]:
    """Make a person and a conversation; return the arguments of get and the token."""
    offline = World()
    body = {"scopes": ["agent:research"], "workspace_ids": [offline.workspace]}
    person = client.post(f"{control}/principals", json=body).json()
    client.put(f"{control}/clock", json={"workspace_id": offline.workspace, "now": "2026-03-01T11:00:00Z"})
    document = {"principal_id": person["principal_id"], **offline.document}
    assert client.post(f"{control}/conversations", json=document).status_code == 201
    offline.close()
    return {"workspace_id": offline.workspace, "conversation_id": offline.conversation_id}, person["token"]


def get(client: httpx.Client, target: str, arguments: dict[str, str], token: str) -> httpx.Response:
    """Call get."""
    url = f"{target}/research-api/conversations/get"
    return client.post(url, json=arguments, headers={"Authorization": f"Bearer {token}"})


def test_a_restart_keeps_ports_and_state(client: httpx.Client, tmp_path: Path) -> None:
    """After a restart the same ports answer with what was stored, and so does a new server on the same file."""
    settings = Settings(database=str(tmp_path / "state.sqlite"))
    with running(settings) as addresses:
        arguments, token = seed(client, addresses.control)
        before = get(client, addresses.target, arguments, token)
        assert before.status_code == 200
        assert client.post(f"{addresses.control}/restart").status_code == 204
        assert before.content == get(client, addresses.target, arguments, token).content
    with running(settings) as addresses:
        assert before.content == get(client, addresses.target, arguments, token).content


def test_a_connection_lives_through_refusals(client: httpx.Client) -> None:
    """After a refused and an oversized body the next valid request on the connection is answered."""
    with running() as addresses:
        arguments, token = seed(client, addresses.control)
        url, headers = f"{addresses.target}/research-api/conversations/get", {"Authorization": f"Bearer {token}"}
        assert client.post(url, content=b" " * 1_000_000, headers=headers).status_code == 413
        assert (
            client.post(url, content=b"{", headers={**headers, "Content-Type": "application/json"}).status_code == 400
        )
        assert client.post(url, json=arguments).status_code == 401
        assert get(client, addresses.target, arguments, token).status_code == 200


def test_listening_sockets_name_their_protocol() -> None:
    """Asyncio sets TCP_NODELAY only where the socket names TCP; without it each answer waits for 40 ms."""
    with _bind("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP


def test_a_port_in_use_is_a_usage_problem() -> None:
    """A taken port is refused in one sentence, in a thread and as a command with exit status 4."""
    with running() as addresses:
        port = addresses.target.rpartition(":")[2]
        with pytest.raises(UsageProblem, match="cannot be used"), running(Settings(port=int(port))):
            pass
        ended = ended_command("--control-port", port)
        assert (ended.returncode, ended.stdout) == (ExitStatus.USAGE, "")
        assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--fault", "none-such"],
        ["--variant", "none-such"],
        ["--database", "/nowhere/state.sqlite"],
        ["--port", "70000"],
    ],
)
def test_a_wrong_option_is_a_usage_problem(arguments: list[str]) -> None:
    """Unknown names and unusable files end with status 4 and one sentence."""
    ended = ended_command(*arguments)
    assert (ended.returncode, ended.stdout, len(ended.stderr.splitlines())) == (ExitStatus.USAGE, "", 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_command(client: httpx.Client, number: signal.Signals) -> None:
    """SIGINT and SIGTERM end it with status 0 and nothing more written, open connections or not."""
    with command() as (process, target, control):
        arguments, token = seed(client, control)
        assert get(client, target, arguments, token).status_code == 200
        process.send_signal(number)
        assert process.communicate() == ("", "")
        assert process.returncode == ExitStatus.CONFORMS


def test_the_end_of_standard_input_stops_the_command(client: httpx.Client) -> None:
    """With --stop-with-parent it ends when its standard input does; a seeded fault is served meanwhile."""
    with command("--stop-with-parent", "--database", "memory", "--fault", "http-unknown-path-200") as started:
        process, target, _ = started
        assert client.get(f"{target}/{fresh()}").status_code == 200
        assert process.communicate() == ("", "")
        assert process.returncode == ExitStatus.CONFORMS


def test_the_list_names_faults_and_variants() -> None:
    """--list-faults prints a line for each and ends."""
    ended = ended_command("--list-faults")
    assert {"fault", "variant"} == {line.split()[0] for line in ended.stdout.splitlines()}
