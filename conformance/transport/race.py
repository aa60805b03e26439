"""Lets several clients call at the same time, and notes when each call began and ended.

Two ways to release them. *barrier*: each client is a thread that waits until all are ready, then sends. *last byte*:
every client sends all but the final byte of its first request, the server gets a moment to read that, and then the
final bytes follow each other within microseconds; only bindings with a connection per call can do so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias, runtime_checkable

import h11

from conformance.transport.exchange import Answer, Call, Exchange, Request, Response, Transport
from conformance.transport.rest import RestTransport
from conformance.transport.wire import Connection, WireFault, as_wire_fault

Release: TypeAlias = Literal["barrier", "last byte"]

_SETTLE_SECONDS: Final = 0.005
_BARRIER_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Timed:
    """An answer, the instant before its first byte was sent and that after the last byte of the answer was read.

    Instants are nanoseconds of the monotonic clock.
    """

    answer: Answer
    called: int
    returned: int


@dataclass(frozen=True, slots=True)
class Raced:
    """What a race came to: for each client its calls in order, and when what was done beside them began and ended."""

    clients: tuple[tuple[Timed, ...], ...]
    beside: tuple[int, int] | None


@runtime_checkable
class Racing(Protocol):
    """A transport that has a way of its own to release calls together, such as many requests in one write."""

    def release_together(self, scripts: Sequence[Sequence[Call]], start: Callable[[], None]) -> list[list[Timed]]:
        """Send the first call of each script together and then the rest, each after the answer to the one before.

        ``start`` is called when everything is ready, right before the first calls are sent.
        """


def releases(transport: Transport) -> tuple[Release, ...]:
    """Return the ways in which calls can be released over a transport."""
    return ("barrier", "last byte") if isinstance(transport, RestTransport) else ("barrier",)


def race(
    transport: Transport,
    scripts: Sequence[Sequence[Call]],
    release: Release,
    beside: Callable[[], None] | None = None,
    lead: float = 0.0,
) -> Raced:
    """Let one client per script make its calls, the first of all of them at the same time.

    A client goes on at once with its next call, and stops after a call without an answer. Each call has the
    transport's own deadline. ``beside`` is done in a thread of its own meanwhile, ``lead`` seconds before the calls
    are released. A call that is told to wait (429) is not repeated over ``rest``.

    Raises:
        Exception: whatever ``beside`` raised.
    """
    started = threading.Event()
    span: tuple[int, int] | None = None
    with ThreadPoolExecutor(1) as pool:
        aside = pool.submit(_when, started, beside) if beside else None

        def start() -> None:
            started.set()
            if beside and lead:
                time.sleep(lead)

        try:
            clients = _clients(transport, scripts, release, start)
        finally:
            # Without this the thread beside would wait for ever after a failure here.
            started.set()
        if aside is not None:
            span = aside.result()
    return Raced(tuple(tuple(timed) for timed in clients), span)


def _clients(
    transport: Transport, scripts: Sequence[Sequence[Call]], release: Release, start: Callable[[], None]
) -> list[list[Timed]]:
    if isinstance(transport, Racing):
        return transport.release_together(scripts, start)
    if isinstance(transport, RestTransport):
        # Raced exchanges are observed like all others, but from one thread.
        racer = _RestRacer(transport.wire, transport.binding, transport._observe)  # noqa: SLF001
        return racer.release_together(scripts, release, start)
    return _by_threads(transport, scripts, start)


def _when(started: threading.Event, action: Callable[[], None]) -> tuple[int, int]:
    started.wait()
    called = time.monotonic_ns()
    action()
    return called, time.monotonic_ns()


def _by_threads(
    transport: Transport, scripts: Sequence[Sequence[Call]], start: Callable[[], None]
) -> list[list[Timed]]:
    barrier = threading.Barrier(len(scripts), start, _BARRIER_SECONDS)

    def play(script: Sequence[Call]) -> list[Timed]:
        barrier.wait()
        played: list[Timed] = []
        for call in script:
            played.append(timed_call(transport, call))
            if played[-1].answer.outcome == "no-answer":
                break
        return played

    with ThreadPoolExecutor(len(scripts)) as pool:
        return list(pool.map(play, scripts))


def timed_call(transport: Transport, call: Call) -> Timed:
    """Make one call by itself and note when it began and ended."""
    called = time.monotonic_ns()
    return Timed(transport.call(call), called, time.monotonic_ns())


class _RestRacer(RestTransport):
    """Reads exchanges as the ``rest`` transport does, over connections that are made for one race."""

    def release_together(
        self, scripts: Sequence[Sequence[Call]], release: Release, start: Callable[[], None]
    ) -> list[list[Timed]]:
        # A server that serves one connection at a time would wait for an idle one and leave those of the race alone.
        self.wire.close()
        clients = [_Client(self, script) for script in scripts]
        held = release == "last byte"
        barrier, released = threading.Barrier(len(clients) + 1, timeout=_BARRIER_SECONDS), threading.Event()
        with ThreadPoolExecutor(len(clients)) as pool:
            running = [pool.submit(client.play, barrier, released, held=held) for client in clients]
            if held:
                barrier.wait()
                time.sleep(_SETTLE_SECONDS)
                start()
                for client in clients:
                    client.send_last_byte()
                released.set()
            else:
                start()
                released.set()
                barrier.wait()
            played = [each.result() for each in running]
        for timed in (timed for client in played for timed in client):
            # A call without an answer is judged as part of the race; it does not show that the target is gone.
            if timed.answer.exchange.response is not None:
                self._observe(timed.answer.exchange)
        return played

    def request(self, call: Call) -> tuple[str, Request]:
        """Return the path and the request of a call."""
        origin, path = self.wire.origin, self.path(call.operation)
        headers = self.headers(call.credential, call.arguments)
        return path, Request(
            self.binding.method, f"{origin.scheme}://{origin.authority}{path}", headers, call.arguments
        )

    def answer(self, call: Call, request: Request, came: Response | WireFault, elapsed: float) -> Answer:
        """Return the answer that a response, or the lack of one, amounts to."""
        response = came if isinstance(came, Response) else None
        failure = came.failure if isinstance(came, WireFault) else None
        label = call.credential.label
        return self._answer(call, Exchange(call.operation.name, label, request, response, failure, elapsed))


class _Client:
    """One client of a race: its script and its connection. Its thread does all but ``send_last_byte``."""

    def __init__(self, racer: _RestRacer, script: Sequence[Call]) -> None:
        self._racer = racer
        self._script = script
        self._connection: _SplitConnection | None = None
        self._fault: WireFault | None = None

    def play(self, barrier: threading.Barrier, released: threading.Event, *, held: bool) -> list[Timed]:
        """Get ready, wait for all others, and make the calls."""
        wire, timed = self._racer.wire, list[Timed]()
        path, request = self._racer.request(self._script[0])
        called = time.monotonic_ns()
        deadline = time.monotonic() + wire.limits.seconds
        try:
            self._connection = _SplitConnection(wire.origin, wire.limits, deadline)
            self._connection.load(request, path)
            if held:
                called = time.monotonic_ns()
                self._connection.send_all_but_last(deadline)
        except WireFault as fault:
            self._fault = fault
        barrier.wait()
        # Nothing is read before all final bytes are out: a TLS connection cannot be read and written at once.
        released.wait()
        try:
            for number, call in enumerate(self._script):
                path, request = self._racer.request(call)
                if number or not held:
                    called = time.monotonic_ns()
                    deadline = time.monotonic() + wire.limits.seconds
                came = self._come(path, request, deadline, number=number, held=held)
                returned = time.monotonic_ns()
                timed.append(
                    Timed(self._racer.answer(call, request, came, (returned - called) / 1e9), called, returned)
                )
                if isinstance(came, WireFault):
                    break
        finally:
            if self._connection is not None:
                self._connection.close()
        return timed

    def send_last_byte(self) -> None:
        """Send what ``play`` held back."""
        if self._connection is not None and self._fault is None:
            # A connection that broke meanwhile is noticed by the thread that reads from it.
            with suppress(OSError):
                self._connection.send_last()

    def _come(self, path: str, request: Request, deadline: float, *, number: int, held: bool) -> Response | WireFault:
        if self._fault is not None or self._connection is None:
            return self._fault or WireFault("unreachable", "no connection")
        try:
            if number:
                self._renew(deadline)
                self._connection.load(request, path)
            if number or not held:
                self._connection.send_loaded(deadline)
            return self._connection.receive(deadline)
        except WireFault as fault:
            return fault

    def _renew(self, deadline: float) -> None:
        """Make the connection ready for another request, or make another connection."""
        wire = self._racer.wire
        assert self._connection is not None
        if not (self._connection.reusable() and self._connection.is_idle()):
            self._connection.close()
            self._connection = _SplitConnection(wire.origin, wire.limits, deadline)


class _SplitConnection(Connection):
    """A connection on which sending a request and reading its answer are separate steps."""

    _loaded = b""

    def load(self, request: Request, path: str) -> None:
        """Write the request into memory."""
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers]
        events = [h11.Request(method=request.method, target=path, headers=headers), h11.Data(request.body)]
        parts = [self._protocol.send(event) for event in (*events, h11.EndOfMessage())]
        self._loaded = b"".join(part for part in parts if part)

    def send_loaded(self, deadline: float) -> None:
        """Send the request.

        Raises:
            WireFault: the connection broke, or the deadline has passed.
        """
        with as_wire_fault(self._limits):
            self._send(self._loaded, deadline)

    def send_all_but_last(self, deadline: float) -> None:
        """Send the request but for its final byte.

        Raises:
            WireFault: the connection broke, or the deadline has passed.
        """
        with as_wire_fault(self._limits):
            self._send(self._loaded[:-1], deadline)

    def send_last(self) -> None:
        """Send the final byte.

        Raises:
            OSError: the connection broke.
        """
        self.socket.send(self._loaded[-1:])

    def receive(self, deadline: float) -> Response:
        """Read the whole answer.

        Raises:
            WireFault: no usable answer came before the deadline.
        """
        with as_wire_fault(self._limits):
            return self._read(deadline)
