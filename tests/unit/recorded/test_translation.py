"""What a server gives out anew is translated both ways, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Mapping

from conformance.recorded.resending import needed_before
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
