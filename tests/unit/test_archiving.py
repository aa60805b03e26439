"""The steps of the behaviour checks: what counts as private text, as a change, as a lost answer."""

from __future__ import annotations

import copy
import json
import random
import socket
import threading
from contextlib import closing
from types import SimpleNamespace
from typing import Any, cast

import pytest
from made_answers import ARCHIVE, CONTRACT, GET, OWNER, STATUS, answer, exchange
from raw_server import RawServer, raw_server, response, sending

from conformance.cases.conversations import Document, archivable, full_status, markers, title_markers
from conformance.checks.archiving import can_archive, each, private_text, sibling, without_text
from conformance.checks.lost_answers import DROPS, send_and_drop, sent_until_answered
from conformance.checks.views import View, changes, operation_that, same_result
from conformance.clock import Clock
from conformance.control.interface import Principal
from conformance.judge.result import Judged
from conformance.session import Session
from conformance.stage import Scene, fresh_uuid
from conformance.transport.exchange import Answer, Call, ErrorKind, Outcome
from conformance.transport.rest import RestBinding, RestTransport
from conformance.transport.wire import Origin, Wire, WireLimits

NOW = 1_800_000_000_000
CALL = Call(ARCHIVE, b'{"archive":1}', OWNER)


def numbers(seed: int = 1) -> random.Random:
    """Return the same random numbers each time."""
    return random.Random(seed)  # noqa: S311 - test data, not secrets


def document() -> Document:
    """Return the same conversation each time."""
    return archivable(numbers(), NOW)


def scene(of: Document) -> Scene:
    """Return a scene around a conversation."""
    owner = Principal("person", "planted-token", ("agent:research",), (of.workspace_id,))
    runs = tuple(run["id"] for run in of.runs)
    return Scene(owner, of.workspace_id, of.conversation_id, runs, of.conversation["revision"], known=True, document=of)


def judged(value: Any) -> Judged:
    """Return a result with that value."""
    return Judged(answer("success", shown=exchange(200, json.dumps(value).encode())), value, ())


def result(of: Document) -> dict[str, Any]:
    """Return a fresh copy of what *get* shows of a conversation."""
    return copy.deepcopy({"conversation": of.conversation, "messages": of.messages, "runs": of.runs})


def cleared(value: dict[str, Any]) -> dict[str, Any]:
    """Return the value with all text taken out of its messages."""
    for message in value["messages"]:
        message["question"] = message["answer"] = None
    return value


def test_operations_are_found_by_what_they_do() -> None:
    """By effect and kind of result, whatever they are called."""
    assert [GET, STATUS, ARCHIVE, None] == [
        operation_that(CONTRACT, effect, kind)
        for effect, kind in (("read", "conversation"), ("read", "run"), ("write", "conversation"), ("write", "run"))
    ]


def test_cases_are_named_after_their_requirement() -> None:
    """One per name; none where the contract lacks what the check needs."""
    made = list(each("ARCHIVE-FLAG", ("a", "b"), "ARCHIVE-ACCEPTED")(CONTRACT))
    assert ["ARCHIVE-FLAG-a", "ARCHIVE-FLAG-b"] == [one.id for one in made]
    assert ("ARCHIVE-FLAG", "ARCHIVE-ACCEPTED") == made[0].marks[0].args
    assert can_archive(CONTRACT)
    assert [] == list(each("ARCHIVE-FLAG", ("a",), when=lambda _: False)(CONTRACT))


def test_a_sibling_shares_evidence_and_nothing_private() -> None:
    """Same workspace, project and evidence; other ids and other markers, each where the original has one."""
    original = full_status(numbers(), NOW)
    made = sibling(original, numbers(2))
    assert original.workspace_id == made.workspace_id
    assert original.conversation["context"] == made.conversation["context"]
    assert len(markers(original)) == len(markers(made))
    assert not (markers(original) | title_markers(original)) & (markers(made) | title_markers(made))
    ids = [{entry["id"] for entry in (one.conversation, *one.messages, *one.runs)} for one in (original, made)]
    assert not ids[0] & ids[1]
    assert {run["id"] for run in made.runs} >= {message["run_id"] for message in made.messages}
    assert {made.conversation_id} == {run["conversation_id"] for run in made.runs}


def test_a_sibling_may_lie_in_another_workspace() -> None:
    """Then its runs do too."""
    there = fresh_uuid(numbers(3))
    made = sibling(document(), numbers(2), workspace_id=there)
    assert {there} == {made.workspace_id, *(run["workspace_id"] for run in made.runs)}


def test_text_is_seen_by_its_marker() -> None:
    """Anywhere in the answer, also in one that is no result."""
    shown = scene(document())
    marker = min(private_text(shown))
    leaking = answer("refused", shown=exchange(409, f"no: {marker}".encode()))
    assert ["X-Y"] == [each.requirement for each in without_text(leaking, shown, "X-Y", "a refusal")]
    assert [] == list(without_text(answer("refused"), shown, "X-Y", "a refusal"))


def test_text_is_seen_without_a_marker() -> None:
    """A question or answer that is not null is text, whatever it says; an empty one too."""
    shown = scene(document())
    value = cleared(result(document()))
    empty = judged(value)
    assert [] == list(without_text(empty.answer, shown, "X-Y", "a read", empty))
    value["messages"][1]["question"] = ""
    rest = judged(value)
    assert ["/messages/1/question"] == [each.place for each in without_text(rest.answer, shown, "X-Y", "a read", rest)]
    status = judged({"message": {"question": None, "answer": {}}})
    assert ["/message/answer"] == [each.place for each in without_text(status.answer, shown, "X-Y", "a read", status)]


def view(value: dict[str, Any], **statuses: dict[str, Any]) -> View:
    """Return a view of a conversation and of statuses."""
    return View(judged(value), {name: judged(status) for name, status in statuses.items()})


def test_equal_views_have_no_changes() -> None:
    """Times that are written otherwise and ids in upper case are the same."""
    value = result(document())
    again = copy.deepcopy(value)
    again["conversation"]["id"] = again["conversation"]["id"].upper()
    again["conversation"]["created_at"] = again["conversation"]["created_at"].replace("Z", "+00:00")
    assert [] == list(changes(view(value, run={"a": 1}), view(again, run={"a": 1}), "X-Y", "a call"))


def test_a_change_is_seen_in_get_and_in_status() -> None:
    """Each with its place; what is to be ignored is not seen, and a few differences are enough."""
    before, now = result(document()), result(document())
    now["conversation"]["revision"] += 1
    seen = list(changes(view(before, run={"a": 1}), view(now, run={"a": 2}), "X-Y", "a call"))
    assert ["/conversation/revision", "/a"] == [finding.place for finding in seen]
    assert [] == list(changes(view(before), view(now), "X-Y", "a call", ignoring=frozenset({"revision"})))
    assert 3 == len(list(changes(view(before), view(cleared(now)), "X-Y", "a call")))


def test_a_status_that_is_gone_is_a_change() -> None:
    """Also one that was not there before."""
    value = result(document())
    for before, now in ((view(value, run={}), view(value)), (view(value), view(value, run={}))):
        assert ["status"] == [finding.place for finding in changes(before, now, "X-Y", "a call")]


def test_a_second_result_is_compared_as_json() -> None:
    """Another value is found; the same value in another form is not."""
    first, again = result(document()), result(document())
    again["conversation"]["revision"] = float(again["conversation"]["revision"])
    assert [] == list(same_result(judged(first), judged(again), "X-Y", "a replay"))
    again["conversation"]["title"] = None
    found = list(same_result(judged(first), judged(again), "X-Y", "a replay"))
    assert ["/conversation/title"] == [finding.place for finding in found]


def session_on(server: RawServer) -> Session:
    """Return what of a session the sending of lost calls needs."""
    wire = Wire(Origin.parse(server.url, "test"), WireLimits(seconds=5.0))
    transport = RestTransport(wire, RestBinding(), lambda _: None)
    noted: list[tuple[Any, ...]] = []
    parts = {"transport": transport, "clock": Clock(), "noted": noted, "note_dropped": lambda *what: noted.append(what)}
    return cast("Session", SimpleNamespace(**parts))


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ("before-the-body", b""),
        ("half-the-body", b'{"arch'),
        ("before-the-last-byte", b'{"archive":1'),
        ("unread", CALL.arguments),
        ("answer-waiting", CALL.arguments),
        ("first-byte", CALL.arguments),
    ],
)
def test_a_connection_is_dropped_where_it_should_be(point: str, expected: bytes) -> None:
    """What arrives is the request up to that point; what is kept of it says who went away."""
    arrived = threading.Event()

    def reply(_: RawServer, connection: socket.socket, __: bytes) -> bool:
        arrived.set()
        connection.sendall(response())
        return False

    with raw_server(reply) as server:
        session = session_on(server)
        with closing(session.transport):
            lost = send_and_drop(session, CALL, DROPS[point])
        assert arrived.wait(10)
        assert expected == server.requests[0].partition(b"\r\n\r\n")[2]
    assert lost.response is None
    assert [(lost, DROPS[point].sent(CALL.arguments), DROPS[point].awaits)] == cast("Any", session).noted
    assert lost.failure
    assert "the suite dropped the connection" in lost.failure.message


def test_a_lost_call_is_the_ordinary_call() -> None:
    """Byte for byte in head and body, so that its copy is the same attempt."""
    with raw_server(sending(response())) as server:
        session = session_on(server)
        with closing(session.transport):
            send_and_drop(session, CALL, DROPS["first-byte"])
            session.transport.call(CALL)
        assert server.requests[0] == server.requests[1]


def answers_in_turn(*turns: tuple[Outcome, frozenset[ErrorKind] | None]) -> tuple[Session, list[Call], list[float]]:
    """Return a session that answers in this order, the calls that it got, and the seconds that were waited."""
    calls: list[Call] = []
    waited: list[float] = []

    def call(*parts: Any) -> Answer:
        calls.append(Call(*parts))
        return answer(*turns[min(len(calls), len(turns)) - 1])

    session = SimpleNamespace(call=call, clock=SimpleNamespace(wait=waited.append))
    return cast("Session", session), calls, waited


def test_a_call_is_sent_again_while_a_copy_is_in_progress() -> None:
    """And no longer; an answer of another kind is the answer."""
    busy: tuple[Outcome, frozenset[ErrorKind]] = ("refused", frozenset({"in_progress"}))
    for last in (("success", frozenset()), ("refused", frozenset({"not_found"})), ("server-error", frozenset())):
        session, calls, pauses = answers_in_turn(busy, busy, cast("Any", last))
        assert last[0] == sent_until_answered(session, CALL).outcome
        assert [CALL] * 3 == calls
        assert [0.01, 0.02] == pauses


def test_a_call_is_not_sent_for_ever() -> None:
    """A target that always says in progress is answered for in the end."""
    session, calls, pauses = answers_in_turn(("refused", frozenset({"in_progress", "conflict"})))
    assert "refused" == sent_until_answered(session, CALL).outcome
    assert (9, 8) == (len(calls), len(pauses))
