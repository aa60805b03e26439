"""Sending recorded requests again over HTTP: a server that is not there is told apart from one that does not answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from conformance.errors import NotReplayable
from conformance.recorded.resending import Resender
from conformance.recorded.translation import Place, Translation
from conformance.transport.exchange import Request
from conformance.transport.wire import WireFault, WireLimits

ANSWERED: dict[str, Any] = {"answer": {"status": 200, "headers": [], "body": "{}"}}
UNANSWERED: dict[str, Any] = {"answer": None}


@contextmanager
def resender() -> Iterator[tuple[Resender, Request]]:
    """Yield one whose server is not there, and a request to it."""
    with socket.socket() as held:
        # Nobody listens on a port that is bound and nothing more.
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        live = Resender({"target": Place(url, url)}, WireLimits(), Translation(lambda *_: {}))
        try:
            yield live, Request("POST", f"{url}/x", (), b"{}")
        finally:
            live.close()


def test_a_server_that_is_not_there_says_nothing_about_a_finding() -> None:
    """Where there was an answer then, the sentence says whom nobody reaches and what to do."""
    with (
        resender() as (live, request),
        pytest.raises(NotReplayable, match="no usable answer from http") as told,
    ):
        live.send(request, "target", ANSWERED)
    assert "--target-url" in told.value.remedy


def test_a_request_that_had_no_answer_then_may_have_none_now() -> None:
    """That may be the very fault."""
    with resender() as (live, request), pytest.raises(WireFault):
        live.send(request, "target", UNANSWERED)
