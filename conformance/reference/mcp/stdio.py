"""The reference server over stdio: one client, one token, on the stored state of a server that runs elsewhere.

What it needs comes in the environment: ``SOSOAPI_TOKEN``; ``SOSOAPI_PROFILE``, ``core`` or ``full``; and
``SOSOAPI_OUTPUT_SCHEMAS=1`` to list output schemas.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Mapping

from conformance.contract import load_contract
from conformance.errors import UsageProblem, nearest
from conformance.reference.database import Database
from conformance.reference.mcp.binding import McpBinding, Profile, View
from conformance.reference.mcp.endpoint import is_offered
from conformance.reference.parts import Parts
from conformance.reference.store import Store

_PROFILES: Mapping[str, Profile] = {"core": "core", "full": "full"}


def serve_stdio(database: str | None, parts: Parts, environment: Mapping[str, str] = os.environ) -> None:
    """Serve the client on standard input and output until the input ends. For the main thread of a process.

    Raises:
        UsageProblem: the SDK is not installed, the database is no file, or the environment names no known profile.
    """
    view = view_from(environment)
    if database is None or database == "memory":
        raise UsageProblem("a file is needed, which the processes share", "--database", "Give the path of one.")
    if not is_offered():
        raise UsageProblem("the MCP SDK is not installed", "--stdio", "pip install 'sosoapi-conformance[reference]'")
    # The loop waits in a thread that reads the input, so it could not act on Ctrl-C; nothing needs tidying up.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    store = Store(Database(database))
    try:
        server = parts.assemble(load_contract(), store)
        asyncio.run(_serve(parts.mcp_binding(server), view, environment.get("SOSOAPI_TOKEN", "")))
    finally:
        store.close()


def view_from(environment: Mapping[str, str]) -> View:
    """Return what the client is to see.

    Raises:
        UsageProblem: there is no such profile.
    """
    name = environment.get("SOSOAPI_PROFILE", "full")
    if name not in _PROFILES:
        raise UsageProblem(f"{name!r} is no profile", "SOSOAPI_PROFILE", nearest(name, _PROFILES))
    return View(_PROFILES[name], output_schemas=environment.get("SOSOAPI_OUTPUT_SCHEMAS") == "1")


async def _serve(binding: McpBinding, view: View, token: str) -> None:
    # A tenth of the start goes into looking for garbage among the SDK's thousand new classes.
    gc.disable()
    from mcp.server.stdio import stdio_server  # noqa: PLC0415  it loads the SDK

    from conformance.reference.mcp.sdk import mcp_server  # noqa: PLC0415  it loads the SDK

    gc.enable()
    server = mcp_server(binding, view, lambda _context: [f"Bearer {token}"])
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())
