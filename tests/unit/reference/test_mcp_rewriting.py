"""Faults of messages show over both transports, and in nothing but what they are about."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

import pytest
from mcp_world import HANDSHAKE, REVISIONS, STATELESS, Child, McpWorld, tool
from reference_world import GET

from conformance.embedded import EmbeddedServer, start_reference_server
from conformance.reference.catalogue import build
from conformance.reference.mcp.binding import McpBinding

pytest.importorskip("mcp")


def binding(*, fault: str | None = None, variant: str | None = None) -> type[McpBinding]:
    """Return the binding of a server with a fault or a variant."""
    return build(fault=fault, variant=variant).mcp_binding


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_message_is_rewritten_over_http(revision: str) -> None:
    """The envelope has one more key, and the result in it is as it was."""
    world = McpWorld(binding(fault="mcp-extra-envelope-key"))
    client = world.client(revision)
    frame = client.request("tools/call", name=tool(GET), arguments=world.arguments(GET))
    assert "ok" == frame["status"]
    assert world.conversation_id == frame["result"]["structuredContent"]["conversation"]["id"]
    world.close()


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_two_messages_over_http_make_a_stream(revision: str) -> None:
    """A message before the answer turns the answer into a stream of events; other answers stay JSON."""
    world = McpWorld(binding(variant="notifies-before-it-answers"))
    client = world.client(revision)
    answer = client.post("tools/call", {"name": tool(GET), "arguments": world.arguments(GET)})
    data = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert "text/event-stream" == answer.headers["content-type"]
    assert ["notifications/message", None] == [each.get("method") for each in data]
    assert "application/json" == client.post("tools/list", {}).headers["content-type"]
    world.close()


def test_a_message_that_is_swallowed_over_http_is_acknowledged() -> None:
    """The answer is 202, as to a notification."""
    world = McpWorld(binding(fault="mcp-ping-unanswered"))
    answer = world.client(HANDSHAKE[0]).post("ping", {})
    assert (202, "") == (answer.status_code, answer.text)
    world.close()


def test_a_contradicting_header_is_noticed_but_with_the_fault() -> None:
    """The plain server refuses another name in the header, and the faulty one runs the tool in the message."""
    statuses = []
    for world in (McpWorld(), McpWorld(binding(fault="mcp-name-header-ignored"))):
        client = world.client(STATELESS)
        parameters = {"name": tool(GET), "arguments": world.arguments(GET), **_META}
        frame = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": parameters}
        headers = {"MCP-Protocol-Version": STATELESS, "Mcp-Method": "tools/call", "Mcp-Name": "another"}
        statuses.append(client.send("POST", json.dumps(frame), **headers).status_code)
        world.close()
    assert [400, 200] == statuses


_META = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


@pytest.fixture
def noisy() -> Iterator[EmbeddedServer]:
    """Run a server whose children print their refusals, and stop it after the test."""
    server = start_reference_server("--fault", "mcp-prints-refusals")
    yield server
    server.stop()


def test_lines_of_a_child_are_rewritten(noisy: EmbeddedServer) -> None:
    """A refusal over stdio is preceded by a line that is no message; what is no refusal is not."""
    assert noisy.stdio_command
    with Child(shlex.split(noisy.stdio_command), SOSOAPI_TOKEN="nobody's") as child:
        child.open(HANDSHAKE[1])
        assert "tools" in child.request("tools/list")["result"]
        child.begin("tools/call", {"name": tool(GET), "arguments": {}})
        assert child._process.stdout is not None
        assert b"WARNING  a call was refused\n" == child._process.stdout.readline()
        assert json.loads(child._process.stdout.readline())["result"]["isError"] is True
