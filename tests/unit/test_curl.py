"""The curl command: pasted into a shell, it sends the same request."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from made_answers import request
from raw_server import raw_server, response, sending

from conformance.report.curl import curl_command
from conformance.transport.exchange import Request

BODIES = {
    "ascii": b'{"a":1}',
    "empty": b"",
    "single-quotes": b"{'a':'it''s'}",
    "double-quotes": b'{"a":"\\"$HOME\\" `id` $(id) \\\\ !"}',
    "at-sign": b"@/etc/hostname",
    "percent": b'{"a":"100 %s %d %%"}',
    "percent-beside-non-ascii": '{"a":"ä %s %% \\ \' 7"}'.encode(),
    "non-ascii": '{"a":"日本語 👍 \u202e"}'.encode(),
    "newlines": b'{\n\t"a": 1\r\n}\n\n',
    "only-newlines": b"\n\n",
    "nul": b"a\x00b\x00",
    "every-byte": bytes(range(256)),
    "digits-behind-a-byte": b"\x017777\xff00",
    "leading-hyphen": b"-n\n",
    "leading-hyphens": b"--help\x01",
    "leading-space": b"  {}\x7f",
}  # fmt: skip

needs_curl = pytest.mark.skipif(not (shutil.which("curl") and shutil.which("bash")), reason="needs curl and bash")


def pasted(command: str, shell: str = "bash") -> None:
    """Run a command as a person would who has pasted it, with the token in the environment."""
    environment = {**os.environ, "SOSOAPI_TOKEN": "tok en$x"}
    subprocess.run([shell, "-c", command], check=True, capture_output=True, timeout=20, env=environment)  # noqa: S603 - our own command


@needs_curl
@pytest.mark.parametrize("shell", ["bash", "sh"])
@pytest.mark.parametrize("name", BODIES)
def test_the_pasted_command_sends_the_same_bytes(name: str, shell: str) -> None:
    """Method, headers and body arrive as the suite had sent them, in bash and in a plain shell."""
    body = BODIES[name]
    with raw_server(sending(response(b"{}", "200 OK", "Connection: close"), keep=False)) as server:
        headers = (
            ("Host", "h"), ("Accept", "application/json"), ("Content-Type", "application/json"), ("X-It's", 'a "b" $c'),
            ("Content-Length", str(len(body))), ("Authorization", "Bearer planted-token"),
        )  # fmt: skip
        pasted(curl_command(Request("PUT", f"{server.url}/a;b?c=$d&e='f'", headers, body)), shell)
        head, _, sent = server.requests[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert body == sent
    assert b"PUT /a;b?c=$d&e='f' HTTP/1.1" == lines[0]
    assert {b"Content-Type: application/json", b'X-It\'s: a "b" $c', b"Authorization: Bearer tok en$x"} <= set(lines)
    assert f"Content-Length: {len(body)}".encode() in lines


@needs_curl
def test_a_request_without_a_content_type_is_pasted_without_one() -> None:
    """Curl would add that of a form."""
    with raw_server(sending(response(b"{}", "200 OK", "Connection: close"), keep=False)) as server:
        pasted(curl_command(Request("POST", server.url + "/x", (), b"{}")))
        assert b"content-type" not in server.requests[0].lower()


@pytest.mark.parametrize("name", BODIES)
def test_the_token_never_appears(name: str) -> None:
    """In its place stands a variable."""
    command = curl_command(request(BODIES[name]))
    assert "planted-token" not in command
    assert '"Authorization: Bearer $SOSOAPI_TOKEN"' in command


def test_a_body_too_long_for_a_command_line_is_left_out() -> None:
    """The command says how long it was."""
    command = curl_command(request(b"x" * 10_000))
    assert command.endswith("--data-binary @body # a body of 10000 bytes")


@pytest.mark.parametrize("name", BODIES)
def test_the_command_is_one_printable_line(name: str) -> None:
    """Whatever the body holds, a terminal has nothing to act on."""
    command = curl_command(request(BODIES[name]))
    assert command.isascii()
    assert command.isprintable()


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_a_message_over_stdio_reaches_the_child(shell: str, tmp_path: Path) -> None:
    """The messages that open the session, then the message, byte for byte, and the token in the environment."""
    child, heard = tmp_path / "child.sh", tmp_path / "heard"
    child.write_text(f'cat > {heard}; echo "$ACME_TOKEN" >> {heard}\n', encoding="utf-8")
    message = '{"a":"it\'s ä %s \\u0041"}'.encode()
    request = Request("STDIO", f"sh {child}", (("ACME_TOKEN", "planted-token"),), message, (b'{"id":1}', b"{}"))
    command = curl_command(request)
    assert "planted-token" not in command
    pasted(command.replace("sleep 1", "true"), shell)
    assert b'{"id":1}\n{}\n' + message + b"\ntok en$x\n" == heard.read_bytes()


@needs_curl
def test_a_message_in_a_session_over_http_opens_one() -> None:
    """A session of its own: its id goes with every message after the first."""
    answer = response(b"{}", "200 OK", "Connection: close\r\nMcp-Session-Id: new-one")
    headers = (
        ("Host", "h"), ("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json"),
        ("Authorization", "Bearer planted-token"), ("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Session-Id", "gone"),
    )  # fmt: skip
    with raw_server(sending(answer, keep=False)) as server:
        pasted(curl_command(Request("POST", f"{server.url}/mcp", headers, b'{"id":2}', (b'{"id":1}', b'{"n":1}'))))
        requests = [request.partition(b"\r\n\r\n") for request in server.requests]
    assert [b'{"id":1}', b'{"n":1}', b'{"id":2}'] == [body for _, _, body in requests]
    assert [False, True, True] == [b"Mcp-Session-Id: new-one" in head for head, _, _ in requests]
    assert [False, True, True] == [b"MCP-Protocol-Version" in head for head, _, _ in requests]
    assert all(b"Accept: application/json, text/event-stream" in head for head, _, _ in requests)
