"""Transports and test control whose server is a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from conformance.control.http import HttpControl
from conformance.control.interface import Capabilities
from conformance.errors import CouldNotRun
from conformance.recorded.children import RecordedMcpStdio
from conformance.recorded.tape import Recorded, Tape
from conformance.target import Entry, Target
from conformance.transport.exchange import Call, Observer, Request, Response
from conformance.transport.mcp.journal import Journal
from conformance.transport.mcp.streamable_http import HttpGateway
from conformance.transport.mcp.streaming import StreamingWire
from conformance.transport.mcp.transport import McpTransport
from conformance.transport.opening import Listener
from conformance.transport.prepared import Prepare, Prepared
from conformance.transport.race import Raced, Release, Timed, race_over_http, with_span
from conformance.transport.rest import RestTransport
from conformance.transport.wire import BodyWatch, Origin, WireFault, WireLimits


class RecordedWire(StreamingWire):
    """A wire that sends nothing: the tape has what came of each request."""

    is_record = True

    def __init__(self, origin: Origin, limits: WireLimits, tape: Tape, to: Literal["target", "control"]) -> None:
        super().__init__(origin, limits)
        self._tape = tape
        self._to = to

    def send(self, request: Request, path: str, watch: BodyWatch | None = None) -> Response:  # noqa: ARG002 - see Wire
        """Return the recorded answer.

        Raises:
            WireFault: none came.
            NotRecorded: the tape has another request at this place.
        """
        recorded = self._tape.take(request, self._to)
        # Where the time is asked for, it is that of then: what is sent afterwards was made from it.
        if self._tape.live is not None and (self._to, request.method) != ("control", "GET"):
            return self._tape.live.send(request, self._to, recorded.raw, watch)
        return answer_of(recorded, watch)

    def say(self, request: Request, path: str, watch: BodyWatch | None = None) -> None:
        """Leave out what nobody listens to."""

    def drop(self, request: Request, path: str, sent: bytes, awaits: Literal["", "answer", "byte"]) -> None:
        """Give back the record of a call whose connection was dropped."""
        self._tape.take(request, self._to)
        if self._tape.live is not None:
            self._tape.live.drop(request, self._to, path, sent, awaits)

    def wait(self, seconds: float) -> None:
        """Let the recorded time pass."""
        self._tape.clock.wait(seconds)


def answer_of(recorded: Recorded, watch: BodyWatch | None) -> Response:
    """Return the recorded answer, shown to a watch as if it arrived in one piece.

    Raises:
        WireFault: none came.
    """
    if recorded.response is None:
        assert recorded.failure is not None
        raise WireFault(recorded.failure.kind, recorded.failure.message)
    if watch is not None:
        watch.begin(recorded.response.headers)
        watch.feed(recorded.response.body)
    return recorded.response


class _PlaysRaces:
    """Plays the recorded course of a race."""

    tape: Tape
    observe: Observer

    def play_race(
        self,
        prepare: Prepare,
        scripts: Sequence[Sequence[Call]],
        release: Release,
        beside: Callable[[], None] | None,
        lead: float,
    ) -> Raced:
        """Return what the race came to; what was done beside it is done first, since its order is in the record."""
        live = self.tape.live
        if live is not None:

            def prepared_again(call: Call) -> Prepared:
                prepared = prepare(call)
                return live.prepared(prepared, self.tape.take(prepared.request).raw)

            return race_over_http(prepared_again, self.observe, scripts, release, beside, lead)
        if beside is not None:
            beside()
        ready = [[prepare(call) for call in script] for script in scripts]
        clients = tuple(tuple(self._client(each)) for each in ready)
        return Raced(clients, None if beside is None else self.tape.beside())

    def _client(self, script: Sequence[Prepared]) -> list[Timed]:
        played: list[Timed] = []
        for prepared in script:
            recorded = self.tape.take(prepared.request)
            if recorded.span is None:
                raise CouldNotRun(f"exchange {recorded.identifier} is not recorded as one of a race", "")
            failure = recorded.failure
            response = None if failure is not None else answer_of(recorded, prepared.watch)
            called, returned = recorded.span
            answer = prepared.finish(response, failure, recorded.elapsed)
            played.append(with_span(Timed(answer, called, returned)))
            self.observe(played[-1].answer.exchange)
            if failure is not None:
                break
        return played


class RecordedRest(RestTransport, _PlaysRaces):
    """Plain HTTP from the record."""

    def __init__(self, tape: Tape, target: Target, entry: Entry, observer: Observer) -> None:
        wire = RecordedWire(Origin.parse(entry.url, "target"), target.limits, tape, "target")
        super().__init__(wire, target.rest, observer)
        self.tape = tape


class RecordedMcpHttp(McpTransport, _PlaysRaces):
    """MCP over HTTP from the record."""

    def __init__(self, tape: Tape, target: Target, entry: Entry, observer: Observer) -> None:
        journal = Journal()

        def make_wire(origin: Origin, limits: WireLimits) -> StreamingWire:
            return RecordedWire(origin, limits, tape, "target")

        gateway = HttpGateway(entry.url, target.mcp, target.limits, observer, journal, make_wire)
        super().__init__("mcp-http", gateway, target.mcp, journal)
        self.tape = tape


class RecordedControl(HttpControl):
    """Test control from the record."""

    def __init__(self, url: str, token: str | None, tape: Tape, capabilities: Capabilities) -> None:
        super().__init__(url, token, lambda origin, limits: RecordedWire(origin, limits, tape, "control"))
        self._recorded_capabilities = capabilities

    def capabilities(self) -> Capabilities:
        """Return what the test control of that run offered."""
        return self._recorded_capabilities


def recorded_transport(
    tape: Tape, target: Target, entry: Entry, observer: Observer, listen: Listener
) -> RecordedRest | RecordedMcpHttp | RecordedMcpStdio:
    """Return the transport of that name whose answers are on the tape."""
    match entry.transport:
        case "rest":
            return RecordedRest(tape, target, entry, observer)
        case "mcp-http":
            return RecordedMcpHttp(tape, target, entry, observer)
        case "mcp-stdio":
            return RecordedMcpStdio(tape, target, entry, observer, listen)
