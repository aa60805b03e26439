"""A tiny threaded server on a raw socket, which answers with whatever bytes a test wants, right or wrong."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Reply = Callable[["RawServer", socket.socket, bytes], bool]
"""Answers one request (its bytes) on a connection; true when the connection is to be kept."""

_READ_SIZE = 65536


class RawServer:
    """Listens on a free loopback port and calls ``reply`` for each request.

    ``requests`` are the requests as they came, ``connections`` is how many were accepted. ``stopped`` is set at the
    end; a reply that goes on for ever has to look at it.
    """

    def __init__(self, reply: Reply, family: socket.AddressFamily = socket.AF_INET) -> None:
        self.reply = reply
        self.requests: list[bytes] = []
        self.connections = 0
        self.stopped = threading.Event()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("::1" if family is socket.AF_INET6 else "127.0.0.1", 0), family=family)
        host = "[::1]" if family is socket.AF_INET6 else "127.0.0.1"
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://{host}:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while request := read_request(connection):
                    self.requests.append(request)
                    if not self.reply(self, connection, request):
                        return
            except OSError:
                return

    def close(self) -> None:
        """Stop listening and end every connection."""
        self.stopped.set()
        # Closing alone does not wake a thread that waits in accept.
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@contextmanager
def raw_server(reply: Reply, family: socket.AddressFamily = socket.AF_INET) -> Iterator[RawServer]:
    """Run a server for the length of a ``with`` block."""
    server = RawServer(reply, family)
    try:
        yield server
    finally:
        server.close()


def read_request(connection: socket.socket) -> bytes:
    """Read one request with its body; empty when the client has closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        received = connection.recv(_READ_SIZE)
        if not received:
            return b""
        data += received
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    missing = int(lengths[0]) - len(body) if lengths else 0
    while missing > 0:
        received = connection.recv(_READ_SIZE)
        if not received:
            break
        data += received
        missing -= len(received)
    return data


def response(body: bytes = b"{}", status: str = "200 OK", *headers: str) -> bytes:
    """Return a complete answer with its length."""
    lines = (f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers)
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def sending(*parts: bytes, keep: bool = True) -> Reply:
    """Return a reply of these bytes, sent one part after another."""

    def reply(_: RawServer, connection: socket.socket, __: bytes) -> bool:
        for part in parts:
            connection.sendall(part)
        return keep

    return reply


def dripping(start: bytes, drop: bytes, seconds: float) -> Reply:
    """Return a reply that begins with ``start`` and then sends ``drop`` every so many seconds without end."""

    def reply(server: RawServer, connection: socket.socket, _: bytes) -> bool:
        connection.sendall(start)
        while not server.stopped.wait(seconds):
            connection.sendall(drop)
        return False

    return reply


def unused_port() -> int:
    """Return a loopback port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
