"""The rest binding: paths, headers, what a status means, and patience with a rate limit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from made_answers import GET, OWNER
from raw_server import RawServer, Reply, raw_server, response, sending

from conformance.transport.exchange import Answer, Call, Credential, ErrorKind, Exchange, Outcome
from conformance.transport.rest import RestBinding, RestTransport
from conformance.transport.wire import Origin, Wire, WireLimits


@contextmanager
def transport(
    reply: Reply, binding: RestBinding | None = None
) -> Iterator[tuple[RestTransport, RawServer, list[Exchange]]]:
    """Give a transport to a server, the server, and what the transport's observer has seen."""
    seen: list[Exchange] = []
    with raw_server(reply) as server:
        wire = Wire(Origin.parse(f"{server.url}/v1", "test"), WireLimits(seconds=5.0))
        with closing(RestTransport(wire, binding or RestBinding(), seen.append)) as made:
            yield made, server, seen


def answer_to(reply: Reply, binding: RestBinding | None = None) -> Answer:
    """Return the answer to one call of *get*."""
    with transport(reply, binding) as (made, _, _):
        return made.call(Call(GET, b'{"a":1}', OWNER))


def test_a_call_is_one_post_with_a_bearer_token() -> None:
    """Prefix and path, JSON in, JSON asked for, no content coding, and the token where it belongs."""
    with transport(sending(response(b'{"x":1}'))) as (made, server, seen):
        answer = made.call(Call(GET, b'{"a":1}', OWNER))
        assert (
            "POST /v1/research-api/conversations/get HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{server.port}\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n"
            "Content-Type: application/json\r\nContent-Length: 7\r\nAuthorization: Bearer planted-token\r\n\r\n"
            '{"a":1}'
        ).encode() == server.requests[0]
    assert ("success", b'{"x":1}', [answer.exchange]) == (answer.outcome, answer.result, seen)
    assert ("conversations_get", "owner", "200 OK") == (
        answer.exchange.operation,
        answer.exchange.principal,
        answer.status,
    )


def test_path_method_and_header_can_be_overridden() -> None:
    """As the target file says."""
    binding = RestBinding(paths={GET.name: "/read"}, method="PUT", token_header="X-Token")
    with transport(sending(response()), binding) as (made, server, _):
        made.call(Call(GET, b"{}", OWNER))
        assert server.requests[0].startswith(b"PUT /v1/read HTTP/1.1\r\n")
        assert b"\r\nX-Token: Bearer planted-token\r\n" in server.requests[0]
        assert b"Authorization" not in server.requests[0]


def test_nobody_sends_no_token() -> None:
    """A credential without a header leaves it out."""
    with transport(sending(response())) as (made, server, _):
        made.call(Call(GET, b"{}", Credential("nobody", None)))
        assert b"Authorization" not in server.requests[0]


@pytest.mark.parametrize(
    ("status", "outcome", "kinds"),
    [
        (200, "success", set()),
        (201, "unexpected", set()),
        (204, "unexpected", set()),
        (302, "unexpected", set()),
        (400, "refused", {"invalid_input"}),
        (401, "refused", {"unauthenticated"}),
        (403, "refused", {"forbidden", "not_found"}),
        (404, "refused", {"not_found"}),
        (409, "refused", {"conflict", "in_progress"}),
        (412, "refused", {"conflict"}),
        (418, "refused", set()),
        (422, "refused", {"invalid_input"}),
        (423, "refused", {"in_progress"}),
        (425, "refused", {"in_progress"}),
        (500, "server-error", set()),
        (503, "server-error", set()),
    ],
)
def test_a_status_means_what_the_interface_says(status: int, outcome: Outcome, kinds: set[ErrorKind]) -> None:
    """The table of the target interface; what it does not name is a refusal of no kind or means nothing."""
    answer = answer_to(sending(response(b"{}" if status != 204 else b"", f"{status} X")))
    assert (outcome, frozenset(kinds)) == (answer.outcome, answer.kinds)


def test_the_table_can_be_overridden() -> None:
    """Also to a status that would mean something else, or nothing."""
    binding = RestBinding(status_kinds={402: frozenset({"forbidden"})})
    assert frozenset({"forbidden"}) == answer_to(sending(response(status="402 X")), binding).kinds
    assert frozenset() == answer_to(sending(response(status="404 X")), binding).kinds
    assert "unexpected" == answer_to(sending(response(status="302 X")), binding).outcome


def test_no_answer_is_an_answer_too() -> None:
    """A server that closes at once has been called once, and the failure is kept."""
    with transport(sending(keep=False)) as (made, server, seen):
        answer = made.call(Call(GET, b"{}", OWNER))
        assert ("no-answer", 1, 1) == (answer.outcome, len(server.requests), len(seen))
    assert "no answer (the server closed the connection without an answer)" == answer.status


def limited(times: int, retry_after: str) -> Reply:
    """Return a reply that answers 429 so many times, then 200."""

    def reply(server: RawServer, connection: object, _: bytes) -> bool:
        over = len(server.requests) > times
        sent = response() if over else response(b"{}", "429 Too Many Requests", f"Retry-After: {retry_after}")
        connection.sendall(sent)  # type: ignore[attr-defined]  # a socket
        return True

    return reply


@pytest.mark.parametrize(
    ("times", "retry_after", "outcome", "pauses"),
    [
        (2, "1", "success", [1.0, 1.0]),
        (1, "0.5", "success", [0.5]),
        (1, "0", "success", [0.0]),
        (1, "-3", "success", [0.0]),
        (1, "soon", "success", [1.0]),
        (1, "Wed, 21 Oct 2026 07:28:00 GMT", "success", [1.0]),
        (1, "3600", "success", [5.0]),
        (1, "inf", "success", [5.0]),
        (1, "nan", "success", [0.0]),
        (99, "3600", "refused", [5.0]),
        (99, "0", "refused", [0.0] * 4),
        (99, "2", "refused", [2.0, 2.0]),
    ],
)
def test_a_rate_limit_is_waited_for_within_a_bound(
    monkeypatch: pytest.MonkeyPatch, times: int, retry_after: str, outcome: Outcome, pauses: list[float]
) -> None:
    """Retry-After is honoured up to five seconds and five tries in all; what it cannot mean counts as a second."""
    slept: list[float] = []
    monkeypatch.setattr("conformance.transport.rest.time.sleep", slept.append)
    with transport(limited(times, retry_after)) as (made, server, seen):
        answer = made.call(Call(GET, b"{}", OWNER))
        assert len(server.requests) == len(seen) == len(pauses) + 1
    assert (outcome, pauses) == (answer.outcome, slept)
    if outcome == "refused":
        assert frozenset({"rate_limited", "in_progress"}) == answer.kinds
