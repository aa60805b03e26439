"""Reads what came of a call: success, refusal and of which kind, or something that means nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from conformance.judge.decode import DecodeFault, decode
from conformance.transport.exchange import Answer, Call, ErrorKind, Exchange, Outcome
from conformance.transport.mcp.binding import McpBinding
from conformance.transport.mcp.channel import Received
from conformance.transport.mcp.frames import Frame

Kinds = frozenset[ErrorKind]

ACCEPTED_AS: Final[Mapping[str, Kinds]] = {
    **{kind: frozenset({kind}) for kind in get_args(ErrorKind)},
    "forbidden": frozenset({"forbidden", "not_found"}),
    "conflict": frozenset({"conflict", "in_progress"}),
    "rate_limited": frozenset({"rate_limited", "in_progress"}),
}
"""What a named kind may stand for: as much as the status that says the same over plain HTTP."""

REFUSING_STATUSES: Final[Mapping[int, Kinds]] = {
    401: frozenset({"unauthenticated"}),
    403: frozenset({"unauthenticated", "forbidden", "not_found"}),
    413: frozenset({"invalid_input"}),
    429: frozenset({"rate_limited", "in_progress"}),
}
"""HTTP statuses that refuse a call without a message in the body."""


@dataclass(frozen=True, slots=True)
class McpAnswer(Answer):
    """An answer over MCP: also in words, and the message with whatever came beside it."""

    words: str
    received: Received
    broken: str

    @property
    def breach(self) -> str:
        """The requirement that is broken where the outcome is neither a success nor a refusal."""
        return self.broken

    @property
    def absence(self) -> str:
        """The requirement that a success without a result breaks."""
        return "PROTOCOL-STRUCTURED-CONTENT"

    @property
    def status(self) -> str:
        """The answer in a few words, for sentences."""
        return self.words

    @property
    def frame(self) -> Frame | None:
        """The message that answers the call, if there is one."""
        return self.received.answer


@dataclass(frozen=True, slots=True)
class _Reading:
    outcome: Outcome
    words: str
    kinds: Kinds | None = frozenset()
    result: bytes | None = None
    broken: str = "PROTOCOL-ANSWERED"


def read_answer(call: Call, received: Received, binding: McpBinding) -> McpAnswer:
    """Return what a call came to.

    A success without ``structuredContent`` has an empty result. A JSON-RPC error is a refusal whatever its code, an
    internal error (-32603) too: the interface counts every one as a way to say that a call failed.
    """
    return _answer(call, received, _read(received.exchange, received.answer, binding))


def not_opened(call: Call, received: Received, problem: str, binding: McpBinding) -> McpAnswer:
    """Return the answer to a call that could not be sent, because what came instead of a session was ``received``.

    A child that ends before it has a session has refused whoever it was started for, and does not say why.
    """
    reading = _read(received.exchange, received.answer, binding)
    failure = received.exchange.failure
    if failure is not None and failure.kind == "closed" and received.exchange.request.method == "STDIO":
        reading = _Reading("refused", f"no session ({failure.message})", None)
    elif reading.outcome == "success":
        reading = _Reading("unexpected", problem, broken="PROTOCOL-REVISION-NEGOTIATED")
    return _answer(call, received, reading)


def _answer(call: Call, received: Received, reading: _Reading) -> McpAnswer:
    return McpAnswer(
        call, received.exchange, reading.outcome, reading.kinds, reading.result, reading.words, received, reading.broken
    )


def _read(exchange: Exchange, frame: Frame | None, binding: McpBinding) -> _Reading:
    response = exchange.response
    if response is None:
        assert exchange.failure is not None
        return _Reading("no-answer", f"no answer ({exchange.failure.message})")
    # Over stdio there is no status: 0.
    over_http = f"HTTP {response.status} {response.reason}".strip()
    if response.status >= 500:
        return _Reading("server-error", over_http, broken="HTTP-NO-SERVER-ERROR")
    if frame is None:
        kinds = REFUSING_STATUSES.get(response.status)
        words = f"{over_http} without a message that answers the call"
        return _Reading("unexpected", words) if kinds is None else _Reading("refused", over_http, kinds)
    reading = _read_frame(frame, binding)
    if response.status in (0, 200):
        return reading
    broken = "PROTOCOL-ERROR-MARKED" if reading.outcome == "success" else "PROTOCOL-ANSWERED"
    if reading.outcome == "refused" and response.status >= 400:
        kinds = reading.kinds if reading.kinds is not None else REFUSING_STATUSES.get(response.status)
        return _Reading("refused", f"{reading.words}, {over_http}", kinds)
    return _Reading("unexpected", f"{reading.words}, but {over_http}", broken=broken)


def _read_frame(frame: Frame, binding: McpBinding) -> _Reading:
    if frame.kind == "error":
        kinds = _kinds(frame, binding)
        code = (frame.text("error", "code") or b"without a code").decode("utf-8", "replace")[:40]
        return _Reading("refused", _with_kind(f"JSON-RPC error {code}", kinds), kinds)
    if not (frame.text("result") or b"").startswith(b"{"):
        return _Reading("unexpected", "a result that is no object", broken="PROTOCOL-FRAME-SCHEMA")
    result_type = frame.text("result", "resultType")
    if result_type not in (None, b'"complete"') and frame.value("result", "resultType") != "complete":
        return _Reading(
            "unexpected",
            f"a result of type {_shown(result_type)} instead of a complete one",
            broken="PROTOCOL-FRAME-SCHEMA",
        )
    is_error = frame.text("result", "isError")
    if is_error == b"true":
        kinds = _kinds(frame, binding)
        return _Reading("refused", _with_kind("isError", kinds), kinds)
    if is_error in (None, b"false"):
        return _Reading("success", "success", result=frame.text("result", "structuredContent") or b"")
    return _Reading(
        "unexpected", f"isError {_shown(is_error)}, which is no boolean", broken="PROTOCOL-IS-ERROR-BOOLEAN"
    )


def _kinds(frame: Frame, binding: McpBinding) -> Kinds | None:
    """Return what the failed call may be, or ``None`` where nothing tells."""
    if binding.kind_pointer:
        found = _pointed_at(frame, binding.kind_pointer)
        if isinstance(found, (str, int)) and not isinstance(found, bool):
            kind = binding.kind_table.get(str(found))
            if kind is not None:
                return ACCEPTED_AS[kind]
    for path in (("result", "_meta", "error_kind"), ("error", "data", "kind")):
        named = frame.value(*path)
        if isinstance(named, str) and named in ACCEPTED_AS:
            return ACCEPTED_AS[named]
    return None


def _pointed_at(frame: Frame, pointer: str) -> Any:
    """Return what a JSON pointer (RFC 6901) finds in the message, ``None`` where that is nothing."""
    try:
        found = decode(frame.raw)
    except DecodeFault:
        return None
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and name.isascii() and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found


def _with_kind(words: str, kinds: Kinds | None) -> str:
    return f"{words} ({' or '.join(sorted(kinds))})" if kinds else words


def _shown(text: bytes | None) -> str:
    return (text or b"").decode("utf-8", "replace")[:40]
