"""Runs single cases against servers with and without a fault, in this process, at an instant that stands still."""

from __future__ import annotations

import json
import os
import random
import shlex
import sys
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from _pytest.runner import runtestprotocol

import conformance.checks
from conformance.case_selection import belongs, in_order
from conformance.embedded_target import embedded_at
from conformance.errors import SuiteFault
from conformance.judge.finding import Finding, NonConformance
from conformance.kill_matrix.trials import transports_of
from conformance.ledger import Ledger
from conformance.redaction import Redaction
from conformance.reference.catalogue import build, faults
from conformance.reference.faults.family import Fault
from conformance.reference.server import Settings, running
from conformance.report.exchange_log import ExchangeLog
from conformance.requirement_pages.example import Example, Line
from conformance.requirements import Requirement
from conformance.run_plugin import SESSION, ConformanceRun
from conformance.session import RunSettings, Session, open_control
from conformance.target import TRANSPORTS, Entry, Target, TransportName
from conformance.transport.mcp.binding import McpBinding

SEED: Final = 1
INSTANT: Final = 1_768_467_600
"""2026-01-15T09:00:00Z, in seconds since 1970: when everything on the pages happens."""

_CHECKS: Final = Path(conformance.checks.__file__).parent


def examples(wanted: Sequence[Requirement], keep: Callable[[Example], None]) -> None:
    """Find an example for each requirement and hand it over.

    Raises:
        SuiteFault: the checks cannot be collected, or a requirement is broken by no fault of the catalogue.
    """
    options = ["--collect-only", "--capture=no", "--seed=0", "-c", os.devnull, f"--rootdir={_CHECKS.parent.parent}"]
    for plugin in ("terminal", "cacheprovider", "schemathesis"):
        options += ["-p", f"no:{plugin}"]
    with TemporaryDirectory(prefix="pages-") as folder:
        loop = _Loop(wanted, keep, Path(folder))
        status = pytest.main([*options, str(_CHECKS)], [loop])
    if loop.problem or status != pytest.ExitCode.OK:
        raise SuiteFault(loop.problem or f"the checks could not be collected (pytest ended with status {int(status)})")


@dataclass(frozen=True)
class _Way:
    """A server and a transport to it; ``fault`` is empty for the server without one."""

    fault: str
    transport: TransportName


@dataclass(frozen=True)
class _Ended:
    """What a case came to: its findings, the exchanges with the target, and the place of each finding's in them."""

    findings: tuple[Finding, ...]
    exchanges: tuple[Line, ...]
    places: tuple[int | None, ...]


_Try = tuple[Fault, _Way, Sequence[pytest.Item], AbstractSet[str]]
"""A fault, the server with it, the cases to run, and the names under which a breach counts."""

_FEW: Final = 2
"""How many faults meet all cases where those that test a requirement have shown no breach of it."""


class _Loop:
    """Takes the place of pytest's own loop over the cases."""

    def __init__(self, wanted: Sequence[Requirement], keep: Callable[[Example], None], folder: Path) -> None:
        self.problem = ""
        self._wanted = wanted
        self._keep = keep
        self._folder = folder
        self._cases: list[pytest.Item] = []
        self._raised: NonConformance | None = None
        self._trials = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep all cases, those of other transports too."""
        self._cases = in_order(list(items))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Take note of what a case found."""
        if call.excinfo is not None and isinstance(call.excinfo.value, NonConformance):
            self._raised = call.excinfo.value
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Find the examples, one requirement after another."""
        run = session.config.pluginmanager.get_plugin("conformance-run")
        if not isinstance(run, ConformanceRun):
            raise SuiteFault("the checks were collected without the conformance plugin")
        session.config.option.collectonly = False
        session.config.option.tbstyle = "native"
        try:
            for requirement in self._wanted:
                self._keep(self._example(run, requirement))
        except SuiteFault as problem:
            self.problem = str(problem)
        session.config.option.collectonly = True
        return True

    def _example(self, run: ConformanceRun, requirement: Requirement) -> Example:
        for fault, way, cases, reported in self._tries(run, requirement):
            # Many cases on one server find the one to show, which then has a server of its own.
            case = self._first_finding(run, reported, way, cases)
            if case is None:
                continue
            wrong = self._ended(run, way, case)
            found = next((each for each in wrong.findings if each.requirement in reported), None)
            right = self._ended(run, _Way("", way.transport), case)
            if found is None or right.findings:
                continue
            place = wrong.places[wrong.findings.index(found)]
            return Example(
                requirement.id,
                found.requirement,
                fault.name,
                fault.summary,
                way.transport,
                _case_id(case),
                found.summary,
                found.place,
                found.expected,
                found.found,
                None if place is None else wrong.exchanges[place],
                None if place is None or place >= len(right.exchanges) else right.exchanges[place],
            )
        raise SuiteFault(f"no fault of the catalogue shows a breach of {requirement.id}")

    def _tries(self, run: ConformanceRun, requirement: Requirement) -> Iterator[_Try]:
        """Yield what may give an example: cases that test the requirement, else any case, else any name of a breach."""
        ways = list(_ways(run, requirement))
        transport = ways[0][1].transport if ways else "rest"
        all_cases = [case for case in self._cases if belongs(case, run.registry, transport, "quick")]
        its_cases = sorted(
            (case for case in all_cases if requirement.id in _tested(case)),
            key=lambda case: _tested(case)[0] != requirement.id,
        )
        own = frozenset({requirement.id})
        yield from ((fault, way, its_cases, own) for fault, way in ways)
        yield from ((fault, way, all_cases, own) for fault, way in ways[:_FEW])
        yield from ((fault, way, its_cases, frozenset(fault.breaks)) for fault, way in ways)

    def _first_finding(
        self, run: ConformanceRun, reported: AbstractSet[str], way: _Way, cases: Sequence[pytest.Item]
    ) -> pytest.Item | None:
        with self._server(run, way) as log:
            shown = (case for case in cases if any(each.requirement in reported for each in self._run(case, log)))
            found = next(shown, None)
            log.end(complete=True)
        return found

    def _ended(self, run: ConformanceRun, way: _Way, case: pytest.Item) -> _Ended:
        with self._server(run, way) as log:
            findings = self._run(case, log)
            names = [log.name(each.exchanges[-1]) if each.exchanges else "" for each in findings]
            log.end(complete=True)
            path = self._folder / str(self._trials)
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        shown = tuple(each for each in lines if each["kind"] == "exchange" and each["to"] == "target")
        numbers = {each["id"]: number for number, each in enumerate(shown)}
        return _Ended(findings, shown, tuple(numbers.get(name) for name in names))

    def _run(self, case: pytest.Item, log: ExchangeLog) -> tuple[Finding, ...]:
        self._raised = None
        log.begin_case(case.nodeid)
        runtestprotocol(case, log=False, nextitem=None)
        return self._raised.findings if self._raised is not None else ()

    @contextmanager
    def _server(self, run: ConformanceRun, way: _Way) -> Iterator[ExchangeLog]:
        """Serve, and make the run one against this server; yield the log of its exchanges."""
        self._trials += 1
        parts = build(fault=way.fault or None)
        database = self._folder / f"{self._trials}.sqlite"
        # A child has a clock and ids of its own.
        settled = way.transport != "mcp-stdio"
        with (
            _same_each_time(settled),
            running(Settings(parts=parts, database=str(database))) as at,
        ):
            words = [sys.executable, "-m", "conformance.reference.serve", "--stdio", "--database", str(database)]
            words += ["--fault", way.fault] if way.fault else []
            also = () if way.transport == "rest" else (Entry("rest", at.target),)
            revision = faults()[way.fault].revision if way.fault else ""
            embedded = Target(way.transport, embedded=True, also=also, mcp=McpBinding(revision=revision))
            run.target = embedded_at(embedded, at.target, at.control, at.mcp, shlex.join(words))
            run.settings = RunSettings(SEED, "quick")
            run.ledger = Ledger()
            session = Session(run.contract, run.registry, run.target, run.settings, open_control(run.target))
            run.session = run.config.stash[SESSION] = session
            log = ExchangeLog(self._folder / str(self._trials), run.facts, Redaction.of(run.target))
            session.write_to(log)
            try:
                yield log
            finally:
                session.close()
                run.session = None


def _ways(run: ConformanceRun, requirement: Requirement) -> Iterator[tuple[Fault, _Way]]:
    """Yield what may show a breach over one transport, the plainest that there is, the likeliest fault first."""
    breaking = [fault for fault in faults().values() if requirement.id in fault.breaks]
    # One that breaks nothing else is about this requirement and no other.
    breaking.sort(key=lambda fault: (fault.breaks[0] != requirement.id, len(fault.breaks)))
    for transport in TRANSPORTS:
        shown = [fault for fault in breaking if transport in transports_of(fault, run.registry)]
        if shown and transport in requirement.transports:
            yield from ((fault, _Way(fault.name, transport)) for fault in shown)
            return


def _tested(case: pytest.Item) -> list[str]:
    """Return the requirements that a case puts to the test, the one that it is named after first."""
    return [name for mark in case.iter_markers("requirement") for name in mark.args]


def _case_id(case: pytest.Item) -> str:
    return f"conformance/checks/{case.path.name}::{case.name}"


@contextmanager
def _same_each_time(settled: bool) -> Iterator[None]:  # noqa: FBT001 - one caller, above
    """Let the time of day stand still in this process, and new ids follow from the seed, for suite and server alike."""
    if not settled:
        yield
        return
    drawing = random.Random(SEED)  # noqa: S311 - test data, not secrets
    seconds, nanoseconds, fresh = time.time, time.time_ns, uuid.uuid4
    time.time, time.time_ns = lambda: float(INSTANT), lambda: INSTANT * 10**9
    uuid.uuid4 = lambda: uuid.UUID(int=drawing.getrandbits(128), version=4)
    try:
        yield
    finally:
        time.time, time.time_ns, uuid.uuid4 = seconds, nanoseconds, fresh
