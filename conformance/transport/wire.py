"""HTTP/1.1 over plain sockets: exact bytes out, exact bytes in, and a deadline for the whole call.

The protocol itself is h11's. A client library would do more than is wanted here: follow redirects, decode bodies,
repair headers, and count its timeout from one read to the next, so that a server that drips one byte a second never
trips it.
"""

from __future__ import annotations

import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Literal, Protocol
from urllib.parse import urlsplit

import h11

from conformance.errors import UsageProblem
from conformance.transport.exchange import Failure, FailureKind, Headers, Request, Response

READ_SIZE = 65536
_INFORMATIONAL_LIMIT = 16
_URL_CHARACTERS = re.compile(r"[!-~]+")
_REUSE_SECONDS = 1.0
_LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class WireLimits:
    """Bounds of one call: seconds until the last byte, bytes of a body, bytes of a header block."""

    seconds: float = 10.0
    body_bytes: int = 32 * 1024 * 1024
    header_bytes: int = 64 * 1024


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a URL points: scheme, host, port, and the path prefix that all requests share."""

    scheme: str
    host: str
    port: int
    prefix: str

    @classmethod
    def parse(cls, url: str, where: str) -> Origin:
        """Read an ``http`` or ``https`` URL.

        Raises:
            UsageProblem: it is not such a URL; ``where`` says which option or key it came from.
        """
        advice = "Write it like http://127.0.0.1:8000 or https://host/prefix."
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise UsageProblem(f"{url!r} is not a URL ({error})", where, advice) from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageProblem(f"{url!r} is not an http or https URL", where, advice)
        if port == 0 or not _URL_CHARACTERS.fullmatch(url):
            raise UsageProblem(f"{url!r} has a character or a port that no URL has", where, advice)
        if parts.query or parts.fragment or parts.username or parts.password:
            raise UsageProblem(f"{url!r} has more than a host, a port and a path", where, advice)
        default = 443 if parts.scheme == "https" else 80
        return cls(parts.scheme, parts.hostname, port or default, parts.path.rstrip("/"))

    @property
    def authority(self) -> str:
        """The host and port as the Host header wants them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = 443 if self.scheme == "https" else 80
        return host if self.port == default else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL again, in one canonical spelling."""
        return f"{self.scheme}://{self.authority}{self.prefix}"


class BodyWatch(Protocol):
    """Looks at a body while it arrives."""

    def begin(self, headers: Headers) -> None:
        """Take note of the headers of the answer."""

    def feed(self, piece: bytes) -> bool:
        """Take the next bytes of the body; return whether all that matters has come."""


class WireFault(Exception):
    """A request that got no usable answer."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message)


class Connection:
    """One kept-alive connection, used by one thread at a time."""

    def __init__(self, origin: Origin, limits: WireLimits, deadline: float) -> None:
        self._limits = limits
        self.watch: BodyWatch | None = None
        self.socket = connect(origin, deadline)
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=limits.header_bytes)
        self._used = time.monotonic()

    def is_idle(self) -> bool:
        """Whether the server has neither closed the connection nor sent anything unasked, nor is about to close it.

        A server that closes connections after some idle seconds may do so while the next request is on its way.
        """
        if time.monotonic() - self._used > _REUSE_SECONDS:
            return False
        readable, _, _ = select.select([self.socket], [], [], 0)
        return not readable

    def exchange(self, method: str, path: str, headers: Headers, body: bytes, deadline: float) -> Response:
        """Send one request and read its whole answer."""
        head = h11.Request(
            method=method, target=path, headers=[(n.encode("latin-1"), v.encode("latin-1")) for n, v in headers]
        )
        outgoing = [self._protocol.send(head), self._protocol.send(h11.Data(body)) if body else b""]
        outgoing.append(self._protocol.send(h11.EndOfMessage()))
        with as_wire_fault(self._limits):
            self._send(b"".join(part for part in outgoing if part), deadline)
            return self._read(deadline)

    def _send(self, data: bytes, deadline: float) -> None:
        self.socket.settimeout(remaining(deadline))
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            # A server may refuse a large body early, answer and close: the answer is still there to be read.
            return

    def _read(self, deadline: float) -> Response:
        head: h11.Response | None = None
        body: list[bytes] = []
        size = informational = 0
        while True:
            event = self._protocol.next_event()
            if event is h11.NEED_DATA:
                self.socket.settimeout(remaining(deadline))
                received = self.socket.recv(READ_SIZE)
                if not received and head is None:
                    raise WireFault("closed", "the server closed the connection without an answer")
                self._protocol.receive_data(received)
            # By type, and the usual first: h11's events have an abstract base, for which isinstance is slow.
            elif type(event) is h11.Response:
                head = event
            elif type(event) is h11.Data:
                size += len(event.data)
                if size > self._limits.body_bytes:
                    raise WireFault("too-large", f"the body is longer than {self._limits.body_bytes} bytes")
                body.append(bytes(event.data))
            elif type(event) is h11.EndOfMessage:
                assert head is not None
                return read_response(head, b"".join(body))
            elif type(event) is h11.InformationalResponse:
                informational += 1
                if informational > _INFORMATIONAL_LIMIT:
                    raise WireFault("malformed", f"more than {_INFORMATIONAL_LIMIT} interim (1xx) answers")
            else:
                raise WireFault("closed", "the connection was closed before an answer was complete")

    def reusable(self) -> bool:
        """Make ready for the next request; false when the server wants the connection closed or sent too much."""
        unasked, _ = self._protocol.trailing_data
        if self._protocol.our_state is h11.DONE and self._protocol.their_state is h11.DONE and not unasked:
            self._protocol.start_next_cycle()
            self._used = time.monotonic()
            return True
        return False

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()


class Wire:
    """Sends requests to one origin over a small pool of kept-alive connections; safe to share between threads."""

    is_record = False
    """Whether answers come from a record, in the order of the record."""

    def __init__(self, origin: Origin, limits: WireLimits | None = None) -> None:
        self.origin = origin
        self.limits = limits or WireLimits()
        self._idle: list[Connection] = []
        self._lock = threading.Lock()

    def send(self, request: Request, path: str, watch: BodyWatch | None = None) -> Response:
        """Send ``request`` to ``path`` (prefix included) and return the answer.

        Nothing is sent twice: a connection is checked before it is used again, and a call that fails has failed.
        ``watch`` is for wires that can leave a body before its end.

        Raises:
            WireFault: no usable answer came before the deadline.
        """
        deadline = time.monotonic() + self.limits.seconds
        connection = self._take(deadline)
        connection.watch = watch
        try:
            response = connection.exchange(request.method, path, request.headers, request.body, deadline)
        except BaseException:
            connection.close()
            raise
        if connection.reusable():
            with self._lock:
                self._idle.append(connection)
        else:
            connection.close()
        return response

    def say(self, request: Request, path: str, watch: BodyWatch | None = None) -> None:
        """Send a request whose answer does not matter, nor whether there is one."""
        with suppress(WireFault):
            self.send(request, path, watch)

    def drop(self, request: Request, path: str, sent: bytes, awaits: Literal["", "answer", "byte"]) -> None:
        """Send ``sent`` of the request's body over a connection of its own, and drop that.

        ``awaits`` says what is waited for before: nothing, that an answer has begun to arrive, or its first byte.
        Whatever the server does with the connection does not matter.
        """
        lines = (f"{request.method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in request.headers))
        head = "".join(f"{line}\r\n" for line in (*lines, ""))
        deadline = time.monotonic() + self.limits.seconds
        with suppress(OSError, WireFault), closing(connect(self.origin, deadline)) as connection:
            connection.settimeout(remaining(deadline))
            connection.sendall(head.encode("latin-1") + sent)
            if awaits == "answer":
                select.select([connection], [], [], remaining(deadline))
            elif awaits == "byte":
                connection.recv(1)

    def wait(self, seconds: float) -> None:
        """Let time pass, as the server has asked."""
        time.sleep(seconds)

    def _take(self, deadline: float) -> Connection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect(deadline)
            if connection.is_idle():
                return connection
            connection.close()

    def _connect(self, deadline: float) -> Connection:
        return Connection(self.origin, self.limits, deadline)

    def close(self) -> None:
        """Close all idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def connect(origin: Origin, deadline: float) -> socket.socket:
    """Open a socket to ``origin``.

    Raises:
        WireFault: nothing listens there, or TLS fails.
    """
    try:
        plain = socket.create_connection((origin.host, origin.port), timeout=remaining(deadline))
    except (OSError, UnicodeError) as error:
        # A host name that cannot be one is a UnicodeError.
        raise WireFault("unreachable", f"cannot connect to {origin.authority} ({_reason(error)})") from None
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if origin.scheme == "http":
        return plain
    try:
        return ssl.create_default_context().wrap_socket(plain, server_hostname=origin.host)
    except OSError as error:
        plain.close()
        raise WireFault("unreachable", f"no TLS connection to {origin.authority} ({_reason(error)})") from None


def remaining(deadline: float) -> float:
    """Seconds left until ``deadline`` (a reading of the monotonic clock).

    Raises:
        WireFault: none are left.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        raise WireFault("timeout", "no complete answer before the deadline")
    return left


@contextmanager
def as_wire_fault(limits: WireLimits) -> Iterator[None]:
    """Turn whatever goes wrong on a connection into a ``WireFault``."""
    try:
        yield
    except TimeoutError:
        raise WireFault("timeout", f"no complete answer within {limits.seconds:g} s") from None
    except h11.RemoteProtocolError as error:
        kind: FailureKind = "closed" if "closed connection" in str(error) else "malformed"
        raise WireFault(kind, f"not an HTTP/1.1 answer: {_cut(str(error))}") from None
    except OSError as error:
        raise WireFault("closed", f"the connection broke ({_reason(error)})") from None


def read_response(head: h11.Response, body: bytes) -> Response:
    """Return the answer with that head and body."""
    raw = head.headers.raw_items()
    return Response(
        status=head.status_code,
        reason=head.reason.decode("latin-1"),
        headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in raw),
        body=body,
    )


def _cut(text: str) -> str:
    # The message of a parser may quote a whole head.
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."


def _reason(error: OSError | UnicodeError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
