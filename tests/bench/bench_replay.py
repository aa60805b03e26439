"""Replays the recorded requests of a run with one bare ``httpx.Client``, in order: the time that no suite can beat."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import httpx
from bench_plugin import Sent
from bench_spent import Spent, processor_seconds

from conformance.embedded import start_reference_server

_LEFT_TO_CLIENT = frozenset({"host", "content-length"})


def load(path: Path) -> list[Sent]:
    """Return the requests that ``--bench-record`` wrote."""
    sent: list[Sent] = pickle.loads(path.read_bytes())  # noqa: S301 - written a moment ago by this bench
    return sent


def replay(sent: list[Sent]) -> Spent:
    """Send the requests to a fresh reference server and return what that took; processor time includes the server's."""
    server = start_reference_server()
    used = processor_seconds()
    try:
        with httpx.Client(trust_env=False, timeout=30.0) as client:
            seconds = _replay(client, sent, {"target": server.url, "control": server.control_url})
    finally:
        server.stop()
    return Spent(seconds, processor_seconds() - used)


def _replay(client: httpx.Client, sent: list[Sent], addresses: dict[str, str]) -> float:
    # Principals and tokens are the server's to give: the new ones take the place of the recorded ones.
    changed: dict[bytes, bytes] = {}
    started = time.perf_counter()
    for request in sent:
        headers = [
            (name.encode("latin-1"), _renamed(value.encode("latin-1"), changed))
            for name, value in request.headers
            if name.lower() not in _LEFT_TO_CLIENT
        ]
        path, body = request.path, request.body
        if request.to == "control":
            path, body = _renamed(path.encode("ascii"), changed).decode("ascii"), _renamed(body, changed, 200)
        try:
            response = client.request(request.method, addresses[request.to] + path, headers=headers, content=body)
        except httpx.HTTPError:
            continue  # A few requests are meant to break the connection.
        if request.answer and path.startswith("/principals"):
            _note_names(request.answer, response.json(), changed)
    return time.perf_counter() - started


def _renamed(text: bytes, changed: dict[bytes, bytes], within: int = 0) -> bytes:
    """Return ``text`` with the newest of the recorded names replaced; names stand near the beginning."""
    head, tail = (text[:within], text[within:]) if within else (text, b"")
    for word in head.replace(b'"', b" ").replace(b"/", b" ").split():
        if word in changed:
            head = head.replace(word, changed[word])
    return head + tail


def _note_names(recorded: Any, answered: Any, changed: dict[bytes, bytes]) -> None:
    for key in ("principal_id", "token"):
        if key in recorded:
            changed[recorded[key].encode()] = answered[key].encode()
