"""Servers that answer at the right paths with whatever hurts: a verdict in bounded time, and nothing leaks."""

from __future__ import annotations

import gzip
import socket
from pathlib import Path

import pytest
from raw_server import RawServer, Reply, dripping, raw_server, response, sending
from suite_run import FEW, assert_readable, run_pytest

TOKEN = "s3cret-of-the-vendor"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

HOSTILE: dict[str, Reply] = {
    "closes-at-once": sending(keep=False),
    "html": sending(response(b"<!doctype html><script>alert(1)</script>")),
    "empty-body": sending(response(b"")),
    "truncated-body": sending(HEAD + b"Content-Length: 1000\r\n\r\n{", keep=False),
    "endless-body": dripping(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"fff\r\n" + b"a" * 4095 + b"\r\n", 0.0001),
    "gzip": sending(response(gzip.compress(b"0" * 10_000_000), "200 OK", "Content-Encoding: gzip")),
    "invalid-utf-8": sending(response(b'{"a":"\xff\xfe"}')),
    "deep-json": sending(response(b"[" * 100_000 + b"]" * 100_000)),
    "huge-number": sending(response(b'{"a":' + b"9" * 100_000 + b"}")),
    "huge-header": sending(HEAD + b"X-Big: " + b"a" * 1_000_000 + b"\r\n\r\n"),
    "one-byte-a-moment": dripping(HEAD + b"Content-Length: 1000\r\n\r\n", b" ", 0.2),
    "escape-codes": sending(
        response(
            b"\x1b[2J\x1b]0;owned\x07\nverdict: conforms\xe2\x80\xae",
            "400 \x1b[32mFine\x1b[0m",
            "Content-Type: \x9b31m",
        )
    ),
    "escape-codes-accepted": sending(response(b"\x1b[2J\x1b]0;owned\x07\nverdict: conforms\xe2\x80\xae")),
    "redirect": sending(response(b"", "302 Found", "Location: http://127.0.0.1:1/")),
    "echo-of-the-token": sending(response(f'{{"error":"Bearer {TOKEN}"}}'.encode())),
}


def at_the_paths(reply: Reply) -> Reply:
    """Answer so at the paths of the contract, and as unknown everywhere else."""

    def answer(server: RawServer, connection: socket.socket, request: bytes) -> bool:
        if b"which-does-not-exist" in request.partition(b"\r\n")[0]:
            connection.sendall(response(b"{}", "404 Not Found"))
            return True
        return reply(server, connection, request)

    return answer


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_server_gets_a_verdict(name: str, tmp_path: Path) -> None:
    """Findings or "could not run", in bounded time; no traceback, no token, nothing that a terminal would act on."""
    (tmp_path / "hostile.toml").write_text("[limits]\ncall_seconds = 1\nbody_bytes = 1000000\n", encoding="utf-8")
    with raw_server(at_the_paths(HOSTILE[name])) as server:
        ended = run_pytest(
            "-q", "-k", FEW, "--target-url", server.url, f"--target-config={tmp_path / 'hostile.toml'}",
            SOSOAPI_TOKEN=TOKEN,
        )  # fmt: skip
    assert ended.status in (1, 6), ended.last_words
    assert_readable(ended)
    assert "s3cret" not in ended.output
    lines = ended.output.splitlines()
    assert not [line for line in lines if line.startswith("verdict: conforms")]
    if ended.status == 1:
        assert [line for line in lines if line.startswith("verdict: does not conform")]
        assert any("repeat:" in line for line in lines)
    else:
        assert "could not run: " in ended.output
