"""A pytest plugin for the bench: records what a run sends, multiplies its examples, and says what memory it took.

Loaded with ``-p bench_plugin`` into a run of the suite; without options it does nothing.
"""

from __future__ import annotations

import json
import pickle
import resource
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from conformance import session
from conformance.control.http import HttpControl
from conformance.session import Session
from conformance.transport.exchange import Exchange, Headers


@dataclass(frozen=True)
class Sent:
    """One request of a run, to the target or to its test control, and what a control call answered."""

    to: str
    method: str
    path: str
    headers: Headers
    body: bytes
    answer: Mapping[str, Any] | None = None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the bench."""
    group = parser.getgroup("bench")
    group.addoption("--bench-record", type=Path, help="write every request of the run to this file")
    group.addoption("--bench-factor", type=int, default=1, help="multiply the profile's examples by this")
    group.addoption("--bench-result", type=Path, help="write exchanges, duration and peak memory to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Set up what was asked for."""
    factor = config.option.bench_factor
    profiles = {
        name: {kind: count * factor for kind, count in counts.items()} for name, counts in session.PROFILES.items()
    }
    session.PROFILES = profiles  # type: ignore[misc]  # final for everybody but this bench
    if config.option.bench_record:
        config.pluginmanager.register(_Recording(config.option.bench_record))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write the peak memory of this process, in kB."""
    if config.option.bench_result:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        config.option.bench_result.write_text(json.dumps({"peak_kb": peak}), encoding="utf-8")


class _Recording:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._sent: list[Sent] = []
        observe = Session._observe
        call = HttpControl._call

        def observe_and_note(of: Session, exchange: Exchange) -> None:
            self._note_exchange(exchange)
            observe(of, exchange)

        def call_and_note(of: HttpControl, method: str, path: str, document: Any = None) -> Any:
            answer = call(of, method, path, document)
            request = httpx.Request(method, of._url + path, json=document)
            headers = tuple((name, value) for name, value in request.headers.items() if name == "content-type")
            self._sent.append(Sent("control", method, path, headers, request.content, answer))
            return answer

        # The two places that see every exchange and every call of test control.
        setattr(Session, "_observe", observe_and_note)  # noqa: B010 - mypy refuses the plain assignment
        setattr(HttpControl, "_call", call_and_note)  # noqa: B010 - mypy refuses the plain assignment

    def _note_exchange(self, exchange: Exchange) -> None:
        request = exchange.request
        path = httpx.URL(request.url).raw_path.decode("ascii")
        self._sent.append(Sent("target", request.method, path, request.headers, request.body))

    def pytest_unconfigure(self) -> None:
        """Write what was sent."""
        self._path.write_bytes(pickle.dumps(self._sent))
