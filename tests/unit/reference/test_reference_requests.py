"""The reference server refuses what is not a valid request, and answers in the form of the target interface."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from reference_world import ARCHIVE, GET, SECRET, STATUS, World, contract, fresh


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Return one server for all: nothing here changes it."""
    made = World()
    yield made
    made.close()


JSON = {"Content-Type": "application/json"}


def post(world: World, raw: bytes, headers: dict[str, str] | None = None) -> httpx.Response:
    """Post raw bytes to get."""
    return world.post(GET, content=raw, headers=headers or JSON)


VALID = {
    "workspace_id": "00000000-0000-0000-0000-000000000000",
    "conversation_id": "0b7f3a52-6c1d-4a8e-9f20-5d3c8e7a1b46",
}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"null",
        b'"text"',
        b"{",
        b"{}",
        b"\xff\xfe",
        b"\xef\xbb\xbf" + json.dumps(VALID).encode(),
        json.dumps(VALID).encode("utf-16"),
        b"[" * 60_000,
        json.dumps(VALID).encode() + b" x",
        json.dumps({**VALID, "more": 1}).encode(),
        json.dumps(VALID)[:-1].encode() + b', "workspace_id": "ffffffff-ffff-ffff-ffff-ffffffffffff"}',
        json.dumps({**VALID, "workspace_id": "\ud800"}).encode(),
        json.dumps({**VALID, "workspace_id": 1}).encode(),
        json.dumps({**VALID, "workspace_id": None}).encode(),
    ],
)
def test_bad_bodies_are_invalid_input(world: World, raw: bytes) -> None:
    """Whatever is not strict JSON that keeps the schema gets 400."""
    assert post(world, raw).status_code == 400


@pytest.mark.parametrize(
    "revision",
    ["0", "-1", "1.5", "true", "null", '"1"', "9007199254740992", "1e400", "NaN", "Infinity", "9" * 5000, "[1]", "01"],
)
def test_bad_revisions_are_invalid_input(world: World, revision: str) -> None:
    """expected_revision is an integer from 1 to 2**53 - 1."""
    body = json.dumps({**VALID, "mutation_id": fresh()})[:-1] + f', "expected_revision": {revision}}}'
    assert world.post(ARCHIVE, content=body.encode(), headers=JSON).status_code == 400


def test_an_integral_float_is_an_integer(world: World) -> None:
    """draft-07 calls 2.0 an integer: it reaches the revision check."""
    assert world.call(ARCHIVE, expected_revision=2.0).status_code == 409


@pytest.mark.parametrize(
    "shape",
    ["{{{}}}", "urn:uuid:{}", "{}\n", " {}", "{} ", "{}0", "0{}", "{}-"],
)
def test_uuids_with_something_around_them_are_invalid(world: World, shape: str) -> None:
    """Nothing may stand around the 36 characters of an id."""
    assert world.call(GET, conversation_id=shape.format(world.conversation_id)).status_code == 400


def test_other_spellings_of_a_uuid_are_invalid(world: World) -> None:
    """No hyphens, misplaced hyphens, full-width digits and other letters are refused."""
    plain = world.conversation_id
    digits = plain.replace("-", "")
    for text in (digits, f"{digits[:10]}----{digits[10:]}", "\uff11" + plain[1:], "g" + plain[1:], plain[:-1], ""):
        assert world.call(GET, conversation_id=text).status_code == 400, text


@pytest.mark.parametrize("version", range(1, 9))
def test_every_uuid_version_is_valid(world: World, version: int) -> None:
    """Unknown ids of each version, the nil and the max UUID are not found, which means valid."""
    text = f"{fresh()[:14]}{version}{fresh()[15:]}"
    for unknown in (text, "0" * 8 + "-0000-0000-0000-" + "0" * 12, "f" * 8 + "-ffff-ffff-ffff-" + "f" * 12):
        assert world.call(GET, conversation_id=unknown).status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer unknown"},
        {"Authorization": "Basic eDp5"},
        {"Authorization": "Bearer a b"},
    ],
)
@pytest.mark.parametrize("operation", [GET, STATUS, ARCHIVE])
def test_no_usable_token_is_unauthenticated(world: World, operation: str, headers: dict[str, str]) -> None:
    """Without a known bearer token each operation answers 401 with a challenge and no content."""
    path = contract().operation(operation).path
    response = world._call(world.reference.target, "POST", path, headers=headers, json=VALID)
    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert SECRET not in response.text


@pytest.mark.parametrize("scope", ["agent", "agent:", "AGENT:RESEARCH", "agent:research:read", "agent:researc", "*"])
def test_the_scope_is_compared_exactly(world: World, scope: str) -> None:
    """A token without exactly agent:research is forbidden."""
    made = world.control("POST", f"/principals/{world.person}/tokens", {"scopes": [scope]})
    for operation in (GET, STATUS, ARCHIVE):
        assert world.call(operation, token=made.json()["token"]).status_code == 403


def test_answers_are_json_that_no_cache_keeps(world: World) -> None:
    """Success and refusal are JSON with Cache-Control no-store."""
    for response in (world.call(GET), world.call(GET, conversation_id=fresh())):
        assert (response.headers["Content-Type"], response.headers["Cache-Control"]) == ("application/json", "no-store")


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
def test_other_methods_are_405(world: World, method: str) -> None:
    """Only POST is known."""
    assert world._call(world.reference.target, method, contract().operation(GET).path).status_code == 405


@pytest.mark.parametrize("path", ["/", "/research-api", "/research-api/conversations/get/", "/docs", "/openapi.json"])
def test_other_paths_are_404(world: World, path: str) -> None:
    """Nothing else is served, nor redirected to."""
    assert world._call(world.reference.target, "POST", path, json={}).status_code == 404


def test_an_oversized_body_is_413(world: World) -> None:
    """A body over 64 kB is refused although it is valid JSON."""
    raw = json.dumps(VALID).encode()
    assert post(world, raw + b" " * (64 * 1024 - len(raw))).status_code == 404
    assert post(world, raw + b" " * (64 * 1024 + 1 - len(raw))).status_code == 413


@pytest.mark.parametrize(
    "headers", [{"Content-Type": "text/plain"}, {"Content-Type": ""}, {**JSON, "Content-Encoding": "gzip"}]
)
def test_what_is_not_plain_json_is_415(world: World, headers: dict[str, str]) -> None:
    """Another content type and any content encoding are refused."""
    assert post(world, json.dumps(VALID).encode(), headers).status_code == 415


def test_any_unicode_comes_back(world: World) -> None:
    """Text of any plane and composition returns as it was seeded."""
    document = world.new_document()
    text = "e\u0301 \u2028 \U0001f468\u200d\U0001f469 \r\n & \uffff \x01 "
    document["messages"][0]["question"] = document["conversation"]["title"] = text
    world.control("POST", "/conversations", {"principal_id": world.person, **document})
    seen = world.call(GET, conversation_id=document["conversation"]["id"]).json()
    assert (text, text) == (seen["messages"][0]["question"], seen["conversation"]["title"])


def control_bodies(world: World) -> list[tuple[str, str, Any, int]]:
    """Return control calls that cannot be carried out, and the status of each."""
    seeded = {"principal_id": world.person, **world.document}
    expired = world.new_document(created_at="2026-02-01T10:00:00Z", expires_at="2026-02-02T10:00:00Z")
    return [
        ("POST", "/conversations", seeded, 409),
        ("POST", "/conversations", {**seeded, "principal_id": fresh()}, 404),
        ("POST", "/conversations", {**seeded, "runs": None}, 400),
        ("POST", "/conversations", {"principal_id": world.person, **expired}, 400),
        ("POST", f"/principals/{fresh()}/tokens", {"scopes": []}, 404),
        ("POST", "/principals", {"scopes": "all"}, 400),
        ("PUT", "/clock", {"workspace_id": world.workspace, "now": "2026-03-01T10:59:59.999Z"}, 409),
        ("PUT", "/clock", {"workspace_id": world.workspace, "now": "yesterday"}, 400),
        ("PUT", f"/conversations/{fresh()}/access", {"state": "granted"}, 404),
        ("PUT", f"/conversations/{world.conversation_id}/access", {"state": "odd"}, 400),
        ("POST", f"/runs/{fresh()}/result", {"answer": None}, 400),
        ("GET", "/clock", None, 400),
    ]


def test_control_says_what_it_cannot_do(world: World) -> None:
    """Each call of test control that cannot be carried out gets a status of 400 and above, and a reason."""
    for method, path, body, expected in control_bodies(world):
        response = world.control(method, path, body)
        assert expected == response.status_code, (path, response.text)
        assert response.json()["error"]


def test_control_clock_and_reset() -> None:
    """A clock is per workspace, survives a restart, and can run again; a reset drops everything."""
    world = World()
    path = f"/clock?workspace_id={world.workspace}"
    world.control("POST", "/restart")
    assert world.control("GET", path).json() == {"now": "2026-03-01T11:00:00Z"}
    assert world.control("GET", f"/clock?workspace_id={fresh()}").json() != {"now": "2026-03-01T11:00:00Z"}
    assert world.control("DELETE", path).status_code == 204
    assert world.control("GET", path).json() != {"now": "2026-03-01T11:00:00Z"}
    assert world.control("POST", "/reset").status_code == 204
    assert world.call(GET).status_code == 401
    assert world.control("GET", "/capabilities").json()["clock_scope"] == "workspace"
    world.close()
