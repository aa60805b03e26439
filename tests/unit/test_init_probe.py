"""``sosoapi-conformance init`` with contact: what it finds, what it writes of it, and what it says."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from raw_server import raw_server, response, sending, unused_port

from conformance.command_line import main
from conformance.contract import load_contract
from conformance.errors import ExitStatus
from conformance.probing import candidates
from conformance.reference.server import Addresses, Settings, running
from conformance.target import Entry, Secret, Target, TargetOptions
from conformance.target_file import resolve_target

OPERATIONS = tuple(operation.name for operation in load_contract().operations)
TOKEN = "a-token-of-a-vendor-that-is-a-secret"


@pytest.fixture(autouse=True)
def _no_tokens_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOSOAPI_TOKEN", raising=False)
    monkeypatch.delenv("SOSOAPI_CONTROL_TOKEN", raising=False)


@pytest.fixture(scope="module")
def server() -> Iterator[Addresses]:
    """Run the reference server."""
    with running(Settings(database="memory")) as addresses:
        yield addresses


Init = Callable[..., tuple[Target, str]]


@pytest.fixture
def init(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Init:
    """Return a function that runs the command and returns the target of the file that it wrote, and what it said."""

    def write(*arguments: str) -> tuple[Target, str]:
        path = tmp_path / "target.toml"
        assert main(["init", str(path), "--force", *arguments]) == ExitStatus.CONFORMS
        return resolve_target(TargetOptions(config=path), OPERATIONS), capsys.readouterr().out

    return write


def test_both_transports_are_found(server: Addresses, init: Init) -> None:
    """The address as given is the target, and the other transport a further one."""
    target, said = init("--url", server.target, "--control-url", server.control)
    also = (Entry("mcp-http", f"{server.target}/mcp"),)
    assert target == Target("rest", url=server.target, also=also, control_url=server.control)
    assert f"found: JSON over HTTP at {server.target}\n" in said
    assert f"found: test control at {server.control}: principals tokens seed clock access worker restart reset;" in said


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_an_address_of_mcp_is_a_target_over_mcp(path: str, server: Addresses, init: Init) -> None:
    """Plain HTTP on the same server is the further one then."""
    target, _ = init("--url", f"{server.target}{path}", "--control-url", server.control)
    assert (target.transport, target.url) == ("mcp-http", f"{server.target}/mcp")
    assert target.also == (Entry("rest", server.target),)


def test_a_wrong_prefix_is_put_right(server: Addresses, init: Init) -> None:
    """Usual paths of the same server are tried."""
    target, said = init("--url", f"{server.target}/api/v2", "--control-url", server.control)
    assert target.url == server.target
    assert f"found: JSON over HTTP at {server.target}\n" in said


def test_the_transport_asked_for_comes_first(server: Addresses, init: Init) -> None:
    """Its address is found from that of the server."""
    target, _ = init("--url", server.target, "--control-url", server.control, "--transport", "mcp-http")
    assert (target.transport, target.url) == ("mcp-http", f"{server.target}/mcp")


def test_without_a_token_it_is_found_as_well(server: Addresses, init: Init) -> None:
    """A refusal of nobody in particular tells enough, where other paths do not refuse alike."""
    target, said = init("--url", server.target)
    assert (target.url, target.also) == (server.target, (Entry("mcp-http", f"{server.target}/mcp"),))
    assert "to fill in: [tokens] reader, other_user, without_scope\n" in said


def test_nothing_answers(init: Init) -> None:
    """The file has what was given, and one sentence says that nothing answers."""
    url = f"http://127.0.0.1:{unused_port()}"
    target, said = init("--url", url)
    assert target == Target("rest", url=url)
    assert said.startswith(f"not found: no usable answer from {url}: cannot connect to ")
    assert 1 == said.count("not found")


def test_another_web_server_answers(init: Init) -> None:
    """What it says is escaped, and a token that it repeats is not shown."""
    body = b'{"error": "\x1b[31m"}'
    with raw_server(sending(response(body, "404 Not \x1b Found"))) as other:
        target, said = init("--url", other.url, "--control-url", other.url)
    assert target == Target("rest", url=other.url, control_url=other.url)
    assert "\x1b" not in said
    assert 2 == said.count("not found: ")


def test_a_token_is_never_shown_or_written(
    server: Addresses, init: Init, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Names of variables stand in the file; a token that a server repeats is replaced."""
    monkeypatch.setenv("ACME_CONTROL", TOKEN)
    with raw_server(sending(response(TOKEN.encode(), "500 Oh"))) as other:
        target, said = init("--url", server.target, "--control-url", other.url, "--control-token-env", "ACME_CONTROL")
    assert target.control_token == Secret("env", "ACME_CONTROL")
    assert "$ACME_CONTROL" in said
    assert TOKEN not in said + (tmp_path / "target.toml").read_text(encoding="utf-8")


def test_variables_of_tokens_are_written(server: Addresses, init: Init) -> None:
    """By role."""
    names = {"reader": "READER", "other_user": "OTHER", "without_scope": "LESS"}
    options = [word for role, name in names.items() for word in (f"--{role.replace('_', '-')}-env", name)]
    target, _ = init("--url", server.target, *options, "--no-probe")
    assert target.tokens == {role: Secret("env", name) for role, name in names.items()}


def test_a_token_in_the_place_of_a_variable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is refused, and not repeated."""
    assert main(["init", str(tmp_path / "a.toml"), "--reader-env", TOKEN]) == ExitStatus.USAGE
    said = capsys.readouterr().err
    assert said == "--reader-env: that is no name of a variable. Name an environment variable, not a token.\n"


def test_a_command_is_started(init: Init) -> None:
    """One that does not speak MCP is written all the same, and said not to."""
    target, said = init("--command", "false")
    assert target == Target("mcp-stdio", command="false")
    assert said.startswith("not found: no usable answer from false: the child has ended with status 1")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_questions_on_a_terminal(server: Addresses, init: Init, monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing given it asks, and an address makes the question for a command needless."""
    monkeypatch.setattr("sys.stdin", _Terminal(f"{server.target}\n\nAcme\nACME_TOKEN\n"))
    target, said = init()
    assert (target.url, target.implementation.name) == (server.target, "Acme")
    assert target.tokens == {"reader": Secret("env", "ACME_TOKEN")}
    assert "command that starts it" not in said


def test_no_questions_where_nobody_can_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a pipeline it writes a file to be filled in."""
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    path = tmp_path / "target.toml"
    assert main(["init", str(path)]) == ExitStatus.CONFORMS
    said = f"written: {path}\nnext, give the address in {path}, then\n"
    assert capsys.readouterr().out.startswith(said)


def test_candidates() -> None:
    """The address as it was given comes first, and none comes twice."""
    expected = ["/v1", "/v1/mcp", "", "/api", "/mcp", "/api/mcp"]
    assert [f"http://a{path}" for path in expected] == list(candidates("http://a/v1/"))
    assert ["http://a", "http://a/mcp", "http://a/api", "http://a/api/mcp"] == list(candidates("http://a"))
