"""Children of the reference server that a nursery forks, and the door that stands in for each of them."""

from __future__ import annotations

import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp_world import HANDSHAKE, Child
from reference_world import GET, World

from conformance.embedded import EmbeddedServer, start_reference_server
from conformance.errors import ExitStatus, UsageProblem
from conformance.reference.mcp import door, nursery_process
from conformance.reference.mcp.nursery_process import nursery, require_nursery

pytest.importorskip("mcp")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a nursery forks")

PATIENCE_SECONDS = 20.0


@dataclass(frozen=True)
class Served:
    """A server with a nursery, and the token of a person who owns a conversation there."""

    server: EmbeddedServer
    token: str
    arguments: dict[str, str]

    def child(self, **environment: str) -> Child:
        """Start a child."""
        return Child(self.words, **{"SOSOAPI_TOKEN": self.token, **environment})

    def streams(self, **environment: str) -> subprocess.Popen[bytes]:
        """Start a child whose streams the test handles itself."""
        return subprocess.Popen(  # noqa: S603  our own command
            self.words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "SOSOAPI_TOKEN": self.token, **environment},
        )

    @property
    def words(self) -> list[str]:
        """The command of the door."""
        assert self.server.stdio_command
        return shlex.split(self.server.stdio_command)


def started(*options: str) -> Served:
    """Start a server with a nursery and seed it."""
    server = start_reference_server("--nursery", *options)
    offline = World()
    with httpx.Client(trust_env=False, base_url=server.control_url) as client:
        person = client.post("/principals", json={"scopes": ["agent:research"], "workspace_ids": [offline.workspace]})
        client.put("/clock", json={"workspace_id": offline.workspace, "now": "2026-03-01T11:00:00Z"})
        seeded = {"principal_id": person.json()["principal_id"], **offline.document}
        assert client.post("/conversations", json=seeded).status_code == 201
    arguments = {"workspace_id": offline.workspace, "conversation_id": offline.conversation_id}
    offline.close()
    return Served(server, person.json()["token"], arguments)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """Return a server that several tests share; none of them changes what it stores."""
    made = started()
    yield made
    made.server.stop()


def is_at_its_end(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether the output ends within a bounded time, while the input stays open."""
    assert process.stdout
    readable, _, _ = select.select([process.stdout], [], [], PATIENCE_SECONDS)
    return bool(readable) and os.read(process.stdout.fileno(), 1) == b""


def answers(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether the process answers a request."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    process.stdin.flush()
    return b'"jsonrpc"' in process.stdout.readline()


def test_ten_children_at_once(served: Served) -> None:
    """Each answers its own client in its own revision, and ends with its input, with status 0 and nothing more said."""
    with ExitStack() as stack:
        children = [stack.enter_context(served.child()) for _ in range(10)]
        for child in children[:5]:
            child.open(HANDSHAKE[-1])
        results = [child.call(GET, served.arguments) for child in children]
        assert [False] * 10 == [result["isError"] for result in results]
        assert [results[0]["structuredContent"]] * 10 == [result["structuredContent"] for result in results]
        assert [(ExitStatus.CONFORMS, b"", b"")] * 10 == [child.ended() for child in children]


def test_each_child_has_the_environment_of_its_door(served: Served) -> None:
    """Token, profile and switch are those of its own client, whatever those of others are."""
    core, schemas = {"SOSOAPI_PROFILE": "core"}, {"SOSOAPI_OUTPUT_SCHEMAS": "1", "SOSOAPI_TOKEN": "unknown"}
    with served.child(**core) as one, served.child(**schemas) as two, served.child() as three:
        listed = [child.request("tools/list")["result"]["tools"] for child in (one, two, three)]
        assert [0, 3, 3] == [len(tools) for tools in listed]
        assert [True, False] == [all("outputSchema" in tool for tool in tools) for tools in listed[1:]]
        assert [False, True, False] == [child.call(GET, served.arguments)["isError"] for child in (one, two, three)]


def test_a_large_environment_arrives_whole(served: Served) -> None:
    """What exceeds the buffer of a socket is handed over in pieces."""
    filler = {f"FILLER_{number}": "x" * 100_000 for number in range(8)}
    with served.child(**filler, SOSOAPI_PROFILE="core") as child:
        assert child.request("tools/list")["result"]["tools"] == []


def test_stderr_and_exit_status_are_the_child_s(served: Served) -> None:
    """A child that cannot serve says so on the stderr of its own client and ends with status 4; others go on."""
    with served.child() as other:
        with served.child(SOSOAPI_PROFILE="cor") as child:
            status, output, errors = child.ended()
        assert (ExitStatus.USAGE, b"", 1) == (status, output, len(errors.splitlines()))
        assert errors.startswith(b"SOSOAPI_PROFILE: 'cor' is no profile.")
        assert other.call(GET, served.arguments)["isError"] is False
        assert other.ended() == (ExitStatus.CONFORMS, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_door_ends_its_child(served: Served, number: signal.Signals) -> None:
    """The child goes, though its input is open, and no other does."""
    with served.child() as other, served.streams() as process:
        assert answers(process)
        process.send_signal(number)
        assert is_at_its_end(process)
        assert process.wait(PATIENCE_SECONDS) == -number
        assert other.call(GET, served.arguments)["isError"] is False


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_the_end_of_the_server_ends_all(*, kill: bool, tmp_path: Path) -> None:
    """The children and the nursery go with the server, asked or killed; asked, it leaves no socket behind."""
    made = started("--database", str(tmp_path / "state.sqlite"))
    with made.streams() as one, made.streams() as two:
        assert answers(one)
        assert answers(two)
        if kill:
            made.server.process.kill()
        made.server.stop()
        assert [is_at_its_end(process) for process in (one, two)] == [True, True]
        assert 0 not in [process.wait(PATIENCE_SECONDS) for process in (one, two)]
    folder = Path(made.words[-1]).parent
    assert folder.exists() == kill
    with made.streams() as late:
        assert is_at_its_end(late)
        assert late.wait(PATIENCE_SECONDS) == ExitStatus.COULD_NOT_RUN
    if kill:
        Path(made.words[-1]).unlink()
        folder.rmdir()


def test_a_fault_is_in_the_children_and_a_restart_leaves_them_be() -> None:
    """A child has the fault that the server was given; it goes on after a restart, and sees what is reset."""
    made = started("--fault", "output-retention-23")
    with made.child() as child, httpx.Client(trust_env=False, base_url=made.server.control_url) as control:
        shown: dict[str, Any] = child.call(GET, made.arguments)["structuredContent"]
        assert shown["availability"]["retention_hours"] == 23
        assert control.post("/restart").status_code == 204
        assert shown == child.call(GET, made.arguments)["structuredContent"]
        with made.child() as later:
            assert shown == later.call(GET, made.arguments)["structuredContent"]
        assert control.post("/reset").status_code == 204
        assert child.call(GET, made.arguments)["_meta"]["error_kind"] == "unauthenticated"
    made.server.stop()


def test_where_there_can_be_no_nursery(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A database in memory, a missing SDK and a system without fork are usage problems."""
    path = tmp_path / "state.sqlite"
    assert path == require_nursery(path)
    with pytest.raises(UsageProblem, match="a file is needed"):
        require_nursery(None)
    monkeypatch.setattr(nursery_process, "is_offered", lambda: False)
    with pytest.raises(UsageProblem, match="the MCP SDK is not installed"):
        require_nursery(path)
    monkeypatch.delattr(os, "fork")
    with pytest.raises(UsageProblem, match="cannot fork"):
        require_nursery(path)


def test_the_command_refuses_a_nursery_on_memory() -> None:
    """It ends with status 4 and one sentence."""
    command = [sys.executable, "-m", "conformance.reference.serve", "--nursery", "--database", "memory"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  our own command
    assert (ExitStatus.USAGE, "", 1) == (ended.returncode, ended.stdout, len(ended.stderr.splitlines()))


def test_the_name_of_the_socket_is_short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A long name of the folder for temporary files does not make the socket's too long to be bound."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("x" * 100)))
    Path(tempfile.gettempdir()).mkdir()
    with nursery(tmp_path / "state.sqlite", []) as command:
        assert len(command[-1]) < 104
        assert Path(command[-1]).is_socket()
        assert Path(command[-1]).parent.stat().st_mode & 0o077 == 0


@dataclass(frozen=True)
class Porch:
    """A door that has come to a nursery which the test plays: its process, the connection, and what was handed over."""

    process: subprocess.Popen[bytes]
    connection: socket.socket
    streams: list[int]
    text: bytes


@pytest.fixture
def porch() -> Iterator[Porch]:
    """Return a door that waits for the report of a child."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener, ExitStack() as stack:
        listener.bind(f"{folder}/door")
        listener.listen()
        listener.settimeout(PATIENCE_SECONDS)
        command = [sys.executable, "-I", "-S", str(door.__file__), f"{folder}/door"]
        process = stack.enter_context(
            subprocess.Popen(  # noqa: S603  our own command
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"NAME": "a=b\nc", "EMPTY": ""}
            )
        )
        connection = stack.enter_context(listener.accept()[0])
        head, streams, _, _ = socket.recv_fds(connection, door.SIZE_BYTES, 3)
        # Read in one piece, so that the connection must block; a listener with a time limit hands its own on.
        connection.settimeout(None)
        text = connection.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
        yield Porch(process, connection, streams, text)
        process.kill()


def test_a_door_hands_over_streams_and_environment(porch: Porch) -> None:
    """What is written to its output comes from the child alone, and ends when the child lets go of it."""
    assert {b"NAME=a=b\nc", b"EMPTY="} <= set(porch.text.split(b"\0"))
    assert len(porch.streams) == 3
    os.write(porch.streams[1], b"hello")
    for stream in porch.streams:
        os.close(stream)
    porch.connection.sendall(bytes(door.STATUS_BYTES))
    assert porch.process.communicate(timeout=PATIENCE_SECONDS)[0] == b"hello"


@pytest.mark.parametrize(
    ("report", "status"),
    [
        (bytes(4), 0),
        ((17).to_bytes(4, "big"), 17),
        ((-signal.SIGKILL).to_bytes(4, "big", signed=True), -signal.SIGKILL),
        ((-signal.SIGSEGV).to_bytes(4, "big", signed=True), -signal.SIGSEGV),
        (b"", ExitStatus.COULD_NOT_RUN),
    ],
)
def test_a_door_ends_as_its_child_has_ended(porch: Porch, report: bytes, status: int) -> None:
    """It takes over the exit status or the signal; without a report it could not run."""
    for stream in porch.streams:
        os.close(stream)
    porch.connection.sendall(report)
    porch.connection.close()
    assert porch.process.wait(PATIENCE_SECONDS) == status


def test_a_door_without_a_nursery_says_so(tmp_path: Path) -> None:
    """It ends with status 6 and one sentence."""
    command = [sys.executable, "-I", "-S", str(door.__file__), str(tmp_path / "door")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  our own command
    assert (ExitStatus.COULD_NOT_RUN, "", 1) == (ended.returncode, ended.stdout, len(ended.stderr.splitlines()))
    assert "there is no nursery" in ended.stderr


def test_the_doors_own_status_is_the_suites() -> None:
    """The door repeats the number, since importing it would take longer than all else it does."""
    assert door._COULD_NOT_RUN == ExitStatus.COULD_NOT_RUN
