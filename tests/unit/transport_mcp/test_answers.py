"""What a call came to is read from the message as it was sent, and for HTTP from the status."""

from __future__ import annotations

import pytest

from conformance.contract import load_contract
from conformance.transport.exchange import Call, Credential, ErrorKind, Exchange, Failure, Request, Response
from conformance.transport.mcp.answers import McpAnswer, not_opened, read_answer
from conformance.transport.mcp.binding import McpBinding
from conformance.transport.mcp.channel import Received
from conformance.transport.mcp.frames import read_frame

CALL = Call(load_contract().operations[0], b"{}", Credential.bearer("reader", "t"))


def received(raw: bytes, status: int, reason: str = "") -> Received:
    """Return what came, in a body with this status."""
    exchange = Exchange("x", "reader", Request("POST", "u", (), b""), Response(status, reason, (), raw), None, 0.0)
    return Received(exchange, read_frame(raw), id_echoed=True, others=(), arrived=0)


def read(raw: bytes, status: int = 200, binding: McpBinding = McpBinding(), reason: str = "") -> McpAnswer:  # noqa: B008 - frozen
    """Read the answer in a body with this status."""
    return read_answer(CALL, received(raw, status, reason), binding)


def test_a_result_is_cut_out_as_it_was_sent() -> None:
    """Numbers, repeated names and white space are those of the server."""
    written = b'{"a": 1.0, "a":\t01}'
    answer = read(b'{"id":1,"result":{"content":[],"structuredContent":' + written + b',"isError":false}}')
    assert ("success", written, "success") == (answer.outcome, answer.result, answer.status)


@pytest.mark.parametrize(
    ("result", "outcome", "words"),
    [
        (b'{"structuredContent":{}}', "success", "success"),
        (b'{"content":[]}', "success", "success"),
        (b'{"isError":true}', "refused", "isError"),
        (b'{"isError":"true"}', "unexpected", 'isError "true", which is no boolean'),
        (b'{"isError":null}', "unexpected", "isError null, which is no boolean"),
        (b'{"isError":1}', "unexpected", "isError 1, which is no boolean"),
        (b'{"resultType":"complete"}', "success", "success"),
        (
            b'{"resultType":"input_required"}',
            "unexpected",
            'a result of type "input_required" instead of a complete one',
        ),
        (b"[]", "unexpected", "a result that is no object"),
        (b"null", "unexpected", "a result that is no object"),
    ],
)
def test_is_error_is_judged_on_the_value_that_was_sent(result: bytes, outcome: str, words: str) -> None:
    """Only false and nothing at all mean success, only true means a refusal."""
    answer = read(b'{"jsonrpc":"2.0","id":1,"result":' + result + b"}")
    assert (outcome, words) == (answer.outcome, answer.status)


def test_a_success_without_structured_content_has_an_empty_result() -> None:
    """The judge of results then says that there is no JSON value."""
    assert b"" == read(b'{"id":1,"result":{"content":[]}}').result


@pytest.mark.parametrize(
    ("raw", "kinds", "words"),
    [
        (b'{"id":1,"result":{"isError":true,"_meta":{"error_kind":"invalid_input"}}}', {"invalid_input"},
         "isError (invalid_input)"),
        (b'{"id":1,"result":{"isError":true,"_meta":{"error_kind":"conflict"}}}', {"conflict", "in_progress"},
         "isError (conflict or in_progress)"),
        (b'{"id":1,"error":{"code":-32602,"message":"m","data":{"kind":"forbidden"}}}', {"forbidden", "not_found"},
         "JSON-RPC error -32602 (forbidden or not_found)"),
        (b'{"id":1,"error":{"code":-32603,"message":"m"}}', None, "JSON-RPC error -32603"),
        (b'{"id":1,"result":{"isError":true,"_meta":{"error_kind":"odd"}}}', None, "isError"),
        (b'{"id":1,"result":{"isError":true,"_meta":[]}}', None, "isError"),
    ],
)  # fmt: skip
def test_kinds_come_from_the_published_places(raw: bytes, kinds: set[ErrorKind] | None, words: str) -> None:
    """A kind stands for as much as its status over plain HTTP; without one the kind is unknown."""
    answer = read(raw)
    assert ("refused", None if kinds is None else frozenset(kinds)) == (answer.outcome, answer.kinds)
    assert words == answer.status


def test_kinds_come_from_where_the_target_says() -> None:
    """A pointer goes first, through names, escapes and places in lists; what its table lacks is looked up as usual."""
    binding = McpBinding(kind_pointer="/error/data/0/a~1b", kind_table={"-7": "not_found", "gone": "conflict"})
    raw = b'{"id":1,"error":{"code":1,"message":"m","data":[{"a/b":%s}]}}'
    assert ["not_found"] == sorted(read(raw % b"-7", binding=binding).kinds or ())
    assert ["conflict", "in_progress"] == sorted(read(raw % b'"gone"', binding=binding).kinds or ())
    assert read(raw % b"true", binding=binding).kinds is None
    usual = b'{"id":1,"error":{"code":1,"message":"m","data":{"kind":"not_found"}}}'
    assert ["not_found"] == sorted(read(usual, binding=binding).kinds or ())


@pytest.mark.parametrize(
    ("status", "raw", "outcome", "kinds", "words"),
    [
        (401, b"", "refused", {"unauthenticated"}, "HTTP 401"),
        (403, b"no", "refused", {"unauthenticated", "forbidden", "not_found"}, "HTTP 403"),
        (429, b"", "refused", {"rate_limited", "in_progress"}, "HTTP 429"),
        (400, b"no", "unexpected", set(), "HTTP 400 without a message that answers the call"),
        (202, b"", "unexpected", set(), "HTTP 202 without a message that answers the call"),
        (307, b"", "unexpected", set(), "HTTP 307 without a message that answers the call"),
        (500, b'{"id":1,"result":{}}', "server-error", set(), "HTTP 500"),
        (400, b'{"id":1,"error":{"code":-32602,"message":"m"}}', "refused", None, "JSON-RPC error -32602, HTTP 400"),
        (401, b'{"id":1,"error":{"code":-32001,"message":"m"}}', "refused", {"unauthenticated"},
         "JSON-RPC error -32001, HTTP 401"),
        (404, b'{"id":1,"result":{}}', "unexpected", set(), "success, but HTTP 404"),
    ],
)  # fmt: skip
def test_the_status_of_http_counts_too(
    status: int, raw: bytes, outcome: str, kinds: set[ErrorKind] | None, words: str
) -> None:
    """A 5xx is a failure of the server whatever it says; a refusal needs a message or one of few statuses."""
    answer = read(raw, status)
    assert (outcome, kinds, words) == (answer.outcome, answer.kinds, answer.status)


def test_no_answer_says_why() -> None:
    """Failures of the connection are answers too."""
    exchange = Exchange("x", "r", Request("POST", "u", (), b""), None, Failure("timeout", "nothing came"), 1.0)
    answer = read_answer(CALL, Received(exchange, None, id_echoed=False, others=(), arrived=0), McpBinding())
    assert ("no-answer", "no answer (nothing came)") == (answer.outcome, answer.status)


def test_what_came_instead_of_a_session_is_never_a_success() -> None:
    """A refusal stays one; an answer to initialize that cannot be used is unexpected."""
    agreed = received(b'{"id":1,"result":{"protocolVersion":"2024-11-05"}}', 200)
    assert ("unexpected", "no agreement") == (
        not_opened(CALL, agreed, "no agreement", McpBinding()).outcome,
        not_opened(CALL, agreed, "no agreement", McpBinding()).status,
    )
    assert "refused" == not_opened(CALL, received(b"", 401), "", McpBinding()).outcome
