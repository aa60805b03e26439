"""MCP over HTTP: negotiation, sessions, streams, and servers that do as they like."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from mcp_servers import (
    LATEST_WITH_SESSIONS,
    RESULT,
    STATELESS,
    error,
    events,
    header_of,
    message_of,
    result,
    stateless,
    with_sessions,
)
from raw_server import RawServer, Reply, dripping, raw_server, response, unused_port

from conformance.contract import load_contract
from conformance.errors import UsageProblem
from conformance.transport.exchange import Call, Credential, Exchange
from conformance.transport.mcp.answers import McpAnswer
from conformance.transport.mcp.binding import McpBinding, McpProfile
from conformance.transport.mcp.transport import McpTransport, mcp_http
from conformance.transport.wire import WireLimits

OPERATION = load_contract().operations[0]
READER, OTHER, NOBODY = Credential.bearer("reader", "r"), Credential.bearer("other", "o"), Credential("nobody", None)
LIMITS = WireLimits(seconds=5.0, body_bytes=20000)


@contextmanager
def transport_to(
    reply: Reply, binding: McpBinding | None = None, limits: WireLimits = LIMITS
) -> Iterator[tuple[McpTransport, RawServer, list[Exchange]]]:
    """Give a transport to a server that answers like this, the server, and the exchanges seen."""
    seen: list[Exchange] = []
    with raw_server(reply) as server:
        transport = mcp_http(f"{server.url}/mcp", binding or McpBinding(), limits, seen.append)
        with closing(transport):
            yield transport, server, seen


def call(transport: McpTransport, credential: Credential = READER, arguments: bytes = b'{"a": 1.0}') -> McpAnswer:
    """Make one call."""
    return transport.call(Call(OPERATION, arguments, credential))


def plainly(message: dict[str, Any], _: bytes) -> bytes:
    """Answer with a success."""
    return response(result(message))


def methods(server: RawServer) -> list[str]:
    """Return the methods that the server was asked for, or those of HTTP."""
    return [message_of(request).get("method", request.partition(b" ")[0].decode()) for request in server.requests]


def test_the_newest_revision_is_found_with_one_question() -> None:
    """A server that knows server/discover is called without a session, and every later call is one request."""
    with transport_to(stateless(plainly)) as (transport, server, seen):
        assert () == transport.journal.frames()
        assert ["success"] * 3 == [call(transport, each).outcome for each in (READER, READER, OTHER)]
        assert STATELESS == transport.revision
        assert ["server/discover", "tools/call", "tools/call", "tools/call"] == methods(server)
        assert 4 == len(seen)
        assert 1 == server.connections


def test_a_stateless_request_carries_its_headers_and_meta() -> None:
    """The arguments stand in the body as they were written, and the headers say what the body says."""
    with transport_to(stateless(plainly)) as (transport, server, _):
        call(transport, arguments=b'{"a": 1.0,\n "a":2}')
        discover, made = server.requests
        assert (STATELESS, "server/discover", None) == tuple(
            header_of(discover, name) for name in ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name")
        )
        assert (STATELESS, "tools/call", OPERATION.tool, "Bearer r", None) == tuple(
            header_of(made, name)
            for name in ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Authorization", "Mcp-Session-Id")
        )
        assert b'"arguments":{"a": 1.0,\n "a":2},"_meta":{' in made
        assert STATELESS == message_of(made)["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]


def test_an_older_server_gets_a_session_for_each_credential() -> None:
    """After one question the suite falls back; each credential has a session with its id and ids of its own."""
    with transport_to(with_sessions()) as (transport, server, _):
        assert ["success"] * 3 == [call(transport, each).outcome for each in (READER, READER, OTHER)]
        assert LATEST_WITH_SESSIONS == transport.revision
        opening = ["initialize", "notifications/initialized"]
        assert ["server/discover", *opening, "tools/call", "tools/call", *opening, "tools/call"] == methods(server)
        made = [request for request in server.requests if message_of(request)["method"] == "tools/call"]
        assert ["session-1", "session-1", "session-2"] == [header_of(each, "Mcp-Session-Id") for each in made]
        assert {LATEST_WITH_SESSIONS} == {header_of(each, "MCP-Protocol-Version") for each in made}
        assert [3, 4, 2] == [message_of(each)["id"] for each in made]
        initialize = server.requests[1]
        assert header_of(initialize, "MCP-Protocol-Version") is None
        assert LATEST_WITH_SESSIONS == message_of(initialize)["params"]["protocolVersion"]


def test_closing_ends_the_sessions() -> None:
    """A session with an id is deleted."""
    with transport_to(with_sessions()) as (transport, server, _):
        call(transport)
        transport.close()
        assert "DELETE" == server.requests[-1].partition(b" ")[0].decode()
        assert "session-1" == header_of(server.requests[-1], "Mcp-Session-Id")


def test_a_server_may_choose_an_older_revision() -> None:
    """It is used from then on."""
    with transport_to(with_sessions("2025-06-18")) as (transport, server, _):
        assert "success" == call(transport).outcome
        assert "2025-06-18" == transport.revision
        assert "2025-06-18" == header_of(server.requests[-1], "MCP-Protocol-Version")


def test_a_revision_that_the_suite_does_not_speak_is_no_agreement() -> None:
    """The answer to the call says so."""
    with transport_to(with_sessions("2025-03-26")) as (transport, _, __):
        answer = call(transport)
        assert ("unexpected", None) == (answer.outcome, transport.revision)
        expected = "asked for the revision 2025-11-25, the server agreed on '2025-03-26'"
        assert (expected, expected) == (answer.status, transport.revision_problem)


def test_a_pinned_revision_is_not_negotiated() -> None:
    """Whichever it is, no question comes first; another one than the pinned one is no agreement."""
    with transport_to(stateless(plainly), McpBinding(revision=STATELESS)) as (transport, server, _):
        assert "success" == call(transport).outcome
        assert ["tools/call"] == methods(server)
    with transport_to(with_sessions("2025-06-18"), McpBinding(revision="2025-06-18")) as (transport, server, _):
        assert "success" == call(transport).outcome
        assert ["initialize", "notifications/initialized", "tools/call"] == methods(server)
    with transport_to(with_sessions("2025-11-25"), McpBinding(revision="2025-06-18")) as (transport, server, _):
        assert "unexpected" == call(transport).outcome
    with pytest.raises(UsageProblem, match="2024-11-05"):
        mcp_http("http://127.0.0.1:1/mcp", McpBinding(revision="2024-11-05"), LIMITS, lambda _: None)


def test_a_server_that_names_its_revisions_is_believed() -> None:
    """An error that lists older ones leads to one of them; one that lists none that are known is no agreement."""

    def replying(supported: list[str]) -> Reply:
        older = with_sessions("2025-06-18")

        def reply(server: RawServer, connection: socket.socket, request: bytes) -> bool:
            message = message_of(request)
            if message.get("method") == "server/discover":
                refusal = error(message, -32022, {"supported": supported, "requested": STATELESS})
                connection.sendall(response(refusal, "400 Bad Request"))
                return True
            return older(server, connection, request)

        return reply

    with transport_to(replying(["2025-06-18", "1999-01-01"])) as (transport, server, _):
        assert "success" == call(transport).outcome
        assert "2025-06-18" == message_of(server.requests[1])["params"]["protocolVersion"]
    with transport_to(replying(["1999-01-01"])) as (transport, server, _):
        assert "refused" == call(transport).outcome
        assert "1999-01-01" in transport.revision_problem


def test_a_refusal_to_open_is_the_answer_to_the_call() -> None:
    """A credential that is not let in learns nothing about the revision, and spoils nothing for the others."""
    inner = with_sessions()

    def reply(server: RawServer, connection: socket.socket, request: bytes) -> bool:
        if header_of(request, "Authorization") is None:
            connection.sendall(response(b'{"error":{"kind":"unauthenticated"}}', "401 Unauthorized"))
            return True
        return inner(server, connection, request)

    with transport_to(reply) as (transport, server, _):
        first = call(transport, NOBODY)
        assert ("refused", "HTTP 401 Unauthorized", None) == (first.outcome, first.status, transport.revision)
        assert ["success", "refused"] == [call(transport, each).outcome for each in (READER, NOBODY)]
        assert "initialize" == methods(server)[-1]
        assert () == transport.journal.strays()


def test_a_dropped_session_is_opened_again() -> None:
    """404 to a session's id starts a new session, in which the call is made once more."""
    dropped: list[bytes] = []

    def tools_call(message: dict[str, Any], request: bytes) -> bytes:
        if header_of(request, "Mcp-Session-Id") == "session-1":
            dropped.append(request)
            return response(b"", "404 Not Found")
        return response(result(message))

    with transport_to(with_sessions(tools_call=tools_call)) as (transport, server, _):
        assert "success" == call(transport).outcome
        assert 1 == len(dropped)
        assert "session-2" == header_of(server.requests[-1], "Mcp-Session-Id")


def test_profiles_and_output_schemas_have_urls_and_headers() -> None:
    """Each has a session of its own, and a profile that the target does not describe cannot be chosen."""
    with raw_server(with_sessions()) as server:
        binding = McpBinding(
            profiles={"core": McpProfile(url=f"{server.url}/core/", headers=(("X-Profile", "core"),))},
            output_schemas_url=f"{server.url}/schemas",
        )
        with closing(mcp_http(f"{server.url}/mcp", binding, LIMITS, lambda _: None)) as transport:
            transport.list_tools(READER)
            transport.list_tools(READER, profile="core")
            assert "core" == header_of(server.requests[-1], "X-Profile")
            transport.list_tools(READER, output_schemas=True)
            listed = [request for request in server.requests if message_of(request)["method"] == "tools/list"]
            assert [b"/mcp", b"/core/", b"/schemas"] == [request.split(b" ")[1] for request in listed]
            with pytest.raises(ValueError, match="'narrow'"):
                transport.list_tools(READER, profile="narrow")


def test_a_stream_is_read_up_to_the_answer() -> None:
    """What comes before it is kept; that the stream then stays open costs no more than a moment."""
    note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'
    request = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'

    def tools_call(message: dict[str, Any], _: bytes) -> bytes:
        return events(b"", note, request, result(message))

    def reply(server: RawServer, connection: socket.socket, raw: bytes) -> bool:
        stateless(tools_call)(server, connection, raw)
        if message_of(raw)["method"] == "tools/call":
            server.stopped.wait()
        return True

    with transport_to(reply) as (transport, _, __):
        answer = call(transport)
        assert ("success", b'{"a": 1}') == (answer.outcome, answer.result)
        assert [note, request] == [frame.raw for frame in answer.received.others]
        assert ["tools/call", "", ""] == [frame.answers for frame in transport.journal.frames()[1:]]


def test_a_stream_that_ends_keeps_the_connection() -> None:
    """A chunked stream that ends after the answer is as good as a plain body."""

    def tools_call(message: dict[str, Any], _: bytes) -> bytes:
        data = b"data: " + result(message) + b"\n\n"
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        return head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)

    def reply(server: RawServer, connection: socket.socket, raw: bytes) -> bool:
        stateless(tools_call)(server, connection, raw)
        return True

    with transport_to(reply) as (transport, server, _):
        assert ["success"] * 3 == [call(transport).outcome for _ in range(3)]
        assert 1 == server.connections


def test_an_endless_stream_without_an_answer_ends_at_the_deadline_or_the_bound() -> None:
    """Comments for ever trip the deadline, a flood the bound in bytes."""
    head = events(b'{"jsonrpc":"2.0","method":"notifications/message"}')
    binding = McpBinding(revision=STATELESS)
    with transport_to(dripping(head, b":\n", 0.05), binding, WireLimits(seconds=0.3)) as (transport, _, __):
        answer = call(transport)
        assert answer.exchange.failure is not None
        assert ("no-answer", "timeout") == (answer.outcome, answer.exchange.failure.kind)
    flood = dripping(head, b"data: x\n\n" * 1000, 0.001)
    with transport_to(flood, binding, LIMITS) as (transport, _, __):
        answer = call(transport)
        assert answer.exchange.failure is not None
        assert "too-large" == answer.exchange.failure.kind


def test_answers_under_another_id_are_told() -> None:
    """Only ours can be in the body, so the answer counts; that its id is not ours is noted."""

    def changing(identifier: object) -> Reply:
        return stateless(lambda message, _: response(result({**message, "id": identifier})))

    for identifier in ("2", 3, None):
        with transport_to(changing(identifier)) as (transport, _, __):
            answer = call(transport)
            assert ("success", False) == (answer.outcome, answer.received.id_echoed)
    with transport_to(changing(2)) as (transport, _, __):
        assert call(transport).received.id_echoed


def test_a_second_answer_in_a_stream_is_stray() -> None:
    """The first one counts."""
    with transport_to(
        stateless(lambda message, _: events(result(message), result(message, {**RESULT, "content": [1]})))
    ) as (transport, _, __):
        assert b"[]" == (answer := call(transport)).received.answer.text("result", "content")  # type: ignore[union-attr]  # there is one
        assert 1 == len(answer.received.others)
        assert ["an answer that nobody awaits"] == [stray.reason for stray in transport.journal.strays()]


def test_a_body_that_is_no_message_is_unexpected() -> None:
    """A batch, text and nothing at all are none; what was there is kept as stray."""
    for body, strays in ((b"[]", 1), (b"hello", 1), (b"", 0), (b"{}", 1)):
        with transport_to(stateless(lambda *_, body=body: response(body))) as (transport, _, __):
            answer = call(transport)
            assert ("unexpected", "HTTP 200 OK without a message that answers the call") == (
                answer.outcome,
                answer.status,
            )
            assert strays == len(transport.journal.strays())


def test_arguments_that_no_message_can_carry_are_refused() -> None:
    """Text that is not one JSON value would break the message around it; repeated names would not."""
    with transport_to(stateless(plainly)) as (transport, server, _):
        for arguments in (b"", b"{", b'{"a":1}}', b"{} {}", b"NaN", b"\xff", b"\xef\xbb\xbf{}", b"{'a':1}"):
            with pytest.raises(ValueError, match="cannot be sent over MCP"):
                call(transport, arguments=arguments)
        for arguments in (b'{"a":1,"a":2}', b"[]", b"null", b'"\\ud800"', b"1e999", b"[" * 200 + b"]" * 200):
            assert "success" == call(transport, arguments=arguments).outcome
            assert b'"arguments":' + arguments + b"," in server.requests[-1]


def test_a_rate_limit_is_waited_for() -> None:
    """A 429 is tried again."""
    limited = iter([True, False])

    def tools_call(message: dict[str, Any], _: bytes) -> bytes:
        slow_down = response(b"", "429 Too Many Requests", "Retry-After: 0")
        return slow_down if next(limited) else response(result(message))

    with transport_to(stateless(tools_call)) as (transport, server, _):
        assert "success" == call(transport).outcome
        assert 3 == len(server.requests)


def test_nothing_there_is_no_answer() -> None:
    """The failure is the answer, without a fallback to older revisions."""
    seen: list[Exchange] = []
    transport = mcp_http(f"http://127.0.0.1:{unused_port()}/mcp", McpBinding(), LIMITS, seen.append)
    assert ("no-answer", 1) == (call(transport).outcome, len(seen))


def test_many_calls_are_in_flight_together() -> None:
    """Each has its own answer, in the order of the calls."""
    with transport_to(
        stateless(lambda message, _: response(result(message, {**RESULT, "structuredContent": message["params"]})))
    ) as (transport, _, __):
        calls = [Call(OPERATION, b"[%d]" % number, READER) for number in range(8)]
        answers = transport.in_flight(READER, calls)
        assert [[number] for number in range(8)] == [
            json.loads(answer.result or b"")["arguments"] for answer in answers
        ]


def test_raw_messages_and_headers_can_be_sent() -> None:
    """A message goes out byte for byte, with headers that are read from it as far as possible, or as they are told."""
    with transport_to(stateless(lambda message, _: response(error(message, -32601)))) as (transport, server, _):
        received = transport.request(READER, "no/such/method", b'{"a":1}')
        assert received.answer is not None
        assert -32601 == received.answer.value("error", "code")
        assert {"a": 1} == {
            name: value for name, value in message_of(server.requests[-1])["params"].items() if name == "a"
        }
        frame = b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":null}'
        received = transport.exchange_frame(READER, frame, headers={"mcp-method": "other", "Authorization": None})
        assert received.id_echoed
        assert frame == server.requests[-1].partition(b"\r\n\r\n")[2]
        assert ("other", None) == (
            header_of(server.requests[-1], "Mcp-Method"),
            header_of(server.requests[-1], "Authorization"),
        )


def test_a_session_that_does_not_open_itself_sends_only_what_it_is_told() -> None:
    """So a check can begin as no client should."""
    with transport_to(with_sessions()) as (transport, server, _):
        session = transport.open_session(READER, opens_itself=False)
        session.exchange_frame(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        assert ["tools/list"] == methods(server)
        assert (None, None) == (transport.revision, header_of(server.requests[-1], "MCP-Protocol-Version"))


def listing(pages: dict[str | None, dict[str, Any]]) -> Reply:
    """Return a server that lists tools in these pages, by cursor."""
    return stateless(
        lambda message, _: response(
            result(message, pages[message["params"].get("cursor")] | {"resultType": "complete"})
        )
    )


def test_tools_are_listed_to_the_last_page() -> None:
    """Entries are kept as written, and a tool that is listed twice is there twice."""
    pages: dict[str | None, dict[str, Any]] = {
        None: {"tools": [{"name": "a"}, {"name": 1}], "nextCursor": 'ä"'},
        'ä"': {"tools": [{"name": "a"}]},
    }
    with transport_to(listing(pages)) as (transport, _, __):
        found = transport.list_tools(READER)
        assert (("a", None, "a"), "", 2) == (found.names, found.problem, len(found.pages))
        assert {"name": 1} == found.tools[1].decoded()


@pytest.mark.parametrize(
    ("page", "problem", "pages"),
    [
        ({"tools": [], "nextCursor": "x"}, "the cursor of page 2 has been given before", 2),
        ({"tools": [], "nextCursor": 7}, "nextCursor is not a string", 1),
        ({"tools": {}}, "tools/list was answered with a result without a list of tools", 1),
    ],
)
def test_a_listing_without_an_end_says_why(page: dict[str, Any], problem: str, pages: int) -> None:
    """Going in circles and pages that are none are told."""
    with transport_to(listing({None: page, "x": page})) as (transport, _, __):
        found = transport.list_tools(READER)
        assert (problem, pages) == (found.problem, len(found.pages))


def test_a_listing_of_too_many_pages_is_left() -> None:
    """After a hundred pages it is enough."""
    counter = iter(range(1000))
    with transport_to(
        stateless(
            lambda message, _: response(
                result(message, {"resultType": "complete", "tools": [], "nextCursor": str(next(counter))})
            )
        )
    ) as (transport, _, __):
        found = transport.list_tools(READER)
        assert ("the list has not ended after 100 pages", 100) == (found.problem, len(found.pages))


def test_a_listing_of_too_many_bytes_is_left() -> None:
    """A hundred pages of whatever size would fill the memory."""
    page = {"tools": [], "padding": "x" * 5_000_000, "nextCursor": "1"}
    pages: dict[str | None, dict[str, Any]] = {
        str(number): page | {"nextCursor": str(number + 1)} for number in range(9)
    }
    with transport_to(listing({None: page, **pages}), limits=WireLimits(body_bytes=6_000_000)) as (transport, _, __):
        found = transport.list_tools(READER)
        assert ("the list has not ended after 16777216 bytes", 4) == (found.problem, len(found.pages))


def test_an_answer_of_too_many_messages_is_left() -> None:
    """Each takes far more room than its bytes."""
    flood = dripping(events(), b'data: {"method":1}\n\n' * 1000, 0.0001)
    with transport_to(flood, McpBinding(revision=STATELESS), WireLimits()) as (transport, _, __):
        failure = call(transport).exchange.failure
        assert failure is not None
        assert ("too-large", "more than 10000 messages in one answer") == (failure.kind, failure.message)
