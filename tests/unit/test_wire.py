"""The HTTP client on plain sockets: exact bytes, one deadline, nothing sent twice."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from raw_server import RawServer, Reply, dripping, raw_server, response, sending, unused_port

from conformance.errors import UsageProblem
from conformance.transport import wire as wire_module
from conformance.transport.exchange import FailureKind, Request, Response
from conformance.transport.wire import Origin, Wire, WireFault, WireLimits

LIMITS = WireLimits(seconds=5.0, body_bytes=1000, header_bytes=2000)


@contextmanager
def client(url: str, limits: WireLimits = LIMITS) -> Iterator[Wire]:
    """Give a client of ``url`` and close it."""
    with closing(Wire(Origin.parse(url, "test"), limits)) as wire:
        yield wire


def call(wire: Wire, body: bytes = b"{}", path: str = "/x") -> Response:
    """Send one POST."""
    headers = (("Host", wire.origin.authority), ("Content-Length", str(len(body))))
    return wire.send(Request("POST", wire.origin.url + path, headers, body), wire.origin.prefix + path)


def failure(reply: Reply, limits: WireLimits = LIMITS) -> tuple[FailureKind, str, RawServer]:
    """Send one POST that must fail; return how, and the server."""
    with raw_server(reply) as server, client(server.url, limits) as wire, pytest.raises(WireFault) as caught:
        call(wire)
    return caught.value.failure.kind, caught.value.failure.message, server


def test_an_answer_is_kept_byte_for_byte() -> None:
    """Status, reason, header names and the undecoded body arrive as they were sent."""
    with (
        raw_server(sending(response(b"\xff\x00{}", "418 Short And Stout", "X-Odd-CASE: v"))) as server,
        client(server.url) as wire,
    ):
        answer = call(wire)
    assert (418, "Short And Stout", b"\xff\x00{}") == (answer.status, answer.reason, answer.body)
    assert ("X-Odd-CASE", "v") in answer.headers
    assert "v" == answer.header("x-odd-case")
    assert answer.header("missing") is None


def test_a_request_is_sent_byte_for_byte() -> None:
    """Method, path with prefix, headers in their order and the body arrive as they were given."""
    with raw_server(sending(response())) as server, client(f"{server.url}/v2/") as wire:
        call(wire, b"\xc3\xa4\x00")
        expected = f"POST /v2/x HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 3\r\n\r\n".encode()
        assert [expected + b"\xc3\xa4\x00"] == server.requests


def test_one_connection_serves_many_calls() -> None:
    """A kept-alive connection is used again."""
    with raw_server(sending(response())) as server, client(server.url) as wire:
        for _ in range(5):
            assert 200 == call(wire).status
        assert (1, 5) == (server.connections, len(server.requests))


def test_a_connection_that_the_server_closes_is_not_used_again() -> None:
    """Whether it says so or only closes, the next call goes over a new connection and is sent once."""
    for reply in (sending(response(b"{}", "200 OK", "Connection: close"), keep=False), sending(response(), keep=False)):
        with raw_server(reply) as server, client(server.url) as wire:
            for _ in range(3):
                call(wire)
                _until_idle_connections_are_closed(wire)
            assert (3, 3) == (server.connections, len(server.requests))


def _until_idle_connections_are_closed(wire: Wire) -> None:
    """Wait for the end that the server has sent, so that the test does not depend on who is faster."""
    for connection in wire._idle:
        connection.socket.settimeout(5)
        connection.socket.recv(1, socket.MSG_PEEK)


def test_a_connection_idle_for_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may be about to close it, and a call must not be lost to that."""
    monkeypatch.setattr(wire_module, "_REUSE_SECONDS", -1.0)
    with raw_server(sending(response())) as server, client(server.url) as wire:
        call(wire)
        call(wire)
        assert 2 == server.connections


def test_what_a_server_sends_unasked_is_never_taken_for_an_answer() -> None:
    """Bytes after an answer, even a whole second answer, end the use of the connection."""
    with raw_server(sending(response(b"1") + response(b"2", "404 Not Found"))) as server, client(server.url) as wire:
        assert [(200, b"1")] * 3 == [(answer.status, answer.body) for answer in (call(wire) for _ in range(3))]
        assert 3 == server.connections


def test_chunks_and_interim_answers_are_read() -> None:
    """A chunked body with a trailer behind an interim answer is put together."""
    head = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with (
        raw_server(sending(head, b"2\r\nab\r\n", b"1;x=y\r\nc\r\n", b"0\r\nX-End: 1\r\n\r\n")) as server,
        client(server.url) as wire,
    ):
        assert b"abc" == call(wire).body


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    """HTTP/1.0 servers answer so."""
    with raw_server(sending(b"HTTP/1.0 200 OK\r\n\r\nabc", keep=False)) as server, client(server.url) as wire:
        assert b"abc" == call(wire).body


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        pytest.param(sending(keep=False), "closed", id="closes-without-a-word"),
        pytest.param(sending(b"HTTP/1.1 20", keep=False), "closed", id="half-a-status-line"),
        pytest.param(sending(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", keep=False), "closed",
                     id="half-a-body"),
        pytest.param(sending(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", keep=False), "closed",
                     id="half-a-chunk"),
        pytest.param(sending(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "malformed", id="another-protocol"),
        pytest.param(sending(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"), "malformed", id="a-length-in-letters"),
        pytest.param(sending(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), "malformed",
                     id="two-lengths"),
        pytest.param(sending(b"HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n"), "malformed", id="a-nul-in-a-header"),
        pytest.param(sending(b"HTTP/1.1 102 Processing\r\n\r\n" * 20), "malformed", id="endless-interim-answers"),
        pytest.param(sending(response(b"x" * 1001)), "too-large", id="a-body-over-the-limit"),
        pytest.param(sending(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000 + b"\r\n\r\n"), "malformed", id="huge-header"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\nX: ", b"a" * 500, 0.001), "malformed", id="a-header-without-end"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\n\r\n", b"a" * 500, 0.001), "too-large", id="a-body-without-end"),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_a_failure_of_its_kind(reply: Reply, kind: FailureKind) -> None:
    """A broken answer is told apart from a silent server, and the request is not repeated."""
    found, message, server = failure(reply)
    assert (kind, 1) == (found, len(server.requests)), message


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(dripping(b"", b"", 0.02), id="silence"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", b"a", 0.02), id="a-dripping-body"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a", 0.02), id="a-dripping-header"),
    ],
)
def test_the_deadline_holds_for_the_whole_call(reply: Reply) -> None:
    """However steadily a server drips, the call ends at its deadline, and it was sent once."""
    found, message, server = failure(reply, WireLimits(seconds=0.3))
    assert ("timeout", 1) == (found, len(server.requests)), message


def test_an_early_answer_to_a_large_body_is_read() -> None:
    """A server that refuses before it has read the body is heard."""

    def refuse(_: RawServer, connection: socket.socket, __: bytes) -> bool:
        connection.sendall(response(b"{}", "413 Content Too Large", "Connection: close"))
        return False

    with raw_server(refuse) as server, client(server.url) as wire:
        assert 413 == call(wire, b"x" * 300_000).status


def test_nothing_listening_is_unreachable() -> None:
    """The kind says so, and the message names the address."""
    port = unused_port()
    with pytest.raises(WireFault) as caught:
        call(Wire(Origin.parse(f"http://127.0.0.1:{port}", "test"), LIMITS))
    assert "unreachable" == caught.value.failure.kind
    assert f"127.0.0.1:{port}" in caught.value.failure.message


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "a..b"])
def test_a_host_name_that_cannot_be_one_is_unreachable(host: str) -> None:
    """Python's codec for host names raises an error of its own for such a name."""
    with pytest.raises(WireFault) as caught:
        call(Wire(Origin.parse(f"http://{host}", "test"), LIMITS))
    assert "unreachable" == caught.value.failure.kind


def test_a_plain_server_gives_no_tls_connection() -> None:
    """An https address of a server that speaks plain HTTP is unreachable."""
    with raw_server(sending(response())) as server:
        wire = Wire(Origin.parse(server.url.replace("http:", "https:"), "test"), WireLimits(seconds=0.5))
        with pytest.raises(WireFault) as caught:
            call(wire)
    assert "unreachable" == caught.value.failure.kind


def test_an_ipv6_address_is_called() -> None:
    """Brackets in the URL and in the Host header, none for the socket."""
    with raw_server(sending(response()), socket.AF_INET6) as server, client(server.url) as wire:
        assert 200 == call(wire).status
        assert f"Host: [::1]:{server.port}\r\n".encode() in server.requests[0]


def test_threads_share_a_wire() -> None:
    """Each call gets its own answer, whoever calls at the same time."""

    def echo(_: RawServer, connection: socket.socket, request: bytes) -> bool:
        connection.sendall(response(request.partition(b"\r\n\r\n")[2]))
        return True

    found: dict[int, list[bytes]] = {}
    with raw_server(echo) as server, client(server.url) as wire:

        def work(number: int) -> None:
            found[number] = [call(wire, b"%d" % number).body for _ in range(20)]

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {number: [b"%d" % number] * 20 for number in range(8)} == found


@pytest.mark.parametrize(
    ("text", "scheme", "host", "port", "prefix", "url"),
    [
        ("http://h", "http", "h", 80, "", "http://h"),
        ("https://h/", "https", "h", 443, "", "https://h"),
        ("https://h:8443/a/b/", "https", "h", 8443, "/a/b", "https://h:8443/a/b"),
        ("HTTP://H:80", "http", "h", 80, "", "http://h"),
        ("http://[::1]:9/x", "http", "::1", 9, "/x", "http://[::1]:9/x"),
    ],
)
def test_a_url_is_read(text: str, scheme: str, host: str, port: int, prefix: str, url: str) -> None:
    """Scheme, host, port and prefix, and the same address again in one spelling."""
    origin = Origin.parse(text, "test")
    assert (scheme, host, port, prefix) == (origin.scheme, origin.host, origin.port, origin.prefix)
    assert url == origin.url


@pytest.mark.parametrize(
    "text",
    ["", "h", "h:80", "ftp://h", "http://", "http://h:x", "http://h:99999", "http://h:0", "http://h/a b", "http://h/ä",
     "http://ho st", "http://h\n", "http://h?q=1", "http://h#f", "http://user:word@h"],
)  # fmt: skip
def test_what_is_no_url_of_a_server_is_a_usage_problem(text: str) -> None:
    """The message names the option and shows what to write."""
    with pytest.raises(UsageProblem, match=r"^--target-url: .*http://127\.0\.0\.1:8000"):
        Origin.parse(text, "--target-url")


def test_a_past_deadline_is_a_timeout() -> None:
    """Nothing is tried when no time is left."""
    with pytest.raises(WireFault) as caught:
        wire_module.remaining(time.monotonic())
    assert "timeout" == caught.value.failure.kind
