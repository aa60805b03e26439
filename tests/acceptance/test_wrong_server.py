"""A web server that is not this API is recognised before anything is judged."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from raw_server import Reply, raw_server, response, sending
from suite_run import assert_readable, run_pytest

HTML = b"<!doctype html><title>It works</title>"

OTHERS: dict[str, Reply] = {
    "always-404": sending(response(HTML, "404 Not Found")),
    "always-200": sending(response(HTML)),
    "always-500": sending(response(HTML, "500 Internal Server Error")),
    "always-elsewhere": sending(response(b"", "307 Temporary Redirect", "Location: /")),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_server_that_answers_everything_alike(name: str) -> None:
    """Status 6, the path that was tried, and what to correct; no redirect is followed."""
    with raw_server(OTHERS[name]) as server:
        ended = run_pytest("-q", "--target-url", server.url, SOSOAPI_TOKEN="t")
        assert len(server.requests) < 20
    assert 6 == ended.status, ended.last_words
    assert "answers, but not at the contract's paths: POST /research-api/conversations/archive" in ended.output
    assert "Correct the port or the path prefix of --target-url" in ended.output
    assert_readable(ended)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Log nothing."""


@contextmanager
def file_server() -> Iterator[str]:
    """Run Python's file server, as ``python -m http.server`` does."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_file_server() -> None:
    """It answers 501 to every POST."""
    with file_server() as url:
        ended = run_pytest("-q", "--target-url", url)
    assert 6 == ended.status, ended.last_words
    assert "501" in ended.output
    assert_readable(ended)


def test_a_token_that_the_server_refuses() -> None:
    """A token that has expired is no finding against the server."""
    with raw_server(sending(response(b"{}", "401 Unauthorized"))) as server:
        ended = run_pytest("-q", "--target-url", server.url, SOSOAPI_TOKEN="s3cret")
    assert 6 == ended.status, ended.last_words
    assert "refuses the reader's token at every operation (401)" in ended.output
    assert "s3cret" not in ended.output
    assert_readable(ended)
