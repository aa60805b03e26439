"""Opens the transport that a target names, or another one of the same server."""

from __future__ import annotations

from collections.abc import Callable

from conformance.target import Entry, Target
from conformance.transport.exchange import Credential, Observer
from conformance.transport.mcp.stdio import StdioCommand
from conformance.transport.mcp.transport import McpTransport, mcp_http, mcp_stdio
from conformance.transport.rest import RestTransport
from conformance.transport.wire import Origin, Wire

AnyTransport = RestTransport | McpTransport
Listener = Callable[[Credential, bytes], None]
"""Hears what children write to stderr, from any thread."""


def entries(target: Target) -> tuple[Entry, ...]:
    """Return how the target can be reached, the transport that is tested first."""
    tested = Entry(target.transport, target.url, target.command, target.environment)
    return tested, *(entry for entry in target.also if entry.transport != target.transport)


def open_transport(target: Target, entry: Entry, observe: Observer, listen: Listener) -> AnyTransport:
    """Return the transport; nothing is sent yet.

    Raises:
        UsageProblem: the address cannot be one.
    """
    match entry.transport:
        case "rest":
            return RestTransport(Wire(Origin.parse(entry.url, "target"), target.limits), target.rest, observe)
        case "mcp-http":
            return mcp_http(entry.url, target.mcp, target.limits, observe)
        case "mcp-stdio":
            command = StdioCommand(entry.command, entry.environment)
            return mcp_stdio(command, target.mcp, target.limits, observe, listen)
