# ruff: noqa: D102  the docstring of each class says what its one method does wrong
"""Faults in who may call."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from conformance.contract import Operation
from conformance.reference.authentication import Authenticator, Caller
from conformance.reference.faults.family import Crash, Family
from conformance.reference.refusals import Refusal, Unauthenticated
from conformance.reference.rest import RestBinding, statuses_with
from conformance.reference.validation import decode_strictly

family = Family()


class _Anyone(Caller):
    """A caller of whom nobody asks who they are."""

    def may_open(self, owner_id: str, workspace_id: str) -> bool:
        del owner_id, workspace_id
        return True


def _anyone(operation_scopes: frozenset[str]) -> _Anyone:
    return _Anyone("anyone", operation_scopes, frozenset())


class _ReadsForAnyone(Authenticator):
    """Lets unauthenticated callers read; ``is_let_in`` says which."""

    def is_let_in(self, headers: Sequence[str]) -> bool:
        raise NotImplementedError

    def identify(self, headers: Sequence[str]) -> Caller:
        try:
            return super().identify(headers)
        except Unauthenticated:
            if self.is_let_in(headers):
                return _anyone(frozenset())
            raise

    def authorise(self, caller: Caller, operation: Operation) -> None:
        if not isinstance(caller, _Anyone):
            super().authorise(caller, operation)
        elif operation.effect == "write":
            raise Unauthenticated("a valid bearer token is needed")


@family.part(
    "authentication-missing-token-reads",
    "AUTH-TOKEN-MISSING",
    "AUTH-EVERY-CALL",
    reports=("https://github.com/baruchiro/paperless-mcp/issues/113",),
)
class MissingTokenReads(_ReadsForAnyone):
    """Without an Authorization header the reads answer: the check is skipped where there is nothing to check."""

    def is_let_in(self, headers: Sequence[str]) -> bool:
        return not headers


@family.part("authentication-unknown-token-reads", "AUTH-TOKEN-UNKNOWN", "AUTH-EVERY-CALL")
class UnknownTokenReads(_ReadsForAnyone):
    """For the reads any bearer token will do: it is decoded and not looked up."""

    def is_let_in(self, headers: Sequence[str]) -> bool:
        return len(headers) == 1 and headers[0].startswith("Bearer ") and bool(headers[0][7:].strip())


@family.part("authentication-scheme-ignored", "AUTH-TOKEN-MALFORMED", observable="a token under Basic, or bare")
class SchemeIgnored(Authenticator):
    """The last word of the header is the token, whatever comes before it."""

    def identify(self, headers: Sequence[str]) -> Caller:
        return super().identify([f"Bearer {header.split()[-1]}" if header.split() else "" for header in headers])


class _ScopeUnchecked(Authenticator):
    """Does not ask for the scope of one operation."""

    operation: str

    def authorise(self, caller: Caller, operation: Operation) -> None:
        if operation.name != self.operation:
            super().authorise(caller, operation)


@family.part(
    "authentication-scope-unchecked-by-get",
    "AUTH-SCOPE-MISSING",
    "AUTH-NO-CONTENT",
    "AUTH-EVERY-CALL",
    reports=("https://github.com/mozilla/blurts-server/issues/1128",),
)
class ScopeUncheckedByGet(_ScopeUnchecked):
    """Get asks for a token and not for its scope."""

    operation = "conversations_get"


@family.part("authentication-scope-unchecked-by-status", "AUTH-SCOPE-MISSING", "AUTH-NO-CONTENT", "AUTH-EVERY-CALL")
class ScopeUncheckedByStatus(_ScopeUnchecked):
    """Status asks for a token and not for its scope."""

    operation = "sentiment_status"


@family.part(
    "authentication-scope-unchecked-by-archive", "AUTH-SCOPE-MISSING", "AUTH-REFUSED-UNCHANGED", "AUTH-EVERY-CALL"
)
class ScopeUncheckedByArchive(_ScopeUnchecked):
    """Archive asks for a token and not for its scope."""

    operation = "conversations_archive"


class _ScopeMatch(Authenticator):
    """Compares scopes in a way of its own."""

    def grants(self, scope: str, needed: str) -> bool:
        raise NotImplementedError

    def authorise(self, caller: Caller, operation: Operation) -> None:
        if not any(self.grants(scope, operation.scope) for scope in caller.scopes):
            super().authorise(caller, operation)


@family.part("authentication-scope-by-prefix", "AUTH-SCOPE-EXACT", observable="scope agent:research followed by more")
class ScopeByPrefix(_ScopeMatch):
    """A scope that begins as the needed one is enough, such as agent:research-preview."""

    def grants(self, scope: str, needed: str) -> bool:
        return scope.startswith(needed)


@family.part("authentication-scope-by-parent", "AUTH-SCOPE-EXACT", observable="scope agent")
class ScopeByParent(_ScopeMatch):
    """The part before the colon grants everything below it."""

    def grants(self, scope: str, needed: str) -> bool:
        return needed == scope or needed.startswith(f"{scope}:")


@family.part("authentication-scope-case-ignored", "AUTH-SCOPE-EXACT", observable="scope AGENT:RESEARCH")
class ScopeCaseIgnored(_ScopeMatch):
    """Scopes are compared without regard to case."""

    def grants(self, scope: str, needed: str) -> bool:
        return scope.lower() == needed.lower()


@family.part("authentication-scope-of-person", "AUTH-SCOPE-MISSING", observable="a second token with other scopes")
class ScopeOfPerson(Authenticator):
    """A token has the scopes of all tokens of its person."""

    def identify(self, headers: Sequence[str]) -> Caller:
        caller = super().identify(headers)
        return Caller(caller.principal_id, self._store.scopes_of_person(caller.principal_id), caller.workspaces)


@family.part("authentication-missing-token-403", "AUTH-TOKEN-MISSING", "AUTH-TOKEN-UNKNOWN", "AUTH-TOKEN-MALFORMED")
class MissingTokenForbidden(RestBinding):
    """A missing or bad token is answered 403 over REST instead of 401."""

    statuses = statuses_with(unauthenticated=403)


@family.part(
    "authentication-missing-scope-401",
    "AUTH-SCOPE-MISSING",
    observable="a token without the scope",
    reports=("https://github.com/leehack/mcp_dart/issues/158",),
)
class MissingScopeUnauthenticated(RestBinding):
    """A token without the scope is answered 401, as if there were none."""

    statuses = statuses_with(forbidden=401)


@family.part("authentication-refusal-shows-content", "AUTH-NO-CONTENT", "PRIVACY-OTHER-USER", "PRIVACY-ERROR-TEXT")
class RefusalShowsContent(RestBinding):
    """The refusal for a missing scope carries the document that was loaded before the check."""

    async def handle(self, request: Request, operation: Operation) -> Response:
        response = await super().handle(request, operation)
        if response.status_code != self.statuses["forbidden"]:
            return response
        document = self._named(await request.body())
        return response if document is None else self.respond(403, json.dumps({"resource": document}).encode())

    async def read_body(self, request: Request) -> bytes:
        return await request.body()

    def _named(self, raw: bytes) -> Any:
        try:
            stored = self.server.service.store.conversation(decode_strictly(raw)["conversation_id"].lower())
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            return None
        return stored and stored.document


@family.part("authentication-malformed-header-500", "AUTH-TOKEN-MALFORMED", "HTTP-NO-SERVER-ERROR")
class MalformedHeaderCrashes(Authenticator):
    """An Authorization header that does not have two words raises an error that is not caught."""

    def identify(self, headers: Sequence[str]) -> Caller:
        if headers and len(headers[0].split(" ")) != len(("scheme", "token")):
            raise Crash("internal error")
        return super().identify(headers)


@family.part("authentication-archive-before-scope", "AUTH-REFUSED-UNCHANGED", observable="archive without the scope")
class ArchiveBeforeScope(RestBinding):
    """The scope is checked when the answer is written: the archive is refused and applied all the same."""

    async def handle(self, request: Request, operation: Operation) -> Response:
        response = await super().handle(request, operation)
        if operation.effect == "write" and response.status_code == self.statuses["forbidden"]:
            caller = self.server.authenticator.identify(request.headers.getlist("authorization"))
            try:
                await self.carry_out(operation, caller, await request.body())
            except Refusal:
                return response
        return response

    async def read_body(self, request: Request) -> bytes:
        return await request.body()
