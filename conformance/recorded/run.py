"""A run whose target is a record: every case is executed again on the stored exchanges, and nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from conformance.case_selection import in_order, is_check
from conformance.control.interface import TestControl
from conformance.errors import UsageProblem
from conformance.judge.self_proof import prove
from conformance.preflight import preflight
from conformance.recorded.recording import Recording
from conformance.recorded.tape import short_case
from conformance.recorded.transports import RecordedControl
from conformance.requirements import Registry
from conformance.run import RunFacts
from conformance.run_plugin import SESSION, ConformanceRun
from conformance.session import RunSettings, Session


class RecordedRun(ConformanceRun):
    """Hooks of such a run. Its facts are those of the run that was recorded."""

    def __init__(self, config: pytest.Config, registry: Registry, recording: Recording) -> None:
        facts = recording.run.facts
        target = replace(recording.description.target, implementation=facts.implementation, waivers=facts.waivers)
        super().__init__(config, registry, target, RunSettings(facts.seed, facts.profile), facts.gate, facts.shard)
        self._recording = recording
        self._sessions: Mapping[str, Session] = {}
        self._problems: tuple[str, ...] = ()

    def _open(self) -> None:
        if self.config.pluginmanager.hasplugin("dsession") or self.is_worker:
            raise UsageProblem("a record is judged in one process", "-n", "Leave it out.")
        prove(self.contract)
        self._sessions = {worker: self._session(worker) for worker in self._recording.tapes}
        self.session = self._sessions["main"]
        self.config.stash[SESSION] = self.session
        if self._recording.tapes["main"].is_next("POST", "/reset"):
            self.session.forget_earlier_runs()
        preflight(self.session)
        if self._keeping is not None:
            self._keeping.begin(self.facts)

    def _session(self, worker: str) -> Session:
        tape, facts = self._recording.tapes[worker], self._recording.run.facts
        described = self._recording.description
        control: TestControl | None = None
        if self.target.control_url:
            control = RecordedControl(self.target.control_url, described.control_token, tape, described.capabilities)
        settings = RunSettings(facts.seed, facts.profile, worker)
        return Session(self.contract, self.registry, self.target, settings, control, tape)

    @property
    def facts(self) -> RunFacts:
        """The facts of the recorded run, and what does not fit about its record."""
        facts = self._recording.run.facts
        return replace(facts, problems=(*facts.problems, *self._problems))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Take the cases of the recorded run, in its order."""
        order = self._recording.order
        recorded = [item for item in items if is_check(item) and short_case(item.nodeid) in order]
        gone = order.keys() - {short_case(item.nodeid) for item in recorded}
        self._problems += tuple(f"There is no such case as the recorded one {case}." for case in sorted(gone))
        others = [item for item in items if item not in set(recorded)]
        items[:] = sorted(in_order(recorded), key=lambda item: order[short_case(item.nodeid)])
        if others:
            self.config.hook.pytest_deselected(items=others)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Go on with the process that executed the case, and with its record."""
        if is_check(item):
            worker = self._recording.worker_of.get(short_case(item.nodeid), "main")
            self.session = self.config.stash[SESSION] = self._sessions[worker]
            self._recording.tapes[worker].begin_case(item.nodeid)
        super().pytest_runtest_setup(item)

    def _decide(self, session: pytest.Session, status: int) -> None:
        for tape in self._recording.tapes.values():
            self._problems += tuple(
                f"{count} recorded exchanges of {case or 'the preflight'} were not asked for when it was judged again."
                for case, count in sorted(tape.left_over().items())
            )
        super()._decide(session, status)
