"""The official SDK's low-level server around an ``McpBinding``. Importing this module loads the SDK."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from mcp.server import Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams, PaginatedRequestParams

from conformance import __version__
from conformance.reference.mcp.binding import McpBinding, UnknownTool, View

Context = ServerRequestContext[Any, Any]
Authorization = Callable[[Context], Sequence[str]]

# Some of the SDK's log lines quote a result that it could not write, private text and all. With a handler of its own
# the logger no longer falls back to stderr.
logging.getLogger("mcp").addHandler(logging.NullHandler())


def mcp_server(binding: McpBinding, view: View, authorization: Authorization) -> Server[Any]:
    """Return a server that lists and calls through the binding.

    ``authorization`` returns the Authorization headers that came with a request, or stand for it.
    """

    async def list_tools(context: Context, params: PaginatedRequestParams) -> HandlerResult:
        page = binding.page(view, params.cursor, authorization(context))
        return {**page, "ttlMs": 0, "cacheScope": "private", "resultType": "complete"}

    async def call_tool(context: Context, params: CallToolRequestParams) -> HandlerResult:
        # The received parameters, because the SDK's model cannot tell null from nothing.
        arguments = (context.params or {}).get("arguments", {})
        try:
            result = await binding.call(params.name, arguments, authorization(context))
        except UnknownTool:
            raise MCPError(INVALID_PARAMS, "there is no such tool") from None
        return {**result, "resultType": "complete"}

    async def finish(ctx: Context, call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        return binding.finish(ctx.method, view, result) if isinstance(result, dict) else result

    server: Server[Any] = Server(
        "sosoapi-reference",
        version=__version__,
        # No argument is mirrored in a header; without this the SDK lists the tools before each call to find out.
        get_tool_input_schema=lambda _name: None,
    )
    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)
    server.middleware = [finish]
    return server
