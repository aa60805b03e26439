"""The MCP endpoint of the HTTP port. The SDK is loaded, and its sessions begin, with the first request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conformance.reference.authentication import Authenticator
from conformance.reference.mcp.binding import McpBinding
from conformance.reference.refusals import Unauthenticated

if TYPE_CHECKING:
    from conformance.reference.mcp.hosting import Hosting

BODY_LIMIT: Final = 1024 * 1024
_DRAIN_LIMIT: Final = 16 * 1024 * 1024


@dataclass(frozen=True)
class McpOptions:
    """How MCP is offered over HTTP.

    ``hosts`` are the names, besides those of loopback, under which a client may reach the server: any other Host is
    refused, since it may come from a rebound DNS name. A request without a token is taken to carry
    ``anonymous_token``, where there is one.
    """

    hosts: tuple[str, ...] = ()
    anonymous_token: str | None = None


def is_offered() -> bool:
    """Tell whether the SDK is installed, in the major version that has its types in a package of their own."""
    return find_spec("mcp") is not None and find_spec("mcp_types") is not None


class McpEndpoint:
    """An ASGI application for the paths in ``VIEWS``. Every request must carry a bearer token."""

    def __init__(self, binding: McpBinding, authenticator: Authenticator, options: McpOptions) -> None:
        self._binding = binding
        self._authenticator = authenticator
        self._options = options
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._applications: asyncio.Future[Mapping[str, ASGIApp]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, with 401 where it has no usable token."""
        # The body is read first whatever the outcome: a connection with an unread body cannot be used again.
        receive = await _read_ahead(receive)
        scope = {**scope, "headers": self._headers(scope["headers"])}
        try:
            caller = self._authenticator.identify(Headers(scope=scope).getlist("authorization"))
        except Unauthenticated as refusal:
            body = {"error": {"kind": refusal.kind, "message": str(refusal)}}
            headers = {"WWW-Authenticate": "Bearer", "Cache-Control": "no-store"}
            await JSONResponse(body, 401, headers)(scope, receive, send)
            return
        # The SDK gives a session to nobody but the person who opened it.
        scope["sosoapi.person"] = caller.principal_id
        applications = await self._started()
        await self._binding.respond(applications[scope["path"]], scope, receive, send)

    @property
    def is_running(self) -> bool:
        """Whether there may be sessions."""
        return self._task is not None and not self._task.done()

    def stop(self) -> None:
        """Let all sessions end; ``ended`` waits until they have."""
        self._stopping.set()

    async def ended(self) -> None:
        """Wait for the end of all sessions."""
        if self._task is not None:
            await self._task

    async def _started(self) -> Mapping[str, ASGIApp]:
        if self._applications is None:
            self._applications = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._host(self._applications))
        # A client that leaves must not take the endpoint with it.
        return await asyncio.shield(self._applications)

    async def _host(self, applications: asyncio.Future[Mapping[str, ASGIApp]]) -> None:
        try:
            # It takes half a second, in which the plain HTTP binding goes on answering.
            hosting = await asyncio.to_thread(_load)
        except ImportError as error:
            applications.set_exception(error)
            return
        async with hosting(self._binding, self._options) as hosted:
            applications.set_result(hosted)
            await self._stopping.wait()

    def _headers(self, received: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        # Space around a value is no part of it (RFC 9110, section 5.5), but one of uvicorn's two parsers keeps it.
        headers = [(name, value.strip(b" \t")) for name, value in received]
        token = self._options.anonymous_token
        if token is not None and all(name != b"authorization" for name, _ in headers):
            headers.append((b"authorization", b"Bearer " + token.encode()))
        return headers


def _load() -> Hosting:
    from conformance.reference.mcp.hosting import hosting  # noqa: PLC0415  it loads the SDK

    return hosting


async def _read_ahead(receive: Receive) -> Receive:
    """Read the body, or a little more than the limit of a longer one, and return what gives it out again."""
    kept, seen, more = bytearray(), 0, True
    while more and seen <= _DRAIN_LIMIT:
        message = await receive()
        if message["type"] != "http.request":
            break
        chunk = message.get("body", b"")
        seen, more = seen + len(chunk), message.get("more_body", False)
        kept += chunk[: BODY_LIMIT + 1 - len(kept)]
    pending: list[Message] = [{"type": "http.request", "body": bytes(kept), "more_body": False}]

    async def again() -> Message:
        return pending.pop() if pending else await receive()

    return again
