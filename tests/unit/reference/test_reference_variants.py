"""Each of these conforming variants does differ from the plain server, and in what it says it does."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from reference_world import ARCHIVE, CREATED, GET, SECRET, STATUS, World, fresh

from conformance.reference.catalogue import build

Start = Callable[[str | None], World]


@pytest.fixture
def start() -> Iterator[Start]:
    """Yield a function that starts a world with a variant, or the plain one, and ends it after the test."""
    worlds: list[World] = []

    def started(variant: str | None) -> World:
        worlds.append(World(build(variant=variant)))
        return worlds[-1]

    yield started
    for world in worlds:
        world.close()


def withdraw_and_grant(world: World) -> Any:
    """Return the conversation after access was withdrawn and granted again, with a restart between."""
    path = f"/conversations/{world.conversation_id}/access"
    assert 204 == world.control("PUT", path, {"state": "access_changed"}).status_code
    assert 204 == world.control("POST", "/restart").status_code
    assert 204 == world.control("PUT", path, {"state": "granted"}).status_code
    return world.call(GET).json()


def test_what_was_withdrawn_once_stays_withheld(start: Start) -> None:
    """Granted again, the plain server shows the text again, and the variant never does."""
    plain, variant = withdraw_and_grant(start(None)), withdraw_and_grant(start("withdrawn-for-good"))
    assert ("available", "access_changed") == tuple(each["conversation"]["availability"] for each in (plain, variant))
    assert (True, False) == tuple(SECRET in json.dumps(each) for each in (plain, variant))


@pytest.mark.parametrize(("name", "copy_status"), [("copy-told-to-wait", 425), ("copy-in-progress-conflicts", 409)])
def test_a_copy_of_a_call_in_progress_has_to_wait(start: Start, name: str, copy_status: int) -> None:
    """Of two copies at the same time one is applied; sent again, the other gets the same result."""
    world = start(name)
    arguments = {
        "workspace_id": world.workspace,
        "conversation_id": world.conversation_id,
        "mutation_id": fresh(),
        "expected_revision": 3,
    }

    async def send_both() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=world.reference.target)
        async with httpx.AsyncClient(transport=transport, base_url="http://reference", trust_env=False) as client:
            path = world.reference.contract.operation(ARCHIVE).path
            headers = {"Authorization": f"Bearer {world.token}"}
            return await asyncio.gather(*(client.post(path, json=arguments, headers=headers) for _ in range(2)))

    first, copy = asyncio.run(send_both())
    again = world.post(ARCHIVE, json=arguments)
    assert (200, copy_status, 200) == (first.status_code, copy.status_code, again.status_code)
    assert first.json() == again.json()


@pytest.mark.parametrize(("name", "shown"), [(None, "🜁" * 150), ("lengths-in-utf-16-units", "🜁" * 100)])
def test_a_title_is_cut_at_its_limit_in_utf_16_units(start: Start, name: str | None, shown: str) -> None:
    """150 characters of two units each are within 200 code points and beyond 200 units."""
    world = start(name)
    document = world.new_document()
    document["conversation"]["title"] = "🜁" * 150
    assert 201 == world.control("POST", "/conversations", {"principal_id": world.person, **document}).status_code
    answer = world.call(GET, conversation_id=document["conversation"]["id"]).json()
    assert shown == answer["conversation"]["title"]
    assert SECRET == answer["messages"][0]["question"]


@pytest.mark.parametrize(
    ("name", "shown", "availability"),
    [(None, "5006", "available"), ("times-cut-to-milliseconds", "500", "expired")],
)
def test_times_are_cut_to_milliseconds(start: Start, name: str | None, shown: str, availability: str) -> None:
    """The deadline shown is the one that counts: what comes after the milliseconds is not there any more."""
    world = start(name)
    stored = world.seed(created_at=CREATED, expires_at="2026-03-01T12:00:00.5006Z")["conversation"]["id"]
    world.move_clock("2026-03-01T12:00:00.5Z")
    conversation = world.call(GET, conversation_id=stored).json()["conversation"]
    assert f"2026-03-01T12:00:00.{shown}Z" == conversation["expires_at"]
    assert availability == conversation["availability"]


@pytest.mark.parametrize(("name", "status"), [(None, 404), ("published-uuids-only", 400)])
@pytest.mark.parametrize("place", [14, 19])
def test_an_id_of_no_published_version_or_variant_is_refused(
    start: Start, name: str | None, status: int, place: int
) -> None:
    """With another version digit, or variant digit, an id is unknown to one server and invalid to the other."""
    made = fresh()
    assert status == start(name).call(GET, conversation_id=f"{made[:place]}f{made[place + 1 :]}").status_code


@pytest.mark.parametrize(
    "published", [f"01890a5d-ac96-{version}74b-b9b1-3d3c4f1a2b3c" for version in range(1, 9)] + ["0", "f"]
)
def test_every_published_id_is_read(start: Start, published: str) -> None:
    """Ids of versions 1 to 8, the nil id and the max id are valid, and unknown."""
    text = published if len(published) > 1 else "-".join(published * length for length in (8, 4, 4, 4, 12))
    world = start("published-uuids-only")
    assert [404, 404] == [world.call(GET, conversation_id=each).status_code for each in (text, text.upper())]


@pytest.mark.parametrize(("name", "status"), [(None, 405), ("wrong-method-404", 404)])
def test_a_wrong_method_has_its_status(start: Start, name: str | None, status: int) -> None:
    """A PUT to the path of an operation is 405 or 404."""
    world = start(name)
    answer = world._call(world.reference.target, "PUT", world.reference.contract.operation(GET).path, json={})
    assert status == answer.status_code


@pytest.mark.parametrize(("name", "status"), [(None, 415), ("gzip-accepted", 200)])
def test_a_compressed_body_is_read(start: Start, name: str | None, status: int) -> None:
    """A body compressed with gzip is unpacked or refused."""
    world = start(name)
    body = json.dumps({"workspace_id": world.workspace, "conversation_id": world.conversation_id}).encode()
    assert status == world.post(GET, content=gzip.compress(body), headers=_GZIP).status_code


@pytest.mark.parametrize(("body", "status"), [(gzip.compress(b" " * 100_000), 413), (b"{}", 400)])
def test_an_odd_compressed_body_is_refused(start: Start, body: bytes, status: int) -> None:
    """One that unpacks to more than the limit is oversized; one that is not compressed at all is invalid."""
    assert status == start("gzip-accepted").post(GET, content=body, headers=_GZIP).status_code


_GZIP = {"Content-Encoding": "gzip", "Content-Type": "application/json"}


@pytest.mark.parametrize(("name", "status"), [(None, 401), ("input-judged-before-caller", 400)])
def test_of_two_faults_one_is_named_first(start: Start, name: str | None, status: int) -> None:
    """A wrong token with a wrong input is unauthenticated, or invalid."""
    assert status == start(name).post(GET, token="nobody's", json={}).status_code


def test_a_reason_is_given_by_a_configured_server_too(start: Start) -> None:
    """Once expired, get and status say why, and that they are configured."""
    world = start("reason-also-when-configured")
    world.move_clock("2026-03-02T10:00:00Z")
    shown = [world.call(operation).json()["availability"] for operation in (GET, STATUS)]
    assert [(True, "expired")] * 2 == [(each["configured"], each["reason"]) for each in shown]


def test_no_reason_is_given_by_a_server_that_is_not_configured(start: Start) -> None:
    """Neither get nor status nor archive says why."""
    world = start("never-a-reason")
    shown = [world.call(operation).json()["availability"] for operation in (GET, STATUS, ARCHIVE)]
    assert [(False, None)] * 3 == [(each["configured"], each["reason"]) for each in shown]
