"""A server put together from its parts, which can forget everything it has in memory and start again."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from conformance.contract import Contract, load_contract
from conformance.reference.clock import Clock
from conformance.reference.control import control_application
from conformance.reference.database import Database
from conformance.reference.parts import Parts
from conformance.reference.rest import Collaborators
from conformance.reference.service import Service
from conformance.reference.store import Store


class Reference:
    """The running reference server: two ASGI applications over one stored state.

    ``target`` is what a suite tests, ``control`` is the test-control API. Use it in one thread only.
    """

    def __init__(self, database: Database, parts: Parts | None = None, contract: Contract | None = None) -> None:
        self.contract = contract or load_contract()
        self._database = database
        self._parts = parts or Parts()
        self._start()
        self.control: Starlette = control_application(self)

    async def target(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the server under test; after a restart this leads to the new one."""
        await self._application(scope, receive, send)

    def restart(self) -> None:
        """Throw away all that is in memory and start on the stored state."""
        self.store.close()
        self._start()

    def close(self) -> None:
        """Close the store, and remove it where it was temporary."""
        self.store.close()
        self._database.close()

    def _start(self) -> None:
        parts = self._parts
        self.store = Store(self._database)
        self.clock = Clock(self.store)
        self.service: Service = parts.service(self.store, self.clock, parts.rules())
        binding = parts.binding(
            Collaborators(
                contract=self.contract,
                validator=parts.validator(self.contract.operations),
                authenticator=parts.authenticator(self.store),
                service=self.service,
                presenter=parts.presenter(),
            )
        )
        self._application = binding.application()
