"""A tape gives out what was recorded in its order, and says what does not fit."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest

from conformance.recorded.tape import NotRecorded, Tape, read_lines
from conformance.transport.exchange import Request

CASE = "conformance/checks/test_reads.py::test_it[A]"
HEADERS = (("Host", "h"), ("X-Other", "secret"), ("Authorization", "Bearer $SOSOAPI_TOKEN_1"))
REQUEST = Request("POST", "http://h/x", HEADERS, b'{"a":1}')


def line(**more: Any) -> dict[str, Any]:
    """Return a line of a log for ``REQUEST``, with other members where they are given."""
    headers = [list(each) for each in HEADERS]
    headers[1][1] = "(not written)"
    request = {"method": "POST", "target": "http://h/x", "headers": headers, "body": '{"a":1}'}
    answer = {"status": 200, "reason": "OK", "headers": [["A", "b"]], "body": "{}"}
    return {
        "kind": "exchange", "id": "main-1", "case": CASE, "to": "target", "at": 2.0, "elapsed": 0.5,
        "request": request | more.pop("request", {}), "answer": answer, "failure": None, "failure_kind": None,
    } | more  # fmt: skip


def tape(*lines: dict[str, Any]) -> Tape:
    """Return a tape of these lines that has come to their case."""
    made = Tape(lines, ["$SOSOAPI_TOKEN_1"])
    # Where the suite is installed does not matter.
    made.begin_case("site-packages/conformance/checks/test_reads.py::test_it[A]")
    return made


def test_a_recorded_answer_is_given_out_once() -> None:
    """With its instants, to which the clock comes."""
    made = tape(line(span=[5, 9]))
    taken = made.take(REQUEST)
    assert taken.response is not None
    assert (200, b"{}", (5, 9)) == (taken.response.status, taken.response.body, taken.span)
    assert 2.5 <= made.clock.reading() < 2.6
    assert {} == made.left_over()
    with pytest.raises(NotRecorded, match="nothing further was recorded, and POST http://h/x is sent"):
        made.take(REQUEST)


@pytest.mark.parametrize(
    ("recorded", "difference"),
    [
        ({"method": "GET"}, "method or address"),
        ({"target": "http://h/y"}, "method or address"),
        ({"headers": [["Host", "h"]]}, "number of headers"),
        ({"headers": [["Host", "other"], *map(list, HEADERS[1:])]}, "header Host"),
        ({"headers": [*map(list, HEADERS[:2]), ["Authorization", "Bearer $SOSOAPI_TOKEN_2"]]}, "header Authorization"),
        ({"body": '{"a":2}'}, "body"),
        ({"body": {"sha256": "00"}}, "body"),
        ({"body": {"base64": "AA=="}}, "body"),
    ],
)
def test_another_request_is_told(recorded: dict[str, Any], difference: str) -> None:
    """By the part of it that differs."""
    with pytest.raises(NotRecorded, match=f"exchange main-1 has another {difference} than is sent"):
        tape(line(request=recorded)).take(REQUEST)


@pytest.mark.parametrize(
    "body", [{"sha256": hashlib.sha256(REQUEST.body).hexdigest()}, {"base64": base64.b64encode(REQUEST.body).decode()}]
)
def test_a_body_is_known_in_every_form(body: dict[str, str]) -> None:
    """By its digest, and in base64."""
    assert "main-1" == tape(line(request={"body": body})).take(REQUEST).identifier


def test_a_token_that_a_check_has_changed_is_not_compared() -> None:
    """Only the name of such a token is in the log."""
    changed = Request("POST", "http://h/x", (*HEADERS[:2], ("Authorization", "Bearer $SOSOAPI")), REQUEST.body)
    headers = [*map(list, HEADERS[:2]), ["Authorization", "Bearer $SOSOAPI_TOKEN_9"]]
    assert "main-1" == tape(line(request={"headers": headers})).take(changed).identifier


def test_a_failure_is_given_out_as_one() -> None:
    """With its kind."""
    failure = tape(line(answer=None, failure="too late", failure_kind="timeout")).take(REQUEST).failure
    assert failure is not None
    assert ("timeout", "too late") == (failure.kind, failure.message)


def test_an_answer_that_was_too_long_cannot_be_judged() -> None:
    """It is said, and nothing is made up."""
    answer = {"status": 200, "reason": "OK", "headers": [], "body": {"sha256": "00"}}
    with pytest.raises(NotRecorded, match=r"cannot be read \(a body was too long to be recorded\)"):
        tape(line(answer=answer)).take(REQUEST)


def test_readings_and_what_was_done_beside_a_race_come_in_order() -> None:
    """And end."""
    made = tape(
        {"kind": "reading", "case": CASE, "now": 7.0},
        {"kind": "reading", "case": CASE, "now": 8.0},
        {"kind": "beside", "case": CASE, "span": [1, 2]},
    )
    assert [7.0, 8.0] == [made.clock.now(), made.clock.now()]
    assert (1, 2) == made.beside()
    with pytest.raises(NotRecorded):
        made.clock.now()
    with pytest.raises(NotRecorded):
        made.beside()


def test_waiting_takes_no_time() -> None:
    """The recorded clock goes on by itself."""
    clock = tape().clock
    before = clock.reading()
    clock.wait(3600)
    assert 3600 <= clock.reading() - before < 3601


def test_what_is_left_over_is_counted_by_case() -> None:
    """Whoever it was sent to."""
    assert {"test_reads.py::test_it[A]": 2} == tape(line(), line(to="control")).left_over()


@pytest.mark.parametrize("text", [b"[]", b'{"kind": 1}', b"{}", b"nonsense"])
def test_a_line_that_is_none(text: bytes) -> None:
    """Ends the reading."""
    with pytest.raises(ValueError, match=r"line 1|Expecting value"):
        list(read_lines([text]))
