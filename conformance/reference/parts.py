"""The exchangeable parts of the reference server: a fault or a variant is another class in the place of one."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from conformance.contract import Contract
from conformance.reference.authentication import Authenticator
from conformance.reference.clock import Clock
from conformance.reference.mcp.binding import McpBinding
from conformance.reference.presentation import Presenter
from conformance.reference.rest import Collaborators, RestBinding
from conformance.reference.rules import Rules
from conformance.reference.service import Service
from conformance.reference.store import Store
from conformance.reference.validation import Validator

Part = (
    type[Validator]
    | type[Authenticator]
    | type[Rules]
    | type[Service]
    | type[Presenter]
    | type[RestBinding]
    | type[McpBinding]
)


@dataclass(frozen=True)
class Parts:
    """The classes that a server is built from; the defaults keep the contract."""

    validator: type[Validator] = Validator
    authenticator: type[Authenticator] = Authenticator
    rules: type[Rules] = Rules
    service: type[Service] = Service
    presenter: type[Presenter] = Presenter
    binding: type[RestBinding] = RestBinding
    mcp_binding: type[McpBinding] = McpBinding

    def assemble(self, contract: Contract, store: Store) -> Collaborators:
        """Return what both bindings stand on, working on that stored state."""
        return Collaborators(
            contract=contract,
            validator=self.validator(contract.operations),
            authenticator=self.authenticator(store),
            service=self.service(store, Clock(store), self.rules()),
            presenter=self.presenter(),
        )

    def with_part(self, part: Part) -> Parts:
        """Return these parts with one in its place.

        Raises:
            ValueError: the place is taken by something that the new part does not build on, or there is none.
        """
        for place in fields(self):
            plain, present = getattr(Parts, place.name), getattr(self, place.name)
            if issubclass(part, plain):
                if issubclass(part, present):
                    changes: dict[str, Any] = {place.name: part}
                    return replace(self, **changes)
                raise ValueError(f"both change the {place.name}")
        raise ValueError(f"{part.__name__} is no part of the server")
