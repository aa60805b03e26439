"""A server put together from its parts, which can forget everything it has in memory and start again."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from conformance.contract import Contract, load_contract
from conformance.reference.control import control_application
from conformance.reference.database import Database
from conformance.reference.mcp.binding import VIEWS
from conformance.reference.mcp.endpoint import McpEndpoint, McpOptions, is_offered
from conformance.reference.parts import Parts
from conformance.reference.store import Store


class Reference:
    """The running reference server: two ASGI applications over one stored state.

    ``target`` is what a suite tests, ``control`` is the test-control API. Use it in one thread only. MCP is spoken
    where the SDK is installed.
    """

    def __init__(
        self,
        database: Database,
        parts: Parts | None = None,
        contract: Contract | None = None,
        mcp: McpOptions | None = None,
    ) -> None:
        self.contract = contract or load_contract()
        self.speaks_mcp = is_offered()
        self._mcp_options = mcp or McpOptions()
        self._endpoints: list[McpEndpoint] = []
        self._database = database
        self._parts = parts or Parts()
        self._start()
        self.control: Starlette = control_application(self)

    async def target(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the server under test; after a restart this leads to the new one."""
        if self.speaks_mcp and scope["type"] == "http" and scope["path"] in VIEWS:
            await self._endpoints[-1](scope, receive, send)
        else:
            await self._application(scope, receive, send)

    def restart(self) -> None:
        """Throw away all that is in memory, MCP sessions too, and start on the stored state."""
        self._endpoints[-1].stop()
        self.store.close()
        self._start()

    @property
    def database_path(self) -> Path | None:
        """Where other processes find the stored state; None in memory."""
        return self._database.path

    async def end_sessions(self) -> None:
        """End all MCP sessions: a client's open stream would keep its connection, and so the server, from ending."""
        for endpoint in self._endpoints:
            endpoint.stop()
            await endpoint.ended()

    def close(self) -> None:
        """Close the store, and remove it where it was temporary."""
        self.store.close()
        self._database.close()

    def _start(self) -> None:
        self.store = Store(self._database)
        server = self._parts.assemble(self.contract, self.store)
        self.service = server.service
        self.clock = server.service.clock
        self._application = self._parts.binding(server).application()
        # Those before it are kept until they have ended.
        self._endpoints = [endpoint for endpoint in self._endpoints if endpoint.is_running]
        self._endpoints.append(McpEndpoint(self._parts.mcp_binding(server), server.authenticator, self._mcp_options))
