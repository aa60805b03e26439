"""Servers that answer plain HTTP with whatever hurts: a verdict in bounded time and memory, and nothing leaks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hostile_runs import run_on
from hostile_servers import HOSTILE, HastyServer, MortalServer, at_the_paths
from raw_server import RawServer, raw_server, response, sending
from suite_run import FEW, INPUT_CHECKS, Ended

REDIRECTS = {
    "to-itself": "{itself}/research-api/conversations/get",
    "elsewhere": "{elsewhere}/research-api/conversations/get",
    "to-another-scheme": "//{elsewhere}/",
    "to-a-file": "file:///etc/hostname",
    "nowhere": "",
}


def judge_few(folder: Path, url: str) -> Ended:
    """Run three cases of one operation."""
    return run_on(folder, INPUT_CHECKS, "-k", FEW, "--target-url", url)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_server_that_is_hostile_at_the_paths(name: str, tmp_path: Path) -> None:
    """Findings, or "could not run"."""
    with raw_server(at_the_paths(HOSTILE[name])) as server:
        judge_few(tmp_path, server.url)


@pytest.mark.parametrize(
    "name",
    [
        "escape-codes",
        "escape-codes-in-a-reason",
        "status-line-of-rubbish",
        "tls-on-a-plain-port",
        "token-in-all-texts",
        "never-answers",
    ],
)
def test_a_server_that_is_hostile_everywhere(name: str, tmp_path: Path) -> None:
    """It is not this API that answers."""
    with raw_server(HOSTILE[name]) as server:
        assert 6 == judge_few(tmp_path, server.url).status


def test_a_rate_limit_that_lets_nothing_through(tmp_path: Path) -> None:
    """It is called by its name, and not waited for again and again."""
    with raw_server(sending(response(b"{}", "429 Too Many Requests", "Retry-After: 100000"))) as server:
        ended = judge_few(tmp_path, server.url)
        assert len(server.requests) <= 4
    assert 6 == ended.status
    assert "429 Too Many Requests, also after waiting" in ended.output


@pytest.mark.parametrize("name", REDIRECTS)
def test_no_redirect_is_followed(name: str, tmp_path: Path) -> None:
    """Whoever is named as the new place hears nothing."""
    reply = sending(response(b"{}", "400 Bad Request"))
    with raw_server(reply) as elsewhere, raw_server(reply) as server:
        location = REDIRECTS[name].format(itself=server.url, elsewhere=elsewhere.url)
        # Set now that the address is known.
        server.reply = at_the_paths(sending(response(b"", "307 Temporary Redirect", f"Location: {location}")))
        assert 1 == judge_few(tmp_path, server.url).status
        assert 0 == elsewhere.connections
        assert all(b"POST /research-api/" in request for request in server.requests)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: MortalServer(6, 0.5), ""),
        (lambda: MortalServer(6, None), "the target is gone: cannot connect to"),
        (lambda: MortalServer(3, None), ""),
        (lambda: HastyServer(sending()), ""),
    ],
    ids=["dies-and-comes-back", "dies-for-good", "dies-at-once", "answers-before-the-request"],
)
def test_a_server_that_comes_and_goes(make: Callable[[], RawServer], said: str, tmp_path: Path) -> None:
    """One that stays away ends the run, and says so; one that comes back is judged further."""
    server = make()
    try:
        ended = judge_few(tmp_path, server.url)
    finally:
        server.close()
    assert said in ended.output
