"""The client of test control: what it sends, and that a broken test control is never a target's fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from raw_server import raw_server, response, sending, unused_port

from conformance.control.http import HttpControl
from conformance.control.interface import Capabilities, ControlFailed, Principal

OWNER = Principal("p/1", "t", ("s",), ("w",))


def call(
    body: Any, use: Callable[[HttpControl], Any], status: str = "200 OK", token: str | None = None
) -> tuple[Any, bytes]:
    """Make one call to a test control that answers ``body``; return the result and the request."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with raw_server(sending(response(raw, status))) as server:
        control = HttpControl(server.url + "/", token)
        try:
            return use(control), server.requests[0]
        finally:
            control.close()


@pytest.mark.parametrize(
    ("use", "line", "body"),
    [
        (
            lambda c: c.create_principal(("s",), ("w",), "owner"),
            "POST /principals",
            {"scopes": ["s"], "workspace_ids": ["w"]},
        ),
        (lambda c: c.create_token(OWNER, ("x",)), "POST /principals/p%2F1/tokens", {"scopes": ["x"]}),
        (
            lambda c: c.seed_conversation(OWNER, {"a": 1}, [], [2]),
            "POST /conversations",
            {"principal_id": "p/1", "conversation": {"a": 1}, "messages": [], "runs": [2]},
        ),
        (lambda c: c.read_clock("w"), "GET /clock?workspace_id=w", None),
        (lambda c: c.set_clock("w", "t"), "PUT /clock", {"workspace_id": "w", "now": "t"}),
        (lambda c: c.release_clock("w"), "DELETE /clock?workspace_id=w", None),
        (lambda c: c.set_access("c", "granted"), "PUT /conversations/c/access", {"state": "granted"}),
        (
            lambda c: c.deliver_result("r", {"x": 1}, "m", None),
            "POST /runs/r/result",
            {"answer": {"x": 1}, "model_id": "m", "model_version": None},
        ),
        (lambda c: c.restart(), "POST /restart", None),
        (lambda c: c.reset(), "POST /reset", None),
    ],
)
def test_every_call_is_the_one_of_the_interface(use: Callable[[HttpControl], Any], line: str, body: Any) -> None:
    """Method, path and JSON body."""
    answer = {"principal_id": "p", "token": "t", "now": "2026-01-01T00:00:00Z"}
    _, request = call(answer, use, "201 Created", token="control-token")
    head, _, sent = request.partition(b"\r\n\r\n")
    assert head.startswith(f"{line} HTTP/1.1\r\n".encode())
    assert b"authorization: bearer control-token" in head.lower()
    assert body == (json.loads(sent) if sent else None)


def test_results_are_read() -> None:
    """Principals, further tokens, ids and capabilities."""
    assert (
        Principal("p", "t", ("s",), ("w",), "owner")
        == call({"principal_id": "p", "token": "t"}, lambda c: c.create_principal(("s",), ("w",), "owner"))[0]
    )
    assert Principal("p/1", "u", ("x",), ("w",)) == call({"token": "u"}, lambda c: c.create_token(OWNER, ("x",)))[0]
    for body, ids in (({"ids": {"a": "b"}}, {"a": "b"}), ({"ids": {}}, {}), ({"ids": None}, {}), ({}, {}), (b"", {})):
        assert ids == call(body, lambda c: c.seed_conversation(OWNER, {}, [], []))[0]
    capabilities = {"interface": 1, "capabilities": ["seed", "clock"], "clock_scope": "global"}
    assert Capabilities(frozenset({"seed", "clock"}), "global") == call(capabilities, lambda c: c.capabilities())[0]
    assert None is call(b"", lambda c: c.reset(), "204 No Content")[0]


@pytest.mark.parametrize(
    ("body", "status", "use"),
    [
        ({"error": "no"}, "404 Not Found", lambda c: c.reset()),
        ({}, "302 Found", lambda c: c.reset()),
        ({}, "500 Internal Server Error", lambda c: c.capabilities()),
        (b"<html>", "200 OK", lambda c: c.capabilities()),
        (b"[" * 100_000, "200 OK", lambda c: c.capabilities()),
        ([], "200 OK", lambda c: c.capabilities()),
        ({"interface": 2, "capabilities": []}, "200 OK", lambda c: c.capabilities()),
        ({"interface": 1}, "200 OK", lambda c: c.capabilities()),
        ({"interface": 1, "capabilities": [1]}, "200 OK", lambda c: c.capabilities()),
        ({"interface": 1, "capabilities": [], "clock_scope": "day"}, "200 OK", lambda c: c.capabilities()),
        ({"principal_id": "p"}, "201 Created", lambda c: c.create_principal((), (), "owner")),
        ({"principal_id": 1, "token": "t"}, "201 Created", lambda c: c.create_principal((), (), "owner")),
        ({"principal_id": "p", "token": "a\nb"}, "201 Created", lambda c: c.create_principal((), (), "owner")),
        ({"token": ""}, "201 Created", lambda c: c.create_token(OWNER, ())),
        ({"token": "\u00e9"}, "201 Created", lambda c: c.create_token(OWNER, ())),
        ({"ids": {"a": 1}}, "201 Created", lambda c: c.seed_conversation(OWNER, {}, [], [])),
        ({"ids": ["a"]}, "201 Created", lambda c: c.seed_conversation(OWNER, {}, [], [])),
        ({"now": 1}, "200 OK", lambda c: c.read_clock("w")),
        ({"now": "noon"}, "200 OK", lambda c: c.read_clock("w")),
        (None, "200 OK", lambda c: c.read_clock("w")),
    ],
)
def test_what_is_not_of_the_interface_could_not_run(body: Any, status: str, use: Callable[[HttpControl], Any]) -> None:
    """A non-2xx answer, no JSON, or JSON of another shape: a readable message and never a verdict."""
    with pytest.raises(ControlFailed) as caught:
        call(body, use, status)
    assert "interface" in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_token_that_cannot_be_sent_is_not_repeated() -> None:
    """What test control gave as a token stays out of the message."""
    with pytest.raises(ControlFailed) as caught:
        call({"principal_id": "p", "token": "s3cret s3cret"}, lambda c: c.create_principal((), (), "owner"))
    assert "s3cret" not in str(caught.value)


def test_a_test_control_that_is_not_there_could_not_run() -> None:
    """The message names the address and the option."""
    port = unused_port()
    control = HttpControl(f"http://127.0.0.1:{port}", None)
    with pytest.raises(ControlFailed, match=rf"GET http://127\.0\.0\.1:{port}/capabilities .*--control-url"):
        control.capabilities()
    control.close()
