"""Messages of JSON-RPC as bytes: ours are put together from parts, theirs are cut apart, and neither is re-written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

from conformance.judge.decode import DecodeFault, decode
from conformance.transport.mcp.spans import NoSpan, Span, elements, members, whole

Identifier: TypeAlias = tuple[Literal["number", "string"], int | str]
"""The id of a request: its JSON type and its value, so that ``1`` and ``"1"`` are two ids."""

FrameKind: TypeAlias = Literal["result", "error", "request", "notification", "other"]

_STILL_ONE_VALUE: Final = frozenset({"duplicate-name", "lone-surrogate", "number-size", "depth", "size"})
"""Rules of strict JSON whose breach leaves a text one JSON value, so that a message around it stays a message."""


def request_frame(number: int, method: str, params: bytes | None) -> bytes:
    """Return a request with the id ``number``."""
    head = b'{"jsonrpc":"2.0","id":%d,"method":%s' % (number, json.dumps(method).encode())
    return head + (b"}" if params is None else b',"params":' + params + b"}")


def notification_frame(method: str) -> bytes:
    """Return a notification without parameters."""
    return b'{"jsonrpc":"2.0","method":%s}' % json.dumps(method).encode()


def call_params(tool: str, arguments: bytes, meta: bytes | None) -> bytes:
    """Return the parameters of ``tools/call`` with the arguments as they are written.

    Raises:
        ValueError: the arguments are not one JSON value, so that no message can carry them.
    """
    try:
        decode(arguments)
    except DecodeFault as fault:
        if fault.rule not in _STILL_ONE_VALUE:
            raise ValueError(f"arguments that are not one JSON value cannot be sent over MCP: {fault}") from None
    head = b'{"name":' + json.dumps(tool).encode() + b',"arguments":' + arguments
    return head + (b"}" if meta is None else b',"_meta":' + meta + b"}")


def with_meta(params: bytes | None, meta: bytes | None) -> bytes | None:
    """Return the parameters of a request with the ``_meta`` of the revision, where it has one."""
    if meta is None:
        return params
    member = b'"_meta":' + meta
    if params is None or not params.strip(b"{} \t\r\n"):
        return b"{" + member + b"}"
    return params.rstrip()[:-1] + b"," + member + b"}"


@dataclass(frozen=True)
class Frame:
    """A message of the server: its bytes and where its members stand; of a repeated name the last counts."""

    raw: bytes
    spans: Mapping[str, Span]
    _inner: dict[Span, dict[str, Span]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def kind(self) -> FrameKind:
        """What kind of message the envelope makes it."""
        if "method" in self.spans:
            return "request" if "id" in self.spans else "notification"
        if "error" in self.spans:
            return "error"
        return "result" if "result" in self.spans else "other"

    @cached_property
    def identifier(self) -> Identifier | None:
        """The id; ``None`` where there is none, or what stands there cannot be one."""
        value = self.value("id")
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            return None
        return ("string" if isinstance(value, str) else "number", value)

    @property
    def is_answer(self) -> bool:
        """Whether it answers a request."""
        return self.kind in ("result", "error")

    def text(self, *path: str) -> bytes | None:
        """Return the bytes of the value at a path of names, or ``None`` where there is none."""
        span = self._span(path)
        return None if span is None else span.of(self.raw)

    def value(self, *path: str) -> Any:
        """Return the decoded value at a path of names; ``None`` where there is none or it is not strict JSON."""
        text = self.text(*path)
        if text is None:
            return None
        try:
            return decode(text)
        except DecodeFault:
            return None

    def elements(self, *path: str) -> tuple[bytes, ...] | None:
        """Return the elements of the array at a path of names as they are written, or ``None`` without an array."""
        span = self._span(path)
        try:
            return None if span is None else tuple(each.of(self.raw) for each in elements(self.raw, span))
        except NoSpan:
            return None

    def replaced(self, *path: str, by: bytes) -> bytes:
        """Return the message with other bytes in place of the value at a path of names, which must exist."""
        span = self._span(path)
        assert span is not None
        return self.raw[: span.start] + by + self.raw[span.end :]

    def _span(self, path: tuple[str, ...]) -> Span | None:
        span = self.spans.get(path[0])
        for name in path[1:]:
            if span is None:
                return None
            if span not in self._inner:
                try:
                    self._inner[span] = dict(members(self.raw, span))
                except NoSpan:
                    return None
            span = self._inner[span].get(name)
        return span


def read_frame(raw: bytes) -> Frame | None:
    """Return the message in ``raw``, or ``None`` where the bytes do not even have the outline of a JSON object."""
    try:
        return Frame(raw, dict(members(raw, whole(raw))))
    except NoSpan:
        return None


def identifier_of(raw: bytes) -> Identifier | None:
    """Return the id under which a message of ours, well formed or not, has to be answered."""
    frame = read_frame(raw)
    return frame.identifier if frame is not None else None
