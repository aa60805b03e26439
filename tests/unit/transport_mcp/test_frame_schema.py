"""Messages are judged by the schema that the protocol publishes for the revision."""

from __future__ import annotations

import json

import pytest

from conformance.errors import SuiteFault
from conformance.transport.mcp.frame_schema import judge_frame, unknown_envelope_keys
from conformance.transport.mcp.frames import call_params, notification_frame, request_frame, with_meta
from conformance.transport.mcp.revisions import REVISIONS, STATELESS, WITH_SESSIONS, initialize_params, request_meta


def faults(revision: str, message: object, answers: str = "tools/call") -> list[str]:
    """Return the paths of what is wrong with a message of a server."""
    return [fault.path for fault in judge_frame(revision, "server", json.dumps(message).encode(), answers)]


def answer(result: object) -> dict[str, object]:
    """Return an answer with a result."""
    return {"jsonrpc": "2.0", "id": 1, "result": result}


@pytest.mark.parametrize("revision", REVISIONS)
def test_messages_of_the_suite_are_right(revision: str) -> None:
    """Every kind of message that the suite sends keeps the schema."""
    meta = request_meta(revision)
    frames = [
        request_frame(1, "tools/call", call_params("any", b'[1, "not an object"]', meta)),
        request_frame(2, "tools/list", with_meta(b'{"cursor":"x"}', meta)),
        request_frame(3, "tools/list", with_meta(None, meta)),
    ]
    if revision == STATELESS:
        frames.append(request_frame(4, "server/discover", with_meta(None, meta)))
    else:
        frames += [request_frame(5, "initialize", initialize_params(revision))]
        frames += [notification_frame("notifications/initialized")]
    assert [()] * len(frames) == [judge_frame(revision, "client", frame) for frame in frames]


@pytest.mark.parametrize("revision", REVISIONS)
def test_right_answers_have_no_faults(revision: str) -> None:
    """Results, refusals, errors with and without an id, and notifications known and unknown."""
    success = {"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}, "resultType": "complete"}
    error = {"code": -32700, "message": "Parse error"}
    assert [] == faults(revision, answer(success))
    assert [] == faults(revision, answer({**success, "isError": True, "_meta": {"error_kind": "conflict"}}))
    assert [] == faults(revision, {"jsonrpc": "2.0", "id": "a", "error": error})
    assert [] == faults(revision, {"jsonrpc": "2.0", "id": None, "error": error})
    assert [] == faults(revision, {"jsonrpc": "2.0", "error": error})
    assert [] == faults(revision, {"jsonrpc": "2.0", "method": "notifications/of/an/extension", "params": {"a": 1}})
    progress = {"progressToken": 1, "progress": 0.5}
    assert [] == faults(revision, {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})


@pytest.mark.parametrize("revision", REVISIONS)
def test_wrong_answers_are_located(revision: str) -> None:
    """The path leads to what is wrong."""
    complete = {"resultType": "complete"}
    assert ["result"] == faults(revision, answer({"structuredContent": {}, **complete}))
    assert ["result/isError"] == faults(revision, answer({"content": [], "isError": "true", **complete}))
    assert ["result/content/0"] == faults(revision, answer({"content": [{"type": "text"}], **complete}))
    assert [""] == faults(revision, {"id": 1, "result": {"content": [], **complete}})
    assert ["error/code"] == faults(revision, {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": "m"}})
    assert ["params"] == faults(revision, {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}})[:1]
    assert [""] == faults(revision, {"jsonrpc": "2.0", "id": 1})
    assert [""] == faults(revision, {**answer({"content": [], **complete}), "error": {"code": 1, "message": "m"}})[-1:]


def test_what_a_tool_returns_is_not_judged_here() -> None:
    """Duplicate names in structuredContent are the result's fault, those in the rest of the message are its own."""
    inside = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"a":1,"a":2}}}'
    assert () == judge_frame("2025-11-25", "server", inside, "tools/call")
    outside = inside.replace(b'"id":1,', b'"id":1,"id":1,')
    assert ["not strict JSON"] == [
        fault.message.partition(":")[0] for fault in judge_frame("2025-11-25", "server", outside, "tools/call")
    ]
    assert ["not a JSON object"] == [fault.message for fault in judge_frame("2025-11-25", "server", b"hello")]


def test_only_older_servers_send_requests() -> None:
    """A ping of the server is fine where the revision has it."""
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    assert [0, 0, 1] == [len(judge_frame(revision, "server", ping)) for revision in (*WITH_SESSIONS, STATELESS)]


def test_a_result_must_say_its_type_where_the_revision_wants_it() -> None:
    """The stateless revision has types of results."""
    assert ["result"] == faults(STATELESS, answer({"content": []}))
    assert [] == faults(STATELESS, answer({"resultType": "input_required"}))


def test_unknown_keys_of_the_envelope_are_named() -> None:
    """They are told apart from keys of results, which are free."""
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m", "kind": "x"}, "trace": 1}
    assert ("error/kind", "trace") == unknown_envelope_keys(json.dumps(error).encode())
    assert () == unknown_envelope_keys(json.dumps(answer({"anything": 1})).encode())
    assert ("result",) == unknown_envelope_keys(b'{"jsonrpc":"2.0","method":"m","params":{},"result":1}')


def test_an_unknown_revision_is_a_fault_of_the_suite() -> None:
    """There is no schema to judge by."""
    with pytest.raises(SuiteFault):
        judge_frame("2024-11-05", "server", b'{"jsonrpc":"2.0","id":1,"result":{}}')
