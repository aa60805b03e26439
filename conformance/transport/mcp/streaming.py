"""HTTP with an answer that can be complete before its body is: a stream of events is read as far as it matters."""

from __future__ import annotations

import time
from typing import Final

import h11

from conformance.transport.exchange import Response
from conformance.transport.wire import (
    READ_SIZE,
    BodyWatch,
    Connection,
    Wire,
    WireFault,
    WireLimits,
    read_response,
    remaining,
)

_GRACE_SECONDS: Final = 0.05
"""How long a stream may take to end after the answer; one that is still open then is left."""

_INTERIM_BYTES: Final = 1024
"""What an interim (1xx) answer counts for against the bound of a body."""


class StreamingWire(Wire):
    """A wire that stops reading when a watch has seen enough; what arrived of the body until then counts."""

    def _connect(self, deadline: float) -> Connection:
        return WatchedConnection(self.origin, self.limits, deadline)


class WatchedConnection(Connection):
    """A kept-alive connection that shows each answer to a watch while reading it."""

    def _read(self, deadline: float) -> Response:
        if self.watch is None:
            return super()._read(deadline)
        answer = _PartialAnswer(self.watch, self._limits)
        try:
            while not answer.is_complete:
                until = min(deadline, answer.left_at)
                answer.take(self._next_event(until, begun=answer.head is not None))
        except (WireFault, OSError, h11.RemoteProtocolError):
            if not answer.has_enough:
                raise
        assert answer.head is not None
        return read_response(answer.head, b"".join(answer.body))

    def _next_event(self, deadline: float, *, begun: bool) -> object:
        while True:
            event = self._protocol.next_event()
            if event is not h11.NEED_DATA:
                return event
            self.socket.settimeout(remaining(deadline))
            received = self.socket.recv(READ_SIZE)
            if not received and not begun:
                raise WireFault("closed", "the server closed the connection without an answer")
            self._protocol.receive_data(received)


class _PartialAnswer:
    """An answer as far as it has come. ``left_at`` is when its stream is left, a reading of the monotonic clock."""

    def __init__(self, watch: BodyWatch, limits: WireLimits) -> None:
        self.head: h11.Response | None = None
        self.body: list[bytes] = []
        self.is_complete = False
        self.has_enough = False
        self.left_at = float("inf")
        self._watch = watch
        self._left_bytes = limits.body_bytes
        self._limit = limits.body_bytes

    def take(self, event: object) -> None:
        """Take the next event of the protocol.

        Raises:
            WireFault: the answer is too long, or ends before it is complete.
        """
        if isinstance(event, h11.Response):
            self.head = event
            self._watch.begin(read_response(event, b"").headers)
        elif isinstance(event, h11.InformationalResponse):
            self._count(_INTERIM_BYTES)
        elif isinstance(event, h11.Data):
            self._count(len(event.data))
            self.body.append(bytes(event.data))
            if self._watch.feed(self.body[-1]) and not self.has_enough:
                self.has_enough, self.left_at = True, time.monotonic() + _GRACE_SECONDS
        elif isinstance(event, h11.EndOfMessage):
            self.is_complete = True
        else:
            raise WireFault("closed", "the connection was closed before an answer was complete")

    def _count(self, size: int) -> None:
        self._left_bytes -= size
        if self._left_bytes < 0:
            raise WireFault("too-large", f"the body is longer than {self._limit} bytes")
