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
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal, Protocol, TypeAlias, TypeGuard, runtime_checkable

import h11

from conformance.clock import Clock
from conformance.transport.exchange import Answer, Call, Observer, Response, Transport
from conformance.transport.mcp.streaming import WatchedConnection
from conformance.transport.mcp.transport import McpTransport
from conformance.transport.prepared import Prepare, Prepared
from conformance.transport.rest import RestTransport
from conformance.transport.wire import WireFault, as_wire_fault

Release: TypeAlias = Literal["barrier", "last byte"]

_SETTLE_SECONDS: Final = 0.002
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


def with_span(timed: Timed) -> Timed:
    """Return the same, with its instants in the exchange too."""
    exchange = replace(timed.answer.exchange, span=(timed.called, timed.returned))
    return replace(timed, answer=replace(timed.answer, exchange=exchange))


@runtime_checkable
class PlaysRaces(Protocol):
    """A transport whose races have been run already."""

    def prepare(self, call: Call) -> Prepared:
        """Return the request of a call."""

    def play_race(
        self,
        prepare: Prepare,
        scripts: Sequence[Sequence[Call]],
        release: Release,
        beside: Callable[[], None] | None,
        lead: float,
    ) -> Raced:
        """Return what the race came to."""


@runtime_checkable
class Racing(Protocol):
    """A transport that has a way of its own to release calls together, such as many requests in one write."""

    def release_together(self, scripts: Sequence[Sequence[Call]], start: Callable[[], None]) -> list[list[Timed]]:
        """Send the first call of each script together and then the rest, each after the answer to the one before.

        ``start`` is called when everything is ready, right before the first calls are sent.
        """


def releases(transport: Transport) -> tuple[Release, ...]:
    """Return the ways in which calls can be released over a transport."""
    return ("barrier", "last byte") if _is_over_http(transport) else ("barrier",)


def _is_over_http(transport: Transport) -> TypeGuard[RestTransport | McpTransport]:
    return isinstance(transport, RestTransport | McpTransport) and transport.name != "mcp-stdio"


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
    if isinstance(transport, PlaysRaces):
        return transport.play_race(transport.prepare, scripts, release, beside, lead)

    def clients(start: Callable[[], None]) -> list[list[Timed]]:
        return _clients(transport, scripts, release, start)

    return _with_beside(clients, beside, lead)


def race_over_http(
    prepare: Prepare,
    observe: Observer,
    scripts: Sequence[Sequence[Call]],
    release: Release,
    beside: Callable[[], None] | None = None,
    lead: float = 0.0,
) -> Raced:
    """Do the same with calls that somebody else prepares."""
    return _with_beside(
        lambda start: _HttpRacer(prepare, observe).release_together(scripts, release, start), beside, lead
    )


def race_by_threads(
    scripts: Sequence[Sequence[Callable[[], Answer]]], beside: Callable[[], None] | None = None, lead: float = 0.0
) -> Raced:
    """Do the same with calls that are made by calling something."""
    return _with_beside(lambda start: _by_threads(scripts, start), beside, lead)


def _with_beside(
    race_clients: Callable[[Callable[[], None]], list[list[Timed]]], beside: Callable[[], None] | None, lead: float
) -> Raced:
    started = threading.Event()
    span: tuple[int, int] | None = None
    with ThreadPoolExecutor(1) as pool:
        aside = pool.submit(_when, started, beside) if beside else None

        def start() -> None:
            started.set()
            if beside and lead:
                time.sleep(lead)

        try:
            clients = race_clients(start)
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
    if _is_over_http(transport):
        return _HttpRacer(transport.prepare, transport.observe).release_together(scripts, release, start)
    return _by_threads([[partial(transport.call, call) for call in script] for script in scripts], start)


def _when(started: threading.Event, action: Callable[[], None]) -> tuple[int, int]:
    started.wait()
    called = time.monotonic_ns()
    action()
    return called, time.monotonic_ns()


def _by_threads(scripts: Sequence[Sequence[Callable[[], Answer]]], start: Callable[[], None]) -> list[list[Timed]]:
    barrier = threading.Barrier(len(scripts), start, _BARRIER_SECONDS)

    def play(script: Sequence[Callable[[], Answer]]) -> list[Timed]:
        barrier.wait()
        played: list[Timed] = []
        for make_call in script:
            played.append(_timed(make_call, Clock()))
            if played[-1].answer.outcome == "no-answer":
                break
        return played

    with ThreadPoolExecutor(len(scripts)) as pool:
        return list(pool.map(play, scripts))


def timed_call(transport: Transport, call: Call, clock: Clock | None = None) -> Timed:
    """Make one call by itself and note when it began and ended."""
    return _timed(partial(transport.call, call), clock or Clock())


def _timed(make_call: Callable[[], Answer], clock: Clock) -> Timed:
    called = clock.instant()
    return Timed(make_call(), called, clock.instant())


class _HttpRacer:
    """Sends prepared calls over connections that are made for one race."""

    def __init__(self, prepare: Prepare, observe: Observer) -> None:
        self._prepare = prepare
        self._observe = observe

    def release_together(
        self, scripts: Sequence[Sequence[Call]], release: Release, start: Callable[[], None]
    ) -> list[list[Timed]]:
        clients = [_Client(self._prepare, script) for script in scripts]
        # A server that serves one connection at a time would wait for an idle one and leave those of the race alone.
        for client in clients:
            client.first.wire.close()
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
            played = [[with_span(timed) for timed in each.result()] for each in running]
        for timed in (timed for client in played for timed in client):
            # Raced exchanges are observed like all others, but from one thread.
            self._observe(timed.answer.exchange)
        return played


class _Client:
    """One client of a race: its script and its connection. Its thread does all but ``send_last_byte``."""

    def __init__(self, prepare: Prepare, script: Sequence[Call]) -> None:
        # All of them now, so that messages are numbered in the same order every time.
        self._prepared = [prepare(call) for call in script]
        self.first = self._prepared[0]
        self._connection: _SplitConnection | None = None
        self._fault: WireFault | None = None

    def play(self, barrier: threading.Barrier, released: threading.Event, *, held: bool) -> list[Timed]:
        """Get ready, wait for all others, and make the calls."""
        prepared, timed = self.first, list[Timed]()
        called = time.monotonic_ns()
        deadline = time.monotonic() + prepared.wire.limits.seconds
        try:
            self._connection = _connection(prepared, deadline)
            self._connection.load(prepared)
            if held:
                called = time.monotonic_ns()
                self._connection.send_all_but_last(deadline)
        except WireFault as fault:
            self._fault = fault
        barrier.wait()
        # Nothing is read before all final bytes are out: a TLS connection cannot be read and written at once.
        released.wait()
        try:
            for number, prepared in enumerate(self._prepared):
                if number or not held:
                    called = time.monotonic_ns()
                    deadline = time.monotonic() + prepared.wire.limits.seconds
                came = self._come(prepared, deadline, number=number, held=held)
                returned = time.monotonic_ns()
                response = came if isinstance(came, Response) else None
                failure = came.failure if isinstance(came, WireFault) else None
                answer = prepared.finish(response, failure, (returned - called) / 1e9)
                timed.append(Timed(answer, called, returned))
                if failure is not None:
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

    def _come(self, prepared: Prepared, deadline: float, *, number: int, held: bool) -> Response | WireFault:
        if self._fault is not None or self._connection is None:
            return self._fault or WireFault("unreachable", "no connection")
        try:
            if number:
                self._renew(prepared, deadline)
                self._connection.load(prepared)
            if number or not held:
                self._connection.send_loaded(deadline)
            return self._connection.receive(deadline)
        except WireFault as fault:
            return fault

    def _renew(self, prepared: Prepared, deadline: float) -> None:
        """Make the connection ready for another request, or make another connection."""
        assert self._connection is not None
        if not (self._connection.reusable() and self._connection.is_idle()):
            self._connection.close()
            self._connection = _connection(prepared, deadline)


def _connection(prepared: Prepared, deadline: float) -> _SplitConnection:
    return _SplitConnection(prepared.wire.origin, prepared.wire.limits, deadline)


class _SplitConnection(WatchedConnection):
    """A connection on which sending a request and reading its answer are separate steps."""

    _loaded = b""

    def load(self, prepared: Prepared) -> None:
        """Write the request into memory."""
        request, self.watch = prepared.request, prepared.watch
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers]
        events = [h11.Request(method=request.method, target=prepared.path, headers=headers), h11.Data(request.body)]
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
