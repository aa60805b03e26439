"""MCP servers made by hand: what they answer over HTTP, and small programs to be started as children."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from raw_server import RawServer, Reply, response

STATELESS = "2026-07-28"
LATEST_WITH_SESSIONS = "2025-11-25"

RESULT = {"content": [], "structuredContent": {"a": 1}, "resultType": "complete"}

Answer = Callable[[dict[str, Any], bytes], bytes]
"""Makes the whole HTTP answer to a message (decoded) and the request (bytes) that carried it."""


def result(message: dict[str, Any], value: object = None) -> bytes:
    """Return the message that answers with a result."""
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": RESULT if value is None else value}
    return json.dumps(answer).encode()


def error(message: dict[str, Any], code: int, data: object = None) -> bytes:
    """Return the message that answers with an error."""
    inner = {"code": code, "message": "no"} | ({} if data is None else {"data": data})
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": inner}).encode()


def events(*data: bytes) -> bytes:
    """Return a stream of events with these data, without an end to the answer."""
    body = b"".join(b"event: message\ndata: " + each + b"\n\n" for each in data)
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n" + body


def message_of(request: bytes) -> dict[str, Any]:
    """Return the message that an HTTP request carries."""
    message: dict[str, Any] = json.loads(request.partition(b"\r\n\r\n")[2] or b"{}")
    return message


def header_of(request: bytes, name: str) -> str | None:
    """Return a header of an HTTP request."""
    for line in request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name.lower():
            return value.strip()
    return None


def stateless(tools_call: Answer) -> Reply:
    """Return a server of the stateless revision that answers calls in this way."""

    def reply(_: RawServer, connection: socket.socket, request: bytes) -> bool:
        message = message_of(request)
        if message.get("method") == "server/discover":
            offered = {"resultType": "complete", "supportedVersions": [STATELESS], "capabilities": {}}
            connection.sendall(response(result(message, offered)))
        else:
            answer = tools_call(message, request)
            connection.sendall(answer)
            return b"Content-Length" in answer
        return True

    return reply


def with_sessions(revision: str = LATEST_WITH_SESSIONS, tools_call: Answer | None = None) -> Reply:
    """Return a server that opens sessions, agrees on ``revision`` and answers calls in this way."""
    numbers = iter(range(1, 1000))

    def reply(_: RawServer, connection: socket.socket, request: bytes) -> bool:
        message = message_of(request)
        method = message.get("method")
        if method == "initialize":
            agreed = {"protocolVersion": revision, "capabilities": {}, "serverInfo": {"name": "n", "version": "1"}}
            session = f"Mcp-Session-Id: session-{next(numbers)}"
            connection.sendall(response(result(message, agreed), "200 OK", session))
        elif method == "server/discover":
            connection.sendall(response(error(message, -32601)))
        elif "id" not in message:
            connection.sendall(response(b"", "202 Accepted"))
        else:
            connection.sendall(tools_call(message, request) if tools_call else response(result(message)))
        return True

    return reply


CHILD = """
import json, os, signal, sys, time

def say(value):
    print(value if isinstance(value, str) else json.dumps(value), flush=True)

def result(message, value=None):
    inner = value or {"content": [], "structuredContent": {"token": os.environ.get("SOSOAPI_TOKEN")},
                      "resultType": "complete"}
    return {"jsonrpc": "2.0", "id": message["id"], "result": inner}

def serve(on_call, on_other=lambda message: None):
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
            continue
        if message.get("method") == "server/discover":
            say(result(message, {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}}))
        elif message.get("method") == "tools/call":
            on_call(message)
        else:
            on_other(message)
"""
"""What the programs have in common: ``say``, ``result`` and ``serve``."""


def child_command(folder: Path, program: str) -> str:
    """Write a program that continues ``CHILD`` and return the command that runs it."""
    path = folder / "server.py"
    path.write_text(CHILD + program, encoding="utf-8")
    return f"{sys.executable} -S -E {path}"
