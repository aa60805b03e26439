"""Raw JSON-RPC with the reference server: over HTTP in this process, and over the standard streams of a child."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any, Self

import httpx
from reference_world import World, contract

from conformance.reference.mcp.binding import McpBinding
from conformance.reference.parts import Parts

HANDSHAKE = ("2025-06-18", "2025-11-25")
STATELESS = "2026-07-28"
REVISIONS = (*HANDSHAKE, STATELESS)
CLIENT = {"name": "test", "version": "1"}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def tool(operation: str) -> str:
    """Return the tool of an operation."""
    return contract().operation(operation).tool


def parameters_of(revision: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a request as that revision wants them."""
    if revision in HANDSHAKE:
        return dict(parameters)
    meta = {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": CLIENT,
    }
    return {"_meta": meta, **parameters}


def opening(revision: str) -> dict[str, Any]:
    """Return the parameters of ``initialize``."""
    return {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT}


class HttpClient:
    """A client in the world's event loop. ``headers`` go along with every request."""

    def __init__(self, world: McpWorld, revision: str, path: str = "/mcp", token: str | None = None) -> None:
        self._world = world
        self._path = path
        self._ids = 0
        self.revision = revision
        self.headers = {**ACCEPT, "Authorization": f"Bearer {token or world.token}"}

    def open(self) -> HttpClient:
        """Open a session, where the revision has them."""
        if self.revision in HANDSHAKE:
            answer = self.post("initialize", opening(self.revision))
            assert answer.status_code == 200, answer.text
            assert answer.json()["result"]["protocolVersion"] == self.revision
            self.headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
            self.headers["MCP-Protocol-Version"] = self.revision
            notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            assert self.send("POST", json.dumps(notification)).status_code == 202
        return self

    def request(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to a request, a result or an error."""
        answer = self.post(method, parameters_of(self.revision, parameters))
        frame: dict[str, Any] = answer.json()
        assert (frame["jsonrpc"], frame["id"]) == ("2.0", self._ids)
        return frame

    def call(self, operation: str, arguments: Any) -> dict[str, Any]:
        """Return the result of a tool call."""
        result: dict[str, Any] = self.request("tools/call", name=tool(operation), arguments=arguments)["result"]
        return result

    def post(self, method: str, parameters: Mapping[str, Any], **headers: str) -> httpx.Response:
        """Post a request as it is given."""
        self._ids += 1
        if self.revision == STATELESS:
            headers = {"MCP-Protocol-Version": self.revision, "Mcp-Method": method, **headers}
            if "name" in parameters:
                headers["Mcp-Name"] = parameters["name"]
        frame = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": parameters}
        return self.send("POST", json.dumps(frame), **headers)

    def send(self, method: str, body: str = "", **headers: str) -> httpx.Response:
        """Send a body to the endpoint."""
        return self._world.send(method, self._path, content=body, headers={**self.headers, **headers})


class McpWorld(World):
    """A world whose server is reached under a name of loopback."""

    def __init__(self, binding: type[McpBinding] = McpBinding) -> None:
        super().__init__(Parts(mcp_binding=binding))

    def send(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send a request as it is given."""

        async def exchange() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.reference.target)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:80") as client:
                return await client.request(method, path, **request)

        return self._runner.run(exchange())

    def client(self, revision: str, path: str = "/mcp", token: str | None = None) -> HttpClient:
        """Return a client with an open session."""
        return HttpClient(self, revision, path, token).open()

    def arguments(self, operation: str, **changed: Any) -> dict[str, Any]:
        """Return the arguments of a call of the seeded conversation, some of them changed."""
        usual = {"workspace_id": self.workspace, "conversation_id": self.conversation_id, **changed}
        if operation == "sentiment_status":
            usual.setdefault("run_id", self.document["runs"][0]["id"])
        return usual

    def close(self) -> None:
        """End the sessions and the server."""
        self._runner.run(asyncio.wait_for(self.reference.end_sessions(), 10))
        super().close()


class Child:
    """A server over the standard streams of a process. Everything on its stdout must be a JSON-RPC message."""

    def __init__(self, command: list[str], **environment: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603  our own command
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )
        self._ids = 0
        self.revision = STATELESS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def open(self, revision: str) -> Child:
        """Open the session, where the revision has them."""
        self.revision = revision
        if revision in HANDSHAKE:
            answer = self.exchange("initialize", opening(revision))
            assert answer["result"]["protocolVersion"] == revision
            self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def request(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to a request, a result or an error."""
        return self.exchange(method, parameters_of(self.revision, parameters))

    def call(self, operation: str, arguments: Any) -> dict[str, Any]:
        """Return the result of a tool call."""
        result: dict[str, Any] = self.request("tools/call", name=tool(operation), arguments=arguments)["result"]
        return result

    def exchange(self, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request with just these parameters."""
        self.begin(method, parameters)
        return self.finish()

    def begin(self, method: str, parameters: Mapping[str, Any]) -> None:
        """Write a request."""
        self._ids += 1
        self.write({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": parameters})

    def finish(self) -> dict[str, Any]:
        """Read the answer to the last request."""
        assert self._process.stdout
        frame: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert (frame["jsonrpc"], frame["id"]) == ("2.0", self._ids)
        return frame

    def write(self, frame: Any) -> None:
        """Write one line."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps(frame).encode() + b"\n")
        self._process.stdin.flush()

    def ended(self) -> tuple[int, bytes, bytes]:
        """Close its input and return its status and the rest of what it wrote on stdout and stderr."""
        output, errors = self._process.communicate(timeout=20)
        return self._process.returncode, output, errors
