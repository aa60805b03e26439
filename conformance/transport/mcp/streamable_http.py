"""The streamable HTTP transport of MCP: one POST for each message, answered by JSON or by a stream of events."""

from __future__ import annotations

import base64
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from conformance.transport.exchange import Exchange, Failure, Headers, Observer, Request, Response
from conformance.transport.mcp.binding import CORE, McpBinding
from conformance.transport.mcp.channel import Entrance, Outgoing, Received
from conformance.transport.mcp.frames import Frame, Identifier, read_frame
from conformance.transport.mcp.journal import Journal
from conformance.transport.mcp.revisions import STATELESS, opening_frames
from conformance.transport.mcp.sse import EventReader
from conformance.transport.mcp.streaming import StreamingWire
from conformance.transport.patience import patiently
from conformance.transport.prepared import Finish
from conformance.transport.wire import BodyWatch, Origin, WireFault, WireLimits

_MOST_MESSAGES: Final = 10_000
"""How many messages one answer may hold: each takes far more room than its bytes."""

_VISIBLE: Final = re.compile(r"[!-~]+")
_HEADER_SAFE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_ENCODED: Final = re.compile(r"=\?base64\?.*\?=")


@dataclass(frozen=True)
class PreparedMessage:
    """A request that carries a message, and how to read what comes of it."""

    wire: StreamingWire
    path: str
    request: Request
    watch: BodyWatch
    finish: Finish[Received]


class HttpGateway:
    """Makes channels to one server over HTTP; connections are shared among them."""

    def __init__(
        self,
        url: str,
        binding: McpBinding,
        limits: WireLimits,
        observer: Observer,
        journal: Journal,
        make_wire: Callable[[Origin, WireLimits], StreamingWire] = StreamingWire,
    ) -> None:
        self.url = url
        self._make_wire = make_wire
        self._binding = binding
        self._limits = limits
        self.observe = observer
        self._journal = journal
        self._wires: dict[tuple[str, str, int], StreamingWire] = {}
        self._lock = threading.Lock()

    def channel(self, entrance: Entrance) -> HttpChannel:
        """Return a channel for a new session.

        Raises:
            ValueError: the target does not say how to choose the profile.
            UsageProblem: a URL of the binding is none.
        """
        profile = self._binding.profile(entrance.profile)
        url = profile.url or self.url
        if entrance.output_schemas and entrance.profile != CORE:
            url = self._binding.output_schemas_url or url
        return HttpChannel(self.wire(url), url, profile.headers, entrance, self.observe, self._journal)

    def wire(self, url: str) -> StreamingWire:
        """Return the connections to the origin of a URL."""
        origin = Origin.parse(url, "url of the MCP server")
        with self._lock:
            key = (origin.scheme, origin.host, origin.port)
            if key not in self._wires:
                self._wires[key] = self._make_wire(origin, self._limits)
            return self._wires[key]

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for wire in self._wires.values():
                wire.close()


class HttpChannel:
    """One session's way to the server."""

    def __init__(
        self,
        wire: StreamingWire,
        url: str,
        headers: Headers,
        entrance: Entrance,
        observer: Observer,
        journal: Journal,
    ) -> None:
        self.revision = ""
        self.session_id: str | None = None
        self._wire = wire
        # A slash at the end, which a canonical URL lacks, may make a difference to the server.
        self._path = urlsplit(url).path or "/"
        self._url = f"{wire.origin.scheme}://{wire.origin.authority}{self._path}"
        self._headers = headers
        self._credential = entrance.credential
        self._observe = observer
        self._journal = journal
        self._is_open = False

    def is_open(self) -> bool:
        """Whether the session can make calls at once."""
        return self._is_open

    def opened(self, revision: str, received: Received | None) -> None:
        """Take note that the session is open, and of the id that the server gave it."""
        response = received.exchange.response if received is not None else None
        session_id = response.header("Mcp-Session-Id") if response is not None else None
        # Another one could not be sent back.
        self.session_id = session_id if session_id is not None and _VISIBLE.fullmatch(session_id) else None
        self.revision = revision
        self._is_open = True

    def dropped_by(self, received: Received) -> bool:
        """Tell whether the server has ended the session (404 to its id), and forget the session if so."""
        response = received.exchange.response
        if self.session_id is None or response is None or response.status != 404:
            return False
        self.session_id, self.revision, self._is_open = None, "", False
        return True

    def send(self, outgoing: Outgoing) -> Received:
        """Send one message. A 429 is waited for as Retry-After says, a bounded number of times."""
        return self._send_patiently(outgoing, self._observe)

    def send_together(self, outgoing: Sequence[Outgoing], start: Callable[[], None]) -> list[Received]:
        """Send all messages at the same time, each over a connection of its own."""
        if self._wire.is_record:
            start()
            return [self.send(each) for each in outgoing]
        barrier = threading.Barrier(len(outgoing), start)

        def play(each: Outgoing) -> tuple[Received, list[Exchange]]:
            exchanges: list[Exchange] = []
            barrier.wait()
            return self._send_patiently(each, exchanges.append), exchanges

        with ThreadPoolExecutor(len(outgoing)) as pool:
            played = list(pool.map(play, outgoing))
        # They are observed in the order of the messages, whichever came first.
        for exchange in (exchange for _, exchanges in played for exchange in exchanges):
            self._observe(exchange)
        return [received for received, _ in played]

    def close(self) -> None:
        """End the session at the server, where it has one; what the server says to that does not matter."""
        if self.session_id is None:
            return
        headers = [("Host", self._wire.origin.authority), ("Mcp-Session-Id", self.session_id)]
        if self._credential.header is not None:
            headers.append(("Authorization", self._credential.header))
        request = Request("DELETE", self._url, (*headers, ("MCP-Protocol-Version", self.revision)), b"")
        self.session_id, self._is_open = None, False
        self._wire.say(request, self._path, _Answers(None))

    def prepare(self, outgoing: Outgoing) -> PreparedMessage:
        """Return the request that carries a message, for whoever sends it in a way of their own."""
        opening = opening_frames(self.revision) if self.session_id is not None else ()
        request = Request("POST", self._url, self._all_headers(outgoing), outgoing.frame, opening)
        watch = _Answers(outgoing.identifier)

        def finish(response: Response | None, failure: Failure | None, elapsed: float) -> Received:
            arrived = time.monotonic_ns()
            label = outgoing.principal or self._credential.label
            exchange = Exchange(outgoing.operation, label, request, response, failure, elapsed)
            answer, id_echoed = watch.answer(response) if response is not None else (None, False)
            others = tuple(frame for frame in watch.frames if frame is not answer)
            self._note(outgoing, answer, others, watch.strays)
            return Received(exchange, answer, id_echoed, others, arrived)

        return PreparedMessage(self._wire, self._path, request, watch, finish)

    def _send_patiently(self, outgoing: Outgoing, observe: Observer) -> Received:
        return patiently(lambda: self._send(outgoing, observe), lambda received: received.exchange, self._wire.wait)

    def _send(self, outgoing: Outgoing, observe: Observer) -> Received:
        prepared = self.prepare(outgoing)
        started = time.perf_counter()
        response: Response | None = None
        failure: Failure | None = None
        try:
            response = self._wire.send(prepared.request, self._path, prepared.watch)
        except WireFault as fault:
            failure = fault.failure
        received = prepared.finish(response, failure, time.perf_counter() - started)
        observe(received.exchange)
        return received

    def _note(self, outgoing: Outgoing, answer: Frame | None, others: Sequence[Frame], strays: Sequence[bytes]) -> None:
        label = self._credential.label
        if answer is not None:
            self._journal.note_frame(label, self.revision, outgoing.method, answer.raw)
        for frame in others:
            self._journal.note_frame(label, self.revision, "", frame.raw)
            if frame.is_answer:
                self._journal.note_stray(label, "an answer that nobody awaits", frame.raw)
        for text in strays:
            self._journal.note_stray(label, "no message", text)

    def _all_headers(self, outgoing: Outgoing) -> Headers:
        headers = [
            ("Host", self._wire.origin.authority),
            ("Accept", "application/json, text/event-stream"),
            ("Accept-Encoding", "identity"),
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(outgoing.frame))),
        ]
        if self._credential.header is not None:
            headers.append(("Authorization", self._credential.header))
        if self.revision:
            headers.append(("MCP-Protocol-Version", self.revision))
        if self.session_id is not None:
            headers.append(("Mcp-Session-Id", self.session_id))
        if self.revision == STATELESS and outgoing.method:
            headers.append(("Mcp-Method", outgoing.method))
            if outgoing.tool:
                headers.append(("Mcp-Name", _header_value(outgoing.tool)))
        headers += self._headers
        if outgoing.headers:
            changed = {name.lower() for name in outgoing.headers}
            headers = [(name, value) for name, value in headers if name.lower() not in changed]
            headers += [(name, value) for name, value in outgoing.headers.items() if value is not None]
        return tuple(headers)


class _Answers:
    """Collects the messages in a body while it arrives, until the one that answers."""

    def __init__(self, identifier: Identifier | None) -> None:
        self.frames: list[Frame] = []
        self.strays: list[bytes] = []
        self._identifier = identifier
        self._events: EventReader | None = None

    def begin(self, headers: Headers) -> None:
        """Find out whether the body is a stream of events."""
        content_type = next((value for name, value in headers if name.lower() == "content-type"), "")
        if content_type.partition(";")[0].strip().lower() == "text/event-stream":
            self._events = EventReader()

    def feed(self, piece: bytes) -> bool:
        """Take the next bytes; return whether our answer has come, as one of several messages.

        Raises:
            WireFault: there are too many messages.
        """
        if self._events is None:
            return False
        has_answer = False
        for event in self._events.feed(piece):
            # An event without data only tells where to take up the stream again.
            if event.type == "message" and event.data:
                frame = self._take(event.data)
                has_answer = has_answer or (frame is not None and frame.is_answer and self._is_ours(frame))
        if len(self.frames) + len(self.strays) > _MOST_MESSAGES:
            raise WireFault("too-large", f"more than {_MOST_MESSAGES} messages in one answer")
        return has_answer

    def answer(self, response: Response) -> tuple[Frame | None, bool]:
        """Return the message that answers, and whether it carries our id; only ours can be in this body."""
        # A refusal of HTTP's own says what it likes, for example {"error": "invalid_token"}.
        if self._events is None and response.body and (response.status == 200 or _is_message(response.body)):
            self._take(response.body)
        answers = [frame for frame in self.frames if frame.is_answer]
        ours = next((frame for frame in answers if self._is_ours(frame)), None)
        if ours is not None:
            return ours, True
        return (answers[0], False) if answers else (None, False)

    def _is_ours(self, frame: Frame) -> bool:
        return self._identifier is not None and frame.identifier == self._identifier

    def _take(self, raw: bytes) -> Frame | None:
        frame = read_frame(raw)
        if frame is None or frame.kind == "other":
            self.strays.append(raw)
            return None
        self.frames.append(frame)
        return frame


def _is_message(body: bytes) -> bool:
    frame = read_frame(body)
    return frame is not None and "jsonrpc" in frame.spans


def _header_value(text: str) -> str:
    """Return a name as a header can carry it, in the encoding that the specification prescribes for others."""
    if _HEADER_SAFE.fullmatch(text) and not _ENCODED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="
