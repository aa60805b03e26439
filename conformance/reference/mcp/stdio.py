"""The reference server over stdio: one client, one token, on the stored state of a server that runs elsewhere.

What it needs comes in the environment: ``SOSOAPI_TOKEN``; ``SOSOAPI_PROFILE``, ``core`` or ``full``; and
``SOSOAPI_OUTPUT_SCHEMAS=1`` to list output schemas.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import NoReturn

from conformance.contract import Contract, load_contract
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
    load()
    store = Store(Database(database))
    try:
        server = parts.assemble(_contract(), store)
        token = environment.get("SOSOAPI_TOKEN")
        headers = [] if token is None else [f"Bearer {token}"]
        asyncio.run(_serve(parts.mcp_binding(server), view, headers))
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


def load() -> None:
    """Load what serving takes, the SDK and the contract, once. It is most of the time that a child needs to start."""
    # A tenth of it goes into looking for garbage among the SDK's thousand new classes.
    gc.disable()
    # The last is what anyio imports when an event loop first uses it.
    for name in (
        "mcp.server.stdio",
        "conformance.reference.mcp.sdk",
        "conformance.reference.mcp.pipes",
        "anyio._backends._asyncio",
    ):
        import_module(name)
    gc.enable()
    _contract()


@cache
def _contract() -> Contract:
    return load_contract()


def leave() -> NoReturn:
    """End the process, after a client was served to the end of its input, with status 0 and at once.

    The interpreter would take as long to tidy up all those classes as some clients are willing to wait.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


async def _serve(binding: McpBinding, view: View, headers: list[str]) -> None:
    from mcp.server.stdio import stdio_server  # noqa: PLC0415  it is loaded only where it is used

    from conformance.reference.mcp.pipes import pipes  # noqa: PLC0415  it is loaded only where it is used
    from conformance.reference.mcp.sdk import mcp_server  # noqa: PLC0415  it is loaded only where it is used

    server = mcp_server(binding, view, lambda _context: headers)
    binding.take_streams()
    async with stdio_server(*await pipes()) as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())
