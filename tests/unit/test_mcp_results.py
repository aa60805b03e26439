"""How answers over MCP are judged one by one, and that the wrong messages of the checks are wrong as they say."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from made_answers import GET, OWNER

from conformance.checks.mcp_results import mirrored, same_with_types, texts_of, with_boolean, with_content
from conformance.checks.standard_error import heard_since
from conformance.checks.test_protocol_wrong_messages import _MALFORMED, _NO_CALL, _NO_REQUEST, _ODD
from conformance.session import Session
from conformance.transport.exchange import Call, Exchange, Request, Response
from conformance.transport.mcp.answers import McpAnswer, read_answer
from conformance.transport.mcp.binding import McpBinding
from conformance.transport.mcp.channel import Received
from conformance.transport.mcp.frames import Frame, call_params, read_frame, request_frame

NO_SESSION = cast("Session", None)
"""The judges under test ask the session nothing."""

RESULT = {"run": {"id": "a", "revision": 1, "title": None}}


def answer(**result: Any) -> McpAnswer:
    """Return an answer with this result of a tool."""
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
    request = Request("POST", "http://127.0.0.1/mcp", (), b"{}")
    exchange = Exchange(GET.name, "owner", request, Response(200, "OK", (), raw), None, 0.0)
    return read_answer(Call(GET, b"{}", OWNER), _received(exchange, raw), McpBinding())


def _received(exchange: Exchange, raw: bytes) -> Received:
    return Received(exchange, read_frame(raw), id_echoed=True, others=(), arrived=0)


def texts(*parts: str) -> list[dict[str, Any]]:
    """Return content of these texts."""
    return [{"type": "text", "text": part} for part in parts]


@pytest.mark.parametrize(
    "content",
    [
        texts(json.dumps(RESULT)),
        texts(json.dumps(RESULT, indent=2).replace("null", "  null")),
        texts("A sentence."),
        texts("Two:", json.dumps({"about": "it"}), json.dumps(RESULT)),
        texts(json.dumps(RESULT)[:9], json.dumps(RESULT)[9:]),
        texts("[1, 2]"),
        [],
        [{"type": "image", "data": "", "mimeType": "image/png"}, *texts(json.dumps(RESULT))],
    ],
)
def test_content_that_may_be_beside_a_result(content: list[Any]) -> None:
    """The JSON text may be spaced, cut up, and among others; without a JSON object there is nothing to compare."""
    assert [] == list(mirrored(NO_SESSION, "a read", answer(content=content, structuredContent=RESULT)))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({**RESULT, "more": 1}),
        json.dumps({"run": {**RESULT["run"], "revision": "1"}}),
        json.dumps({"run": {**RESULT["run"], "revision": True}}),
        json.dumps({"run": {"id": "a", "revision": 1}}),
        "{}",
    ],
)
def test_json_text_that_is_not_the_result(text: str) -> None:
    """Another value, another type, or a member too many or too few is found."""
    found = list(mirrored(NO_SESSION, "a read", answer(content=texts(text), structuredContent=RESULT)))
    assert ["PROTOCOL-CONTENT-MIRROR"] == [each.requirement for each in found]


def test_values_are_the_same_with_their_types() -> None:
    """1 and 1.0 are one integer, as JSON Schema has it; true is none, and the order of members does not count."""
    assert same_with_types({"a": 1, "b": [None]}, {"b": [None], "a": 1.0})
    assert not same_with_types([1], [True])
    assert not same_with_types([0], [1])
    assert not same_with_types(["1"], [1])
    assert not same_with_types([1], [1, 2])


def test_only_text_blocks_have_a_text() -> None:
    """Other blocks, and what is no block, are passed over."""
    blocks = (b'{"type":"text","text":"a"}', b'{"type":"resource_link","text":"b"}', b"7", b'{"type":"text","text":7}')
    assert ["a"] == texts_of(blocks)


@pytest.mark.parametrize(
    ("result", "found"),
    [
        ({"content": []}, []),
        ({"content": [], "isError": True}, []),
        ({"structuredContent": RESULT}, ["PROTOCOL-CONTENT"]),
        ({"content": {"type": "text", "text": "a"}, "isError": True}, ["PROTOCOL-CONTENT"]),
        ({"content": None}, ["PROTOCOL-CONTENT"]),
    ],
)
def test_a_result_needs_a_list_of_content(result: dict[str, Any], found: list[str]) -> None:
    """An empty list will do; nothing, null and an object will not, in a refusal either."""
    assert found == [each.requirement for each in with_content(NO_SESSION, "a read", answer(**result))]


@pytest.mark.parametrize("mark", ["true", 0, 1, None, [], {}])
def test_a_mark_that_is_no_boolean(mark: Any) -> None:
    """Whatever else stands where the mark of an error belongs is found."""
    found = [each.requirement for each in with_boolean(NO_SESSION, "a read", answer(content=[], isError=mark))]
    assert ["PROTOCOL-IS-ERROR-BOOLEAN"] == found


CALL = request_frame(7, "tools/call", call_params(GET.tool, b'{"workspace_id":"a"}', b'{"x":1}'))


@pytest.mark.parametrize("name", _MALFORMED)
def test_malformed_messages_are_no_json(name: str) -> None:
    """Python's parser, which forgives more than most, refuses each of them."""
    with pytest.raises(ValueError, match=r"."):
        json.loads(_MALFORMED[name](CALL).decode("utf-8", "replace"))


@pytest.mark.parametrize("name", [*_NO_REQUEST, *_NO_CALL, *_ODD])
def test_other_wrong_messages_are_json_and_not_the_call(name: str) -> None:
    """Each is JSON, and differs from the call from which it was made."""
    made = {**_NO_REQUEST, **_NO_CALL, **_ODD}[name](CALL)
    assert json.loads(made) != json.loads(CALL)


@pytest.mark.parametrize("name", _NO_CALL)
def test_requests_that_are_no_calls_can_be_answered(name: str) -> None:
    """They are requests in form, under the id of the call."""
    frame = read_frame(_NO_CALL[name](CALL))
    assert isinstance(frame, Frame)
    assert ("request", ("number", 7)) == (frame.kind, frame.identifier)


def test_only_what_is_new_on_stderr_is_heard() -> None:
    """Children are told apart by what they wrote before; of one whose beginning is lost all is new."""
    assert b"c" == heard_since([b"ab"], [b"abc"])
    assert b"" == heard_since([b"ab"], [b"ab"])
    assert b"bcd" == heard_since([b"abc"], [b"bcd"])
    assert {b"c", b""} == set(heard_since([b"ab", b"x"], [b"x", b"abc"]).split(b"\n"))
