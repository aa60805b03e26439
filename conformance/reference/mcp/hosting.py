"""The SDK's session managers, one for each view, within one event loop. Importing this module loads the SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from conformance.reference.mcp.binding import VIEWS, McpBinding, View
from conformance.reference.mcp.endpoint import BODY_LIMIT, McpOptions
from conformance.reference.mcp.sdk import Context, mcp_server

Hosting = Callable[[McpBinding, McpOptions], AbstractAsyncContextManager[Mapping[str, ASGIApp]]]

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@asynccontextmanager
async def hosting(binding: McpBinding, options: McpOptions) -> AsyncIterator[Mapping[str, ASGIApp]]:
    """Give an ASGI application for each path in ``VIEWS``. At the end all their sessions and streams end."""
    async with AsyncExitStack() as stack:
        applications = {}
        for path, view in VIEWS.items():
            manager = _manager(binding, view, options)
            await stack.enter_async_context(manager.run())
            applications[path] = _for_its_person(manager)
        yield applications


def _manager(binding: McpBinding, view: View, options: McpOptions) -> StreamableHTTPSessionManager:
    hosts = [*_LOOPBACK, *options.hosts]
    return StreamableHTTPSessionManager(
        mcp_server(binding, view, _authorization),
        json_response=binding.json_answers,
        security_settings=TransportSecuritySettings(
            allowed_hosts=[*hosts, *(f"{host}:*" for host in hosts)],
            allowed_origins=[pattern for host in hosts for pattern in (f"http://{host}", f"http://{host}:*")],
        ),
        max_request_body_size=BODY_LIMIT,
    )


def _authorization(context: Context) -> Sequence[str]:
    assert context.request is not None
    headers: list[str] = context.request.headers.getlist("authorization")
    return headers


def _for_its_person(manager: StreamableHTTPSessionManager) -> ASGIApp:
    """Return the manager's application. It gives a session to nobody but the person who opened it."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        # The tokens of one person share their sessions, so the token itself stays out of it.
        owner = AccessToken(token="", client_id=scope["sosoapi.person"], scopes=[])
        await manager.handle_request({**scope, "user": AuthenticatedUser(owner)}, receive, send)

    return application
