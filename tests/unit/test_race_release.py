"""Calls that are released together: when their bytes go out, how they are timed, and what is done without an answer."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

import pytest
from made_answers import ARCHIVE, GET, OWNER, answer
from raw_server import RawServer, Reply, raw_server, response, sending, unused_port

from conformance.transport.exchange import Answer, Call, Exchange
from conformance.transport.race import Raced, Release, Timed, race, releases, timed_call
from conformance.transport.rest import RestBinding, RestTransport
from conformance.transport.wire import Origin, Wire, WireLimits

WAYS: tuple[Release, ...] = ("barrier", "last byte")
LIMITS = WireLimits(seconds=5.0)


def call(text: str = "{}") -> Call:
    """Return a call of *get* with that body."""
    return Call(GET, text.encode(), OWNER)


@contextmanager
def rest(url: str, limits: WireLimits = LIMITS) -> Iterator[tuple[RestTransport, list[Exchange]]]:
    """Give a transport and the list of what it observes."""
    seen: list[Exchange] = []
    with closing(RestTransport(Wire(Origin.parse(url, "test"), limits), RestBinding(), seen.append)) as transport:
        yield transport, seen


def raced(reply: Reply, release: Release, scripts: Sequence[Sequence[Call]], limits: WireLimits = LIMITS) -> Raced:
    """Race against a server with that reply."""
    with raw_server(reply) as server, rest(server.url, limits) as (transport, _):
        return race(transport, scripts, release)


@pytest.mark.parametrize("release", WAYS)
def test_every_call_of_every_client_is_answered_and_timed(release: Release) -> None:
    """Answers belong to their calls, and a client's calls follow each other."""

    def reply(_: RawServer, connection: socket.socket, request: bytes) -> bool:
        connection.sendall(response(request.partition(b"\r\n\r\n")[2]))
        return True

    scripts = [[call(f'"{client}-{number}"') for number in range(3)] for client in range(4)]
    came = raced(reply, release, scripts)
    for script, played in zip(scripts, came.clients, strict=True):
        assert [each.arguments for each in script] == [timed.answer.result for timed in played]
        instants = [instant for timed in played for instant in (timed.called, timed.returned)]
        assert sorted(instants) == instants
    assert came.beside is None


@pytest.mark.parametrize("release", WAYS)
def test_all_clients_have_called_before_any_is_answered(release: Release) -> None:
    """A server that answers only when all requests are there answers all of them."""
    everybody = threading.Barrier(6, timeout=5)

    def reply(_: RawServer, connection: socket.socket, __: bytes) -> bool:
        everybody.wait()
        connection.sendall(response())
        return True

    came = raced(reply, release, [[call()]] * 6)
    assert ["success"] * 6 == [timed.answer.outcome for (timed,) in came.clients]
    assert max(timed.called for (timed,) in came.clients) < min(timed.returned for (timed,) in came.clients)


def test_the_last_byte_is_held_back_until_the_others_have_come() -> None:
    """No client's final byte goes out before every client has sent the rest."""
    arrived: list[str] = []

    def reply(server: RawServer, connection: socket.socket, request: bytes) -> bool:
        del server, request
        connection.sendall(response())
        return True

    class Watching(RawServer):
        def _serve(self, connection: socket.socket) -> None:
            received = b""
            while not received.endswith(b"{}"):
                part = connection.recv(65536)
                if not part:
                    return
                received += part
                arrived.append("end" if received.endswith(b"{}") else "beginning")
            connection.sendall(response())

    server = Watching(reply)
    with closing(server), rest(server.url) as (transport, _):
        came = race(transport, [[call()]] * 3, "last byte")
    assert ["success"] * 3 == [timed.answer.outcome for (timed,) in came.clients]
    assert ["end"] * 3 == arrived[-3:]
    # On a busy machine the server may read both parts of a request at once.
    assert set(arrived[:-3]) <= {"beginning"}


@pytest.mark.parametrize("release", WAYS)
def test_what_is_done_beside_is_timed(release: Release) -> None:
    """It is done once, and has begun and ended when the race is over."""
    done: list[int] = []
    with raw_server(sending(response())) as server, rest(server.url) as (transport, _):
        came = race(transport, [[call()]], release, lambda: done.append(time.monotonic_ns()), 0.001)
    assert came.beside is not None
    begun, ended = came.beside
    assert begun <= done[0] <= ended
    assert 1 == len(done)


@pytest.mark.parametrize("release", WAYS)
def test_what_goes_wrong_beside_is_raised(release: Release) -> None:
    """After all clients have come to an end."""

    def fail() -> None:
        raise ValueError("beside")

    with (
        raw_server(sending(response())) as server,
        rest(server.url) as (transport, seen),
        pytest.raises(ValueError, match="beside"),
    ):
        race(transport, [[call()]] * 2, release, fail)
    assert 2 == len(seen)


@pytest.mark.parametrize("release", WAYS)
def test_a_call_without_an_answer_ends_at_its_deadline(release: Release) -> None:
    """It is an answer of its own kind, the client stops, and the others are not held up."""

    def reply(server: RawServer, connection: socket.socket, request: bytes) -> bool:
        if b"silent" in request:
            server.stopped.wait(20)
            return False
        connection.sendall(response())
        return True

    limits = WireLimits(seconds=0.2)
    silent, other = raced(reply, release, [[call('"silent"'), call()], [call(), call()]], limits).clients
    assert ["no-answer"] == [timed.answer.outcome for timed in silent]
    failure = silent[0].answer.exchange.failure
    assert failure is not None
    assert "timeout" == failure.kind
    assert ["success", "success"] == [timed.answer.outcome for timed in other]


@pytest.mark.parametrize("release", WAYS)
def test_a_server_that_is_not_there_is_an_answer_too(release: Release) -> None:
    """Nothing is raised, and nothing waits for ever."""
    with rest(f"http://127.0.0.1:{unused_port()}") as (transport, _):
        came = race(transport, [[call()]] * 2, release)
    assert ["no-answer"] * 2 == [timed.answer.outcome for (timed,) in came.clients]


@pytest.mark.parametrize("release", WAYS)
def test_a_connection_that_the_server_closes_is_replaced(release: Release) -> None:
    """A client's next call is made on another connection, and all connections are closed in the end."""
    with raw_server(sending(response(b"{}", "200 OK", "Connection: close"), keep=False)) as server:
        with rest(server.url) as (transport, _):
            came = race(transport, [[call()] * 3] * 2, release)
        assert 6 == server.connections
    assert ["success"] * 6 == [timed.answer.outcome for client in came.clients for timed in client]


def test_answers_and_lacking_ones_are_observed_as_those_of_a_race() -> None:
    """With their instants, so that a session does not take a lacking answer for a sign that the target is gone."""

    def reply(_: RawServer, connection: socket.socket, request: bytes) -> bool:
        if b"closed" not in request:
            connection.sendall(response(b"{}", "409 Conflict"))
        return False

    with raw_server(reply) as server, rest(server.url) as (transport, seen):
        closed, refused = race(transport, [[call('"closed"')], [call()]], "last byte").clients
    assert ("no-answer", "refused") == (closed[0].answer.outcome, refused[0].answer.outcome)
    assert [closed[0].answer.exchange, refused[0].answer.exchange] == seen
    assert [(each[0].called, each[0].returned) for each in (closed, refused)] == [each.span for each in seen]


class Plain:
    """A transport that offers nothing but single calls."""

    name = "plain"

    def __init__(self) -> None:
        self.everybody = threading.Barrier(2, timeout=5)

    def call(self, call: Call) -> Answer:
        """Answer a read when two are there, and anything else not at all."""
        if call.operation is GET:
            self.everybody.wait()
            return answer("success")
        return answer("no-answer")

    def can_carry(self, arguments: bytes) -> bool:  # noqa: ARG002 - the protocol's parameter
        """Anything."""
        return True

    def close(self) -> None:
        """There is nothing to close."""


def test_any_transport_is_raced_by_a_barrier() -> None:
    """Threads call it at the same time; a client stops after a call without an answer."""
    transport = Plain()
    assert ("barrier",) == releases(transport)
    silent = Call(ARCHIVE, b"{}", OWNER)
    clients = race(transport, [[call(), silent, call()], [call()]], "barrier").clients
    assert [["success", "no-answer"], ["success"]] == [[each.answer.outcome for each in played] for played in clients]


class OnePipe(Plain):
    """A transport that writes all first calls at once."""

    def release_together(self, scripts: Sequence[Sequence[Call]], start: Callable[[], None]) -> list[list[Timed]]:
        """Answer each call."""
        start()
        return [[Timed(answer("success"), 1, 2) for _ in script] for script in scripts]


def test_a_transport_may_have_its_own_way() -> None:
    """Then that is used."""
    clients = race(OnePipe(), [[call(), call()], [call()]], "barrier").clients
    assert [[(1, 2), (1, 2)], [(1, 2)]] == [[(each.called, each.returned) for each in played] for played in clients]


def test_over_rest_there_are_two_ways() -> None:
    """And a single call is timed as those of a race are."""
    with raw_server(sending(response())) as server, rest(server.url) as (transport, _):
        assert WAYS == releases(transport)
        timed = timed_call(transport, call())
    assert timed.called < timed.returned
    assert "success" == timed.answer.outcome
