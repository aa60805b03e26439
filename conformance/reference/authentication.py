"""Who is calling, and whether the token grants what an operation needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.contract import Operation
from conformance.reference.refusals import Forbidden, Unauthenticated
from conformance.reference.store import Store

_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class Caller:
    """A person, as one of their tokens shows them: the scopes are the token's, the workspaces the person's."""

    principal_id: str
    scopes: frozenset[str]
    workspaces: frozenset[str]

    def may_open(self, owner_id: str, workspace_id: str) -> bool:
        """Tell whether this person may open a conversation of that owner in that workspace (lower case)."""
        return self.principal_id == owner_id and workspace_id in self.workspaces


class Authenticator:
    """Reads the Authorization header and checks the capability."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def identify(self, headers: Sequence[str]) -> Caller:
        """Return the caller that the Authorization headers (one is meant) name.

        Raises:
            Unauthenticated: there is not exactly one bearer token, or nobody has it.
        """
        match = _BEARER.fullmatch(headers[0]) if len(headers) == 1 else None
        token = self._store.token(match[1]) if match else None
        if token is None:
            raise Unauthenticated("a valid bearer token is needed")
        return Caller(token.principal_id, token.scopes, token.workspaces)

    def authorise(self, caller: Caller, operation: Operation) -> None:
        """Pass a token that carries the operation's scope.

        Raises:
            Forbidden: the token lacks it.
        """
        if operation.scope not in caller.scopes:
            raise Forbidden("the token lacks the capability that this operation needs")
