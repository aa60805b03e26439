"""Runs one recorded case against a live server: the stored requests are sent again, and the check judges the answers.

The cases before it are executed on their record, so that the case finds the suite in the same state as then; of what
they sent, only that is sent again which the case builds on. Cases that share what they were answered are sent again
from the first of them on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from conformance.case_selection import is_check
from conformance.checks.test_authentication import unknown_tokens
from conformance.control.http import HttpControl
from conformance.errors import CouldNotRun, NotReplayable
from conformance.ledger import CaseRecord
from conformance.recorded.recording import Recording
from conformance.recorded.resending import Resender, Resent, needed_before
from conformance.recorded.run import RecordedRun
from conformance.recorded.tape import short_case
from conformance.recorded.translation import Place, Translation
from conformance.requirements import Registry
from conformance.target import Entry, Target
from conformance.transport.mcp.stdio import StdioCommand
from conformance.transport.mcp.transport import McpTransport
from conformance.transport.opening import entries

_STALE: Final = timedelta(minutes=30)
_SHARED: Final = "listings"
"""The fixture that keeps what one case was answered for another one to judge."""


@dataclass(eq=False)
class Replay:
    """A plugin that asks a run to be a replay, and takes what came of it.

    ``case`` is a short test id; ``target`` is where to send to. ``notes`` are sentences about what was not as then.
    """

    case: str
    target: Target
    record: CaseRecord | None = None
    resent: Resent = field(default_factory=Resent)
    notes: tuple[str, ...] = ()
    problem: str = ""


class ReplayRun(RecordedRun):
    """Hooks of such a run."""

    def __init__(self, config: pytest.Config, registry: Registry, recording: Recording, replay: Replay) -> None:
        super().__init__(config, registry, recording)
        self._replay = replay
        self._live_cases: tuple[str, ...] = ()
        self._resender = _resender(recording, replay.target)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Take the recorded cases up to the one that is replayed."""
        super().pytest_collection_modifyitems(items)
        names = [short_case(item.nodeid) for item in items]
        end = names.index(self._replay.case) + 1 if self._replay.case in names else 0
        worker = self._recording.worker_of.get(self._replay.case, "main")
        items[:] = [
            item for item in items[:end] if self._recording.worker_of.get(short_case(item.nodeid), worker) == worker
        ]
        if items:
            first = next((index for index, item in enumerate(items) if _shares(item) and _shares(items[-1])), -1)
            self._live_cases = tuple(short_case(item.nodeid) for item in items[first:])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Turn to the live server when the case has come, or the first of those that share with it."""
        super().pytest_runtest_setup(item)
        if is_check(item) and short_case(item.nodeid) == self._live_cases[0]:
            try:
                self._prepare_target()
            except CouldNotRun as problem:
                self._replay.problem = str(problem)
                raise
            tape = self._recording.tapes[self._recording.worker_of.get(self._replay.case, "main")]
            tape.live = self._resender
            assert self.session is not None
            for name in self.session.transport_names:
                transport = self.session.transport_named(name)
                if isinstance(transport, McpTransport):
                    transport.journal.begin_replay()

    def _record(self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> CaseRecord:
        is_it = short_case(item.nodeid) == self._replay.case
        if is_it and call.excinfo is not None and isinstance(call.excinfo.value, NotReplayable):
            self._replay.problem = str(call.excinfo.value)
        return super()._record(item, call, report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what came of the case."""
        super().pytest_runtest_logreport(report)
        for record in self.ledger.records[-1:]:
            if short_case(record.case) == self._replay.case:
                self._replay.record = record
                self._replay.resent = self._resender.resent
                if not (self._resender.resent.sent or self._replay.problem):
                    self._replay.problem = "the case sends nothing itself, so the server of now has no part in it"

    def _decide(self, session: pytest.Session, status: int) -> None:
        """Decide nothing: one case has no verdict."""
        del session, status
        self._resender.close()

    def _prepare_target(self) -> None:
        lines = self._recording.lines_of(*self._live_cases)
        earlier = self._recording.lines_before(*self._live_cases)
        target = self._replay.target
        if target.control_url:
            token = target.control_token.read() if target.control_token else None
            control = HttpControl(target.control_url, token)
            names = control.capabilities().names
            if "reset" in names:
                control.reset()
            control.close()
        for line in needed_before(lines, earlier):
            try:
                self._resender.again(line)
            except ValueError as error:
                raise CouldNotRun(f"what the case builds on cannot be sent again: {error}", "") from None
        self._resender.resent = Resent()
        started = datetime.fromisoformat(self._recording.run.facts.started_at)
        if datetime.now(tz=UTC) - started > _STALE:
            note = (
                f"The run is of {self._recording.run.facts.started_at}, and what is stored again has the times of "
                "then: a server whose clock has gone on may take it for expired."
            )
            self._replay.notes = (*self._replay.notes, note)


def _resender(recording: Recording, target: Target) -> Resender:
    was, translation = recording.description.target, Translation(unknown_tokens)
    for role, secret in was.tokens.items():
        if role in target.tokens:
            translation.token(secret.read(), target.tokens[role].read())
    if recording.description.control_token and target.control_token is not None:
        translation.learn(recording.description.control_token, target.control_token.read())
    places: dict[Any, Place] = {
        "target": Place(was.url, target.url),
        "control": Place(was.control_url, target.control_url),
    }
    entry = _child(target) or _child(was)
    command = None if entry is None else StdioCommand(entry.command, entry.environment)
    return Resender(places, was.limits, translation, command, target.mcp)


def _shares(item: pytest.Item) -> bool:
    return _SHARED in getattr(item, "fixturenames", ())


def _child(target: Target) -> Entry | None:
    return next((entry for entry in entries(target) if entry.transport == "mcp-stdio"), None)
