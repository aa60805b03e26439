"""A binding that sees every message as text, received or sent, and may put others in its place.

The server's SDK says nothing but what the protocol allows; what a faulty server says has to be written past it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPMethod

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conformance.reference.mcp.binding import McpBinding

Rewrite = Callable[[bytes], Sequence[bytes]]


class RewritingBinding(McpBinding):
    """Changes messages on their way, the same over both transports. A stream of events over HTTP passes untouched."""

    def hears(self, message: bytes) -> Sequence[bytes]:
        """Return what the server is to read in the place of a message: none, one, or over stdio several."""
        return [message]

    def says(self, message: bytes) -> Sequence[bytes]:
        """Return what is sent in the place of a message of the server."""
        return [message]

    def take_streams(self) -> None:
        """Put a relay between the client and the server's standard streams."""
        received, sent = os.dup(0), os.dup(1)
        for stream, (read, write), relay in ((0, os.pipe(), self._relay_in), (1, os.pipe(), self._relay_out)):
            ours, theirs = (read, write) if stream == 0 else (write, read)
            os.dup2(ours, stream)
            os.close(ours)
            there = (received, theirs) if stream == 0 else (theirs, sent)
            threading.Thread(target=relay, args=there, daemon=True).start()

    def _relay_in(self, source: int, target: int) -> None:
        _relay(source, target, self.hears)

    def _relay_out(self, source: int, target: int) -> None:
        _relay(source, target, self.says)

    async def respond(self, application: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application read what ``hears`` makes of the body, and send what ``says`` makes of its answer."""
        if scope["method"] != HTTPMethod.POST:
            await application(scope, receive, send)
            return
        body = (await receive()).get("body", b"")
        heard = self.hears(body)
        if not heard:
            await send({"type": "http.response.start", "status": 202, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        pending: list[Message] = [{"type": "http.request", "body": heard[0], "more_body": False}]

        async def again() -> Message:
            return pending.pop() if pending else await receive()

        await application(scope, again, _Answer(self.says, send))


def _relay(source: int, target: int, rewrite: Rewrite) -> None:
    """Pass lines on until the end, which is passed on as well."""
    with suppress(OSError), os.fdopen(source, "rb") as lines, os.fdopen(target, "wb", buffering=0) as out:
        for line in lines:
            for message in rewrite(line.rstrip(b"\r\n")):
                out.write(message + b"\n")


class _Answer:
    """Passes an answer on. One that is a JSON text is collected and rewritten; several messages make a stream."""

    def __init__(self, says: Rewrite, send: Send) -> None:
        self._says = says
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _content_type(message).startswith(b"application/json"):
            self._start = message
        elif self._start is None or message["type"] != "http.response.body":
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)

    async def _finish(self, start: Message) -> None:
        # A notification is answered without a message.
        said = self._says(self._body) if self._body else [b""]
        kept = [(name, value) for name, value in start["headers"] if name not in (b"content-type", b"content-length")]
        if len(said) == 1:
            content_type, body = b"application/json", said[0]
        else:
            content_type = b"text/event-stream"
            body = b"".join(b"event: message\r\ndata: " + each + b"\r\n\r\n" for each in said)
        headers = [*kept, (b"content-type", content_type), (b"content-length", str(len(body)).encode())]
        await self._send({**start, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})


def _content_type(start: Message) -> bytes:
    found: bytes = dict(start["headers"]).get(b"content-type", b"")
    return found
