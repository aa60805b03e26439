"""MCP over streamable HTTP, in each revision that the server speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from mcp_world import ACCEPT, HANDSHAKE, REVISIONS, STATELESS, HttpClient, McpWorld, opening, parameters_of, tool
from reference_world import ARCHIVE, GET, STATUS, contract, fresh

from conformance.reference.mcp.binding import McpBinding, View
from conformance.reference.parts import Parts
from conformance.reference.server import Settings, running

pytest.importorskip("mcp")

each_revision = pytest.mark.parametrize("revision", REVISIONS)


@pytest.fixture
def world() -> Iterator[McpWorld]:
    """Return a world."""
    made = McpWorld()
    yield made
    made.close()


@each_revision
def test_the_tools_are_listed_as_the_contract_writes_them(world: McpWorld, revision: str) -> None:
    """Names, schemas and annotations come to the letter, keys in their order; output schemas only where asked for."""
    plain = world.client(revision).request("tools/list")["result"]["tools"]
    more = world.client(revision, "/mcp/output-schemas").request("tools/list")["result"]["tools"]
    for operation, listed, listed_more in zip(contract().operations, plain, more, strict=True):
        expected = {
            "name": operation.tool,
            "description": operation.title,
            "inputSchema": operation.input_schema,
            "annotations": operation.annotations,
        }
        assert json.dumps(expected) == json.dumps(listed)
        assert json.dumps({**expected, "outputSchema": operation.output_schema}) == json.dumps(listed_more)
        assert "$schema" in listed_more["outputSchema"]


@each_revision
def test_core_lists_nothing_and_permits_the_same(world: McpWorld, revision: str) -> None:
    """All tools belong to full; in core they can be called all the same, by those who may."""
    client = world.client(revision, "/mcp/core")
    assert client.request("tools/list")["result"]["tools"] == []
    assert client.call(GET, world.arguments(GET))["isError"] is False
    _, token = world.principal("another:scope")
    refused = world.client(revision, "/mcp/core", token).call(GET, world.arguments(GET))
    assert refused["_meta"]["error_kind"] == "forbidden"


@each_revision
@pytest.mark.parametrize("operation", [GET, STATUS])
def test_a_success_is_what_plain_http_answers(world: McpWorld, revision: str, operation: str) -> None:
    """The structured content is the output; the one text says the same."""
    result = world.client(revision).call(operation, world.arguments(operation))
    expected = world.call(operation).json()
    assert expected == result["structuredContent"]
    (block,) = result["content"]
    assert (block["type"], json.loads(block["text"]), result["isError"]) == ("text", expected, False)


@each_revision
def test_a_replay_is_recognised_across_bindings(world: McpWorld, revision: str) -> None:
    """An archive over MCP and its repetition over plain HTTP have one result."""
    arguments = {**world.arguments(ARCHIVE), "mutation_id": fresh(), "expected_revision": 3}
    first = world.client(revision).call(ARCHIVE, arguments)["structuredContent"]
    assert first["conversation"]["archived"] is True
    assert first == world.post(ARCHIVE, json=arguments).json()
    assert first == world.client(revision).call(ARCHIVE, arguments)["structuredContent"]


@each_revision
def test_refusals_name_their_kind(world: McpWorld, revision: str) -> None:
    """A refused call is a result that is marked as an error, with a kind and a text; nothing is quoted."""
    client = world.client(revision)
    stale = {**world.arguments(ARCHIVE), "mutation_id": fresh(), "expected_revision": 2}
    refused = {
        "invalid_input": client.call(GET, {**world.arguments(GET), "more": 1}),
        "not_found": client.call(GET, world.arguments(GET, conversation_id=fresh())),
        "conflict": client.call(ARCHIVE, stale),
    }
    for kind, result in refused.items():
        assert (kind, True) == (result["_meta"]["error_kind"], result["isError"])
        assert "structuredContent" not in result
        assert [block["type"] for block in result["content"]] == ["text"]
    assert client.call(GET, world.arguments(GET))["structuredContent"]["conversation"]["revision"] == 3


@each_revision
@pytest.mark.parametrize("arguments", [None, {}, {"workspace_id": 1}, {"expected_revision": 1e308}])
def test_arguments_are_judged_as_they_were_sent(world: McpWorld, revision: str, arguments: Any) -> None:
    """Null, nothing, and values of another type are invalid input; nothing is converted."""
    assert world.client(revision).call(ARCHIVE, arguments)["_meta"]["error_kind"] == "invalid_input"


@each_revision
def test_a_number_beyond_all_bounds_is_invalid(world: McpWorld, revision: str) -> None:
    """1e400, which the SDK reads as infinity, is refused as invalid input."""
    client = world.client(revision)
    parameters = {"name": tool(ARCHIVE), "arguments": {"expected_revision": "@"}}
    frame = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": parameters_of(revision, parameters)}
    headers = {"MCP-Protocol-Version": revision, "Mcp-Method": "tools/call", "Mcp-Name": tool(ARCHIVE)}
    answer = client.send("POST", json.dumps(frame).replace('"@"', "1e400"), **headers)
    assert answer.json()["result"]["_meta"]["error_kind"] == "invalid_input"


@each_revision
def test_an_unknown_tool_is_an_error_of_the_protocol(world: McpWorld, revision: str) -> None:
    """It is answered with -32602, and so are arguments that are no object; the session lives on."""
    client = world.client(revision)
    assert client.request("tools/call", name="unknown", arguments={})["error"]["code"] == -32602
    assert client.request("tools/call", name=tool(GET), arguments=[1])["error"]["code"] == -32602
    assert client.request("no/such")["error"]["code"] == -32601
    assert client.call(GET, world.arguments(GET))["isError"] is False


@each_revision
@pytest.mark.parametrize("authorization", [None, "Bearer unknown", "Basic abc", "Bearer "])
def test_every_request_needs_a_token(world: McpWorld, revision: str, authorization: str | None) -> None:
    """Without a usable token the answer is 401, in a session too, and says how to authenticate."""
    client = world.client(revision)
    del client.headers["Authorization"]
    headers = {} if authorization is None else {"Authorization": authorization}
    answer = client.post("tools/list", parameters_of(revision, {}), **headers)
    assert (401, "Bearer") == (answer.status_code, answer.headers["www-authenticate"])
    assert answer.json()["error"]["kind"] == "unauthenticated"


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_session_belongs_to_its_person(world: McpWorld, revision: str) -> None:
    """Another token of the person may use it, with its own scopes; for another person there is no such session."""
    client = world.client(revision)
    made = world.control("POST", f"/principals/{world.person}/tokens", {"scopes": []}).json()
    client.headers["Authorization"] = f"Bearer {made['token']}"
    assert client.call(GET, world.arguments(GET))["_meta"]["error_kind"] == "forbidden"
    _, token = world.principal()
    client.headers["Authorization"] = f"Bearer {token}"
    assert client.post("ping", {}).status_code == 404


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_session_ends_when_its_client_says_so(world: McpWorld, revision: str) -> None:
    """After DELETE the session is unknown."""
    client = world.client(revision)
    assert client.request("ping")["result"] == {}
    assert client.send("DELETE").status_code == 200
    assert client.post("ping", {}).status_code == 404


@each_revision
def test_a_restart_forgets_sessions_and_keeps_state(world: McpWorld, revision: str) -> None:
    """An old session is unknown after a restart; a new one finds what was stored."""
    client = world.client(revision)
    before = client.call(GET, world.arguments(GET))["structuredContent"]
    assert world.control("POST", "/restart").status_code == 204
    if revision in HANDSHAKE:
        assert client.post("ping", {}).status_code == 404
    assert before == world.client(revision).call(GET, world.arguments(GET))["structuredContent"]


def test_an_unknown_revision_is_answered_with_one_that_is_spoken(world: McpWorld) -> None:
    """The handshake offers the newest revision that has one; the stateless form names what it supports."""
    answer = HttpClient(world, HANDSHAKE[-1]).post("initialize", opening("1999-01-01"))
    assert answer.json()["result"]["protocolVersion"] == HANDSHAKE[-1]
    stateless = HttpClient(world, STATELESS)
    named = stateless.post("tools/list", parameters_of("1999-01-01", {}), **{"MCP-Protocol-Version": "1999-01-01"})
    assert (400, -32022) == (named.status_code, named.json()["error"]["code"])
    assert named.json()["error"]["data"]["supported"] == [STATELESS]
    found = stateless.request("server/discover")["result"]
    assert ([STATELESS], {"tools": {"listChanged": False}}) == (found["supportedVersions"], found["capabilities"])


@pytest.mark.parametrize(("name", "value"), [("Mcp-Method", "tools/call"), ("MCP-Protocol-Version", "2026-07-29")])
def test_headers_that_contradict_the_body_are_refused(world: McpWorld, name: str, value: str) -> None:
    """In the stateless revision the headers repeat what the body says."""
    answer = HttpClient(world, STATELESS).post("tools/list", parameters_of(STATELESS, {}), **{name: value})
    assert (400, True) == (answer.status_code, answer.json()["error"]["code"] < -32000)


def test_space_around_the_value_of_a_header_is_no_part_of_it(world: McpWorld) -> None:
    """As RFC 9110 has it, whatever the HTTP parser in front makes of it."""
    client = HttpClient(world, STATELESS)
    answer = client.post("tools/list", parameters_of(STATELESS, {}), **{"Mcp-Method": " tools/list\t"})
    assert answer.status_code == 200


@each_revision
def test_a_rebound_name_is_refused(world: McpWorld, revision: str) -> None:
    """A Host or an Origin that is not of this machine is refused, whatever the token."""
    client = HttpClient(world, revision)
    for headers, status in (({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403)):
        assert status == client.post("server/discover", parameters_of(revision, {}), **headers).status_code


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_binding_may_answer_in_a_stream_and_change_what_goes_out(revision: str) -> None:
    """A part in the place of the binding decides the form over HTTP, and has the last word on a result."""

    class Changed(McpBinding):
        json_answers = False

        def finish(self, method: str, view: View, result: dict[str, Any]) -> dict[str, Any]:
            return {**super().finish(method, view, result), "isError": "true"} if method == "tools/call" else result

    assert Changed is Parts().with_part(Changed).mcp_binding

    class Streamed(HttpClient):
        def send(self, method: str, body: str = "", **headers: str) -> httpx.Response:
            answer = super().send(method, body, **headers)
            if answer.status_code != 200:
                return answer
            assert answer.headers["content-type"].startswith("text/event-stream")
            (line,) = [line for line in answer.text.splitlines() if line.startswith("data: ")]
            return httpx.Response(200, content=line[6:], headers=answer.headers)

    world = McpWorld(Changed)
    assert Streamed(world, revision).open().call(GET, world.arguments(GET))["isError"] == "true"
    world.close()


def test_without_the_sdk_there_is_no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the SDK is not installed the path is unknown, as any other, and plain HTTP works."""
    monkeypatch.setattr("conformance.reference.runtime.is_offered", lambda: False)
    world = McpWorld()
    assert world.send("POST", "/mcp", headers=ACCEPT).status_code == 404
    assert world.call(GET).status_code == 200
    world.close()


def test_over_a_socket() -> None:
    """An open stream does not keep the server from stopping, a 401 keeps its connection; an anonymous token counts."""
    opened = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening(HANDSHAKE[-1])}
    with httpx.Client(trust_env=False, headers=ACCEPT) as client:
        with running(Settings(database="memory", anonymous_token="anybody")) as addresses:
            assert addresses.mcp == f"{addresses.target}/mcp"
            answer = client.post(addresses.mcp, json=opened)
            session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
            with client.stream("GET", addresses.mcp, headers=session) as stream:
                assert stream.status_code == 200
                bad = {"Authorization": "Bearer bad"}
                assert client.post(addresses.mcp, content=b" " * 1_000_000, headers=bad).status_code == 401
                assert client.post(addresses.mcp, content=b" " * 2_000_000).status_code == 413
                assert client.post(addresses.mcp, json=opened).status_code == 200
        with running(Settings(database="memory")) as addresses:
            assert client.post(str(addresses.mcp), json=opened).status_code == 401
