"""Before anything is judged over MCP: whether something speaks MCP there, and whether it is this API."""

from __future__ import annotations

from typing import Final

from conformance.errors import CouldNotRun
from conformance.printable import printable
from conformance.session import Session, is_limited, rate_limited
from conformance.transport.exchange import Credential
from conformance.transport.mcp.stdio import StdioGateway
from conformance.transport.mcp.transport import McpTransport

_NOBODY: Final = Credential("nobody", None)
_REFUSES: Final = (401, 403)
_NO_SUCH_METHOD: Final = -32601
_LONGEST: Final = 200
_CORRECT: Final = "Start the server, or correct --target-url or --target-command."


def preflight_mcp(session: Session, transport: McpTransport) -> None:
    """List the tools.

    Raises:
        CouldNotRun: nothing answers, or not in MCP, or in no revision that the suite speaks, or without these tools.
    """
    credential = _NOBODY
    if session.stage.lacks(("token",)) is None:
        credential = session.stage.principal(session.random("preflight")).credential
    address = session.target.address
    listing = transport.list_tools(credential)
    if transport.revision_problem:
        raise CouldNotRun(
            f"{address}: {transport.revision_problem}", "Name a revision that both speak: --mcp-revision."
        )
    received = listing.pages[-1].received
    exchange, answer = received.exchange, received.answer
    if exchange.failure is not None:
        said = _said(transport, credential)
        raise CouldNotRun(f"no usable answer from {address}: {exchange.failure.message}{said}", _CORRECT)
    assert exchange.response is not None
    if is_limited(exchange):
        raise rate_limited(address)
    if answer is None:
        if exchange.response.status in _REFUSES and credential is _NOBODY:
            return
        status = f"{exchange.response.status} {exchange.response.reason}".strip()
        raise CouldNotRun(f"what answers at {address} does not speak MCP ({status})", _CORRECT)
    if answer.kind == "error" and answer.value("error", "code") == _NO_SUCH_METHOD:
        raise CouldNotRun(f"the server at {address} speaks MCP, but has no tools (tools/list is unknown)", _CORRECT)
    tools = {operation.tool for operation in session.contract.operations}
    if answer.kind == "result" and not tools & set(listing.names):
        raise CouldNotRun(
            f"the server at {address} speaks MCP, but lists none of the contract's tools",
            "Correct the target, or say in [mcp.profiles.full] of the target file how to choose the profile full.",
        )


def _said(transport: McpTransport, credential: Credential) -> str:
    """Return what a child wrote instead of answering: the last line of stderr and the first of what is no message."""
    said = ""
    strays = transport.journal.strays()
    if strays:
        said += f"; it printed what is no message: {_quoted(strays[0].text, credential)}"
    if isinstance(transport.gateway, StdioGateway):
        lines = [line for text in transport.gateway.last_stderr() for line in text.splitlines() if line.strip()]
        if lines:
            said += f"; it wrote to stderr: {_quoted(lines[-1], credential)}"
    return said


def _quoted(text: bytes, credential: Credential) -> str:
    shown = text.decode("utf-8", "replace")
    token = (credential.header or "").removeprefix("Bearer ")
    if token:
        shown = shown.replace(token, "(the token)")
    return repr(printable(shown.strip())[:_LONGEST])
