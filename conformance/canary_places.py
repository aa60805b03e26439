"""The parts of what came back from a call, each with the requirement that private text in it breaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.transport.exchange import Exchange, Request, Response
from conformance.transport.mcp.frames import Frame, read_frame
from conformance.transport.mcp.sse import EventReader


@dataclass(frozen=True, slots=True)
class Place:
    """A part of what came back: its name, its bytes, and the requirement that private text in it breaks."""

    name: str
    text: bytes
    requirement: str


def places(exchange: Exchange) -> tuple[Place, ...]:
    """Return the parts of an answer: over MCP those of each message, over HTTP the body, and the headers together."""
    response = exchange.response
    if response is None:
        return ()
    in_body = "PRIVACY-BODY" if response.status == 0 or 200 <= response.status < 300 else "PRIVACY-ERROR-TEXT"
    lines = [response.reason, *(f"{name}: {value}" for name, value in response.headers)]
    head = Place("headers", "\n".join(lines).encode("latin-1", "replace"), "PRIVACY-HEADER")
    if not speaks_mcp(exchange.request):
        return Place("body", response.body, in_body), head
    parts = [part for frame in messages(response) for part in _parts(frame)]
    return *(parts or [Place("body", response.body, in_body)]), head


def speaks_mcp(request: Request) -> bool:
    """Tell whether a request is one of MCP: over HTTP only its clients take a stream of events as the answer."""
    if request.method == "STDIO":
        return True
    accepted = next((value for name, value in request.headers if name.lower() == "accept"), "")
    return "text/event-stream" in accepted


def messages(response: Response) -> Iterator[Frame]:
    """Yield the messages of MCP that an answer holds; what is none is left out."""
    raw = [response.body]
    if (response.header("Content-Type") or "").partition(";")[0].strip().lower() == "text/event-stream":
        raw = [event.data for event in EventReader().feed(response.body)]
    elif response.status == 0:
        raw = response.body.splitlines()
    for text in raw:
        frame = read_frame(text)
        if frame is not None:
            yield frame


def _parts(frame: Frame) -> Iterator[Place]:
    """Yield the named parts of a message, and last the rest of it, without them."""
    failed = frame.text("result", "isError") == b"true"
    named = (
        (("result", "content"), "content", "PRIVACY-MCP-CONTENT"),
        (("result", "structuredContent"), "structuredContent", "PRIVACY-ERROR-TEXT" if failed else "PRIVACY-BODY"),
        (("error",), "error", "PRIVACY-RPC-ERROR-DATA"),
    )
    rest = frame.raw
    for path, name, requirement in named:
        text = frame.text(*path)
        if text is not None:
            yield Place(name, text, requirement)
            rest = rest.replace(text, b"", 1)
    yield Place("message", rest, "PRIVACY-BODY")
