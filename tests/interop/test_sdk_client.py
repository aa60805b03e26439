"""A session of the official SDK's own client with the reference server, over both transports."""

from __future__ import annotations

import asyncio
import random
import shlex
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any, Literal

import pytest

from conformance.contract import load_contract
from conformance.control.http import HttpControl
from conformance.embedded import EmbeddedServer, start_reference_server
from conformance.stage import fresh_uuid, plain_document

pytest.importorskip("mcp")

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

GET, ARCHIVE = (load_contract().operation(name) for name in ("conversations_get", "conversations_archive"))


@pytest.fixture
def server() -> Iterator[EmbeddedServer]:
    """Return a server as a process."""
    started = start_reference_server()
    yield started
    started.stop()


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_the_client_of_the_sdk(
    server: EmbeddedServer, transport: Literal["http", "stdio"], mode: Literal["legacy", "auto", "2026-07-28"]
) -> None:
    """It connects, lists the tools with output schemas, reads, archives, is refused, and lets go."""
    rng = random.Random(transport + mode)  # noqa: S311  test data
    control = HttpControl(server.control_url, None)
    document = plain_document(rng, int(time.time() * 1000) - 1000)
    owner = control.create_principal((GET.scope,), (document.workspace_id,), "owner")
    control.seed_conversation(owner, document.conversation, document.messages, document.runs)
    control.close()
    known = {"workspace_id": document.workspace_id, "conversation_id": document.conversation_id}
    write = {**known, "mutation_id": fresh_uuid(rng), "expected_revision": document.conversation["revision"]}

    async def session() -> None:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(
                Client(await transport_of(stack, server, transport, owner.token), mode=mode, read_timeout_seconds=20)
            )
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert {tool: listed[tool].output_schema for tool in listed} == {
                operation.tool: operation.output_schema for operation in load_contract().operations
            }
            # The client checks structured content against the output schema that it has seen.
            read = await client.call_tool(GET.tool, known)
            assert (read.is_error, read.structured_content["conversation"]["archived"]) == (False, False)
            archived = await client.call_tool(ARCHIVE.tool, write)
            assert archived.structured_content["conversation"]["archived"] is True
            assert (await client.call_tool(ARCHIVE.tool, write)).structured_content == archived.structured_content
            refused = await client.call_tool(GET.tool, {**known, "conversation_id": fresh_uuid(rng)})
            assert (refused.is_error, (refused.meta or {})["error_kind"]) == (True, "not_found")

    asyncio.run(asyncio.wait_for(session(), 60))


async def transport_of(stack: AsyncExitStack, server: EmbeddedServer, transport: str, token: str) -> Any:
    """Return how the client reaches the server, with output schemas listed."""
    if transport == "http":
        headers = {"Authorization": f"Bearer {token}"}
        http_client = await stack.enter_async_context(create_mcp_http_client(headers=headers))
        return streamable_http_client(f"{server.mcp_url}/output-schemas", http_client=http_client)
    command, *arguments = shlex.split(str(server.stdio_command))
    environment = {"SOSOAPI_TOKEN": token, "SOSOAPI_OUTPUT_SCHEMAS": "1"}
    return StdioServerParameters(command=command, args=arguments, env=environment)
