# ruff: noqa: D102  the docstring of each class says what its methods do wrong
"""Faults of what goes around a call: which revision it is in, what its headers say, and what makes it a replay."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from conformance.reference.faults.family import Family
from conformance.reference.faults.mcp_messages import Hears, Says, decoded, meta_of, params_of, with_headers
from conformance.reference.mcp.binding import McpBinding, Result

family = Family()

_UNSUPPORTED_REVISION = -32022
_UNSPOKEN = "2024-10-07"
_META_REVISION = "io.modelcontextprotocol/protocolVersion"
_IN_USE = "2026-07-28"


@family.part(
    "mcp-revision-echoed",
    "PROTOCOL-REVISION-NEGOTIATED",
    revision="2025-11-25",
    observable="initialize with an unknown revision",
)
class RevisionEchoed(Says):
    """Whatever revision is asked for is agreed on."""

    asked: Any = None

    def hears(self, message: bytes) -> Sequence[bytes]:
        value = decoded(message)
        if isinstance(value, dict) and value.get("method") == "initialize":
            self.asked = value["params"]["protocolVersion"]
        return super().hears(message)

    def changed(self, message: Result) -> Result:
        if "protocolVersion" in message.get("result", {}):
            message["result"]["protocolVersion"] = self.asked
        return message


@family.part("mcp-offers-unspoken-revision", "PROTOCOL-REVISION-NEGOTIATED",
             revision="2025-11-25", observable="initialize with an unknown revision")  # fmt: skip
class OffersUnspokenRevision(RevisionEchoed):
    """A client that asks for an unknown revision is offered the first one, which the server no longer speaks."""

    def changed(self, message: Result) -> Result:
        offered = message.get("result", {}).get("protocolVersion")
        if offered is not None and self.asked not in (offered, _UNSPOKEN):
            message["result"]["protocolVersion"] = _UNSPOKEN
        return message


class _Headers(McpBinding):
    """Does not look at a header: it is made to say what the message says."""

    async def respond(self, application: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        value = decoded(message.get("body", b""))
        changes = self.agreeing(scope, value) if isinstance(value, dict) else {}
        pending = [message]

        async def again() -> Any:
            return pending.pop() if pending else await receive()

        await application(with_headers(scope, changes), again, send)

    def agreeing(self, scope: Scope, message: Result) -> dict[bytes, bytes | None]:
        raise NotImplementedError


def _header(scope: Scope, name: bytes) -> str:
    return str(dict(scope["headers"]).get(name, b"").decode("latin-1"))


@family.part("mcp-revision-header-ignored", "PROTOCOL-REVISION-MISMATCH",
             over=("mcp-http",), revision="2025-11-25",
             observable="an unknown MCP-Protocol-Version, in revisions with sessions")  # fmt: skip
class RevisionHeaderIgnored(_Headers):
    """Within a session nobody looks at the revision in the header."""

    def agreeing(self, scope: Scope, message: Result) -> dict[bytes, bytes | None]:
        del message
        return {b"mcp-protocol-version": None} if _header(scope, b"mcp-session-id") else {}


@family.part("mcp-name-header-ignored", "PROTOCOL-REQUEST-HEADERS", observable="a contradicting Mcp-Name")
class NameHeaderIgnored(_Headers):
    """The header Mcp-Name may say what it likes."""

    def agreeing(self, scope: Scope, message: Result) -> dict[bytes, bytes | None]:
        del scope
        name = params_of(message).get("name")
        return {b"mcp-name": name.encode()} if isinstance(name, str) and name.isascii() else {}


@family.part("mcp-method-header-optional", "PROTOCOL-REQUEST-HEADERS", observable="a missing Mcp-Method")
class MethodHeaderOptional(_Headers):
    """The header Mcp-Method may be missing."""

    def agreeing(self, scope: Scope, message: Result) -> dict[bytes, bytes | None]:
        is_missing = not _header(scope, b"mcp-method") and _header(scope, b"mcp-protocol-version") == _IN_USE
        return {b"mcp-method": str(message.get("method")).encode()} if is_missing else {}


@family.part("mcp-revision-of-meta-ignored", "PROTOCOL-REVISION-MISMATCH", observable="an unknown revision in _meta")
class RevisionOfMetaIgnored(Hears):
    """A request in a revision that nobody speaks is answered as if it were in the newest."""

    def changed(self, message: Result) -> Result:
        if _META_REVISION in meta_of(message):
            meta_of(message)[_META_REVISION] = _IN_USE
        return message

    async def respond(self, application: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        is_stateless = bool(_header(scope, b"mcp-method"))
        changes: dict[bytes, bytes | None] = {b"mcp-protocol-version": _IN_USE.encode()} if is_stateless else {}
        await super().respond(application, with_headers(scope, changes), receive, send)


@family.part("mcp-unsupported-revision-unexplained", "PROTOCOL-REVISION-MISMATCH",
             observable="an unknown revision in _meta")  # fmt: skip
class UnsupportedRevisionUnexplained(Says):
    """The refusal of a revision does not say which ones are spoken."""

    def changed(self, message: Result) -> Result:
        if message.get("error", {}).get("code") == _UNSUPPORTED_REVISION:
            message["error"]["data"]["supported"] = []
        return message


class _OtherKeys(Hears):
    """Makes another mutation id of one and something else in the envelope, where that is there."""

    def salt(self, message: Result) -> str:
        raise NotImplementedError

    def changed(self, message: Result) -> Result:
        arguments = params_of(message).get("arguments")
        key = arguments.get("mutation_id") if isinstance(arguments, dict) else None
        salt = self.salt(message)
        if salt and isinstance(arguments, dict) and isinstance(key, str):
            arguments["mutation_id"] = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{key}/{salt}"))
        return message


@family.part("mcp-key-with-request-id", "REPLAY-OTHER-ENVELOPE", observable="a replay under a string as its id")
class KeyWithRequestId(_OtherKeys):
    """An attempt is known by its mutation id and the id of the request, where that is a string."""

    def salt(self, message: Result) -> str:
        identifier = message.get("id")
        return identifier if isinstance(identifier, str) else ""


@family.part("mcp-key-with-progress-token", "REPLAY-OTHER-ENVELOPE", observable="a replay with a progress token")
class KeyWithProgressToken(_OtherKeys):
    """An attempt with a progress token is another one than that without."""

    def salt(self, message: Result) -> str:
        return str(meta_of(message).get("progressToken", ""))


@family.part("mcp-key-with-meta", "REPLAY-OTHER-ENVELOPE", observable="a replay with other keys in _meta")
class KeyWithMeta(_OtherKeys):
    """An attempt is known by its mutation id and by what a client of some vendor says in _meta."""

    def salt(self, message: Result) -> str:
        return str(meta_of(message).get("com.example/trace", ""))
