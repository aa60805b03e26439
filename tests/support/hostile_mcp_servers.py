"""Servers that open MCP as they should over HTTP and then answer with whatever hurts."""

from __future__ import annotations

import itertools
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

from hostile_servers import ESCAPES, TOKEN, token_of
from mcp_servers import STATELESS, events, message_of, result
from raw_server import RawServer, Reply, response

Message = dict[str, Any]

TOOLS = ("sosoapi_research_conversations_get", "sosoapi_research_sentiment_status")
LISTED: Message = {
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
    "tools": [{"name": name} for name in TOOLS],
}
OFFERED = {"resultType": "complete", "supportedVersions": [STATELESS], "capabilities": {}}
EVENT_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

Pieces = Callable[[Message, bytes], Iterator[bytes]]
"""Makes the bytes that answer a message (decoded) of a request (bytes), piece by piece."""


def answered(message: Message, value: object) -> bytes:
    """Return the whole HTTP answer with a result."""
    return response(result(message, value))


def in_answer_to(method: str, pieces: Pieces, elsewhere: str) -> Reply:
    """Answer requests of a method so, and others as they should be; a connection is kept after a length."""

    def reply(server: RawServer, connection: socket.socket, request: bytes) -> bool:
        message = message_of(request)
        asked = message.get("method")
        if asked == method:
            first = b""
            for piece in pieces(message, request):
                first = first or piece
                connection.sendall(piece.replace(b"{elsewhere}", elsewhere.encode()))
                if server.stopped.is_set():
                    break
            return b"Content-Length" in first
        if "id" not in message:
            connection.sendall(response(b"", "202 Accepted"))
        else:
            value = {"server/discover": OFFERED, "tools/list": LISTED}.get(str(asked), {"resultType": "complete"})
            connection.sendall(answered(message, value))
        return True

    return reply


def always(*pieces: bytes) -> Pieces:
    """Answer with these bytes."""
    return lambda _, __: iter(pieces)


def body(make: Callable[[bytes], bytes]) -> Pieces:
    """Answer 200 with the body that is made of the id's JSON text."""
    return lambda message, _: iter((response(make(json.dumps(message["id"]).encode())),))


def endless(start: bytes, piece: bytes) -> Pieces:
    """Answer without end."""
    return lambda _, __: itertools.chain((start,), itertools.repeat(piece))


def many_then_answer(piece: bytes, number: int) -> Pieces:
    """Send an event many times and then the answer."""

    def make(message: Message, _: bytes) -> Iterator[bytes]:
        yield EVENT_STREAM
        for _number in range(number // 1000):
            yield piece * 1000
        yield b"data: " + result(message) + b"\n\n"

    return make


def pages_without_end(padding: str) -> Pieces:
    """List the tools on pages of which each has a next one."""
    numbers = itertools.count()

    def make(message: Message, _: bytes) -> Iterator[bytes]:
        yield answered(message, {**LISTED, "nextCursor": f"{next(numbers)}{padding}"})

    return make


def telling(message: Message, request: bytes) -> Iterator[bytes]:
    """Refuse, and tell the token in every text."""
    token = token_of(request).decode()
    inner = {"code": -32602, "message": token, "data": {"kind": token, token: [token]}}
    text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": inner, token: token})
    yield response(
        text.encode(), f"200 {token}", f"Mcp-Session-Id: {token}", f"Content-Type: application/json; {token}"
    )


def telling_in_a_listing(message: Message, request: bytes) -> Iterator[bytes]:
    """List tools and a cursor that are called like the token."""
    token = token_of(request).decode()
    yield answered(message, {**LISTED, "tools": [*LISTED["tools"], {"name": token, token: token}], "nextCursor": token})


def discovering(revisions: list[object]) -> Pieces:
    """Offer these revisions."""
    return lambda message, _: iter((answered(message, {**OFFERED, "supportedVersions": revisions}),))


def _error(text: bytes) -> Callable[[bytes], bytes]:
    return lambda number: b'{"jsonrpc":"2.0","id":' + number + b',"error":{"code":-32602,"message":' + text + b"}}"


def _result(text: bytes) -> Callable[[bytes], bytes]:
    return lambda number: b'{"jsonrpc":"2.0","id":' + number + b',"result":' + text + b"}"


_NOTIFICATION = b'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n'
_REQUEST = b'data: {"jsonrpc":"2.0","id":7,"method":"ping"}\n\n'
_ODD_NAMES = json.dumps([{"name": ESCAPES.decode()}, {"name": "\ud800"}]).strip("[]").encode()
_NAMES = json.dumps(ESCAPES.decode()).encode()

HOSTILE_MCP: dict[str, tuple[str, Pieces]] = {
    "html": ("tools/call", always(response(b"<!doctype html><script>alert(1)</script>"))),
    "accepted-for-ever": ("tools/call", always(response(b"", "202 Accepted"))),
    "batch": ("tools/call", body(lambda number: b"[" + _result(b"{}")(number) + b"]")),
    "deep-result": ("tools/call", body(_result(b'{"a":' * 100_000 + b"1" + b"}" * 100_000))),
    "deep-array": ("tools/call", body(_result(b"[" * 100_000 + b"]" * 100_000))),
    "integer-of-10000-digits": ("tools/call", body(_result(b'{"structuredContent":{"a":' + b"9" * 10_000 + b"}}"))),
    "code-of-10000-digits": ("tools/call", body(lambda n: _error(b'""')(n).replace(b"-32602", b"9" * 10_000))),
    "id-of-10000-digits": ("tools/call", body(lambda _: _result(b"{}")(b"9" * 10_000))),
    "another-id": ("tools/call", body(lambda _: _result(b'{"content":[]}')(b"4711"))),
    "id-of-another-type": ("tools/call", body(lambda number: _result(b'{"content":[]}')(b'"' + number + b'"'))),
    "many-members": ("tools/call", body(_result(b"{" + b",".join(b'"%d":{}' % n for n in range(20_000)) + b"}"))),
    "many-messages": ("tools/call", body(lambda n: b"{" + b'"a":{},' * 30_000 + b'"jsonrpc":"2.0","id":' + n + b"}")),
    "escape-codes": ("tools/call", body(_error(_NAMES))),
    "escape-codes-in-names": ("tools/call", body(_result(b'{"resultType":' + _NAMES + b"," + _NAMES + b":1}"))),
    "lone-surrogates": ("tools/call", body(_error(b'"\\ud800","data":{"kind":"\\udfff","\\udc00":1}'))),
    "endless-stream": ("tools/call", endless(EVENT_STREAM, b": " + b"a" * 4096 + b"\n")),
    "endless-event": ("tools/call", endless(EVENT_STREAM + b"data: ", b"a" * 65536)),
    "endless-notifications": ("tools/call", endless(EVENT_STREAM, _NOTIFICATION * 1000)),
    "endless-requests": ("tools/call", endless(EVENT_STREAM, _REQUEST * 1000)),
    "thousands-of-requests": ("tools/call", many_then_answer(_REQUEST, 5000)),
    "stream-of-nothing": ("tools/call", always(EVENT_STREAM)),
    "stream-of-rubbish": ("tools/call", always(EVENT_STREAM, b"data: " + ESCAPES.replace(b"\n", b"") + b"\n\n")),
    "stream-of-two-answers": (
        "tools/call", lambda message, _: iter((events(result(message), result(message, {"isError": True})),)),
    ),
    "token-in-all-texts": ("tools/call", telling),
    "token-in-a-listing": ("tools/list", telling_in_a_listing),
    "token-in-a-discovery": ("server/discover", discovering([TOKEN, {TOKEN: TOKEN}])),
    "pages-without-end": ("tools/list", pages_without_end("")),
    "great-pages-without-end": ("tools/list", pages_without_end("x" * 900_000)),
    "the-same-page-for-ever": (
        "tools/list", lambda message, _: iter((answered(message, {**LISTED, "nextCursor": "a"}),)),
    ),
    "thousands-of-empty-tools": ("tools/list", body(_result(b'{"tools":[' + b"{}," * 100_000 + b'{"name":1}]}'))),
    "thousands-of-arrays-for-tools": ("tools/list", body(_result(b'{"tools":[' + b"[]," * 100_000 + b"1]}"))),
    "tools-of-escape-codes": (
        "tools/list", body(_result(b'{"tools":[' + _ODD_NAMES + b',{"name":"' + TOOLS[0].encode() + b'"}]}')),
    ),
    "listing-of-escape-codes": ("tools/list", body(_error(_NAMES))),
    "revisions-of-escape-codes": ("server/discover", discovering([ESCAPES.decode(), "\x9b31m", 1])),
    "too-many-requests": ("server/discover", always(response(b"{}", "429 Too \x9b31m", "Retry-After: 0"))),
    "too-many-requests-later": ("tools/call", always(response(b"{}", "429 Too Many", "Retry-After: 0"))),
    "redirect": ("tools/call", always(response(b"", "307 Temporary Redirect", "Location: {elsewhere}"))),
}  # fmt: skip
"""To the requests of which method, and how it is answered, by name."""
