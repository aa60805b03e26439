"""What a server gives out anew is translated both ways, and nothing else."""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping
from typing import Any

from conformance.recorded.resending import needed_before, request_of
from conformance.recorded.translation import Place, Translation
from conformance.transport.exchange import Request, Response

PLACE = Place("http://old:1/api", "https://new/v2")


def neighbours(token: str, _: random.Random) -> Mapping[str, str]:
    """Return what checks make of a token here."""
    return {"half": token[: len(token) // 2], "doubled": token + token}


def request(authorization: str, body: bytes = b"") -> Request:
    """Return a recorded request."""
    return Request("POST", "http://old:1/api/x?a=b", (("Host", "old:1"), ("Authorization", authorization)), body)


def test_only_what_was_given_out_changes() -> None:
    """The address, the host, the token and ids; every other byte stays, also one that is no text."""
    translation = Translation(neighbours)
    translation.token("$SOSOAPI_TOKEN_1", "fresh")
    translation.learn("old-id", "new-id")
    live, path = translation.request(request("Bearer $SOSOAPI_TOKEN_1", b'{"id":"old-id"}\xff'), PLACE)
    assert ("https://new/v2/x?a=b", "/v2/x?a=b", b'{"id":"new-id"}\xff') == (live.url, path, live.body)
    assert (("Host", "new"), ("Authorization", "Bearer fresh")) == live.headers
    answer = translation.response(Response(200, "OK", (("A", "fresh"),), b"new-id \xff"))
    assert ((("A", "$SOSOAPI_TOKEN_1"),), b"old-id \xff") == (answer.headers, answer.body)


def test_names_end_where_their_numbers_do() -> None:
    """The first person's name is not the beginning of the twelfth's."""
    translation = Translation(neighbours)
    translation.token("$SOSOAPI_TOKEN_1", "first")
    translation.token("$SOSOAPI_TOKEN_12", "twelfth")
    live, _ = translation.request(request("Bearer $SOSOAPI_TOKEN_12"), PLACE)
    assert ("Authorization", "Bearer twelfth") == live.headers[1]


def test_a_token_made_from_another_is_made_anew() -> None:
    """Half a token stays half a token, of the one that is right now."""
    translation = Translation(neighbours)
    translation.token("$SOSOAPI_TOKEN_1", "abcdefgh")
    live, _ = translation.request(request("Bearer $SOSOAPI"), PLACE)
    assert ("Authorization", "Bearer abcd") == live.headers[1]


def test_a_token_is_taken_out_of_what_is_said_unasked_in_whatever_form() -> None:
    """As the log does it: the name stands there in place of half a token, or of one in base64."""
    translation = Translation(neighbours)
    translation.token("$SOSOAPI_TOKEN_1", "abcdefghijklmnop")
    encoded = base64.b64encode(b"abcdefghijklmnop")
    assert b"$SOSOAPI_TOKEN_1! $SOSOAPI_TOKEN_1 \xff" == translation.unasked(b"abcdefghij! " + encoded + b" \xff")
    assert "Bearer abcdefghijklmnop" == translation.credential("Bearer $SOSOAPI_TOKEN_1")
    assert "Bearer $SOSOAPI_TOKEN_1" == translation.recorded_credential("Bearer abcdefghijklmnop")


def control(path: str, asked: str, answered: str, method: str = "POST") -> dict[str, object]:
    """Return a recorded call to test control."""
    return {
        "to": "control",
        "request": {"method": method, "target": f"http://c{path}", "headers": [], "body": asked},
        "answer": {"headers": [], "body": answered},
    }


def test_what_a_case_builds_on_is_found() -> None:
    """The conversation that it reads, its owner, and a clock that was set; nothing of others."""
    people = [
        control("/principals", f'{{"workspace_ids": ["w{n}"]}}', f'{{"principal_id": "p{n}", "token": "$T_{n}"}}')
        for n in (1, 2)
    ]
    stored = [
        control("/conversations", f'{{"principal_id": "p{n}", "conversation": {{"id": "c{n}"}}}}', "{}") for n in (1, 2)
    ]
    clocks = [control("/clock", f'{{"workspace_id": "w{n}"}}', "", "PUT") for n in (1, 2)]
    headers = [["Authorization", "Bearer $T_2"]]
    case = {"to": "target", "request": {"method": "POST", "target": "http://t/x", "headers": headers, "body": '"c2"'}}
    assert [people[1], stored[1], clocks[1]] == needed_before([case], [*people, *stored, *clocks])


def listing(token: str, method: str = "POST") -> dict[str, Any]:
    """Return a recorded request for the list of tools."""
    headers = [["Authorization", f"Bearer {token}"]]
    request = {"method": method, "target": "http://t/mcp", "headers": headers, "body": '{"method":"tools/list"}'}
    return {"to": "target", "request": request, "answer": {"headers": [], "body": "{}"}}


def test_lists_that_the_same_person_had_before_are_asked_for_again() -> None:
    """What is listed may depend on how often it was; a child is told by the session that it belongs to."""
    people = [control("/principals", "{}", f'{{"principal_id": "p{n}", "token": "$T_{n}"}}') for n in (1, 2)]
    earlier = [*people, listing("$T_1"), listing("$T_2"), listing("$T_1", "STDIO")]
    assert [people[0], earlier[2]] == needed_before([listing("$T_1")], earlier)


def test_a_header_that_the_body_tells_is_sent_again() -> None:
    """The log has the values of few headers; without this one a server may refuse."""
    line = listing("$T_1")
    line["request"]["headers"] += [["Mcp-Method", "(not written)"], ["X-Other", "(not written)"]]
    assert (("Authorization", "Bearer $T_1"), ("Mcp-Method", "tools/list")) == request_of(line).headers
