"""MCP over stdio: a process of its own on the stored state of a server that runs."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from mcp_world import REVISIONS, STATELESS, Child, parameters_of
from reference_world import ARCHIVE, GET, STATUS, World, contract, fresh

from conformance.embedded import EmbeddedServer, start_reference_server
from conformance.errors import ExitStatus, UsageProblem
from conformance.reference.mcp.binding import View
from conformance.reference.mcp.stdio import serve_stdio, view_from
from conformance.reference.parts import Parts

pytest.importorskip("mcp")

COMMAND = [sys.executable, "-m", "conformance.reference.serve"]


@dataclass(frozen=True)
class Served:
    """A server, a token, and a conversation that its person owns."""

    server: EmbeddedServer
    client: httpx.Client
    token: str
    document: dict[str, Any]

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments of get."""
        conversation = self.document["conversation"]
        return {"workspace_id": conversation["workspace_id"], "conversation_id": conversation["id"]}

    def child(self, **environment: str) -> Child:
        """Start a child on the same stored state."""
        assert self.server.stdio_command
        return Child(shlex.split(self.server.stdio_command), **{"SOSOAPI_TOKEN": self.token, **environment})

    def rest(self, operation: str, arguments: dict[str, Any]) -> httpx.Response:
        """Call an operation over plain HTTP."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return self.client.post(self.server.url + contract().operation(operation).path, json=arguments, headers=headers)

    def move_clock(self, now: str) -> None:
        """Let the clock of the workspace stand at that instant."""
        body = {"workspace_id": self.arguments["workspace_id"], "now": now}
        assert self.client.put(f"{self.server.control_url}/clock", json=body).status_code == 204


@pytest.fixture
def served() -> Iterator[Served]:
    """Return a server as a process, with a conversation in it."""
    server = start_reference_server()
    offline = World()
    with httpx.Client(trust_env=False) as client:
        body = {"scopes": ["agent:research"], "workspace_ids": [offline.workspace]}
        person = client.post(f"{server.control_url}/principals", json=body).json()
        made = Served(server, client, person["token"], offline.document)
        made.move_clock("2026-03-01T11:00:00Z")
        seeded = {"principal_id": person["principal_id"], **offline.document}
        assert client.post(f"{server.control_url}/conversations", json=seeded).status_code == 201
        yield made
    offline.close()
    server.stop()


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_child_serves_what_the_server_stores(served: Served, revision: str) -> None:
    """It lists and reads as HTTP does, keeps to the protocol on stdout, and ends with its input."""
    with served.child() as child:
        child.open(revision)
        tools = child.request("tools/list")["result"]["tools"]
        assert [json.dumps(operation.input_schema) for operation in contract().operations] == [
            json.dumps(tool["inputSchema"]) for tool in tools
        ]
        result = child.call(GET, served.arguments)
        assert served.rest(GET, served.arguments).json() == result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        assert child.call(GET, {})["_meta"]["error_kind"] == "invalid_input"
        assert child.request("tools/call", name="unknown", arguments={})["error"]["code"] == -32602
        child.write("no request")
        assert child.call(GET, served.arguments) == result
        assert child.ended() == (ExitStatus.CONFORMS, b"", b"")


def test_processes_share_one_state(served: Served) -> None:
    """What one process does the others see at once: writes, replays, the clock; concurrent writes have one winner."""
    archive = {**served.arguments, "expected_revision": 3}
    with served.child() as one, served.child() as two:
        keys = [fresh(), fresh()]
        for child, key in zip((one, two), keys, strict=True):
            call = {"name": contract().operation(ARCHIVE).tool, "arguments": {**archive, "mutation_id": key}}
            child.begin("tools/call", parameters_of(STATELESS, call))
        results = [child.finish()["result"] for child in (one, two)]
        assert sorted(result["isError"] for result in results) == [False, True]
        (won,) = [index for index, result in enumerate(results) if not result["isError"]]
        first = results[won]["structuredContent"]
        assert results[1 - won]["_meta"]["error_kind"] == "conflict"
        # The winner's key is recognised by every process.
        repeated = {**archive, "mutation_id": keys[won]}
        assert first == served.rest(ARCHIVE, repeated).json()
        assert first == one.call(ARCHIVE, repeated)["structuredContent"]
        assert first == two.call(ARCHIVE, repeated)["structuredContent"]
        assert first == two.call(GET, served.arguments)["structuredContent"]


def test_a_child_follows_clock_tokens_and_access(served: Served) -> None:
    """Nothing is kept in the memory of a child: time, access and a reset are what the server says at the moment."""
    with served.child() as child:
        status = {**served.arguments, "run_id": served.document["runs"][0]["id"]}
        assert child.call(STATUS, status)["structuredContent"]["message"] is not None
        path = f"/conversations/{served.arguments['conversation_id']}/access"
        assert served.client.put(served.server.control_url + path, json={"state": "access_changed"}).status_code == 204
        shown = child.call(GET, served.arguments)["structuredContent"]
        assert shown["conversation"]["availability"] == "access_changed"
        served.client.put(served.server.control_url + path, json={"state": "granted"})
        served.move_clock("2026-03-02T10:00:00Z")
        shown = child.call(GET, served.arguments)["structuredContent"]
        assert shown["conversation"]["availability"] == "expired"
        assert served.client.post(f"{served.server.control_url}/restart").status_code == 204
        assert shown == child.call(GET, served.arguments)["structuredContent"]
        assert served.client.post(f"{served.server.control_url}/reset").status_code == 204
        assert child.call(GET, served.arguments)["_meta"]["error_kind"] == "unauthenticated"


@pytest.mark.parametrize("token", ["", "unknown", "two words"])
def test_a_child_without_a_good_token_refuses_every_call(served: Served, token: str) -> None:
    """Calls are refused as unauthenticated; profile and output schemas change the list, nothing else."""
    with served.child(SOSOAPI_TOKEN=token, SOSOAPI_OUTPUT_SCHEMAS="1") as child:
        for tool, operation in zip(child.request("tools/list")["result"]["tools"], contract().operations, strict=True):
            assert json.dumps(operation.output_schema) == json.dumps(tool["outputSchema"])
        assert child.call(GET, served.arguments)["_meta"]["error_kind"] == "unauthenticated"


def test_core_lists_nothing(served: Served) -> None:
    """In the profile core no tool is listed, and the calls of who may are answered."""
    with served.child(SOSOAPI_PROFILE="core") as child:
        assert child.request("tools/list")["result"]["tools"] == []
        assert child.call(GET, served.arguments)["isError"] is False


def test_a_fault_is_seeded_in_the_children_too() -> None:
    """The command that the server names carries its fault."""
    server = start_reference_server("--fault", "output-retention-23")
    assert shlex.split(str(server.stdio_command))[-2:] == ["--fault", "output-retention-23"]
    server.stop()
    memory = start_reference_server("--database", "memory")
    assert (f"{memory.url}/mcp", None) == (memory.mcp_url, memory.stdio_command)
    memory.stop()


def test_what_a_child_may_be_told() -> None:
    """The environment names a view; an unknown profile and a database in memory are usage problems."""
    assert view_from({}) == View("full", output_schemas=False)
    assert view_from({"SOSOAPI_PROFILE": "core", "SOSOAPI_OUTPUT_SCHEMAS": "1"}) == View("core", output_schemas=True)
    assert view_from({"SOSOAPI_OUTPUT_SCHEMAS": "0"}) == View()
    with pytest.raises(UsageProblem, match="'cor' is no profile"):
        view_from({"SOSOAPI_PROFILE": "cor"})
    for database in (None, "memory"):
        with pytest.raises(UsageProblem, match="a file is needed"):
            serve_stdio(database, Parts(), {})


def test_a_child_with_an_unusable_database_says_so() -> None:
    """It ends with status 4 and one sentence on stderr."""
    command = ["--stdio", "--database", "/nowhere/state.sqlite"]
    ended = subprocess.run(  # noqa: S603  our own command
        [*COMMAND, *command], capture_output=True, text=True, check=False, input=""
    )
    assert (ExitStatus.USAGE, "", 1) == (ended.returncode, ended.stdout, len(ended.stderr.splitlines()))
