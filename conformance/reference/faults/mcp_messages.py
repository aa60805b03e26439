# ruff: noqa: D102  the docstring of each class says what its methods do wrong
"""Faults of the messages themselves: ids, requests without an answer, and what is no message or no request."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Sequence
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from conformance.reference.faults.family import Family
from conformance.reference.mcp.binding import McpBinding, Result
from conformance.reference.mcp.rewriting import RewritingBinding
from conformance.reference.rest import Collaborators

family = Family()

_METHOD_NOT_FOUND = -32601
_MOMENT_SECONDS = 0.005
_LARGE = 2**31


def decoded(message: bytes) -> Any:
    """Return the value of a message, ``None`` where it is no JSON."""
    try:
        return json.loads(message)
    except ValueError:
        return None


def encoded(value: Any) -> bytes:
    """Return a value as a message."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def with_headers(scope: Scope, changes: dict[bytes, bytes | None]) -> Scope:
    """Return a scope with other headers; those that are to be ``None`` are left out."""
    kept = [(name, value) for name, value in scope["headers"] if name not in changes]
    return {**scope, "headers": [*kept, *((name, value) for name, value in changes.items() if value is not None)]}


def params_of(message: Result) -> Result:
    """Return the parameters of a message, none where they are no object."""
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def meta_of(message: Result) -> Result:
    """Return the ``_meta`` of a message, none where it is no object."""
    meta = params_of(message).get("_meta")
    return meta if isinstance(meta, dict) else {}


class Says(RewritingBinding):
    """Changes what is said, message by message."""

    def says(self, message: bytes) -> Sequence[bytes]:
        value = decoded(message)
        return [encoded(self.changed(value))] if isinstance(value, dict) else [message]

    def changed(self, message: Result) -> Result:
        raise NotImplementedError


class Hears(RewritingBinding):
    """Changes what is heard, message by message."""

    def hears(self, message: bytes) -> Sequence[bytes]:
        value = decoded(message)
        return [encoded(self.changed(value))] if isinstance(value, dict) else [message]

    def changed(self, message: Result) -> Result:
        raise NotImplementedError


@family.part("mcp-extra-envelope-key", "PROTOCOL-ENVELOPE-KEYS", observable="any answer over MCP")
class ExtraEnvelopeKey(Says):
    """An answer says beside its result how it went."""

    def changed(self, message: Result) -> Result:
        return {**message, "status": "ok"} if "result" in message else message


@family.part(
    "mcp-error-code-text", "PROTOCOL-FRAME-SCHEMA", "PROTOCOL-UNKNOWN-TOOL-CODE", observable="a JSON-RPC error"
)
class ErrorCodeText(Says):
    """The code of a JSON-RPC error is a text."""

    def changed(self, message: Result) -> Result:
        if "error" in message:
            message["error"]["code"] = str(message["error"]["code"])
        return message


@family.part(
    "mcp-numeric-id-unquoted", "PROTOCOL-ID-ECHOED", "PROTOCOL-ANSWERED", observable="an id that is a string of digits"
)
class NumericIdUnquoted(Says):
    """An id that is a string of digits comes back as a number."""

    def changed(self, message: Result) -> Result:
        identifier = message.get("id")
        return {**message, "id": int(str(identifier))} if str(identifier).isdecimal() else message


@family.part("mcp-large-id-quoted", "PROTOCOL-ID-ECHOED", observable="an id over 32 bits")
class LargeIdQuoted(Says):
    """An id that is too large for 32 bits comes back as a string."""

    def changed(self, message: Result) -> Result:
        identifier = message.get("id")
        is_large = isinstance(identifier, int) and identifier > _LARGE
        return {**message, "id": str(identifier)} if is_large else message


@family.part("mcp-id-in-ascii", "PROTOCOL-ID-ECHOED", observable="an id with other than ASCII characters")
class IdInAscii(Says):
    """What is not ASCII in an id comes back as question marks."""

    def changed(self, message: Result) -> Result:
        identifier = message.get("id")
        return {**message, "id": identifier.encode("ascii", "replace").decode()} if isinstance(identifier, str) else (
            message
        )  # fmt: skip


@family.part("mcp-id-zero-lost", "PROTOCOL-ID-ECHOED", "PROTOCOL-ANSWERED", observable="the id 0")
class IdZeroLost(Says):
    """The id 0 counts as none and comes back as null."""

    def changed(self, message: Result) -> Result:
        return {**message, "id": message["id"] or None} if "id" in message else message


class _SeesFlights(RewritingBinding):
    """Knows which calls are in flight at the same time: each is paired with one that was heard before it."""

    def __init__(self, server: Collaborators) -> None:
        super().__init__(server)
        self._lock = threading.Lock()
        self._alone: list[Any] = []
        self.partner: dict[Any, Any] = {}

    def hears(self, message: bytes) -> Sequence[bytes]:
        value = decoded(message)
        if isinstance(value, dict) and value.get("method") == "tools/call" and isinstance(value.get("id"), int):
            with self._lock:
                if self._alone:
                    other = self._alone.pop()
                    self.partner.update({other: value["id"], value["id"]: other})
                else:
                    self._alone.append(value["id"])
        return [message]

    async def call(self, name: str, arguments: Any, authorization: Sequence[str]) -> Result:
        # Over HTTP a call is done before the next one is read, unless it takes a moment.
        await asyncio.sleep(_MOMENT_SECONDS)
        return await super().call(name, arguments, authorization)

    def paired(self, identifier: Any) -> Any:
        """Return the id of the partner of what is being answered now, or ``None``."""
        with self._lock:
            if identifier in self._alone:
                self._alone.remove(identifier)
            return self.partner.pop(identifier, None) if isinstance(identifier, int) else None


@family.part("mcp-answers-in-flight-swapped", "PROTOCOL-ID-IN-FLIGHT", observable="calls in flight")
class AnswersInFlightSwapped(_SeesFlights):
    """Of two calls in flight each gets the answer to the other."""

    def says(self, message: bytes) -> Sequence[bytes]:
        value = decoded(message)
        partner = self.paired(value.get("id"))
        return [message if partner is None else encoded({**value, "id": partner})]


@family.part("mcp-answers-in-flight-twice", "PROTOCOL-ID-IN-FLIGHT", observable="calls in flight over stdio")
class AnswersInFlightTwice(_SeesFlights):
    """A call that was in flight together with another is answered twice."""

    def says(self, message: bytes) -> Sequence[bytes]:
        return [message] if self.paired(decoded(message).get("id")) is None else [message, message]


@family.part("mcp-unknown-method-unanswered", "PROTOCOL-UNKNOWN-METHOD", "PROTOCOL-ANSWERED",
             observable="a request with an unknown method")  # fmt: skip
class UnknownMethodUnanswered(RewritingBinding):
    """A request with a method that the server does not have is not answered."""

    def says(self, message: bytes) -> Sequence[bytes]:
        value = decoded(message)
        is_unknown = value.get("error", {}).get("code") == _METHOD_NOT_FOUND
        return [] if is_unknown else [message]


@family.part(
    "mcp-unknown-method-accepted",
    "PROTOCOL-UNKNOWN-METHOD",
    "PROTOCOL-ERROR-MARKED",
    observable="a request with an unknown method",
)
class UnknownMethodAccepted(Says):
    """A request with a method that the server does not have is answered with an empty result."""

    def changed(self, message: Result) -> Result:
        if message.get("error", {}).get("code") == _METHOD_NOT_FOUND:
            return {"jsonrpc": "2.0", "id": message["id"], "result": {"resultType": "complete"}}
        return message


@family.part("mcp-unknown-method-listed", "PROTOCOL-UNKNOWN-METHOD", observable="a request with an unknown method")
class UnknownMethodListed(Hears):
    """Methods are told apart by their first word: whatever begins with tools/ and is no call lists the tools."""

    def changed(self, message: Result) -> Result:
        return {**message, "method": self._taken_for(message.get("method"))} if "method" in message else message

    async def respond(self, application: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [
            (name, self._taken_for(value.decode("latin-1")).encode("latin-1") if name == b"mcp-method" else value)
            for name, value in scope["headers"]
        ]
        await super().respond(application, {**scope, "headers": headers}, receive, send)

    def _taken_for(self, method: Any) -> Any:
        is_of_tools = isinstance(method, str) and method.startswith("tools/")
        return "tools/list" if is_of_tools and method != "tools/call" else method


@family.part("mcp-ping-unanswered", "PROTOCOL-ANSWERED", observable="a ping")
class PingUnanswered(RewritingBinding):
    """A ping is ignored."""

    def hears(self, message: bytes) -> Sequence[bytes]:
        value = decoded(message)
        return [] if isinstance(value, dict) and value.get("method") == "ping" else [message]


@family.part("mcp-trailing-comma-repaired", "PROTOCOL-MALFORMED-JSON", observable="a message with a trailing comma")
class TrailingCommaRepaired(RewritingBinding):
    """A comma too many at the end of a message is forgiven."""

    def hears(self, message: bytes) -> Sequence[bytes]:
        return [message[:-2] + b"}" if decoded(message) is None and message.endswith(b",}") else message]


@family.part("mcp-cut-off-repaired", "PROTOCOL-MALFORMED-JSON", observable="a message without its last brace")
class CutOffRepaired(RewritingBinding):
    """A brace that is missing at the end of a message is added."""

    def hears(self, message: bytes) -> Sequence[bytes]:
        repaired = message + b"}"
        return [repaired if decoded(message) is None and decoded(repaired) is not None else message]


@family.part("mcp-other-jsonrpc-accepted", "PROTOCOL-INVALID-REQUEST", observable="a request of JSON-RPC 1.0")
class OtherJsonRpcAccepted(Hears):
    """Whatever a message calls its protocol, or nothing at all, it is taken for JSON-RPC 2.0."""

    def changed(self, message: Result) -> Result:
        return {**message, "jsonrpc": "2.0"}


@family.part("mcp-method-guessed", "PROTOCOL-INVALID-REQUEST", observable="a request without a method")
class MethodGuessed(Hears):
    """A message without a method that names a tool is taken for a call."""

    def changed(self, message: Result) -> Result:
        is_call = "method" not in message and "name" in params_of(message)
        return {**message, "method": "tools/call"} if is_call else message


@family.part("mcp-null-params-accepted", "PROTOCOL-INVALID-REQUEST", observable="null for the parameters of a call")
class NullParamsAccepted(Says):
    """The refusal of a call without parameters looks like a success without a result."""

    def __init__(self, server: Collaborators) -> None:
        super().__init__(server)
        self._without: set[Any] = set()

    def hears(self, message: bytes) -> Sequence[bytes]:
        value = decoded(message)
        if isinstance(value, dict) and "id" in value and value.get("params", ()) is None:
            self._without.add(str(value["id"]))
        return super().hears(message)

    def changed(self, message: Result) -> Result:
        if str(message.get("id")) in self._without:
            return {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [], "resultType": "complete"}}
        return message


@family.part(
    "mcp-ends-at-malformed-json",
    "PROTOCOL-SESSION-LIVES",
    "PROTOCOL-ANSWERED",
    observable="a message that is no JSON, over stdio",
    over=("mcp-stdio",),
    reports=("https://github.com/paiml/paiml-mcp-agent-toolkit/issues/648",),
)
class EndsAtMalformedJson(RewritingBinding):
    """A child ends when it reads what is no JSON."""

    is_child = False

    def take_streams(self) -> None:
        self.is_child = True
        super().take_streams()

    def hears(self, message: bytes) -> Sequence[bytes]:
        if self.is_child and message and decoded(message) is None:
            os._exit(1)
        return [message]


@family.part("mcp-sulks-after-malformed-json", "PROTOCOL-SESSION-LIVES", observable="the call after what is no JSON")
class SulksAfterMalformedJson(RewritingBinding):
    """After a message that is no JSON the next one is refused, whatever it is."""

    offended = False

    def hears(self, message: bytes) -> Sequence[bytes]:
        value = decoded(message)
        if value is None:
            self.offended = True
        elif self.offended and isinstance(value, dict):
            self.offended = False
            return [encoded({**value, "params": {**params_of(value), "name": "nothing"}})]
        return [message]

    async def respond(self, application: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        # Another name in the header would be noticed.
        await super().respond(application, with_headers(scope, {b"mcp-name": None}) if self.offended else scope,
                              receive, send)  # fmt: skip


@family.part(
    "mcp-greets-on-stdout",
    "PROTOCOL-STDOUT-CLEAN",
    observable="the start of a child",
    reports=("https://github.com/pathintegral-institute/mcpm.sh/issues/264",),
)
class GreetsOnStdout(McpBinding):
    """A child says on its standard output that it is ready."""

    def take_streams(self) -> None:
        os.write(1, b"research server ready\n")
        super().take_streams()


class _Prints(RewritingBinding):
    """Prints lines beside messages, over stdio alone."""

    is_child = False

    def take_streams(self) -> None:
        self.is_child = True
        super().take_streams()


@family.part("mcp-prints-refusals", "PROTOCOL-STDOUT-CLEAN", observable="a refusal over stdio")
class PrintsRefusals(_Prints):
    """Each refusal is printed to the standard output as well, where a person might look for it."""

    def says(self, message: bytes) -> Sequence[bytes]:
        is_noise = self.is_child and b'"isError":true' in message
        return [b"WARNING  a call was refused", message] if is_noise else [message]


@family.part("mcp-prints-parse-errors", "PROTOCOL-STDOUT-CLEAN", observable="a message that is no JSON, over stdio")
class PrintsParseErrors(_Prints):
    """What cannot be read is printed to the standard output."""

    def hears(self, message: bytes) -> Sequence[bytes]:
        if self.is_child and decoded(message) is None:
            self.print_later = True
        return [message]

    print_later = False

    def says(self, message: bytes) -> Sequence[bytes]:
        printed, self.print_later = self.print_later, False
        return [b"parse error", message] if printed else [message]
